"""Whether what was thought to be so probable was right so often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_BINS = 15  # of equal width, as in Guo et al. 2017


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Documents whose best probability is from `low` up to `high`."""

    low: float
    high: float
    documents: int
    mean_probability: float
    accuracy: float


class Reliability:
    """Adds up answers by their probability."""

    def __init__(self) -> None:
        self._bins = np.zeros((3, N_BINS))  # documents, right ones, the sum of their probabilities

    def add(self, best: NDArray[np.float64], is_right: NDArray[Any]) -> None:
        """Count answers of these probabilities."""
        bins = bins_of(best)
        for row, weights in enumerate((np.ones(len(best)), is_right, best)):
            self._bins[row] += np.bincount(bins, weights=weights, minlength=N_BINS)

    @property
    def error(self) -> float:
        """The expected calibration error: by how much accuracy and probability differ in a bin, on average."""
        return float(np.abs(self._bins[1] - self._bins[2]).sum() / max(1.0, self._bins[0].sum()))

    def bins(self) -> tuple[ReliabilityBin, ...]:
        """Those that hold a document."""
        return tuple(
            ReliabilityBin(place / N_BINS, (place + 1) / N_BINS, int(documents), total / documents, right / documents)
            for place, (documents, right, total) in enumerate(self._bins.T.tolist())
            if documents
        )


def bins_of(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of each probability's bin."""
    return np.minimum((probabilities * N_BINS).astype(np.int64), N_BINS - 1)
