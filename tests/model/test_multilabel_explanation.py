"""Explanations of several labels: the terms of each label add up to its log-odds."""

import math
from dataclasses import astuple

import numpy as np
import pytest

from nbtext.bayes.binary_relevance import Smoothing
from nbtext.bayes.label_calibration import Combination
from nbtext.errors import SettingsError
from nbtext.model.inspection import inspect_model
from nbtext.report.explanation import explanation_record, explanations_result
from nbtext.report.inspection import inspection_result
from nbtext.report.result import format_result
from nbtext.text_classifier import TextClassifier

WORDS = {
    "fruit": "apple pear plum",
    "car": "wheel engine road",
    "garden": "spade rose earth",
    "sea": "wave salt boat",
}
NAMES = list(WORDS)
LISTS = [[one, other] if one != other else [one] for one in NAMES for other in NAMES] * 3 + [[]] * 6
TEXTS = [
    " ".join(WORDS[label] for label in labels) + f" and the other {'thing' * (i % 3)}"
    for i, labels in enumerate(LISTS)
]


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    """A model that uses both scores, so that the tests cover both."""
    with pytest.MonkeyPatch.context() as patch:
        start = Combination((1.0, 1.0), 0.9, 0.0, 1.0, 0.3, np.zeros(len(NAMES)))
        patch.setattr(
            "nbtext.bayes.label_calibration._search",
            lambda corpus, jobs: (Smoothing(100.0, 0.5), start),
        )
        return TextClassifier().fit(TEXTS, LISTS)


def test_the_terms_of_each_label_add_up(classifier: TextClassifier) -> None:
    texts = ["apple wheel the the", "salt boat rose earth earth", "rose words", "and other"]
    predicted = classifier.predict(texts)
    explanations = classifier.explain(texts)
    labels = {
        str(row): [each.label for each in explanations if each.id == str(row + 1)]
        for row in range(len(texts))
    }
    for row, found in enumerate(predicted):
        assert labels[str(row)] == list(found) or len(labels[str(row)]) == 1
    for each in explanations:
        assert each.label is not None and each.probability is not None and each.log_odds is not None
        total = sum(part.log_odds for part in each.contributions) + sum(astuple(each.terms))
        assert total == pytest.approx(each.log_odds, abs=1e-9)
        assert each.terms.prior < 0  # fewer than half of the documents have the label
        assert each.log_odds == pytest.approx(
            math.log(each.probability / (1 - each.probability)), abs=1e-6
        )
        assert each.against == f"not {each.label}"


def test_one_label_can_be_chosen(classifier: TextClassifier) -> None:
    (explanation,) = classifier.explain(["apple wheel"], label="sea")
    assert explanation.label == "sea"
    with pytest.raises(SettingsError, match="explains each label alone"):
        classifier.explain(["apple"], label="sea", against="car")
    with pytest.raises(SettingsError, match="no label 'river'"):
        classifier.explain(["apple"], label="river")


def test_explanations_are_written(classifier: TextClassifier) -> None:
    explanations = classifier.explain(["apple wheel"], label="fruit")
    record = explanation_record(explanations[0])
    assert record["terms"]["other_labels"] != 0
    assert record["terms"]["calibration"] != 0
    for output_format in ("table", "tsv", "jsonl"):
        written = "".join(format_result(explanations_result(explanations), output_format))
        assert "other" in written
        assert "calibration" in written
    assert [each.reason for each in classifier.explain([""])] == [None]


def test_inspection_names_thresholds_and_estimates(classifier: TextClassifier) -> None:
    found = inspect_model(classifier.model_, n_features=3)
    assert found.decisions is not None
    assert found.documents == len(TEXTS)
    assert found.occurrences == classifier.counts_.statistics.n_occurrences
    assert found.expected is not None and found.expected["micro_f1"] > 0.8
    top = {view.label: {feature.feature for feature in view.features} for view in found.labels}
    assert top == {label: set(words.split()) for label, words in WORDS.items()}
    (threshold,) = {each.threshold for each in found.decisions}
    text = "".join(format_result(inspection_result(found), "table"))
    assert f"thresholds  from {threshold:.4f}" in text
    assert "micro F1" in text


def test_labels_that_fell_back_are_listed() -> None:
    classifier = TextClassifier(optimize="macro_f1").fit(
        [*TEXTS, "apple pear plum and the other"], [*LISTS, ["rare"]]
    )
    found = inspect_model(classifier.model_, n_features=0)
    assert found.decisions is not None
    assert [each.label for each in found.decisions if each.is_fallback] == ["rare"]
    assert "1 label with a leave-one-out F1 below 0.1: rare" in "".join(
        format_result(inspection_result(found), "table")
    )
