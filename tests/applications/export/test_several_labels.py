"""Exported multi-label models: the same probabilities and labels as the model, in programs without
nbtext.
"""

import ctypes
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from demo_models import ODD_TEXTS, ask_c, ask_javascript, build_filter, check_answers, documents

from nbtext.text_classifier import TextClassifier

KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "binary pairs": {"tf": "binary", "ngrams": (1, 2), "min_df": 2},
    "characters": {"analyzer": "char_wb", "ngrams": (2, 3)},
    "views": {"view": ("word:1", "char_wb:3")},
    "a threshold for each": {"optimize": "macro_f1"},
}


def joined(half: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Texts of one letter or two, or of words that no letter is about, with their labels."""
    texts, labels = documents(half)
    order = Random(3).sample(range(len(texts)), len(texts))
    found = ["the and of a letter"] * 5
    lists: list[tuple[str, ...]] = [()] * 5
    for one, other in zip(order, [*order[::2], *order[1::2]], strict=True):
        found.append(f"{texts[one]} {texts[other]}" if one < other else texts[one])
        lists.append((labels[one], labels[other]) if one < other else (labels[one],))
    return found, lists


@pytest.fixture(scope="module", params=KINDS)
def classifier(request: pytest.FixtureRequest) -> TextClassifier:
    return TextClassifier(**KINDS[request.param]).fit(*joined("train"))


def check(
    classifier: TextClassifier, texts: list[str], labels: list[list[str]], probabilities: Any
) -> None:
    """Check that these are the predictions: probabilities to 1e-9, and equal labels, unless they
    are at a threshold.
    """
    model = classifier.fitted_
    expected = classifier.predict_proba(texts)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-9, atol=1e-12)
    is_clear = (np.abs(expected - model.task.fit.thresholds) > 1e-9).all(axis=1)
    assert is_clear.mean() > 0.9
    predicted = classifier.predict(texts)
    for row in np.flatnonzero(is_clear).tolist():
        assert labels[row] == list(predicted[row])


@pytest.mark.exhaustive(every=2)
def test_javascript(node: str, classifier: TextClassifier, tmp_path: Path) -> None:
    texts = [*joined("test")[0], *ODD_TEXTS]
    answers = ask_javascript(node, classifier, texts, tmp_path)
    labels = classifier.fitted_.labels
    probabilities = [[answer["probabilities"][label] for label in labels] for answer in answers]
    check(classifier, texts, [answer["labels"] for answer in answers], probabilities)
    assert {len(answer["labels"]) for answer in answers} >= {0, 1, 2}


@pytest.mark.exhaustive(every=2)
def test_c(cc: str, classifier: TextClassifier, tmp_path: Path) -> None:
    """The function, and the program, whose output is that of `nbtext predict` with all digits."""
    model = classifier.fitted_
    texts = [*joined("test")[0], *ODD_TEXTS]
    numbers, probabilities = ask_c(cc, classifier, [text.encode() for text in texts], tmp_path)
    thresholds = ctypes.CDLL(str(tmp_path / "model.so")).nbtext_thresholds
    thresholds.restype = ctypes.POINTER(ctypes.c_double)
    assert thresholds()[: len(model.labels)] == model.task.fit.thresholds.tolist()
    program = build_filter(cc, classifier, tmp_path)
    lines = "".join(text.replace("\n", " ").replace("\r", " ") + "\n" for text in texts)
    printed = subprocess.run(
        [program], input=lines, text=True, encoding="utf-8", capture_output=True, check=True
    ).stdout
    rows = [line.split("\t") for line in printed.splitlines()]
    labels = [row[0].split("|") if row[0] else [] for row in rows]
    check(classifier, texts, labels, probabilities)
    assert [max(0, number) for number in numbers] == [len(each) for each in labels]
    shares = "|".join(row[1] for row in rows if row[1])
    found = [
        probabilities[row, model.labels.index(label)]
        for row, each in enumerate(labels)
        for label in each
    ]
    np.testing.assert_allclose([float(share) for share in shares.split("|")], found, rtol=1e-9)


def test_one_label(node: str, tmp_path: Path) -> None:
    """A model whose documents have one label, or none."""
    classifier = TextClassifier().fit(
        ["red apple", "green pear", "blue sky", "wide sky"] * 5, [["fruit"], ["fruit"], [], []] * 5
    )
    texts = ["red", "sky", "apple pear", "nothing known", ""]
    answers = ask_javascript(node, classifier, texts, tmp_path)
    check_answers(answers, classifier, classifier.predict_proba(texts))
