"""By how much figures could differ on other documents of the same kind: bootstrap confidence intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 1000
MOST_DRAWN = 50_000  # documents in one resample; of more, it is an m out of n bootstrap

Statistic = Callable[[NDArray[np.int64]], list[float]]


class Interval(NamedTuple):
    """Where a figure lies with a confidence of 95 %."""

    low: float
    high: float


def resampled(n: int, statistic: Statistic, random: np.random.Generator) -> NDArray[np.float64]:
    """Figures of documents that are drawn anew, with replacement, shape (n_resamples, n_figures).

    n          documents there are
    statistic  figures of the documents of these numbers
    source     of more than 50,000 documents so many are drawn, and the figures' distances from those of all documents
               shrunk to what they would be of n: Bickel, Götze, van Zwet, Resampling Fewer Than n Observations, 1997
    """
    drawn = min(n, MOST_DRAWN)
    found = np.array([statistic(random.integers(n, size=drawn)) for _ in range(RESAMPLES)])
    if drawn < n:
        whole = np.array(statistic(np.arange(n)))
        found = whole + (found - whole) * np.sqrt(drawn / n)
    return found


def bias_corrected(value: float, replicates: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """The percentiles of the replicates, moved by how far their median is off the value.

    source  the BC interval of Efron, Nonparametric Standard Errors and Confidence Intervals, 1981, section 7
    """
    from scipy.special import ndtr, ndtri

    below = (replicates < value).mean() + (replicates == value).mean() / 2
    bias = ndtri(np.clip(below, 1 / (2 * len(replicates)), 1 - 1 / (2 * len(replicates))))
    tail = ndtri((1 - level) / 2)
    low, high = np.quantile(replicates, ndtr(2 * bias + np.array([tail, -tail])))
    return Interval(float(low), float(high))
