"""TextClassifier with several labels for a text: lists of labels, or an indicator matrix, as in
scikit-learn.
"""

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
    ["fruit"],
    ["fruit", "garden"],
    ["garden"],
    ["garden", "fruit"],
    ["car"],
    ["car", "car"],
    [],
    [],
] * 4
LABELS = ["car", "fruit", "garden"]
INDICATOR = np.array([[label in labels for label in LABELS] for labels in LISTS], dtype=int)


def test_lists_of_labels() -> None:
    classifier = TextClassifier().fit(TEXTS, LISTS)
    assert classifier.classes_.tolist() == LABELS
    assert classifier.predict(["road engine", "cloud wind sky rain"]) == [("car",), ()]
    margins = classifier.decision_function(TEXTS)
    predicted = classifier.predict(TEXTS)
    assert [{LABELS[k] for k in np.flatnonzero(row >= 0)} for row in margins] == list(
        map(set, predicted)
    )
    assert classifier.score(TEXTS, LISTS) > 0.9


def test_indicator_matrices_are_predicted_as_matrices() -> None:
    from scipy.sparse import csr_array

    # the last label occurs nowhere
    wide = np.column_stack((INDICATOR, np.zeros(len(TEXTS), dtype=int)))
    of_lists = TextClassifier().fit(TEXTS, LISTS)
    for y in (wide, csr_array(wide), wide.astype(bool)):
        classifier = TextClassifier().fit(TEXTS, y)
        predicted = classifier.predict(TEXTS)
        assert predicted.shape == wide.shape
        assert [{LABELS[k] for k in np.flatnonzero(row)} for row in predicted] == list(
            map(set, of_lists.predict(TEXTS))
        )
        assert classifier.score(TEXTS, y) == of_lists.score(TEXTS, LISTS)
        np.testing.assert_array_equal(classifier.classes_, [0, 1, 2, 3])
        probabilities = classifier.predict_proba(TEXTS)
        margins = classifier.decision_function(TEXTS)
        np.testing.assert_array_equal(probabilities[:, :3], of_lists.predict_proba(TEXTS))
        assert probabilities[:, 3].max() == 0
        np.testing.assert_array_equal(margins >= 0, predicted)
        assert np.isfinite(margins).all()
        np.testing.assert_array_equal(
            np.isneginf(classifier.class_log_prior_), [False, False, False, True]
        )


@pytest.mark.parametrize("form", [list, np.array, tuple], ids=str)
def test_lists_of_zeros_and_ones_are_an_indicator_matrix(form: Any) -> None:
    """As in scikit-learn: rows of one length that hold nothing but 0 and 1."""
    whole = TextClassifier().fit(TEXTS, INDICATOR)
    rows = TextClassifier().fit(TEXTS, [form(row) for row in INDICATOR.tolist()])
    np.testing.assert_array_equal(rows.predict(TEXTS), whole.predict(TEXTS))
    assert rows.score(TEXTS, INDICATOR.tolist()) == whole.score(TEXTS, INDICATOR)
    for lists in ([[1]] * 3, [[0, 1], [1], [0, 1]], [["0", "1"]] * 3):
        assert isinstance(TextClassifier().fit(TEXTS[:3], lists).predict(TEXTS), list)


class OfNumbers(TextClassifier):
    """Texts of the numbers that scikit-learn's checks give: each value is a word."""

    def _score(self, X: Any, jobs: int) -> Any:
        return super()._score(write_numbers(X), jobs)

    def fit(self, X: Any, y: Any) -> OfNumbers:
        super().fit(write_numbers(X), y)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = True
        tags.input_tags.string = False
        return tags


def write_numbers(X: Any) -> list[str]:
    return [
        " ".join(f"column{j}value{int(10 * value)}" for j, value in enumerate(row))
        for row in np.asarray(X)
    ]


def test_the_checks_of_scikit_learn() -> None:
    """Those of `check_estimator` that the tag multi_label calls for."""
    from sklearn.utils import estimator_checks, get_tags

    assert get_tags(TextClassifier()).classifier_tags.multi_label
    checks = [
        name for name in vars(estimator_checks) if name.startswith("check_classifiers_multilabel_")
    ]
    assert len(checks) >= 4
    for name in checks:
        getattr(estimator_checks, name)("OfNumbers", OfNumbers())


def forms() -> dict[str, Any]:
    """Every form of several labels."""
    import pandas as pd
    import polars as pl
    from scipy.sparse import csr_array

    # the last label occurs nowhere
    wide = np.column_stack((INDICATOR, np.zeros(len(TEXTS), dtype=int)))
    return {
        "texts": LISTS,
        "integers": [[len(label) for label in labels] for labels in LISTS],
        "floats": [[len(label) / 4 for label in labels] for labels in LISTS],
        "booleans": [[label == "car" for label in dict.fromkeys(labels)] for labels in LISTS],
        "matrix": wide,
        "matrix of booleans": wide.astype(bool),
        "rows": wide.tolist(),
        "sparse matrix": csr_array(wide),
        "table": pd.DataFrame(wide),
        "table of polars": pl.DataFrame(wide),
    }


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("form", forms())
def test_a_saved_classifier_is_the_same(form: str, tmp_path: Path) -> None:
    """Each form of labels goes through save and load: predictions, probabilities, scores, and later
    growth.
    """
    from sklearn.base import clone

    y = forms()[form]
    classifier = TextClassifier(keep_sample=100).fit(TEXTS, y)
    classifier.save(tmp_path / "m")
    loaded = TextClassifier.load(tmp_path / "m")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    more = [y[0]] if isinstance(y, list) else y[:1]
    for attempt in range(3):
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            found = getattr(loaded, method)(TEXTS)
            expected = getattr(classifier, method)(TEXTS)
            assert type(found) is type(expected)
            np.testing.assert_array_equal(
                np.array(found, dtype=object), np.array(expected, dtype=object)
            )
        assert loaded.predict(TEXTS)[0].__class__ is classifier.predict(TEXTS)[0].__class__
        assert loaded.score(TEXTS, y) == classifier.score(TEXTS, y) > 0.7
        assert loaded.classes_.dtype == classifier.classes_.dtype
        assert loaded.classes_.tolist() == classifier.classes_.tolist()
        assert loaded.get_params() == classifier.get_params()
        for each in (loaded, classifier):
            _ = (each.partial_fit if attempt == 0 else each.forget)(TEXTS[:1], more)
    assert clone(loaded).fit(TEXTS, y).score(TEXTS, y) == classifier.score(TEXTS, y)


def test_the_columns_of_a_matrix_survive_growth(tmp_path: Path) -> None:
    """A wider matrix adds columns, used or not; so does a merge; a label outside of them ends the
    matrix.
    """
    empty = np.zeros((len(TEXTS), 2), dtype=int)
    narrow, wide = (
        TextClassifier(keep_sample=100).fit(TEXTS, y)
        for y in (INDICATOR, np.hstack((INDICATOR, empty)))
    )
    for models in ((narrow, wide), (wide, narrow)):
        models[0].save(tmp_path / "m")
        assert TextClassifier.load(tmp_path / "m").merge(models[1]).predict(TEXTS).shape == (
            len(TEXTS),
            5,
        )
    narrow.partial_fit(TEXTS, np.hstack((INDICATOR, empty, empty)))
    narrow.save(tmp_path / "m")
    assert TextClassifier.load(tmp_path / "m").predict(TEXTS).shape == (len(TEXTS), 7)
    # a narrower one removes none
    assert wide.partial_fit(TEXTS, INDICATOR).predict(TEXTS).shape == (len(TEXTS), 5)
    assert isinstance(wide.partial_fit(TEXTS, [[-1]] * len(TEXTS)).predict(TEXTS), list)


def test_a_matrix_of_too_many_columns_is_refused() -> None:
    from scipy.sparse import csr_array

    y = csr_array((1, (1 << 20) + 1), dtype=np.int8)
    with pytest.raises(InputError, match="at most 1,048,576 columns; give a list of labels"):
        TextClassifier().fit(["a text"], y)


@pytest.mark.parametrize(("one", "other"), [("int", "str"), ("bool", "str"), ("float", "int")])
@pytest.mark.parametrize("is_multilabel", [False, True])
def test_models_of_different_types_of_labels_are_not_merged(
    one: str, other: str, is_multilabel: bool, tmp_path: Path
) -> None:
    """`merge` refuses what `partial_fit` refuses, in both orders, also after save and load."""
    of_type: dict[str, list[Any]] = {
        "int": [1, 2],
        "str": ["1", "2"],
        "bool": [True, False],
        "float": [1.0, 2.5],
    }
    fitted = {}
    for name, labels in of_type.items():
        y = [[label] for label in labels] if is_multilabel else labels
        TextClassifier().fit(TEXTS[:2] * 4, y * 4).save(tmp_path / name)
        fitted[name] = TextClassifier.load(tmp_path / name)
    for mine, theirs in ((one, other), (other, one)):
        with pytest.raises(
            ModelError, match=f"the labels of one model are {mine}, and those of the other {theirs}"
        ):
            fitted[mine].merge(fitted[theirs])
        y = [[label] for label in of_type[theirs]] if is_multilabel else of_type[theirs]
        with pytest.raises(
            InputError, match=f"the labels are {theirs}, and those of the model are {mine}"
        ):
            fitted[mine].partial_fit(TEXTS[:2], y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], "b"], "the labels of text 1 are str, not a list"),
        ([["a"], None], "the labels of text 1 are NoneType, not a list"),
        ([["a"], ["b", 1]], "labels are of several types"),
        (np.array([[1, 2], [0, 1]]), "other numbers than 0 and 1"),
        ([[], []], "no document has a label"),
    ],
)
def test_what_is_wrong_with_labels_is_named(y: Any, message: str) -> None:
    with pytest.raises((InputError, ModelError), match=message):
        TextClassifier().fit(["one", "two"], y)


def test_what_needs_one_label_is_refused() -> None:
    classifier = TextClassifier().fit(TEXTS, LISTS)
    with pytest.raises(InputError, match="differ in number"):
        classifier.score(TEXTS, LISTS[1:])
