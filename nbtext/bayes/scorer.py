"""The linear scorer that every event model compiles to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.derivation import Derivation
from nbtext.features.counting import score_rows
from nbtext.features.sparse_weights import SparseWeights

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearScorer(SparseWeights):
    """Weights, of which each class has a score; natural logarithms where the model has probabilities.

    derivation  what makes columns of features; None where each feature is a column. Else read `column` for feature,
                and `score` for class where it adds several up
    """

    derivation: Derivation | None = None

    @property
    def n_classes(self) -> int:
        return len(self.bias) if self.derivation is None else len(self.bias) // self.derivation.height

    @property
    def n_features(self) -> int:
        return self.n_columns if self.derivation is None else self.n_columns // self.derivation.width

    def with_prior(self, log_prior: Floats) -> LinearScorer:
        """The scorer of the posterior: the logarithm of each class's prior joins its bias."""
        return replace(self, bias=self.bias + np.pad(log_prior, (0, len(self.bias) - len(log_prior))))

    def scores(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> Floats:
        """The scores of documents in compressed sparse rows of features: shape (n_documents, n_classes)."""
        if self.derivation is not None:
            indptr, indices, values = self.derivation.rows(indptr, indices, values)
        scores = score_rows(indptr, indices, values, self)
        if self.derivation is None or self.derivation.height == 1:
            return scores
        return np.asarray(scores.reshape(len(scores), self.derivation.height, self.n_classes).sum(axis=1))


def log_posterior(scores: Floats) -> Floats:
    """Scores normalised to log-probabilities over the classes, row by row, safe from overflow and underflow."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
