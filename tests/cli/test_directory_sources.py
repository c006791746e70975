"""What of a directory is a document and what is not: outputs of nbtext, binary files, and files
that cannot be read.
"""

import gzip
import os
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[2]


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    """A folder with a tree of four texts, two of each label."""
    for name, text in {
        "a/1.txt": "red apple sweet",
        "a/2.txt": "green apple",
        "b/1.txt": "yellow banana",
        "b/2.txt": "curved banana",
    }.items():
        (tmp_path / "td" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "td" / name).write_text(text)
    return tmp_path


def ids_of(result: Any) -> list[str]:
    """The ids of tab-separated records; a header is none."""
    return [line.split("\t")[0] for line in result.out.splitlines() if not line.startswith("id\t")]


def test_a_model_in_the_tree_is_no_document(nbtext: Any, fruit: Path) -> None:
    """Training twice with the model inside the directory gives the same model, and reports the
    skipped file.
    """
    first = nbtext("train td -o td/a/model.joblib")
    model = (fruit / "td/a/model.joblib").read_bytes()
    second = nbtext("train td -o td/a/model.joblib")
    third = nbtext("train td -o other.joblib")
    assert (first.status, second.status, third.status) == (0, 0, 0)
    assert (
        (fruit / "td/a/model.joblib").read_bytes() == model == (fruit / "other.joblib").read_bytes()
    )
    assert "4 documents" in second.err
    assert "skipped 1: output of this run" in second.err
    assert "skipped 1: nbtext model" in third.err


def test_results_in_the_tree_are_excluded(nbtext: Any, fruit: Path) -> None:
    """A matrix is recognized by what it holds; results and exported models are text, which
    --exclude leaves out.
    """
    nbtext("train td -q -o m.joblib").ok()
    nbtext("vectorize td -q -o td/a/matrix").ok()
    for form in ("c", "js"):
        nbtext(f"export m.joblib --to {form} -o td/b/model.{form}").ok()
    patterns = "--exclude model.* --exclude answers*"
    answers = nbtext(f"predict td -m m.joblib -o td/answers.tsv {patterns}")
    assert "skipped 1: nbtext matrix" in answers.err
    assert len(ids_of(nbtext(f"predict td -m m.joblib --to tsv {patterns}"))) == 4


BINARY = {
    "report.pdf": (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj << >> endobj stream\n", "PDF file"),
    "old.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50), "office document"),
    "picture.png": (b"\x89PNG\r\n\x1a\n" + bytes(20), "image"),
    "photo": (b"\xff\xd8\xff\xe0 JFIF endobj", "image"),
    "program": (b"\x7fELF\x02\x01\x01" + bytes(20), "binary file"),
    "data": (b"words and\0 zeros", "binary file"),
    "rich.rtf": (b"{\\rtf1\\ansi Hello}", "office document"),
    "table.parquet": (b"PAR1\x15\x04", "Parquet file"),
    "base.db": (b"SQLite format 3\0" + bytes(20), "SQLite database"),
}


def test_binary_files_are_skipped_and_counted(nbtext: Any, fruit: Path) -> None:
    """Their bytes are not learned; a line for each kind says how many, and what would help."""
    for name, (content, _) in BINARY.items():
        (fruit / "td/a" / name).write_bytes(content)
    for name, member in (
        ("letter.docx", "[Content_Types].xml"),
        ("letter.odt", "mimetype"),
        ("some.zip", "a.txt"),
    ):
        with zipfile.ZipFile(fruit / "td/b" / name, "w") as archive:
            archive.writestr(member, "endobj endstream")
    result = nbtext("train td -o m.joblib").ok()
    assert "4 documents" in result.err
    counted = dict.fromkeys(kind for _, kind in BINARY.values())
    assert all(re.search(rf"skipped \d+: {re.escape(kind)}", result.err) for kind in counted)
    assert "pdftotext" in result.err
    assert "skipped 1: zip archive" in result.err
    assert "endobj" not in nbtext("inspect m.joblib --to json").out


def test_what_cannot_be_read_does_not_stop_a_tree(nbtext: Any, fruit: Path) -> None:
    """Pipes, devices, loops and links to unreadable files are skipped, and the other files are
    read.
    """
    os.mkfifo(fruit / "td/a/fifo")
    for name, target in {
        "memory": "/proc/self/mem",
        "full": "/dev/full",
        "pipe": "fifo",
        "loop": "loop",
    }.items():
        (fruit / "td/a" / name).symlink_to(target)
    result = nbtext("train td -o m.joblib").ok()
    assert "4 documents" in result.err
    assert "skipped 1: symbolic link to a file that cannot be read" in result.err
    assert "skipped 1: symbolic link loop\n" in result.err
    (fruit / "td/a/gone").symlink_to("nowhere")
    for _ in range(2):  # at the second time, the output is there, and files are compared with it
        result = nbtext("train td -o again.joblib").ok()
        assert "skipped 3: broken symbolic link\n" in result.err
    records = nbtext("predict td -m m.joblib --to jsonl").records
    reasons = [record.get("reason", "") for record in records if record["id"].endswith("memory")]
    assert (
        len(records) == 5
        and "memory: is a symbolic link to a file that cannot be read" in reasons[0]
    )


def test_a_readme_of_the_tree_is_skipped(nbtext: Any, fruit: Path) -> None:
    """A README directly under the directory, beside the folders of labels, is counted and does not
    stop the run.
    """
    (fruit / "td/README.md").write_text("About this corpus.")
    (fruit / "td/LICENSE").write_text("Free.")
    (fruit / "td/a/readme.txt").write_text("red apple")
    result = nbtext("train td -o m.joblib").ok()
    assert "5 documents" in result.err
    assert "skipped 2: file about the directory, such as README or LICENSE" in result.err


ROWS = [("red apple", "a"), ("green apple", "a"), ("yellow banana", "b"), ("curved banana", "b")]
CSV = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
JSONL = "".join(f'{{"text": "{text}", "label": "{label}"}}\n' for text, label in ROWS)
MBOX = "".join(
    f"From - Thu Nov 21 03:37:00 2024\nSubject: {text}\nX-Kind: {label}\n\n{text}\n\n"
    for text, label in ROWS
)
JUNK = ("Thumbs.db", "x.csv~", "Inbox.msf", "__MACOSX/x.csv", "README.md")
COLLECTIONS: dict[str, tuple[dict[str, str], str]] = {
    "tables": ({"x.csv": CSV, "y.jsonl.gz": JSONL}, "2 tables: each row is a document"),
    "labeled folders": (
        {"a/x.csv": "text\nred apple\n", "b/x.jsonl": '{"text": "yellow banana"}\n'},
        "2 tables: each row is a document",
    ),
    "mails": (
        {"Inbox": MBOX, "Inbox.sbd/Old.gz": MBOX, "z.mbox": MBOX, "Sent": MBOX[: len(MBOX) // 4]},
        "4 mail files: each mail is a document",
    ),
    "both": ({"Inbox": MBOX, "x.tsv": CSV.replace(",", "\t")}, "each mail or row is a document"),
}


@pytest.fixture
def collection(fruit: Path, request: pytest.FixtureRequest) -> tuple[Path, str]:
    """A directory of tables or mail files, with what other programs leave there, and what is said
    of it.
    """
    files, said = COLLECTIONS[request.param]
    for name, text in {**files, **dict.fromkeys(JUNK, "no words"), "chart.png": ""}.items():
        path = fruit / "dir" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    (fruit / "dir/chart.png").write_bytes(BINARY["picture.png"][0])
    return fruit, said


@pytest.mark.parametrize("collection", COLLECTIONS, indirect=True)
@pytest.mark.parametrize("trained", ["td", "t.csv"])
def test_a_directory_of_tables_or_mail_files(
    nbtext: Any, collection: tuple[Path, str], trained: str
) -> None:
    """Its documents are those of its files, whatever the model was trained on; it is said in one
    line.
    """
    root, said = collection
    (root / "t.csv").write_text(CSV)
    nbtext(f"train {trained} -q -o m.joblib").ok()
    names = sorted(
        str(path.relative_to(root))
        for path in (root / "dir").rglob("*")
        if path.is_file() and not any(each in str(path) for each in (*JUNK, "chart.png"))
    )
    each = nbtext("predict", *names, "-m", "m.joblib", "--to", "tsv").ok()
    for jobs in ("1", "3"):
        whole = nbtext(f"predict dir -m m.joblib --to tsv -j {jobs}").ok()
        lines = whole.out.replace("Sent:1", "Sent").splitlines()
        assert sorted(lines) == sorted(each.out.replace("Sent:1", "Sent").splitlines())
        assert whole.err.count("is a document") == 1 and said in whole.err
        assert "skipped 1: file about the directory" in whole.err
        assert "skipped 4: file of a system" in whole.err and "skipped 1: image" in whole.err
    assert nbtext("predict dir -m m.joblib --input-format dirs").out.count("\n") > len(names)


@pytest.mark.parametrize("collection", ["tables", "labeled folders"], indirect=True)
def test_a_directory_of_tables_has_labels(nbtext: Any, collection: tuple[Path, str]) -> None:
    """Those of the column, or of the folder where the table has none."""
    nbtext("train dir -o m.joblib").ok()
    nbtext("evaluate dir -m m.joblib --fail-under accuracy=1").ok()
    labels = [line.split("\t")[1] for line in nbtext("predict dir -m m.joblib").out.splitlines()]
    assert set(labels) == {"a", "b"}


@pytest.mark.parametrize(
    ("name", "text", "patterns"),
    [
        ("t.csv", CSV, "--exclude '*.csv'"),
        ("a/t.jsonl", JSONL, "--exclude '*.jsonl'"),
        ("Inbox", MBOX, "--exclude Inbox"),
    ],
)
def test_tables_beside_texts_are_refused(
    nbtext: Any, fruit: Path, name: str, text: str, patterns: str
) -> None:
    """The message says what to type, and that works."""
    (fruit / "td" / name).write_text(text)
    said = nbtext("train td -o m.joblib").refused(1, f"such as td/{name}, beside texts", patterns)
    assert "--input-format dirs" in said.err
    nbtext("train", "td", *shlex.split(patterns), "-o", "m.joblib").ok()
    assert nbtext("predict td --input-format dirs -m m.joblib").out.count("\n") == 5


def test_files_that_begin_like_mails_are_said(nbtext: Any, fruit: Path) -> None:
    """Headers of files without a suffix are words, unless the format is typed."""
    nbtext("train td -q -o m.joblib").ok()
    (fruit / "mails").mkdir()
    for number in "12":
        (fruit / "mails" / f"m{number}").write_text(f"From: a@b\nSubject: {number}\n\nred\n")
    said = "begin like mails, and the headers are read as words; give --input-format mbox"
    assert nbtext("predict mails -m m.joblib").err.count(said) == 1
    assert "begins like a mail, and the headers" in nbtext("predict mails/m1 -m m.joblib").err
    assert nbtext("predict mails -m m.joblib --input-format mbox").err == ""


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (JSONL, "--input-format jsonl"),
        (f"[{JSONL.strip()}]".replace("\n", ","), "--input-format json"),
        ("__label__a red apple\n__label__b banana\n" * 2, "--input-format fasttext"),
        (CSV, "--input-format csv --delimiter ','"),
        (CSV.replace(",", "|"), "--input-format csv --delimiter '|'"),
        ("Dear all,\nthe rows, as ever,\n", ""),
    ],
)
@pytest.mark.parametrize("name", ["part-{}", "{}.txt", "part-{}.gz"])
def test_files_that_begin_like_tables_are_said(
    nbtext: Any, fruit: Path, content: str, options: str, name: str
) -> None:
    """Files of one document each are said to be tables if all of them begin like one."""
    (fruit / "dir").mkdir()
    for number in range(3):
        path = fruit / "dir" / name.format(number)
        with (gzip.open if name.endswith(".gz") else open)(path, "wt") as file:
            file.write(content)
    nbtext("train td -q -o m.joblib").ok()
    done = nbtext("predict dir -m m.joblib").ok()
    assert done.out.count("\n") == 3
    assert (f"they begin like tables; give {options} to read" in done.err) == (options != "")
    if options:
        command = shlex.split(f"predict dir -m m.joblib {options}")
        assert nbtext(*command).ok().out.count("\n") == 12
    assert nbtext("predict dir -m m.joblib --input-format dirs").ok().err == ""
    (fruit / "dir" / "z.txt").write_text("other words")
    assert nbtext("predict dir -m m.joblib").ok().err == ""


def test_other_folders_may_be_the_labels(nbtext: Any, tmp_path: Path) -> None:
    """A hint says so where the same names lie in most folders; the model remembers the level."""
    for place, words in (("ham", "red apple"), ("spam", "yellow banana")):
        for part in ("part1", "part2", "part3"):
            (tmp_path / "d" / part / place).mkdir(parents=True)
            (tmp_path / "d" / part / place / "1.txt").write_text(f"{words} {part}")
    said = "most of these folders hold ham, spam; if those are the labels, give --label-level 2"
    for command in ("train d -o m", "evaluate d --folds 2", "review d", "vectorize d -o x.npz"):
        assert said in nbtext(command).err
    assert "3 labels" in nbtext("train d -o m").err
    ran = nbtext("train d --label-level 2 -o m")
    assert "2 labels" in ran.err and said not in ran.err
    ran = nbtext("evaluate d -m m --to json")
    assert ran.json["accuracy"] == 1 and said not in ran.err
    assert nbtext("predict d -m m").err == ""
    (tmp_path / "t.csv").write_text(CSV)
    nbtext("train t.csv --label-level 2 -o m").refused(2, "SOURCE is not a directory")
