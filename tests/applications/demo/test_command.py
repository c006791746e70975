"""`nbtext demo`: the corpus of the examples."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[3]


def test_the_corpus_is_complete(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """The directory holds the same files, and the two lines say how many, and what to type next."""
    result = nbtext("demo")
    assert (result.status, result.out) == (0, "")
    assert result.err == (
        "wrote 336 training and 84 test documents to letters\nnext: nbtext train letters/train -o letters.joblib\n"
    )
    ours = sorted(path.relative_to(letters) for path in letters.rglob("*.txt"))
    assert (
        sorted(path.relative_to(tmp_path / "letters") for path in tmp_path.rglob("*.txt")) == ours
    )
    _, different, failed = filecmp.cmpfiles(letters, tmp_path / "letters", ours, shallow=False)
    assert (different, failed) == ([], [])
    assert os.listdir(tmp_path) == ["letters"]


def test_the_next_command_works_as_printed(nbtext: Any, tmp_path: Path) -> None:
    """Also for a directory whose name a shell would split."""
    line = nbtext("demo", "two words").err.splitlines()[1].removeprefix("next: ")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    assert (tmp_path / "letters.joblib").stat().st_size


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, lambda path: path.symlink_to("nowhere")])
def test_nothing_is_replaced(nbtext: Any, tmp_path: Path, make: Any) -> None:
    make(tmp_path / "letters")
    assert (
        nbtext("demo").refused(2).err
        == "nbtext: letters: this path exists already; name a new directory\n"
    )
    assert os.listdir(tmp_path) == ["letters"]


def test_a_missing_folder(nbtext: Any, tmp_path: Path) -> None:
    result = nbtext("demo missing/letters").refused(1)
    assert result.err.startswith(
        "nbtext: missing/letters: cannot be written: no such file or directory"
    )
    assert not os.listdir(tmp_path)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory appears complete or not at all."""
    from nbtext.applications.demo.command import copy_directory

    copied = shutil.copyfile

    def fail_late(source: Path, target: Path) -> Any:
        if source.name == "014.txt":
            raise OSError(28, "No space left on device")
        return copied(source, target)

    monkeypatch.setattr(shutil, "copyfile", fail_late)
    with pytest.raises(OSError, match="No space left"):
        copy_directory(TOP / "corpora" / "letters", str(tmp_path / "letters"))
    assert not os.listdir(tmp_path)
