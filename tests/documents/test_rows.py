"""Columns are added to the rows of a text file, whose other values, order and style stay."""

import codecs
import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtext.documents.formats import FORMATS
from nbtext.documents.rows import ChangedRows, Column, OutputTarget
from nbtext.documents.settings import FOR_COLUMNS, InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError

READING = InputSettings(rows_for=FOR_COLUMNS)


class Kept(io.BytesIO):
    """A file whose content can be read after it was closed."""

    def close(self) -> None:
        pass


def add(
    *paths: Path,
    label: str = "spam",
    slices: int = 0,
    names: tuple[str, str] = ("label", "p"),
    **given: Any,
) -> bytes:
    """Return the bytes of some files with two columns: a label, and the number 0.5."""
    written = Kept()

    @contextmanager
    def opened() -> Iterator[io.BytesIO]:
        yield written

    batches = []
    for batch in open_source([str(path) for path in paths], replace(READING, **given)).batches():
        batches += batch.split(slices) if slices else [batch]
    added = []
    for batch in batches:
        assert batch.rows is not None
        n = len(batch)
        columns = [
            Column(names[0], "text", [label] * n, str),
            Column(names[1], "number", [0.5] * n, "{:.2f}".format),
        ]
        added.append(ChangedRows(batch.rows, columns, columns))
    if added:
        FORMATS[added[0].rows.format].load("writer")(
            iter(added), OutputTarget("out", opened), READING
        )
    return written.getvalue()


# a quote after blanks seems to open a cell, and makes the writer more careful
texts = st.text(st.sampled_from('ab ,;"\n\tä\u3042😀='), max_size=8).map(
    lambda text: text.replace(' "', '"')
)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(texts, min_size=width, max_size=width), min_size=0, max_size=9)
)


class Layout(NamedTuple):
    """The layout of a file: separator, quotes, line ends and encoding."""

    codec: str
    end: str
    separator: str
    is_quoted: bool
    is_ended: bool
    slices: int


layouts = st.builds(
    Layout,
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16"]),
    end=st.sampled_from(["\n", "\r\n"]),
    separator=st.sampled_from([",", ";"]),
    is_quoted=st.booleans(),
    is_ended=st.booleans(),
    slices=st.sampled_from([0, 1, 2]),
)


@given(rows=tables, layout=layouts)
@settings(max_examples=300)
@pytest.mark.filterwarnings("ignore::nbtext.errors.AssumptionWarning")
def test_csv_round_trip(tmp_path_factory: Any, rows: list[list[str]], layout: Layout) -> None:
    """The file is what the csv module writes in the same style: the cells of the source and two
    more.
    """
    codec, end, separator, is_quoted, is_ended, slices = layout
    quoting = csv.QUOTE_ALL if is_quoted else csv.QUOTE_MINIMAL
    width = len(rows[0]) if rows else 1
    # an empty cell alone is read with quotes, and keeps them
    rows = [row if row != [""] else ["a"] for row in rows]
    separator = separator if width > 1 else ","
    header = ["text", *(f"column {n}" for n in range(1, width))]

    def written(rows: list[list[str]]) -> str:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)
        return text.getvalue() if is_ended else text.getvalue().removesuffix(end)

    text = written([header, *rows])
    path = tmp_path_factory.mktemp("rows") / "t.csv"
    path.write_bytes(text.encode(codec))
    label = f'a{separator}"b"'
    found = add(path, label=label, slices=slices, encoding=codec)
    bom = (
        codecs.BOM_UTF8
        if codec == "utf-8-sig"
        else codecs.BOM_UTF16_LE
        if codec == "utf-16"
        else b""
    )
    assert found.startswith(bom)
    result = found.decode(codec)
    assert result == written([[*header, "label", "p"], *([*row, label, "0.50"] for row in rows)])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
objects = st.builds(
    lambda text, others: {
        **{
            key: value
            for key, value in others.items()
            if key not in ("text", "new", "p", "label", "id")
        },
        "text": text,
    },
    st.text(max_size=9),
    st.dictionaries(st.text(max_size=4), values, max_size=4),
)


@given(
    records=st.lists(objects, max_size=6),
    layout=layouts,
    is_ascii=st.booleans(),
    is_array=st.booleans(),
)
@settings(max_examples=300)
def test_json_round_trip(
    tmp_path_factory: Any,
    records: list[dict[str, Any]],
    layout: Layout,
    is_ascii: bool,
    is_array: bool,
) -> None:
    """Each object keeps its bytes, and has two more keys at its end."""
    codec, end, _, is_spaced, is_ended, slices = layout
    ends = end if is_ended else " \n\n"
    comma, separators = (", ", (", ", ": ")) if is_spaced else (",", (",", ":"))
    lines = [json.dumps(record, ensure_ascii=is_ascii, separators=separators) for record in records]

    def joined(lines: list[str]) -> str:
        if is_array:
            return f"[{ends}" + f",{ends}".join(lines) + (f"{ends}]\n" if is_ended else "]")
        return "".join(line + ends for line in lines)[: None if is_ended else -len(ends)]

    new = json.dumps({"new": 'a"é', "p": 0.5}, ensure_ascii=False, separators=separators)[1:]
    expected = joined([line[:-1] + comma + new for line in lines])
    path = tmp_path_factory.mktemp("rows") / ("t.json" if is_array else "t.jsonl")
    path.write_bytes(joined(lines).encode(codec, "surrogatepass"))
    form = "json" if is_array else "jsonl"
    found = add(
        path, label='a"é', slices=slices, names=("new", "p"), input_format=form, encoding=codec
    )
    assert found.decode(codec, "surrogatepass") == expected or (not records and not is_array)


def test_what_a_line_may_look_like(tmp_path: Path) -> None:
    """Blanks, empty objects, invalid bytes, and keys with escapes are handled."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'\n  {"text": "\xff", "a": [1, {"label": 2}] }  \r\n\n{"text":1.50,"A":1e400}\n{}\n'
    )
    assert add(path) == (
        b'\n  {"text": "\xff", "a": [1, {"label": 2}], "label": "spam", "p": 0.5 }  \r\n\n'
        b'{"text":1.50,"A":1e400,"label":"spam","p":0.5}\n{"label":"spam","p":0.5}\n'
    )
    for line, place in ((b'{"text": "", "label": 1}', 1), (b'\n{"text": "", "l\\u0061bel": 1}', 2)):
        path.write_bytes(line)
        with pytest.raises(
            InputError, match=rf"t\.jsonl:{place}: there is a key `label` already; --column-prefix"
        ):
            add(path)
    for line in (b"[1]", b'"}"', b"{", b'{"text" 1}'):
        path.write_bytes(b'{"text": "a"}\n' + line)
        with pytest.raises(InputError, match=r"t\.jsonl:2: "):
            add(path)


def test_ragged_rows(tmp_path: Path) -> None:
    """Short rows are filled up; cells without a name are dropped if they are empty, otherwise
    nothing is written.
    """
    path = tmp_path / "t.csv"
    path.write_bytes(b'text,a,a\n1\n2,,,"",\n3,x,y\n\n')
    assert add(path) == b"text,a,a,label,p\n1,,,spam,0.50\n2,,,spam,0.50\n3,x,y,spam,0.50\n\n"
    for row in (b"1,2,3,4", b'1,"2'):
        path.write_bytes(b"text,a,a\n1,2,3\n" + row)
        with pytest.raises(InputError, match=r"t\.csv:3: "):
            add(path)
    path.write_bytes(b"text,label\n1,2\n")
    with pytest.raises(
        InputError, match=r"t\.csv:1: there is a column `label` already; --column-prefix"
    ):
        add(path)


def test_tables_without_header_and_with_sep_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"sep=;\r\ntext;n\r\na, b;1")
    assert add(path) == b"sep=;\r\ntext;n;label;p\r\na, b;1;spam;0.50"
    path.write_bytes(b"a,1\nb,2\n")
    assert add(path, text_field=("1",)) == b"a,1,spam,0.50\nb,2,spam,0.50\n"
    path.write_bytes(b"text,n")
    assert add(path) == b"text,n,label,p"
    path = tmp_path / "t.tsv"
    path.write_bytes(b'text\tn\n"a\tb"\t"c\n"a\n\tb"\t"c"d\n')
    assert add(path, label='x"\t') == (
        b'text\tn\tlabel\tp\n"a\tb"\t"""c"\t"x""\t"\t0.50\n"a\n\tb"\t"""c""d"\t"x""\t"\t0.50\n'
    )


def test_several_files_follow_each_other(tmp_path: Path) -> None:
    """The header and the byte order mark are those of the first; the columns must be the same."""
    first = tmp_path / "a.csv"
    second = tmp_path / "b.csv"
    first.write_bytes(b"\xef\xbb\xbftext,n\na,1")
    second.write_bytes(b"\xef\xbb\xbftext,n\nb,2")
    assert add(first, second) == b"\xef\xbb\xbftext,n,label,p\na,1,spam,0.50\nb,2,spam,0.50"
    for other in (b"text,m\nb,2\n", b"text;n\nb;2\n", "text,n\nb,2\n".encode("utf-16")):
        second.write_bytes(other)
        with pytest.raises(InputError, match=r"b\.csv: its .*a\.csv"):
            add(first, second)


def test_a_label_that_the_encoding_has_not(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("text\nä\n".encode("latin-1"))
    assert add(path, label="ö", encoding="latin-1") == "text,label,p\nä,ö,0.50\n".encode("latin-1")
    with pytest.raises(
        InputError, match="cannot be written in the encoding of the file, iso8859-1"
    ):
        add(path, label="あ", encoding="latin-1")
    path = tmp_path / "t.jsonl"
    path.write_bytes('{"text": "ä"}\n'.encode("latin-1"))
    assert add(path, label="あ", encoding="latin-1").endswith(b'"label": "\\u3042", "p": 0.5}\n')


def test_a_batch_without_some_documents_has_no_rows_of_the_file(tmp_path: Path) -> None:
    """The rows of the file are all of them, so they would be those of other documents."""
    (tmp_path / "t.csv").write_text("text,label\na,x\nb,y\n")
    (batch,) = open_source([str(tmp_path / "t.csv")], READING).batches()
    assert batch.rows is not None
    assert batch.drop({0}).rows is None


@given(
    lines=st.lists(
        st.tuples(
            st.text(st.sampled_from('ab,;\t"" \\äあ'), max_size=12), st.sampled_from(["\n", "\r\n"])
        )
    ),
    is_ended=st.booleans(),
    form=st.sampled_from(["csv", "tsv"]),
    escape=st.sampled_from([None, "backslash"]),
    header=st.booleans(),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    label=st.sampled_from(["spam", 'a"b', '"', "a,b\t;", "x\n"]),
    slices=st.sampled_from([0, 1]),
)
@example([('"";', "\n")], False, "csv", None, True, "utf-8", "x\n", 0)  # text follows a quote
@example(  # a quote that is not closed, and a later row that is written anew
    [('"', "\n"), ("\\,\\", "\n")], True, "csv", "backslash", False, "utf-8", "spam", 0
)
@settings(max_examples=600)
@pytest.mark.filterwarnings("ignore::nbtext.errors.AssumptionWarning")
def test_a_row_is_written_as_it_was_read(  # noqa: PLR0913, PLR0917 - what a file may be like
    tmp_path_factory: Any,
    lines: list[tuple[str, str]],
    is_ended: bool,
    form: str,
    escape: str | None,
    header: bool,
    codec: str,
    label: str,
    slices: int,
) -> None:
    """Any bytes that the reader accepts: without the cells that were added, the output is the
    input.

    Read again, its first cells are those of the input, and the added ones follow.
    """
    separator = "\t" if form == "tsv" else ","
    first = [(separator.join(["text", "n", "m"]), "\n")] if header else []
    text = "".join(line + end for line, end in [*first, *lines])
    text = text if is_ended else text.removesuffix("\n")
    try:
        content = text.encode(codec)
    except UnicodeEncodeError:
        return
    path = tmp_path_factory.mktemp("rows") / f"t.{form}"
    path.write_bytes(content)
    reading: dict[str, Any] = {
        "encoding": codec,
        "delimiter": separator,
        "escape": escape,
        "header": header,
    }
    reading["text_field"] = ("text",) if header else ("1",)

    def rows_of(path: Path) -> list[Any]:
        return [
            row.columns
            for batch in open_source([str(path)], replace(READING, **reading)).batches()
            for row in (batch.rows.rows if batch.rows is not None else [])  # type: ignore[union-attr]
        ]

    try:
        before = rows_of(path)
        if not before and not header:
            return
        found = add(path, label=label, slices=slices, **reading)
    except InputError:
        return
    is_plain = label == quoted(label, separator) and '"' not in label
    width = 3 if header else len(before[0])
    out = path.with_name(f"out.{form}")
    out.write_bytes(found)
    after = rows_of(out)
    assert [row[:width] for row in after] == [
        [*row[:width], *[""] * (width - len(row))] for row in before
    ]
    assert [row[width:] for row in after] == [[label, "0.50"] for _ in before]
    if (
        any(len(row) > width for row in before)
        or (escape and "\\" in text)
        or not (is_plain or escape is None)
    ):
        # surplus cells are left out, and a row that the added cells could change is written anew
        return
    if '"' in text and (escape or not is_plain):  # quotes that the added ones could change
        return
    rest = found.decode(codec, "surrogateescape")
    are_all_quoted = '"0.50"' in rest  # as those of the first row
    for row in before:
        cells = [*[""] * (width - len(row)), label, "0.50"]
        added = "".join(separator + quoted(cell, separator, are_all_quoted) for cell in cells)
        assert added in rest
        rest = rest.replace(added, "", 1)
    if header:
        rest = rest.replace(f"{separator}label{separator}p", "", 1)
    assert rest == text


def quoted(label: str, separator: str, is_needed: bool = False) -> str:
    if (
        is_needed
        or (separator == "," and '"' in label)
        or label.startswith('"')
        or separator in label
        or "\n" in label
    ):
        return '"' + label.replace('"', '""') + '"'
    return label


@pytest.mark.filterwarnings("ignore::nbtext.errors.AssumptionWarning")
def test_only_a_row_whose_label_changes_is_written_anew(tmp_path: Path) -> None:
    """Quotes, blanks and line ends of all other rows stay."""
    path = tmp_path / "t.csv"
    first = '"a, b","x"," 1"\n'
    second = ' c ,"x",2\r\n'
    third = '"d"e,"x"y,\n'
    header = '"text",label,n\r\n'
    path.write_bytes(f"{header}{first}{second}{third}".encode())
    (batch,) = open_source([str(path)], READING).batches()
    assert batch.rows is not None
    for labels, expected in (
        ({}, [first, second, third]),
        ({0: "y"}, ['"a, b",y, 1\n', second, third]),
        ({1: "y"}, [first, " c ,y,2\r\n", third]),
        ({2: "y,z"}, [first, second, 'de,"y,z",\n']),
        ({0: None}, [second, third]),
        ({2: None}, [first, second]),
    ):
        assert relabeled(batch.rows, labels) == "".join([header, *expected]).encode()
    path = tmp_path / "t.tsv"
    path.write_bytes(b'text\tlabel\n"open" tail\ta\n"tab\t"\t"a"')
    (batch,) = open_source([str(path)], READING).batches()
    assert batch.rows is not None
    assert relabeled(batch.rows, {0: "b"}) == b'text\tlabel\n"""open"" tail"\tb\n"tab\t"\t"a"'
    assert relabeled(batch.rows, {1: "b"}) == b'text\tlabel\n"open" tail\ta\n"tab\t"\tb'
    assert relabeled(batch.rows, {1: None}) == b'text\tlabel\n"open" tail\ta\n'


def test_blanks_stay_where_a_quote_follows_others(tmp_path: Path) -> None:
    """The quotes of a new label do not close that of another cell, and no blank is lost."""
    path = tmp_path / "t.csv"
    path.write_text('text,label,n\n ",a,  x\n" """,a,  x\n')
    (batch,) = open_source([str(path)], READING).batches()
    expected = [[' "', "a", "  x"]] * 2
    assert [row.columns for row in batch.rows.rows] == expected  # type: ignore[union-attr]
    path.write_bytes(relabeled(batch.rows, {0: 'b "c", "d"', 1: "e"}))
    expected = [[' "', 'b "c", "d"', "  x"], [' "', "e", "  x"]]
    (batch,) = open_source([str(path)], READING).batches()
    assert [row.columns for row in batch.rows.rows] == expected  # type: ignore[union-attr]


def relabeled(rows: Any, labels: Any) -> bytes:
    written = Kept()
    changed = [ChangedRows(rows, labels=labels)]
    FORMATS[rows.format].load("writer")(
        iter(changed), OutputTarget("out", lambda: nullcontext(written)), READING
    )
    return written.getvalue()
