"""Expectation-maximization increases the penalized log-likelihood, and adds the expected counts."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import labeled_matrices, sample_of, statistics_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nbtext.applications.unlabeled.expectation import DENSITIES, ExpectationMaximization
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_model import ROWS_SCORED_AT_ONCE
from nbtext.features.document_table import DocumentTable

Floats = NDArray[np.float64]
PRIORS: list[Any] = ["empirical", "uniform"]


def as_read(model: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.minimum(counts, 1) if model == "bernoulli" else counts


def unlabeled(model: str, counts: NDArray[np.int64]) -> DocumentTable:
    return sample_of(as_read(model, counts), np.zeros(len(counts), dtype=np.int64))


def count_labeled(
    model: str, counts: NDArray[np.int64], classes: NDArray[np.int64], n_classes: int
) -> ClassStatistics:
    return statistics_of(as_read(model, counts), classes, n_classes)


def start(others: NDArray[Any], n_classes: int) -> csr_array:
    """First probabilities of labels, which differ by document."""
    shares = 1.0 + (np.arange(len(others))[:, None] + np.arange(n_classes)) % 3
    return csr_array(shares / shares.sum(axis=1, keepdims=True))


class Dense:
    """The same in a few lines of dense arithmetic, by the definition."""

    def __init__(self, model: str, smoothing: float, prior: str, weight: float) -> None:
        self.model = model
        self.smoothing = smoothing
        self.prior = prior
        self.weight = weight

    def parameters(self, counts: Floats, documents: Floats) -> tuple[Floats, Floats]:
        """π and θ (or p) of expected counts (n_classes, n_features)."""
        prior = (
            documents / documents.sum()
            if self.prior == "empirical"
            else np.full(len(documents), 1 / len(documents))
        )
        if self.model == "bernoulli":
            return prior, (counts + self.smoothing) / (documents + 2 * self.smoothing)[:, None]
        pseudo = self.pseudo_counts(counts)
        known = np.where(pseudo > 0, pseudo, 1.0)  # words of no document have any share
        totals = np.maximum((counts + pseudo).sum(axis=1, keepdims=True), 1e-9)
        return prior, (counts + known) / totals

    def pseudo_counts(self, counts: Floats) -> Any:
        if self.model == "dirichlet":
            return self.smoothing * self.everywhere / len(counts)
        return np.full(counts.shape[1], self.smoothing)

    def joint(self, prior: Floats, share: Floats, rows: Floats) -> Floats:
        """log π_k P(x | k), shape (n_documents, n_classes)."""
        told = rows @ np.log(share).T
        if self.model == "bernoulli":
            told += (1 - rows) @ np.log(1 - share).T
        return np.asarray(told + np.log(prior))

    def log_posterior(
        self, prior: Floats, share: Floats, x: Floats, classes: Any, u: Floats
    ) -> float:
        """l(θ)."""
        log_prior_density = (self.pseudo_counts(share) * np.log(share)).sum()
        if self.model == "bernoulli":
            log_prior_density += self.smoothing * np.log(1 - share).sum()
        own = self.joint(prior, share, x)[np.arange(len(x)), classes].sum()
        others = np.logaddexp.reduce(self.joint(prior, share, u), axis=1).sum()
        return float(own + self.weight * others + log_prior_density)

    def run(
        self, x: Floats, classes: Any, u: Floats, *, n_classes: int, steps: int
    ) -> tuple[list[float], Floats]:
        """l(θ) before the first step and after each, and what the last model says of u."""
        hard = np.eye(n_classes)[classes]
        soft = start(u, n_classes).toarray()
        if self.model == "dirichlet":
            self.everywhere = x.sum(axis=0) + self.weight * u.sum(axis=0)
        found = []
        for _ in range(steps + 1):
            counts = hard.T @ x + self.weight * soft.T @ u
            prior, share = self.parameters(
                counts, hard.sum(axis=0) + self.weight * soft.sum(axis=0)
            )
            found.append(self.log_posterior(prior, share, x, classes, u))
            joint = self.joint(prior, share, u)
            soft = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        return found, joint


@pytest.mark.parametrize("model", DENSITIES)
@pytest.mark.parametrize("prior", PRIORS)
@settings(max_examples=60)
@given(
    corpus=labeled_matrices(fewest_classes=2),
    smoothing=st.sampled_from([0.01, 0.3, 1.0]),
    weight=st.sampled_from([0.1, 0.7, 1.0]),
    data=st.data(),
)
def test_equals_its_definition_and_never_falls(
    model: str, prior: str, corpus: Any, smoothing: float, weight: float, data: st.DataObject
) -> None:
    """The penalized log-likelihood is that of the definition, step by step, and no step makes it
    smaller.
    """
    counts, classes, n_classes = corpus
    row = st.lists(st.integers(0, 4), min_size=counts.shape[1], max_size=counts.shape[1])
    others = np.array(data.draw(st.lists(row, min_size=1, max_size=8)))
    trial = ExpectationMaximization(unlabeled(model, others), model, smoothing, prior, weight, 6)
    labeled = count_labeled(model, counts, classes, n_classes)
    found = trial.fit(labeled, start(others, n_classes), on_step=print)
    assert all(
        after >= before - 1e-9 * abs(before) for before, after in pairwise(found.log_likelihoods)
    )
    steps = len(found.log_likelihoods) - 1
    dense = Dense(model, smoothing, prior, weight)
    x, u = (as_read(model, each).astype(np.float64) for each in (counts, others))
    expected, joint = dense.run(x, classes, u, n_classes=n_classes, steps=steps)
    np.testing.assert_allclose(found.log_likelihoods, expected, rtol=1e-9, atol=1e-8)
    asked = unlabeled(model, others)
    np.testing.assert_allclose(
        found.scorer.scores(asked.indptr, asked.indices, asked.counts), joint, rtol=1e-9, atol=1e-8
    )


@pytest.mark.parametrize("model", DENSITIES)
def test_reporting_does_not_change_the_model(model: str) -> None:
    """The model is the same whether or not the last step is reported."""
    random = np.random.default_rng(1)
    others = random.poisson(0.4, (90, 20))
    trial = ExpectationMaximization(unlabeled(model, others), model, 0.1, "empirical", 0.3, 4)
    statistics = count_labeled(model, random.poisson(0.4, (12, 20)), np.arange(12) % 3, 3)
    watched = trial.fit(statistics, start(others, 3), on_step=print)
    unwatched = trial.fit(statistics, start(others, 3))
    np.testing.assert_array_equal(watched.scorer.weights(), unwatched.scorer.weights())
    assert len(unwatched.log_likelihoods) == len(watched.log_likelihoods) - 1
    if model == "multinomial":  # a document without words is as likely as its class
        np.testing.assert_array_equal(watched.log_prior, watched.scorer.bias)


def test_in_parts() -> None:
    """Many copies of documents, which are scored in parts, count as one that weighs as much."""
    random = np.random.default_rng(2)
    statistics = statistics_of(random.poisson(0.4, (12, 20)), np.arange(12) % 3, 3)
    others = random.poisson(0.4, (90, 20))
    n = ROWS_SCORED_AT_ONCE // len(others) + 1
    weights = [
        ExpectationMaximization(
            unlabeled("multinomial", rows), "multinomial", 0.1, "empirical", weight, 4
        )
        .fit(statistics, start(rows, 3))
        .scorer.weights()
        for rows, weight in ((np.tile(others, (n, 1)), 1 / n), (others, 1))
    ]
    np.testing.assert_allclose(*weights, rtol=1e-9)


def test_it_stops_at_a_fixed_point() -> None:
    """The iteration ends at a fixed point, however many steps are allowed."""
    statistics = statistics_of(np.array([[9, 0], [0, 9]]), np.array([0, 1]), 2)
    others = np.array([[5, 0], [0, 5]])
    trial = ExpectationMaximization(
        unlabeled("multinomial", others), "multinomial", 0.01, "empirical", 1, 500
    )
    found = trial.fit(statistics, start(others, 2))
    assert len(found.log_likelihoods) < 30
