"""Damped Newton minimization: of a few parameters, or of many by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbtext.arrays import Floats
from nbtext.errors import ModelError
from nbtext.numerics import dot, solve_positive_definite

# the loss at a point, its gradient, and its Hessian or another array that `solve` makes the step of
Derivatives = Callable[[Floats], tuple[float, Floats, Floats]]
Solve = Callable[[Floats, Floats], Floats]
MAX_NEWTON_STEPS = 50  # measured problems need about five
NEWTON_TOLERANCE = 1e-9  # of a loss, in its units
MAX_HALVINGS = 100  # of a step; then it is smaller than any tolerance
MAX_PRODUCTS = 100  # of the Hessian and a vector in one step
ACCURACY = 1e-3  # of a step by conjugate gradients, relative to the gradient
MIN_SHIFT = 1e-6  # of a Hessian that is not positive definite


def solve_densely(hessian: Floats, gradient: Floats) -> Floats:
    """Return Newton's step; a Hessian that is not positive definite is shifted until it is.

    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithm 3.3.
    """
    step = solve_positive_definite(hessian, gradient)
    shift = MIN_SHIFT
    while step is None:
        step = solve_positive_definite(hessian + shift * np.eye(len(hessian)), gradient)
        shift *= 2
    return step


def solve_by_conjugate_gradients(
    product: Callable[[Floats], Floats],
    gradient: Floats,
    *,
    scale: Floats,
    accuracy: float = ACCURACY,
) -> Floats:
    """Return Newton's step for a positive definite Hessian of which only products with vectors are
    known.

    product   returns the Hessian times a vector
    scale     the diagonal of the Hessian, by which the system is preconditioned
    accuracy  of the step, relative to the gradient; ACCURACY is enough for Newton's method to
              converge
    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithm 5.3.
    """
    step = np.zeros_like(gradient)
    residual = gradient.copy()
    scaled = residual / scale
    direction = scaled
    power = dot(residual, scaled)
    goal = accuracy**2 * power
    for _ in range(MAX_PRODUCTS):
        if power <= goal:
            break
        image = product(direction)
        length = power / dot(direction, image)
        step += length * direction
        residual -= length * image
        scaled = residual / scale
        before = power
        power = dot(residual, scaled)
        direction = scaled + power / before * direction
    return step


def minimize(  # noqa: PLR0913 - the limits and the ends of the search
    evaluate: Derivatives,
    start: Floats,
    *,
    bound: float = np.inf,
    lower: Floats | None = None,
    solve: Solve = solve_densely,
    tolerance: float = NEWTON_TOLERANCE,
    max_steps: int = MAX_NEWTON_STEPS,
    is_minimum: Callable[[float, Floats], bool] = lambda loss, gradient: False,
) -> tuple[Floats, float]:
    """Return the parameters that minimize a loss, and the loss; each step is halved until the loss
    decreases.

    SciPy's optimizers do the same, but importing them takes longer than most trainings.

    bound      upper bound of the absolute value of each parameter
    lower      their lower bounds; None: −bound. At its lower bound, a parameter that should
               decrease must have the gradient 0
    solve      returns Newton's step, not negated, from the third value of `evaluate` and the
               gradient
    tolerance  of the loss, in its units: a step that gains no more is the last one
    is_minimum
               whether a loss and its gradient are close enough to the minimum
    raises  ModelError: the loss is not finite at the start
    """
    at = start
    # a step is halved if the loss is not finite after it
    with np.errstate(over="ignore", invalid="ignore"):
        loss, gradient, hessian = evaluate(at)
        if not (np.isfinite(loss) and np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            raise ModelError("the loss is not finite", hint="scores or weights are too large")
        for _ in range(max_steps):
            if is_minimum(loss, gradient):
                break
            step = -solve(hessian, gradient)
            if -dot(gradient, step) / 2 < tolerance:  # what the quadratic approximation gains
                break
            for _ in range(MAX_HALVINGS):
                candidate = np.clip(at + step, -bound if lower is None else lower, bound)
                new = evaluate(candidate)
                if new[0] <= loss or np.abs(step).max(initial=0) < NEWTON_TOLERANCE:
                    break
                step /= 2
            is_finite = np.isfinite(new[1]).all() and np.isfinite(new[2]).all()
            if not (new[0] < loss - tolerance and is_finite):
                break
            at = candidate
            loss, gradient, hessian = new
    return at, loss
