"""Semi-supervised training: few labeled and many unlabeled documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from nbtext.applications.unlabeled.expectation import (
    DENSITIES,
    ExpectationMaximization,
    HeldOutFolds,
    Trial,
)
from nbtext.arrays import Integers, Mask
from nbtext.bayes.diagnostics import LeaveOneOutEstimate, Unlabeled
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import SCORES_AT_ONCE, Selection
from nbtext.errors import SettingsError
from nbtext.features.counting import align_documents
from nbtext.features.document_table import DocumentTable
from nbtext.features.selection import is_selective, no_token, select_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts, unite_vocabularies
from nbtext.model.fitted_model import FittedModel, TrainedModel, make_trained_model
from nbtext.model.fitting import align_to_vocabulary, fit_model
from nbtext.model.posteriors import NEGLIGIBLE_PROBABILITY
from nbtext.model.tasks import TASKS
from nbtext.model.training import train_on_counts
from nbtext.numerics import exp
from nbtext.parallel import parallel_map
from nbtext.report.training import format_estimate, format_training_summary

if TYPE_CHECKING:
    from scipy.sparse import csr_array


UNLABELED_WEIGHTS = (1.0, 0.3, 0.1)  # candidates for λ, the weight of an unlabeled document
# Where no event model is named, that of the unlabeled documents, and its first smoothing. With 5,
# 10 and 20 documents of each of 20 newsgroups, the accuracy is 0.59, 0.61 and 0.69, and 0.57, 0.58
# and 0.65 with the additive one (one draw, 3,000 unlabeled documents).
FEW_LABELED = ("dirichlet", 1.0)
# smoothings that are tried after the first one, with the best weight
OTHER_SMOOTHINGS = {"dirichlet": (0.3, 3.0)}
LOWER_SMOOTHINGS = (1.0, 0.1, 0.01)  # of other models
PROBABILITY_ROWS_AT_ONCE = 4096  # documents whose probabilities are in memory as dense rows
ALONE = "labeled documents alone"

Say = Callable[[str], None]  # called with a line about each candidate and each step


def check_semi_supervised(features: FeatureSettings, settings: ModelSettings) -> None:
    """Raise SettingsError unless the model can be trained on unlabeled documents with these
    settings.
    """
    if settings.model not in (AUTO, *DENSITIES):
        *names, last = DENSITIES
        hint = f"leave it out, or use {', '.join(names)} or {last}"
        raise SettingsError(f"cannot be used with --model {settings.model}", where="em", hint=hint)
    is_counting = features.is_counting or settings.event_model.is_binary
    # --em fits the class priors, computes no leave-one-out scores, and needs a density and counts
    refused = {
        "class_weight": settings.class_weight is not None,
        "--min-recall or --min-precision": settings.targets,
        "--smoothing 0": settings.smoothing == 0,
        "a weighting other than counts or binary": not is_counting,
    }
    for option, is_given in refused.items():
        if is_given:
            what = f"cannot be combined with {option}"
            raise SettingsError(what, where="em", hint="leave it out")


def train_with_unlabeled(
    labeled: CorpusCounts,
    unlabeled: CorpusCounts,
    features: FeatureSettings,
    settings: ModelSettings,
    steps: int,
    *,
    say: Say,
    jobs: int = 1,
) -> TrainedModel:
    """Train on labeled and on unlabeled documents, with settings of `check_semi_supervised`.

    The first probabilities of their labels are those of the model of `train_on_counts`, of the
    labeled documents alone. Cross-validation on these selects the weight of the others and the
    smoothing with the lowest calibrated log-loss. If the result is not better (`is_improvement`),
    the model equals that of `train_on_counts` byte by byte.

    unlabeled  the counts that `count_unlabeled` returns; the labels are ignored
    steps      most steps of expectation-maximization
    raises     ModelError: no feature is left
    """
    alone = train_on_counts(labeled, features, replace(settings, calibrate=True), jobs=jobs)
    say(f"{ALONE}: {format_training_summary(alone)}")
    fitted = None
    if alone.fitted.estimate is None:
        say("no label has two documents, so that nothing tells whether the others help")
    else:
        learner = _UnlabeledLearner(
            labeled, unlabeled, alone.fitted, features, settings, steps, say, jobs
        )
        fitted = learner.fit()
    if fitted is not None:
        counts = labeled if features.vocabulary is not None else learner.counts
        return make_trained_model(fitted, counts)
    if settings.calibrate:
        return alone
    return train_on_counts(labeled, features, settings, jobs=jobs)


def is_improvement(after: LeaveOneOutEstimate, before: LeaveOneOutEstimate) -> bool:
    """Return whether the log-loss is lower, and the accuracy no lower."""
    return after.log_loss < before.log_loss and after.accuracy >= before.accuracy


def guess_labels(model: FittedModel, documents: CorpusCounts, jobs: int) -> csr_array:
    """Return the probabilities of the labels of retained documents, negligible ones as 0."""
    from scipy.sparse import csr_array, vstack

    def guess(part: DocumentTable) -> csr_array:
        known = align_documents(part, documents.vocabulary, model.vocabulary)
        found = exp(model.task.log_probabilities(*model.evidence(known)))
        found[found < NEGLIGIBLE_PROBABILITY] = 0
        return csr_array(found)

    parts = documents.sample.split(PROBABILITY_ROWS_AT_ONCE)
    return vstack([*parallel_map(guess, parts, jobs=jobs)], format="csr")


class _UnlabeledLearner:
    """Fits candidates to labeled and unlabeled documents over the features of both, and selects the
    best one.

    The limits of document frequency apply to both corpora together, `select` to the labeled
    documents.

    counts        the labeled documents, over all features
    columns       the selected features; None: all
    vocabulary    of these; None: features are hashed
    weighting     counts or binary counts
    statistics    of the labeled documents, over the selected features, weighted
    sample        the retained labeled documents, over the selected features, weighted
    unlabeled     the unlabeled documents, over the selected features, weighted
    n_unlabeled   number of unlabeled documents
    start         the probabilities of the labels of the unlabeled documents, by the model of the
                  labeled ones
    held_out      documents of the sample, and what judges candidates by them
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the corpora, what to fit to them, and how to compute
        self,
        labeled: CorpusCounts,
        unlabeled: CorpusCounts,
        alone: FittedModel,
        features: FeatureSettings,
        model_settings: ModelSettings,
        steps: int,
        say: Say,
        jobs: int,
    ) -> None:
        """Raise ModelError if no feature is left.

        unlabeled  retains all of its documents; the labels are ignored
        alone      the model of the labeled documents alone, calibrated
        """
        self.alone = alone
        self.first_smoothing = model_settings.smoothing or alone.hyperparameters.smoothing
        self.is_selected = model_settings.model == AUTO
        self.is_binary_selected = False
        if self.is_selected:
            name, smoothing = FEW_LABELED
            model_settings = replace(model_settings, model=name)
            self.first_smoothing = model_settings.smoothing or smoothing
            if features.tf == "count" and labeled.weighting is None:
                features = replace(features, tf="binary")
                self.is_binary_selected = True
        self.features = features
        self.model_settings = model_settings
        self.steps = steps
        self.say = say
        self.jobs = jobs
        self.n_unlabeled = unlabeled.statistics.n_documents
        labeled = align_to_vocabulary(labeled, features)
        unlabeled = align_to_vocabulary(unlabeled, features)
        vocabulary, mine, theirs = unite_vocabularies(labeled, unlabeled)
        n_features = len(vocabulary) if vocabulary is not None else labeled.statistics.n_features
        if n_features == 0:
            raise no_token(features)
        n_labels = len(labeled.labels)
        labels = np.arange(n_labels, dtype=np.int32)
        rest = np.zeros(len(unlabeled.labels), dtype=np.int32)  # any label
        own = labeled.statistics.align(mine, n_features, classes=labels, n_classes=n_labels)
        both = own + unlabeled.statistics.align(
            theirs, n_features, classes=rest, n_classes=n_labels
        )
        sample = labeled.sample.renumber(mine, labels)
        others = unlabeled.sample.renumber(theirs, rest)
        self.counts = selected = replace(
            labeled, vocabulary=vocabulary, statistics=own, sample=sample
        )
        is_hapax = both.document_frequencies == 1
        if vocabulary is None or features.vocabulary is not None:
            is_hapax[:] = False
        self.columns: Integers | None = None
        if vocabulary is not None and is_selective(features):
            columns = select_columns(
                both.entries, both.class_documents, replace(features, select=None)
            )
            if features.select is not None:
                chosen = own.restrict(columns)
                only = replace(features, min_df=1, max_df=1.0, max_features=None)
                columns = columns[select_columns(chosen.entries, chosen.class_documents, only)]
            others = others.restrict(columns, n_features)
            is_hapax = is_hapax[columns]
            selected = self.counts.restrict(columns)
            self.columns = columns
        is_binary = model_settings.event_model.is_binary or features.tf == "binary"
        self.weighting = Weighting("binary" if is_binary else "count")
        self.vocabulary = selected.vocabulary
        self.statistics, self.sample = selected.weigh(self.weighting)
        self.unlabeled = others.binarize() if is_binary else others
        # fewer documents if there are very many labels
        judged = np.arange(min(len(self.sample), SCORES_AT_ONCE // n_labels))

        def guess(is_left_out: Mask) -> csr_array:
            removed = np.zeros(len(labeled.sample), dtype=bool)
            removed[: len(is_left_out)] = is_left_out
            known = alone.hyperparameters, alone.calibration
            model = fit_model(
                labeled.without(removed),
                alone.feature_settings,
                alone.model_settings,
                jobs=jobs,
                selection=Selection(*known),
            )
            return guess_labels(model, unlabeled, jobs)

        self.start = guess_labels(alone, unlabeled, jobs)
        self.held_out = HeldOutFolds(
            self.statistics,
            self.sample.take(judged),
            selected.sample.lengths[judged],
            is_hapax,
            guess,
            replace(model_settings, calibrate=True),
            jobs,
        )

    def fit(self) -> FittedModel | None:
        """Return the model of the best candidate; None if it is not better than that of the labeled
        documents alone.
        """
        loss = attrgetter("loss")  # of some weights, then of other smoothings
        first = self.first_smoothing
        best = min(
            self._compare(*(self._em(first, weight) for weight in UNLABELED_WEIGHTS)), key=loss
        )
        settings = self.model_settings
        if settings.smoothing is None:
            lower = [each for each in LOWER_SMOOTHINGS if each < first]
            weight = best.candidate.weight
            others = (
                self._em(each, weight) for each in OTHER_SMOOTHINGS.get(settings.model, lower)
            )
            best = min([best, *self._compare(*others)], key=loss)
        found = best.selection.estimate
        if found is None or not is_improvement(found, self.alone.estimate):
            return None
        if not settings.calibrate:
            (best,) = replace(self.held_out, settings=settings).compare(best.candidate)
        selection = best.selection
        mixture = best.candidate.fit(
            self.statistics,
            self.start,
            jobs=self.jobs,
            on_step=lambda step, found: self.say(
                f"step {step}: penalized log-likelihood {found:,.1f}"
            ),
        )
        log_prior = mixture.log_prior
        unlabeled = Unlabeled(
            "em",
            self.n_unlabeled,
            best.candidate.weight,
            tuple(log_prior.tolist()),
            mixture.log_likelihoods,
        )
        task = TASKS[self.counts.task].load("task")(
            self.counts.labels, log_prior, selection.calibration, selection.estimate
        )
        return FittedModel(
            task,
            self.features,
            self.model_settings,
            self.vocabulary,
            self.columns,
            self.weighting,
            mixture.scorer,
            selection.hyperparameters,
            unlabeled,
            is_model_selected=self.is_selected,
            is_binary_selected=self.is_binary_selected,
        )

    def _em(self, smoothing: float, weight: float) -> ExpectationMaximization:
        settings = self.model_settings
        return ExpectationMaximization(
            self.unlabeled, settings.model, smoothing, settings.effective_prior, weight, self.steps
        )

    def _compare(self, *candidates: ExpectationMaximization) -> list[Trial]:
        """Return the results of candidates on held-out documents, and say them."""
        trials = self.held_out.compare(*candidates)
        for candidate, selection in trials:
            if selection.estimate is not None:
                found = format_estimate(selection.estimate)
                self.say(f"{candidate.name}, smoothing {candidate.smoothing:.4g}: {found}")
        return trials
