"""Probabilities of several labels from the scores of linear models, fitted to held-out scores.

    p_k = σ(a f_k + c + bias_k)

f_k is the score of label k, in units of the margin. All labels share the scale a, above 0, and the intercept c. The
prior of bias_k is Gaussian with the standard deviation 1, so that a rare label hardly moves from the others; the priors
of log a and c are weak.

Source: Platt, Probabilistic Outputs for Support Vector Machines, 1999.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.binary_relevance import RelevanceScores
from nbtext.bayes.label_calibration import Cells, Factors, sigmoid
from nbtext.bayes.scorer import Floats
from nbtext.records import dataclass

MAX_STEPS = 60
MAX_LOG_SCALE = 20.0
TOLERANCE = 1e-7  # of the loss, relative
MEANS, PRECISIONS = np.array([1.5, -2.0]), np.array([1 / 4, 1 / 100])  # of log a and c
MAX_DAMPING = 1e8


@dataclass(frozen=True, eq=False)
class ScoreScaling:
    """How the score of a linear model becomes a probability; see the module.

    scale      a, above 0
    intercept  c
    biases     (n_labels,)
    """

    scale: float
    intercept: float
    biases: Floats

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each score of the scorer, as those of Combination."""
        return (self.scale,)

    @property
    def slope(self) -> float:
        """The factor of the logarithm of the length."""
        return 0.0

    def factors(self, lengths: NDArray[Any]) -> Factors:
        """Return the factors of the scores, as those of Combination; they do not depend on the length."""
        ones = np.ones(len(lengths))
        return Factors(self.scale * ones, 0 * ones, 0 * ones, ones)

    def log_odds(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the log-odds of each label, (n_documents, n_labels)."""
        return np.asarray(self.scale * scores.relevance + self.intercept + self.biases)

    def probabilities(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the probability of each label, (n_documents, n_labels)."""
        return sigmoid(self.log_odds(scores, lengths))

    def left_out_probabilities(self, cells: Cells) -> Floats:
        """Return the probability of each pair with the bias of its label fitted without the pair, (n_cells,)."""
        log_odds = self.scale * cells.scores[0] + self.intercept + self.biases[cells.labels]
        return sigmoid(cells.leave_out(log_odds, 1.0, 1 + cells.curvatures(log_odds, 1.0)))


def fit_scaling(cells: Cells) -> tuple[ScoreScaling, float]:
    """Return the parameters with the lowest logistic loss on the cells, and the loss per document.

    By the Levenberg-Marquardt method; a bias interacts with a and c only, so a step takes time in proportion to the
    cells.
    """
    common, biases = MEANS.copy(), np.zeros(cells.n_labels)
    loss = _loss(cells, common, biases)
    damping = 1e-3
    for _ in range(MAX_STEPS):
        steps = _step(cells, common, biases, damping)
        proposal = np.minimum(common + steps[0], [MAX_LOG_SCALE, np.inf]), biases + steps[1]
        reached = _loss(cells, *proposal)
        if not reached < loss:
            damping *= 10
            if damping > MAX_DAMPING:
                break
            continue
        gain, loss = loss - reached, reached
        common, biases = proposal
        damping = max(damping / 10, 1e-9)
        if gain < TOLERANCE * loss:
            break
    return ScoreScaling(float(np.exp(common[0])), float(common[1]), biases), loss / max(1, cells.n_documents)


def _log_odds(cells: Cells, common: Floats, biases: Floats) -> Floats:
    return np.asarray(np.exp(common[0]) * cells.scores[0] + common[1] + biases[cells.labels])


def _loss(cells: Cells, common: Floats, biases: Floats) -> float:
    """Return the loss of some parameters, with that of their priors; sums do not depend on the number of threads."""
    log_odds = _log_odds(cells, common, biases)
    loss = float(np.sum(cells.documents * np.logaddexp(0, log_odds) - cells.positives * log_odds))
    return loss + 0.5 * float(np.sum(PRECISIONS * (common - MEANS) ** 2) + np.sum(biases**2))


def _step(cells: Cells, common: Floats, biases: Floats, damping: float) -> tuple[Floats, Floats]:
    """Return the step of log a and c, and that of the biases."""
    p = sigmoid(_log_odds(cells, common, biases))
    residuals, curvature = cells.documents * p - cells.positives, cells.documents * p * (1 - p)
    scaled = np.exp(common[0]) * cells.scores[0]
    by_label = cells.sum_by_label
    gradient = np.array([np.sum(residuals * scaled), np.sum(residuals)]) + PRECISIONS * (common - MEANS)
    cross = float(np.sum(curvature * scaled))
    hessian = np.array([[np.sum(curvature * scaled**2), cross], [cross, np.sum(curvature)]]) + np.diag(PRECISIONS)
    bias_gradient, bias_hessian = by_label(residuals) + biases, (by_label(curvature) + 1) * (1 + damping)
    mixed = np.stack([by_label(curvature * scaled), by_label(curvature)])
    reduced = hessian - np.einsum("ik,jk->ij", mixed / bias_hessian, mixed)
    reduced[np.diag_indices_from(reduced)] += damping * np.diag(hessian)
    step = np.linalg.solve(reduced, np.einsum("ik,k->i", mixed, bias_gradient / bias_hessian) - gradient)
    return step, -(bias_gradient + np.einsum("ik,i->k", mixed, step)) / bias_hessian
