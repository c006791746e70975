"""Learning from few documents with labels and many without."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.bayes.expectation import PENALTIES, ExpectationMaximization, OnStep
from nbtext.bayes.leave_one_out import Run, one_by_one
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.smoothing import DECADES, MOST_SCORES, Choice, LeaveOneOut
from nbtext.bayes.statistics import Statistics
from nbtext.bayes.unlabelled import WEIGHTS, HeldOut, Unlabelled
from nbtext.classifier.folding import Counting, OnBatch, Threads, tally_source, threads
from nbtext.classifier.pairing import Pair, paired
from nbtext.classifier.reading import Reading, read, sample_size
from nbtext.classifier.reservoir import Bound
from nbtext.classifier.tally import Tally
from nbtext.documents.batch import Batch
from nbtext.errors import InputError, SettingsError
from nbtext.features.settings import FeatureSettings

if TYPE_CHECKING:
    from nbtext.bayes.settings import ModelSettings
    from nbtext.classifier.settings import UnlabelledSettings
    from nbtext.classifier.text_classifier import TextClassifier
    from nbtext.documents.source import Chunk, Source

NOT_LEARNED = 0.0  # the weight of unlabelled documents that are left alone


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told how the learning goes on.

    on_trial  of a weight of the unlabelled documents, and what to expect of it
    on_step   of a step's number, and the log-likelihood after it
    """

    on_trial: Callable[[float, Choice], None] = lambda weight, choice: None
    on_step: OnStep = lambda step, log_likelihood: None


def check_semi_supervised(features: FeatureSettings, modelling: ModelSettings) -> None:
    """Raise SettingsError unless such a model can learn from documents without labels."""
    if modelling.event_model not in PENALTIES:
        hint = f"use --model {' or '.join(PENALTIES)}"
        raise SettingsError(f"{modelling.model} gives documents no likelihood to raise", where="--em", hint=hint)
    if modelling.smoothing == 0:
        raise SettingsError("without smoothing it would never settle", where="--em", hint="use --smoothing 0.01 or so")
    if not features.is_counting and modelling.model != "bernoulli":
        hint = "leave out --idf, --norm and --tf relative or log"
        raise SettingsError("it counts words, and weights are none", where="--em", hint=hint)


class CountingUnlabelled(Counting):
    """Counts documents as if they had no labels, and keeps all of them."""

    def count(self, chunks: Iterable[Chunk], on_batch: OnBatch, bound: Bound | None = None) -> Tally:
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


def tally_unlabelled(
    source: Source, features: FeatureSettings, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> Tally:
    """Count every document of a source, whatever its label, and keep its counts: 8 bytes a distinct word of each.

    raises  InputError: a document cannot be read, or there is none
    """
    features = replace(features, fields=source.field_names)
    tally = Threads(jobs).tally(source, CountingUnlabelled(features, None), on_batch)
    if not tally.labels:
        raise InputError("there is no document to learn from", where="--unlabelled")
    return tally


def fit_source_with_unlabelled(
    classifier: TextClassifier,
    source: Source,
    unlabelled: Tally,
    settings: UnlabelledSettings,
    *,
    listener: Listener | None = None,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> TextClassifier:
    """Learn from all documents of a source, and from unlabelled ones; see `fit_with_unlabelled`."""
    classifier.features = replace(classifier.features, fields=source.field_names)
    size = sample_size(classifier.features, classifier.modelling)
    tally = tally_source(source, classifier.features, jobs=jobs, sample_size=size, on_batch=on_batch)
    if not tally.labels:
        raise InputError("there is no document to learn from")
    with threads(jobs) as run:
        return fit_with_unlabelled(classifier, tally, unlabelled, settings, listener=listener, run=run)


def fit_with_unlabelled(
    classifier: TextClassifier,
    labelled: Tally,
    unlabelled: Tally,
    settings: UnlabelledSettings,
    *,
    listener: Listener | None = None,
    run: Run[Any] = one_by_one,
) -> TextClassifier:
    """Learn from labelled documents, and from unlabelled ones as far as that helps.

    The weight of these is that of WEIGHTS with the least calibrated log-loss on labelled documents that are held
    out; then less smoothing than leave-one-out finds best without them is tried. Where that is no less than what
    leave-one-out expects of the labelled documents alone, they learn alone: the model is what training without the
    others gives, to the byte.

    unlabelled  all of its documents in its sample; the labels are not looked at
    raises      SettingsError: such a model cannot learn so; ModelError: no feature is left
    """
    features, modelling = classifier.features, classifier.modelling
    check_semi_supervised(features, modelling)
    listener = listener or Listener()
    alone = read(labelled, features, replace(modelling, calibrate=True), run=run).choice
    listener.on_trial(NOT_LEARNED, alone)
    pair = paired(labelled, unlabelled, features, modelling)
    learner = _Learner(pair, modelling, settings.em or 0, listener, run)
    reading = learner.reading(alone) if alone.expectation is not None else None
    if reading is None:
        return classifier.fit_tally(labelled, run=run)
    kept = labelled if features.vocabulary is not None else pair.tally
    return classifier.restore(labelled.labels, reading, lambda: kept)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A way to learn, what models made so say of held-out documents (by all features, by known ones), and its worth."""

    em: ExpectationMaximization
    scores: list[Floats]
    choice: Choice


@dataclass(frozen=True, eq=False)
class _Learner:
    """Learns from a pair, and looks for the weight of the unlabelled documents."""

    pair: Pair
    modelling: ModelSettings
    steps: int
    listener: Listener
    run: Run[Any]

    def reading(self, alone: Choice) -> Reading | None:
        """The model with the weight that foretells most; None where the labelled documents alone foretell as much."""
        smoothing = self._smoothing()
        trials = self._tried([self._trial(smoothing, weight) for weight in WEIGHTS])
        best = min(trials, key=_loss_of)
        if self.modelling.smoothing is None:  # of documents that are few, leave-one-out may find too much best
            lower = [10.0**exponent for exponent in range(DECADES[0], DECADES[1] + 1) if 10.0**exponent < smoothing]
            best = min([best, *self._tried([self._trial(each, best.em.weight) for each in lower])], key=_loss_of)
        if _loss_of(best) >= (alone.expectation.log_loss if alone.expectation is not None else math.inf):
            return None
        choice = best.choice if self.modelling.calibrate else self._judged(best.em, *best.scores, calibrate=False)
        found = best.em.fit(self.pair.statistics, run=self.run, on_step=self.listener.on_step)
        how = Unlabelled("em", len(self.pair.others), best.em.weight, found.log_likelihoods)
        vocabulary, columns = self.pair.tally.vocabulary, self.pair.columns
        features = vocabulary.restricted(columns) if vocabulary is not None and columns is not None else vocabulary
        return Reading(features, columns, self.pair.weighting, found.scorer, choice, how)

    def _trial(self, smoothing: float, weight: float) -> ExpectationMaximization:
        model, prior = self.modelling.model, self.modelling.effective_prior
        return ExpectationMaximization(self.pair.others, model, smoothing, prior, weight, self.steps)

    def _tried(self, ems: list[ExpectationMaximization]) -> list[_Trial]:
        """What held-out documents say of each of these."""
        scores = self._held_out.scores(*(partial(_fitted, em) for em in ems))
        trials = [_Trial(em, found, self._judged(em, *found)) for em, *found in zip(ems, *scores, strict=True)]
        for trial in trials:
            self.listener.on_trial(trial.em.weight, trial.choice)
        return trials

    def _judged(
        self, em: ExpectationMaximization, complete: Floats, known: Floats, *, calibrate: bool = True
    ) -> Choice:
        optimize = self.modelling.optimize
        return self._held_out.choice(em.smoothing, complete, known, calibrate=calibrate, optimize=optimize)

    def _smoothing(self) -> float:
        """The given smoothing, else what leave-one-out finds best for the labelled documents alone."""
        if self.modelling.smoothing is not None:
            return self.modelling.smoothing
        statistics, sample = self.pair.statistics, self.pair.sample
        n_alone = sample.sums_of_features(statistics.document_frequencies == 1)
        model, prior = self.modelling.model, self.modelling.effective_prior
        left_out = LeaveOneOut(statistics, sample, self.pair.lengths, n_alone, model, prior, self.run)
        return left_out.choose(None, calibrate=True).smoothing

    @cached_property
    def _held_out(self) -> HeldOut:
        """The labelled documents that judge, fewer where there are very many labels."""
        most = np.arange(min(len(self.pair.sample), max(1, MOST_SCORES // self.pair.statistics.n_classes)))
        sample, lengths = self.pair.sample.taken(most), self.pair.lengths[most]
        return HeldOut(self.pair.statistics, sample, lengths, self.pair.is_alone, self.run)


def _fitted(trial: ExpectationMaximization, statistics: Statistics) -> LinearScorer:
    return trial.fit(statistics, is_watched=False).scorer


def _loss_of(trial: _Trial) -> float:
    """The log-loss that is expected; infinite where nothing is."""
    expected = trial.choice.expectation
    return expected.log_loss if expected is not None else math.inf
