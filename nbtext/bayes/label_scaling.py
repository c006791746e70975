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
from nbtext.bayes.newton import Bordered, minimize_bordered
from nbtext.bayes.scorer import Floats
from nbtext.records import dataclass

LARGEST = np.array([20.0, np.inf])  # log a and c
TOLERANCE = 1e-7  # of the loss, relative
MEANS, PRECISIONS = np.array([1.5, -2.0]), np.array([1 / 4, 1 / 100])  # of log a and c


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
    """Return the parameters with the lowest logistic loss on the cells, and the loss per document."""

    def evaluate(common: Floats, biases: Floats) -> Bordered:
        return _evaluate(cells, np.minimum(common, LARGEST), biases)

    common, biases, loss = minimize_bordered(evaluate, MEANS, np.zeros(cells.n_labels), tolerance=TOLERANCE)
    scale, intercept = float(np.exp(min(common[0], LARGEST[0]))), float(common[1])
    return ScoreScaling(scale, intercept, biases), loss / max(1, cells.n_documents)


def _evaluate(cells: Cells, common: Floats, biases: Floats) -> Bordered:
    """Return the loss of log a and c, and of the biases, with that of their priors, and its derivatives.

    The Hessian is that of Gauss and Newton. Sums do not depend on the number of threads.
    """
    scaled = np.exp(common[0]) * cells.scores[0]
    log_odds = scaled + common[1] + biases[cells.labels]
    offsets, by_label = common - MEANS, cells.sum_by_label
    loss = float(np.sum(cells.documents * np.logaddexp(0, log_odds) - cells.positives * log_odds))
    loss += 0.5 * float(np.sum(PRECISIONS * offsets**2) + np.sum(biases**2))
    p = sigmoid(log_odds)
    residuals, curvature = cells.documents * p - cells.positives, cells.documents * p * (1 - p)
    gradient = np.array([np.sum(residuals * scaled), np.sum(residuals)]) + PRECISIONS * offsets
    cross = float(np.sum(curvature * scaled))
    hessian = np.array([[np.sum(curvature * scaled**2), cross], [cross, np.sum(curvature)]]) + np.diag(PRECISIONS)
    mixed = np.stack([by_label(curvature * scaled), by_label(curvature)])
    return Bordered(loss, gradient, hessian, by_label(residuals) + biases, by_label(curvature) + 1, mixed)
