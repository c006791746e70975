"""Learning curves for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from nbtext.errors import number_of
from nbtext.evaluation.learning_curves import Comparison, Point
from nbtext.report.records import format_json, format_rows
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

COLUMNS = ("size", "model", "accuracy", "accuracy_deviation", "log_loss", "log_loss_deviation")
COLORS = ("blue", "yellow", "magenta", "cyan", "green", "red")
MARKS = "●■▲◆○□△◇"
NARROWEST = 20  # characters of a chart


def format_learning_curves(comparison: Comparison, *, output_format: str, screen: Screen = PLAIN) -> str:
    """Learning curves as a table and a chart for the screen, tsv, csv, json, jsonl (a point a line) or markdown."""
    if output_format == "table":
        return format_screen(_parts(comparison, screen.width), screen)
    if output_format == "jsonl":
        return "".join(format_json(_record(point), output_format="jsonl") for point in comparison.points)
    if output_format == "json":
        about = {name: getattr(comparison, name) for name in ("documents", "judged", "labels", "seeds")}
        return format_json(about | {"points": list(map(_record, comparison.points))})
    return format_rows(
        COLUMNS,
        ([getattr(point, name) for name in COLUMNS] for point in comparison.points),
        output_format=output_format,
    )


def _record(point: Point) -> dict[str, Any]:
    record = {name: getattr(point, name) for name in COLUMNS}
    return record | {"accuracies": point.accuracies, "log_losses": point.log_losses}


def _parts(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    spread = f", mean ± standard deviation of {comparison.seeds} seeds" if comparison.seeds > 1 else ""
    yield f"{number_of(comparison.documents, 'document')}, judged by {comparison.judged:,}{spread}"
    table = new_table("documents", "model", "accuracy", "log-loss")
    for size, points in groupby(comparison.points, key=lambda point: point.size):
        for number, point in enumerate(points):
            table.add_row(
                f"{size:,}" if number == 0 else "",
                point.model,
                _spread(point.accuracy, point.accuracy_deviation),
                _spread(point.log_loss, point.log_loss_deviation),
            )
    yield table
    yield from _chart(comparison, width)


def _spread(mean: float, deviation: float | None) -> str:
    return f"{mean:.4f}" if deviation is None else f"{mean:.4f} ± {deviation:.4f}"


def _chart(comparison: Comparison, width: int) -> Iterator[Text]:
    """A line for each size, on which each model has its mark where its accuracy is."""
    from rich.text import Text

    accuracies = [point.accuracy for point in comparison.points]
    low, high = min(accuracies), max(accuracies)
    models = list(dict.fromkeys(point.model for point in comparison.points))
    margin = max(len(f"{point.size:,}") for point in comparison.points) + 2
    room = max(NARROWEST, width - margin - 2)
    legend = Text("accuracy ")
    for number, model in enumerate(models):
        legend.append(f" {MARKS[number % len(MARKS)]} {model}", COLORS[number % len(COLORS)])
    yield legend
    for size, points in groupby(comparison.points, key=lambda point: point.size):
        line: list[int | None] = [None] * room
        for number, point in reversed(list(enumerate(points))):
            line[round((point.accuracy - low) / ((high - low) or 1) * (room - 1))] = number
        text = Text(f"{size:>{margin - 2},} │")
        for mark in line:
            text.append(*("·", "dim") if mark is None else (MARKS[mark % len(MARKS)], COLORS[mark % len(COLORS)]))
        yield text
    yield Text(f"{'':>{margin}}{low:<.4f}{high:>{room - 6}.4f}")
