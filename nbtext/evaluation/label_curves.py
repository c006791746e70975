"""How well one label is told from the others at every threshold: precision-recall and ROC curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

N_POINTS = 60  # of a curve that is drawn


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Documents by the falling probability of a label: what is found down to each threshold.

    source  Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 8.4
    """

    thresholds: Floats  # (n_thresholds,), falling, each once
    found: NDArray[np.int64]  # documents of the label that are at least so probable
    false_alarms: NDArray[np.int64]  # other documents that are

    @classmethod
    def of(cls, probabilities: Floats, is_own: NDArray[np.bool_]) -> Ranking:
        """Rank documents, of which some bear the label."""
        order = np.argsort(-probabilities, kind="stable")
        ranked = probabilities[order]
        ends = np.flatnonzero(np.append(np.diff(ranked) != 0, len(ranked) > 0))  # of each run of equal ones
        found = np.cumsum(is_own[order], dtype=np.int64)[ends]
        return cls(ranked[ends], found, ends + 1 - found)

    @property
    def precision(self) -> Floats:
        return np.asarray(self.found / (self.found + self.false_alarms))

    @property
    def recall(self) -> Floats:
        return _share(self.found)

    @property
    def false_alarm_rate(self) -> Floats:
        return _share(self.false_alarms)

    @property
    def average_precision(self) -> float | None:
        """The mean of the precision over the documents of the label; None where there are none."""
        if not self._n_own:
            return None
        return float((np.diff(self.recall, prepend=0.0) * self.precision).sum())

    @property
    def area(self) -> float | None:
        """The area under the ROC curve; None where all documents bear the label, or none."""
        if not self._n_own or not self.false_alarms[-1]:
            return None
        recall, rate = np.append(0.0, self.recall), np.append(0.0, self.false_alarm_rate)
        return float((np.diff(rate) * (recall[1:] + recall[:-1]) / 2).sum())

    @property
    def _n_own(self) -> int:
        return int(self.found[-1]) if len(self.found) else 0


class CurvePoint(NamedTuple):
    """What there is at one threshold."""

    threshold: float
    precision: float
    recall: float
    false_alarm_rate: float


@dataclass(frozen=True, slots=True)
class LabelCurve:
    """The curves of a label, in as many points as can be told apart in a drawing, and the areas under them."""

    label: str
    points: tuple[CurvePoint, ...]  # by falling threshold
    average_precision: float | None
    area: float | None  # under the ROC curve


def label_curve(label: str, probabilities: Floats, is_own: NDArray[np.bool_]) -> LabelCurve:
    """The curves of a label from its probability for each document, and whether it bears the label."""
    ranking = Ranking.of(probabilities, is_own)
    columns = (ranking.thresholds, ranking.precision, ranking.recall, ranking.false_alarm_rate)
    drawn = [column[_places(ranking)].tolist() for column in columns]
    points = tuple(CurvePoint(*row) for row in zip(*drawn, strict=True))
    return LabelCurve(label, points, ranking.average_precision, ranking.area)


def _places(ranking: Ranking) -> NDArray[np.int64]:
    """Thresholds at even distances along the curves, the first and the last among them."""
    way = ranking.recall + ranking.false_alarm_rate
    if not len(way):
        return np.zeros(0, dtype=np.int64)
    steps = np.searchsorted(way, np.linspace(way[0], way[-1], N_POINTS))
    return np.unique(np.append(np.minimum(steps, len(way) - 1), (0, len(way) - 1)))


def _share(numbers: NDArray[np.int64]) -> Floats:
    """Of the last, which is all; 0 where that is none."""
    return np.asarray(numbers / max(1, int(numbers[-1]) if len(numbers) else 1))
