"""Prediction that was ended goes on after the last whole record."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

LINES = ("--input-format", "lines")


@pytest.mark.parametrize("form", ["jsonl", "tsv"])
@pytest.mark.parametrize("source", ["directory", "lines"])
def test_resume(nbtext: Any, letters: Path, model: str, form: str, source: str, tmp_path: Path) -> None:
    """Wherever the output was cut, going on gives the bytes of one run, however many threads there are."""
    (tmp_path / "lines.txt").write_text("".join(f"the bins of street {n}\n\n" for n in range(4000)))
    path = str(letters / "test") if source == "directory" else "lines.txt"
    arguments = ("predict", path, "-m", model, "--to", form, *(LINES if source == "lines" else ()))
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
        (
            ("predict", "two.txt", *LINES, "-m", model, "--to", "jsonl", "-o", "out"),
            1,
            "out:1: this is not the record of two.txt:1",
        ),
        (
            ("predict", str(letters / "train"), "-m", model, "--to", "jsonl", "-o", "out"),
            1,
            "out:1: this is not the record of",
        ),
        ((*ask, "--to", "tsv", "-o", "out"), 1, "out:1: this is not the record of"),
        ((*ask, "--to", "csv", "-o", "out"), 2, "--resume: only jsonl and tsv"),
        ((*ask, "--to", "jsonl"), 1, "name a file with -o"),
        ((*ask, "--to", "jsonl", "-o", "/dev/null"), 1, "only a regular file"),
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


@pytest.fixture
def folder(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> Path:
    """Half of the predictions of 3,000 lines, and two models."""
    (tmp_path / "lines.txt").write_text("".join(f"the bins of street {n}\n" for n in range(3000)))
    (tmp_path / "m").write_bytes(Path(model).read_bytes())
    assert nbtext("train", str(letters / "test"), "-o", "other", cwd=tmp_path).status == 0
    for form in ("tsv", "jsonl"):
        whole = nbtext("predict", "lines.txt", *LINES, "-m", "m", "--to", form, cwd=tmp_path).out
        (tmp_path / f"whole.{form}").write_text(whole)
        (tmp_path / f"half.{form}").write_text(whole[: len(whole) // 2])
    (tmp_path / "open").write_text("hello")
    (tmp_path / "garbage").write_text("garbage\n" * 50)
    (tmp_path / "jsonl").write_text('{"id": "lines.txt:1", "label": "noise"}\n' * 50)
    text = (tmp_path / "whole.tsv").read_text()
    (tmp_path / "damaged").write_text(text.replace("\nlines.txt:1500\t", "\nlines.txt:1501\t"))
    (tmp_path / "longer").write_text(text + "lines.txt:3001\tnoise\t0.5\n")
    (tmp_path / "tail").write_text(text[: len(text) // 2] + "?")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "half.tsv -m other",
        "half.jsonl -m other --to jsonl",
        "half.tsv -m m --to jsonl",
        "half.jsonl -m m --to tsv",
        "half.tsv -m m --coverage 0.9",
        "half.jsonl -m m --to jsonl --explain 2",
        "half.tsv -m m --min-probability 1",
        "half.tsv -m m --encoding utf-16",
        "open -m m",
        "garbage -m m",
        "garbage -m m --to jsonl",
        "jsonl -m m --to jsonl",
        "damaged -m m",
        "longer -m m",
        "tail -m m",
        "other -m m",
        "other -m m --force",
        "lines.txt -m m",
    ],
)
def test_what_is_not_the_beginning_of_these_predictions(nbtext: Any, folder: Path, command: str) -> None:
    """Records of another model, other options or no records at all are refused, and the file stays as it is."""
    name, *options = command.split()
    before = (folder / name).read_bytes()
    result = nbtext("predict", "lines.txt", *LINES, "--resume", "-o", name, *options, cwd=folder)
    assert result.status in (1, 2)
    assert (result.out, result.err.count("\n")) == ("", 1), result.err
    assert name in result.err
    assert (folder / name).read_bytes() == before


@pytest.mark.parametrize("kind", ["fifo", "null", "folder"])
def test_what_is_no_file(nbtext: Any, letters: Path, model: str, tmp_path: Path, kind: str) -> None:
    """A FIFO, a device and a folder are refused in a line of nbtext's own."""
    path = tmp_path / "out"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "null":
        path.symlink_to("/dev/null")
    else:
        path.mkdir()
    result = nbtext("predict", str(letters / "test"), "-m", model, "--to", "tsv", "--resume", "-o", str(path))
    assert (result.status, result.out, result.err.count("\n")) == (1, "", 1), result.err
    assert "only a regular file can be resumed" in result.err or kind == "folder"
    assert "seekable" not in result.err
