"""Read Parquet and Arrow (Feather) files: each row of the table is a document.

Row groups and record batches are read one by one, and cut by the size of their decoded values: a value of a dictionary,
or of a view, is stored once for any number of rows. A shard of a file contains some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, Any

from nbtext.documents.arrow_documents import ArrowDocuments, ArrowRows, convert_errors
from nbtext.documents.arrow_sizes import CheckedFile, CheckedStream
from nbtext.documents.blocks import ByteRange, ReadOptions
from nbtext.documents.fields import find_fields
from nbtext.documents.streams import ByteStream, is_regular
from nbtext.documents.urls import is_url, open_seekable
from nbtext.errors import InputError, MissingExtra

BLOCK_ROWS = 1 << 12
BLOCK_BYTES = 1 << 20
ROW_BYTES = 64  # of a row in memory, besides its values
MAX_BATCH_BYTES = 1 << 24  # that the rows of a Parquet file which are read at once have at worst
MAX_UNKNOWN_ROWS = 16  # which are read at once of an encoding whose longest value is not known beforehand
BUFFER_BYTES = 1 << 20  # of a column that are read at once
FILE_MAGIC = b"ARROW1\0\0"  # begins an Arrow file; other input is read as an Arrow stream


def read_parquet(stream: ByteStream, options: ReadOptions) -> Iterator[ArrowDocuments]:
    """Yield the rows of a Parquet file, some at a time.

    Raises
    ------
    InputError
        The file is broken or cannot be read at any place, or a column is missing.
    MissingExtra
        pyarrow is not installed.
    """
    with _open_table(stream) as file, convert_errors(stream.path):
        from pyarrow.parquet import ParquetFile

        if file is None:
            raise InputError(
                "a Parquet file cannot be read from standard input or a pipe",
                where=stream.path,
                hint="save it as a file",
            )
        table = ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES)
        schema, metadata, settings = table.schema_arrow, table.metadata, options.settings
        columns = find_fields(schema.names, settings, stream.path)
        names = schema.names if settings.keeps_rows else [columns.names[place] for place in columns.places()]
        leaves = [table.schema.column(place) for place in range(len(table.schema))]
        leaves = [leaf for leaf in leaves if leaf.path.partition(".")[0] in names]
        texts = [
            leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL"
        ]
        as_dictionaries = ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=texts)
        width = max((1, *(leaf.length for leaf in leaves)))

        def read_group(place: int) -> Iterator[Any]:
            group = metadata.row_group(place)
            n_rows = _block_rows(group.total_byte_size, group.num_rows)
            try:  # the first row comes with the dictionary of the row group, which is read without repetitions
                first = next(as_dictionaries.iter_batches(1, row_groups=[place], columns=names), None)
                longest = max(width, *map(_longest, first.columns)) if first is not None else width
            except OSError:  # the encoding is not one of a dictionary, or the file is broken
                n_rows, longest = min(n_rows, MAX_UNKNOWN_ROWS), max(width, group.total_byte_size)
            for batch in table.iter_batches(
                max(1, min(n_rows, MAX_BATCH_BYTES // longest)), row_groups=[place], columns=names
            ):
                yield from _cut(batch)

        rows = ArrowRows("parquet", stream.path, None, metadata) if settings.keeps_rows else None
        start = ArrowDocuments(None, 1, columns, options, stream.path, 0, rows)
        counts = Counts(metadata.num_row_groups, lambda place: metadata.row_group(place).num_rows)
        yield from _read_groups(start, counts, read_group, schema, stream.size)


def read_arrow(stream: ByteStream, options: ReadOptions) -> Iterator[ArrowDocuments]:
    """Yield the rows of an Arrow file or an Arrow stream, some at a time. Memory holds a record batch.

    Raises
    ------
    InputError
        The file is broken, or a column is missing.
    MissingExtra
        pyarrow is not installed.
    """
    is_file = stream.head(len(FILE_MAGIC)).startswith(FILE_MAGIC)
    with _open_table(stream) as file, convert_errors(stream.path):
        import pyarrow as pa

        rows = ArrowRows("arrow", stream.path, None) if options.settings.keeps_rows else None
        if file is None or not is_file:
            if options.byte_range is not None and options.byte_range.start:
                return  # a stream has no index, so the first shard contains all rows
            stream.skip(len(FILE_MAGIC) if is_file else 0)
            messages = pa.ipc.MessageReader.open_stream(pa.PythonFile(_StreamFile(stream), mode="r"))
            table = pa.ipc.open_stream(pa.PythonFile(CheckedStream(messages, stream.path), mode="r"))
            columns = find_fields(table.schema.names, options.settings, stream.path)
            start = ArrowDocuments(None, 1, columns, options, stream.path, 0, rows)
            yield from _read_batches(start, table, stream)
            return
        schema = pa.ipc.open_file(file).schema
        columns = find_fields(schema.names, options.settings, stream.path)
        start = ArrowDocuments(None, 1, columns, options, stream.path, 0, rows)
        wanted = range(len(schema.names)) if start.rows is not None else columns.places()
        table = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=sorted(wanted)))
        checked = CheckedFile(file, table, stream.path)
        counts = Counts(table.num_record_batches, lambda place: checked.batch(place).num_rows)
        yield from _read_groups(start, counts, lambda place: _cut(checked.batch(place)), schema, stream.size)


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of rows of row groups or record batches, which are read from the file when they are needed."""

    n_groups: int
    count: Callable[[int], int]


def _read_groups(
    start: ArrowDocuments, counts: Counts, read: Callable[[int], Iterable[Any]], schema: Any, size: int | None
) -> Iterator[ArrowDocuments]:
    """Yield the rows of some row groups or record batches: those of the byte range, if there is one.

    Parameters
    ----------
    start : ArrowDocuments
        What the blocks have in common.
    counts : Counts
    read : callable
        Returns the rows of a group.
    schema : pyarrow.Schema
    size : int, optional
        The size of the file in bytes.
    """
    n_bytes, n_groups = size or 0, counts.n_groups
    limits = start.options.byte_range or ByteRange(0, n_bytes + 1)
    chosen = [place for place in range(n_groups) if limits.start <= n_bytes * place // n_groups < limits.stop]
    first_row = 1 + sum(counts.count(place) for place in range(chosen[0] if chosen else 0))
    is_empty = True
    for place in chosen:
        share = n_bytes * (place + 1) // n_groups - n_bytes * place // n_groups
        for table in read(place):
            yield _block(start, table, first_row, share)
            first_row, share, is_empty = first_row + table.num_rows, 0, False
    if is_empty:
        yield from _no_rows(start, schema)


def _read_batches(start: ArrowDocuments, table: Any, stream: ByteStream) -> Iterator[ArrowDocuments]:
    """Yield the rows of an Arrow stream."""
    first_row, position, is_empty = 1, 0, True
    for batch in table:
        for part in _cut(batch):
            yield _block(start, part, first_row, stream.position - position)
            first_row, position, is_empty = first_row + part.num_rows, stream.position, False
    if is_empty:
        yield from _no_rows(start, table.schema)


def _no_rows(start: ArrowDocuments, schema: Any) -> Iterator[ArrowDocuments]:
    """If rows are kept, yield a block without documents that has the schema."""
    if start.rows is not None:
        import pyarrow as pa

        yield _block(start, pa.RecordBatch.from_pylist([], schema=schema), 1, 0)


def _block(start: ArrowDocuments, table: Any, first_row: int, size: int) -> ArrowDocuments:
    rows = replace(start.rows, table=table) if start.rows is not None else None
    return replace(start, table=table, first_row=first_row, size=size, rows=rows)


def _longest(array: Any) -> int:
    """Return the size of the longest value of a dictionary of texts; 0 for other arrays."""
    import pyarrow as pa

    while isinstance(array, pa.ListArray | pa.LargeListArray):
        array = array.values
    if not pa.types.is_dictionary(array.type) or not len(array.dictionary):
        return 0
    return int(_decoded_sizes(array.dictionary).max())


def _cut(batch: Any) -> Iterator[Any]:
    """Yield a record batch in parts of about a megabyte of decoded values."""
    import numpy as np

    sizes = sum((_decoded_sizes(column) for column in batch.columns), np.full(batch.num_rows, ROW_BYTES))
    ends = np.cumsum(np.maximum(sizes, 1))
    start = 0
    while start < batch.num_rows:
        limit = (ends[start - 1] if start else 0) + BLOCK_BYTES
        stop = min(max(start + 1, int(np.searchsorted(ends, limit, "right"))), start + BLOCK_ROWS)
        yield batch.slice(start, stop - start)
        start = stop


def _decoded_sizes(array: Any) -> Any:
    """Return the bytes of each value when it is a text of its own, (n_rows,) int64; of other types, the mean size.

    The array may be broken, so its numbers are read as they are, not by the functions of pyarrow.
    """
    import numpy as np
    import pyarrow as pa

    def numbers(array: Any, kind: Any, more: int = 0) -> Any:
        return np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array) + more]

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _decoded_sizes(array.storage)
    if not len(array):
        return np.zeros(0, np.int64)
    array.validate()  # that the buffers are as long as the array
    if pa.types.is_dictionary(kind):
        sizes = np.append(_decoded_sizes(array.dictionary), 0)
        indices = numbers(array.indices, kind.index_type.to_pandas_dtype())
        return sizes[
            np.where((indices >= 0) & (indices < len(sizes)), indices, -1)
        ]  # those of nulls may have any value
    if kind in (pa.string_view(), pa.binary_view()):
        views = np.frombuffer(array.buffers()[1], np.int32)[::4]  # each view has 16 bytes, and begins with its length
        return views[array.offset : array.offset + len(array)].astype(np.int64)
    if kind in (pa.string(), pa.binary()) or pa.types.is_list(kind):
        offsets = numbers(array, np.int32, 1)
    elif kind in (pa.large_string(), pa.large_binary()) or pa.types.is_large_list(kind):
        offsets = numbers(array, np.int64, 1)
    else:
        return np.full(len(array), array.nbytes // len(array))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.append(0, np.cumsum(_decoded_sizes(array.values)))
        offsets = ends[np.clip(offsets, 0, len(array.values))]
    return np.diff(offsets.astype(np.int64))


def _block_rows(n_bytes: int, n_rows: int) -> int:
    """Return the number of rows that take about a megabyte."""
    return min(BLOCK_ROWS, max(1, BLOCK_BYTES * n_rows // max(1, n_bytes)))


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
        raise MissingExtra("reading Parquet and Arrow files", library="pyarrow", extra="arrow") from None
    path = stream.location
    if stream.compression is not None:
        hint = "unpack it first; its columns are compressed already"
        raise InputError(
            f"is compressed as a whole with {stream.compression}, which is not supported", where=stream.path, hint=hint
        )
    if not is_regular(path):
        yield None
        return
    with open_seekable(path) if is_url(path) else open(path, "rb") as file:
        yield file


class _StreamFile:
    """A read-only file object for a stream."""

    closed = False

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._pending = b""

    def read(self, size: int = -1) -> bytes:
        blocks, n_bytes = [self._pending], len(self._pending)
        while size < 0 or n_bytes < size:
            raw = self._stream.read()
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

    def close(self) -> None:
        """Leave the stream open; the caller that opened it closes it."""
