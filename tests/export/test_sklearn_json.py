"""A model that is exported for scikit-learn predicts there, by the code of the guide alone."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from demo_models import documents, export
from sklearn.base import clone

from nbtext.bayes.diagnostics import Unlabeled
from nbtext.model.fitted_model import make_trained_model
from nbtext.text_classifier import TextClassifier

PAGE = Path(__file__).parents[2] / "nbtext" / "guides" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def loader() -> dict[str, Any]:
    """What the guide's lines define."""
    (block,) = [
        block
        for block in BLOCK.findall(PAGE.read_text(encoding="utf-8"))
        if "def load_pipeline" in block
    ]
    names: dict[str, Any] = {}
    exec(block, names)  # our own page
    return names


def check(classifier: TextClassifier, texts: list[str], path: Path, loader: dict[str, Any]) -> None:
    export(classifier, "sklearn-json", str(path))
    pipeline, probabilities = loader["load_pipeline"](path)
    labels, shares = loader["calibrated"](pipeline, probabilities, texts)
    np.testing.assert_allclose(shares, classifier.predict_proba(texts), rtol=0, atol=1e-9)
    assert labels.tolist() == classifier.predict(texts).tolist()
    calibration = classifier.fitted_.calibration
    if calibration.prior_adjustment is None and calibration.decision_offsets is None:
        known = np.asarray(pipeline[0].transform(texts).sum(axis=1)).ravel() > 0
        assert pipeline.predict(texts)[known].tolist() == labels[known].tolist()
    if calibration.temperature is None:
        np.testing.assert_allclose(pipeline.predict_proba(texts), shares, rtol=0, atol=1e-9)
    clone(pipeline)


@pytest.mark.exhaustive(every=3)
def test_pipeline(
    classifier: TextClassifier, texts: list[str], tmp_path: Path, loader: dict[str, Any]
) -> None:
    """Labels and calibrated probabilities are the model's to 1e-9; uncalibrated, so are the
    pipeline's own.
    """
    if classifier.feature_settings.view:
        pytest.skip(
            "scikit-learn's formats have one vectorizer; test_formats.py tests that views are refused"
        )
    check(classifier, texts, tmp_path / "model.json", loader)


def test_pipeline_of_two_labels(
    two_labels: TextClassifier, texts: list[str], tmp_path: Path, loader: dict[str, Any]
) -> None:
    """Where LogisticRegression holds one plane."""
    check(two_labels, texts, tmp_path / "model.json", loader)


def test_pipeline_of_own_tokens(texts: list[str], tmp_path: Path, loader: dict[str, Any]) -> None:
    """scikit-learn reads token patterns as nbtext does."""
    classifier = TextClassifier(token_pattern=r"(?u)#?\b\w+\b").fit(texts[:40], ["a", "b"] * 20)
    check(classifier, texts, tmp_path / "model.json", loader)


@pytest.mark.parametrize(
    "options", [{"model": "logistic"}, {"model": "complement", "prior": (1.0, 2.0)}], ids=str
)
def test_long_texts(
    options: dict[str, Any], texts: list[str], tmp_path: Path, loader: dict[str, Any]
) -> None:
    """Long texts are calibrated by their scores, because uncalibrated probabilities may round
    to 0.
    """
    corpus, labels = documents("train")
    classifier = TextClassifier(smoothing=None, **options).fit(
        corpus, [str(label == labels[0]) for label in labels]
    )
    check(
        classifier,
        [*texts, " ".join(corpus) * 5, " ".join(corpus[:56]) * 20],
        tmp_path / "model.json",
        loader,
    )


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_prior_that_unlabeled_texts_have_moved(
    model: str, tmp_path: Path, loader: dict[str, Any]
) -> None:
    """The exported prior is the one by which the model scores, not the share of the labeled
    documents.
    """
    corpus, labels = documents("train")
    classifier = TextClassifier(model=model).fit(corpus, labels)
    reading = classifier.fitted_
    corpus_counts = classifier.counts_
    moved = np.log(np.arange(1.0, 7.0) / 21)
    scorer = reading.scorer.with_prior(moved - classifier.class_log_prior_)
    reading = replace(
        reading,
        scorer=scorer,
        task=replace(reading.task, log_prior=moved),
        unlabeled=Unlabeled("em", 1, 1.0, tuple(moved.tolist()), ()),
    )
    check(
        TextClassifier.from_model(make_trained_model(reading, corpus_counts)),
        corpus,
        tmp_path / "m",
        loader,
    )
