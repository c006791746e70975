"""The tests of applications run commands as a user does."""

from command_line import (  # noqa: F401  fixtures
    letters,
    model,
    nbtext,
    nbtext_alone,
    on_a_terminal,
    own_folder,
)
