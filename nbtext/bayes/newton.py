"""Damped Newton minimization of a smooth function of a few parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import ModelError

Floats = NDArray[np.float64]
Evaluate = Callable[[Floats], tuple[float, Floats, Floats]]  # the loss at a point, its gradient and its Hessian
MAX_STEPS = 50  # measured problems need about five
MAX_HALVINGS = 100  # of a step; then it is smaller than any tolerance
MIN_EIGENVALUE = 1e-12  # of a Hessian that is used without a shift


def minimize(evaluate: Evaluate, start: Floats, *, tolerance: float = 1e-9, bound: float = np.inf) -> Floats:
    """Return the minimum of a loss, to `tolerance` of the loss; each step is halved until the loss decreases.

    SciPy's optimizers do the same, but importing them takes longer than most trainings.

    bound   of the absolute value of each parameter
    raises  ModelError: the loss is not finite at the start
    """
    at = start
    with np.errstate(over="ignore", invalid="ignore"):  # a step is halved if the loss is not finite after it
        loss, gradient, hessian = evaluate(at)
        if not (np.isfinite(loss) and np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            raise ModelError("the loss is not finite", hint="scores or weights are too large")
        for _ in range(MAX_STEPS):
            step = -_solve(hessian, gradient)
            for _ in range(MAX_HALVINGS):
                candidate = np.clip(at + step, -bound, bound)
                new = evaluate(candidate)
                if new[0] <= loss or np.abs(step).max(initial=0) < tolerance:
                    break
                step /= 2
            is_finite = np.isfinite(new[1]).all() and np.isfinite(new[2]).all()
            if not (new[0] < loss - tolerance and is_finite):
                break
            at, (loss, gradient, hessian) = candidate, new
    return at


def _solve(hessian: Floats, gradient: Floats) -> Floats:
    """Return Newton's step; a Hessian that is not positive definite is shifted until it is."""
    smallest = np.linalg.eigvalsh(hessian)[0]
    if smallest <= MIN_EIGENVALUE:
        hessian = hessian + (1e-6 - smallest) * np.eye(len(hessian))
    return np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
