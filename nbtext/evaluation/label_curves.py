"""Precision-recall and ROC curves of single labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

N_POINTS = 60  # of a curve that is drawn


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Documents ranked by a score: true and false positives at each threshold.

    thresholds       Shape (n_thresholds,): distinct scores, descending.
    true_positives   Shape (n_thresholds,): number of positive documents with at least this score.
    false_positives  Shape (n_thresholds,): number of negative documents with at least this score.

    Source: Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 8.4.
    """

    thresholds: Floats
    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]

    @classmethod
    def of(cls, scores: Floats, is_positive: NDArray[np.bool_]) -> Ranking:
        """Rank documents by score."""
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        ends = np.flatnonzero(np.append(np.diff(ranked) != 0, len(ranked) > 0))  # of each run of equal scores
        positives = np.cumsum(is_positive[order], dtype=np.int64)[ends]
        return cls(ranked[ends], positives, ends + 1 - positives)

    @property
    def documents(self) -> NDArray[np.int64]:
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
        if not self._n_positive:
            return None
        return float((np.diff(self.recall, prepend=0.0) * self.precision).sum())

    @property
    def auroc(self) -> float | None:
        """The area under the ROC curve: the probability that a positive document scores above a negative one, ties
        counting half; None if one kind is missing.

        Source: Hanley and McNeil, The Meaning and Use of the Area under a Receiver Operating Characteristic (ROC)
        Curve, 1982.
        """
        if not self._n_positive or not self.false_positives[-1]:
            return None
        recall, rate = np.append(0.0, self.recall), np.append(0.0, self.false_positive_rate)
        return float((np.diff(rate) * (recall[1:] + recall[:-1]) / 2).sum())

    @property
    def _n_positive(self) -> int:
        return int(self.true_positives[-1]) if len(self.true_positives) else 0


class CurvePoint(NamedTuple):
    """The rates at one threshold."""

    threshold: float
    precision: float
    recall: float
    false_positive_rate: float


@dataclass(frozen=True, slots=True)
class LabelCurve:
    """The curves of a label, with as many points as a chart can show, and the areas under them.

    points  The points, by descending threshold.
    """

    label: str
    points: tuple[CurvePoint, ...]
    average_precision: float | None
    auroc: float | None


def compute_label_curve(label: str, probabilities: Floats, is_own: NDArray[np.bool_]) -> LabelCurve:
    """Compute the curves of a label from its probability for each document and whether the document has it."""
    ranking = Ranking.of(probabilities, is_own)
    along = ranking.recall + ranking.false_positive_rate
    places = np.zeros(0, dtype=np.int64)
    if len(along):  # evenly spaced along the curves, with the first and the last threshold
        steps = np.searchsorted(along, np.linspace(along[0], along[-1], N_POINTS))
        places = np.unique(np.append(np.minimum(steps, len(along) - 1), (0, len(along) - 1)))
    columns = (ranking.thresholds, ranking.precision, ranking.recall, ranking.false_positive_rate)
    points = tuple(CurvePoint(*row) for row in zip(*(column[places].tolist() for column in columns), strict=True))
    return LabelCurve(label, points, ranking.average_precision, ranking.auroc)


def _share(counts: NDArray[np.int64]) -> Floats:
    """Divide counts by the last one, which is the total; 0 if that is 0."""
    return np.asarray(counts / max(1, int(counts[-1]) if len(counts) else 1))


class ThinnedRows:
    """Keeps a bounded number of values: all rows, or every second, fourth, ... of them.

    Later rows may be wider: missing values of earlier ones are 0.

    Parameters
    ----------
    most : int
        Maximum number of values to keep.
    step  every `step`-th row is kept
    """

    def __init__(self, maximum: int) -> None:
        self._most = maximum
        self.step = 1
        self._seen = self._kept = 0
        self._parts: list[Floats] = []

    def add(self, rows: Floats) -> None:
        """Add rows, shape (n_rows, width)."""
        kept = rows[-self._seen % self.step :: self.step].copy()
        self._seen += len(rows)
        self._kept += kept.size
        self._parts.append(kept)
        while self._kept > self._most and self._seen > self.step:
            self._parts = [self.rows()[::2]]
            self._kept = self._parts[0].size
            self.step *= 2

    def rows(self) -> Floats:
        """Return the rows that were kept, in order, shape (n_rows, largest width)."""
        width = max((part.shape[1] for part in self._parts), default=0)
        padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in self._parts]
        return np.concatenate(padded) if padded else np.zeros((0, 0))
