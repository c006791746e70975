"""Parquet and Arrow (Feather) files: each row of the table is a document; columns are found by their names.

Row groups and record batches are read one by one, and cut by the size of their decoded values: a value of a dictionary,
or of a view, is stored once for any number of rows. A shard of a file contains some of them. Rows are written again
with columns added or labels changed; types and metadata stay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, Any

from nbtext.documents.arrow_sizes import CheckedFile, check_messages
from nbtext.documents.batch import Batch, BatchBuilder, Block
from nbtext.documents.blocks import ByteRange, ReadOptions, read_raw_blocks
from nbtext.documents.fields import Fields, find_fields
from nbtext.documents.labels import Label, or_error, read_cells, read_label
from nbtext.documents.lines import origin_of
from nbtext.documents.rows import LINES_HINT, PREFIX_HINT, ChangedRows, Column, NewLabel, Target, name_labels
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream, is_regular
from nbtext.documents.urls import is_url, open_seekable
from nbtext.errors import InputError, MissingExtra, SettingsError
from nbtext.output import Writer

BLOCK_ROWS = 1 << 12
BLOCK_BYTES = 1 << 20
ROW_BYTES = 64  # of a row in memory, besides its values
MAX_BATCH_BYTES = 1 << 24  # that the rows of a Parquet file which are read at once have at worst
MAX_UNKNOWN_ROWS = 16  # which are read at once of an encoding whose longest value is not known beforehand
BUFFER_BYTES = 1 << 20  # of a column that are read at once
FILE_MAGIC = b"ARROW1\0\0"  # begins an Arrow file; other input is read as an Arrow stream


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

        def read_group(place: int) -> Iterator[tuple[Any, int]]:
            group = metadata.row_group(place)
            n_rows = _block_rows(group.total_byte_size, group.num_rows)
            try:  # the first row comes with the dictionary of the row group, which is read without repetitions
                first = next(as_dictionaries.iter_batches(1, row_groups=[place], columns=names), None)
                longest = max(width, *map(_longest, first.columns)) if first is not None else width
                del first
            except OSError:  # the encoding is not one of a dictionary, or the file is broken
                n_rows, longest = min(n_rows, MAX_UNKNOWN_ROWS), max(width, group.total_byte_size)
            n_rows = max(1, min(n_rows, MAX_BATCH_BYTES // longest))
            for batch in table.iter_batches(n_rows, row_groups=[place], columns=names):
                if longest > MAX_BATCH_BYTES:  # what was read before; pyarrow would keep it for later
                    pa.default_memory_pool().release_unused()
                parts = deque(_cut(batch))
                del batch
                while parts:
                    yield parts.popleft()

        rows = ArrowRows("parquet", stream.path, None, metadata) if settings.keeps_rows else None
        start = ArrowDocuments(None, 1, columns, options, stream.path, rows)
        counts = Counts(metadata.num_row_groups, lambda place: metadata.row_group(place).num_rows)
        yield from _read_groups(start, counts, read_group, schema, stream.size)


def read_arrow(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
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
            messages = pa.ipc.MessageReader.open_stream(pa.PythonFile(_Blocks(read_raw_blocks(stream)), mode="r"))
            blocks = _Blocks(check_messages(messages, stream.path))
            table = pa.ipc.open_stream(pa.PythonFile(blocks, mode="r"))
            columns = find_fields(table.schema.names, options.settings, stream.path)
            start = ArrowDocuments(None, 1, columns, options, stream.path, rows)
            yield from _read_batches(start, table, stream)
            return
        schema = pa.ipc.open_file(file).schema
        columns = find_fields(schema.names, options.settings, stream.path)
        start = ArrowDocuments(None, 1, columns, options, stream.path, rows)
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
    start: ArrowDocuments,
    counts: Counts,
    read: Callable[[int], Iterable[tuple[Any, int]]],
    schema: Any,
    size: int | None,
) -> Iterator[Block]:
    """Yield the rows of some row groups or record batches: those of the byte range, if there is one.

    Parameters
    ----------
    start : ArrowDocuments
        What the blocks have in common.
    counts : Counts
    read : callable
        Returns the rows of a group in parts, with their sizes in memory.
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
        for table, size_in_memory in read(place):
            block = _block(start, table, first_row, share, size_in_memory)
            first_row, share, is_empty = first_row + table.num_rows, 0, False
            del table
            yield block
    if is_empty:
        yield from _no_rows(start, schema)


def _read_batches(start: ArrowDocuments, table: Any, stream: ByteStream) -> Iterator[Block]:
    """Yield the rows of an Arrow stream."""
    first_row, is_empty = 1, True
    for batch in table:
        for part, n_bytes in _cut(batch):
            yield _block(start, part, first_row, stream.newly_read(), n_bytes)
            first_row, is_empty = first_row + part.num_rows, False
    if is_empty:
        yield from _no_rows(start, table.schema)


def _no_rows(start: ArrowDocuments, schema: Any) -> Iterator[Block]:
    """If rows are kept, yield a block without documents that has the schema."""
    if start.rows is not None:
        import pyarrow as pa

        yield _block(start, pa.RecordBatch.from_pylist([], schema=schema), 1, 0)


def _block(start: ArrowDocuments, table: Any, first_row: int, size: int, n_bytes: int = 0) -> Block:
    rows = replace(start.rows, table=table) if start.rows is not None else None
    return Block(replace(start, table=table, first_row=first_row, rows=rows).batch, size, n_bytes)


def _longest(array: Any) -> int:
    """Return the size of the longest value of a dictionary of texts; 0 for other arrays."""
    import pyarrow as pa

    while isinstance(array, pa.ListArray | pa.LargeListArray):
        array = array.values
    if not pa.types.is_dictionary(array.type) or not len(array.dictionary):
        return 0
    return int(_decoded_sizes(array.dictionary).max())


def _cut(batch: Any) -> Iterator[tuple[Any, int]]:
    """Yield a record batch in parts of about a megabyte of decoded values, with the size of these."""
    import numpy as np

    sizes = sum((_decoded_sizes(column) for column in batch.columns), np.full(batch.num_rows, ROW_BYTES))
    ends = np.cumsum(np.maximum(sizes, 1))
    start = 0
    while start < batch.num_rows:
        first = ends[start - 1] if start else 0
        stop = min(max(start + 1, int(np.searchsorted(ends, first + BLOCK_BYTES, "right"))), start + BLOCK_ROWS)
        yield batch.slice(start, stop - start), int(ends[stop - 1] - first)
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


class _Blocks:
    """Blocks of bytes as a read-only file object."""

    closed = False

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._pending = b""

    def read(self, size: int = -1) -> bytes:
        blocks, n_bytes = [self._pending], len(self._pending)
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

    def close(self) -> None:
        """Do nothing; the caller that opened the stream closes it."""


MAX_REASON = 200


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
    table : pyarrow.RecordBatch
    first_row : int
        The number of the first row in the file, from 1.
    rows : ArrowRows, optional
        All columns of the rows, if they are kept.
    """

    table: Any
    first_row: int
    columns: Fields
    options: ReadOptions
    path: str
    rows: ArrowRows | None = None

    def batch(self) -> Batch:
        """Return the rows as documents, with ids `FILE:ROW`. A row without a text is a problem.

        Raises
        ------
        InputError
            The columns are broken, or have a type that is not text.
        """
        settings, origin = self.options.settings, origin_of(self.path)
        builder = BatchBuilder(settings)
        builder.batch.names = tuple(self.table.schema.names)
        with convert_errors(self.path):
            if self.rows is not None:
                self.rows.table.validate(full=True)
            columns = [self._texts(column, builder) for column in self.columns.texts]
            labels = self._labels(builder)
            ids, groups = self._names(self.columns.id, builder), self._names(self.columns.group, builder)
        rows = zip(zip(*columns, strict=True), labels, ids, groups, strict=True)
        for row, (fields, label, identity, group) in enumerate(rows, self.first_row):
            place = f"{origin}{row}"
            builder.add_values(fields, label=label, place=place, identity=identity, group=group)
        batch = builder.finish()
        batch.rows = self.rows
        return batch

    def _labels(self, builder: BatchBuilder) -> list[Label | InputError]:
        """Return the labels of each row; an error for a row whose labels are not valid."""
        import pyarrow as pa

        settings, columns = self.options.settings, self.columns.labels
        if not settings.label_fields and columns:
            name = self.columns.names[columns[0]]
            array = self.table.column(name)
            kind = array.type
            if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
                array.validate(full=True)
                if not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
                    raise InputError(f"`{name}` is {kind}, expected strings", where=self.path)
                return [or_error(read_label, labels, name, settings) for labels in array.to_pylist()]
        cells = [self._names(column, builder) for column in columns]
        if not cells:
            return [None] * self.table.num_rows
        return [or_error(read_cells, row, settings) for row in zip(*cells, strict=True)]

    def _names(self, column: int | None, builder: BatchBuilder) -> list[str | None]:
        """Return labels, ids or groups."""
        if column is None:
            return [None] * self.table.num_rows
        return [text if isinstance(text, str) else None for text in self._texts(column, builder)]

    def _texts(self, column: int, builder: BatchBuilder) -> list[str | InputError | None]:
        """Return a column as texts, numbers as they are written; an error for bytes that are not text."""
        import pyarrow as pa

        name = self.columns.names[column]
        array = self.table.column(name)
        if isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        if pa.types.is_dictionary(array.type):
            array.validate(full=True)
            array = array.dictionary_decode()
        kind = array.type
        if pa.types.is_nested(kind):
            hint = "name a column of strings"
            raise InputError(f"`{name}` is {kind}, expected a string", where=self.path, hint=hint)
        is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
        is_binary = kind in (pa.binary(), pa.large_binary(), pa.binary_view())
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            if not is_text:
                raise
            is_text, is_binary = False, True  # not valid UTF-8, or broken
        texts: list[str | InputError | None]
        if is_text:
            texts = array.to_pylist()
        elif is_binary or pa.types.is_fixed_size_binary(kind):
            array = array.cast(pa.large_binary())
            array.validate(full=True)
            texts = [self._decode(content, builder) for content in array.to_pylist()]
        else:
            texts = array.cast(pa.large_string()).to_pylist()
        return texts

    def _decode(self, content: bytes | None, builder: BatchBuilder) -> str | InputError | None:
        if content is None:
            return None
        try:
            text, repaired = self.options.encoding.decode_rest(content)
        except InputError as problem:
            return problem
        builder.batch.repaired_documents += repaired > 0
        builder.batch.repaired_bytes += repaired
        return text


@contextmanager
def convert_errors(path: str) -> Iterator[None]:
    """Convert any error of pyarrow into an InputError of one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError, KeyError, IndexError) as error:
        reason = str(error).strip().partition("\n")[0]
        short = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…"
        raise InputError(
            f"is broken: {short or type(error).__name__}", where=path, hint="write the file again"
        ) from None


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
