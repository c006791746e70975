"""Softmax regression on the mean word vector of a document, folded into a weight for each word.

The mean of unit length, z = y / |y| with y = Σ_j x_j v_j, is linear in the values x_j of the words,
up to a factor of the document. So the scores β_k·s(z − m) + b_k of a regression are, up to that
factor, a bias and the sums of x_j times the weights

    w_kj = [s v_j·β_k + κ |v_j| (b_k − s m·β_k)] / ρ,   bias_k = λ (b_k − s m·β_k) / ρ

where m and s bring z to the mean 0 and the mean square length 1, ρ is the mean of |y|, and λ + κ n
with n = Σ_j x_j |v_j| is a line of |y| over all documents (`_fit_line`): vectors of words cancel
each other in part, so that |y| grows more slowly than n. A document on this line has the log-odds
of the regression times |y| / ρ. Of a word of several pieces, |v_j| stands for the sum of their
lengths, so that its weight is the sum of theirs. A word has a weight whether or not a training
document has it.

The names of the labels are evidence, too: the normal prior of β_k has the mean a u_k, where u_k is
the unit vector of the words of the name of label k, less the mean of all names. The log-loss of
held-out documents selects a, which is 0 if the names do not lower it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Integers32, Mask
from nbtext.bayes.calibration import fit_scaled_temperature
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.features.folds import list_held_out
from nbtext.linear.data import SolverSettings, TrainingData, WordVectors, make_rough
from nbtext.linear.logistic import descend, measure_loss
from nbtext.numerics import dot, multiply, round_for_products

VARIANCE = 10.0  # of the normal prior of each parameter but the intercepts
# Weight, relative to a document, of a text without words in the line of |y|, which keeps its
# intercept small: else texts that are much shorter than those of training would have the label with
# the largest intercept. With 0, 0.1, 0.3 and without an intercept, and 5 texts for each label:
# messages of all lengths 0.870, 0.860, 0.846, 0.817; sentences by long reviews 0.528, 0.535, 0.542,
# 0.548; first words of mails by whole ones 0.396, 0.407, 0.412, 0.419.
WEIGHT_OF_EMPTY = 0.3
MAX_FITTED = 1 << 15  # documents of a regression; more hardly change it
TINY = 1e-9
# a, of which the first one is without names. With 1, 2 and 5 of 77 short questions for each label,
# 4 to 9 are within 0.015 of each other in accuracy.
NAME_WEIGHTS = (0.0, 3.0, 6.0)
# nats by which names have to lower the log-loss of all held-out documents together. With 2, names
# that say little, `ham` and `spam`, cost 0.04 of accuracy with 2 messages for each
MIN_NAME_GAIN = 3.0
MAX_WITH_NAMES = 4096  # documents up to which names are tried; more hardly need them


class Regression(NamedTuple):
    """The parameters of a regression; see the head of this file.

    mean, scale, length  m, s and ρ
    line                 λ and κ
    table                (n_dimensions + 1, n_classes), β and, in the last row, b
    """

    mean: Array
    scale: float
    length: float
    line: tuple[float, float]
    table: Floats
    is_converged: bool = True

    @property
    def slopes(self) -> Floats:
        """Of z, (n_dimensions, n_classes)."""
        return self.scale * self.table[:-1]

    @property
    def intercepts(self) -> Floats:
        """The scores where z is 0, (n_classes,)."""
        return np.asarray(self.table[-1] - np.einsum("d,dk->k", self.mean, self.slopes))


class VectorRegression:
    """The regression over given training data. Its solutions are records of Regression."""

    def __init__(self, data: TrainingData, vectors: WordVectors) -> None:
        self._classes = data.documents.classes
        self._n_classes = data.n_classes
        self._shares = data.document_weights
        self._rows = vectors.rows
        self._norms = vectors.norms
        n_words = len(vectors.columns)
        words = data.matrix[:, vectors.columns].astype(np.float32)
        self._sums = words @ self._norms[:n_words]
        self._means = words @ vectors.rows[:n_words]
        self._lengths = np.linalg.norm(self._means, axis=1)
        self._means /= np.maximum(self._lengths, TINY)[:, None]
        self._names = vectors.names
        self._center = np.zeros((vectors.rows.shape[1] + 1, data.n_classes))

    def solve(self, solver: SolverSettings, start: Regression | None = None) -> Regression:
        """Return the regression of all documents, or of the first MAX_FITTED ones."""
        return self._solve(np.ones(len(self._classes), dtype=bool), solver, start)

    def score_folds(self, folds: Integers32, solver: SolverSettings, start: Regression) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by regressions of
        the others; see `data.Problem`.
        """
        return self._score_folds(folds, solver, start)[1]

    def weigh_names(self, folds: Integers32, solver: SolverSettings) -> None:
        """Select the weight of the names of the labels by the calibrated log-loss of the documents
        in a fold; without folds, by that of all documents under the names alone. If no document
        counts, they are all there is.
        """
        if self._names is None:
            return
        best = -1
        if self._shares.any() and len(folds) > MAX_WITH_NAMES:
            best = 0
        elif self._shares.any():
            held_out = list_held_out(folds)
            rows = held_out if len(held_out) else np.arange(len(folds))
            losses = []  # of all judged documents together, with each weight of the names
            for weight in NAME_WEIGHTS:
                self._center[:-1] = weight * self._names.T
                if len(held_out):
                    scores = self._score_folds(folds, solver, None)[0]
                else:
                    scores = _score(_standardize(self._means)[0], self._center)
                judged = JudgedDocuments(scores, None, self._classes[rows], self._shares[rows])
                judged = judged.calibrate(fit_scaled_temperature(judged).log_posterior)
                losses.append(-judged.mean(judged.own) * len(rows))
            # those of the names alone are equal, because they are calibrated
            best = int(np.argmin(losses)) if len(held_out) else -1
            if losses[0] - losses[best] <= MIN_NAME_GAIN:
                best = 0
        self._center[:-1] = NAME_WEIGHTS[best] * self._names.T

    def _score_folds(
        self, folds: Integers32, solver: SolverSettings, start: Regression | None
    ) -> tuple[Floats, Floats]:
        """Return the scores of the documents in a fold by the regression, and by its weights of
        words.
        """
        scores = np.zeros((2, len(folds), self._n_classes))
        for fold in np.unique(folds[list_held_out(folds)]).tolist():
            own = self._solve(folds != fold, make_rough(solver), start)
            held_out = np.flatnonzero(folds == fold)
            means = round_for_products((self._means[held_out] - own.mean) * own.scale)
            found = _score(means, own.table)
            lengths = self._lengths[held_out, None]
            others = own.line[0] + own.line[1] * self._sums[held_out, None] - lengths
            scores[0, held_out] = found
            scores[1, held_out] = (lengths * found + others * own.intercepts) / own.length
        of_regression, of_words = scores[:, list_held_out(folds)]
        return of_regression, of_words

    def weigh(self, found: Regression, own_class: int) -> Array:
        """Return the weight of each word in a class, (n_words + n_further,)."""
        # in float64, the rows would be copied
        slopes = found.slopes[:, own_class].astype(np.float32)
        of_vectors = np.einsum("ij,j->i", self._rows, slopes)
        intercept = found.line[1] * found.intercepts[own_class]
        return np.asarray((of_vectors + self._norms * intercept) / found.length)

    def bias(self, found: Regression, own_class: int) -> float:
        """Return the score of a class without words."""
        return float(found.line[0] * found.intercepts[own_class] / found.length)

    def _solve(
        self, is_fitted: Mask, solver: SolverSettings, start: Regression | None
    ) -> Regression:
        documents = np.flatnonzero(is_fitted)[:MAX_FITTED]
        means, mean, scale = _standardize(self._means[documents])
        own = np.arange(len(documents)), self._classes[documents]
        shares = self._shares[documents]
        precision = np.append(np.full(means.shape[1], 1 / VARIANCE), 0.0)[:, None]

        def objective(table: Floats) -> tuple[float, Floats]:
            loss, residuals = measure_loss(_score(means, table), own, shares)
            distance = table - self._center
            gradient = precision * distance
            penalty = float((gradient * distance).sum()) / 2
            gradient[:-1] += multiply(means.T, round_for_products(residuals))
            gradient[-1] += residuals.sum(axis=0)
            return penalty + loss, gradient

        curvature = np.einsum("ij,i->j", np.square(means), shares) / 4
        curvature = np.append(curvature, shares.sum() / 4 or 1.0)[:, None]
        begin = self._center if start is None else start.table
        table, is_converged = begin, True
        if shares.any():
            table, is_converged = descend(objective, begin, precision + curvature, solver)
        # without a word that has a vector, no word has a weight
        length = float(self._lengths[documents].mean())
        line = _fit_line(self._sums[documents], self._lengths[documents])
        return Regression(mean, scale, length or np.inf, line, table, is_converged)


def _fit_line(sums: Array, lengths: Array) -> tuple[float, float]:
    """Return the intercept and the slope, at least 0, of the least-squares line of lengths, with
    WEIGHT_OF_EMPTY for each document at (0, 0).
    """
    of_sums, of_lengths = (float(each.mean(dtype=np.float64)) for each in (sums, lengths))
    share = WEIGHT_OF_EMPTY / (1 + WEIGHT_OF_EMPTY)
    distances = sums - of_sums
    variance = dot(distances, distances) / len(sums) + share * of_sums**2
    covariance = dot(distances, lengths) / len(sums) + share * of_sums * of_lengths
    slope = min(max(0.0, covariance / (variance or np.inf)), of_lengths / (of_sums or np.inf))
    return (of_lengths - slope * of_sums) * (1 - share), slope


def _standardize(means: Array) -> tuple[Floats, Array, float]:
    """Return means of the mean 0 and the mean square length 1, rounded for products, the mean and
    the scale.
    """
    mean = means.mean(axis=0, dtype=np.float64)
    centered = means - mean
    scale = 1 / max(TINY, float(np.sqrt(np.square(centered).sum(axis=1).mean())))
    return round_for_products(centered * scale), mean, scale


def _score(means: Floats, table: Floats) -> Floats:
    """Return the scores (n_documents, n_classes) of documents that are rounded for products."""
    scores: Floats = multiply(means, round_for_products(table[:-1])) + table[-1]
    return scores
