"""CSV and TSV: which columns hold the text, the label and the id, with a header or by number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from nbtext.documents.batch import Batch, as_columns, unmarked
from nbtext.documents.blocks import line_blocks, pieces_of
from nbtext.documents.decoding import Encoding, marked_encoding
from nbtext.documents.files import located
from nbtext.documents.lines import origin_of
from nbtext.documents.records import SEPARATORS, LineFeed, Record, csv_records, csv_separator, tsv_records
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import ByteStream
from nbtext.errors import InputError

CHUNK_ROWS = 1 << 12
CHUNK_CHARACTERS = 1 << 20
MOST_COLUMNS_SAID = 20
LONGEST_COLUMN_SAID = 40
DEFAULTS = ReadingSettings()


class Columns(NamedTuple):
    """Where the columns are, from 0; label and id may be nowhere.

    width  columns of the first row
    """

    texts: tuple[int, ...]
    label: int | None
    id: int | None
    width: int
    mark: int | None = None


class Row(NamedTuple):
    """A record, and the repaired sequences of bytes in it."""

    columns: list[str]
    place: str
    repaired: int
    problem: InputError | None


@dataclass(slots=True)
class RowsChunk:
    """Some rows of a table.

    size  bytes of the file that were read for them
    """

    rows: list[Row]
    where: Columns
    settings: ReadingSettings
    separator: str
    size: int

    def batch(self) -> Batch:
        """Pick the columns; a row that is broken, too short or too long is a problem."""
        fields: list[list[str]] = [[] for _ in self.where.texts]
        batch = Batch([], as_columns(fields, are_separate=True), [])
        batch.marks = [] if self.where.mark is not None else None
        for number, row in enumerate(self.rows):
            problem = row.problem or self._misfit(row.columns) or self._unmarked(row.columns)
            if problem is not None:
                batch.problems[number] = located(problem, row.place)
            columns = row.columns if problem is None else [""] * self.where.width
            batch.ids.append(_cell(columns, self.where.id) or row.place)
            batch.labels.append(_cell(columns, self.where.label))
            if batch.marks is not None:
                batch.marks.append(_cell(columns, self.where.mark) or "")
            for field, column in zip(fields, self.where.texts, strict=True):
                field.append(columns[column])
            batch.repaired_documents += row.repaired > 0
            batch.repaired_bytes += row.repaired
        batch.columns = as_columns(fields, are_separate=self.settings.separate_fields)
        return batch

    def _misfit(self, columns: list[str]) -> InputError | None:
        texts, label, identity, width, mark = self.where
        needed = max(*texts, label or 0, identity or 0, mark or 0) + 1
        if len(columns) < needed:
            return InputError(f"expected {needed} {self.separator}-separated columns, found {len(columns)}")
        if len(columns) > width and any(columns[width:]):
            return InputError(
                f"expected {width} {self.separator}-separated columns, found {len(columns)}",
                hint=f"a column that holds a {self.separator} needs quotes",
            )
        return None

    def _unmarked(self, columns: list[str]) -> InputError | None:
        if self.where.mark is None or columns[self.where.mark]:
            return None
        return unmarked(self.settings.mark_field or "")


def delimited_chunks(
    stream: ByteStream, input_format: str, encoding: Encoding, settings: ReadingSettings
) -> Iterator[RowsChunk]:
    """The rows of a CSV or TSV file in chunks.

    raises  InputError: a column is missing, or a quote is never closed
    """
    encoding, mark = marked_encoding(stream.head(), encoding)
    stream.skip(mark)
    origin = origin_of(stream.path)
    blocks = line_blocks(pieces_of(stream), encoding, settings.max_document_bytes, position=lambda: stream.position)
    feed = LineFeed(blocks, encoding, settings.max_document_bytes)
    is_tsv = input_format == "tsv"
    separator = "\t" if is_tsv else csv_separator(feed, *_wanted(settings))
    records = tsv_records(feed) if is_tsv else csv_records(feed, where=origin, separator=separator)
    rows = _rows(records, feed, origin)
    first = next(rows, None)
    if first is None:
        return
    if first.problem is not None:
        raise located(first.problem, first.place)
    where, is_header = find_columns(first.columns, settings, place=first.place)
    if not is_header:
        rows = chain((first,), rows)
    position = 0
    for group in _groups(rows):
        yield RowsChunk(group, where, settings, SEPARATORS.get(separator, separator), stream.position - position)
        position = stream.position


def find_columns(first: list[str], settings: ReadingSettings, *, place: str) -> tuple[Columns, bool]:
    """Where the wanted columns are, and whether the first row is a header: it is if it names a text or label column.

    raises  InputError: a wanted column is missing
    """
    names = [name.strip() for name in first]
    is_header = not _wanted(settings)[0].isdisjoint(names)

    def find(name: str, option: str, default: str | None = None) -> int | None:
        if is_header and name in names:
            if (n_namesakes := names.count(name)) > 1:
                hint = f"say which by its number, as in {option} {names.index(name) + 1}"
                raise InputError(f"{n_namesakes} columns are called `{name}`", where=place, hint=hint)
            return names.index(name)
        if _is_number(name) and 1 <= int(name) <= len(first):
            return int(name) - 1
        if name == default:
            return None
        raise _missing(name, option, first, is_header, place)

    texts = tuple(find(name, "--text-field") or 0 for name in settings.text_field)
    label = find(settings.label_field, "--label-field", DEFAULTS.label_field)
    identity = find(settings.id_field, "--id-field", DEFAULTS.id_field)
    mark = find(settings.mark_field, "--group-field or --order-field") if settings.mark_field is not None else None
    return Columns(texts, label, identity, len(first), mark), is_header


def _wanted(settings: ReadingSettings) -> tuple[set[str], int]:
    """The names of the columns any of which makes a row a header, and the highest number of a column."""
    wanted = (*settings.text_field, settings.label_field)
    names = {name for name in wanted if not _is_number(name)}
    return names, max((int(name) for name in wanted if name not in names), default=0)


def _missing(name: str, option: str, first: list[str], is_header: bool, place: str) -> InputError:
    said = [column if len(column) <= LONGEST_COLUMN_SAID else f"{column[:LONGEST_COLUMN_SAID]}…" for column in first]
    found = ", ".join(said[:MOST_COLUMNS_SAID])
    if is_header:
        return InputError(f"no column `{name}`, found {found}", where=place, hint=f"name the column with {option}")
    return InputError(
        f"no column `{name}`, the first row is {found}",
        where=place,
        hint="name the columns with --text-field and --label-field, by number from 1 where there is no header",
    )


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10


def _rows(records: Iterator[Record], feed: LineFeed, origin: str) -> Iterator[Row]:
    """The records that are not blank, with what was odd about their lines."""
    for columns, first_line, last_line, problem in records:
        oddities = [feed.odd.pop(line, 0) for line in range(first_line, last_line + 1)] if feed.odd else []
        problems = [odd for odd in oddities if isinstance(odd, InputError)]
        repaired = sum(odd for odd in oddities if isinstance(odd, int))
        if columns or problem or problems:
            yield Row(columns, f"{origin}{first_line}", repaired, problem or next(iter(problems), None))


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """The rows, some thousands or about a megabyte at a time."""
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(map(len, row.columns))
        if len(group) == CHUNK_ROWS or size >= CHUNK_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _cell(columns: list[str], column: int | None) -> str | None:
    return (columns[column] or None) if column is not None else None
