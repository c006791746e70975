"""The linear support vector machine, and one against the rest of documents with several labels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import Floats, fit, log_count_ratios, score_folds, training_data

from nbtext.bayes.class_statistics import LabelSets
from nbtext.bayes.settings import LinearSettings
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.linear import blocks, one_vs_rest
from nbtext.linear.data import SolverSettings, TrainingData
from nbtext.linear.nbsvm import NBSVM
from nbtext.linear.one_vs_rest import SVM

SHARP = SolverSettings(1.0, 1e-7)
BY_RECORD = pytest.mark.parametrize("record", [SVM, NBSVM], ids=["svm", "nbsvm"])


def of_sets(matrix: Any, indicator: Any) -> TrainingData:
    """Training data of documents with several labels, from an indicator matrix (n_documents,
    n_labels).
    """
    rows, classes = np.nonzero(indicator)
    indptr = np.searchsorted(rows, np.arange(len(indicator) + 1))
    data = training_data(matrix, np.arange(len(indicator)), np.shape(indicator)[1])
    return replace(data, sets=LabelSets(indptr.astype(np.int64), classes.astype(np.int32)))


def made(n: int = 60, n_labels: int = 5, seed: int = 0) -> tuple[Floats, Any]:
    """Documents, and their labels: one that none has, one that all have, and one of a single
    document among them.
    """
    random = np.random.default_rng(seed)
    matrix = random.poisson(0.5, (n, 30)) * random.uniform(0.2, 1.5, (n, 30))
    indicator = matrix @ random.normal(size=(30, n_labels)) > 1
    indicator[:, :3] = [False, True, False]
    indicator[7, 2] = True
    return matrix, indicator


def peer_weights(matrix: Any, signs: Any, C: float) -> tuple[Floats, float]:
    """Weights and intercept of scikit-learn's LinearSVC."""
    from sklearn.svm import LinearSVC

    peer = LinearSVC(C=C, tol=1e-9, max_iter=200_000, random_state=0).fit(matrix, signs)
    return peer.coef_[0], float(peer.intercept_[0])


@pytest.mark.parametrize("model", ["svm", "nbsvm"])
def test_factors_of_features_multiply_the_values(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """Some documents at a time are multiplied by them: the weights have the bits of a fit to the
    products.
    """
    monkeypatch.setattr(blocks, "DOCUMENTS_WEIGHED_AT_ONCE", 7)
    data = training_data(made()[0], np.arange(60) % 3)
    factors = np.random.default_rng(1).uniform(0.5, 3, 30)
    products = factors[data.table.indices] * data.table.counts
    multiplied = replace(data, documents=replace(data.table, counts=products))
    found, wanted = (
        fit(model, each, SHARP)[0] for each in (replace(data, factors=factors), multiplied)
    )
    np.testing.assert_array_equal(found.weights(), wanted.weights())
    np.testing.assert_array_equal(found.bias, wanted.bias)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_label_a_document_is_scikit_learns_linear_svc(C: float, n_classes: int) -> None:
    """The same weights and intercepts, one class against the rest; of two classes the second
    one.
    """
    matrix = made()[0]
    classes = np.arange(60) % n_classes
    scorer, _ = fit("svm", training_data(matrix, classes), SHARP._replace(C=C))
    for k in range(n_classes) if n_classes > 2 else [1]:
        weights, intercept = peer_weights(matrix, classes == k, C)
        np.testing.assert_allclose(scorer.weights()[k], weights, atol=2e-3 * np.abs(weights).max())
        assert scorer.bias[k] == pytest.approx(intercept, abs=2e-3 * max(1, abs(intercept)))


@pytest.mark.parametrize("has_kernel", [True, False])
def test_several_labels_are_scikit_learns_linear_svc(
    has_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each label against the rest, also without the kernel; of a label that no document has, all
    are the rest.
    """
    switch_kernel(monkeypatch, has_kernel)
    matrix, indicator = made()
    scorer, _ = fit("svm", of_sets(matrix, indicator), SHARP)
    assert scorer.n_classes == 5
    for k in range(2, 5):
        weights, intercept = peer_weights(matrix, indicator[:, k], 1.0)
        np.testing.assert_allclose(scorer.weights()[k], weights, atol=3e-3 * np.abs(weights).max())
        assert scorer.bias[k] == pytest.approx(intercept, abs=3e-3)
    scores = scorer.scores(*rows_of(matrix))
    assert (scores[:, 0] < 0).all()
    assert (scores[:, 1] > 0).all()


def test_nbsvm_of_several_labels_is_linear_svc_over_ratios() -> None:
    """The features are multiplied by the label's log-count ratios; the intercept is not."""
    matrix, indicator = made(seed=3)
    scorer, _ = fit("nbsvm", of_sets(matrix, indicator), SHARP)
    pseudo_count = matrix.sum() / (matrix > 0).sum()
    for k in range(2, 5):
        is_own = indicator[:, k]
        ratios = log_count_ratios(
            matrix[is_own].sum(axis=0), matrix[~is_own].sum(axis=0), pseudo_count=pseudo_count
        )
        weights, intercept = peer_weights(matrix * ratios, is_own, 1.0)
        np.testing.assert_allclose(
            scorer.weights()[k], ratios * weights, atol=3e-3 * np.abs(ratios * weights).max()
        )
        assert scorer.bias[k] == pytest.approx(intercept, abs=3e-3)


def switch_kernel(monkeypatch: pytest.MonkeyPatch, has_kernel: bool) -> None:
    """Let the linear models use the kernel, or not."""
    monkeypatch.setattr(one_vs_rest, "HAS_KERNEL", has_kernel and one_vs_rest.HAS_KERNEL)


def rows_of(matrix: Any) -> tuple[Any, Any, Any]:
    """A matrix as compressed sparse rows."""
    data = training_data(matrix, np.zeros(len(matrix)))
    return data.table.indptr, data.table.indices, data.table.counts


@BY_RECORD
@settings(max_examples=15)
@given(seed=st.integers(0, 1000), n_folds=st.integers(2, 4))
def test_folds_of_several_labels_are_scored_by_models_that_never_saw_them(
    record: Any, seed: int, n_folds: int
) -> None:
    """The scores of a fold are those of a model of the other documents alone, even if these lack a
    label.
    """
    matrix, indicator = made(24, 4, seed)
    matrix[:, 0] += 0.1  # so that each fold has a feature
    folds = (np.random.default_rng(seed).permutation(24) % (n_folds + 1) - 1).astype(np.int32)
    data = of_sets(matrix, indicator)
    problem = record.problem(data, LinearSettings(), jobs=2)
    scores = score_folds(problem, folds, SHARP, problem.solve(SolverSettings(10.0)))
    assert not scores[folds == NEVER_HELD_OUT].any()
    for fold in range(n_folds):
        others = folds != fold
        own = folds == fold
        alone = record.problem(of_sets(matrix[others], indicator[others]), LinearSettings())
        expected = alone.scorer(alone.solve(SHARP)).scores(*rows_of(matrix[own]))
        np.testing.assert_allclose(
            scores[own], expected, atol=0.01 * max(1.0, np.abs(expected).max())
        )


@BY_RECORD
def test_threads_change_nothing_with_several_labels(record: Any) -> None:
    """One, two and five threads give the same bytes."""
    data = of_sets(*made(80, 9, 5))
    folds = (np.arange(80) % 4).astype(np.int32)
    found = []
    for jobs in (1, 2, 5):
        problem = record.problem(data, LinearSettings(), jobs=jobs)
        solution = problem.solve(SolverSettings(1.0))
        scores = score_folds(problem, folds, SolverSettings(1.0, 1e-3, 30, is_rough=True), solution)
        scorer = problem.scorer(solution)
        found.append((scorer.bias.tobytes(), scorer.deltas.tobytes(), scores.tobytes()))
    assert found[0] == found[1] == found[2]


@BY_RECORD
def test_a_single_document_of_several_labels(record: Any) -> None:
    """Its features occur in no other document; the intercept's occurs in no other either."""
    problem = record.problem(
        of_sets([[1.0, 2.0, 0.0]], np.array([[True, False]])), LinearSettings()
    )
    scorer = problem.scorer(problem.solve(SolverSettings(1.0)))
    first, second = scorer.scores(*rows_of(np.array([[1.0, 2.0, 0.0]])))[0]
    assert first > 0 > second


@pytest.mark.parametrize("has_kernel", [True, False])
@BY_RECORD
def test_rough_solutions_have_no_weights(
    record: Any, has_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody uses them: a scorer of such a solution is an error, and it is a start for another."""
    switch_kernel(monkeypatch, has_kernel)
    random = np.random.default_rng(2)
    data = training_data(random.poisson(0.4, (60, 12)).astype(float), np.arange(60) % 3)
    binary = record.problem(data, LinearSettings())
    rough = binary.solve(SolverSettings(1.0, 1e-3, 30, is_rough=True))
    with pytest.raises(ValueError, match="rough solution has no weights"):
        binary.scorer(rough)
    solution = binary.solve(SolverSettings(3.0), rough)
    assert set(binary.scorer(solution).classes.tolist()) == set(range(data.n_classes))
