"""Curves: the reliability of probabilities, and the answers at each threshold."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Mask
from nbtext.evaluation.outcomes import Outcomes, as_counts
from nbtext.records import frozen, frozen_object

N_BINS = 15  # of equal width, as in Guo et al. 2017


@frozen
class ReliabilityBin:
    """The documents whose highest probability is from `low` to `high`."""

    low: float
    high: float
    documents: float
    mean_probability: float
    accuracy: float


def sum_bins(probabilities: Floats, is_right: Mask, weights: Any) -> Floats:
    """Return the number of documents, of right ones, and the sum of the probabilities in each bin,
    shape (3, n_columns, N_BINS).

    probabilities, is_right  (n_documents, n_columns)
    weights  (n_documents,), how often each counts
    """
    n_columns = probabilities.shape[1]
    bins = np.minimum((probabilities * N_BINS).astype(np.int64), N_BINS - 1)
    cells = (bins + np.arange(n_columns) * N_BINS).ravel()
    weighed = (each.T * weights for each in (np.ones_like(is_right), is_right, probabilities))
    sums = [np.bincount(cells, each.T.ravel(), n_columns * N_BINS) for each in weighed]
    return np.reshape(sums, (3, n_columns, N_BINS)).astype(np.float64)


def calibration_error(bins: Floats) -> float | None:
    """Return the expected calibration error: the mean over documents of a bin's |accuracy - mean
    probability|; None without documents.

    bins  (3, N_BINS), see `sum_bins`
    """
    documents, correct, total = bins
    n_documents = documents.sum()
    return float(np.abs(correct - total).sum() / n_documents) if n_documents else None


def list_bins(bins: Floats) -> tuple[ReliabilityBin, ...]:
    """Return the bins that have a document; see `calibration_error`."""
    return tuple(
        ReliabilityBin(
            place / N_BINS,
            (place + 1) / N_BINS,
            as_counts(documents).item(),
            total / documents,
            correct / documents,
        )
        for place, (documents, correct, total) in enumerate(bins.T.tolist())
        if documents
    )


class AnsweredPart(NamedTuple):
    """The documents whose label is at least as probable as a threshold.

    answered  The share of these documents among all.
    accuracy  The share of correct labels among them.
    """

    threshold: float
    documents: float
    answered: float
    accuracy: float


@frozen_object
class TradeOff:
    """The number of answers, and of correct ones, at each threshold of `--min-probability`.

    thresholds  Shape (n_thresholds,): distinct probabilities of answerable documents, descending.
    answered    Shape (n_thresholds,): number of these with at least this probability.
    correct     Shape (n_thresholds,): number of those with the right label.
    """

    n_documents: float
    thresholds: Floats
    answered: Array
    correct: Array

    @classmethod
    def of(cls, outcomes: Outcomes) -> TradeOff:
        """Rank the answerable documents by probability."""
        places = np.flatnonzero(outcomes.is_answerable)
        places = places[np.argsort(-outcomes.best[places], kind="stable")]
        ranked = outcomes.best[places]
        # of each run of equal probabilities
        ends = np.flatnonzero(np.append(np.diff(ranked) != 0, len(ranked) > 0))
        times = np.ones(len(outcomes), np.int64) * outcomes.weights_of()
        answered = np.cumsum(times[places])[ends]
        correct = np.cumsum((outcomes.is_chosen_right * times)[places])[ends]
        return cls(times.sum().item(), ranked[ends], as_counts(answered), as_counts(correct))

    def at_accuracy(self, accuracy: float) -> AnsweredPart | None:
        """Return the part with the most answers whose accuracy is at least this; None if there is
        none.

        The threshold has as few digits as possible.
        """
        enough = np.flatnonzero(self.correct >= accuracy * self.answered)
        if not len(enough):
            return None
        place = int(enough[-1])
        if place + 1 == len(self.thresholds):  # all answers
            return self._part(place, 0.0)
        low, high = self.thresholds[[place + 1, place]].tolist()
        return self._part(place, shortest_between(low, high))

    def parts(self, maximum: int) -> tuple[AnsweredPart, ...]:
        """Return at most so many parts, evenly spaced by the number of answers."""
        if not len(self.answered):
            return ()
        steps = np.searchsorted(
            self.answered, np.linspace(self.answered[0], self.answered[-1], maximum)
        )
        return tuple(
            self._part(place, float(self.thresholds[place])) for place in np.unique(steps).tolist()
        )

    def _part(self, place: int, threshold: float) -> AnsweredPart:
        answered = self.answered[place].item()
        correct = self.correct[place].item()
        return AnsweredPart(threshold, answered, answered / self.n_documents, correct / answered)


def shortest_between(low: float, high: float) -> float:
    """Return the number with the fewest digits above `low` that is at most `high`; 0 <= low < high
    <= 1.
    """
    for digits in range(1, 17):
        candidate = math.floor(high * 10.0**digits) / 10.0**digits
        if low < candidate <= high:
            return candidate
    return high
