"""The examples of CONTRIBUTING.md are commits that pass: each is applied to a copy of the tree and tested there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
GUIDE = TOP / ".github" / "CONTRIBUTING.md"
EXAMPLES = TOP / ".github" / "examples"
TESTS = {
    "event-model": ["tests/bayes/test_poisson.py", "tests/bayes/test_leave_one_out.py::test_equals_refits"],
    "reader": ["tests/documents/test_mallet.py", "tests/cli/test_mallet.py"],
    "weighting": ["tests/features/test_bm25.py", "tests/features/test_weighting.py"],
    "metric": ["tests/cli/test_matthews.py"],
    "command": ["tests/cli/test_labels.py", "tests/cli/test_help.py::test_help"],
}
CHOSEN = {
    "event-model": "poisson",
    "reader": "",
    "weighting": "",
    "metric": "",
    "command": "labels",
}  # of all that these files test


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What can be changed without harm."""
    for room in ("nbtext", "tests/bayes", "tests/cli", "tests/documents", "tests/features"):
        shutil.copytree(TOP / room, tmp_path / room)
    for name in ("pyproject.toml", "tests/conftest.py", "tests/test_house.py"):
        shutil.copy2(TOP / name, tmp_path / name)
    (tmp_path / "corpora").symlink_to(TOP / "corpora")
    return tmp_path


def done(tree: Path, *command: str | Path) -> None:
    """Run a command there, which has to end well."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    result = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"


def test_each_example_is_told_of() -> None:
    """CONTRIBUTING.md links to them all, and to no other."""
    linked = re.findall(r"\(examples/([\w-]+)\.patch\)", GUIDE.read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(TESTS) == sorted(path.stem for path in EXAMPLES.iterdir())


@pytest.mark.parametrize("name", TESTS)
def test_an_example_is_a_commit_that_passes(tree: Path, name: str) -> None:
    """It can be applied, is as ruff wants it, its tests pass, and the house stands."""
    done(tree, "git", "apply", EXAMPLES / f"{name}.patch")
    touched = re.findall(r"^\+\+\+ b/(.*\.py)$", (EXAMPLES / f"{name}.patch").read_text(encoding="utf-8"), re.MULTILINE)
    done(tree, sys.executable, "-m", "ruff", "check", "--quiet", *touched)
    done(tree, sys.executable, "-m", "ruff", "format", "--check", "--quiet", *touched)
    chosen = ["-k", f"{CHOSEN[name]} or house"] if CHOSEN[name] else []
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done(tree, *pytest_, *TESTS[name], "tests/test_house.py", *chosen)
