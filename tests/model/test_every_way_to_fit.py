"""Every parameter of the classifier, in every way to fit it: it means the same, or it is refused by
its name.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source, open_source
from nbtext.errors import NbtextError, SettingsError
from nbtext.features.matrix import save_matrix
from nbtext.features.settings import FeatureSettings
from nbtext.model.matrices import vectorize_source
from nbtext.text_classifier import TextClassifier

VALUES: list[dict[str, Any]] = [
    {"analyzer": "char"},
    {"ngrams": (1, 2)},
    {"view": ("word:1", "char_wb:2,3")},
    {"token_pattern": r"\w+"},
    {"lowercase": False},
    {"strip_accents": "ascii"},
    {"stop_words": ("of", "w1")},
    {"stem": "english"},
    {"fields": ("title", "text")},
    {"min_df": 3},
    {"max_df": 0.3},
    {"max_features": 5},
    {"vocabulary": ("w1", "w2", "w3", "w4")},
    {"hash_bits": 6},
    {"select": ("mi", 6)},
    {"tf": "log"},
    {"idf": "smooth"},
    {"norm": "l2"},
    {"C": 3.0, "model": "svm"},
    {"loss": "hinge", "model": "svm"},
    {"folds": 3, "model": "svm"},
    {"seed": 7, "model": "logistic"},
    {"smoothing": 0.3},
    {"prior": "uniform"},
    {"class_weight": "balanced"},
    {"calibrate": False},
    {"optimize": "macro_f1"},
    {"min_recall": (("a", 0.6),)},
    {"min_precision": (("a", 0.6),)},
    {"confidence": 0.8, "min_recall": (("a", 0.6),)},
    {"normalize_weights": True, "model": "complement"},
    {"values": 3, "model": "categorical"},
    {"keep_sample": 20},
    {"vectors": "words.vec"},
    {"vectors": "words.vec", "vector_words": 2},
    {"vectors": "words.vec", "more_words": ("w12",)},
    {"vectors": "words.vec", "names": (("a", "w12"),)},
    *(
        {"model": model}
        for model in ("best", "combined", "stacked", "bernoulli", "dirichlet", "gaussian")
    ),
    {"model": "best", "min_df": 3},
    {"model": "best", "keep_sample": 20},
    {"model": "best", "optimize": "macro_f1"},
]
OF_TEXTS = ("best", "combined")  # models that a matrix of words cannot be trained to be
OF_COLUMNS = ("min_df", "max_df", "max_features", "select", "tf", "idf", "norm")


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of word vectors in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    lines = [f"w{j} {j % 4} {j % 3} {1 + j % 2}\n" for j in range(14)]
    Path("words.vec").write_text("".join(lines))


def make_texts(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts whose words depend on the label, with capitals, accents and copies."""
    random = Random(seed)
    labels = [("a", "a", "b", "c")[k % 4] for k in range(n)]
    texts = []
    for label in labels:
        own = [
            f"w{ord(label) % 3 * 4 + random.randrange(6)}" for _ in range(random.randrange(1, 6))
        ]
        texts.append(
            " ".join(
                [
                    *own,
                    random.choice(("House of", "éclair", "houses", "a")),
                    f"w{random.randrange(12)}",
                ]
            )
        )
    return [*texts, *texts[:6]], [*labels, *labels[:6]]


TEXTS, LABELS = make_texts(60, 1)
QUESTIONS, _ = make_texts(40, 2)


def open_texts(folder: Path) -> Source:
    rows = [
        json.dumps({"text": text, "label": label})
        for text, label in zip(TEXTS, LABELS, strict=True)
    ]
    (folder / "texts.jsonl").write_text("\n".join(rows))
    return open_source((str(folder / "texts.jsonl"),), InputSettings())


def fit_to_matrix(classifier: TextClassifier, folder: Path) -> TextClassifier:
    return classifier.fit_matrix(vectorize_source(open_texts(folder), classifier.feature_settings))


WAYS: dict[str, Callable[[TextClassifier, Path], TextClassifier]] = {
    "partial_fit": lambda classifier, _: classifier.partial_fit(TEXTS, LABELS),
    "fit_source": lambda classifier, folder: classifier.fit_source(open_texts(folder)),
    "fit_matrix": fit_to_matrix,
}


def test_every_parameter_is_here() -> None:
    """A new parameter needs a value, so that it is tried."""
    assert {name for value in VALUES for name in value} == inspect.signature(
        TextClassifier
    ).parameters.keys()
    names = {
        name
        for name, _ in inspect.getmembers(TextClassifier, callable)
        if "fit" in name and name[0] != "_"
    }
    assert names == {"fit", *WAYS}


def answers(
    parameters: dict[str, Any], fit: Callable[[TextClassifier], TextClassifier], questions: Any
) -> Any:
    """The probabilities that a classifier gives; the message if it refuses a parameter, which it
    names.
    """
    try:
        return fit(TextClassifier(**parameters)).predict_proba(questions)
    except NbtextError as error:
        assert any(name in str(error) for name in (*parameters, *map(str, parameters.values()))), (
            str(error)
        )
        assert "\n" not in str(error)
        return str(error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("parameters", VALUES, ids=str)
def test_it_means_the_same(parameters: dict[str, Any], way: str, tmp_path: Path) -> None:
    """The probabilities are those after `fit`, or both refuse it, or the way cannot know the texts
    that it needs.
    """
    expected = answers(parameters, lambda each: each.fit(TEXTS, LABELS), QUESTIONS)
    found = answers(parameters, lambda each: WAYS[way](each, tmp_path), QUESTIONS)
    name = next(iter(parameters))
    if isinstance(found, str):
        is_of_texts = parameters.get("model") in OF_TEXTS or name == "keep_sample"
        assert isinstance(expected, str) or (is_of_texts and way == "fit_matrix")
        return
    # which it makes of texts
    # matrices of weights, or of selected features, lack what texts say of the others
    is_whole = way != "fit_matrix" or name not in ("vocabulary", *OF_COLUMNS)
    if is_whole:
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_no_model_is_searched_for_a_matrix(tmp_path: Path) -> None:
    """Also where the matrix is a source, as by `nbtext train`."""
    matrix = vectorize_source(open_texts(tmp_path), FeatureSettings())
    with (tmp_path / "x.npz").open("wb") as file:
        save_matrix(matrix, file)
    source = open_source((str(tmp_path / "x.npz"),), InputSettings())
    with pytest.raises(SettingsError, match="best needs texts, but SOURCE is a matrix"):
        TextClassifier(model="best").fit_source(source)


def fit_texts(classifier: TextClassifier) -> TextClassifier:
    return classifier.fit(TEXTS, LABELS)


@pytest.mark.parametrize("parameters", VALUES, ids=str)
def test_columns_are_features(parameters: dict[str, Any], tmp_path: Path) -> None:
    """Parameters of texts are refused where X is a matrix; others change the answers if they do for
    texts.
    """
    matrix = vectorize_source(open_texts(tmp_path), FeatureSettings())
    X = matrix.csr()
    found = answers(parameters, lambda each: each.fit(X, LABELS), X)
    expected = answers(parameters, fit_texts, TEXTS)
    of_features = {each.name for each in fields(FeatureSettings)} - {*OF_COLUMNS}
    of_features.add("vectors")  # of words
    if parameters.get("model") in OF_TEXTS or not of_features.isdisjoint(parameters):
        assert isinstance(found, str)
        return
    assert isinstance(found, str) == isinstance(expected, str)
    others = dict(list(parameters.items())[1:])
    if not isinstance(found, str):
        plain = (
            answers(others, lambda each: each.fit(X, LABELS), X),
            answers(others, fit_texts, TEXTS),
        )
        assert np.array_equal(found, plain[0]) == np.array_equal(expected, plain[1])


@pytest.mark.parametrize("name", [*OF_COLUMNS[4:], "keep_sample"])
def test_weights_are_not_weighted(name: str) -> None:
    """Where the matrix holds weights, what makes weights of counts is refused, and a sample of
    counts, too.
    """
    X = np.random.default_rng(0).random((20, 4))
    value = {"tf": "log", "idf": "smooth", "norm": "l2", "keep_sample": 5}[name]
    with pytest.raises(NbtextError, match=f"^{name}: does not apply: X holds weights, not counts"):
        TextClassifier(**{name: value}).fit(X, ["a", "b"] * 10)


def test_a_matrix_has_its_own_features(tmp_path: Path) -> None:
    """A parameter is refused that is neither left out nor what the matrix was made with."""
    matrix = vectorize_source(open_texts(tmp_path), FeatureSettings(ngrams=(1, 2)))
    TextClassifier(ngrams=(1, 2)).fit_matrix(matrix)
    TextClassifier().fit_matrix(matrix)
    for wrong in ({"ngrams": (1, 3)}, {"min_df": 2}, {"lowercase": False}):
        with pytest.raises(
            NbtextError, match=f"^{next(iter(wrong))}: does not apply: the matrix has its features"
        ):
            TextClassifier(**wrong).fit_matrix(matrix)


def test_best_keeps_what_fit_keeps() -> None:
    """The columns of an indicator matrix."""
    indicator = np.array([[label == each for each in "azbc"] for label in LABELS], dtype=int)
    classifier = TextClassifier(model="best").fit(TEXTS, indicator)
    assert classifier.predict(TEXTS).shape == indicator.shape
    assert classifier.score(TEXTS, indicator) > 0.5
    np.testing.assert_array_equal(classifier.classes_, range(4))
