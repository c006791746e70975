"""The kernel's planes between two classes in plain Python and NumPy: the same steps in the same order, the same bits.

What is done and why is said in features/kernel/linear.pxi.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

FARTHEST = 36.0
INNER_STEPS = 60
REUNION = 16
ALL_BITS = 2**64 - 1


class Row(NamedTuple):
    """A document's features and their values."""

    features: NDArray[np.int32]
    values: Floats


class Generator:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, count: int) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & ALL_BITS
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL_BITS
        z ^= z >> 31
        return ((z >> 32) * count) >> 32

    def shuffle(self, order: list[int], count: int) -> None:
        for last in range(count - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]


def divide(  # noqa: PLR0913  plain arrays, for the kernel's sake
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: Floats,
    signs: Floats,
    scales: Floats,
    pulls: Floats,
    *,
    is_logistic: bool,
    penalty: float,
    constant: float,
    tolerance: float,
    rounds: int,
    seed: int,
) -> tuple[Floats, float, float, int]:
    """The plane between rows of two signs: (weights, the constant's weight, duality gap, rounds).

    It minimises the sum of v_j^2 / (2 scales_j), the constant's v^2 / 2, and penalty times the losses of the margins
    sign * (x v), which are max(0, 1 - m)^2 or log(1 + e^-m); it stops where the duality gap is below `tolerance` times
    the dual objective, or after `rounds`. Features are distinct within a row.

    signs   (n_rows,), 1 or -1
    scales  (n_features,), >= 0
    pulls   (n_rows,), the dual variables divided by the penalty: where to begin, and afterwards where it ended
    raises  ValueError: the arrays do not fit each other
    """
    plane = _Plane(rows_of(indptr, indices, values, len(scales)), signs, scales, pulls)
    plane.loss = _Logistic() if is_logistic else _SquaredHinge()
    plane.penalty, plane.constant = penalty, constant
    done = plane.descend(Generator(seed), tolerance, rounds)
    return plane.weights[:-1], float(plane.weights[-1]), plane.gap, done


def rows_of(indptr: NDArray[np.int64], indices: NDArray[np.int32], values: Floats, n_features: int) -> list[Row]:
    """The documents one by one; ValueError where the arrays do not fit each other."""
    if len(indices) != len(values) or int(indptr[-1]) != len(indices):
        raise ValueError("the arrays of the rows do not fit each other")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError("there is no such feature")
    bounds = indptr.tolist()
    return [Row(indices[a:b], values[a:b]) for a, b in pairwise(bounds)]


def in_order(values: Floats) -> float:
    """The sum, from the first value to the last one."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


class _SquaredHinge:
    """max(0, 1 - m)²"""

    can_rest = True  # a document that does not pull may be set aside

    def gain(self, pull: float) -> float:
        return pull - pull * pull / 4

    def share(self, pull: float, margin: float) -> float:
        slack = 1 - margin
        return (slack - pull / 2) * (slack - pull / 2) if slack > 0 else pull * pull / 4 - pull * slack

    def best(self, pull: float, margin: float, curvature: float) -> float:
        return max(pull + (1 - margin - pull / 2) / (curvature + 0.5), 0.0)


class _Logistic:
    """log(1 + e^-m)"""

    can_rest = False

    def gain(self, pull: float) -> float:
        odds = _log_odds(pull)
        return _softplus(odds) - pull * odds

    def share(self, pull: float, margin: float) -> float:
        odds = _log_odds(pull)
        return _softplus(-margin) - _softplus(odds) + pull * (odds + margin)

    def best(self, pull: float, margin: float, curvature: float) -> float:
        odds = _log_odds(pull)
        high = min(max(-margin, -FARTHEST), FARTHEST)
        low, high = min(odds, high), max(odds, high)
        for _ in range(INNER_STEPS):
            probability = _sigmoid(odds)
            error = curvature * (probability - pull) + margin + odds
            low, high = (low, odds) if error > 0 else (odds, high)
            next_odds = odds - error / (curvature * probability * (1 - probability) + 1)
            if not low < next_odds < high:
                next_odds = (low + high) / 2
            is_done = abs(next_odds - odds) <= 1e-6
            odds = next_odds
            if is_done:
                break
        return _sigmoid(odds)


def _softplus(z: float) -> float:
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def _log_odds(probability: float) -> float:
    if not 0 < probability < 1:
        return -FARTHEST if probability <= 0 else FARTHEST
    return min(max(math.log(probability) - math.log1p(-probability), -FARTHEST), FARTHEST)


class _Plane:
    """½ Σ_j v_j² / s_j + C Σ_i loss(y_i · v·x_i), on its way to the least."""

    loss: _SquaredHinge | _Logistic
    penalty: float
    constant: float
    gap: float

    def __init__(self, rows: list[Row], signs: Floats, scales: Floats, pulls: Floats) -> None:
        if len(rows) != len(signs) or len(rows) != len(pulls):
            raise ValueError("the arrays of the rows do not fit each other")
        self.rows, self.signs, self.scales, self.pulls = rows, signs.tolist(), scales, pulls

    def margin(self, row: int) -> float:
        features, values = self.rows[row]
        products = np.zeros(-(-len(values) // 4) * 4)
        products[: len(values)] = values * self.weights[features]
        a, b, c, d = np.add.reduce(products.reshape(-1, 4), axis=0).tolist()
        return float(self.signs[row] * (((a + b) + (c + d)) + self.constant * float(self.weights[-1])))

    def pull(self, row: int, strength: float) -> None:
        features, values = self.rows[row]
        strength *= self.signs[row]
        self.weights[features] += strength * values * self.scales[features]
        self.weights[-1] += strength * self.constant

    def place(self) -> None:
        self.weights = np.zeros(len(self.scales) + 1)
        for row, pull in enumerate(self.pulls.tolist()):
            if pull != 0:
                self.pull(row, self.penalty * pull)

    def begin(self) -> None:
        self.place()
        squares = (in_order(values * values * self.scales[features]) for features, values in self.rows)
        self.squares = [square + self.constant * self.constant for square in squares]
        gains = 0.0
        for pull in self.pulls.tolist():
            gains += self.loss.gain(pull)
        used = np.flatnonzero(self.weights[:-1])
        norm = in_order(self.weights[used] * self.weights[used] / self.scales[used])
        norm += float(self.weights[-1] * self.weights[-1])
        self.dual = self.penalty * gains - norm / 2

    def descend(self, generator: Generator, tolerance: float, rounds: int) -> int:
        self.begin()
        count, steepest, done = len(self.rows), math.inf, 0
        order = list(range(count))
        while done < rounds:
            done += 1
            generator.shuffle(order, count)
            count, steepest = self.visit(order, count, steepest)
            if self.gap <= tolerance * self.dual:
                self.gap = self.whole_gap()
                if self.gap <= tolerance * self.dual:
                    break
                count, steepest = len(self.rows), math.inf
            elif done % REUNION == 0:
                count, steepest = len(self.rows), math.inf
        self.place()
        self.gap = self.whole_gap()
        return done

    def visit(self, order: list[int], count: int, bound: float) -> tuple[int, float]:
        place, steepest, self.gap = 0, 0.0, 0.0
        while place < count:
            row = order[place]
            old, margin = float(self.pulls[row]), self.margin(row)
            if old == 0 and self.loss.can_rest and margin - 1 > bound:
                count -= 1
                order[place], order[count] = order[count], row
                continue
            self.gap += self.penalty * self.loss.share(old, margin)
            if self.loss.can_rest and (old > 0 or margin < 1):
                steepest = max(steepest, margin - 1 + old / 2)
            self.improve(row, old, margin)
            place += 1
        return count, steepest if steepest > 0 else math.inf

    def improve(self, row: int, old: float, margin: float) -> None:
        new = self.loss.best(old, margin, self.penalty * self.squares[row])
        if new != old:
            step = self.penalty * (new - old)
            self.dual += self.penalty * (self.loss.gain(new) - self.loss.gain(old))
            self.dual -= step * margin + step * step * self.squares[row] / 2
            self.pulls[row] = new
            self.pull(row, step)

    def whole_gap(self) -> float:
        total = 0.0
        for row, pull in enumerate(self.pulls.tolist()):
            total += self.loss.share(pull, self.margin(row))
        return self.penalty * total
