"""Parquet and Arrow files as typed: training on them, labeling them, threads, a cluster, a
terminal.
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
from pyarrow import ipc  # noqa: E402
from pyarrow import parquet as pq  # noqa: E402

NAMES = ("t.parquet", "t.arrow")


@pytest.fixture(scope="module")
def folder(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo corpus in several formats, some row groups each, with columns of many types."""
    path = tmp_path_factory.mktemp("arrow")
    files = sorted((letters / "train").glob("*/*")) * 8
    texts = [file.read_text() for file in files]
    labels = [file.parent.name for file in files]
    n = len(texts)
    table = pa.table(
        {
            "text": texts,
            "when": pa.array(range(n), pa.timestamp("us", "UTC")),
            "kind": pa.array(labels).dictionary_encode(),
            "price": pa.array(range(n), pa.int32()).cast(pa.decimal128(12, 2)),
            "tags": [["a", "b"]] * n,
            "nested": [{"x": [1, None]}] * n,
        }
    ).replace_schema_metadata({"made by": "a test"})
    pq.write_table(
        table, path / "t.parquet", row_group_size=500, compression={"text": "zstd", "when": "gzip"}
    )
    with ipc.new_file(path / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=500)
    with (path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "kind"], *zip(texts, labels, strict=True)])
    return path


def load(path: Path) -> Any:
    return pq.read_table(path) if path.suffix == ".parquet" else ipc.open_file(path).read_all()


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("name", NAMES)
def test_add_columns(nbtext: Any, folder: Path, model: str, name: str, tmp_path: Path) -> None:
    """Values, types and metadata stay; the new columns are those of the records."""
    ask = f"predict {name} -m {model} --add-columns --columns label,probability,outlier --top-k 2"
    for jobs in ("1", "3"):
        out = tmp_path / f"{jobs}{Path(name).suffix}"
        result = nbtext(f"{ask} --coverage 0.9 --explain 1 -q -j {jobs} -o {out}", cwd=folder)
        assert (result.status, result.err) == (0, ""), result.err
    assert (tmp_path / f"1{out.suffix}").read_bytes() == out.read_bytes()
    old = load(folder / name)
    new = load(out)
    assert new.select(old.schema.names).equals(old)
    assert new.schema.metadata[b"made by"] == b"a test"
    assert [str(kind) for kind in new.schema.types[6:9]] == ["string", "double", "bool"]
    records = nbtext(
        f"predict {name} -m {model} --coverage 0.9 --explain 1 --to jsonl",
        cwd=folder,
    )
    for row, line in zip(new.to_pylist(), records.out.splitlines(), strict=True):
        record = json.loads(line)
        best = sorted(record["scores"].values(), reverse=True)[:2]
        assert [record["scores"][each["label"]] for each in row["scores"]] == best
        assert [each["probability"] for each in row["scores"]] == best
        for field in ("label", "probability", "outlier", "labels", "explanation"):
            assert row[field] == record[field]


def test_several_files_and_empty_ones(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Files of one schema follow each other; a file without rows keeps its columns."""
    table = pa.table({"text": ["bins"], "n": [1]})
    for name, content in (
        ("a.parquet", table),
        ("b.parquet", table),
        ("none.parquet", table.slice(0, 0)),
    ):
        pq.write_table(content, tmp_path / name)
    pq.write_table(table.append_column("x", [[1]]), tmp_path / "other.parquet")
    ask = f"-m {model} --add-columns -o out.parquet"
    nbtext(f"predict a.parquet none.parquet b.parquet {ask}").ok()
    assert pq.read_table(tmp_path / "out.parquet")["text"].to_pylist() == ["bins", "bins"]
    nbtext(f"predict none.parquet {ask}").ok()
    assert pq.read_table(tmp_path / "out.parquet").schema.names == [
        "text",
        "n",
        "label",
        "probability",
    ]
    result = nbtext(f"predict a.parquet other.parquet {ask}")
    assert (
        result.status == 1
        and "other.parquet: its columns are not those of the first file" in result.err
    )
    result = nbtext(f"predict out.parquet -m {model} --add-columns -o x.parquet")
    assert (
        result.status == 1
        and "out.parquet: there is a column `label` already; --column-prefix" in result.err
    )
    assert not (tmp_path / "x.parquet").exists()


def test_output_to_a_pipe_and_a_terminal(
    nbtext: Any, model: str, on_a_terminal: Callable[..., str], tmp_path: Path
) -> None:
    """An Arrow stream goes through pipes; nothing binary goes to a terminal."""
    table = pa.table({"text": ["bins", "taxes"]})
    with ipc.new_stream(tmp_path / "t.arrows", table.schema) as writer:
        writer.write_table(table)
    given = (tmp_path / "t.arrows").read_bytes()
    assert [
        line.split("\t")[1]
        for line in nbtext(f"predict - -m {model}", input=given).out.splitlines()
    ] == ["trash", "taxes"]
    nbtext(f"predict - -m {model} --add-columns -o {tmp_path}/o.arrow", input=given).ok()
    assert load(tmp_path / "o.arrow")["label"].to_pylist() == ["trash", "taxes"]
    shown = on_a_terminal("predict", str(tmp_path / "t.arrows"), "-m", model, "--add-columns")
    assert (
        "-o: the result is binary, and standard output is a terminal; write it to a file with -o"
        in shown
    )


def test_without_pyarrow(nbtext_alone: Any, model: str, folder: Path, tmp_path: Path) -> None:
    """The extra is named in one line."""
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    nbtext_alone(
        "predict",
        str(folder / "t.parquet"),
        "-m",
        model,
        PYTHONPATH=f"{tmp_path}:{Path(__file__).parents[2]}",
    ).refused(1, "needs pyarrow; install it with: pip install 'nbtext[arrow]'")
