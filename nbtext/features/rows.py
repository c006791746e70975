"""Documents as counts of features: the rows of a sparse matrix before it knows its columns' order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """Counts of a batch of documents in compressed sparse rows, each feature at most once a row.

    Row i has the features indices[indptr[i]:indptr[i + 1]], as often as counts says.
    """

    indptr: NDArray[np.int64]  # (n_documents + 1,)
    indices: NDArray[np.int32]  # (n_entries,), ascending within a row
    counts: NDArray[np.int32]  # (n_entries,), > 0
    n_tokens: NDArray[np.int64]  # (n_documents,): all occurrences of features, those outside the vocabulary included

    def __len__(self) -> int:
        return len(self.indptr) - 1
