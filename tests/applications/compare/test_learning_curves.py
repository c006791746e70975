"""Learning curves: fair parts, and models that know of nothing but their part."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.applications.compare.learning_curves import compute_learning_curves, growing_order
from nbtext.applications.compare.settings import CurveSettings
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.text_classifier import TextClassifier

WORDS = ("red", "green", "blue", "sea", "sun", "sky", "and", "the")


def texts_of(n: int) -> tuple[list[str], list[str]]:
    """Texts, each with a word of its own, and labels that their words tell."""
    dice = random.Random(7)
    labels = [dice.choice(("cold", "cold", "warm")) for _ in range(n)]
    favorites = {"cold": ("blue", "sea"), "warm": ("red", "sun")}
    texts = [
        " ".join([f"id{i}", *dice.choices(WORDS + favorites[label] * 2, k=6)])
        for i, label in enumerate(labels)
    ]
    return texts, labels


def corpus_of_texts(texts: list[str], labels: list[str], features: FeatureSettings) -> CorpusCounts:
    builder = CorpusCounter(features, sample_size=None)
    builder.add(Batch([str(i) for i in range(len(texts))], (texts,), list(labels)))
    return builder.finish()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 9))
def test_every_beginning_is_stratified(drawn: list[int], seed: int) -> None:
    """It holds each class in its share of all documents, give or take one document and rounding."""
    classes = np.unique(np.array(drawn), return_inverse=True)[1].astype(np.int32)
    order = growing_order(classes, seed=seed)
    assert sorted(order) == list(range(len(classes)))
    n_classes = classes.max() + 1
    for size in range(1, len(classes) + 1):
        held = np.bincount(classes[order[:size]], minlength=n_classes)
        assert (
            np.abs(held - size * np.bincount(classes) / len(classes)).max() <= n_classes / 2 + 0.5
        )


@pytest.mark.parametrize(
    "options", [{}, {"hash_bits": 8}, {"idf": "smooth", "norm": "l2"}, {"min_df": 2}], ids=str
)
@pytest.mark.parametrize(
    "model", str.split("multinomial dirichlet bernoulli complement categorical gaussian")
)
def test_a_part_is_what_train_and_evaluate_give(model: str, options: dict[str, Any]) -> None:
    """On the same documents: those of the part, and those that are in no part."""
    texts, labels = texts_of(40)
    features = FeatureSettings(**options)
    settings = ModelSettings(model=model)
    corpus = corpus_of_texts(texts, labels, features)
    curves = CurveSettings(sizes=(20, 30), seeds=2)
    found = compute_learning_curves(corpus, curves, features=features, model_settings=[settings])
    alone = [
        corpus_of_texts([text], [label], features).sample.hashes[0]
        for text, label in zip(texts, labels, strict=True)
    ]
    numbers = [alone.index(each) for each in corpus.sample.hashes]
    expected = []
    for seed in (1, 2):
        order = [numbers[row] for row in growing_order(corpus.sample.classes, seed=seed)]
        part, others = order[:20], order[30:]
        classifier = TextClassifier.from_settings(features, settings)
        classifier.fit([texts[i] for i in part], [labels[i] for i in part])
        log_probabilities = classifier.predict_log_proba([texts[i] for i in others])
        known = [classifier.classes_.tolist().index(labels[i]) for i in others]
        expected.append(-log_probabilities[np.arange(10), known].mean())
    assert [point.size for point in found.points] == [20, 30]
    point = found.points[0]
    np.testing.assert_allclose(point.values["log_loss"], expected, rtol=1e-10)
    assert point.mean("log_loss") == pytest.approx(sum(expected) / 2)
    assert point.deviation("log_loss") == pytest.approx(abs(np.subtract(*expected)) / np.sqrt(2))
    assert found.test_documents == 10


@pytest.mark.parametrize(
    ("n_documents", "wanted", "sizes"),
    [
        (1000, None, {50, 100, 200, 400, 700}),
        (2, None, {1}),
        (10, (5, 3), {3, 5}),
    ],
)
def test_sizes_double_up_to_seventy_percent(
    n_documents: int, wanted: tuple[int, ...] | None, sizes: set[int]
) -> None:
    """The rest is tested on."""
    texts, labels = texts_of(n_documents)
    features = FeatureSettings()
    found = compute_learning_curves(
        corpus_of_texts(texts, labels, features),
        CurveSettings(sizes=wanted, seeds=2),
        features=features,
        model_settings=[ModelSettings(calibrate=False)],
    )
    assert {point.size for point in found.points} == sizes
    assert found.test_documents == n_documents - max(sizes)
