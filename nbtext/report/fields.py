"""The forms of results, and how text stands in them: in a field of TSV, a cell of Markdown, a list of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nbtext.errors import printable

FORMS = ("table", "tsv", "csv", "jsonl", "json", "markdown")  # of every result
TSV_SPECIAL = re.compile(r"[\\\t\n\r]")  # what cannot stand in a field as it is
_TSV_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def tsv_field(text: str) -> str:
    """Text on one line and in one column: tab, newline, carriage return and backslash as escapes."""
    if not TSV_SPECIAL.search(text):
        return text
    return TSV_SPECIAL.sub(lambda match: _TSV_ESCAPES[match[0]], text)


def markdown_field(text: str) -> str:
    """Text in one cell of a Markdown table, its punctuation taken literally."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", printable(text))


def json_list(records: Iterable[str]) -> Iterator[str]:
    """Records, each as JSON, as one list of them, a line each, as they come."""
    separator = "[\n"
    for record in records:
        yield separator + record
        separator = ",\n"
    yield "\n]\n" if separator == ",\n" else "[]\n"
