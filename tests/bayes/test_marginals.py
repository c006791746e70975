"""Feature marginals: by hand, by the formula of the paper, and by what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corpora_by_hand import labeled_matrices, statistics_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from nbtext.bayes import feature_marginals as marginals
from nbtext.bayes.feature_marginals import FeatureMarginals, solve_marginals


def test_two_classes_by_hand() -> None:
    """Worked on paper.

    Each class has 16 labeled tokens; "a" is 12 of them in class 0 and 7 in class 1, all others are "b". Of 96 tokens
    in all, 36 are "a": P = 3/8. With ν = 1, q = θ (2 − θ) holds for θ = 1/2 (q = 3/4 = 12/16) and for θ = 1/4
    (q = 7/16), and 1/2 · 1/2 + 1/2 · 1/4 = 3/8. For "b" it is ν = −1 and the rest of these: the sums are 1 already.
    """
    statistics = statistics_of(np.array([[12, 4], [7, 9]]), np.array([0, 1]), 2)
    scorer = FeatureMarginals(np.array([36, 60]), 0.5, "uniform").fit(statistics).scorer
    np.testing.assert_allclose(np.exp(scorer.weights()), [[1 / 2, 1 / 2], [1 / 4, 3 / 4]], rtol=1e-12)
    np.testing.assert_allclose(scorer.bias, np.log([0.5, 0.5]))


def test_three_classes_by_hand() -> None:
    """The same with θ = 1/3 (q = 5/9): 144 tokens a class, "a" being 108, 63 and 80; 312 of 864 in all: P = 13/36."""
    counts = np.array([[108, 36], [63, 81], [80, 64]])
    scorer = FeatureMarginals(np.array([312, 552]), 0.5, "uniform").fit(statistics_of(counts, np.arange(3), 3)).scorer
    np.testing.assert_allclose(np.exp(scorer.weights())[:, 0], [1 / 2, 1 / 4, 1 / 3], rtol=1e-12)


def test_words_that_no_label_has() -> None:
    """A word of unlabeled documents alone is as probable in each class as everywhere, but for the sums.

    "a" and "b" as above among 96 tokens; 24 more are "c": P = 36/120, 60/120 and 24/120.
    """
    statistics = statistics_of(np.array([[12, 4, 0], [7, 9, 0]]), np.array([0, 1]), 2)
    weights = np.exp(FeatureMarginals(np.array([36, 60, 24]), 0.5, "uniform").fit(statistics).scorer.weights())
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    a, b = (solve_marginals(np.array([[p, r]]), np.array([0.5, 0.5]), np.array([s])) for p, r, s in
            ((12 / 16, 7 / 16, 0.3), (4 / 16, 9 / 16, 0.5)))  # fmt: skip
    np.testing.assert_allclose(weights[:, 2], 0.2 / (a + b + 0.2)[0], rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(0, 60), min_size=2, max_size=2),
    tokens=st.lists(st.integers(61, 500), min_size=2, max_size=2),
    share=st.floats(1e-6, 0.9),
)
def test_the_paper_formula(counts: list[int], tokens: list[int], share: float) -> None:
    """For two classes it is the root of the paper's equation: A/x + B/(x−1) + CL/(Lx−K) + DL/(Lx−K+1) = 0."""
    a, c = (max(0.5, count) for count in counts)
    b, d = tokens[0] - a, tokens[1] - c
    positive = tokens[0] / sum(tokens)
    ratio, bound = positive / (1 - positive), share / (1 - positive)
    low, high = max(0.0, (bound - 1) / ratio), min(1.0, bound / ratio)
    width = high - low

    def slope(x: float) -> float:
        return a / x + b / (x - 1) + c * ratio / (ratio * x - bound) + d * ratio / (ratio * x - bound + 1)

    expected = brentq(slope, low + 1e-12 * width, high - 1e-12 * width, xtol=1e-18, rtol=1e-14)
    classes = np.array([positive, 1 - positive])
    found = solve_marginals(np.array([[a / tokens[0], c / tokens[1]]]), classes, np.array([share]))[0]
    assert found[0] == pytest.approx(expected, rel=1e-6)
    assert found[1] == pytest.approx(bound - ratio * expected, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(corpus=labeled_matrices(fewest_classes=2), smoothing=st.sampled_from([0.01, 0.5]), data=st.data())
def test_it_keeps_what_it_promises(corpus: Any, smoothing: float, data: st.DataObject) -> None:
    """Shares are met, and each class's probabilities sum to one, whatever was counted."""
    counts, classes, n_classes = corpus
    more = np.array(data.draw(st.lists(st.integers(0, 50), min_size=counts.shape[1], max_size=counts.shape[1])))
    statistics = statistics_of(counts, classes, n_classes)
    scorer = FeatureMarginals(counts.sum(axis=0) + more, smoothing, "uniform").fit(statistics).scorer
    np.testing.assert_allclose(np.exp(scorer.weights()).sum(axis=1), 1, rtol=1e-9)
    shares = np.array(data.draw(st.lists(st.floats(1e-7, 0.999), min_size=3, max_size=3)))
    rates = np.array(data.draw(st.lists(st.floats(1e-9, 1), min_size=9, max_size=9))).reshape(3, 3)
    sizes = np.array([0.5, 0.3, 0.2])
    found = solve_marginals(rates, sizes, shares)
    assert ((found > 0) & (found <= 1)).all()
    np.testing.assert_allclose(found @ sizes, shares, rtol=1e-9)


def test_no_probability_exceeds_one() -> None:
    """Where a class has nothing but one word, rounding does not lead beyond 1."""
    random = np.random.default_rng(2)
    rates = np.concatenate((random.random((20_000, 2)), np.ones((20_000, 1))), axis=1)
    found = solve_marginals(rates, np.array([0.5, 0.3, 0.2]), random.uniform(0.05, 0.95, 20_000))
    assert found.max() <= 1


def test_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few words are looked at together, the model is the same."""
    random = np.random.default_rng(1)
    statistics = statistics_of(random.poisson(0.5, (12, 40)), np.arange(12) % 3, 3)
    weights = []
    for block in (marginals.BLOCK, 6):
        monkeypatch.setattr(marginals, "BLOCK", block)
        weights.append(FeatureMarginals(np.arange(1, 41) * 7, 0.1, "empirical").fit(statistics).scorer.weights())
    np.testing.assert_allclose(*weights, rtol=1e-12)
