"""Tables: whether the first row is a header, other separators, and backslashes as escapes."""

from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source

ROWS = "win a prize now,spam\nlunch at noon,ham\nwin cash today,spam\nlunch with a friend,ham\n"
NUMBERS = ("--text-field", "1", "--label-field", "2")


@pytest.fixture
def folder(nbtext: Any, tmp_path: Path) -> Path:
    """A folder with tables of the same rows, and a model of the one with a header."""
    (tmp_path / "named.csv").write_text("text,label\n" + ROWS)
    (tmp_path / "plain.csv").write_text(ROWS)
    nbtext("train named.csv -o m").ok()
    return tmp_path


def labels_of(nbtext: Any, model: str) -> list[str]:
    return [each["label"] for each in nbtext(f"inspect {model} --to json").json["labels"]]


@pytest.mark.parametrize("text", ["alpha, text\nomega, eps\n", "text\nwin\n", "win;text\na;b\n"])
def test_a_pipe_that_is_taken_for_a_table_is_named(nbtext: Any, folder: Path, text: str) -> None:
    """The first line has a column of the model, but may be a text; --input-format decides."""
    ran = nbtext("predict - -m m", input=text.encode()).ok()
    assert "standard input: read as a table" in ran.err and "--input-format lines" in ran.err
    lines = nbtext("predict - -m m --input-format lines", input=text.encode()).ok()
    assert (lines.err, lines.out.count("\n")) == ("", text.count("\n"))


@pytest.mark.parametrize(
    "text", ["text,label\nwin,spam\n", "id,text\n7,win\n", '"id","text"\n7,win\n']
)
def test_a_pipe_with_the_columns_of_the_model_needs_no_word(
    nbtext: Any, folder: Path, text: str
) -> None:
    assert nbtext("predict - -m m", input=text.encode()).ok().err == ""


@pytest.mark.parametrize("end", [".csv", ".tsv", ".txt"])
def test_a_header_among_numbers(nbtext: Any, folder: Path, end: str) -> None:
    """With fields that are numbers, the first row is a document, which a message says if it looks
    like a header.
    """
    separator = "\t" if end == ".tsv" else ","
    path = folder / f"t{end}"
    path.write_text((folder / "named.csv").read_text().replace(",", separator))
    form = () if end != ".txt" else ("--input-format", "csv")
    ran = nbtext("train", path.name, *NUMBERS, *form, "-o", "n").ok()
    assert "the first row (text, label) is read as a document; give --header" in ran.err
    assert labels_of(nbtext, "n") == ["ham", "label", "spam"]
    told = nbtext("train", path.name, *NUMBERS, "--header", "-o", "n").ok()
    assert "first row" not in told.err
    assert labels_of(nbtext, "n") == ["ham", "spam"]
    kept = nbtext("train", path.name, *NUMBERS, "--no-header", "-o", "n").ok()
    assert "first row" not in kept.err and labels_of(nbtext, "n") == ["ham", "label", "spam"]


def test_other_names_are_recognized_by_the_rows_below(nbtext: Any, folder: Path) -> None:
    (folder / "t.csv").write_text(
        "remark,mood\n" + ROWS.replace(" ", " and then some more words ") * 3
    )
    assert "(remark, mood)" in nbtext("train", "t.csv", *NUMBERS, "-o", "n").ok().err


def test_a_table_without_a_header_is_read_without_a_word(nbtext: Any, folder: Path) -> None:
    assert "row" not in nbtext("train", "plain.csv", *NUMBERS, "-o", "n").ok().err
    (folder / "short.csv").write_text("win,spam\nlunch,ham\ncash,spam\nnoon,ham\n")
    assert "row" not in nbtext("train", "short.csv", *NUMBERS, "-o", "n").ok().err


def test_a_header_that_is_told_by_the_label_alone(nbtext: Any, folder: Path) -> None:
    """`label` is the default name: a text of this word would be taken for it."""
    (folder / "t.csv").write_text("the white one,label\nwin cash,x\n")
    ran = nbtext("predict t.csv -m m --text-field 1").ok()
    assert "because it has the column label; give --no-header" in ran.err
    nbtext("predict t.csv -m m --text-field 1 --header").ok()
    plain = nbtext("predict t.csv -m m --text-field 1 --no-header").ok()
    assert (plain.err, plain.out.count("\n"), ran.out.count("\n")) == ("", 2, 1)


def test_each_of_several_files_has_its_own_header(nbtext: Any, folder: Path) -> None:
    (folder / "other.csv").write_text("label,text\nham,lunch\n")
    ran = nbtext("predict named.csv other.csv -m m --text-field 1").ok()
    assert ran.out.count("\n") == 5
    ran = nbtext("predict", "plain.csv", "named.csv", "other.csv", "-m", "m", *NUMBERS).ok()
    # the two with a header
    assert [line.partition(":")[0] for line in ran.err.splitlines()] == ["nbtext"] * 2


def test_without_a_header_there_are_no_names(nbtext: Any, folder: Path) -> None:
    nbtext("predict named.csv -m m --no-header").refused(
        1, "no column `text`", "give numbers from 1"
    )


@pytest.mark.parametrize(
    "options", [("--header",), ("--delimiter", ","), ("--escape", "backslash")]
)
def test_options_of_tables_need_a_table(
    nbtext: Any, folder: Path, options: tuple[str, ...]
) -> None:
    (folder / "x.jsonl").write_text('{"text": "win"}\n')
    (folder / "d" / "spam").mkdir(parents=True)
    (folder / "d" / "spam" / "1.txt").write_text("win")
    for source in ("x.jsonl", "d"):
        nbtext("predict", source, "-m", "m", *options).refused(
            2, f"{options[0]}: {source} is not a table"
        )


def test_columns_are_added_below_a_header_that_was_told(nbtext: Any, folder: Path) -> None:
    ran = nbtext(
        "predict named.csv -m m --text-field 1 --header --add-columns --column-prefix p_",
    ).ok()
    assert ran.rows[0] == ["text", "label", "p_label", "p_probability"]
    ran = nbtext("predict plain.csv -m m --text-field 1 --add-columns").ok()
    assert [row[:2] for row in ran.rows] == [line.split(",") for line in ROWS.splitlines()]


@pytest.mark.parametrize(
    ("typed", "mark"),
    [("|", "|"), ("pipe", "|"), ("tab", "\t"), ("\\t", "\t"), ("~", "~"), ("§", "§"), (";", ";")],
)
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.tsv", "-"])
def test_any_character_separates_columns(
    nbtext: Any, folder: Path, typed: str, mark: str, name: str
) -> None:
    table = (folder / "named.csv").read_text().replace(",", mark)
    (folder / "t").write_text(table)
    given = {"input": table.encode()} if name == "-" else {}
    if name != "-":
        (folder / "t").rename(folder / name)
    ran = nbtext(f"predict {name} -m m --delimiter {typed} --to jsonl", **given).ok()
    plain = nbtext("predict named.csv -m m --to jsonl").ok()
    assert [each["scores"] for each in ran.records] == [each["scores"] for each in plain.records]
    columns = "--add-columns --column-prefix p_"
    added = nbtext(f"predict {name} -m m --delimiter {typed} {columns}", **given).ok()
    assert added.out.splitlines()[0] == mark.join(["text", "label", "p_label", "p_probability"])


@pytest.mark.parametrize("typed", ["", "||", '"', "\\", "words"])
def test_what_is_no_delimiter(nbtext: Any, folder: Path, typed: str) -> None:
    ask = ("predict", "named.csv", "-m", "m", "--delimiter", typed)
    nbtext(*ask).refused(2, "--delimiter", "one character")


def test_a_table_in_a_text_file_is_named(nbtext: Any, folder: Path) -> None:
    """A model of rows reads the lines of a .txt file whole, and says what else they may be."""
    (folder / "t.txt").write_text((folder / "named.csv").read_text().replace(",", "\t"))
    assert "trained on rows" in nbtext("predict t.txt -m m").ok().err
    (folder / "u.txt").write_text("win, win, win\nlunch, or else, noon\n")
    assert nbtext("predict u.txt -m m").ok().err == ""


SPARK = (
    'text,label\n"win \\"a, prize\\" now",spam\n"lunch \\\\ at\n noon",ham\n"",\\N\nC:\\\\x,ham\n'
)
MYSQL = 'text\tlabel\nwin "a\\\tb\\\nc\tspam\n"hi" he said\\\\\tham\n\\N\t\\N\n"open\tham\ntab\\there\tspam\n'


@pytest.mark.parametrize(
    ("name", "content", "texts", "labels"),
    [
        (
            "t.csv",
            SPARK,
            ['win "a, prize" now', "lunch \\ at\n noon", "", "C:\\x"],
            ["spam", "ham", None, "ham"],
        ),
        (
            "t.tsv",
            MYSQL,
            ['win "a\tb\nc', '"hi" he said\\', "", '"open', "tab\there"],
            ["spam", "ham", None, "ham", "spam"],
        ),
    ],
)
def test_a_backslash_escapes(
    nbtext: Any, folder: Path, name: str, content: str, texts: list[str], labels: list[str | None]
) -> None:
    """Tables of Spark and MySQL are read, and the columns that are added leave the others as they
    are.
    """
    settings = InputSettings(escape="backslash")
    columns = "--add-columns --column-prefix p_"
    for end in ("\n", "\r\n"):
        (folder / name).write_bytes(content.replace("\n", end).encode())
        command = f"predict {name} -m m --escape backslash {columns} -o added.{name}"
        assert nbtext(command).ok().out == ""
        assert "\\N" in (folder / f"added.{name}").read_text()
        for table in (name, f"added.{name}"):
            (found,) = open_source([table], settings).batches()
            assert [text.replace("\r\n", "\n") for text in found.columns[0]] == texts
            assert found.labels == labels


def test_backslashes_that_may_be_escapes_are_named(nbtext: Any, folder: Path) -> None:
    (folder / "t.csv").write_text(
        'text,label\n"win \\"a prize\\" now",spam\nlunch,ham\n"a ""b\\"" c",ham\n'
    )
    assert "t.csv:2: a backslash precedes a quote" in nbtext("predict t.csv -m m").ok().err
    (folder / "n.tsv").write_text("text\tlabel\nwin\t\\N\nlunch\tham\n")
    assert "a column is \\N; if backslashes are escapes" in nbtext("predict n.tsv -m m").ok().err
    (folder / "ok.csv").write_text('text,label\n"a ""b\\"" c",ham\n"C:\\",spam\n')
    assert nbtext("predict ok.csv -m m").ok().err == ""


def test_a_tab_that_is_typed_is_that_of_a_tsv_file(nbtext: Any, folder: Path) -> None:
    """Quotes that do not balance are plain characters in both, and with --escape none in CSV."""
    rows = 'text\tlabel\n"Are you home?\tham\nlunch, noon\tham\nfree "today" only\tspam\n'
    for name in ("q.tsv", "q.csv", "q.txt"):
        (folder / name).write_text(rows)
    (folder / "c.csv").write_text(rows.replace(", ", " ").replace("\t", ","))
    plain = nbtext("predict q.tsv -m m").ok()
    assert plain.out.count("\n") == 3 and plain.err == ""
    for source in (
        "q.csv",
        "q.csv --delimiter tab",
        "q.txt --delimiter tab",
        "c.csv --escape none",
    ):
        ran = nbtext(f"predict {source} -m m").ok()
        assert [row[1:] for row in ran.rows] == [row[1:] for row in plain.rows]
        assert ran.err == ""
    added = nbtext("predict c.csv -m m --escape none --add-columns --column-prefix p_").ok()
    assert added.out.splitlines()[1].startswith('"Are you home?,ham,ham,')
    decisions = [{"id": "c.csv:2", "decision": "relabel", "label": "a,b"}]
    write_rows(folder / "d.jsonl", decisions)
    nbtext("review c.csv --apply d.jsonl --escape none -o u.csv").refused(1, "c.csv:2", "quoted")


def test_labels_are_corrected_in_the_manner_of_the_file(nbtext: Any, folder: Path) -> None:
    (folder / "t.tsv").write_text(
        'text\tlabel\nwin\\\tcash "now\tspam\nlunch\tham\n"a \\"b\\""\tham\n'
    )
    decisions = [{"id": "t.tsv:2", "decision": "relabel", "label": "a\tb \\"}]
    write_rows(folder / "d.jsonl", decisions)
    nbtext("review t.tsv --apply d.jsonl --escape backslash -o u.tsv").ok()
    assert (folder / "u.tsv").read_text().splitlines()[1:3] == [
        'win\\\tcash "now\ta\\\tb \\\\',
        "lunch\tham",
    ]
