"""Smaller models are exported in their small form, and predict the same in other programs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from demo_models import KINDS, ask_c, ask_javascript, check_answers, documents

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


@pytest.fixture(scope="module", params=[*SMALL, "several labels"])
def smaller(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TextClassifier:
    """A model of half of the size, loaded from its file."""
    path = tmp_path_factory.mktemp("small") / "model"
    texts, labels = documents("train")
    if request.param == "several labels":
        lists: Any = [[label] if k % 3 else [label, "third"] for k, label in enumerate(labels)]
        classifier = TextClassifier().fit(texts, lists)
    else:
        classifier = TextClassifier(**KINDS[request.param]).fit(texts, labels)
    save_model(limit_size(classifier.model_, 16_000).model, path)
    return load_model(path)


def test_javascript(node: str, smaller: TextClassifier, texts: list[str], tmp_path: Path) -> None:
    """Probabilities are equal to 1e-9, and the page is about as large as the model."""
    answers = ask_javascript(node, smaller, texts, tmp_path)
    check_answers(answers, smaller, smaller.predict_proba(texts))
    save_model(smaller, tmp_path / "model")
    code = Path(__file__).parents[3] / "nbtext/applications/export/classify.js"
    n_model = (tmp_path / "model.mjs").stat().st_size - code.stat().st_size
    assert n_model < 1.3 * (tmp_path / "model").stat().st_size


def test_c(cc: str, smaller: TextClassifier, texts: list[str], tmp_path: Path) -> None:
    """Probabilities are equal to 1e-9; weights take a byte in the compiled program."""
    _, probabilities = ask_c(cc, smaller, [text.encode() for text in texts], tmp_path)
    np.testing.assert_allclose(probabilities, smaller.predict_proba(texts), rtol=0, atol=1e-9)
    assert "static const int8_t codes[]" in (tmp_path / "model.c").read_text(encoding="ascii")


def test_the_command(nbtext: Any, tmp_path: Path) -> None:
    """Export with --max-model-bytes makes the model smaller first."""
    TextClassifier(model="nbsvm").fit(*documents("train")).save(tmp_path / "model")
    nbtext("export model -o model.mjs --max-model-bytes 12KB").ok()
    assert (tmp_path / "model.mjs").stat().st_size < 28_000
