"""What a model keeps of its estimate: its interval, and pairs of labels that are confused, counted
both ways, the most frequent ones first.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from nbtext.bayes.diagnostics import (
    MAX_KEPT_PAIRS,
    Confusion,
    LeaveOneOutEstimate,
    count_confusions,
    score_interval,
)
from nbtext.bayes.judged_documents import JudgedDocuments

ANSWERS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=200)


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
    order = sorted(expected, key=lambda pair: (-sum(expected[pair]), pair))[:MAX_KEPT_PAIRS]
    shuffled = np.random.default_rng(seed).permutation(
        np.array(pairs, dtype=np.int64).reshape(-1, 2)
    )
    assert count_confusions(
        JudgedDocuments(np.zeros((len(pairs), 0)), None, shuffled[:, 0]), shuffled[:, 1]
    ) == tuple(Confusion(*pair, *expected[pair]) for pair in order)


@pytest.mark.parametrize(("correct", "documents"), [(0, 1), (7, 10), (10, 10), (9662, 11_314)])
def test_the_score_interval(correct: int, documents: int) -> None:
    """As SciPy computes it, whose quantile of the normal distribution has more digits."""
    expected = binomtest(correct, documents).proportion_ci(0.95, "wilson")
    found = score_interval(correct / documents, documents)
    assert found == pytest.approx((expected.low, expected.high), abs=2e-5)
    assert 0 <= found[0] <= correct / documents <= found[1] <= 1


def test_a_text_is_one_observation() -> None:
    """A text that is there twice tells no more than once; without a text there is no interval."""
    once = LeaveOneOutEstimate(10, 0.7, 1.0)
    assert once.interval == score_interval(0.7, 10)
    assert LeaveOneOutEstimate(20, 0.7, 1.0, duplicates=10).interval == once.interval
    assert LeaveOneOutEstimate(0, 0.0, 0.0).interval is None
