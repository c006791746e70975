"""A comparison of trained models as a result, and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nbtext.applications.compare.comparison import ComparedModel, Comparison, PairedTest
from nbtext.errors import number_of, printable
from nbtext.evaluation.bootstrap import Estimate
from nbtext.report.evaluation import format_unknown
from nbtext.report.page.rendering import Chart, render_page
from nbtext.report.records import Row
from nbtext.report.result import Result
from nbtext.report.terminal import new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

ABOUT = ("name", "model", "documents", "n_features", "size", "seconds")
OF_TEST = ("only_first", "only_second", "p_value")
MIN_P = 0.001  # a smaller p-value is shown as less than this
SIGNIFICANCE = 0.05
# on the page
MAX_SENTENCES = 6
MAX_PAIRS = 12


def comparison_result(comparison: Comparison) -> Result[Comparison]:
    """Return a comparison as a result: a row for each model."""
    metric_columns = tuple(
        metric.name + end for metric in comparison.metrics for end in ("", "_low", "_high")
    )
    unknown = {"unknown_label": comparison.unknown_label} if comparison.unknown_label else {}
    columns = (*ABOUT, *metric_columns, *unknown)

    def rows(found: Comparison) -> Iterator[Row]:
        for each in found.results:
            about = (getattr(each, name) for name in ABOUT)
            yield [*about, *_figures(each.metrics), *unknown.values()]

    return Result([comparison], columns, rows, _document, layout=lambda found, _: _parts(found))


def _document(comparison: Comparison) -> dict[str, Any]:
    models = [
        {name: getattr(each, name) for name in ABOUT} | _record(each.metrics)
        for each in comparison.results
    ]
    tests = [
        {"first": test.first, "second": test.second}
        | _record(test.differences)
        | {name: getattr(test, name) for name in OF_TEST}
        for test in comparison.tests
    ]
    counts = {"documents": comparison.documents, "unknown_label": comparison.unknown_label}
    counts = {name: count for name, count in counts.items() if name == "documents" or count}
    return counts | {"labels": comparison.labels, "models": models, "pairs": tests}


def _record(estimates: dict[str, Estimate]) -> dict[str, Any]:
    return {name: estimate._asdict() for name, estimate in estimates.items()}


def _figures(estimates: dict[str, Estimate]) -> list[float]:
    return [figure for estimate in estimates.values() for figure in estimate]


def _parts(comparison: Comparison) -> Iterator[RenderableType]:
    sizes = f"{number_of(comparison.documents, 'document')}, {number_of(len(comparison.labels), 'label')}"
    if comparison.unknown_label:
        sizes += f"; {format_unknown(comparison.unknown_label)}"
    yield f"{sizes}; below each figure is its 95 % bootstrap interval"
    titles = [metric.title for metric in comparison.metrics]
    rows = (
        (
            f"{printable(result.name)}\n{result.model}",
            *(f"{e.value:.4f}\n{interval_text(e)}" for e in result.metrics.values()),
            f"{format_seconds(result.seconds)}\n{format_size(result.size)}",
        )
        for result in comparison.results
    )
    # long names, so that the figures fit
    yield new_table("model", *titles, "time, size", rows=rows, wraps=(0,))
    rows = (
        (
            f"{printable(test.second)}\nminus {printable(test.first)}",
            *(f"{e.value:+.4f}\n{interval_text(e, '+')}" for e in test.differences.values()),
            f"{test.p_value:.2g}",
        )
        for test in comparison.tests
    )
    yield new_table("difference", *titles, "p", rows=rows, wraps=(0,))
    yield from map(test_sentence, comparison.tests)


def interval_text(estimate: Estimate, sign: str = "") -> str:
    """Format the interval of an estimate."""
    return f"{estimate.low:{sign}.3f} … {estimate.high:{sign}.3f}"


def test_sentence(test: PairedTest) -> str:
    """Return the result of McNemar's test as a sentence."""
    first = printable(test.first)
    second = printable(test.second)
    alone = number_of(test.only_second, "document")
    counts = f"{second} alone is correct on {alone}, and {first} alone on {test.only_first:,}"
    p_value = f"p = {test.p_value:.2g}" if test.p_value >= MIN_P else f"p < {MIN_P}"
    if test.p_value >= SIGNIFICANCE:
        return f"{counts}: the difference is not significant (McNemar's test, {p_value})."
    better = second if test.only_second > test.only_first else first
    return f"{counts}: {better} is significantly more accurate (McNemar's test, {p_value})."


def format_seconds(seconds: float) -> str:
    """Format a time for people."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.2f} ms"


def format_size(size: int | None) -> str:
    """Format a number of bytes for people."""
    if size is None:
        return "–"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def render_comparison_page(comparison: Comparison, *, subject: str) -> bytes:
    """Render the page of a comparison; `subject` says on which documents."""
    content: dict[str, Any] = {
        "subject": subject,
        "comparison": comparison,
        "metrics": comparison.metrics,
        "unknown": format_unknown(comparison.unknown_label) if comparison.unknown_label else "",
        "results": [
            (each, format_seconds(each.seconds), format_size(each.size))
            for each in comparison.results
        ],
        "sentences": list(map(test_sentence, comparison.tests[:MAX_SENTENCES])),
        "n_more_sentences": max(0, len(comparison.tests) - MAX_SENTENCES),
        "interval": interval_text,
        "loss_charts": [f"model_{metric.name}" for metric in comparison.metrics if metric.is_loss],
    }
    return render_page(
        "comparison.html", content, charts=list(_charts(comparison)), package=__package__
    )


def _charts(comparison: Comparison) -> Iterator[Chart]:
    results = comparison.results
    scores = [metric for metric in comparison.metrics if not metric.is_loss]

    def best_by(metric: str, *, is_loss: bool) -> ComparedModel:
        return (min if is_loss else max)(results, key=lambda result: result.metrics[metric].value)

    best = best_by(scores[0].name, is_loss=False)
    value = best.metrics[scores[0].name].value
    yield Chart(
        "model_scores",
        " and ".join(metric.title for metric in scores).capitalize(),
        f"{printable(best.name)} has the highest {scores[0].title}, {value:.4f}.",
        ("model", "metric", "value", "low", "high"),
        ("model", "metric", "value", "from", "to"),
        [
            (printable(each.name), m.title, *each.metrics[m.name])
            for each in results
            for m in scores
        ],
    )
    for metric in comparison.metrics:
        if metric.is_loss:
            best = best_by(metric.name, is_loss=True)
            yield Chart(
                f"model_{metric.name}",
                metric.title.capitalize(),
                f"{printable(best.name)} has the lowest {metric.title}, {best.metrics[metric.name].value:.4f}.",
                ("model", "value", "low", "high"),
                ("model", metric.title, "from", "to"),
                [(printable(each.name), *each.metrics[metric.name]) for each in results],
                specification="model_loss",
                metric=metric.title,
            )
    tests = comparison.tests
    title = next(metric.title for metric in comparison.metrics if metric.name == comparison.correct)
    accuracies = [test.differences[comparison.correct] for test in tests]
    n_clear = sum(each.low > 0 or each.high < 0 for each in accuracies)
    words = f"The intervals of {n_clear} of {number_of(len(tests), 'difference')} exclude 0."
    words += f" The first {MAX_PAIRS} are shown." if len(tests) > MAX_PAIRS else ""
    yield Chart(
        "model_differences",
        f"Differences in {title}",
        words,
        ("pair", "value", "low", "high", "p_value"),
        ("models", title, "from", "to", "McNemar's p"),
        [
            (f"{printable(test.second)} minus {printable(test.first)}", *each, test.p_value)
            for test, each in zip(tests[:MAX_PAIRS], accuracies, strict=False)
        ],
        metric=title,
    )
    fastest = min(results, key=lambda result: result.seconds)
    yield Chart(
        "model_costs",
        f"Time, size and {title}",
        f"{printable(fastest.name)} is the fastest: {format_seconds(fastest.seconds)} for "
        f"{number_of(comparison.documents, 'document')}. The area of a point is the size of the model's file.",
        ("model", "seconds", "size", "accuracy"),
        ("model", "seconds", "bytes", title),
        [
            (printable(r.name), r.seconds, r.size or 0, r.metrics[comparison.correct].value)
            for r in results
        ],
        metric=title,
    )
