"""Logistic regression, of several classes: softmax regression with L2 regularization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.linear.solver import Solution, SolverSettings, TrainingData, solve_softmax


def fit_logistic(
    data: TrainingData,
    rows: NDArray[np.int64],
    solver: SolverSettings,
    *,
    settings: LinearSettings,
    start: Sequence[Solution] | None = None,
    jobs: int = 1,
) -> tuple[LinearScorer, list[Solution]]:
    """Minimize ½ Σ w² - C Σ log P(label | document) over the documents in `rows`; intercepts are not regularized.

    For two classes the objective is ½ |w|² - C Σ log P with one weight vector w, as in scikit-learn.

    Parameters
    ----------
    settings, jobs : not used; all classes are fitted together, in one thread
    start : the solution of a similar problem, in a list

    Returns
    -------
    A scorer of log P(label | document) up to a constant for each document, and the solution in a list. Of two labels
    the first has score 0.

    References
    ----------
    Objective: scikit-learn 1.9, LogisticRegression. Method: Yu, Huang, Lin 2011, section 4.
    """
    if data.n_classes == 2:  # two vectors ±w/2 have half of the square of one vector w
        solver = solver._replace(C=solver.C / 2)
    solution = solve_softmax(data, rows, solver, start[0] if start else None)
    weights, intercepts = solution.weights, solution.intercepts
    if data.n_classes == 2:
        weights, intercepts = weights - weights[:, :1], intercepts - intercepts[0]
    else:
        intercepts = intercepts - intercepts.mean()
    features, classes = weights.nonzero()
    indptr = np.searchsorted(features, np.arange(len(weights) + 1)).astype(np.int64)
    no_default = np.zeros(data.n_classes)
    scorer = LinearScorer(intercepts, no_default, indptr, classes.astype(np.int32), weights[features, classes])
    return scorer, [solution]
