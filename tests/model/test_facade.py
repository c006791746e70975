"""The facade: labels of any type, errors that change nothing, parameters as scikit-learn expects
them.
"""

import inspect
import pickle
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from nbtext import load_model, save_model
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError, NbtextError
from nbtext.features.settings import FeatureSettings
from nbtext.text_classifier import TextClassifier

TEXTS = ["red round", "red shiny", "green leaf", "yellow long", "yellow soft", "yellow curved"]
VALUES: list[tuple[str, list[Any]]] = [
    ("str", ["a", "a", "a", "b", "b", "b"]),
    ("int", [9, 9, 9, 10, 10, 10]),
    ("int", np.array([-3, -3, -3, 4, 4, 4]).tolist()),
    ("float", [0.5, 0.5, 0.5, 2, 2, 2]),
    ("bool", [False, False, False, True, True, True]),
]


@pytest.mark.parametrize(("label_type", "labels"), VALUES, ids=str)
def test_labels_keep_their_type_in_a_file(
    label_type: str, labels: list[Any], tmp_path: Path
) -> None:
    """Saved and loaded, a model predicts and scores labels of the type that it learned."""
    classifier = TextClassifier(keep_sample=10).fit(TEXTS, labels)
    save_model(classifier, str(tmp_path / "m"))
    for same in (load_model(str(tmp_path / "m")), TextClassifier.load(str(tmp_path / "m"))):
        assert same.fitted_.label_type == label_type
        assert same.classes_.tolist() == classifier.classes_.tolist() == sorted(set(labels))
        assert same.classes_.dtype == classifier.classes_.dtype
        assert same.score(TEXTS, labels) == classifier.score(TEXTS, labels) > 0.8
        assert same.partial_fit(["red apple"], labels[:1]).forget(
            ["red apple"], labels[:1]
        ).classes_.tolist() == sorted(set(labels))
        same.save(str(tmp_path / "again"))
        assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def state(classifier: TextClassifier) -> tuple[Any, ...]:
    """Everything that can be seen of a classifier."""
    return (
        pickle.dumps(classifier.model_),
        classifier.get_params(),
        classifier.classes_.tolist(),
        repr(classifier),
    )


@pytest.mark.parametrize(
    "attempt",
    [
        lambda c: c.forget(["never learned"], [9]),
        lambda c: c.forget(["red round"], [11]),
        lambda c: c.forget(["red round"], ["9"]),
        lambda c: c.forget(TEXTS, [9, 9, 9, 10, 10, 10]),
        lambda c: c.partial_fit(["a text"], ["a label"]),
        lambda c: c.partial_fit(["a text", "another"], [11]),
        lambda c: c.partial_fit(["a text"], [None]),
        lambda c: c.fit(["a text"], [11, 12]),
        lambda c: c.fit(["?"], [11]),
        lambda c: c.fit([1], [11]),
        lambda c: c.merge(c, TextClassifier(model="bernoulli").fit(TEXTS, [9, 9, 9, 10, 10, 10])),
        lambda c: c.set_params(model="bernoulli", smoothing=-1.0),
        lambda c: c.set_params(ngrams=(1, 2), model="no such model"),
        lambda c: c.set_params(min_df=2, mindf=2),
    ],
)
def test_what_fails_changes_nothing(attempt: Any) -> None:
    """No method leaves half of its work behind."""
    classifier = TextClassifier(smoothing=0.5).fit(TEXTS, [9, 9, 9, 10, 10, 10])
    before = state(classifier)
    with pytest.raises((NbtextError, ValueError)):
        attempt(classifier)
    assert state(classifier) == before


def test_parameters_are_spelled_out() -> None:
    """The signature has every parameter, with the default of the settings, and the docstring
    describes each.
    """
    signature = inspect.signature(TextClassifier)
    assert all(
        each.kind is inspect.Parameter.KEYWORD_ONLY for each in signature.parameters.values()
    )
    defaults = {
        each.name: each.default
        for settings in (FeatureSettings, ModelSettings)
        for each in fields(settings)
    }
    assert {name: each.default for name, each in signature.parameters.items()} == defaults
    described = (
        (inspect.getdoc(TextClassifier) or "")
        .partition("Parameters\n")[2]
        .partition("Attributes\n")[0]
    )
    assert [
        name for name in defaults if f"{name} : " not in described and f"{name}, " not in described
    ] == []


def test_clone_and_set_params() -> None:
    """scikit-learn's clone gives an unfitted classifier with the same parameters."""
    classifier = TextClassifier(
        ngrams=[1, 2], prior=np.array([1.0, 2.0]), stop_words="english", model="bernoulli"
    )
    copy = clone(classifier)
    assert copy.get_params() == classifier.get_params() and repr(copy) == repr(classifier)
    with pytest.raises(AttributeError, match="is not fitted yet"):
        _ = copy.classes_
    assert (
        copy.set_params(**TextClassifier().get_params()).get_params()
        == TextClassifier().get_params()
    )


def fit_to_source(classifier: TextClassifier, folder: Path, *, is_separate: bool = False) -> None:
    rows = [
        f"{text.replace(' ', ',')},{label}"
        for text, label in zip(TEXTS * 3, "aaabbb" * 3, strict=True)
    ]
    (folder / "t.csv").write_text("\n".join(("one,two,label", *rows)) + "\n")
    settings = InputSettings(
        text_field=("one", "two"), label_field="label", separate_fields=is_separate
    )
    classifier.fit_source(open_source((str(folder / "t.csv"),), settings))


WAYS: dict[str, Callable[[TextClassifier, Path], Any]] = {
    "texts": lambda classifier, _: classifier.fit(TEXTS * 3, list("aaabbb" * 3)),
    "lists": lambda classifier, _: classifier.fit(TEXTS * 3, [[label] for label in "aaabbb" * 3]),
    "source": fit_to_source,
    "fields": lambda classifier, folder: fit_to_source(classifier, folder, is_separate=True),
    "forget": lambda classifier, _: classifier.fit(TEXTS, list("aaabbb")).forget(TEXTS[:1], ["a"]),
    "merge": lambda classifier, _: classifier.fit(TEXTS, list("aaabbb")).merge(
        TextClassifier().fit(["a text"], ["c"])
    ),
}


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("way", WAYS)
def test_fitting_changes_no_parameter(way: str, tmp_path: Path) -> None:
    """After every way to fit, the parameters are those before, also of the saved classifier, and
    another fit is that of a new one.
    """
    classifier = TextClassifier()
    before = classifier.get_params()
    WAYS[way](classifier, tmp_path)
    classifier.save(tmp_path / "m")
    loaded = TextClassifier.load(tmp_path / "m")
    labels = list("aaabbb" * 3)
    expected = TextClassifier().fit(TEXTS * 3, labels).predict_proba(TEXTS)
    assert classifier.get_params() == before
    for each in (classifier, clone(classifier)):
        assert each.fit(TEXTS * 3, labels).predict_proba(TEXTS).tolist() == expected.tolist()
    for each in (loaded, clone(loaded)):
        assert each.fit(TEXTS * 3, labels).predict(["red leaf"]).shape == (1,)


def test_a_model_of_several_fields_refuses_texts(tmp_path: Path) -> None:
    """Its features are of one field or the other, and a text has no fields: one line says so."""
    classifier = TextClassifier()
    WAYS["fields"](classifier, tmp_path)
    attempts: tuple[Callable[[], Any], ...] = (
        lambda: classifier.predict(["red"]),
        lambda: classifier.explain(["red"]),
        lambda: classifier.partial_fit(["red"], ["a"]),
        lambda: TextClassifier(fields=("one", "two")).fit(["red", "green"], ["a", "b"]),
    )
    for attempt in attempts:
        with pytest.raises(
            InputError, match="the features are of the fields one and two, and a text has no fields"
        ):
            attempt()


@pytest.mark.parametrize("optimize", [None, "macro_f1", "log_loss"])
@pytest.mark.parametrize("labels", [[2, 2, 2, 10, 10, 10], ["a", "b", "c", "a", "b", "c"]], ids=len)
def test_decision_function(optimize: str | None, labels: list[Any]) -> None:
    """Its largest value is the prediction; of two labels its sign is."""
    classifier = TextClassifier(optimize=optimize).fit(TEXTS * 2, labels * 2)
    values = classifier.decision_function(["red", "yellow", "leaf"])
    questions = ["red", "yellow", "leaf"]
    best = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    assert classifier.classes_[best].tolist() == classifier.predict(questions).tolist()
    assert values.ndim == (1 if len(set(labels)) == 2 else 2)


def test_best_is_a_parameter_like_others() -> None:
    """`model="best"` is kept by get_params, clone and fit; what it cannot search is refused."""
    classifier = clone(TextClassifier(model="best", min_df=1))
    assert (classifier.get_params()["model"], repr(classifier)) == (
        "best",
        "TextClassifier(model='best')",
    )
    labels = [9, 9, 9, 10, 10, 10] * 2
    assert classifier.fit(TEXTS * 2, labels).predict(["green leaf"]).tolist() == [9]
    assert classifier.get_params()["model"] == "best"
    assert pickle.loads(pickle.dumps(classifier)).get_params()["model"] == "best"
    assert classifier.set_params(model="svm").get_params()["model"] == "svm"
    with pytest.raises(NbtextError, match="model: best needs texts, but X is a matrix"):
        TextClassifier(model="best").fit(np.eye(4), ["a", "b", "a", "b"])
    with pytest.raises(
        NbtextError, match="C: cannot be combined with model=best, because a search"
    ):
        TextClassifier(model="best", C=2)
    with pytest.raises(
        NbtextError, match="values: cannot be combined with model=best, because a search"
    ):
        TextClassifier(model="best").set_params(values=3)
    several = TextClassifier(model="best").fit(TEXTS * 2, [[label, 1] for label in labels])
    assert [set(found) for found in several.predict(["green leaf"])] == [{1, 9}]
