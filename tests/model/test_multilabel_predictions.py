"""Labels that are selected by thresholds, and the most probable ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.model.predictions import FEW_CLASSES, most_probable, select_labels


def test_no_labels() -> None:
    """A document that could not be read has none."""
    unread = np.full((1, 3), np.nan)
    assert select_labels(unread, ("a", "b", "c"), np.zeros(3), at_least_one=True) == [()]
    assert select_labels(unread[:0], ("a", "b", "c"), np.zeros(3)) == []
    assert select_labels(np.zeros((2, 0)), (), np.zeros(0), at_least_one=True) == [(), ()]


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 99), st.booleans())
def test_the_definition(n: int, n_labels: int, seed: int, at_least_one: bool) -> None:
    """It is what the definition says, row by row."""
    rng = np.random.default_rng(seed)
    probabilities = rng.random((n, n_labels)).round(1)
    thresholds = rng.random(n_labels).round(1)
    labels = tuple(f"l{k}" for k in range(n_labels))
    expected = []
    for row in probabilities:
        ranked = sorted(range(n_labels), key=lambda k: (-row[k], k))
        expected.append(
            tuple(labels[k] for k in ranked if row[k] >= thresholds[k])
            or (labels[ranked[0]],) * at_least_one
        )
    assert select_labels(probabilities, labels, thresholds, at_least_one=at_least_one) == expected


def test_most_probable_of_many() -> None:
    """The same classes with many labels, where not all are sorted; none of a row that was not
    read.
    """
    rng = np.random.default_rng(1)
    probabilities = rng.random((20, FEW_CLASSES + 50)).round(2)
    probabilities[3] = np.nan
    found = most_probable(probabilities, 7)
    assert found[3] == []
    for row, classes in enumerate(found):
        if row != 3:
            assert classes == np.argsort(-probabilities[row], kind="stable")[:7].tolist()
    assert most_probable(probabilities[:0], 7) == []
