"""Predictions of several labels for batches of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nbtext.bayes.binary_relevance import RelevanceScores, split_scores
from nbtext.bayes.label_selection import MultilabelFit
from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Batch
from nbtext.errors import ModelError, SettingsError
from nbtext.features.document_counts import DocumentCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.multilabel_predictions import SEPARATOR, MultilabelPredictions, select_labels
from nbtext.model.predictor import MOST_PROBABLE, Predictor, Scores, unanswered_reasons
from nbtext.model.settings import DecisionSettings


class MultilabelPredictor:
    """Predicts the labels of documents with a multi-label model; several threads may share it."""

    def __init__(self, model: FittedModel) -> None:
        self.model = model
        self.fit = fit_of(model)
        self._predictor = Predictor(model)

    def score_batch(self, batch: Batch) -> Scores:
        """Return the scores of a batch; see Predictor."""
        return self._predictor.score_batch(batch)

    def split(self, scores: Scores) -> RelevanceScores:
        """Return the two scores of each document and label."""
        return split_scores(scores.scores, self.model.scorer, len(self.model.labels))

    def probabilities(self, columns: Sequence[Sequence[str]]) -> Floats:
        """Return the probability of each label of some texts, (n_documents, n_labels)."""
        return self._probabilities(self._predictor.score(columns))

    def _probabilities(self, scores: Scores) -> Floats:
        return self.fit.combination.probabilities(self.split(scores), scores.n_known)

    def predict_batch(
        self, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE, scores: Scores | None = None
    ) -> MultilabelPredictions:
        """Return one prediction for each document of a batch, in order.

        A document without a known word has no label: its text gives no evidence for one.
        """
        scores = self.score_batch(batch) if scores is None else scores
        model, n, has_tokens = self.model, len(batch), scores.n_tokens > 0
        self._predictor.note_too_long(batch)
        probabilities = self._probabilities(scores)
        reasons = unanswered_reasons(scores.n_tokens, scores.n_known)
        for row, problem in batch.problems.items():
            probabilities[row], reasons[row] = np.nan, str(problem)
        known = np.divide(scores.n_known, scores.n_tokens, out=np.zeros(n), where=has_tokens)
        predictions = decide_labels(model, probabilities, decisions, batch.list_labels(), reasons)
        return replace(predictions, ids=batch.ids, known=known, rows=batch.rows)


def predict_counts(
    model: FittedModel,
    documents: DocumentCounts,
    true_labels: list[tuple[str, ...] | None],
    decisions: DecisionSettings,
) -> MultilabelPredictions:
    """Return the predictions for documents over the features of a model; they have no ids.

    true_labels  (n_documents,)
    """
    weights = model.weighting.weights(documents.indptr, documents.indices, documents.counts)
    scores = model.scorer.scores(documents.indptr, documents.indices, weights)
    lengths = documents.lengths if documents.has_lengths else documents.totals
    labels = split_scores(scores, model.scorer, len(model.labels))
    probabilities = fit_of(model).combination.probabilities(labels, lengths)
    reasons = unanswered_reasons(np.ones(len(documents)), np.diff(documents.indptr))
    return decide_labels(model, probabilities, decisions, true_labels, reasons)


def decide_labels(
    model: FittedModel,
    probabilities: Floats,
    decisions: DecisionSettings,
    true_labels: list[tuple[str, ...] | None],
    reasons: list[str | None],
) -> MultilabelPredictions:
    """Return the predictions that follow from the probabilities of labels; a document with a reason has no label.

    probabilities  (n_documents, n_labels)
    """
    labels, n = model.labels, len(probabilities)
    thresholds = fit_of(model).thresholds
    if decisions.common_threshold is not None:
        thresholds = np.full(len(labels), decisions.common_threshold)
    if given := decisions.label_thresholds:
        pairs = zip(labels, thresholds.tolist(), strict=True)
        thresholds = np.array([given.get(label, threshold) for label, threshold in pairs])
    found = select_labels(probabilities, labels, thresholds, at_least_one=decisions.at_least_one)
    return MultilabelPredictions(
        [""] * n, labels, probabilities, np.ones(n), [None] * n, reasons, true_labels, thresholds,
        [each if reason is None else () for each, reason in zip(found, reasons, strict=True)],
        separator=model.input.label_separator or SEPARATOR, sets=_select_sets(model, probabilities, decisions.coverage),
    )  # fmt: skip


def _select_sets(model: FittedModel, probabilities: Floats, coverage: float | None) -> list[tuple[str, ...]] | None:
    """Return the sets that hold a share of the true pairs of a document and a label."""
    if coverage is None:
        return None
    nonconformity = fit_of(model).nonconformity
    if nonconformity is None:
        what, hint = (
            "prediction sets need nonconformity scores of left-out documents, which the model does not store",
            "train it on more documents",
        )
        raise SettingsError(what, where="coverage", hint=hint)
    minimum = 1 - nonconformity.upper_bound(coverage)
    return select_labels(probabilities, model.labels, np.full(len(model.labels), minimum))


def fit_of(model: FittedModel) -> MultilabelFit:
    """Return the fit of a multi-label model; ModelError if it gives each document one label."""
    if model.multilabel is None:
        raise ModelError("this needs a multi-label model")
    return model.multilabel
