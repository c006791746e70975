"""Why a label: each feature's part in it, which together with the prior give the probability to the last digit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.scorer import Floats
from nbtext.bayes.weights import bias_of, contributions
from nbtext.documents.batch import Batch
from nbtext.errors import SettingsError
from nbtext.features.analyzer import Analyzer
from nbtext.features.hashing import buckets
from nbtext.features.regex_timeout import refuse_long_texts
from nbtext.features.rows import Rows
from nbtext.model.folding import OnBatch, answered
from nbtext.model.inspection import class_of

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.predictions import Predictions
    from nbtext.model.text_classifier import Counted, TextClassifier


@dataclass(frozen=True, slots=True)
class Part:
    """What a feature says: how often it occurs, and what it adds to the log-odds of one label against another."""

    feature: str
    count: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document's label is more (or less) probable than another one.

    log_odds = (prior + absent + Σ parts) / temperature, to the last digit. Probabilities are the softmax of such
    log-odds over all labels; then a share `noise` of them is spread evenly over the labels, and a `prior_adjustment`
    added to their logarithms, where the model has learned to.
    """

    id: str
    label: str | None  # None: there is no answer to explain
    probability: float | None
    against: str | None  # the other label; None where there is none
    other_probability: float | None
    log_odds: float | None  # of the label against the other one by the evidence, in nats
    prior: float = 0.0  # their prior log-odds
    absent: float = 0.0  # what a document without features says besides: of Bernoulli, all words that are not there
    temperature: float = 1.0  # that the evidence is divided by, by the length of the document
    noise: float = 0.0  # the share of labels that calibration takes for chance
    prior_adjustment: float = 0.0  # that --optimize log_loss adds to the log-odds in the end
    parts: tuple[Part, ...] = ()  # of all features that the model knows, the strongest first
    known: float = 0.0  # the share of its tokens that the model knows
    reason: str | None = None  # why there is no answer
    texts: tuple[str, ...] = ()


class _Answers(NamedTuple):
    """What a classifier says of a batch, and what it looked at."""

    predictions: Predictions
    scores: Floats
    log_posterior: Floats
    n_known: NDArray[np.int64]
    rows: Rows
    texts: list[tuple[str, ...]]


class Explainer:
    """Explains what a classifier says.

    label    the label to explain; None: the one that is predicted
    against  the label to compare it with; None, or where it is the predicted one: the most probable other one
    raises   SettingsError: the model does not know one of these labels, or they are the same
    """

    def __init__(self, classifier: TextClassifier, *, label: str | None = None, against: str | None = None) -> None:
        self._classifier = classifier
        self._label = class_of(classifier, label) if label is not None else None
        self._against = class_of(classifier, against) if against is not None else None
        if label is not None and self._label == self._against:
            hint = "name another, or leave it out"
            raise SettingsError("is the label that is explained", where="--against", hint=hint)
        self._scorer = classifier.fitted_.scorer

    def explain(self, batch: Batch) -> list[Explanation]:
        """Explain every document of a batch."""
        refuse_long_texts(batch, self._classifier.features)
        found = self._classifier.counted(batch.columns)
        scores, _, n_known = found
        answers = _Answers(
            self._classifier.answers(batch, found),
            scores,
            self._classifier.fitted_.choice.log_posterior(scores, n_known),
            n_known,
            self._classifier.rows(batch.columns),
            list(zip(*batch.columns, strict=True)),
        )
        return [self._explanation(answers, row) for row in range(len(batch))]

    def parts(self, rows: Rows, row: int, texts: Sequence[str], pair: tuple[int, int]) -> list[Part]:
        """The parts of all features of a document in the log-odds of two classes, the strongest first."""
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        indices, counts = rows.indices[entries], rows.counts[entries]
        ends = np.array([0, len(indices)])
        weights = self._classifier.fitted_.weighting.weights(ends, indices, counts)
        one, other = (contributions(self._scorer, indices, weights, k) for k in pair)
        log_odds = one - other
        names = self._names(indices, texts)
        order = np.argsort(-np.abs(log_odds), kind="stable").tolist()
        return [Part(names[place], int(counts[place]), float(log_odds[place])) for place in order]

    def _explanation(self, answers: _Answers, row: int) -> Explanation:
        predictions, texts, log_posterior = answers.predictions, answers.texts[row], answers.log_posterior[row]
        explanation = Explanation(
            predictions.ids[row], None, None, None, None, None,
            known=float(predictions.known[row]), reason=predictions.reasons[row], texts=texts,
        )  # fmt: skip
        if predictions.labels[row] is None:
            return explanation
        chosen = self._label if self._label is not None else int(predictions.chosen[row])
        probability = math.exp(log_posterior[chosen])
        explanation = replace(explanation, label=self._classifier.labels[chosen], probability=probability)
        scores = answers.scores[row]
        other = self.other(log_posterior, scores, chosen)
        if other is None:
            return explanation
        calibration, prior_adjustment = (
            self._classifier.fitted_.choice.calibration,
            self._classifier.fitted_.choice.prior_adjustment,
        )
        prior = float(self._log_prior[chosen] - self._log_prior[other])
        n_known = answers.n_known[row : row + 1]
        temperature = float(calibration.temperature(n_known)[0]) if calibration is not None else 1.0
        return replace(
            explanation,
            against=self._classifier.labels[other],
            other_probability=math.exp(log_posterior[other]),
            log_odds=float(scores[chosen] - scores[other]) / temperature,
            prior=prior,
            absent=bias_of(self._scorer, chosen) - bias_of(self._scorer, other) - prior,
            temperature=temperature,
            noise=calibration.noise if calibration is not None else 0.0,
            prior_adjustment=float(prior_adjustment[chosen] - prior_adjustment[other])
            if prior_adjustment is not None
            else 0.0,
            parts=tuple(self.parts(answers.rows, row, texts, (chosen, other))),
        )

    def other(self, log_posterior: Floats, scores: Floats, chosen: int) -> int | None:
        """The class to compare with; None where there is no other.

        log_posterior, scores  (n_classes,), of one document; scores tell classes apart whose probability is all noise
        """
        if self._against not in (None, chosen):
            return self._against
        ranking = np.lexsort((scores, log_posterior))
        return next((k for k in reversed(ranking.tolist()) if k != chosen), None)

    @cached_property
    def _log_prior(self) -> Floats:
        modelling = self._classifier.modelling
        if modelling.model not in EVENT_MODELS:
            return np.zeros(len(self._classifier.labels))
        return self._classifier.class_log_prior_

    def _names(self, indices: NDArray[np.int32], texts: Sequence[str]) -> list[str]:
        """The features in these columns; of hashed ones, those of the document that are hashed into it."""
        features = self._classifier.fitted_.features
        if features is not None:
            return [features.term(j) for j in indices.tolist()]
        terms = list(dict.fromkeys(self._analyzer.document(texts)))
        found: dict[int, list[str]] = {}
        for term, column in zip(terms, buckets(terms, self._classifier.features.hash_bits or 0).tolist(), strict=True):
            found.setdefault(column, []).append(term)
        return [" | ".join(found[j]) for j in indices.tolist()]

    @cached_property
    def _analyzer(self) -> Analyzer:
        return Analyzer(self._classifier.features)


def with_explanations(
    classifier: TextClassifier, batch: Batch, found: Counted, predictions: Predictions, *, n_features: int
) -> Predictions:
    """The predictions with the strongest features of each, for the label against the most probable other one.

    found  what the classifier has counted in the batch
    """
    explainer, rows = Explainer(classifier), classifier.rows(batch.columns)
    scores, _, n_known = found
    log_posterior = classifier.fitted_.choice.log_posterior(scores, n_known)
    texts = list(zip(*batch.columns, strict=True))
    explanations: list[tuple[tuple[str, float], ...]] = []
    for row, (label, chosen) in enumerate(zip(predictions.labels, predictions.chosen.tolist(), strict=True)):
        other = explainer.other(log_posterior[row], scores[row], chosen) if label is not None else None
        parts = explainer.parts(rows, row, texts[row], (chosen, other))[:n_features] if other is not None else []
        explanations.append(tuple((part.feature, part.log_odds) for part in parts))
    return replace(predictions, explanations=explanations)


def explain_source(
    explain: Callable[[Batch], list[Explanation]],
    classifier: TextClassifier,
    source: Source,
    *,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> Iterator[Explanation]:
    """Explain every document of a source, in order."""
    for explanations in answered(explain, classifier, source, jobs=jobs, on_batch=on_batch):
        yield from explanations
