"""Each file of the core can be imported first."""

import subprocess
import sys
from pathlib import Path

import pytest

CORE = ("features", "bayes", "linear", "model")
CODE = """
import importlib, os, sys
import numpy
for name in sys.argv[1:]:
    if (child := os.fork()) == 0:
        importlib.import_module(name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""


@pytest.mark.exhaustive
def test_every_module_can_be_the_first() -> None:
    """No module needs another one to be imported before it, the compiled ones included."""
    house = Path(__file__).parents[2] / "nbtext"
    paths = [path for room in CORE for path in (house / room).glob("*.py")]
    names = [
        f"nbtext.{path.parent.name}.{path.stem}"
        for path in sorted(paths)
        if path.stem != "__init__"
    ]
    result = subprocess.run(
        [sys.executable, "-c", CODE, *names], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
