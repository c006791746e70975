"""Smaller models are exported in their small form, and predict the same in other programs."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from demo_models import KINDS, documents
from test_c_source import asked as asked_c
from test_formats import asked as asked_js

from nbtext import load_model, save_model
from nbtext.artifact.reduction import limit_size
from nbtext.text_classifier import TextClassifier

SMALL = (
    "multinomial",
    "bernoulli",
    "complement",
    "normalized complement",
    "nbsvm",
    "logistic",
    "relative",
)


@pytest.fixture(scope="module", params=SMALL)
def smaller(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TextClassifier:
    """A model of half of the size, loaded from its file."""
    path = tmp_path_factory.mktemp("small") / "model"
    model = TextClassifier(**KINDS[request.param]).fit(*documents("train")).model_
    save_model(limit_size(model, 16_000).model, path)
    return load_model(path)


def test_javascript(node: str, smaller: TextClassifier, texts: list[str], tmp_path: Path) -> None:
    """Probabilities are equal to 1e-9, and the page is about as large as the model."""
    answers = asked_js(node, smaller, texts, tmp_path)
    found = [
        [answer["probabilities"][label] for label in smaller.fitted_.labels] for answer in answers
    ]
    np.testing.assert_allclose(found, smaller.predict_proba(texts), rtol=0, atol=1e-9)
    save_model(smaller, tmp_path / "model")
    n_code = (
        Path(__file__).parents[3].joinpath("nbtext/applications/export/classify.js").stat().st_size
    )
    assert (tmp_path / "model.mjs").stat().st_size - n_code < 1.2 * (
        tmp_path / "model"
    ).stat().st_size


def test_features_that_share_characters(node: str, tmp_path: Path) -> None:
    """They are stored without these; characters may have more than 16 bits, and more may be shared
    than is counted.
    """
    words = ["𝒳𝒴𝒵", "𝒳𝒴𝓐", "𝒳𝒴", "\uffff\uffff", "é" * 1200, "é" * 1200 + "b", "a", "a\\b", 'a"b']
    texts = [f"{word} {word}" for word in words]
    classifier = TextClassifier(model="multinomial", ngrams=(1, 2)).fit(
        texts * 3, ["x", "y", "z"] * 9
    )
    save_model(limit_size(classifier.model_, 6_000).model, tmp_path / "small")
    small = load_model(tmp_path / "small")
    answers = asked_js(node, small, texts, tmp_path)
    found = [
        [answer["probabilities"][label] for label in small.fitted_.labels] for answer in answers
    ]
    np.testing.assert_allclose(found, small.predict_proba(texts), rtol=0, atol=1e-9)


def test_c(cc: str, smaller: TextClassifier, texts: list[str], tmp_path: Path) -> None:
    """Probabilities are equal to 1e-9; weights take a byte in the compiled program."""
    _, probabilities = asked_c(cc, smaller, [text.encode() for text in texts], tmp_path)
    np.testing.assert_allclose(probabilities, smaller.predict_proba(texts), rtol=0, atol=1e-9)
    assert "static const int8_t codes[]" in (tmp_path / "model.c").read_text(encoding="ascii")


def test_of_several_labels(node: str, cc: str, texts: list[str], tmp_path: Path) -> None:
    """They are exported in the same form."""
    training, labels = documents("train")
    lists: Any = [[label] if k % 3 else [label, "third"] for k, label in enumerate(labels)]
    save_model(
        limit_size(TextClassifier().fit(training, lists).model_, 20_000).model, tmp_path / "small"
    )
    classifier = load_model(tmp_path / "small")
    expected = classifier.predict_proba(texts)
    answers = asked_js(node, classifier, texts, tmp_path)
    found = [
        [answer["probabilities"][label] for label in classifier.fitted_.labels]
        for answer in answers
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        asked_c(cc, classifier, [text.encode() for text in texts], tmp_path)[1],
        expected,
        rtol=0,
        atol=1e-9,
    )


def test_the_command(node: str, tmp_path: Path) -> None:
    """Export with --max-model-bytes makes the model smaller first."""
    import sys

    TextClassifier(model="nbsvm").fit(*documents("train")).save(tmp_path / "model")
    command = [
        sys.executable,
        "-m",
        "nbtext",
        "export",
        "model",
        "-o",
        "model.mjs",
        "--max-model-bytes",
        "12KB",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "model.mjs").stat().st_size < 28_000
