"""Every number that only model files of several labels have is checked; an invalid one is refused
in one line.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored import change, load, put, remove

from nbtext import TextClassifier, load_model
from nbtext.errors import ArtifactError

TEXTS = [
    "red round leaf",
    "green round",
    "yellow long",
    "yellow curved long",
    "straße",
    "x1 x1",
] * 2
LISTS = [["apple", "red"], ["apple"], ["banana"], ["banana"], [], ["red"]] * 2
LABELS = ["apple", "banana", "red"]
INDICATOR = np.array([[label in labels for label in LABELS] for labels in LISTS])
Change = Callable[[dict[str, Any]], None]


def fill(where: str, value: float) -> Change:
    """Return the function that fills the array at a path of a record with one value."""
    return put(where, lambda array: np.full_like(array, value))


WRONG: list[tuple[str, Change]] = [
    ('"task.fit" should be', put("task.fit", 3)),
    ('"task.fit.smoothing.mu"', put("task.fit.smoothing.mu", 0.0)),
    (
        '"task.fit.combination.exponent" should be from 1e-20 to 10',
        put("task.fit.combination.exponent", 10.5),
    ),
    ('"task.fit.smoothing.alpha"', put("task.fit.smoothing.alpha", -1.0)),
    ('"task.fit.combination.weights"', put("task.fit.combination.weights", [-1.0, -1.0])),
    ('"task.fit.combination"', put("task.fit.combination.weights", [1.0, 1.0, 1.0])),
    ('"task.fit.combination.biases"', put("task.fit.combination.biases", np.zeros(4))),
    ('"task.fit.thresholds"', fill("task.fit.thresholds", 1.5)),
    ('"task.fit.fallback"', put("task.fit.fallback", (3,))),
    ('"task.fit.fallback"', put("task.fit.fallback", (1, 1))),
    ('"task.fit.nonconformity.points"', fill("task.fit.nonconformity.points", 1.5)),
    ('"task.fit.nonconformity', put("task.fit.nonconformity.numbers", 0)),
    ('"task.fit.posteriors.means"', fill("task.fit.posteriors.means", 1.5)),
    ('"task.fit.posteriors.means"', put("task.fit.posteriors.means", np.ones((3, 3)))),
    ('"task.fit.combination" does not fit', put("task.fit.smoothing", None)),
    (
        '"counts.statistics.class_documents"',
        put("counts.statistics.class_documents", np.array([2, 2])),
    ),
    ('"scorer', put("scorer.bias", np.zeros(7))),
    ('"task" does not fit the settings', put("model_settings.model", "complement")),
    ('"task" does not fit the settings', put("model_settings.optimize", "accuracy")),
]
WRONG_LINEAR: list[tuple[str, Change]] = [
    ('"task.fit.combination.weights" is missing', remove("task.fit.combination.scale")),
    ('"task.fit.combination.scale"', put("task.fit.combination.scale", 0.0)),
    ('does not know its entry "task.fit.combination.mu"', put("task.fit.combination.mu", 1.0)),
    ('"task.fit.combination" does not fit', put("task.fit.smoothing", {"mu": 1.0, "alpha": None})),
    ('"task.fit.combination.biases"', put("task.fit.combination.biases", np.zeros(4))),
    ('"hyperparameters.C"', put("hyperparameters.C", None)),
    ('"scorer', put("scorer.bias", np.zeros(7))),
    ('"scorer.classes"', fill("scorer.classes", 3)),
    ('"task', put("model_settings.model", "auto")),
]
WRONG_COUNTS: list[tuple[str, Change]] = [
    (
        '"counts.statistics" should have at most',
        put("counts.statistics.class_documents", np.array([13, 4, 4])),
    ),
    (
        '"counts.statistics.totals.documents" should be at most',
        put("counts.statistics.totals.n_documents", 3),
    ),
    (
        '"counts.statistics.totals.documents" should be at most',
        fill("counts.statistics.totals.documents", 100),
    ),
    (
        '"counts.statistics.totals.occurrences" should be 7 numbers',
        put("counts.statistics.totals.documents", np.ones(7, dtype=np.int64)),
    ),
    (
        '"counts.statistics.totals.documents" should be 9',
        put(
            "counts.statistics.totals",
            {
                "n_documents": 12,
                "documents": np.ones(7, dtype=np.int64),
                "occurrences": np.ones(7, dtype=np.int64),
            },
        ),
    ),
    (
        '"counts.statistics.totals.occurrences" does not fit',
        fill("counts.statistics.totals.documents", 0),
    ),
    (
        '"counts.statistics.totals.occurrences" does not fit',
        fill("counts.statistics.totals.occurrences", 0),
    ),
    (
        '"counts.statistics.totals.occurrences"',
        put("counts.statistics.totals.occurrences", np.full(9, -1)),
    ),
    ('"counts.statistics.totals" should be stored', remove("counts.statistics.totals")),
    ('"counts.statistics', fill("counts.statistics.classes", 1)),
    ('"counts.label_sets" does not fit the task', remove("counts.label_sets")),
    ('"counts.label_sets" should hold labels', put("counts.label_sets.0", ["cherry"])),
    ('"counts.label_sets" should hold labels', put("counts.label_sets.1", ["red", "apple"])),
    (
        '"counts.label_sets" should be those of the documents',
        put("counts.label_sets", lambda sets: sets[::-1]),
    ),
    (
        '"counts.label_sets" should be those of the documents',
        put("counts.label_sets", lambda sets: [*sets, ["red"]]),
    ),
    ('"counts.label_sets" should be a list', put("counts.label_sets", 3)),
    ('"counts.sample.classes"', fill("counts.sample.classes", 9)),
    ('"counts.label_sets" should be those of the documents', fill("counts.sample.classes", 0)),
]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(("message", "how"), WRONG)
def test_an_invalid_number_is_refused(message: str, how: Change, tmp_path: Path) -> None:
    """Reading the model names the wrong value."""
    path = damage(tmp_path, how)
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("message", "how"), WRONG_LINEAR)
def test_an_invalid_number_of_a_linear_model_is_refused(
    message: str, how: Change, tmp_path: Path
) -> None:
    """Reading the model names the wrong value; keys of Naive Bayes are unknown."""
    path = damage(tmp_path, how, model="svm")
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("message", "how"), WRONG_COUNTS)
def test_invalid_counts_are_refused(message: str, how: Change, tmp_path: Path) -> None:
    """Using the counts of the model names the wrong value."""
    path = damage(tmp_path, how)
    with pytest.raises(ArtifactError, match=message) as caught:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert "\n" not in str(caught.value)


def damage(folder: Path, how: Change, model: str = "auto") -> str:
    """Save a model with a changed record, and return its path."""
    path = str(folder / "model")
    TextClassifier(model=model, keep_sample=100).fit(TEXTS, LISTS).save(path)
    change(path, how)
    return path


@pytest.mark.parametrize(
    ("y", "value"),
    [
        (INDICATOR, 2),  # there is a label 2
        (INDICATOR, (1 << 20) + 1),
        (INDICATOR, -1),
        (INDICATOR, "3"),
        (INDICATOR, True),
        (LISTS, 3),
        ([[-1] if labels else [1] for labels in LISTS], 3),
        ([len(labels) for labels in LISTS], 3),
    ],
)
def test_the_columns_of_an_indicator_matrix_fit_the_labels(
    y: Any, value: Any, tmp_path: Path
) -> None:
    """Columns that do not hold all labels, or would not fit in memory, are refused."""
    path = str(tmp_path / "model")
    TextClassifier().fit(TEXTS, y).save(path)
    change(path, put("label_columns", value))
    with pytest.raises(ArtifactError, match='"label_columns"'):
        load_model(path)


def test_models_of_one_label_have_none_of_the_keys(tmp_path: Path) -> None:
    """The file of a single-label model is as it was before several labels were supported."""
    path = str(tmp_path / "model")
    TextClassifier(keep_sample=100).fit(
        TEXTS, [labels[0] if labels else "none" for labels in LISTS]
    ).save(path)
    record = load(path)
    assert record["task"]["name"] == "one"
    assert "fit" not in record["task"]
    assert "label_sets" not in record["counts"]


def test_a_model_of_one_label_cannot_claim_to_be_of_several(tmp_path: Path) -> None:
    """The task of several labels in the file of a single-label model is refused."""
    several = str(tmp_path / "several")
    single = str(tmp_path / "single")
    TextClassifier().fit(TEXTS, LISTS).save(several)
    TextClassifier().fit(TEXTS, [labels[0] if labels else "red" for labels in LISTS]).save(single)
    change(single, put("task", load(several)["task"]))
    with pytest.raises(ArtifactError):
        load_model(single)
