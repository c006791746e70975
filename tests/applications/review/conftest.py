"""Makes modules of tests importable: this folder's own, and that of `bayes` with small corpora."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "bayes")]
