"""Softmax (multinomial logistic) regression, by L-BFGS."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.newton import dot
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.linear.data import CompactMatrix, Floats, TrainingData
from nbtext.linear.lbfgs import SolverSettings, minimize
from nbtext.parallel import parallel_map

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# On 20 Newsgroups, C = 1, it takes two thirds of the steps of 0.01, and ends 3e-5 of the objective above the minimum.
MIN_GAIN = 0.04
# Rough fits of folds start from the solution for all documents. With 0.1 they keep a part of it, and the estimated
# log-loss on 20 Newsgroups is 0.337, not 0.348.
ROUGH_GAIN = 0.01
MAX_PROBABILITIES = 1 << 20  # documents times classes whose probabilities are in memory at once
MAX_WEIGHTS = 1 << 22  # features times classes, above which the models of folds are fitted one after the other


class Solution(NamedTuple):
    """A minimum, or where the solver stopped.

    parameters    (n_columns, n_classes), of which the last row are the intercepts
    is_converged  whether the tolerance is met
    """

    parameters: Floats
    is_converged: bool


class LogisticRegression:
    """Minimizes ½ Σ w² - C Σ c log P(label | document), c the class weight; intercepts are not regularized.

    For two classes the objective is ½ |w|² - C Σ log P with one weight vector w, as in scikit-learn.

    The features that only one document holds become one column, with their length as the value: at the minimum, their
    weights are proportional to their values. Features without documents, as most hashed ones, have no column.

    References
    ----------
    Objective: scikit-learn 1.9, LogisticRegression.
    """

    def __init__(self, data: TrainingData, settings: LinearSettings, *, jobs: int = 1) -> None:
        from scipy.sparse import csr_array, hstack

        data.mean_square()  # raises where the lengths would overflow
        self._data, self._jobs, self._compact = data, jobs, CompactMatrix.of(data, is_splitting=True)
        compact, n = self._compact, len(data)
        rows, self._places = np.unique(compact.single_rows, return_inverse=True)
        self._lengths = np.sqrt(np.bincount(self._places, compact.single_values**2, minlength=len(rows)))
        shape = n, len(compact.columns)
        shared = csr_array((compact.values.astype(np.float64), compact.features, compact.indptr), shape=shape)
        single = csr_array((self._lengths, (rows, np.arange(len(rows)))), shape=(n, len(rows)))
        self._matrix: csr_array = hstack((shared, single, np.ones((n, 1))), format="csr")

    def solve(self, solver: SolverSettings, start: Solution | None = None) -> Solution:
        """Solve for all documents, in one thread, because the classes are solved jointly."""
        return self._solve(np.ones(len(self._data), dtype=bool), solver, start)

    def scorer(self, solution: Solution) -> LinearScorer:
        """Return a scorer of log P(label | document) up to a constant for each document.

        Of two labels the first has score 0.
        """
        compact, n_classes, n_shared = self._compact, self._data.n_classes, len(self._compact.columns)
        parameters = solution.parameters
        if n_classes == 2:
            parameters = parameters - parameters[:, :1]
        lengths = np.where(self._lengths > 0, self._lengths, 1)[:, None]
        single = (parameters[n_shared:-1] / lengths)[self._places] * compact.single_values[:, None]
        columns = np.append(compact.columns, compact.single_columns)
        order = np.argsort(columns)
        weights, intercepts = np.vstack((parameters[:n_shared], single))[order], parameters[-1]
        is_kept = weights != 0
        classes = np.broadcast_to(np.arange(n_classes, dtype=np.int32), weights.shape)[is_kept]
        widths = np.zeros(self._data.n_features, dtype=np.int64)
        widths[columns[order]] = is_kept.sum(axis=1)
        bias = intercepts if n_classes == 2 else intercepts - intercepts.mean()
        return LinearScorer(bias, np.zeros(n_classes), running_sums(widths), classes, weights[is_kept])

    def score_folds(self, folds: NDArray[np.int32], solver: SolverSettings, start: Solution) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by models of the other folds.

        All folds continue from `start`, a solution for all documents.
        """
        held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
        scores = np.zeros((len(folds), self._data.n_classes))

        def score_fold(fold: int) -> None:
            parameters = self._solve(folds != fold, solver, start).parameters
            scores[folds == fold] = self._matrix[folds == fold] @ parameters

        jobs = 1 if start.parameters.size > MAX_WEIGHTS else self._jobs
        for _ in parallel_map(score_fold, np.unique(folds[held_out]).tolist(), jobs=jobs):
            pass
        scores = scores[held_out]
        return scores - scores[:, :1] if self._data.n_classes == 2 else scores

    def _solve(self, is_fitted: NDArray[np.bool_], solver: SolverSettings, start: Solution | None) -> Solution:
        """Minimize the objective over some documents: the parameters, and one block of probabilities, are in memory.

        raises  ModelError: the values are too large to compute with
        """
        data, n_classes = self._data, self._data.n_classes
        # of two classes, two vectors ±w/2 have half of the square of one vector w
        C = solver.C / 2 if n_classes == 2 else solver.C
        is_regularized = np.append(np.ones(self._matrix.shape[1] - 1), 0.0)[:, None]
        squares, blocks, rows = np.zeros(len(is_regularized)), [], np.flatnonzero(is_fitted)
        size = max(1, MAX_PROBABILITIES // n_classes)
        for first in range(0, len(rows), size):
            block = rows[first : first + size]
            matrix, own, shares = self._matrix[block], data.classes[block], C * data.document_weights[block]
            squares += matrix.power(2).T @ shares
            blocks.append((matrix, matrix.T.tocsr(), (np.arange(len(block)), own), shares))

        def objective(parameters: Floats) -> tuple[float, Floats]:
            gradient = parameters * is_regularized
            value = float((parameters * gradient).sum()) / 2
            for matrix, transposed, own, shares in blocks:
                scores = matrix @ parameters
                scores -= scores.max(axis=1, keepdims=True)
                own_scores, residuals = scores[own], np.exp(scores, out=scores)
                sums = residuals.sum(axis=1)
                value += dot(shares, np.log(sums) - own_scores)
                residuals *= (shares / sums)[:, None]
                residuals[own] -= shares
                gradient += transposed @ residuals
            return value, gradient

        begin = np.zeros((len(is_regularized), n_classes))
        if start is not None:  # what only held-out documents hold has the weight 0: a rough fit would keep a part of it
            begin = np.where(squares[:, None] > 0, start.parameters, 0.0)
        curvature = is_regularized + squares[:, None] / 4
        return Solution(
            *minimize(objective, begin, curvature, solver, min_gain=ROUGH_GAIN if solver.is_rough else MIN_GAIN)
        )
