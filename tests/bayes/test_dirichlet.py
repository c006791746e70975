"""Dirichlet smoothing is what its probabilities say, in the corpus and without each document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from corpora_by_hand import labeled_matrices, leave_one_out, sample_of, statistics_of
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.dirichlet import DIRICHLET, compile_dirichlet
from nbtext.bayes.multinomial import compile_multinomial

SMOOTHINGS = st.sampled_from([1e-12, 0.01, 1.0, 1e6])


@given(corpus=labeled_matrices(), smoothing=SMOOTHINGS)
def test_probabilities_of_the_formula(corpus: Any, smoothing: float) -> None:
    """They sum to one over the features of the corpus; one that it lacks counts as one that it has
    once.
    """
    counts, classes, n_classes = corpus
    weights = compile_dirichlet(
        statistics_of(counts, classes, n_classes), smoothing=smoothing
    ).weights()
    t = np.array([counts[classes == k].sum(axis=0) for k in range(n_classes)], dtype=np.float64)
    everywhere = t.sum(axis=0)
    T = max(t.sum(), 1)
    mu = smoothing * T / n_classes
    shares = np.maximum(everywhere, 1) / T
    expected = (t + mu * shares) / (t.sum(axis=1, keepdims=True) + mu)
    np.testing.assert_allclose(np.exp(weights), expected, rtol=1e-9)
    if t.sum():
        np.testing.assert_allclose(np.exp(weights)[:, everywhere > 0].sum(axis=1), 1, rtol=1e-9)


@given(corpus=labeled_matrices())
def test_no_smoothing_is_maximum_likelihood(corpus: Any) -> None:
    """Without smoothing, both multinomial models are the same."""
    statistics = statistics_of(*corpus)
    found, expected = (
        compiled(statistics, smoothing=0) for compiled in (compile_dirichlet, compile_multinomial)
    )
    np.testing.assert_array_equal(found.weights(), expected.weights())


def test_small_weights() -> None:
    """Whatever the scale of weights, the probabilities are the same, and sum to one."""
    sample = sample_of(np.array([[3, 1, 0], [0, 2, 4], [1, 0, 1]]), np.array([0, 1, 1]))
    expected = compile_dirichlet(count_classes(sample, 3, 2), smoothing=0.5).weights()
    small = replace(sample, counts=sample.counts * 1e-6)
    statistics = count_classes(small, 3, 2)
    np.testing.assert_allclose(
        compile_dirichlet(statistics, smoothing=0.5).weights(), expected, rtol=1e-9
    )
    np.testing.assert_allclose(np.exp(expected).sum(axis=1), 1, rtol=1e-9)
    found = leave_one_out(statistics, small, model=DIRICHLET, smoothings=[0.5], prior="uniform")
    whole = leave_one_out(
        count_classes(sample, 3, 2), sample, model=DIRICHLET, smoothings=[0.5], prior="uniform"
    )
    np.testing.assert_allclose(found - np.log(0.5), (whole - np.log(0.5)) * 1e-6, rtol=1e-6)


def test_hashed_features_cost_nothing() -> None:
    """The size of the vocabulary does not matter: features that no document has change no
    probability of a label.
    """
    texts = ["red round", "red sweet", "long yellow", "long ripe"] * 3
    labels = ["a", "a", "b", "b"] * 3
    few, many = (
        TextClassifier(model="dirichlet", smoothing=1.0, hash_bits=bits, calibrate=False).fit(
            texts, labels
        )
        for bits in (16, 20)
    )
    asked = ["red", "yellow ripe", "red long long"]
    np.testing.assert_allclose(few.predict_proba(asked), many.predict_proba(asked), rtol=1e-12)
