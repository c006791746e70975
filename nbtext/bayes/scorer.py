"""The linear scorer that every event model compiles to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.derivation import Derivation
from nbtext.features.counting import score_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """scores = X @ weights.T + bias, one score for each class; natural logarithms where the model has probabilities.

    Most features are unseen in most classes and weigh the same there. So the weights are kept as what differs:
    weights[k, j] = default[k] + base_scale[k] · base[j] + delta[k, j], the last one sparse, feature by feature.

    bias        (K,)
    default     (K,), the weight of a feature that the class never used
    indptr      (V + 1,) int64, classes (n_entries,) int32, deltas (n_entries,): feature j's entries
    base        (V,) or None, base_scale (K,) or None: what weighs alike in all classes (complement)
    derivation  what makes columns of features; None where each feature is a column. Else read `column` for feature,
                and `score` for class where it adds several up
    """

    bias: Floats
    default: Floats
    indptr: NDArray[np.int64]
    classes: NDArray[np.int32]
    deltas: Floats
    base: Floats | None = None
    base_scale: Floats | None = None
    derivation: Derivation | None = None

    @property
    def n_classes(self) -> int:
        return len(self.bias) if self.derivation is None else len(self.bias) // self.derivation.height

    @property
    def n_columns(self) -> int:
        return len(self.indptr) - 1

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
        scores = score_rows(
            indptr, indices, values, self.bias, self.default, self.base, self.base_scale,
            self.indptr, self.classes, self.deltas,
        )  # fmt: skip
        if self.derivation is None or self.derivation.height == 1:
            return scores
        return np.asarray(scores.reshape(len(scores), self.derivation.height, -1).sum(axis=1))

    def weights(self) -> Floats:
        """The weights as one dense matrix, shape (n_scores, n_columns); for looking at, not for predicting."""
        dense = np.repeat(self.default[:, None], self.n_columns, axis=1)
        if self.base is not None and self.base_scale is not None:
            dense += np.outer(self.base_scale, self.base)
        dense[self.classes, np.repeat(np.arange(self.n_columns), np.diff(self.indptr))] += self.deltas
        return dense


def log_posterior(scores: Floats) -> Floats:
    """Scores normalised to log-probabilities over the classes, row by row, safe from overflow and underflow."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
