"""CSV and TSV: rows of columns, of which some hold the text, the label and the id, found by a header or by number."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from nbtext.documents.batch import Batch, BatchBuilder, format_names
from nbtext.documents.blocks import LineBlock, ReadOptions, read_line_blocks, read_raw_blocks
from nbtext.documents.decoding import Encoding, decode_lines, detect_bom
from nbtext.documents.decompression import too_long
from nbtext.documents.lines import origin_of
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import ByteStream
from nbtext.errors import InputError

BLOCK_ROWS = 1 << 12
BLOCK_CHARACTERS = 1 << 20
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
QUOTE_HINT = "double the quotes within a quoted column"
DEFAULTS = ReadingSettings()

_separator_line = re.compile(r"(?i)sep=([,;\t|])\s*")
_inside_quotes = re.compile(r'[^"]*+(?:""[^"]*+)*+')


class Columns(NamedTuple):
    """The numbers of the columns, from 0, and the names of all columns; there may be no label and no id."""

    texts: tuple[int, ...]
    label: int | None
    id: int | None
    names: tuple[str, ...]
    group: int | None = None


class Record(NamedTuple):
    """A row: its columns (none of a blank line), its first and last line in the file, and what is wrong with it."""

    columns: list[str]
    first_line: int
    last_line: int
    problem: InputError | None = None
    repaired: int = 0


@dataclass(slots=True)
class TableDocuments:
    """Documents that are some rows of a table; `size` is the bytes of the file that were read for them."""

    records: list[Record]
    columns: Columns
    origin: str  # what precedes the number of a line in an id
    settings: ReadingSettings
    separator: str  # in words
    size: int

    def batch(self) -> Batch:
        """Pick the columns; a row that is broken, too short or too long is a problem."""
        texts, label, identity, names, group = self.columns
        builder = BatchBuilder(self.settings, self.origin)
        builder.batch.names = names
        for record in self.records:
            row, line, repaired = record.columns, record.first_line, record.repaired
            place = f"{self.origin}{line}"
            problem = record.problem or self._check_width(row)
            if problem is not None:
                builder.add_problem(problem, place=place, line=line, repaired=repaired)
                continue
            builder.add(
                [row[column] for column in texts],
                place=place,
                identity=row[identity] if identity is not None else None,
                label=row[label] if label is not None else None,
                group=row[group] if group is not None else None,
                line=line,
                repaired=repaired,
            )
        return builder.finish()

    def _check_width(self, row: list[str]) -> InputError | None:
        texts, label, identity, names, group = self.columns
        n_needed = max(*texts, label or 0, identity or 0, group or 0) + 1
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
    encoding, bom_size = detect_bom(stream.head(), options.encoding)
    stream.skip(bom_size)
    origin = origin_of(stream.path)
    blocks = read_line_blocks(_convert_line_ends(stream, encoding), encoding, limit, position=lambda: stream.position)
    feed = LineFeed(blocks, encoding, limit)
    separator = "\t" if is_tsv else find_separator(feed, *_wanted_columns(settings))
    records = feed.check(
        read_tsv_records(feed) if is_tsv else read_csv_records(feed, where=origin, separator=separator)
    )
    first = next(records, None)
    if first is None:
        return
    place = f"{origin}{first.first_line}"
    if first.problem is not None:
        raise first.problem.locate(place)
    columns, is_header = find_columns(first.columns, settings, place=place)
    position = 0
    for group in _group_records(records if is_header else chain((first,), records)):
        name = SEPARATORS.get(separator, separator)
        yield TableDocuments(group, columns, origin, settings, name, stream.position - position)
        position = stream.position


def _convert_line_ends(stream: ByteStream, encoding: Encoding) -> Iterator[bytes]:
    """Yield the bytes of a table, with line feeds where lines end with a carriage return alone."""
    head = stream.head()
    raw_blocks = read_raw_blocks(stream)
    carriage_return = "\r".encode(encoding.codec)
    if encoding.width == 1 and carriage_return in head and encoding.newline not in head:
        return (raw.replace(carriage_return, encoding.newline) for raw in raw_blocks)
    return raw_blocks


def _group_records(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Yield some thousands of records, or about a megabyte, at a time."""
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


def find_columns(first: list[str], settings: ReadingSettings, *, place: str) -> tuple[Columns, bool]:
    """Return the wanted columns, and whether the first row is a header: it is if it names a text or label column.

    raises  InputError: a wanted column is missing
    """
    names = [name.strip() for name in first]
    is_header = not _wanted_columns(settings)[0].isdisjoint(names)

    def find(name: str, option: str, default: str | None = None) -> int | None:
        if is_header and name in names:
            if (n_namesakes := names.count(name)) > 1:
                hint = f"name it by its number, as in {option} {names.index(name) + 1}"
                raise InputError(f"{n_namesakes} columns are called `{name}`", where=place, hint=hint)
            return names.index(name)
        if _is_number(name) and 1 <= int(name) <= len(first):
            return int(name) - 1
        if name == default:
            return None
        if is_header:
            what = f"no column `{name}`, found {format_names(first)}"
            raise InputError(what, where=place, hint=f"name the column with {option}")
        what = f"no column `{name}`, the first row is {format_names(first)}"
        hint = "name the columns with --text-field and --label-field, by number from 1 where there is no header"
        raise InputError(what, where=place, hint=hint)

    texts = tuple(find(name, "--text-field") or 0 for name in settings.text_field)
    label = find(settings.label_field, "--label-field", DEFAULTS.label_field)
    identity = find(settings.id_field, "--id-field", DEFAULTS.id_field)
    group = find(settings.split_field, "--group-field or --order-field") if settings.split_field is not None else None
    shown = tuple(names) if is_header else tuple(str(number) for number in range(1, len(first) + 1))
    return Columns(texts, label, identity, shown, group), is_header


def _wanted_columns(settings: ReadingSettings) -> tuple[set[str], int]:
    """Return the names of the columns any of which makes a row a header, and the highest number of a column."""
    wanted = (*settings.text_field, settings.label_field)
    names = {name for name in wanted if not _is_number(name)}
    return names, max((int(name) for name in wanted if name not in names), default=0)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10


class LineFeed:
    """The lines of a file one by one, decoded, with their line ends; `line` is the number of the last one."""

    def __init__(self, blocks: Iterable[LineBlock], encoding: Encoding, limit: int) -> None:
        self.line = 0
        self.limit = limit
        self._oddities: dict[int, int | InputError] = {}  # by line: what was repaired, or why the line is empty instead
        self._lines = self._decode(blocks, encoding)
        self._returned: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines)
        self.line += 1
        return line

    def put_back(self, lines: list[str]) -> None:
        """Return the last lines once more."""
        self._returned.extendleft(reversed(lines))
        self.line -= len(lines)

    def _decode(self, blocks: Iterable[LineBlock], encoding: Encoding) -> Iterator[str]:
        for block in blocks:
            if block.is_too_long:
                self._oddities[block.first_line] = too_long(self.limit)
                yield "\n"
                continue
            decoded = decode_lines(block.data, encoding)
            for oddities in (decoded.repaired, decoded.problems):
                self._oddities.update({block.first_line + line: odd for line, odd in oddities.items()})
            for text in decoded.texts:
                yield text + "\n"

    def check(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records that are not blank, with the repairs and the problems of their lines."""
        for record in records:
            if not self._oddities:
                if record.columns or record.problem:
                    yield record
                continue
            lines = range(record.first_line, record.last_line + 1)
            oddities = [self._oddities.pop(line, 0) for line in lines]
            problem = record.problem or next((odd for odd in oddities if isinstance(odd, InputError)), None)
            if record.columns or problem:
                repaired = sum(odd for odd in oddities if isinstance(odd, int))
                yield record._replace(problem=problem, repaired=repaired)


def find_separator(feed: LineFeed, names: Set[str], n_columns: int) -> str:
    """Return the separator of a CSV file, by its first line; a line `sep=;`, which spreadsheets write, decides.

    names      of columns, any of which makes the line a header
    n_columns  the highest number of a column that is wanted
    """
    line = next(feed, "")
    if found := _separator_line.fullmatch(line):
        return found[1]
    feed.put_back([line] if line else [])
    return separator_of(line, names, n_columns)


def separator_of(line: str, names: Set[str], n_columns: int) -> str:
    """Return the separator of a line: comma, semicolon or tab, since spreadsheets follow the settings of a country.

    The first of these is taken by which the line is a header, else by which it has `n_columns`, else by which it has
    most columns.
    """
    found = {separator: _split_line(line, separator) for separator in SEPARATORS}
    for separator, columns in found.items():
        if not names.isdisjoint(columns):
            return separator
    enough = (separator for separator, columns in found.items() if len(columns) >= n_columns > 0)
    return next(enough, max(SEPARATORS, key=lambda separator: len(found[separator])))


def _split_line(line: str, separator: str) -> list[str]:
    """Return the columns of a line; none where it is broken, which the reader of rows reports."""
    try:
        return [column.strip() for column in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return []


def read_csv_records(feed: LineFeed, *, where: str, separator: str = ",") -> Iterator[Record]:
    """Yield rows of separated columns; quoted columns may hold separators, line ends and doubled quotes.

    where   what precedes the number of a line in an error
    raises  InputError: a row, or what follows a quote that is never closed, has more characters than a document may
    """
    csv.field_size_limit(max(csv.field_size_limit(), feed.limit))  # of the process; Python's own is 128 KiB
    lines = _RowLines(feed, where)
    reader = csv.reader(lines, delimiter=separator)
    while True:
        first_line = lines.begin_row()
        problem = None
        try:
            columns = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            columns, problem = [], InputError(f"broken CSV: {error}")
            if "new-line character" in str(error):
                hint = "put quotes around the column, or end all rows alike"
                problem = InputError("broken CSV: a carriage return outside of quotes", hint=hint)
        if lines.is_ended:
            problem = InputError("a quote that is opened in this row is never closed", hint=QUOTE_HINT)
        yield Record(columns, first_line, feed.line, problem)


class _RowLines:
    """The lines of a row; `is_ended` where the file ended within it."""

    def __init__(self, feed: LineFeed, where: str) -> None:
        self.is_ended = False
        self._feed = feed
        self._where = where
        self._first_line = self._size = 0

    def begin_row(self) -> int:
        """Return the number of the next line, which is the first of a row."""
        self._first_line, self._size = self._feed.line + 1, 0
        return self._first_line

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._feed, None)
        if line is None:
            self.is_ended = True
            raise StopIteration
        self._size += len(line)
        if self._size > self._feed.limit:
            what = f"the row that begins here does not end within {self._feed.limit:,} characters"
            where = f"{self._where}{self._first_line}"
            raise InputError(what, where=where, hint=f"close an open quote; {QUOTE_HINT}")
        return line


def read_tsv_records(feed: LineFeed) -> Iterator[Record]:
    """Yield rows of tab-separated columns.

    A column is quoted only where its first and its last character are quotes and every quote within it is doubled
    (RFC 4180); it may then hold tabs and line ends. Any other quote is an ordinary character.
    """
    for line in feed:
        first_line = feed.line
        text = _strip_line_end(line)
        columns = _split_tsv(line, feed) if '"' in text else text.split("\t")
        yield Record(columns if text else [], first_line, feed.line)


def _split_tsv(line: str, feed: LineFeed) -> list[str]:
    """Return the columns of a row that begins with this line; further lines of a quoted column come from the feed."""
    columns = []
    text, start = _strip_line_end(line), 0
    while start <= len(text):
        quoted = _read_quoted(line, start, feed) if text.startswith('"', start) else None
        if quoted is None:
            end = text.find("\t", start)
            end = end if end >= 0 else len(text)
            columns.append(text[start:end])
        else:
            column, line, end = quoted
            text = _strip_line_end(line)
            columns.append(column)
        start = end + 1
    return columns


def _read_quoted(line: str, start: int, feed: LineFeed) -> tuple[str, str, int] | None:
    """Return a quoted column, the line on which it ends, and where on it; None where it is not well quoted."""
    contents: list[str] = []
    taken: list[str] = []
    size, begin = 0, start + 1
    while True:
        match = _inside_quotes.match(line, begin)
        end = match.end() if match else begin
        contents.append(line[begin:end])
        if end < len(line):  # at a quote that is not doubled
            if line[end + 1 : end + 2] in ("", "\t", "\n") or line.startswith("\r\n", end + 1):
                return "".join(contents).replace('""', '"'), line, end + 1
            break
        size += len(line)
        following = next(feed, None) if size <= feed.limit else None
        if following is None:
            break
        line, begin = following, 0
        taken.append(line)
    feed.put_back(taken)
    return None


def _strip_line_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
