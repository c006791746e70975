"""Semi-supervised training: few labeled and many unlabeled documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.applications.unlabeled.expectation import (
    DENSITIES,
    ExpectationMaximization,
    HeldOut,
    OnStep,
    Trial,
)
from nbtext.arrays import Integers
from nbtext.bayes.diagnostics import Unlabeled
from nbtext.bayes.leave_one_out import LeaveOneOut, ScoredCorpus, count_hapaxes
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import DECADES, MAX_SCORES, Selection, select_smoothing
from nbtext.errors import InputError, SettingsError
from nbtext.features.selection import is_selective, no_token, select_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts, unite_vocabularies
from nbtext.model.fitted_model import FittedModel, TrainedModel, make_trained_model
from nbtext.model.fitting import align_to_vocabulary, fit_model
from nbtext.model.source_counting import (
    OnBatch,
    count_source,
    source_features,
)
from nbtext.model.task import OneLabel
from nbtext.model.training import sample_size, train_on_counts

if TYPE_CHECKING:
    from nbtext.documents.source import Source

WEIGHTS = (1.0, 0.3, 0.1)  # candidates for λ, the weight of an unlabeled document


class Listener(NamedTuple):
    """Functions that are called during training.

    on_trial  with the name of each candidate, and its selection with the estimate
    on_step   with the number of each step, and the log-likelihood after it
    """

    on_trial: Callable[[str, Selection], None]
    on_step: OnStep


def resolve_model(model_settings: ModelSettings) -> ModelSettings:
    """Return the settings with the multinomial model for `auto`, because complement needs labeled
    documents.
    """
    return (
        replace(model_settings, model="multinomial")
        if model_settings.model == AUTO
        else model_settings
    )


def check_semi_supervised(features: FeatureSettings, model_settings: ModelSettings) -> None:
    """Raise SettingsError unless the model can be trained on unlabeled documents with these
    settings.
    """
    model_settings = resolve_model(model_settings)
    if model_settings.model not in DENSITIES:
        hint = f"use --model {' or '.join(DENSITIES)}"
        raise SettingsError(
            f"cannot be used with --model {model_settings.model}", where="em", hint=hint
        )
    if model_settings.class_weight is not None:
        what = "cannot be combined with --em, which fits the class priors"
        raise SettingsError(what, where="class_weight", hint="leave out this option")
    if model_settings.has_targets:
        hint = "leave out --min-recall and --min-precision"
        what = "cannot meet targets, because it does not compute leave-one-out scores"
        raise SettingsError(what, where="em", hint=hint)
    if model_settings.smoothing == 0:
        hint = "use --smoothing 0.01, or leave out --smoothing"
        raise SettingsError("needs a smoothing above 0", where="em", hint=hint)
    if not features.is_counting and not model_settings.event_model.is_binary:
        hint = "leave out --idf, --norm and --tf relative or log"
        raise SettingsError("needs counts, and the features are weights", where="em", hint=hint)


def train_with_unlabeled(  # noqa: PLR0913 - two corpora and three records of settings
    source: Source,
    unlabeled: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    steps: int,
    *,
    listener: Listener,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> TrainedModel:
    """Train on all documents of a source and on unlabeled documents, with settings of
    `check_semi_supervised`.

    Cross-validation on the labeled documents selects the weight of the unlabeled documents and the
    smoothing with the lowest calibrated log-loss. If the unlabeled documents do not lower the
    log-loss, they are not used, and the model equals that of `train_on_counts` byte by byte.

    Parameters
    ----------
    unlabeled
        The counts that `count_unlabeled` returns; the labels are ignored.
    steps
        Most steps of expectation-maximization.

    Raises
    ------
    InputError
        A document cannot be read, or has no label.
    ModelError
        No feature is left.
    """
    features = source_features(source, features)
    size = sample_size(features, model_settings)
    labeled = count_source(source, features, jobs=jobs, sample_size=size, on_batch=on_batch)
    if not labeled.statistics.n_documents:
        raise InputError("SOURCE has no documents to train on")
    model_settings = resolve_model(model_settings)
    alone = fit_model(labeled, features, replace(model_settings, calibrate=True), jobs=jobs)
    learner = _Learner(labeled, unlabeled, features, model_settings, steps, listener, jobs)
    if alone.estimate is None:
        listener.on_trial("labeled documents alone", Selection(alone.hyperparameters))
    fitted = learner.fit(alone.hyperparameters.smoothing) if alone.estimate is not None else None
    if fitted is None:
        model = train_on_counts(labeled, features, model_settings, jobs=jobs)
    else:
        model = make_trained_model(
            fitted, labeled if features.vocabulary is not None else learner.counts
        )
    return replace(model, fitted=replace(model.fitted, input=source.model_input))


class _Learner:
    """Fits candidates to labeled and unlabeled documents over the features of both, and selects the
    best one.

    The limits of document frequency apply to both corpora together, `select` to the labeled
    documents.

    counts        the labeled documents, over all features
    columns       the selected features; None: all
    weighting     counts or binary counts
    statistics    of the labeled documents, over the selected features, weighted
    sample        the retained labeled documents, over the selected features, weighted
    unlabeled     the unlabeled documents, over the selected features, weighted
    n_unlabeled   number of unlabeled documents
    is_hapax      (2, n_selected), whether only one labeled document, and only one of all documents,
                  has the feature
    lengths       (n_sampled,), tokens of each labeled document of the sample
    """

    def __init__(
        self,
        labeled: CorpusCounts,
        unlabeled: CorpusCounts,
        features: FeatureSettings,
        model_settings: ModelSettings,
        steps: int,
        listener: Listener,
        jobs: int,
    ) -> None:
        """Raise ModelError if no feature is left.

        unlabeled  retains all of its documents; the labels are ignored
        """
        self.features = features
        self.model_settings = model_settings
        self.steps = steps
        self.listener = listener
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
        rest = np.full(len(unlabeled.labels), n_labels, dtype=np.int32)
        own = labeled.statistics.align(mine, n_features, classes=labels, n_classes=n_labels)
        # in the statistics of both, all unlabeled documents are one more class
        both = labeled.statistics.align(mine, n_features, classes=labels, n_classes=n_labels + 1)
        both += unlabeled.statistics.align(theirs, n_features, classes=rest, n_classes=n_labels + 1)
        sample = labeled.sample.renumber(mine, labels)
        others = unlabeled.sample.renumber(theirs, rest)
        self.counts = selected = replace(
            labeled, vocabulary=vocabulary, statistics=own, sample=sample
        )
        self.is_hapax = np.stack([each.document_frequencies == 1 for each in (own, both)])
        if vocabulary is None or features.vocabulary is not None:
            self.is_hapax[:] = False
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
            self.is_hapax = self.is_hapax[:, columns]
            selected = self.counts.restrict(columns)
            self.columns = columns
        is_binary = model_settings.event_model.is_binary or features.tf == "binary"
        self.weighting = Weighting("binary" if is_binary else "count")
        self.lengths = selected.sample.lengths
        self.statistics, self.sample = selected.weigh(self.weighting)
        self.unlabeled = others.binarize() if is_binary else others

    def fit(self, smoothing_alone: float) -> FittedModel | None:
        """Return the model of the best candidate; None if no candidate is better than the labeled
        documents alone.

        smoothing_alone  the smoothing of the model of the labeled documents alone
        """
        # features of the labeled documents
        whole = self._held_out
        own = self.statistics.used_features
        sample = whole.sample.restrict(own, self.statistics.n_features)
        is_hapax = self.is_hapax[0][own]
        statistics = whole.statistics.restrict(own)
        labeled_only = replace(whole, statistics=statistics, sample=sample, is_hapax=is_hapax)
        (alone,) = self._compare(labeled_only, self._em(smoothing_alone, 0.0))
        best = self._best_em()
        if best.loss >= alone.loss:
            return None
        selection = best.selection
        if not self.model_settings.calibrate:
            selection = self._held_out.select_uncalibrated(
                best, optimize=self.model_settings.optimize
            )
        mixture = best.candidate.fit(self.statistics, jobs=self.jobs, on_step=self.listener.on_step)
        log_prior = mixture.log_prior
        weight = best.candidate.weight
        unlabeled = Unlabeled(
            "em", self.n_unlabeled, weight, tuple(log_prior.tolist()), mixture.log_likelihoods
        )
        vocabulary = self.counts.vocabulary
        columns = self.columns
        features = (
            vocabulary.restrict(columns)
            if vocabulary is not None and columns is not None
            else vocabulary
        )
        task = OneLabel(self.counts.labels, log_prior, selection.calibration, selection.estimate)
        return FittedModel(
            task,
            self.features,
            self.model_settings,
            features,
            columns,
            self.weighting,
            mixture.scorer,
            selection.hyperparameters,
            unlabeled,
        )

    def _best_em(self) -> Trial:
        """Return the best of some weights, then of smaller smoothings.

        With few documents, leave-one-out may select too much smoothing.
        """
        settings = self.model_settings
        loss = attrgetter("loss")
        smoothing = settings.smoothing
        if smoothing is None:  # the one that leave-one-out selects for the labeled documents alone
            n_hapax = (
                count_hapaxes(self.statistics, self.sample) if self.is_hapax[0].any() else None
            )
            left_out = LeaveOneOut(
                self.statistics,
                self.sample,
                n_hapax,
                settings.event_model,
                settings.effective_prior,
                self.jobs,
            )
            smoothing = select_smoothing(
                ScoredCorpus.of(left_out), None, calibrate=True
            ).hyperparameters.smoothing
        best = min(
            self._compare(self._held_out, *(self._em(smoothing, weight) for weight in WEIGHTS)),
            key=loss,
        )
        if settings.smoothing is not None:
            return best
        lower = [
            10.0**exponent
            for exponent in range(DECADES[0], DECADES[1] + 1)
            if 10.0**exponent < smoothing
        ]
        others = self._compare(
            self._held_out, *(self._em(each, best.candidate.weight) for each in lower)
        )
        return min([best, *others], key=loss)

    def _em(self, smoothing: float, weight: float) -> ExpectationMaximization:
        settings = self.model_settings
        return ExpectationMaximization(
            self.unlabeled, settings.model, smoothing, settings.effective_prior, weight, self.steps
        )

    def _compare(self, held_out: HeldOut, *candidates: ExpectationMaximization) -> list[Trial]:
        """Return the results of candidates on held-out documents, and report them to the
        listener.
        """
        trials = held_out.compare(*candidates, optimize=self.model_settings.optimize)
        for trial in trials:
            self.listener.on_trial(trial.candidate.name, trial.selection)
        return trials

    @cached_property
    def _held_out(self) -> HeldOut:
        """The labeled documents that are held out; fewer of them if there are very many labels."""
        maximum = np.arange(min(len(self.sample), max(1, MAX_SCORES // self.statistics.n_classes)))
        return HeldOut(
            self.statistics,
            self.sample.take(maximum),
            self.lengths[maximum],
            self.is_hapax[1],
            self.jobs,
        )
