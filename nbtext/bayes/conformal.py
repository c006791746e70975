"""Conformal prediction sets, and outliers.

A prediction set holds the labels whose nonconformity is not larger than that of most true labels.
An outlier is a document whose log p(x) per token is low among left-out training documents.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nbtext.arrays import Array, Floats
from nbtext.numerics import exp, log
from nbtext.records import frozen_object

# numbers that stand for those with weights
MAX_WEIGHED = 1 << 20
MAX_POINTS = 1001  # the minimum, the maximum, and 999 quantiles between them
MIN_SUM_PROBABILITY = 1e-300  # so that its logarithm is finite
MAX_NONCONFORMITY = 2.0  # of a label that the model does not know; all other scores are at most 1


@frozen_object
class Quantiles:
    """The distribution of some numbers: all of them, but at most 1001 quantiles at equally spaced
    ranks.

    points   (n_points,), ascending, from the smallest to the largest number
    numbers  how many numbers there were
    """

    points: Floats
    numbers: int

    @classmethod
    def of(cls, numbers: Array, weights: Array | None = None) -> Quantiles | None:
        """Return the distribution of finite numbers; None if there are none.

        weights  (n,), how often each number counts; None: once
        """
        if len(numbers) == 0:
            return None
        if weights is not None:
            order = np.argsort(numbers, kind="stable")
            ends = np.cumsum(weights[order])
            size = max(1, round(float(ends[-1])))
            ranks = np.arange(min(size, MAX_WEIGHED)) + 0.5
            places = np.searchsorted(ends, ranks * float(ends[-1]) / len(ranks))
            found = cls.of(numbers[order][places])
            return found and replace(found, numbers=size)
        ascending = np.sort(numbers.astype(np.float64))
        ranks = np.linspace(0, len(numbers) - 1, min(len(numbers), MAX_POINTS))
        return cls(np.interp(ranks, np.arange(len(numbers)), ascending), len(numbers))

    def upper_bound(self, share: float) -> float:
        """Return the bound b such that a new exchangeable number is at most b with at least the
        probability `share`.

        It is the ⌈(n + 1) · share⌉-th smallest of the n numbers, and infinity if there are too few
        (Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005, section 2.2).
        """
        rank = math.ceil((self.numbers + 1) * share - 1e-9)
        if rank > self.numbers:
            return math.inf
        if self.numbers == 1:
            return float(self.points[0])
        place = (max(rank, 1) - 1) / (self.numbers - 1) * (len(self.points) - 1)
        return float(np.interp(place, np.arange(len(self.points)), self.points))


def nonconformity(probabilities: Floats) -> Floats:
    """Return the nonconformity score of each label for each document, shape (n_documents,
    n_classes).

    It is the score of adaptive prediction sets: the sum of the probabilities of all more probable
    labels, between 0 and 1. The most probable label would always have score 0. Its score is the
    logarithm of the probability of all other labels instead, which is below 0. So scores are in
    (−∞, 1], ties are rare, and the coverage needs no randomization. If the coverage is below the
    accuracy, the least certain documents have empty sets.

    probabilities  (n_documents, n_classes), rows that sum to one
    source         Romano, Sesia, Candès, Classification with Valid and Adaptive Coverage, 2020,
                   section 2 (without its randomization of scores)
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


def own_nonconformity(probabilities: Floats, classes: Array) -> Floats:
    """Return the nonconformity score of each document's own label, shape (n_documents,); see
    `nonconformity`.
    """
    own = probabilities[np.arange(len(classes)), classes]
    before = np.where(probabilities > own[:, None], probabilities, 0.0).sum(axis=1)
    is_first = before == 0
    before[is_first] = _log_rest(probabilities[is_first])
    return np.asarray(before)


def _log_rest(probabilities: Floats) -> Floats:
    """Return the logarithm of the probability of all labels but the most probable one."""
    others = probabilities.copy()
    others[np.arange(len(others)), others.argmax(axis=1)] = 0.0
    return log(np.clip(others.sum(axis=1), MIN_SUM_PROBABILITY, 1.0))


QUANTILE = 0.01  # share of left-out training documents below the threshold


def log_likelihood_per_token(scores: Floats, lengths: Array) -> Floats:
    """Return log p(x) / L = log Σ_k p(x, k) / L in nats, shape (n_documents,); NaN for a document
    without tokens.

    Documents of different lengths can be compared by it.

    scores   (n_documents, n_classes), log p(x, k)
    lengths  (n_documents,), tokens
    """
    highest = scores.max(axis=1)
    total = highest + log(exp(scores - highest[:, None]).sum(axis=1))
    per_token: Floats = np.divide(
        total, lengths, out=np.full(len(scores), np.nan), where=lengths > 0
    )
    return per_token


def typical(likelihoods: Floats) -> Quantiles | None:
    """Return the distribution of the log-likelihood per token of left-out documents; None if none
    has a token.
    """
    return Quantiles.of(likelihoods[np.isfinite(likelihoods)])


def threshold(typical: Quantiles) -> float:
    """Return the log-likelihood per token below which a document is an outlier."""
    return float(np.interp(QUANTILE, np.linspace(0, 1, len(typical.points)), typical.points))


def typicality(likelihoods: Floats, typical: Quantiles) -> Floats:
    """Return the typicality, a conformal p-value: with n left-out documents, m of them at most as
    likely, m / (n + 1).

    For likelihoods below those of all left-out documents it decreases from 1 / (n + 1) by a factor
    of e per nat, so that outliers can be ranked. It is never 0.

    likelihoods  (n_documents,), log p(x) per token; the typicality of NaN is NaN
    """
    n = typical.numbers
    points = typical.points
    among = 1 + np.interp(likelihoods, points, np.linspace(0, n - 1, len(points)))
    return among * exp(np.minimum(likelihoods - points[0], 0.0)) / (n + 1)
