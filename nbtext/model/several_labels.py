"""The task of documents with several labels, or none: each label is looked at by itself, with a
threshold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from nbtext.arrays import Array, Floats
from nbtext.bayes.binary_relevance import RelevanceScores, split_scores
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.label_calibration import (
    DEFAULT_THRESHOLD,
    MACRO_F1,
    MultilabelEstimate,
    MultilabelFit,
    log_odds_of,
    sigmoid,
)
from nbtext.bayes.prevalence import LabelPosteriors
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.errors import SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.model.predictions import Labels, Predictions, select_labels
from nbtext.model.settings import DecisionSettings, refuse_decisions
from nbtext.model.task import align, log_odds, no_prediction_sets
from nbtext.records import frozen

SEPARATOR = "|"  # of labels in a table, if the labels of the training documents had none


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
    log_prior: Floats
    priors: Floats
    fit: MultilabelFit

    @classmethod
    def of(
        cls, labels: Labels, statistics: ClassStatistics, scorer: LinearScorer, fit: MultilabelFit
    ) -> SeveralLabels:
        """Return the task of a model of these documents. Half a document is added to those with
        each label.
        """
        log_prior = np.log(statistics.class_documents + 0.5) - np.log(statistics.n_documents + 1)
        return cls(labels, np.asarray(log_prior), scorer.bias[: len(labels)], fit)

    @staticmethod
    def check_training(features: FeatureSettings, settings: ModelSettings) -> None:
        """See Task."""
        several = "documents with several labels"
        is_linear = settings.is_linear
        if settings.model != AUTO and not is_linear:
            hint = "leave out --model for Naive Bayes, or use --model svm or nbsvm"
            raise SettingsError(
                f"{settings.model} cannot be trained on {several}", where="model", hint=hint
            )
        if not is_linear and (not features.is_counting or features.idf != "none"):
            what = f"Naive Bayes of {several} needs counts without weights"
            raise SettingsError(
                what, where="weighting", hint="use a linear model, such as --model svm"
            )
        if features.select is not None:
            hint = "use --min-df, --max-df or --max-features"
            raise SettingsError(f"cannot be used with {several}", where="select", hint=hint)
        if settings.optimize not in (None, MACRO_F1):
            hint = "leave it out to maximize micro-F1, or give macro_f1"
            what = f"{settings.optimize} can be optimized only for documents with one label each"
            raise SettingsError(what, where="optimize", hint=hint)
        default = ModelSettings()
        hint = "leave out this option, or train on documents with one label each"
        for name in (
            "smoothing",
            "prior",
            "class_weight",
            "calibrate",
            "min_recall",
            "min_precision",
        ):
            if getattr(settings, name) != getattr(default, name):
                raise SettingsError(f"cannot be used with {several}", where=name, hint=hint)

    @property
    def estimate(self) -> MultilabelEstimate | None:
        """The leave-one-out estimate for new documents; None if no document could be left out."""
        return self.fit.estimate

    @property
    def posteriors(self) -> LabelPosteriors | None:
        """See Task."""
        return self.fit.posteriors

    def split(self, scores: Floats) -> RelevanceScores:
        """Return the two scores of each document and label, from those of the scorer, (n_documents,
        n_scores).
        """
        return split_scores(scores, self.priors)

    def log_probabilities(self, scores: Floats, lengths: Array) -> Floats:
        """See Task."""
        return np.log(self.judge(scores, lengths)[0])

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

    def margins(self, log_probabilities: Floats) -> Floats:
        """See Task."""
        return log_odds(np.exp(log_probabilities)) - log_odds(self.fit.thresholds)

    @staticmethod
    def check(decisions: DecisionSettings, labels: Labels) -> None:
        """See Task."""
        wrong = [
            name for name in ("min_probability", "cost") if getattr(decisions, name) is not None
        ]
        refuse_decisions("multi-label", wrong, "use --threshold, --at-least-one or --coverage")
        decisions.check(labels)

    def separator(self, given: str | None) -> str:
        """See Task."""
        return given or SEPARATOR

    def parts_fitted(self, settings: ModelSettings) -> tuple[str, ...]:
        """See Task."""
        return ("smoothing", "calibration", "thresholds", "nonconformity")

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
