"""The results of commands: one record for each, which one function formats in every format.

A result is a stream of items, such as documents, or one item, such as an evaluation. Its views say what an item is in
each kind of format: rows of named columns (TSV, CSV, Markdown), a nested document (JSON), lines for a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from nbtext.errors import printable
from nbtext.report.records import Row, field_text, format_json, format_records, format_rows
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

Item = TypeVar("Item")


class Table(NamedTuple):
    """Rows of named columns. Numbers are formatted for each format; None is an empty field."""

    columns: Sequence[str]
    rows: Iterable[Row]


@dataclass(frozen=True)
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
    document : Callable[[Item], Any]
        An item as a dict or a data class, for JSON.
    layout : Callable[[Item, Screen], Iterable[RenderableType]], optional
        The parts of an item on a terminal. By default, one table holds the rows of all items.
    tables : Callable[[Item], Iterable[Table | str]], optional
        The tables of an item for Markdown, and the text between them, instead of its rows.
    records : Callable[[Item], Iterable[dict[str, Any]]], optional
        The lines of an item in JSON lines, instead of its document.
    is_list : bool
        Whether JSON is a list of the items; otherwise it is the document of the only item.
    has_header : bool
        Whether TSV begins with the names of the columns.
    """

    items: Iterable[Item]
    columns: Sequence[str]
    rows: Callable[[Item], Iterable[Row]]
    document: Callable[[Item], Any]
    layout: Callable[[Item, Screen], Iterable[RenderableType]] | None = None
    tables: Callable[[Item], Iterable[Table | str]] | None = None
    records: Callable[[Item], Iterable[dict[str, Any]]] | None = None
    is_list: bool = True
    has_header: bool = False


def format_result(result: Result[Any], output_format: str, screen: Screen = PLAIN) -> Iterator[str]:
    """Yield the text of a result in a format: table (for the screen), tsv, csv, jsonl, json or markdown."""
    if output_format == "table" and result.layout is None:
        table = new_table(*result.columns)
        for row in chain.from_iterable(map(result.rows, result.items)):
            table.add_row(*(printable(field_text(value)) for value in row))
        yield format_screen([table], screen)
    elif output_format == "table" and result.layout is not None:
        for item in result.items:
            yield format_screen(result.layout(item, screen), screen)
    elif output_format == "markdown" and result.tables is not None:
        for item in result.items:
            parts = result.tables(item)
            yield "\n".join(each if isinstance(each, str) else _format_table(each) for each in parts)
    elif output_format == "jsonl" and result.records is not None:
        for item in result.items:
            yield "".join(format_json(record, output_format="jsonl") for record in result.records(item))
    elif output_format in ("json", "jsonl") and not result.is_list:
        for item in result.items:
            yield format_json(result.document(item), output_format=output_format)
    else:
        if result.has_header and output_format == "tsv":
            yield "\t".join(result.columns) + "\n"
        yield from format_records(
            result.items, output_format=output_format, columns=result.columns, rows=result.rows,
            records=lambda item: [result.document(item)], table=str,
        )  # fmt: skip


def _format_table(table: Table) -> str:
    return format_rows(table.columns, table.rows, output_format="markdown")
