"""The linear support vector machine: each class against the rest, squared hinge loss, L2 regularization.

This is the model of LIBLINEAR, and of scikit-learn's LinearSVC: the intercept is regularized, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.settings import LinearSettings
from nbtext.linear.data import CompactMatrix, Floats, TrainingData
from nbtext.linear.one_vs_rest import Factors, OneVsRest


@dataclass(frozen=True, eq=False)
class Ones(Factors):
    """The factor 1 of each feature.

    squares  (n_documents,), Σ x² over the features of one document
    """

    data: TrainingData
    compact: CompactMatrix
    is_fitted: NDArray[np.bool_]
    squares: Floats

    def of_shared(self, own_class: int) -> Floats:
        return np.ones(len(self.compact.columns))

    def of_single(self, own_class: int, entries: NDArray[np.int64]) -> Floats:
        return np.ones(len(entries))

    def single_squares(self, own_class: int) -> Floats:
        return self.squares

    def of_all(self, own_class: int) -> Floats:
        return np.ones(self.data.n_features)


class LinearSvm(OneVsRest):
    """A linear support vector machine over given training data."""

    def __init__(self, data: TrainingData, settings: LinearSettings, *, jobs: int = 1) -> None:
        super().__init__(data, settings, has_intercept=True, jobs=jobs)

    def _make_factors(self, folds: NDArray[np.int32], numbers: list[int]) -> Iterator[Ones]:
        compact, n = self._compact, len(self._data)
        squares = np.bincount(compact.single_rows, compact.single_values**2, minlength=n).astype(np.float64)
        for number in numbers:
            yield Ones(self._data, compact, folds != number, squares)
