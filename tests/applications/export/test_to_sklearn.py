"""A model as a fitted scikit-learn pipeline: its labels and probabilities without calibration."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from demo_models import MODELS, documents
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nbtext.errors import ModelError
from nbtext.model.fitted_model import make_trained_model
from nbtext.text_classifier import TextClassifier

NOT_HELD = {
    "relative": "TfidfVectorizer has no tf relative",
    **dict.fromkeys(
        ("views", "weighted views", "views without calibration"), "with the setting `view`"
    ),
    **dict.fromkeys(
        ("marks", "long runs only", "char", "char_wb", "tilted"), "depend on its prior adjustment"
    ),
}


def uncalibrated(classifier: TextClassifier) -> TextClassifier:
    """The same model without its calibration."""
    fitted = classifier.fitted_
    calibration = replace(fitted.calibration, temperature=None, prior_adjustment=None)
    fitted = replace(fitted, task=replace(fitted.task, calibration=calibration))
    return TextClassifier.from_model(make_trained_model(fitted, classifier.counts_))


def check(classifier: TextClassifier, texts: list[str]) -> Pipeline:
    """The pipeline predicts as the model does; scikit-learn does not omit tokens that are too
    long.
    """
    pipeline = classifier.to_sklearn()
    texts = [text for text in texts if len(text) < 30_000]
    texts = [text for text in texts if pipeline[0].transform([text]).sum()]
    assert len(texts) > 10
    found = pipeline.predict_proba(texts)
    plain = uncalibrated(classifier)
    np.testing.assert_allclose(found, plain.predict_proba(texts), rtol=0, atol=1e-9)
    assert pipeline.classes_.tolist() == classifier.classes_.tolist()
    assert pipeline.predict(texts).tolist() == plain.predict(texts).tolist()
    clone(pipeline)
    return pipeline


@pytest.mark.exhaustive(every=3)
def test_all_kinds(
    request: pytest.FixtureRequest, classifier: TextClassifier, texts: list[str]
) -> None:
    """Each kind of model is a pipeline, or is refused with the reason."""
    kind = request.node.callspec.params["classifier"]
    if kind not in NOT_HELD:
        check(classifier, texts)
        return
    with pytest.raises(ModelError, match=NOT_HELD[kind]) as caught:
        classifier.to_sklearn()
    assert caught.value.hint


@pytest.mark.parametrize("model", MODELS)
def test_two_labels(model: str, texts: list[str]) -> None:
    """LogisticRegression has one row of weights for them."""
    letters, labels = documents("train")
    check(TextClassifier(model=model).fit(letters, [label == labels[0] for label in labels]), texts)


def test_own_tokens(texts: list[str]) -> None:
    """scikit-learn reads token patterns as nbtext does."""
    check(
        TextClassifier(token_pattern=r"(?u)#?\b\w+\b", calibrate=False).fit(
            texts[:40], ["a", "b"] * 20
        ),
        texts,
    )


def test_labels_are_numbers_again(texts: list[str]) -> None:
    """In their order as numbers, not as texts."""
    pipeline = check(TextClassifier().fit(texts[:40], [10, 9, 100, 9] * 10), texts)
    assert pipeline.classes_.tolist() == [9, 10, 100]


@pytest.mark.parametrize(
    ("options", "labels", "reason"),
    [
        ({}, [["a"], [], ["a", "b"], ["b"]], "a multi-label model"),
        ({}, ["a"] * 4, "LogisticRegression needs two labels"),
        ({"stem": "english"}, ["a", "b"] * 2, "with the setting `stem`"),
        ({"hash_bits": 10}, ["a", "b"] * 2, "hashed features have no names"),
        ({"model": "gaussian"}, ["a", "b"] * 2, "several weights for each feature"),
        ({"model": "combined"}, ["a", "b"] * 2, "with the setting `view`"),
    ],
    ids=str,
)
def test_what_is_refused(options: dict[str, Any], labels: list[Any], reason: str) -> None:
    """In one line that names the reason."""
    texts = ["red round", "green round", "long thin", "long bent"]
    classifier = TextClassifier(**options).fit(texts, labels)
    with pytest.raises(ModelError, match=reason) as caught:
        classifier.to_sklearn()
    assert "\n" not in str(caught.value)


def test_columns_of_a_matrix_are_refused() -> None:
    """There are no words to count."""
    classifier = TextClassifier().fit(np.array([[1, 0], [0, 2]] * 3), ["a", "b"] * 3)
    with pytest.raises(ModelError, match="the columns of a matrix"):
        classifier.to_sklearn()
