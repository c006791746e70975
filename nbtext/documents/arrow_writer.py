"""Write the rows of Parquet and Arrow files with columns added; the schema and the types of other columns stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from nbtext.documents.arrow_documents import ArrowRows, convert_errors
from nbtext.documents.rows import PREFIX_HINT, AddedColumns, Column, Target
from nbtext.errors import InputError, SettingsError
from nbtext.output import Writer

GROUP_BYTES = 128 << 20  # of a row group of a Parquet file that is written


def write_parquet(added: Iterable[AddedColumns], target: Target) -> None:
    """Write the rows of Parquet files, with columns added.

    Row groups end where those of the source do. The compression of each column is that of the source.

    Raises
    ------
    SettingsError
        The output is a terminal.
    InputError
        There is a column of one of the names, or several files have different columns.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    tables = _add_columns(added)
    schema, first = next(tables)
    with convert_errors(first.path):
        codecs = _find_codecs(first.metadata, schema)
    with _open(target) as file, ParquetWriter(file, schema, compression=codecs) as writer:
        group: list[Any] = []
        for table, rows in tables:
            group.append(table)
            if rows.is_group_end or sum(part.nbytes for part in group) >= GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(group, schema), row_group_size=max(1, sum(map(len, group))))
                group = []
        if group:
            writer.write_table(pa.Table.from_batches(group, schema))


def write_arrow(added: Iterable[AddedColumns], target: Target) -> None:
    """Write the rows of Arrow files, with columns added; compressed with LZ4 if the name ends with .feather.

    It raises the errors of `write_parquet`.
    """
    from pyarrow import ipc

    tables = _add_columns(added)
    schema, _ = next(tables)
    codec = "lz4" if target.path.lower().endswith(".feather") else None
    options = ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
    with _open(target) as file, ipc.new_file(file, schema, options=options) as writer:
        for table, _rows in tables:
            writer.write_batch(table)


def _add_columns(added: Iterable[AddedColumns]) -> Iterator[tuple[Any, ArrowRows]]:
    """Yield the new schema with the first rows; then each table with its rows."""
    import pyarrow as pa

    schema = old_schema = None
    for rows, _, columns in added:
        assert isinstance(rows, ArrowRows)
        if schema is None:
            old_schema = schema = rows.table.schema
            for column in columns:
                if column.name in old_schema.names:
                    raise InputError(f"there is a column `{column.name}` already", where=rows.path, hint=PREFIX_HINT)
                schema = schema.append(pa.field(column.name, _type_of(column)))
            yield schema, rows
        elif not rows.table.schema.equals(old_schema):
            hint = "write the rows of each file to a file of its own"
            raise InputError("its columns are not those of the first file", where=rows.path, hint=hint)
        arrays = [pa.array(_values_of(column), _type_of(column)) for column in columns]
        yield pa.RecordBatch.from_arrays([*rows.table.columns, *arrays], schema=schema), rows


def _type_of(column: Column) -> Any:
    """Return the Arrow type of a column."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "labels": pa.list_(pa.string()),
        "numbers": pa.list_(pa.float64()),
        "scores": pa.list_(pa.struct([("label", pa.string()), ("probability", pa.float64())])),
        "contributions": pa.list_(pa.struct([("feature", pa.string()), ("log_odds", pa.float64())])),
    }
    return types[column.kind]


def _values_of(column: Column) -> list[Any]:
    if column.kind == "scores":
        return [
            [{"label": label, "probability": share} for label, share in scores.items()] if scores is not None else None
            for scores in column.values
        ]
    return list(column.values)


def _find_codecs(metadata: Any, schema: Any) -> dict[str, str]:
    """Return the compression of each column of a Parquet file: that of the source, or of its first column."""
    codecs = {}
    if metadata.num_row_groups:  # their rows were read: pyarrow ends the process for columns that are broken
        group = metadata.row_group(0)
        for column in map(group.column, range(group.num_columns)):
            codecs[column.path_in_schema] = column.compression.lower().replace("uncompressed", "none")
    default = next(iter(codecs.values()), "snappy")
    return {name: codecs.get(name, default) for name in _list_leaves(schema)}


def _list_leaves(schema: Any) -> list[str]:
    """Return the paths of the columns that a Parquet file stores for a schema."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, ParquetWriter

    sink = pa.BufferOutputStream()
    with ParquetWriter(sink, schema):
        pass
    found = ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [found.column(place).path for place in range(len(found.names))]


@contextmanager
def _open(target: Target) -> Iterator[Any]:
    if target.is_terminal:
        raise SettingsError(
            "the result is binary, and standard output is a terminal", where="-o", hint="write it to a file with -o"
        )
    with target.open() as file:
        yield _Sink(file)


class _Sink:
    """A write-only file object, which remains open; pyarrow asks for its position."""

    closed = False

    def __init__(self, file: Writer) -> None:
        self._file = file
        self._position = 0

    def write(self, data: Any) -> int:
        self._file.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.flush()

    def writable(self) -> bool:
        return True
