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
    HeldOut,
    Trial,
)
from nbtext.arrays import Integers
from nbtext.bayes.diagnostics import Unlabeled
from nbtext.bayes.leave_one_out import LeaveOneOut, ScoredCorpus, count_hapaxes
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.smoothing import DECADES, MAX_SCORES, search_smoothing
from nbtext.errors import SettingsError
from nbtext.features.selection import is_selective, no_token, select_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts, unite_vocabularies
from nbtext.model.fitted_model import FittedModel, TrainedModel, make_trained_model
from nbtext.model.fitting import align_to_vocabulary
from nbtext.model.task import OneLabel
from nbtext.model.training import train_on_counts

if TYPE_CHECKING:
    pass

WEIGHTS = (1.0, 0.3, 0.1)  # candidates for λ, the weight of an unlabeled document


Say = Callable[[str], None]  # called with a line about each candidate and each step


def check_semi_supervised(features: FeatureSettings, settings: ModelSettings) -> None:
    """Raise SettingsError unless the model can be trained on unlabeled documents with these
    settings.
    """
    if settings.model not in DENSITIES:
        hint = f"use --model {' or '.join(DENSITIES)}"
        raise SettingsError(f"cannot be used with --model {settings.model}", where="em", hint=hint)
    is_counting = features.is_counting or settings.event_model.is_binary
    # --em fits the class priors, computes no leave-one-out scores, and needs a density and counts
    refused = {
        "--class-weight": settings.class_weight is not None,
        "--min-recall or --min-precision": settings.has_targets,
        "--smoothing 0": settings.smoothing == 0,
        "--idf, --norm, or --tf relative or log": not is_counting,
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

    Cross-validation on the labeled documents selects the weight of the unlabeled documents and the
    smoothing with the lowest calibrated log-loss. If the unlabeled documents do not lower the
    log-loss, they are not used, and the model equals that of `train_on_counts` byte by byte.

    unlabeled  the counts that `count_unlabeled` returns; the labels are ignored
    steps      most steps of expectation-maximization
    raises     ModelError: no feature is left
    """
    alone = train_on_counts(labeled, features, settings, jobs=jobs)
    if alone.fitted.estimate is None:
        say("labeled documents alone: no estimate, because no label has two documents")
        return alone
    learner = _Learner(labeled, unlabeled, features, settings, steps, say, jobs)
    fitted = learner.fit(alone.fitted.hyperparameters.smoothing)
    if fitted is None:
        return alone
    return make_trained_model(
        fitted, labeled if features.vocabulary is not None else learner.counts
    )


class _Learner:
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
    is_hapax      (2, n_selected), whether only one labeled document, and only one of all documents,
                  has the feature
    held_out      documents of the sample, and what judges candidates by them
    """

    def __init__(
        self,
        labeled: CorpusCounts,
        unlabeled: CorpusCounts,
        features: FeatureSettings,
        model_settings: ModelSettings,
        steps: int,
        say: Say,
        jobs: int,
    ) -> None:
        """Raise ModelError if no feature is left.

        unlabeled  retains all of its documents; the labels are ignored
        """
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
        self.vocabulary = selected.vocabulary
        self.statistics, self.sample = selected.weigh(self.weighting)
        self.unlabeled = others.binarize() if is_binary else others
        # fewer documents if there are very many labels
        judged = np.arange(min(len(self.sample), max(1, MAX_SCORES // n_labels)))
        self.held_out = HeldOut(
            self.statistics,
            self.sample.take(judged),
            selected.sample.lengths[judged],
            self.is_hapax[1],
            replace(model_settings, calibrate=True),
            jobs,
        )

    def fit(self, smoothing_alone: float) -> FittedModel | None:
        """Return the model of the best candidate; None if no candidate is better than the labeled
        documents alone.

        smoothing_alone  the smoothing of the model of the labeled documents alone
        """
        # features of the labeled documents
        whole = self.held_out
        own = self.statistics.used_features
        sample = whole.sample.restrict(own, self.statistics.n_features)
        is_hapax = self.is_hapax[0][own]
        statistics = whole.statistics.restrict(own)
        labeled_only = replace(whole, statistics=statistics, sample=sample, is_hapax=is_hapax)
        (alone,) = self._compare(labeled_only, self._em(smoothing_alone, 0.0))
        best = self._best_em()
        if best.loss >= alone.loss:
            return None
        if not self.model_settings.calibrate:
            (best,) = replace(whole, settings=self.model_settings).compare(best.candidate)
        selection = best.selection
        mixture = best.candidate.fit(
            self.statistics,
            jobs=self.jobs,
            on_step=lambda step, found: self.say(
                f"step {step}: penalized log-likelihood {found:,.1f}"
            ),
        )
        log_prior = mixture.log_prior
        weight = best.candidate.weight
        unlabeled = Unlabeled(
            "em", self.n_unlabeled, weight, tuple(log_prior.tolist()), mixture.log_likelihoods
        )
        task = OneLabel(self.counts.labels, log_prior, selection.calibration, selection.estimate)
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
            smoothing, _ = search_smoothing(ScoredCorpus.of(left_out))
        best = min(
            self._compare(self.held_out, *(self._em(smoothing, weight) for weight in WEIGHTS)),
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
            self.held_out, *(self._em(each, best.candidate.weight) for each in lower)
        )
        return min([best, *others], key=loss)

    def _em(self, smoothing: float, weight: float) -> ExpectationMaximization:
        settings = self.model_settings
        return ExpectationMaximization(
            self.unlabeled, settings.model, smoothing, settings.effective_prior, weight, self.steps
        )

    def _compare(self, held_out: HeldOut, *candidates: ExpectationMaximization) -> list[Trial]:
        """Return the results of candidates on held-out documents, and say them."""
        trials = held_out.compare(*candidates)
        for candidate, selection in trials:
            if selection.estimate is not None:
                self.say(
                    f"{candidate.name}, smoothing {candidate.smoothing:.4g}: accuracy "
                    f"{selection.estimate.accuracy:.4f}, log-loss {selection.estimate.log_loss:.4f}"
                )
        return trials
