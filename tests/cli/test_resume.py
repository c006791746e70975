"""Prediction that was ended goes on after the last whole record."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtext.documents.batch import Batch
from nbtext.model.settings import DecisionSettings
from nbtext.report.resumption import ResumedRecords

LINES = ("--input-format", "lines")


@pytest.mark.exhaustive(every=2)
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
            "out:1: differs from the record of two.txt:1",
        ),
        (
            ("predict", str(letters / "train"), "-m", model, "--to", "jsonl", "-o", "out"),
            1,
            "out:1: differs from the record of",
        ),
        ((*ask, "--to", "tsv", "-o", "out"), 1, "out:1: differs from the record of"),
        ((*ask, "--to", "csv", "-o", "out"), 2, "--resume: only jsonl and tsv"),
        ((*ask, "--to", "jsonl"), 1, "name a file with -o"),
        ((*ask, "--to", "jsonl", "-o", "out.gz"), 2, "-o: out.gz: this output cannot be compressed; leave out .gz"),
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


@pytest.mark.exhaustive(every=4)
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
    """Records of another model or other options, and files without records, are refused and do not change."""
    name, *options = command.split()
    before = (folder / name).read_bytes()
    result = nbtext("predict", "lines.txt", *LINES, "--resume", "-o", name, *options, cwd=folder)
    assert result.status in (1, 2)
    assert (result.out, result.err.count("\n")) == ("", 1), result.err
    assert name in result.err
    assert (folder / name).read_bytes() == before


@pytest.fixture(scope="module")
def ended_early(nbtext: Any, letters: Path, model: str, tmp_path_factory: Any) -> Path:
    """A run over 300,000 lines that ended when the limit of file sizes was reached, its log, and the whole output."""
    tmp_path = tmp_path_factory.mktemp("interrupted")
    lines = "".join(f"the bins of street {n}\n" for n in range(300_000))
    (tmp_path / "lines.txt").write_text(lines)
    (tmp_path / "m").write_bytes(Path(model).read_bytes())
    assert nbtext("train", str(letters / "test"), "-o", "other", cwd=tmp_path).status == 0
    assert nbtext("predict", "lines.txt", *LINES, "-m", "m", "-o", "whole.tsv", cwd=tmp_path).status == 0

    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, 6 << 20))

    command = [sys.executable, "-m", "nbtext", *RESUME, "-m", "m"]
    assert subprocess.run(command, cwd=tmp_path, preexec_fn=limit_file_size, check=False).returncode == 1
    assert (tmp_path / LOG).is_file()
    assert 0 < (tmp_path / "out.tsv").stat().st_size <= 6 << 20 < (tmp_path / "whole.tsv").stat().st_size
    return tmp_path


@pytest.fixture
def interrupted(ended_early: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(ended_early, tmp_path / "copy"))


RESUME = ("predict", "lines.txt", *LINES, "--resume", "-o", "out.tsv")
LOG = ".out.tsv.nbtext-resume"


@pytest.mark.parametrize("log", ["kept", "missing", "damaged"])
def test_an_interrupted_run_is_continued(nbtext: Any, interrupted: Path, log: str) -> None:
    """With its log or without it, the result is that of one run, and the log is removed."""
    if log == "missing":
        (interrupted / LOG).unlink()
    elif log == "damaged":
        (interrupted / LOG).write_bytes(b"nbtext predict --resume\n" + b"?" * 300)
    result = nbtext(*RESUME, "-m", "m", cwd=interrupted)
    assert (result.status, result.err) == (0, "")
    assert (interrupted / "out.tsv").read_bytes() == (interrupted / "whole.tsv").read_bytes()
    assert not (interrupted / LOG).exists()


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("log", ["kept", "missing"])
@pytest.mark.parametrize("change", ["record", "model", "options", "source"])
def test_no_record_of_another_run_is_continued(nbtext: Any, interrupted: Path, change: str, log: str) -> None:
    """One record in the middle, another model, other options or another text: refused, and the file stays."""
    out, model, options = interrupted / "out.tsv", "m", ()
    lines = out.read_text().splitlines(keepends=True)
    middle = len(lines) // 2
    if change == "record":  # of the same length
        lines[middle] = lines[middle][:-2] + ("1" if lines[middle][-2] != "1" else "2") + "\n"
        out.write_text("".join(lines))
    elif change == "model":
        model = "other"
    elif change == "options":
        options = ("--min-probability", "1")
    else:
        texts = (interrupted / "lines.txt").read_text().splitlines(keepends=True)
        texts[middle] = "my neighbor plays the drums at night\n"
        (interrupted / "lines.txt").write_text("".join(texts))
    if log == "missing":
        (interrupted / LOG).unlink()
    before = out.read_bytes()
    result = nbtext(*RESUME, "-m", model, *options, cwd=interrupted)
    assert (result.status, result.out, result.err.count("\n")) == (1, "", 1), result.err
    where = f"out.tsv:{middle + 1}:" if change in ("record", "source") else "out.tsv:"
    assert where in result.err
    assert out.read_bytes() == before


def test_records_that_the_log_confirms_are_not_predicted_again(tmp_path: Path) -> None:
    """Documents whose records the log confirms are not predicted again; without the log they are."""
    batch = Batch(["a", "b"], (["", ""],), None)
    path = tmp_path / "out"

    def predict(_: Batch) -> Any:
        raise AssertionError("it was asked")

    def open_records(file: Any, run: str | None) -> ResumedRecords:
        return ResumedRecords(file, predict, output_format="tsv", decisions=DecisionSettings(), path=str(path), run=run)

    with path.open("w+b") as file:
        records = open_records(file, "0" * 64)
        records.write(b"a\tx\t0.5\nb\tx\t0.5\n")
        records.flush()
        file.seek(0)
        assert open_records(file, "0" * 64).check(batch) == 2
        for run in (None, "1" * 64):
            file.seek(0)
            with pytest.raises(AssertionError, match="it was asked"):
                open_records(file, run).check(batch)


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
