"""The compiled solvers, and the solvers of the primal problem that stand in for them, against
scikit-learn.
"""

import signal
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_rows import (
    Floats,
    binary_objective,
    fit,
    fit_softmax,
    softmax_objective,
    training_data,
    training_sets,
)

from nbtext.errors import ModelError, NbtextWarning
from nbtext.kernel import HAS_KERNEL
from nbtext.linear import one_vs_rest
from nbtext.linear.data import SolverSettings, TrainingData
from nbtext.linear.nbsvm import log_count_ratios

needs_kernel = pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")
STRENGTHS = st.sampled_from([0.01, 1.0, 30.0, 1000.0])
LOSSES = pytest.mark.parametrize("is_logistic", [False, True])
settings.register_profile(
    "both", suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
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
    is_own = data.classes == positive
    unit = matrix.sum() / max(1, len(data.values))
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
        signs = np.where(data.classes == positive, 1.0, -1.0)
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
    own = softmax_objective(matrix, data.classes, weights, intercepts, C=C)
    # scikit-learn fits one vector to two classes, whose square is twice that of two halves
    is_binary = data.n_classes == 2
    peer = LogisticRegression(
        C=C * (2 if is_binary else 1), solver="newton-cg", tol=1e-8, max_iter=10_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(matrix, data.classes)
    w, b = (
        (peer.coef_.T, peer.intercept_)
        if not is_binary
        else (np.outer(peer.coef_[0], [-0.5, 0.5]), peer.intercept_[0] * np.array([-0.5, 0.5]))
    )
    assert own <= softmax_objective(matrix, data.classes, w, b, C=C) * (1 + 1e-4)


def problem(matrix: Any, classes: Any, **changed: Any) -> dict[str, Any]:
    """Arguments of `fit_binary`: the first class against the rest, over features with scale 1."""
    from nbtext._kernel import CheckedMatrix

    data = training_data(matrix, classes)
    n_documents = len(data)
    return {
        "matrix": CheckedMatrix(
            data.indptr, data.indices, data.values.astype(np.float32), data.n_features
        ),
        "strengths": np.where(data.classes == 0, 5.0, -5.0),
        "scales": np.ones(data.n_features, np.float32),
        "diagonal": np.zeros(n_documents, np.float32),
        "dual": np.zeros(n_documents),
        "margins": np.zeros(n_documents, np.float32),
        "scores": np.zeros(0),
        "is_logistic": False,
        "tolerance": 1e-9,
        "max_iter": 1000,
        "seed": 1,
        **changed,
    }


def solve(arguments: dict[str, Any]) -> tuple[Floats, float]:
    """The weights and the relative duality gap of the solution."""
    from nbtext._kernel import fit_binary

    gap, _, weights = fit_binary(**arguments)
    return weights, gap


@needs_kernel
@LOSSES
def test_the_duality_gap_bounds_the_distance(is_logistic: bool) -> None:
    """A solver that stops early is not farther from the minimum than its gap says."""
    random = np.random.default_rng(3)
    matrix = random.poisson(0.5, size=(30, 10)).astype(float)
    classes = random.integers(0, 2, 30)
    signs = np.where(classes == 0, 1.0, -1.0)

    def objective(max_iter: int) -> tuple[float, float]:
        dual = np.full(30, 1e-8 * is_logistic)
        weights, gap = solve(
            problem(matrix, classes, is_logistic=is_logistic, max_iter=max_iter, dual=dual)
        )
        return binary_objective(matrix, signs, weights, C=5.0, is_logistic=is_logistic), gap

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
    dual = np.full(30, 1e-8 * is_logistic)
    squares = (single.sum(axis=0) ** 2).astype(np.float32)
    whole, _ = solve(
        problem(np.hstack((shared, single)), classes, is_logistic=is_logistic, dual=dual.copy())
    )
    part, _ = solve(
        problem(shared, classes, is_logistic=is_logistic, diagonal=squares, dual=dual.copy())
    )
    np.testing.assert_allclose(part, whole[:10], atol=1e-4)


@needs_kernel
def test_documents_that_are_skipped_are_measured() -> None:
    """A start that puts every document far beyond the margin, where it is skipped at first, changes
    no solution.
    """
    random = np.random.default_rng(3)
    matrix = random.poisson(0.5, size=(30, 10)).astype(float)
    classes = random.integers(0, 2, 30)
    usual, _ = solve(problem(matrix, classes))
    skipped, gap = solve(problem(matrix, classes, margins=np.full(30, np.inf, np.float32)))
    assert gap <= 1e-9
    np.testing.assert_allclose(skipped, usual, atol=1e-4)


@needs_kernel
@LOSSES
def test_strengths_are_weights_of_documents(is_logistic: bool) -> None:
    """A document of twice the strength counts as two documents; one of strength 0 is not fitted,
    but scored.
    """
    random = np.random.default_rng(3)
    matrix = random.poisson(0.5, size=(30, 10)).astype(float)
    classes = random.integers(0, 2, 30)
    counts = random.integers(0, 4, 30)
    strengths = np.where(classes == 0, 5.0, -5.0) * counts
    scores = np.zeros(30)
    start = 1e-8 * is_logistic
    options = {"is_logistic": is_logistic, "dual": np.full(30, start), "scores": scores}
    weighted, _ = solve(problem(matrix, classes, strengths=strengths, **options))
    rows = np.repeat(np.arange(30), counts)
    own = {"strengths": np.where(classes[rows] == 0, 5.0, -5.0), "dual": np.full(len(rows), start)}
    repeated, _ = solve(problem(matrix[rows], classes[rows], is_logistic=is_logistic, **own))
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)
    np.testing.assert_allclose(scores, np.where(counts == 0, matrix @ weighted, 0), atol=1e-4)


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
    data = training_data(np.minimum(matrix, 1), data.classes)
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


@pytest.mark.parametrize("value", [1e19, 1e38, 1e200, 1e308, np.inf, -np.inf, np.nan])
def test_values_that_overflow_are_an_error(kind: str, value: float) -> None:
    """Weights that are not finite are an error in one line, within the maximum of passes."""
    data = training_data([[value, 1.0], [1.0, 0.5], [0.2, 1.0]], [0, 1, 1])
    chosen = SolverSettings(1e100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for solve in (
            lambda: fit("nbsvm", data, chosen)[0].deltas,
            lambda: fit("nbsvm", data, chosen, loss="logistic")[0].deltas,
            lambda: fit_softmax(data, chosen)[0],
        ):
            try:
                assert np.isfinite(solve()).all()
            except ModelError as error:
                assert "scale the features down" in str(error)


CSR_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"indices": np.array([5], np.int32)}, "out of range"),
    ({"indices": np.array([-1], np.int32)}, "out of range"),
    ({"indptr": np.array([0, 2])}, "CSR"),
    ({"indptr": np.array([1, 0])}, "CSR"),
    ({"indptr": np.array([], np.int64)}, "CSR"),
    ({"values": np.ones(2)}, "CSR"),
]


@needs_kernel
@pytest.mark.parametrize(("change", "says"), CSR_FAULTS, ids=str)
def test_arrays_that_are_no_matrix_are_refused(change: dict[str, Any], says: str) -> None:
    """They are a ValueError and no crash."""
    from nbtext._kernel import CheckedMatrix

    arrays = {
        "indptr": np.array([0, 1]),
        "indices": np.array([0], np.int32),
        "values": np.ones(1),
        **change,
    }
    with pytest.raises(ValueError, match=says):
        CheckedMatrix(arrays["indptr"], arrays["indices"], arrays["values"].astype(np.float32), 5)


@needs_kernel
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"strengths": np.ones(2)}, "one element for each row"),
        ({"diagonal": np.zeros(2, np.float32)}, "one element for each row"),
        ({"dual": np.zeros(0)}, "one element for each row"),
        ({"margins": np.zeros(2, np.float32)}, "one element for each row"),
        ({"scores": np.zeros(2)}, "one element for each row"),
        ({"scales": np.ones(4, np.float32)}, "a scale for each feature"),
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_a_problem_are_refused(change: dict[str, Any], says: str) -> None:
    """They are a ValueError and no crash."""
    from nbtext._kernel import fit_binary

    with pytest.raises(ValueError, match=says):
        fit_binary(**problem(np.ones((1, 5)), [0], **change))


@needs_kernel
def test_rows_and_sums_that_do_not_fit_are_refused() -> None:
    """They are a ValueError and no crash."""
    from nbtext import _kernel

    matrix = problem(np.ones((1, 5)), [0])["matrix"]
    one = np.ones(1)
    row = np.zeros(1, np.int32)
    sums = np.zeros((1, 5))
    for factors, folds, by_fold, says in (
        (one, row + 1, sums, "a fold for each row"),
        (one, np.zeros(2, np.int32), sums, "a fold for each row"),
        (np.ones(2), row, sums, "a factor"),
        (one, row, np.zeros((1, 4)), "a sum for each feature"),
    ):
        with pytest.raises(ValueError, match=says):
            _kernel.add_by_fold(matrix, factors, folds, by_fold)
    _kernel.add_by_fold(matrix, one, row - 1, sums)
    assert not sums.any()  # a row of no fold is not added


@needs_kernel
def test_blocks_that_do_not_fit_are_refused() -> None:
    """They are a ValueError and no crash."""
    from nbtext._kernel import BlockDocuments, BlockFit

    def make_fit(*shape: int) -> BlockFit:
        return BlockFit(
            np.zeros(shape, np.float32), own_class=0, offset=0.0, n_rows=2, is_logistic=False
        )

    matrix = problem(np.ones((2, 5)), [0, 1])["matrix"]
    with pytest.raises(ValueError, match="a weight and a scale"):
        make_fit(5, 3)
    of_rows = (np.zeros(2, np.int32), np.ones(2), np.zeros((1, 2), np.float32))
    documents = BlockDocuments(matrix, *of_rows)
    duals = np.zeros(2, np.float32)
    waits = np.zeros((2, 2), np.uint8)
    for place in range(3):
        arrays = [
            each[..., :-1].copy() if number == place else each
            for number, each in enumerate(of_rows)
        ]
        with pytest.raises(ValueError, match="for each row"):
            BlockDocuments(matrix, *arrays)
    with pytest.raises(ValueError, match="one or three sums of squares"):
        BlockDocuments(matrix, *of_rows[:2], np.zeros((2, 2), np.float32))
    for state in ((duals[:-1], waits), (duals, waits[:, :-1].copy()), (duals, waits[:-1])):
        with pytest.raises(ValueError, match="one element for each row"):
            make_fit(5, 2).add(documents, *state, C=1.0)
    with pytest.raises(ValueError, match="a weight for each feature"):
        make_fit(4, 2).add(documents, duals, waits, C=1.0)
    for rows in ([2], [-1]):
        with pytest.raises(ValueError, match="not rows of the CSR matrix"):
            make_fit(5, 2).scores(matrix, np.array(rows))


@needs_kernel
def test_more_passes_than_a_row_can_count_are_refused() -> None:
    """The number of the next visit of a row has 16 bits."""
    with pytest.raises(ValueError, match="more passes"):
        solve(problem(np.ones((2, 5)), [0, 1], max_iter=2**15))
