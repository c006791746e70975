"""Class statistics can be added, subtracted, and restricted to columns."""

from typing import Any

import numpy as np
import pytest
from corpora_by_hand import labeled_matrices, sample_of, statistics_of
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.errors import ModelError


def assert_equal(a: ClassStatistics, b: ClassStatistics) -> None:
    for name in ("class_documents", "indptr", "classes", "documents", "occurrences"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
        assert getattr(a, name).dtype == getattr(b, name).dtype


@settings(max_examples=60)
@given(corpus=labeled_matrices(), data=st.data())
def test_sums_and_differences(corpus: Any, data: st.DataObject) -> None:
    """a + b is the statistics of both corpora, and a + b - b is a, to the last bit."""
    counts, classes, n_classes = corpus
    is_first = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(counts), max_size=len(counts)))
    )
    a = statistics_of(counts[is_first], classes[is_first], n_classes)
    b = statistics_of(counts[~is_first], classes[~is_first], n_classes)
    both = statistics_of(counts, classes, n_classes)
    assert_equal(a + b, both)
    assert_equal(b + a, both)
    assert_equal(both - b, a)


@settings(max_examples=60)
@given(corpus=labeled_matrices(), data=st.data())
def test_restriction(corpus: Any, data: st.DataObject) -> None:
    """ClassStatistics cut to some columns are those of the matrix cut to them; so is a sample."""
    counts, classes, n_classes = corpus
    columns = np.array(sorted(data.draw(st.sets(st.integers(0, counts.shape[1] - 1), min_size=1))))
    assert_equal(
        statistics_of(counts, classes, n_classes).restrict(columns),
        statistics_of(counts[:, columns], classes, n_classes),
    )
    cut = sample_of(counts, classes).restrict(columns, counts.shape[1])
    expected = sample_of(counts[:, columns], classes)
    for name in ("indptr", "indices", "counts", "classes"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(expected, name), err_msg=name)


def test_alignment() -> None:
    """The same counts among more features and classes are those of a matrix with empty columns
    between.
    """
    counts = np.array([[1, 0], [2, 3]])
    classes = np.array([0, 1])
    wider = np.array([[0, 1, 0, 0], [0, 2, 0, 3]])
    aligned = statistics_of(counts, classes, 2).align(
        np.array([1, 3]), 4, classes=np.array([0, 2]), n_classes=3
    )
    assert_equal(aligned, statistics_of(wider, np.array([0, 2]), 3))


def test_sums_of_enormous_counts_are_exact() -> None:
    """10^18 and 1 add up to 10^18 + 1, which float64 cannot hold."""
    statistics = ClassStatistics(
        np.array([2]),
        np.array([0, 1, 2]),
        np.zeros(2, dtype=np.int32),
        np.array([1, 1]),
        np.array([10**18, 1]),
    )
    assert statistics.class_occurrences.tolist() == [10**18 + 1]


def test_forgetting_what_was_never_learned() -> None:
    """Taking out documents that were never counted is refused."""
    little = statistics_of(np.array([[1, 0]]), np.array([0]), 1)
    much = statistics_of(np.array([[1, 1]]), np.array([0]), 1)
    with pytest.raises(ModelError, match="not trained on some of these documents"):
        little - much
