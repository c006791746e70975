"""Errors that a new user makes: each gives one line with the remedy, and the right exit status."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest


def prepare(folder: Path, letters: Path) -> None:
    """Write the files of the tests."""
    (folder / "empty").mkdir()
    (folder / "letters").symlink_to(letters)
    (folder / "no-such-column.csv").write_text("subject,topic\nhello,greeting\n")
    (folder / "broken.jsonl").write_text('{"text": "a word", "label": "x"}\n' * 16 + '{"text": "oops\n')
    (folder / "text.joblib").write_text("no model at all\n")
    (folder / "zip.joblib").write_bytes(b"PK\x03\x04 and more")
    (folder / "empty.joblib").write_bytes(b"")
    (folder / "unlabeled.txt").write_text("just a line\n")
    (folder / "unicode.txt").write_text("text\tlabel\na text\tx\n", encoding="utf-16")
    (folder / "letter.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj")
    with zipfile.ZipFile(folder / "letter.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<w:t>Dear town hall</w:t>")
    (folder / "four.csv").write_text("text;label\na text;x\nanother;y\na third;x\na fourth;y\n")
    (folder / "two.csv").write_text("text,label\na text,x\nanother,y\n")
    (folder / "link.joblib").symlink_to("nowhere")
    (folder / "short.tsv").write_text("text\tlabel\na text\tx\nonly text\n")


WRONG: list[tuple[str, int, str]] = [
    ("trian letters/train", 2, "Did you mean train?"),
    ("train", 2, "SOURCE"),
    ("train letters/train --modle bernoulli", 2, "--mod"),
    ("train letters/train --model bernuli -o m", 2, "bernuli"),
    ("train letters/train --smoothing -1 -o m", 2, "--smoothing"),
    ("train letters/train --smoothing lots -o m", 2, "lots"),
    ("train letters/train --ngrams 2,1 -o m", 2, "--ngrams"),
    ("train letters/train --token-pattern ( -o m", 2, "--token-pattern"),
    ("train letters/train --prior 1,2 -o m", 2, "6 numbers from 1e-100 to 1e+100"),
    ("train letters/train --normalize-weights -o m", 2, "does not apply: auto does not use it"),
    ("train letters/train --min-df 1000 -o m", 2, "--min-df: 1,000 is more than the number of documents"),
    ("train letters/train --min-df -1 -o m", 2, "--min-df: -1 is neither a number of documents nor a proportion"),
    ("train letters/train --min-df nan -o m", 2, "--min-df: nan is neither a number of documents nor a proportion"),
    ("train letters/train --stop-words English -o m", 1, "or a file with one word per line"),
    ("train letters/train --encoding klingon -o m", 2, "klingon"),
    ("train letters/train --stop-words nowhere.txt -o m", 1, "nowhere.txt"),
    ("train missing -o m", 1, "missing"),
    ("train empty -o m", 1, "empty"),
    ("train no-such-column.csv -o m", 1, "no-such-column.csv"),
    ("train broken.jsonl -o m", 1, "broken.jsonl:17"),
    ("train unlabeled.txt -o m", 1, "unlabeled.txt:1: the document has no label"),
    ("train unicode.txt --label-field label -o m", 1, "give the file format with --input-format"),
    ("train letter.docx -o m", 1, "letter.docx: is an office document, not text; save it"),
    ("evaluate letter.docx --folds 2", 1, "letter.docx: is an office document, not text"),
    ("train letter.pdf -o m", 1, " PDF file, not text; "),
    ("train short.tsv -o m", 1, "short.tsv:3"),
    ("train letters/nowhere -o missing/m", 1, "missing/m: cannot be written: no such file or directory; make its"),
    ("train letters/nowhere -o empty", 1, "empty: cannot be written: is a directory; name a file in it"),
    ("train letters/train -o ''", 2, "-o: the path is empty; name a file"),
    ("train '' -o x", 2, "SOURCE: the path is empty; name a file or directory"),
    ("predict letters/test -m ''", 2, "-m: the path is empty"),
    ("train letters/nowhere -o text.joblib/m", 1, "text.joblib/m: cannot be written: not a directory"),
    ("vectorize letters/nowhere -o missing/m", 1, "missing/m: cannot be written"),
    ("merge nowhere -o missing/m", 1, "missing/m: cannot be written"),
    ("update nowhere letters/test -o missing/m", 1, "missing/m: cannot be written"),
    ("evaluate letters/nowhere --folds 2 --report missing/m", 1, "missing/m: cannot be written"),
    ("explain letters/nowhere -m nowhere --html missing/m", 1, "missing/m: cannot be written"),
    ("compare letters/nowhere --report missing/m", 1, "missing/m: cannot be written"),
    ("compare letters/train --models gaussian --hash-bits 30", 2, "--hash-bits: 30 is more than 24; memory holds all"),
    (
        "train letters/train --model gaussian --hash-bits 22 -o m",
        1,
        "gaussian model of 6 labels and 4,194,304 features is",
    ),
    ("train letters/train --hash-bits 25 -o m", 2, "--hash-bits: 25 is more than 24; memory holds all columns"),
    ("vectorize letters/train --hash-bits 25 -o m", 2, "--hash-bits: 25 is more than 24"),
    ("train letters/train --hash-bits 31 -o m", 2, "--hash-bits: 31 is not a valid value; give a number from 1 to 24"),
    ("train letters/train --hash-bits 0 -o m", 2, "--hash-bits: 0 is not a valid value; give a number from 1 to 24"),
    ("evaluate letters/train --folds 3 --model categorical --hash-bits 24", 2, "24 is more than 23; memory"),
    ("predict letters/test", 2, "-m"),
    (f"predict letters/test -m text.joblib -j {10**40}", 2, "is not a valid value; give a number from 1 to 4,096"),
    (f"sample -m text.joblib --length {10**40}", 2, "is not a valid value; give a number from 1 to 10,000,000"),
    (f"sample -m text.joblib -n {10**40}", 2, f"is not a valid value; give a number from 1 to {2**62:,}"),
    ("predict letters/test -m missing.joblib", 1, "missing.joblib"),
    ("predict letters/test -m txt.joblib", 1, "did you mean text.joblib?"),
    (
        "predict letters/test -m link.joblib",
        1,
        "link.joblib: is a symbolic link to a file that does not exist; correct its",
    ),
    ("train link.joblib -o m", 1, "link.joblib: is a symbolic link to a file that does not exist; correct its"),
    ("train xyz/no_such -o m", 1, "xyz/no_such: cannot be read: No such file or directory; check the path\n"),
    ("predict letters/tset -m text.joblib", 1, "text.joblib: looks like text"),
    ("train letters/trian -o m", 1, "did you mean letters/train?"),
    ("explain letters/test -m missing.joblib", 1, "missing.joblib"),
    ("inspect missing.joblib", 1, "missing.joblib"),
    ("inspect zip.joblib", 1, "zip.joblib"),
    ("inspect text.joblib --by zz", 2, "zz"),
    ("diff text.joblib text.joblib", 1, "text.joblib: looks like text"),
    ("compare letters/train --models nothing", 2, "--models"),
    ("compare letters/train --sizes 336 --seeds 1", 2, "leave some for the test"),
    ("predict letters/test -m text.joblib", 1, "text.joblib: looks like text"),
    ("predict letters/test -m zip.joblib", 1, "zip.joblib: looks like a zip archive"),
    ("predict letters/test -m empty.joblib", 1, "empty.joblib: the file is empty"),
    ("predict letters/test -m letters", 1, "letters"),
    ("evaluate letters/test", 2, "--folds"),
    ("evaluate letters/test --folds 1", 2, "--folds"),
    ("evaluate letters/test --folds 1000", 2, "--folds"),
    ("evaluate four.csv --folds 10", 2, "10 folds need at least as many documents; found 4; use 2 to 4"),
    ("evaluate two.csv --folds 3", 2, "3 folds need at least as many documents; found 2; use 2\n"),
    ("predict letters/test -m model.joblib --text-field ,", 2, "',' contains no name; separate several names with"),
    ("evaluate letters/test --folds 3 --fail-under accuracy=85", 2, "the highest value is 1; write accuracy=0.85"),
    (
        "evaluate letters/test --folds 3 --fail-under accuracy=1.5",
        2,
        "'accuracy=1.5' cannot be reached: the highest value is 1;",
    ),
    ("evaluate letters/test --folds 3 --fail-under acuracy=1", 2, "did you mean accuracy"),
]


@pytest.mark.parametrize(("command", "status", "message"), WRONG, ids=[command or "nothing" for command, _, _ in WRONG])
def test_one_line_that_helps(
    nbtext: Any, letters: Path, tmp_path: Path, command: str, status: int, message: str
) -> None:
    """One line on standard error names what is wrong; nothing is written, and no traceback is shown."""
    prepare(tmp_path, letters)
    before = sorted(tmp_path.iterdir())
    result = nbtext(*shlex.split(command), cwd=tmp_path)
    assert message in result.err
    assert (result.status, result.out, result.err.count("\n")) == (status, "", 1), result.err
    assert result.err.startswith("nbtext: ")
    assert sorted(tmp_path.iterdir()) == before


def test_debug_shows_the_traceback(nbtext: Any) -> None:
    """With --debug the traceback is there, for whoever mends nbtext."""
    assert "Traceback" in nbtext("train", "missing", "-o", "m", "--debug").err


def test_a_text_with_invalid_bytes_is_answered(nbtext: Any, model: str, tmp_path: Path) -> None:
    """A text that is not valid UTF-8 is read with its bytes replaced, and the replacements are counted."""
    (tmp_path / "mails").mkdir()
    (tmp_path / "mails" / "a.bin").write_bytes(bytes(range(1, 256)) * 4)
    (tmp_path / "mails" / "b.txt").write_text("parking fine")
    result = nbtext("predict", "mails", "-m", model, cwd=tmp_path)
    assert [line.split("\t")[0] for line in result.out.splitlines()] == ["mails/a.bin", "mails/b.txt"]
    assert "invalid bytes in 1 document" in result.err


def test_documents_that_cannot_be_read_are_said(nbtext: Any, model: str) -> None:
    """Where predict cannot read documents they have empty records, and standard error says how many, and why."""
    lines = b'{"txt": "a"}\n{"text": "parking"}\n[1]\n'
    result = nbtext("predict", "-", "-m", model, "--input-format", "jsonl", input=lines)
    assert (result.status, result.out.splitlines()[0], result.out.count("\n")) == (0, "1\t\t", 3)
    assert result.err.startswith("2 documents could not be read; the first is ")
    assert "`text`" in result.err
    assert nbtext("predict", "-", "-m", model, "-q", input=lines).err == ""


def test_a_closed_pipe_ends_quietly(model: str, letters: Path) -> None:
    """`nbtext predict … | head -1` shows a line and no complaint."""
    many = " ".join([f"{letters}/train"] * 20)
    command = f"{sys.executable} -m nbtext predict {many} -m {model} --to jsonl -j 2 | head -c 20"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (len(done.stdout), done.stderr) == (20, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk(nbtext: Any, letters: Path, model: str) -> None:
    """Where nothing can be written any more, one line says so."""
    for command in (["train", str(letters / "train"), "-q"], ["predict", str(letters / "test"), "-m", model]):
        result = nbtext(*command, "-o", "/dev/full")
        assert result.status == 1
        assert (
            result.err.splitlines()[-1]
            == "nbtext: /dev/full: cannot be written: no space left on device; free some space, or write elsewhere"
        )


def test_standard_output_to_a_full_disk(model: str, letters: Path) -> None:
    """The same where the shell redirects standard output."""
    command = f"{sys.executable} -m nbtext predict {letters}/test -m {model} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"nbtext: standard output: cannot be written")
    assert done.stderr.count(b"\n") == 1


def test_a_text_in_place_of_a_file(nbtext: Any, model: str) -> None:
    """The message shows how a text is predicted."""
    result = nbtext("predict", "where is my card", "-m", model)
    assert (result.status, result.out) == (1, "")
    assert result.err == (
        "nbtext: where is my card: cannot be read: No such file or directory; check the path; "
        "to predict a text: echo … | nbtext predict -\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.exhaustive(every=5)
@pytest.mark.parametrize("messages", ["/dev/full", "&-"])
@pytest.mark.parametrize(
    "command",
    [
        "train {letters}/train -o o", "train {letters}/train -v -o o", "train {letters}/train --model best -o o",
        "update {model} {letters}/test -o o", "merge {model} {model} -o o", "calibrate {model} {letters}/test -o o",
        "review {letters}/test -o o", "predict {letters}/test -m {model} -v -o o", "compare {letters}/train -o o",
        "vectorize {letters}/test -o o", "evaluate {letters}/test -m {model} -o o", "demo o", "train nowhere -o o",
        "export {model} --to js -o o", "train --nonsense",
    ],
)  # fmt: skip
def test_messages_that_cannot_be_written(
    letters: Path, model: str, tmp_path: Path, command: str, messages: str
) -> None:
    """A command whose standard error is full or closed does the same work, with the same status."""
    found = []
    for folder, target in (("usual", "log"), ("lost", messages)):
        (tmp_path / folder).mkdir()
        line = f"{sys.executable} -m nbtext {command.format(letters=letters, model=model)} 2>{target}"
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path / folder, capture_output=True, check=False)
        (tmp_path / folder / "log").unlink(missing_ok=True)
        files = [path for path in (tmp_path / folder).rglob("*") if path.is_file()]
        found.append((done.returncode, done.stdout, {path.name: path.read_bytes() for path in files}))
    assert found[0] == found[1]


def test_an_old_model_survives_a_failure(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """A training that fails leaves the old model as it was, and nothing beside it."""
    (tmp_path / "m.joblib").write_bytes(b"old")
    (tmp_path / "broken.jsonl").write_text("{")
    assert nbtext("train", "broken.jsonl", "-o", "m.joblib", "--force", cwd=tmp_path).status == 1
    assert (tmp_path / "m.joblib").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
