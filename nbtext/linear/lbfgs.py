"""L-BFGS for softmax regression, without BLAS.

The bytes of a model must not depend on the number of threads. SciPy's L-BFGS adds up with BLAS, and OpenBLAS adds up
the products of long vectors in one part for each thread.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nbtext.bayes.newton import dot
from nbtext.linear.data import Floats, check_finite

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
               STEPS_PER_PASS times as many in a rough fit, and Newton's method after as many steps
    seed       of the order in which documents are visited
    is_rough   whether to stop after `max_iter` passes, without Newton's method
    check      called after every few passes; an error that it raises ends the fit
    """

    C: float
    tolerance: float = TOLERANCE
    max_iter: int = MAX_ITER
    seed: int = 0
    is_rough: bool = False
    check: Callable[[], None] = do_nothing


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
