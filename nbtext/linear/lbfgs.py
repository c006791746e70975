"""SciPy's L-BFGS on the objectives of linear models.

It continues where dual coordinate descent does not converge, as with few columns of different scales, and replaces it
where the kernel is not compiled.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import NbtextWarning
from nbtext.features.kernel import HAS_KERNEL
from nbtext.linear.data import Floats, TrainingData, check_finite

Objective = Callable[[Floats], tuple[float, Floats]]  # parameters to (value, gradient)

TOLERANCE = 5e-5
MAX_ITER = 1000
GRADIENT_HISTORY = 20  # vectors that L-BFGS keeps


class SolverSettings(NamedTuple):
    """The regularization of a problem, and the limits of its solver.

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


def minimize_binary(
    data: TrainingData, strengths: Floats, scales: Floats, settings: SolverSettings, start: Floats, *, is_logistic: bool
) -> tuple[Floats, Floats, bool]:
    """Minimize Σ_j w_j² / (2 scales_j) + C Σ_i |strengths_i| loss(± x_i·w), where ± is the sign of the strength.

    Parameters
    ----------
    strengths : (n_documents,), > 0 for the class and < 0 for the rest; 0 for a document that is not fitted
    scales, start : (n_features,), scales >= 0
    is_logistic : whether the loss is log(1 + e^-m), not max(0, 1 - m)²

    Returns
    -------
    The weights (n_features,), the dual variables (n_documents,), and whether it converged.
    """
    rows, C, signs = np.flatnonzero(strengths), settings.C, np.sign(strengths)
    matrix, own, shares = data.matrix[rows], signs[rows], np.abs(strengths[rows])
    regularization = np.divide(1, scales, out=np.full(len(scales), np.inf), where=scales > 0)
    curvature = regularization + C * (0.25 if is_logistic else 2.0) * (matrix.power(2).T @ shares)
    regularization[scales == 0] = 0  # the infinite curvature keeps these weights 0

    def slopes(margins: Floats) -> Floats:
        return sigmoid(-margins) if is_logistic else 2 * np.maximum(0, 1 - margins)

    def objective(w: Floats) -> tuple[float, Floats]:
        margins = own * (matrix @ w)
        slack = np.maximum(0, 1 - margins)
        loss = shares @ (np.logaddexp(0, -margins) if is_logistic else slack**2)
        gradient = regularization * w - C * (matrix.T @ (shares * own * slopes(margins)))
        return regularization @ w**2 / 2 + C * loss, gradient

    weights, is_converged = _minimize(objective, start, curvature, settings)
    return weights, (signs != 0) * slopes(signs * (data.matrix @ weights)), is_converged


def minimize_softmax(
    data: TrainingData, rows: NDArray[np.int64], settings: SolverSettings, weights: Floats, intercepts: Floats
) -> tuple[Floats, Floats, bool]:
    """Minimize ½ Σ w² + C Σ_i c_i · -log P(class_i | x_i) over the documents in `rows`; c_i is the class weight.

    weights, intercepts  the start

    Returns
    -------
    The weights (n_features, n_classes), the intercepts (n_classes,), and whether it converged.
    """
    matrix, C, shape = data.matrix[rows], settings.C, (data.n_features + 1, data.n_classes)
    own, shares = (np.arange(len(rows)), data.classes[rows]), data.document_weights[rows]
    squares = np.append(matrix.power(2).T @ shares, shares.sum() or 1)
    curvature = np.repeat(np.append(np.ones(data.n_features), 0) + C / 4 * squares, data.n_classes)

    def objective(parameters: Floats) -> tuple[float, Floats]:
        w, b = np.split(parameters.reshape(shape), [data.n_features])
        residuals, logs = softmax(matrix @ w + b)
        residuals[own] -= 1
        residuals *= shares[:, None]
        gradient = np.vstack((w + C * (matrix.T @ residuals), C * residuals.sum(axis=0)))
        return float((w * w).sum() / 2 - C * (shares @ logs[own])), gradient.ravel()

    start = np.vstack((weights, intercepts)).ravel()
    parameters, is_converged = _minimize(objective, start, curvature, settings)
    weights, last = np.split(parameters.reshape(shape), [data.n_features])
    return weights, last[0], is_converged


def _minimize(objective: Objective, start: Floats, curvature: Floats, settings: SolverSettings) -> tuple[Floats, bool]:
    """Return the minimum of a convex objective, and whether L-BFGS converged.

    curvature  an upper bound of the second derivatives by each parameter alone; it brings them to one scale
    """
    from scipy.optimize import minimize

    if not HAS_KERNEL:
        message = "the compiled kernel is missing: linear models are fitted by SciPy's L-BFGS, which is slower"
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
    check_finite(np.append(found.x, found.fun))
    # the line search also fails where rounding leaves nothing to gain: at the minimum
    is_converged = found.success or found.jac @ found.jac / 2 <= settings.tolerance * found.fun
    return found.x * scale, bool(is_converged)


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + e^-z)."""
    return 1 / (1 + np.exp(-np.clip(z, -500, 500)))


def softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Return probabilities (n, n_classes), and their logarithms."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.exp(logs), logs
