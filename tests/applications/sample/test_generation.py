"""A model can generate documents, and training on them recovers the model."""

from itertools import islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nbtext.applications.sample.generation import generate_documents
from nbtext.documents.batch import Batch
from nbtext.errors import ModelError, SettingsError
from nbtext.text_classifier import TextClassifier

TEXTS = [
    "red round leaf",
    "green round no leaf",
    "red round shiny shiny shiny",
    "yellow curved long",
    "green curved long long",
    "yellow long soft soft",
    "wide street street",
    "round and yellow",
]
LABELS = ["apple", "apple", "apple", "banana", "banana", "banana", "city", "city"]
N = 30_000


def sampled(classifier: TextClassifier, number: int, **options: Any) -> Any:
    return generate_documents(classifier.model_, number, **options)


def trained_again(classifier: TextClassifier, **options: Any) -> TextClassifier:
    """Return a classifier that is trained on N generated documents of another, over its
    vocabulary.
    """
    documents = list(sampled(classifier, N, **options))
    again = TextClassifier(**classifier.get_params()).set_params(
        vocabulary=tuple(classifier.fitted_.vocabulary or ())
    )
    return again.fit([texts[0] for _, texts in documents], [label for label, _ in documents])


def dense(classifier: TextClassifier, values: NDArray[Any]) -> NDArray[Any]:
    """One value an entry of the statistics as a matrix (n_classes, n_features), over the
    classifier's vocabulary.
    """
    corpus = classifier.counts_
    matrix = np.zeros((len(corpus.labels), corpus.statistics.n_features))
    matrix[corpus.statistics.classes, corpus.statistics.entry_features] = values
    columns = {term: j for j, term in enumerate(corpus.vocabulary or ())}
    return np.stack(
        [
            matrix[:, columns[term]] if term in columns else matrix[:, 0] * 0
            for term in classifier.fitted_.vocabulary or ()
        ],
        axis=1,
    )


def assert_drawn(found: NDArray[Any], shares: NDArray[Any], totals: NDArray[Any]) -> None:
    """Assert that counts are binomial: none is over 5 standard deviations off, and their squares
    average 1.
    """
    deviations = (found - totals * shares) / np.sqrt(totals * shares * (1 - shares))
    assert np.abs(deviations).max() < 5
    assert abs((deviations**2).mean() - 1) < 5 * np.sqrt(2 / deviations.size)


@pytest.mark.parametrize("model", ["multinomial", "dirichlet"])
def test_multinomial_recovers_its_parameters(model: str) -> None:
    """Each word is drawn as often as its class uses it, each label as often as the prior says."""
    classifier = TextClassifier(model=model, smoothing=0.3).fit(TEXTS, LABELS)
    again = trained_again(classifier, length=7)
    statistics = again.counts_.statistics
    words = dense(again, statistics.occurrences)
    shares = np.exp(classifier.fitted_.scorer.weights())
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert_drawn(words, shares, words.sum(axis=1, keepdims=True))
    assert_drawn(statistics.class_documents, np.array([3, 3, 2]) / 8, np.array(N))
    assert words.sum() == 7 * N


def test_bernoulli_recovers_its_parameters() -> None:
    """The share of documents with each feature is its probability in the class."""
    classifier = TextClassifier(model="bernoulli", smoothing=0.3).fit(TEXTS, LABELS)
    again = trained_again(classifier)
    statistics = again.counts_.statistics
    n = np.array([[3], [3], [2]])
    held = dense(classifier, classifier.counts_.statistics.documents)
    assert_drawn(
        dense(again, statistics.documents),
        (held + 0.3) / (n + 0.6),
        statistics.class_documents[:, None],
    )
    np.testing.assert_array_equal(statistics.documents, statistics.occurrences)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_the_same_seed(model: str) -> None:
    """The same seed draws the same documents, another one others; of more of them, the first are
    the same.
    """
    classifier = TextClassifier(model=model).fit(TEXTS, LABELS)
    ten = list(sampled(classifier, 10, seed=7))
    assert ten == list(islice(sampled(classifier, 1000, seed=7), 10))
    assert ten != list(sampled(classifier, 10, seed=8))


def test_length() -> None:
    """A document is as long as was asked for, else as those of its label are on average."""
    classifier = TextClassifier(model="multinomial").fit(TEXTS, LABELS)
    assert {len(texts[0].split()) for _, texts in sampled(classifier, 20, length=12)} == {12}
    # 12 words in 3
    assert {len(texts[0].split()) for _, texts in sampled(classifier, 20, label="apple")} == {4}


def test_fields_apart() -> None:
    """Where fields are kept apart, each has its own text."""
    classifier = TextClassifier(model="multinomial", fields=("title", "body"))
    from nbtext.model.corpus_counts import CorpusCounter
    from nbtext.model.training import train_on_counts

    builder = CorpusCounter(classifier.feature_settings)
    builder.add(Batch(["1", "2"], (["good news", "bad"], ["text words", "body words"]), ["x", "y"]))
    model = train_on_counts(
        builder.finish(), classifier.feature_settings, classifier.model_settings
    )
    classifier = TextClassifier.from_model(model)
    for _, (title, body) in sampled(classifier, 50, length=10):
        assert set(title.split()) <= {"good", "news", "bad"}
        assert set(body.split()) <= {"text", "words", "body"}
        assert len(f"{title} {body}".split()) == 10


@pytest.mark.parametrize(
    "options",
    [
        {"model": "complement"},
        {"model": "categorical"},
        {"model": "nbsvm"},
        {"idf": "smooth"},
        {"tf": "binary"},
        {"hash_bits": 8},
        {"ngrams": (1, 2)},
        {"analyzer": "char", "ngrams": (3, 3)},
    ],
    ids=str,
)
def test_models_that_cannot_generate(options: dict[str, Any]) -> None:
    """A model that is not generative is refused, and the line says which are."""
    classifier = TextClassifier(**{"model": "multinomial", **options}).fit(TEXTS, LABELS)
    with pytest.raises(ModelError, match="model cannot generate documents; train with"):
        sampled(classifier, 1)


def test_invalid_options_of_generation() -> None:
    """An unknown label gives the nearest one in the error; the length of a Bernoulli document
    cannot be set.
    """
    with pytest.raises(SettingsError, match="did you mean banana"):
        sampled(TextClassifier(model="multinomial").fit(TEXTS, LABELS), 1, label="bananna")
    with pytest.raises(SettingsError, match="length"):
        sampled(TextClassifier(model="bernoulli").fit(TEXTS, LABELS), 1, length=3)
