"""The compiled solvers and SciPy's L-BFGS, which stands in for them, against scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_rows import Floats, binary_objective, every, softmax_objective, training_data, training_sets

from nbtext.errors import ModelError, NbtextWarning
from nbtext.features.kernel import HAS_KERNEL
from nbtext.linear import solver
from nbtext.linear.solver import Solution, SolverSettings, TrainingData

needs_kernel = pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")
STRENGTHS = st.sampled_from([0.01, 1.0, 30.0, 1000.0])
LOSSES = pytest.mark.parametrize("is_logistic", [False, True])
settings.register_profile("both", suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
BOTH = settings(settings.get_profile("both"), max_examples=20)


@pytest.fixture(params=["compiled", "L-BFGS"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every test runs with both."""
    if request.param == "compiled" and not HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    monkeypatch.setattr(solver, "HAS_KERNEL", request.param == "compiled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NbtextWarning)
        yield str(request.param)


def solve_first(data: TrainingData, scales: Floats, *, is_logistic: bool, **options: Any) -> tuple[Floats, Solution]:
    """The signs of the first class against the rest, and the solution."""
    signs = np.where(data.classes == 0, 1.0, -1.0)
    chosen = SolverSettings(**{"tolerance": 1e-6, "seed": 1, **options})
    return signs, solver.solve_binary(data, every(data), signs, scales, chosen, is_logistic=is_logistic)


@LOSSES
@BOTH
@given(data=training_sets(), C=STRENGTHS)
def test_binary_solvers_reach_the_objective_of_liblinear(
    kind: str, data: TrainingData, C: float, is_logistic: bool
) -> None:
    """To 1e-4 of it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    factors = np.random.default_rng(0).uniform(-2, 2, data.n_features)
    signs, solution = solve_first(data, factors**2, C=C, is_logistic=is_logistic)
    matrix = data.matrix.toarray() * factors
    options = {"C": C, "fit_intercept": False, "tol": 1e-8, "max_iter": 100_000, "dual": True}
    peer = LogisticRegression(solver="liblinear", **options) if is_logistic else LinearSVC(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peer: where it does not converge, it must still not be better
        peer.fit(matrix, signs)
    own = binary_objective(matrix, signs, solution.weights / factors, C=C, is_logistic=is_logistic)
    theirs = binary_objective(matrix, signs, peer.coef_[0], C=C, is_logistic=is_logistic)
    assert own <= theirs * (1 + 1e-4)
    assert solution.is_converged


@BOTH
@given(data=training_sets(), C=STRENGTHS)
def test_softmax_solvers_reach_the_objective_of_newtons_method(kind: str, data: TrainingData, C: float) -> None:
    """To 1e-4 of scikit-learn's, where intercepts are not regularized either."""
    from sklearn.linear_model import LogisticRegression

    found = solver.solve_softmax(data, every(data), SolverSettings(C, 1e-6))
    matrix = data.matrix.toarray()
    own = softmax_objective(matrix, data.classes, found.weights, found.intercepts, C=C)
    # scikit-learn fits one vector to two classes, whose square is twice that of two halves
    is_binary = data.n_classes == 2
    peer = LogisticRegression(C=C * (2 if is_binary else 1), solver="newton-cg", tol=1e-8, max_iter=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(matrix, data.classes)
    w, b = (peer.coef_.T, peer.intercept_) if not is_binary else (
        np.outer(peer.coef_[0], [-0.5, 0.5]), peer.intercept_[0] * np.array([-0.5, 0.5]),
    )  # fmt: skip
    assert own <= softmax_objective(matrix, data.classes, w, b, C=C) * (1 + 1e-4)


@LOSSES
@BOTH
@given(data=training_sets(), seed=st.integers(0, 2**32 - 1))
def test_rows_that_are_left_out_do_not_matter(kind: str, data: TrainingData, seed: int, is_logistic: bool) -> None:
    """A fit to some rows of a matrix is the fit to the matrix of these rows, whatever start the others have."""
    rows = np.random.default_rng(seed).permutation(len(data))[: len(data) // 2]
    rows = np.union1d(rows, np.arange(data.n_classes))  # each class has a document there
    signs, scales = np.where(data.classes == 0, 1.0, -1.0), np.ones(data.n_features)
    chosen = SolverSettings(3.0, 1e-9)
    dual = np.full(len(data), 0.5)
    part = solver.solve_binary(data, rows, signs, scales, chosen, is_logistic=is_logistic, dual=dual)
    alone = training_data(data.matrix[rows], data.classes[rows], data.n_classes)
    whole = solver.solve_binary(alone, every(alone), signs[rows], scales, chosen, is_logistic=is_logistic)
    values = [
        binary_objective(alone.matrix, signs[rows], each.weights, C=3.0, is_logistic=is_logistic)
        for each in (part, whole)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-4)
    few, only = (
        solver.solve_softmax(each, numbers, SolverSettings(3.0, 1e-9))
        for each, numbers in ((data, rows), (alone, every(alone)))
    )
    values = [
        softmax_objective(alone.matrix, alone.classes, each.weights, each.intercepts, C=3.0) for each in (few, only)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-4)


@needs_kernel
@LOSSES
def test_the_duality_gap_bounds_the_distance(is_logistic: bool) -> None:
    """A solver that stops early is no farther from the minimum than its gap says."""
    from nbtext.linear._solvers import fit_binary

    random = np.random.default_rng(3)
    data = training_data(random.poisson(0.5, size=(30, 10)).astype(float), random.integers(0, 2, 30))
    signs = np.where(data.classes == 0, 1.0, -1.0)

    def objective(max_iter: int) -> tuple[float, float]:
        weights, gap, _ = fit_binary(
            data.indptr, data.indices, data.values, signs, np.ones(10), np.full(30, 1e-8 * is_logistic), every(data),
            is_logistic=is_logistic, C=5.0, tolerance=1e-9, max_iter=max_iter, seed=1,
        )  # fmt: skip
        return binary_objective(data.matrix, signs, weights, C=5.0, is_logistic=is_logistic), gap

    minimum, _ = objective(5000)
    for max_iter in (1, 3, 10):
        reached, gap = objective(max_iter)
        # the gap is relative to the dual objective, which is below the minimum
        assert reached - gap * minimum - 1e-9 <= minimum <= reached + 1e-9


def test_a_solver_that_stops_early_says_so(kind: str) -> None:
    """One pass is not enough where a column is a thousand times larger than the others; 1,000 passes are for C = 1."""
    random = np.random.default_rng(3)
    matrix = random.random((50, 5))
    matrix[:, 0] *= 1000
    data = training_data(matrix, random.integers(0, 2, 50))
    signs = np.where(data.classes == 0, 1.0, -1.0)
    few = SolverSettings(1000.0, 1e-9, 1)
    assert not solver.solve_binary(data, every(data), signs, np.ones(5), few, is_logistic=True).is_converged
    assert not solver.solve_softmax(data, every(data), few).is_converged
    data.values[:] = np.minimum(data.values, 1)
    enough = SolverSettings(1.0)
    assert solver.solve_binary(data, every(data), signs, np.ones(5), enough, is_logistic=True).is_converged
    assert solver.solve_softmax(data, every(data), enough).is_converged


@pytest.mark.parametrize("value", [1e200, 1e308, np.inf, -np.inf, np.nan])
def test_values_that_overflow_are_an_error(kind: str, value: float) -> None:
    """Weights that are not finite are an error in one line, within the maximum of passes."""
    data = training_data([[value, 1.0], [1.0, 0.5], [0.2, 1.0]], [0, 1, 1])
    signs, chosen = np.array([1.0, -1.0, -1.0]), SolverSettings(1e100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for solve in (
            lambda: solver.solve_binary(data, every(data), signs, np.ones(2), chosen, is_logistic=False),
            lambda: solver.solve_binary(data, every(data), signs, np.ones(2), chosen, is_logistic=True),
            lambda: solver.solve_softmax(data, every(data), chosen),
        ):
            try:
                assert np.isfinite(solve().weights).all()
            except ModelError as error:
                assert "scale the features down" in str(error)


@needs_kernel
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"indices": np.array([5], np.int32)}, "out of range"),
        ({"indices": np.array([-1], np.int32)}, "out of range"),
        ({"indptr": np.array([0, 2])}, "CSR"),
        ({"indptr": np.array([1, 0])}, "CSR"),
        ({"indptr": np.array([], np.int64)}, "CSR"),
        ({"values": np.ones(2)}, "CSR"),
        ({"rows": np.array([1])}, "CSR"),
        ({"rows": np.array([-1])}, "CSR"),
        ({"signs": np.ones(2), "classes": np.zeros(2, np.int32)}, "one element for each row"),
        ({"dual": np.zeros(2), "duals": np.full((2, 2), 0.5)}, "one element for each row"),
        ({"duals": np.zeros((1, 0))}, "column for each class"),
        ({"intercepts": np.zeros(3)}, "column for each class"),
        ({"classes": np.array([2], np.int32)}, "column for each class"),
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, Any], says: str) -> None:
    """They are a ValueError and no crash."""
    from nbtext.linear._solvers import fit_binary, fit_softmax

    arrays: dict[str, Any] = {
        "indptr": np.array([0, 1]), "indices": np.array([0], np.int32), "values": np.ones(1), "rows": np.array([0]),
        "signs": np.ones(1), "scales": np.ones(5), "dual": np.zeros(1),
        "classes": np.zeros(1, np.int32), "duals": np.full((1, 2), 0.5), "intercepts": np.zeros(2), **change,
    }  # fmt: skip
    rows = [arrays[name] for name in ("indptr", "indices", "values")]
    options: dict[str, Any] = {"C": 1.0, "tolerance": 0.1, "max_iter": 1, "seed": 0}
    calls: dict[str, Callable[[], Any]] = {
        "binary": lambda: fit_binary(
            *rows, *(arrays[name] for name in ("signs", "scales", "dual", "rows")), is_logistic=False, **options
        ),
        "softmax": lambda: fit_softmax(
            *rows, *(arrays[name] for name in ("classes", "duals", "rows", "intercepts")),
            n_features=5, stiffness=1.0, **options,
        ),
    }  # fmt: skip
    for name, call in calls.items():
        if change.keys() <= {"duals", "intercepts", "classes"} and name == "binary":
            continue
        with pytest.raises(ValueError, match=says):
            call()
