"""Softmax regression on the mean word vector of a document, folded into a weight for each word.

The mean z = Σ_j x_j v_j / Σ_j x_j |v_j| is linear in the values x_j of the words, up to a factor of
the document. So the scores β_k·s(z − m) + b_k of a regression are, up to that factor, the sums of
x_j times the weights

    w_kj = [s (v_j − |v_j| m)·β_k + |v_j| b_k] / ρ

where m and s bring z to the mean 0 and the mean square length 1, and ρ is the mean of Σ_j x_j
|v_j|. A document for which this sum is ρ has the log-odds of the regression. A word has a weight
whether or not a document of the training data has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Integers32, Mask
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.linear.data import SolverSettings, TrainingData, WordVectors, make_rough
from nbtext.linear.logistic import descend, measure_loss
from nbtext.numerics import dot, multiply, round_for_products

VARIANCE = 10.0  # of the normal prior of each parameter but the intercepts
MAX_FITTED = 1 << 15  # documents of a regression; more hardly change it
TINY = 1e-9


class Regression(NamedTuple):
    """The parameters of a regression; see the head of this file.

    mean, scale, length  m, s and ρ
    table                (n_dimensions + 1, n_classes), β and, in the last row, b
    """

    mean: Array
    scale: float
    length: float
    table: Floats
    is_converged: bool = True


class VectorRegression:
    """The regression over given training data. Its solutions are records of Regression."""

    def __init__(self, data: TrainingData, vectors: WordVectors) -> None:
        self._classes = data.documents.classes
        self._n_classes = data.n_classes
        self._shares = data.document_weights
        self._rows = vectors.rows
        self._norms = np.linalg.norm(vectors.rows, axis=1)
        n_words = len(vectors.columns)
        words = data.matrix[:, vectors.columns].astype(np.float32)
        self._lengths = words @ self._norms[:n_words]
        self._means = words @ vectors.rows[:n_words]
        self._means /= np.maximum(self._lengths, TINY)[:, None]

    def solve(self, solver: SolverSettings, start: Regression | None = None) -> Regression:
        """Return the regression of all documents, or of the first MAX_FITTED ones."""
        return self._solve(np.ones(len(self._classes), dtype=bool), solver, start)

    def score_folds(self, folds: Integers32, solver: SolverSettings, start: Regression) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by regressions of
        the others; see `data.Problem`.
        """
        scores = np.zeros((len(folds), self._n_classes))
        for fold in np.unique(folds[folds != NEVER_HELD_OUT]).tolist():
            own = self._solve(folds != fold, make_rough(solver), start)
            held_out = np.flatnonzero(folds == fold)
            means = round_for_products((self._means[held_out] - own.mean) * own.scale)
            found = _score(means, own.table)
            scores[held_out] = found * (self._lengths[held_out] / own.length)[:, None]
        held: Floats = scores[folds != NEVER_HELD_OUT]
        return held

    def weigh(self, found: Regression, own_class: int) -> Array:
        """Return the weight of each word in a class, (n_words + n_further,)."""
        slopes = found.scale * found.table[:-1, own_class]
        intercept = found.table[-1, own_class] - dot(found.mean, slopes)
        # in float64, the rows would be copied
        of_vectors = np.einsum("ij,j->i", self._rows, slopes.astype(np.float32))
        return np.asarray((of_vectors + self._norms * intercept) / found.length)

    def _solve(
        self, is_fitted: Mask, solver: SolverSettings, start: Regression | None
    ) -> Regression:
        documents = np.flatnonzero(is_fitted)[:MAX_FITTED]
        means = self._means[documents]
        mean = means.mean(axis=0, dtype=np.float64)
        centered = means - mean
        squares = np.square(centered)
        scale = 1 / max(TINY, float(np.sqrt(squares.sum(axis=1).mean())))
        means = round_for_products(centered * scale)
        own = np.arange(len(documents)), self._classes[documents]
        shares = self._shares[documents]
        precision = np.append(np.full(means.shape[1], 1 / VARIANCE), 0.0)[:, None]

        def objective(table: Floats) -> tuple[float, Floats]:
            loss, residuals = measure_loss(_score(means, table), own, shares)
            gradient = precision * table
            penalty = float((gradient * table).sum()) / 2
            gradient[:-1] += multiply(means.T, round_for_products(residuals))
            gradient[-1] += residuals.sum(axis=0)
            return penalty + loss, gradient

        curvature = np.einsum("ij,i->j", squares, shares) * scale**2 / 4
        curvature = np.append(curvature, shares.sum() / 4)[:, None]
        begin = np.zeros((means.shape[1] + 1, self._n_classes)) if start is None else start.table
        table, is_converged = descend(objective, begin, precision + curvature, solver)
        # without a word that has a vector, no word has a weight
        length = float(self._lengths[documents].mean()) or np.inf
        return Regression(mean, scale, length, table, is_converged)


def _score(means: Floats, table: Floats) -> Floats:
    """Return the scores (n_documents, n_classes) of documents that are rounded for products."""
    scores: Floats = multiply(means, round_for_products(table[:-1])) + table[-1]
    return scores
