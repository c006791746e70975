"""Linear models of many documents and classes: the memory that they need, and what they do to bound it."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from made_rows import every, score_folds, softmax_objective, training_data

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import LinearSettings, ModelSettings
from nbtext.errors import NbtextWarning
from nbtext.linear import lbfgs, learning, logistic
from nbtext.linear.data import TrainingData
from nbtext.linear.lbfgs import SolverSettings
from nbtext.linear.learning import learn
from nbtext.linear.logistic import solve_softmax

MODELS = pytest.mark.parametrize("model", sorted(LINEAR_MODELS))


def wide() -> TrainingData:
    """Many documents of many classes, and few features: the dual variables would need 1.6 MB, the weights 25 kB."""
    random = np.random.default_rng(2)
    classes = np.arange(2000) % 100
    matrix = (random.random((2000, 30)) < 0.1) + (classes[:, None] % 30 == np.arange(30)) * 1.0
    return training_data(matrix, classes)


def test_many_documents_of_many_classes_need_no_dual_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is that of some arrays as large as the weights, whatever C was tried before."""
    from sklearn.linear_model import LogisticRegression

    data = wide()
    usual = solve_softmax(data, every(data), SolverSettings(1.0))
    monkeypatch.setattr(logistic, "MAX_DUALS", 1 << 10)
    monkeypatch.setattr(lbfgs, "MAX_PROBABILITIES", 1 << 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NbtextWarning)
        assert data.matrix.nnz  # what all solvers need is there before memory is measured
        tracemalloc.start()
        other = solve_softmax(data, every(data), SolverSettings(0.1))
        found = solve_softmax(data, every(data), SolverSettings(1.0), other)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (found.dual, found.is_converged, usual.is_converged) == (None, True, True)
    assert peak < 800_000
    peer = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-6).fit(data.matrix, data.classes)
    own, theirs, before = (
        softmax_objective(data.matrix, data.classes, w, b, C=1.0)
        for w, b in (
            (found.weights, found.intercepts), (peer.coef_.T, peer.intercept_), (usual.weights, usual.intercepts),
        )
    )  # fmt: skip
    assert own <= theirs * (1 + 1e-4)
    assert own == pytest.approx(before, rel=1e-4)


@pytest.mark.parametrize("is_without_duals", [False, True])
def test_folds_of_many_classes_are_fitted_one_after_the_other(
    is_without_duals: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their scores are those of models that are fitted alone, and have the same bytes for any number of threads."""
    random = np.random.default_rng(2)
    classes = np.arange(240) % 12
    data = training_data((random.random((240, 8)) < 0.3) + (classes[:, None] % 8 == np.arange(8)) * 1.0, classes)
    folds, solver = (np.arange(240) // 12 % 4 - 1).astype(np.int32), SolverSettings(1.0, 1e-9)
    monkeypatch.setattr(logistic, "MAX_DUALS", 100)
    monkeypatch.setattr(logistic, "DUALS_PER_WEIGHT", 4 if is_without_duals else 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NbtextWarning)
        scores = []
        for jobs in (1, 3):
            problem_ = logistic.LogisticRegression(data, LinearSettings(), jobs=jobs)
            scores.append(score_folds(problem_, folds, solver, problem_.solve(solver)))
        assert scores[0].tobytes() == scores[1].tobytes()
        for fold in range(3):
            alone = solve_softmax(data, np.flatnonzero(folds != fold), solver)
            expected = data.matrix[folds == fold] @ alone.weights + alone.intercepts
            differences = scores[0][folds == fold] - expected
            assert np.abs(differences - differences.mean(axis=1, keepdims=True)).max() < 0.01


@MODELS
def test_of_many_classes_few_documents_are_held_out(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that their scores fit into memory, with goals, too."""
    monkeypatch.setattr(learning, "MAX_SCORES", 90)
    random = np.random.default_rng(0)
    data = training_data((random.random((90, 9)) < 0.3).astype(float), np.arange(90) % 3)
    for optimize in (None, "macro_f1"):
        estimate = learn(data, np.ones(90), ModelSettings(model=model, optimize=optimize)).selection.estimate
        assert estimate is not None
        assert (estimate.documents, estimate.unjudged) == (30, 0)
