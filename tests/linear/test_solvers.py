"""The compiled solvers, and the solvers of the primal problem that stand in for them, against
scikit-learn.
"""

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_rows import (
    Floats,
    binary_objective,
    fit,
    fit_softmax,
    log_count_ratios,
    softmax_objective,
    training_data,
    training_sets,
)

from nbtext.errors import NbtextWarning
from nbtext.kernel import HAS_KERNEL
from nbtext.linear import one_vs_rest
from nbtext.linear.data import ROW, SolverSettings, TrainingData

needs_kernel = pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")
STRENGTHS = st.sampled_from([0.01, 1.0, 30.0, 1000.0])
LOSSES = pytest.mark.parametrize("is_logistic", [False, True])
settings.register_profile("both", suppress_health_check=[HealthCheck.function_scoped_fixture])
BOTH = settings(settings.get_profile("both"), max_examples=20)


@pytest.fixture(params=["compiled", "primal"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every test runs with both."""
    if request.param == "compiled" and not HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    monkeypatch.setattr(one_vs_rest, "HAS_KERNEL", request.param == "compiled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NbtextWarning)
        yield str(request.param)


def scale(data: TrainingData, positive: int) -> tuple[Any, Floats]:
    """The documents times the log-count ratios of a class, and these ratios."""
    matrix = data.matrix.toarray()
    is_own = data.table.classes == positive
    unit = matrix.sum() / max(1, len(data.table.counts))
    ratios = log_count_ratios(
        matrix[is_own].sum(axis=0), matrix[~is_own].sum(axis=0), pseudo_count=unit
    )
    return matrix * ratios, ratios


@pytest.mark.exhaustive(every=4)
@LOSSES
@BOTH
@given(data=training_sets(), C=STRENGTHS)
def test_binary_solvers_reach_the_objective_of_liblinear(
    kind: str, data: TrainingData, C: float, is_logistic: bool
) -> None:
    """To 1e-4 of it, for each class against the rest, over features times their ratios."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    loss = "logistic" if is_logistic else "squared-hinge"
    scorer, solution = fit("nbsvm", data, SolverSettings(C, 1e-6, seed=1), loss=loss)
    assert solution.is_converged
    for positive in range(data.n_classes) if data.n_classes > 2 else (1,):
        matrix, ratios = scale(data, positive)
        signs = np.where(data.table.classes == positive, 1.0, -1.0)
        options = {"C": C, "fit_intercept": False, "tol": 1e-8, "max_iter": 100_000, "dual": True}
        peer = (
            LogisticRegression(solver="liblinear", **options)
            if is_logistic
            else LinearSVC(**options)
        )
        with warnings.catch_warnings():
            # of the peer: where it does not converge, it must still not be better
            warnings.simplefilter("ignore")
            peer.fit(matrix, signs)
        weights = scorer.weights()[positive]
        is_scaled = np.abs(ratios) > 1e-6  # others are 0 but for rounding: the values are float32
        own = np.divide(weights, ratios, out=np.zeros_like(weights), where=is_scaled)
        reached = binary_objective(matrix, signs, own, C=C, is_logistic=is_logistic)
        theirs = binary_objective(matrix, signs, peer.coef_[0], C=C, is_logistic=is_logistic)
        assert reached <= theirs * (1 + 1e-4)


@BOTH
@given(data=training_sets(), C=STRENGTHS)
def test_softmax_regression_reaches_the_objective_of_newtons_method(
    data: TrainingData, C: float
) -> None:
    """To 1e-4 of scikit-learn's, where intercepts are not regularized either."""
    from sklearn.linear_model import LogisticRegression

    weights, intercepts, _ = fit_softmax(data, SolverSettings(C, 1e-6))
    matrix = data.matrix.toarray()
    own = softmax_objective(matrix, data.table.classes, weights, intercepts, C=C)
    # scikit-learn fits one vector to two classes, whose square is twice that of two halves
    is_binary = data.n_classes == 2
    peer = LogisticRegression(
        C=C * (2 if is_binary else 1), solver="newton-cg", tol=1e-8, max_iter=10_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(matrix, data.table.classes)
    w, b = (
        (peer.coef_.T, peer.intercept_)
        if not is_binary
        else (np.outer(peer.coef_[0], [-0.5, 0.5]), peer.intercept_[0] * np.array([-0.5, 0.5]))
    )
    assert own <= softmax_objective(matrix, data.table.classes, w, b, C=C) * (1 + 1e-4)


class Solved(NamedTuple):
    """The weights, and the duality gap relative to the dual objective."""

    weights: Floats
    gap: float
    kernel: Any


def checked(matrix: Any) -> Any:
    """A dense matrix as the solver takes it."""
    from nbtext._kernel import CheckedMatrix

    data = training_data(matrix, np.zeros(len(matrix)))
    return CheckedMatrix(
        data.table.indptr, data.table.indices, data.table.counts.astype(np.float32), data.n_features
    )


def solve(
    matrix: Any,
    classes: Any,
    *,
    diagonal: Any = 0.0,
    shares: Any = 1.0,
    is_far: bool = False,
    is_logistic: bool = False,
    max_iter: int = 1000,
) -> Solved:
    """The first class against the rest, over features with scale 1, with C = 5, to 1e-9."""
    from nbtext._kernel import ClassFit, FittedDocuments

    n_rows, n_features = matrix.shape
    squares = np.zeros((1, n_rows), np.float32) + np.float32(diagonal)
    documents = FittedDocuments(checked(matrix), np.zeros(n_rows) + shares, squares)
    features = np.tile(np.array([0, 1], np.float32), (n_features, 1))
    kernel = ClassFit(features, offset=0.0, n_fitted=n_rows, is_logistic=is_logistic)
    rows = np.zeros(n_rows, dtype=ROW)
    rows["sign"] = np.where(np.asarray(classes) == 0, 1, -1)
    rows["dual"] = 1e-8 * is_logistic
    rows["is_far"] = is_far

    def add() -> None:
        kernel.begin(is_adding=True)
        kernel.add(documents, rows, C=5.0)
        kernel.end()

    add()
    for n_iter in range(1, max_iter + 1):
        kernel.begin(is_adding=False)
        kernel.visit(documents, rows, C=5.0, tolerance=1e-9, n_iter=n_iter, seed=n_iter)
        add()
        kernel.begin(is_adding=False)
        kernel.measure(documents, rows, C=5.0, tolerance=1e-9)
        if kernel.gap <= 1e-9 * kernel.objective:
            break
    return Solved(features[:, 0].astype(np.float64), kernel.gap / kernel.objective, kernel)


@needs_kernel
@LOSSES
def test_the_duality_gap_bounds_the_distance(is_logistic: bool) -> None:
    """A solver that stops early is not farther from the minimum than its gap says."""
    random = np.random.default_rng(3)
    matrix = random.poisson(0.5, size=(30, 10)).astype(float)
    classes = random.integers(0, 2, 30)
    signs = np.where(classes == 0, 1.0, -1.0)

    def objective(max_iter: int) -> tuple[float, float]:
        found = solve(matrix, classes, is_logistic=is_logistic, max_iter=max_iter)
        reached = binary_objective(matrix, signs, found.weights, C=5.0, is_logistic=is_logistic)
        return reached, found.gap

    minimum, _ = objective(5000)
    for max_iter in (1, 3, 10):
        reached, gap = objective(max_iter)
        # the gap is relative to the dual objective, which is below the minimum
        assert reached - gap * minimum - 1e-9 <= minimum <= reached + 1e-9


@needs_kernel
@LOSSES
def test_features_of_one_document_need_no_weight(is_logistic: bool) -> None:
    """Their squares in the diagonal give the other features the weights that they have beside
    them.
    """
    random = np.random.default_rng(3)
    shared = random.poisson(0.5, size=(30, 10)).astype(float)
    single = np.diag(random.uniform(0, 2, 30))
    classes = random.integers(0, 2, 30)
    squares = single.sum(axis=0) ** 2
    whole = solve(np.hstack((shared, single)), classes, is_logistic=is_logistic).weights
    part = solve(shared, classes, is_logistic=is_logistic, diagonal=squares).weights
    np.testing.assert_allclose(part, whole[:10], atol=1e-4)


@needs_kernel
def test_documents_that_are_skipped_are_measured() -> None:
    """A start that puts every document far beyond the margin, where it is skipped at first, changes
    no solution.
    """
    random = np.random.default_rng(3)
    matrix = random.poisson(0.5, size=(30, 10)).astype(float)
    classes = random.integers(0, 2, 30)
    usual = solve(matrix, classes)
    skipped = solve(matrix, classes, is_far=True)
    assert skipped.gap <= 1e-9
    np.testing.assert_allclose(skipped.weights, usual.weights, atol=1e-4)


@needs_kernel
@LOSSES
def test_shares_are_weights_of_documents(is_logistic: bool) -> None:
    """A document of twice the share counts as two documents; one of share 0 is not fitted, but
    scored.
    """
    random = np.random.default_rng(3)
    matrix = random.poisson(0.5, size=(30, 10)).astype(float)
    classes = random.integers(0, 2, 30)
    counts = random.integers(0, 4, 30)
    weighted = solve(matrix, classes, shares=counts, is_logistic=is_logistic)
    rows = np.repeat(np.arange(30), counts)
    repeated = solve(matrix[rows], classes[rows], is_logistic=is_logistic)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-4)
    left_out = np.flatnonzero(counts == 0)
    scores = weighted.kernel.scores(checked(matrix), left_out)
    np.testing.assert_allclose(scores, matrix[left_out] @ weighted.weights, atol=1e-4)


def test_a_solver_that_stops_early_says_so(kind: str) -> None:
    """One pass is not enough where a column is a thousand times larger than the others; 1,000
    passes are for C = 1.
    """
    random = np.random.default_rng(3)
    matrix = random.random((50, 5))
    matrix[:, 0] *= 1000
    data = training_data(matrix, random.integers(0, 2, 50))
    few = SolverSettings(1000.0, 1e-9, 1)
    assert not fit("nbsvm", data, few, loss="logistic")[1].is_converged
    assert not fit_softmax(data, few)[2].is_converged
    data = training_data(np.minimum(matrix, 1), data.table.classes)
    enough = SolverSettings(1.0)
    assert fit("nbsvm", data, enough, loss="logistic")[1].is_converged
    assert fit_softmax(data, enough)[2].is_converged


class StoppedError(Exception):
    """Raised by the signal handler in the next test."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such signal")
def test_a_signal_ends_a_fit(kind: str) -> None:
    """Within a few passes of a problem that would take a thousand."""
    random = np.random.default_rng(3)
    data = training_data(random.random((100_000, 50)), random.integers(0, 2, 100_000))

    def stop(*_: object) -> None:
        raise StoppedError

    before = signal.signal(signal.SIGALRM, stop)
    start = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(StoppedError):
            fit("nbsvm", data, SolverSettings(1e6, 1e-15), loss="logistic")
        assert time.process_time() - start < 3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@needs_kernel
def test_arrays_that_do_not_fit_are_refused() -> None:
    """They are a ValueError and no crash."""
    from nbtext._kernel import CheckedMatrix, ClassFit, FittedDocuments

    def make_fit(*shape: int) -> ClassFit:
        return ClassFit(np.zeros(shape, np.float32), offset=0.0, n_fitted=2, is_logistic=False)

    numbers = np.zeros((2, 5), np.float32)
    matrix = checked(np.ones((2, 5)))
    ones = np.ones(2)
    squares = numbers[:1, :2].copy()
    documents = FittedDocuments(matrix, ones, squares)
    rows = np.zeros(2, dtype=ROW)
    starts = np.array([0, 1])
    first = np.zeros(1, np.int32)
    calls: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("out of range", CheckedMatrix, (starts, first + 5, numbers[0, :1], 5)),
        ("out of range", CheckedMatrix, (starts, first - 1, numbers[0, :1], 5)),
        ("CSR", CheckedMatrix, (starts * 2, first, numbers[0, :1], 5)),
        ("CSR", CheckedMatrix, (1 - starts, first, numbers[0, :1], 5)),
        ("CSR", CheckedMatrix, (starts[:0], first, numbers[0, :1], 5)),
        ("CSR", CheckedMatrix, (starts, first, numbers[0, :2], 5)),
        ("a weight and a scale", make_fit, (5, 3)),
        ("one or three sums of squares", FittedDocuments, (matrix, ones[:1], squares)),
        ("one or three sums of squares", FittedDocuments, (matrix, ones, squares[:, :1].copy())),
        ("one or three sums of squares", FittedDocuments, (matrix, ones, numbers[:, :2].copy())),
        ("a state for each row", partial(make_fit(5, 2).add, C=1.0), (documents, rows[:1])),
        ("mismatch", partial(make_fit(5, 2).add, C=1.0), (documents, numbers[0])),
        ("a weight for each feature", partial(make_fit(4, 2).add, C=1.0), (documents, rows)),
        ("not rows of the CSR matrix", make_fit(5, 2).scores, (matrix, np.array([2]))),
        ("not rows of the CSR matrix", make_fit(5, 2).scores, (matrix, np.array([-1]))),
    ]
    for says, call, arguments in calls:
        with pytest.raises(ValueError, match=says):
            call(*arguments)
