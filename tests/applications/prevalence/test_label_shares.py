"""Shares of labels that documents can have together: means of left-out documents, estimates and
their intervals.
"""

import numpy as np
import pytest

from nbtext.applications.prevalence.shares import PosteriorSums, is_measured
from nbtext.bayes.prevalence import LabelPosteriors

N_LABELS = 3


def draw(n: int, shares: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels of documents, and weak probabilities of each."""
    has_label = rng.random((n, len(shares))) < shares
    return has_label, 1 / (1 + np.exp(1.5 - 2 * has_label - rng.normal(size=has_label.shape)))


def measure(has_label: np.ndarray, probabilities: np.ndarray) -> LabelPosteriors:
    """The means over documents without and with each label."""
    columns = [
        [probabilities[has_label[:, k] == value, k] for value in (False, True)]
        for k in range(N_LABELS)
    ]
    means = np.array([[each.mean() for each in row] for row in columns])
    variances = np.array([[each.var() for each in row] for row in columns])
    documents = np.array([[float(len(each)) for each in row] for row in columns])
    return LabelPosteriors(documents, means, variances / (means * (1 - means)))


@pytest.mark.exhaustive
def test_intervals_cover_the_shares() -> None:
    """Over repeated samples of left-out and of new documents, whose shares differ; also in the
    sample.
    """
    # the sums resample with the seed 0
    rng = np.random.default_rng(7)
    covered = []
    errors = []
    for _ in range(120):
        known = measure(*draw(400, np.array([0.2, 0.5, 0.1]), rng))
        shares = rng.random(N_LABELS)
        sums = PosteriorSums(N_LABELS)
        sums.add(draw(300, shares, rng)[1])
        found = sums.estimate_labels(known)
        covered.append((found.low <= shares) & (shares <= found.high))
        errors.append(np.abs(found.shares - shares))
        assert ((found.low <= found.shares) & (found.shares <= found.high)).all()
    assert np.mean(covered) >= 0.92
    assert np.mean(errors) < 0.06


def test_exact_means_give_exact_shares() -> None:
    known = LabelPosteriors(
        np.full((2, 2), 1e6), np.array([[0.1, 0.6], [0.2, 0.9]]), np.zeros((2, 2))
    )
    sums = PosteriorSums(2)
    sums.add(np.tile([0.1 + 0.3 * 0.5, 0.2 + 0.8 * 0.7], (50, 1)))
    np.testing.assert_allclose(sums.estimate_labels(known).shares, [0.3, 0.8])


@pytest.mark.parametrize(
    ("documents", "means"),
    [
        ([100.0, 9.0], [0.1, 0.9]),
        ([100.0, 0.0], [0.1, 0.0]),
        ([100.0, 100.0], [0.5, 0.4]),
    ],
)
def test_labels_that_are_not_measured(documents: list[float], means: list[float]) -> None:
    """Their share is the mean probability, and their interval is everything."""
    known = LabelPosteriors(np.array([documents]), np.array([means]), np.zeros((1, 2)))
    sums = PosteriorSums(1)
    sums.add(np.full((20, 1), 0.25))
    found = sums.estimate_labels(known)
    assert not is_measured(known).any()
    assert [float(each[0]) for each in found] == pytest.approx([0.25, 0, 1])
