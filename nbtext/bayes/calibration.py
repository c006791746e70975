"""Probabilities that mean what they say: a temperature that grows with the length, and a share of odd labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats, log_posterior

# What is believed of (log a, b, logit noise) before documents are seen, as means and standard deviations: that a single
# word's evidence is taken at its worth, that more of it is worth less, and that few labels are beyond understanding. It
# matters where all documents are about equally long (from 60 words nothing follows for 5) or few, and fades with their
# number.
BELIEVED = np.array([0.0, 0.3, -6.0])
DOUBT = np.array([1.0, 0.5, 2.0])
STEPS = 50  # of Newton's method; a handful is enough wherever it was measured
TOLERANCE = 1e-9  # of the log-loss, in nats
LARGEST = 30.0  # of |log a|, |b| and |logit noise|: beyond, probabilities are 0 or 1 anyway


@dataclass(frozen=True, slots=True)
class Calibration:
    """T(L) = a · L^b: a document of L known tokens has its scores divided by T(L) before they are normalised.

    Naive Bayes takes each word for new evidence, so its log-odds grow with the length of the document; dividing by
    a power of the length mends that. Some documents bear a label that their words do not tell at all (a mail sent to
    two groups, a slip of the hand): for this share, `noise`, each label is taken for equally probable. Without it a
    few such documents make the temperature too high for all others. The most probable label stays the same.
    """

    a: float
    b: float
    noise: float = 0.0

    def temperature(self, lengths: NDArray[Any]) -> Floats:
        """T for documents of these many known tokens; an empty one counts as one token long."""
        return np.asarray(self.a * np.maximum(lengths, 1).astype(np.float64) ** self.b)

    def log_posterior(self, scores: Floats, lengths: NDArray[Any]) -> Floats:
        """Calibrated log-probabilities, shape (n_documents, n_classes)."""
        cooled = log_posterior(scores / self.temperature(lengths)[:, None])
        if self.noise == 0:
            return cooled
        by_chance = np.log(self.noise / scores.shape[1])
        return np.asarray(np.logaddexp(cooled + np.log1p(-self.noise), by_chance))


def fit_calibration(
    scores: Floats, lengths: NDArray[Any], classes: NDArray[np.int32], *, near: Calibration | None = None
) -> Calibration:
    """The temperature and noise with the least log-loss on scores of documents that the model has not seen.

    The loss is that of (1 − noise) · softmax(scores / T) + noise / K, and a weak prior of (log a, b, logit noise): the
    estimate is the maximum a posteriori. First the temperature is fitted without noise, then all three: from a
    temperature that is far too low, every wrong label would look like noise.

    scores   (n_documents, n_classes), finite, left out or held out
    lengths  (n_documents,), known tokens of each
    classes  (n_documents,), the true class of each
    near     where to look first: what was found for scores that are much alike
    source   length-aware temperature scaling; temperature scaling itself: Guo, Pleiss, Sun, Weinberger,
             On Calibration of Modern Neural Networks, 2017, section 4.2
    """
    log_lengths = np.log(np.maximum(lengths, 1).astype(np.float64))
    centered = scores - scores.max(axis=1, keepdims=True)
    own = np.arange(len(classes)), classes
    if near is None:
        at = np.append(_minimum(np.zeros(2), centered, log_lengths, own), BELIEVED[2])
    else:
        at = np.array([np.log(near.a), near.b, np.log(near.noise) - np.log1p(-near.noise)])
    at = _minimum(at, centered, log_lengths, own)
    return Calibration(float(np.exp(at[0])), float(at[1]), float(_share(at[2])))


def _minimum(at: Floats, scores: Floats, log_lengths: Floats, own: tuple[NDArray[Any], NDArray[Any]]) -> Floats:
    """Newton's method, each step halved until the loss falls; uphill in curvature a step along the gradient."""
    loss, gradient, curvature = _loss(at, scores, log_lengths, own)
    for _ in range(STEPS):
        step = -_solved(curvature, gradient)
        while True:
            candidate = np.clip(at + step, -LARGEST, LARGEST)
            new = _loss(candidate, scores, log_lengths, own)
            if new[0] <= loss or np.abs(step).max() < TOLERANCE:
                break
            step /= 2
        if not new[0] < loss - TOLERANCE:
            break
        at, (loss, gradient, curvature) = candidate, new
    return at


def _loss(
    at: Floats, scores: Floats, log_lengths: Floats, own: tuple[NDArray[Any], NDArray[Any]]
) -> tuple[float, Floats, Floats]:
    """Mean log-loss and prior at (log a, b) or (log a, b, logit noise), with gradient and Hessian of that size."""
    cooled = scores * np.exp(-(at[0] + at[1] * log_lengths))[:, None]
    exponentials = np.exp(cooled)
    totals = exponentials.sum(axis=1)
    mean = (exponentials * cooled).sum(axis=1) / totals
    square = (exponentials * cooled * cooled).sum(axis=1) / totals
    # with u = log T, each document's loss has the derivative own - mean, and the second one (own - mean) turned
    # round plus the variance of its scores
    slope = cooled[own] - mean
    bend = square - mean * mean - slope
    log_own = cooled[own] - np.log(totals)
    n, design = len(log_lengths), np.stack((np.ones_like(log_lengths), log_lengths))
    if len(at) == 2:
        losses, gradient, curvature = -log_own, design @ slope, (design * bend) @ design.T
    else:
        losses, gradient, curvature = _with_noise(_share(at[2]), log_own, slope, bend, design, scores.shape[1])
    away = (at - BELIEVED[: len(at)]) / DOUBT[: len(at)]
    loss = float(losses.mean() + away @ away / (2 * n))
    return loss, (gradient + away / DOUBT[: len(at)]) / n, (curvature + np.diag(DOUBT[: len(at)] ** -2.0)) / n


def _with_noise(
    noise: float, log_own: Floats, slope: Floats, bend: Floats, design: Floats, n_classes: int
) -> tuple[Floats, Floats, Floats]:
    """Loss, gradient and Hessian of the mixture of what the scores say and chance, before the prior.

    Where v is the probability that a document's label came by chance, and w = 1 − v, the loss has the derivatives
    w · slope by log T and noise − v by logit noise.
    """
    told = np.log1p(-noise) + log_own
    losses = -np.logaddexp(told, np.log(noise / n_classes))
    w = np.exp(told + losses)
    v = 1 - w
    both = (design * -(w * v * slope)).sum(axis=1)
    gradient = np.append(design @ (w * slope), (noise - v).sum())
    curvature = np.empty((3, 3))
    curvature[:2, :2] = (design * (w * bend - w * v * slope * slope)) @ design.T
    curvature[2, :2] = curvature[:2, 2] = both
    curvature[2, 2] = (noise * (1 - noise) - v * w).sum()
    return losses, gradient, curvature


def _share(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


def _solved(curvature: Floats, gradient: Floats) -> Floats:
    """Newton's step where the curvature is positive, else the gradient."""
    smallest = np.linalg.eigvalsh(curvature)[0]
    if smallest <= 1e-12:
        curvature = curvature + (1e-6 - smallest) * np.eye(len(curvature))
    return np.asarray(np.linalg.solve(curvature, gradient), dtype=np.float64)
