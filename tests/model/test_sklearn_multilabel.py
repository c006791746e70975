"""TextClassifier with several labels for a text: lists of labels, or an indicator matrix, as in scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext.errors import InputError, ModelError
from nbtext.text_classifier import TextClassifier

TEXTS = [
    "apple pear fruit sweet",
    "apple plum fruit garden",
    "tree garden spade earth",
    "garden rose spade plum",
    "engine wheel oil road",
    "wheel road drive engine",
    "weather rain wind",
    "rain cloud sky wind",
] * 4
LISTS: list[list[str]] = [
    ["fruit"], ["fruit", "garden"], ["garden"], ["garden", "fruit"], ["car"], ["car", "car"], [], [],
] * 4  # fmt: skip
LABELS = ["car", "fruit", "garden"]
INDICATOR = np.array([[label in labels for label in LABELS] for labels in LISTS], dtype=int)


def test_lists_of_labels() -> None:
    classifier = TextClassifier().fit(TEXTS, LISTS)
    assert classifier.classes_.tolist() == LABELS
    assert classifier.predict(["sweet apple pear", "road engine", "cloud wind sky rain"]) == [("fruit",), ("car",), ()]
    probabilities = classifier.predict_proba(TEXTS)
    assert probabilities.shape == (len(TEXTS), 3)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    margins = classifier.decision_function(TEXTS)
    predicted = classifier.predict(TEXTS)
    assert [{LABELS[k] for k in np.flatnonzero(row >= 0)} for row in margins] == list(map(set, predicted))
    assert classifier.score(TEXTS, LISTS) > 0.9


def test_indicator_matrices_are_predicted_as_matrices() -> None:
    from scipy.sparse import csr_array

    wide = np.column_stack((INDICATOR, np.zeros(len(TEXTS), dtype=int)))  # the last label occurs nowhere
    of_lists = TextClassifier().fit(TEXTS, LISTS)
    for y in (wide, csr_array(wide), wide.astype(bool)):
        classifier = TextClassifier().fit(TEXTS, y)
        predicted = classifier.predict(TEXTS)
        assert predicted.shape == wide.shape
        assert [{LABELS[k] for k in np.flatnonzero(row)} for row in predicted] == list(
            map(set, of_lists.predict(TEXTS))
        )
        assert classifier.score(TEXTS, y) == of_lists.score(TEXTS, LISTS)
        np.testing.assert_array_equal(classifier.classes_, [0, 1, 2])


def test_numbers_as_labels() -> None:
    classifier = TextClassifier().fit(TEXTS, [[len(label) for label in labels] for labels in LISTS])
    assert classifier.classes_.tolist() == [3, 5, 6]
    assert classifier.predict(["road engine"]) == [(3,)]


def test_growth_equals_training(tmp_path: Path) -> None:
    whole = TextClassifier(keep_sample=100).fit(TEXTS, LISTS)
    part = TextClassifier(keep_sample=100).fit(TEXTS[:12], LISTS[:12])
    grown = part.partial_fit(TEXTS[12:], LISTS[12:])
    for name, classifier in (("whole", whole), ("grown", grown)):
        classifier.save(tmp_path / name)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "grown").read_bytes()
    loaded = TextClassifier.load(tmp_path / "grown")
    assert loaded.predict(TEXTS) == whole.predict(TEXTS)
    loaded.forget(TEXTS[12:], LISTS[12:])
    assert loaded.counts_.statistics.n_documents == 12


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], "b"], "the labels of text 1 are str, not a list"),
        ([["a"], None], "the labels of text 1 are NoneType, not a list"),
        ([["a"], ["b", 1]], "labels are of several types"),
        ([["a"], ["b", None]], "label 2 is missing"),
        (np.array([[1, 2], [0, 1]]), "other numbers than 0 and 1"),
        (np.array([[1, 0]]), "2 texts and 1 label differ"),
        ([[], []], "no document has a label"),
    ],
)
def test_what_is_wrong_with_labels_is_named(y: Any, message: str) -> None:
    with pytest.raises((InputError, ModelError), match=message):
        TextClassifier().fit(["one", "two"], y)


def test_what_needs_one_label_is_refused() -> None:
    classifier = TextClassifier().fit(TEXTS, LISTS)
    with pytest.raises(ModelError, match="several labels"):
        _ = classifier.leave_one_out_predict_proba_
    with pytest.raises(InputError, match="differ in number"):
        classifier.score(TEXTS, LISTS[1:])
