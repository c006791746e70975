"""An evaluation as a page to look at, and to send to a colleague."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtext.errors import printable
from nbtext.evaluation.diagnosis import Diagnosis, Mistake, Target
from nbtext.evaluation.metrics import Evaluation, LabelScore
from nbtext.evaluation.shelves import Noted
from nbtext.features.occurrences import Locator
from nbtext.report.evaluation_charts import evaluation_charts
from nbtext.report.explanation import part_weights
from nbtext.report.inspection import summary_lines
from nbtext.report.page.marked import Run, cut, marked_runs
from nbtext.report.page.rendering import percent, rendered_page

TILES = (
    ("accuracy", "accuracy", "of the documents got their label"),
    ("macro_f1", "macro F1", "the mean over the labels"),
    ("log_loss", "log-loss", "in nats; less is better"),
    ("brier_score", "Brier score", "from 0 to 2; less is better"),
    ("expected_calibration_error", "calibration error", "of probabilities, expected"),
)
MOST_SHOWN = 2_500  # characters of a mistake's text
MOST_WORDS = 8  # of a mistake's, for the answer and against it
MOST_SCORES = 1_000  # labels whose figures are listed: the most frequent
EXCERPT = 110  # characters of a document in a list


def evaluation_page(
    diagnosis: Diagnosis, *, subject: str, settings: dict[str, str], locate: Locator | None = None
) -> bytes:
    """The page of an evaluation.

    subject   what was evaluated
    settings  what was asked for, by the names of the options
    locate    finds the words in the text of mistakes; None: they are not marked
    """
    charts = list(evaluation_charts(diagnosis))
    content: dict[str, Any] = {
        "subject": subject,
        "settings": settings,
        "diagnosis": diagnosis,
        "evaluation": diagnosis.evaluation,
        "tiles": _tiles(diagnosis),
        "scores": _scores(diagnosis.evaluation),
        "target": _main_target(diagnosis),
        "areas": {curve.label: curve for curve in diagnosis.curves.labels} if diagnosis.curves is not None else {},
        "mistakes": [_mistake(mistake, locate) for mistake in diagnosis.mistakes],
        "outliers": [(rank, noted, excerpt(noted, EXCERPT)) for rank, noted in _strangest(diagnosis)],
        "model": list(summary_lines(diagnosis.telling)) if diagnosis.telling is not None else [],
    }
    return rendered_page(
        "evaluation.html", content, charts=charts, scripts=("confusions.js",), data={"confusions": _matrix(diagnosis)}
    )


def excerpt(noted: Noted, most: int) -> str:
    """The beginning of a document, on one line."""
    text = printable(" ".join(" · ".join(noted.texts).split()))
    is_cut = len(text) > most or noted.n_missing > 0
    return text[:most].rstrip() + "…" if is_cut and text else text


def _tiles(diagnosis: Diagnosis) -> Iterator[dict[str, str]]:
    for name, title, note in TILES:
        low, high = diagnosis.intervals[name]
        value = getattr(diagnosis.evaluation, name)
        yield {"name": title, "value": f"{value:.4f}", "range": f"{low:.4f} to {high:.4f}", "note": note}


def _scores(evaluation: Evaluation) -> list[LabelScore]:
    """The figures of each label, or of the most frequent, sorted by label."""
    by_support = sorted(evaluation.per_label, key=lambda score: (-score.support, score.label))
    return sorted(by_support[:MOST_SCORES], key=lambda score: score.label)


def _main_target(diagnosis: Diagnosis) -> Target:
    """The one that is said in words: 95 % of the answers right."""
    (target,) = (each for each in diagnosis.trust.targets if each.accuracy == 0.95)
    return target


def _strangest(diagnosis: Diagnosis) -> tuple[tuple[float, Noted], ...]:
    return diagnosis.outliers.strangest if diagnosis.outliers is not None else ()


def _matrix(diagnosis: Diagnosis) -> dict[str, Any]:
    """What the page's script makes the heat map of; -1 stands for no answer."""
    confusions = diagnosis.confusions
    places: dict[str | None, int] = {label: place for place, label in enumerate(confusions.labels)} | {None: -1}
    scores = {score.label: score for score in diagnosis.evaluation.per_label}
    cells = [
        [places[label], places[answer], number, [_entry(noted) for noted in confusions.listed.get((label, answer), [])]]
        for (label, answer), number in confusions.numbers
        if label in places and answer in places
    ]
    return {
        "labels": [printable(label) for label in confusions.labels],
        "documents": [scores[label].support for label in confusions.labels],
        "alike": confusions.alike,
        "cells": cells,
    }


def _entry(noted: Noted) -> list[Any]:
    entry = [printable(noted.id), float(f"{noted.probability:.4f}")]
    return [*entry, excerpt(noted, EXCERPT)] if noted.texts else entry


def _mistake(mistake: Mistake, locate: Locator | None) -> dict[str, Any]:
    """A wrong answer with the words of its text marked, and those that weigh most."""
    explanation = mistake.explanation
    parts = [part for part in explanation.contributions if part.log_odds]
    strongest = max((abs(part.log_odds) for part in parts), default=1.0)
    runs: list[Run] = []
    if locate is not None:
        for text, weights in zip(explanation.texts, part_weights(explanation, locate), strict=True):
            runs += [*marked_runs(text, weights), Run("\n", 0)]
    n_characters = sum(map(len, mistake.document.texts)) + mistake.document.n_missing
    return {
        "document": mistake.document,
        "explanation": explanation,
        "chance": percent(explanation.other_probability or 0.0, 2),
        "runs": cut(runs, MOST_SHOWN),
        "n_more": max(0, n_characters - MOST_SHOWN),
        "words_for": [(part, part.log_odds / strongest) for part in parts if part.log_odds > 0][:MOST_WORDS],
        "words_against": [(part, -part.log_odds / strongest) for part in parts if part.log_odds < 0][:MOST_WORDS],
    }
