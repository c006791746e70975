"""`predict --exit-status LABEL`: 0 if each document has the label, 1 if not, and 2 or more where
that is not known.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made_files import read_cases

SPAM = "free prize money winner"
HAM = "meeting lunch project notes"


@pytest.fixture
def folder(nbtext: Any, tmp_path: Path) -> Path:
    """A model of one label, one of several, and files of documents."""
    rows = [
        (f"{text} {n}", label) for n in range(20) for text, label in ((SPAM, "spam"), (HAM, "ham"))
    ]
    several = [(text, f"{label};odd" if n % 3 else label) for n, (text, label) in enumerate(rows)]
    for name, each in (("one.csv", rows), ("several.csv", several)):
        (tmp_path / name).write_text(
            "text,label\n" + "".join(f"{text},{label}\n" for text, label in each)
        )
    nbtext("train one.csv -q -o m").ok()
    nbtext("train several.csv --label-separator ; -q -o s").ok()
    (tmp_path / "spam.txt").write_text(f"{SPAM}\n{SPAM}\n")
    (tmp_path / "both.txt").write_text(f"{SPAM}\n{HAM}\n")
    (tmp_path / "unknown.txt").write_text("zzz\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "broken.jsonl").write_text(json.dumps({"text": SPAM}) + "\nbroken\n")
    return tmp_path


def test_the_answer(nbtext: Any, folder: Path) -> None:
    """The records are those without the option."""
    for options, status in (
        ("spam.txt -m m --exit-status spam", 0),
        ("spam.txt -m m --exit-status ham", 1),
        ("both.txt -m m --exit-status spam", 1),
        ("spam.txt both.txt -m m --exit-status spam -j 2", 1),
        ("unknown.txt -m m --exit-status spam", 1),
        ("spam.txt -m m --exit-status spam --min-probability 1", 1),
        ("one.csv -m m --exit-status spam --add-columns --column-prefix p_", 1),
        ("spam.txt -m s --exit-status spam", 0),
        ("both.txt -m s --exit-status odd --threshold 0", 0),
        ("both.txt -m s --exit-status odd --threshold 1", 1),
    ):
        given = options.split()
        found = nbtext("predict", *given)
        place = given.index("--exit-status")
        plain = nbtext("predict", *given[:place], *given[place + 2 :]).ok()
        assert (found.status, found.out, found.err) == (status, plain.out, plain.err), options


@pytest.mark.parametrize(
    "given",
    [
        f"Hello: there\n{SPAM} {SPAM}\n\n{HAM}\n",
        f'{{"text": "{SPAM} {SPAM}"}}\n{{"text": "{HAM}"}}\n',
        f"From a@b\nSubject: {SPAM} {SPAM}\n\nx\n\nFrom a@b\nSubject: {HAM}\n\ny\n",
    ],
)
def test_several_documents_of_a_pipe_need_a_format(nbtext: Any, folder: Path, given: str) -> None:
    """One text may have become several documents, so that spam would pass."""
    asked = "predict - -m m --exit-status spam"
    nbtext(asked, input=given.encode()).refused(2, "a pipe holds several documents")
    (folder / "mail").write_text(given)
    for name in ("-", "/dev/stdin"):
        command = [sys.executable, "-m", "nbtext", *asked.replace("-", name, 1).split()]
        with open(folder / "mail") as mail:
            ran = subprocess.run(command, stdin=mail, cwd=folder, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout) == (2, b"")
    for form, status in (("files", 0), ("lines", 1)):
        assert nbtext(f"{asked} --input-format {form}", input=given.encode()).status == status
    assert nbtext(asked, input=SPAM.encode()).status == 0


@pytest.mark.parametrize(
    ("options", "message"),
    read_cases("""
        spam.txt -m missing --exit-status spam => missing: does not exist
        spam.txt -m spam.txt --exit-status spam => spam.txt
        absent.txt -m m --exit-status spam => absent.txt: cannot be read
        empty.txt -m m --exit-status spam => no documents
        spam.txt -m m --exit-status spam --cost absent.csv => absent.csv: cannot be read
        spam.txt -m m --exit-status spum => the model has no label 'spum'; did you mean spam?
        spam.txt -m s --exit-status spum => did you mean spam?
        spam.txt -m m --exit-status spam -o absent/x => absent/x: cannot be written
        spam.txt -m m --exit-status spam --exit-status ham => given more than once
        spam.txt -m m --exit-status spam --cluster local => cannot be combined with
    """),
)
def test_errors_are_two_or_more(nbtext: Any, folder: Path, options: str, message: str) -> None:
    nbtext("predict", *options.split()).refused(2, message)
    debugged = nbtext("predict", *options.split(), "--verbose")
    assert debugged.status == 2


def test_a_document_that_cannot_be_read_is_an_error(nbtext: Any, folder: Path) -> None:
    found = nbtext("predict broken.jsonl -m m --exit-status spam -q")
    assert (found.status, len(found.out.splitlines())) == (2, 2)
    assert (
        found.err
        == "nbtext: --exit-status: 1 document could not be read; leave it out to see the reasons\n"
    )
    assert nbtext("predict missing -m m").status == 1  # as always without the option


def test_a_closed_pipe_is_no_answer(folder: Path) -> None:
    (folder / "many.txt").write_text(f"{SPAM}\n" * 100_000)
    command = [
        sys.executable,
        "-m",
        "nbtext",
        "predict",
        "many.txt",
        "-m",
        "m",
        "--exit-status",
        "ham",
        "-q",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(60) == 2
