"""The tests of the commands run them as a user does."""

import sys
from pathlib import Path

from command_line import (  # noqa: F401  fixtures
    letters,
    model,
    nbtext,
    nbtext_alone,
    on_a_terminal,
    own_folder,
)

# for this folder's own modules: tests are not a package
sys.path.insert(0, str(Path(__file__).parent))
