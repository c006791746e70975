"""CSV and TSV files: each row is a document; columns are selected by a header or by number."""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.documents.batch import LARGE_BYTES, Batch, Block, make_batch
from nbtext.documents.blocks import LineBlock, ReadOptions, Row, read_line_blocks, read_raw_blocks
from nbtext.documents.decoding import check_width, count_byte, decode_lines
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import (
    NULL,
    find_fields,
    format_names,
    is_number,
)
from nbtext.documents.settings import BACKSLASH, SEPARATORS, InputSettings
from nbtext.documents.streams import ByteStream, origin_of, warn
from nbtext.errors import InputError, number_of
from nbtext.records import frozen

if TYPE_CHECKING:
    from nbtext.documents.rows import TableRows

SEPARATOR_NAMES = {**SEPARATORS, "|": "pipe", " ": "blank"}
# of a row; each takes about 60 bytes, and text in quotes may have as many commas
MAX_COLUMNS = 2_000_000
QUOTE_HINT = "double the quotes within a quoted column, or give --escape backslash if a backslash precedes them"
ESCAPE_HINT = "if backslashes are escapes, give --escape backslash"
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}  # what a letter means after a backslash
GROUP_BYTES = 1 << 20  # of rows that are parsed at once, unless they are few
MAX_OPEN = 1 << 23  # bytes of a block, of which a row has the first line
HEADER_ROWS = 100  # first rows that are compared with what may be a header
MIN_ROWS = 3  # of them that are a comparison
NAME_SHARE = 0.05  # of these rows that may look like names as well
USUAL_NAMES = {
    "text",
    "label",
    "labels",
    "id",
    "body",
    "class",
    "category",
    "document",
    "sentence",
    "sentiment",
    "target",
}

_separator_line = re.compile(r"(?i)sep=([,;\t|])\s*")
_inside_quotes = re.compile(r'[^"]*+(?:""[^"]*+)*+')
_inside_escaped_quotes = re.compile(r'(?:[^"\\]|\\.|"")*+', re.DOTALL)
_escape = re.compile(r"\\(\r\n|.)", re.DOTALL)
# a quote that another one precedes, but a backslash does not
_doubled = re.compile(r'(\\.)|"(")', re.DOTALL)
_column_name = re.compile(r"(?=.{1,40}$)[^\W\d][\w.:/-]*(?: [\w.:/-]+){0,2}")


class RowGroup(NamedTuple):
    """Some rows of a table, without blank ones.

    Attributes
    ----------
    cells : list of list of str
    spans : list of tuple of int
        The numbers of the first and the last line of each row.
    problems : dict of int to InputError
        The error of each row that is broken.
    repaired : dict of int to int
        The number of repairs, of each row with invalid bytes.
    size : int
        About how many bytes they have.
    kept : list of Row
        The rows as they were read, if lines are kept.
    is_last : bool
    """

    cells: list[list[str]]
    spans: list[tuple[int, int]]
    problems: dict[int, InputError]
    repaired: dict[int, int]
    size: int
    kept: list[Row]
    is_last: bool


class LineFeed:
    """The decoded lines of a file, with their line ends, for a reader of rows.

    Attributes
    ----------
    lines : iterator of str
    size : int
        The bytes of the blocks that were read since it was set to 0, which is done when a row
        ends: if it is not 0 when the next block is read, a row is open.
    is_ended : bool
    oddities : dict of int to InputError or int
        By the number of a line: the error for which an empty line stands, or its repairs.
    keeps_lines : bool
    first_kept : int
        The number of the first line that `take` has.

    Parameters
    ----------
    separator : str
        That of the columns.
    is_csv : bool
        Whether a quote may stay open up to the limit of a document, and a backslash before a quote
        is told.
    """

    def __init__(
        self, stream: ByteStream, options: ReadOptions, separator: str, *, is_csv: bool
    ) -> None:
        self.size = 0
        self.is_ended = False
        self.oddities: dict[int, InputError | int] = {}
        self.keeps_lines = options.settings.keeps_rows
        self.first_kept = 1
        self._kept: list[str] = []
        self._path = stream.path
        self._encoding = options.encoding
        self._limit = options.settings.max_document_bytes
        self._separator = separator
        self._is_csv = is_csv
        self._is_told = not is_csv
        blocks = read_line_blocks(read_raw_blocks(stream), self._limit)
        self.lines = chain(chain.from_iterable(map(self._decode, blocks)), self._end())

    def take(self, first: int, last: int | None = None) -> str:
        """Return the kept lines with these numbers; None: all further ones."""
        stop = None if last is None else last + 1 - self.first_kept
        return "".join(self._kept[first - self.first_kept : stop])

    def forget(self, last: int) -> None:
        """Drop the lines up to a number."""
        del self._kept[: last + 1 - self.first_kept]
        self.first_kept = last + 1

    def _decode(self, block: LineBlock) -> list[str]:
        if self.size:
            self._check_open(self.size + block.data.find(b"\n"))
        if block.is_too_long:
            self.oddities[block.first_line] = too_long(self._limit)
            lines = ["\n"]
        else:
            lines = self._decode_lines(block.data, block.first_line)
        self.size += max(1, len(block.data))
        if self.keeps_lines:
            self._kept += lines
        return lines

    def _decode_lines(self, data: bytes, first_line: int) -> list[str]:
        decoded = decode_lines(data, self._encoding)
        texts = decoded.texts
        if self.keeps_lines and decoded.repaired:
            texts = self._encoding.decode_exactly(data).split("\n")[: len(texts)]
        self.oddities |= {first_line + line: odd for line, odd in decoded.repaired.items()}
        may_be_wide = count_byte(data, self._separator.encode()[0]) > MAX_COLUMNS
        for line, text in enumerate(texts) if may_be_wide or len(data) > LARGE_BYTES else ():
            try:
                check_width(text)
                check_columns(text, self._separator)
            except InputError as problem:
                self.oddities[first_line + line] = problem
                texts[line] = ""
        if not self._is_told and b'\\"' in data:
            mark = re.escape(self._separator.encode())
            if found := re.search(rb'\\"(?!%s)[^"\r\n]' % mark, data):
                line = first_line + data.count(b"\n", 0, found.start())
                warn(self._path, f"a backslash precedes a quote in line {line}; {ESCAPE_HINT}")
                self._is_told = True
        last = texts.pop()
        lines = [text + "\n" for text in texts]
        lines.append(last + "\n" if data.endswith(b"\n") else last)
        return lines

    def _end(self) -> Iterator[str]:
        self._check_open(self.size)
        self.is_ended = self._is_csv
        self.size += 1  # so that it is asked
        yield from ()

    def _check_open(self, size: int) -> None:
        if self._is_csv and size > self._limit:
            what = f"the row that begins here does not end within {self._limit:,} characters"
            raise InputError(what, hint=f"close an open quote; {QUOTE_HINT}")


def read_rows(feed: LineFeed, reader: Any, *, origin: str, n_skipped: int) -> Iterator[RowGroup]:
    """Yield the first row that is not blank, then some at a time; the last group may be empty.

    Parameters
    ----------
    reader : iterator of list of str
        The cells of the rows, with the number of lines that were read: `csv.reader` or TsvReader.
    origin : str
        What precedes the number of a line in an error.
    n_skipped : int
        The number of lines before the first one of the reader.

    Raises
    ------
    InputError
        A quote is open in more text than a document may have.
    """
    cells: list[list[str]] = []
    spans: list[tuple[int, int]] = []
    problems: dict[int, InputError] = {}
    last = size = 0
    is_first = True

    def end_group(*, is_last: bool = False) -> RowGroup:
        nonlocal cells, spans, problems, size
        kept = _keep_rows(feed, cells, spans)
        group = RowGroup(cells, spans, problems, {}, size, kept, is_last)
        ends = [stop for _, stop in spans]
        for line in sorted(line for line in feed.oddities if line <= last):
            odd = feed.oddities.pop(line)
            row = bisect_left(ends, line)
            if isinstance(odd, InputError):
                problems.setdefault(row, odd)
            else:
                group.repaired[row] = group.repaired.get(row, 0) + odd
        if kept:
            feed.forget(ends[-1])
        cells = []
        spans = []
        problems = {}
        size = 0
        return group

    while True:
        problem = None
        try:
            for columns in reader:
                first = last + 1
                last = reader.line_num + n_skipped
                if columns or last in feed.oddities:
                    cells.append(columns)
                    spans.append((first, last))
                if feed.size or is_first:
                    if feed.is_ended:
                        what = "a quote that is opened in this row is never closed"
                        problems[len(cells) - 1] = InputError(what, hint=QUOTE_HINT)
                    is_large = len(cells) > HEADER_ROWS or size > GROUP_BYTES
                    if cells and (is_first or (size and is_large)):
                        yield end_group()
                        is_first = False
                    size += feed.size
                    feed.size = 0
            break
        except csv.Error as error:
            problem = InputError(f"broken CSV: {error}")
            if "new-line character" in str(error):
                hint = "put quotes around the value, or convert the line ends to one kind"
                problem = InputError("broken CSV: a carriage return outside of quotes", hint=hint)
        except InputError as error:
            raise error.locate(f"{origin}{last + 1}") from None
        problems[len(cells)] = problem
        cells.append([])
        spans.append((last + 1, reader.line_num + n_skipped))
        last = reader.line_num + n_skipped
    yield end_group(is_last=True)


def _keep_rows(feed: LineFeed, cells: list[list[str]], spans: list[tuple[int, int]]) -> list[Row]:
    """Return rows with their lines, and the blank lines before each."""
    rows: list[Row] = []
    if feed.keeps_lines:
        start = feed.first_kept
        for columns, (first, last) in zip(cells, spans, strict=True):
            rows.append(Row(first, feed.take(start, first - 1), feed.take(first, last), columns))
            start = last + 1
    return rows


def separator_of(line: str, names: Set[str], n_columns: int) -> str:
    """Return the separator of a line: comma, semicolon or tab, because that of spreadsheets depends
    on the country.

    It is the first of these with which the line is a header; else the first with which it has
    `n_columns`; else the one with which it has most columns.
    """
    found = {separator: _split_line(line, separator) for separator in SEPARATORS}
    for separator, columns in found.items():
        if not names.isdisjoint(columns):
            return separator
    enough = (separator for separator, columns in found.items() if len(columns) >= n_columns > 0)
    return next(enough, max(SEPARATORS, key=lambda separator: len(found[separator])))


def _split_line(line: str, separator: str) -> list[str]:
    """Return the columns of a line; an empty list if it is broken or too wide, which the reader of
    rows reports.
    """
    try:
        check_columns(line, separator)
        return [column.strip() for column in next(csv.reader([line], delimiter=separator), [])]
    except (csv.Error, InputError):
        return []


def check_columns(line: str, separator: str) -> None:
    """Raise InputError if a line has so many columns that they would fill the memory."""
    if line.count(separator) > MAX_COLUMNS:
        what = f"the row has more than {MAX_COLUMNS:,} separators"
        raise InputError(what, hint="check the format of the file")


class TsvReader:
    """Reads rows of separated columns, in which a quote may be an ordinary character, as
    `csv.reader` does.

    A column is quoted only if its first and its last character are quotes, apart from blanks, and
    every quote within it is doubled (RFC 4180); then it may contain separators and line ends. Any
    other quote is an ordinary character.

    Attributes
    ----------
    line_num : int
        The number of lines of the rows that were returned.

    Parameters
    ----------
    lines : iterator of str
    limit : int
        The maximum number of characters of a row of several lines.
    is_escaped : bool
        Whether a backslash makes an ordinary character of the next one.
    is_quoted : bool
        Whether columns may be quoted.
    """

    def __init__(
        self,
        lines: Iterator[str],
        limit: int,
        separator: str = "\t",
        *,
        is_escaped: bool = False,
        is_quoted: bool = True,
    ) -> None:
        self.line_num = 0
        self._lines = lines
        self._returned: deque[str] = deque()
        self._limit = limit
        self._separator = separator
        self._is_escaped = is_escaped
        self._marks = '"' * is_quoted + "\\" * is_escaped
        blanks = "" if separator == " " else " *"
        mark = re.escape(separator)
        self._opening = re.compile(f'{blanks}"')
        # what may follow a closing quote, without the separator or line end
        self._ending = re.compile(rf"{blanks}(?={mark}|\r?(?:\n|\Z))")
        self._unquoted = re.compile(rf"(?:[^{mark}\\]|\\.?)*+", re.DOTALL)

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        line = self._take_line()
        if line is None:
            raise StopIteration
        text = _strip_line_end(line)
        if any(mark in text for mark in self._marks):
            return self._split(line)
        return text.split(self._separator) if text else []

    def _take_line(self) -> str | None:
        line = self._returned.popleft() if self._returned else next(self._lines, None)
        self.line_num += line is not None
        return line

    def _split(self, line: str) -> list[str]:
        """Return the columns of a row that begins with this line."""
        columns: list[str] = []
        start = 0
        line = self._continue(line)
        text = _strip_line_end(line)
        while start <= len(text):
            quoted = None
            if quote := self._opening.match(text, start):
                quoted = self._read_quoted(line, quote.end() - 1)
            if quoted is not None:
                column, line, end = quoted
                line = self._continue(line)
                text = _strip_line_end(line)
                columns.append(column)
            elif self._is_escaped:
                match = self._unquoted.match(text, start)
                end = match.end() if match else start
                columns.append(_unescape(text[start:end]))
            else:
                end = text.find(self._separator, start)
                end = end if end >= 0 else len(text)
                columns.append(text[start:end])
            start = end + 1
        return columns

    def _continue(self, line: str) -> str:
        """Return a line with those after it, as long as a backslash precedes the line end."""
        parts = [line]
        size = len(line)
        while self._is_escaped and size <= self._limit:
            text = _strip_line_end(parts[-1])
            n_backslashes = len(text) - len(text.rstrip("\\"))
            following = self._take_line() if n_backslashes % 2 else None
            if following is None:
                break
            parts.append(following)
            size += len(following)
        return "".join(parts)

    def _read_quoted(self, line: str, start: int) -> tuple[str, str, int] | None:
        """Return a quoted column, the line on which it ends, and its end in this line; None if its
        quotes are invalid.
        """
        contents: list[str] = []
        taken: list[str] = []
        size = 0
        begin = start + 1
        inside = _inside_escaped_quotes if self._is_escaped else _inside_quotes
        while True:
            match = inside.match(line, begin)
            end = match.end() if match else begin
            contents.append(line[begin:end])
            if end < len(line):  # at a quote that is not doubled
                if rest := self._ending.match(line, end + 1):
                    content = "".join(contents)
                    content = (
                        _unescape(_doubled.sub(r"\1\2", content))
                        if self._is_escaped
                        else content.replace('""', '"')
                    )
                    return content, line, rest.end()
                break
            size += len(line)
            following = self._take_line() if size <= self._limit else None
            if following is None:
                break
            line = following
            begin = 0
            taken.append(line)
        self._returned.extendleft(reversed(taken))
        self.line_num -= len(taken)
        return None


def _unescape(cell: str) -> str:
    """Return the text of a cell in which a backslash makes an ordinary character of the next
    one.
    """
    if cell == "\\N":
        return NULL
    return _escape.sub(lambda found: ESCAPED.get(found[1], found[1]), cell)


def _strip_line_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


@frozen
class Table:
    """What the rows of a table have in common.

    Attributes
    ----------
    names : sequence of str
        The names of all columns.
    places : dict of str to int
        The places of the columns that are read.
    origin : str
        The prefix of line numbers in ids.
    settings : InputSettings
    separator : str
        A phrase for messages.
    """

    names: Sequence[str]
    places: dict[str, int]
    origin: str
    settings: InputSettings
    separator: str

    def parse(self, group: RowGroup, rows: TableRows | None) -> Batch:
        """Return rows as documents; a row that is broken, too short or too long is a problem of
        its document.

        rows    the same rows, if they are kept
        raises  InputError: the rows are kept, and no columns can be added to one that is broken or
                too long
        """
        cells = group.cells
        if rows is not None:
            cells = list(cells)
            for row in group.repaired:
                cells[row] = [rows.encoding.repair(cell) for cell in cells[row]]
        problems = group.problems
        if problems or set(map(len, cells)) != {len(self.names)}:
            problems = self._check(cells, problems)
            width = len(self.names)
            for row, problem in sorted(problems.items()) if rows is not None else ():
                if row in group.problems or len(cells[row]) > width:
                    raise problem.locate(f"{self.origin}{group.spans[row][0]}")
            cells = [[""] * width if row in problems else each for row, each in enumerate(cells)]
        columns = {name: [each[place] for each in cells] for name, place in self.places.items()}
        batch = make_batch(
            columns,
            self.settings,
            origin=self.origin,
            numbers=[first for first, _ in group.spans],
            problems=problems,
            names_of=lambda _: self.names,
        )
        for n_sequences in group.repaired.values():
            batch.count_repairs(n_sequences)
        batch.rows = rows
        return batch

    def _check(
        self, cells: list[list[str]], problems: dict[int, InputError]
    ) -> dict[int, InputError]:
        """Return the errors of rows, also of those that are too short or too long."""
        width = len(self.names)
        n_needed = max(self.places.values(), default=-1) + 1
        found = dict(problems)
        for row, columns in enumerate(cells):
            n_wanted = 0
            hint = ""
            if len(columns) < n_needed:
                n_wanted = n_needed
            elif any(columns[width:]):
                n_wanted = width
                hint = f"put quotes around a column that holds a {self.separator}"
            if n_wanted:
                wanted = number_of(n_wanted, f"{self.separator}-separated column")
                what = f"expected {wanted}, found {len(columns)}"
                found.setdefault(row, InputError(what, hint=hint))
        return found


def read_csv(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of a CSV file: each row is one. By default, the first line tells the
    separator.
    """
    return _read_table(stream, options, is_tsv=False)


def read_tsv(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of a file of tab-separated columns: each row is one."""
    return _read_table(stream, options, is_tsv=True)


def _read_table(stream: ByteStream, options: ReadOptions, *, is_tsv: bool) -> Iterator[Block]:
    """Yield the rows in blocks.

    raises  InputError: a column is missing, or a quote is never closed
    """
    settings = options.settings
    encoding = options.encoding
    origin = origin_of(stream.path)
    is_tsv = is_tsv and settings.delimiter in (None, "\t")
    is_escaped = settings.escape == BACKSLASH
    head = stream.head()
    if b"\r" in head and b"\n" not in head:
        what = "its lines end with a carriage return alone"
        raise InputError(
            what, where=stream.path, hint="convert the line ends, such as by tr '\\r' '\\n'"
        )
    lines = head.decode("utf-8", "replace").split("\n", 2)
    n_skipped = 0
    if is_tsv:
        separator = "\t"
    elif found := _separator_line.fullmatch(lines[0]):  # `sep=;`, which spreadsheets write
        separator = settings.delimiter or found[1]
        n_skipped = 1
    else:
        separator = settings.delimiter or separator_of(lines[0], *_wanted_columns(settings))
    is_csv = not (is_tsv or is_escaped)
    limit = settings.max_document_bytes
    feed = LineFeed(stream, options, separator, is_csv=is_csv)
    for _ in islice(feed.lines, n_skipped):
        pass
    reader: Any = TsvReader(
        feed.lines, limit, separator, is_escaped=is_escaped, is_quoted=settings.is_quoted
    )
    if is_csv:
        # a setting of the process; Python's default is 128 KiB
        csv.field_size_limit(max(csv.field_size_limit(), limit + MAX_OPEN))
        # a column of a line that begins with blanks and a quote, and ends with a quote
        mark = re.escape(separator).encode()
        spaced = mark + rb' +"(?!")(?:[^"\r\n]|"")*" *(?:\r?\n|' + mark + rb")"
        is_spaced = f"{separator} " in lines[n_skipped] or re.search(spaced, head) is not None
        reader = csv.reader(feed.lines, delimiter=separator, skipinitialspace=is_spaced)
    groups = read_rows(feed, reader, origin=origin, n_skipped=n_skipped)
    header = next(groups)
    if not header.cells:
        return
    place = f"{origin}{header.spans[0][0]}"
    if header.problems:
        raise header.problems[0].locate(place)
    (first,) = header.cells
    if settings.keeps_rows:
        first = list(map(encoding.repair, first))
    names, places, is_header = find_columns(first, settings, place=place)
    second = next(groups)
    following = second.cells[:HEADER_ROWS]
    if settings.header is None:
        _warn_of_header(first, following, settings, is_header=is_header, path=stream.path)
    if not is_escaped and any("\\N" in columns for columns in following):
        warn(stream.path, f"a column is \\N; {ESCAPE_HINT}")
    table = Table(names, places, origin, settings, SEPARATOR_NAMES.get(separator, separator))
    groups = chain([second] if is_header else [header, second], groups)
    del second, following
    if not settings.keeps_rows:
        for group in groups:
            if group.cells:
                block = Block(partial(table.parse, group, None), stream.newly_read(), group.size)
                del group
                yield block
        return
    from nbtext.documents.rows import TableRows

    rows = TableRows(
        "tsv" if is_tsv else "csv",
        stream.path,
        encoding,
        [],
        "",
        newline="\r\n" if lines[n_skipped].endswith("\r") else "\n",
        is_start=True,
        bom=stream.bom,
        separator=separator,
        names=tuple(names),
        header=header.kept[0].gap + header.kept[0].text if is_header else None,
        is_escaped=is_escaped,
    )
    quoted = replace(rows, is_quoted=True)
    if quoted.join(header.cells[0]) == _strip_line_end(header.kept[0].text):
        rows = quoted
    for group in groups:
        tail = feed.take(feed.first_kept) if group.is_last else ""
        kept = replace(rows, rows=group.kept, tail=tail)
        yield Block(partial(table.parse, group, kept), stream.newly_read(), group.size)
        rows = replace(rows, is_start=False)


def find_columns(
    first: list[str], settings: InputSettings, *, place: str
) -> tuple[Sequence[str], dict[str, int], bool]:
    """Return the names of all columns, the places of the wanted ones, and whether the first is a
    header.

    It is one if the settings say so; by default, if it has the name of a text or label column.

    raises  InputError: a wanted column is missing
    """
    names = [name.strip() for name in first]
    is_header = settings.header
    if is_header is None:
        is_header = not _wanted_columns(settings)[0].isdisjoint(names)
    if is_header:
        return names, find_fields(names, settings, place, has_numbers=True), True
    numbers = [str(number) for number in range(1, len(first) + 1)]
    places = find_fields(numbers, settings, place, has_numbers=True, first_row=first)
    return numbers, places, False


def _warn_of_header(
    first: list[str],
    others: Sequence[Sequence[str]],
    settings: InputSettings,
    *,
    is_header: bool,
    path: str,
) -> None:
    """Say what the first row is taken for, if it may be something else: all text columns are
    numbers.
    """
    names = [name.strip() for name in first]
    wanted = (*settings.text_field, *settings.label_names, *settings.other_fields)
    usual = {*USUAL_NAMES, *wanted, settings.id_field}
    if not all(map(is_number, (*settings.text_field, *settings.other_fields))):
        return
    if is_header and not usual.issuperset(names):
        found = format_names(sorted(_wanted_columns(settings)[0].intersection(names)))
        what = f"the first row is read as the header, because it has the column {found}"
        warn(path, f"{what}; give --no-header if it is a document, else --header")
    if not is_header and _is_like_names(names):
        n_alike = sum(map(_is_like_names, others))
        is_unlike_others = len(others) >= MIN_ROWS and n_alike <= NAME_SHARE * len(others)
        if is_unlike_others or any(name.lower() in usual for name in names):
            what = f"the first row ({format_names(names)}) is read as a document"
            warn(path, f"{what}; give --header if it names the columns, else --no-header")


def _is_like_names(cells: Sequence[str]) -> bool:
    """Return whether cells are like the names of columns: short, different, of up to three
    words.
    """
    names = {cell.strip() for cell in cells}
    return len(names) == len(cells) and all(map(_column_name.fullmatch, names))


def _wanted_columns(settings: InputSettings) -> tuple[set[str], int]:
    """Return the column names of which a header has at least one, and the highest wanted column
    number.
    """
    wanted = (*settings.text_field, *settings.label_names, *settings.other_fields)
    names = {name for name in wanted if not is_number(name)}
    return names, max((int(name) for name in wanted if name not in names), default=0)
