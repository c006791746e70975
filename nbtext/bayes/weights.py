"""What single features add to the scores of a linear scorer: for looking at a model, and for explaining it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats, LinearScorer


class ClassWeights:
    """The weights of each class by itself: one vector at a time, so that a model of many classes stays sparse.

    For a model of derived columns, the weight of a feature is what a value of 1 adds to the score.
    """

    def __init__(self, scorer: LinearScorer) -> None:
        self._scorer = scorer
        self._order = np.argsort(scorer.classes, kind="stable")
        self._bounds = np.searchsorted(scorer.classes[self._order], np.arange(len(scorer.bias) + 1))
        self._columns = np.repeat(np.arange(scorer.n_columns), np.diff(scorer.indptr))[self._order]

    def of(self, k: int) -> Floats:
        """The weights of class k, shape (n_features,)."""
        derivation = self._scorer.derivation
        if derivation is None:
            return self.row(k)
        n_features = self._scorer.n_features
        ones = np.ones(n_features, dtype=np.int32)
        indptr, columns, values = derivation.rows(
            np.arange(n_features + 1), np.arange(n_features, dtype=np.int32), ones
        )
        total = sum((self.row(row)[columns] * values for row in _rows(self._scorer, k)), np.zeros(len(columns)))
        return np.add.reduceat(total, indptr[:-1]) if n_features else total

    def sums(self) -> Floats:
        """The weights of all classes added up, shape (n_features,)."""
        if self._scorer.derivation is not None:
            return sum((self.of(k) for k in range(self._scorer.n_classes)), np.zeros(self._scorer.n_features))
        scorer = self._scorer
        total = np.full(scorer.n_columns, scorer.default.sum())
        total += np.bincount(self._columns, weights=scorer.deltas[self._order], minlength=scorer.n_columns)
        if scorer.base is not None and scorer.base_scale is not None:
            total += scorer.base_scale.sum() * scorer.base
        return total

    def row(self, row: int) -> Floats:
        """The weights in one row of scores, shape (n_columns,)."""
        scorer, own = self._scorer, slice(self._bounds[row], self._bounds[row + 1])
        weights = np.full(scorer.n_columns, scorer.default[row])
        if scorer.base is not None and scorer.base_scale is not None:
            weights += scorer.base_scale[row] * scorer.base
        weights[self._columns[own]] += scorer.deltas[self._order[own]]
        return weights


def contributions(scorer: LinearScorer, indices: NDArray[np.int32], values: NDArray[Any], k: int) -> Floats:
    """What each feature of one document adds to the score of class k, shape (n_entries,).

    Together with the bias they are the score.

    indices  (n_entries,), the document's features, ascending
    values   (n_entries,), their weights in the document
    """
    n_entries = len(indices)
    owners = np.arange(n_entries)
    if scorer.derivation is not None:
        indptr, indices, values = scorer.derivation.rows(np.arange(n_entries + 1), indices, values)
        owners = np.repeat(owners, np.diff(indptr))
    parts = sum((_row_weights(scorer, indices, row) for row in _rows(scorer, k)), np.zeros(len(indices))) * values
    return np.bincount(owners, weights=parts, minlength=n_entries).astype(np.float64, copy=False)


def bias_of(scorer: LinearScorer, k: int) -> float:
    """The score of class k for a document without any feature."""
    return float(sum(scorer.bias[row] for row in _rows(scorer, k)))


def _rows(scorer: LinearScorer, k: int) -> list[int]:
    """The rows of scores that are added up to class k's."""
    height = 1 if scorer.derivation is None else scorer.derivation.height
    return [k + part * scorer.n_classes for part in range(height)]


def _row_weights(scorer: LinearScorer, columns: NDArray[np.int32], row: int) -> Floats:
    """The weight of each of these columns in one row of scores."""
    weights = np.full(len(columns), scorer.default[row])
    if scorer.base is not None and scorer.base_scale is not None:
        weights += scorer.base_scale[row] * scorer.base[columns]
    starts, widths = scorer.indptr[columns], scorer.indptr[columns + np.int64(1)] - scorer.indptr[columns]
    owners = np.repeat(np.arange(len(columns)), widths)
    positions = np.repeat(starts - (np.cumsum(widths) - widths), widths) + np.arange(len(owners))
    is_own = scorer.classes[positions] == row
    weights[owners[is_own]] += scorer.deltas[positions[is_own]]
    return weights
