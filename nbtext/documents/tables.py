"""CSV and TSV files: each row is a document; columns are selected by a header or by number."""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from nbtext.documents.batch import LARGE_BYTES, Batch, Block, make_batch
from nbtext.documents.blocks import LineBlock, ReadOptions, Row, read_line_blocks, read_raw_blocks
from nbtext.documents.decoding import BOM, check_text_width, count_byte, decode_lines
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import (
    NULL,
    ColumnPlaces,
    find_fields,
    format_names,
    is_number,
    take_columns,
)
from nbtext.documents.settings import (
    BACKSLASH,
    HEADERS,
    NO_QUOTING,
    TABLE_SEPARATORS,
    InputSettings,
)
from nbtext.documents.streams import ByteStream, name_source, origin_of, warn
from nbtext.errors import InputError, number_of
from nbtext.kernel import choose_version
from nbtext.records import dataclass, frozen

if TYPE_CHECKING:
    from nbtext.documents.rows import TableRows

SEPARATOR_NAMES = {**TABLE_SEPARATORS, "|": "pipe", " ": "blank"}
# of a row; each takes about 60 bytes, and text in quotes may have as many commas
MAX_ROW_COLUMNS = 2_000_000
PLAIN_HINT = "give --escape none if quotes are plain characters"
QUOTE_HINT = "double the quotes within a quoted column, or give --escape backslash if a backslash precedes them, or none if they are plain characters"
ORDER_HINT = "give each file as a SOURCE of its own, so that it is read by its own header"
ESCAPE_HINT = "if backslashes are escapes, give --escape backslash"
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}  # what a letter means after a backslash
PARSED_GROUP_BYTES = 1 << 20  # of rows that are parsed at once, unless they are few
MAX_KEPT_LINES = 1 << 20  # lines that can be read again, and lines of a cell
HEADER_ROWS = 100  # first rows that are compared with what may be a header
MIN_NAME = 5  # characters; shorter ones may be a missing value, such as null
MIN_ROWS = 3  # of them that are a comparison
NAME_SHARE = 0.05  # of these rows that may look like names as well
MAX_REJECTED = 8  # blocks of a file that the scanner of rows rejects before it is not asked again
USUAL_NAMES = str.split(
    "text label labels id body class category document sentence sentiment target"
)

_separator_line = re.compile(r"(?i)sep=([,;\t|])\s*")
_inside_quotes = re.compile(r'[^"]*+(?:""[^"]*+)*+')
_inside_escaped_quotes = re.compile(r'(?:[^"\\]|\\.|"")*+', re.DOTALL)
_escape = re.compile(r"\\(\r\n|.)", re.DOTALL)
# a quote that another one precedes, but a backslash does not
_doubled = re.compile(r'(\\.)|"(")', re.DOTALL)
# of the second or third row of a header: a cell that survey tools write, and all cells
_of_survey = re.compile(r'\{"ImportId":.*\}|Open-Ended Response')
_of_types = re.compile(
    r"(?i)\s*(?::?-{2,}:?|string|str|text|(?:var)?char(?:\(\d+\))?|object|u?int\d*|integer|bigint|long|float\d*|double"
    r"|decimal|numeric|number|real|bool(?:ean)?|date(?:time)?|timestamp|time|categor(?:y|ical)|factor|discrete"
    r"|continuous|meta|class|json)?\s*"
)
_digit = re.compile(r"\d")
_number_cell = re.compile(r"\s*[-+]?\d[-\d.,:/ TZ]*%?\s*")
_column_name = re.compile(r"(?=.{1,40}$)[^\W\d][\w.:/-]*(?: [\w.:/-]+){0,2}")


def scan_rows(
    data: bytes, dialect: Dialect, width: int, places: list[int], is_searched: bool
) -> tuple[list[Sequence[str]], list[int], int, int] | None:
    """Return None: the lines need a slower reader."""
    return None


scan_rows = choose_version(scan_rows)


@dataclass
class RowGroup:
    """Some rows of a table, without blank ones.

    Attributes
    ----------
    cells : list of list of str
        Of each row, if the scanner has not found them.
    columns : dict of int to sequence of str
        The cells of the columns that are read, by place, if the scanner has found them.
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
    tail : str
        The lines after the last row of the file, if lines are kept.
    """

    cells: list[list[str]] = field(default_factory=list)
    columns: Mapping[int, Sequence[str]] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)
    problems: dict[int, InputError] = field(default_factory=dict)
    repaired: Counter[int] = field(default_factory=Counter)
    size: int = 0
    kept: list[Row] = field(default_factory=list)
    tail: str = ""


@frozen
class Dialect:
    """How the rows of a table are written.

    Attributes
    ----------
    separator : str
    limit : int
        The maximum number of characters of a row of several lines.
    is_csv : bool
        Whether `csv.reader` reads the rows, else TsvReader.
    is_spaced : bool
        Whether blanks may precede the quote that opens a cell of CSV.
    is_escaped : bool
        Whether a backslash makes an ordinary character of the next one.
    is_quoted : bool
        Whether cells may be quoted.
    """

    separator: str
    limit: int
    is_csv: bool = False
    is_spaced: bool = False
    is_escaped: bool = False
    is_quoted: bool = True

    def open(self, lines: Iterable[str], *, is_strict: bool = True) -> Any:
        """Return a reader of rows, with `line_num`, the number of lines that were read."""
        if not self.is_csv:
            return TsvReader(iter(lines), self)
        return csv.reader(
            lines, delimiter=self.separator, skipinitialspace=self.is_spaced, strict=is_strict
        )

    def split_lax(self, line: str) -> list[str]:
        """Return the cells of a line of CSV with text after a closing quote; [] if it has too long
        a cell.
        """
        try:
            return next(self.open([line], is_strict=False), [])
        except csv.Error:
            return []

    def are_like_rows(self, lines: Sequence[str], width: int) -> bool:
        """Return whether more than half of some lines are like rows of several cells, none of
        which is blank or, as after a comma of a sentence, begins with a blank.
        """
        n_alike = 0
        for line in lines if width > 1 else ():
            if line.count(self.separator) == width - 1:
                cells = line.split(self.separator)
                n_alike += all(cell.strip(' "\r\n') and cell[0] != " " for cell in cells)
        return 2 * n_alike > len(lines)


class LineFeed:
    """The decoded lines of a file, with their line ends, for a reader of rows.

    Attributes
    ----------
    size : int
        The bytes of the blocks that were read since it was set to 0, which is done when a row
        ends: if it is not 0 when the next block is read, a row is open.
    oddities : dict of int to InputError or int
        By the number of a line: the error for which an empty line stands, or its repairs.
    keeps_lines : bool
    first_kept : int
        The number of the first line that `take` has: of a row that may be read again, or written.
    table : Table, optional
        What the rows have in common, if `scan` may read them.
    is_searched : bool
        Whether rows within a cell were not told yet.

    Parameters
    ----------
    path : str
    dialect : Dialect
    """

    def __init__(self, stream: ByteStream, options: ReadOptions, dialect: Dialect) -> None:
        self.dialect = dialect
        self.size = 0
        self.oddities: dict[int, InputError | int] = {}
        self.keeps_lines = bool(options.settings.rows_for)
        self.first_kept = 1
        self._kept: list[str] = []
        self.path = stream.path
        self._encoding = options.encoding
        self.table: Table | None = None
        self._told = set[str]()
        self.is_searched = dialect.is_quoted and not dialect.is_escaped
        self._rest = b""  # of the lines that were scanned: the row that is open at their end
        self._n_rejected = 0
        self._ahead = deque[LineBlock]()  # read, but not decoded
        self._blocks = read_line_blocks(read_raw_blocks(stream), dialect.limit)

    def read_from(self, line: int) -> Iterator[str]:
        """Return the lines from this number on, which is kept or the next one; another iterator
        over the lines must not be used after that.
        """
        yield from self.lines_of(line, self.first_kept + len(self._kept))
        for lines in map(self._decode, iter(self._take_block, None)):
            yield from lines
        self._check_open(self.size)

    def _take_block(self) -> LineBlock | None:
        return self._ahead.popleft() if self._ahead else next(self._blocks, None)

    def scan(self) -> RowGroup | None:
        """Return the rows of the lines that are kept and of the next block, up to the last one that
        is complete; None if `read_from` must return these lines.
        """
        table = self.table
        if table is None or self.oddities or self._n_rejected == MAX_REJECTED:
            return None
        if self._kept:
            self._rest = "".join(self._kept).encode()
            self._kept = []
        following = self._take_block()
        data = self._rest
        self._rest = b""
        if following is not None and not following.is_too_long:
            data += following.data
            following = None
            places = sorted({0, *chain.from_iterable(table.places.values())})
            found = None
            if not _has(data, BOM.encode()):
                width = len(table.names)
                with suppress(UnicodeError):
                    found = scan_rows(data, self.dialect, width, places, self.is_searched)
            if found is not None and not table.find_like_header(found[0][0]):
                self._check_backslashes(data, self.first_kept)
                columns, lines, n_bytes, n_lines = found
                spans = [(line + self.first_kept,) * 2 for line in lines]
                self.first_kept += n_lines
                self._rest = data[n_bytes:]
                return RowGroup(
                    columns=dict(zip(places, columns, strict=True)), spans=spans, size=n_bytes
                )
        self._n_rejected += 1
        whole = LineBlock(data, self.first_kept, 0) if data else None
        self._ahead.extend(filter(None, (whole, following)))
        return None

    def lines_of(self, first: int, last: int) -> list[str]:
        """Return the lines with these numbers; [] if they are not kept."""
        start = first - self.first_kept
        return self._kept[start : last + 1 - self.first_kept] if start >= 0 else []

    def take(self) -> str:
        """Return all lines that are kept."""
        return "".join(self._kept)

    def tell(self, line: int, what: str, hint: str) -> None:
        """Say what a line seems to be, once for a file."""
        if what not in self._told:
            self._told.add(what)
            warn(f"{name_source(self.path)}:{line}", f"{what}; {hint}")

    def forget(self, last: int) -> None:
        """Drop the lines up to a number."""
        del self._kept[: last + 1 - self.first_kept]
        self.first_kept = last + 1

    def _decode(self, block: LineBlock) -> list[str]:
        if self.size:
            self._check_open(self.size + block.data.find(b"\n"))
        if len(self._kept) > MAX_KEPT_LINES and not self.keeps_lines:
            self.forget(block.first_line - 1)
        data = block.data
        first_line = block.first_line
        if block.is_too_long:
            self.oddities[first_line] = too_long(self.dialect.limit)
            data = b"\n"
        decoded = decode_lines(data, self._encoding)
        texts = decoded.texts
        if self.keeps_lines and decoded.repaired:
            texts = self._encoding.decode_exactly(data).split("\n")[: len(texts)]
        if _has(data, BOM.encode()):
            texts = [text.removeprefix(BOM) for text in texts]
        self.oddities |= {first_line + line: odd for line, odd in decoded.repaired.items()}
        separator = self.dialect.separator
        may_be_wide = count_byte(data, separator.encode()[0]) > MAX_ROW_COLUMNS
        for line, text in enumerate(texts) if may_be_wide or len(data) > LARGE_BYTES else ():
            try:
                check_text_width(text)
                check_separators(text, separator)
            except InputError as problem:
                self.oddities[first_line + line] = problem
                texts[line] = ""
        self._check_backslashes(data, first_line)
        lines = [text + "\n" for text in texts]
        if not data.endswith(b"\n"):
            lines[-1] = texts[-1]
        self.size += len(data)
        self._kept += lines
        return lines

    def _check_backslashes(self, data: bytes, first_line: int) -> None:
        if self.dialect.is_csv and _has(data, b'\\"'):
            mark = re.escape(self.dialect.separator.encode())
            if found := re.search(rb'\\"(?!%s)[^"\r\n]' % mark, data):
                line = first_line + data.count(b"\n", 0, found.start())
                self.tell(line, "a backslash precedes a quote", ESCAPE_HINT)

    def _check_open(self, size: int) -> None:
        limit = self.dialect.limit
        if self.dialect.is_csv and size > limit:
            raise InputError(
                f"the row that begins here does not end within {limit:,} characters",
                hint=f"close an open quote; {QUOTE_HINT}",
            )


def _has(data: bytes, mark: bytes) -> bool:
    """Return whether bytes contain a mark; the first byte of it is sought much faster."""
    return mark[0] in data and mark in data


def read_rows(feed: LineFeed, n_skipped: int) -> Iterator[RowGroup]:
    """Yield the first row that is not blank, then some at a time; the last group may be empty.

    Parameters
    ----------
    n_skipped : int
        The number of lines before the first one that is read.

    Raises
    ------
    InputError
        A quote is open in more text than a document may have.
    """
    group = RowGroup()
    width = 0  # the number of cells of the first row; 0: none was yielded yet
    # whether the next group, behind the first row, is what tells whether that is a header
    is_compared = True
    # the numbers of the last line of the last row, and of the line before the reader begins
    last = before = n_skipped
    reader = feed.dialect.open(islice(feed.read_from(1), n_skipped, None))

    def end_group() -> RowGroup:
        nonlocal group
        ended = group
        group = RowGroup()
        ends = [stop for _, stop in ended.spans]
        for line in sorted(line for line in feed.oddities if line <= last):
            odd = feed.oddities.pop(line)
            row = bisect_left(ends, line)
            if isinstance(odd, InputError):
                ended.problems.setdefault(row, odd)
            else:
                ended.repaired[row] += odd
        if not feed.keeps_lines:
            feed.forget(last)
            return ended
        start = feed.first_kept
        for columns, (first, stop) in zip(ended.cells, ended.spans, strict=True):
            gap = "".join(feed.lines_of(start, first - 1))
            ended.kept.append(Row(first, gap, "".join(feed.lines_of(first, stop)), columns))
            start = stop + 1
        feed.forget(start - 1)
        return ended

    def end_block() -> RowGroup | None:
        """Count the bytes that were read when a row ends; return the group before them."""
        nonlocal width, is_compared
        ended = None
        is_many = len(group.cells) > HEADER_ROWS
        is_large = group.size and (is_many or group.size > PARSED_GROUP_BYTES)
        if group.cells and (not width or is_large or (is_many and is_compared)):
            is_compared = not width
            width = width or len(group.cells[0])
            ended = end_group()
        group.size += feed.size
        feed.size = 0
        return ended

    while True:
        reason = ""
        try:
            for columns in reader:
                first = last + 1
                last = reader.line_num + before
                if columns or last in feed.oddities:
                    group.cells.append(columns)
                    group.spans.append((first, last))
                if (
                    last > first
                    and feed.is_searched
                    and feed.dialect.are_like_rows(feed.lines_of(first, last), len(columns))
                ):
                    feed.is_searched = False
                    feed.tell(first, "a quoted column has lines that look like rows", PLAIN_HINT)
                if (feed.size or is_compared) and (ended := end_block()):
                    yield ended
                    if feed.table is not None:
                        break
            else:
                break
        except csv.Error as error:
            reason = str(error)
        except InputError as error:
            raise error.locate(f"{origin_of(feed.path)}{last + 1}") from None
        if reason:
            first = last + 1
            n_read = reader.line_num + before
            columns, last, problem = _read_again(feed, first, n_read, width, reason)
            if problem is not None:
                group.problems[len(group.cells)] = problem
            group.cells.append(columns)
            group.spans.append((first, last))
            if ended := end_block():
                yield ended
        while not group.cells and (scanned := feed.scan()):
            yield scanned
            last = feed.first_kept - 1
        reader = feed.dialect.open(feed.read_from(last + 1))
        before = last
    ended = end_group()
    if feed.keeps_lines:
        ended.tail = feed.take()
    yield ended


def _read_again(
    feed: LineFeed, first: int, last: int, width: int, reason: str
) -> tuple[list[str], int, InputError | None]:
    """Return the cells of a row that `csv.reader` cannot read, the number of its last line, and
    its error if it can be read in no way.

    A quoted cell may be longer than `csv.reader` allows. If text follows a closing quote, or a
    quote is never closed, the opening one is a plain character if what it encloses looks like
    rows, or ends in the same line.

    last    the number of the last line that was read
    width   the number of cells of the first row; 0: this is the first row
    reason  what `csv.reader` says
    """
    hint = QUOTE_HINT
    what = f"text follows the quote that closes a column in line {last}"
    is_open = "unexpected end" in reason
    has_return = "new-line character" in reason
    if is_open:
        what = "a quote that is opened in this row is never closed"
    if has_return:
        what = "broken CSV: a carriage return outside of quotes"
        hint = "put quotes around the value, or convert the line ends to one kind"
    problem = InputError(what, hint=hint)
    lines = feed.lines_of(first, last)
    if has_return or not lines:
        return [], last, problem
    dialect = feed.dialect
    reader = TsvReader(feed.read_from(first), dialect)
    try:
        cells = next(reader)
    except InputError as error:
        raise error.locate(f"{origin_of(feed.path)}{first}") from None
    end = first - 1 + reader.line_num
    if not any(cell.lstrip(" ").startswith('"') for cell in cells):  # it has valid quotes
        return cells, end, None
    if dialect.are_like_rows(lines[1:] if is_open else lines[:-1], width):
        what = (
            "a quote is opened, and the lines after it look like rows, so it is a plain character"
        )
        feed.tell(first, what, QUOTE_HINT)
        return cells, end, None
    if is_open or last > first:
        begins_row = len(dialect.split_lax(lines[-1])) == width
        return [], last - (begins_row and not is_open), problem
    feed.tell(first, "text follows the quote that closes a column", QUOTE_HINT)
    lax = dialect.split_lax(lines[0])
    is_plain = len(cells) == width != len(lax) or not lax
    return (cells, end, None) if is_plain else (lax, last, None)


def separator_of(line: str, names: Set[str], n_columns: int) -> str:
    """Return the separator of a line: comma, semicolon or tab, because that of spreadsheets depends
    on the country.

    It is the first of these with which the line is a header; else the first with which it has
    `n_columns`; else the one with which it has most columns.
    """
    found: dict[str, list[str]] = {}
    for separator in TABLE_SEPARATORS:
        found[separator] = []
        with suppress(csv.Error, InputError):  # the reader of rows reports it
            check_separators(line, separator)
            columns = next(csv.reader([line], delimiter=separator), [])
            found[separator] = [column.strip() for column in columns]
        if not names.isdisjoint(found[separator]):
            return separator
    enough = (separator for separator, columns in found.items() if len(columns) >= n_columns > 0)
    return next(enough, max(TABLE_SEPARATORS, key=lambda separator: len(found[separator])))


def check_separators(line: str, separator: str) -> None:
    """Raise InputError if a line has so many columns that they would fill the memory."""
    if line.count(separator) > MAX_ROW_COLUMNS:
        raise InputError(
            f"the row has more than {MAX_ROW_COLUMNS:,} separators",
            hint="check the format of the file",
        )


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
    dialect : Dialect
    """

    def __init__(self, lines: Iterator[str], dialect: Dialect) -> None:
        self.line_num = 0
        self._lines = lines
        self._returned: deque[str] = deque()
        self._limit = dialect.limit
        self._separator = dialect.separator
        self._is_escaped = dialect.is_escaped
        self._marks = '"' * dialect.is_quoted + "\\" * dialect.is_escaped
        blanks = "" if self._separator == " " else " *"
        mark = re.escape(self._separator)
        self._opening = re.compile(f'{blanks}"')
        # what may follow a closing quote, without the separator or line end
        self._ending = re.compile(rf"{blanks}(?={mark}|\r?(?:\n|\Z))")
        plain = rf"(?:[^{mark}\\]|\\.?)*+" if self._is_escaped else f"[^{mark}]*+"
        self._unquoted = re.compile(plain, re.DOTALL)

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
            else:
                unquoted = self._unquoted.match(text, start)
                end = unquoted.end() if unquoted else start
                column = text[start:end]
                columns.append(_unescape(column) if self._is_escaped else column)
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
    places : ColumnPlaces
        The places of the columns that are read.
    origin : str
        The prefix of line numbers in ids.
    settings : InputSettings
    separator : str
        A phrase for messages.
    header : list of str, optional
        The cells of the header without blanks around them; None if there is none.
    header_end : int
        The number of the last line of the header, if it has several rows.
    """

    names: Sequence[str]
    places: ColumnPlaces
    origin: str
    settings: InputSettings
    separator: str
    header: list[str] | None
    header_end: int

    def parse(self, group: RowGroup, rows: TableRows | None) -> Batch:
        """Return rows as documents; a row that is broken, too short or too long is a problem of
        its document.

        rows    the same rows, if they are kept
        raises  InputError: the rows are kept, and no columns can be added to one that is broken or
                too long
        """
        headers = self._find_headers(group)
        cells = group.cells
        if rows is not None:
            cells = list(cells)
            for row in group.repaired:
                cells[row] = [rows.encoding.repair(cell) for cell in cells[row]]
        problems = dict(group.problems)
        width = len(self.names)
        if problems or set(map(len, cells)) != {width}:
            n_needed = max(chain.from_iterable(self.places.values()), default=-1) + 1
            for row, columns in enumerate(cells):
                n_wanted = 0
                hint = ""
                if len(columns) < n_needed:
                    n_wanted = n_needed
                elif any(columns[width:]):
                    n_wanted = width
                    hint = f"put quotes around a column that holds a {self.separator}"
                    if self.header is not None and len(columns) == width + 1:
                        hint += (
                            ", or give the first column a name in the header, if it has row names"
                        )
                if n_wanted:
                    wanted = number_of(n_wanted, f"{self.separator}-separated column")
                    what = f"expected {wanted}, found {len(columns)}"
                    problems.setdefault(row, InputError(what, hint=hint))
            for row, problem in sorted(problems.items()) if rows is not None else ():
                if row in group.problems or len(cells[row]) > width:
                    raise problem.locate(f"{self.origin}{group.spans[row][0]}")
            cells = [[""] * width if row in problems else each for row, each in enumerate(cells)]
        batch = make_batch(
            take_columns(
                self.names,
                self.places,
                lambda place: group.columns.get(place) or [each[place] for each in cells],
                self.settings,
            ),
            self.settings,
            origin=self.origin,
            numbers=[first for first, _ in group.spans],
            problems=problems,
            names_of=lambda _: self.names,
        )
        batch.rows = rows
        batch.left_out |= headers
        return batch.count_repairs(group.repaired.values())

    def find_like_header(self, firsts: Iterable[str]) -> list[int]:
        """Return the rows whose first cell is the name of a column."""
        header = {name.lower() for name in self.header or []}
        longest = max(map(len, header), default=-1)
        return [
            row
            for row, cell in enumerate(map(str.strip, firsts))
            if len(cell) <= longest and cell.lower() in header
        ]

    def _find_headers(self, group: RowGroup) -> dict[int, str]:
        """Return the rows that are left out, because they are of the header, with the reason; a
        header with another order of the columns is a problem.
        """
        found = {}
        header = [name.lower() for name in self.header or []]
        firsts = (cells[0] if cells else "" for cells in group.cells)
        for row in self.find_like_header(firsts):
            cells = [cell.strip().lower() for cell in group.cells[row]]
            if cells == header:
                found[row] = HEADERS[0]
            elif sorted(cells) == sorted(header):
                what = "the row is a header with another order of the columns"
                group.problems[row] = InputError(what, hint=ORDER_HINT)
        for row, (_, last) in enumerate(group.spans):
            if last > self.header_end:
                break
            found[row] = HEADERS[1]
        return found


def read_table(
    stream: ByteStream, options: ReadOptions, *, is_tsv: bool = False
) -> Iterator[Block]:
    """Yield the documents of a CSV or TSV file: each row is one.

    By default, the first line of a CSV file tells the separator.

    raises  InputError: a column is missing, or a quote is never closed
    """
    settings = options.settings
    encoding = options.encoding
    origin = origin_of(stream.path)
    head = stream.head()
    if b"\r" in head and b"\n" not in head:
        raise InputError(
            "its lines end with a carriage return alone",
            where=stream.path,
            hint="convert the line ends, such as by tr '\\r' '\\n'",
        )
    text = head.lstrip(b"\r\n")
    lines = text.decode("utf-8", "replace").split("\n", 2)
    n_skipped = head.count(b"\n", 0, len(head) - len(text))
    separator = settings.delimiter
    if not is_tsv and (found := _separator_line.fullmatch(lines[0])):  # `sep=;`, of spreadsheets
        separator = separator or found[1]
        n_skipped += 1
        del lines[0]
    elif separator is None:
        separator = "\t" if is_tsv else separator_of(lines[0], *_wanted_columns(settings))
    is_tsv = separator == "\t"
    is_escaped = settings.escape == BACKSLASH
    is_plain = settings.escape == NO_QUOTING
    # a column of a line that begins with blanks and a quote, and ends with a quote
    mark = re.escape(separator).encode()
    spaced = mark + rb' +"(?!")(?:[^"\r\n]|"")*" *(?:\r?\n|' + mark + rb")"
    dialect = Dialect(
        separator,
        settings.max_document_bytes,
        is_csv=not (is_tsv or is_escaped or is_plain),
        is_spaced=f"{separator} " in lines[0] or re.search(spaced, head) is not None,
        is_escaped=is_escaped,
        is_quoted=not is_plain,
    )
    feed = LineFeed(stream, options, dialect)
    groups = read_rows(feed, n_skipped)
    header = next(groups)
    if not header.cells:
        return
    place = f"{origin}{header.spans[0][0]}"
    if header.problems:
        raise header.problems[0].locate(place)
    (first,) = header.cells
    if settings.rows_for:
        first = list(map(encoding.repair, first))
    stripped = [name.strip() for name in first]
    second = next(groups)
    following = second.cells[:HEADER_ROWS]
    names, places, is_header = find_columns(first, following, settings, place=place)
    n_more = _count_header_rows(following) if is_header else 0
    if is_header and len(names) > len(first):
        warn(stream.path, "the header has no name for the first column, which numbers the rows")
    elif is_header and not n_more and _is_unlike_numbers(following):
        what = f"the second row ({format_names(following[0])}) may be of the header, because other rows have numbers in its place"
        warn(stream.path, f"{what}; remove it if it is, as by sed 2d")
    if settings.header is None:
        _warn_of_header(stripped, following, settings, is_header=is_header, path=stream.path)
    if not is_escaped and any("\\N" in columns for columns in following):
        warn(stream.path, f"a column is \\N; {ESCAPE_HINT}")
    table = Table(
        names,
        places,
        origin,
        settings,
        SEPARATOR_NAMES.get(separator, separator),
        stripped if is_header else None,
        second.spans[n_more - 1][1] if n_more else 0,
    )
    if not (settings.rows_for or is_escaped or is_plain) and separator not in ' "':
        feed.table = table
    groups = chain([second] if is_header else [header, second], groups)
    del second, following
    rows: TableRows | None = None
    if settings.rows_for:
        from nbtext.documents.rows import TableRows

        rows = TableRows(
            "tsv" if is_tsv else "csv",
            stream.path,
            encoding,
            [],
            "",
            newline="\r\n" if lines[0].endswith("\r") else "\n",
            is_start=True,
            bom=stream.bom,
            separator=separator,
            names=tuple(names),
            header=header.kept[0].gap + header.kept[0].text if is_header else None,
            is_escaped=is_escaped,
            is_plain=is_plain,
        )
        quoted = replace(rows, is_quoted=True)
        if quoted.join(header.cells[0]) == _strip_line_end(header.kept[0].text):
            rows = quoted
    for group in groups:
        if rows is not None:
            rows = replace(rows, rows=group.kept, tail=group.tail)
        if group.spans or rows is not None:
            block = Block(partial(table.parse, group, rows), stream.newly_read(), group.size)
            del group
            yield block
        if rows is not None:
            rows = replace(rows, is_start=False)


read_tsv = partial(read_table, is_tsv=True)


def find_columns(
    first: list[str], following: Sequence[list[str]], settings: InputSettings, *, place: str
) -> tuple[Sequence[str], ColumnPlaces, bool]:
    """Return the names of all columns, the places of the wanted ones, and whether the first is a
    header.

    It is one if the settings say so; by default, if it has the name of a text or label column. A
    column before the others that numbers the rows, as R writes it, may have no name in it. Without
    a header, there are as many columns as in the first row, or in most of the next ones if it has
    more.

    raises  InputError: a wanted column is missing
    """
    names = [name.strip() for name in first]
    is_header = settings.header
    if is_header is None:
        is_header = not _wanted_columns(settings)[0].isdisjoint(names)
    if is_header:
        numbers = [row[0] for row in following if len(row) == len(names) + 1]
        is_distinct = 0 < len(following) == len(set(numbers))
        if is_distinct and all(map(is_number, numbers)):
            names.insert(0, "")
        return names, find_fields(names, settings, place, has_numbers=True), True
    n_needed = _wanted_columns(settings)[1]
    widths = Counter(len(row) for row in (first, *following) if len(row) >= n_needed)
    usual = min(widths, key=lambda width: (-widths[width], width), default=len(first))
    width = usual if any(first[usual:]) else len(first)
    numbers = [str(number) for number in range(1, width + 1)]
    return numbers, find_fields(numbers, settings, place, has_numbers=True, first_row=first), False


def _warn_of_header(
    names: list[str],
    others: Sequence[Sequence[str]],
    settings: InputSettings,
    *,
    is_header: bool,
    path: str,
) -> None:
    """Say what the first row is taken for, if it may be something else: all text columns are
    numbers.

    names  the cells of the first row, without blanks around them
    """
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


def _count_header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows after the first one are of the header, by the second or third row."""
    n_rows = 0
    for n, row in enumerate(rows[:2]):
        if any(map(_of_survey.fullmatch, row)) or (
            n_rows == n  # no document stands between the header and its types
            and sum(map(bool, map(str.strip, row))) > 1
            and all(map(_of_types.fullmatch, row))
        ):
            n_rows = n + 1
    return n_rows


def _is_unlike_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has no digit, but words in a column of which all other rows have
    numbers or dates.
    """
    if not rows or any(map(_digit.search, rows[0])):
        return False
    return any(
        len(first) >= MIN_NAME
        and len(others) >= MIN_ROWS
        and all(map(_number_cell.fullmatch, others))
        for first, *others in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)
    )


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
