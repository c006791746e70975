"""Write the rows of Parquet and Arrow files with columns added; the schema and the types of other columns stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from nbtext.documents.arrow_documents import ArrowRows, convert_errors
from nbtext.documents.corrections import CorrectedRows, NewLabel
from nbtext.documents.rows import PREFIX_HINT, AddedColumns, Column, Target
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError
from nbtext.output import Writer

LINES_HINT = "write JSON lines: -o FILE.jsonl"
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
    _write_parquet(_add_columns(added), target)


def correct_parquet(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write the rows of Parquet files after some corrections; all columns keep their types.

    Raises
    ------
    SettingsError
        The output is a terminal.
    InputError
        A label does not fit into its column, or several files have different columns.
    """
    _write_parquet(_correct_tables(corrected, settings), target)


def correct_arrow(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write the rows of Arrow files after some corrections; see `correct_parquet`."""
    _write_arrow(_correct_tables(corrected, settings), target)


def _write_parquet(tables: Iterator[tuple[Any, ArrowRows]], target: Target) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

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
    _write_arrow(_add_columns(added), target)


def _write_arrow(tables: Iterator[tuple[Any, ArrowRows]], target: Target) -> None:
    from pyarrow import ipc

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
        else:
            _check_schema(rows, old_schema)
        arrays = [pa.array(_values_of(column), _type_of(column)) for column in columns]
        yield pa.RecordBatch.from_arrays([*rows.table.columns, *arrays], schema=schema), rows


def _check_schema(rows: ArrowRows, schema: Any) -> None:
    """Raise InputError unless rows have the columns of the first file."""
    if not rows.table.schema.equals(schema):
        hint = "write the rows of each file to a file of its own"
        raise InputError("its columns are not those of the first file", where=rows.path, hint=hint)


def _correct_tables(corrected: Iterable[CorrectedRows], settings: InputSettings) -> Iterator[tuple[Any, ArrowRows]]:
    """Yield the schema with the first rows; then each table with its rows."""
    import pyarrow as pa

    schema = None
    for rows, labels in corrected:
        assert isinstance(rows, ArrowRows)
        table = rows.table
        if schema is None:
            schema = table.schema
            yield schema, rows
        _check_schema(rows, schema)
        changed = {row: label for row, label in labels.items() if label is not None}
        columns = list(table.columns)
        for name in settings.label_names if changed else ():
            if name not in schema.names:
                raise InputError(f"no column `{name}` for the new labels", where=rows.path, hint=LINES_HINT)
            place = schema.names.index(name)
            columns[place] = _replace_labels(columns[place], changed, name, settings, rows.path)
        kept = pa.array([labels.get(row, "") is not None for row in range(table.num_rows)], pa.bool_())
        yield pa.RecordBatch.from_arrays(columns, schema=schema).filter(kept), rows


def _replace_labels(column: Any, changed: dict[int, NewLabel], name: str, settings: InputSettings, path: str) -> Any:
    """Return a column with other labels in some rows; the other values and the type stay."""
    import pyarrow as pa

    kind, values = column.type, list[Any]()
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    for label in changed.values():
        labels = label if isinstance(label, list) else [label]
        if settings.label_fields:
            values.append(str(int(name in labels)))
        elif is_list:
            values.append(labels)
        elif isinstance(label, list) and len(label) != 1 and settings.label_separator is None:
            raise InputError(f"a cell of `{name}` holds one label", where=path, hint=LINES_HINT)
        else:
            values.append((settings.label_separator or "").join(labels))
    rows = list(range(len(column)))
    for place, row in enumerate(changed):
        rows[row] = len(column) + place
    try:
        new = pa.array(values, kind) if is_list else pa.array(values, pa.string())
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        new = new if is_list else new.cast(plain)
        joined = pa.concat_arrays([column.cast(plain), new]).take(pa.array(rows, pa.int64()))
        return joined.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else joined
    except (pa.ArrowException, TypeError):
        what = f"a new label does not fit into the column `{name}`, whose type is {kind}"
        raise InputError(what, where=path, hint=LINES_HINT) from None


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
