"""The differences between two models, as a result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nbtext.applications.diff.difference import Change, Difference
from nbtext.errors import number_of, printable
from nbtext.report.records import field_text, name_lines
from nbtext.report.result import Result
from nbtext.report.terminal import Screen, new_table, show_features

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("what", "label", "name", "before", "after")


def difference_result(difference: Difference) -> Result[Difference]:
    """Return the differences between two models as a result."""
    return Result([difference], COLUMNS, _difference_rows, asdict, layout=_difference_parts)


def _difference_rows(difference: Difference) -> Iterator[tuple[str | float | None, ...]]:
    for what, changes in (("size", difference.sizes), ("setting", difference.settings)):
        yield from ((what, "", change.name, *_texts(change)) for change in changes)
    yield from (("label", label, "", "", "new") for label in difference.new_labels)
    yield from (("label", label, "", "lost", "") for label in difference.lost_labels)
    yield from (
        ("new feature", "", feature, None, number) for feature, number in difference.new_features
    )
    yield from (
        ("lost feature", "", feature, number, None) for feature, number in difference.lost_features
    )
    yield from (
        ("log-odds", move.label, move.feature, move.before, move.after) for move in difference.moves
    )


def _texts(change: Change) -> tuple[str, str]:
    return _text(change.before), _text(change.after)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else field_text(value)


def _difference_parts(difference: Difference, _: Screen) -> Iterator[RenderableType]:
    table = new_table("", "before", "after", texts=(0, 1, 2))
    table.columns[1].justify = table.columns[2].justify = "right"
    for change in (*difference.sizes, *difference.settings):
        table.add_row(
            change.name.removeprefix("n_").replace("_", " "), *map(printable, _texts(change))
        )
    yield table
    yield from name_lines("new labels", difference.new_labels)
    yield from name_lines("lost labels", difference.lost_labels)
    yield f"{number_of(difference.n_common, 'feature')} in both, {difference.n_new:,} new, {difference.n_lost:,} lost"
    yield from name_lines(
        "new", [f"{feature} {number:,.6g}" for feature, number in difference.new_features]
    )
    yield from name_lines(
        "lost", [f"{feature} {number:,.6g}" for feature, number in difference.lost_features]
    )
    if difference.moves:
        shown = show_features([move.feature for move in difference.moves])
        rows = (
            (
                printable(move.label),
                feature,
                *(f"{value:+.3f}" for value in (move.before, move.after, move.change)),
            )
            for move, feature in zip(difference.moves, shown, strict=True)
        )
        yield new_table("label", "feature", "before", "after", "change", rows=rows, texts=(0, 1))
