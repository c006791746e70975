"""Rows of text files with another label, or without some rows; all other bytes stay as they are."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from itertools import chain
from typing import Any, NamedTuple, Protocol, cast

from nbtext.documents.batch import Rows
from nbtext.documents.lines import LABEL_PREFIX, match_label
from nbtext.documents.rows import (
    JSON_BLANKS,
    UNICODE,
    TableRows,
    Target,
    TextRows,
    is_spaced_object,
    quote_cell,
    write_rows,
)
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, number_of

NewLabel = str | list[str]  # one label, or several
Span = tuple[int, int]  # of characters

_before_item = re.compile(r"[ \t\r\n]*[\[,]?[ \t\r\n]*")  # in a piece of a JSON array


class CorrectedRows(NamedTuple):
    """Some rows of a source, and what becomes of them.

    Attributes
    ----------
    rows : Rows
        Of a format that has a corrector.
    labels : mapping of int to str, list of str or None
        The new label of some rows; None removes the row. All other rows stay.
    """

    rows: Rows
    labels: Mapping[int, NewLabel | None]


class RecordRows(Rows, Protocol):
    """Rows whose columns have types."""

    def fields(self, row: int) -> dict[str, Any]:
        """Return the values of all columns of a row."""
        ...


Corrector = Callable[[str, NewLabel, TextRows, InputSettings], str]


def write_corrections(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write the rows of sources of one format, which has a corrector, after some corrections.

    Raises
    ------
    InputError
        A label cannot be written, or the sources differ in their columns, line ends or encoding.
    """
    from nbtext.documents.formats import FORMATS

    rest = iter(corrected)
    first = next(rest)
    FORMATS[first.rows.format].load_corrector()(chain((first,), rest), target, settings)


def write_objects(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write JSON lines after some corrections; see `write_corrections`."""
    _write_text(corrected, target, settings, correct_object)


def write_tables(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write CSV or TSV after some corrections; see `write_corrections`."""
    _write_text(corrected, target, settings, correct_cells)


def write_fasttext(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write lines of fastText after some corrections; see `write_corrections`."""
    _write_text(corrected, target, settings, correct_fasttext)


def write_array(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write a JSON array after some corrections; see `write_corrections`. A removed item takes its comma with it."""
    start: str | None = None  # of the array, until the first item is written

    def correct(rows: TextRows, each: CorrectedRows, _: TextRows) -> list[bytes]:
        nonlocal start
        codec, lines, n = rows.encoding.codec, list[bytes](), len(rows.ends)
        for row, piece in enumerate(rows.lines[:n]):
            found = _before_item.match(piece.decode(codec, "surrogateescape"))
            before = found.group() if found else ""
            start = before if "[" in before else start
            item, label = piece[len(before.encode(codec)) :], each.labels.get(row, "")
            if label is None:
                continue
            if row in each.labels:
                item = _correct_row([item], row, label, rows, correct_object, settings)
            lines.append((before if start is None else start).encode(codec) + item)
            start = None
        if start is not None and rows.lines[n:]:  # no item is left
            lines.append(start.encode(codec))
        return lines + rows.lines[n:]

    write_rows(((each.rows, each) for each in corrected), target, correct)


def _write_text(
    corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings, corrector: Corrector
) -> None:
    def correct(rows: TextRows, each: CorrectedRows, first: TextRows) -> list[bytes]:
        return _correct_rows(rows, each, first, corrector, settings)

    write_rows(((each.rows, each) for each in corrected), target, correct)


def _correct_rows(
    rows: TextRows,
    corrected: CorrectedRows,
    first: TextRows,
    correct: Corrector,
    settings: InputSettings,
) -> list[bytes]:
    """Return the lines of some rows; the header of a table is written once, before the rows of the first file."""
    header_end = rows.header_end if isinstance(rows, TableRows) else None
    start = 0 if header_end is None else header_end + 1
    lines = rows.lines[:start] if rows is first else []
    for row, end in enumerate(rows.ends):
        if row not in corrected.labels:
            lines += rows.lines[start : end + 1]
        elif (label := corrected.labels[row]) is not None:
            begin = rows.begin(row)
            row_lines = rows.lines[begin : end + 1]
            lines += [*rows.lines[start:begin], _correct_row(row_lines, end, label, rows, correct, settings)]
        start = end + 1
    return lines + rows.lines[start:]


def _correct_row(
    lines: list[bytes],
    end: int,
    label: NewLabel,
    rows: TextRows,
    correct: Corrector,
    settings: InputSettings,
) -> bytes:
    """Return a row with another label; bytes that are not text in its encoding stay."""
    codec, place = rows.encoding.codec, rows.first_line + end
    row = rows.newline.join(lines)
    try:
        changed = correct(row.decode(codec, "surrogateescape"), label, rows, settings)
        return changed.encode(codec, "surrogateescape")
    except InputError as error:
        raise error.locate(f"{rows.path}:{place}") from None
    except UnicodeError:
        what = f"the label cannot be written in the encoding of the file, {codec}"
        hint = "convert the file to UTF-8 first"
        raise InputError(what, where=f"{rows.path}:{place}", hint=hint) from None


def correct_object(row: str, label: NewLabel, rows: TextRows, settings: InputSettings) -> str:
    """Return an object of JSON with another label; a key is added if it has none."""
    spans, end = _find_values(row)
    is_ascii = not rows.encoding.codec.startswith(UNICODE)
    name = settings.label_field
    values = name_labels(label, settings, is_list=name in spans and row.startswith("[", spans[name][0]))
    added = {key: value for key, value in values.items() if key not in spans}
    comma, colon = (", ", ": ") if is_spaced_object(row) else (",", ":")
    if added:
        text = json.dumps(added, ensure_ascii=is_ascii, separators=(comma, colon))[1:-1]
        body = row[:end].rstrip("".join(JSON_BLANKS))
        row = body + ("" if body.endswith("{") else comma) + text + row[len(body) :]
    for key in sorted(values.keys() & spans.keys(), key=spans.__getitem__, reverse=True):
        start, stop = spans[key]
        row = row[:start] + json.dumps(values[key], ensure_ascii=is_ascii, separators=(comma, colon)) + row[stop:]
    return row


def name_labels(label: NewLabel, settings: InputSettings, *, is_list: bool) -> dict[str, Any]:
    """Return the value of each field that holds a label.

    is_list  whether the field holds a list of labels now
    """
    if settings.label_fields:
        return dict(_indicators(label, settings.label_fields))
    if isinstance(label, list) and settings.label_separator is not None:
        return {settings.label_field: settings.label_separator.join(label)}
    return {settings.label_field: [label] if is_list and isinstance(label, str) else label}


def _find_values(row: str) -> tuple[dict[str, Span], int]:
    """Return the place of the value of each key of an object, the last one of equal keys, and that of its end."""
    decoder, blanks = json.JSONDecoder(), "".join(JSON_BLANKS)
    spans: dict[str, Span] = {}

    def skip(place: int) -> int:
        while row[place] in blanks:
            place += 1
        return place

    place = skip(skip(0) + 1)
    while row[place] != "}":
        key, place = decoder.raw_decode(row, place)
        start = skip(skip(place) + 1)
        _, place = decoder.raw_decode(row, start)
        spans[key] = start, place
        place = skip(place)
        if row[place] == ",":
            place = skip(place + 1)
    return spans, place


def _indicators(label: NewLabel, names: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return 1 for each column of a label, and 0 for the others."""
    labels = label if isinstance(label, list) else [label]
    if unknown := sorted(set(labels) - set(names)):
        raise InputError(f"the label {unknown[0]!r} has no column", hint="name it in --label-fields")
    return [(name, int(name in labels)) for name in names]


def correct_cells(row: str, label: NewLabel, rows: TextRows, settings: InputSettings) -> str:
    """Return a row of a table with another label in the cell of its label column."""
    assert isinstance(rows, TableRows)
    names = [name.strip() for name in rows.names]
    values: list[tuple[str, Any]] = [(settings.label_field, label)]
    if settings.label_fields:
        values = list(_indicators(label, settings.label_fields))
    elif isinstance(label, list):
        if settings.label_separator is None and len(label) != 1:
            hint = "give --label-separator, or relabel with one label"
            raise InputError(f"{number_of(len(label), 'label')} cannot be written to one column", hint=hint)
        values = [(settings.label_field, (settings.label_separator or "").join(label))]
    spans = split_cells(row, rows.separator, is_tsv=rows.format == "tsv")
    placed = []
    for name, value in values:
        place = names.index(name) if name in names else -1
        if not 0 <= place < len(spans):
            raise InputError(f"the row has no value in the column `{name}`", hint="write JSON lines: -o FILE.jsonl")
        placed.append((spans[place], str(value)))
    for (start, stop), value in sorted(placed, reverse=True):
        row = row[:start] + quote_cell(value, rows.separator) + row[stop:]
    return row


def split_cells(row: str, separator: str, *, is_tsv: bool = False) -> list[Span]:
    """Return the place of each cell of a row, which may have quotes and line ends in quotes.

    is_tsv  whether a quote at the beginning of a cell quotes it only if another one is at its end
    """
    end = len(row.rstrip("\r\n")) if row[-1:] in ("\r", "\n") else len(row)
    spans, start = [], 0
    while start <= end:
        stop = _end_of_cell(row, start, end, separator, is_tsv)
        spans.append((start, stop))
        start = stop + len(separator)
    return spans


def _end_of_cell(row: str, start: int, end: int, separator: str, is_tsv: bool) -> int:
    """Return where the cell ends that begins at `start`."""
    place = start
    if row.startswith('"', start):
        place = start + 1
        while place < end:
            if row[place] != '"':
                place += 1
            elif row.startswith('""', place) and place + 1 < end:
                place += 2
            else:
                break
        is_closed, place = place < end, place + 1
        if is_tsv and not (is_closed and (place == end or row.startswith(separator, place))):
            place = start
    found = row.find(separator, min(place, end), end)
    return found if found >= 0 else end


def read_fields(rows: Rows | None, row: int) -> dict[str, Any] | None:
    """Return all fields of a row for a line of JSON; None if the rows are not kept, or have no fields.

    Raises
    ------
    InputError
        JSON cannot hold a value.
    """
    from nbtext.documents.formats import FORMATS

    if isinstance(rows, TableRows):
        return _read_cells(rows, row)
    if isinstance(rows, TextRows):
        if not FORMATS[rows.format].has_fields:
            return None
        text = _text_of(rows, row)
        if rows.format == "json":
            text = _before_item.sub("", text, count=1)
        fields: dict[str, Any] = json.loads(text)
        return fields
    if rows is None:
        return None
    values = cast("RecordRows", rows).fields(row)
    for name, value in values.items():
        try:
            values[name] = _plain(value)
        except TypeError:
            what = f"JSON cannot hold the value of the column `{name}`, whose type is {type(value).__name__}"
            hint = "write the format of SOURCE, or read without this column"
            raise InputError(what, where=rows.path, hint=hint) from None
    return values


def _text_of(rows: TextRows, row: int) -> str:
    """Return a row, without the line end after it."""
    return rows.newline.join(rows.lines[rows.begin(row) : rows.ends[row] + 1]).decode(rows.encoding.codec, "replace")


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: a date as a text, NaN as null; TypeError for bytes and the like."""
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


def _read_cells(rows: TableRows, row: int) -> dict[str, Any] | None:
    """Return the cells of a row by column; None if the table has no header."""
    if not rows.has_header:
        return None
    text = _text_of(rows, row)
    spans = split_cells(text, rows.separator, is_tsv=rows.format == "tsv")
    return {name: _unquote(text[start:stop]) for name, (start, stop) in zip(rows.names, spans, strict=False)}


def _unquote(cell: str) -> str:
    is_quoted = len(cell) > 1 and cell.startswith('"') and cell.endswith('"')
    return cell[1:-1].replace('""', '"') if is_quoted else cell


def correct_fasttext(row: str, label: NewLabel, rows: TextRows, settings: InputSettings) -> str:
    """Return a line of fastText with other labels, in the place of its first one, or at its beginning."""
    labels = label if isinstance(label, list) else [label]
    if unfit := [each for each in labels if not each or any(map(str.isspace, each))]:
        hint = "write JSON lines: -o FILE.jsonl"
        what = f"the label {unfit[0]!r} is empty or contains a space, which the fastText format does not allow"
        raise InputError(what, hint=hint)
    text = "".join(f"{LABEL_PREFIX}{each} " for each in labels)
    spans = [found.span() for found in match_label(row)]
    if not spans:
        return text + row
    for start, stop in reversed(spans[1:]):
        row = row[:start] + row[stop:]
    start, stop = spans[0]
    if not row[start:stop][-1:].isspace():  # the line has no text
        text = text[:-1]
    elif text:
        text = text[:-1] + row[stop - 1]
    return row[:start] + text + row[stop:]
