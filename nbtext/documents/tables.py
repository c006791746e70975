"""CSV and TSV files: each row is a document; columns are selected by a header or by number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from nbtext.documents.batch import Batch, BatchBuilder
from nbtext.documents.blocks import ReadOptions, read_line_blocks, read_raw_blocks
from nbtext.documents.delimited import (
    SEPARATORS,
    LineFeed,
    Record,
    find_separator,
    read_csv_records,
    read_tsv_records,
)
from nbtext.documents.fields import Fields, find_fields, is_number
from nbtext.documents.labels import read_cells
from nbtext.documents.lines import origin_of
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream
from nbtext.errors import InputError

if TYPE_CHECKING:
    from nbtext.documents.rows import TableRows

BLOCK_ROWS = 1 << 12
BLOCK_CHARACTERS = 1 << 20


@dataclass(slots=True)
class TableDocuments:
    """Documents that are some rows of a table; `size` is the bytes of the file that were read for them."""

    records: list[Record]
    columns: Fields
    origin: str  # the prefix of line numbers in ids
    settings: InputSettings
    separator: str  # as a phrase, for messages
    size: int
    rows: TableRows | None = None

    def batch(self) -> Batch:
        """Return the documents; a row that is broken, too short or too long is a problem of its document.

        Raises
        ------
        InputError
            The rows are kept, and no columns can be added to one that is broken or too long.
        """
        names, texts, labels, identity, group = self.columns
        builder = BatchBuilder(self.settings, self.origin)
        builder.batch.names = names
        for record in self.records:
            row, line, repaired = record.columns, record.first_line, record.repaired
            if repaired and self.rows is not None:
                row = [self.rows.encoding.repair(cell) for cell in row]
            place = f"{self.origin}{line}"
            problem = record.problem or self._check_width(row)
            if problem is not None:
                if self.rows is not None and (record.problem or len(row) > len(names)):
                    raise problem.locate(place)
                builder.add_problem(problem, place=place, line=line, repaired=repaired)
                continue
            name = row[identity] if identity is not None else None
            try:
                label = read_cells([row[column] for column in labels], self.settings)
            except InputError as error:
                builder.add_problem(error, place=place, identity=name, line=line, repaired=repaired)
                continue
            builder.add(
                [row[column] for column in texts],
                place=place,
                identity=name,
                label=label,
                group=row[group] if group is not None else None,
                line=line,
                repaired=repaired,
            )
        batch = builder.finish()
        batch.rows = self.rows
        return batch

    def _check_width(self, row: list[str]) -> InputError | None:
        names, n_needed = self.columns.names, max(self.columns.places()) + 1
        if len(row) < n_needed:
            return InputError(f"expected {n_needed} {self.separator}-separated columns, found {len(row)}")
        if len(row) > len(names) and any(row[len(names) :]):
            what = f"expected {len(names)} {self.separator}-separated columns, found {len(row)}"
            return InputError(what, hint=f"put quotes around a column that holds a {self.separator}")
        return None


def read_csv(stream: ByteStream, options: ReadOptions) -> Iterator[TableDocuments]:
    """Yield the documents of a CSV file: each row is one. The separator is a comma, a semicolon or a tab."""
    return _read_table(stream, options, is_tsv=False)


def read_tsv(stream: ByteStream, options: ReadOptions) -> Iterator[TableDocuments]:
    """Yield the documents of a file of tab-separated columns: each row is one."""
    return _read_table(stream, options, is_tsv=True)


def _read_table(stream: ByteStream, options: ReadOptions, *, is_tsv: bool) -> Iterator[TableDocuments]:
    """Yield the rows in blocks.

    raises  InputError: a column is missing, or a quote is never closed
    """
    settings, limit = options.settings, options.settings.max_document_bytes
    encoding, origin = options.encoding, origin_of(stream.path)
    has_returns = b"\r" in stream.head() and b"\n" not in stream.head()
    raw_blocks = _convert_returns(stream, is_strict=settings.keeps_rows) if has_returns else read_raw_blocks(stream)
    blocks = read_line_blocks(raw_blocks, limit, position=lambda: stream.position)
    feed = LineFeed(blocks, encoding, limit, keeps_bytes=settings.keeps_rows)
    separator = "\t" if is_tsv else find_separator(feed, *_wanted_columns(settings))
    n_skipped = feed.line  # a line `sep=;`
    start = next(feed, "")
    feed.put_back([start] if start else [])
    records = feed.check(
        read_tsv_records(feed) if is_tsv else read_csv_records(feed, where=origin, separator=separator)
    )
    first = next(records, None)
    if first is None:
        return
    place = f"{origin}{first.first_line}"
    if first.problem is not None:
        raise first.problem.locate(place)
    names = [encoding.repair(name) for name in first.columns] if settings.keeps_rows else first.columns
    columns, is_header = find_columns(names, settings, place=place)
    documents = TableDocuments([], columns, origin, settings, SEPARATORS.get(separator, separator), 0)
    groups = _group_records(records if is_header else chain((first,), records))
    if settings.keeps_rows:
        from nbtext.documents.rows import TableRows

        end = "\r" if has_returns else "\r\n" if start.endswith("\r\n") else "\n"
        top = f"sep={separator}{end}" * n_skipped + end * (first.first_line - 1 - n_skipped) * is_header
        rows = TableRows(
            "tsv" if is_tsv else "csv", stream.path, encoding, [], [], [], end, is_start=True, bom=stream.bom,
            separator=separator, names=columns.names, header=first.columns if is_header else None, top=top,
        )  # fmt: skip
        quoted = replace(rows, is_quoted=True)
        rows = quoted if quoted.join(first.columns) == start.rstrip("\r\n") else rows
        yield from _keep_rows(groups, replace(documents, rows=rows), feed, stream, first, n_skipped)
        return
    position = 0
    for group in groups:
        yield replace(documents, records=group, size=stream.position - position)
        position = stream.position


def _keep_rows(
    groups: Iterator[list[Record]],
    documents: TableDocuments,
    feed: LineFeed,
    stream: ByteStream,
    first: Record,
    n_skipped: int,
) -> Iterator[TableDocuments]:
    """Yield the documents in blocks, with their cells; the only block of a table without rows has no document.

    Parameters
    ----------
    documents : TableDocuments
        Documents with the attributes that all blocks share.
    first : Record
        The first row of the file, which may be its header.
    n_skipped : int
        The number of lines before it that are not rows.
    """
    assert documents.rows is not None
    rows, position = documents.rows, 0
    last_line = first.last_line if rows.header is not None else n_skipped
    for group, following in pairwise(chain(groups, ([], []))):
        if not group and not rows.is_start:
            return
        gaps = []
        for record in group:
            gaps.append(rows.newline * (record.first_line - last_line - 1))
            last_line = record.last_line
        gaps.append("" if following else rows.newline * (feed.line - last_line))
        kept = replace(
            rows,
            rows=[record.columns for record in group],
            gaps=gaps,
            lines=[record.first_line for record in group],
            is_ended=bool(following) or feed.is_ended,
        )
        yield replace(documents, records=group, rows=kept, size=stream.position - position)
        rows, position = replace(rows, is_start=False), stream.position


def _convert_returns(stream: ByteStream, *, is_strict: bool) -> Iterator[bytes]:
    """Yield the bytes of a table whose lines end with a carriage return alone, with line feeds.

    Raises
    ------
    InputError
        Some lines end with a carriage return, others with a line feed, and `is_strict` is set.
    """
    for raw in read_raw_blocks(stream):
        if is_strict and b"\n" in raw:
            hint = "convert the line ends to one kind"
            raise InputError(
                "some lines end with a carriage return, others with a line feed", where=stream.path, hint=hint
            )
        yield raw.replace(b"\r", b"\n")


def _group_records(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Yield several thousand records, or about a megabyte, at a time."""
    group: list[Record] = []
    size = 0
    for record in records:
        group.append(record)
        size += sum(map(len, record.columns))
        if len(group) == BLOCK_ROWS or size >= BLOCK_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def find_columns(first: list[str], settings: InputSettings, *, place: str) -> tuple[Fields, bool]:
    """Return the wanted columns, and whether the first row is a header, which has the name of a text or label column.

    raises  InputError: a wanted column is missing
    """
    names = [name.strip() for name in first]
    if not _wanted_columns(settings)[0].isdisjoint(names):
        return find_fields(names, settings, place, has_numbers=True), True
    numbers = [str(number) for number in range(1, len(first) + 1)]
    return find_fields(numbers, settings, place, has_numbers=True, first_row=first), False


def _wanted_columns(settings: InputSettings) -> tuple[set[str], int]:
    """Return the column names of which a header has at least one, and the highest wanted column number."""
    wanted = (*settings.text_field, *settings.label_names)
    names = {name for name in wanted if not is_number(name)}
    return names, max((int(name) for name in wanted if name not in names), default=0)
