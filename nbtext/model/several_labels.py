"""The task of documents with several labels, or none: each label is looked at by itself, with a
threshold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np

from nbtext.arrays import FOR_EACH_LABEL, LOG_PRIOR, Array, Floats
from nbtext.bayes.binary_relevance import RelevanceScores, split_scores
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.label_calibration import (
    DEFAULT_THRESHOLD,
    MultilabelFit,
    log_odds_of,
)
from nbtext.bayes.scorer import LinearScorer
from nbtext.model.predictions import Labels, Predictions, select_labels
from nbtext.model.settings import DecisionSettings
from nbtext.model.task import align, no_prediction_sets
from nbtext.numerics import log, sigmoid
from nbtext.records import frozen


@frozen(eq=False)
class SeveralLabels:
    """A document has any number of labels. The scorer holds the scores of
    `nbtext.bayes.binary_relevance`.

    Attributes
    ----------
    log_prior : (n_labels,)
        Natural logarithm of the share of the documents that have each label.
    priors : (n_labels,)
        The score of each label of a document without tokens: log-odds in Naive Bayes.
    fit
        How the scores become probabilities and labels.
    """

    name: ClassVar[str] = "several"
    is_exclusive: ClassVar[bool] = False
    calibration: ClassVar[Calibration] = Calibration()  # its labels do not exclude each other

    labels: Labels
    log_prior: Annotated[Floats, LOG_PRIOR]
    priors: Annotated[Floats, FOR_EACH_LABEL]
    fit: MultilabelFit

    @classmethod
    def of(
        cls, labels: Labels, statistics: ClassStatistics, scorer: LinearScorer, fit: MultilabelFit
    ) -> SeveralLabels:
        """Return the task of a model of these documents. Half a document is added to those with
        each label.
        """
        log_prior = log(statistics.class_documents + 0.5) - log(statistics.n_documents + 1)
        return cls(labels, np.asarray(log_prior), scorer.bias[: len(labels)], fit)

    def split(self, scores: Floats) -> RelevanceScores:
        """Return the two scores of each document and label, from those of the scorer, (n_documents,
        n_scores).
        """
        return split_scores(scores, self.priors)

    def log_probabilities(self, scores: Floats, lengths: Array) -> Floats:
        """See Task."""
        return log(self.judge(scores, lengths)[0])

    def judge(self, scores: Floats, lengths: Array) -> tuple[Floats, None]:
        """See Task."""
        log_odds = log_odds_of(self.fit.combination, self.split(scores), lengths)
        return sigmoid(log_odds), None

    def decide(self, predictions: Predictions, decisions: DecisionSettings) -> Predictions:
        """See Task."""
        labels = self.labels
        thresholds = self.fit.thresholds
        probabilities = predictions.probabilities
        if decisions.common_threshold is not None:
            thresholds = np.full(len(labels), decisions.common_threshold)
        if given := decisions.label_thresholds:
            pairs = zip(labels, thresholds.tolist(), strict=True)
            thresholds = np.array([given.get(label, threshold) for label, threshold in pairs])
        found = select_labels(
            probabilities, labels, thresholds, at_least_one=decisions.at_least_one
        )
        chosen = [
            each if reason is None else ()
            for each, reason in zip(found, predictions.reasons, strict=True)
        ]
        sets = None
        if decisions.coverage is not None:
            if self.fit.nonconformity is None:
                raise no_prediction_sets("train it on more documents")
            minimum = 1 - self.fit.nonconformity.upper_bound(decisions.coverage)
            sets = select_labels(probabilities, labels, np.full(len(labels), minimum))
        return replace(predictions, labels=chosen, thresholds=thresholds, label_sets=sets)

    def transfer(self, labels: Labels, hyperparameters: Hyperparameters) -> MultilabelFit:
        """See Task; a new label gets the median threshold and no bias."""
        fit = self.fit
        own = self.labels
        estimate = self.fit.estimate
        median = float(np.median(fit.thresholds)) if len(fit.thresholds) else DEFAULT_THRESHOLD
        if estimate is not None:
            estimate = replace(estimate, label_f1=align(estimate.label_f1, own, labels, 0.0))
        numbers = {label: k for k, label in enumerate(labels)}
        fallback = tuple(numbers[self.labels[k]] for k in fit.fallback if self.labels[k] in numbers)
        combination = replace(
            fit.combination, biases=align(fit.combination.biases, own, labels, 0.0)
        )
        return replace(
            fit,
            combination=combination,
            thresholds=align(fit.thresholds, own, labels, median),
            fallback=fallback,
            estimate=estimate,
            posteriors=fit.posteriors if labels == own else None,
        )
