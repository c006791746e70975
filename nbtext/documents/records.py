"""Records of columns: CSV as the standard library reads it, and TSV, in which a quote is mostly just a quote."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from nbtext.documents.blocks import Block
from nbtext.documents.decoding import Encoding, decode_lines
from nbtext.documents.decompression import too_long
from nbtext.errors import InputError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_said_separator = re.compile(r"(?i)sep=([,;\t|])\s*")
_inside_quotes = re.compile(r'[^"]*+(?:""[^"]*+)*+')


class Record(NamedTuple):
    """The columns of a row, and its first and last line in the file; without columns where the line is blank."""

    columns: list[str]
    first_line: int
    last_line: int
    problem: InputError | None = None


class LineFeed:
    """The lines of a file one by one, decoded, with their line ends.

    line  the number of the line that was given last
    odd   what is wrong with some of them, by number: how much was repaired, or why there is an empty line instead
    """

    def __init__(self, blocks: Iterable[Block], encoding: Encoding, limit: int) -> None:
        self.line = 0
        self.odd: dict[int, int | InputError] = {}
        self.limit = limit
        self._lines = self._decoded(blocks, encoding)
        self._returned: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines)
        self.line += 1
        return line

    def put_back(self, lines: list[str]) -> None:
        """Give the last lines again."""
        self._returned.extendleft(reversed(lines))
        self.line -= len(lines)

    def _decoded(self, blocks: Iterable[Block], encoding: Encoding) -> Iterator[str]:
        for block in blocks:
            if block.is_too_long:
                self.odd[block.first_line] = too_long(self.limit)
                yield "\n"
                continue
            decoded = decode_lines(block.data, encoding)
            for odd in (decoded.repaired, decoded.problems):
                self.odd.update({block.first_line + place: what for place, what in odd.items()})
            for text in decoded.texts:
                yield text + "\n"


def csv_separator(feed: LineFeed, names: Set[str], n_columns: int) -> str:
    """What separates the columns of a CSV file, by its first line: comma, semicolon or tab.

    Spreadsheets write what the settings of their country say. The first of these wins by which the line is a header,
    else by which it has enough columns, else the most. A first line `sep=;`, as spreadsheets understand it, is obeyed.

    names      of columns, any of which makes the line a header
    n_columns  that are wanted by number
    """
    line = next(feed, "")
    if said := _said_separator.fullmatch(line):
        return said[1]
    feed.put_back([line] if line else [])
    return separator_of(line, names, n_columns)


def separator_of(line: str, names: Set[str], n_columns: int) -> str:
    """What separates the columns of a line; see csv_separator."""
    found = {separator: _cut(line, separator) for separator in SEPARATORS}
    for separator, columns in found.items():
        if not names.isdisjoint(columns):
            return separator
    enough = (separator for separator, columns in found.items() if len(columns) >= n_columns > 0)
    return next(enough, max(SEPARATORS, key=lambda separator: len(found[separator])))


def _cut(line: str, separator: str) -> list[str]:
    """The columns of a line; none where it cannot be cut, of which the reader of rows says why."""
    try:
        return [column.strip() for column in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return []


def csv_records(feed: LineFeed, *, where: str, separator: str = ",") -> Iterator[Record]:
    """Rows of separated columns, some of them in quotes, which may hold separators, line ends and doubled quotes.

    where   what comes before the number of a line in an error
    raises  InputError: a row, or what follows a quote that is never closed, has more bytes than a document may have
    """
    csv.field_size_limit(max(csv.field_size_limit(), feed.limit))  # of the process: Python's own would be 128 KiB
    lines = _RowLines(feed, where)
    reader = csv.reader(lines, delimiter=separator)
    while True:
        first_line = lines.begin()
        problem = None
        try:
            columns = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            columns, problem = [], InputError(f"broken CSV: {error}")
        if lines.is_ended:
            problem = InputError(
                "a quote that is opened in this row is never closed", hint="double the quotes within a quoted column"
            )
        yield Record(columns, first_line, feed.line, problem)


class _RowLines:
    """The lines of a row, and whether more of them were wanted than there are."""

    def __init__(self, feed: LineFeed, where: str) -> None:
        self.is_ended = False
        self._feed = feed
        self._where = where
        self._first_line = self._size = 0

    def begin(self) -> int:
        """The next line is the first of a row: its number."""
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
            raise InputError(
                f"a row begins here that does not end within {self._feed.limit:,} characters",
                where=f"{self._where}{self._first_line}",
                hint="is a quote not closed? Double the quotes within a quoted column",
            )
        return line


def tsv_records(feed: LineFeed) -> Iterator[Record]:
    """Rows of tab-separated columns.

    A column is in quotes only where it is from its first character to its last, with every quote within it doubled
    (RFC 4180); it may then hold tabs and line ends. Any other quote is a character like others.
    """
    for line in feed:
        first_line = feed.line
        text = _bare(line)
        columns = _tsv_columns(line, feed) if '"' in text else text.split("\t")
        yield Record(columns if text else [], first_line, feed.line)


def _tsv_columns(line: str, feed: LineFeed) -> list[str]:
    """The columns of a row that begins with this line; takes further lines of a quoted column from the feed."""
    columns = []
    text, start = _bare(line), 0
    while start <= len(text):
        quoted = _quoted(line, start, feed) if text.startswith('"', start) else None
        if quoted is None:
            end = text.find("\t", start)
            end = end if end >= 0 else len(text)
            columns.append(text[start:end])
        else:
            column, line, end = quoted
            text = _bare(line)
            columns.append(column)
        start = end + 1
    return columns


def _quoted(line: str, start: int, feed: LineFeed) -> tuple[str, str, int] | None:
    """A quoted column, the line on which it ends, and where on it; None where it is not well quoted."""
    parts: list[str] = []
    taken: list[str] = []
    size, begin = 0, start + 1
    while True:
        match = _inside_quotes.match(line, begin)
        end = match.end() if match else begin
        parts.append(line[begin:end])
        if end < len(line):  # at a quote that is not doubled
            if line[end + 1 : end + 2] in ("", "\t", "\n") or line.startswith("\r\n", end + 1):
                return "".join(parts).replace('""', '"'), line, end + 1
            break
        size += len(line)
        following = next(feed, None) if size <= feed.limit else None
        if following is None:
            break
        line, begin = following, 0
        taken.append(line)
    feed.put_back(taken)
    return None


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
