"""Learning curves: metrics of models trained on growing parts of a corpus, which is read once.

Source: Ng and Jordan, On Discriminative vs. Generative Classifiers, 2002: a generative model leads
on few documents, a discriminative one on many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtext.applications.compare.settings import CurveSettings
from nbtext.arrays import Integers, Integers32
from nbtext.bayes.settings import ModelSettings, check_label_count
from nbtext.bayes.smoothing import limit_judged
from nbtext.errors import InputError, SettingsError, number_of
from nbtext.evaluation.cross_validation import predict_documents
from nbtext.evaluation.evaluator import Evaluator
from nbtext.evaluation.metrics import CURVES
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import align_to_vocabulary
from nbtext.parallel import parallel_map

FIRST_SIZE = 50
LARGEST_SHARE = 0.7  # of the documents is trained on, the rest is tested on
UNKNOWN_LABEL = "unknown_label"


class Point(NamedTuple):
    """A model trained on `size` documents.

    values  For each split, the metrics of `CURVES`, and the number of test documents whose label
            the model does not know, which the log-loss leaves out; NaN if it is not measured.
    """

    model: str
    size: int
    values: dict[str, tuple[float, ...]]

    def mean(self, name: str) -> float:
        """Return the mean over the splits."""
        return float(np.mean(self.values[name]))

    def deviation(self, name: str) -> float:
        """Return the standard deviation over the splits."""
        return float(np.std(self.values[name], ddof=1))


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
    jobs: int = 1,
    track: Callable[[Iterator[Any], int], Iterable[Any]] = lambda results, _: results,
) -> LearningCurves:
    """Train models on growing parts of a corpus, and test each on documents that are in no part.

    The parts of a seed are nested and stratified. Vocabulary, weights, smoothing and calibration
    come from the part alone, as in training on its files. All models and sizes of a seed have the
    same test documents, which are in no part. The model of a part does not know the labels that the
    part lacks.

    Parameters
    ----------
    corpus : CorpusCounts
        The counted corpus, with every document in its sample.
    model_settings : Sequence[ModelSettings]
        Settings of the models.
    jobs : int
        Number of threads.
    track : Callable[[Iterator[Any], int], Iterable[Any]]
        Shows the progress; gets the results of the parts and their number, and yields the results.

    Raises
    ------
    SettingsError
        A part is larger than the corpus allows.
    InputError
        There are fewer than two documents.
    """
    everything = align_to_vocabulary(corpus, features)
    sample = everything.sample
    sizes = _sizes(settings.sizes, len(sample))
    check_label_count(len(corpus.labels), "a learning curve", "models")
    n_tested = limit_judged(len(sample) - sizes[-1], len(corpus.labels))
    names = [*(metric.name for metric in CURVES), UNKNOWN_LABEL]

    def evaluate(documents: tuple[Integers, Integers]) -> list[list[float]]:
        """Train each model on documents of the corpus, and evaluate it on others; both are
        positions.
        """
        training = everything.take(np.sort(documents[0]))
        held_out = sample.take(documents[1])
        found = []
        for each in model_settings:
            evaluator = Evaluator()
            for batch in predict_documents(
                training, held_out, everything.sets, features=features, model_settings=each
            ):
                evaluator.add(batch)
            evaluation = evaluator.evaluation()
            figures = {**evaluation.metrics, UNKNOWN_LABEL: evaluation.unknown_label or 0}
            found.append([figures.get(name, math.nan) for name in names])
        return found

    splits = []
    for seed in range(1, settings.seeds + 1):
        order = growing_order(sample.classes, seed=seed)
        splits += [(order[:size], order[sizes[-1] :][:n_tested]) for size in sizes]
    results = list(track(parallel_map(evaluate, splits, jobs=jobs), len(splits)))
    points = []
    for place, size in enumerate(sizes):
        # of each model, the figures of each split
        of_models = zip(*results[place :: len(sizes)], strict=True)
        for each, of_model in zip(model_settings, of_models, strict=True):
            values = dict(zip(names, zip(*of_model, strict=True), strict=True))
            points.append(Point(each.model, size, values))
    return LearningCurves(len(sample), n_tested, everything.labels, settings.seeds, tuple(points))


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


def _sizes(wanted: tuple[int, ...] | None, n_documents: int) -> list[int]:
    """Return the sizes of the parts, ascending."""
    if n_documents < 2:
        raise InputError(
            f"a learning curve needs at least 2 documents; found {number_of(n_documents, 'document')}"
        )
    if wanted is None:
        largest = max(1, int(LARGEST_SHARE * n_documents))
        doubled = [FIRST_SIZE << step for step in range(40) if FIRST_SIZE << step < largest]
        return [*doubled, largest]
    if max(wanted) >= n_documents:
        what = f"{max(wanted):,} is too large for {number_of(n_documents, 'document')}"
        raise SettingsError(what, where="--sizes", hint="leave some for the test")
    return sorted(set(wanted))
