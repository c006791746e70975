"""The Makefile of the guide works as described."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def make(folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make"],
        cwd=folder,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.exhaustive
def test_the_makefile_example(tmp_path: Path) -> None:
    """It trains once, again when a text has changed and only then, and fails under its bar."""
    guide = (TOP / "nbtext/guides/makefile-project.md").read_text(encoding="utf-8")
    block = re.findall(r"^```make\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "Makefile").write_text(block)
    shutil.copytree(TOP / "corpora" / "letters", tmp_path / "letters")
    first = make(tmp_path)
    second = make(tmp_path)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert "nbtext train" in first.stdout
    assert "nbtext train" not in second.stdout
    model = tmp_path / "candidate.joblib"
    os.utime(model, (1, 1))  # as if the texts had changed since
    assert "nbtext train" in make(tmp_path).stdout
    (tmp_path / "Makefile").write_text(block.replace("accuracy=0.9,", "accuracy=0.99,"))
    before = (tmp_path / "figures.json").read_bytes()
    os.utime(tmp_path / "figures.json", (1, 1))
    for _ in range(2):  # a gate that fails fails again
        assert make(tmp_path).returncode == 2  # make's own status for a command that failed
        assert (tmp_path / "figures.json").read_bytes() == before


def test_the_makefile_with_matrices(tmp_path: Path) -> None:
    """Each step is made once; a changed test letter makes its matrix and the figures again."""
    guide = (TOP / "nbtext/guides/makefile-project.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```make\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    (tmp_path / "Makefile").write_text(next(each for each in blocks if "vectorize" in each))
    shutil.copytree(TOP / "corpora" / "letters", tmp_path / "letters")
    assert make(tmp_path).stdout.count("nbtext ") == 4
    assert "nbtext " not in make(tmp_path).stdout
    changed = next((tmp_path / "letters" / "test").rglob("*.txt"))
    changed.write_text("the bins were not emptied\n")
    again = re.findall(r"nbtext \w+", make(tmp_path).stdout)
    assert again == ["nbtext vectorize", "nbtext evaluate"]
