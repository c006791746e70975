"""Bootstrap confidence intervals of metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.evaluation.metrics import Metric, T, compute_metrics
from nbtext.evaluation.outcomes import MultilabelOutcomes, Outcomes
from nbtext.features.csr import entries_of, running_sums

CONFIDENCE_LEVEL = 0.95
N_RESAMPLES = 1000
# documents of one resample; larger evaluations use an m-out-of-n bootstrap
MAX_RESAMPLE_SIZE = 50_000

Statistic = Callable[[Integers], list[float]]


class Estimate(NamedTuple):
    """A figure with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def compute_intervals(
    metrics: Mapping[str, Metric[T]],
    totals_of: Callable[[Integers], T],
    n_documents: int,
    seed: int = 1,
) -> dict[str, Estimate]:
    """Compute an interval for every metric that single documents determine, by its name.

    totals_of  computes the totals of any of the documents
    """
    values = compute_metrics(totals_of(np.arange(n_documents)), metrics)

    def statistic(documents: Integers) -> list[float]:
        found = compute_metrics(totals_of(documents), metrics)
        return [found.get(name, np.nan) for name in values]

    replicates = resample(n_documents, statistic, np.random.default_rng(seed))
    pairs = zip(values.items(), replicates.T, strict=True)
    return {name: bias_corrected_interval(value, found) for (name, value), found in pairs}


def by_text(
    outcomes: Outcomes | MultilabelOutcomes, totals_of: Callable[[Integers], T]
) -> tuple[Callable[[Integers], T], int]:
    """Return the function that computes the totals of texts, and the number of texts: the documents
    of a soft label are drawn together.
    """
    if outcomes.texts is None:
        return totals_of, len(outcomes)
    _, numbers = np.unique(outcomes.texts, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    bounds = running_sums(np.bincount(numbers))
    return (lambda texts: totals_of(order[entries_of(bounds, texts)[1]])), len(bounds) - 1


def resample(n: int, statistic: Statistic, random: np.random.Generator) -> Floats:
    """Compute figures of documents drawn with replacement, shape (n_resamples, n_figures).

    Of more than 50,000 documents, 50,000 are drawn, and the distances of the figures from those of
    all documents are scaled to n documents.

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

    Replicates are NaN where the documents that were drawn do not determine the figure.

    Source: the BC interval of Efron, Nonparametric Standard Errors and Confidence Intervals, 1981,
    section 7.
    """
    from scipy.special import ndtr, ndtri

    replicates = (
        replicates[~np.isnan(replicates)] if not np.isnan(replicates).all() else np.array([value])
    )
    below = (replicates < value).mean() + (replicates == value).mean() / 2
    bias = ndtri(np.clip(below, 1 / (2 * len(replicates)), 1 - 1 / (2 * len(replicates))))
    tail = ndtri((1 - CONFIDENCE_LEVEL) / 2)
    low, high = np.quantile(replicates, ndtr(2 * bias + np.array([tail, -tail])))
    return Estimate(value, float(low), float(high))
