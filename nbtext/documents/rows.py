"""Write the rows of a text file again, with columns added or labels changed: CSV, TSV, JSON lines
and arrays, fastText.

A row is written as it was read, byte for byte, and what is added follows it. Only a row of a table
whose label changes, or whose cells would be read in another way with more after them, is written
anew, in the manner of the file: with its separator and line end, and with quotes around all cells
or where they are needed.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from typing import Any, NamedTuple, Self

from nbtext.documents.blocks import Row
from nbtext.documents.decoding import UNICODE, Encoding
from nbtext.documents.fields import (
    LABEL_PREFIX,
    NULL,
    join_labels,
    remove_labels,
)
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError, number_of
from nbtext.output import Writer
from nbtext.records import Strings, frozen

PREFIX_HINT = "--column-prefix predicted_ gives the new ones other names"
JSON_LINES_HINT = "write JSON lines: -o FILE.jsonl"
APART_HINT = "write the rows of each file to a file of its own"
JSON_BLANKS = " \t\r\n"
LINE_ENDS = "\r\n"

NewLabel = str | list[str]  # one label, or several

_spaced_key = re.compile(r'\{\s*+"(?:[^"\\]|\\.)*+"\s*+:\s')
_pairs = json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str)


class Column(NamedTuple):
    """A column that is added to rows.

    Attributes
    ----------
    name : str
    kind : str
        text, number or boolean; or what is nested: labels and numbers (lists), scores
        (probabilities by label) or contributions (features with log-odds).
    values : sequence
        One for each row; None stands for a missing value.
    cells : callable
        Returns a value as text, for a format whose values are texts.
    """

    name: str
    kind: str
    values: Sequence[Any]
    cells: Callable[[Any], str]


class ChangedRows(NamedTuple):
    """Some rows of a source, and what becomes of them.

    Attributes
    ----------
    rows : TextRows, ArrowRows or SqlRows
    flat : sequence of Column
        The columns that are added, for a format whose values are texts and numbers.
    nested : sequence of Column
        The same for a format whose values may be lists.
    labels : mapping of int to str, list of str or None
        The new label of some rows; None removes the row.
    """

    rows: Any
    flat: Sequence[Column] = ()
    nested: Sequence[Column] = ()
    labels: Mapping[int, NewLabel | None] = {}


@frozen
class OutputTarget:
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

    def refuse_terminal(self) -> None:
        """Raise SettingsError if people would see a binary format."""
        if self.is_terminal:
            raise SettingsError(
                "the result is binary, and standard output is a terminal",
                where="-o",
                hint="write it to a file with -o",
            )


def check_new(
    columns: Iterable[Column], names: Collection[str], where: str = "", kind: str = "column"
) -> None:
    """Raise InputError if a column that is added is there already.

    kind  what the format has: columns or keys
    """
    for column in columns:
        if column.name in names:
            raise InputError(
                f"there is a {kind} `{column.name}` already", where=where, hint=PREFIX_HINT
            )


@frozen
class TextRows:
    """Rows of a text file. These are lines of fastText's format; subclasses have rows of other
    formats.

    Attributes
    ----------
    format : str
    path : str
        The file, for errors.
    encoding : Encoding
    rows : sequence of Row
    tail : str
        The text after the last row of the file.
    newline : str
        The line end of the file.
    is_start : bool
        Whether these are the first rows of the file.
    bom : bytes
        The byte order mark of the file.
    """

    format: str
    path: str
    encoding: Encoding
    rows: Sequence[Row]
    tail: str
    newline: str = "\n"
    is_start: bool = False
    bom: bytes = b""

    def slice(self, start: int, stop: int) -> Self:
        """Return some rows."""
        return replace(
            self,
            rows=self.rows[start:stop],
            tail=self.tail if stop >= len(self.rows) else "",
            is_start=self.is_start and start == 0,
        )

    @property
    def layout(self) -> tuple[Any, ...]:
        """What is the same in files whose rows can be written to one file."""
        return self.encoding.codec, self.newline

    def fields(self, row: int) -> dict[str, Any] | None:
        """Return the values of a row by column or key; None if the format has none."""
        return None

    def write_head(self, changed: ChangedRows) -> str:
        """Return the text before the first row of a file."""
        return str(self.rows[0].gap) if self.rows else self.tail

    def write_row(
        self, row: int, added: Sequence[Any], changed: ChangedRows, settings: InputSettings
    ) -> str:
        """Return the text of a row, with the values of columns added and its new label.

        Raises
        ------
        InputError
            The format cannot hold the label.
        """
        content, end = split_end(self.rows[row].text)
        label = changed.labels.get(row)
        if label is None:
            return content + end
        labels = label if isinstance(label, list) else [label]
        if unfit := [each for each in labels if not each or any(map(str.isspace, each))]:
            raise InputError(
                f"the label {unfit[0]!r} is empty or contains a space, which the fastText format does not allow",
                hint=JSON_LINES_HINT,
            )
        words = [f"{LABEL_PREFIX}{each}" for each in labels]
        if rest := remove_labels(content):
            words.append(rest)
        return " ".join(words) + end


def split_end(text: str) -> tuple[str, str]:
    """Return the text of a row without its line end, and that."""
    content = text.removesuffix("\n").removesuffix("\r")
    return content, text[len(content) :]


@frozen
class ObjectRows(TextRows):
    """Objects of JSON lines or of a JSON array."""

    def fields(self, row: int) -> dict[str, Any] | None:
        """Return the values of an object by key."""
        found: dict[str, Any] = json.loads(self.encoding.repair(self.rows[row].text))
        return found

    def write_row(
        self, row: int, added: Sequence[Any], changed: ChangedRows, settings: InputSettings
    ) -> str:
        """Return the text of an object, with keys added at its end, and with its new label.

        Raises
        ------
        InputError
            An object has one of the keys or equal keys, or the row is not an object.
        """
        text, end = split_end(self.rows[row].text)
        if not text.lstrip(JSON_BLANKS).startswith("{"):
            raise InputError("expected an object", hint="each row is one object")
        try:
            names = [name for name, _ in _pairs.decode(text)]
        except (ValueError, RecursionError):
            raise InputError("broken JSON", hint="each row is one object") from None
        for name, number in Counter(names).items():
            if number > 1:
                raise InputError(
                    f"the object has several keys `{name}`", hint="give each value a key of its own"
                )
        check_new(changed.nested, names, kind="key")
        values = {column.name: value for column, value in zip(changed.nested, added, strict=True)}
        comma, colon = (", ", ": ") if _spaced_key.match(text.lstrip(JSON_BLANKS)) else (",", ":")

        def dump(value: Any) -> str:
            is_ascii = not self.encoding.codec.startswith(UNICODE)
            return escape_surrogates(
                json.dumps(value, ensure_ascii=is_ascii, allow_nan=False, separators=(comma, colon))
            )

        label = changed.labels.get(row)
        if label is not None:
            places = _find_values(text)
            name = settings.label_field
            is_list = name in places and text.startswith("[", places[name][0])
            labels = name_labels(label, settings, is_list=is_list)
            for key in sorted(labels.keys() & places.keys(), key=places.__getitem__, reverse=True):
                start, stop = places[key]
                text = text[:start] + dump(labels[key]) + text[stop:]
            values |= {key: value for key, value in labels.items() if key not in places}
        if not values:
            return text + end
        body = text.rstrip(JSON_BLANKS)[:-1].rstrip(JSON_BLANKS)  # without the closing brace
        return body + (comma if names else "") + dump(values)[1:-1] + text[len(body) :] + end


@frozen
class TableRows(TextRows):
    """Rows of a CSV or TSV file.

    Attributes
    ----------
    separator : str
    names : tuple of str
        The names of the columns of the file; their numbers if it has no header.
    header : str, optional
        The header with its line end and the text before it, if there is one.
    is_quoted : bool
        Whether all cells are quoted.
    is_escaped : bool
        Whether a backslash makes an ordinary character of the next one.
    is_plain : bool
        Whether quotes are ordinary characters, so that no cell is quoted.
    """

    separator: str = ","
    names: Strings = ()
    header: str | None = None
    is_quoted: bool = False
    is_escaped: bool = False
    is_plain: bool = False

    @property
    def layout(self) -> tuple[Any, ...]:
        """What is the same in files whose rows can be written to one file."""
        has_header = self.header is not None
        return self.encoding.codec, self.newline, self.separator, self.names, has_header

    def fields(self, row: int) -> dict[str, Any] | None:
        """Return the cells of a row by column; by its number if the table has no header."""
        return dict(
            zip(self.names, map(self.encoding.repair, self.rows[row].columns), strict=False)
        )

    def write_head(self, changed: ChangedRows) -> str:
        """Return the header with the names of columns added, and what is around it.

        Raises
        ------
        InputError
            There is a column of one of the names.
        """
        gap = TextRows.write_head(self, changed)
        if self.header is None:
            return gap
        n_before = self.header.rstrip(LINE_ENDS).count("\n")
        check_new(changed.flat, self.names, f"{self.path}:{1 + n_before}")
        content, end = split_end(self.header)
        names = [self._quote(escape_surrogates(column.name)) for column in changed.flat]
        return self.separator.join([content, *names]) + end + gap

    def write_row(
        self, row: int, added: Sequence[Any], changed: ChangedRows, settings: InputSettings
    ) -> str:
        """Return the text of a row with cells added, and with its new label; a short row is filled
        up.

        Raises
        ------
        InputError
            The row has more cells than the header, no cell for the label, or the label does not fit
            into one.
        """
        text, end = split_end(self.rows[row].text)
        cells = list(self.rows[row].columns)
        width = len(self.names)
        label = changed.labels.get(row)
        if label is not None:
            names = [name.strip() for name in self.names]
            for name, value in name_labels(label, settings, is_list=False).items():
                places = [place for place, each in enumerate(names) if each == name]
                if not places or places[-1] >= len(cells):
                    raise InputError(
                        f"the row has no value in the column `{name}`", hint=JSON_LINES_HINT
                    )
                values = value if isinstance(value, list) else [str(value)]
                if len(values) > len(places) or len(places) == 1 != len(values):
                    raise InputError(
                        f"{number_of(len(values), 'label')} cannot be written to {number_of(len(places), 'column')}",
                        hint="give --label-separator, or relabel with one label",
                    )
                cells_of_labels = values + [""] * (len(places) - len(values))
                for place, each in zip(places, cells_of_labels, strict=True):
                    cells[place] = each
        # a later row that is written anew could close a quote that is not closed
        has_quote = self.is_escaped and any(cell.lstrip(" ")[:1] == '"' for cell in cells)
        if label is not None or has_quote:
            text = self.join(cells)
        if not changed.flat:
            return text + end
        if any(cells[width:]):
            raise InputError(
                f"the row has {len(cells) - width} more columns than the header",
                hint="remove its last columns, or give them names",
            )
        values = [
            escape_surrogates(column.cells(value))
            for column, value in zip(changed.flat, added, strict=True)
        ]
        new = [*[""] * (width - len(cells)), *values]
        quoted = list(map(self._quote, new))
        if len(cells) > width or self._is_open(text, cells, quoted):
            return self.join([*cells[:width], *new]) + end
        return self.separator.join([text, *quoted]) + end

    def _is_open(self, text: str, cells: Sequence[str], added: Sequence[str]) -> bool:
        """Return whether a cell of a row could be read in another way if `added` follows."""
        if self.is_escaped:
            return (len(text) - len(text.rstrip("\\"))) % 2 == 1
        if self.is_plain or '"' not in "".join(added):
            return False
        pattern = ' *"'
        if self.format == "csv":
            pattern = ' +"'
            try:  # a row with text after a quote that is closed was read in another way
                any(csv.reader([text], delimiter=self.separator, strict=True))
            except csv.Error:
                return True
        return any(re.match(pattern, cell) for cell in cells)

    def join(self, cells: Sequence[str]) -> str:
        """Return the text of a row as csv.writer writes it, which takes 20 times as long: it looks
        at each character.

        In TSV, a quote is an ordinary character unless it begins a cell, or follows its blanks;
        see `tables.TsvReader`.
        """
        if len(cells) == 1 and not cells[0]:
            return '""'  # not a blank line
        text = self.separator.join(map(self._quote, cells))
        is_clear = self.is_quoted or self.is_escaped or self.is_plain or self.format == "tsv"
        if not is_clear and re.search(rf'(?:^|{re.escape(self.separator)}) +"', text):
            return replace(self, is_quoted=True).join(cells)
        return text

    def _quote(self, cell: str) -> str:
        if self.is_escaped:
            return self._escape(cell)
        if self.is_plain:
            if any(mark in cell for mark in (self.separator, "\n", "\r")):
                raise InputError(
                    f"no column can hold {cell!r}, because none is quoted",
                    hint="leave out --escape none, or write JSON lines",
                )
            return cell
        has_quotes = cell.lstrip(" ").startswith('"') if self.format == "tsv" else '"' in cell
        if self.is_quoted or has_quotes or self.separator in cell or "\n" in cell or "\r" in cell:
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def _escape(self, cell: str) -> str:
        if cell is NULL:
            return "\\N"
        special = '\\"' if self.is_quoted or self.format == "csv" else f"\\{self.separator}\n"
        text = re.sub(f"[{re.escape(special)}]", r"\\\g<0>", cell)
        text = text if self.format == "csv" else text.replace("\r", "\\r")
        if self.is_quoted or (
            self.format == "csv" and re.search(f'[{re.escape(self.separator)}"\r\n]', cell)
        ):
            return f'"{text}"'
        return f"\\{text}" if text.lstrip(" ").startswith('"') else text


def write_text(
    changed: Iterable[ChangedRows], target: OutputTarget, settings: InputSettings
) -> None:
    """Write rows of text files one after the other, with the header and the byte order mark of the
    first file.

    Raises
    ------
    InputError
        A row cannot be changed, a character is not in the encoding of the file, or several files
        differ in their columns, line ends or encoding.
    """
    first: TextRows | None = None
    mark = b""
    is_ended = True
    # whether the next row is the first one of its file that is written: its gap is in the head
    is_first_row = False
    with target.open() as file:
        for each in changed:
            rows = each.rows
            assert isinstance(rows, TextRows)
            parts: list[bytes] = []

            def encode(line: int, text: str, rows: TextRows = rows) -> bytes:
                try:
                    return rows.encoding.encode(text)
                except UnicodeEncodeError as error:
                    what = f"{text[error.start]!r} cannot be written in the encoding of the file"
                    what += f", {rows.encoding.codec}"
                    raise InputError(
                        what, where=f"{rows.path}:{line}", hint="convert the file to UTF-8 first"
                    ) from None

            if rows.is_start:
                is_first_row = True
                if first is None:
                    first = rows
                    mark = rows.bom
                    parts.append(encode(1, rows.write_head(each)))
                elif rows.format == "json":
                    raise InputError(
                        "a .json file is one array, and several arrays cannot be written to one file",
                        where=rows.path,
                        hint=APART_HINT,
                    )
                elif rows.layout != first.layout:
                    raise InputError(
                        f"its columns, separator, encoding or line ends are not those of {first.path}",
                        where=rows.path,
                        hint=APART_HINT,
                    )
            columns = each.nested if isinstance(rows, ObjectRows) else each.flat
            values = (
                zip(*(column.values for column in columns), strict=True)
                if columns
                else [()] * len(rows.rows)
            )
            for row, added in enumerate(values):
                if each.labels.get(row, "") is None:
                    continue
                kept = rows.rows[row]
                try:
                    text = rows.write_row(row, added, each, settings)
                except InputError as error:
                    raise error.locate(f"{rows.path}:{kept.first_line}") from None
                gap = "" if is_first_row else kept.gap
                parts.append(encode(kept.first_line, gap + text))
                is_first_row = False
            if rows.rows or not rows.is_start:
                parts.append(encode(1, rows.tail))
            if any(parts):
                if not is_ended:
                    parts.insert(0, encode(1, rows.newline))
                file.write(mark + b"".join(parts))
                mark = b""
                is_ended = b"".join(parts[-2:]).endswith(encode(1, "\n"))
            file.flush()


def escape_surrogates(text: str) -> str:
    """Return a text in which each lone surrogate is an escape sequence, which is one of JSON,
    too.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _find_values(text: str, start: int = 0, prefix: str = "") -> dict[str, tuple[int, int]]:
    """Return the first and the last place of the value of each key of an object of JSON, which is
    valid.

    Keys of objects in it are named as in `find_value`: `data.text`.
    """
    places: dict[str, tuple[int, int]] = {}
    nested: dict[str, tuple[int, int]] = {}

    def skip(place: int) -> int:
        while text[place] in JSON_BLANKS:
            place += 1
        return place

    place = skip(skip(start) + 1)
    while text[place] != "}":
        key, place = _pairs.raw_decode(text, place)
        start = skip(skip(place) + 1)
        _, place = _pairs.raw_decode(text, start)
        places[prefix + key] = start, place
        if text[start] == "{":
            nested = _find_values(text, start, f"{prefix}{key}.") | nested
        place = skip(place)
        if text[place] == ",":
            place = skip(place + 1)
    return nested | places


def name_labels(label: NewLabel, settings: InputSettings, *, is_list: bool) -> dict[str, Any]:
    """Return the value of each field that holds a label.

    is_list  whether the field holds a list of labels now
    raises   InputError: the label has no column
    """
    labels = label if isinstance(label, list) else [label]
    if settings.label_fields:
        fields = settings.indicator_labels
        if unknown := sorted(set(labels) - set(fields.values())):
            raise InputError(
                f"the label {unknown[0]!r} has no column", hint="name it in --label-fields"
            )
        return {field: int(name in labels) for field, name in fields.items()}
    if isinstance(label, list) and settings.label_separator is not None:
        return {settings.label_field: join_labels(label, settings.label_separator)}
    return {settings.label_field: [label] if is_list and isinstance(label, str) else label}


def read_fields(rows: Any, row: int) -> dict[str, Any] | None:
    """Return all fields of a row for a line of JSON; None if the rows are not kept, or have no
    fields.

    Raises
    ------
    InputError
        JSON cannot hold a value.
    """
    if isinstance(rows, TableRows) and rows.header is None:
        return None
    values = rows.fields(row) if rows is not None else None
    for name, value in (values or {}).items():
        try:
            values[name] = _plain(value)  # type: ignore[index]
        except TypeError:
            raise InputError(
                f"JSON cannot hold the value of the column `{name}`, whose type is {type(value).__name__}",
                where=rows.path if rows is not None else "",
                hint="write the format of SOURCE, or read without this column",
            ) from None
    return values


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: a date as a text, NaN as null; TypeError for bytes and the
    like.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, date | time | Decimal):
        return value.isoformat() if isinstance(value, date | time) else str(value)
    raise TypeError
