"""Parquet and Arrow files: rows are documents, read in parts, in shards and from pipes; broken
files give one line.
"""

import datetime
import decimal
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from reading import read

from nbtext.documents.settings import FOR_COLUMNS, InputSettings, parse_condition
from nbtext.documents.source import count_lines, number_lines, open_shard, open_source
from nbtext.errors import InputError, NbtextError

pa = pytest.importorskip("pyarrow")
from pyarrow import ipc  # noqa: E402
from pyarrow import parquet as pq  # noqa: E402

Rows = Any


def write_parquet(table: Any, path: Path) -> None:
    pq.write_table(table, path, row_group_size=500)


def write_arrow(table: Any, path: Path) -> None:
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=500)


def write_stream(table: Any, path: Path) -> None:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=500)


WRITERS = {"t.parquet": write_parquet, "t.arrow": write_arrow, "t.arrows": write_stream}


@pytest.fixture(params=list(WRITERS))
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """write(table): the path of a file that holds it."""

    def written(table: Any) -> Path:
        path = tmp_path / str(request.param)
        WRITERS[request.param](table, path)
        return path

    return written


def test_rows_are_documents(write: Any) -> None:
    """Label and id come from the columns of these names; without an id column, the id is the number
    of the row.
    """
    table = pa.table({"n": [1, 2], "text": ["a", ""], "label": ["x", None], "id": [7, 8]})
    path = write(table)
    assert read(path) == [("7", ("a",), "x"), ("8", ("",), None)]
    assert read(path, id_field="n", label_field="text", text_field=("label", "n"))[0] == (
        "1",
        ("x\n1",),
        "a",
    )
    path = write(table.drop_columns(["id", "label"]))
    assert read(path) == [(f"{path}:1", ("a",), None), (f"{path}:2", ("",), None)]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["ä", "b"], pa.large_string()), ["ä", "b"]),
        (
            pa.DictionaryArray.from_arrays(
                pa.array([0, 0], pa.uint32()), pa.array(["ä"], pa.string_view())
            ),
            ["ä", "ä"],
        ),
        (pa.array(["ä".encode(), b"b"]), ["ä", "b"]),
        (pa.array([1, -2], pa.int8()), ["1", "-2"]),
        (pa.array([True, False]), ["True", "False"]),
        (pa.array([0.1, 2e16], pa.float32()), ["0.1", "2e+16"]),
        (
            pa.array([datetime.datetime(2024, 1, 2, 3)] * 2, pa.timestamp("ns")),
            ["2024-01-02 03:00:00"] * 2,
        ),
        (pa.array([decimal.Decimal("1.20"), decimal.Decimal("-3")]), ["1.20", "-3.00"]),
        (pa.array([datetime.date(2024, 1, 2)] * 2), ["2024-01-02"] * 2),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_types_of_labels(tmp_path: Path, column: Any, expected: list[str]) -> None:
    """Labels of any plain type are texts."""
    write_arrow(pa.table({"text": ["a", "b"], "label": column}), tmp_path / "t.arrow")
    source = open_source([str(tmp_path / "t.arrow")], InputSettings())
    (batch,) = source.batches()
    assert batch.labels == expected
    assert not batch.has_lists


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("of_list", [pa.list_, pa.large_list])
def test_lists_of_labels(tmp_path: Path, kind: Any, of_list: Any) -> None:
    """Lists of any type of text hold labels; polars writes large lists of string views."""
    labels = pa.array([["a", "ä"], [], None], of_list(kind))
    write_arrow(pa.table({"text": ["a", "b", "c"], "label": labels}), tmp_path / "t.arrow")
    (batch,) = open_source([str(tmp_path / "t.arrow")], InputSettings()).batches()
    assert batch.list_labels() == [("a", "ä"), (), None]
    # lists of no type
    write_arrow(pa.table({"text": ["a", "b"], "label": [[], None]}), tmp_path / "t.arrow")
    (batch,) = open_source([str(tmp_path / "t.arrow")], InputSettings()).batches()
    assert batch.list_labels() == [(), None]


@pytest.mark.parametrize(("n", "n_shards"), [(3210, 50), (20, 400)])
def test_many_rows_in_shards(write: Any, rows: Rows, n: int, n_shards: int) -> None:
    """The shards of a file have all its rows, each once, with the numbers of the file; so have its
    blocks.
    """
    path = write(
        pa.table(
            {
                "text": [f"word{k} " * (k % 50) for k in range(n)],
                "label": [f"l{k % 7}" for k in range(n)],
            }
        )
    )
    source = open_source([str(path)], InputSettings())
    expected = [(f"{path}:{k + 1}", (f"word{k} " * (k % 50),), f"l{k % 7}") for k in range(n)]
    assert rows(source.batches()) == expected
    assert 0 < sum(block.size for block in source.blocks()) <= path.stat().st_size
    for size in (path.stat().st_size // 5, path.stat().st_size // n_shards, path.stat().st_size):
        shards = source.shards(size)
        numbered = number_lines(shards, [count_lines(shard, source.settings) for shard in shards])
        found = [
            row for shard in numbered for row in rows(open_shard(shard, source.settings).batches())
        ]
        assert found == expected


def test_what_cannot_be_read(write: Any, problems: Any) -> None:
    """A missing column, a column of objects, or two columns of one name give one line that names
    the file.
    """
    table = pa.table({"body": ["a"], "o": [{"x": 1}]})
    path = write(table)
    with pytest.raises(
        InputError,
        match=r"no column `text`; the columns are: body, o; name the column with text_field",
    ):
        read(path)
    said = problems(path, text_field=("o",))
    assert said == [f"{path}:1: `o` is an object, expected a string"]
    path = write(pa.table([["a"], ["b"]], names=["text", "text"]))
    with pytest.raises(InputError, match="2 columns are called `text`"):
        read(path)


def test_nulls_and_long_texts_are_problems_of_their_rows(write: Any) -> None:
    path = write(pa.table({"text": ["a", None, "b" * 200], "label": ["x", "y", "z"]}))
    (batch,) = open_source([str(path)], InputSettings(max_document_bytes=100)).batches()
    assert {row: str(problem) for row, problem in batch.problems.items()} == {
        1: f"{path}:2: `text` is null; name the column or key of the text with --text-field",
        2: f"{path}:3: the document has more than 100 bytes; divide it",
    }


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    """Invalid bytes are replaced and counted as in other formats."""
    offsets = pa.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0")
    data = pa.py_buffer(b"ab\xff")
    array = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    write_arrow(pa.table({"text": array}), tmp_path / "t.arrow")
    (batch,) = open_source([str(tmp_path / "t.arrow")], InputSettings()).batches()
    assert (batch.columns, batch.repaired_documents, batch.repaired_bytes) == (
        (["a", "b\ufffd"],),
        1,
        1,
    )


@pytest.mark.parametrize("name", list(WRITERS))
def test_broken_files_give_one_line(name: str, tmp_path: Path) -> None:
    """A file that is cut anywhere, or has changed bytes, gives its rows or one line, also if all
    columns are kept.
    """
    path = tmp_path / name
    table = pa.table(
        {
            "text": [f"word{k}" for k in range(40)],
            "label": pa.array(list("abab") * 10).dictionary_encode(),
        }
    )
    WRITERS[name](table, path)
    content = path.read_bytes()
    chance = random.Random(0)
    n_refused = 0
    for number in range(400):
        broken = bytearray(content)
        if number % 4 == 0:
            del broken[chance.randrange(len(content)) :]
        else:
            for _ in range(chance.choice([1, 1, 4, 30])):
                broken[chance.randrange(8, len(broken))] = chance.choice(
                    [0, 1, 127, 255, chance.randrange(256)]
                )
        path.write_bytes(broken)
        try:
            for batch in open_source(
                [str(path)], InputSettings(rows_for=FOR_COLUMNS * (number % 2))
            ).batches():
                str(batch.ids), str(batch.labels)
        except NbtextError as error:
            n_refused += 1
            assert "\n" not in str(error) and len(str(error)) < 1000
    assert n_refused > 50


def test_compressed_as_a_whole(tmp_path: Path) -> None:
    import gzip

    write_parquet(pa.table({"text": ["a"]}), tmp_path / "t.parquet")
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    with pytest.raises(
        InputError,
        match="is compressed as a whole with gzip, which is not supported; unpack it first",
    ):
        read(tmp_path / "t.parquet.gz")


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream])
def test_compressed_buffers(tmp_path: Path, new: Any, codec: str) -> None:
    table = pa.table({"text": [f"text {n} " * 50 for n in range(100)]})
    path = tmp_path / "t.arrow"
    with new(path, table.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    assert [text for _, (text,), _ in read(path)] == table["text"].to_pylist()


def test_a_folder_of_parts(tmp_path: Path) -> None:
    """--input-format parquet reads the files of a folder; otherwise they are skipped, with a
    hint.
    """
    for part in range(3):
        write_parquet(pa.table({"text": [f"a{part}"]}), tmp_path / f"part-{part}.parquet")
    assert [row[1] for row in read(tmp_path, input_format="parquet")] == [("a0",), ("a1",), ("a2",)]
    (tmp_path / "x.txt").write_text("text")
    source = open_source([str(tmp_path)], InputSettings())
    assert sum(len(batch) for batch in source.batches()) == 1
    assert dict(source.skipped) == {
        "Parquet file (name the file itself, or give --input-format)": 3
    }


def test_elsewhere(tmp_path: Path) -> None:
    """A file at a URL is read by ranges."""
    fsspec = pytest.importorskip("fsspec")
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["a", "b"]}), sink)
    fsspec.filesystem("memory").pipe("/t.parquet", sink.getvalue())
    assert [row[1] for row in read("memory://t.parquet")] == [("a",), ("b",)]  # type: ignore[arg-type]


def test_long_texts_are_read_some_at_a_time(write: Any) -> None:
    path = write(pa.table({"text": [f"{n} " * 50_000 for n in range(10, 60)]}))
    lengths = [len(block.batch()) for block in open_source([str(path)], InputSettings()).blocks()]
    assert sum(lengths) == 50 and max(lengths) < 20


NAMED = {"names": ["neg", "pos", "c, d"], "_type": "ClassLabel"}
LISTS = [
    {"feature": NAMED, "_type": "Sequence"},
    {"feature": NAMED, "_type": "List"},
    [NAMED],
]


def labels_of(path: Path, **settings: Any) -> list[Any]:
    return [label for _, _, label in read(path, **settings)]


def describe(table: Any, **features: Any) -> Any:
    """Return a table whose columns are described as Hugging Face's library datasets does it."""
    described = json.dumps({"info": {"features": features}})
    return table.replace_schema_metadata({"huggingface": described})


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_names_of_labels(write: Any, is_dictionary: bool) -> None:
    """The schema names the labels of numbers, and -1 is a missing one; also in structs and lists,
    and in conditions. A number without a name stays one. A column of a dictionary has its values.
    """
    numbers = pa.array([0, 1, -1, 2, None, 3])
    label = numbers.dictionary_encode() if is_dictionary else numbers
    meta = [{"label": 1}] * 5 + [None]
    table = pa.table({"text": ["x"] * 6, "label": label, "meta": meta})
    path = write(describe(table, label=NAMED, meta={"label": NAMED}))
    assert labels_of(path) == ["neg", "pos", None, "c, d", None, "3"]
    assert labels_of(path, label_field="meta.label") == ["pos"] * 5 + [None]
    conditions = (parse_condition("label!=pos"),)
    kept = labels_of(path, where=conditions, skip_unlabeled=True)
    assert kept == ["neg", "c, d", "3"]
    assert labels_of(write(table)) == ["0", "1", "-1", "2", None, "3"]


@pytest.mark.parametrize("feature", LISTS)
def test_names_of_lists(write: Any, feature: Any) -> None:
    """Each item of a list has its name."""
    path = write(
        describe(pa.table({"text": ["x"] * 3, "label": [[2, 0], [], [-1]]}), label=feature)
    )
    assert labels_of(path) == [("c, d", "neg"), (), ()]


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"[1]",
        b'{"info": 3}',
        b'{"info": {"features": [{"label": 1}]}}',
        b"\xff",
        b'{"info": {"features": {"label": {"_type": "ClassLabel", "names": 3}}}}',
        b"[" * 100_000,
    ],
)
def test_a_broken_description_is_ignored(write: Any, broken: bytes) -> None:
    table = pa.table({"text": ["x"], "label": [1]})
    path = write(table.replace_schema_metadata({"huggingface": broken}))
    assert labels_of(path) == ["1"]
