"""The page of an evaluation, of one label or of several: its charts, with summaries in words, and
its content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nbtext.errors import printable
from nbtext.evaluation.curves import ReliabilityBin
from nbtext.evaluation.diagnosis import Diagnosis, Example, Mistake, SetDiagnosis
from nbtext.evaluation.metrics import ALL_METRICS
from nbtext.features.analyzer import Locator
from nbtext.report.evaluation import format_unknown
from nbtext.report.explanation import cut_runs, mark_runs
from nbtext.report.inspection import summary_lines
from nbtext.report.page.rendering import Chart, percent, render_page
from nbtext.report.terminal import shorten_text

MAX_MISTAKE_CHARACTERS = 2_500  # of the text of a mistake
MAX_MISTAKE_WORDS = 8  # of a mistake, for the predicted label and against it
MAX_TABLE_LABELS = 1_000  # labels in the table: the most frequent ones


def render_evaluation_page(
    diagnosis: Diagnosis | SetDiagnosis,
    *,
    subject: str,
    settings: dict[str, str],
    locate: Locator | None,
    has_probabilities: bool = True,
    notes: Sequence[str] = (),
) -> bytes:
    """Render the page of an evaluation, of one label or of several.

    Parameters
    ----------
    subject : str
        What was evaluated.
    settings : dict[str, str]
        The options that were given, by name.
    locate : Locator, optional
        Finds the features in the text of mistakes; None: they are not marked.
    has_probabilities : bool
        Whether the probability of every prediction is known; what needs it is left out otherwise.
    notes : Sequence[str]
        What a reader of the figures has to know.
    """
    evaluation = diagnosis.evaluation
    found = diagnosis.intervals
    by_support = sorted(evaluation.per_label, key=lambda score: (-score.support, score.label))
    tiles = [  # the metrics that have a note, with their intervals
        {
            "name": ALL_METRICS[name].title,
            "value": f"{value:.4f}",
            "note": ALL_METRICS[name].note,
            "range": f"{found[name].low:.4f} to {found[name].high:.4f}" if name in found else "",
        }
        for name, value in evaluation.metrics.items()
        if ALL_METRICS[name].note
    ]
    content = {
        "subject": subject,
        "settings": settings,
        "notes": notes,
        "has_probabilities": has_probabilities,
        "evaluation": evaluation,
        "metrics": evaluation.metrics,
        "unknown": format_unknown(evaluation.unknown_label) if evaluation.unknown_label else "",
        "intervals": found,
        "tiles": tiles,
        "scores": sorted(by_support[:MAX_TABLE_LABELS], key=lambda score: score.label),
    }
    if isinstance(diagnosis, SetDiagnosis):
        content["worst"] = [(each, shorten_text(each.text)) for each in diagnosis.worst]
        words = (
            "Each pair of a document and a label is counted. On the dashed line, documents have a label as often as "
            "its probability says; below it, less often."
        )
        chart = _reliability_chart(
            words, ("frequency", "pairs"), "of labels", diagnosis.reliability
        )
        charts = [chart] if has_probabilities else []
        return render_page("multilabel.html", content, charts=charts)
    (target,) = (each for each in diagnosis.targets if each.accuracy == 0.95)
    content |= {
        "diagnosis": diagnosis,
        "target": target,
        "mistakes": [_mistake(mistake, locate) for mistake in diagnosis.mistakes],
        "model": list(summary_lines(diagnosis.top_features))
        if diagnosis.top_features is not None
        else [],
    }
    charts = [*evaluation_charts(diagnosis)] if has_probabilities else []
    data = {"confusions": _matrix(diagnosis, has_probabilities=has_probabilities)}
    return render_page(
        "evaluation.html", content, charts=charts, scripts=("confusions.js",), data=data
    )


def excerpt(example: Example) -> str:
    """Return the beginning of a document, on one line."""
    return shorten_text(" · ".join(example.texts), is_cut=example.n_missing > 0)


def _matrix(diagnosis: Diagnosis, *, has_probabilities: bool) -> dict[str, Any]:
    """Return the data of the script that draws the heat map; the predicted label -1 is none."""
    confusions = diagnosis.confusions
    places = {label: place for place, label in enumerate(confusions.labels)} | {None: -1}
    scores = {score.label: score for score in diagnosis.evaluation.per_label}

    def entry(example: Example) -> list[Any]:
        texts = [excerpt(example)] if example.texts else []
        probability = float(f"{example.probability:.4f}") if has_probabilities else None
        return [printable(example.id), probability, *texts]

    cells = [
        [
            places[label],
            places[predicted],
            count,
            [*map(entry, confusions.listed.get((label, predicted), []))],
        ]
        for (label, predicted), count in confusions.counts
        if label in places and predicted in places
    ]
    return {
        "labels": [printable(label) for label in confusions.labels],
        "documents": [scores[label].support for label in confusions.labels],
        "cells": cells,
    }


def _mistake(mistake: Mistake, locate: Locator | None) -> dict[str, Any]:
    """Return a mistake with its text marked, and the words with the largest contributions."""
    explanation = mistake.explanation
    parts = [part for part in explanation.contributions if part.log_odds]
    largest = max((abs(part.log_odds) for part in parts), default=1.0)
    n_characters = sum(map(len, mistake.document.texts)) + mistake.document.n_missing
    return {
        "document": mistake.document,
        "explanation": explanation,
        "true_probability": percent(explanation.other_probability or 0.0, 2),
        "runs": cut_runs(
            mark_runs(explanation, locate) if locate is not None else [], MAX_MISTAKE_CHARACTERS
        ),
        "n_more": max(0, n_characters - MAX_MISTAKE_CHARACTERS),
        "words_for": [(part, part.log_odds / largest) for part in parts if part.log_odds > 0][
            :MAX_MISTAKE_WORDS
        ],
        "words_against": [(part, -part.log_odds / largest) for part in parts if part.log_odds < 0][
            :MAX_MISTAKE_WORDS
        ],
    }


def evaluation_charts(diagnosis: Diagnosis) -> Iterator[Chart]:
    """Yield the charts that have data."""
    if diagnosis.evaluation.reliability:
        error = percent(diagnosis.evaluation.metrics["expected_calibration_error"])
        words = (
            "On the dashed line, predictions are correct as often as their probability says; below it, less often. "
            f"The mean distance from the line is {error}."
        )
        name = "calibrated" if diagnosis.is_calibrated else "as they are"
        bins = diagnosis.evaluation.reliability
        yield _reliability_chart(words, ("accuracy", "documents"), name, bins)
    parts = diagnosis.trade_off
    if len(parts) > 1:
        yield Chart(
            "trade_off",
            "Accuracy at each threshold",
            f"Without a threshold (right), {percent(parts[-1].accuracy)} of the predictions are correct. A higher "
            "threshold (left) leaves fewer predictions, of which usually a larger share is correct.",
            ("threshold", "answered", "accuracy", "documents"),
            ("threshold", "share with a label", "accuracy", "documents"),
            [(part.threshold, part.answered, part.accuracy, part.documents) for part in parts],
        )


def _reliability_chart(
    words: str, headings: tuple[str, str], kind: str, bins: Sequence[ReliabilityBin]
) -> Chart:
    """Make the chart of probabilities against the share of right ones."""
    return Chart(
        "reliability",
        "Reliability",
        words,
        ("kind", "probability", "right", "documents"),
        ("probabilities", "mean probability", *headings),
        [(kind, b.mean_probability, b.accuracy, b.documents) for b in bins],
    )
