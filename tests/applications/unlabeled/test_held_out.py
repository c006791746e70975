"""Held-out estimates of semi-supervised models are those of models that were fitted without the
held-out documents.
"""

from typing import Any

import numpy as np
import pytest
from corpora_by_hand import sample_of, statistics_of
from scipy.sparse import csr_array

from nbtext.applications.unlabeled.expectation import (
    DENSITIES,
    N_EM_FOLDS,
    ExpectationMaximization,
    HeldOutFolds,
)


@pytest.mark.parametrize("model", DENSITIES)
def test_equals_refits(model: str) -> None:
    """Each document's scores are those of expectation-maximization without its part of the
    documents.
    """
    random = np.random.default_rng(3)
    counts = random.poisson(0.5, (23, 15))
    others = random.poisson(0.5, (40, 15))
    if model == "bernoulli":
        counts = np.minimum(counts, 1)
        others = np.minimum(others, 1)
    classes = np.append(np.arange(22) % 3, 3)  # the last one is alone in its class
    unlabeled = sample_of(others, np.zeros(40, dtype=np.int64))
    trials = [
        ExpectationMaximization(unlabeled, model, 0.1, "empirical", weight, 3)
        for weight in (1.0, 0.1)
    ]
    sample = sample_of(counts, classes)
    is_hapax = (counts > 0).sum(axis=0) + (others > 0).sum(axis=0) == 1
    is_hapax[4] = True  # as if

    def guess(is_left_out: Any) -> csr_array:
        share = is_left_out.mean()  # differs from fold to fold
        return csr_array(np.tile([share, 1 - share, 0, 0], (40, 1)))

    held_out = HeldOutFolds(
        statistics_of(counts, classes, 4), sample, sample.totals, is_hapax, guess
    )
    found = held_out.score(*trials)
    assert held_out.held_out.tolist() == list(range(22))
    assert [each.shape for each in found] == [(2, 22, 4)] * 2
    for number, trial in enumerate(trials):
        for fold in range(N_EM_FOLDS):
            rest = held_out.folds != fold
            scorer = trial.fit(statistics_of(counts[rest], classes[rest], 4), guess(~rest)).scorer
            asked = sample.take(np.flatnonzero(~rest))
            expected = scorer.scores(asked.indptr, asked.indices, asked.counts)
            np.testing.assert_allclose(found[number][0, ~rest[:22]], expected, rtol=1e-12)
            n_hapax = counts[~rest][:, is_hapax].sum(axis=1)
            expected -= n_hapax[:, None] * scorer.default
            np.testing.assert_allclose(found[number][1, ~rest[:22]], expected, rtol=1e-12)
