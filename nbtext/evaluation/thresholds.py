"""Thresholds of `--fail-under` for metrics."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

from nbtext.errors import BelowThreshold, SettingsError, named, suggest
from nbtext.evaluation.evaluator import Evaluation
from nbtext.evaluation.metrics import LABEL_METRICS, METRICS, Metric
from nbtext.evaluation.multilabel import MULTILABEL_METRICS

ALL_METRICS: dict[str, Metric[Any]] = {**METRICS, **MULTILABEL_METRICS}


def parse_thresholds(text: str) -> dict[str, float]:
    """Parse `METRIC=N,…`, where METRIC is a name of a metric, or `precision:LABEL`, `recall:LABEL` or `f1:LABEL`.

    Raises
    ------
    ValueError
        A metric or a number is not understood; the message says which.
    """
    thresholds = {}
    for part in text.split(","):
        name, _, number = (piece.strip() for piece in part.rpartition("="))
        name = name or part.strip()
        kind, colon, label = name.partition(":")
        is_known = name in ALL_METRICS or (kind in LABEL_METRICS and label)
        if not is_known:
            names = (*ALL_METRICS, *(f"{each}:LABEL" for each in LABEL_METRICS))
            nearest = get_close_matches(name if not colon else f"{kind}:LABEL", names, n=1)
            advice = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(names)}"
            raise ValueError(f"{name!r} is not a metric; {advice}")
        try:
            threshold = float(number)
        except ValueError:
            threshold = float("nan")
        if not isfinite(threshold):
            raise ValueError(f"{part.strip()!r} has no number; write {name}=0.85")
        if threshold > 1 and not (name in ALL_METRICS and ALL_METRICS[name].is_loss):
            share = f"; write {name}={threshold / 100:g}" if 10 < threshold <= 100 else ""
            raise ValueError(f"{part.strip()!r} cannot be reached: the highest value is 1{share}")
        thresholds[name] = threshold
    return thresholds


def check_thresholds(evaluation: Evaluation, thresholds: Mapping[str, float]) -> None:
    """Check every threshold.

    Raises
    ------
    BelowThreshold
        A metric is worse than its threshold; the message names all of them.
    SettingsError
        A metric was not measured, or the label does not exist.
    """
    missed = []
    for name, threshold in thresholds.items():
        value, is_loss = _find_value(evaluation, name), name in ALL_METRICS and ALL_METRICS[name].is_loss
        if value > threshold if is_loss else value < threshold:
            missed.append(f"{name} is {value:.4f}, {'above' if is_loss else 'below'} {threshold:g}")
    if missed:
        raise BelowThreshold("; ".join(missed))


def _find_value(evaluation: Evaluation, name: str) -> float:
    if name in ALL_METRICS:
        if name not in evaluation.metrics:
            needed = ALL_METRICS[name].needs
            kinds = "several labels for a document" if name in MULTILABEL_METRICS else "one label for each document"
            hint = f"give {needed} too" if needed else f"it is a metric of {kinds}"
            raise SettingsError(f"{name} was not measured", where="--fail-under", hint=hint)
        return evaluation.metrics[name]
    kind, _, label = name.partition(":")
    scores: dict[str, Any] = {score.label: score for score in evaluation.per_label}
    if label not in scores:
        hint = suggest(name, [f"{kind}:{each}" for each in scores])
        raise SettingsError(f"there is no label {named(label)}", where="--fail-under", hint=hint)
    return float(getattr(scores[label], kind))
