"""Prediction that was ended goes on after the last whole record."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("form", ["jsonl", "tsv"])
@pytest.mark.parametrize("source", ["directory", "lines"])
def test_resume(nbtext: Any, letters: Path, model: str, form: str, source: str, tmp_path: Path) -> None:
    """Wherever the output was cut, going on gives the bytes of one run, however many threads there are."""
    (tmp_path / "lines.txt").write_text("".join(f"the bins of street {n}\n\n" for n in range(4000)))
    path = str(letters / "test") if source == "directory" else "lines.txt"
    arguments = ("predict", path, "-m", model, "--to", form)
    whole = nbtext(*arguments, cwd=tmp_path).out.encode()
    out = tmp_path / "out"
    for number, cut in enumerate((None, 0, 1, len(whole) // 2, len(whole) - 1, len(whole))):
        if cut is not None:
            out.write_bytes(whole[:cut])
        result = nbtext(*arguments, "-o", "out", "--resume", "-j", str(1 + number % 3), cwd=tmp_path)
        assert (result.status, result.out, result.err) == (0, "", "")
        assert out.read_bytes() == whole


def test_what_cannot_be_resumed(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """Another source, more records than documents, another form, a pipe: one line each, and the records stay."""
    texts, out = str(letters / "test"), tmp_path / "out"
    (tmp_path / "two.txt").write_text("the bins\nthe taxes\n")
    ask = ("predict", texts, "-m", model)
    assert nbtext(*ask, "--to", "jsonl", "-o", "out", cwd=tmp_path).status == 0
    before = out.read_bytes()
    for arguments, status, part in (
        (("predict", "two.txt", "-m", model, "--to", "jsonl", "-o", "out"), 1, "fewer documents"),
        (("predict", str(letters / "train"), "-m", model, "--to", "jsonl", "-o", "out"), 1, "out: its last record"),
        ((*ask, "--to", "tsv", "-o", "out"), 1, "out: its last record"),
        ((*ask, "--to", "csv", "-o", "out"), 2, "--resume: only jsonl and tsv"),
        ((*ask, "--to", "jsonl"), 1, "name one with -o"),
        ((*ask, "--to", "jsonl", "-o", "/dev/null"), 1, "only a file"),
    ):
        result = nbtext(*arguments, "--resume", cwd=tmp_path)
        assert (result.status, result.out, result.err.count("\n")) == (status, "", 1), result.err
        assert part in result.err
        assert out.read_bytes() == before


def test_two_at_once(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """While one goes on with a file, another is refused."""
    out = tmp_path / "out"
    out.write_bytes(b"")
    descriptor = os.open(out, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    ask = ("predict", str(letters / "test"), "-m", model, "--to", "jsonl", "-o", str(out), "--resume")
    assert "another nbtext" in nbtext(*ask).err
    os.close(descriptor)
    assert nbtext(*ask).status == 0
