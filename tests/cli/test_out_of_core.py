"""Memory holds a model and a few batches, however large the input is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
MEBIBYTE = 1 << 20


def peak(*arguments: str) -> int:
    """The most memory that a command held at once, in bytes."""
    command = [sys.executable, "-m", "nbtext", *arguments, "-q", "-j", "2"]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(TOP)}) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory, letters: Path) -> dict[int, Path]:
    """Files of 20 and 80 MB, of the letters over and over, by their megabytes."""
    folder = tmp_path_factory.mktemp("large")
    labeled = [(path.parent.name, path.read_text()) for path in sorted((letters / "train").glob("*/*"))]
    once = "".join(f"__label__{label} {' '.join(text.split())}\n" for label, text in labeled).encode()
    for size in (20, 80):
        (folder / f"{size}.txt").write_bytes(once * (size * 1_000_000 // len(once)))
    return {size: folder / f"{size}.txt" for size in (20, 80)}


@pytest.mark.exhaustive
def test_predict(lines: dict[int, Path], model: str, tmp_path: Path) -> None:
    """Predicting four times as many documents needs no more memory."""
    ask = ("predict", "-m", model, "--to", "tsv", "-o", str(tmp_path / "out"))
    small, large = (peak(*ask, str(path)) for path in lines.values())
    assert large < small + 20 * MEBIBYTE


def test_train(lines: dict[int, Path], tmp_path: Path) -> None:
    """Training on four times as many documents with the same words needs no more memory once the sample is full."""
    small, large = (peak("train", str(path), "-o", str(tmp_path / "m")) for path in lines.values())
    assert large < small + 20 * MEBIBYTE
