"""Many numbers in few: their order statistics at even distances, small enough to be saved with a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

MOST_POINTS = 1001  # the extremes, and each thousandth between them


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """The distribution of some numbers; all of them where they are few, else every thousandth, linear in between.

    points   (n_points,), ascending, from the smallest to the largest number, at even distances of rank
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
        """The number that a new one of the same kind does not exceed with at least this probability.

        It is the ⌈(n + 1) · share⌉-th smallest of the n numbers, and infinity where there are too few of them to say
        (Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005, section 2.2).
        """
        rank = math.ceil((self.numbers + 1) * share - 1e-9)
        if rank > self.numbers:
            return math.inf
        if self.numbers == 1:
            return float(self.points[0])
        place = (max(rank, 1) - 1) / (self.numbers - 1) * (len(self.points) - 1)
        return float(np.interp(place, np.arange(len(self.points)), self.points))
