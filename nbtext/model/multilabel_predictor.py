"""Predictions of several labels for batches of documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbtext.bayes.binary_relevance import RelevanceScores, split_scores
from nbtext.bayes.label_selection import MultilabelFit
from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Batch
from nbtext.errors import ModelError, SettingsError
from nbtext.model.fitted_model import FittedModel
from nbtext.model.multilabel_predictions import SEPARATOR, MultilabelPredictions, select_labels
from nbtext.model.predictor import MOST_PROBABLE, NO_TOKEN, Predictor, Scores
from nbtext.model.settings import DecisionSettings


class MultilabelPredictor:
    """Predicts the labels of documents with a model of several labels; several threads may share it."""

    def __init__(self, model: FittedModel) -> None:
        self.model = model
        self.fit = fit_of(model)
        self._predictor = Predictor(model)

    def score_batch(self, batch: Batch) -> Scores:
        """Return the scores of a batch; see Predictor."""
        return self._predictor.score_batch(batch)

    def split(self, scores: Scores) -> RelevanceScores:
        """Return the two scores of each document and label."""
        return split_scores(scores.scores, len(self.model.labels))

    def probabilities(self, columns: Sequence[list[str]]) -> Floats:
        """Return the probability of each label of some texts, (n_documents, n_labels)."""
        return self._probabilities(self._predictor.score(columns))

    def _probabilities(self, scores: Scores) -> Floats:
        return self.fit.combination.probabilities(self.split(scores), scores.n_known)

    def predict_batch(
        self, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE, scores: Scores | None = None
    ) -> MultilabelPredictions:
        """Return one prediction for each document of a batch, in order.

        A document without a token has no label: its text gives no evidence for one.
        """
        scores = self.score_batch(batch) if scores is None else scores
        model, n, has_tokens = self.model, len(batch), scores.n_tokens > 0
        self._predictor.note_too_long(batch)
        probabilities = self._probabilities(scores)
        reasons: list[str | None] = [None if each else NO_TOKEN for each in has_tokens.tolist()]
        for row, problem in batch.problems.items():
            probabilities[row], reasons[row] = np.nan, str(problem)
        thresholds = self.fit.thresholds
        if decisions.label_threshold is not None:
            thresholds = np.full(len(model.labels), decisions.label_threshold)
        return MultilabelPredictions(
            batch.ids, model.labels, probabilities,
            np.divide(scores.n_known, scores.n_tokens, out=np.zeros(n), where=has_tokens),
            [None] * n, reasons, batch.list_labels(), thresholds,
            self._select(probabilities, reasons, thresholds, at_least_one=decisions.at_least_one),
            separator=model.input.label_separator or SEPARATOR,
            sets=self._sets(probabilities, decisions.coverage), rows=batch.rows,
        )  # fmt: skip

    def _select(
        self, probabilities: Floats, reasons: list[str | None], thresholds: Floats, *, at_least_one: bool
    ) -> list[tuple[str, ...]]:
        found = select_labels(probabilities, self.model.labels, thresholds, at_least_one=at_least_one)
        return [labels if reason is None else () for labels, reason in zip(found, reasons, strict=True)]

    def _sets(self, probabilities: Floats, coverage: float | None) -> list[tuple[str, ...]] | None:
        """Return the sets that hold a share of the true pairs of a document and a label."""
        if coverage is None:
            return None
        if self.fit.nonconformity is None:
            what, hint = "the model has no nonconformity scores for prediction sets", "train it on more documents"
            raise SettingsError(what, where="coverage", hint=hint)
        least = 1 - self.fit.nonconformity.upper_bound(coverage)
        return select_labels(probabilities, self.model.labels, np.full(len(self.model.labels), least))


def fit_of(model: FittedModel) -> MultilabelFit:
    """Return the fit of a model of several labels; ModelError if it gives each document one label."""
    if model.multilabel is None:
        raise ModelError("the model gives each document one label")
    return model.multilabel
