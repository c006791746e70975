"""The documents that a sample is made of, while a corpus is counted: those with the smallest hashes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nbtext.features.document_counts import DocumentCounts, concatenate

ALL_HASHES = 2**64  # above every document's hash


class Bound:
    """The bound of the hashes that the sample of a corpus can still have; it falls as documents are met.

    Threads that share it keep together what one alone would keep, and not as much each.

    below  documents with this hash or a higher one are not among the `size` smallest
    """

    def __init__(self, size: int | None) -> None:
        self.below = 0 if size == 0 else ALL_HASHES
        self._size = size
        self._met: list[NDArray[np.uint64]] = []
        self._n_met = 0
        self._lock = threading.Lock()

    def meet(self, hashes: NDArray[np.uint64]) -> int:
        """Take note of documents that are kept; the bound by now."""
        if not self._size:
            return self.below
        with self._lock:
            self._met.append(hashes)
            self._n_met += len(hashes)
            if self._n_met > 2 * self._size:
                smallest = np.partition(np.concatenate(self._met), self._size - 1)[: self._size]
                self._met, self._n_met = [smallest], self._size
                self.below = min(self.below, int(smallest[-1]) + 1)
            return self.below


class Reservoir:
    """Keeps the `size` documents with the smallest hashes (all where that is None), in about twice their memory.

    by_name  gives the place of each class by its name: of documents with equal hashes the first are kept
    below    all documents with smaller hashes are here, or `size` that come before them
    """

    def __init__(self, size: int | None, by_name: Callable[[], NDArray[np.int32]], bound: Bound | None) -> None:
        self._size = size
        self._by_name = by_name
        self._bound = bound or Bound(size)
        self._pieces: list[DocumentCounts] = []
        self.below = self._bound.below

    def keep(self, documents: DocumentCounts) -> None:
        """Keep documents, in any order."""
        self._pieces.append(documents)
        below = self._bound.meet(documents.hashes)
        if below < self.below:
            self.below = below
            self._cut_to(np.concatenate([piece.hashes for piece in self._pieces]) < np.uint64(below))
        if self._size is not None and sum(map(len, self._pieces)) > 2 * self._size:
            self._cut()  # of many equal hashes the bound leaves all

    def taken(self) -> DocumentCounts:
        """The documents that are kept, in order; none are left here."""
        if self._size is not None:
            self._cut()
        kept, self._pieces = concatenate(self._pieces), []
        return kept.take(kept.order(self._by_name()[kept.classes]))

    def _cut(self) -> None:
        hashes = np.concatenate([np.zeros(0, dtype=np.uint64), *(piece.hashes for piece in self._pieces)])
        classes = np.concatenate([np.zeros(0, dtype=np.int32), *(piece.classes for piece in self._pieces)])
        is_smallest = np.zeros(len(hashes), dtype=bool)
        is_smallest[np.lexsort((self._by_name()[classes], hashes))[: self._size]] = True
        self._cut_to(is_smallest)

    def _cut_to(self, is_kept: NDArray[np.bool_]) -> None:
        """Keep these documents: shape (n_documents,).

        Each piece is cut by itself: copies of all of them at once would be most of the memory that counting takes.
        """
        pieces, self._pieces, start = self._pieces[::-1], [], 0
        while pieces:
            piece = pieces.pop()
            self._pieces.append(piece.filter(is_kept[start : start + len(piece)]))
            start += len(piece)
