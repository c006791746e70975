"""Linear models of many documents and classes: the memory that they need, and what they do to bound
it.
"""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from made_rows import fit, fit_softmax, learn, score_folds, softmax_objective, training_data

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import STACKED, LinearSettings, ModelSettings
from nbtext.linear import learning, logistic
from nbtext.linear.data import SolverSettings, TrainingData

MODELS = pytest.mark.parametrize("model", sorted(set(LINEAR_MODELS) - {STACKED}))


def wide() -> TrainingData:
    """Many documents of many classes, and few features: their probabilities would need 1.6 MB, the
    weights 25 kB.
    """
    random = np.random.default_rng(2)
    classes = np.arange(2000) % 100
    matrix = (random.random((2000, 30)) < 0.1) + (classes[:, None] % 30 == np.arange(30)) * 1.0
    return training_data(matrix, classes)


def test_many_documents_of_many_classes_need_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is that of some arrays as large as the weights, whatever C was tried before."""
    from sklearn.linear_model import LogisticRegression

    data = wide()
    usual = fit_softmax(data, SolverSettings(1.0))
    monkeypatch.setattr(logistic, "PROBABILITIES_AT_ONCE", 1 << 12)
    monkeypatch.setattr(logistic, "MAX_HISTORY", 1 << 14)
    tracemalloc.start()
    _, _, other = fit_softmax(data, SolverSettings(0.1))
    found = fit_softmax(data, SolverSettings(1.0), other)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert usual[2].is_converged
    assert found[2].is_converged
    assert peak < 1_500_000
    peer = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-6).fit(
        data.matrix, data.table.classes
    )
    own, theirs, before = (
        softmax_objective(data.matrix, data.table.classes, w, b, C=1.0)
        for w, b in (found[:2], (peer.coef_.T, peer.intercept_), usual[:2])
    )
    assert own <= theirs * (1 + 1e-4)
    assert own == pytest.approx(before, rel=1e-4)


def test_folds_of_many_classes_are_fitted_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their scores are those of models that are fitted alone, and have the same bytes for any
    number of threads.
    """
    random = np.random.default_rng(2)
    classes = np.arange(240) % 12
    data = training_data(
        (random.random((240, 8)) < 0.3) + (classes[:, None] % 8 == np.arange(8)) * 1.0, classes
    )
    folds = (np.arange(240) // 12 % 4 - 1).astype(np.int32)
    solver = SolverSettings(1.0, 1e-9)
    scores = []
    for jobs, most in ((1, 1 << 22), (3, 1 << 22), (3, 100)):
        monkeypatch.setattr(logistic, "MAX_PARALLEL_WEIGHTS", most)
        problem_ = logistic.LogisticRegression(data, LinearSettings(), jobs=jobs)
        scores.append(score_folds(problem_, folds, solver, problem_.solve(solver)))
    assert scores[0].tobytes() == scores[1].tobytes() == scores[2].tobytes()
    for fold in range(3):
        alone = training_data(data.matrix[folds != fold], classes[folds != fold])
        weights, intercepts, _ = fit_softmax(alone, solver)
        differences = scores[0][folds == fold] - (data.matrix[folds == fold] @ weights + intercepts)
        assert np.abs(differences - differences.mean(axis=1, keepdims=True)).max() < 0.01


@MODELS
def test_of_many_classes_few_documents_are_held_out(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many that their scores fit into memory, with goals, too."""
    monkeypatch.setattr(learning, "SCORES_AT_ONCE", 90)
    random = np.random.default_rng(0)
    data = training_data((random.random((90, 9)) < 0.3).astype(float), np.arange(90) % 3)
    for optimize in (None, "macro_f1"):
        estimate = learn(
            data, np.ones(90), ModelSettings(model=model, optimize=optimize)
        ).selection.estimate
        assert estimate is not None
        assert (estimate.documents, estimate.unjudged) == (30, 0)


def test_columns_without_documents_use_little_memory() -> None:
    """Most columns of hashed features are empty; the scores are those of the other columns
    alone.
    """
    random = np.random.default_rng(5)
    matrix = (random.random((60, 12)) < 0.4).astype(float)
    classes = np.arange(60) % 20
    n_classes = 20
    n_columns = 2**20
    small = training_data(matrix, classes)
    columns = np.sort(random.choice(n_columns, 12, replace=False)).astype(np.int32)
    rows = replace(small.table, indices=columns[small.table.indices])
    wide = replace(small, documents=rows, n_features=n_columns)
    tracemalloc.start()
    scorer, _ = fit("logistic", wide, SolverSettings(1.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n_columns * n_classes / 4
    expected, _ = fit("logistic", small, SolverSettings(1.0))
    found = scorer.weights()
    np.testing.assert_array_equal(found[:, columns], expected.weights())
    assert found.shape == (n_classes, n_columns)
    assert np.count_nonzero(found) == np.count_nonzero(expected.weights())
