"""A multi-label model that is exported for scikit-learn predicts there, by the code of the guide
alone.
"""

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from demo_models import ODD_TEXTS, documents, export
from sklearn.base import clone

from nbtext.errors import ModelError
from nbtext.export.formats import EXPORTERS
from nbtext.text_classifier import TextClassifier

PAGE = Path(__file__).parents[2] / "nbtext" / "guides" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAIVE_BAYES: list[dict[str, Any]] = [
    {},
    {"tf": "binary", "ngrams": (1, 2), "min_df": 2},
    {"optimize": "macro_f1"},
]
LINEAR: list[dict[str, Any]] = [
    {"model": "svm", "tf": "log", "idf": "smooth", "norm": "l2"},
    {"model": "nbsvm", "tf": "binary", "norm": "l2", "optimize": "macro_f1"},
]


@pytest.fixture(scope="module")
def loader() -> dict[str, Any]:
    """What the guide's lines define."""
    names: dict[str, Any] = {}
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if "def load_pipeline" in block or "def multilabel" in block:
            exec(block, names)  # our own page
    return names


def joined(half: str) -> tuple[list[str], list[list[str]]]:
    """Texts of one letter or two, and some of no topic, with their labels."""
    chance = Random(3)
    texts, labels = documents(half)
    order = list(range(len(texts)))
    chance.shuffle(order)
    pairs = [order[k : k + 1 + k % 2] for k in range(0, len(order), 2)]
    found = [" ".join(texts[k] for k in pair) for pair in pairs]
    return [*found, *["the and of a letter"] * 5], [
        *(sorted({labels[k] for k in pair}) for pair in pairs),
        *[[]] * 5,
    ]


@pytest.mark.parametrize("options", [*NAIVE_BAYES, *LINEAR], ids=str)
def test_pipeline(options: dict[str, Any], tmp_path: Path, loader: dict[str, Any]) -> None:
    """Probabilities to 1e-9 and the same labels, also of texts without tokens and of unknown
    words.
    """
    classifier = TextClassifier(**options).fit(*joined("train"))
    # scikit-learn does not omit tokens that are too long
    short = [text for text in ODD_TEXTS if len(text) < 30_000]
    check(classifier, [*joined("test")[0], *short, "noise", ""], tmp_path / "model.json", loader)


def check(classifier: TextClassifier, texts: list[str], path: Path, loader: dict[str, Any]) -> None:
    export(classifier, "sklearn-json", str(path))
    pipeline, probabilities = loader["load_pipeline"](path)
    labels, shares = loader["multilabel"](pipeline, probabilities, texts)
    expected = classifier.predict_proba(texts)
    fit = classifier.fitted_.task.fit
    assert fit is not None
    np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-9)
    is_clear = (np.abs(expected - fit.thresholds) > 1e-9).all(axis=1)
    predicted = classifier.predict(texts)
    for row in np.flatnonzero(is_clear).tolist():
        if pipeline[0].transform([texts[row]]).sum():  # a text without a known word has no label
            assert sorted(labels[row]) == sorted(predicted[row])
    assert pipeline.predict(texts).shape == shares.shape
    if classifier.fitted_.model_settings.is_linear and shares.shape[1] > 1:
        np.testing.assert_allclose(pipeline.predict_proba(texts), shares, rtol=0, atol=1e-9)
    clone(pipeline)


@pytest.mark.parametrize("options", [{}, LINEAR[0]], ids=str)
def test_a_single_label(options: dict[str, Any], tmp_path: Path, loader: dict[str, Any]) -> None:
    """Of documents that have it, or none."""
    texts = ["red apple", "green pear", "blue sky", "wide sky"] * 5
    classifier = TextClassifier(**options).fit(texts, [["fruit"], ["fruit"], [], []] * 5)
    check(classifier, ["red apple", "sky", "nothing known"], tmp_path / "model.json", loader)


@pytest.mark.parametrize("options", [{}, LINEAR[0]], ids=str)
def test_other_formats_refuse(options: dict[str, Any], tmp_path: Path) -> None:
    """In one line that names a format which holds the model; nothing is written."""
    classifier = TextClassifier(**options).fit(*joined("train"))
    kind = "linear multi-label model" if options else "a multi-label model"
    others = {"csv", *(("js", "c") if options else ())}
    assert others < set(EXPORTERS)
    for name in sorted(others):
        with pytest.raises(
            ModelError, match=rf"{kind} cannot be exported as .*; export it as .*sklearn-json"
        ) as caught:
            export(classifier, name, str(tmp_path / "model"))
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
