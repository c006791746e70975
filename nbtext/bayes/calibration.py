"""Probabilities that mean what they say: a temperature that grows with the length of the document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats, log_posterior

# What is believed of (log a, b) before documents are seen, as means and standard deviations: that a single word's
# evidence is taken at its worth, and that more of it is worth less. It matters where all documents are about equally
# long (from 60 words nothing follows for 5) or few, and fades with their number.
BELIEVED = np.array([0.0, 0.3])
DOUBT = np.array([1.0, 0.5])
STEPS = 50  # of Newton's method; a handful is enough wherever it was measured
TOLERANCE = 1e-9  # of the log-loss, in nats
LARGEST = 30.0  # of |log a| and |b|: beyond, probabilities are 0 or 1 anyway


@dataclass(frozen=True, slots=True)
class Calibration:
    """T(L) = a · L^b: a document of L known tokens has its scores divided by T(L) before they are normalised.

    Naive Bayes takes each word for new evidence, so its log-odds grow with the length of the document; dividing by
    a power of the length mends that. The most probable label stays the same.
    """

    a: float
    b: float

    def temperature(self, lengths: NDArray[Any]) -> Floats:
        """T for documents of these many known tokens; an empty one counts as one token long."""
        return np.asarray(self.a * np.maximum(lengths, 1).astype(np.float64) ** self.b)

    def log_posterior(self, scores: Floats, lengths: NDArray[Any]) -> Floats:
        """Calibrated log-probabilities, shape (n_documents, n_classes)."""
        return log_posterior(scores / self.temperature(lengths)[:, None])


def fit_calibration(scores: Floats, lengths: NDArray[Any], classes: NDArray[np.int32]) -> Calibration:
    """The temperature with the least log-loss on scores of documents that the model has not seen.

    The loss is that of softmax(scores / T), and a weak prior of (log a, b): the estimate is the maximum a posteriori.
    Newton's method, each step halved until the loss falls; a step uphill in curvature becomes one along the gradient.

    scores   (n_documents, n_classes), finite, left out or held out
    lengths  (n_documents,), known tokens of each
    classes  (n_documents,), the true class of each
    source   length-aware temperature scaling; temperature scaling itself: Guo, Pleiss, Sun, Weinberger,
             On Calibration of Modern Neural Networks, 2017, section 4.2
    """
    log_lengths = np.log(np.maximum(lengths, 1).astype(np.float64))
    centered = scores - scores.max(axis=1, keepdims=True)
    own = np.arange(len(classes)), classes
    at = np.zeros(2)  # log a, b
    loss, gradient, curvature = _loss(at, centered, log_lengths, own)
    for _ in range(STEPS):
        step = -_solved(curvature, gradient)
        while True:
            candidate = np.clip(at + step, -LARGEST, LARGEST)
            new = _loss(candidate, centered, log_lengths, own)
            if new[0] <= loss or np.abs(step).max() < TOLERANCE:
                break
            step /= 2
        if not new[0] < loss - TOLERANCE:
            break
        at, (loss, gradient, curvature) = candidate, new
    return Calibration(float(np.exp(at[0])), float(at[1]))


def _loss(
    at: Floats, scores: Floats, log_lengths: Floats, own: tuple[NDArray[Any], NDArray[Any]]
) -> tuple[float, Floats, Floats]:
    """Mean log-loss and prior at (log a, b), with their gradient (2,) and Hessian (2, 2)."""
    cooled = scores * np.exp(-(at[0] + at[1] * log_lengths))[:, None]
    exponentials = np.exp(cooled)
    totals = exponentials.sum(axis=1)
    mean = (exponentials * cooled).sum(axis=1) / totals
    square = (exponentials * cooled * cooled).sum(axis=1) / totals
    # with u = log T, each document's loss has the derivative own - mean, and the second one (own - mean) turned
    # round plus the variance of its scores
    slope = cooled[own] - mean
    bend = square - mean * mean - slope
    design = np.stack((np.ones_like(log_lengths), log_lengths))
    n = len(log_lengths)
    away = (at - BELIEVED) / DOUBT
    loss = float((np.log(totals) - cooled[own]).mean() + away @ away / (2 * n))
    return loss, (design @ slope + away / DOUBT) / n, ((design * bend) @ design.T + np.diag(DOUBT**-2.0)) / n


def _solved(curvature: Floats, gradient: Floats) -> Floats:
    """Newton's step where the curvature is positive, else the gradient."""
    smallest = np.linalg.eigvalsh(curvature)[0]
    if smallest <= 1e-12:
        curvature = curvature + (1e-6 - smallest) * np.eye(2)
    return np.asarray(np.linalg.solve(curvature, gradient), dtype=np.float64)
