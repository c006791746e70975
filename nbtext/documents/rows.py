"""Write the rows of a text file as they are, with columns added: CSV, TSV, JSON lines and JSON arrays.

A row keeps its bytes. Values are inserted at its end, so that quotes, separators, the order of keys and line ends stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from nbtext.documents.batch import Rows, format_names
from nbtext.documents.decoding import Encoding
from nbtext.errors import InputError
from nbtext.output import Writer

PREFIX_HINT = "--column-prefix predicted_ gives the new ones other names"
JSON_BLANKS = (" ", "\t", "\r", "\n")
BLANK_BYTES = b" \t\r\0"  # of a line, in each encoding
UNICODE = ("utf-8", "utf-16", "utf-32")

Change = TypeVar("Change")
_spaced_key = re.compile(r'\A[^{]*+\{\s*+"(?:[^"\\]|\\.)*+"\s*+:\s')
_unusual_key = re.compile(rb"\\[u/]")  # a key may be written with other escapes


class Column(NamedTuple):
    """A column that is added to rows.

    Attributes
    ----------
    name : str
    kind : str
        text, number or boolean; or what is nested: labels and numbers (lists), scores (probabilities by label) or
        contributions (features with log-odds).
    values : sequence
        One for each row; None stands for a missing value.
    cells : callable
        Returns a value as text, for a format whose values are texts.
    """

    name: str
    kind: str
    values: Sequence[Any]
    cells: Callable[[Any], str]


class AddedColumns(NamedTuple):
    """Some rows of a source, and the columns that are added to them.

    Attributes
    ----------
    rows : Rows
    flat : sequence of Column
        For a format whose values are texts and numbers.
    nested : sequence of Column
        The same for a format whose values may be lists.
    """

    rows: Rows
    flat: Sequence[Column]
    nested: Sequence[Column]


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows are written to.

    Attributes
    ----------
    path : str
        The name of the file; "-" is standard output.
    open : callable
        Opens the file, which is written completely or not at all.
    is_terminal : bool
        Whether people see what is written.
    table : str, optional
        The name of the table, in a database.
    """

    path: str
    open: Callable[[], AbstractContextManager[Writer]]
    is_terminal: bool = False
    table: str | None = None


@dataclass(frozen=True, slots=True)
class TextRows:
    """Rows of a text file, as bytes.

    Attributes
    ----------
    format : str
    path : str
        The file, for errors.
    encoding : Encoding
    lines : list of bytes
        The lines without their line ends, or other parts of the file; also those between the rows.
    ends : list of int
        The place in `lines` of the last line of each row.
    newline : bytes
        The bytes between two lines.
    first_line : int
        The number of the first line, or of the first row if the file has no lines.
    is_ended : bool
        Whether a line end follows the last line.
    is_start : bool
        Whether these are the first rows of the file.
    bom : bytes
        The byte order mark of the file.
    """

    format: str
    path: str
    encoding: Encoding
    lines: list[bytes]
    ends: list[int]
    newline: bytes
    first_line: int = 1
    is_ended: bool = True
    is_start: bool = False
    bom: bytes = b""

    def slice(self, start: int, stop: int) -> TextRows:
        """Return some rows; lines between rows belong to the row after them, and those at the end to the last row."""
        is_last = stop >= len(self.ends)
        first = self.ends[start - 1] + 1 if start else 0
        last = len(self.lines) if is_last else self.ends[stop - 1] + 1
        return replace(
            self,
            lines=self.lines[first:last],
            ends=[end - first for end in self.ends[start:stop]],
            first_line=self.first_line + first,
            is_ended=self.is_ended or not is_last,
            is_start=self.is_start and start == 0,
        )

    def begin(self, row: int) -> int:
        """Return the place in `lines` of the first line of a row, after the blank lines that precede it."""
        header_end = self.header_end if isinstance(self, TableRows) else None
        start = self.ends[row - 1] + 1 if row else 0 if header_end is None else header_end + 1
        while start < self.ends[row] and not self.lines[start].strip(BLANK_BYTES):
            start += 1
        return start

    def error(self, what: str, line: int, hint: str = "") -> InputError:
        """Return an error at a place of `lines`."""
        return InputError(what, where=f"{self.path}:{self.first_line + line}", hint=hint)

    def encode(self, text: str) -> bytes:
        """Return a text in the encoding of the file.

        Raises
        ------
        InputError
            The encoding lacks one of its characters.
        """
        codec = self.encoding.codec
        try:
            return text.encode(codec, "backslashreplace" if codec.startswith(UNICODE) else "strict")
        except UnicodeEncodeError:
            what = f"{text.strip()!r} cannot be written in the encoding of the file, {codec}"
            raise InputError(what, where=self.path, hint="convert the file to UTF-8 first") from None


@dataclass(frozen=True, slots=True)
class TableRows(TextRows):
    """Rows of a CSV or TSV file.

    Attributes
    ----------
    separator : str
    names : tuple of str
        The names of the columns of the file; their numbers if it has no header.
    header_end : int, optional
        The place in `lines` of the last line of the header, if it is there.
    widths : list of int
        The number of columns of each row.
    """

    separator: str = ","
    names: tuple[str, ...] = ()
    has_header: bool = False
    header_end: int | None = None
    widths: tuple[int, ...] = ()

    def slice(self, start: int, stop: int) -> TableRows:
        """Return some rows."""
        rows = replace(self, header_end=self.header_end if start == 0 else None, widths=self.widths[start:stop])
        part = TextRows.slice(rows, start, stop)
        assert isinstance(part, TableRows)
        return part


def write_table(added: Iterable[AddedColumns], target: Target) -> None:
    """Write rows of CSV or TSV with columns added.

    Raises
    ------
    InputError
        The file has a column of one of the names, or several files differ in their columns.
    """
    write_rows(((each.rows, each) for each in added), target, _add_to_table)


def write_json(added: Iterable[AddedColumns], target: Target) -> None:
    """Write objects of JSON lines or of JSON arrays with keys added.

    Raises
    ------
    InputError
        An object has one of the keys, or a row is not an object.
    """
    write_rows(((each.rows, each) for each in added), target, _add_to_objects)


def write_rows(
    changed: Iterable[tuple[Rows, Change]], target: Target, change: Callable[[TextRows, Change, TextRows], list[bytes]]
) -> None:
    """Write the rows of several files one after the other, with the header and byte order mark of the first file.

    change  returns the lines to write for some rows; its last argument is the first rows of all
    """
    first: TextRows | None = None
    is_ended = True
    with target.open() as file:
        for rows, each in changed:
            assert isinstance(rows, TextRows)
            if rows.is_start and first is not None and rows.path != first.path:
                _check_alike(rows, first)
            first = first or rows
            lines = change(rows, each, first)
            if lines:
                head = rows.bom if rows is first else b""
                head += b"" if is_ended else first.newline
                file.write(head + first.newline.join(lines) + (first.newline if rows.is_ended else b""))
                is_ended = rows.is_ended
            file.flush()


def _check_alike(rows: TextRows, first: TextRows) -> None:
    """Raise InputError unless the rows of two files can be written to one file."""
    hint = "write the rows of each file to a file of its own"
    if (rows.encoding.codec, rows.newline) != (first.encoding.codec, first.newline):
        what = f"its encoding or its line ends are not those of {first.path}"
        raise InputError(what, where=rows.path, hint=hint)
    if rows.format == "json":
        what = "a .json file is one array, and several arrays cannot be written to one file"
        raise InputError(what, where=rows.path, hint=hint)
    if not isinstance(rows, TableRows) or not isinstance(first, TableRows):
        return
    if (rows.names, rows.has_header) != (first.names, first.has_header):
        what = f"its columns are {format_names(rows.names)}; those of {first.path} are {format_names(first.names)}"
        raise InputError(what, where=rows.path, hint=hint)
    if rows.separator != first.separator:
        raise InputError(f"its separator is not that of {first.path}", where=rows.path, hint=hint)


def _add_to_table(rows: TextRows, added: AddedColumns, first: TextRows) -> list[bytes]:
    """Return the lines of a table with cells added."""
    assert isinstance(rows, TableRows)
    separator, lines, columns = rows.separator, list(rows.lines), added.flat
    carriage_return, width = rows.encode("\r"), len(rows.names)
    dropped = 0
    if rows.is_start and rows.has_header:
        for column in columns:
            if column.name in rows.names:
                hint = PREFIX_HINT
                raise rows.error(f"there is a column `{column.name}` already", rows.header_end or 0, hint)
    if rows.header_end is not None:
        names = "".join(separator + quote_cell(column.name, separator) for column in columns)
        lines[rows.header_end] = _append(lines[rows.header_end], rows.encode(names), carriage_return)
        dropped = 0 if rows is first else rows.header_end + 1
    cells = [map(column.cells, column.values) for column in columns]
    is_plain = [column.kind in ("number", "boolean") for column in columns]
    for end, n_found, values in zip(rows.ends, rows.widths, zip(*cells, strict=True), strict=True):
        texts = [
            value if is_safe else quote_cell(value, separator) for value, is_safe in zip(values, is_plain, strict=True)
        ]
        line = lines[end]
        if n_found > width:
            line = _drop_cells(rows, end, n_found - width)
        padding = separator * max(0, width - n_found)
        lines[end] = _append(line, rows.encode(padding + separator + separator.join(texts)), carriage_return)
    return lines[dropped:]


def _append(line: bytes, cells: bytes, carriage_return: bytes) -> bytes:
    """Insert cells at the end of a line, before a carriage return."""
    if line.endswith(carriage_return):
        return line[: -len(carriage_return)] + cells + carriage_return
    return line + cells


def _drop_cells(rows: TableRows, line: int, n_cells: int) -> bytes:
    """Return a line without empty cells for which the header has no name."""
    found, carriage_return = rows.lines[line], rows.encode("\r")
    ending = carriage_return if found.endswith(carriage_return) else b""
    extra = rows.encode(rows.separator) * n_cells
    text = found.removesuffix(ending)
    if not text.endswith(extra):
        what = f"the row has {n_cells} more columns than the header"
        raise rows.error(what, line, "remove its last columns, or give them names")
    return text.removesuffix(extra) + ending


def quote_cell(text: str, separator: str) -> str:
    """Quote a cell if the separator, a quote, a line end or a blank at its edge needs it."""
    if separator in text or '"' in text or "\n" in text or "\r" in text or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _add_to_objects(rows: TextRows, added: AddedColumns, first: TextRows) -> list[bytes]:
    """Return the lines of JSON objects with keys added."""
    lines, columns = list(rows.lines), added.nested
    names = [column.name for column in columns]
    is_utf8, is_ascii = rows.encoding.codec == "utf-8", not rows.encoding.codec.startswith(UNICODE)
    spellings = [rows.encode(json.dumps(name, ensure_ascii=False)) for name in names] if is_utf8 else [b""]
    blanks, begin, end = tuple(map(rows.encode, JSON_BLANKS)), rows.encode("{"), rows.encode("}")
    for place, values in zip(rows.ends, zip(*(column.values for column in columns), strict=True), strict=True):
        line = lines[place]
        if any(spelling in line for spelling in spellings) or _unusual_key.search(line):
            _check_keys(rows, place, names)
        body = _strip_blanks(line, blanks)
        if not body.endswith(end):
            raise rows.error("expected an object", place, "each line holds one object")
        body = _strip_blanks(body[: -len(end)], blanks)
        is_spaced = is_spaced_object(line.decode(rows.encoding.codec, "replace"))
        comma, between = (", ", ": ") if is_spaced else (",", ":")
        text = json.dumps(
            dict(zip(names, values, strict=True)), ensure_ascii=is_ascii, allow_nan=False, separators=(comma, between)
        )
        lines[place] = body + rows.encode(("" if body.endswith(begin) else comma) + text[1:-1]) + line[len(body) :]
    return lines


def is_spaced_object(text: str) -> bool:
    """Return whether a blank follows the first key of an object of JSON."""
    return _spaced_key.search(text) is not None


def _strip_blanks(line: bytes, blanks: tuple[bytes, ...]) -> bytes:
    while line.endswith(blanks):
        line = line[: -len(blanks[0])]
    return line


def _check_keys(rows: TextRows, place: int, names: Sequence[str]) -> None:
    """Raise InputError if an object has one of the keys."""
    with suppress(ValueError):
        text = rows.lines[place].decode(rows.encoding.codec, "replace")
        found = json.loads(text[text.find("{") :])
        for name in names:
            if isinstance(found, dict) and name in found:
                raise rows.error(f"there is a key `{name}` already", place, PREFIX_HINT)
