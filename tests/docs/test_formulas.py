"""The formulas of the mathematics page, written out with dense arrays as the page writes them,
equal the code it names.

The names are the page's: K classes, V features, n_k documents, d_kj, t_kj, x_j. A small corpus by
chance, in which each class and feature occurs, and one feature that a class lacks.
"""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from nbtext.bayes.calibration import TemperatureScaling
from nbtext.bayes.categorical import compile_categorical, count_values
from nbtext.bayes.class_statistics import count_classes, log_prior
from nbtext.bayes.complement import compile_complement
from nbtext.bayes.conformal import log_likelihood_per_token
from nbtext.bayes.dirichlet import compile_dirichlet
from nbtext.bayes.gaussian import compile_gaussian, compute_moments
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.multinomial import MULTINOMIAL, compile_multinomial
from nbtext.bayes.scorer import LinearScorer, log_posterior
from nbtext.features.document_table import DocumentTable
from nbtext.features.selection import chi_squared, mutual_information
from nbtext.features.weighting import inverse_document_frequencies, normalize, term_frequencies
from nbtext.model.inspection import z_scores

Matrix = NDArray[np.float64]

K = 3
V = 5
N = 24
alpha = 0.7
random = np.random.default_rng(11)
y = np.arange(N) % K
X = random.poisson(1.2, size=(N, V)).astype(np.int64)
X[:K] += 1
X[y == 2, 4] = 0
member = np.eye(K)[y].T  # (K, N)
n = member.sum(axis=1)
d = member @ (X > 0)
t = member @ X
T = t.sum(axis=1)

rows, columns = np.nonzero(X)
indptr = np.searchsorted(rows, np.arange(N + 1)).astype(np.int64)
counts = X[rows, columns].astype(np.int32)
sample = DocumentTable(
    indptr, columns.astype(np.int32), counts, y.astype(np.int32), np.arange(N, dtype=np.uint64)
)
statistics = count_classes(sample, V, K)


def scores(scorer: LinearScorer, indicators: NDArray[np.int64] = X) -> Matrix:
    """Of the documents, by the code."""
    rows, columns = np.nonzero(indicators)
    indptr = np.searchsorted(rows, np.arange(N + 1)).astype(np.int64)
    return scorer.scores(
        indptr, columns.astype(np.int32), indicators[rows, columns].astype(np.int32)
    )


def equal(found: ArrayLike, expected: ArrayLike) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_multinomial() -> None:
    w = np.log((t + alpha) / (T + alpha * V)[:, None])
    equal(scores(compile_multinomial(statistics, smoothing=alpha)), X @ w.T)


def test_bernoulli() -> None:
    p = (d + alpha) / (n + 2 * alpha)[:, None]
    w = np.log(p / (1 - p))
    b = np.log(1 - p).sum(axis=1)
    equal(
        scores(compile_categorical(statistics, smoothing=alpha), (X > 0).astype(np.int64)),
        (X > 0) @ w.T + b,
    )


def test_dirichlet() -> None:
    t_j = t.sum(axis=0)
    mu = alpha * T.sum() / K
    w = np.log((t + mu * t_j / T.sum()) / (T + mu)[:, None])
    equal(scores(compile_dirichlet(statistics, smoothing=alpha)), X @ w.T)


@pytest.mark.parametrize("is_normalized", [False, True])
def test_complement(is_normalized: bool) -> None:
    others = t.sum(axis=0) - t
    logs = np.log((others + alpha) / (others.sum(axis=1) + alpha * V)[:, None])
    w = logs / logs.sum(axis=1, keepdims=True) if is_normalized else -logs
    equal(
        scores(compile_complement(statistics, smoothing=alpha, normalize_weights=is_normalized)),
        X @ w.T,
    )


def test_categorical() -> None:
    m = 3
    read = np.minimum(X, m - 1)
    # (m, K, V)
    p = np.array([(member @ (read == v) + alpha) / (n + m * alpha)[:, None] for v in range(m)])
    expected = [
        [sum(np.log(p[read[i, j], k, j]) for j in range(V)) for k in range(K)] for i in range(N)
    ]
    equal(
        scores(compile_categorical(count_values(statistics, sample, n_values=m), smoothing=alpha)),
        expected,
    )


def test_gaussian() -> None:
    epsilon = 1e-3
    mean = t / n[:, None]
    variance = member @ X**2 / n[:, None] - mean**2 + epsilon * X.var(axis=0).max()
    expected = norm.logpdf(X[:, None, :], mean, np.sqrt(variance)).sum(axis=2)
    equal(
        scores(compile_gaussian(compute_moments(statistics, sample), smoothing=epsilon)), expected
    )


def test_prior_and_posterior() -> None:
    equal(log_prior(n.astype(np.int64), "empirical"), np.log(n / N))
    equal(log_prior(n.astype(np.int64), "uniform"), np.log(np.ones(K) / K))
    s = random.normal(size=(N, K))
    equal(np.exp(log_posterior(s)), np.exp(s) / np.exp(s).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("tf", ["count", "binary", "relative", "log"])
def test_term_frequencies(tf: str) -> None:
    x = X[rows, columns]
    L = X.sum(axis=1)[rows]
    expected = {"count": x, "binary": x > 0, "relative": x / L, "log": 1 + np.log(x)}[tf]
    equal(term_frequencies(indptr, x, tf=tf), expected)


def test_inverse_document_frequencies() -> None:
    df = (X > 0).sum(axis=0)
    formulas = {
        "plain": np.log(N / df),
        "plus-one": np.log(N / (df + 1)),
        "smooth": np.log((1 + N) / (1 + df)) + 1,
    }
    for idf, expected in formulas.items():
        equal(inverse_document_frequencies(df, n_documents=N, idf=idf), expected)


def test_norms() -> None:
    x = X[rows, columns].astype(np.float64)
    equal(normalize(indptr, x, norm="l1"), x / X.sum(axis=1)[rows])
    equal(normalize(indptr, x, norm="l2"), x / np.sqrt((X**2).sum(axis=1))[rows])


def test_mutual_information() -> None:
    expected = np.zeros(V)
    for is_there in (True, False):
        for k in range(K):
            p = ((X > 0) == is_there)[y == k].sum(axis=0) / N
            product = ((X > 0) == is_there).mean(axis=0) * n[k] / N
            expected += np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / product), 0)
    equal(mutual_information(statistics.entries, n.astype(np.int64)), expected)


def test_chi_squared() -> None:
    expected = n[:, None] / N * t.sum(axis=0)
    found = chi_squared(statistics.entries, statistics.occurrences, n.astype(np.int64))
    equal(found, ((t - expected) ** 2 / expected).sum(axis=0))


def test_z() -> None:
    a = t[0] + 0.5
    b = T[0] - t[0] + 0.5
    c = t[1:].sum(axis=0) + 0.5
    e = T[1:].sum() - t[1:].sum(axis=0) + 0.5
    expected = (np.log(a / b) - np.log(c / e)) / np.sqrt(1 / a + 1 / b + 1 / c + 1 / e)
    equal(z_scores(t[0], T[0], t.sum(axis=0), T.sum()), expected)


def test_leave_one_out() -> None:
    """The own class's weights as the page has them; the other classes' scores stay."""
    L = X.sum(axis=1)
    everything = scores(compile_multinomial(statistics, smoothing=alpha))
    expected = everything.copy()
    for i, k in enumerate(y):
        expected[i, k] = X[i] @ np.log((t[k] - X[i] + alpha) / (T[k] - L[i] + alpha * V))
    left_out = LeaveOneOut(statistics, sample, None, MULTINOMIAL, "empirical").left_out
    equal(MULTINOMIAL.leave_one_out(statistics, left_out, everything, smoothing=alpha), expected)


def test_calibration() -> None:
    s = random.normal(size=(N, K))
    L = X.sum(axis=1)
    a = 0.8
    b = 0.3
    noise = 0.05
    z = s / (a * L**b)[:, None]
    expected = (1 - noise) * np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) + noise / K
    equal(np.exp(TemperatureScaling(a, b, noise).log_posterior(s, L)), expected)


def test_outliers() -> None:
    joint = random.normal(-20, 3, size=(N, K))
    L = X.sum(axis=1)
    equal(log_likelihood_per_token(joint, L), np.log(np.exp(joint).sum(axis=1)) / L)
