"""SciPy's L-BFGS for the primal problems of linear models.

It fits softmax regression. Of a class against the rest, it continues where dual coordinate descent does not converge,
as with few columns of different scales, and replaces it where the kernel is not compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nbtext.kernel import warn_if_missing
from nbtext.linear.data import Floats, TrainingData, check_finite

Objective = Callable[[Floats], tuple[float, Floats]]  # parameters to (value, gradient)

TOLERANCE = 5e-5
MAX_ITER = 1000
STEPS_PER_PASS = 10  # of L-BFGS: it gains less than a pass of coordinate descent, and rough fits are of few passes
GRADIENT_HISTORY = (3, 20)  # vectors that L-BFGS keeps, at least and at most
MAX_HISTORY = 1 << 23  # numbers in these vectors, if there are more than the least


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
    from scipy.optimize import minimize as minimize_vector

    scale = 1 / np.sqrt(curvature)

    def scaled(parameters: Floats) -> tuple[float, Floats]:
        settings.check()
        value, gradient = objective(parameters.reshape(start.shape) * scale)
        gradient *= scale
        return value, gradient.ravel()

    n_steps = settings.max_iter * (STEPS_PER_PASS if settings.is_rough else 1)
    fewest, most = GRADIENT_HISTORY
    limits = {"maxiter": n_steps, "maxfun": 2 * n_steps, "maxcor": min(most, max(fewest, MAX_HISTORY // start.size))}
    options = {**limits, "ftol": min_gain * settings.tolerance, "gtol": 0.0}
    with np.errstate(all="ignore"):  # overflow is an error below
        begin = np.divide(start, scale, out=np.zeros(start.shape), where=scale > 0)
        found = minimize_vector(scaled, begin.ravel(), jac=True, method="L-BFGS-B", options=options)
    check_finite(found.fun)
    check_finite(found.x)
    # the line search also fails where rounding leaves nothing to gain: at the minimum
    is_converged = found.success or found.jac @ found.jac / 2 <= settings.tolerance * found.fun
    return found.x.reshape(start.shape) * scale, bool(is_converged)


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + e^-z)."""
    return 1 / (1 + np.exp(-np.clip(z, -500, 500)))
