"""The weights of features for classes, kept as what differs between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparseWeights:
    """scores = X @ weights.T + bias, one score for each class.

    Most features are unseen in most classes and weigh the same there. So the weights are kept as what differs:
    weights[k, j] = default[k] + base_scale[k] · base[j] + delta[k, j], the last one sparse, feature by feature.

    bias     (K,)
    default  (K,), the weight of a feature that the class never used
    indptr   (V + 1,) int64, classes (n_entries,) int32, deltas (n_entries,): feature j's entries
    base     (V,) or None, base_scale (K,) or None: what weighs alike in all classes (complement)
    """

    bias: Floats
    default: Floats
    indptr: NDArray[np.int64]
    classes: NDArray[np.int32]
    deltas: Floats
    base: Floats | None = None
    base_scale: Floats | None = None

    @property
    def n_columns(self) -> int:
        return len(self.indptr) - 1

    def weights(self) -> Floats:
        """The weights as one dense matrix, shape (K, V); for looking at, not for predicting."""
        dense = np.repeat(self.default[:, None], self.n_columns, axis=1)
        if self.base is not None and self.base_scale is not None:
            dense += np.outer(self.base_scale, self.base)
        dense[self.classes, np.repeat(np.arange(self.n_columns), np.diff(self.indptr))] += self.deltas
        return dense
