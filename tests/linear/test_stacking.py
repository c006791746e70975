"""Stacking: the parts, their weights, and the sum of their scores, beside the parts that are fitted
by themselves.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.combination import fit_weights
from nbtext.bayes.diagnostics import Part
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.settings import STACKED, LinearSettings, ModelSettings
from nbtext.documents.batch import Batch
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import inverse_document_frequencies
from nbtext.linear import stacking
from nbtext.linear.data import SolverSettings, TrainingData
from nbtext.linear.stacking import Stack
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.fitting import fit_model
from nbtext.model.predictor import Predictor

VIEWS = ("char_wb:1,3", "word:1,2")
FEATURES = FeatureSettings(view=VIEWS, tf="binary", norm="l2")


def made_texts(n: int, n_labels: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Short texts of words whose frequencies depend on the label; words of a label share
    letters.
    """
    random = Random(seed)
    letters = "abcdefghijklmnop"
    words = ["".join(random.choices(letters[k % 13 : k % 13 + 4], k=4)) for k in range(120)]
    weights = [[random.random() ** 4 for _ in words] for _ in range(n_labels)]
    labels = [i % n_labels for i in range(n)]
    return [" ".join(random.choices(words, weights[k], k=9)) for k in labels], [
        f"label {k}" for k in labels
    ]


def counted(
    texts: list[str], labels: list[str], features: FeatureSettings = FEATURES
) -> CorpusCounts:
    counter = CorpusCounter(features, sample_size=None)
    counter.add(Batch(list(map(str, range(len(texts)))), (texts,), list(labels)))
    return counter.finish()


def fitted(
    texts: list[str], labels: list[str], features: FeatureSettings = FEATURES, **options: Any
) -> FittedModel:
    return fit_model(
        counted(texts, labels, features), features, ModelSettings(model=STACKED), **options
    )


def training_data(
    corpus: CorpusCounts, features: FeatureSettings, start: int, stop: int
) -> TrainingData:
    """The weighted documents over the columns of a view."""
    sample, _ = corpus.weigh_documents(features)
    n_features = corpus.statistics.n_features
    documents = sample.restrict(np.arange(start, stop), n_features)
    return TrainingData(documents, stop - start, len(corpus.labels))


def score_part(part: Part, data: TrainingData) -> Any:
    """The scores of the training documents by a part that is fitted to them by itself."""
    if part.C is None:
        statistics = count_classes(data.table, data.n_features, data.n_classes)
        scorer = EVENT_MODELS[part.model].compile(
            statistics, smoothing=part.smoothing * data.table.counts.mean()
        )
        return scorer.scores(data.table.indptr, data.table.indices, data.table.counts)
    if part.idf == "smooth":
        frequencies = np.bincount(data.table.indices, minlength=data.n_features)
        idf = inverse_document_frequencies(frequencies, n_documents=len(data), idf="smooth")[
            data.table.indices
        ]
        scaled = data.table.counts * idf
        scaled *= np.sqrt((data.table.counts**2).sum() / (scaled**2).sum())
        data = replace(data, documents=replace(data.table, counts=scaled))
    problem = stacking.LINEAR_PARTS[part.model](data, LinearSettings())
    scorer = problem.scorer(problem.solve(SolverSettings(part.C, tolerance=1e-7)))
    return scorer.scores(data.table.indptr, data.table.indices, data.table.counts)


@pytest.mark.parametrize(
    ("n_labels", "features"), [(2, FEATURES), (4, FEATURES), (3, replace(FEATURES, view=()))]
)
def test_scores_are_the_weighted_sum_of_the_parts(n_labels: int, features: FeatureSettings) -> None:
    """Each part is fitted to the columns of its view alone; labels have scores up to a constant."""
    corpus = counted(*made_texts(240, n_labels), features)
    model = fit_model(corpus, features, ModelSettings(model=STACKED))
    sample, _ = corpus.weigh_documents(features)
    found = model.scorer.scores(sample.indptr, sample.indices, sample.counts)
    expected = np.zeros_like(found)
    bounds = (
        [0, corpus.statistics.n_features]
        if model.scorer.bounds is None
        else model.scorer.bounds.tolist()
    )
    places = dict(zip(features.view or ("",), pairwise(bounds), strict=True))
    for part in model.hyperparameters.parts:
        data = training_data(corpus, features, *places[part.view])
        if part.is_of_words:
            is_word = np.array([" " not in term for term in corpus.vocabulary.terms])[
                slice(*places[part.view])
            ]
            documents = data.table.filter_entries(is_word[data.table.indices])
            data = replace(data, documents=documents)
        expected += part.weight * score_part(part, data)
    found, expected = (each - each.mean(axis=1, keepdims=True) for each in (found, expected))
    np.testing.assert_allclose(found, expected, atol=0.01 * np.abs(expected).mean())


def test_naive_bayes_is_left_out_exactly() -> None:
    """Its leave-one-out scores are those of models of the other documents, which lack the words of
    this one.
    """
    corpus = counted(*made_texts(40, 3), replace(FEATURES, view=()))
    data = training_data(corpus, replace(FEATURES, view=()), 0, corpus.statistics.n_features)
    stack = Stack(data, LinearSettings())
    part, found = stack._choose_bayes(stack._fitted[0].view, np.arange(len(data)))
    smoothing = part.smoothing * data.table.counts.mean()
    for row in range(len(data)):
        others = [k for k in range(len(data)) if k != row]
        documents = data.table
        rest = count_classes(documents.take(np.array(others)), data.n_features, data.n_classes)
        own = documents.take(np.array([row]))
        known = rest.document_frequencies[own.indices] > 0
        scorer = EVENT_MODELS[part.model].compile(rest, smoothing=smoothing)
        scores = scorer.scores(np.array([0, known.sum()]), own.indices[known], own.counts[known])[0]
        np.testing.assert_allclose(
            found[row] - found[row].mean(), scores - scores.mean(), atol=1e-9
        )


def test_a_view_that_says_nothing_has_no_part() -> None:
    """Its weights would be small, and its columns cost time."""
    texts, labels = made_texts(400, 3)
    # each word is another one
    useful = fitted([f"{text.replace(' ', '')}" for text in texts], labels)
    assert {part.view for part in useful.hyperparameters.parts} == {"char_wb:1,3"}


@pytest.mark.parametrize("seed", [1, 2])
def test_parts_that_say_little_are_left_out(seed: int) -> None:
    """Words of which few repeat say a little of what their characters say: they have no part, and
    each of these has.
    """
    texts, labels = made_texts(400, 2, seed + 1)
    random = Random(seed)
    extended = []
    for text in texts:
        words = [
            f"{word}{chr(97 + random.randrange(26))}{random.randrange(30)}" for word in text.split()
        ]
        extended.append(" ".join(words))
    model = fitted(extended, labels)
    found = {(part.view, part.model) for part in model.hyperparameters.parts}
    assert found == {("char_wb:1,3", name) for name in ("multinomial", "nbsvm", "svm")}


def test_the_estimate_is_held_out_from_the_weights() -> None:
    """The sums of each half have the weights that were fitted to the other half."""
    features = replace(FEATURES, view=())
    corpus = counted(*made_texts(90, 3), features)
    data = training_data(corpus, features, 0, corpus.statistics.n_features)
    folds = (np.arange(len(data)) % 5).astype(np.int32)
    solver = SolverSettings(1.0)
    stack, parts = (Stack(data, LinearSettings()) for _ in range(2))
    sums = stack.score_folds(folds, solver, stack.solve(solver))
    scores = parts.score_parts(folds, solver)
    classes = data.table.classes
    half = len(data) // 2
    scores -= scores.mean(axis=2, keepdims=True)
    found = []
    for own, other in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
        columns = scores[:, own].reshape(len(scores), -1).T
        weights, residuals, rank, _ = np.linalg.lstsq(columns, sums[own].ravel(), rcond=None)
        assert (rank, residuals.tolist()) == (len(scores), [pytest.approx(0, abs=1e-9)])
        expected = fit_weights(JudgedDocuments(scores[:, other], None, classes[other])).weights
        np.testing.assert_allclose(weights / weights.sum(), expected, atol=0.01)
        found.append(weights)
    assert np.abs(found[0] - found[1]).max() > 0.05


def test_the_weights_stay_near_equal_with_few_documents() -> None:
    """Of 30 documents, no part of a view that tells the labels apart loses its weight to another
    one.
    """
    model = fitted(*made_texts(30, 3))
    assert len(model.hyperparameters.parts) == 6
    assert {part.model for part in model.hyperparameters.parts if part.C is None} <= {
        "multinomial",
        "complement",
    }


def test_parts_depend_on_the_view_and_the_number_of_labels() -> None:
    """With more than two labels, one of words is over single words; without characters, NB-SVM is,
    too.
    """

    def linear_parts(
        n_labels: int, features: FeatureSettings = FEATURES
    ) -> list[tuple[str, str, str, bool]]:
        corpus = counted(*made_texts(60, n_labels), features)
        parts = fit_model(
            corpus, features, ModelSettings(model=STACKED, calibrate=False)
        ).hyperparameters.parts
        return [
            (each.view.split(":")[0], each.model, each.idf, each.is_of_words)
            for each in parts
            if each.C
        ]

    characters = [("char_wb", "nbsvm", "none", False), ("char_wb", "svm", "smooth", False)]
    assert linear_parts(2) == [
        *characters,
        ("word", "nbsvm", "smooth", False),
        ("word", "svm", "smooth", False),
    ]
    assert linear_parts(3) == [
        *characters,
        ("word", "nbsvm", "none", False),
        ("word", "svm", "smooth", True),
    ]
    pairs = replace(FEATURES, view=(), ngrams=(1, 2))
    words = [("nbsvm", "none", False), ("svm", "smooth", True), ("nbsvm", "smooth", True)]
    assert linear_parts(3, pairs) == [("", *each) for each in words]


def test_threads_change_nothing() -> None:
    one, other = (fitted(*made_texts(300, 4), jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.scorer.deltas, other.scorer.deltas)
    assert one.hyperparameters == other.hyperparameters


def test_without_folds_all_parts_weigh_the_same() -> None:
    """One document of each label cannot be held out."""
    model = fitted(["red apple", "blue berry", "green pea"], list("abc"))
    assert model.estimate is None
    assert {part.weight for part in model.hyperparameters.parts} == {1 / 6}


@pytest.mark.exhaustive
def test_a_stack_is_more_accurate_than_its_parts(corpora: Callable[[str], Path]) -> None:
    """Half of the short reviews, and the test on 2,000 of the others: 0.768 beside 0.750 to
    0.762.
    """
    folder = corpora("rt-s")
    random = Random(1)
    paths = sorted(folder.glob("*/*.txt"))
    random.shuffle(paths)
    texts = [path.read_text("latin-1") for path in paths]
    labels = [path.parent.name for path in paths]
    training = counted(texts[:5000], labels[:5000])
    stack = fit_model(training, FEATURES, ModelSettings(model=STACKED))
    batch = Batch(list(map(str, range(2000))), (texts[5000:7000],), labels[5000:7000])

    def accuracy(model: FittedModel) -> float:
        predicted = Predictor(model).predict_batch(batch).labels
        return float(
            np.mean(
                [each == (label,) for each, label in zip(predicted, labels[5000:7000], strict=True)]
            )
        )

    others = [fit_model(training, FEATURES, ModelSettings(model=each)) for each in ("nbsvm", "svm")]
    assert accuracy(stack) > max(map(accuracy, others))
