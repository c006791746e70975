"""Every number that only model files of several labels have is checked; an invalid one is refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier, load_model
from nbtext.artifact.storage import load, save
from nbtext.errors import ArtifactError

TEXTS = ["red round leaf", "green round", "yellow long", "yellow curved long", "straße", "x1 x1"] * 2
LISTS = [["apple", "red"], ["apple"], ["banana"], ["banana"], [], ["red"]] * 2
LABELS = ["apple", "banana", "red"]
INDICATOR = np.array([[label in labels for label in LABELS] for labels in LISTS])
Change = Callable[[dict[str, Any]], None]


def put(path: str, value: Any) -> Change:
    """Return the function that replaces the value at a path of a record."""

    def change(record: dict[str, Any]) -> None:
        *folders, last = path.split(".")
        for name in folders:
            record = record[name]
        record[last] = value

    return change


def remove(path: str) -> Change:
    """Return the function that removes the value at a path of a record."""

    def change(record: dict[str, Any]) -> None:
        *folders, last = path.split(".")
        for name in folders:
            record = record[name]
        del record[last]

    return change


def fill(path: str, value: float) -> Change:
    """Return the function that fills the array at a path of a record with one value."""

    def change(record: dict[str, Any]) -> None:
        *folders, last = path.split(".")
        for name in folders:
            record = record[name]
        record[last] = np.full_like(record[last], value)

    return change


WRONG: list[tuple[str, Change]] = [
    ('"multilabel" should be', put("multilabel", 3)),
    ('"multilabel.mu"', put("multilabel.mu", 0.0)),
    ('"multilabel.exponent" should be from 1e-20 to 10', put("multilabel.exponent", 10.5)),
    ('"multilabel.mu"', put("multilabel.mu", float("nan"))),
    ('"multilabel.mu" is missing', remove("multilabel.mu")),
    ('does not know its entry "multilabel.more"', put("multilabel.more", 1)),
    ('"multilabel.alpha"', put("multilabel.alpha", -1.0)),
    ('"multilabel.alpha"', put("multilabel.alpha", "0.1")),
    ('"multilabel.weights"', fill("multilabel.weights", -1.0)),
    ('"multilabel.weights"', fill("multilabel.weights", np.inf)),
    ('"multilabel.weights"', put("multilabel.weights", np.ones(3))),
    ('"multilabel.exponent"', put("multilabel.exponent", 1e9)),
    ('"multilabel.exponent"', put("multilabel.exponent", -0.5)),
    ('"multilabel.slope"', put("multilabel.slope", float("inf"))),
    ('"multilabel.prior_weight"', put("multilabel.prior_weight", float("nan"))),
    ('"multilabel.intercept"', put("multilabel.intercept", float("inf"))),
    ('"multilabel.biases"', put("multilabel.biases", np.zeros(4))),
    ('"multilabel.biases"', fill("multilabel.biases", np.nan)),
    ('"multilabel.thresholds"', fill("multilabel.thresholds", 1.5)),
    ('"multilabel.thresholds"', fill("multilabel.thresholds", -0.1)),
    ('"multilabel.thresholds"', put("multilabel.thresholds", np.ones((3, 1)))),
    ('"multilabel.fallback"', put("multilabel.fallback", (3,))),
    ('"multilabel.fallback"', put("multilabel.fallback", (1, 1))),
    ('"multilabel.fallback"', put("multilabel.fallback", ("1",))),
    ('"multilabel.estimate', put("multilabel.estimate", {})),
    ('"multilabel.estimate.micro_f1"', put("multilabel.estimate.micro_f1", 1.1)),
    ('"multilabel.estimate.documents"', put("multilabel.estimate.documents", -1)),
    ('"multilabel.estimate.log_loss"', put("multilabel.estimate.log_loss", -1.0)),
    ('"multilabel.estimate.label_f1"', fill("multilabel.estimate.label_f1", 2.0)),
    ('"multilabel.nonconformity.points"', fill("multilabel.nonconformity.points", 1.5)),
    ('"multilabel.nonconformity', put("multilabel.nonconformity.numbers", 0)),
    ('"multilabel.posteriors', put("multilabel.posteriors", {})),
    ('"multilabel.posteriors.means"', fill("multilabel.posteriors.means", 1.5)),
    ('"multilabel.posteriors.means"', put("multilabel.posteriors.means", np.ones((3, 3)))),
    ('"multilabel.posteriors.spreads"', fill("multilabel.posteriors.spreads", np.nan)),
    ('"multilabel.posteriors.documents"', fill("multilabel.posteriors.documents", -1.0)),
    ('"multilabel.posteriors" is missing', remove("multilabel.posteriors")),
    ('"class_documents"', put("class_documents", np.array([2, 2]))),
    ('"scorer', put("scorer.bias", np.zeros(7))),
    ('"multilabel" does not fit the settings', put("model.model", "complement")),
    ('"multilabel" does not fit the settings', put("model.optimize", "accuracy")),
]
WRONG_LINEAR: list[tuple[str, Change]] = [
    ('"multilabel.scale" is missing', remove("multilabel.scale")),
    ('"multilabel.scale"', put("multilabel.scale", 0.0)),
    ('"multilabel.scale"', put("multilabel.scale", -1.0)),
    ('"multilabel.scale"', put("multilabel.scale", float("inf"))),
    ('"multilabel.scale"', put("multilabel.scale", "1")),
    ('does not know its entry "multilabel.mu"', put("multilabel.mu", 1.0)),
    ('"multilabel.intercept"', put("multilabel.intercept", float("nan"))),
    ('"multilabel.biases"', put("multilabel.biases", np.zeros(4))),
    ('"multilabel.biases"', fill("multilabel.biases", np.inf)),
    ('"multilabel.thresholds"', fill("multilabel.thresholds", 1.5)),
    ('"multilabel.fallback"', put("multilabel.fallback", (3,))),
    ('"multilabel.estimate.micro_f1"', put("multilabel.estimate.micro_f1", 1.1)),
    ('"multilabel.estimate.label_f1"', fill("multilabel.estimate.label_f1", 2.0)),
    ('"multilabel.nonconformity.points"', fill("multilabel.nonconformity.points", 1.5)),
    ('"hyperparameters.C"', put("hyperparameters.C", None)),
    ('"class_documents"', put("class_documents", np.array([2, 2]))),
    ('"scorer', put("scorer.bias", np.zeros(7))),
    ('"scorer.classes"', fill("scorer.classes", 3)),
    ('"multilabel" does not fit the settings', put("model.optimize", "accuracy")),
    ('"multilabel', put("model.model", "auto")),
]
WRONG_COUNTS: list[tuple[str, Change]] = [
    ('"statistics" should have at most', put("class_documents", np.array([13, 4, 4]))),
    ('"totals.documents" should be at most', put("totals.n_documents", np.array([3]))),
    ('"totals.n_documents" should be 1 numbers', put("totals.n_documents", np.array([12, 12]))),
    ('"totals.n_documents"', put("totals.n_documents", np.array([-1]))),
    ('"totals.n_documents"', put("totals.n_documents", np.array([np.nan]))),
    ('"totals.documents" should be at most', fill("totals.documents", 100)),
    ('"totals.documents" should be 9 numbers', put("totals.documents", np.ones(7, dtype=np.int64))),
    ('"totals.occurrences" does not fit', fill("totals.documents", 0)),
    ('"totals.occurrences" does not fit', fill("totals.occurrences", 0)),
    ('"totals.occurrences"', put("totals.occurrences", np.full(9, -1))),
    ('"totals" is missing', remove("totals")),
    ('"statistics', fill("statistics.classes", 1)),
    ('"sample.label_sets" is missing', remove("sample.label_sets")),
    ('"sample.label_sets.labels"', fill("sample.label_sets.labels", 9)),
    ('"sample.label_sets.indptr"', fill("sample.label_sets.indptr", -1)),
    ('"sample.label_sets', put("sample.label_sets.indptr", np.array([0, 0, 0, 0, 0, 5]))),
    ('"sample.classes"', fill("sample.classes", 9)),
    ('"sample', fill("sample.classes", 0)),
]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(("message", "change"), WRONG)
def test_an_invalid_number_is_refused(message: str, change: Change, tmp_path: Path) -> None:
    """Reading the model names the wrong value."""
    path = damage(tmp_path, change)
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("message", "change"), WRONG_LINEAR)
def test_an_invalid_number_of_a_linear_model_is_refused(message: str, change: Change, tmp_path: Path) -> None:
    """Reading the model names the wrong value; keys of Naive Bayes are unknown."""
    path = damage(tmp_path, change, model="svm")
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("message", "change"), WRONG_COUNTS)
def test_invalid_counts_are_refused(message: str, change: Change, tmp_path: Path) -> None:
    """Using the counts of the model names the wrong value."""
    path = damage(tmp_path, change)
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert "\n" not in str(caught.value)


def damage(folder: Path, change: Change, model: str = "auto") -> str:
    """Save a model with a changed record, and return its path."""
    path = str(folder / "model")
    TextClassifier(model=model, keep_sample=100).fit(TEXTS, LISTS).save(path)
    record = load(path)
    change(record)
    save(record, path)
    return path


@pytest.mark.parametrize(
    ("y", "value"),
    [
        (INDICATOR, 2),  # there is a label 2
        (INDICATOR, (1 << 20) + 1),
        (INDICATOR, -1),
        (INDICATOR, "3"),
        (INDICATOR, None),
        (LISTS, 3),
        ([[-1] if labels else [1] for labels in LISTS], 3),
        ([len(labels) for labels in LISTS], 3),
    ],
)
def test_the_columns_of_an_indicator_matrix_fit_the_labels(y: Any, value: Any, tmp_path: Path) -> None:
    """Columns that do not hold all labels, or would not fit in memory, are refused."""
    path = str(tmp_path / "model")
    TextClassifier().fit(TEXTS, y).save(path)
    save({**load(path), "label_columns": value}, path)
    with pytest.raises(ArtifactError, match='"label_columns"'):
        load_model(path)


def test_models_of_one_label_have_none_of_the_keys(tmp_path: Path) -> None:
    """The file of a single-label model is as it was before several labels were supported."""
    path = str(tmp_path / "model")
    TextClassifier(keep_sample=100).fit(TEXTS, [labels[0] if labels else "none" for labels in LISTS]).save(path)
    record = load(path)
    assert "multilabel" not in record
    assert "label_sets" not in record["sample"]


def test_a_model_of_one_label_cannot_claim_to_be_of_several(tmp_path: Path) -> None:
    """The key of several labels in the file of a single-label model is refused."""
    several, single = str(tmp_path / "several"), str(tmp_path / "single")
    TextClassifier().fit(TEXTS, LISTS).save(several)
    TextClassifier().fit(TEXTS, [labels[0] if labels else "red" for labels in LISTS]).save(single)
    record = load(single)
    record["multilabel"] = load(several)["multilabel"]
    save(record, single)
    with pytest.raises(ArtifactError):
        load_model(single)
