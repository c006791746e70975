"""The facade: labels of any type, errors that change nothing, parameters as scikit-learn expects them."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from nbtext import load_model, save_model
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import InputError, ModelError, NbtextError
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
def test_labels_keep_their_type_in_a_file(label_type: str, labels: list[Any], tmp_path: Path) -> None:
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
    return pickle.dumps(classifier.model_), classifier.get_params(), classifier.classes_.tolist(), repr(classifier)


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
    """The signature has every parameter, with the default of the settings, and the docstring describes each."""
    signature = inspect.signature(TextClassifier)
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in signature.parameters.values())
    defaults = {each.name: each.default for settings in (FeatureSettings, ModelSettings) for each in fields(settings)}
    assert {name: each.default for name, each in signature.parameters.items()} == defaults
    described = (inspect.getdoc(TextClassifier) or "").partition("Parameters\n")[2].partition("Attributes\n")[0]
    assert [name for name in defaults if f"{name} : " not in described and f"{name}, " not in described] == []


def test_clone_and_set_params() -> None:
    """scikit-learn's clone gives an unfitted classifier with the same parameters."""
    classifier = TextClassifier(ngrams=[1, 2], prior=np.array([1.0, 2.0]), stop_words="english", model="bernoulli")
    copy = clone(classifier)
    assert copy.get_params() == classifier.get_params() and repr(copy) == repr(classifier)
    with pytest.raises(AttributeError, match="is not fitted yet"):
        _ = copy.classes_
    assert copy.set_params(**TextClassifier().get_params()).get_params() == TextClassifier().get_params()


@pytest.mark.parametrize("optimize", [None, "macro_f1", "log_loss"])
@pytest.mark.parametrize("labels", [[2, 2, 2, 10, 10, 10], ["a", "b", "c", "a", "b", "c"]], ids=len)
def test_decision_function(optimize: str | None, labels: list[Any]) -> None:
    """Its largest value is the prediction; of two labels its sign is."""
    classifier = TextClassifier(optimize=optimize).fit(TEXTS * 2, labels * 2)
    values, questions = classifier.decision_function(["red", "yellow", "leaf"]), ["red", "yellow", "leaf"]
    best = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    assert classifier.classes_[best].tolist() == classifier.predict(questions).tolist()
    assert values.ndim == (1 if len(set(labels)) == 2 else 2)


def test_explanations_add_up() -> None:
    """Terms and contributions are the log-odds of the probabilities that predict_proba gives."""
    classifier = TextClassifier(optimize="log_loss").fit(TEXTS * 3, [2, 2, 2, 10, 10, 10] * 3)
    (explanation,) = classifier.explain(["red yellow red"], label=10)
    two, ten = classifier.predict_proba(["red yellow red"])[0]
    assert (explanation.label, explanation.against) == ("10", "2")
    terms = explanation.terms
    total = terms.prior + terms.absent + terms.temperature + terms.noise + terms.prior_adjustment
    total += sum(each.log_odds for each in explanation.contributions)
    assert total == pytest.approx(np.log(ten / two), abs=1e-9)


def test_errors_of_labels_name_their_types() -> None:
    """A model of numbers learns no texts as labels, and the other way round."""
    classifier = TextClassifier().fit(TEXTS, [9, 9, 9, 10, 10, 10])
    with pytest.raises(InputError, match="the labels are str, and those of the model are int"):
        classifier.partial_fit(["red"], ["9"])
    with pytest.raises(ModelError, match="was not trained on some of these documents"):
        classifier.forget(["blue"], [9])


def test_errors_name_parameters_and_not_options() -> None:
    """A library has no command line."""
    for wrong in ({"ngrams": (2, 1)}, {"min_df": -1}, {"hash_bits": 31}, {"smoothing": -1.0}, {"values": 7}):
        with pytest.raises(NbtextError, match=f"^{next(iter(wrong))}: ") as caught:
            TextClassifier(**wrong)
        assert "--" not in str(caught.value)
