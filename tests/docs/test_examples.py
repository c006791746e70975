"""The examples of CONTRIBUTING.md are commits that pass: each is applied to a copy of the tree and
tested there.

`python tests/docs/test_examples.py` writes the patches again where the lines around their changes
have moved.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
GUIDE = TOP / ".github" / "CONTRIBUTING.md"
EXAMPLES = TOP / ".github" / "examples"
TESTS = {
    "event-model": [
        "tests/bayes/test_poisson.py",
        "tests/bayes/test_duplicates.py::test_equals_refits_without_all_copies",
    ],
    "reader": ["tests/documents/test_mallet.py", "tests/cli/test_mallet.py"],
    "weighting": ["tests/features/test_bm15.py", "tests/features/test_weighting.py"],
    "metric": ["tests/cli/test_matthews.py"],
    "option": ["tests/linear/test_intercept_scale.py", "tests/linear/test_svm.py"],
    "task": ["tests/model/test_tree.py"],
}
CHOSEN = {
    "event-model": "poisson",
    "reader": "",
    "weighting": "",
    "metric": "",
    "option": "",
    "task": "",
}  # of all that these files test


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the source tree that may be changed."""
    for room in (
        "nbtext",
        "tests/artifact",
        "tests/bayes",
        "tests/cli",
        "tests/documents",
        "tests/features",
        "tests/linear",
        "tests/model",
        "tests/processes",
    ):
        shutil.copytree(TOP / room, tmp_path / room)
    for name in ("pyproject.toml", "tests/conftest.py", "tests/test_house.py"):
        shutil.copy2(TOP / name, tmp_path / name)
    (tmp_path / "corpora").symlink_to(TOP / "corpora")
    return tmp_path


def done(tree: Path, *command: str | Path) -> None:
    """Run a command in a folder; it has to succeed."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "GIT_CEILING_DIRECTORIES": str(tree.parent),
    }
    result = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"


def test_each_example_is_told_of() -> None:
    """CONTRIBUTING.md links to all examples, and to no other patch."""
    linked = re.findall(r"\(examples/([\w-]+)\.patch\)", GUIDE.read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(TESTS) == sorted(path.stem for path in EXAMPLES.glob("*.patch"))
    assert "(examples/package)" in GUIDE.read_text(encoding="utf-8")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TESTS)
def test_an_example_is_a_commit_that_passes(tree: Path, name: str) -> None:
    """It can be applied, is as ruff wants it, its tests pass, and the house stands."""
    done(tree, "git", "apply", EXAMPLES / f"{name}.patch")
    touched = re.findall(
        r"^\+\+\+ b/(.*\.py)$",
        (EXAMPLES / f"{name}.patch").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    done(tree, sys.executable, "-m", "ruff", "check", "--quiet", *touched)
    done(tree, sys.executable, "-m", "ruff", "format", "--check", "--quiet", *touched)
    chosen = ["-k", f"{CHOSEN[name]} or house"] if CHOSEN[name] else []
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    budget = (
        # an example is not in the package
        "--deselect=tests/test_house.py::test_the_package_does_not_grow"
    )
    done(tree, *pytest_, budget, *TESTS[name], "tests/test_house.py", *chosen)


def refresh(patch: Path, folder: Path) -> None:
    """Apply a patch with as little context as one line, and write it again with the lines that are
    there now.
    """
    text = patch.read_text(encoding="utf-8")
    head = text[: text.index("diff --git ")]
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name in ("nbtext", "tests", "pyproject.toml"):
        copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy2
        copy(TOP / name, folder / name)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "before"], check=True)
    subprocess.run([*git, "apply", "-C1", "--index", str(patch)], check=True)
    found = subprocess.run(
        [*git, "diff", "--cached", "--no-color"],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    lines = (line for line in found.stdout.split("\n") if not line.startswith("index "))
    patch.write_text(head + "\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    for path in sorted(EXAMPLES.glob("*.patch")):
        with tempfile.TemporaryDirectory() as folder:
            refresh(path, Path(folder))
