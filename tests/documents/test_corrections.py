"""Rows get another label, or are removed; all other values stay, and usual files change nowhere
else.
"""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtext.documents.formats import FORMATS
from nbtext.documents.rows import ChangedRows, NewLabel, OutputTarget
from nbtext.documents.settings import FOR_COLUMNS, FOR_LABELS, InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError


def correct(path: Path, labels: Mapping[int, NewLabel | None], **options: Any) -> bytes:
    """The file with new labels of some documents, counted from 0."""
    chosen = InputSettings(rows_for=FOR_LABELS, **options)
    written = io.BytesIO()
    first = 0
    parts = []
    for batch in open_source((str(path),), chosen).batches():
        assert batch.rows is not None
        own = {
            row - first: label for row, label in labels.items() if first <= row < first + len(batch)
        }
        parts.append(ChangedRows(batch.rows, labels=own))
        first += len(batch)

    @contextmanager
    def opened() -> Iterator[BinaryIO]:
        yield written

    FORMATS[parts[0].rows.format].load("writer")(parts, OutputTarget(str(path), opened), chosen)
    return written.getvalue()


def labels_of(path: Path, **options: Any) -> list[Any]:
    return [
        list(each or ())
        for batch in open_source((str(path),), InputSettings(**options)).batches()
        for each in batch.list_labels()
    ]


@pytest.mark.parametrize(
    ("name", "before", "label", "after"),
    [
        (
            "x.jsonl",
            '{"n": 1.0, "label": "a" , "text": "t", "k":[ 1 ]}',
            "b",
            '{"n": 1.0, "label": "b" , "text": "t", "k":[ 1 ]}',
        ),
        (
            "x.jsonl",
            '{"text":"a \\u0041 \\"label\\": ","x":{"label":"no"}}',
            "b",
            '{"text":"a \\u0041 \\"label\\": ","x":{"label":"no"},"label":"b"}',
        ),
        (
            "x.jsonl",
            '  {"l\\u0061bel": ["a"], "text": "t" }\t',
            "b",
            '  {"l\\u0061bel": ["b"], "text": "t" }\t',
        ),
        (
            "x.jsonl",
            '{"text": "t", "label": ["a"]}',
            ["b", "c"],
            '{"text": "t", "label": ["b", "c"]}',
        ),
        ("x.jsonl", '{"text": "t", "label": null}', "ü", '{"text": "t", "label": "ü"}'),
        (
            "x.csv",
            'id,label,text,more\n1,"a, b","t ""q"", \n u", z ',
            "b",
            'id,label,text,more\n1,b,"t ""q"", \n u", z ',
        ),
        ("x.csv", "label;text;more\na;t;", 'b;"c', 'label;text;more\n"b;""c";t;'),
        ("x.csv", '"text","label"\r\n"t","1"\r\n', "b", '"text","label"\r\n"t","b"\r\n'),
        ("x.csv", "sep=;\ntext;label\nt, u;1", "b", "sep=;\ntext;label\nt, u;b"),
        ("x.tsv", 'text\tlabel\na "half", b\ta', "b", 'text\tlabel\na "half", b\tb'),
        ("x.txt", "__label__a  text  here ", "b", "__label__b  text  here "),
        ("x.txt", "__label__a", "b", "__label__b"),
        ("x.txt", "__label__a __label__c t", ["b", "d"], "__label__b __label__d t"),
        ("x.txt", "__label__a t __label__c u", "b", "__label__b t u"),
    ],
)
def test_only_the_label_changes(
    tmp_path: Path, name: str, before: str, label: Any, after: str
) -> None:
    """All other bytes of a usual file stay: blanks, escapes, the order of keys, other columns and
    line ends.
    """
    path = tmp_path / name
    path.write_bytes(before.encode())
    assert correct(path, {0: label}) == after.encode()
    assert correct(path, {}) == before.encode()
    path.write_bytes(after.encode())
    assert labels_of(path) == [label if isinstance(label, list) else [label]]


@pytest.mark.parametrize(
    ("name", "before", "label", "after"),
    [
        ("x.csv", 'text,label\n"t","a" \r\n\nu,b', "c", "text,label\nt,c\r\n\nu,b"),
        ("x.tsv", 'text\tlabel\n"half\ta', "b", 'text\tlabel\n"""half"\tb'),
        ("x.tsv", 'text\tlabel\n" """\ta\n"\n"\ta', "b", 'text\tlabel\n" """\tb\n"\n"\ta'),
    ],
)
def test_unusual_files_keep_their_values(
    tmp_path: Path, name: str, before: str, label: str, after: str
) -> None:
    """Quotes are written where they are needed."""
    path = tmp_path / name
    path.write_bytes(before.encode())
    assert correct(path, {0: label}) == after.encode()


def test_equal_keys_are_refused(tmp_path: Path) -> None:
    """Readers differ in which of the values they take."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"label":"x","text":"t"}\n{"label":"a","text":"t","l\\u0061bel":"c"}')
    with pytest.raises(
        InputError, match=r"x\.jsonl:2: the object has several keys `label`; give each value a key"
    ):
        correct(path, {0: "b"})


texts = st.text(st.sampled_from("ab ü\"',;\t{}[]\\:_"), max_size=8)


@st.composite
def files(draw: st.DrawFn) -> Any:
    """A file of one of the formats, with blank lines, either line end, and perhaps no end of the
    last line.
    """
    name = draw(st.sampled_from(["x.jsonl", "x.csv", "x.tsv", "x.txt"]))
    rows = draw(st.lists(st.tuples(texts, st.sampled_from(["a", "b"])), min_size=1, max_size=6))
    lines = []
    for text, label in rows:
        if name == "x.jsonl":
            lines.append(
                json.dumps(
                    {"text": text, "label": label, "more": text}, ensure_ascii=draw(st.booleans())
                )
            )
        elif name == "x.txt":
            lines.append(f"__label__{label} {text.replace('_', '')}".strip() + " end")
        else:
            separator = "," if name == "x.csv" else "\t"
            cells = [
                '"' + text.replace('"', '""') + draw(st.sampled_from(["", "\n"])) + '"',
                label,
                "z",
            ]
            lines.append(separator.join(cells))
    if name in ("x.csv", "x.tsv"):
        lines.insert(
            0, lines[0][:0] + ("text,label,more" if name == "x.csv" else "text\tlabel\tmore")
        )
    elif name == "x.jsonl" and draw(st.booleans()):
        lines.insert(draw(st.integers(0, len(lines))), "")
    content = draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n"]))
    n = len(rows)
    labels = draw(
        st.dictionaries(st.integers(0, n - 1), st.sampled_from([None, "c", "ä-d"]), max_size=n)
    )
    return name, content, [label for _, label in rows], labels


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=files())
def test_the_corrected_file_has_the_new_labels(tmp_path: Path, read: Any, file: Any) -> None:
    """It has the same documents with the new labels; a file that was written so before stays as it
    is.
    """
    name, content, given_labels, labels = file
    path = tmp_path / name
    path.write_bytes(content.encode())
    texts = [texts for _, texts, _ in read(path)]
    path.write_bytes(correct(path, {}))
    assert [texts for _, texts, _ in read(path)] == texts
    assert correct(path, {}) == path.read_bytes()
    path.write_bytes(correct(path, labels))
    kept = [row for row in range(len(given_labels)) if labels.get(row, "") is not None]
    expected = [[labels.get(row) or given_labels[row]] for row in kept]
    assert (labels_of(path) if kept else []) == expected


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path: Path, codec: str) -> None:
    """The byte order mark and the encoding stay."""
    path = tmp_path / "x.jsonl"
    path.write_bytes('{"text": "grün", "label": "a"}\n{"text": "x", "label": "b"}\n'.encode(codec))
    encoding = "latin-1" if codec == "latin-1" else "utf-8"
    expected = '{"text": "grün", "label": "c"}\n'.encode(codec)
    assert correct(path, {0: "c", 1: None}, encoding=encoding) == expected


def test_bytes_that_are_not_text_stay(tmp_path: Path) -> None:
    """An invalid byte is read as a replacement character, and written as it was."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"text,label\n\xff\xfe t,a\nu,b\n")
    assert correct(path, {0: "c"}) == b"text,label\n\xff\xfe t,c\nu,b\n"


def test_columns_of_labels(tmp_path: Path) -> None:
    """--label-fields: the columns of 0 and 1 change; --label-separator joins labels."""
    path = tmp_path / "x.csv"
    path.write_text("text,a,b\nt,1,0\nu,0,1\n")
    assert (
        correct(path, {0: ["b"], 1: ["a", "b"]}, label_fields=("a", "b"))
        == b"text,a,b\nt,0,1\nu,1,1\n"
    )
    with pytest.raises(InputError, match=r"x\.csv:3: the label 'c' has no column"):
        correct(path, {1: "c"}, label_fields=("a", "b"))
    path.write_text("text,label\nt,a|b\n")
    assert correct(path, {0: ["c", "d"]}, label_separator="|") == b"text,label\nt,c|d\n"
    path.write_text("text,label\nt,<a>\n")
    assert correct(path, {0: ["c", "d"]}, label_separator="<>") == b"text,label\nt,<c><d>\n"
    path.write_text('text,label\nt,"a,b"\n')
    new = correct(path, {0: ["c,d", "e"]}, label_separator=",")
    path.write_bytes(new)
    assert labels_of(path, label_separator=",") == [["c,d", "e"]]
    path.write_text("text,l,l\nt,a,b\nu,,a\n")
    assert correct(path, {0: ["c"], 1: ["d", "e"]}, label_field="l") == b"text,l,l\nt,c,\nu,d,e\n"
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "t", "cats": {"A": 1}}\n')
    names = ("cats.A", "cats.B")
    path.write_bytes(correct(path, {0: ["B"]}, label_fields=names))
    assert labels_of(path, label_fields=names) == [["B"]]


def test_names_of_numbers(tmp_path: Path) -> None:
    """A new label of a column whose schema names the labels of its numbers is written as its
    number.
    """
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    features = {"label": {"names": ["a", "b"], "_type": "ClassLabel"}}
    described = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({"text": ["t", "u"], "label": [0, -1]}).replace_schema_metadata(described)
    parquet.write_table(table, path)
    new = parquet.read_table(io.BytesIO(correct(path, {0: "b", 1: "a"})))
    assert new.column("label").to_pylist() == [1, 0]
    assert new.schema.equals(table.schema, check_metadata=True)
    with pytest.raises(InputError, match="a new label does not fit into the column `label`"):
        correct(path, {0: "c"})


def test_labels_that_cannot_be_written(tmp_path: Path) -> None:
    """Each is one error that names the line."""
    (tmp_path / "x.csv").write_text("text,label\nt,a\nu\n")
    with pytest.raises(InputError, match=r"x\.csv:2: 2 labels cannot be written to 1 column"):
        correct(tmp_path / "x.csv", {0: ["a", "b"]})
    (tmp_path / "x.txt").write_text("__label__a t\n")
    with pytest.raises(
        InputError,
        match=r"x\.txt:1: the label .* contains a space, which the fastText format does not allow",
    ):
        correct(tmp_path / "x.txt", {0: "a b"})
    (tmp_path / "y.csv").write_bytes(b"text,label\n\xfc,a\n")
    with pytest.raises(
        InputError, match=r"y\.csv:2: 'ł' cannot be written in the encoding of the file"
    ):
        correct(tmp_path / "y.csv", {0: "łódź"}, encoding="latin-1")


@pytest.mark.parametrize("n", [0, 10_000])
@pytest.mark.parametrize(
    "kind",
    ["text", "view", "list", "dictionary", "dictionary of views"],
)
def test_an_arrow_file_of_several_blocks(tmp_path: Path, kind: str, n: int) -> None:
    """Types stay, also those of polars; an Arrow file has one dictionary of a column, to which new
    labels are added.
    """
    pa = pytest.importorskip("pyarrow")
    given: list[Any] = [["b"], ["a"]] if kind == "list" else ["b", "a"]
    labels = given * (n // 2)
    texts = pa.array([f"word {row}" for row in range(n)], pa.string_view())
    view = pa.large_list(pa.string_view()) if kind == "list" else pa.string_view()
    column = pa.array(labels, pa.string() if kind in ("text", "dictionary") else view)
    if kind.startswith("dictionary"):
        values = pa.array(["a", "b"], pa.string() if kind == "dictionary" else pa.string_view())
        column = pa.DictionaryArray.from_arrays(pa.array([1, 0] * (n // 2), pa.uint8()), values)
    table = pa.table({"text": texts, "label": column, "more": [{"x": None}] * n})
    path = tmp_path / "x.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    new: dict[int, Any] = {0: "a", 3: None, 4: "c", 9_000: "d", 9_002: None} if n else {}
    if kind == "list":
        new = {row: label and [label, "b"] for row, label in new.items()}
    found = pa.ipc.open_file(pa.BufferReader(correct(path, new))).read_all()
    assert found.schema.equals(table.schema)
    changed = [
        each | {"label": new.get(row, each["label"])} for row, each in enumerate(table.to_pylist())
    ]
    assert found.to_pylist() == [each for each in changed if each["label"] is not None]


def test_arrow_files_whose_dictionaries_differ(tmp_path: Path) -> None:
    """One file holds the rows of several, if the type of the column can number all values."""
    pa = pytest.importorskip("pyarrow")
    settings = InputSettings(rows_for=FOR_COLUMNS)

    def join(*columns: list[str]) -> list[str]:
        parts = []
        written = io.BytesIO()
        for number, labels in enumerate(columns):
            coded = pa.array(labels, pa.dictionary(pa.int8(), pa.string()))
            table = pa.table({"text": labels, "label": coded})
            path = tmp_path / f"{number}.arrows"
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
            parts += [batch.rows for batch in open_source((str(path),), settings).batches()]
        target = OutputTarget("o.arrow", lambda: nullcontext(written))
        FORMATS["arrow"].load("writer")(map(ChangedRows, parts), target, settings)
        found = pa.ipc.open_file(pa.BufferReader(written.getvalue())).read_all()
        assert found["label"].to_pylist() == found["text"].to_pylist()
        return list(found["text"].to_pylist())

    assert join(["x", "y"], ["z", "x"]) == ["x", "y", "z", "x"]
    with pytest.raises(
        InputError,
        match=r"1\.arrows: the column `label` has too many values for its type, dictionary",
    ):
        join([f"a{n}" for n in range(100)], [f"b{n}" for n in range(100)])
