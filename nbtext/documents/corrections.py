"""Rows of text files with another label, or without some rows; all other bytes stay as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

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


class CorrectedRows(NamedTuple):
    """Some rows of a source, and what becomes of them.

    Attributes
    ----------
    rows : TextRows
        Of a format that has a corrector.
    labels : mapping of int to str, list of str or None
        The new label of some rows; None removes the row. All other rows stay.
    """

    rows: TextRows
    labels: Mapping[int, NewLabel | None]


def write_corrections(corrected: Iterable[CorrectedRows], target: Target, settings: InputSettings) -> None:
    """Write the rows of sources of one format after some corrections.

    Raises
    ------
    InputError
        A label cannot be written, or the sources differ in their columns, line ends or encoding.
    """
    from nbtext.documents.formats import FORMATS

    def correct(rows: TextRows, each: CorrectedRows, first: TextRows) -> list[bytes]:
        return _correct_rows(rows, each, first, FORMATS[rows.format].load_corrector(), settings)

    write_rows(((each.rows, each) for each in corrected), target, correct)


def _correct_rows(
    rows: TextRows,
    corrected: CorrectedRows,
    first: TextRows,
    correct: Callable[[str, NewLabel, TextRows, InputSettings], str],
    settings: InputSettings,
) -> list[bytes]:
    """Return the lines of some rows; the header of a table is written once, before the rows of the first file."""
    header_end = rows.header_end if isinstance(rows, TableRows) else None
    start = 0 if header_end is None else header_end + 1
    lines = rows.lines[:start] if rows is first else []
    for row, end in enumerate(rows.ends):
        own = rows.lines[start : end + 1]
        if row not in corrected.labels:
            lines += own
        elif (label := corrected.labels[row]) is not None:
            lines.append(_correct_row(own, end, label, rows, correct, settings))
        start = end + 1
    return lines + rows.lines[start:]


def _correct_row(
    lines: list[bytes],
    end: int,
    label: NewLabel,
    rows: TextRows,
    correct: Callable[[str, NewLabel, TextRows, InputSettings], str],
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
    values: dict[str, Any] = {name: label}
    if settings.label_fields:
        values = dict(_indicators(label, settings.label_fields))
    elif isinstance(label, list) and settings.label_separator is not None:
        values = {name: settings.label_separator.join(label)}
    elif isinstance(label, str) and name in spans and row.startswith("[", spans[name][0]):
        values = {name: [label]}
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


def read_cells(rows: TextRows, row: int) -> dict[str, str] | None:
    """Return the cells of a row by column; None if the rows are not of a table with a header."""
    if not isinstance(rows, TableRows) or not rows.has_header:
        return None
    first = rows.ends[row - 1] + 1 if row else (rows.header_end or 0) + (rows.header_end is not None)
    text = rows.newline.join(rows.lines[first : rows.ends[row] + 1]).decode(rows.encoding.codec, "replace")
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
