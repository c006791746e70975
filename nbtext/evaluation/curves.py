"""Curves: documents ranked by a score, the reliability of probabilities, and the answers at each
threshold.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers, Mask
from nbtext.evaluation.outcomes import Outcomes
from nbtext.records import frozen

N_POINTS = 60  # of a curve that is drawn
N_BINS = 15  # of equal width, as in Guo et al. 2017


@frozen(eq=False)
class Ranking:
    """Documents ranked by a score: true and false positives at each threshold.

    thresholds       Shape (n_thresholds,): distinct scores, descending.
    true_positives   Shape (n_thresholds,): number of positive documents with at least this score.
    false_positives  Shape (n_thresholds,): number of negative documents with at least this score.

    Source: Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 8.4.
    """

    thresholds: Floats
    true_positives: Integers
    false_positives: Integers

    @classmethod
    def of(cls, scores: Floats, is_positive: Mask) -> Ranking:
        """Rank documents by score."""
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        # of each run of equal scores
        ends = np.flatnonzero(np.append(np.diff(ranked) != 0, len(ranked) > 0))
        positives = np.cumsum(is_positive[order], dtype=np.int64)[ends]
        return cls(ranked[ends], positives, ends + 1 - positives)

    @property
    def documents(self) -> Integers:
        """(n_thresholds,), documents with at least this score."""
        return self.true_positives + self.false_positives

    @property
    def precision(self) -> Floats:
        return np.asarray(self.true_positives / self.documents)

    @property
    def recall(self) -> Floats:
        return _share(self.true_positives)

    @property
    def false_positive_rate(self) -> Floats:
        return _share(self.false_positives)

    @property
    def average_precision(self) -> float | None:
        """The mean precision over the positive documents; None if there are none."""
        if not self.true_positives.any():
            return None
        return float((np.diff(self.recall, prepend=0.0) * self.precision).sum())

    @property
    def auroc(self) -> float | None:
        """The area under the ROC curve: the probability that a positive document scores above a
        negative one, ties counting half; None if one kind is missing.

        Source: Hanley and McNeil, The Meaning and Use of the Area under a Receiver Operating
        Characteristic (ROC) Curve, 1982.
        """
        if not self.true_positives.any() or not self.false_positives.any():
            return None
        recall = np.append(0.0, self.recall)
        rate = np.append(0.0, self.false_positive_rate)
        return float((np.diff(rate) * (recall[1:] + recall[:-1]) / 2).sum())


class CurvePoint(NamedTuple):
    """The rates at one threshold."""

    threshold: float
    precision: float
    recall: float
    false_positive_rate: float


class LabelCurve(NamedTuple):
    """The curves of a label, with as many points as a chart can show, and the areas under them.

    points  The points, by descending threshold.
    """

    label: str
    points: tuple[CurvePoint, ...]
    average_precision: float | None
    auroc: float | None


def compute_label_curve(label: str, probabilities: Floats, is_own: Mask) -> LabelCurve:
    """Compute the curves of a label from its probability for each document and whether the document
    has it.
    """
    ranking = Ranking.of(probabilities, is_own)
    along = ranking.recall + ranking.false_positive_rate
    places = np.zeros(0, dtype=np.int64)
    if len(along):  # evenly spaced along the curves, with the first and the last threshold
        steps = np.searchsorted(along, np.linspace(along[0], along[-1], N_POINTS))
        places = np.unique(np.append(np.minimum(steps, len(along) - 1), (0, len(along) - 1)))
    columns = (ranking.thresholds, ranking.precision, ranking.recall, ranking.false_positive_rate)
    points = tuple(
        CurvePoint(*row)
        for row in zip(*(column[places].tolist() for column in columns), strict=True)
    )
    return LabelCurve(label, points, ranking.average_precision, ranking.auroc)


def _share(counts: Integers) -> Floats:
    """Divide counts by the last one, which is the total; 0 if that is 0."""
    return np.asarray(counts / max(1, int(counts[-1]) if len(counts) else 1))


@frozen
class ReliabilityBin:
    """The documents whose highest probability is from `low` to `high`."""

    low: float
    high: float
    documents: int
    mean_probability: float
    accuracy: float


def sum_bins(probabilities: Floats, is_right: Mask) -> Floats:
    """Return the number of documents, of right ones, and the sum of the probabilities in each bin,
    shape (3, n_columns, N_BINS); both arguments have the shape (n_documents, n_columns).
    """
    n_columns = probabilities.shape[1]
    bins = np.minimum((probabilities * N_BINS).astype(np.int64), N_BINS - 1)
    cells = (bins + np.arange(n_columns) * N_BINS).ravel()
    weights = (None, is_right.ravel(), probabilities.ravel())
    sums = [np.bincount(cells, each, n_columns * N_BINS) for each in weights]
    return np.reshape(sums, (3, n_columns, N_BINS)).astype(np.float64)


class Reliability:
    """Sums predictions in bins by probability."""

    def __init__(self) -> None:
        self._bins = np.zeros((3, N_BINS))  # documents, correct ones, sum of probabilities

    def add(self, best: Floats, is_correct: Mask) -> None:
        """Add predictions with these probabilities."""
        self._bins += sum_bins(best[:, None], is_correct)[:, 0]

    @property
    def error(self) -> float | None:
        """The expected calibration error: the mean over documents of a bin's |accuracy - mean
        probability|.

        None: there are no documents.
        """
        documents, correct, total = self._bins
        n_documents = documents.sum()
        return float(np.abs(correct - total).sum() / n_documents) if n_documents else None

    def bins(self) -> tuple[ReliabilityBin, ...]:
        """Return the bins that have a document."""
        return tuple(
            ReliabilityBin(
                place / N_BINS,
                (place + 1) / N_BINS,
                int(documents),
                total / documents,
                correct / documents,
            )
            for place, (documents, correct, total) in enumerate(self._bins.T.tolist())
            if documents
        )


class AnsweredPart(NamedTuple):
    """The documents whose label is at least as probable as a threshold.

    answered  The share of these documents among all.
    accuracy  The share of correct labels among them.
    """

    threshold: float
    documents: int
    answered: float
    accuracy: float


@frozen(eq=False)
class TradeOff:
    """The number of answers, and of correct ones, at each threshold of `--min-probability`.

    ranking  The answerable documents, ranked by probability; the positive ones are those with the
             right label.
    """

    n_documents: int
    ranking: Ranking

    @classmethod
    def of(cls, outcomes: Outcomes) -> TradeOff:
        """Rank the answerable documents by probability."""
        places = np.flatnonzero(outcomes.is_answerable)
        return cls(
            len(outcomes), Ranking.of(outcomes.best[places], outcomes.is_chosen_right[places])
        )

    def at_accuracy(self, accuracy: float) -> AnsweredPart | None:
        """Return the part with the most answers whose accuracy is at least this; None if there is
        none.

        The threshold has as few digits as possible.
        """
        thresholds = self.ranking.thresholds
        enough = np.flatnonzero(self.ranking.true_positives >= accuracy * self.ranking.documents)
        if not len(enough):
            return None
        place = int(enough[-1])
        if place + 1 == len(thresholds):  # all answers
            return self._part(place, 0.0)
        return self._part(
            place, shortest_between(float(thresholds[place + 1]), float(thresholds[place]))
        )

    def parts(self, maximum: int) -> tuple[AnsweredPart, ...]:
        """Return at most so many parts, evenly spaced by the number of answers."""
        answered = self.ranking.documents
        if not len(answered):
            return ()
        steps = np.searchsorted(answered, np.linspace(answered[0], answered[-1], maximum))
        return tuple(
            self._part(place, float(self.ranking.thresholds[place]))
            for place in np.unique(steps).tolist()
        )

    def _part(self, place: int, threshold: float) -> AnsweredPart:
        answered = int(self.ranking.documents[place])
        correct = int(self.ranking.true_positives[place])
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
