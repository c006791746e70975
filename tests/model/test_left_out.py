"""`leave_one_out_predict_proba_`, `class_weight`, and errors that name parameters, not options."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier, Vectorizer
from nbtext.errors import (
    InputError,
    ModelError,
    NbtextError,
    SettingsError,
)
from nbtext.model.growth import refit

TEXTS = [
    "red apple",
    "green apple",
    "yellow banana",
    "a long banana",
    "red plum",
    "apple",
    "apple",
    "banana red",
]
LABELS = ["a", "a", "b", "b", "p", "a", "a", "b"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "bernoulli", "smoothing": 0.5},
        {"model": "multinomial", "idf": "smooth", "smoothing": 1.0},
        {"min_df": 2, "smoothing": 1.0},
    ],
    ids=str,
)
def test_left_out_probabilities_make_the_estimate(options: dict[str, Any]) -> None:
    """They have the order of the texts and of `classes_`; accuracy and log-loss over them are those
    of the estimate.
    """
    order = np.random.default_rng(0).permutation(len(TEXTS))
    texts = [TEXTS[i] for i in order]
    labels = [LABELS[i] for i in order]
    classifier = TextClassifier(**options).fit(texts, labels)
    found = classifier.leave_one_out_predict_proba_
    estimate = classifier.fitted_.estimate
    assert estimate is not None
    assert found.shape == (len(texts), 3)
    is_judged = ~np.isnan(found[:, 0])
    assert [label for label, is_in in zip(labels, is_judged, strict=True) if not is_in] == ["p"]
    np.testing.assert_allclose(found[is_judged].sum(axis=1), 1)
    own = [
        math.log(row[classifier.classes_.tolist().index(label)])
        for row, label, is_in in zip(found, labels, is_judged, strict=True)
        if is_in
    ]
    assert -np.mean(own) == pytest.approx(estimate.log_loss)
    predicted = classifier.classes_[found[is_judged].argmax(axis=1)]
    assert (predicted == np.array(labels)[is_judged]).mean() == pytest.approx(estimate.accuracy)


WORDS = ("apple", "banana", "green", "red")


@pytest.mark.parametrize("options", [{}, {"class_weight": {"a": 5.0, "b": 0.25}}], ids=str)
def test_left_out_probabilities_are_those_of_the_others(options: dict[str, Any]) -> None:
    """Each row is what a classifier of the other texts gives, its duplicates left out too, with the
    prior of all texts.
    """
    fixed: dict[str, Any] = {
        "model": "multinomial",
        "smoothing": 1.0,
        "calibrate": False,
        "vocabulary": WORDS,
    }
    classifier = TextClassifier(**fixed, **options).fit(TEXTS, LABELS)
    found = classifier.leave_one_out_predict_proba_
    fixed["prior"] = tuple(np.exp(classifier.class_log_prior_))
    for row, text in enumerate(TEXTS):
        others = [k for k in range(len(TEXTS)) if TEXTS[k] != text]
        if LABELS[row] == "p":
            continue
        refit = TextClassifier(**fixed).fit([TEXTS[k] for k in others], [LABELS[k] for k in others])
        np.testing.assert_allclose(found[row], refit.predict_proba([text])[0], atol=1e-9)


def test_they_belong_to_a_fit(tmp_path: Path) -> None:
    """A loaded or grown classifier does not have them, and hasattr says so; integer labels have
    their order.
    """
    classifier = TextClassifier().fit(
        TEXTS, [{"a": 10, "b": 9, "p": 100}[label] for label in LABELS]
    )
    found = classifier.leave_one_out_predict_proba_
    assert classifier.classes_.tolist() == [9, 10, 100]
    assert classifier.classes_[np.nanargmax(found[0])] == 10
    classifier.save(tmp_path / "m")
    assert not hasattr(TextClassifier.load(tmp_path / "m"), "leave_one_out_predict_proba_")
    assert not hasattr(classifier.partial_fit(["red"], [10]), "leave_one_out_predict_proba_")
    with pytest.raises(ModelError, match="leave-one-out needs a Naive Bayes model"):
        _ = TextClassifier(model="logistic").fit(TEXTS, LABELS).leave_one_out_predict_proba_


def test_class_weight() -> None:
    """It multiplies the documents of a class in its prior; "balanced" is uniform; it is saved, and
    survives growth.
    """
    weighted = TextClassifier(class_weight={"a": 3.0, "p": 0.5}, smoothing=1.0).fit(TEXTS, LABELS)
    expected = np.array([4 * 3.0, 3, 0.5])
    np.testing.assert_allclose(np.exp(weighted.class_log_prior_), expected / expected.sum())
    balanced = TextClassifier(class_weight="balanced").fit(TEXTS, LABELS)
    np.testing.assert_allclose(np.exp(balanced.class_log_prior_), 1 / 3)
    grown = weighted.partial_fit(["banana"] * 5, ["b"] * 5)
    expected = np.array([12, 8, 0.5])
    np.testing.assert_allclose(np.exp(grown.class_log_prior_), expected / expected.sum())
    numbers = TextClassifier(class_weight={0: 2, 1: 1}).fit(TEXTS, [0, 0, 1, 1, 1, 0, 0, 1])
    np.testing.assert_allclose(np.exp(numbers.class_log_prior_), [2 / 3, 1 / 3])


def test_a_large_class_weight() -> None:
    """All weights that are accepted can be used, with any number of documents."""
    weighted = TextClassifier(class_weight={"a": 1e100, "b": 1e-100}, smoothing=1.0).fit(
        TEXTS, LABELS
    )
    np.testing.assert_allclose(
        weighted.class_log_prior_, np.log([4e100, 3e-100, 1.0]) - np.log(4e100)
    )


@pytest.mark.parametrize("keep_sample", [None, 100])
def test_class_weight_of_another_model_of_the_same_counts(
    keep_sample: int | None, tmp_path: Path
) -> None:
    """It is kept, as a prior is, and a given prior replaces it."""
    options: dict[str, Any] = {"smoothing": 1.0, "keep_sample": keep_sample}
    TextClassifier(model="multinomial", class_weight={"a": 3.0}, **options).fit(TEXTS, LABELS).save(
        tmp_path / "m"
    )
    model = TextClassifier.load(tmp_path / "m").model_
    other = TextClassifier(model="bernoulli", class_weight={"a": 3.0}, **options).fit(TEXTS, LABELS)
    refitted = refit(model, {"model": "bernoulli"}).fitted
    assert refitted.model_settings == other.model_settings
    np.testing.assert_array_equal(refitted.log_prior, other.fitted_.log_prior)
    uniform = refit(model, {"prior": "uniform"}).fitted
    assert (uniform.model_settings.prior, uniform.model_settings.class_weight) == ("uniform", None)
    assert refit(
        model, {"model": "logistic"} if keep_sample else {"model": "complement"}
    ).fitted.labels == ("a", "b", "p")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"class_weight": "heavy"},
            "class_weight: heavy is not a valid value; give balanced or a weight",
        ),
        (
            {"class_weight": {"a": -1.0}},
            "class_weight: a: -1 is not a valid value; give a weight above 0",
        ),
        ({"class_weight": {"x": 1.0}}, "class_weight: the model has no label 'x'"),
        (
            {"class_weight": "balanced", "prior": "uniform"},
            "class_weight: cannot be combined with prior, because both set the class priors",
        ),
        (
            {"class_weight": {"x": 1.0}, "model": "nbsvm"},
            "class_weight: the model has no label 'x'",
        ),
        ({"min_df": 100}, "min_df"),
        ({"min_df": 3, "max_df": 1}, "max_df: 1 allows 1 document of 16, but min_df 3 needs 3"),
        ({"idf": "plus-one", "token_pattern": "apple|b"}, ""),
        (
            {"token_pattern": "x{9}"},
            "no document contains a token that is a feature; change token_pattern",
        ),
        ({"min_recall": {"a": 0.999}}, "min_recall: recall 0.999 of a"),
        ({"hash_bits": 30, "model": "categorical"}, "hash_bits: 30"),
        ({"model": "gaussian", "keep_sample": None, "select": ("mi", 0)}, "select"),
        ({"stem": "klingon"}, "stem"),
    ],
    ids=str,
)
def test_errors_name_parameters(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, NbtextError)) as caught:
        TextClassifier(**options).fit([*TEXTS, *TEXTS], [*LABELS, *LABELS])
        raise SettingsError("")  # nothing to say
    assert message in str(caught.value)


def test_errors_of_other_classes_name_parameters() -> None:
    with pytest.raises(InputError) as caught:
        Vectorizer(select=("mi", 1)).fit(TEXTS)
    assert "select needs the label of each document" in str(caught.value)
    with pytest.raises((ValueError, NbtextError)) as other:
        TextClassifier(smoothing=-1.0)
    assert str(other.value).startswith("smoothing: ")
