"""Pairs of labels that are confused most often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_PAIRS = 20


@dataclass(frozen=True, slots=True)
class Confused:
    """Two classes, and how many documents of each are predicted as the other."""

    first: int  # before the second
    second: int
    first_as_second: int
    second_as_first: int

    @property
    def together(self) -> int:
        return self.first_as_second + self.second_as_first


def most_confused(classes: NDArray[Any], predicted: NDArray[Any]) -> tuple[Confused, ...]:
    """Return the MOST_PAIRS pairs of classes that are confused most often, in either direction; ties by class number.

    classes    (n_documents,), the true classes
    predicted  (n_documents,), the predicted classes
    """
    is_wrong = classes != predicted
    true, wrong = classes[is_wrong].astype(np.int64), predicted[is_wrong].astype(np.int64)
    first, second = np.minimum(true, wrong), np.maximum(true, wrong)
    width = int(second.max(initial=0)) + 1
    pairs, places = np.unique(first * width + second, return_inverse=True)
    together = np.bincount(places, minlength=len(pairs))
    one_way = np.bincount(places, weights=true == first, minlength=len(pairs)).astype(np.int64)
    order = np.argsort(-together, kind="stable")[:MOST_PAIRS].tolist()
    return tuple(
        Confused(int(pairs[j] // width), int(pairs[j] % width), int(one_way[j]), int(together[j] - one_way[j]))
        for j in order
    )
