"""Pairs of labels that are confused: counted both ways, the most frequent ones first."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.bayes.diagnostics import MAX_PAIRS, Confusion, count_confusions

ANSWERS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=200)


def test_by_hand() -> None:
    """Label 0 is predicted as 2 twice and 2 as 0 once: three together.

    Correct predictions do not count; ties are in order of the labels.
    """
    classes = np.array([0, 0, 2, 1, 1, 3, 0, 2], dtype=np.int32)
    answers = np.array([2, 2, 0, 1, 3, 2, 0, 2])
    assert count_confusions(classes, answers) == (
        Confusion(0, 2, 2, 1),
        Confusion(1, 3, 1, 0),
        Confusion(2, 3, 0, 1),
    )


def test_nothing_is_confused() -> None:
    """Without errors, or without documents, there are no pairs."""
    assert count_confusions(np.arange(5), np.arange(5)) == ()
    assert count_confusions(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)) == ()


@given(pairs=ANSWERS, seed=st.integers(0, 9))
def test_as_counted_one_by_one(pairs: list[tuple[int, int]], seed: int) -> None:
    """The pairs are those that counting document by document gives, in any order of the
    documents.
    """
    counted = Counter(pair for pair in pairs if pair[0] != pair[1])
    expected = {
        (a, b): (counted[a, b], counted[b, a])
        for a in range(10)
        for b in range(a + 1, 10)
        if counted[a, b] + counted[b, a]
    }
    order = sorted(expected, key=lambda pair: (-sum(expected[pair]), pair))[:MAX_PAIRS]
    shuffled = np.random.default_rng(seed).permutation(
        np.array(pairs, dtype=np.int64).reshape(-1, 2)
    )
    assert count_confusions(*shuffled.T) == tuple(
        Confusion(*pair, *expected[pair]) for pair in order
    )
