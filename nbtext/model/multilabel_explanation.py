"""Explanations of several labels: for each label, terms whose sum is the log-odds of its probability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_calibration import Factors, log_lengths
from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Batch
from nbtext.errors import SettingsError
from nbtext.features.csr import entries_of
from nbtext.features.document_counts import DocumentCounts
from nbtext.model.explanation import Contribution, Explainer, Explanation, MultilabelTerms
from nbtext.model.fitted_model import FittedModel
from nbtext.model.multilabel_predictions import MultilabelPredictions
from nbtext.model.multilabel_predictor import MultilabelPredictor, fit_of
from nbtext.model.predictor import MOST_PROBABLE, Scores
from nbtext.model.settings import DecisionSettings


class MultilabelExplainer:
    """Explains the predictions of a multi-label model; several threads may share it.

    The log-odds of label k are in bayes/label_calibration.py. A word adds two terms: its weight in A_k times the
    factor of A; and, times the factor of B, its weight in S_k minus its mean weight over all labels. The rest of B_k is
    the term of other labels. What depends on no score is the term of the calibration.
    """

    def __init__(self, model: FittedModel) -> None:
        self.model = model
        self._fit = fit_of(model)
        self._predictor = MultilabelPredictor(model)
        self._explainer = Explainer(model)

    def explain_batch(self, batch: Batch, *, label: str | None = None) -> list[Explanation]:
        """Return the explanations of all documents in one list; see `explain_documents`."""
        return [each for explanations in self.explain_documents(batch, label=label) for each in explanations]

    def explain_documents(
        self, batch: Batch, *, label: str | None = None, most: int | None = None
    ) -> list[list[Explanation]]:
        """Return an explanation of each predicted label of each document, the most probable label first.

        A document that could not be predicted has one explanation, without a label and with the reason.

        Parameters
        ----------
        label
            The label to explain; None: the predicted ones, or the most probable one if none is predicted.
        most
            Number of labels of a document that are explained; None: all.
        """
        chosen = None if label is None else self.model.class_of(label)
        scores = self._predictor.score_batch(batch)
        predictions = self._predictor.predict_batch(batch, scores=scores)
        rows, texts = self._explainer.count(batch.columns), list(zip(*batch.columns, strict=True))
        places = {name: k for k, name in enumerate(self.model.labels)}
        found: list[list[Explanation]] = []
        for row, labels in enumerate(predictions.predicted):
            reason, known = predictions.reasons[row], float(predictions.known[row])
            explanation = Explanation(predictions.ids[row], known=known, reason=reason, texts=texts[row])
            if reason is not None:
                found.append([explanation])
                continue
            classes = [chosen] if chosen is not None else [places[name] for name in labels[:most]]
            classes = classes or [int(predictions.probabilities[row].argmax())]
            found.append([self._explain_label(explanation, row, k, scores, predictions, rows) for k in classes])
        return found

    def predict_batch(self, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE) -> MultilabelPredictions:
        """Return predictions with the strongest `decisions.explain` features of each document's most probable label."""
        scores = self._predictor.score_batch(batch)
        predictions = self._predictor.predict_batch(batch, decisions, scores)
        rows, texts = self._explainer.count(batch.columns), list(zip(*batch.columns, strict=True))
        explanations: list[tuple[tuple[str, float], ...]] = []
        for row, reason in enumerate(predictions.reasons):
            strongest: list[Contribution] = []
            if reason is None:
                k = int(predictions.probabilities[row].argmax())
                strongest = self._contributions(rows, row, texts[row], k, scores)[: decisions.explain]
            explanations.append(tuple((each.feature, each.log_odds) for each in strongest))
        return replace(predictions, explanations=explanations)

    def _explain_label(
        self, explanation: Explanation, row: int, k: int, scores: Scores, predictions: MultilabelPredictions,
        rows: DocumentCounts,
    ) -> Explanation:  # fmt: skip
        combination, n_labels = self._fit.combination, len(self.model.labels)
        factors, relevance = self._factors(scores, row), self._predictor.split(scores)
        prior = (factors.relevance + factors.prior) * relevance.priors[k]
        by_length = combination.slope * log_lengths(scores.n_known[row : row + 1])[0]
        calibration = factors.baseline * (combination.intercept + combination.biases[k] + by_length)
        others = 0.0
        if relevance.contrast is not None:
            own = scores.scores[row, n_labels:]
            others = factors.contrast * (relevance.contrast[row, k] - (own[k] - own.mean()))
        contributions = self._contributions(rows, row, explanation.texts, k, scores)
        probability, label = float(predictions.probabilities[row, k]), self.model.labels[k]
        terms = MultilabelTerms(prior=float(prior), other_labels=float(others), calibration=float(calibration))
        log_odds = combination.log_odds(relevance, scores.n_known)[row, k]
        return replace(
            explanation,
            label=label,
            probability=probability,
            against=f"not {label}",
            other_probability=1 - probability,
            log_odds=float(log_odds),
            terms=terms,
            contributions=tuple(contributions),
        )

    def _factors(self, scores: Scores, row: int) -> Factors:
        """Return the factors of the scores of one document."""
        return Factors(*(float(each[0]) for each in self._fit.combination.factors(scores.n_known[row : row + 1])))

    def _contributions(
        self, rows: DocumentCounts, row: int, texts: tuple[str, ...], k: int, scores: Scores
    ) -> list[Contribution]:
        """Return what each feature of a document adds to the log-odds of a label, the strongest first."""
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        indices, counts = rows.indices[entries], rows.counts[entries]
        values = self.model.weighting.weights(np.array([0, len(indices)]), indices, counts)
        scorer, factors, n_labels = self.model.scorer, self._factors(scores, row), len(self.model.labels)
        log_odds = factors.relevance * scorer.contributions(indices, values, k)
        if len(scorer.bias) > n_labels:
            own = scorer.column_weights(indices, n_labels + k)
            log_odds += factors.contrast * values * (own - self._mean_weights(indices))
        names = self._explainer.feature_names(indices, texts)
        order = np.argsort(-np.abs(log_odds), kind="stable").tolist()
        return [Contribution(names[place], int(counts[place]), float(log_odds[place])) for place in order]

    def _mean_weights(self, columns: NDArray[np.int32]) -> Floats:
        """Return the mean weight of some columns in S, over all labels."""
        scorer, n_labels = self.model.scorer, len(self.model.labels)
        bounds, entries = entries_of(scorer.indptr, columns)
        owners = np.repeat(np.arange(len(columns)), np.diff(bounds))
        is_second = scorer.classes[entries] >= n_labels
        sums = np.bincount(owners[is_second], weights=scorer.deltas[entries[is_second]], minlength=len(columns))
        return np.asarray(scorer.default[n_labels:].mean() + sums / n_labels)


def refuse_against(against: str | None) -> None:
    """Raise SettingsError if a label is given to compare with, because each label is explained alone."""
    if against is not None:
        hint = "leave out this option; other labels are one of the terms"
        raise SettingsError(
            "cannot be used with a multi-label model, which explains each label alone", where="against", hint=hint
        )


def explain_batch(model: FittedModel, batch: Batch, label: str | None, against: str | None) -> list[Explanation]:
    """Return the explanations of a batch by a single-label or multi-label model; see the explainers."""
    if model.multilabel is None:
        return Explainer(model).explain_batch(batch, label=label, against=against)
    refuse_against(against)
    return MultilabelExplainer(model).explain_batch(batch, label=label)
