"""The formats of results: fields of TSV, CSV and Markdown, and JSON.

Conventions of all commands:

* TSV has no header line. CSV has one. Both end lines with a newline character.
* TSV writes a tab, newline, carriage return or backslash within a field as an escape (``\\t``).
* Labels that are joined have a backslash before each separator and backslash within a label. TSV
  escapes it only once.
* JSON never holds NaN or infinity: such a number is null.
* Output is UTF-8. Bytes of file names that are not UTF-8 are written as escapes (``\\udcff``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from functools import cache
from typing import Any

from nbtext.errors import printable
from nbtext.output import Writer

OUTPUT_FORMATS = tuple(str.split("table tsv csv jsonl json markdown"))
HEADER_FORMAT = "header"  # of a mail, only for predictions
FASTTEXT = "fasttext"  # only for predictions
PREDICTION_FORMATS = (*OUTPUT_FORMATS, HEADER_FORMAT, FASTTEXT)
FIELD_DECIMALS = 6  # decimals of a number in a field
TSV_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
TSV_SPECIAL = r"[\\\t\n\r]"
JOINED_SPECIAL = r"[\t\n\r]"
MARKDOWN_SPECIAL = r"([\\`*_{}\[\]<>#|])"

OutputRow = Sequence[str | int | float | None]


class JoinedLabels(str):
    """Labels that `join_escaped` has joined: their backslashes are escapes."""

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
    return (
        f"{value:.{FIELD_DECIMALS}f}"
        if isinstance(value, float)
        else value
        if isinstance(value, str)
        else str(value)
    )


def format_json(
    value: Any, *, indent: int | None = None, separators: tuple[str, str] | None = None
) -> str:
    """Format plain data or a dataclass as JSON, on one line or indented."""
    plain = asdict(value) if is_dataclass(type(value)) else value
    encode = _encoder(indent, separators)
    try:
        return encode(plain)
    except ValueError:  # JSON has no NaN and no infinity
        return encode(finite(plain))


def format_values(values: Sequence[Any]) -> list[str]:
    """Format each value of a column as JSON, numbers in one step."""
    if set(map(type, values)) <= {float, bool, type(None)}:
        return format_json(list(values))[1:-1].split(", ")
    return list(map(_encoder(None, None), values))


def join_escaped(labels: Sequence[str], separator: str = ",") -> JoinedLabels:
    """Join labels by a separator, with a backslash before each separator and backslash within a
    label.
    """
    escaped = (label.replace("\\", "\\\\").replace(separator, "\\" + separator) for label in labels)
    return JoinedLabels(separator.join(escaped))


def write_and_flush(texts: Iterable[str], file: Writer) -> None:
    """Write texts as UTF-8, and flush after each."""
    for text in texts:
        file.write(text.encode("utf-8", "backslashreplace"))
        file.flush()


@cache
def _encoder(indent: int | None, separators: tuple[str, str] | None) -> Callable[[Any], str]:
    import json

    return json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
    ).encode


def finite(value: Any) -> Any:
    """Replace numbers that JSON cannot hold by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list | tuple) else value
