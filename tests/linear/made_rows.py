"""Training data made for tests, and the objectives of the solvers, written out."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.bayes.decision_offsets import Goals
from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings, ModelSettings
from nbtext.bayes.smoothing import Selection
from nbtext.features.document_table import DocumentTable
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.linear import learning
from nbtext.linear.data import SolverSettings, TrainingData

Floats = NDArray[np.float64]


def log_count_ratios(own: Floats, rest: Floats, *, pseudo_count: float) -> Floats:
    """The evidence of each feature for a class, of the sums of its values in it and in the others;
    0 of a feature that does not occur.
    """
    ratios = np.zeros(len(own))
    is_seen = own + rest > 0
    p = own[is_seen] + pseudo_count
    q = rest[is_seen] + pseudo_count
    ratios[is_seen] = np.log(p / q) + np.log(q.sum() / p.sum()) if is_seen.any() else 0
    return ratios


def training_data(matrix: Any, classes: Any, n_classes: int | None = None) -> TrainingData:
    """Training data of a dense or sparse matrix."""
    from scipy.sparse import csr_array

    rows = csr_array(matrix)
    rows.sort_indices()
    labels = np.asarray(classes, dtype=np.int32)
    documents = DocumentTable(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        rows.data.astype(np.float64),
        labels,
        np.arange(len(labels), dtype=np.uint64),
    )
    return TrainingData(documents, rows.shape[1], n_classes or int(labels.max()) + 1)


@st.composite
def training_sets(draw: st.DrawFn, *, n_classes: int | None = None) -> TrainingData:
    """A few documents of a few classes, each of which has two of them at least."""
    k = n_classes or draw(st.integers(2, 4))
    n_documents = draw(st.integers(2 * k, 25))
    n_features = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = random.poisson(0.6, size=(n_documents, n_features)) * random.uniform(
        0.2, 2, size=(n_documents, n_features)
    )
    matrix[0, 0] = 1.0
    return training_data(matrix, np.arange(n_documents) % k, k)


def fit(
    model: str,
    data: TrainingData,
    solver: SolverSettings,
    *,
    start: Any = None,
    jobs: int = 1,
    **settings: Any,
) -> tuple[LinearScorer, Any]:
    """The scorer and the solution of a model for all documents."""
    problem = LINEAR_MODELS[model].problem(data, LinearSettings(**settings), jobs=jobs)
    solution = problem.solve(solver, start)
    return problem.scorer(solution), solution


def fit_softmax(
    data: TrainingData, solver: SolverSettings, start: Any = None
) -> tuple[Floats, Floats, Any]:
    """The weights (n_features, n_classes), the intercepts and the solution of softmax regression;
    all sums are 0.

    Of two classes, one vector has twice the square of two halves.
    """
    solver = solver._replace(C=solver.C * (2 if data.n_classes == 2 else 1))
    scorer, solution = fit("logistic", data, solver, start=start)
    weights = scorer.weights().T
    intercepts = scorer.bias
    return weights - weights.mean(axis=1, keepdims=True), intercepts - intercepts.mean(), solution


def score_folds(problem: Any, folds: Any, solver: SolverSettings, start: Any) -> Floats:
    """The scores of all documents by models of the other folds; 0 of those that are never held
    out.
    """
    scores = np.zeros((len(folds), problem._data.n_classes))
    scores[folds != NEVER_HELD_OUT] = problem.score_folds(folds, solver, start)
    return scores


def scores_of(scorer: Any, data: TrainingData) -> Floats:
    """Scores of the training documents."""
    return np.asarray(scorer.scores(data.table.indptr, data.table.indices, data.table.counts))


def binary_objective(
    matrix: Any, signs: Floats, w: Floats, *, C: float, is_logistic: bool
) -> float:
    """½|w|² + C Σ loss"""
    margins = signs * (matrix @ w)
    losses = np.logaddexp(0, -margins) if is_logistic else np.maximum(0, 1 - margins) ** 2
    return float(w @ w / 2 + C * losses.sum())


def softmax_objective(matrix: Any, classes: Any, w: Floats, b: Floats, *, C: float) -> float:
    """½ Σ w² + C Σ log-loss; w is (n_features, n_classes)"""
    scores = matrix @ w + b
    shifted = scores - scores.max(axis=1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(shifted)), classes]
    return float((w * w).sum() / 2 + C * losses.sum())


def texts_of(folder: Path, groups: list[str] | None = None) -> tuple[list[str], list[str]]:
    """The texts of a directory tree, decoded as Latin-1, and their labels."""
    texts = []
    labels = []
    for group in sorted(groups or [path.name for path in folder.iterdir()]):
        for path in sorted((folder / group).iterdir()):
            texts.append(path.read_bytes().decode("latin-1"))
            labels.append(group)
    return texts, labels


class Learned(NamedTuple):
    """A linear model, and its hyperparameters, calibration and estimate."""

    scorer: LinearScorer
    selection: Selection


def learn(
    data: TrainingData, lengths: NDArray[np.float64], settings: ModelSettings, *, jobs: int = 1
) -> Learned:
    """Fit with the goals of the settings."""
    goals = Goals(settings.optimize)
    return Learned(*learning.learn(data, lengths, settings, goals=goals, jobs=jobs))
