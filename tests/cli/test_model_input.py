"""A model stores the fields of its input; `--label`, `--exclude`, and raw mails."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_files import read_header

TABLE = "queue,body,subject\nham,lunch meeting,a\nspam,win prize cash,b\nham,lunch friend,c\nspam,prize loan,d\n"
MAIL = b"From: ada@example.org\nSubject: win a prize\n\nwin cash now\nprize\n"


@pytest.fixture
def folder(nbtext: Any, tmp_path: Path) -> Path:
    """A folder with a table of unusual columns, and a model of it."""
    (tmp_path / "a.csv").write_text(TABLE)
    fields = "--text-field body --label-field queue"
    nbtext(f"train a.csv {fields} --keep-sample 99 -o m").ok()
    return tmp_path


@pytest.mark.exhaustive
def test_the_columns_of_training_are_the_default(nbtext: Any, folder: Path) -> None:
    """Every command that reads documents uses them, and gives what it gives with the options."""
    fields = ("--text-field", "body", "--label-field", "queue")
    for command in (
        ("predict", "a.csv", "-m", "m", "--to", "jsonl"),
        ("evaluate", "a.csv", "-m", "m", "--to", "json"),
        ("explain", "a.csv", "-m", "m", "--to", "jsonl"),
        ("compare", "a.csv", "-m", "m", "-m", "m", "--to", "tsv"),
    ):
        plain = nbtext(*command)
        typed = nbtext(*command, *fields)
        assert plain.status == 0, plain.err
        if command[0] != "compare":  # which reports times
            assert plain.out == typed.out
    for command in ("update", "calibrate", "forget"):
        for name, options in (("plain", ()), ("typed", fields)):
            assert nbtext(command, "m", "a.csv", *options, "-o", name).status == (
                command == "forget"
            )
        if command != "forget":
            assert (folder / "plain").read_bytes() == (folder / "typed").read_bytes()
    nbtext("update m a.csv -q").ok()
    nbtext("forget m a.csv -q").ok()


def test_options_win_over_the_memory(nbtext: Any, folder: Path) -> None:
    """A column that an option names is read, and a missing one is an error that names it."""
    before = nbtext("predict a.csv -m m").out
    assert nbtext("predict a.csv -m m --text-field subject").out != before
    (folder / "b.csv").write_text("text\nwin a prize\n")
    nbtext("predict b.csv -m m").refused(1, "body")
    assert "\tspam\t" in nbtext("predict b.csv -m m --text-field text").out


def test_fields_of_tables_are_not_those_of_mails(nbtext: Any, folder: Path) -> None:
    """A model of a table reads the subject and text of a mail, and whole lines of plain text."""
    (folder / "x.eml").write_bytes(MAIL)
    for source, options in (
        ("x.eml", {}),
        ("-", {"input": MAIL}),
        ("-", {"input": b"win a prize\n"}),
    ):
        record = nbtext(f"predict {source} -m m --to jsonl", **options).json
        assert (record["label"], record["known"] > 0) == ("spam", True)


def test_separate_fields_are_remembered(nbtext: Any, folder: Path) -> None:
    fields = ("--text-field", "body,subject", "--label-field", "queue", "--separate-fields")
    nbtext("train", "a.csv", *fields, "-o", "s").ok()
    ran = nbtext("predict a.csv -m s").ok()
    assert ran.out == nbtext("predict", "a.csv", "-m", "s", *fields[:2], fields[-1]).out


def test_separate_fields_of_sources_without_fields_are_remembered(
    nbtext: Any, folder: Path
) -> None:
    """A document of a folder has one text, whose words are those of one separate field."""
    for label, text in (("spam", "win a prize"), ("ham", "lunch at noon")):
        (folder / "d" / label).mkdir(parents=True)
        (folder / "d" / label / "1.txt").write_text(text)
    nbtext("train d --separate-fields -o s").ok()
    nbtext("update s d -q -o t").ok()
    ran = nbtext("predict d -m s")
    assert (ran.status, ran.err) == (0, "")
    assert [line.split("\t")[1] for line in ran.out.splitlines()] == ["ham", "spam"]


def test_merged_models_remember_what_they_share(nbtext: Any, folder: Path) -> None:

    keep = "--keep-sample 99"
    (folder / "b.csv").write_text("label,text\nham,lunch\nspam,prize\n")
    nbtext(f"train b.csv {keep} -o other").ok()
    nbtext("merge m other -o both").ok()
    nbtext("merge m m -o twice").ok()
    both, other, twice, one = (
        read_header(folder / name)["input"] for name in ("both", "other", "twice", "m")
    )
    assert other.pop("unit") == "row" and both == other
    assert twice == one


def test_label_of_an_unlabeled_source(nbtext: Any, folder: Path) -> None:
    """`update MODEL - --label spam` learns a mail from a pipe, as if it had been in the table."""
    (folder / "mail.csv").write_text('queue,body\nspam,"win a prize\nwin cash now\nprize"\n')
    nbtext("update m - --label spam -o fed", input=MAIL).ok()
    nbtext("update m mail.csv -o read").ok()
    assert (folder / "fed").read_bytes() == (folder / "read").read_bytes()
    nbtext("forget fed - --label spam", input=MAIL).ok()
    assert (folder / "fed").read_bytes() == (folder / "m").read_bytes()


def test_the_label_replaces_those_of_the_source(nbtext: Any, folder: Path) -> None:
    """It is the label of every document of directories, tables and lines."""
    for name in ("in/one/1.txt", "in/two/2.txt"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("some words")
    (folder / "lines.txt").write_text("__label__x some words\nother words\n")
    for source in ("in", "a.csv --text-field body", "lines.txt"):
        assert "1 label, " in nbtext(f"train {source} --label all -o one").ok().err
        assert "\tall\t" in nbtext(f"predict {source} -m one").ok().out
    nbtext("train", "in", "--label", "x" * 100_000, "-o", "none").refused(2, "is not a label")
    nbtext("predict in -m m --label x").refused(2, "No such option")


def test_excluded_files(nbtext: Any, folder: Path) -> None:
    """Patterns match names and paths; what they match is counted, and its content is never read."""
    for name in ("d/ham/1.txt", "d/ham/old/2.txt", "d/spam/3.txt", "d/spam/3.bak", "d/draft/4.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"word{name[-5]} same")
    options = "--exclude *.bak --exclude ham/old --exclude draft/"
    out = nbtext(f"predict d -m m {options}")
    assert [line.split("\t")[0] for line in out.out.splitlines()] == ["d/ham/1.txt", "d/spam/3.txt"]
    assert "skipped 3: excluded by --exclude" in out.err
    nbtext("predict d -m m --exclude *").refused(
        1, "contains no file that nbtext reads (excluded by --exclude: 3)"
    )
    nbtext("predict a.csv -m m --exclude *").refused(2, "SOURCE is not a directory")


@pytest.mark.parametrize(
    ("content", "n_documents"),
    [
        (MAIL, 1),
        (b"From ada@example.org Thu Nov 21 03:37:00 2024\n" + MAIL, 1),
        (b"Subject: one header is not a mail\n\nfor a model of a table\n", 3),
    ],
)
def test_a_mail_is_recognized_by_its_headers(
    nbtext: Any, folder: Path, content: bytes, n_documents: int
) -> None:
    """On standard input, and in a file whose name tells nothing."""
    (folder / "1732160220.M1P2.host:2,S").write_bytes(content)
    for source in ("-", "1732160220.M1P2.host:2,S"):
        assert nbtext(f"predict {source} -m m", input=content).out.count("\n") == n_documents
    lines = nbtext("predict - -m m --input-format lines", input=content).out
    assert len(lines.splitlines()) == len(content.splitlines())


def test_train_on_a_mail_from_a_pipe(nbtext: Any, folder: Path) -> None:
    assert "1 document, 1 label" in nbtext("train - --label spam -o one", input=MAIL).err
    single = nbtext(
        "predict - -m one",
        input=b"Subject: one is enough\n\nfor a model of mails\n",
    )
    assert len(single.out.splitlines()) == 1


STREAMS = {
    "csv": TABLE,
    "semicolons": TABLE.replace(",", ";"),
    "quoted": TABLE.replace("queue,body,subject", '\ufeff"queue","body","subject"'),
    "tsv": TABLE.replace(",", "\t"),
    "without labels": "body\n"
    + "".join(f"{line.split(',')[1]}\n" for line in TABLE.splitlines()[1:]),
}


@pytest.mark.parametrize("case", STREAMS)
def test_a_table_from_a_pipe_is_read_like_the_file(nbtext: Any, folder: Path, case: str) -> None:
    """The columns of the model in its first line tell that it is a table."""
    name = "t.tsv" if case == "tsv" else "t.csv"
    (folder / name).write_text(STREAMS[case])
    ask = "predict -m m --to jsonl"
    records = nbtext(f"{ask} {name}").records
    ran = nbtext(f"{ask} -", input=STREAMS[case].encode())
    said = "nbtext: warning: standard input: read as a table with the columns body; "
    assert ran.status == 0 and ran.err.partition("give")[0] == said * (case == "without labels")
    assert [json.loads(line) | {"id": ""} for line in ran.out.splitlines()] == [
        each | {"id": ""} for each in records
    ]
    assert len(records) == 4


def test_lines_that_may_be_something_else_are_said(nbtext: Any, folder: Path) -> None:
    """A model of rows or files gets lines from a pipe; only what looks like one of its documents is
    said.
    """
    for text, is_said in (
        (b"a,b\nc,d\n", True),
        (b"win a prize\n", False),
        (b"hello, you\nwin\n", False),
    ):
        ran = nbtext("predict - -m m", input=text)
        said = "standard input: each line is a document, and the model was trained on rows; give --input-format csv"
        assert ran.status == 0 and (said in ran.err) == is_said, ran.err
        assert nbtext("predict - -m m -q", input=text).err == ""
        assert nbtext("predict - -m m --input-format lines", input=text).err == ""


def test_one_header_line_for_each_mail(nbtext: Any, tmp_path: Path) -> None:
    """`--to header` reads standard input as one mail, whatever headers it has and whatever the
    model was trained on.
    """
    for n in range(4):
        (tmp_path / "td" / "ab"[n % 2]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "td" / "ab"[n % 2] / f"{n}.txt").write_text(
            f"Subject: {'ab'[n % 2]}word\nnumber {n}\n"
        )
    (tmp_path / "t.csv").write_text(TABLE)
    nbtext("train td -q -o files").ok()
    assert nbtext("train t.csv -q --text-field body --label-field queue -o rows")
    for model in ("files", "rows"):
        for mail in (
            b"Subject: aword\n\nbody\nprize\n",
            b"X-Odd: aword\n\nbody\n\nprize",
            b"aword\nprize\n",
        ):
            ran = nbtext(f"predict - -m {model} --to header", input=mail)
            assert (ran.status, ran.err, ran.out.count("\n")) == (0, "", 1), ran
            assert ran.out.startswith("X-Nbtext-Label: " + ("a;" if model == "files" else "spam;"))
