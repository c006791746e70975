"""CSV and TSV files: each row is a document; columns are selected by a header or by number."""

from __future__ import annotations

import csv
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from nbtext.documents.batch import Batch, BatchBuilder, Block
from nbtext.documents.blocks import (
    LineBlock,
    ReadOptions,
    group_items,
    read_line_blocks,
    read_raw_blocks,
)
from nbtext.documents.decoding import Encoding, check_width, decode_lines
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import (
    NULL,
    find_fields,
    format_names,
    has_quote_after_blanks,
    is_number,
)
from nbtext.documents.lines import origin_of
from nbtext.documents.settings import BACKSLASH, SEPARATORS, InputSettings
from nbtext.documents.streams import STANDARD_INPUT, ByteStream, name_source
from nbtext.errors import AssumptionWarning, InputError, number_of

if TYPE_CHECKING:
    from nbtext.documents.rows import TableRows

SEPARATOR_NAMES = {**SEPARATORS, "|": "pipe", " ": "blank"}
# of a row; each takes about 60 bytes, and text in quotes may have as many commas
MAX_COLUMNS = 2_000_000
QUOTE_HINT = "double the quotes within a quoted column, or give --escape backslash if a backslash precedes them"
ESCAPE_HINT = "if backslashes are escapes, give --escape backslash"
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}  # what a letter means after a backslash
KEPT_CHARACTERS = 1 << 20  # of first rows, and of the lines of a row; longer ones are not kept
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
_quote_after_blanks = re.compile(' +"')
_inside_quotes = re.compile(r'[^"]*+(?:""[^"]*+)*+')
_inside_escaped_quotes = re.compile(r'(?:[^"\\]|\\.|"")*+', re.DOTALL)
_escape = re.compile(r"\\(\r\n|.)", re.DOTALL)
# a quote that another one precedes, but a backslash does not
_doubled = re.compile(r'(\\.)|"(")', re.DOTALL)
_column_name = re.compile(r"(?=.{1,40}$)[^\W\d][\w.:/-]*(?: [\w.:/-]+){0,2}")


class Record(NamedTuple):
    """A row: its columns (empty for a blank line), the numbers of its first and last line, and its
    error.

    If lines are kept, `text` is the row as it was read, with its line end, and `gap` are the blank
    lines before it.
    """

    columns: list[str]
    first_line: int
    last_line: int
    problem: InputError | None = None
    repaired: int = 0
    gap: str = ""
    text: str = ""


class LineFeed:
    """The lines of a file one by one, decoded, with their line ends.

    Attributes
    ----------
    line : int
        The number of the last line that was returned.
    limit : int
        The maximum size of a line, in bytes.
    is_ended : bool
        Whether the last line that was read ends with a line feed.

    Parameters
    ----------
    keeps_lines : bool
        Whether `take` returns the lines, in which invalid bytes are lone surrogates; see
        `Encoding.decode_exactly`.
    """

    def __init__(
        self,
        blocks: Iterable[LineBlock],
        encoding: Encoding,
        limit: int,
        *,
        keeps_lines: bool = False,
    ) -> None:
        self.line = 0
        self.limit = limit
        self.is_ended = True
        self._keeps_lines = keeps_lines
        self._kept: list[str] = []
        # by line: number of repairs, or the error of a line that was replaced by an empty one
        self._oddities: dict[int, int | InputError] = {}
        self._lines = self._decode(blocks, encoding)
        self._returned: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines)
        self.line += 1
        if self._keeps_lines:
            self._kept.append(line)
        return line

    def take(self, n_lines: int = 0) -> tuple[str, str]:
        """Return the lines since the last call, if they are kept: all but the last `n_lines`, and
        these.
        """
        start = len(self._kept) - n_lines
        taken = "".join(self._kept[:start]), "".join(self._kept[start:])
        self._kept = []
        return taken

    def put_back(self, lines: list[str]) -> None:
        """Put back the last lines, so that they are returned again."""
        self._returned.extendleft(reversed(lines))
        self.line -= len(lines)
        del self._kept[len(self._kept) - len(lines) :]

    def _decode(self, blocks: Iterable[LineBlock], encoding: Encoding) -> Iterator[str]:
        for block in blocks:
            self.is_ended = block.is_too_long or block.data.endswith(b"\n")
            if block.is_too_long:
                self._oddities[block.first_line] = too_long(self.limit)
                yield "\n"
                continue
            decoded = decode_lines(block.data, encoding)
            if len(decoded.texts) == 1:  # a long line is a block of its own
                try:
                    check_width(decoded.texts[0])
                except InputError as problem:
                    decoded.problems[0] = problem
                    decoded.texts[0] = ""
            for oddities in (decoded.repaired, decoded.problems):
                self._oddities.update(
                    {block.first_line + line: odd for line, odd in oddities.items()}
                )
            texts = decoded.texts
            if self._keeps_lines and (decoded.repaired or decoded.problems):
                texts = encoding.decode_exactly(block.data).split("\n")[: len(texts)]
            del block, decoded  # a long line is not kept
            texts.reverse()
            while texts:
                yield texts.pop() + "\n"

    def check(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records that are not blank, with the repairs and the problems of their
        lines.
        """
        for record in records:
            if self._keeps_lines and (record.columns or record.problem):
                gap, text = self.take(record.last_line - record.first_line + 1)
                record = record._replace(gap=gap, text=text)  # noqa: PLW2901
            if not self._oddities:
                if record.columns or record.problem:
                    yield record
                continue
            oddities = [
                self._oddities.pop(line, 0)
                for line in range(record.first_line, record.last_line + 1)
            ]
            problem = record.problem or next(
                (odd for odd in oddities if isinstance(odd, InputError)), None
            )
            if record.columns or problem:
                repaired = sum(odd for odd in oddities if isinstance(odd, int))
                yield record._replace(problem=problem, repaired=repaired)


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
    if line.count(separator) > MAX_COLUMNS:
        return []
    try:
        return [column.strip() for column in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return []


def too_wide() -> InputError:
    """Return the error for a row with so many columns that they would fill the memory."""
    return InputError(
        f"the row has more than {MAX_COLUMNS:,} separators", hint="check the format of the file"
    )


def read_csv_records(feed: LineFeed, *, where: str, separator: str = ",") -> Iterator[Record]:
    """Yield rows of separated columns; quoted columns may hold separators, line ends and doubled
    quotes.

    Blanks may precede the quote of a column that ends on the same line.

    where   what precedes the number of a line in an error
    raises  InputError: a row, or the text after a quote that is never closed, is longer than a
            document may be
    """
    # a setting of the process; Python's default is 128 KiB
    csv.field_size_limit(max(csv.field_size_limit(), feed.limit))
    first_line = 0
    size = 0
    n_separators = 0
    is_ended = False
    is_told = False
    escaped_quote = re.compile(rf'\\"[^"{re.escape(separator)}\r\n]')

    def check(line: str) -> str:
        nonlocal size, n_separators, is_told
        size += len(line)
        n_separators += line.count(separator)
        if size <= KEPT_CHARACTERS:
            lines.append(line)
        if not is_told and '\\"' in line and escaped_quote.search(line):
            warn(
                where.removesuffix(":") or STANDARD_INPUT,
                f"a backslash precedes a quote in line {feed.line}; {ESCAPE_HINT}",
            )
            is_told = True
        if size > feed.limit:
            what = f"the row that begins here does not end within {feed.limit:,} characters"
            raise InputError(
                what, where=f"{where}{first_line}", hint=f"close an open quote; {QUOTE_HINT}"
            )
        if n_separators > MAX_COLUMNS:
            raise too_wide().locate(f"{where}{first_line}")
        return line

    def end() -> Iterator[str]:
        nonlocal is_ended
        is_ended = True
        yield from ()

    # no name keeps a long line
    reader = csv.reader(chain(map(check, feed), end()), delimiter=separator)
    lines: list[str] = []  # of a row
    while True:
        first_line = feed.line + 1
        size = 0
        n_separators = 0
        problem = None
        lines.clear()
        try:
            columns = next(reader)
            if size <= KEPT_CHARACTERS and any(map(_quote_after_blanks.match, columns)):
                columns = _skip_blanks(lines, separator) or columns
            lines.clear()
        except StopIteration:
            return
        except csv.Error as error:
            columns = []
            problem = InputError(f"broken CSV: {error}")
            if "new-line character" in str(error):
                hint = "put quotes around the value, or convert the line ends to one kind"
                problem = InputError("broken CSV: a carriage return outside of quotes", hint=hint)
        if is_ended:
            problem = InputError(
                "a quote that is opened in this row is never closed", hint=QUOTE_HINT
            )
        yield Record(columns, first_line, feed.line, problem)


def _skip_blanks(lines: list[str], separator: str) -> list[str] | None:
    """Return the columns of a row in which quotes follow blanks; None if none does, or one is not
    closed.
    """
    is_closed = has_quote_after_blanks("".join(lines), separator)

    def end() -> Iterator[str]:
        nonlocal is_closed
        is_closed = False
        yield from ()

    columns = next(
        csv.reader(chain(lines, end()), delimiter=separator, skipinitialspace=True), None
    )
    return columns if is_closed else None


def read_tsv_records(
    feed: LineFeed, separator: str = "\t", *, is_escaped: bool = False, is_quoted: bool = True
) -> Iterator[Record]:
    """Yield rows of separated columns, in which a quote may be an ordinary character.

    A column is quoted only if its first and its last character are quotes, apart from blanks, and
    every quote within it is doubled (RFC 4180); then it may contain separators and line ends. Any
    other quote is an ordinary character.

    is_escaped  whether a backslash makes an ordinary character of the next one
    is_quoted   whether columns may be quoted
    """
    marks = '"' * is_quoted + "\\" * is_escaped
    for line in feed:
        first_line = feed.line
        text = _strip_line_end(line)
        if text.count(separator) > MAX_COLUMNS:
            yield Record([], first_line, feed.line, too_wide())
            continue
        is_plain = not any(mark in text for mark in marks)
        columns = (
            text.split(separator)
            if is_plain
            else _split_tsv(line, feed, separator, is_escaped=is_escaped)
        )
        yield Record(columns if text else [], first_line, feed.line)


def _split_tsv(line: str, feed: LineFeed, separator: str, *, is_escaped: bool) -> list[str]:
    """Return the columns of a row that begins with this line; further lines of a column come from
    the feed.
    """
    columns: list[str] = []
    start = 0
    line = _continue(line, feed) if is_escaped else line
    text = _strip_line_end(line)
    blanks = "" if separator == " " else " *"
    opening = re.compile(f'{blanks}"')
    ending = re.compile(rf"{blanks}(?={re.escape(separator)}|\r?\n|\Z)")
    unquoted = re.compile(rf"(?:[^{re.escape(separator)}\\]|\\.?)*+", re.DOTALL)
    while start <= len(text):
        quoted = None
        if quote := opening.match(text, start):
            quoted = _read_quoted(line, quote.end() - 1, feed, ending, is_escaped=is_escaped)
        if quoted is not None:
            column, line, end = quoted
            line = _continue(line, feed) if is_escaped else line
            text = _strip_line_end(line)
            columns.append(column)
        elif is_escaped:
            match = unquoted.match(text, start)
            end = match.end() if match else start
            columns.append(_unescape(text[start:end]))
        else:
            end = text.find(separator, start)
            end = end if end >= 0 else len(text)
            columns.append(text[start:end])
        start = end + 1
    return columns


def _continue(line: str, feed: LineFeed) -> str:
    """Return a line with those after it, as long as a backslash precedes the line end."""
    parts = [line]
    size = len(line)
    while size <= feed.limit:
        text = _strip_line_end(parts[-1])
        n_backslashes = len(text) - len(text.rstrip("\\"))
        following = next(feed, None) if n_backslashes % 2 else None
        if following is None:
            break
        parts.append(following)
        size += len(following)
    return "".join(parts)


def _unescape(cell: str) -> str:
    """Return the text of a cell in which a backslash makes an ordinary character of the next
    one.
    """
    if cell == "\\N":
        return NULL
    return _escape.sub(lambda found: ESCAPED.get(found[1], found[1]), cell)


def _read_quoted(
    line: str, start: int, feed: LineFeed, ending: re.Pattern[str], *, is_escaped: bool
) -> tuple[str, str, int] | None:
    """Return a quoted column, the line on which it ends, and its end in this line; None if its
    quotes are invalid.

    ending  matches what may follow the closing quote, without the separator or line end
    """
    contents: list[str] = []
    taken: list[str] = []
    size = 0
    begin = start + 1
    inside = _inside_escaped_quotes if is_escaped else _inside_quotes
    while True:
        match = inside.match(line, begin)
        end = match.end() if match else begin
        contents.append(line[begin:end])
        if end < len(line):  # at a quote that is not doubled
            if rest := ending.match(line, end + 1):
                content = "".join(contents)
                content = (
                    _unescape(_doubled.sub(r"\1\2", content))
                    if is_escaped
                    else content.replace('""', '"')
                )
                return content, line, rest.end()
            break
        size += len(line)
        following = next(feed, None) if size <= feed.limit else None
        if following is None:
            break
        line = following
        begin = 0
        taken.append(line)
    feed.put_back(taken)
    return None


def _strip_line_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _parse_records(
    records: list[Record],
    rows: TableRows | None,
    names: Sequence[str],
    places: dict[str, int],
    origin: str,
    settings: InputSettings,
    separator: str,
) -> Batch:
    """Return rows as documents; a row that is broken, too short or too long is a problem of its
    document.

    Parameters
    ----------
    rows : TableRows, optional
        The same rows, if they are kept.
    names : sequence of str
        The names of all columns.
    places : dict of str to int
        The places of the columns that are read.
    origin : str
        The prefix of line numbers in ids.
    separator : str
        A phrase for messages.

    Raises
    ------
    InputError
        The rows are kept, and no columns can be added to one that is broken or too long.
    """
    columns = list(places.items())
    n_needed = max(places.values(), default=-1) + 1
    builder = BatchBuilder(settings, origin)
    builder.batch.names = tuple(names)
    for record in records:
        row = record.columns
        line = record.first_line
        repaired = record.repaired
        if repaired and rows is not None:
            row = [rows.encoding.repair(cell) for cell in row]
        place = f"{origin}{line}"
        problem = record.problem
        if problem is None and len(row) < n_needed:
            problem = InputError(
                f"expected {number_of(n_needed, f'{separator}-separated column')}, found {len(row)}"
            )
        elif problem is None and any(row[len(names) :]):
            what = f"expected {number_of(len(names), f'{separator}-separated column')}, found {len(row)}"
            problem = InputError(what, hint=f"put quotes around a column that holds a {separator}")
        if problem is not None:
            if rows is not None and (record.problem or len(row) > len(names)):
                raise problem.locate(place)
            builder.add((), place=place, label=problem, line=line, repaired=repaired)
            continue
        fields = {name: row[column] for name, column in columns}
        builder.add_record(fields, place=place, line=line, repaired=repaired)
    batch = builder.finish()
    batch.rows = rows
    return batch


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
    limit = options.settings.max_document_bytes
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
    feed = LineFeed(
        read_line_blocks(read_raw_blocks(stream), limit),
        encoding,
        limit,
        keeps_lines=settings.keeps_rows,
    )
    start = next(feed, "")
    if is_tsv:
        separator = "\t"
    elif found := _separator_line.fullmatch(start):  # `sep=;`, which spreadsheets write
        separator = settings.delimiter or found[1]
        start = next(feed, "")
    else:
        separator = settings.delimiter or separator_of(start, *_wanted_columns(settings))
    feed.put_back([start] if start else [])
    lines = read_csv_records(feed, where=origin, separator=separator)
    if is_tsv or is_escaped:
        lines = read_tsv_records(
            feed, separator, is_escaped=is_escaped, is_quoted=settings.is_quoted
        )
    records = feed.check(lines)
    first = next(records, None)
    if first is None:
        return
    place = f"{origin}{first.first_line}"
    if first.problem is not None:
        raise first.problem.locate(place)
    cells = (
        [encoding.repair(name) for name in first.columns] if settings.keeps_rows else first.columns
    )
    names, places, is_header = find_columns(cells, settings, place=place)
    following = []
    n_characters = 0
    for record in islice(records, HEADER_ROWS):
        following.append(record)
        n_characters += sum(map(len, record.columns))
        if n_characters > KEPT_CHARACTERS:
            break
    if settings.header is None:
        _warn_of_header(cells, following, settings, is_header=is_header, path=stream.path)
    if not is_escaped and any("\\N" in record.columns for record in following):
        warn(stream.path, f"a column is \\N; {ESCAPE_HINT}")
    phrase = SEPARATOR_NAMES.get(separator, separator)
    parse = partial(
        _parse_records,
        names=names,
        places=places,
        origin=origin,
        settings=settings,
        separator=phrase,
    )
    listed = chain(following, records) if is_header else chain((first,), following, records)
    del following
    groups = group_items(listed, lambda record: sum(map(len, record.columns)))
    if not settings.keeps_rows:
        for group, n_bytes in groups:
            block = Block(partial(parse, group, None), stream.newly_read(), n_bytes)
            del group
            yield block
        return
    from nbtext.documents.rows import TableRows

    end = "\r\n" if start.endswith("\r\n") else "\n"
    rows = TableRows(
        "tsv" if is_tsv else "csv",
        stream.path,
        encoding,
        [],
        "",
        newline=end,
        is_start=True,
        bom=stream.bom,
        separator=separator,
        names=tuple(names),
        header=first.gap + first.text if is_header else None,
        is_escaped=is_escaped,
    )
    quoted = replace(rows, is_quoted=True)
    rows = quoted if quoted.join(first.columns) == _strip_line_end(first.text) else rows
    # a table without rows is a block without documents
    for (group, n_bytes), (following, _) in pairwise(chain(groups, [([], 0)] * 2)):
        if not group and not rows.is_start:
            return
        tail = "" if following else feed.take()[0]
        if not following and not feed.is_ended:  # the last line was given a line end
            if tail:
                tail = tail.removesuffix("\n")
            elif group:
                group[-1] = group[-1]._replace(text=group[-1].text.removesuffix("\n"))
            else:
                rows = replace(rows, header=(rows.header or "").removesuffix("\n"))
        kept = replace(rows, rows=group, tail=tail)
        yield Block(partial(parse, group, kept), stream.newly_read(), n_bytes)
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
    others: Sequence[Record],
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
        n_alike = sum(_is_like_names(record.columns) for record in others)
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


def warn(path: str, what: str) -> None:
    """Say what was assumed about a file."""
    warnings.warn(f"{name_source(path)}: {what}", AssumptionWarning, stacklevel=3)


def _wanted_columns(settings: InputSettings) -> tuple[set[str], int]:
    """Return the column names of which a header has at least one, and the highest wanted column
    number.
    """
    wanted = (*settings.text_field, *settings.label_names, *settings.other_fields)
    names = {name for name in wanted if not is_number(name)}
    return names, max((int(name) for name in wanted if name not in names), default=0)
