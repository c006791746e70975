"""Parquet and Arrow (Feather) files: each row of the table is a document; columns are found by
their names.

Row groups and record batches are read one by one, and cut by the size of their decoded values: a
value of a dictionary, or of a view, is stored once for any number of rows. A shard of a file
contains some of them. Rows are written again with columns added or labels changed; types and
metadata stay.

What the compressed buffers of an Arrow file unpack to is known before they are unpacked: the header
of each message is a FlatBuffers table, which names the buffers of its body, and a compressed buffer
begins with its size. https://arrow.apache.org/docs/format/Columnar.html, format/Message.fbs,
format/File.fbs
"""

from __future__ import annotations

import io
import os
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from math import inf
from typing import IO, Any, NamedTuple

from nbtext.documents.batch import Batch, BatchBuilder, Block
from nbtext.documents.blocks import ByteRange, ReadOptions, cut, group_items, read_raw_blocks
from nbtext.documents.fields import (
    NESTED,
    Fields,
    Label,
    find_fields,
    name_of,
    or_error,
    read_cells,
    text_of,
)
from nbtext.documents.lines import origin_of
from nbtext.documents.rows import (
    LINES_HINT,
    PREFIX_HINT,
    ChangedRows,
    Column,
    NewLabel,
    Target,
    name_labels,
)
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream, is_regular, is_url, open_seekable
from nbtext.errors import InputError, MissingExtra, SettingsError
from nbtext.output import Sink

BLOCK_ROWS = 1 << 12
BLOCK_BYTES = 1 << 20
ROW_BYTES = 64  # of a row in memory, besides its values
MAX_BATCH_BYTES = 1 << 24  # that the rows of a Parquet file which are read at once have at worst
# which are read at once of an encoding whose longest value is not known beforehand
MAX_UNKNOWN_ROWS = 16
BUFFER_BYTES = 1 << 20  # of a column that are read at once
FILE_MAGIC = b"ARROW1\0\0"  # begins an Arrow file; other input is read as an Arrow stream
MAX_REASON = 200  # characters of an error of pyarrow
GROUP_BYTES = 128 << 20  # of a row group of a Parquet file that is written
# bytes that a record batch, or all dictionaries, may unpack to, whatever the size of the file
ALLOWANCE = 256 << 20
RATIO = 200  # more than the allowance is refused if it is over so many times the compressed size
# kinds of messages
DICTIONARY = 2
RECORD_BATCH = 3
CONTINUATION = b"\xff\xff\xff\xff"  # precedes the size of the header of a message
FOOTER_END = b"ARROW1"
WRITE_HINT = "write it again with smaller record batches, or without compression"

Part = tuple[Any, int, int]  # a pyarrow.RecordBatch, and its size in the file and in memory


def read_parquet(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of a Parquet file, some at a time.

    Raises
    ------
    InputError
        The file is broken or cannot be read at any place, or a column is missing.
    MissingExtra
        pyarrow is not installed.
    """
    with _open_table(stream) as file, convert_errors(stream.path):
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        if file is None:
            what = "a Parquet file cannot be read from standard input or a pipe"
            raise InputError(what, where=stream.path, hint="save it as a file")
        table = ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES)
        schema = table.schema_arrow
        metadata = table.metadata
        settings = options.settings
        columns = find_fields(_list_names(schema, settings), settings, stream.path)
        names = (
            schema.names
            if settings.keeps_rows
            else [schema.names[place] for place in _places(columns, schema)]
        )
        leaves = [table.schema.column(place) for place in range(len(table.schema))]
        leaves = [
            leaf for leaf in leaves if leaf.path in names or leaf.path.partition(".")[0] in names
        ]
        binary = [leaf for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        texts = [leaf.path for leaf in binary if leaf.logical_type.type != "DECIMAL"]
        as_dictionaries = ParquetFile(
            file, pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=texts
        )
        width = max((1, *(leaf.length for leaf in leaves)))

        def read_group(place: int, size: int) -> Iterator[Part]:
            group = metadata.row_group(place)
            n_rows = min(BLOCK_ROWS, BLOCK_BYTES * group.num_rows // max(1, group.total_byte_size))
            # the first row comes with the dictionary of the row group, which is read without
            # repetitions
            try:
                first = next(
                    as_dictionaries.iter_batches(1, row_groups=[place], columns=names), None
                )
                longest = max(width, *map(_longest, first.columns)) if first is not None else width
                del first
            except OSError:  # the encoding is not one of a dictionary, or the file is broken
                n_rows = min(n_rows, MAX_UNKNOWN_ROWS)
                longest = max(width, group.total_byte_size)
            n_rows = max(1, min(n_rows, MAX_BATCH_BYTES // longest))
            for batch in table.iter_batches(n_rows, row_groups=[place], columns=names):
                # what was read before; pyarrow would keep it for later
                if longest > MAX_BATCH_BYTES:
                    pa.default_memory_pool().release_unused()
                parts = deque(_cut(batch, size))
                size = 0
                del batch
                while parts:
                    yield parts.popleft()

        start = ArrowDocuments(
            ArrowRows("parquet", stream.path, None, metadata), 1, columns, options
        )
        counts = [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
        yield from _read_groups(
            start, len(counts), counts.__getitem__, read_group, schema, stream.size
        )


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
    with _open_table(stream) as file, convert_errors(stream.path):
        import pyarrow as pa

        rows = ArrowRows("arrow", stream.path, None)
        if file is None or not is_file:
            if options.byte_range is not None and options.byte_range.start:
                return  # a stream has no index, so the first shard contains all rows
            stream.skip(len(FILE_MAGIC) if is_file else 0)
            messages = pa.ipc.MessageReader.open_stream(
                pa.PythonFile(_Blocks(read_raw_blocks(stream)), mode="r")
            )
            table = pa.ipc.open_stream(
                pa.PythonFile(_Blocks(check_messages(messages, stream.path)), mode="r")
            )
            columns = find_fields(
                _list_names(table.schema, options.settings), options.settings, stream.path
            )
            start = ArrowDocuments(rows, 1, columns, options)
            parts = chain.from_iterable(_cut(batch, stream.newly_read()) for batch in table)
            yield from _make_blocks(start, parts, table.schema)
            return
        schema = pa.ipc.open_file(file).schema
        columns = find_fields(_list_names(schema, options.settings), options.settings, stream.path)
        wanted = (
            list(range(len(schema.names)))
            if options.settings.keeps_rows
            else _places(columns, schema)
        )
        table = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=wanted))
        checked = CheckedFile(file, table, stream.path)
        start = ArrowDocuments(rows, 1, columns, options)
        yield from _read_groups(
            start, table.num_record_batches, checked.count, checked.read, schema, stream.size
        )


def _list_names(schema: Any, settings: InputSettings) -> list[str]:
    """Return the names of all columns, and those of fields of structs that are wanted, such as
    `data.text`.
    """
    wanted = (
        *settings.text_field,
        *settings.label_names,
        settings.id_field,
        settings.split_field or "",
    )
    nested = [name for name in dict.fromkeys(wanted) if len(_find_path(schema, name)) > 1]
    return [*schema.names, *nested]


def _find_path(fields: Any, name: str) -> list[str]:
    """Return the names of a column and of fields of structs in it that lead to a value; none if
    there is none.

    A column that has the whole name goes before a field of a struct, as `find_value` finds keys of
    JSON.
    """
    import pyarrow as pa

    kinds = {field.name: field.type for field in fields}
    if name in kinds:
        return [name]
    place = name.find(".")
    while place >= 0:
        kind = kinds.get(name[:place])
        path = (
            _find_path(kind, name[place + 1 :])
            if kind is not None and pa.types.is_struct(kind)
            else []
        )
        if path:
            return [name[:place], *path]
        place = name.find(".", place + 1)
    return []


def _places(columns: Fields, schema: Any) -> list[int]:
    """Return the places of the columns of the file that are read, ascending."""
    n_columns = len(schema.names)
    places = columns.places()
    nested = [_find_path(schema, columns.names[place])[0] for place in places if place >= n_columns]
    return sorted(
        {*(place for place in places if place < n_columns), *map(schema.names.index, nested)}
    )


def _read_groups(
    start: ArrowDocuments,
    n_groups: int,
    count: Callable[[int], int],
    read: Callable[[int, int], Iterator[Part]],
    schema: Any,
    size: int | None,
) -> Iterator[Block]:
    """Yield the rows of some row groups or record batches: those of the byte range, if there is
    one.

    Parameters
    ----------
    start : ArrowDocuments
        What the blocks have in common.
    count, read : callable
        Return the number of rows of a group, and its rows in parts; their sizes in the file are
        given.
    schema : pyarrow.Schema
    size : int, optional
        The size of the file in bytes.
    """
    n_bytes = size or 0
    limits = start.options.byte_range or ByteRange(0, n_bytes + 1)
    chosen = [
        place
        for place in range(n_groups)
        if limits.start <= n_bytes * place // n_groups < limits.stop
    ]
    first_row = 1 + sum(map(count, range(chosen[0] if chosen else 0)))
    shares = [n_bytes * (place + 1) // n_groups - n_bytes * place // n_groups for place in chosen]
    return _make_blocks(
        replace(start, first_row=first_row), chain.from_iterable(map(read, chosen, shares)), schema
    )


def _make_blocks(start: ArrowDocuments, parts: Iterator[Part], schema: Any) -> Iterator[Block]:
    """Yield parts of a table as blocks. If rows are kept and there are none, a block without
    documents has the schema.

    No name keeps a part that is yielded.
    """
    first_row = start.first_row
    is_empty = True
    while part := next(parts, None):
        table, size, n_bytes = part
        documents = replace(start, rows=replace(start.rows, table=table), first_row=first_row)
        first_row = first_row + table.num_rows
        is_empty = False
        block = Block(documents.batch, size, n_bytes)
        del part, table, documents
        yield block
    if is_empty and start.options.settings.keeps_rows:
        import pyarrow as pa

        table = pa.RecordBatch.from_arrays(
            [c.combine_chunks() for c in schema.empty_table().columns], schema=schema
        )
        yield Block(replace(start, rows=replace(start.rows, table=table)).batch, 0)


def _longest(array: Any) -> int:
    """Return the size of the longest value of a dictionary of texts; 0 for other arrays."""
    import pyarrow as pa

    while isinstance(array, pa.ListArray | pa.LargeListArray):
        array = array.values
    if isinstance(array, pa.StructArray):
        return max(
            (_longest(array.field(place)) for place in range(array.type.num_fields)), default=0
        )
    if not pa.types.is_dictionary(array.type) or not len(array.dictionary):
        return 0
    return int(_decoded_sizes(array.dictionary).max())


def _cut(batch: Any, size: int) -> Iterator[Part]:
    """Yield a record batch in parts of about a megabyte of decoded values; the first one has its
    size in the file.
    """
    import numpy as np

    sizes = sum(
        (_decoded_sizes(column) for column in batch.columns), np.full(batch.num_rows, ROW_BYTES)
    )
    ends = np.cumsum(np.maximum(sizes, 1))
    before = 0
    for start, stop in cut(ends, BLOCK_ROWS, BLOCK_BYTES):
        yield batch.slice(start, stop - start), size, int(ends[stop - 1]) - before
        size = 0
        before = int(ends[stop - 1])


def _decoded_sizes(array: Any) -> Any:
    """Return the bytes of each value when it is a text of its own, (n_rows,) int64; of other types,
    the mean size.

    The array may be broken, so its numbers are read as they are, not by the functions of pyarrow.
    """
    import numpy as np
    import pyarrow as pa

    def numbers(array: Any, kind: Any, more: int = 0) -> Any:
        return np.frombuffer(array.buffers()[1], kind)[
            array.offset : array.offset + len(array) + more
        ]

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _decoded_sizes(array.storage)
    if not len(array):
        return np.zeros(0, np.int64)
    array.validate()  # that the buffers are as long as the array
    if pa.types.is_dictionary(kind):
        sizes = np.append(_decoded_sizes(array.dictionary), 0)
        indices = numbers(array.indices, kind.index_type.to_pandas_dtype())
        # the indices of nulls may have any value
        return sizes[np.where((indices >= 0) & (indices < len(sizes)), indices, -1)]
    if kind in (pa.string_view(), pa.binary_view()):
        # each view has 16 bytes, and begins with its length
        views = np.frombuffer(array.buffers()[1], np.int32)[::4]
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
        hint = "unpack it first; its columns are compressed already"
        what = f"is compressed as a whole with {stream.compression}, which is not supported"
        raise InputError(what, where=stream.path, hint=hint)
    if not is_regular(path):
        yield None
        return
    with open_seekable(path) if is_url(path) else open(path, "rb") as file:
        yield file


class _Blocks(io.RawIOBase):
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


class _Table(NamedTuple):
    """A table of FlatBuffers, whose fields are found by their numbers; struct.error if a place is
    outside of it.
    """

    data: bytes
    place: int

    def find(self, field: int) -> int:
        """Return the place of a field; 0 if it is not there."""
        fields = self.place - self.number(self.place, "<i")
        place = 4 + 2 * field
        offset = self.number(fields + place, "<H") if place < self.number(fields, "<H") else 0
        return self.place + offset if offset else 0

    def number(self, place: int, kind: str) -> int:
        """Return a number of a kind of `struct`."""
        if place < 0:
            raise struct.error
        return int(struct.unpack_from(kind, self.data, place)[0])

    def table(self, field: int) -> _Table | None:
        """Return the table in a field."""
        place = self.find(field)
        return _Table(self.data, place + self.number(place, "<I")) if place else None

    def structs(self, field: int, kind: str) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of each item of a list."""
        place = self.find(field)
        if place:
            start = place + self.number(place, "<I")
            for item in range(self.number(start, "<I")):
                yield struct.unpack_from(kind, self.data, start + 4 + item * struct.calcsize(kind))


class SizeGuard:
    """Refuses messages of a file that unpack to too much.

    Parameters
    ----------
    path : str
        The file, for errors.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._dictionaries = [0, 0]  # bytes when unpacked, and in the file

    def check(self, header: bytes, n_bytes: int, read_size: Callable[[int], bytes]) -> None:
        """Raise InputError if the body of a message unpacks to too much.

        Parameters
        ----------
        header : bytes
        n_bytes : int
            The size of the body in the file.
        read_size : callable
            Returns the 8 bytes at a place of the body.
        """
        try:
            message = _Table(header, struct.unpack_from("<I", header)[0])
            place = message.find(1)
            kind = message.number(place, "<B") if place else 0
            batch = message.table(2)
            if kind == DICTIONARY and batch is not None:
                batch = batch.table(1)
            if kind not in (DICTIONARY, RECORD_BATCH) or batch is None or batch.table(3) is None:
                return  # its buffers are not compressed
            n_unpacked = 0
            for offset, length in batch.structs(2, "<qq"):
                if length > 0:
                    size = struct.unpack("<q", read_size(offset))[0]
                    n_unpacked += length if size == -1 else size
        except (struct.error, ValueError):
            what = "is broken: the header of a message"
            raise InputError(what, where=self._path, hint="write the file again") from None
        what = "a record batch"
        if kind == DICTIONARY:
            self._dictionaries = [
                self._dictionaries[0] + n_unpacked,
                self._dictionaries[1] + n_bytes,
            ]
            what = "its dictionaries"
            n_unpacked, n_bytes = self._dictionaries
        if n_unpacked > max(ALLOWANCE, RATIO * n_bytes):
            problem = f"{what} of {n_bytes:,} bytes would unpack to {n_unpacked:,} bytes"
            raise InputError(problem, where=self._path, hint=WRITE_HINT)


class CheckedFile:
    """The record batches of an Arrow file, each of which is checked before it is unpacked.

    Parameters
    ----------
    file : file object
    table : pyarrow.ipc.RecordBatchFileReader
        The same file.
    path : str
        The file, for errors.
    """

    def __init__(self, file: IO[bytes], table: Any, path: str) -> None:
        self._file = file
        self._table = table
        self._guard = SizeGuard(path)
        try:
            end = file.seek(-len(FOOTER_END) - 4, os.SEEK_END)
            size = struct.unpack("<I", file.read(4))[0]
            file.seek(end - size)
            footer = file.read(size)
            blocks = _Table(footer, struct.unpack_from("<I", footer)[0])
            self._dictionaries, self._batches = (
                list(blocks.structs(field, "<qi4xq")) for field in (2, 3)
            )
        except (struct.error, OSError, ValueError):
            raise InputError(
                "is broken: the footer", where=path, hint="write the file again"
            ) from None

    def count(self, number: int) -> int:
        """Return the number of rows of a record batch."""
        return int(self._batch(number).num_rows)

    def read(self, number: int, size: int) -> Iterator[Part]:
        """Return a record batch in parts."""
        return _cut(self._batch(number), size)

    def _batch(self, number: int) -> Any:
        # pyarrow reads all with the first record batch
        dictionaries = self._dictionaries
        self._dictionaries = []
        for start, n_header, n_body in (*dictionaries, self._batches[number]):
            self._file.seek(max(start, 0))
            header = self._file.read(max(n_header, 0))
            header = header[8 if header.startswith(CONTINUATION) else 4 :]
            self._guard.check(header, n_body, partial(self._read_size, start + n_header))
        return self._table.get_batch(number)

    def _read_size(self, start: int, place: int) -> bytes:
        self._file.seek(start + place)
        return self._file.read(8)


def check_messages(messages: Any, path: str) -> Iterator[bytes]:
    """Yield the bytes of each message of an Arrow stream, which is checked before pyarrow gets it.

    Parameters
    ----------
    messages : pyarrow.ipc.MessageReader
    path : str
        The stream, for errors.
    """
    guard = SizeGuard(path)
    for message in messages:
        body = message.body
        n_bytes = body.size if body is not None else 0
        guard.check(
            message.metadata.to_pybytes(),
            n_bytes,
            lambda place, body=body: bytes(body[place : place + 8]),  # type: ignore[misc]
        )
        yield message.serialize().to_pybytes()


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Rows of a Parquet or Arrow file.

    Attributes
    ----------
    format : str
    path : str
    table : pyarrow.RecordBatch
    metadata : pyarrow.parquet.FileMetaData, optional
        Of a Parquet file.
    """

    format: str
    path: str
    table: Any
    metadata: Any = None

    def fields(self, row: int) -> dict[str, Any]:
        """Return the values of all columns of a row."""
        with convert_errors(self.path):
            found: dict[str, Any] = self.table.slice(row, 1).to_pylist()[0]
        return found

    def slice(self, start: int, stop: int) -> ArrowRows:
        """Return some rows."""
        return replace(self, table=self.table.slice(start, stop - start))


@dataclass(frozen=True, slots=True)
class ArrowDocuments:
    """Documents that are some rows of a table.

    Attributes
    ----------
    rows : ArrowRows
        All columns, or those that are read, if rows are not kept.
    first_row : int
        The number of the first row in the file, from 1.
    """

    rows: ArrowRows
    first_row: int
    columns: Fields
    options: ReadOptions

    def batch(self) -> Batch:
        """Return the rows as documents, with ids `FILE:ROW`. A row without a text is a problem.

        Raises
        ------
        InputError
            The columns are broken, or have a type that is not text.
        """
        settings = self.options.settings
        origin = origin_of(self.rows.path)
        table = self.rows.table
        builder = BatchBuilder(settings)
        builder.batch.names = tuple(table.schema.names)
        with convert_errors(self.rows.path):
            if settings.keeps_rows:
                table.validate(full=True)
            columns = [self._texts(column, builder) for column in self.columns.texts]
            labels = self._labels(builder)
            ids = self._names(self.columns.id, builder)
            groups = self._names(self.columns.group, builder)
        texts = list(zip(*columns, strict=True)) or [()] * table.num_rows
        rows = zip(texts, labels, ids, groups, strict=True)
        for row, (fields, label, identity, group) in enumerate(rows, self.first_row):
            place = f"{origin}{row}"
            builder.add_values(fields, label=label, place=place, identity=identity, group=group)
        batch = builder.finish()
        batch.rows = self.rows if settings.keeps_rows else None
        return batch

    def _labels(self, builder: BatchBuilder) -> list[Label | InputError]:
        """Return the labels of each row; an error for a row whose labels are not valid."""
        import pyarrow as pa

        settings = self.options.settings
        columns = self.columns.labels
        if not columns:
            return [None] * self.rows.table.num_rows
        array = self._column(columns[0])
        kind = array.type
        is_list = (
            pa.types.is_list(kind)
            or pa.types.is_large_list(kind)
            or pa.types.is_fixed_size_list(kind)
        )
        if is_list and not settings.label_fields:
            array.validate(full=True)
            spell = _spelling(kind.value_type)
            lists = [
                None if items is None else list(map(spell, items)) for items in array.to_pylist()
            ]
            return [or_error(read_cells, [labels], settings) for labels in lists]
        cells = [self._texts(column, builder) for column in columns]
        return [
            next((cell for cell in row if isinstance(cell, InputError)), None)
            or or_error(read_cells, row, settings)
            for row in zip(*cells, strict=True)
        ]

    def _names(self, column: int | None, builder: BatchBuilder) -> list[str | None]:
        """Return ids or groups."""
        if column is None:
            return [None] * self.rows.table.num_rows
        return [
            name_of(text) if isinstance(text, str) else None
            for text in self._texts(column, builder)
        ]

    def _column(self, column: int) -> Any:
        """Return the values of a column, or of a field of a struct in it."""
        import pyarrow.compute as pc

        table = self.rows.table
        name, *keys = _find_path(table.schema, self.columns.names[column])
        array = table.column(name)
        for key in keys:
            array.validate(full=True)
            array = pc.struct_field(array, key)
        return array

    def _texts(self, column: int, builder: BatchBuilder) -> list[str | InputError | None]:
        """Return a column as texts, numbers as Python spells them; an error for bytes that are not
        text.
        """
        import pyarrow as pa

        name = self.columns.names[column]
        array = self._column(column)
        if isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        if pa.types.is_dictionary(array.type):
            array.validate(full=True)
            known = array.dictionary
            views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
            # which has no views
            array = known.cast(views.get(known.type, known.type)).take(array.indices)
        kind = array.type
        if pa.types.is_nested(kind):
            hint = "name a column of strings"
            what = str(kind) if len(str(kind)) <= MAX_REASON else "nested"
            raise InputError(
                f"`{name}` is {what}, expected a string", where=self.rows.path, hint=hint
            )
        is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
        is_binary = kind in (pa.binary(), pa.large_binary(), pa.binary_view())
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            if not is_text:
                raise
            # not valid UTF-8, or broken
            is_text = False
            is_binary = True
        texts: list[str | InputError | None]
        if is_text:
            texts = array.to_pylist()
        elif is_binary or pa.types.is_fixed_size_binary(kind):
            array = array.cast(pa.large_binary())
            array.validate(full=True)
            texts = [self._decode(content, builder) for content in array.to_pylist()]
        else:
            texts = list(map(_spelling(kind), _without_nanoseconds(array).to_pylist()))
        return texts

    def _decode(self, content: bytes | None, builder: BatchBuilder) -> str | InputError | None:
        if content is None:
            return None
        try:
            decoded = self.options.encoding.decode_rest(content)
        except InputError as problem:
            return problem
        builder.batch.count_repairs(decoded.repaired)
        return decoded.text


def _spelling(kind: Any) -> Callable[[Any], Any]:
    """Return the function that spells a value of a type as Python does: 0.1 of 32 bits, too, is
    0.1.
    """
    import numpy as np
    import pyarrow as pa

    if kind == pa.float32():
        return lambda value: None if value is None else text_of(float(str(np.float32(value))))
    if kind == pa.float16():
        return lambda value: None if value is None else text_of(float(str(np.float16(value))))
    return lambda value: value if isinstance(value, NESTED) else text_of(value)


def _without_nanoseconds(array: Any) -> Any:
    """Return times in microseconds, which Python has; other values as they are."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return array.cast(pa.timestamp("us", kind.tz), safe=False)
    if kind == pa.time64("ns"):
        return array.cast(pa.time64("us"), safe=False)
    if kind == pa.duration("ns"):
        return array.cast(pa.duration("us"), safe=False)
    return array


@contextmanager
def convert_errors(path: str) -> Iterator[None]:
    """Convert any error of pyarrow into an InputError of one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, OverflowError, ValueError, KeyError, IndexError) as error:
        reason = str(error).strip().partition("\n")[0]
        short = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…"
        what = f"is broken: {short or type(error).__name__}"
        raise InputError(what, where=path, hint="write the file again") from None


def write_parquet(changed: Iterable[ChangedRows], target: Target, settings: InputSettings) -> None:
    """Write the rows of Parquet files after some changes. The compression is that of the first
    column of the source.

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
    schema, first = next(tables)
    codec = "snappy"
    # their rows were read: pyarrow ends the process for columns that are broken
    if first.metadata.num_row_groups:
        with convert_errors(first.path):
            codec = (
                first.metadata.row_group(0)
                .column(0)
                .compression.lower()
                .replace("uncompressed", "none")
            )
    groups = group_items(
        tables, lambda changed: int(changed[0].nbytes), n_items=inf, size=GROUP_BYTES
    )
    with _open(target) as file, ParquetWriter(file, schema, compression=codec) as writer:
        for group, _ in groups:
            writer.write_table(pa.Table.from_batches([table for table, _ in group], schema))
            del group  # before the next one is read


def write_arrow(changed: Iterable[ChangedRows], target: Target, settings: InputSettings) -> None:
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
                        what = f"the column `{schema.names[place]}` has too many values for its type, {array.type}"
                        raise InputError(what, where=rows.path, hint=LINES_HINT) from None
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
            for column in columns:
                if column.name in old_schema.names:
                    raise InputError(
                        f"there is a column `{column.name}` already",
                        where=rows.path,
                        hint=PREFIX_HINT,
                    )
                schema = schema.append(pa.field(column.name, _type_of(column)))
            yield schema, rows
        elif not rows.table.schema.equals(old_schema):
            hint = "write the rows of each file to a file of its own"
            raise InputError(
                "its columns are not those of the first file", where=rows.path, hint=hint
            )
        new_labels = {row: label for row, label in sorted(labels.items()) if label is not None}
        for name in settings.label_names if new_labels else ():
            if name not in old_schema.names:
                raise InputError(
                    f"no column `{name}` for the new labels", where=rows.path, hint=LINES_HINT
                )
            place = old_schema.names.index(name)
            arrays[place] = _replace_labels(arrays[place], new_labels, name, settings, rows.path)
        for column in columns:
            values = column.values
            if column.kind == "scores":
                values = [None if value is None else list(value.items()) for value in values]
            arrays.append(pa.array(values, _type_of(column)))
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


def _replace_labels(
    column: Any, labels: dict[int, NewLabel], name: str, settings: InputSettings, path: str
) -> Any:
    """Return a column with other labels in some rows; the other values and the type stay."""
    import pyarrow as pa

    kind = column.type
    values = list[Any]()
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    for label in labels.values():
        value = name_labels(label, settings, is_list=is_list)[name]
        if isinstance(value, list) and not is_list:
            if len(value) != 1:
                raise InputError(f"a cell of `{name}` holds one label", where=path, hint=LINES_HINT)
            value = value[0]
        values.append(value if is_list else str(value))
    try:
        if pa.types.is_dictionary(kind):
            coded = pa.array(values).dictionary_encode()
            indices = coded.indices.cast(kind.index_type)
            known = coded.dictionary.cast(kind.value_type)
            new = pa.DictionaryArray.from_arrays(indices, known, ordered=kind.ordered)
        else:
            new = pa.array(values, kind) if is_list else pa.array(values, pa.string()).cast(kind)
        return _replace_rows(column, labels, new)
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
        "contributions": pa.list_(
            pa.struct([("feature", pa.string()), ("log_odds", pa.float64())])
        ),
    }
    return types[column.kind]


@contextmanager
def _open(target: Target) -> Iterator[Any]:
    if target.is_terminal:
        what = "the result is binary, and standard output is a terminal"
        raise SettingsError(what, where="-o", hint="write it to a file with -o")
    with target.open() as file:
        yield Sink(file)
