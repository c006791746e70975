"""The page of an evaluation of several labels for a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtext.errors import printable
from nbtext.evaluation.multilabel import MULTILABEL_METRICS
from nbtext.evaluation.multilabel_log import SetDiagnosis, SetExample
from nbtext.report.page.rendering import Chart, render_page

MAX_SCORES = 1_000  # labels in the table: the most frequent ones
EXCERPT = 110  # characters of a document in a list


def render_set_page(diagnosis: SetDiagnosis, *, subject: str, settings: dict[str, str]) -> bytes:
    """Render the page of an evaluation of several labels.

    Parameters
    ----------
    subject : str
        What was evaluated.
    settings : dict[str, str]
        The options that were given, by name.
    """
    evaluation = diagnosis.evaluation
    by_support = sorted(evaluation.per_label, key=lambda score: (-score.support, score.label))
    content: dict[str, Any] = {
        "subject": subject,
        "settings": settings,
        "evaluation": evaluation,
        "metrics": evaluation.metrics,
        "intervals": diagnosis.intervals,
        "tiles": list(_tiles(diagnosis)),
        "scores": sorted(by_support[:MAX_SCORES], key=lambda score: score.label),
        "pairs": [
            (
                pair,
                [(each.id, excerpt(each)) for each in diagnosis.examples.get((pair.kind, pair.label, pair.other), ())],
            )
            for pair in evaluation.label_pairs
        ],
        "worst": [(each, excerpt(each)) for each in diagnosis.worst],
    }
    return render_page("multilabel.html", content, charts=[_reliability_chart(diagnosis)])


def excerpt(example: SetExample) -> str:
    """Return the beginning of a document, on one line."""
    text = printable(" ".join(example.text.split()))
    return text if len(text) <= EXCERPT else text[:EXCERPT].rstrip() + "…"


def _tiles(diagnosis: SetDiagnosis) -> Iterator[dict[str, str]]:
    for name, metric in MULTILABEL_METRICS.items():
        if not metric.note or name not in diagnosis.evaluation.metrics:
            continue
        interval = diagnosis.intervals.get(name)
        shown = f"{interval.low:.4f} to {interval.high:.4f}" if interval is not None else ""
        value = f"{diagnosis.evaluation.metrics[name]:.4f}"
        yield {"name": metric.title, "value": value, "range": shown, "note": metric.note}


def _reliability_chart(diagnosis: SetDiagnosis) -> Chart:
    """Make the chart of probability against frequency, over all pairs of a document and a label."""
    return Chart(
        "reliability", "Reliability",
        "Each pair of a document and a label is counted. On the dashed line, documents have a label as often as its "
        "probability says; below it, less often.",
        ("kind", "probability", "right", "documents"), ("probabilities", "mean probability", "frequency", "pairs"),
        [("of labels", b.mean_probability, b.accuracy, b.documents) for b in diagnosis.reliability],
    )  # fmt: skip
