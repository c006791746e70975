"""A bounded number of documents, of each kind those that matter most."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

Cell = tuple[str, str | None]  # a true label, and the answer
Make = Callable[[], "Noted"]


@dataclass(frozen=True, slots=True)
class Noted:
    """A document, with as much of its text as is needed."""

    id: str
    label: str  # the true one
    answer: str | None
    probability: float  # of the answer, or of what it would have been
    texts: tuple[str, ...] = ()  # of its fields, each from its beginning; empty where none is kept
    n_missing: int = 0  # characters of them that are not here


class Shelf:
    """Keeps documents cell by cell, of each the surest, and counts all of them.

    most  documents in all; where there are more, the fullest cells keep fewer of theirs
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Cell, list[tuple[float, int, Noted]]] = {}
        self._n_kept = 0
        self.numbers: Counter[Cell] = Counter()

    def put(self, place: int, probability: float, cell: Cell, make: Make) -> None:
        """Count a document, and keep it for now."""
        self.numbers[cell] += 1
        self._kept.setdefault(cell, []).append((-probability, place, make()))
        self._n_kept += 1
        if self._n_kept > 2 * self._most:
            self._trim()

    def cells(self) -> dict[Cell, list[Noted]]:
        """The documents of each cell, the surest first."""
        self._trim()
        return {cell: [noted for *_, noted in entries] for cell, entries in self._kept.items()}

    def _trim(self) -> None:
        if len(self._kept) > self._most:
            fullest = sorted(self._kept, key=lambda cell: (-self.numbers[cell], str(cell)))
            self._kept = {cell: self._kept[cell] for cell in fullest[: self._most]}
        lengths = [len(entries) for entries in self._kept.values()]
        cap = bisect_right(
            range(max(lengths, default=0) + 1), self._most, key=lambda cap: sum(min(n, cap) for n in lengths)
        )
        for entries in self._kept.values():
            entries.sort(key=lambda entry: entry[:2])
            del entries[cap - 1 :]
        self._n_kept = sum(map(len, self._kept.values()))


class Worst:
    """Keeps the few documents that rank highest; of equals the first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, Noted]] = []

    def put(self, place: int, rank: float, make: Make) -> None:
        """Keep a document where it ranks high enough."""
        key = (rank, -place)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, (*key, make()))
        elif key > self._heap[0][:2]:
            heapq.heapreplace(self._heap, (*key, make()))

    def found(self) -> list[tuple[float, Noted]]:
        """The documents with their ranks, the highest first."""
        return [(rank, noted) for rank, _, noted in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]
