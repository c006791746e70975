"""Write the rows of Parquet and Arrow files again, with columns added or labels changed; types and metadata stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from nbtext.documents.arrow_documents import ArrowRows, convert_errors
from nbtext.documents.rows import LINES_HINT, PREFIX_HINT, ChangedRows, Column, NewLabel, Target, name_labels
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError
from nbtext.output import Writer

GROUP_BYTES = 128 << 20  # of a row group of a Parquet file that is written


def write_parquet(changed: Iterable[ChangedRows], target: Target, settings: InputSettings) -> None:
    """Write the rows of Parquet files after some changes. The compression is that of the first column of the source.

    Raises
    ------
    SettingsError
        The output is a terminal.
    InputError
        There is a column of one of the names, a label does not fit into its column, or files have different columns.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    tables = _change_tables(changed, settings)
    schema, first = next(tables)
    codec = "snappy"
    if first.metadata.num_row_groups:  # their rows were read: pyarrow ends the process for columns that are broken
        with convert_errors(first.path):
            codec = first.metadata.row_group(0).column(0).compression.lower().replace("uncompressed", "none")
    with _open(target) as file, ParquetWriter(file, schema, compression=codec) as writer:
        group: list[Any] = []
        for table, _ in tables:
            group.append(table)
            if sum(part.nbytes for part in group) >= GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(group, schema))
                group = []
        if group:
            writer.write_table(pa.Table.from_batches(group, schema))


def write_arrow(changed: Iterable[ChangedRows], target: Target, settings: InputSettings) -> None:
    """Write the rows of Arrow files after some changes; compressed with LZ4 if the name ends with .feather.

    It raises the errors of `write_parquet`.
    """
    from pyarrow import ipc

    tables = _change_tables(changed, settings)
    schema, _ = next(tables)
    codec = "lz4" if target.path.lower().endswith(".feather") else None
    options = ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
    with _open(target) as file, ipc.new_file(file, schema, options=options) as writer:
        for table, _ in tables:
            writer.write_batch(table)


def _change_tables(changed: Iterable[ChangedRows], settings: InputSettings) -> Iterator[tuple[Any, ArrowRows]]:
    """Yield the new schema with the first rows; then each changed table with its rows."""
    import pyarrow as pa

    schema: Any = None
    old_schema: Any = None
    for rows, _, columns, labels in changed:
        assert isinstance(rows, ArrowRows)
        arrays = list(rows.table.columns)
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
        new_labels = {row: label for row, label in labels.items() if label is not None}
        for name in settings.label_names if new_labels else ():
            if name not in old_schema.names:
                raise InputError(f"no column `{name}` for the new labels", where=rows.path, hint=LINES_HINT)
            place = old_schema.names.index(name)
            arrays[place] = _replace_labels(arrays[place], new_labels, name, settings, rows.path)
        arrays += [pa.array(_values_of(column), _type_of(column)) for column in columns]
        table = pa.RecordBatch.from_arrays(arrays, schema=schema)
        if len(new_labels) < len(labels):
            table = table.filter(pa.array([labels.get(row, "") is not None for row in range(table.num_rows)]))
        yield table, rows


def _replace_labels(column: Any, labels: dict[int, NewLabel], name: str, settings: InputSettings, path: str) -> Any:
    """Return a column with other labels in some rows; the other values and the type stay."""
    import pyarrow as pa

    kind, values = column.type, list[Any]()
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    for label in labels.values():
        value = name_labels(label, settings, is_list=is_list)[name]
        if isinstance(value, list) and not is_list:
            if len(value) != 1:
                raise InputError(f"a cell of `{name}` holds one label", where=path, hint=LINES_HINT)
            value = value[0]
        values.append(value if is_list else str(value))
    rows = list(range(len(column)))
    for place, row in enumerate(labels):
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
