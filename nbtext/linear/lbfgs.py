"""Solvers of the primal problems of linear models: SciPy's L-BFGS for a class against the rest, Newton-CG for softmax.

They continue where dual coordinate descent does not converge, as with few columns of different scales, and replace it
where the kernel is not compiled, or where the dual variables need much more memory than the weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import NbtextWarning
from nbtext.features.kernel import HAS_KERNEL
from nbtext.linear.data import Floats, TrainingData, check_finite

Objective = Callable[[Floats], tuple[float, Floats]]  # parameters to (value, gradient)

TOLERANCE = 5e-5
MAX_ITER = 1000
STEPS_PER_PASS = 10  # of L-BFGS: it gains less than a pass of coordinate descent, and rough fits are of few passes
GRADIENT_HISTORY = 20  # vectors that L-BFGS keeps
MAX_PROBABILITIES = 1 << 20  # documents times classes whose probabilities are in memory at once
NEWTON_ACCURACY = 0.1  # relative residual of a Newton step
DECREASE, MIN_STEP = 1e-4, 1e-10  # of the line search: the Armijo condition, and where it gives up


def do_nothing() -> None:
    """Let a fit continue."""


class SolverSettings(NamedTuple):
    """The regularization of a problem, and the limits of its solver.

    C          inverse regularization strength, > 0
    tolerance  relative duality gap at which the solver stops
    max_iter   passes over the documents at which it stops in any case; L-BFGS stops after as many iterations, or after
               STEPS_PER_PASS times as many in a rough fit
    seed       of the order in which documents are visited
    is_rough   whether to stop after `max_iter` passes, without L-BFGS
    check      called after every few passes; an error that it raises ends the fit
    """

    C: float
    tolerance: float = TOLERANCE
    max_iter: int = MAX_ITER
    seed: int = 0
    is_rough: bool = False
    check: Callable[[], None] = do_nothing


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


class SoftmaxObjective:
    """½ Σ w² + C Σ_i c_i · -log P(class_i | x_i) over some documents; c_i is the class weight.

    The parameters are an array (n_features + 1, n_classes): the weights, and in the last row the intercepts. They are
    the only size that matters for the memory: the probabilities of one block of documents are there at a time.
    """

    def __init__(self, data: TrainingData, rows: NDArray[np.int64], C: float) -> None:
        self._data, self._rows, self._C = data, rows, C
        self._size = max(1, MAX_PROBABILITIES // data.n_classes)
        squares = np.zeros(data.n_features)
        for block in self._blocks():
            squares += data.matrix[block].power(2).T @ data.document_weights[block]
        total = float(data.document_weights[rows].sum()) or 1.0
        # upper bounds of the second derivatives by each parameter alone; they bring the parameters to one scale
        self.curvature = (np.append(np.ones(data.n_features), 0) + C / 4 * np.append(squares, total))[:, None]

    def _blocks(self) -> Iterator[NDArray[np.int64]]:
        for first in range(0, len(self._rows), self._size):
            yield self._rows[first : first + self._size]

    def evaluate(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        data, C = self._data, self._C
        gradient = np.vstack((parameters[:-1], np.zeros((1, data.n_classes))))
        value = float((parameters[:-1] ** 2).sum()) / 2
        for block in self._blocks():
            matrix, shares = data.matrix[block], data.document_weights[block]
            own = np.arange(len(block)), data.classes[block]
            residuals, logs = softmax(matrix @ parameters[:-1] + parameters[-1])
            value -= C * float(shares @ logs[own])
            residuals[own] -= 1
            residuals *= C * shares[:, None]
            gradient[:-1] += matrix.T @ residuals
            gradient[-1] += residuals.sum(axis=0)
        return value, gradient

    def multiply(self, parameters: Floats, direction: Floats) -> Floats:
        """Return the product of the Hessian at some parameters with a direction."""
        data = self._data
        product = np.vstack((direction[:-1], np.zeros((1, data.n_classes))))
        for block in self._blocks():
            matrix = data.matrix[block]
            probabilities = softmax(matrix @ parameters[:-1] + parameters[-1])[0]
            change = matrix @ direction[:-1] + direction[-1]
            change -= (probabilities * change).sum(axis=1, keepdims=True)
            change *= probabilities * (self._C * data.document_weights[block])[:, None]
            product[:-1] += matrix.T @ change
            product[-1] += change.sum(axis=0)
        return product


def minimize_softmax(
    data: TrainingData, rows: NDArray[np.int64], settings: SolverSettings, weights: Floats, intercepts: Floats
) -> tuple[Floats, Floats, bool]:
    """Minimize the objective of softmax regression over the documents in `rows`, by truncated Newton steps.

    weights, intercepts  the start

    Returns
    -------
    The weights (n_features, n_classes), the intercepts (n_classes,), and whether it converged.

    References
    ----------
    Nocedal, Wright, Numerical Optimization, 2006, section 7.1: the line search Newton-CG method.
    """
    _warn_without_kernel()
    with np.errstate(all="ignore"):  # overflow is an error below
        objective = SoftmaxObjective(data, rows, settings.C)
        parameters, n_left, is_converged = np.vstack((weights, intercepts)), settings.max_iter, False
        value, gradient = objective.evaluate(parameters)
        uniform = settings.C * float(data.document_weights[rows].sum()) * np.log(data.n_classes)
        if not value <= uniform:  # the objective of weights of 0, where Newton's method converges more safely
            parameters = np.zeros_like(parameters)
            value, gradient = objective.evaluate(parameters)
        while n_left > 0 and not is_converged:
            settings.check()
            step, n_products, is_accurate = _solve_newton(objective, parameters, gradient, n_left, settings.check)
            n_left -= n_products
            slope, size = float((gradient * step).sum()), 1.0
            lower = parameters + step
            found, found_gradient = objective.evaluate(lower)
            while not found <= value + DECREASE * size * slope and size > MIN_STEP:
                size /= 2
                lower = parameters + size * step
                found, found_gradient = objective.evaluate(lower)
            # -slope / 2 is how far the minimum is, as far as the objective is quadratic
            is_converged = is_accurate and -slope / 2 <= settings.tolerance * value
            if size <= MIN_STEP:  # rounding leaves nothing to gain, or the numbers are too large
                break
            parameters, value, gradient = lower, found, found_gradient
    check_finite(np.append(parameters[-1], value))
    check_finite(parameters)
    return parameters[:-1], parameters[-1].copy(), is_converged


def _solve_newton(
    objective: SoftmaxObjective, parameters: Floats, gradient: Floats, max_products: int, check: Callable[[], None]
) -> tuple[Floats, int, bool]:
    """Return a Newton step by preconditioned conjugate gradients.

    Returns
    -------
    The step, the number of products with the Hessian, and whether the step is accurate.
    """
    step, residual = np.zeros_like(gradient), -gradient
    scaled = residual / objective.curvature
    direction, square = scaled, float((residual * scaled).sum())
    wanted = NEWTON_ACCURACY**2 * square
    for n_products in range(1, max_products + 1):
        check()
        product = objective.multiply(parameters, direction)
        curvature = float((direction * product).sum())
        if not curvature > 0:
            return step, n_products, square == 0
        size = square / curvature
        step += size * direction
        residual -= size * product
        scaled = residual / objective.curvature
        before, square = square, float((residual * scaled).sum())
        if square <= wanted:
            return step, n_products, True
        direction = scaled + square / before * direction
    return step, max_products, False


def _minimize(objective: Objective, start: Floats, curvature: Floats, settings: SolverSettings) -> tuple[Floats, bool]:
    """Return the minimum of a convex objective, and whether L-BFGS converged.

    curvature  an upper bound of the second derivatives by each parameter alone; it brings them to one scale
    """
    from scipy.optimize import minimize

    _warn_without_kernel()
    scale = 1 / np.sqrt(curvature)

    def scaled(parameters: Floats) -> tuple[float, Floats]:
        settings.check()
        value, gradient = objective(parameters * scale)
        return value, gradient * scale

    n_steps = settings.max_iter * (STEPS_PER_PASS if settings.is_rough else 1)
    limits = {"maxiter": n_steps, "maxfun": 2 * n_steps, "maxcor": GRADIENT_HISTORY}
    with np.errstate(all="ignore"):  # overflow is an error below
        begin = np.divide(start, scale, out=np.zeros(len(start)), where=scale > 0)
        options = {**limits, "ftol": (0.1 if settings.is_rough else 1e-3) * settings.tolerance, "gtol": 0.0}
        found = minimize(scaled, begin, jac=True, method="L-BFGS-B", options=options)
    check_finite(np.append(found.x, found.fun))
    # the line search also fails where rounding leaves nothing to gain: at the minimum
    is_converged = found.success or found.jac @ found.jac / 2 <= settings.tolerance * found.fun
    return found.x * scale, bool(is_converged)


def _warn_without_kernel() -> None:
    if not HAS_KERNEL:
        message = "the compiled kernel is missing: linear models are fitted in pure Python, which is slower"
        warnings.warn(message, NbtextWarning, stacklevel=2)


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + e^-z)."""
    return 1 / (1 + np.exp(-np.clip(z, -500, 500)))


def softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Return probabilities (n, n_classes), and their logarithms."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.exp(logs), logs
