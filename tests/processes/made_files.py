"""Rows of documents in every format, as other programs write them."""

import csv
import json
import math
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any


def read_cases(text: str) -> list[list[str]]:
    """Return the parts of each line, between which `=>` stands."""
    return [line.strip().split(" => ") for line in text.strip().splitlines()]


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows in the format of the suffix; a missing value is an empty cell of a text file, and
    null elsewhere. The table of a database is `t`.
    """
    found = list(rows)
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in found))
        case ".json":
            path.write_text(json.dumps(found, indent=1))
        case ".csv" | ".tsv":
            cells = [["" if is_missing(each) else each for each in row.values()] for row in found]
            with path.open("w", newline="", encoding="utf-8") as file:
                separator = "," if path.suffix == ".csv" else "\t"
                writer = csv.writer(file, delimiter=separator, lineterminator="\n")
                writer.writerows([list(found[0]), *cells])
        case ".db":
            with closing(sqlite3.connect(path)) as connection, connection:
                names = ", ".join(f'"{name}"' for name in found[0])
                connection.execute(f"create table t ({names})")
                marks = ", ".join("?" * len(found[0]))
                connection.executemany(
                    f"insert into t values ({marks})", [tuple(row.values()) for row in found]
                )
        case _:
            import pyarrow as pa
            from pyarrow import feather, parquet

            write = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
            write(pa.Table.from_pylist(found), path)


def read_rows(path: Path) -> list[Any]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_header(path: Any) -> Any:
    """Return the header of a model file, as a program without nbtext reads it."""
    content = Path(path).read_bytes()
    start = content.index(b'{"checksum"')
    return json.JSONDecoder().raw_decode(content[start:].decode("latin-1"))[0]
