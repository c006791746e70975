"""The retained sample of a corpus: the documents with the smallest content hashes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nbtext.features.document_counts import DocumentCounts, take_smallest

ALL_HASHES = 2**64  # above every document's hash


class Bound:
    """The upper bound of the hashes that a corpus's sample can still have; it falls as documents are counted.

    Threads that share a bound together retain about as many documents as one thread would.

    below  a document with this hash, or a larger one, is not among the `size` smallest
    """

    def __init__(self, size: int | None) -> None:
        self.below = 0 if size == 0 else ALL_HASHES
        self._size = size
        self._hashes: list[NDArray[np.uint64]] = []
        self._n_hashes = 0
        self._lock = threading.Lock()

    def add(self, hashes: NDArray[np.uint64]) -> int:
        """Add the hashes of retained documents; return the new bound."""
        if not self._size:
            return self.below
        with self._lock:
            self._hashes.append(hashes)
            self._n_hashes += len(hashes)
            if self._n_hashes > 2 * self._size:
                smallest = np.partition(np.concatenate(self._hashes), self._size - 1)[: self._size]
                self._hashes, self._n_hashes = [smallest], self._size
                self.below = min(self.below, int(smallest[-1]) + 1)
            return self.below


class Reservoir:
    """Retains the `size` documents with the smallest hashes (None: all), in at most twice their memory.

    by_name  returns the place of each class in sorted order; it breaks ties of equal hashes
    below    each added document with a smaller hash is retained, unless `size` documents that precede it are retained
    """

    def __init__(self, size: int | None, by_name: Callable[[], NDArray[np.int32]], bound: Bound | None) -> None:
        self._size = size
        self._by_name = by_name
        self._bound = bound or Bound(size)
        self._pieces: list[DocumentCounts] = []
        self.below = self._bound.below

    def keep(self, documents: DocumentCounts) -> None:
        """Add documents, in any order."""
        self._pieces.append(documents)
        below = self._bound.add(documents.hashes)
        if below < self.below:
            self.below = below
            self._cut_to(np.concatenate([piece.hashes for piece in self._pieces]) < np.uint64(below))
        if self._size is not None and sum(map(len, self._pieces)) > 2 * self._size:
            self._cut()  # the bound does not separate equal hashes

    def take_all(self) -> DocumentCounts:
        """Return the retained documents, in order, and drop them here."""
        if self._size is not None and sum(map(len, self._pieces)) > self._size:
            self._cut()
        pieces, self._pieces = self._pieces, []
        return take_smallest(pieces, None, places=self._by_name())

    def _cut(self) -> None:
        hashes = np.concatenate([np.zeros(0, dtype=np.uint64), *(piece.hashes for piece in self._pieces)])
        classes = np.concatenate([np.zeros(0, dtype=np.int32), *(piece.classes for piece in self._pieces)])
        is_smallest = np.zeros(len(hashes), dtype=bool)
        is_smallest[np.lexsort((self._by_name()[classes], hashes))[: self._size]] = True
        self._cut_to(is_smallest)

    def _cut_to(self, is_kept: NDArray[np.bool_]) -> None:
        """Keep these documents, (n_documents,). Pieces are cut one by one: copies of all would double the memory."""
        pieces, self._pieces, start = self._pieces[::-1], [], 0
        while pieces:
            piece = pieces.pop()
            self._pieces.append(piece.filter(is_kept[start : start + len(piece)]))
            start += len(piece)
