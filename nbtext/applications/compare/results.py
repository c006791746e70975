"""Comparisons and learning curves as results, and as pages, which show what the terminal does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.applications.compare.comparison import ComparedModel, Comparison, PairedTest
from nbtext.applications.compare.learning_curves import UNKNOWN_LABEL, LearningCurves, Point
from nbtext.errors import number_of, printable
from nbtext.evaluation.bootstrap import Estimate
from nbtext.evaluation.metrics import CURVES
from nbtext.records import Strings
from nbtext.report.evaluation import format_unknown
from nbtext.report.page.rendering import Chart, render_page
from nbtext.report.records import finite
from nbtext.report.result import Result
from nbtext.report.terminal import new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

SIGNIFICANCE = 0.05


class Overview(NamedTuple):
    """What people see of a result.

    title      Of the page.
    tables     Headings and rows of texts, which may have several lines.
    sentences  What the tables say.
    charts     Of the page.
    """

    title: str
    summary: str
    tables: list[tuple[Strings, list[Strings]]]
    sentences: list[str]
    charts: list[Chart]


def layout(overview: Overview) -> Iterator[RenderableType]:
    """Yield the parts of a result on a terminal."""
    yield overview.summary
    for headings, rows in overview.tables:
        # long names are wrapped, so that the figures fit
        yield new_table(*headings, rows=rows)
    yield from overview.sentences


def render(overview: Overview, *, subject: str) -> bytes:
    """Render the page of a result; `subject` says of which documents."""
    content = overview._asdict() | {"subject": subject}
    return render_page("results.html", content, charts=overview.charts, package=__package__)


def comparison_result(comparison: Comparison) -> Result[Comparison]:
    """Return a comparison as a result: a row for each model."""
    ends = ("", "_low", "_high")
    metric_columns = [metric.name + end for metric in comparison.metrics for end in ends]

    def document(found: Comparison) -> dict[str, Any]:
        return {
            "documents": found.documents,
            "unknown_label": found.unknown_label,
            "labels": found.labels,
            "models": list(map(_record, found.results)),
            "pairs": list(map(_record, found.tests)),
        }

    return Result(
        [comparison],
        [*ComparedModel._fields[:-1], *metric_columns, "unknown_label"],
        lambda found: (
            [*each[:-1], *chain.from_iterable(each.metrics.values()), found.unknown_label]
            for each in found.results
        ),
        document,
        layout=lambda found, _: layout(comparison_overview(found)),
    )


def _record(each: ComparedModel | PairedTest) -> dict[str, Any]:
    estimates = {name: estimate._asdict() for name, estimate in each[-1].items()}
    return dict(zip(each._fields[:-1], each[:-1], strict=True)) | estimates


def comparison_overview(comparison: Comparison) -> Overview:
    """Return the tables, sentences and charts of a comparison."""
    summary = f"{number_of(comparison.documents, 'document')}, {number_of(len(comparison.labels), 'label')}"
    if comparison.unknown_label:
        summary += f"; {format_unknown(comparison.unknown_label)}"
    titles = [metric.title for metric in comparison.metrics]
    models = [
        (
            f"{printable(each.name)}\n{each.model}",
            *_figures(each.metrics, ""),
            f"{each.seconds:.3g} s\n"
            + (f"{each.size / 1e3:,.1f} kB" if each.size is not None else ""),
        )
        for each in comparison.results
    ]
    pairs = [
        (
            f"{printable(test.second)}\nminus {printable(test.first)}",
            *_figures(test.differences, "+"),
            "–" if test.p_value is None else f"{test.p_value:.2g}",
        )
        for test in comparison.tests
    ]
    return Overview(
        "Models compared",
        f"{summary}; below each figure is its 95 % bootstrap interval",
        [(("model", *titles, "time, size"), models), (("difference", *titles, "p"), pairs)],
        [*map(printable, comparison.notes), *map(test_sentence, comparison.tests)],
        list(_comparison_charts(comparison)),
    )


def _figures(estimates: dict[str, Estimate], sign: str) -> list[str]:
    return [
        f"{each.value:{sign}.4f}\n{each.low:{sign}.3f} … {each.high:{sign}.3f}"
        for each in estimates.values()
    ]


def test_sentence(test: PairedTest) -> str:
    """Return the result of McNemar's test as a sentence."""
    first = printable(test.first)
    second = printable(test.second)
    alone = number_of(test.only_second, "document")
    counts = f"{second} alone is correct on {alone}, and {first} alone on {test.only_first:,}"
    better = second if test.only_second > test.only_first else first
    if test.p_value is None:
        return f"{counts}: this tells nothing of new documents, because they were trained on."
    says = f"{better} is significantly more accurate"
    if test.p_value >= SIGNIFICANCE:
        says = "the difference is not significant"
    return f"{counts}: {says} (McNemar's test, p = {test.p_value:.2g})."


def _comparison_charts(comparison: Comparison) -> Iterator[Chart]:
    for metric in comparison.metrics:
        rows = [(printable(each.name), *each.metrics[metric.name]) for each in comparison.results]
        yield Chart(
            f"model_{metric.name}",
            f"Models by {metric.title}",
            f"{'Lower' if metric.is_loss else 'Higher'} is better. Each bar is a 95 % bootstrap interval.",
            ("model", "value", "low", "high"),
            ("model", metric.title, "from", "to"),
            rows,
            specification="model_metric",
            metric=metric.title,
        )
    metric = comparison.metrics[0]
    yield Chart(
        "model_differences",
        f"Differences in {metric.title}",
        "Each bar is a 95 % bootstrap interval. McNemar's test (p) says which differences are significant.",
        ("pair", "value", "low", "high"),
        ("models", metric.title, "from", "to"),
        [
            (
                f"{printable(test.second)} minus {printable(test.first)}",
                *test.differences[metric.name],
            )
            for test in comparison.tests
        ],
        metric=metric.title,
    )


def learning_curves_result(curves: LearningCurves) -> Result[LearningCurves]:
    """Return learning curves as a result; JSON has the value of each split, too."""
    names = [f"{metric.name}{end}" for metric in CURVES for end in ("", "_deviation")]
    columns = ["size", "model", *names, UNKNOWN_LABEL]

    def row(point: Point) -> list[Any]:
        figures = [
            figure
            for metric in CURVES
            for figure in (point.mean(metric.name), point.deviation(metric.name))
        ]
        return [point.size, point.model, *figures, point.mean(UNKNOWN_LABEL)]

    def document(found: LearningCurves) -> dict[str, Any]:
        points = [
            dict(zip(columns, row(point), strict=True)) | {"values": point.values}
            for point in found.points
        ]
        return found._asdict() | {"points": points}

    return Result(
        [curves],
        columns,
        lambda found: map(row, found.points),
        document,
        layout=lambda found, _: layout(learning_curves_overview(found)),
    )


def learning_curves_overview(curves: LearningCurves) -> Overview:
    """Return the table and the charts of learning curves."""
    rows = []
    for point in curves.points:
        figures = [
            f"{point.mean(metric.name):.4f} ± {point.deviation(metric.name):.4f}"
            for metric in CURVES
        ]
        rows.append((point.model, f"{point.size:,}", *figures))
    charts = []
    for metric in CURVES:
        bands = []
        for point in curves.points:
            mean = point.mean(metric.name)
            deviation = point.deviation(metric.name)
            band = (point.model, point.size, mean, mean - deviation, mean + deviation)
            bands.append(finite(band))
        charts.append(
            Chart(
                f"learning_curve_{metric.name}",
                f"Learning curves of {metric.title}",
                "The sizes of the training set are on a logarithmic scale. The band is one standard deviation wide on each "
                "side.",
                ("model", "size", "value", "low", "high"),
                ("model", "documents", metric.title, "minus a deviation", "plus a deviation"),
                bands,
                specification="learning_curve",
                metric=metric.title,
            )
        )
    sentences = []
    if any(point.mean(UNKNOWN_LABEL) for point in curves.points):
        sentences = [
            "A part may lack labels; their test documents are wrong in the accuracy, and left out of the log-loss."
        ]
    return Overview(
        "Learning curves",
        f"{number_of(curves.documents, 'document')}, {curves.test_documents:,} of them for testing; mean ± standard "
        f"deviation over {curves.seeds} random splits",
        [(("model", "documents", *(metric.title for metric in CURVES)), rows)],
        sentences,
        charts,
    )
