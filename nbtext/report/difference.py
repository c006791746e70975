"""The difference of two models for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nbtext.errors import number_of, printable
from nbtext.model.difference import Change, Difference
from nbtext.report.records import field_text, format_json, format_rows
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("what", "label", "name", "before", "after")
MOST_LABELS = 10  # that are named


def format_difference(difference: Difference, *, output_format: str, screen: Screen = PLAIN) -> str:
    """A difference as a table for the screen, tsv, csv, json, jsonl or markdown."""
    if output_format == "table":
        return format_screen(_parts(difference), screen)
    if output_format in ("json", "jsonl"):
        return format_json(asdict(difference), output_format=output_format)
    return format_rows(COLUMNS, _rows(difference), output_format=output_format)


def _rows(difference: Difference) -> Iterator[tuple[str | float | None, ...]]:
    for what, changes in (("size", difference.sizes), ("setting", difference.settings)):
        yield from ((what, "", change.name, *_texts(change)) for change in changes)
    yield from (("label", label, "", "", "new") for label in difference.new_labels)
    yield from (("label", label, "", "lost", "") for label in difference.lost_labels)
    yield from (("new feature", "", feature, None, number) for feature, number in difference.new_features)
    yield from (("lost feature", "", feature, number, None) for feature, number in difference.lost_features)
    yield from (("log-odds", move.label, move.feature, move.before, move.after) for move in difference.moves)


def _texts(change: Change) -> tuple[str, str]:
    return _text(change.before), _text(change.after)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return field_text(value)


def _parts(difference: Difference) -> Iterator[RenderableType]:
    table = new_table("", "before", "after")
    for change in (*difference.sizes, *difference.settings):
        table.add_row(change.name.removeprefix("n_").replace("_", " "), *map(printable, _texts(change)))
    yield table
    yield from _names("new labels", difference.new_labels)
    yield from _names("lost labels", difference.lost_labels)
    yield f"{number_of(difference.n_common, 'feature')} in both, {difference.n_new:,} new, {difference.n_lost:,} lost"
    yield from _names("new", [f"{feature} {number:,.6g}" for feature, number in difference.new_features])
    yield from _names("lost", [f"{feature} {number:,.6g}" for feature, number in difference.lost_features])
    if difference.moves:
        moves = new_table("label", "feature", "before", "after", "change")
        moves.columns[1].justify = "left"
        for move in difference.moves:
            figures = (f"{value:+.3f}" for value in (move.before, move.after, move.change))
            moves.add_row(printable(move.label), printable(move.feature), *figures)
        yield moves


def _names(title: str, names: tuple[str, ...] | list[str]) -> Iterator[str]:
    if names:
        more = f", and {len(names) - MOST_LABELS:,} more" if len(names) > MOST_LABELS else ""
        yield f"{title}: {', '.join(map(printable, names[:MOST_LABELS]))}{more}"
