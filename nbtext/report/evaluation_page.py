"""An evaluation as a page to look at, and to send to a colleague."""

from __future__ import annotations

from typing import Any

from nbtext.evaluation.metrics import Evaluation
from nbtext.report.page.chart import Chart
from nbtext.report.page.rendering import rendered_page

MOST_CONFUSIONS = 20


def evaluation_page(evaluation: Evaluation, *, subject: str) -> bytes:
    """The page of an evaluation; `subject` says of what."""
    content: dict[str, Any] = {
        "subject": subject,
        "evaluation": evaluation,
        "tiles": _tiles(evaluation),
        "confusions": _confusions(evaluation),
    }
    return rendered_page("evaluation.html", content, charts=[_reliability(evaluation)])


def _tiles(evaluation: Evaluation) -> list[dict[str, str]]:
    found = [
        ("accuracy", f"{evaluation.accuracy:.4f}", f"of {evaluation.documents:,} documents"),
        ("macro F1", f"{evaluation.macro_f1:.4f}", f"the mean over {len(evaluation.labels):,} labels"),
        ("log-loss", f"{evaluation.log_loss:.4f}", "in nats; less is better"),
        ("calibration error", f"{evaluation.expected_calibration_error:.4f}", "expected, over 15 bins"),
    ]
    return [dict(zip(("name", "value", "note"), tile, strict=True)) for tile in found]


def _confusions(evaluation: Evaluation) -> list[tuple[str, str, int]]:
    """The most frequent ones, each with its documents."""
    found = [
        (-number, label, evaluation.labels[column])
        for place, (label, row) in enumerate(zip(evaluation.labels, evaluation.confusion_matrix or (), strict=False))
        for column, number in enumerate(row)
        if number and column != place
    ]
    return [(true, predicted, -number) for number, true, predicted in sorted(found)[:MOST_CONFUSIONS]]


def _reliability(evaluation: Evaluation) -> Chart:
    return Chart(
        "reliability",
        "Reliability",
        f"On the dashed line, answers are right as often as they were thought to be. On average they are off by "
        f"{evaluation.expected_calibration_error:.1%} (the expected calibration error).",
        ("kind", "probability", "right", "documents"),
        ("probabilities", "mean probability", "share right", "documents"),
        [("calibrated", part.mean_probability, part.accuracy, part.documents) for part in evaluation.reliability],
    )
