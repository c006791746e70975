"""The tests of applications run commands as a user does, and import modules of tests."""

import sys
from pathlib import Path

from browsing import shared_visit, visit  # noqa: F401  fixtures
from command_line import (  # noqa: F401  fixtures
    letters,
    model,
    nbtext,
    nbtext_alone,
    on_a_terminal,
    own_folder,
)

# tests are not a package
HERE = Path(__file__).parent
sys.path += map(str, (HERE.parent / "bayes", HERE / "review", HERE / "serve"))
