"""Documents as counts of features: the rows of a sparse matrix before it knows its columns' order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.features.csr import entries_of, run_starts, running_sums


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

    def taken(self, documents: NDArray[np.int64]) -> Rows:
        """The rows of these documents, in this order."""
        indptr, entries = entries_of(self.indptr, documents)
        return Rows(indptr, self.indices[entries], self.counts[entries], self.n_tokens[documents])

    def renumbered(self, columns: NDArray[np.int32]) -> Rows:
        """The same rows with feature j in column columns[j]."""
        return Rows(self.indptr, columns[self.indices], self.counts, self.n_tokens)

    def known(self) -> Rows:
        """The same rows without the features that have no column, which is below 0."""
        is_known = self.indices >= 0
        indptr = running_sums(is_known)[self.indptr]
        return Rows(indptr, self.indices[is_known], self.counts[is_known], self.n_tokens)

    def ordered(self) -> Rows:
        """The same rows, the entries of each in ascending order of their columns."""
        order = np.argsort(self._keys())
        return Rows(self.indptr, self.indices[order], self.counts[order], self.n_tokens)

    def merged(self) -> Rows:
        """The same rows, which are ordered, with the entries of one column added up."""
        starts = run_starts(self._keys())
        counts = np.add.reduceat(self.counts, starts, dtype=np.int32) if len(starts) else self.counts
        return Rows(np.searchsorted(starts, self.indptr), self.indices[starts], counts, self.n_tokens)

    def _keys(self) -> NDArray[np.int64]:
        """A number for each entry: its row, and its column in the low 32 bits."""
        return np.repeat(np.arange(len(self)) << 32, np.diff(self.indptr)) | self.indices


NO_ROWS = Rows(
    np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
)


class Kept(NamedTuple):
    """The documents of a batch that belong to the sample, with the hash that decided it."""

    rows: Rows
    documents: NDArray[np.int32]  # (n_kept,), their positions in the batch
    hashes: NDArray[np.uint64]  # (n_kept,)


class ClassCounts(NamedTuple):
    """What a corpus amounts to for each feature and class, kept only where it is not zero.

    Feature j has the entries indptr[j]:indptr[j + 1], one for each class that uses it, classes ascending.
    """

    indptr: NDArray[np.int64]  # (n_features + 1,)
    classes: NDArray[np.int32]  # (n_entries,)
    documents: NDArray[np.int64]  # (n_entries,), documents of the class that hold the feature: d_kj
    occurrences: NDArray[np.int64]  # (n_entries,), how often they do: t_kj


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one after the other."""
    parts = [NO_ROWS, *parts]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    return Rows(
        running_sums(lengths),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.n_tokens for part in parts]),
    )
