"""The solvers: kernel and twin agree to the last bit, and both reach the least objective."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import Floats, corpora, dense, plane_objective, softmax_objective

from nbtext.features.kernel import HAS_KERNEL
from nbtext.linear import beliefs, planes
from nbtext.linear.solving import Corpus

PENALTIES = st.sampled_from([0.01, 1.0, 10.0])
LOSSES = pytest.mark.parametrize("is_logistic", [False, True])


def solver(name: str, kind: str) -> Callable[..., Any]:
    """The solver of this name from the kernel or its twin."""
    if kind == "plain":
        return {"divide": planes.divide, "regress": beliefs.regress}[name]
    if not HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    from nbtext.linear import _solvers

    return getattr(_solvers, name)  # type: ignore[no-any-return]


@pytest.fixture(params=["compiled", "plain"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def divided(kind: str, corpus: Corpus, scales: Floats, **options: Any) -> tuple[Any, ...]:
    """What `divide` gives for the first class against the rest, the pulls after it."""
    sample = corpus.sample
    signs = np.where(sample.classes == 0, 1.0, -1.0)
    pulls = np.full(len(sample), 1e-8 if options["is_logistic"] else 0.0)
    chosen = {"constant": 0.0, "tolerance": 1e-6, "rounds": 100_000, "seed": 1, **options}
    answer = solver("divide", kind)(sample.indptr, sample.indices, sample.counts, signs, scales, pulls, **chosen)
    return (*answer, pulls)


def regressed(kind: str, corpus: Corpus, **options: Any) -> tuple[Any, ...]:
    """What `regress` gives, the beliefs after it."""
    sample, n_features, n_classes = corpus
    held = np.full((len(sample), n_classes), 0.1 / n_classes)
    held[np.arange(len(sample)), sample.classes] += 0.9
    chosen = {"spring": 0.5, "tolerance": 1e-6, "rounds": 3000, "seed": 1, **options}
    answer = solver("regress", kind)(
        sample.indptr, sample.indices, sample.counts, sample.classes, held, np.zeros(n_classes),
        n_features=n_features, **chosen,
    )  # fmt: skip
    return (*answer, held)


@pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")
@LOSSES
@settings(max_examples=25, deadline=None)
@given(corpus=corpora(), penalty=PENALTIES, constant=st.sampled_from([0.0, 1.0]), seed=st.integers(0, 2**64 - 1))
def test_planes_are_the_same_to_the_last_bit(
    corpus: Corpus, penalty: float, constant: float, seed: int, is_logistic: bool
) -> None:
    """The twin takes the kernel's steps: weights, gap, rounds and pulls are equal."""
    scales = np.random.default_rng(0).random(corpus.n_features)
    compiled, plain = (
        divided(
            kind, corpus, scales,
            is_logistic=is_logistic, penalty=penalty, constant=constant, seed=seed, rounds=60,
        )
        for kind in ("compiled", "plain")
    )  # fmt: skip
    for one, other in zip(compiled, plain, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")
@settings(max_examples=25, deadline=None)
@given(corpus=corpora(), penalty=PENALTIES, seed=st.integers(0, 2**64 - 1))
def test_softmax_is_the_same_to_the_last_bit(corpus: Corpus, penalty: float, seed: int) -> None:
    """The twin takes the kernel's steps: weights, intercepts, gap, rounds and beliefs are equal."""
    compiled, plain = (regressed(kind, corpus, penalty=penalty, seed=seed, rounds=60) for kind in ("compiled", "plain"))
    for one, other in zip(compiled, plain, strict=True):
        assert np.array_equal(one, other)


@LOSSES
@settings(max_examples=20, deadline=None)
@given(corpus=corpora(), penalty=PENALTIES, constant=st.sampled_from([0.0, 1.0]))
def test_planes_reach_the_objective_of_liblinear(
    corpus: Corpus, penalty: float, constant: float, is_logistic: bool
) -> None:
    """To 1e-4 of it, with a penalized intercept and without one, for features that are scaled or not."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    factors = np.random.default_rng(0).uniform(-2, 2, corpus.n_features)
    weights, intercept, _, _, _ = divided(
        "compiled" if HAS_KERNEL else "plain", corpus, factors**2,
        is_logistic=is_logistic, penalty=penalty, constant=constant,
    )  # fmt: skip
    signs = np.where(corpus.sample.classes == 0, 1.0, -1.0)
    matrix = dense(corpus) * factors
    options = {"C": penalty, "fit_intercept": constant > 0, "tol": 1e-8, "max_iter": 100_000, "dual": True}
    peer = LogisticRegression(solver="liblinear", **options) if is_logistic else LinearSVC(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peer: where it does not converge, it must still not be better
        peer.fit(matrix, signs)
    matrix = np.hstack((matrix, np.full((len(matrix), 1), constant)))
    own = plane_objective(
        matrix, signs, np.append(weights / factors, intercept), penalty=penalty, is_logistic=is_logistic
    )
    theirs = plane_objective(
        matrix, signs, np.append(peer.coef_[0], peer.intercept_), penalty=penalty, is_logistic=is_logistic
    )
    assert own <= theirs * (1 + 1e-4)


@settings(max_examples=20, deadline=None)
@given(corpus=corpora(), penalty=PENALTIES)
def test_softmax_reaches_the_objective_of_newtons_method(corpus: Corpus, penalty: float) -> None:
    """To 1e-4 of scikit-learn's, where intercepts cost nothing."""
    from sklearn.linear_model import LogisticRegression

    sample, _, n_classes = corpus
    weights, intercepts, *_ = regressed("compiled" if HAS_KERNEL else "plain", corpus, penalty=penalty)
    matrix = dense(corpus)
    own = softmax_objective(matrix, sample.classes, weights, intercepts, penalty=penalty)
    # scikit-learn fits one vector to two classes, and that weighs twice as much as two halves
    peer = LogisticRegression(C=penalty * (2 if n_classes == 2 else 1), solver="newton-cg", tol=1e-8, max_iter=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(matrix, sample.classes)
    w, b = (peer.coef_.T, peer.intercept_) if n_classes > 2 else (
        np.outer(peer.coef_[0], [-0.5, 0.5]), peer.intercept_[0] * np.array([-0.5, 0.5]),
    )  # fmt: skip
    assert own <= softmax_objective(matrix, sample.classes, w, b, penalty=penalty) * (1 + 1e-4)


@LOSSES
def test_the_duality_gap_tells_the_distance(kind: str, is_logistic: bool) -> None:
    """A solver that stops early is no farther from the least objective than it says."""
    random = np.random.default_rng(3)
    from made_rows import corpus_of

    corpus = corpus_of(random.poisson(0.5, size=(30, 10)).astype(float), random.integers(0, 2, 30))
    signs = np.where(corpus.sample.classes == 0, 1.0, -1.0)

    def objective(rounds: int) -> tuple[float, float]:
        weights, _, gap, _, _ = divided(
            kind, corpus, np.ones(10), is_logistic=is_logistic, penalty=5.0, rounds=rounds, tolerance=1e-9
        )
        return plane_objective(dense(corpus), signs, weights, penalty=5.0, is_logistic=is_logistic), gap

    least, _ = objective(5000)
    for rounds in (1, 3, 10):
        reached, gap = objective(rounds)
        assert reached - gap - 1e-9 <= least <= reached + 1e-9


def test_rows_that_do_not_fit_are_refused(kind: str) -> None:
    """A feature beyond the weights, or arrays of unlike length, are a ValueError and no crash."""
    rows = np.array([0, 1]), np.array([5], dtype=np.int32), np.ones(1)
    with pytest.raises(ValueError, match="no such feature"):
        solver("divide", kind)(
            *rows, np.ones(1), np.ones(5), np.zeros(1),
            is_logistic=False, penalty=1.0, constant=0.0, tolerance=0.1, rounds=1, seed=0,
        )  # fmt: skip
    with pytest.raises(ValueError, match="fit each other"):
        solver("divide", kind)(
            *rows, np.ones(2), np.ones(6), np.zeros(2),
            is_logistic=False, penalty=1.0, constant=0.0, tolerance=0.1, rounds=1, seed=0,
        )  # fmt: skip
    with pytest.raises(ValueError, match="no such feature"):
        solver("regress", kind)(
            *rows, np.zeros(1, dtype=np.int32), np.full((1, 2), 0.5), np.zeros(2),
            n_features=5, penalty=1.0, spring=1.0, tolerance=0.1, rounds=1, seed=0,
        )  # fmt: skip
    with pytest.raises(ValueError, match="fit each other"):
        solver("regress", kind)(
            *rows, np.zeros(2, dtype=np.int32), np.full((2, 2), 0.5), np.zeros(2),
            n_features=6, penalty=1.0, spring=1.0, tolerance=0.1, rounds=1, seed=0,
        )  # fmt: skip
