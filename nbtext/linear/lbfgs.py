"""L-BFGS for the primal problems of linear models, without BLAS.

The bytes of a model must not depend on the number of threads. SciPy's L-BFGS adds up with BLAS, and OpenBLAS adds up
the products of long vectors in one part for each thread.

It fits softmax regression. Of a class against the rest, it continues where dual coordinate descent does not converge,
as with few columns of different scales, and replaces it where the kernel is not compiled.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nbtext.kernel import warn_if_missing
from nbtext.linear.data import Floats, TrainingData, check_finite, dot

Objective = Callable[[Floats], tuple[float, Floats]]  # parameters to (value, gradient)

TOLERANCE = 5e-5
MAX_ITER = 1000
STEPS_PER_PASS = 10  # of L-BFGS: it gains less than a pass of coordinate descent, and rough fits are of few passes
GRADIENT_HISTORY = (3, 20)  # vectors that L-BFGS keeps, at least and at most
MAX_HISTORY = 1 << 23  # numbers in these vectors, if there are more than the least
SMALL_STEPS = 2  # one after the other, that gain little before it stops: after a short step a long one may follow
DECREASE, FLATTER, MIN_STEP = 1e-4, 0.9, 1e-10  # of the line search: both Wolfe conditions, and where it gives up


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
        loss = dot(shares, np.logaddexp(0, -margins) if is_logistic else slack**2)
        gradient = regularization * w - C * (matrix.T @ (shares * own * slopes(margins)))
        return dot(regularization, w**2) / 2 + C * loss, gradient

    warn_if_missing()
    weights, is_converged = minimize(objective, start, curvature, settings, min_gain=0.1 if settings.is_rough else 1e-3)
    return weights, (signs != 0) * slopes(signs * (data.matrix @ weights)), is_converged


def minimize(
    objective: Objective, start: Floats, curvature: Floats, settings: SolverSettings, *, min_gain: float
) -> tuple[Floats, bool]:
    """Return the minimum of a convex objective, and whether L-BFGS converged.

    start       parameters of any shape, which is that of the gradient and the minimum
    curvature   an upper bound of the second derivatives by each parameter alone; it brings them to one scale
    min_gain    as a share of the tolerance, the relative gain of a step at which it stops

    raises  ModelError: the values are too large to compute with
    """
    scale = 1 / np.sqrt(curvature)

    def evaluate(x: Floats) -> tuple[float, Floats]:
        settings.check()
        value, gradient = objective(x.reshape(start.shape) * scale)
        gradient *= scale
        return value, gradient.ravel()

    n_steps = settings.max_iter * (STEPS_PER_PASS if settings.is_rough else 1)
    fewest, most = GRADIENT_HISTORY
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=min(most, max(fewest, MAX_HISTORY // start.size)))
    n_left, n_small, is_converged = 2 * n_steps, 0, False  # evaluations that are left, last steps that gained little
    with np.errstate(all="ignore"):  # overflow is an error below
        x = np.divide(start, scale, out=np.zeros(start.shape), where=scale > 0).ravel()
        value, gradient = evaluate(x)
        for _ in range(n_steps):
            step = _find_direction(gradient, pairs)
            slope, size, short, long = dot(gradient, step), 1.0, 0.0, math.inf
            if not slope < 0:  # at the minimum, or the numbers are too large
                break
            found, lower = value, gradient
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
            gain, value = value - found, found
            np.subtract(lower, gradient, out=gradient)
            curved = dot(step, gradient)
            if curved > 0:
                pairs.append((step, gradient, curved))
            gradient = lower
            n_small = n_small + 1 if gain <= min_gain * settings.tolerance * max(abs(value), 1.0) else 0
            is_converged = n_small == SMALL_STEPS
            if is_converged:
                break
    check_finite(value)
    check_finite(x)
    is_converged = is_converged or dot(gradient, gradient) / 2 <= settings.tolerance * value
    return x.reshape(start.shape) * scale, bool(is_converged)


def _find_direction(gradient: Floats, pairs: Sequence[tuple[Floats, Floats, float]]) -> Floats:
    """Return the direction of steepest descent, or, once there are pairs, that of a quasi-Newton step.

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


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + e^-z)."""
    return 1 / (1 + np.exp(-np.clip(z, -500, 500)))
