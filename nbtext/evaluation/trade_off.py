"""How much is answered at which accuracy: what a threshold of `--min-probability` would do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.evaluation.outcomes import Outcomes


class AnsweredPart(NamedTuple):
    """The documents whose answer is at least so probable."""

    threshold: float
    documents: int
    answered: float  # the share of all documents
    accuracy: float  # of the answers


@dataclass(frozen=True, slots=True, eq=False)
class TradeOff:
    """What is answered, and how much of it is right, from each threshold on."""

    n_documents: int
    thresholds: Floats  # falling, each once: the probabilities of answers
    answered: NDArray[np.int64]  # documents whose answer is at least so probable
    right: NDArray[np.int64]  # those of them whose answer is right

    @classmethod
    def of(cls, outcomes: Outcomes) -> TradeOff:
        """Of the documents that can be answered at all."""
        places = np.flatnonzero(outcomes.can_be_answered)
        order = places[np.argsort(-outcomes.best[places], kind="stable")]
        ranked = outcomes.best[order]
        ends = np.flatnonzero(np.append(np.diff(ranked) != 0, len(ranked) > 0))
        right = np.cumsum(outcomes.is_sound[order], dtype=np.int64)[ends]
        return cls(len(outcomes), ranked[ends], ends + 1, right)

    def at_accuracy(self, wanted: float) -> AnsweredPart | None:
        """Where most is answered and at least this share of the answers is right; None where that is nowhere.

        The threshold is the shortest number that makes the same difference.
        """
        enough = np.flatnonzero(self.right >= wanted * self.answered)
        if not len(enough):
            return None
        place = int(enough[-1])
        is_last = place + 1 == len(self.thresholds)
        low = 0.0 if is_last else float(self.thresholds[place + 1])
        threshold = 0.0 if is_last else shortest_between(low, float(self.thresholds[place]))
        return self._part(place, threshold)

    def parts(self, most: int) -> tuple[AnsweredPart, ...]:
        """All of them, or so many at even distances in what is answered."""
        if not len(self.answered):
            return ()
        steps = np.searchsorted(self.answered, np.linspace(self.answered[0], self.answered[-1], most))
        return tuple(self._part(place, float(self.thresholds[place])) for place in np.unique(steps).tolist())

    def _part(self, place: int, threshold: float) -> AnsweredPart:
        answered = int(self.answered[place])
        return AnsweredPart(threshold, answered, answered / self.n_documents, int(self.right[place]) / answered)


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits above `low` that is at most `high`; 0 <= low < high <= 1."""
    for digits in range(1, 17):
        candidate = math.floor(high * 10.0**digits) / 10.0**digits
        if low < candidate <= high:
            return candidate
    return high
