"""Softmax (multinomial logistic) regression, by compiled dual coordinate descent or by Newton-CG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.kernel import HAS_KERNEL
from nbtext.linear.data import Floats, TrainingData, check_finite
from nbtext.linear.lbfgs import SolverSettings, minimize_softmax, softmax
from nbtext.parallel import parallel_map

# Dual coordinate descent is slow where C |x|² is large. Solutions for smaller C, a factor of STRIDE apart and only
# roughly solved, then serve as warm starts.
EASY_CURVATURE = 100.0
STRIDE = 10.0
ROUGH_TOLERANCE = 1e-2
STIFFNESS = 0.1  # of the constraint that belongs to the intercepts, relative to the mean of |x|²
START_DOUBT = 0.1  # probability that the dual variables start with, spread over the classes
MIN_PROBABILITY = 1e-14  # of a dual variable
# Numbers that are in memory for one problem. Above these, dual variables are given up where there are many more of them
# than weights, and the models of folds are fitted one after the other.
MAX_DUALS = 1 << 22
MAX_WEIGHTS = 1 << 26
DUALS_PER_WEIGHT = 4


class Solution(NamedTuple):
    """A minimum, or where the solver stopped.

    weights       (n_features, n_classes)
    intercepts    (n_classes,)
    dual          (n_documents, n_classes), to continue from; None: continue from the weights
    is_converged  whether the tolerance is met
    """

    weights: Floats
    intercepts: Floats
    dual: Floats | None
    is_converged: bool


class LogisticRegression:
    """Minimizes ½ Σ w² - C Σ c log P(label | document), c the class weight; intercepts are not regularized.

    For two classes the objective is ½ |w|² - C Σ log P with one weight vector w, as in scikit-learn.

    References
    ----------
    Objective: scikit-learn 1.9, LogisticRegression. Method: Yu, Huang, Lin 2011, section 4.
    """

    def __init__(self, data: TrainingData, settings: LinearSettings, *, jobs: int = 1) -> None:
        self._data, self._jobs = data, jobs

    def solve(self, solver: SolverSettings, start: Solution | None = None) -> Solution:
        """Solve for all documents, in one thread, because the classes are solved jointly; `start` is overwritten."""
        return solve_softmax(self._data, np.arange(len(self._data)), self._halve(solver), start)

    def scorer(self, solution: Solution) -> LinearScorer:
        """Return a scorer of log P(label | document) up to a constant for each document.

        Of two labels the first has score 0.
        """
        weights, intercepts = solution.weights, solution.intercepts
        if self._data.n_classes == 2:
            weights, intercepts = weights - weights[:, :1], intercepts - intercepts[0]
        else:
            intercepts = intercepts - intercepts.mean()
        n_classes, is_kept = self._data.n_classes, weights != 0
        classes = np.broadcast_to(np.arange(n_classes, dtype=np.int32), weights.shape)[is_kept]
        return LinearScorer(
            intercepts, np.zeros(n_classes), running_sums(is_kept.sum(axis=1)), classes, weights[is_kept]
        )

    def score_folds(self, folds: NDArray[np.int32], solver: SolverSettings, start: Solution) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by models of the other folds.

        All folds continue from `start`, a solution for all documents. If it is large, each continues from the one
        before, whose memory it reuses.
        """
        data, held_out = self._data, np.flatnonzero(folds != NEVER_HELD_OUT)
        scores, places = np.zeros((len(held_out), data.n_classes)), running_sums(folds != NEVER_HELD_OUT)
        matrix = data.matrix  # made once, before threads share it
        is_large = len(data) * data.n_classes > MAX_DUALS or data.n_features * data.n_classes > MAX_WEIGHTS

        def score_fold(fold: int) -> None:
            own = start
            if start.dual is not None and not is_large:
                own = start._replace(dual=start.dual.copy())
            solution = solve_softmax(data, np.flatnonzero(folds != fold), self._halve(solver), own)
            rows = np.flatnonzero(folds == fold)
            scores[places[rows]] = matrix[rows] @ solution.weights + solution.intercepts

        numbers = np.flatnonzero(np.bincount(folds[held_out])).tolist()
        for _ in parallel_map(score_fold, numbers, jobs=1 if is_large else self._jobs):
            pass
        return scores - scores[:, :1] if data.n_classes == 2 else scores

    def _halve(self, solver: SolverSettings) -> SolverSettings:
        """Return settings for two classes, in which two vectors ±w/2 have half of the square of one vector w."""
        return solver._replace(C=solver.C / 2) if self._data.n_classes == 2 else solver


def solve_softmax(
    data: TrainingData, rows: NDArray[np.int64], settings: SolverSettings, start: Solution | None = None
) -> Solution:
    """Minimize ½ Σ w² + C Σ_i c_i · -log P(class_i | x_i) over the documents in `rows`; c_i is the class weight.

    Intercepts are not regularized.

    Parameters
    ----------
    rows : (n,), the numbers of the documents to fit
    start : the solution of a similar problem, whose dual variables are overwritten; None: start from zero

    Raises
    ------
    ModelError : the values are too large to compute with
    """
    mean_square, class_weights = data.mean_square(), data.document_weights
    weights, intercepts = np.zeros((data.n_features, data.n_classes)), np.zeros(data.n_classes)
    if not HAS_KERNEL or is_primal(data):
        begin = (weights, intercepts) if start is None else (start.weights, start.intercepts)
        weights, intercepts, is_converged = minimize_softmax(data, rows, settings, *begin)
        return Solution(weights, intercepts, None, is_converged)
    from nbtext.linear._solvers import fit_softmax

    stages, is_converged = [settings], False
    if start is not None and start.dual is not None:
        dual, intercepts = start.dual, start.intercepts
    else:
        stages = list(continuation(settings, mean_square * float(class_weights.max(initial=0))))
        dual = np.full((len(data), data.n_classes), START_DOUBT / data.n_classes)
        dual[np.arange(len(data)), data.classes] += 1 - START_DOUBT
    # of the constraint of the intercepts: not below the inverse of their curvature, or they would converge slowly
    stiffness = max(STIFFNESS * mean_square, 4 / (settings.C * (class_weights[rows].sum() or 1)), 1e-6)
    n_left = settings.max_iter
    for stage in stages:
        weights, intercepts, gap, n_iter = fit_softmax(
            data.indptr, data.indices, data.values, data.classes, stage.C * class_weights, dual, rows, intercepts,
            n_features=data.n_features, stiffness=stiffness, tolerance=stage.tolerance, max_iter=n_left,
            seed=stage.seed, check=settings.check,
        )  # fmt: skip
        n_left, is_converged = max(1, n_left - n_iter), gap <= settings.tolerance
    check_finite(weights)
    if not (is_converged or settings.is_rough):
        weights, intercepts, is_converged = minimize_softmax(data, rows, settings, weights, intercepts)
        dual[:] = softmax(data.matrix @ weights + intercepts)[0].clip(MIN_PROBABILITY)
    return Solution(weights, intercepts, dual, is_converged)


def is_primal(data: TrainingData) -> bool:
    """Return whether the dual variables would need much more memory than the weights."""
    n_duals = len(data) * data.n_classes
    return n_duals > MAX_DUALS and len(data) > DUALS_PER_WEIGHT * data.n_features


def continuation(settings: SolverSettings, mean_square: float) -> Iterator[SolverSettings]:
    """Yield the problems to solve one after the other, the last one being the one that is asked for."""
    C = settings.C
    n_stages = 0
    while C * mean_square > EASY_CURVATURE:
        C /= STRIDE
        n_stages += 1
    for stage in range(n_stages, 0, -1):
        yield settings._replace(C=settings.C / STRIDE**stage, tolerance=ROUGH_TOLERANCE)
    yield settings
