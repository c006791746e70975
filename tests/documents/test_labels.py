"""Several labels of a document: lists, texts with a separator, and columns of 0 and 1, in every
format.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_files import write_rows

from nbtext.documents.fields import join_labels, split_label
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError, SettingsError

Lists = list[tuple[str, ...] | None]
LABELS: Lists = [("b", "a"), (), ("a",), ("c, d",)]


def read_lists(path: Path, **settings: Any) -> Lists:
    """Return the labels of each document; a problem is raised."""
    found: Lists = []
    for batch in open_source([str(path)], InputSettings(**settings)).batches():
        for problem in batch.problems.values():
            raise problem
        found += batch.list_labels()
    return found


def write_columns(path: Path, columns: dict[str, list[Any]]) -> Path:
    """Write rows in the format of the suffix."""
    write_rows(
        path, [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    )
    return path


of_any_format = pytest.mark.parametrize(
    "suffix", [".csv", ".tsv", ".jsonl", ".json", ".db", ".parquet"]
)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_lists(tmp_path: Path, suffix: str) -> None:
    """A list holds labels, each once, in its order; an empty list is a document without label."""
    columns = {"text": ["x"] * 4, "label": [["b", "a", "b"], [], ["a"], ["c, d"]]}
    assert read_lists(write_columns(tmp_path / f"t{suffix}", columns)) == LABELS


@of_any_format
def test_separator(tmp_path: Path, suffix: str) -> None:
    """A separator divides texts in every format; without one, a text is one label, whatever it
    holds.
    """
    columns = {"text": ["x"] * 4, "label": ["b | a|b|", "", "a", "c, d"]}
    path = write_columns(tmp_path / f"t{suffix}", columns)
    assert read_lists(path, label_separator="|") == LABELS
    assert read_lists(path) == [("b | a|b|",), None, ("a",), ("c, d",)]


@of_any_format
def test_columns(tmp_path: Path, suffix: str) -> None:
    """Columns of 0 and 1, or of booleans, give the labels of their names."""
    columns = {
        "text": ["x"] * 4,
        "b": [1, 0, 0, 0],
        "a": [1, 0, 1, 0],
        "c, d": [False, False, False, True],
    }
    path = write_columns(tmp_path / f"t{suffix}", columns)
    assert read_lists(path, label_fields=("b", "a", "c, d")) == LABELS


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("value", ["2", "yes", ""])
def test_columns_of_other_values(tmp_path: Path, suffix: str, value: str) -> None:
    """Another value is an error of its row."""
    path = write_columns(
        tmp_path / f"t{suffix}", {"text": ["x", "y"], "a": ["1", "0"], "b": ["0", value]}
    )
    with pytest.raises(InputError, match=r"`b` .*(expected 0 or 1|empty item)"):
        read_lists(path, label_fields=("a", "b"))


def test_columns_that_are_missing(tmp_path: Path) -> None:
    """A column that is not there is an error, unless the model remembers it, and the documents have
    no labels.
    """
    path = write_columns(tmp_path / "t.csv", {"text": ["x"], "a": [1]})
    with pytest.raises(InputError, match=r"no column `b`.*label_fields"):
        read_lists(path, label_fields=("a", "b"))
    assert read_lists(path, label_fields=("a", "b"), remembered=("label_field",)) == [None]


def test_texts_among_lists(tmp_path: Path) -> None:
    """Where some labels are lists, a text is a list of one, and a missing key is not an empty
    list.
    """
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"text": "x", "label": "a"}\n{"text": "y", "label": ["b", 7, true]}\n{"text": "z"}\n'
    )
    assert read_lists(path) == [("a",), ("b", "7", "True"), None]


@pytest.mark.parametrize(
    ("item", "labels"),
    [
        ("null", ()),
        ('""', ()),
        ('" "', ()),
        ("NaN", ()),
        ("1.5e3", ("1500.0",)),
        ("{}", None),
        ("[]", None),
    ],
)
def test_items_of_lists(tmp_path: Path, item: str, labels: tuple[str, ...] | None) -> None:
    """An item of a list is a text, a number or a boolean; a missing one is left out."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "x", "label": ["a"]}\n{"text": "x", "label": ["a", ' + item + "]}\n")
    if labels is not None:
        assert read_lists(path) == [("a",), ("a", *labels)]
        return
    with pytest.raises(
        InputError, match=rf"{path}:2: `label` has an item that is a list or an object"
    ):
        read_lists(path)


def test_parts_of_a_batch(tmp_path: Path) -> None:
    """Slices and the rest of a batch keep their lists."""
    path = write_columns(
        tmp_path / "t.jsonl", {"text": list("wxyz"), "label": [list(each or ()) for each in LABELS]}
    )
    (batch,) = open_source([str(path)], InputSettings()).batches()
    assert [part.labels for part in batch.split(3)] == [LABELS[:3], LABELS[3:]]
    assert batch.drop({0, 2}).labels == [(), ("c, d",)]
    with pytest.raises(
        InputError,
        match=r"t.jsonl:1: the document has 2 labels \(b, a\), but exactly one is expected; give",
    ):
        batch.single_labels()
    with pytest.raises(
        InputError,
        match=r"t.jsonl:2: the document has 0 labels, but exactly one is expected; give doc",
    ):
        batch.split(1)[1].single_labels()
    assert batch.split(2)[1].single_labels() == ["a", "c, d"]


def test_one_label_for_all(tmp_path: Path) -> None:
    """`label` takes the place of lists."""
    path = write_columns(tmp_path / "t.jsonl", {"text": ["x", "y"], "label": [["b", "a"], []]})
    assert read_lists(path, label="q") == [("q",)] * 2


@pytest.mark.parametrize("settings", [{"label_separator": "|"}, {"label_fields": ("a",)}])
def test_sources_without_fields(tmp_path: Path, read: Any, settings: dict[str, Any]) -> None:
    """Files without fields have no separator and no columns; where a model remembers them, they do
    not matter.
    """
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1").write_text("x")
    (tmp_path / "t.txt").write_text("x\n")
    mail = tmp_path / "t.eml"
    mail.write_text("From: a@example.org\nX-Topics: b | a\n\nx\n")
    for path in (tmp_path / "a", tmp_path / "t.txt", mail):
        if path != mail or "label_fields" in settings:
            with pytest.raises(SettingsError, match=r"has no (columns or|label field)"):
                read(path, **settings)
        assert read(path, remembered=("label_field", *settings), input_unit="row", **settings)
    assert read_lists(mail, label_separator="|", label_field="X-Topics") == [("b", "a")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label_separator": ""}, "a name or a separator is empty"),
        ({"label_fields": ("",)}, "a name or a separator is empty"),
        (
            {"label_fields": ("a",), "label_separator": "|"},
            "cannot be combined with label_fields",
        ),
    ],
)
def test_settings(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    """Settings that make no sense are refused before anything is read."""
    (tmp_path / "t.csv").write_text("text,a\nx,1\n")
    with pytest.raises(SettingsError, match=message):
        read_lists(tmp_path / "t.csv", **settings)


@given(
    st.lists(st.text(st.sampled_from('a |"<>') | st.characters(), min_size=1), max_size=4),
    st.sampled_from(["|", ", ", "<>"]),
)
def test_any_labels(labels: list[str], separator: str) -> None:
    """Labels that are joined as corrections are written are divided into the same ones, but for
    spaces at their ends.
    """
    if separator == "<>":
        labels = [label.replace("<", "").replace(">", "") for label in labels]
    wanted = tuple(dict.fromkeys(filter(None, map(str.strip, labels))))
    settings = InputSettings(label_separator=separator)
    assert split_label(join_labels(labels, separator), settings) == wanted


@pytest.mark.parametrize(
    ("text", "separator", "labels"),
    [
        ('"New York, NY",Boston', ",", ("New York, NY", "Boston")),
        ('a; "b;c" ;"d ""e"""', ";", ("a", "b;c", 'd "e"')),
        ('5" disk, 3" disk', ",", ('5" disk', '3" disk')),
        ('"a" b,"c', ",", ('"a" b', '"c')),
        ("<python><c#><.net>", "<>", ("python", "c#", ".net")),
        ("<a><b>", "><", ("a", "b")),
        ("|a|b|", "|", ("a", "b")),
    ],
)
def test_quotes_and_brackets(text: str, separator: str, labels: tuple[str, ...]) -> None:
    """A separator within quotes divides nothing, and brackets stand around each label."""
    assert split_label(text, InputSettings(label_separator=separator)) == labels


OBJECTS = [
    ([{"id": 1, "name": "b"}, {"id": 2, "name": "a"}], ("b", "a")),
    ([], ()),
    ([{"id": 1, "name": "a"}], ("a",)),
    ([{"id": 7, "name": "c, d"}, {"id": 8, "name": None}], ("c, d",)),
]


@of_any_format
@pytest.mark.parametrize("name", ["labels.name", "meta.labels.name"])
def test_lists_of_objects(tmp_path: Path, suffix: str, name: str) -> None:
    """`labels.name` is the name of each object of a list, of structs, and of JSON in a cell."""
    values: list[Any] = [found for found, _ in OBJECTS]
    if name.startswith("meta"):
        values = [{"labels": found} for found in values]
    if suffix in (".csv", ".tsv", ".db"):
        values = list(map(json.dumps, values))
    columns = {"text": ["x"] * 4, name.partition(".")[0]: values}
    path = write_columns(tmp_path / f"t{suffix}", columns)
    assert read_lists(path, label_field=name) == [labels for _, labels in OBJECTS]


def test_json_columns_of_a_database(tmp_path: Path) -> None:
    """A column of the type JSON holds lists."""
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("create table t (text, label json)")
        rows = [("x", '["a", "b"]'), ("y", "[]"), ("z", '"c"'), ("w", "[broken")]
        connection.executemany("insert into t values (?, ?)", rows)
    labels = [("a", "b"), (), ('"c"',), ("[broken",)]
    assert read_lists(tmp_path / "t.db") == labels


def test_texts_and_objects_in_one_field(tmp_path: Path) -> None:
    """A text in place of an object is the label itself; the hint of an error names the key."""
    path = tmp_path / "t.jsonl"
    values: list[Any] = ["a", {"url": 3, "name": "b"}, ["c", {"name": "d"}], [{"name": "e"}, "f"]]
    path.write_text("".join(json.dumps({"text": "x", "label": value}) + "\n" for value in values))
    wanted = [("a",), ("b",), ("c", "d"), ("e", "f")]
    assert read_lists(path, label_field="label.name") == wanted
    for row in (1, 2):
        path.write_text(json.dumps({"text": "x", "label": values[row]}) + "\n")
        with pytest.raises(InputError, match=r"--label-field label.name$"):
            read_lists(path)
    path.write_text('{"text": "x", "cats": {"A": 1, "B": 1.0}}\n')
    with pytest.raises(InputError, match=r"--label-fields cats.A,cats.B$"):
        read_lists(path, label_field="cats")


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".csv", ".db"])
def test_objects_of_indicators(tmp_path: Path, suffix: str) -> None:
    """`cats.GOOD` and `cats.BAD` give `GOOD` and `BAD`; a missing key is 0, and a missing object
    is a document whose labels are not known.
    """
    values: list[Any] = [{"GOOD": 1.0, "BAD": 0}, {"BAD": True}, {}, None, {"GOOD": 1, "BAD": 1}]
    if suffix in (".csv", ".db"):
        values = [value and json.dumps(value) for value in values]
        values[2] = "{}"
    elif suffix == ".parquet":
        values = [value and {key: float(each) for key, each in value.items()} for value in values]
    path = write_columns(tmp_path / f"t{suffix}", {"text": ["x"] * 5, "cats": values})
    found = read_lists(path, label_fields=("cats.GOOD", "cats.BAD"))
    assert found == [("GOOD",), ("BAD",), (), None, ("GOOD", "BAD")]
    if suffix == ".jsonl":
        flat = [{"text": "x", "cats.GOOD": 1, "cats.BAD": 0}, {"text": "x", "cats.GOOD": 0}]
        path.write_text("".join(json.dumps(row) + "\n" for row in flat))
        assert read_lists(path, label_fields=("cats.GOOD", "cats.BAD")) == [("GOOD",), ()]


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.tsv", "\t")])
def test_columns_of_one_name(tmp_path: Path, name: str, mark: str) -> None:
    """Columns with the name of the label are its list; of other fields, they are an error."""
    rows = ["text,Labels,id,Labels,Labels", "x,a,1,,b", "y,,2,,", "z,,3,c,c"]
    (tmp_path / name).write_text("".join(row.replace(",", mark) + "\n" for row in rows))
    assert read_lists(tmp_path / name, label_field="Labels") == [("a", "b"), (), ("c",)]
    with pytest.raises(InputError, match=r"3 columns are called `Labels`.*text_field 2"):
        read_lists(tmp_path / name, text_field=("Labels",))
