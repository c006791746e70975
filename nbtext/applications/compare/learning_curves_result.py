"""Learning curves as a result, and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Any

from nbtext.applications.compare.learning_curves import LearningCurves, Point
from nbtext.errors import number_of
from nbtext.evaluation.metrics import CURVES
from nbtext.report.page.rendering import Chart, render_page, render_svg
from nbtext.report.result import Result
from nbtext.report.terminal import new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

COLUMNS = (
    "size",
    "model",
    *(f"{metric.name}{end}" for metric in CURVES for end in ("", "_deviation")),
    "unknown_label",
)
COLORS = ("blue", "yellow", "magenta", "cyan", "green", "red")
MARKS = "●■▲◆○□△◇"
NARROWEST = 20  # characters of a chart
UNKNOWN = "A part may lack labels; their test documents are wrong in the accuracy, and left out of the log-loss."


def learning_curves_result(curves: LearningCurves) -> Result[LearningCurves]:
    """Return learning curves as a result, with a chart on a terminal; JSON has the value of each
    seed, too.
    """
    names = ("documents", "test_documents", "labels", "seeds")

    def records(found: LearningCurves) -> list[dict[str, Any]]:
        return [
            dict(zip(COLUMNS, _row(point), strict=True)) | {"values": point.values}
            for point in found.points
        ]

    return Result(
        [curves],
        COLUMNS,
        lambda found: map(_row, found.points),
        lambda found: {name: getattr(found, name) for name in names} | {"points": records(found)},
        layout=lambda found, screen: _parts(found, screen.width),
        records=records,
    )


def _row(point: Point) -> list[Any]:
    figures = [
        figure
        for metric in CURVES
        for figure in (point.mean(metric.name), point.deviation(metric.name))
    ]
    return [point.size, point.model, *figures, n_unknown(point)]


def n_unknown(point: Point) -> float:
    """Return how many test documents have a label that the model does not know, the mean over the
    seeds.
    """
    return fmean(point.unknown_label or (0,))


def _parts(curves: LearningCurves, width: int) -> Iterator[RenderableType]:
    spread = (
        f"; mean ± standard deviation over {curves.seeds} random splits" if curves.seeds > 1 else ""
    )
    yield f"{number_of(curves.documents, 'document')}, {curves.test_documents:,} of them for testing{spread}"
    table = new_table("documents", "model", *(metric.title for metric in CURVES), texts=(1,))
    table.columns[1].justify = "right"
    for size, points in groupby(curves.points, key=lambda point: point.size):
        for number, point in enumerate(points):
            figures = []
            for metric in CURVES:
                deviation = point.deviation(metric.name)
                shown = f" ± {deviation:.4f}" if deviation is not None else ""
                figures.append(f"{point.mean(metric.name):.4f}{shown}")
            table.add_row(f"{size:,}" if number == 0 else "", point.model, *figures)
    yield table
    if any(map(n_unknown, curves.points)):
        yield UNKNOWN
    yield from _chart(curves, width)


def _chart(curves: LearningCurves, width: int) -> Iterator[Text]:
    """Yield a line for each size, with the mark of each model where its mean of the first metric
    is.
    """
    from rich.text import Text

    means = [point.mean(CURVES[0].name) for point in curves.points]
    low = min(means)
    high = max(means)
    models = list(dict.fromkeys(point.model for point in curves.points))
    margin = max(len(f"{point.size:,}") for point in curves.points) + 2
    plot_width = max(NARROWEST, width - margin - 2)
    legend = Text(f"{CURVES[0].title} ")
    for number, model in enumerate(models):
        legend.append(f" {MARKS[number % len(MARKS)]} {model}", COLORS[number % len(COLORS)])
    yield legend
    for size, points in groupby(curves.points, key=lambda point: point.size):
        line: list[int | None] = [None] * plot_width
        for number, point in reversed(list(enumerate(points))):
            line[
                round((point.mean(CURVES[0].name) - low) / ((high - low) or 1) * (plot_width - 1))
            ] = number
        text = Text(f"{size:>{margin - 2},} │")
        for mark in line:
            text.append(
                *("·", "dim")
                if mark is None
                else (MARKS[mark % len(MARKS)], COLORS[mark % len(COLORS)])
            )
        yield text
    yield Text(f"{'':>{margin}}{low:<.4f}{high:>{plot_width - 6}.4f}")


def render_learning_curves_page(curves: LearningCurves, *, subject: str) -> bytes:
    """Render the page of learning curves."""
    by_size = [
        (size, list(points))
        for size, points in groupby(curves.points, key=lambda point: point.size)
    ]
    best = [
        (size, max(points, key=lambda point: point.mean(CURVES[0].name)))
        # at the smallest and at the largest size
        for size, points in by_size[:1] + by_size[1:][-1:]
    ]
    unknown = UNKNOWN if any(map(n_unknown, curves.points)) else ""
    content = {
        "subject": subject,
        "curves": curves,
        "best": best,
        "metrics": CURVES,
        "unknown": unknown,
    }
    return render_page("curves.html", content, charts=_page_charts(curves), package=__package__)


def render_learning_curves_svg(curves: LearningCurves) -> bytes:
    """Render learning curves as an SVG file."""
    return render_svg(_page_charts(curves), __package__)


def _page_charts(curves: LearningCurves) -> list[Chart]:
    charts = []
    for metric in CURVES:
        rows = []
        for point in curves.points:
            mean = point.mean(metric.name)
            deviation = point.deviation(metric.name) or 0.0
            rows.append((point.model, point.size, mean, mean - deviation, mean + deviation))
        charts.append(
            Chart(
                f"learning_curve_{metric.name}",
                metric.title.capitalize(),
                f"From {number_of(rows[0][1], 'training document')} on the left to {rows[-1][1]:,} on the right, on a "
                "logarithmic scale. The band is one standard deviation wide on each side.",
                ("model", "size", "value", "low", "high"),
                ("model", "documents", metric.title, "minus a deviation", "plus a deviation"),
                rows,
                is_tabled=False,
                specification="learning_curve",
                metric=metric.title,
            )
        )
    return charts
