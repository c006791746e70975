"""Minimize the objectives of linear models by compiled dual coordinate descent, or by SciPy's L-BFGS.

Dual coordinate descent is the faster one on texts. L-BFGS continues where it does not converge, as with few columns of
different scales, and replaces it where the kernel is not compiled.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import ModelError, NbtextWarning
from nbtext.features.kernel import HAS_KERNEL

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]  # parameters to (value, gradient)

TOLERANCE = 5e-5
MAX_ITER = 1000
# Dual coordinate descent is slow where C |x|² is large. Solutions for smaller C, a factor of STRIDE apart and only
# roughly solved, then serve as warm starts.
EASY_CURVATURE = 100.0
STRIDE = 10.0
ROUGH_TOLERANCE = 1e-2
STIFFNESS = 0.1  # of the constraint that belongs to the intercepts, relative to the mean of |x|²
START_DOUBT = 0.1  # probability that the dual variables of softmax regression start with, spread over the classes
MIN_PROBABILITY = 1e-14  # of a dual variable of softmax regression
START_DUAL = 1e-8  # of the logistic loss, as in LIBLINEAR: its dual variables are inside of (0, 1)
GRADIENT_HISTORY = 20  # vectors that L-BFGS keeps


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The weighted features of documents as a CSR matrix (n_documents, n_features), and their classes.

    indptr   (n_documents + 1,) int64
    indices  (n_entries,) int32
    values   (n_entries,) float64, finite
    classes  (n_documents,) int32, 0 to n_classes - 1
    hashes   (n_documents,) of their content: documents with equal hashes are duplicates; None: there are none
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Floats
    classes: NDArray[np.int32]
    n_features: int
    n_classes: int
    hashes: NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def matrix(self) -> csr_array:
        from scipy.sparse import csr_array

        return csr_array((self.values, self.indices, self.indptr), shape=(len(self), self.n_features))

    def mean_square(self, scales: Floats | None = None) -> float:
        """The mean over documents of Σ_j x_j² scales_j.

        raises  ModelError: it is not finite
        """
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.values**2 if scales is None else self.values**2 * scales[self.indices]
            mean = float(squares.sum()) / max(1, len(self))
        _check_finite(mean)
        return mean


class SolverSettings(NamedTuple):
    """Which minimum to find, and when to stop.

    C          inverse regularization strength, > 0
    tolerance  relative duality gap at which the solver stops
    max_iter   passes over the documents at which it stops in any case, and L-BFGS after as many iterations
    seed       of the order in which documents are visited
    is_rough   whether to stop after `max_iter` passes, without L-BFGS
    """

    C: float
    tolerance: float = TOLERANCE
    max_iter: int = MAX_ITER
    seed: int = 0
    is_rough: bool = False


class Solution(NamedTuple):
    """A minimum, or where the solver stopped.

    weights       (n_features,) of one class against the rest, (n_features, n_classes) of softmax regression
    intercepts    (n_classes,) of softmax regression, else empty
    dual          (n_documents,) or (n_documents, n_classes), to continue from
    is_converged  whether the tolerance is met
    """

    weights: Floats
    intercepts: Floats
    dual: Floats
    is_converged: bool


def solve_binary(
    data: TrainingData,
    rows: NDArray[np.int64],
    signs: Floats,
    scales: Floats,
    settings: SolverSettings,
    *,
    is_logistic: bool,
    dual: Floats | None = None,
) -> Solution:
    """Minimize Σ_j w_j² / (2 scales_j) + C Σ_i loss(signs_i x_i·w) over the documents in `rows`.

    Parameters
    ----------
    rows : (n,), the numbers of the documents to fit
    signs : (n_documents,), 1 for the class and -1 for the rest
    scales : (n_features,), >= 0
    is_logistic : whether the loss is log(1 + e^-m), not max(0, 1 - m)²
    dual : (n_documents,), the dual variables of a similar problem; None: start from zero

    Raises
    ------
    ModelError : the values are too large to compute with
    """
    mean_square = data.mean_square(scales)
    weights, is_converged = np.zeros(data.n_features), False
    if HAS_KERNEL:
        from nbtext.linear._solvers import fit_binary

        stages = [settings] if dual is not None else _continuation(settings, mean_square)
        dual = np.full(len(signs), START_DUAL if is_logistic else 0.0) if dual is None else dual.copy()
        n_left = settings.max_iter
        for stage in stages:
            weights, gap, n_iter = fit_binary(
                data.indptr, data.indices, data.values, signs, scales, dual, rows, is_logistic=is_logistic, C=stage.C,
                tolerance=stage.tolerance, max_iter=n_left, seed=stage.seed,
            )  # fmt: skip
            n_left, is_converged = max(1, n_left - n_iter), gap <= settings.tolerance
        _check_finite(weights)
    if dual is None or not HAS_KERNEL or not (is_converged or settings.is_rough):
        weights, is_converged = _continue_binary(data, rows, signs, scales, settings, weights, is_logistic=is_logistic)
        margins = signs * (data.matrix @ weights)
        dual = _sigmoid(-margins) if is_logistic else 2 * np.maximum(0, 1 - margins)
    return Solution(weights, np.zeros(0), dual, is_converged)


def solve_softmax(
    data: TrainingData, rows: NDArray[np.int64], settings: SolverSettings, start: Solution | None = None
) -> Solution:
    """Minimize ½ Σ w² + C Σ_i -log P(class_i | x_i) over the documents in `rows`; intercepts are not regularized.

    Parameters
    ----------
    rows : (n,), the numbers of the documents to fit
    start : the solution of a similar problem; None: start from zero

    Raises
    ------
    ModelError : the values are too large to compute with
    """
    mean_square = data.mean_square()
    weights, intercepts = np.zeros((data.n_features, data.n_classes)), np.zeros(data.n_classes)
    dual, is_converged = np.zeros((len(data), 0)), False
    if HAS_KERNEL:
        from nbtext.linear._solvers import fit_softmax

        stages = [settings] if start is not None else _continuation(settings, mean_square)
        if start is not None:
            dual, intercepts = start.dual.copy(), start.intercepts
        else:
            dual = np.full((len(data), data.n_classes), START_DOUBT / data.n_classes)
            dual[np.arange(len(data)), data.classes] += 1 - START_DOUBT
        # of the constraint of the intercepts: not below the inverse of their curvature, or they would converge slowly
        stiffness = max(STIFFNESS * mean_square, 4 / (settings.C * max(1, len(rows))), 1e-6)
        n_left = settings.max_iter
        for stage in stages:
            weights, intercepts, gap, n_iter = fit_softmax(
                data.indptr, data.indices, data.values, data.classes, dual, rows, intercepts,
                n_features=data.n_features, C=stage.C, stiffness=stiffness, tolerance=stage.tolerance, max_iter=n_left,
                seed=stage.seed,
            )  # fmt: skip
            n_left, is_converged = max(1, n_left - n_iter), gap <= settings.tolerance
        _check_finite(weights)
    if not HAS_KERNEL or not (is_converged or settings.is_rough):
        weights, intercepts, is_converged = _continue_softmax(data, rows, settings, weights, intercepts)
        dual = _softmax(data.matrix @ weights + intercepts)[0].clip(MIN_PROBABILITY)
    return Solution(weights, intercepts, dual, is_converged)


def _continuation(settings: SolverSettings, mean_square: float) -> list[SolverSettings]:
    """The problems to solve one after the other, the last one being the one that is asked for."""
    C, stages = settings.C, [settings]
    while C * mean_square > EASY_CURVATURE:
        C /= STRIDE
        stages.append(settings._replace(C=C, tolerance=ROUGH_TOLERANCE))
    return stages[::-1]


def _check_finite(numbers: Floats | float) -> None:
    if not np.isfinite(numbers).all():
        hint = "scale the features down, or use a smaller C"
        raise ModelError("values or C are infinite or too large for a linear model", hint=hint)


def _sigmoid(z: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(z, -500, 500)))


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Probabilities (n, n_classes), and their logarithms."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.exp(logs), logs


def _continue_binary(
    data: TrainingData,
    rows: NDArray[np.int64],
    signs: Floats,
    scales: Floats,
    settings: SolverSettings,
    start: Floats,
    *,
    is_logistic: bool,
) -> tuple[Floats, bool]:
    """Continue from weights by L-BFGS; returns the weights, and whether it converged."""
    matrix, signs, C = data.matrix[rows], signs[rows], settings.C
    regularization = np.divide(1, scales, out=np.full(len(scales), np.inf), where=scales > 0)
    curvature = regularization + C * (0.25 if is_logistic else 2.0) * matrix.power(2).sum(axis=0)
    regularization[scales == 0] = 0  # the infinite curvature keeps these weights 0

    def objective(w: Floats) -> tuple[float, Floats]:
        margins = signs * (matrix @ w)
        slack = np.maximum(0, 1 - margins)
        loss = np.logaddexp(0, -margins).sum() if is_logistic else slack @ slack
        slopes = _sigmoid(-margins) if is_logistic else 2 * slack
        return regularization @ w**2 / 2 + C * loss, regularization * w - C * (matrix.T @ (signs * slopes))

    return _minimize_by_lbfgs(objective, start, curvature, settings)


def _continue_softmax(
    data: TrainingData, rows: NDArray[np.int64], settings: SolverSettings, weights: Floats, intercepts: Floats
) -> tuple[Floats, Floats, bool]:
    """Continue by L-BFGS; returns the weights, the intercepts, and whether it converged."""
    matrix, C, shape = data.matrix[rows], settings.C, (data.n_features + 1, data.n_classes)
    own = np.arange(len(rows)), data.classes[rows]
    squares = np.append(matrix.power(2).sum(axis=0), max(1, len(rows)))
    curvature = np.repeat(np.append(np.ones(data.n_features), 0) + C / 4 * squares, data.n_classes)

    def objective(parameters: Floats) -> tuple[float, Floats]:
        w, b = np.split(parameters.reshape(shape), [data.n_features])
        residuals, logs = _softmax(matrix @ w + b)
        residuals[own] -= 1
        gradient = np.vstack((w + C * (matrix.T @ residuals), C * residuals.sum(axis=0)))
        return float((w * w).sum() / 2 - C * logs[own].sum()), gradient.ravel()

    start = np.vstack((weights, intercepts)).ravel()
    parameters, is_converged = _minimize_by_lbfgs(objective, start, curvature, settings)
    weights, last = np.split(parameters.reshape(shape), [data.n_features])
    return weights, last[0], is_converged


def _minimize_by_lbfgs(
    objective: Objective, start: Floats, curvature: Floats, settings: SolverSettings
) -> tuple[Floats, bool]:
    """The minimum of a convex objective, and whether L-BFGS converged.

    curvature  an upper bound of the second derivatives by each parameter alone; it brings them to one scale
    """
    from scipy.optimize import minimize

    if not HAS_KERNEL:
        message = "the kernel is not compiled: linear models are fitted by SciPy's L-BFGS, which is slower"
        warnings.warn(message, NbtextWarning, stacklevel=2)
    scale = 1 / np.sqrt(curvature)

    def scaled(parameters: Floats) -> tuple[float, Floats]:
        value, gradient = objective(parameters * scale)
        return value, gradient * scale

    limits = {"maxiter": settings.max_iter, "maxfun": 2 * settings.max_iter, "maxcor": GRADIENT_HISTORY}
    with np.errstate(all="ignore"):  # overflow is an error below
        begin = np.divide(start, scale, out=np.zeros(len(start)), where=scale > 0)
        options = {**limits, "ftol": 1e-3 * settings.tolerance, "gtol": 0.0}
        found = minimize(scaled, begin, jac=True, method="L-BFGS-B", options=options)
    _check_finite(np.append(found.x, found.fun))
    # the line search also fails where rounding leaves nothing to gain: at the minimum
    is_converged = found.success or found.jac @ found.jac / 2 <= settings.tolerance * found.fun
    return found.x * scale, bool(is_converged)
