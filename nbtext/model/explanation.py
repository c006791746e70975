"""Explanations of predictions: terms whose sum is the log-odds of two labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Batch
from nbtext.errors import SettingsError
from nbtext.features.analyzer import Analyzer
from nbtext.features.counting import counter
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.hashing import buckets
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictor import MOST_PROBABLE, Predictions, Predictor, Scores
from nbtext.model.settings import DecisionSettings


@dataclass(frozen=True, slots=True)
class Contribution:
    """A feature of a document, its count, and what it adds to the log-odds of two labels, in nats."""

    feature: str
    count: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class LogOddsTerms:
    """The terms of ln(probability / other probability) besides the contributions of features, in nats.

    Attributes
    ----------
    prior
        The prior log-odds of the two labels.
    absent
        The log-odds of a document without features; in a Bernoulli model, the sum over all absent features.
    temperature
        How much dividing by the temperature changes the log-odds.
    noise
        How much the label-noise rate changes the log-odds.
    prior_adjustment
        How much the prior adjustment of model="auto" or optimize="log_loss" changes the log-odds.
    """

    prior: float = 0.0
    absent: float = 0.0
    temperature: float = 0.0
    noise: float = 0.0
    prior_adjustment: float = 0.0


@dataclass(frozen=True, slots=True)
class MultilabelTerms(LogOddsTerms):
    """The terms of ln(probability / (1 − probability)) of one of several labels.

    Attributes
    ----------
    other_labels
        How much the fit of the other labels to the document changes the log-odds.
    calibration
        What the calibration adds for the label and the length of the document. In Naive Bayes, words that a label never
        had count slightly against it; this term balances what they usually sum to.
    """

    other_labels: float = 0.0
    calibration: float = 0.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a label is more, or less, probable than another one.

    log_odds = ln(probability / other_probability) = the sum of all `terms` and all `contributions`.

    Attributes
    ----------
    label, probability
        None if there is no label to explain; then `reason` is given.
    against, other_probability
        The other label; None if there is none.
    temperature : float
        The value by which the log-odds of the evidence are divided, for a document of this length.
    noise_rate : float
        The label-noise rate: the share of random labels that calibration assumes.
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
    log_odds: float | None = None
    terms: LogOddsTerms = field(default_factory=LogOddsTerms)
    temperature: float = 1.0
    noise_rate: float = 0.0
    contributions: tuple[Contribution, ...] = ()
    known: float = 0.0
    reason: str | None = None
    texts: tuple[str, ...] = ()


class Explainer:
    """Explains the predictions of a fitted model; several threads may share it."""

    def __init__(self, model: FittedModel) -> None:
        self.model = model
        self._predictor = Predictor(model)
        self._counter = counter(model.feature_settings, model.vocabulary)  # its count of too long tokens is not used

    def explain_batch(self, batch: Batch, *, label: str | None = None, against: str | None = None) -> list[Explanation]:
        """Return an explanation of each document of a batch, in order.

        Parameters
        ----------
        label
            The label to explain; None: the predicted one.
        against
            The label to compare with. None, or if it is the explained label: the most probable other label.

        Raises
        ------
        SettingsError
            The model lacks one of these labels, or they are the same.
        """
        self.model.check_single("be explained by the odds of two labels")
        pair = self.class_pair(label, against)
        scores = self._predictor.score_batch(batch)
        predictions = self._predictor.predict_batch(batch, scores=scores)
        rows, texts = self.count(batch.columns), list(zip(*batch.columns, strict=True))
        return [self._explain_row(row, pair, scores, predictions, rows, texts[row]) for row in range(len(batch))]

    def class_pair(self, label: str | None, against: str | None) -> tuple[int | None, int | None]:
        """Return the classes of two labels; see `explain_batch`."""
        explained = self.model.class_of(label) if label is not None else None
        other = self.model.class_of(against) if against is not None else None
        if label is not None and explained == other:
            raise SettingsError(
                "is the same label as --label",
                where="against",
                hint="give another label, or leave out this option",
            )
        return explained, other

    def predict_batch(self, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE) -> Predictions:
        """Return predictions with the strongest `decisions.explain` features of each document."""
        scores = self._predictor.score_batch(batch)
        predictions = self._predictor.predict_batch(batch, decisions, scores)
        rows, texts = self.count(batch.columns), list(zip(*batch.columns, strict=True))
        log_posterior = self._predictor.log_posterior(scores)
        explanations: list[tuple[tuple[str, float], ...]] = []
        for row, (label, own) in enumerate(zip(predictions.labels, predictions.label_classes.tolist(), strict=True)):
            other = _most_probable_other(log_posterior[row], scores.scores[row], own) if label is not None else None
            strongest = self.contributions(rows, row, texts[row], (own, other)) if other is not None else []
            explanations.append(tuple((each.feature, each.log_odds) for each in strongest[: decisions.explain]))
        return replace(predictions, explanations=explanations)

    def count(self, columns: Sequence[Sequence[str]]) -> DocumentCounts:
        """Return the counts of the features that the model knows."""
        return self._counter.rows(columns)

    def contributions(
        self, rows: DocumentCounts, row: int, texts: Sequence[str], pair: tuple[int, int]
    ) -> list[Contribution]:
        """Return what each feature of a document adds to the log-odds of two classes, the strongest first."""
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        indices, counts = rows.indices[entries], rows.counts[entries]
        weights = self.model.weighting.weights(np.array([0, len(indices)]), indices, counts)
        one, other = (self.model.scorer.contributions(indices, weights, k) for k in pair)
        log_odds = one - other
        names = self.feature_names(indices, texts)
        order = np.argsort(-np.abs(log_odds), kind="stable").tolist()
        return [Contribution(names[place], int(counts[place]), float(log_odds[place])) for place in order]

    def _explain_row(
        self,
        row: int,
        pair: tuple[int | None, int | None],
        scores: Scores,
        predictions: Predictions,
        rows: DocumentCounts,
        texts: tuple[str, ...],
    ) -> Explanation:
        explanation = Explanation(
            predictions.ids[row], known=float(predictions.known[row]), reason=predictions.reasons[row], texts=texts
        )
        if predictions.labels[row] is None:
            return explanation
        model, calibration = self.model, self.model.calibration
        posterior = self._predictor.log_posterior(scores)[row]
        evidence, n_known = scores.scores[row], scores.n_known[row : row + 1]
        own = pair[0] if pair[0] is not None else int(predictions.label_classes[row])
        explanation = replace(explanation, label=model.labels[own], probability=math.exp(posterior[own]))
        other = pair[1] if pair[1] not in (None, own) else _most_probable_other(posterior, evidence, own)
        if other is None:
            return explanation

        def log_odds(values: Floats) -> float:
            return float(values[own] - values[other])

        temperature, noise, calibrated = 1.0, 0.0, evidence
        if calibration.temperature is not None:
            temperature, noise = float(calibration.temperature.temperature(n_known)[0]), calibration.temperature.noise
            calibrated = calibration.temperature.log_posterior(evidence[None, :], n_known)[0]
        scaled = log_odds(evidence) / temperature
        prior = log_odds(model.log_prior) if not model.model_settings.is_linear else 0.0
        terms = LogOddsTerms(
            prior,
            absent=model.scorer.bias_of(own) - model.scorer.bias_of(other) - prior,
            temperature=scaled - log_odds(evidence),
            noise=log_odds(calibrated) - scaled if noise else 0.0,
            prior_adjustment=log_odds(calibration.prior_adjustment)
            if calibration.prior_adjustment is not None
            else 0.0,
        )
        return replace(
            explanation,
            against=model.labels[other],
            other_probability=math.exp(posterior[other]),
            log_odds=log_odds(posterior),
            terms=terms,
            temperature=temperature,
            noise_rate=noise,
            contributions=tuple(self.contributions(rows, row, texts, (own, other))),
        )

    def feature_names(self, indices: NDArray[np.int32], texts: Sequence[str]) -> list[str]:
        """Return the features in these columns; of a hashed column, the document's features that hash to it."""
        vocabulary = self.model.vocabulary
        if vocabulary is not None:
            return [vocabulary.term(j) for j in indices.tolist()]
        terms = list(dict.fromkeys(self._analyzer.document(texts)))
        names: dict[int, list[str]] = {}
        hashed = buckets(terms, self.model.feature_settings.hash_bits or 0).tolist()
        for term, column in zip(terms, hashed, strict=True):
            names.setdefault(column, []).append(term)
        return [" | ".join(names[j]) for j in indices.tolist()]

    @cached_property
    def _analyzer(self) -> Analyzer:
        return Analyzer(self.model.feature_settings)


def _most_probable_other(posterior: Floats, scores: Floats, excluded: int) -> int | None:
    """Return the most probable class except one; None if there is no other. Scores break ties of probabilities."""
    ranking = np.lexsort((scores, posterior))
    return next((k for k in reversed(ranking.tolist()) if k != excluded), None)
