"""Bootstrap confidence intervals of metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.evaluation.metrics import METRICS, Metric, T, Totals, compute_metrics
from nbtext.evaluation.outcomes import Outcomes
from nbtext.evaluation.reliability import Reliability

LEVEL = 0.95
N_RESAMPLES = 1000
MAX_RESAMPLE_SIZE = 50_000  # documents of one resample; larger evaluations use an m-out-of-n bootstrap

Statistic = Callable[[NDArray[np.int64]], list[float]]


class Estimate(NamedTuple):
    """A figure with its 95 % confidence interval."""

    value: float
    low: float
    high: float


class TotalsOf:
    """Computes the totals of any of the documents; the same document may be drawn several times."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes, self._log_losses = outcomes, outcomes.log_losses
        n = len(outcomes.labels)
        keys = outcomes.true.astype(np.int64) * (n + 1) + outcomes.predicted + 1
        found, self._cells = np.unique(keys, return_inverse=True)
        self._true, self._predicted = found // (n + 1), found % (n + 1) - 1

    def __call__(self, documents: NDArray[np.int64]) -> Totals:
        reliability = Reliability()
        reliability.add(self._outcomes.best[documents], self._outcomes.is_chosen_right[documents])
        return Totals(
            len(self._outcomes.labels),
            self._true,
            self._predicted,
            np.bincount(self._cells[documents], minlength=len(self._true)),
            float(self._log_losses[documents].sum()),
            float(self._outcomes.squared_errors[documents].sum()),
            reliability,
        )


def compute_intervals(outcomes: Outcomes, *, seed: int = 1) -> dict[str, Estimate]:
    """Compute an interval for every metric that single documents determine, by its name."""
    return intervals_of(METRICS, TotalsOf(outcomes), len(outcomes), seed)


def intervals_of(
    metrics: Mapping[str, Metric[T]], totals_of: Callable[[NDArray[np.int64]], T], n_documents: int, seed: int
) -> dict[str, Estimate]:
    """Compute an interval for every metric that single documents determine, by its name.

    totals_of  computes the totals of any of the documents
    """
    values = compute_metrics(totals_of(np.arange(n_documents)), metrics)

    def statistic(documents: NDArray[np.int64]) -> list[float]:
        return list(compute_metrics(totals_of(documents), metrics).values())

    replicates = resample(n_documents, statistic, np.random.default_rng(seed))
    pairs = zip(values.items(), replicates.T, strict=True)
    return {name: bias_corrected_interval(value, found) for (name, value), found in pairs}


def metric_values(metrics: tuple[Metric[T], ...], totals: T) -> list[float]:
    """Compute these metrics, which must have been measured."""
    values = [metric.compute(totals) for metric in metrics]
    return [value for value in values if value is not None]


def resample(n: int, statistic: Statistic, random: np.random.Generator) -> Floats:
    """Compute figures of documents drawn with replacement, shape (n_resamples, n_figures).

    Of more than 50,000 documents, 50,000 are drawn, and the distances of the figures from those of all documents are
    scaled to n documents.

    Parameters
    ----------
    n : int
        Number of documents.
    statistic : Statistic
        Computes figures of the documents at the given positions.

    Source: Bickel, Götze, van Zwet, Resampling Fewer Than n Observations, 1997.
    """
    size = min(n, MAX_RESAMPLE_SIZE)
    replicates = np.array([statistic(random.integers(n, size=size)) for _ in range(N_RESAMPLES)])
    if size < n:
        whole = np.array(statistic(np.arange(n)))
        replicates = whole + (replicates - whole) * np.sqrt(size / n)
    return replicates


def bias_corrected_interval(value: float, replicates: Floats) -> Estimate:
    """Compute the percentile interval of the replicates, shifted by the bias of their median.

    Source: the BC interval of Efron, Nonparametric Standard Errors and Confidence Intervals, 1981, section 7.
    """
    from scipy.special import ndtr, ndtri

    below = (replicates < value).mean() + (replicates == value).mean() / 2
    bias = ndtri(np.clip(below, 1 / (2 * len(replicates)), 1 - 1 / (2 * len(replicates))))
    tail = ndtri((1 - LEVEL) / 2)
    low, high = np.quantile(replicates, ndtr(2 * bias + np.array([tail, -tail])))
    return Estimate(value, float(low), float(high))
