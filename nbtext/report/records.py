"""Results as text: rows for TSV, CSV and Markdown, JSON, and one record for each prediction.

Conventions of all commands:

* TSV has no header line. CSV has one. Both end lines with a newline character.
* TSV writes a tab, newline, carriage return or backslash within a field as an escape (``\\t``).
* Labels that are joined have a backslash before each separator and backslash within a label. TSV escapes it only once.
* JSON never holds NaN or infinity: such a number is null.
* Output is UTF-8. Bytes of file names that are not UTF-8 are written as escapes (``\\udcff``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import Any, TypeVar

from nbtext.errors import printable
from nbtext.output import Writer

OUTPUT_FORMATS = ("table", "tsv", "csv", "jsonl", "json", "markdown")
HEADER = "header"  # of a mail, only for predictions
FASTTEXT = "fasttext"  # only for predictions
PREDICTION_FORMATS = (*OUTPUT_FORMATS, HEADER, FASTTEXT)
DIGITS = 6  # decimals of a number in a field
TSV_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
TSV_SPECIAL, JOINED_SPECIAL, MARKDOWN_SPECIAL = r"[\\\t\n\r]", r"[\t\n\r]", r"([\\`*_{}\[\]<>#|])"

Item = TypeVar("Item")
Row = Sequence[str | int | float | None]


class JoinedLabels(str):
    """Labels that `join_labels` has joined: their backslashes are escapes."""

    __slots__ = ()


def tsv_field(text: str) -> str:
    """Escape text for one field of TSV."""
    special = JOINED_SPECIAL if isinstance(text, JoinedLabels) else TSV_SPECIAL
    return re.sub(special, lambda match: TSV_ESCAPES[match[0]], text)


def markdown_field(text: str) -> str:
    """Escape text for one cell of a Markdown table."""
    return re.sub(MARKDOWN_SPECIAL, r"\\\1", printable(text))


def field_text(value: str | int | float | None) -> str:
    """Format a value for a field: six decimals, and nothing for None."""
    if value is None:
        return ""
    return f"{value:.{DIGITS}f}" if isinstance(value, float) else value if isinstance(value, str) else str(value)


def format_rows(columns: Sequence[str], rows: Iterable[Row], *, output_format: str) -> str:
    """Format a whole table as tsv, csv or markdown."""
    return _header(columns, output_format) + _lines(rows, output_format)


def format_repeated(name: str, together: float, separate: float) -> str:
    """Format both estimates of a metric where they differ."""
    return f"{name} {together:.4f} for new texts, {separate:.4f} if texts repeat as they do here"


def format_json(value: Any, *, output_format: str = "json") -> str:
    """Format a dictionary or a dataclass as JSON: indented for json, on one line for jsonl."""
    return _json(value if isinstance(value, dict) else asdict(value), 2 if output_format == "json" else None) + "\n"


def join_labels(labels: Sequence[str], separator: str = ",") -> JoinedLabels:
    """Join labels by a separator, with a backslash before each separator and backslash within a label."""
    escaped = (label.replace("\\", "\\\\").replace(separator, "\\" + separator) for label in labels)
    return JoinedLabels(separator.join(escaped))


def format_records(
    items: Iterable[Item],
    *,
    output_format: str,
    columns: Sequence[str],
    rows: Callable[[Item], Iterable[Row]],
    records: Callable[[Item], Iterable[dict[str, Any]]],
    table: Callable[[Item], str],
) -> Iterator[str]:
    """Format a stream of items, each as soon as it arrives.

    Parameters
    ----------
    columns : Sequence[str]
        Names of the fields that `rows` yields.
    rows : Callable[[Item], Iterable[Row]]
        The rows of an item, for tsv, csv and markdown.
    records : Callable[[Item], Iterable[dict[str, Any]]]
        The records of an item, for jsonl and json.
    table : Callable[[Item], str]
        The lines of an item for a terminal.
    """
    if output_format == "table":
        yield from map(table, items)
    elif output_format == "jsonl":
        for item in items:
            yield "".join(_json(record) + "\n" for record in records(item))
    elif output_format == "json":
        separator = "[\n"
        for item in items:
            for record in records(item):
                yield separator + _json(record)
                separator = ",\n"
        yield "\n]\n" if separator == ",\n" else "[]\n"
    else:
        yield _header(columns, output_format)
        for item in items:
            yield _lines(rows(item), output_format)


def write_text(texts: Iterable[str], file: Writer) -> None:
    """Write texts as UTF-8, and flush after each."""
    for text in texts:
        file.write(text.encode("utf-8", "backslashreplace"))
        file.flush()


def _json(value: Any, indent: int | None = None) -> str:
    encode = _encoder(indent)
    try:
        return encode(value)
    except ValueError:  # JSON has no NaN and no infinity
        return encode(finite(value))


@cache
def _encoder(indent: int | None) -> Callable[[Any], str]:
    import json

    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=indent).encode


def finite(value: Any) -> Any:
    """Replace numbers that JSON cannot hold by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list | tuple) else value


def _header(columns: Sequence[str], output_format: str) -> str:
    if output_format == "tsv":
        return ""
    return _lines([columns], output_format) + (f"{'|---' * len(columns)}|\n" if output_format == "markdown" else "")


def _lines(rows: Iterable[Row], output_format: str) -> str:
    texts: list[Any] = list(rows)
    if not set(map(type, chain.from_iterable(texts))) <= {str, JoinedLabels}:
        texts = [list(map(field_text, row)) for row in texts]
    if output_format == "csv":
        import csv

        lines: list[str] = []
        # a writer whose line end is \n would not quote a field that holds \r (before Python 3.13)
        csv.writer(SimpleNamespace(write=lines.append)).writerows(texts)
        return "".join(line.removesuffix("\r\n") + "\n" for line in lines)
    if output_format == "markdown":
        return "".join(f"| {' | '.join(map(markdown_field, row))} |\n" for row in texts)
    text, n_tabs = "\n".join([*map("\t".join, texts), ""]), sum(map(len, texts)) - len(texts)
    if text.count("\n") == len(texts) and text.count("\t") == n_tabs and "\\" not in text and "\r" not in text:
        return text  # no field needs an escape: this check is much faster than one for each field
    return "".join("\t".join(map(tsv_field, row)) + "\n" for row in texts)
