"""The tests of applications run commands as a user does."""

from browsing import shared_visit, visit  # noqa: F401  fixtures
from command_line import (  # noqa: F401  fixtures
    letters,
    model,
    nbtext,
    nbtext_alone,
    on_a_terminal,
    own_folder,
)
