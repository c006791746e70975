"""Conformal prediction sets: labels whose nonconformity is not larger than that of most true labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.records import dataclass

MAX_POINTS = 1001  # the minimum, the maximum, and 999 quantiles between them
MIN_PROBABILITY = 1e-300  # so that its logarithm is finite
MAX_NONCONFORMITY = 2.0  # of a label that the model does not know; all other scores are at most 1


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """The distribution of some numbers: all of them, but at most 1001 quantiles at equally spaced ranks.

    points   (n_points,), ascending, from the smallest to the largest number
    numbers  how many numbers there were
    """

    points: Floats
    numbers: int

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Quantiles | None:
        """Return the distribution of finite numbers; None if there are none."""
        if len(numbers) == 0:
            return None
        ascending = np.sort(numbers.astype(np.float64))
        ranks = np.linspace(0, len(numbers) - 1, min(len(numbers), MAX_POINTS))
        return cls(np.interp(ranks, np.arange(len(numbers)), ascending), len(numbers))

    def upper_bound(self, share: float) -> float:
        """Return the bound b such that a new exchangeable number is at most b with at least the probability `share`.

        It is the ⌈(n + 1) · share⌉-th smallest of the n numbers, and infinity if there are too few (Vovk,
        Gammerman, Shafer, Algorithmic Learning in a Random World, 2005, section 2.2).
        """
        rank = math.ceil((self.numbers + 1) * share - 1e-9)
        if rank > self.numbers:
            return math.inf
        if self.numbers == 1:
            return float(self.points[0])
        place = (max(rank, 1) - 1) / (self.numbers - 1) * (len(self.points) - 1)
        return float(np.interp(place, np.arange(len(self.points)), self.points))


def nonconformity(probabilities: Floats) -> Floats:
    """Return the nonconformity score of each label for each document, shape (n_documents, n_classes).

    It is the score of adaptive prediction sets: the sum of the probabilities of all more probable labels, between 0 and
    1. The most probable label would always have score 0. Its score is the logarithm of the probability of all other
    labels instead, which is below 0. So scores are in (−∞, 1], ties are rare, and the coverage needs no randomization.
    If the coverage is below the accuracy, the least certain documents have empty sets.

    probabilities  (n_documents, n_classes), rows that sum to one
    source         Romano, Sesia, Candès, Classification with Valid and Adaptive Coverage, 2020, section 2 (without
                   its randomization of scores)
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    descending = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(descending, axis=1) - descending
    is_tied = descending[:, 1:] == descending[:, :-1]
    starts = np.where(np.pad(is_tied, ((0, 0), (1, 0))), 0, np.arange(probabilities.shape[1]))
    starts = np.maximum.accumulate(starts, axis=1)  # equal probabilities have equal scores
    scores = np.take_along_axis(before, starts, axis=1)
    scores[starts == 0] = np.repeat(_log_rest(descending), (starts == 0).sum(axis=1))
    result = np.empty_like(scores)
    np.put_along_axis(result, order, scores, axis=1)
    return result


def own_nonconformity(probabilities: Floats, classes: NDArray[Any]) -> Floats:
    """Return the nonconformity score of each document's own label, shape (n_documents,); see `nonconformity`."""
    own = probabilities[np.arange(len(classes)), classes]
    before = np.where(probabilities > own[:, None], probabilities, 0.0).sum(axis=1)
    is_first = before == 0
    before[is_first] = _log_rest(probabilities[is_first])
    return np.asarray(before)


def _log_rest(probabilities: Floats) -> Floats:
    """Return the logarithm of the probability of all labels but the most probable one."""
    others = probabilities.copy()
    others[np.arange(len(others)), others.argmax(axis=1)] = 0.0
    return np.asarray(np.log(np.clip(others.sum(axis=1), MIN_PROBABILITY, 1.0)))
