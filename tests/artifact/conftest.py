"""The folder's own module: tests are not a package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
