"""The kernel's softmax regression in plain Python and NumPy; features/kernel/softmax.pxi says what it does and why."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.linear.planes import Generator, Row, in_order, rows_of

BELIEF_STEPS = 30
LEAST_BELIEF = 1e-14


def regress(  # noqa: PLR0913  plain arrays, for the kernel's sake
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: Floats,
    classes: NDArray[np.int32],
    beliefs: Floats,
    intercepts: Floats,
    *,
    n_features: int,
    penalty: float,
    spring: float,
    tolerance: float,
    rounds: int,
    seed: int,
) -> tuple[Floats, Floats, float, int]:
    """Softmax regression on rows: (weights (n_features, n_classes), intercepts, duality gap, rounds).

    It minimises the sum of the squared weights / 2 and penalty times the log-losses; intercepts cost nothing.

    beliefs  (n_rows, n_classes), a distribution for each row, all > 0: where to begin, and afterwards where it ended
    spring   > 0: how far the intercepts go in a round
    raises   ValueError: the arrays do not fit each other
    """
    rows = rows_of(indptr, indices, values, n_features)
    if len(rows) != len(classes) or len(rows) != len(beliefs):
        raise ValueError("the arrays of the rows do not fit each other")
    softmax = _Softmax(rows, classes, beliefs, penalty=penalty, spring=spring)
    softmax.weights = np.zeros((n_features, len(intercepts)))
    softmax.b = np.array(intercepts, dtype=np.float64)
    done = softmax.believe(Generator(seed), tolerance, rounds)
    return softmax.weights, softmax.b, softmax.gap, done


class _Softmax:
    """½ Σ w² + C Σ_i (log Σ_k e^z_ik - z_iy), on its way to the least."""

    weights: Floats  # (n_features, n_classes)
    b: Floats  # (n_classes,)
    gap: float

    def __init__(
        self, rows: list[Row], classes: NDArray[np.int32], beliefs: Floats, *, penalty: float, spring: float
    ) -> None:
        self.rows, self.classes, self.beliefs = rows, classes.tolist(), beliefs
        self.penalty, self.spring = penalty, spring

    def score(self, row: int) -> list[float]:
        features, values = self.rows[row]
        products = np.add.reduce(values[:, None] * self.weights[features], axis=0)
        scores: list[float] = (products + self.b).tolist()
        return scores

    def add(self, row: int, change: Floats) -> None:
        features, values = self.rows[row]
        self.weights[features] += values[:, None] * change
        self.b += self.spring * change

    def begin(self) -> None:
        self.center = self.b.copy()
        entropy = 0.0
        self.squares = [in_order(np.append(self.spring, values * values)) for _, values in self.rows]
        for row in range(len(self.rows)):
            old = self.beliefs[row]
            for belief in old.tolist():
                entropy -= belief * math.log(belief)
            label = np.arange(len(old)) == self.classes[row]
            self.add(row, self.penalty * (label.astype(np.float64) - old))
        flat = self.weights.ravel()
        self.dual = self.penalty * entropy - in_order(flat * flat) / 2
        shift = self.b - self.center
        self.dual -= in_order(shift / self.spring * (self.center + shift / 2))

    def pressure(self) -> float:
        shift = self.b - self.center
        return in_order(shift * shift / self.spring)

    def recenter(self) -> None:
        self.dual -= self.pressure()
        shift = self.b - self.center
        self.center = self.b.copy()
        self.b += shift

    def believe(self, generator: Generator, tolerance: float, rounds: int) -> int:
        self.begin()
        order = list(range(len(self.rows)))
        for done in range(1, rounds + 1):
            generator.shuffle(order, len(order))
            self.visit(order)
            if self.gap + self.pressure() <= tolerance * self.dual:
                self.gap = self.whole_gap() + self.pressure()
                if self.gap <= tolerance * self.dual:
                    return done
            self.recenter()
        self.gap = self.whole_gap() + self.pressure()
        return rounds

    def visit(self, order: list[int]) -> None:
        self.gap = 0.0
        for row in order:
            z, old = self.score(row), self.beliefs[row].tolist()
            level = log_sum(z)
            self.gap += self.penalty * divergence(z, old, level)
            curvature = self.penalty * self.squares[row]
            belief = best_belief(z, old, curvature, level)
            gain = gain_of(z, old, belief, curvature)
            if gain > 0:
                self.dual += self.penalty * gain
                new = np.array(belief)
                change = self.penalty * (self.beliefs[row] - new)
                self.beliefs[row] = new
                self.add(row, change)

    def whole_gap(self) -> float:
        total = 0.0
        for row in range(len(self.rows)):
            z = self.score(row)
            total += divergence(z, self.beliefs[row].tolist(), log_sum(z))
        return self.penalty * total


def log_sum(z: list[float]) -> float:
    """log Σ_k e^z_k"""
    largest, total = max(z), 0.0
    for value in z:
        total += math.exp(value - largest)
    return largest + math.log(total)


def divergence(z: list[float], old: list[float], total: float) -> float:
    """Of softmax(z) from the belief; `total` is log Σ e^z."""
    for belief, value in zip(old, z, strict=True):
        total += belief * (math.log(belief) - value)
    return total


def omega(t: float) -> float:
    """Wright's function: the root of w + log w = t."""
    if t < -2:
        w = math.exp(t)
        if t < -18:
            return w
        w = w * (1 - w + 1.5 * w * w)
    elif t < 3:
        w = 0.5671432904 + t * (0.3618962566 + t * (0.0737 + t * 0.0013))
    else:
        w = t - math.log(t) * (1 - 1 / t)
    for _ in range(3):
        r = t - w - math.log(w)
        if abs(r) <= 1e-9:
            break
        q = 2 * (1 + w) * (1 + w + 2 * r / 3)
        w *= 1 + r / (1 + w) * (q - r) / (q - 2 * r)
    return w


def best_belief(z: list[float], old: list[float], curvature: float, level: float) -> list[float]:
    """The root of log p + c (p - old) = z - λ, Σ p = 1; `level` is where λ begins."""
    shift = math.log(curvature)
    sums = [value + curvature * belief for value, belief in zip(z, old, strict=True)]
    lowest = max(value - curvature for value in sums)
    level = max(level, lowest)
    beliefs: list[float] = []
    for _ in range(BELIEF_STEPS):
        total, slope, beliefs = 0.0, 0.0, []
        for value in sums:
            w = omega(value - level + shift)
            slope += w / (1 + w)
            beliefs.append(w / curvature)
            total += beliefs[-1]
        if abs(total - 1) * curvature <= 1e-6 * slope:
            break
        level = max(level + (total - 1) * curvature / slope, lowest)
    beliefs = [max(belief, LEAST_BELIEF) for belief in beliefs]
    total = 0.0
    for belief in beliefs:
        total += belief
    return [belief / total for belief in beliefs]


def gain_of(z: list[float], old: list[float], new: list[float], curvature: float) -> float:
    """What the dual objective gains by a new belief, for C = 1."""
    gain = 0.0
    for value, before, after in zip(z, old, new, strict=True):
        change = before - after
        gain += before * math.log(before) - after * math.log(after) - change * (value + curvature * change / 2)
    return gain
