"""Conformal prediction sets: labels whose nonconformity is not larger than that of most true labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

MOST_POINTS = 1001  # the extremes, and each thousandth between them
LEAST = 1e-300  # of a probability, so that its logarithm is finite
STRANGEST = 2.0  # the nonconformity of a label that the model does not know: more than any other


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """The distribution of numbers: all of them if they are few, otherwise 1001 order statistics at even ranks.

    points   (n_points,), ascending, from the smallest to the largest number
    numbers  how many numbers there were
    """

    points: Floats
    numbers: int

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Quantiles | None:
        """The distribution of these finite numbers; None of none."""
        if len(numbers) == 0:
            return None
        ascending = np.sort(numbers.astype(np.float64))
        ranks = np.linspace(0, len(numbers) - 1, min(len(numbers), MOST_POINTS))
        return cls(np.interp(ranks, np.arange(len(numbers)), ascending), len(numbers))

    def upper_bound(self, share: float) -> float:
        """The number that a new exchangeable one does not exceed with at least this probability.

        It is the ⌈(n + 1) · share⌉-th smallest of the n numbers, and infinity if there are too few of them (Vovk,
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
    """The nonconformity score of each label for each document, shape (n_documents, n_classes).

    It is that of adaptive prediction sets: the probability of all labels that are more probable, from 0 to 1. For every
    most probable label that would be 0; there it is the logarithm of the probability of all other labels, which is
    below 0. So scores hardly tie, no randomization is needed for the coverage that is asked for, and if less than the
    accuracy is asked for, the empty sets are those of the least certain documents.

    probabilities  (n_documents, n_classes), rows that sum to one
    source         Romano, Sesia, Candès, Classification with Valid and Adaptive Coverage, 2020, section 2 (there u is
                   random; here it is 0, and 1 for a document's first label, on another scale)
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    descending = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(descending, axis=1) - descending
    is_tied = descending[:, 1:] == descending[:, :-1]
    starts = np.where(np.pad(is_tied, ((0, 0), (1, 0))), 0, np.arange(probabilities.shape[1]))
    starts = np.maximum.accumulate(starts, axis=1)  # equal probabilities, equal scores
    scores = np.take_along_axis(before, starts, axis=1)
    scores[starts == 0] = np.repeat(_log_rest(descending), (starts == 0).sum(axis=1))
    result = np.empty_like(scores)
    np.put_along_axis(result, order, scores, axis=1)
    return result


def own_nonconformity(probabilities: Floats, classes: NDArray[Any]) -> Floats:
    """The nonconformity score of each document's own label, shape (n_documents,), as `nonconformity` gives it."""
    own = probabilities[np.arange(len(classes)), classes]
    before = np.where(probabilities > own[:, None], probabilities, 0.0).sum(axis=1)
    is_first = before == 0
    before[is_first] = _log_rest(probabilities[is_first])
    return np.asarray(before)


def _log_rest(probabilities: Floats) -> Floats:
    """The logarithm of the probability of all labels but the most probable one."""
    others = probabilities.copy()
    others[np.arange(len(others)), others.argmax(axis=1)] = 0.0
    return np.asarray(np.log(np.clip(others.sum(axis=1), LEAST, 1.0)))
