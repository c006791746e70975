"""Shares of classes from predicted probabilities: least squares, its intervals, and the prior."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest, dirichlet

from nbtext.applications.prevalence.shares import (
    RESAMPLES,
    PosteriorSums,
    count_predictions,
    resample_means,
    solve_on_simplex,
)
from nbtext.bayes.decision_offsets import fit_prior_adjustment
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.prevalence import (
    MAX_SHARES,
    LabelPosteriors,
    MeanPosteriors,
    ShareEstimate,
    fit_mean_posteriors,
)

SEEDS = st.integers(0, 2**32 - 1)


def draw_posteriors(
    n_classes: int, shares: NDArray[np.float64], n: int, *, seed: int, bias: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return exact posteriors, for the prior of equal shares, of Gaussian documents of known
    classes.

    bias  added to the log-posterior of class 0, as by another prior
    """
    rng = np.random.default_rng(seed)
    classes = rng.choice(n_classes, n, p=shares)
    points = rng.normal(size=(n, n_classes))
    points[np.arange(n), classes] += 2.0
    scores = 2.0 * points
    scores[:, 0] += bias
    scores -= scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), classes


def fit(log_posterior: NDArray[np.float64], classes: NDArray[np.int64]) -> MeanPosteriors:
    """The mean posteriors of left-out documents."""
    found = fit_mean_posteriors(JudgedDocuments(log_posterior, None, classes))
    assert found is not None
    return found


def sums_of(posteriors: NDArray[np.float64]) -> PosteriorSums:
    """The sums of the posteriors of new documents."""
    sums = PosteriorSums(posteriors.shape[1])
    sums.add(posteriors)
    return sums


@settings(max_examples=200)
@given(seed=SEEDS, n=st.integers(1, 12), is_singular=st.booleans())
def test_least_squares_meet_the_optimality_conditions(seed: int, n: int, is_singular: bool) -> None:
    """On the simplex, no coordinate has a smaller gradient than those that are above 0 (Karush,
    Kuhn, Tucker).
    """
    rng = np.random.default_rng(seed)
    columns = rng.dirichlet(np.ones(n), n).T
    if is_singular:
        columns[:, -1] = columns[:, 0]
    target = rng.dirichlet(np.full(n, 0.3))
    found = solve_on_simplex(columns, target)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    gradient = columns.T @ (columns @ found - target)
    assert gradient[found > 1e-9].max() <= gradient.min() + 1e-8


@pytest.mark.parametrize("n_classes", [2, 5])
def test_shares_equal_those_of_quapy(n_classes: int) -> None:
    """QuaPy's PACC finds the same shares, to the tolerance of its optimizer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        aggregative = pytest.importorskip("quapy.method.aggregative")
        from sklearn.linear_model import LogisticRegression

        left_out, classes = draw_posteriors(
            n_classes, np.full(n_classes, 1 / n_classes), 2000, seed=1
        )
        classifier = LogisticRegression().fit(np.exp(left_out), classes)
        oracle = aggregative.PACC(classifier, fit_classifier=False)
        oracle.aggregation_fit(np.exp(left_out), classes)
        known = fit(left_out, classes)
        rng = np.random.default_rng(0)
        for seed in range(10):
            new, _ = draw_posteriors(n_classes, rng.dirichlet(np.ones(n_classes)), 300, seed=seed)
            mine = solve_on_simplex(known.means.T, np.exp(new).mean(axis=0))
            np.testing.assert_allclose(mine, oracle.aggregate(np.exp(new)), atol=2e-3)


def test_mean_posteriors() -> None:
    """They are the means by class, with a row of certainty for a class without documents."""
    log_posterior, classes = draw_posteriors(4, np.array([0.5, 0.3, 0.2, 0.0]), 500, seed=3)
    known = fit(log_posterior, classes)
    for k in range(3):
        own = np.exp(log_posterior[classes == k])
        np.testing.assert_allclose(known.means[k], own.mean(axis=0), rtol=1e-9)
        assert known.documents[k] == (classes == k).sum()
    assert known.means[3].tolist() == [0, 0, 0, 1]
    assert (known.documents[3], known.spreads[3]) == (0, 0)


@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_the_prior_is_that_of_the_posteriors(bias: float) -> None:
    """It is the prior for which the posteriors are calibrated, whatever the shares of the left-out
    documents are.
    """
    log_posterior, classes = draw_posteriors(
        3, np.array([0.6, 0.3, 0.1]), 20_000, seed=5, bias=bias
    )
    known = fit(log_posterior, classes)
    expected = np.exp([bias, 0, 0]) / np.exp([bias, 0, 0]).sum()
    np.testing.assert_allclose(known.prior, expected, atol=0.03)


def test_no_mean_posteriors() -> None:
    """One class has none, and too many classes have none, so a model stays small."""
    for n_classes, has_some in ((1, False), (MAX_SHARES, True), (MAX_SHARES + 1, False)):
        scores = np.full((2, n_classes), -np.log(n_classes))
        judged = JudgedDocuments(scores, None, np.zeros(2, dtype=np.int64))
        assert (fit_mean_posteriors(judged) is not None) == has_some


def test_resampled_means_vary_as_means_of_documents_do() -> None:
    """They have the mean of the documents, and the variance of a mean of as many documents."""
    log_posterior, classes = draw_posteriors(3, np.array([0.7, 0.2, 0.1]), 2000, seed=7)
    known = fit(log_posterior, classes)
    rng = np.random.default_rng(0)
    drawn = np.stack([resample_means(known, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.sum(axis=2), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), known.means, atol=2e-3)
    for k in range(3):
        own = np.exp(log_posterior[classes == k])
        assert drawn[:, k].var(axis=0).sum() == pytest.approx(
            (own.var(axis=0) / len(own)).sum(), rel=0.1
        )


def test_a_class_with_few_documents_is_uncertain() -> None:
    """One document gives a wide distribution, none gives certainty, which `prevalence` reports."""
    known = MeanPosteriors(
        np.eye(3), np.array([0, 1, 1000]), np.array([0.0, 0.0, 0.5]), np.full(3, 1 / 3)
    )
    rng = np.random.default_rng(0)
    drawn = np.stack([resample_means(known, rng) for _ in range(200)])
    np.testing.assert_array_equal(drawn[:, 0], np.broadcast_to([1, 0, 0], (200, 3)))
    assert np.isfinite(drawn).all()
    spread = MeanPosteriors(
        np.full((2, 2), 0.5), np.array([1, 1000]), np.array([0.0, 0.5]), np.full(2, 0.5)
    )
    drawn = np.stack([resample_means(spread, rng) for _ in range(200)])
    assert drawn[:, 0].std() > 5 * drawn[:, 1].std()


@settings(max_examples=20)
@given(seed=SEEDS, cuts=st.lists(st.integers(0, 40), max_size=4))
def test_sums_do_not_depend_on_batches(seed: int, cuts: list[int]) -> None:
    """The resampled documents are the same however they are cut into batches."""
    log_posterior, classes = draw_posteriors(3, np.full(3, 1 / 3), 40, seed=seed)
    known = fit(log_posterior, classes)
    whole = sums_of(np.exp(log_posterior))
    parts = PosteriorSums(3)
    for part in np.split(np.exp(log_posterior), sorted(cuts)):
        parts.add(part)
    for one, other in zip(whole.estimate(known), parts.estimate(known), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("n_classes", "n", "least"), [(3, 200, 0.93), (2, 1, 0.88), (2, 5, 0.88)])
def test_intervals_cover(n_classes: int, n: int, least: float) -> None:
    """Most of the intervals of 200 samples cover the shares that their documents were drawn from,
    although few documents can be all of one class.
    """
    covered = []
    rng = np.random.default_rng(11)
    equal = np.full(n_classes, 1 / n_classes)
    for seed in range(200):
        known = fit(*draw_posteriors(n_classes, equal, 150, seed=2 * seed))
        shares = rng.dirichlet(np.ones(n_classes))
        sums = sums_of(np.exp(draw_posteriors(n_classes, shares, n, seed=2 * seed + 1)[0]))
        found = sums.estimate(known)
        assert (found.low <= found.shares).all()
        assert (found.shares <= found.high).all()
        covered.append((found.low <= shares) & (shares <= found.high))
    assert len(sums.weights) == RESAMPLES
    assert least <= np.mean(covered)
    assert n < 200 or np.mean(covered) <= 0.99


NEARLY_CERTAIN = MeanPosteriors(
    np.array([[0.99, 0.01], [0.02, 0.98]]),
    np.array([5000, 5000]),
    np.full(2, 0.05),
    np.full(2, 0.5),
)


@pytest.mark.parametrize("n", [1, 20, 4550])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("several", [False, True])
def test_intervals_are_not_narrower_than_those_of_counting(
    n: int, share: float, several: bool
) -> None:
    """However good the model is, n documents say no more of a share than n labels would: SciPy's
    Wilson interval.
    """
    n_own = round(share * n)
    own = np.repeat([0.01, 0.98], [n - n_own, n_own])
    sums = sums_of(np.stack((1 - own, own), axis=1))
    if several:
        means = np.array([[0.02, 0.99], [0.01, 0.98]])
        known = LabelPosteriors(np.full((2, 2), 5000.0), means, np.full((2, 2), 0.05))
        found = sums.estimate_labels(known)
    else:
        found = sums.estimate(NEARLY_CERTAIN)
    assert found.shares[1] == pytest.approx(n_own / n, abs=1e-6)
    counted = binomtest(n_own, n).proportion_ci(0.95, method="wilson")
    assert found.low[1] <= counted.low + 1e-4
    assert found.high[1] >= counted.high - 1e-4


@pytest.mark.parametrize("several", [False, True])
def test_what_no_share_explains_widens_the_interval(several: bool) -> None:
    """The mean posterior of new documents is below that of the other class alone: so the class is
    nearly absent, or the posteriors have changed by as much as that.
    """
    means = np.array([[0.9, 0.1], [0.4, 0.6]])
    documents = np.array([10_000, 10_000])
    sums = sums_of(np.tile([0.95, 0.05], (5000, 1)))
    if several:
        of_labels = LabelPosteriors(
            np.full((2, 2), 1e4), np.array([[0.4, 0.9], [0.1, 0.6]]), np.full((2, 2), 0.1)
        )
        found = sums.estimate_labels(of_labels)
    else:
        found = sums.estimate(MeanPosteriors(means, documents, np.full(2, 0.1), np.full(2, 0.5)))
    missing = 0.05 / (0.6 - 0.1)
    assert found.shares[1] == 0
    assert 0.9 * missing < found.high[1] < 2 * missing


def test_counted_predictions_may_all_be_wrong_in_one_way() -> None:
    """Of 60 and 40 predictions with the probability 0.9, 6 and 4 are wrong; all 10 may be of one
    kind.
    """
    sums = sums_of(np.repeat([[0.9, 0.1], [0.1, 0.9]], [60, 40], axis=0))
    corrected = ShareEstimate(np.array([0.5, 0.5]), np.array([0.45, 0.45]), np.array([0.55, 0.55]))
    found = count_predictions(np.array([60, 40]), np.array([54.0, 36.0]), sums, corrected)
    np.testing.assert_allclose(found.shares, [0.6, 0.4])
    wilson = binomtest(40, 100).proportion_ci(0.95, method="wilson")
    assert found.low[1] == pytest.approx(min(0.36, wilson.low), abs=1e-3)
    assert found.high[1] == pytest.approx(0.55)  # that of the corrected shares
    wide = corrected._replace(low=np.zeros(2), high=np.full(2, 0.01))
    assert count_predictions(np.array([60, 40]), np.array([30.0, 20.0]), sums, wide).high[
        1
    ] == pytest.approx(0.4 + 0.42 - 0.2)  # 22 documents of the label are missed


def test_a_class_without_left_out_documents_has_a_prior() -> None:
    """Its share is the mean of Jeffreys' posterior."""
    log_posterior, classes = draw_posteriors(3, np.array([0.7, 0.3, 0.0]), 40, seed=3)
    known = fit(log_posterior, classes)
    shares = dirichlet(np.bincount(classes, minlength=3) + 0.5).mean()
    expected = shares * np.exp(-fit_prior_adjustment(JudgedDocuments(log_posterior, None, classes)))
    np.testing.assert_allclose(known.prior, expected / expected.sum())
