"""The selection of features."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_selection import chi2, mutual_info_classif

from nbtext.errors import ModelError, SettingsError
from nbtext.features.document_table import ClassCounts
from nbtext.features.selection import (
    chi_squared,
    document_frequency_limits,
    is_selective,
    mutual_information,
    select_columns,
)
from nbtext.features.settings import FeatureSettings

COUNTS = st.tuples(st.integers(2, 12), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, 2, 5]))
)


def counted(counts: np.ndarray, classes: np.ndarray) -> tuple[ClassCounts, np.ndarray]:
    """The sums by feature and class of a dense matrix, and the documents of each class."""
    n_classes = int(classes.max()) + 1
    members = np.eye(n_classes, dtype=np.int64)[classes]
    documents = members.T @ (counts > 0)
    occurrences = members.T @ counts
    features, labels = documents.T.nonzero()
    indptr = np.searchsorted(features, np.arange(counts.shape[1] + 1)).astype(np.int64)
    sums = ClassCounts(
        indptr, labels.astype(np.int32), documents[labels, features], occurrences[labels, features]
    )
    return sums, members.sum(axis=0)


@given(counts=COUNTS, data=st.data())
def test_mutual_information_is_that_of_scikit_learn(
    counts: np.ndarray, data: st.DataObject
) -> None:
    """Of binary counts and the label, in nats."""
    classes = data.draw(arrays(np.int64, len(counts), elements=st.integers(0, 2)))
    classes[0] = 0
    sums, class_documents = counted(counts, classes)
    expected = mutual_info_classif(counts > 0, classes, discrete_features=True)
    np.testing.assert_allclose(
        mutual_information(sums, class_documents), expected, rtol=1e-10, atol=1e-13
    )


@given(counts=COUNTS, data=st.data(), is_binary=st.booleans())
def test_chi_squared_is_that_of_scikit_learn(
    counts: np.ndarray, data: st.DataObject, is_binary: bool
) -> None:
    """On occurrences, or on binary counts."""
    classes = data.draw(arrays(np.int64, len(counts), elements=st.integers(0, 2)))
    classes[:2] = 0, 1
    counts = counts[:, (counts > 0).any(axis=0)]
    assume(counts.shape[1] and (np.bincount(classes) > 0).all())
    sums, class_documents = counted(counts, classes)
    expected = chi2((counts > 0).astype(int) if is_binary else counts, classes)[0]
    ours = chi_squared(sums, sums.documents if is_binary else sums.occurrences, class_documents)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "first", "second"), [(6, (1, 6, 4), (4, 1, 6)), (6, (2, 1, 6), (6, 2, 1))]
)
def test_rounding_errors_break_no_ties(
    n: int, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    """Two words that tell the same, with labels exchanged, differ in the last bits: the earlier
    name is kept.
    """
    counts = np.array(
        [
            [row < one, row < other]
            for one, other in zip(first, second, strict=True)
            for row in range(n)
        ]
    )
    sums, class_documents = counted(counts.astype(np.int64), np.repeat([0, 1, 2], n))
    scores = mutual_information(sums, class_documents)
    assert scores[0] < scores[1] == pytest.approx(scores[0], rel=1e-12)
    assert select_columns(sums, class_documents, FeatureSettings(select=("mi", 1))).tolist() == [0]


CORPUS = np.array([[3, 1, 0, 1, 0], [1, 1, 0, 0, 2], [2, 1, 1, 0, 0], [1, 0, 1, 0, 0]])
# features in 4, 3, 2, 1 and 1 of the 4 documents; 7, 3, 2, 1 and 2 times
LABELS = np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"min_df": 2}, [0, 1, 2]),
        ({"min_df": 0.5}, [0, 1, 2]),
        ({"min_df": 0.51}, [0, 1]),
        ({"max_df": 3}, [1, 2, 3, 4]),
        ({"max_df": 0.75}, [1, 2, 3, 4]),
        ({"max_df": 1}, [3, 4]),
        ({"max_df": 1.0}, [0, 1, 2, 3, 4]),
        ({"min_df": 1.0}, [0]),
        ({"min_df": 2, "max_df": 3}, [1, 2]),
        ({"max_features": 2}, [0, 1]),
        ({"max_features": 3}, [0, 1, 2]),  # 2 and 4 occur twice: the earlier name
        ({"max_features": 4}, [0, 1, 2, 4]),
        ({"max_features": 9}, [0, 1, 2, 3, 4]),
        ({"max_features": 4, "tf": "binary"}, [0, 1, 2, 3]),  # 3 and 4 are in one document each
        ({"max_df": 3, "max_features": 1}, [1]),  # limits first
        ({"select": ("mi", 1)}, [2]),  # in both documents of class 1 and no other
        ({"select": ("mi", 3)}, [1, 2, 3]),  # 1, 3 and 4 tell the same
        # (0-1)²/1 twice: 2; feature 4 (2-1)²/1 twice: 2; the earlier name
        ({"select": ("chi2", 1)}, [2]),
        ({"select": ("chi2", 2)}, [2, 4]),
        ({"max_features": 2, "select": ("mi", 1)}, [1]),  # max_features first
    ],
)
def test_the_columns_that_are_kept(options: dict[str, Any], expected: list[int]) -> None:
    """Each limit keeps the features that its help describes; ties are in order of the names."""
    sums, class_documents = counted(CORPUS, LABELS)
    settings = FeatureSettings(**options)
    assert select_columns(sums, class_documents, settings).tolist() == expected
    assert is_selective(settings) == (repr(options) not in ("{}", "{'max_df': 1.0}"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"min_df": 5, "max_df": 9},
            ModelError,
            "no feature is left after the limits of document frequency; lower min_df or raise max_df",
        ),
        ({"min_df": 5}, SettingsError, "min_df: 5 is more than the number of documents, 4"),
        (
            {"min_df": 3, "max_df": 2},
            SettingsError,
            "^max_df: 2 allows 2 documents of 4, but min_df 3 needs 3; raise",
        ),
        ({"min_df": 0}, SettingsError, "^min_df: 0 is neither a number of documents"),
        (
            {"max_df": 1.5},
            SettingsError,
            "^max_df: 1.5 is neither a number of documents nor a proportion",
        ),
        (
            {"min_df": float("nan")},
            SettingsError,
            "^min_df: nan is neither a number of documents nor a proportion",
        ),
        ({"max_features": 0}, SettingsError, "^max_features: 0 is not a valid value"),
        ({"select": ("mi", 0)}, SettingsError, "^select: 0 is not a number from 1"),
        (
            {"select": ("gini", 1)},
            SettingsError,
            "select: unknown criterion gini; write mi:N or chi2:N",
        ),
    ],
)
def test_limits_that_make_no_sense_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Each error names the option and says what would help."""
    sums, class_documents = counted(CORPUS, LABELS)
    with pytest.raises(error, match=message):
        select_columns(sums, class_documents, FeatureSettings(**options))


def test_nothing_can_be_selected_from_nothing() -> None:
    """Documents without any feature, and labels without a difference, are errors."""
    nothing = ClassCounts(
        np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64)
    )
    with pytest.raises(ModelError, match="no document contains a token"):
        select_columns(nothing, np.array([3]), FeatureSettings())
    sums, class_documents = counted(CORPUS, np.zeros(4, dtype=np.int64))
    with pytest.raises(ModelError, match="select: mi needs documents of at least two labels"):
        select_columns(sums, class_documents, FeatureSettings(select=("mi", 1)))


def test_a_share_of_the_documents_is_not_rounded() -> None:
    """As scikit-learn compares: 0.3 of 7 documents is 2.1, so that a feature needs 3."""
    low, high = document_frequency_limits(FeatureSettings(min_df=0.3, max_df=7), 7)
    assert (2 < low < 3, high) == (True, 7)


@pytest.mark.parametrize("smallest", [5e-324, 1e-300])
def test_chi_squared_of_tiny_counts(smallest: float) -> None:
    """Sums of probabilities may be so small: the statistic is, too, without a warning."""
    sums, class_documents = counted(
        np.array([[1, 1], [3, 1], [0, 2], [0, 1]]), np.array([0, 0, 1, 1])
    )
    expected = chi_squared(sums, sums.occurrences, class_documents)
    found = chi_squared(sums, sums.occurrences * smallest, class_documents)
    np.testing.assert_allclose(found, expected * smallest, rtol=1e-12, atol=5e-324)
