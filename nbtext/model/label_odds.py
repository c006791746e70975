"""The log-odds of each of several labels of a document, and the terms that they are the sum of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_calibration import Factors, log_lengths
from nbtext.bayes.scorer import Floats
from nbtext.features.csr import entries_of
from nbtext.model.explanation import Explanation, MultilabelTerms
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import Scores


class OddsOfLabels:
    """The log-odds of a label against its absence; see `nbtext.model.explanation.Odds`.

    The log-odds of label k are in bayes/label_calibration.py. A word adds two terms: its weight in A_k times the
    factor of A; and, times the factor of B, its weight in S_k minus its mean weight over all labels. The rest of B_k is
    the term of other labels. What depends on no score is the term of the calibration.
    """

    def __init__(self, model: FittedModel, scores: Scores, predictions: Predictions) -> None:
        task = model.several_labels
        self._model, self._scores, self._combination = model, scores, task.fit.combination
        self._relevance, self._probabilities = task.split(scores.scores), predictions.probabilities

    def probability(self, row: int, own: int) -> float:
        """See Odds."""
        return float(self._probabilities[row, own])

    def choose_other(self, row: int, own: int, against: int | None) -> int:
        """See Odds; a label is compared with its own absence."""
        return own

    def of_features(
        self, row: int, own: int, other: int, indices: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> Floats:
        """See Odds."""
        scorer, factors, n_labels = self._model.scorer, self._factors(row), len(self._model.labels)
        log_odds = factors.relevance * scorer.contributions(indices, weights, own)
        if len(scorer.bias) > n_labels:
            of_label = scorer.column_weights(indices, n_labels + own)
            log_odds += factors.contrast * weights * (of_label - self._mean_weights(indices))
        return np.asarray(log_odds)

    def explain(self, row: int, own: int, other: int, explanation: Explanation) -> Explanation:
        """See Odds."""
        combination, relevance, n_labels = self._combination, self._relevance, len(self._model.labels)
        factors, n_known = self._factors(row), self._scores.n_known
        prior = (factors.relevance + factors.prior) * relevance.priors[own]
        by_length = combination.slope * log_lengths(n_known[row : row + 1])[0]
        calibration = factors.baseline * (combination.intercept + combination.biases[own] + by_length)
        others = 0.0
        if relevance.contrast is not None:
            scores = self._scores.scores[row, n_labels:]
            others = factors.contrast * (relevance.contrast[row, own] - (scores[own] - scores.mean()))
        return replace(
            explanation,
            against=f"not {explanation.label}",
            other_probability=1 - self.probability(row, own),
            log_odds=float(combination.log_odds(relevance, n_known)[row, own]),
            terms=MultilabelTerms(prior=float(prior), other_labels=float(others), calibration=float(calibration)),
        )

    def _factors(self, row: int) -> Factors:
        """Return the factors of the scores of one document."""
        return Factors(*(float(each[0]) for each in self._combination.factors(self._scores.n_known[row : row + 1])))

    def _mean_weights(self, columns: NDArray[np.int32]) -> Floats:
        """Return the mean weight of some columns in S, over all labels."""
        scorer, n_labels = self._model.scorer, len(self._model.labels)
        bounds, entries = entries_of(scorer.indptr, columns)
        owners = np.repeat(np.arange(len(columns)), np.diff(bounds))
        is_second = scorer.classes[entries] >= n_labels
        sums = np.bincount(owners[is_second], weights=scorer.deltas[entries[is_second]], minlength=len(columns))
        return np.asarray(scorer.default[n_labels:].mean() + sums / n_labels)
