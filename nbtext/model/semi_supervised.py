"""Learning from few documents with labels and many without."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.bayes.expectation import PENALTIES, ExpectationMaximization, OnStep
from nbtext.bayes.leave_one_out import Run, one_by_one
from nbtext.bayes.marginals import FeatureMarginals
from nbtext.bayes.smoothing import DECADES, MOST_SCORES, Choice, LeaveOneOut
from nbtext.bayes.unlabeled import HeldOut, Trial, Unlabeled, Way
from nbtext.documents.batch import Batch
from nbtext.errors import InputError, SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import FittedModel, read, sample_size
from nbtext.model.folding import Counting, OnBatch, Threads, tally_source, threads
from nbtext.model.pairing import Pair, paired
from nbtext.model.reservoir import Bound

if TYPE_CHECKING:
    from nbtext.bayes.settings import ModelSettings
    from nbtext.documents.source import Chunk, Source
    from nbtext.model.settings import UnlabeledSettings
    from nbtext.model.text_classifier import TextClassifier

WEIGHTS = (1.0, 0.3, 0.1)  # λ of the unlabeled documents
SMOOTHINGS = (0.5, 0.1, 0.02)  # of feature marginals, where none is given


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told how the learning goes on.

    on_trial  of a way to learn, and what to expect of it
    on_step   of a step's number, and the log-likelihood after it
    """

    on_trial: Callable[[str, Choice], None] = lambda name, choice: None
    on_step: OnStep = lambda step, log_likelihood: None


def check_semi_supervised(features: FeatureSettings, modelling: ModelSettings, settings: UnlabeledSettings) -> None:
    """Raise SettingsError unless such a model can learn from documents without labels."""
    where, able = settings.option or "", ("multinomial",) if settings.marginals else tuple(PENALTIES)
    if modelling.event_model not in able:
        hint = f"use --model {' or '.join(able)}"
        raise SettingsError(f"{modelling.model} cannot learn from documents without labels so", where=where, hint=hint)
    if modelling.smoothing == 0:
        raise SettingsError("it needs smoothing", where=where, hint="use --smoothing 0.01 or so")
    if not features.is_counting and modelling.model != "bernoulli":
        hint = "leave out --idf, --norm and --tf relative or log"
        raise SettingsError("it counts words, and weights are none", where=where, hint=hint)


class CountingUnlabeled(Counting):
    """Counts documents as if they had no labels."""

    def count(self, chunks: Iterable[Chunk], on_batch: OnBatch, bound: Bound | None = None) -> CorpusCounts:
        """The tally of some documents, all of one label."""
        return Counting.count(self, map(_Bare, chunks), on_batch, bound)


@dataclass(frozen=True, slots=True)
class _Bare:
    """A chunk of documents without their labels."""

    chunk: Chunk

    @property
    def size(self) -> int:
        return self.chunk.size

    def batch(self) -> Batch:
        batch = self.chunk.batch()
        batch.labels = [""] * len(batch)
        return batch


def tally_unlabeled(
    source: Source,
    features: FeatureSettings,
    settings: UnlabeledSettings,
    *,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> CorpusCounts:
    """Count every document of a source, whatever its label; for --em, keep its counts: 8 bytes a distinct word of each.

    raises  InputError: a document cannot be read, or there is none
    """
    features = replace(features, fields=source.field_names)
    tally = Threads(jobs).tally(source, CountingUnlabeled(features, 0 if settings.marginals else None), on_batch)
    if not tally.labels:
        raise InputError("there is no document to learn from", where="--unlabeled")
    return tally


def fit_source_with_unlabeled(
    classifier: TextClassifier,
    source: Source,
    unlabeled: CorpusCounts,
    settings: UnlabeledSettings,
    *,
    listener: Listener | None = None,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> TextClassifier:
    """Learn from all documents of a source, and from unlabeled ones; see `fit_with_unlabeled`."""
    classifier.features = replace(classifier.features, fields=source.field_names)
    size = sample_size(classifier.features, classifier.modelling)
    tally = tally_source(source, classifier.features, jobs=jobs, sample_size=size, on_batch=on_batch)
    if not tally.labels:
        raise InputError("there is no document to learn from")
    with threads(jobs) as run:
        return fit_with_unlabeled(classifier, tally, unlabeled, settings, listener=listener, run=run)


def fit_with_unlabeled(
    classifier: TextClassifier,
    labelled: CorpusCounts,
    unlabeled: CorpusCounts,
    settings: UnlabeledSettings,
    *,
    listener: Listener | None = None,
    run: Run[Any] = one_by_one,
) -> TextClassifier:
    """Learn from labelled documents, and from unlabeled ones as far as that helps.

    How much these count, and how smooth the model is, are chosen for the least calibrated log-loss on labelled
    documents that are held out. Where the labelled documents alone, held out likewise, have no larger one, they learn
    alone: the model is what training without the others gives, to the byte.

    unlabeled  what `tally_unlabeled` counts; the labels are not looked at
    raises      SettingsError: such a model cannot learn so; ModelError: no feature is left
    """
    features, modelling = classifier.features, classifier.modelling
    check_semi_supervised(features, modelling, settings)
    listener = listener or Listener()
    alone = read(labelled, features, replace(modelling, calibrate=True), run=run).choice
    pair = paired(labelled, unlabeled, features, modelling)
    learner = _Learner(pair, modelling, settings, listener, run)
    if alone.expectation is None:
        listener.on_trial("labelled documents alone", alone)
    reading = learner.reading(alone.smoothing) if alone.expectation is not None else None
    if reading is None:
        return classifier.fit_tally(labelled, run=run)
    kept = labelled if features.vocabulary is not None else pair.tally
    return classifier.restore(labelled.labels, reading, lambda: kept)


@dataclass(frozen=True, eq=False)
class _Learner:
    """Learns from a pair, and looks for the way that serves best."""

    pair: Pair
    modelling: ModelSettings
    settings: UnlabeledSettings
    listener: Listener
    run: Run[Any]

    def reading(self, smoothing_alone: float) -> FittedModel | None:
        """The model made in the way that foretells most; None where the labelled documents alone foretell as much.

        smoothing_alone  what is best for these
        """
        (alone,) = self._tried(self._alone, self._em(smoothing_alone, 0.0))
        best = self._best_marginals() if self.settings.marginals else self._best_em()
        if best.loss >= alone.loss:
            return None
        choice = best.choice
        if not self.modelling.calibrate:
            choice = self._held_out.choice(best, optimize=self.modelling.optimize)
        found = best.way.fit(self.pair.statistics, run=self.run, on_step=self.listener.on_step)
        method = "marginals" if self.settings.marginals else "em"
        how = Unlabeled(
            method, self.pair.n_others, best.way.weight, tuple(found.log_prior.tolist()), found.log_likelihoods
        )
        vocabulary, columns = self.pair.tally.vocabulary, self.pair.columns
        features = vocabulary.restricted(columns) if vocabulary is not None and columns is not None else vocabulary
        return FittedModel(features, columns, self.pair.weighting, found.scorer, choice, how)

    def _best_em(self) -> Trial:
        """First of some weights, then of less smoothing: of few documents, leave-one-out may find too much best."""
        smoothing = self._smoothing()
        best = min(self._tried(self._held_out, *(self._em(smoothing, weight) for weight in WEIGHTS)), key=_loss)
        if self.modelling.smoothing is not None:
            return best
        lower = [10.0**exponent for exponent in range(DECADES[0], DECADES[1] + 1) if 10.0**exponent < smoothing]
        others = self._tried(self._held_out, *(self._em(each, best.way.weight) for each in lower))
        return min([best, *others], key=_loss)

    def _em(self, smoothing: float, weight: float) -> Way:
        model, prior = self.modelling.model, self.modelling.effective_prior
        return ExpectationMaximization(self.pair.others, model, smoothing, prior, weight, self.settings.em or 0)

    def _best_marginals(self) -> Trial:
        given, prior = self.modelling.smoothing, self.modelling.effective_prior
        smoothings = SMOOTHINGS if given is None else (given,)
        ways = [FeatureMarginals(self.pair.everywhere, each, prior) for each in smoothings]
        return min(self._tried(self._held_out, *ways), key=_loss)

    def _tried(self, held_out: HeldOut, *ways: Way) -> list[Trial]:
        """What held-out documents say of each of these."""
        trials = held_out.tried(*ways, optimize=self.modelling.optimize)
        for trial in trials:
            self.listener.on_trial(trial.way.name, trial.choice)
        return trials

    def _smoothing(self) -> float:
        """The given smoothing, else what leave-one-out finds best for the labelled documents alone."""
        if self.modelling.smoothing is not None:
            return self.modelling.smoothing
        statistics, sample = self.pair.statistics, self.pair.sample
        n_hapax = sample.sum_features(self.pair.is_alone[0])
        model, prior = self.modelling.model, self.modelling.effective_prior
        left_out = LeaveOneOut(statistics, sample, self.pair.lengths, n_hapax, model, prior, self.run)
        return left_out.choose(None, calibrate=True).smoothing

    @cached_property
    def _held_out(self) -> HeldOut:
        """The labelled documents that judge, fewer where there are very many labels."""
        pair = self.pair
        most = np.arange(min(len(pair.sample), max(1, MOST_SCORES // pair.statistics.n_classes)))
        return HeldOut(pair.statistics, pair.sample.take(most), pair.lengths[most], pair.is_alone[1], self.run)

    @property
    def _alone(self) -> HeldOut:
        """The same over the features of labelled documents only."""
        whole, used = self._held_out, np.flatnonzero(np.diff(self.pair.statistics.indptr))
        sample = whole.sample.restrict(used, self.pair.statistics.n_features)
        is_alone = self.pair.is_alone[0][used]
        return HeldOut(whole.statistics.restricted(used), sample, whole.lengths, is_alone, self.run)


def _loss(trial: Trial) -> float:
    return trial.loss
