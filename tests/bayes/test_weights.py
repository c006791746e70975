"""Contributions of single features to the scores."""

from typing import Any

import numpy as np
import pytest
from corpora_by_hand import MODELS, labeled_matrices, read_by, sample_of
from hypothesis import given
from hypothesis import strategies as st

from nbtext.bayes.scorer import ClassWeights
from nbtext.model.inspection import z_scores


@pytest.mark.parametrize("model", MODELS)
@given(matrix=labeled_matrices(), smoothing=st.sampled_from([0.01, 1.0]))
def test_bias_and_contributions_are_the_score(model: str, matrix: Any, smoothing: float) -> None:
    """Bias and contributions add up to the score of every document, in every class, for every event
    model.
    """
    scorer = MODELS[model].compile(read_by(model, *matrix), smoothing=smoothing)
    counts, classes, n_classes = matrix
    sample = sample_of(counts, classes)
    scores = scorer.scores(sample.indptr, sample.indices, sample.counts)
    for document in range(len(sample)):
        entries = slice(sample.indptr[document], sample.indptr[document + 1])
        for k in range(n_classes):
            parts = scorer.contributions(sample.indices[entries], sample.counts[entries], k)
            assert len(parts) == sample.indptr[document + 1] - sample.indptr[document]
            tolerance = 1e-9 * max(1.0, np.abs(parts).max(initial=0), abs(scorer.bias_of(k)))
            assert abs(scorer.bias_of(k) + parts.sum() - scores[document, k]) <= tolerance


@pytest.mark.parametrize("model", MODELS)
@given(matrix=labeled_matrices())
def test_the_weight_of_a_feature_is_what_one_of_it_adds(model: str, matrix: Any) -> None:
    """Adding one occurrence of a feature adds its weight to the score, class by class and for all
    classes together.
    """
    scorer = MODELS[model].compile(read_by(model, *matrix), smoothing=0.5)
    counts, _, n_classes = matrix
    weights = ClassWeights(scorer)
    everything = np.arange(counts.shape[1], dtype=np.int32)
    ones = np.ones(counts.shape[1], dtype=np.int32)
    expected = np.array([scorer.contributions(everything, ones, k) for k in range(n_classes)])
    found = np.array([weights.of(k) for k in range(n_classes)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights.sums(), expected.sum(axis=0), rtol=1e-9, atol=1e-9)
    if scorer.derivation is None:
        np.testing.assert_allclose(found, scorer.weights(), rtol=1e-12, atol=1e-12)


def test_z_by_hand() -> None:
    """Monroe et al. 2008, section 3.3, with ½ added: 5 of 8 tokens against 1 of 3 are less than a
    deviation apart.
    """
    (z,) = z_scores(np.array([5]), 8, np.array([6]), 11)
    log_odds = np.log(5.5 / 3.5) - np.log(1.5 / 2.5)
    assert z == pytest.approx(log_odds / np.sqrt(1 / 5.5 + 1 / 3.5 + 1 / 1.5 + 1 / 2.5))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_z_of_the_others_is_the_negative(a: int, b: int, c: int, d: int) -> None:
    """The z-score of a feature for a class is minus the z-score for all other classes together."""
    (own,) = z_scores(np.array([a]), a + b, np.array([a + c]), a + b + c + d)
    (others,) = z_scores(np.array([c]), c + d, np.array([a + c]), a + b + c + d)
    assert own == pytest.approx(-others)
