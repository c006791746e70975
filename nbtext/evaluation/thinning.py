"""Rows of numbers that pass by: all of them, or every second, fourth, … so that what is kept stays small."""

from __future__ import annotations

import numpy as np

from nbtext.bayes.scorer import Floats


class Thinned:
    """Keeps at most so many numbers, in rows that may grow wider: what a row lacks is 0."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.step = 1  # every `step`-th row is kept
        self._seen = self._kept = 0
        self._parts: list[Floats] = []

    def add(self, rows: Floats) -> None:
        """See some more rows."""
        kept = rows[-self._seen % self.step :: self.step].copy()
        self._seen += len(rows)
        self._kept += kept.size
        self._parts.append(kept)
        while self._kept > self._most and self._seen > self.step:
            self._parts = [self.rows()[::2]]
            self._kept = self._parts[0].size
            self.step *= 2

    def rows(self) -> Floats:
        """What was kept, in order, shape (n_rows, width of the widest)."""
        width = max((part.shape[1] for part in self._parts), default=0)
        padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in self._parts]
        return np.concatenate(padded) if padded else np.zeros((0, 0))
