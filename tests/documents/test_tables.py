"""CSV and TSV: quotes, headers, columns by name and number, and rows that do not fit."""

import csv
import io
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtext.documents import tables
from nbtext.documents.batch import join_batches
from nbtext.documents.blocks import ReadOptions
from nbtext.documents.decoding import encoding_of
from nbtext.documents.formats import FORMATS
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError
from nbtext.kernel import PLAIN_VERSIONS

NUMBERED = {"text_field": ("2",), "label_field": "1"}
cells = st.text(st.characters(codec="utf-8") | st.sampled_from('",\t\n '), max_size=6)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(cells, cells), max_size=6),
    st.sampled_from(["csv", "tsv"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_csv_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    read: Any,
    rows: list[Any],
    form: str,
    ending: str,
) -> None:
    """Rows of any text that the csv module writes with quotes are read back: quotes, tabs, line
    ends and all.
    """
    path = tmp_path_factory.mktemp("table") / f"x.{form}"
    buffer = io.StringIO()
    writer = csv.writer(
        buffer,
        delimiter="," if form == "csv" else "\t",
        quoting=csv.QUOTE_ALL,
        lineterminator=ending,
    )
    writer.writerows([("label", "text"), *rows])
    path.write_bytes(buffer.getvalue().encode())
    found = [(label, texts[0]) for _, texts, label in read(path)]
    assert found == [(label.strip() or None, text) for label, text in rows]


@pytest.mark.filterwarnings("ignore::nbtext.errors.AssumptionWarning")
@settings(max_examples=60)
@given(
    st.lists(st.tuples(cells, cells), max_size=6),
    st.integers(1, 20),
    st.sampled_from(["csv", "tsv"]),
)
def test_blocks_of_any_size_give_the_same_rows(
    stream_of: Any, rows: Any, table: list[Any], size: int, form: str
) -> None:
    """However the bytes of a table arrive, broken ones too, its rows are the same."""
    delimiter = "," if form == "csv" else "\t"
    content = "\n".join(map(delimiter.join, [("label", "text"), *table])).encode()
    settings = InputSettings()

    def outcome(size: int) -> Any:
        blocks = FORMATS[form].load("reader")(
            stream_of(content, size), ReadOptions(encoding_of(settings), settings)
        )
        batches = [block.batch() for block in blocks]
        return rows(batches), [
            str(problem) for batch in batches for problem in batch.problems.values()
        ]

    assert outcome(size) == outcome(10_000)


raw = st.text(st.sampled_from('ab ",\t\r\né\ufeff\\'), max_size=5)
quoted = cells.map(lambda cell: '"' + cell.replace('"', '""') + '"')


@pytest.mark.filterwarnings("ignore::nbtext.errors.AssumptionWarning")
@settings(max_examples=100)
@given(
    st.lists(
        st.lists(quoted | quoted | st.sampled_from(["a", "", "text"]) | raw, min_size=2, max_size=2)
    ),
    st.integers(1, 60),
    st.sampled_from(["csv", "tsv"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_the_scanner_finds_the_cells_of_the_slower_reader(
    stream_of: Any, rows: Any, table: list[Any], size: int, form: str, ending: str
) -> None:
    """Whatever is in the rows behind those that are compared with the header, cut anywhere."""
    # more bytes than the format is recognized by, and more rows than are compared
    known = [["label", "text"], ["a", "b" * 70_000], *([["a", "b"]] * 110)]
    delimiter = "," if form == "csv" else "\t"
    content = ending.join(map(delimiter.join, [*known, *table, *known[2:20], *table])).encode()
    settings = InputSettings()

    def outcome(scan: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "scan_rows", scan)
            blocks = FORMATS[form].load("reader")(
                stream_of(content, size), ReadOptions(encoding_of(settings), settings)
            )
            batches = [block.batch() for block in blocks]
        problems = [str(each) for batch in batches for each in batch.problems.values()]
        return rows(batches), problems, sum(len(batch.left_out) for batch in batches)

    assert outcome(tables.scan_rows) == outcome(PLAIN_VERSIONS["scan_rows"])


@settings(max_examples=60)
@given(st.text('"\tab\n', max_size=30))
@example('"a\n"b"\n')
def test_a_quote_in_a_tsv_file_is_a_quote_unless_it_is_well_formed(content: str) -> None:
    """Read by the rule, letter by letter, gives the same columns as the reader."""
    from nbtext.documents.tables import Dialect, TsvReader

    lines = iter(io.StringIO(content, newline="\n"))
    assert [columns for columns in TsvReader(lines, Dialect("\t", 1000)) if columns] == by_the_rule(
        content
    )


def by_the_rule(content: str) -> list[list[str]]:
    """Return columns by RFC 4180 if quotes enclose a whole field, otherwise with quotes as plain
    characters.
    """
    rows: list[list[str]] = []
    position = 0
    while position < len(content):
        row = []
        is_blank = content[position] == "\n"
        while True:
            end = (
                closing_quote(content, position) if content[position : position + 1] == '"' else -1
            )
            if end >= 0:
                row.append(content[position + 1 : end].replace('""', '"'))
                position = end + 1
            else:
                ends = [
                    found
                    for found in (content.find("\t", position), content.find("\n", position))
                    if found >= 0
                ]
                row.append(content[position : min(ends, default=len(content))])
                position = min(ends, default=len(content))
            position += 1
            if content[position - 1 : position] != "\t":
                break
        if not is_blank:
            rows.append(row)
    return rows


def closing_quote(content: str, opening: int) -> int:
    position = opening + 1
    while (position := content.find('"', position)) >= 0:
        following = content[position + 1 : position + 2]
        if following != '"':
            return position if following in ("", "\t", "\n") else -1
        position += 2
    return -1


@pytest.mark.parametrize(
    ("content", "settings", "expected"),
    [
        ("text,label\na,x\n", {}, [("a", "x")]),
        ("label;,text\nx,a\n", {}, [("a", None)]),
        (" label , text \nx,a\n", {}, [("a", "x")]),
        ("text\na\n", {}, [("a", None)]),
        ("x,a\ny,b\n", NUMBERED, [("a", "x"), ("b", "y")]),
        ("label,2\nx,a\n", {"text_field": ("2",)}, [("a", "x")]),
        ("label,body\nx,a\n", {"text_field": ("2",)}, [("a", "x")]),
        ("text,text,label\na,b,x\n", {"text_field": ("2",)}, [("b", "x")]),
        ("text;label\na, b;x\n", {}, [("a, b", "x")]),
        ("text\tlabel\na;b\tx\n", {}, [("a;b", "x")]),
        ('"name, first";label;text\r\nn;x;"a\r\nb; ""c"""\r\n', {}, [('a\r\nb; "c"', "x")]),
        ("text,a;b;c\nd,e\n", {}, [("d", None)]),
        ("x;a\ny;d, e\n", NUMBERED, [("a", "x"), ("d, e", "y")]),
        ("x,a;b;c\n", NUMBERED, [("a;b;c", "x")]),
        ("a; b; c\n", {"text_field": ("1",)}, [("a; b; c", None)]),
        ("sep=;\ntext;label\na;x\n", {}, [("a", "x")]),
        ("SEP=|\r\ntext|label\r\na,b;c|x\r\n", {}, [("a,b;c", "x")]),
        ("text,label\n\na,x\n\n", {}, [("a", "x")]),
        ("text,label\na,\n", {}, [("a", None)]),
        ("class,body\nx,a\n", {"text_field": ("body",), "label_field": "class"}, [("a", "x")]),
        ("text,label\na,x,,\n", {}, [("a", "x")]),
        ("text,label\nnul \0 inside,x\n", {}, [("nul \0 inside", "x")]),
    ],
)
def test_columns_are_found(
    read: Any,
    tmp_path: Path,
    content: str,
    settings: dict[str, Any],
    expected: list[Any],
) -> None:
    """The first row is a header if it names a wanted text or label column; numbers count columns
    from 1.
    """
    (tmp_path / "x.csv").write_text(content)
    assert [
        (texts[0], label) for _, texts, label in read(tmp_path / "x.csv", **settings)
    ] == expected


def test_ids_are_a_column_or_the_line(read: Any, tmp_path: Path) -> None:
    """The id column names the document; without one its first line does, with quoted line ends
    counted.
    """
    (tmp_path / "x.csv").write_text('text,id\n"two\nlines",first\nb,\n')
    assert [identity for identity, _, _ in read(tmp_path / "x.csv")] == [
        "first",
        f"{tmp_path}/x.csv:4",
    ]


@pytest.mark.parametrize(
    ("content", "settings", "says"),
    [
        (
            "body,label\na,x\n",
            {},
            ":1: no column `text`; the columns are: body, label; name the column with text_field",
        ),
        (
            "text,class\na,x\n",
            {"label_field": "kind"},
            ":1: no column `kind`; the columns are: text, class; name the column with",
        ),
        (
            "a,b\n",
            {},
            ":1: no column `text`; the columns of the first row are: a, b; name the columns with --text-field",
        ),
        (
            "a,b\n",
            {"text_field": ("3",), "label_field": "1"},
            ":1: no column `3`; the columns of the first row are: a, b",
        ),
        (
            "a;b\n",
            {},
            ":1: no column `text`; the columns of the first row are: a, b; name the columns with",
        ),
        (
            "text;id;text\n",
            {},
            ":1: 2 columns are called `text`; name it by its number, as in text_field 1",
        ),
        (
            "text\n" + "a" * 40 + '\n"open\nb\n' + "c\n" * 40,
            {"max_document_bytes": 50},
            ":3: the row that begins here",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_said(
    opened: Any, tmp_path: Path, content: str, settings: dict[str, Any], says: str
) -> None:
    """A missing column lists those that there are; a quote that is not closed is bounded, and
    found.
    """
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(InputError) as caught:
        list(opened(tmp_path / "x.csv", **settings).batches())
    assert str(caught.value).startswith(f"{tmp_path}/x.csv{says}")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("text,label\na,x\nb\n", ":3: expected 2 comma-separated columns, found 1"),
        (
            "text,label\na,x\nb,c,x\n",
            ":3: expected 2 comma-separated columns, found 3; put quotes around a column that holds a comma",
        ),
        ("sep=;\ntext;label\nb\n", ":3: expected 2 semicolon-separated columns, found 1"),
        (
            'text,label\na,x\nb,"never closed\n',
            ":3: a quote that is opened in this row is never closed",
        ),
        ("text,label\na,x\nb\rc,d\n", ":3: broken CSV: a carriage return outside of quotes"),
    ],
)
def test_a_row_that_does_not_fit_is_a_problem(
    problems: Any, tmp_path: Path, content: str, says: str
) -> None:
    """A row with too few or too many columns, or broken quotes, is named by its line; the others
    are read.
    """
    (tmp_path / "x.csv").write_bytes(content.encode())
    (said,) = problems(tmp_path / "x.csv")
    assert said.startswith(f"{tmp_path}/x.csv{says}")


HEAD = "text,label\n"
ROW = "win now,spam\n"


@pytest.mark.parametrize(
    ("name", "content", "rows", "says"),
    [
        (  # the quote of a text without quotes around columns
            "x.csv",
            f'{HEAD}"Are you home? I am late,ham\n{ROW}free "today" only,spam\n',
            [('"Are you home? I am late', "ham"), ("win now", "spam"), ('free "today" only', "spam")],
            "x.csv:2: a quote is opened, and the lines after it look like rows, so it is a plain",
        ),
        (
            "x.csv",
            f'{HEAD}"open,ham\n{ROW}{ROW}',
            [('"open', "ham"), ("win now", "spam"), ("win now", "spam")],
            "x.csv:2: a quote is opened, and the lines after it look like rows",
        ),
        (
            "x.csv",
            f'{HEAD}"a ""b"" c",ham\n"open,ham\n"well, yes",spam\n',
            [('a "b" c', "ham"), ('"open', "ham"), ("well, yes", "spam")],
            "x.csv:3: a quote is opened",
        ),
        (
            "x.csv",
            f'{HEAD}{ROW}"Well, he said "hi" to me",ham\n{ROW}',
            [("win now", "spam"), ('Well, he said hi" to me"', "ham"), ("win now", "spam")],
            "x.csv:3: text follows the quote that closes a column; double the quotes",
        ),
        ("x.csv", f'{HEAD}"a" ,ham\n"two\nlines" ,x\n', [("a", "ham"), ("two\nlines", "x")], ""),
        (  # it closes before a comma, so that only the lines tell
            "x.csv",
            f'{HEAD}"open,ham\n{ROW}the end",ham\n{ROW}',
            [("open,ham\nwin now,spam\nthe end", "ham"), ("win now", "spam")],
            "x.csv:2: a quoted column has lines that look like rows; give --escape none",
        ),
        (
            "x.tsv",
            'text\tlabel\n"open\tham\nwin\tspam\nend"\tham\n',
            [("open\tham\nwin\tspam\nend", "ham")],
            "x.tsv:2: a quoted column has lines that look like rows",
        ),
        ("x.csv", f'{HEAD}"Dear all,\nI am, as ever,\nyours",x\n', [("Dear all,\nI am, as ever,\nyours", "x")], ""),
        (  # tables that were joined, with byte order marks and blank lines
            "x.csv",
            f"\ufeff{HEAD}a b,ham\n\n\ufeff{HEAD}\ufeffc,spam\n\"text\", label\nd,ham\n Text ,LABEL\ne,ham\n",
            [("a b", "ham"), ("c", "spam"), ("d", "ham"), ("e", "ham")],
            "skipped 3: rows that repeat the header",
        ),
        (
            "x.tsv",
            "label\ttext\nham\ta\nlabel\ttext\nham\tb\n",
            [("a", "ham"), ("b", "ham")],
            "skipped 1: rows that repeat the header",
        ),
        (
            "x.jsonl",
            '{"text": "a", "label": "x"}\n{"text": "text", "label": "label"}\n\ufeff{"text": "b", "label": "y"}\n',
            [("a", "x"), ("b", "y")],
            "skipped 1: rows that repeat the header",
        ),
        ("x.txt", "__label__x a\n\ufeff__label__y b\n", [("a", "x"), ("b", "y")], ""),
        (  # R
            "x.csv",
            '"text","label"\n"1","a, b","ham"\n"7","c","spam"\n',
            [("a, b", "ham"), ("c", "spam")],
            "x.csv: the header has no name for the first column, which numbers the rows",
        ),
        (  # Qualtrics
            "x.csv",
            'Id,text,label\nResponse,"How\nwas it?",Rating\n"{""ImportId"":""_r""}","{""ImportId"":""Q1""}",""\nR_1,good,5\n',
            [("good", "5")],
            "skipped 2: further rows of the header",
        ),
        (
            "x.csv",
            "Id,text,label\n,Open-Ended Response,Response\n1,good,5\n",
            [("good", "5")],
            "skipped 1: further rows of the header",
        ),
        (
            "x.csv",
            "text,label,n\nstring,discrete,continuous\n---,:--:,\ngood,5,1\n",
            [("good", "5")],
            "skipped 2: further rows of the header: questions, types or dashes",
        ),
        (
            "x.csv",
            "Id,text,label\nResponse Id,Remarks,Rating\n1,a,5\n2,b,4\n3,c,4\n",
            [("Remarks", "Rating"), ("a", "5"), ("b", "4"), ("c", "4")],
            "x.csv: the second row (Response Id, Remarks, Rating) may be of the header",
        ),
        ("x.csv", "text,label,n\na,x,null\nb,x,1\nc,x,2\nd,x,3\n", [(each, "x") for each in "abcd"], ""),
        ("x.csv", "text,label\na b,x\ntime,number\n", [("a b", "x"), ("time", "number")], ""),
    ],
)  # fmt: skip
def test_no_row_is_lost_or_merged_silently(
    opened: Any, tmp_path: Path, name: str, content: str, rows: list[Any], says: str
) -> None:
    """Quotes that do not balance, and headers in several rows, are read as they are meant, or a
    message names the line.
    """
    (tmp_path / name).write_bytes(content.encode())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = opened(tmp_path / name)
        batches = list(source.batches())
    assert not any(batch.problems for batch in batches)
    assert [
        row for each in batches for row in zip(each.columns[0], each.labels, strict=True)
    ] == rows
    said = [str(each.message).removeprefix(f"{tmp_path}/") for each in caught]
    said += [f"skipped {number}: {reason}" for reason, number in source.skipped.items()]
    assert len(said) == (says != "") and "".join(said).startswith(says)


@pytest.mark.parametrize(
    ("content", "settings", "expected"),
    [
        (
            f'{HEAD}"Dear all,\nhe said "hi" to me\nbye",ham\n{ROW}',
            {},
            ["x.csv:2: text follows the quote that closes a column in line 3; double", None, None],
        ),
        (  # the next row is not lost
            f'{HEAD}"Well, open,ham\n"well, yes",spam\n{ROW}',
            {},
            ["x.csv:2: text follows the quote that closes a column in line 3", None, None],
        ),
        (
            f"{HEAD}{ROW}label,text\n",
            {},
            [None, "x.csv:3: the row is a header with another order of the columns; give each file"],
        ),
        (
            f"{HEAD}me@x,a,ham\nyou@x,b,ham\n",
            {},
            ["x.csv:2: expected 2 comma-separated columns, found 3; put quotes around a column that holds a comma, or give the first column a name", "x.csv:3: expected"],
        ),
        (
            f"hello, world,ham\n{ROW}{ROW}",
            {"text_field": ("1",), "label_field": "2"},
            ["x.csv:1: expected 2 comma-separated columns, found 3; put quotes", None, None],
        ),
        (  # which is not said to be a second header
            f"{HEAD}hello, my friend,ham\n{3 * ROW}",
            {},
            ["x.csv:2: expected 2 comma-separated columns, found 3", None, None, None],
        ),
        (f'{HEAD}"a,ham\nb",ham\n"c,ham\n', {"escape": "none"}, [None] * 3),
    ],
)  # fmt: skip
def test_a_row_that_may_be_several_is_a_problem(
    opened: Any, tmp_path: Path, content: str, settings: dict[str, Any], expected: list[str | None]
) -> None:
    """What can be read in no certain way is said with its line, and the other rows are read."""
    (tmp_path / "x.csv").write_text(content)
    batch = join_batches(list(opened(tmp_path / "x.csv", **settings).batches()))
    assert len(batch) == len(expected)
    for row, says in enumerate(expected):
        said = str(batch.problems.get(row, "")).removeprefix(f"{tmp_path}/")
        assert said.startswith(says) if says else not said


def test_the_limit_of_a_field_of_the_process_stays(read: Any, tmp_path: Path) -> None:
    """A program that uses nbtext and csv keeps its own limit, also while a long cell is read."""
    (tmp_path / "x.csv").write_text(f'text,label\n"{"a" * 300_000}\n""b""",x\nc,y\n')
    before = csv.field_size_limit()
    found = read(tmp_path / "x.csv")
    assert [(len(texts[0]), label) for _, texts, label in found] == [(300_004, "x"), (1, "y")]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("header", ["text,label", "text, label"])
def test_blanks_may_precede_quotes(read: Any, tmp_path: Path, header: str) -> None:
    """The header or the rows show it, and a comma and doubled quotes within quotes do not."""
    rows = '"win, now", "spam"\n"he said, ""hi, you""", "ham"\n'
    (tmp_path / "x.csv").write_text(f"{header}\n{rows}")
    assert [(texts[0], label) for _, texts, label in read(tmp_path / "x.csv")] == [
        ("win, now", "spam"),
        ('he said, "hi, you"', "ham"),
    ]
    (tmp_path / "y.csv").write_text('text,label\n"he said, ""hi""",ham\n  indented,spam\n')
    assert [texts[0] for _, texts, _ in read(tmp_path / "y.csv")] == ['he said, "hi"', "  indented"]


def test_long_fields_are_read(read: Any, problems: Any, tmp_path: Path) -> None:
    """A field may be longer than Python's own limit, up to max_document_bytes."""
    (tmp_path / "x.csv").write_text(f'text\n"{"a" * 300_000}"\nb\n')
    assert [len(texts[0]) for _, texts, _ in read(tmp_path / "x.csv")] == [300_000, 1]
    (said,) = problems(tmp_path / "x.csv", max_document_bytes=100_000)
    assert said.startswith(f"{tmp_path}/x.csv:2: the document has more than 100,000 bytes")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('ham\t"Are you coming?"', "Are you coming?"),
        ('ham\t"Are you" coming?', '"Are you" coming?'),
        ('ham\tsay "hi"', 'say "hi"'),
        ('ham\t"say ""hi"""', 'say "hi"'),
        ('ham\t"unclosed', '"unclosed'),
        ('ham\t"', '"'),
        ('ham\t""', ""),
        ('"ham"\t"a\tb"', "a\tb"),
        ('ham\t"two\nlines"', "two\nlines"),
        ('ham\t"two\r\nlines"\r', "two\r\nlines"),
        ('ham\ta"b\r', 'a"b'),
    ],
)
def test_quotes_in_tsv(read: Any, tmp_path: Path, line: str, expected: str) -> None:
    """A TSV field is quoted only where it is from its first character to its last; the last line
    may end with a carriage return alone.
    """
    (tmp_path / "x.tsv").write_bytes(f'{line}\nspam\t"next"\r'.encode())
    assert [(texts[0], label) for _, texts, label in read(tmp_path / "x.tsv", **NUMBERED)] == [
        (expected, "ham"),
        ("next", "spam"),
    ]


@pytest.mark.exhaustive
def test_quotes_that_never_close_cost_no_quadratic_time(read: Any, tmp_path: Path) -> None:
    """100,000 rows that open a quote are 100,000 documents, and are read quickly."""
    (tmp_path / "x.tsv").write_text('ham\t"a ""b"" c\n' * 100_000)
    assert len(read(tmp_path / "x.tsv", **NUMBERED)) == 100_000


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_carriage_returns_alone_are_no_line_ends(read: Any, tmp_path: Path, name: str) -> None:
    """A table whose lines end so, as on a Mac of the last century, is refused in plain words."""
    (tmp_path / name).write_bytes(b"text\tlabel\rred apple\ta\r")
    with pytest.raises(InputError, match="its lines end with a carriage return alone; convert"):
        read(tmp_path / name)


@pytest.mark.parametrize(("name", "separator"), [("x.csv", ","), ("x.csv", ";"), ("x.tsv", "\t")])
def test_rows_of_very_many_columns_are_refused(
    read: Any, tmp_path: Path, name: str, separator: str
) -> None:
    """Each cell takes some sixty bytes, so their number is bounded, also in the first row."""
    wide = separator * 2_100_000
    for content in (f"text{separator}label\na{separator}b\n{wide}\n", f"text{wide}\n"):
        (tmp_path / name).write_text(content)
        with pytest.raises(
            InputError, match=r"the row has more than 2,000,000 separators|no column `text`"
        ):
            read(tmp_path / name)
