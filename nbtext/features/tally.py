"""Adding up how often each class uses each feature, in memory that grows with the vocabulary, not with the corpus."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.features.rows import ClassCounts, Rows, run_starts, running_sums

CLASS_BITS = 32  # an entry's key is its feature, shifted by these, and its class
BLOCK = 1_000_000  # entries that wait to be added up


class ClassTally:
    """Sums of documents and occurrences for each feature and class that met, built up row by row."""

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.int64)  # ascending
        self._documents = np.empty(0, dtype=np.int64)
        self._occurrences = np.empty(0, dtype=np.int64)
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
        self._n_waiting = 0

    def add(self, rows: Rows, classes: NDArray[np.int32]) -> None:
        """Count each row for its class, shape (n_documents,), all >= 0."""
        entry_classes = np.repeat(classes, np.diff(rows.indptr))
        self._waiting.append((rows.indices.astype(np.int64) << CLASS_BITS | entry_classes, rows.counts))
        self._n_waiting += len(rows.indices)
        if self._n_waiting > max(BLOCK, len(self._keys)):  # so that all the folding together stays linear
            self._fold()

    def class_counts(self, n_features: int, rank: NDArray[np.int32] | None = None) -> ClassCounts:
        """The sums so far; feature j becomes column rank[j] where a rank is given."""
        self._fold()
        features, classes = self._keys >> CLASS_BITS, self._keys & ((1 << CLASS_BITS) - 1)
        documents, occurrences = self._documents, self._occurrences
        if rank is not None:
            features = rank[features].astype(np.int64)
            order = np.argsort(features << CLASS_BITS | classes)
            features, classes = features[order], classes[order]
            documents, occurrences = documents[order], occurrences[order]
        indptr = running_sums(np.bincount(features, minlength=n_features))
        return ClassCounts(indptr, classes.astype(np.int32), documents, occurrences)

    def _fold(self) -> None:
        """Add what waits to the sums."""
        if not self._waiting:
            return
        waiting_keys = [keys for keys, _ in self._waiting]
        counts = [counts for _, counts in self._waiting]
        self._waiting, self._n_waiting = [], 0
        keys = np.concatenate((self._keys, *waiting_keys))
        order = np.argsort(keys)
        keys = keys[order]
        starts = run_starts(keys)
        once = np.ones(len(keys) - len(self._keys), dtype=np.int64)
        self._documents = _sums(np.concatenate((self._documents, once))[order], starts)
        self._occurrences = _sums(np.concatenate((self._occurrences, *counts))[order], starts)
        self._keys = keys[starts]


def _sums(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of each run of values; the runs begin at `starts`."""
    sums: NDArray[np.int64] = np.add.reduceat(values, starts) if len(starts) else values
    return sums
