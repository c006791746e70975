"""Explanations of predictions: terms whose sum is the log-odds of a label, against another one or
against the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from nbtext.arrays import Floats, Integers32
from nbtext.bayes.label_calibration import Factors, log_odds_of
from nbtext.documents.batch import Batch
from nbtext.errors import SettingsError
from nbtext.features.analyzer import Analyzer, refuse_long_texts
from nbtext.features.csr import entries_of
from nbtext.features.hashing import buckets
from nbtext.features.matrix import Matrix
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.records import Strings, frozen


@frozen
class Contribution:
    """A feature of a document, its count, and what it adds to the log-odds of two labels, in nats.

    count         None: not known, as of a matrix of weights
    is_untrained  whether no training document has the feature, and its weight is of word vectors
    """

    feature: str
    count: int | None
    log_odds: float
    is_untrained: bool = False


@frozen
class LogOddsTerms:
    """The terms of ln(probability / other probability) besides the contributions of features, in
    nats.

    Attributes
    ----------
    prior
        The prior log-odds of the two labels, or of the label and its absence.
    absent
        The log-odds of a document without features; in a Bernoulli model, the sum over all absent
        features.
    other_labels
        Of several labels: how much the fit of the other labels to the document changes the
        log-odds.
    calibration
        How much the calibration changes the log-odds. Of several labels, it also balances that
        words which a label never had count slightly against it.
    """

    prior: float = 0.0
    absent: float = 0.0
    other_labels: float = 0.0
    calibration: float = 0.0


@frozen
class Explanation:
    """Why a label is more, or less, probable than another one.

    log_odds = ln(probability / other_probability) = the sum of all `terms` and all `contributions`.

    Attributes
    ----------
    label, probability
        None if there is no label to explain; then `reason` is given.
    against, other_probability
        The other label; None if there is none.
    is_absence : bool
        Whether `against` is the absence of the label, not another label.
    contributions
        The contributions of all known features, the strongest first.
    known : float
        The share of the document's tokens that are in the vocabulary.
    """

    id: str
    label: str | None = None
    probability: float | None = None
    against: str | None = None
    other_probability: float | None = None
    is_absence: bool = False
    log_odds: float | None = None
    terms: LogOddsTerms = field(default_factory=LogOddsTerms)
    contributions: tuple[Contribution, ...] = ()
    known: float = 0.0
    reason: str | None = None
    texts: Strings = ()


class Explainer:
    """Explains the predictions of a fitted model; several threads may share it."""

    def __init__(self, model: FittedModel) -> None:
        self.model = model
        self.predictor = Predictor(model)
        self._odds: type[Odds] = model.kind.load("explanation")

    def check(self, label: str | None, against: str | None) -> tuple[int | None, int | None]:
        """Return the classes of two labels; see `explain_batch`."""
        if against is not None and not self.model.kind.compares:
            raise SettingsError(
                "cannot be used with a multi-label model, which explains each label alone",
                where="against",
                hint="leave out this option; other labels are one of the terms",
            )
        explained = self.model.class_of(label) if label is not None else None
        other = self.model.class_of(against) if against is not None else None
        if label is not None and explained == other:
            raise SettingsError(
                "is the same label as ‹label›",
                where="against",
                hint="give another label, or leave out this option",
            )
        return explained, other

    def explain_batch(self, batch: Batch, **labels: Any) -> list[Explanation]:
        """Return the explanations of all documents in one list; see `explain_documents`."""
        return list(chain.from_iterable(self.explain_documents(batch, **labels)))

    def explain_documents(
        self,
        batch: Batch,
        *,
        label: str | None = None,
        against: str | None = None,
        most: int | None = None,
    ) -> list[list[Explanation]]:
        """Return an explanation of each predicted label of each document, the most probable label
        first.

        A document that could not be predicted has one explanation, without a label and with the
        reason.

        Parameters
        ----------
        label
            The label to explain; None: the predicted ones, or the most probable one if none is
            predicted.
        against
            The label to compare with, if labels exclude each other. None, or if it is the explained
            label: the most probable other label.
        most
            Number of labels of a document that are explained; None: all.

        Raises
        ------
        SettingsError
            The model lacks one of these labels, or they are the same, or labels do not exclude each
            other.
        """
        explained, against_class = self.check(label, against)
        odds = self._odds(self, batch)
        predictions = odds.predictions
        found = []
        for row, classes in enumerate(predictions.classes_of(predictions.labels)):
            reason = predictions.reasons[row]
            known = float(predictions.known[row])
            explanation = Explanation(
                predictions.ids[row], known=known, reason=reason, texts=odds.texts[row]
            )
            if reason is not None:
                found.append([explanation])
                continue
            chosen = classes[:most] or [int(predictions.label_classes[row])]
            if explained is not None:
                chosen = [explained]
            found.append([odds.explain(row, own, against_class, explanation) for own in chosen])
        return found

    def predict_batch(
        self, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE
    ) -> Predictions:
        """Return predictions with the strongest `decisions.explain` features of each document's
        most probable label.
        """
        odds = self._odds(self, batch, decisions)
        predictions = odds.predictions
        explanations: list[tuple[tuple[str, float], ...]] = []
        for row, own in enumerate(predictions.label_classes.tolist()):
            other = odds.choose_other(row, own, None) if predictions.reasons[row] is None else None
            strongest = [] if other is None else odds.contributions(row, own, other)
            explanations.append(
                tuple((each.feature, each.log_odds) for each in strongest[: decisions.explain])
            )
        return replace(predictions, explanations=explanations)

    def feature_names(self, indices: Integers32, texts: Sequence[str]) -> list[str]:
        """Return the features in these columns; of a hashed column, the document's features that
        hash to it.
        """
        vocabulary = self.model.vocabulary
        if vocabulary is not None:
            return [vocabulary.term(j) for j in indices.tolist()]
        terms = list(dict.fromkeys(self._analyzer.document(texts)))
        names: dict[int, list[str]] = {}
        hashed = buckets(terms, self.model.feature_settings.hash_bits or 0).tolist()
        for term, column in zip(terms, hashed, strict=True):
            names.setdefault(column, []).append(term)
        # a matrix has no words
        return [" | ".join(names.get(j, [f"#{j}"])) for j in indices.tolist()]

    @cached_property
    def _analyzer(self) -> Analyzer:
        return Analyzer(self.model.feature_settings)


class Odds:
    """The log-odds of labels in the documents of a batch, and what their features add to them."""

    def __init__(
        self, explainer: Explainer, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE
    ) -> None:
        refuse_long_texts(batch, explainer.model.feature_settings)
        if explainer.model.longest_piece is not None and not isinstance(batch.features, Matrix):
            explainer = Explainer(explainer.predictor.take_part(batch.features).model)
        predictor = explainer.predictor
        self._explainer = explainer
        self._model = explainer.model
        self._rows = predictor.count(batch.features)
        self._scores, self._weights = predictor.score_rows(self._rows)
        self.predictions = predictor.predict_batch(batch, decisions, self._scores)
        self.texts = list(zip(*batch.columns, strict=True))

    def explain(
        self, row: int, own: int, against: int | None, explanation: Explanation
    ) -> Explanation:
        """Return the explanation of a document with the log-odds of a label, and all that they
        consist of.
        """
        explanation = replace(
            explanation,
            label=self._model.labels[own],
            probability=float(self.predictions.probabilities[row, own]),
        )
        other = self.choose_other(row, own, against)
        if other is None:
            return explanation
        return replace(
            self.compare(row, own, other, explanation),
            contributions=tuple(self.contributions(row, own, other)),
        )

    def contributions(self, row: int, own: int, other: int) -> list[Contribution]:
        """Return what each feature of a document adds to the log-odds of a class, the strongest
        first.
        """
        rows = self._rows
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        indices = rows.indices[entries]
        counts = rows.counts[entries]
        log_odds = self.of_features(row, own, other, indices, self._weights[entries])
        names = self._explainer.feature_names(indices, self.texts[row])
        order = np.argsort(-np.abs(log_odds), kind="stable").tolist()
        shown = counts.tolist() if rows.is_counted else [None] * len(counts)
        is_untrained = self._model.are_untrained(indices).tolist()
        return [
            Contribution(names[place], shown[place], float(log_odds[place]), is_untrained[place])
            for place in order
        ]

    def choose_other(self, row: int, own: int, against: int | None) -> int | None:
        """Return the class that a label is compared with; None if there is none."""
        raise NotImplementedError

    def of_features(
        self, row: int, own: int, other: int, indices: Integers32, weights: Floats
    ) -> Floats:
        """Return what features with these weights add to the log-odds of a label, (n_features,)."""
        raise NotImplementedError

    def compare(self, row: int, own: int, other: int, explanation: Explanation) -> Explanation:
        """Return the explanation with the log-odds of a label and their terms, but for the
        features.
        """
        raise NotImplementedError


class OddsOfPairs(Odds):
    """The log-odds of a label against another one, where labels exclude each other."""

    @cached_property
    def _posterior(self) -> Floats:
        return self._model.task.log_probabilities(*self._scores.evidence)

    def choose_other(self, row: int, own: int, against: int | None) -> int | None:
        """Return the given class, or the most probable other one. Scores break ties of
        probabilities.
        """
        if against is not None and against != own:
            return against
        ranking = np.lexsort((self._scores.scores[row], self._posterior[row]))
        return next((k for k in reversed(ranking.tolist()) if k != own), None)

    def of_features(
        self, row: int, own: int, other: int, indices: Integers32, weights: Floats
    ) -> Floats:
        """See Odds."""
        scorer = self._model.scaled_scorer
        return scorer.contributions(indices, weights, own) - scorer.contributions(
            indices, weights, other
        )

    def compare(self, row: int, own: int, other: int, explanation: Explanation) -> Explanation:
        """See Odds."""
        model = self._model

        def difference(values: Floats) -> float:
            return float(values[own] - values[other])

        log_odds = difference(self._posterior[row])
        prior = 0.0 if model.model_settings.is_linear else difference(model.log_prior)
        scorer = model.scaled_scorer
        absent = scorer.bias_of(own) - scorer.bias_of(other) - prior
        calibration = log_odds - difference(model.calibration.scale(self._scores.scores[row]))
        return replace(
            explanation,
            against=model.labels[other],
            other_probability=float(self.predictions.probabilities[row, other]),
            log_odds=log_odds,
            terms=LogOddsTerms(prior, absent, calibration=calibration),
        )


class OddsOfLabels(Odds):
    """The log-odds of a label against its absence, where a document can have several labels.

    The log-odds of label k are in bayes/label_calibration.py. A word adds two terms: its weight in
    A_k times the factor of A; and, times the factor of B, its weight in S_k minus its mean weight
    over all labels. The rest of B_k is the term of other labels. What depends on no score is the
    term of the calibration.
    """

    def __init__(
        self, explainer: Explainer, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE
    ) -> None:
        super().__init__(explainer, batch, decisions)
        task: Any = self._model.task
        self._combination = task.fit.combination
        self._relevance = task.split(self._scores.scores)

    def choose_other(self, row: int, own: int, against: int | None) -> int:
        """See Odds; a label is compared with its own absence."""
        return own

    def of_features(
        self, row: int, own: int, other: int, indices: Integers32, weights: Floats
    ) -> Floats:
        """See Odds."""
        scorer = self._model.scorer
        factors = self._factors(row)
        n_labels = len(self._model.labels)
        log_odds = factors.relevance * scorer.contributions(indices, weights, own)
        if len(scorer.bias) > n_labels:
            of_label = scorer.column_weights(indices, n_labels + own)
            log_odds += factors.contrast * weights * (of_label - self._mean_weights(indices))
        return np.asarray(log_odds)

    def compare(self, row: int, own: int, other: int, explanation: Explanation) -> Explanation:
        """See Odds."""
        combination = self._combination
        relevance = self._relevance
        n_labels = len(self._model.labels)
        factors = self._factors(row)
        n_known = self._scores.n_known
        of_prior = combination.prior_weight * factors.baseline
        prior = (factors.relevance + factors.contrast + of_prior) * relevance.priors[own]
        calibration = factors.baseline * (
            combination.intercept + combination.biases[own] + combination.slope * factors.log_length
        )
        others = 0.0
        if relevance.contrast is not None:
            scores = self._scores.scores[row, n_labels:]
            others = factors.contrast * (
                relevance.contrast[row, own] - (scores[own] - scores.mean())
            )
        return replace(
            explanation,
            against=f"not {explanation.label}",
            is_absence=True,
            other_probability=1 - float(self.predictions.probabilities[row, own]),
            log_odds=float(log_odds_of(combination, relevance, n_known)[row, own]),
            terms=LogOddsTerms(
                float(prior), other_labels=float(others), calibration=float(calibration)
            ),
        )

    def _factors(self, row: int) -> Factors:
        """Return the factors of the scores of one document."""
        return Factors(
            *(
                float(each[0])
                for each in self._combination.factors(self._scores.n_known[row : row + 1])
            )
        )

    def _mean_weights(self, columns: Integers32) -> Floats:
        """Return the mean weight of some columns in S, over all labels."""
        scorer = self._model.scorer
        n_labels = len(self._model.labels)
        bounds, entries = entries_of(scorer.indptr, scorer.rows_of(columns))
        owners = np.repeat(np.arange(len(columns)), np.diff(bounds))
        is_second = scorer.classes[entries] >= n_labels
        sums = np.bincount(owners[is_second], scorer.deltas[entries[is_second]], len(columns))
        return np.asarray(scorer.default[n_labels:].mean() + sums / n_labels)
