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

COLUMNS = (
    "size",
    "model",
    *(f"{metric.name}{end}" for metric in CURVES for end in ("", "_deviation")),
    "unknown_label",
)
UNKNOWN = "A part may lack labels; their test documents are wrong in the accuracy, and left out of the log-loss."


def learning_curves_result(curves: LearningCurves) -> Result[LearningCurves]:
    """Return learning curves as a result; JSON has the value of each seed, too."""
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
        layout=lambda found, _: _parts(found),
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


def _parts(curves: LearningCurves) -> Iterator[RenderableType]:
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
                specification="learning_curve",
                metric=metric.title,
            )
        )
    return charts
