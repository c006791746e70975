"""Learning curves: metrics of models trained on growing parts of a corpus, which is read once.

Source: Ng and Jordan, On Discriminative vs. Generative Classifiers, 2002: a generative model leads
on few documents, a discriminative one on many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np

from nbtext.applications.compare.settings import CurveSettings
from nbtext.arrays import Integers, Integers32
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import InputError, SettingsError, number_of
from nbtext.evaluation.cross_validation import predict_documents
from nbtext.evaluation.evaluator import Evaluation, Evaluator
from nbtext.evaluation.metrics import CURVES
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import align_to_vocabulary
from nbtext.parallel import parallel_map

FIRST_SIZE = 50
LARGEST_SHARE = 0.7  # of the documents is trained on, the rest is tested on


class Point(NamedTuple):
    """A model trained on `size` documents: the metrics of `CURVES`, each with a value for every
    seed.

    unknown_label  Test documents of each seed whose label the model does not know, which the
                   log-loss leaves out.
    """

    model: str
    size: int
    values: dict[str, tuple[float, ...]]
    unknown_label: tuple[int, ...] = ()

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over the seeds in which it was measured; NaN if there are
        none.
        """
        return fmean(self.values[metric] or (math.nan,))

    def deviation(self, metric: str) -> float | None:
        """Return the standard deviation of a metric over the seeds; None if there is only one."""
        return stdev(self.values[metric]) if len(self.values[metric]) > 1 else None


class LearningCurves(NamedTuple):
    """Learning curves of several models.

    documents       Number of documents of the corpus.
    test_documents  Number of test documents, which are the same for all points of a seed.
    points          The points, by size, then in the order of the models.
    """

    documents: int
    test_documents: int
    labels: tuple[str, ...]
    seeds: int
    points: tuple[Point, ...]


def compute_learning_curves(
    corpus: CorpusCounts,
    settings: CurveSettings,
    *,
    features: FeatureSettings,
    model_settings: Sequence[ModelSettings],
    test: CorpusCounts | None = None,
    jobs: int = 1,
    track: Callable[[Iterator[list[Evaluation]], int], Iterable[list[Evaluation]]] | None = None,
) -> LearningCurves:
    """Train models on growing parts of a corpus, and test each on documents that are in no part.

    The parts of a seed are nested and stratified. Vocabulary, weights, smoothing and calibration
    come from the part alone, as in training on its files. All models and sizes of a seed have the
    same test documents. The model of a part does not know the labels that the part lacks.

    Parameters
    ----------
    corpus : CorpusCounts
        The counted corpus, with every document in its sample.
    model_settings : Sequence[ModelSettings]
        Settings of the models.
    test : CorpusCounts, optional
        Documents to test on, all in its sample; None: those that are in no part.
    jobs : int
        Number of threads.
    track : Callable[[Iterator[list[Evaluation]], int], Iterable[list[Evaluation]]], optional
        Shows the progress; gets the results of the parts and their number, and yields the results.

    Raises
    ------
    SettingsError
        A part is larger than the corpus allows.
    InputError
        There are fewer than two documents.
    """
    everything = align_to_vocabulary(corpus, features)
    n_documents = len(everything.sample)
    sizes = _sizes(settings.sizes, n_documents, has_test=test is not None)
    tested = everything.sample
    labels = everything.labels
    if test is not None:
        other = align_to_vocabulary(test, features)
        tested = other.sample_over(everything.vocabulary)
        labels = test.labels

    def evaluate(documents: tuple[Integers, Integers]) -> list[Evaluation]:
        """Train each model on documents of the corpus, and evaluate it on others; both are
        positions.
        """
        training = everything.take(np.sort(documents[0]))
        held_out = tested.take(documents[1])
        evaluations = []
        for each in model_settings:
            evaluator = Evaluator()
            sets = [(label,) for label in labels]
            evaluator.add_all(
                predict_documents(training, held_out, sets, features=features, model_settings=each)
            )
            evaluations.append(evaluator.evaluation())
        return evaluations

    splits = []
    for seed in range(1, settings.seeds + 1):
        order = growing_order(everything.sample.classes, seed=seed)
        others = order[sizes[-1] :] if test is None else np.arange(len(tested))
        splits += [(order[:size], others) for size in sizes]
    results = parallel_map(evaluate, splits, jobs=jobs)
    evaluations = list(track(results, len(splits)) if track is not None else results)
    points = []
    for place, size in enumerate(sizes):
        of_size = evaluations[place :: len(sizes)]
        for number, model in enumerate(each.model for each in model_settings):
            of_model = [of_seed[number] for of_seed in of_size]
            values = {}
            for name in (metric.name for metric in CURVES):
                values[name] = tuple(
                    each.metrics[name] for each in of_model if name in each.metrics
                )
            unknown = tuple(each.unknown_label or 0 for each in of_model)
            points.append(Point(model, size, values, unknown))
    return LearningCurves(
        n_documents, len(others), everything.labels, settings.seeds, tuple(points)
    )


def growing_order(classes: Integers32, *, seed: int) -> Integers:
    """Shuffle documents so that every prefix of the order is stratified.

    Parameters
    ----------
    classes : array of int32
        Shape (n_documents,).
    """
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    sizes = np.bincount(classes)
    ranks = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # the i-th of the n documents of a class comes after (i + ½) / n of the corpus
    shares = (ranks + 0.5) / np.repeat(sizes, sizes)
    return by_class[np.lexsort((np.argsort(shuffled)[by_class], shares))]


def _sizes(wanted: tuple[int, ...] | None, n_documents: int, *, has_test: bool) -> list[int]:
    """Return the sizes of the parts, ascending."""
    maximum = n_documents if has_test else n_documents - 1
    if n_documents < 2:
        raise InputError(
            f"a learning curve needs at least 2 documents; found {number_of(n_documents, 'document')}"
        )
    if wanted is not None:
        if max(wanted) > maximum:
            what = f"{max(wanted):,} is more than the {number_of(maximum, 'document')} that can be used for training"
            hint = (
                "leave some for the test, or give test documents with --test"
                if not has_test
                else ""
            )
            raise SettingsError(what, where="--sizes", hint=hint)
        return sorted(set(wanted))
    largest = n_documents if has_test else max(1, int(LARGEST_SHARE * n_documents))
    doubled = [FIRST_SIZE << step for step in range(40) if FIRST_SIZE << step < largest]
    return [*doubled, largest]
