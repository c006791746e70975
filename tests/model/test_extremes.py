"""Extreme numbers: no overflow, underflow or NaN."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier, load_model, save_model
from nbtext.bayes.class_statistics import MAX_COUNTED
from nbtext.bayes.settings import LARGEST_FACTOR, SMALLEST_FACTOR
from nbtext.errors import InputError, ModelError, NbtextError, SettingsError
from nbtext.features.document_table import DocumentTable
from nbtext.features.matrix import Columns, Matrix
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.kernel import HAS_KERNEL
from nbtext.model.training import train_on_counts

MANY = 100_000 if HAS_KERNEL else 10_000
ADDITIVE = ["multinomial", "dirichlet", "bernoulli", "complement"]
MODELS = [*ADDITIVE, "categorical", "gaussian"]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"tf": "binary"},
    {"idf": "smooth", "norm": "l2"},
    {"tf": "log", "norm": "l1"},
    {"tf": "relative", "idf": "plain"},
]
CORPORA: dict[str, tuple[list[str], list[str]]] = {
    "one class": (["red round", "red", "green"], ["a"] * 3),
    "one document": (["red round"], ["a"]),
    "one feature": (["red", "red red", "red"], ["a", "b", "b"]),
    "equal documents": (["red round"] * 6, ["a", "b"] * 3),
    "equal documents of one class": (["red round"] * 6, ["a"] * 6),
    "an empty document": (["red", "", "round"], ["a", "b", "b"]),
    "many tokens": (["red round leaf " * (MANY // 3 + 1), "green", "green red"], ["a", "b", "b"]),
    "many different tokens": (
        [" ".join(f"w{n}" for n in range(MANY)), "w1 w2", "w3"],
        ["a", "b", "b"],
    ),
}
QUESTIONS = ["red", "red round " * (MANY // 2), "unheard of", "", "green leaf w1"]


def assert_sane(classifier: TextClassifier) -> None:
    """Assert that probabilities are finite and sum to one, and that each document has a label."""
    probabilities = classifier.predict_proba(QUESTIONS)
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
    assert set(classifier.predict(QUESTIONS)) <= set(classifier.classes_)


@pytest.mark.exhaustive(every=7)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_extreme_corpora(model: str, corpus: str, variant: int, tmp_path: Path) -> None:
    """Each model learns from each corpus, answers sanely, and is saved and loaded; NumPy warns of
    nothing.
    """
    texts, labels = CORPORA[corpus]
    try:
        classifier = TextClassifier(model=model, **VARIANTS[variant]).fit(texts, labels)
    except NbtextError:
        assert corpus.startswith("one")  # a model may need two classes, and says so
        return
    assert_sane(classifier)
    save_model(classifier, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(
        loaded.predict_proba(QUESTIONS), classifier.predict_proba(QUESTIONS)
    )


@pytest.mark.exhaustive(every=7)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("smoothing", [0.0, SMALLEST_FACTOR, 1e-12, 1.0, 1e6, LARGEST_FACTOR])
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_extreme_smoothings(model: str, smoothing: float, variant: int) -> None:
    """From the maximum likelihood to next to nothing learned."""
    texts = ["red round leaf", "green round", "yellow long", "yellow curved long", "red"]
    for calibrate in (True, False):
        options = {**VARIANTS[variant], "smoothing": smoothing, "calibrate": calibrate}
        assert_sane(TextClassifier(model=model, **options).fit(texts, ["a", "a", "b", "b", "c"]))


@pytest.mark.parametrize("prior", [SMALLEST_FACTOR, LARGEST_FACTOR])
def test_extreme_priors(prior: float) -> None:
    """A class that is all but impossible, or all but certain."""
    texts = ["red round leaf", "green round", "yellow long", "yellow curved long"]
    labels = ["a", "a", "b", "b"]
    for model in MODELS:
        assert_sane(TextClassifier(model=model, prior=(prior, 1.0)).fit(texts, labels))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("smoothing", 1e308),
        ("smoothing", 1e-320),
        ("smoothing", float("nan")),
        ("prior", (1e308, 1e308)),
        ("min_df", 10**400),
        ("select", ("chi2", 10**400)),
    ],
)
def test_numbers_beyond_are_refused(option: str, value: Any) -> None:
    """What no sum or ratio would be a finite number of is wrong usage, and not a model of nothing
    or no end.
    """
    with pytest.raises(SettingsError) as caught:
        TextClassifier(model="multinomial", **{option: value}).fit(
            ["red round", "green leaf"], ["a", "b"]
        )
    assert caught.value.where == option


@pytest.mark.parametrize("model", ADDITIVE)
def test_counts_of_a_quadrillion(model: str) -> None:
    """10^15 occurrences and documents are added up exactly, and read as a model."""
    classifier = TextClassifier(model=model, smoothing=1.0).fit(
        ["red round", "green red", "green"], ["a", "b", "b"]
    )
    corpus_counts = classifier.counts_
    large = 10**15 + 1
    statistics = replace(
        corpus_counts.statistics,
        class_documents=corpus_counts.statistics.class_documents * large,
        documents=corpus_counts.statistics.documents * large,
        occurrences=corpus_counts.statistics.occurrences * large,
    )
    doubled = statistics + statistics
    assert doubled.occurrences.tolist() == [
        2 * n * large for n in corpus_counts.statistics.occurrences.tolist()
    ]
    assert doubled.class_occurrences.tolist() == [
        2 * n * large for n in corpus_counts.statistics.class_occurrences.tolist()
    ]
    counts = replace(corpus_counts, statistics=doubled)
    model = train_on_counts(counts, classifier.feature_settings, classifier.model_settings)
    assert_sane(TextClassifier.from_model(model))


def test_counts_beyond_int64_are_refused() -> None:
    """A sum that int64 could not hold is an error, not a negative number."""
    statistics = (
        TextClassifier(smoothing=1.0).fit(["red round", "green"], ["a", "b"]).counts_.statistics
    )
    half = replace(statistics, occurrences=np.full_like(statistics.occurrences, MAX_COUNTED // 3))
    with pytest.raises(ModelError, match="the largest that is supported"):
        half + half


def test_a_matrix_of_too_large_counts_is_refused() -> None:
    """A count that 32 bits do not hold is an error, not another number; so are weights that no
    model file holds.
    """
    names = Vocabulary.from_terms(["red", "round"])
    columns = Columns(FeatureSettings(), names, Weighting())
    for data, said in (
        ([1, 2**33], "above 2,147,483,647"),
        ([1.0, 1e19], "could overflow"),
        ([1e308, 1e308], "could overflow"),
    ):
        indices = np.array([0, 1], dtype=np.int32)
        rows = DocumentTable.from_texts(np.arange(3), indices, np.array(data), np.zeros(2, int))
        matrix = Matrix(rows, names, 2, ["1", "2"], ["a", "b"], columns)
        with pytest.raises(InputError, match=said):
            TextClassifier().fit_matrix(matrix)
