"""Pairs of labels that are confused: counted both ways, the most frequent ones first."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.bayes.diagnostics import MAX_KEPT_PAIRS, Confusion, count_confusions
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
