"""Estimated probabilities and their logarithms, with and without smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ALL = slice(None)
CLIP = 1e-14  # without smoothing, probabilities stay within [CLIP, 1 - CLIP], so that none has an infinite logarithm


def log_share(
    counts: NDArray[Any], totals: NDArray[Any], smoothing: float, *, of: NDArray[Any] | slice = ALL
) -> NDArray[np.float64]:
    """log((counts + smoothing) / totals[of]), element by element; totals hold their share of smoothing already.

    Where smoothing is 0 this is the maximum-likelihood estimate, clipped; nothing out of nothing counts as 0.
    """
    if smoothing > 0:
        return np.asarray(np.log(counts + smoothing) - np.log(totals)[of], dtype=np.float64)
    totals = totals[of]
    share = np.divide(counts, totals, out=np.zeros(np.broadcast(counts, totals).shape), where=totals > 0)
    return np.asarray(np.log(np.clip(share, CLIP, 1 - CLIP)), dtype=np.float64)
