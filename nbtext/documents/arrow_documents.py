"""Documents that are rows of an Arrow table, whose columns are found by their names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from nbtext.documents.batch import Batch, BatchBuilder
from nbtext.documents.blocks import ReadOptions
from nbtext.documents.fields import Fields
from nbtext.documents.labels import Label, or_error, read_cells, read_label
from nbtext.documents.lines import origin_of
from nbtext.errors import InputError

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
    size : int
        The number of bytes of the file that these rows account for.
    rows : ArrowRows, optional
        All columns of the rows, if they are kept.
    """

    table: Any
    first_row: int
    columns: Fields
    options: ReadOptions
    path: str
    size: int
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
