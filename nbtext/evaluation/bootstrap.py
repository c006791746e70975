"""By how much the figures of an evaluation could differ on other documents of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.evaluation.outcomes import Outcomes
from nbtext.evaluation.reliability import N_BINS, bins_of
from nbtext.evaluation.resampling import Interval, Statistic, bias_corrected, resampled


def intervals(outcomes: Outcomes, *, seed: int = 1) -> dict[str, Interval]:
    """An interval for each figure of an evaluation that is a property of single documents, by its name there."""
    names, statistic = _figures(outcomes)
    everything = statistic(np.arange(len(outcomes)))
    replicates = resampled(len(outcomes), statistic, np.random.default_rng(seed))
    pairs = zip(names, everything, replicates.T, strict=True)
    return {name: bias_corrected(value, found) for name, value, found in pairs}


def _figures(outcomes: Outcomes) -> tuple[tuple[str, ...], Statistic]:
    """The names of figures, and what computes them of some documents."""
    names = (
        "accuracy", "macro_f1", "weighted_f1", "log_loss", "brier_score", "expected_calibration_error", "answered",
        "accuracy_among_answered",
    )  # fmt: skip
    right, is_answered, losses = outcomes.is_right, outcomes.predicted >= 0, outcomes.losses
    gaps, bins = outcomes.is_sound - outcomes.best, bins_of(outcomes.best)
    scores = ConfusionScores(outcomes)

    def figures(drawn: NDArray[np.int64]) -> list[float]:
        accuracy, answered = float(right[drawn].mean()), float(is_answered[drawn].mean())
        error = np.abs(np.bincount(bins[drawn], gaps[drawn], N_BINS)).sum() / len(drawn)
        means = (float(losses[drawn].mean()), float(outcomes.squared_errors[drawn].mean()))
        return [
            accuracy, *scores.f1(drawn), *means, float(error), answered, accuracy / answered if answered else 0.0
        ]  # fmt: skip

    return names, figures


class ConfusionScores:
    """Macro and weighted F1 of some documents, by the pairs of labels that there are."""

    def __init__(self, outcomes: Outcomes) -> None:
        n = self._n_labels = len(outcomes.labels)
        keys = outcomes.true.astype(np.int64) * (n + 1) + outcomes.predicted + 1
        found, self._pairs = np.unique(keys, return_inverse=True)
        self._true, self._predicted = found // (n + 1), found % (n + 1) - 1

    def f1(self, drawn: NDArray[np.int64]) -> tuple[float, float]:
        numbers = np.bincount(self._pairs[drawn], minlength=len(self._true))
        support = self._summed(self._true, numbers)
        both = support + self._summed(self._predicted, numbers)
        right = self._summed(self._true, numbers * (self._true == self._predicted))
        f1 = np.divide(2 * right, both, out=np.zeros(self._n_labels), where=both > 0)
        return float(f1.mean()), float(f1 @ support / len(drawn))

    def _summed(self, labels: NDArray[np.int64], numbers: NDArray[Any]) -> NDArray[np.float64]:
        given = labels >= 0
        return np.asarray(np.bincount(labels[given], numbers[given], self._n_labels), dtype=np.float64)
