"""The regression on mean word vectors beside scikit-learn's and refits, its weights of words beside
its scores, and the weights of a stack of which it is a part.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_rows import Floats, training_data
from sklearn.linear_model import LogisticRegression

from nbtext.bayes.settings import VECTORS, LinearSettings
from nbtext.linear.data import SolverSettings, TrainingData, WordVectors, make_rough
from nbtext.linear.stacking import Stack
from nbtext.linear.vectors import WEIGHT_OF_EMPTY, Regression, VectorRegression

N_FEATURES = 9
COLUMNS = np.array([0, 2, 3, 4, 6, 8], dtype=np.int32)  # the features that are words
N_FURTHER = 3
N_DIMENSIONS = 4
SOLVER = SolverSettings(1.0, tolerance=1e-7)
FOLDS = np.array([0, 1, -1, 2] * 15, dtype=np.int32)


def made(
    n_labels: int, *, weights: Sequence[float] | None = None, seed: int = 1
) -> tuple[Floats, TrainingData]:
    """Documents whose words depend on the label, as a matrix and with vectors, of which the fourth
    one and the last one are 0.
    """
    random = np.random.default_rng(seed)
    classes = np.minimum(np.arange(len(FOLDS)) % (n_labels + 1), n_labels - 1)
    rates = random.gamma(1, size=(n_labels, N_FEATURES))
    matrix = random.poisson(rates[classes]) * random.uniform(0.5, 2, size=N_FEATURES)
    matrix[:, 0] += 1  # so that each document has a vector
    rows = random.normal(0.5, size=(len(COLUMNS) + N_FURTHER, N_DIMENSIONS)).astype(np.float32)
    rows[[3, -1]] = 0
    vectors = of_rows(COLUMNS, rows, np.arange(N_FEATURES + N_FURTHER, dtype=np.int32))
    return matrix, replace(
        training_data(matrix, classes),
        vectors=vectors,
        class_weights=None if weights is None else np.array(weights),
    )


def of_rows(columns: Any, rows: Any, places: Any) -> WordVectors:
    return WordVectors(columns, rows, np.linalg.norm(rows, axis=1), places)


def vectors_of(data: TrainingData) -> WordVectors:
    assert data.vectors is not None
    return data.vectors


def regression_of(data: TrainingData) -> VectorRegression:
    return VectorRegression(data, vectors_of(data))


def weights_of(regression: VectorRegression, found: Regression) -> Floats:
    """(n_words + n_further, n_labels)"""
    n_labels = found.table.shape[1]
    return np.array([regression.weigh(found, label) for label in range(n_labels)]).T


def biases_of(regression: VectorRegression, found: Regression) -> Floats:
    """(n_labels,)"""
    return np.array([regression.bias(found, label) for label in range(found.table.shape[1])])


def mean_vectors(words: Any, rows: Any) -> tuple[Floats, Floats]:
    """The means of documents, of length 1, (n, n_dimensions), and the sums of the lengths of their
    words, (n, 1).
    """
    means = words @ rows
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    return means, words @ np.linalg.norm(rows, axis=1)[:, None]


def centered(scores: Floats) -> Floats:
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


@pytest.mark.parametrize("weights", [None, (3.0, 0.5, 1.0, 2.0)])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_log_odds_are_those_of_scikit_learn(n_labels: int, weights: Sequence[float] | None) -> None:
    """The sums of the weights of words, and the bias, are the log-odds times the length of the
    document, that of the intercept as the line of all documents says.
    """
    own = None if weights is None else weights[:n_labels]
    matrix, data = made(n_labels, weights=own)
    matrix = matrix[:, COLUMNS]
    regression = regression_of(data)
    rows = vectors_of(data).rows[: len(COLUMNS)]
    means, sums = mean_vectors(matrix, rows)
    mean = means.mean(axis=0)
    means -= mean
    scale = 1 / np.sqrt((means**2).sum(axis=1).mean())
    # with two labels, it has one vector, the difference of two, with half of the sum of squares
    expected = LogisticRegression(C=20 if n_labels == 2 else 10, tol=1e-8, max_iter=5000)
    expected.fit(means * scale, data.table.classes, data.document_weights)
    slopes = scale * expected.coef_.T
    intercepts = expected.intercept_ - mean @ slopes
    lengths = np.linalg.norm(matrix @ rows, axis=1)
    n = len(lengths)  # beside as many texts without words, of less weight
    given = np.append(sums[:, 0], np.zeros(n)), np.append(lengths, np.zeros(n))
    slope, start = np.polyfit(*given, 1, w=np.sqrt(np.repeat((1, WEIGHT_OF_EMPTY), n)))
    if start < 0:
        slope, start = lengths.sum() / sums.sum(), 0
    scores = matrix @ rows @ slopes + (start + slope * sums) * intercepts
    if n_labels == 2:
        scores = scores * (-0.5, 0.5)
    solved = regression.solve(SOLVER)
    weighed = matrix @ weights_of(regression, solved)[: len(COLUMNS)]
    found = centered(weighed + biases_of(regression, solved)) * lengths.mean()
    np.testing.assert_allclose(found, scores, atol=4e-3 * np.abs(scores).max())


def test_documents_of_other_words_have_the_scores_of_the_regression() -> None:
    _, data = made(3)
    regression = regression_of(data)
    found = regression.solve(SOLVER)
    rows = vectors_of(data).rows
    words = np.zeros((2, len(rows)))
    words[0, -2] = 3  # no training document has it
    words[1, [0, 1, -3]] = 1, 2, 0.5
    means, sums = mean_vectors(words, rows)
    lengths = np.linalg.norm(words @ rows, axis=1)[:, None]
    slopes = found.scale * found.table[:-1]
    intercepts = found.line[1] * (found.table[-1] - found.mean @ slopes)
    scores = (lengths * means @ slopes + sums * intercepts) / found.length
    weights = weights_of(regression, found)
    np.testing.assert_allclose(words @ weights, scores, rtol=1e-4, atol=1e-4)
    assert not weights[[3, -1]].any()  # without a vector


def test_scores_of_folds_are_those_of_refits() -> None:
    """Documents that are never held out are in each of them."""
    matrix, data = made(3, weights=(2.0, 1.0, 0.5))
    regression = regression_of(data)
    start = regression.solve(make_rough(SOLVER))
    found = np.full((len(data), 3), np.nan)
    found[FOLDS != -1] = regression.score_folds(FOLDS, SOLVER, start)
    for fold in range(3):
        kept = np.not_equal(FOLDS, fold)
        rest = training_data(matrix[kept], data.table.classes[kept])
        rest = replace(rest, vectors=data.vectors, class_weights=data.class_weights)
        own = regression_of(rest)
        solved = own.solve(make_rough(SOLVER), start)
        weights = weights_of(own, solved)[: len(COLUMNS)]
        expected = matrix[~kept][:, COLUMNS] @ weights + biases_of(own, solved)
        np.testing.assert_allclose(found[~kept], expected, rtol=1e-3, atol=1e-3)


def test_documents_without_a_vector_say_nothing() -> None:
    """Some of the documents, and all of them."""
    matrix, data = made(2)
    for start in (len(data) // 2, 0):
        matrix[start:, COLUMNS] = 0
        own = replace(training_data(matrix, data.table.classes), vectors=data.vectors)
        regression = regression_of(own)
        found = regression.solve(SOLVER)
        assert np.isfinite(weights_of(regression, found)).all()
        scores = regression.score_folds(FOLDS, SOLVER, found)
        assert not scores[np.flatnonzero(FOLDS != -1) >= start].any()
        assert np.isfinite(scores).all()


def test_only_the_first_documents_of_many_are_fitted() -> None:
    n_fitted = 32_768
    matrix = np.ones((n_fitted + 10, 1))
    matrix[n_fitted - 1] = 1000
    matrix[n_fitted:] = 1e6
    data = training_data(matrix, np.arange(len(matrix)) % 2)
    rows = np.ones((1, 1), dtype=np.float32)
    column = np.zeros(1, dtype=np.int32)
    found = VectorRegression(data, of_rows(column, rows, column)).solve(SOLVER)
    assert found.length == pytest.approx(1 + 999 / n_fitted, rel=1e-5)


@pytest.mark.parametrize(
    ("views", "places", "bounds"),
    [
        ((), [0, 1, 3, 4, 5, 6, 7, 9, 11, 10, 2, 8], None),
        (("a", "b"), [0, 1, 3, 4, 6, 7, 8, 9, 11, 10, 2, 5], (0, 6, 12)),
    ],
)
def test_a_stack_adds_the_weights_of_the_regression(
    views: tuple[str, ...], places: list[int], bounds: tuple[int, ...] | None
) -> None:
    """A word that no document has, whether it is a feature or a further one, has no weight of the
    other parts: they are as without this feature and without vectors.
    """
    matrix, data = made(3)
    matrix[:, 2] = 0
    vectors = replace(vectors_of(data), places=np.array(places, dtype=np.int32), bounds=bounds)
    kept = np.delete(np.arange(N_FEATURES), 2)
    whole, rest = (training_data(each, data.table.classes) for each in (matrix, matrix[:, kept]))
    if views:
        whole = replace(whole, views=views, bounds=(0, 4, 9))
        rest = replace(rest, views=views, bounds=(0, 3, 8))
    data = replace(whole, vectors=vectors)
    stack, others = (Stack(each, LinearSettings()) for each in (data, rest))
    n_parts = len(others.parts)
    assert [part.model for part in stack.parts] == [
        VECTORS
    ]  # until folds tell what a part is worth
    stack.weigh([1 / (n_parts + 1)] * (n_parts + 1))
    of_others, found = (each.scorer(each.solve(SOLVER)).weights().T for each in (others, stack))
    expected = np.zeros((N_FEATURES + N_FURTHER, 3))
    expected[kept] = of_others * n_parts
    regression = regression_of(data)
    words = [*COLUMNS, *range(N_FEATURES, N_FEATURES + N_FURTHER)]
    expected[words] += weights_of(regression, regression.solve(SOLVER))
    np.testing.assert_allclose(found[places], expected / (n_parts + 1), atol=1e-4)


@pytest.mark.parametrize(
    ("seed", "n_labels", "model", "smoothing"),
    [
        (3, 3, "complement", 0.1),
        (7, 3, "complement", 0.3),
        (1, 3, "complement", 1.0),
        (7, 2, "dirichlet", 1.0),
        (90, 2, "dirichlet", 3.0),
        (70, 2, "dirichlet", 10.0),
    ],
)
def test_naive_bayes_beside_vectors_has_more_smoothing(
    seed: int, n_labels: int, model: str, smoothing: float
) -> None:
    """Each candidate is the most accurate one of some few documents; the last part is the
    regression.
    """
    random = np.random.default_rng(seed)
    classes = np.minimum(np.arange(24) % (n_labels + 2), n_labels - 1)
    rates = random.gamma(0.3, 0.3, size=(n_labels, 30))
    matrix = random.poisson(rates[classes] * random.gamma(1, size=(24, 1)))
    matrix[:, 0] += 1
    columns = np.arange(30, dtype=np.int32)
    rows = random.normal(size=(30, 3)).astype(np.float32)
    vectors = of_rows(columns, rows, columns)
    data = replace(training_data(matrix, classes), vectors=vectors)
    stack = Stack(data, LinearSettings())
    folds = np.arange(24, dtype=np.int32) % 3
    scores = stack.score_parts(folds, SOLVER)
    stack.weigh([1.0] * len(scores))
    assert (stack.parts[0].model, stack.parts[0].smoothing) == (model, smoothing)
    assert (stack.parts[-1].model, stack.parts[-1].C) == (VECTORS, 10)
    regression = VectorRegression(data, vectors)
    expected = regression.score_folds(folds, SOLVER, regression.solve(make_rough(SOLVER)))
    np.testing.assert_allclose(scores[-1], expected, rtol=1e-3, atol=1e-3)


NAMED = np.array([[1.0, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0]]) / np.sqrt(2)


def named(n_labels: int = 3, *, seed: int = 1) -> TrainingData:
    """Documents whose labels have names."""
    _, data = made(n_labels, seed=seed)
    return replace(data, vectors=replace(vectors_of(data), names=NAMED[:n_labels]))


def test_without_documents_that_count_the_slopes_are_those_of_the_names() -> None:
    data = replace(named(), class_weights=np.zeros(3))
    regression = regression_of(data)
    regression.weigh_names(np.full(len(data), -1, dtype=np.int32), SOLVER)
    found = regression.solve(SOLVER)
    np.testing.assert_array_equal(found.table[:-1], 6 * NAMED.T)
    assert not found.table[-1].any()


@pytest.mark.parametrize("has_folds", [True, False])
@pytest.mark.parametrize("is_right", [True, False])
def test_names_count_if_documents_agree(*, has_folds: bool, is_right: bool) -> None:
    """Of held-out documents; without folds, of all documents. Names of other labels say nothing."""
    n_labels = 8
    random = np.random.default_rng(4)
    classes = np.tile(np.arange(n_labels), 4)
    matrix = np.hstack((np.eye(n_labels)[classes], random.poisson(0.3, size=(len(classes), 20))))
    names = np.eye(n_labels, 16) - np.eye(n_labels, 16).mean(axis=0)
    names /= np.linalg.norm(names, axis=1, keepdims=True)
    noise = random.normal(scale=0.3, size=(20, 16))
    rows = np.vstack((np.eye(n_labels, 16), noise)).astype(np.float32)
    columns = np.arange(len(rows), dtype=np.int32)
    vectors = replace(of_rows(columns, rows, columns), names=names if is_right else names[::-1])
    regression = VectorRegression(training_data(matrix, classes), vectors)
    plain = regression.solve(SOLVER).table
    folds = np.repeat((0, 1, 2, 3), n_labels) if has_folds else np.full(len(classes), -1)
    regression.weigh_names(folds.astype(np.int32), SOLVER)
    found = regression.solve(SOLVER).table
    assert np.allclose(found, plain) != is_right
    if is_right:  # the slopes of the names are larger by about their weight
        assert ((found - plain)[:-1] * names.T).sum(axis=0).mean() > 2
