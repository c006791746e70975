"""Parquet and Arrow (Feather) files: each row of the table is a document; columns are found by
their names.

Row groups and record batches are read one by one. A shard of a file contains some of them. Rows are
written again with columns added or labels changed; types and metadata stay.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import IO, Any

from nbtext.documents.batch import Batch, Block, make_batch_of_rows
from nbtext.documents.blocks import ByteRange, ReadOptions, group_items, read_raw_blocks
from nbtext.documents.decoding import Encoding
from nbtext.documents.fields import find_fields, find_value, take_columns
from nbtext.documents.rows import (
    JSON_LINES_HINT,
    ChangedRows,
    Column,
    OutputTarget,
    check_new,
    name_labels,
)
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream, is_regular, is_url, open_seekable
from nbtext.errors import InputError, MissingExtra
from nbtext.output import Sink
from nbtext.records import frozen

BLOCK_ROWS = 1 << 12
ARROW_BLOCK_BYTES = 1 << 20
FILE_MAGIC = b"ARROW1\0\0"  # begins an Arrow file; other input is read as an Arrow stream
MAX_REASON = 200  # characters of an error of pyarrow
ROW_GROUP_BYTES = 128 << 20  # of a row group of a Parquet file that is written


def read_parquet(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of a Parquet file, some at a time.

    Raises
    ------
    InputError
        The file is broken or cannot be read at any place, or a column is missing.
    MissingExtra
        pyarrow is not installed.
    """
    with _open_table(stream) as file, convert_arrow_errors(stream.path):
        from pyarrow.parquet import ParquetFile

        if file is None:
            raise InputError(
                "a Parquet file cannot be read from standard input or a pipe",
                where=stream.path,
                hint="save it as a file",
            )
        table = ParquetFile(file, pre_buffer=False, buffer_size=ARROW_BLOCK_BYTES)
        start, names = _begin(stream, options, table.schema_arrow, "parquet")

        def count(place: int) -> int:
            return int(table.metadata.row_group(place).num_rows)

        def read(place: int) -> Iterator[Any]:
            n_rows = _rows_of_block(count(place), table.metadata.row_group(place).total_byte_size)
            return table.iter_batches(n_rows, row_groups=[place], columns=names)  # type: ignore[no-any-return]

        yield from _read_groups(start, table.metadata.num_row_groups, count, read, stream.size)


def read_arrow(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of an Arrow file or an Arrow stream, some at a time. Memory holds a record
    batch.

    Raises
    ------
    InputError
        The file is broken, or a column is missing.
    MissingExtra
        pyarrow is not installed.
    """
    is_file = stream.head(len(FILE_MAGIC)).startswith(FILE_MAGIC)
    with _open_table(stream) as file, convert_arrow_errors(stream.path):
        import pyarrow as pa

        if file is None or not is_file:
            if options.byte_range is not None and options.byte_range.start:
                return  # a stream has no index, so the first shard contains all rows
            stream.skip(len(FILE_MAGIC) if is_file else 0)
            source = pa.PythonFile(_ArrowBlocks(read_raw_blocks(stream)), mode="r")
            batches = pa.ipc.open_stream(source)
            start, _ = _begin(stream, options, batches.schema, "arrow")
            yield from _make_blocks(start, ((batch, stream.newly_read()) for batch in batches))
            return
        schema = pa.ipc.open_file(file).schema
        start, names = _begin(stream, options, schema, "arrow")
        wanted = pa.ipc.IpcReadOptions(
            included_fields=[place for place, name in enumerate(schema.names) if name in names]
        )
        table = pa.ipc.open_file(file, options=wanted)
        yield from _read_groups(
            start,
            table.num_record_batches,
            lambda place: int(table.get_batch(place).num_rows),
            lambda place: iter((table.get_batch(place),)),
            stream.size,
        )


def _begin(
    stream: ByteStream, options: ReadOptions, schema: Any, kind: str
) -> tuple[ArrowRows, list[str]]:
    """Return no rows of a file, with what its rows have in common, and the names of the columns
    that are read.
    """
    import pyarrow as pa

    settings = options.settings
    known = schema.names
    wanted = settings.field_names
    find_fields(known, settings, stream.path)
    # `data.text` is a field of the column `data`, which is a struct
    used = [name for name in known if any(f"{each}.".startswith(f"{name}.") for each in wanted)]
    empty = pa.RecordBatch.from_arrays(
        [column.combine_chunks() for column in schema.empty_table().columns], schema=schema
    )
    return ArrowRows(kind, stream.path, empty, 1, options), known if settings.rows_for else used


def _read_groups(
    start: ArrowRows,
    n_groups: int,
    count: Callable[[int], int],
    read: Callable[[int], Iterator[Any]],
    size: int | None,
) -> Iterator[Block]:
    """Yield the rows of some row groups or record batches: those of the byte range, if there is
    one.

    Parameters
    ----------
    start : ArrowRows
        What the blocks have in common, without rows.
    count, read : callable
        Return the number of rows of a group, and its rows in record batches.
    size : int, optional
        The size of the file in bytes.
    """
    n_bytes = size or 0
    limits = start.options.byte_range or ByteRange(0, n_bytes + 1)
    offsets = [n_bytes * place // n_groups for place in range(n_groups)]
    chosen = [place for place, offset in enumerate(offsets) if limits.start <= offset < limits.stop]
    first_row = 1 + sum(map(count, range(chosen[0] if chosen else 0)))

    def read_all() -> Iterator[tuple[Any, int]]:
        for place in chosen:
            share = n_bytes * (place + 1) // n_groups - offsets[place]
            for batch in read(place):
                yield batch, share
                share = 0

    return _make_blocks(replace(start, first_row=first_row), read_all())


def _make_blocks(start: ArrowRows, batches: Iterator[tuple[Any, int]]) -> Iterator[Block]:
    """Yield record batches, which come with their sizes in the file, as blocks. If rows are kept
    and there are none, a block without documents has the schema.
    """
    first_row = start.first_row
    for batch, size in batches:
        batch.validate()  # before its size is asked, which ends the process if it is broken
        n_rows = _rows_of_block(batch.num_rows, batch.nbytes)
        for row in range(0, batch.num_rows, n_rows):
            table = batch.slice(row, n_rows)
            rows = replace(start, table=table, first_row=first_row)
            yield Block(rows.batch, 0 if row else size, int(table.nbytes))
            first_row += table.num_rows
    if first_row == start.first_row and start.options.settings.rows_for:
        yield Block(start.batch, 0)


def _rows_of_block(n_rows: int, n_bytes: int) -> int:
    """Return how many rows of a mean size are read at once."""
    return max(1, min(BLOCK_ROWS, ARROW_BLOCK_BYTES * n_rows // max(1, n_bytes)))


@contextmanager
def _open_table(stream: ByteStream) -> Iterator[IO[bytes] | None]:
    """Open the file of a stream for random access; None for a pipe.

    Raises
    ------
    InputError
        The file is compressed as a whole.
    MissingExtra
        pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "reading Parquet and Arrow files", library="pyarrow", extra="arrow"
        ) from None
    path = stream.location
    if stream.compression is not None:
        raise InputError(
            f"is compressed as a whole with {stream.compression}, which is not supported",
            where=stream.path,
            hint="unpack it first; its columns are compressed already",
        )
    if not is_regular(path):
        yield None
        return
    with open_seekable(path) if is_url(path) else open(path, "rb") as file:
        yield file


class _ArrowBlocks(io.RawIOBase):
    """Blocks of bytes as a read-only file object."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._pending = b""

    def read(self, size: int = -1) -> bytes:
        blocks = [self._pending]
        n_bytes = len(self._pending)
        while size < 0 or n_bytes < size:
            raw = next(self._blocks, b"")
            if not raw:
                break
            blocks.append(raw)
            n_bytes += len(raw)
        data = b"".join(blocks)
        end = len(data) if size < 0 else size
        self._pending = data[end:]
        return data[:end]

    def readable(self) -> bool:
        return True


@frozen
class ArrowRows:
    """Some rows of a Parquet or Arrow file, and how they are read as documents.

    Attributes
    ----------
    format : str
    path : str
    table : pyarrow.RecordBatch
        All columns, or those that are read, if rows are not kept.
    first_row : int
        The number of the first row in the file, from 1.
    """

    format: str
    path: str
    table: Any
    first_row: int
    options: ReadOptions

    def fields(self, row: int) -> dict[str, Any]:
        """Return the values of all columns of a row."""
        with convert_arrow_errors(self.path):
            found: dict[str, Any] = self.table.slice(row, 1).to_pylist()[0]
        for name, names in _find_class_names(self.table.schema, found).items():
            found[name] = _name_classes(found[name], names)
        return found

    def slice(self, start: int, stop: int) -> ArrowRows:
        """Return some rows."""
        return replace(self, table=self.table.slice(start, stop - start))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def batch(self) -> Batch:
        """Return the rows as documents.

        Raises
        ------
        InputError
            The columns are broken.
        """
        settings = self.options.settings
        names = self.table.schema.names
        places = find_fields(names, settings, self.path)
        with convert_arrow_errors(self.path):
            if settings.rows_for:
                self.table.validate(full=True)
            columns = take_columns(
                names, places, lambda place: _values_of(self.table.column(place)), settings
            )
        others = columns.keys() - {*settings.text_field, *settings.label_fields}
        for name, classes in _find_class_names(self.table.schema, others).items():
            columns[name] = [_name_classes(each, classes) for each in columns[name]]
        return make_batch_of_rows(columns, self, self.options, names)


def _find_class_names(schema: Any, columns: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of the labels whose numbers a column, or a field of its structs, holds; by
    the column.

    Source: what Hugging Face's library datasets writes (`ClassLabel`)
    """
    try:
        described = json.loads((schema.metadata or {}).get(b"huggingface", b"null"))
        features = _without_lists(described["info"]["features"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    found = {}
    for column in columns:
        feature = find_value(features, column) if isinstance(features, dict) else None
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            names = feature.get("names")
            found[column] = list(map(str, names)) if isinstance(names, list) else []
    return found


def _without_lists(feature: Any) -> Any:
    """Return the description of columns, in which a list is described by its items."""
    if isinstance(feature, list) and len(feature) == 1 and isinstance(feature[0], dict):
        return _without_lists(feature[0])
    if not isinstance(feature, dict):
        return feature
    if isinstance(feature.get("_type"), str) and "feature" in feature:
        return _without_lists(feature["feature"])
    return {name: _without_lists(inner) for name, inner in feature.items()}


def _name_classes(value: Any, names: Sequence[str]) -> Any:
    """Return the label of a number, or of each number of a list; None for a negative one, which
    stands for a missing label.
    """
    if isinstance(value, list):
        return [_name_classes(each, names) for each in value]
    if not isinstance(value, int) or value >= len(names):
        return value
    return names[value] if value >= 0 else None


def table_of_rows(
    records: Sequence[dict[str, Any]], names: Sequence[str], schema: Any, path: str
) -> ArrowRows:
    """Return rows of another format as those of an Arrow table.

    schema  that of earlier rows, which these should have, too; None: it follows from the values
    raises  InputError: the values of a column are of several types
    """
    import pyarrow as pa

    arrays = []
    for name in names:
        kind = None if schema is None else schema.field(name).type
        try:
            arrays.append(pa.array([record.get(name) for record in records], kind))
        except (pa.ArrowException, TypeError, OverflowError):
            raise InputError(
                f"the values of `{name}` are of several types, which one column cannot hold",
                where=path,
                hint=JSON_LINES_HINT,
            ) from None
    table = pa.RecordBatch.from_arrays(arrays, names=list(names))
    return ArrowRows("arrow", path, table, 1, ReadOptions(Encoding("utf-8"), InputSettings()))


def _values_of(array: Any) -> list[Any]:
    """Return the values of a column; 0.1 of 32 bits, too, is 0.1. Texts that are not valid UTF-8
    are bytes.
    """
    import pyarrow as pa

    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # a text that is not valid UTF-8; or it is broken
        array = array.cast(pa.large_binary())
        array.validate(full=True)
    if pa.types.is_float32(array.type):
        array = array.cast(pa.string()).cast(pa.float64())
    kind = array.type
    if getattr(kind, "unit", None) == "ns":  # Python has microseconds
        microseconds = pa.time64("us")
        if pa.types.is_timestamp(kind):
            microseconds = pa.timestamp("us", kind.tz)
        elif pa.types.is_duration(kind):
            microseconds = pa.duration("us")
        array = array.cast(microseconds, safe=False)
    values: list[Any] = array.to_pylist()
    if pa.types.is_map(array.type):
        return [None if pairs is None else dict(pairs) for pairs in values]
    return values


@contextmanager
def convert_arrow_errors(path: str) -> Iterator[None]:
    """Convert any error of pyarrow into an InputError of one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, OverflowError, ValueError, KeyError, IndexError) as error:
        reason = str(error).strip().partition("\n")[0]
        short = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…"
        raise InputError(
            f"is broken: {short or type(error).__name__}", where=path, hint="write the file again"
        ) from None


def write_parquet(
    changed: Iterable[ChangedRows], target: OutputTarget, settings: InputSettings
) -> None:
    """Write the rows of Parquet files after some changes.

    Raises
    ------
    SettingsError
        The output is a terminal.
    InputError
        There is a column of one of the names, a label does not fit into its column, or files have
        different columns.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    tables = _change_tables(changed, settings)
    schema, _ = next(tables)
    groups = group_items(
        tables, lambda changed: int(changed[0].nbytes), n_items=inf, size=ROW_GROUP_BYTES
    )
    with _open(target) as file, ParquetWriter(file, schema) as writer:
        for group, _ in groups:
            writer.write_table(pa.Table.from_batches([table for table, _ in group], schema))
            del group  # before the next one is read


def write_arrow(
    changed: Iterable[ChangedRows], target: OutputTarget, settings: InputSettings
) -> None:
    """Write the rows of Arrow files after some changes; compressed with LZ4 if the name ends with
    .feather.

    It raises the errors of `write_parquet`.
    """
    import pyarrow as pa

    tables = _change_tables(changed, settings)
    schema, _ = next(tables)
    codec = "lz4" if target.path.lower().endswith(".feather") else None
    options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
    dictionaries: dict[int, Any] = {}  # a file has one of each column, which may only grow
    with _open(target) as file, pa.ipc.new_file(file, schema, options=options) as writer:
        for table, rows in tables:
            arrays = table.columns
            for place, array in enumerate(arrays):
                if pa.types.is_dictionary(array.type):
                    known = dictionaries.get(place, array).slice(0, 0)
                    try:
                        arrays[place] = dictionaries[place] = pa.concat_arrays([known, array])
                    except pa.ArrowInvalid:
                        raise InputError(
                            f"the column `{schema.names[place]}` has too many values for its type, {array.type}",
                            where=rows.path,
                            hint=JSON_LINES_HINT,
                        ) from None
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _change_tables(
    changed: Iterable[ChangedRows], settings: InputSettings
) -> Iterator[tuple[Any, ArrowRows]]:
    """Yield the new schema with the first rows; then each changed table with its rows."""
    import pyarrow as pa

    schema: Any = None
    old_schema: Any = None
    for rows, _, columns, labels in changed:
        assert isinstance(rows, ArrowRows)
        arrays = list(rows.table.columns)
        if schema is None:
            old_schema = schema = rows.table.schema
            check_new(columns, old_schema.names, rows.path)
            for column in columns:
                schema = schema.append(pa.field(column.name, _type_of(column)))
            yield schema, rows
        elif not rows.table.schema.equals(old_schema):
            raise InputError(
                "its columns are not those of the first file",
                where=rows.path,
                hint="write the rows of each file to a file of its own",
            )
        new_labels = {row: label for row, label in sorted(labels.items()) if label is not None}
        for name in settings.label_names if new_labels else ():
            if name not in old_schema.names:
                raise InputError(
                    f"no column `{name}` for the new labels", where=rows.path, hint=JSON_LINES_HINT
                )
            place = old_schema.names.index(name)
            kind = arrays[place].type
            is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            values = list[Any]()
            for label in new_labels.values():
                value = name_labels(label, settings, is_list=is_list)[name]
                if isinstance(value, list) and not is_list:
                    if len(value) != 1:
                        raise InputError(
                            f"a cell of `{name}` holds one label",
                            where=rows.path,
                            hint=JSON_LINES_HINT,
                        )
                    value = value[0]
                values.append(value if is_list else str(value))
            classes = _find_class_names(rows.table.schema, () if settings.label_fields else [name])
            try:
                for names in classes.values():  # whose numbers the column holds
                    values = [
                        list(map(names.index, each)) if is_list else str(names.index(each))
                        for each in values
                    ]
                new = pa.array(values, kind if is_list else pa.string()).cast(kind)
                arrays[place] = _replace_rows(arrays[place], new_labels, new)
            except (pa.ArrowException, TypeError, ValueError):
                raise InputError(
                    f"a new label does not fit into the column `{name}`, whose type is {kind}",
                    where=rows.path,
                    hint=JSON_LINES_HINT,
                ) from None
        for column in columns:
            added = column.values
            if column.kind == "scores":
                added = [None if value is None else list(value.items()) for value in added]
            arrays.append(pa.array(added, _type_of(column)))
        if removed := sorted(labels.keys() - new_labels.keys()):
            arrays = [_replace_rows(array, removed, array.slice(0, 0)) for array in arrays]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema), rows


def _replace_rows(column: Any, rows: Iterable[int], new: Any) -> Any:
    """Return a column with other values in some rows, ascending; without the rows if `new` is
    empty.

    The parts of the column are joined, because pyarrow selects no values of some types, such as
    views.
    """
    import pyarrow as pa

    parts = []
    for place, (last, row) in enumerate(pairwise([-1, *rows, len(column)])):
        parts += [column.slice(last + 1, row - last - 1), new.slice(place, 1)]
    return pa.concat_arrays(parts)


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
        "contributions": pa.list_(
            pa.struct([("feature", pa.string()), ("log_odds", pa.float64())])
        ),
    }
    return types[column.kind]


@contextmanager
def _open(target: OutputTarget) -> Iterator[Any]:
    target.refuse_terminal()
    with target.open() as file:
        yield Sink(file)
