"""Learning from few documents with labels and many without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_model import EventModel
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.expectation_maximization import ExpectationMaximization, OnStep
from nbtext.bayes.feature_marginals import FeatureMarginals
from nbtext.bayes.leave_one_out import LeaveOneOut, count_hapaxes
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.smoothing import DECADES, MOST_SCORES, Selection, select_smoothing
from nbtext.bayes.unlabeled import HeldOut, Trial, Unlabeled, Way
from nbtext.errors import InputError, ModelError, SettingsError
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.selection import is_selective, selected_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts, united
from nbtext.model.fitted_model import FittedModel, TrainedModel, trained_model
from nbtext.model.fitting import fit_model, over_vocabulary, sample_size, train_on_counts
from nbtext.model.settings import UnlabeledSettings
from nbtext.model.source_counting import CountingTask, OnBatch, ThreadExecutor, count_source

if TYPE_CHECKING:
    from nbtext.documents.source import Source

WEIGHTS = (1.0, 0.3, 0.1)  # λ of the unlabeled documents
SMOOTHINGS = (0.5, 0.1, 0.02)  # of feature marginals, where none is given


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told how the learning goes on.

    on_trial  of a way to learn, and what to expect of it
    on_step   of a step's number, and the log-likelihood after it
    """

    on_trial: Callable[[str, Selection], None] = lambda name, selection: None
    on_step: OnStep = lambda step, log_likelihood: None


def _is_able(model: EventModel, settings: UnlabeledSettings) -> bool:
    return model.has_feature_marginals if settings.marginals else model.log_prior_density is not None


def check_semi_supervised(features: FeatureSettings, modelling: ModelSettings, settings: UnlabeledSettings) -> None:
    """Raise SettingsError unless such a model can learn from documents without labels."""
    where, able = settings.option or "", [name for name, model in EVENT_MODELS.items() if _is_able(model, settings)]
    if modelling.model not in able:
        hint = f"use --model {' or '.join(able)}"
        raise SettingsError(f"{modelling.model} cannot learn from documents without labels so", where=where, hint=hint)
    if modelling.smoothing == 0:
        raise SettingsError("it needs smoothing", where=where, hint="use --smoothing 0.01 or so")
    if not features.is_counting and not modelling.event_model.is_binary:
        hint = "leave out --idf, --norm and --tf relative or log"
        raise SettingsError("it counts words, and weights are none", where=where, hint=hint)


def count_unlabeled(
    source: Source,
    features: FeatureSettings,
    settings: UnlabeledSettings,
    *,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> CorpusCounts:
    """Return the counts of all documents of a source, whatever their labels.

    For `--em` all documents are retained, which takes 8 bytes for each distinct word of each document.

    raises  InputError: a document cannot be read, or there is none
    """
    features = replace(features, fields=source.field_names)
    task = CountingTask(features, 0 if settings.marginals else None, is_labeled=False)
    counts = ThreadExecutor(jobs).count(source, task, on_batch)
    if not counts.labels:
        raise InputError("there is no document to learn from", where="--unlabeled")
    return counts


def train_on_source_with_unlabeled(  # noqa: PLR0913 - two corpora and three records of settings
    source: Source,
    unlabeled: CorpusCounts,
    features: FeatureSettings,
    modelling: ModelSettings,
    settings: UnlabeledSettings,
    *,
    listener: Listener | None = None,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> TrainedModel:
    """Train on all documents of a source, and on unlabeled documents; see `train_with_unlabeled`."""
    features = replace(features, fields=source.field_names)
    size = sample_size(features, modelling)
    counts = count_source(source, features, jobs=jobs, sample_size=size, on_batch=on_batch)
    if not counts.labels:
        raise InputError("there is no document to learn from")
    model = train_with_unlabeled(counts, unlabeled, features, modelling, settings, listener=listener, jobs=jobs)
    return replace(model, fitted=replace(model.fitted, input_unit=source.input_unit))


def train_with_unlabeled(
    labeled: CorpusCounts,
    unlabeled: CorpusCounts,
    features: FeatureSettings,
    modelling: ModelSettings,
    settings: UnlabeledSettings,
    *,
    listener: Listener | None = None,
    jobs: int = 1,
) -> TrainedModel:
    """Train on labeled documents, and on unlabeled ones as far as these help.

    The weight of the unlabeled documents and the smoothing are chosen for the least calibrated log-loss on labeled
    documents that are held out. If the labeled documents alone have no larger log-loss on them, the model is what
    training without the unlabeled documents gives, to the byte.

    unlabeled  what `count_unlabeled` returns; the labels are ignored
    raises     SettingsError: such a model cannot learn so; ModelError: no feature is left
    """
    check_semi_supervised(features, modelling, settings)
    listener = listener or Listener()
    alone = fit_model(labeled, features, replace(modelling, calibrate=True), jobs=jobs)
    pair = pair_counts(labeled, unlabeled, features, modelling)
    learner = _Learner(pair, features, modelling, settings, listener, jobs)
    if alone.estimate is None:
        listener.on_trial("labeled documents alone", Selection(alone.hyperparameters))
    fitted = learner.fit(alone.hyperparameters.smoothing) if alone.estimate is not None else None
    if fitted is None:
        return train_on_counts(labeled, features, modelling, jobs=jobs)
    return trained_model(fitted, labeled if features.vocabulary is not None else pair.counts)


@dataclass(frozen=True, eq=False)
class Pair:
    """Labelled and unlabeled documents, counted over the features of both.

    counts      the labeled documents, over all features
    columns     those of them that the settings choose; None: all
    weighting   how their counts are read: as they are, or as presence
    statistics  of the labeled documents, as the model reads them: over the chosen features
    sample      labeled documents, likewise
    others      the unlabeled documents, likewise, if they were kept
    everywhere  (n_chosen,), occurrences of each feature in all documents, likewise
    n_others    the unlabeled documents that there are
    is_alone    (2, n_chosen), which of these features only one labeled document holds, and which only one of all
    lengths     (n_sampled,), tokens of each labeled document of the sample
    """

    counts: CorpusCounts
    columns: NDArray[np.int64] | None
    weighting: Weighting
    statistics: ClassStatistics
    sample: DocumentCounts
    others: DocumentCounts
    everywhere: NDArray[np.int64]
    n_others: int
    is_alone: NDArray[np.bool_]
    lengths: NDArray[np.float64]


def pair_counts(
    labeled: CorpusCounts, unlabeled: CorpusCounts, features: FeatureSettings, modelling: ModelSettings
) -> Pair:
    """Two corpora by the same settings; the limits of document frequency look at both, `select` at labels.

    unlabeled  all of its documents in its sample, or none; the labels are not looked at
    raises      ModelError: no feature is left
    """
    counts, others, both = _united(over_vocabulary(labeled, features), over_vocabulary(unlabeled, features))
    if both.n_features == 0:
        raise ModelError("the documents hold no feature", hint="a word has two letters at least, see --token-pattern")
    is_alone = np.stack([each.document_frequencies == 1 for each in (counts.statistics, both)])
    if counts.vocabulary is None or features.vocabulary is not None:
        is_alone[:] = False
    columns = None
    if counts.vocabulary is not None and is_selective(features):
        columns = _columns(counts.statistics, both, features)
        others, is_alone = others.restrict(columns, both.n_features), is_alone[:, columns]
    read = counts if columns is None else counts.restricted(columns)
    lengths, statistics, sample = read.sample.lengths, read.statistics, read.sample
    sees_presence = modelling.event_model.is_binary or features.tf == "binary"
    if sees_presence:
        statistics, sample, others = statistics.binarize(), sample.binarize(), others.binarize()
    everywhere = both.feature_sums(both.documents if sees_presence else both.occurrences)
    if columns is not None:
        everywhere = everywhere[columns]
    weighting, n_others = Weighting("binary" if sees_presence else "count"), unlabeled.statistics.n_documents
    return Pair(counts, columns, weighting, statistics, sample, others, everywhere, n_others, is_alone, lengths)


def _united(labeled: CorpusCounts, unlabeled: CorpusCounts) -> tuple[CorpusCounts, DocumentCounts, ClassStatistics]:
    """The labeled documents over all features, the others, and the counts of all, those in a class of their own."""
    vocabulary, mine, theirs = united(labeled, unlabeled)
    n_features = len(vocabulary) if vocabulary is not None else labeled.statistics.n_features
    n_labels = len(labeled.labels)
    labels, rest = np.arange(n_labels, dtype=np.int32), np.full(len(unlabeled.labels), n_labels, dtype=np.int32)
    statistics = labeled.statistics.aligned(mine, n_features, classes=labels, n_classes=n_labels)
    counts = replace(
        labeled, vocabulary=vocabulary, statistics=statistics, sample=labeled.sample.renumber(mine, labels)
    )
    both = labeled.statistics.aligned(mine, n_features, classes=labels, n_classes=n_labels + 1)
    both += unlabeled.statistics.aligned(theirs, n_features, classes=rest, n_classes=n_labels + 1)
    return counts, unlabeled.sample.renumber(theirs, rest), both


def _columns(labeled: ClassStatistics, both: ClassStatistics, features: FeatureSettings) -> NDArray[np.int64]:
    """The columns that the settings choose."""
    columns = selected_columns(both, both.class_documents, replace(features, select=None))
    if features.select is None:
        return columns
    told = labeled.restricted(columns)
    only = replace(features, min_df=1, max_df=1.0, max_features=None)
    return columns[selected_columns(told, told.class_documents, only)]


@dataclass(frozen=True, eq=False)
class _Learner:
    """Learns from a pair, and looks for the way that serves best."""

    pair: Pair
    features: FeatureSettings
    modelling: ModelSettings
    settings: UnlabeledSettings
    listener: Listener
    jobs: int

    def fit(self, smoothing_alone: float) -> FittedModel | None:
        """The model made in the way that foretells most; None where the labeled documents alone foretell as much.

        smoothing_alone  what is best for these
        """
        (alone,) = self._tried(self._alone, self._em(smoothing_alone, 0.0))
        best = self._best_marginals() if self.settings.marginals else self._best_em()
        if best.loss >= alone.loss:
            return None
        selection = best.selection
        if not self.modelling.calibrate:
            selection = self._held_out.select_uncalibrated(best, optimize=self.modelling.optimize)
        found = best.way.fit(self.pair.statistics, jobs=self.jobs, on_step=self.listener.on_step)
        method = "marginals" if self.settings.marginals else "em"
        how = Unlabeled(
            method, self.pair.n_others, best.way.weight, tuple(found.log_prior.tolist()), found.log_likelihoods
        )
        vocabulary, columns = self.pair.counts.vocabulary, self.pair.columns
        features = vocabulary.restricted(columns) if vocabulary is not None and columns is not None else vocabulary
        return FittedModel(
            self.pair.counts.labels, self.features, self.modelling, features, columns,
            self.pair.weighting, found.scorer, found.log_prior, *selection, how,
        )  # fmt: skip

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
        model, prior = self.modelling.event_model, self.modelling.effective_prior
        return ExpectationMaximization(self.pair.others, model, smoothing, prior, weight, self.settings.em or 0)

    def _best_marginals(self) -> Trial:
        given, prior = self.modelling.smoothing, self.modelling.effective_prior
        smoothings = SMOOTHINGS if given is None else (given,)
        ways = [FeatureMarginals(self.pair.everywhere, each, prior) for each in smoothings]
        return min(self._tried(self._held_out, *ways), key=_loss)

    def _tried(self, held_out: HeldOut, *ways: Way) -> list[Trial]:
        """What held-out documents say of each of these."""
        trials = held_out.compare(*ways, optimize=self.modelling.optimize)
        for trial in trials:
            self.listener.on_trial(trial.way.name, trial.selection)
        return trials

    def _smoothing(self) -> float:
        """The given smoothing, else what leave-one-out finds best for the labeled documents alone."""
        if self.modelling.smoothing is not None:
            return self.modelling.smoothing
        statistics, sample = self.pair.statistics, self.pair.sample
        n_hapax = count_hapaxes(statistics, sample) if self.pair.is_alone[0].any() else None
        model, prior = self.modelling.event_model, self.modelling.effective_prior
        left_out = LeaveOneOut(statistics, sample, n_hapax, model, prior, self.jobs)
        return select_smoothing(left_out, None, calibrate=True).hyperparameters.smoothing

    @cached_property
    def _held_out(self) -> HeldOut:
        """The labeled documents that judge, fewer where there are very many labels."""
        pair = self.pair
        most = np.arange(min(len(pair.sample), max(1, MOST_SCORES // pair.statistics.n_classes)))
        return HeldOut(pair.statistics, pair.sample.take(most), pair.lengths[most], pair.is_alone[1], self.jobs)

    @property
    def _alone(self) -> HeldOut:
        """The same over the features of labeled documents only."""
        whole, used = self._held_out, np.flatnonzero(np.diff(self.pair.statistics.indptr))
        sample = whole.sample.restrict(used, self.pair.statistics.n_features)
        is_alone = self.pair.is_alone[0][used]
        return HeldOut(whole.statistics.restricted(used), sample, whole.lengths, is_alone, self.jobs)


def _loss(trial: Trial) -> float:
    return trial.loss
