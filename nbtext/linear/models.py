"""The linear models: softmax regression, and NB-SVM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.linear.solver import Floats, Solution, SolverSettings, TrainingData, solve_binary, solve_softmax
from nbtext.parallel import parallel_map


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


def log_count_ratios(own: Floats, rest: Floats, *, pseudo_count: float) -> Floats:
    """How much each feature speaks for a class and against the rest.

    r = log((p / |p|) / (q / |q|)) with p = own + pseudo_count, q = rest + pseudo_count, and |·| the sum over features.
    A feature that occurs in no document has ratio 0.

    Parameters
    ----------
    own, rest : (n_features,), sums of each feature's weights over the documents of the class, and over the others
    pseudo_count : additive smoothing, >= 0; 0 only where all sums are 0

    Returns
    -------
    (n_features,), natural logarithms

    References
    ----------
    Wang, Manning, Baselines and Bigrams: Simple, Good Sentiment and Topic Classification, 2012, section 2.
    """
    ratios, is_seen = np.zeros(len(own)), own + rest > 0
    if is_seen.any():
        p, q = own + pseudo_count, rest + pseudo_count
        ratios[is_seen] = np.log(p[is_seen] / q[is_seen]) + np.log(q.sum() / p.sum())
    return ratios


def fit_nbsvm(
    data: TrainingData,
    rows: NDArray[np.int64],
    solver: SolverSettings,
    *,
    settings: LinearSettings,
    start: Sequence[Solution] | None = None,
    jobs: int = 1,
) -> tuple[LinearScorer, list[Solution]]:
    """Fit each class against the rest (of two classes, one against the other) to the documents in `rows`.

    With the log-count ratios r of the class, w minimizes ½ |w|² + C Σ loss(± w·(x ∘ r)). The weights of the class are
    r ∘ ((1 - β) mean|w| + β w), β the interpolation. There is no intercept: after scaling by r none is needed, and with
    interpolation it lowers accuracy.

    Parameters
    ----------
    start : the solutions of a similar problem
    jobs : threads; each fits one class at a time

    Returns
    -------
    A scorer, and the solution for each class. Of two labels the first has score 0.

    References
    ----------
    Wang, Manning 2012, section 2.3; with the logistic loss: Mesnil, Mikolov, Ranzato, Bengio, Ensemble of Generative
    and Discriminative Techniques for Sentiment Analysis of Movie Reviews, 2015.
    """
    classes = list(range(data.n_classes)) if data.n_classes > 2 else list(range(1, data.n_classes))
    is_fitted = np.zeros(len(data))
    is_fitted[rows] = 1.0
    # sums of magnitudes: a weighting may have negative weights, and a ratio of sums needs positive ones
    by_feature = (abs(data.matrix) if (data.values < 0).any() else data.matrix).T
    totals = np.maximum(by_feature @ is_fitted, 0)
    # Ratio smoothing counts occurrences, of which one has the mean weight of an entry: 1 for binary counts, about 0.05
    # for TF-IDF vectors of length 1. In this unit, 1 to 2 is best for both (20 Newsgroups, IMDB, polarity 2.0).
    n_entries = int(np.diff(data.indptr)[rows].sum())
    pseudo_count = settings.ratio_smoothing * float(totals.sum()) / max(1, n_entries)

    def fit_class(place: int) -> tuple[NDArray[np.int64], Floats, Solution]:
        is_own = data.classes == classes[place]
        own = by_feature @ (is_fitted * is_own)
        rest = np.maximum(totals - own, 0)  # rounding may make it negative
        ratios = log_count_ratios(own, rest, pseudo_count=pseudo_count)
        solution = solve_binary(
            data, rows, np.where(is_own, 1.0, -1.0), ratios**2, solver, is_logistic=settings.loss == "logistic",
            dual=start[place].dual if start else None,
        )  # fmt: skip
        weights = solution.weights  # r ∘ w
        if settings.interpolation != 1:
            sizes = np.abs(np.divide(weights, ratios, out=np.zeros_like(weights), where=ratios != 0))
            weights = (1 - settings.interpolation) * sizes.mean() * ratios + settings.interpolation * weights
        features = np.flatnonzero(weights)
        return features, weights[features], solution._replace(weights=np.zeros(0))

    fitted = list(parallel_map(fit_class, range(len(classes)), jobs=jobs))
    scorer = _join_classes([(features, weights) for features, weights, _ in fitted], classes, data)
    return scorer, [solution for _, _, solution in fitted]


def _join_classes(
    fitted: list[tuple[NDArray[np.int64], Floats]], classes: list[int], data: TrainingData
) -> LinearScorer:
    """One scorer of the features and weights of each class."""
    features = np.concatenate([np.zeros(0, dtype=np.int64), *(own for own, _ in fitted)])
    weights = np.concatenate([np.zeros(0), *(own for _, own in fitted)])
    entry_classes = np.repeat(np.array(classes, dtype=np.int32), [len(own) for own, _ in fitted])
    order = np.argsort(features, kind="stable")  # from class by class to feature by feature
    indptr = running_sums(np.bincount(features, minlength=data.n_features))
    nothing = np.zeros(data.n_classes)
    return LinearScorer(nothing, nothing, indptr, entry_classes[order], weights[order])
