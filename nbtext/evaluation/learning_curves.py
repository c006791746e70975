"""Learning curves: how good models become as they learn from more documents, from one reading of the text.

source  Ng and Jordan, On Discriminative vs. Generative Classifiers, 2002: the generative model is ahead on few
        documents, the discriminative one on many
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import InputError, SettingsError, number_of
from nbtext.evaluation.cross_validation import tried
from nbtext.evaluation.metrics import Evaluation, Judge
from nbtext.evaluation.settings import CurveSettings
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import over_vocabulary
from nbtext.parallel import parallel_map

FIRST_SIZE = 50
LARGEST_SHARE = 0.7  # of the documents, to learn from; the others judge


@dataclass(frozen=True, slots=True)
class Point:
    """What a model is worth that has learned from so many documents: a figure for each seed."""

    model: str
    size: int
    accuracies: tuple[float, ...]
    log_losses: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        return fmean(self.accuracies)

    @property
    def accuracy_deviation(self) -> float | None:
        return _deviation(self.accuracies)

    @property
    def log_loss(self) -> float:
        return fmean(self.log_losses)

    @property
    def log_loss_deviation(self) -> float | None:
        return _deviation(self.log_losses)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Learning curves of several models over the same documents."""

    documents: int  # to learn from and, where none are given, to judge by
    judged: int  # documents that each model was asked about
    labels: tuple[str, ...]
    seeds: int
    points: tuple[Point, ...]  # by size, then in the order of the models


def _deviation(figures: tuple[float, ...]) -> float | None:
    """The standard deviation over the seeds; None where there is but one."""
    return stdev(figures) if len(figures) > 1 else None


def learning_curves(
    tally: CorpusCounts,
    curves: CurveSettings,
    *,
    features: FeatureSettings,
    modelling: Sequence[ModelSettings],
    test: CorpusCounts | None = None,
    jobs: int = 1,
    track: Callable[[Iterator[list[Evaluation]], int], Iterable[list[Evaluation]]] | None = None,
) -> Comparison:
    """Train models on growing parts of a corpus, and judge each by documents that it has not learned from.

    The parts of a seed are nested, and hold each label in its share of the corpus as nearly as can be. Everything is of
    the part alone: vocabulary, weights, smoothing and calibration are what training on its files would give. A label
    that is not in the part is one that the model does not know.

    tally      with every document in its sample
    modelling  one for each of the models, in their order
    test       documents to judge by, all in its sample; None: those that no part of a seed holds
    jobs       number of threads
    track      shows the progress: gets the results of the parts, and their number, and yields the results
    raises     SettingsError: a part is larger than the corpus allows; InputError: there is too little to learn from
    """
    everything = over_vocabulary(tally, features)
    n_documents = len(everything.sample)
    sizes = _sizes(curves.sizes, n_documents, has_test=test is not None)
    shown = _common(everything, over_vocabulary(test, features)) if test is not None else None
    calls = []
    for seed in range(1, curves.seeds + 1):
        order = growing_order(everything.sample.classes, seed=seed)
        for size in sizes:
            held_out = (
                shown if shown is not None else _Documents(everything.sample, order[sizes[-1] :], everything.labels)
            )
            calls.append(partial(_judged, everything, order[:size], held_out, features, tuple(modelling)))
    results = parallel_map(lambda call: call(), calls, jobs=jobs)
    found = list(track(results, len(calls)) if track is not None else results)
    n_judged = len(test.sample) if test is not None else n_documents - sizes[-1]
    return Comparison(n_documents, n_judged, everything.labels, curves.seeds, tuple(_points(found, sizes, curves)))


def growing_order(classes: NDArray[np.int32], *, seed: int) -> NDArray[np.int64]:
    """The documents in an order of which every beginning holds each class in its share, as nearly as can be.

    classes  (n_documents,)
    """
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    sizes = np.bincount(classes)
    ranks = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # the i-th of n documents of a class comes when i + ½ of n parts of the corpus have been taken
    shares = (ranks + 0.5) / np.repeat(sizes, sizes)
    return by_class[np.lexsort((np.argsort(shuffled)[by_class], shares))]


@dataclass(frozen=True, slots=True, eq=False)
class _Documents:
    """Documents to judge by: rows of a sample over the features of the whole corpus, and the names of their classes."""

    sample: DocumentCounts
    rows: NDArray[np.int64]
    labels: tuple[str, ...]


def _common(everything: CorpusCounts, test: CorpusCounts) -> _Documents:
    """The documents of another tally over the features of this one; features that only they hold are left out."""
    sample = test.sample
    if everything.vocabulary is not None and test.vocabulary is not None and everything.vocabulary != test.vocabulary:
        places = everything.vocabulary.columns
        goals = np.array([places.get(term, -1) for term in test.vocabulary.terms], dtype=np.int32)
        known = np.flatnonzero(goals >= 0)
        sample = sample.restrict(known, test.statistics.n_features)
        sample = sample.renumber(goals[known], np.arange(len(test.labels), dtype=np.int32))
    return _Documents(sample, np.arange(len(sample)), test.labels)


def _sizes(wanted: tuple[int, ...] | None, n_documents: int, *, has_test: bool) -> list[int]:
    """How many documents to learn from, ascending."""
    most = n_documents if has_test else n_documents - 1
    if n_documents < 2:
        raise InputError(f"no learning curve can be made of {number_of(n_documents, 'document')}")
    if wanted is not None:
        if max(wanted) > most:
            hint = "leave some to judge by, or name others with --test" if not has_test else ""
            raise SettingsError(f"{max(wanted)} of {n_documents} documents are too many", where="--sizes", hint=hint)
        return sorted(set(wanted))
    largest = n_documents if has_test else max(1, int(LARGEST_SHARE * n_documents))
    doubled = [FIRST_SIZE << step for step in range(40) if FIRST_SIZE << step < largest]
    return [*doubled, largest]


def _judged(
    everything: CorpusCounts,
    documents: NDArray[np.int64],
    held_out: _Documents,
    features: FeatureSettings,
    modelling: tuple[ModelSettings, ...],
) -> list[Evaluation]:
    """What each model is worth that has learned these documents."""
    has_own_words = everything.vocabulary is not None and features.vocabulary is None
    training, columns = part_of(everything, np.sort(documents), has_own_words=has_own_words)
    others = held_out.sample.take(held_out.rows)
    if has_own_words:
        others = others.restrict(columns, everything.statistics.n_features)
    found = []
    for settings in modelling:
        judge = Judge()
        for predictions in tried(training, others, held_out.labels, features=features, modelling=settings):
            judge.add(predictions)
        found.append(judge.evaluation())
    return found


def part_of(
    everything: CorpusCounts, documents: NDArray[np.int64], *, has_own_words: bool
) -> tuple[CorpusCounts, NDArray[np.int64]]:
    """The tally of some documents of the sample alone, and the columns that it has kept.

    documents      ascending
    has_own_words  features that they do not hold are none
    """
    sample, n_features = everything.sample.take(documents), everything.statistics.n_features
    present, classes = np.unique(sample.classes, return_inverse=True)
    columns = (np.unique(sample.indices) if has_own_words else np.arange(n_features)).astype(np.int64)
    sample = replace(sample, classes=classes.astype(np.int32)).restrict(columns, n_features)
    vocabulary, weighting = everything.vocabulary, everything.weighting
    return replace(
        everything,
        labels=tuple(everything.labels[k] for k in present),
        vocabulary=vocabulary.restricted(columns) if vocabulary is not None else None,
        statistics=count_classes(sample, len(columns), len(present)),
        sample=sample,
        weighting=weighting.restricted(columns) if weighting is not None else None,
    ), columns


def _points(found: list[list[Evaluation]], sizes: list[int], curves: CurveSettings) -> Iterator[Point]:
    for place, size in enumerate(sizes):
        of_size = found[place :: len(sizes)]
        for number, model in enumerate(curves.models):
            evaluations = [of_seed[number] for of_seed in of_size]
            yield Point(
                model, size, tuple(each.accuracy for each in evaluations), tuple(each.log_loss for each in evaluations)
            )
