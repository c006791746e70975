"""The results of commands: one record for each, which one function formats in every format.

A result is a stream of items, such as batches of predictions, or one item, such as an evaluation.
Its views say what an item is in each kind of format: rows of named columns (TSV, CSV, Markdown),
nested documents (JSON), parts of a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nbtext.errors import printable
from nbtext.records import frozen
from nbtext.report.records import (
    OutputRow,
    field_text,
    format_json,
    markdown_field,
    tsv_field,
)
from nbtext.report.terminal import PLAIN_SCREEN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

Item = TypeVar("Item")


@frozen
class Result(Generic[Item]):
    """What a command found.

    Attributes
    ----------
    items : Iterable[Item]
        What is written, in order; each is written as soon as it arrives.
    columns : Sequence[str]
        The names of the fields of the rows.
    rows : Callable[[Item], Iterable[Row]]
        The rows of an item, for TSV, CSV and Markdown.
    document : Callable[[Item], Any], optional
        The only item as a dict or a data class, for JSON. By default, JSON is the list of the
        records of all items.
    layout : Callable[[Item, Screen], Iterable[RenderableType]], optional
        The parts of an item on a terminal and in Markdown: lines and tables. By default, one table
        holds the rows of all items.
    records : Callable[[Item], Iterable[dict[str, Any]]], optional
        The records of an item, for JSON lines. By default, its document, or its rows.
    texts : Mapping[str, Callable[[Item], str]]
        The text of an item, by format: formats that only this result has, and faster ways to write
        one.
    has_header : bool
        Whether TSV begins with the names of the columns.
    """

    items: Iterable[Item]
    columns: Sequence[str]
    rows: Callable[[Item], Iterable[OutputRow]]
    document: Callable[[Item], Any] | None = None
    layout: Callable[[Item, Screen], Iterable[RenderableType]] | None = None
    records: Callable[[Item], Iterable[dict[str, Any]]] | None = None
    texts: Mapping[str, Callable[[Item], str]] = field(default_factory=dict)
    has_header: bool = False

    def list_records(self, item: Item) -> Iterable[Any]:
        """Return the records of an item."""
        if self.records is not None:
            return self.records(item)
        if self.document is not None:
            return [self.document(item)]
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows(item))


def format_result(
    result: Result[Any], output_format: str, screen: Screen = PLAIN_SCREEN
) -> Iterator[str]:
    """Yield the text of each item, as soon as it arrives.

    output_format  table (for the screen), tsv, csv, jsonl, json, markdown, or one that only this
                   result has
    """
    if output_format in result.texts:
        yield from map(result.texts[output_format], result.items)
    elif output_format == "table" and result.layout is None:
        rows = chain.from_iterable(map(result.rows, result.items))
        shown = ([printable(field_text(value)) for value in row] for row in rows)
        yield format_screen([new_table(*result.columns, rows=shown)], screen)
    elif output_format in ("table", "markdown") and result.layout is not None:
        for number, item in enumerate(result.items):
            parts = result.layout(item, screen)
            yield "\n" * (number > 0)
            yield format_screen(parts, screen) if output_format == "table" else _markdown(parts)
    elif output_format == "jsonl":
        for item in result.items:
            yield "".join(format_json(record) + "\n" for record in result.list_records(item))
    elif output_format == "json" and result.document is not None:
        for item in result.items:
            yield format_json(result.document(item), indent=2) + "\n"
    elif output_format == "json":  # the list of the records of all items
        before = "[\n"
        for record in chain.from_iterable(map(result.list_records, result.items)):
            yield before + format_json(record)
            before = ",\n"
        yield "\n]\n" if before == ",\n" else "[]\n"
    else:
        if output_format != "tsv":
            yield _format_head(result.columns, output_format)
        elif result.has_header:
            yield "\t".join(result.columns) + "\n"
        for item in result.items:
            yield format_rows(result.rows(item), output_format)


def _markdown(parts: Iterable[RenderableType]) -> str:
    """Format the parts of a screen as paragraphs and tables."""
    from rich.table import Table

    found = []
    for part in parts:
        if isinstance(part, Table):
            rows = zip(*(map(_one_line, column.cells) for column in part.columns), strict=True)
            head = _format_head([str(column.header) for column in part.columns], "markdown")
            found.append(head + format_rows(rows, "markdown"))
        elif line := _one_line(part):
            found.append(markdown_field(line) + "\n")
    return "\n".join(found)


def _one_line(part: RenderableType) -> str:
    return " ".join(str(part).split())


def _format_head(columns: Sequence[str], output_format: str) -> str:
    return format_rows([columns], output_format) + f"{'|---' * len(columns)}|\n" * (
        output_format == "markdown"
    )


def format_rows(rows: Iterable[OutputRow], output_format: str) -> str:
    """Format rows as tsv, csv, markdown, or `quoted tsv`, which has quotes instead of escapes."""
    texts: list[Any] = list(rows)
    delimiter = "," if output_format == "csv" else "\t"
    try:
        text = "\n".join([*map(delimiter.join, texts), ""])
    except TypeError:  # of a field that is not a str
        return format_rows((list(map(field_text, row)) for row in texts), output_format)
    if output_format == "markdown":
        return "".join(f"| {' | '.join(map(markdown_field, row))} |\n" for row in texts)
    # counts are much faster than a look at each field
    if (
        text.count("\n") == len(texts)
        and text.count(delimiter) == sum(map(len, texts)) - len(texts)
        and not any(each in text for each in ("\r", "\\" if output_format == "tsv" else '"'))
        and not text.startswith("\n")  # a row of one empty field has quotes
        and "\n\n" not in text
    ):
        return text
    if output_format == "tsv":
        return "".join("\t".join(map(tsv_field, row)) + "\n" for row in texts)
    import csv

    lines: list[str] = []
    # a writer whose line end is \n would not quote a field that holds \r (before Python 3.13)
    csv.writer(SimpleNamespace(write=lines.append), delimiter=delimiter).writerows(texts)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)
