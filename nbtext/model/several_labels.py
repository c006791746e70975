"""The task of documents with several labels, or none: each label is looked at by itself, with a
threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np

from nbtext.arrays import FOR_EACH_LABEL, LOG_PRIOR, Array, Floats
from nbtext.bayes.binary_relevance import (
    LabelCounts,
    RelevanceLeaveOneOut,
    RelevanceScores,
    compile_relevance,
    first_score,
    split_scores,
)
from nbtext.bayes.class_statistics import ClassStatistics, LabelSets
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.label_calibration import (
    DEFAULT_THRESHOLD,
    MACRO_F1,
    UNFITTED,
    MultilabelEstimate,
    MultilabelFit,
    log_odds_of,
    select_multilabel,
)
from nbtext.bayes.prevalence import LabelPosteriors
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.errors import ModelError, SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.predictions import Labels, Predictions, select_labels
from nbtext.model.settings import DecisionSettings
from nbtext.model.task import Task, align, no_prediction_sets
from nbtext.numerics import exp, log, log_odds, sigmoid
from nbtext.records import frozen, frozen_object

if TYPE_CHECKING:
    from nbtext.bayes.smoothing import Selection
    from nbtext.model.fitted_model import FittedModel
    from nbtext.model.fitting import Fitting, Learned

# settings that documents with several labels do not have
OF_ONE_LABEL = str.split("smoothing prior class_weight calibrate min_recall min_precision")


@frozen
class LabelDecision:
    """When a label is predicted, if documents can have several labels."""

    label: str
    threshold: float  # the probability from which it is predicted
    f1: float | None  # leave-one-out; None: no document could be left out
    is_fallback: bool  # whether its F1 was too low for a threshold of its own (FBR.1)


@frozen_object
class SeveralLabels(Task):
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
        return cls(labels, log_prior, scorer.bias[: len(labels)], fit)

    @classmethod
    def check_settings(cls, features: FeatureSettings, settings: ModelSettings) -> None:
        """See Task."""
        several = "documents with several labels"
        is_linear = settings.is_linear
        if settings.model != AUTO and not is_linear:
            raise SettingsError(
                f"{settings.model} cannot be trained on {several}",
                where="model",
                hint="leave out ‹model› for Naive Bayes, or use ‹model=svm› or nbsvm",
            )
        if not is_linear and (not features.is_counting or features.idf != "none"):
            raise SettingsError(
                f"Naive Bayes of {several} needs counts without weights",
                where="model",
                hint="use a linear one, such as ‹model=svm›",
            )
        if settings.optimize not in (None, MACRO_F1):
            raise SettingsError(
                f"{settings.optimize} can be optimized only for documents with one label each",
                where="optimize",
                hint="leave it out to maximize micro-F1, or give macro_f1",
            )
        default = ModelSettings()
        wrong = [name for name in OF_ONE_LABEL if getattr(settings, name) != getattr(default, name)]
        for name in ["select"] * (features.select is not None) + wrong:
            raise SettingsError(
                f"cannot be used with {several}",
                where=name,
                hint="leave out this option, or train on documents with one label each",
            )

    @property
    def estimate(self) -> MultilabelEstimate | None:
        """See Task."""
        return self.fit.estimate

    @property
    def n_scores(self) -> int:
        """See Task."""
        return len(self.labels) * len(self.fit.combination.weights)

    @property
    def parts(self) -> Mapping[str, Any]:
        """See Task."""
        return dict.fromkeys(("smoothing", "calibration", "thresholds", "nonconformity"), True)

    @property
    def posteriors(self) -> LabelPosteriors | None:
        """See Task."""
        return self.fit.posteriors

    def belongs_to(self, settings: ModelSettings) -> bool:
        """See Task."""
        return settings.is_linear == (self.fit.smoothing is None)

    def with_selection(self, selection: Selection | None) -> Self:
        """See Task; nothing calibrates several labels again."""
        return replace(self, fit=replace(self.fit, estimate=None))

    def split(self, scores: Floats) -> RelevanceScores:
        """Return the two scores of each document and label, from those of the scorer, (n_documents,
        n_scores).
        """
        return split_scores(scores, self.priors)

    def judge(self, scores: Floats, lengths: Array) -> tuple[Floats, None]:
        """See Task."""
        return sigmoid(log_odds_of(self.fit.combination, self.split(scores), lengths)), None

    def scorer_of_labels(self, scorer: LinearScorer) -> LinearScorer:
        """See Task; the weights of the first score are against the rest."""
        return first_score(scorer, len(self.labels))

    def inspect(self, classes: Sequence[int]) -> dict[str, Any]:
        """See Task."""
        fit = self.fit
        f1 = None if fit.estimate is None else fit.estimate.label_f1.tolist()
        decisions = tuple(
            LabelDecision(self.labels[k], float(fit.thresholds[k]), f1 and f1[k], k in fit.fallback)
            for k in classes
        )
        mu, alpha = fit.smoothing or (None, None)
        return {"smoothing": None, "mu": mu, "alpha": alpha, "decisions": decisions}

    def margins(self, log_probabilities: Floats) -> Floats:
        """See Task; a label is predicted from 0 on."""
        return log_odds(exp(log_probabilities)) - log_odds(self.fit.thresholds)

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


def fit_several_labels(given: Fitting, selection: MultilabelFit | None) -> FittedModel:
    """Fit a model to the counts of documents with several labels: Naive Bayes, or a linear model.

    selection  of Naive Bayes: the smoothing, the calibration and the thresholds; None: they are
               selected by leave-one-out
    raises     ModelError: no document has a label, or the counts are of a matrix
    """
    from nbtext.model.fitting import fit_linear_model

    counts = given.counts
    if counts.weighting is not None:
        raise ModelError(
            "a matrix of documents with several labels cannot be used for training",
            hint="train on the texts",
        )
    if not counts.labels:
        raise ModelError("no document has a label", hint="add documents with labels")
    if given.settings.is_linear:
        return fit_linear_model(given, _learn_several_labels)
    weighting = Weighting("binary" if given.features.tf == "binary" else "count")
    statistics, sample = counts.weigh(weighting)
    if selection is None:
        sets = LabelSets.of(counts.sets, counts.labels)
        corpus = RelevanceLeaveOneOut(LabelCounts.of(statistics), sample, sets, given.unseen)
        corpus = corpus if counts.has_all_documents else corpus.drop_last_content()
        selection = select_multilabel(corpus, optimize=given.settings.optimize, jobs=given.jobs)
    smoothing = selection.smoothing or UNFITTED
    scorer = compile_relevance(statistics, smoothing)
    task = SeveralLabels.of(counts.labels, counts.statistics, scorer, selection)
    return given.make_model(task, weighting, scorer, Hyperparameters(smoothing.alpha or 0.0))


def _learn_several_labels(given: Fitting, data: Any, n_known: Array) -> Learned:
    from nbtext.linear.learning import learn_labels

    scorer, hyperparameters, fit = learn_labels(data, given.settings, jobs=given.jobs)
    counts = given.counts
    return scorer, hyperparameters, SeveralLabels.of(counts.labels, counts.statistics, scorer, fit)
