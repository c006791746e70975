"""Softmax (multinomial logistic) regression, by L-BFGS without BLAS.

The bytes of a model must not depend on the number of threads. SciPy's L-BFGS adds up with BLAS, and
OpenBLAS adds up the products of long vectors in one part for each thread.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers, Integers32, Mask
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import list_held_out
from nbtext.linear.blocks import CompactDocuments
from nbtext.linear.data import (
    STEPS_PER_PASS,
    LinearModel,
    SolverSettings,
    TrainingData,
    check_finite,
)
from nbtext.numerics import dot, exp, log, ratio
from nbtext.parallel import parallel_map

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Objective = Callable[[Floats], tuple[float, Floats]]  # parameters to (value, gradient)

GRADIENT_HISTORY = (3, 20)  # vectors that L-BFGS keeps, at least and at most
MAX_HISTORY = 1 << 23  # numbers in these vectors, if there are more than the least
# one after the other, that gain little before it stops: after a short step a long one may follow
SMALL_STEPS = 2
# of the line search: both Wolfe conditions, and where it gives up
DECREASE = 1e-4
FLATTER = 0.9
MIN_STEP = 1e-10
# As shares of the tolerance, the relative gain of a step at which it stops, also in rough fits.
# On 20 Newsgroups, C = 1, it takes two thirds of the steps of 0.01, and ends 3e-5 of the objective
# above the minimum.
MIN_OBJECTIVE_GAIN = 0.04
# Rough fits of folds start from the solution for all documents. With 0.1 they keep a part of it,
# and the estimated log-loss on 20 Newsgroups is 0.337, not 0.348.
ROUGH_GAIN = 0.01
PROBABILITIES_AT_ONCE = 1 << 20  # documents times classes whose probabilities are in memory at once
# features times classes, above which the models of folds are fitted one after the other
MAX_PARALLEL_WEIGHTS = 1 << 22


class Minimum(NamedTuple):
    """A minimum, or where the solver stopped.

    parameters    (n_columns, n_classes), of which the last row are the intercepts
    is_converged  whether the tolerance is met
    """

    parameters: Floats
    is_converged: bool


class LogisticRegression:
    """Minimizes ½ Σ w² - C Σ c log P(label | document), c the class weight; intercepts are not
    regularized.

    For two classes the objective is ½ |w|² - C Σ log P with one weight vector w, as in
    scikit-learn.

    The features that only one document holds become one column, with their length as the value: at
    the minimum, their weights are proportional to their values. Features without documents, as most
    hashed ones, have no column.

    References
    ----------
    Objective: scikit-learn 1.9, LogisticRegression.
    """

    def __init__(self, data: TrainingData, settings: LinearSettings, *, jobs: int = 1) -> None:
        from scipy.sparse import csr_array, hstack

        self._data = data
        self._jobs = jobs
        (block,) = CompactDocuments(data, (), has_intercept=False).blocks
        self._compact = compact = block.compact
        n = len(data)
        rows, self._places = np.unique(compact.single_rows, return_inverse=True)
        self._lengths = np.sqrt(np.bincount(self._places, compact.single_values**2, len(rows)))
        shape = n, len(compact.columns)
        shared = csr_array(
            (compact.values.astype(np.float64), compact.features, compact.indptr), shape=shape
        )
        single = csr_array((self._lengths, (rows, np.arange(len(rows)))), shape=(n, len(rows)))
        self._matrix: csr_array = hstack((shared, single, np.ones((n, 1))), format="csr")

    def solve(self, solver: SolverSettings, start: Minimum | None = None) -> Minimum:
        """Solve for all documents, in one thread, because the classes are solved jointly."""
        return self._solve(np.ones(len(self._data), bool), solver, start)

    def scorer(self, solution: Minimum) -> LinearScorer:
        """Return a scorer of log P(label | document) up to a constant for each document.

        Of two labels the first has score 0.
        """
        compact = self._compact
        n_classes = self._data.n_classes
        n_shared = len(self._compact.columns)
        parameters = solution.parameters
        if n_classes == 2:
            parameters = parameters - parameters[:, :1]
        lengths = np.where(self._lengths > 0, self._lengths, 1)[:, None]
        single = (parameters[n_shared:-1] / lengths)[self._places] * compact.single_values[:, None]
        columns = np.append(compact.columns, compact.single_columns)
        order = np.argsort(columns)
        weights = np.vstack((parameters[:n_shared], single))[order]
        intercepts = parameters[-1]
        is_kept = weights != 0
        classes = np.broadcast_to(np.arange(n_classes, dtype=np.int32), weights.shape)[is_kept]
        widths = np.zeros(self._data.n_features, np.int64)
        widths[columns[order]] = is_kept.sum(axis=1)
        bias = intercepts if n_classes == 2 else intercepts - intercepts.mean()
        return LinearScorer(
            bias, np.zeros(n_classes), running_sums(widths), classes, weights[is_kept]
        )

    def score_folds(self, folds: Integers32, solver: SolverSettings, start: Minimum) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by models of the
        other folds.

        All folds continue from `start`, a solution for all documents.
        """
        held_out = list_held_out(folds)
        scores = np.zeros((len(folds), self._data.n_classes))

        def score_fold(fold: int) -> None:
            parameters = self._solve(folds != fold, solver, start).parameters
            scores[folds == fold] = self._matrix[folds == fold] @ parameters

        jobs = 1 if start.parameters.size > MAX_PARALLEL_WEIGHTS else self._jobs
        for _ in parallel_map(score_fold, np.unique(folds[held_out]).tolist(), jobs=jobs):
            pass
        scores = scores[held_out]
        return scores - scores[:, :1] if self._data.n_classes == 2 else scores

    def _solve(self, is_fitted: Mask, solver: SolverSettings, start: Minimum | None) -> Minimum:
        """Minimize the objective over some documents: the parameters, and one block of
        probabilities, are in memory.

        raises  ModelError: the values are too large to compute with
        """
        data = self._data
        n_classes = self._data.n_classes
        # of two classes, two vectors ±w/2 have half of the square of one vector w
        C = solver.C / 2 if n_classes == 2 else solver.C
        is_regularized = np.append(np.ones(self._matrix.shape[1] - 1), 0.0)[:, None]
        squares = np.zeros(len(is_regularized))
        blocks = []
        rows = np.flatnonzero(is_fitted)
        size = max(1, PROBABILITIES_AT_ONCE // n_classes)
        for first in range(0, len(rows), size):
            block = rows[first : first + size]
            matrix = self._matrix[block]
            own = data.documents.classes[block]
            shares = C * data.document_weights[block]
            squares += matrix.power(2).T @ shares
            blocks.append((matrix, matrix.T.tocsr(), (np.arange(len(block)), own), shares))

        def objective(parameters: Floats) -> tuple[float, Floats]:
            gradient = parameters * is_regularized
            value = float((parameters * gradient).sum()) / 2
            for matrix, transposed, own, shares in blocks:
                loss, residuals = measure_loss(matrix @ parameters, own, shares)
                value += loss
                gradient += transposed @ residuals
            return value, gradient

        begin = np.zeros((len(is_regularized), n_classes))
        # what only held-out documents hold has the weight 0: a rough fit would keep a part of it
        if start is not None:
            begin = np.where(squares[:, None] > 0, start.parameters, 0.0)
        return Minimum(*descend(objective, begin, is_regularized + squares[:, None] / 4, solver))


def measure_loss(
    scores: Floats, own: tuple[Integers, Integers32], shares: Floats
) -> tuple[float, Floats]:
    """Return Σ -s log P(label | document), and its derivatives by the scores.

    scores  (n_documents, n_classes), which change
    own     the place of each document's own score
    shares  (n_documents,), s
    """
    scores -= scores.max(axis=1, keepdims=True)
    own_scores = scores[own]
    residuals = exp(scores)
    sums = residuals.sum(axis=1)
    loss = dot(shares, log(sums) - own_scores)
    residuals *= (shares / sums)[:, None]
    residuals[own] -= shares
    return loss, residuals


def descend(
    objective: Objective,
    start: Floats,
    curvature: Floats,
    settings: SolverSettings,
) -> tuple[Floats, bool]:
    """Return the minimum of a convex objective, and whether L-BFGS converged.

    start       parameters of any shape, which is that of the gradient and the minimum
    curvature   an upper bound of the second derivatives by each parameter alone; it brings them to
                one scale

    raises  ModelError: the values are too large to compute with
    """
    scale = 1 / np.sqrt(curvature)

    def evaluate(x: Floats) -> tuple[float, Floats]:
        value, gradient = objective(x.reshape(start.shape) * scale)
        gradient *= scale
        return value, gradient.ravel()

    n_steps = settings.max_iter * (STEPS_PER_PASS if settings.is_rough else 1)
    min_gain = settings.tolerance * (ROUGH_GAIN if settings.is_rough else MIN_OBJECTIVE_GAIN)
    fewest, most = GRADIENT_HISTORY
    pairs: deque[tuple[Floats, Floats, float]] = deque(
        maxlen=min(most, max(fewest, MAX_HISTORY // start.size))
    )
    # evaluations that are left, last steps that gained little
    n_left = 2 * n_steps
    n_small = 0
    is_converged = False
    with np.errstate(all="ignore"):  # overflow is an error below
        x = ratio(start, scale).ravel()
        value, gradient = evaluate(x)
        for _ in range(n_steps):
            step = _find_direction(gradient, pairs)
            slope = dot(gradient, step)
            size = 1.0
            short = 0.0
            long = math.inf
            if not slope < 0:  # at the minimum, or the numbers are too large
                break
            found = value
            lower = gradient
            while n_left > 0 and size > MIN_STEP:
                n_left -= 1
                found, lower = evaluate(x + size * step)
                if not found <= value + DECREASE * size * slope:
                    long = size
                elif dot(lower, step) < FLATTER * slope:
                    short = size
                else:
                    break
                size = 2 * short if math.isinf(long) else (short + long) / 2
            if not found <= value:  # rounding leaves nothing to gain
                break
            step *= size
            x += step
            gain = value - found
            value = found
            np.subtract(lower, gradient, out=gradient)
            curved = dot(step, gradient)
            if curved > 0:
                pairs.append((step, gradient, curved))
            gradient = lower
            n_small = n_small + 1 if gain <= min_gain * max(abs(value), 1.0) else 0
            is_converged = n_small == SMALL_STEPS
            if is_converged:
                break
    check_finite(value)
    check_finite(x)
    is_converged = is_converged or dot(gradient, gradient) / 2 <= settings.tolerance * value
    return x.reshape(start.shape) * scale, bool(is_converged)


def _find_direction(gradient: Floats, pairs: Sequence[tuple[Floats, Floats, float]]) -> Floats:
    """Return the direction of steepest descent, or, once there are pairs, that of a quasi-Newton
    step.

    pairs  the last changes of the parameters and of the gradient, and their products

    Source: Nocedal, Wright, Numerical Optimization, 2006, algorithm 7.4.
    """
    direction = -gradient
    if not pairs:
        return direction
    shares = []
    for change, difference, product in reversed(pairs):
        shares.append(dot(change, direction) / product)
        direction -= shares[-1] * difference
    _, difference, product = pairs[-1]
    direction *= product / dot(difference, difference)
    for change, difference, product in pairs:
        direction += (shares.pop() - dot(difference, direction) / product) * change
    return direction


# C = 3 is better than 1 for character n-grams (0.723 and 0.710 on messages in Thai), and as fast.
LOGISTIC = LinearModel(problem=LogisticRegression, searched=(("characters", "binary-l2", 3.0),))
