"""Errors of the Python interface name parameters: `min_df`, never `--min-df`.

Each parameter of each public class gets values that make no sense, alone and in pairs, and every
method gets inputs that it cannot use. What is refused is refused in Python's words.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtext
from nbtext import TextClassifier, Vectorizer
from nbtext.errors import NbtextError
from nbtext.export import from_sklearn
from nbtext.export.formats import export

TEXTS = [
    "red apple",
    "yellow banana",
    "red cherry",
    "green apple",
    "yellow lemon",
    "",
    "red red sea",
    "a b",
]
LABELS = ["a", "b", "a", "a", "b", "a", "b", "b"]
MATRIX = np.array([[1, 0, 2], [0, 3, 1], [1, 1, 0], [0, 1, 1]])
MODELS = (
    "multinomial",
    "bernoulli",
    "complement",
    "dirichlet",
    "categorical",
    "gaussian",
    "logistic",
    "nbsvm",
)
BAD = (
    -1,
    0,
    1,
    2,
    10**9,
    0.5,
    1e300,
    float("nan"),
    "",
    "nonsense",
    "x=1",
    (),
    (5, 1),
    (1, 101),
    ("a", "a"),
    [1, 2, 3],
    {"a": 0.5},
    {"a": 2},
    {"c": 0.9},
    {"a": 0.99},
    None,
    True,
    "relative",
    "smooth",
    "plus-one",
    "l2",
    "uniform",
    "best",
    "macro_f1",
    "log_loss",
    "english",
    "german",
    "mi:2",
    "chi2:-1",
    "char",
    "tfidf",
    "(",
    r"\w+",
    *MODELS,
)
PAIRS = 200


def words(call: Callable[[], Any]) -> Iterator[str]:
    """Yield what a call refuses or warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except NbtextError as error:
            yield str(error)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            yield str(error)
    yield from (str(each.message) for each in caught)


def use_classifier(parameters: dict[str, Any]) -> None:
    classifier = TextClassifier(**parameters).fit(TEXTS, LABELS)
    for method in (classifier.predict, classifier.decision_function, classifier.explain):
        method(TEXTS)
    uses: list[Callable[[], Any]] = [
        lambda: classifier.leave_one_out_predict_proba_,
        lambda: classifier.explain(TEXTS, label="nothing"),
        lambda: classifier.merge(TextClassifier(ngrams=(1, 2)).fit(TEXTS, LABELS)),
        lambda: classifier.forget(["never seen"], ["a"]),
        lambda: classifier.partial_fit(["green pear"], ["c"]),
    ]
    for use in uses:
        try:
            use()
        except NbtextError as error:
            refuse_options(str(error))


def use_vectorizer(parameters: dict[str, Any]) -> None:
    vectorizer = Vectorizer(**parameters)
    vectorizer.fit_transform(TEXTS, LABELS)
    vectorizer.transform(TEXTS)


def refuse_options(message: str) -> None:
    assert "--" not in message.replace("pip install --", ""), message
    assert "\n" not in message, message


def parameter_sets(kind: type, uses: int) -> Iterator[dict[str, Any]]:
    """Yield one bad value for each parameter, and `uses` draws of two or three of them."""
    names = list(kind().get_params())  # type: ignore[attr-defined]
    yield from ({name: value} for name in names for value in BAD)
    draw = random.Random(16)
    for _ in range(uses):
        yield {
            name: draw.choice(BAD)
            for name in draw.sample(names, min(len(names), draw.choice((2, 3))))
        }


@pytest.mark.parametrize(
    ("kind", "use"), [(TextClassifier, use_classifier), (Vectorizer, use_vectorizer)]
)
def test_parameters(kind: type, use: Callable[[dict[str, Any]], None]) -> None:
    found = {
        message
        for each in parameter_sets(kind, PAIRS)
        for message in words(lambda each=each: use(each))
    }
    for message in found:
        refuse_options(message)
    assert len(found) > 100


@pytest.mark.exhaustive
def test_models_of_each_kind() -> None:
    """Every model meets every kind of weighting and goal, among them those that it cannot have."""
    options: list[dict[str, Any]] = [
        {"idf": "plus-one"},
        {"norm": "l2"},
        {"tf": "relative"},
        {"optimize": "accuracy"},
        {"min_recall": {"a": 0.99}},
        {"min_precision": {"b": 0.99}},
        {"keep_sample": 2},
        {"keep_sample": 100},
        {"smoothing": 0},
        {"class_weight": "balanced"},
        {"class_weight": {"c": 2}},
        {"prior": (1.0,)},
        {"max_features": 1},
        {"min_df": 99},
        {"vocabulary": ("zebra",)},
        {"select": "mi:1"},
        {"calibrate": False},
        {"C": None},
        {"values": 1},
    ]
    known = signature(TextClassifier).parameters
    for model in MODELS:
        for each in options:
            given = {name: value for name, value in each.items() if name in known}
            for message in words(
                lambda given=given, model=model: use_classifier({"model": model, **given})
            ):
                refuse_options(message)


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("model", MODELS)
def test_matrices(model: str) -> None:
    """In place of texts."""
    sets = list(parameter_sets(TextClassifier, 50))
    calls: list[Callable[[], Any]] = [
        lambda each=each: (
            TextClassifier(**{"model": model, **each}).fit(MATRIX, "abab").predict(MATRIX)
        )
        for each in sets
    ]
    wrong = (-MATRIX, MATRIX[:2], MATRIX * np.nan, [])
    calls += [lambda X=X: TextClassifier(model=model).fit(X, ["a", "b", "a", "b"]) for X in wrong]
    calls += [
        lambda: TextClassifier().predict(MATRIX),
        lambda: fitted.predict(MATRIX[:, :1]),
        lambda: fitted.predict(["a"]),
    ]
    fitted = TextClassifier(model=model).fit(MATRIX, ["a", "b", "a", "b"])
    for call in calls:
        for message in words(call):
            refuse_options(message)


def test_functions(tmp_path: Path) -> None:
    """Loading, saving and exporting."""
    path = str(tmp_path / "m.joblib")
    classifier = TextClassifier(model="gaussian").fit(TEXTS, LABELS)
    hashed = TextClassifier(hash_bits=4, analyzer="char", ngrams=(1, 3)).fit(TEXTS, LABELS)
    (tmp_path / "text").write_text("no model")
    (tmp_path / "folder").mkdir()
    calls: list[Callable[[], Any]] = [
        lambda: nbtext.load_model(tmp_path / "nothing"),
        lambda: nbtext.load_model(tmp_path / "text"),
        lambda: nbtext.load_model("-"),
        lambda: TextClassifier.load(tmp_path / "folder"),
        lambda: nbtext.save_model(classifier, tmp_path / "folder"),
        lambda: nbtext.save_model(classifier, tmp_path / "none" / "m"),
        lambda: nbtext.save_model(TextClassifier(), path),
        lambda: TextClassifier().save(path),
        lambda: from_sklearn("no pipeline"),
        lambda: TextClassifier.from_sklearn(object()),
        lambda: TextClassifier().predict(TEXTS),
        lambda: classifier.predict([b"bytes"]),
        lambda: classifier.fit([], []),
        lambda: classifier.fit(["a b"], ["a"]),
        lambda: classifier.fit(TEXTS, LABELS[:1]),
        *(
            lambda name=name, each=each: export(each.fitted_, name, str(tmp_path / "x"))
            for name in ("json", "c", "js", "csv", "tsv", "sklearn", "nonsense")
            for each in (classifier, hashed)
        ),
    ]
    for call in calls:
        for message in words(call):
            refuse_options(message)
