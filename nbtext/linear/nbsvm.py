"""NB-SVM: each class against the rest, over features that are scaled by their log-count ratios.

With the log-count ratios r of a class, w minimizes ½ |w|² + C Σ loss(± w·(x ∘ r)). The weights of the class are
r ∘ ((1 - β) mean|w| + β w), β the interpolation. The model has no intercept: scaling by r makes it unnecessary,
and with interpolation it lowers accuracy. Of two classes, one is fitted against the other.

Wang, Manning, Baselines and Bigrams: Simple, Good Sentiment and Topic Classification, 2012; with the logistic loss:
Mesnil, Mikolov, Ranzato, Bengio, Ensemble of Generative and Discriminative Techniques for Sentiment Analysis of Movie
Reviews, 2015.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.kernel import HAS_KERNEL
from nbtext.features.weighting import row_sums
from nbtext.linear.data import NO_FOLD, CompactMatrix, Floats, TrainingData, check_finite
from nbtext.linear.lbfgs import SolverSettings, minimize_binary
from nbtext.linear.logistic import continuation
from nbtext.parallel import parallel_map

START_DUAL = 1e-8  # of the logistic loss, as in LIBLINEAR: its dual variables are inside of (0, 1)
FAR_MARGIN = 1.5  # a document beyond it rarely gets a dual variable when others are left out
NO_SCORES = np.zeros(0)


class ClassSolution(NamedTuple):
    """The solution of a class against the rest.

    documents     (n_close,) int32, those with a dual variable, or with a margin up to FAR_MARGIN
    dual          (n_close,), the dual variables divided by C
    weights       (n_shared,), from L-BFGS; None: they follow from the dual variables
    is_converged  whether the tolerance is met
    """

    documents: NDArray[np.int32]
    dual: Floats
    weights: Floats | None
    is_converged: bool


class Solution(NamedTuple):
    """The solutions of all classes, by number, for all documents, or where the solver stopped."""

    C: float
    classes: dict[int, ClassSolution]
    is_converged: bool


class Fold(NamedTuple):
    """The documents that are not in a fold, and the sums over them from which log-count ratios are computed.

    Ratio smoothing counts occurrences, of which one has the mean weight of an entry: 1 for binary counts, about 0.05
    for TF-IDF vectors of length 1. In this unit, 1 to 2 is best for both (20 Newsgroups, IMDB, polarity 2.0).
    All sums are of magnitudes times the class weight of the document.

    is_fitted     (n_documents,), whether each document is not in the fold
    totals        (n_shared,), sum of each feature's values
    absent        (n_shared,), log-count ratio, without offset, of a feature that no document of the class holds
    own           (n_classes,), sum of all values in the documents of a class
    n_features    number of features that the documents hold
    pseudo_count  additive smoothing
    single        (3, n_documents), Σ x² l^m for m = 0, 1, 2 over the single features of a document, l their log-shares:
                  log-count ratios in the class of that document, without offset
    """

    is_fitted: NDArray[np.bool_]
    totals: Floats
    absent: Floats
    own: Floats
    n_features: int
    pseudo_count: float
    single: Floats

    def offset(self, own_class: int) -> float:
        """Return log(|q| / |p|) of a class, for p and q of `log_count_ratios`."""
        if self.n_features == 0:
            return 0.0
        own, smoothing = self.own[own_class], self.pseudo_count * self.n_features
        return float(np.log((self.own.sum() - own + smoothing) / (own + smoothing)))


def log_count_ratios(own: Floats, rest: Floats, *, pseudo_count: float) -> Floats:
    """Return the log-count ratio of each feature: its evidence for a class and against the rest.

    r = log((p / |p|) / (q / |q|)) with p = own + pseudo_count, q = rest + pseudo_count, and |·| the sum over the
    features that occur. A feature that occurs in no document has ratio 0, and changes no other ratio.

    Parameters
    ----------
    own, rest : (n_features,), sums of each feature's weights over the documents of the class, and over the others
    pseudo_count : additive smoothing, >= 0; 0 only where all sums are 0

    Returns
    -------
    (n_features,), natural logarithms

    References
    ----------
    Wang, Manning 2012, section 2.
    """
    ratios, is_seen = np.zeros(len(own)), own + rest > 0
    p, q = own[is_seen] + pseudo_count, rest[is_seen] + pseudo_count
    ratios[is_seen] = np.log(p / q) + np.log(q.sum() / p.sum()) if is_seen.any() else 0
    return ratios


class NbSvm:
    """NB-SVM over given training data."""

    def __init__(self, data: TrainingData, settings: LinearSettings, *, jobs: int = 1) -> None:
        self._data, self._settings, self._jobs = data, settings, jobs
        self._is_logistic = settings.loss == "logistic"
        self._classes = range(data.n_classes) if data.n_classes > 2 else range(1, data.n_classes)
        # of magnitudes: a weighting may have negative weights, and a ratio of sums needs positive ones
        self._row_sums = row_sums(data.indptr, np.abs(data.values)) * data.document_weights

    @cached_property
    def _compact(self) -> CompactMatrix:
        return CompactMatrix.of(self._data, is_splitting=HAS_KERNEL and self._settings.interpolation == 1)

    @cached_property
    def _matrix(self) -> Any:
        """The compact matrix as the compiled functions take it."""
        from nbtext.linear._solvers import CheckedMatrix

        compact = self._compact
        return CheckedMatrix(compact.indptr, compact.features, compact.values, len(compact.columns))

    @cached_property
    def _documents(self) -> list[NDArray[np.int32]]:
        """The documents of each class."""
        order = np.argsort(self._data.classes, kind="stable").astype(np.int32)
        return np.split(order, np.searchsorted(self._data.classes[order], np.arange(1, self._data.n_classes)))

    @cached_property
    def _all(self) -> Fold:
        """All documents."""
        return self._leave_out(np.full(len(self._data), NEVER_HELD_OUT, dtype=np.int32))[NEVER_HELD_OUT]

    def solve(self, solver: SolverSettings, start: Solution | None = None) -> Solution:
        """Return the solution for all documents. It does not depend on the number of threads.

        start  the solution for another C

        raises  ModelError: the values are too large to compute with
        """
        fold = self._all  # made once, before threads share it

        def solve_class(own_class: int) -> ClassSolution:
            return self._solve(own_class, fold, solver, start)

        solved = list(parallel_map(solve_class, self._classes, jobs=self._jobs))
        is_converged = all(each.is_converged for each in solved)
        return Solution(solver.C, dict(zip(self._classes, solved, strict=True)), is_converged)

    def score_folds(self, folds: NDArray[np.int32], solver: SolverSettings, start: Solution) -> Floats:
        """Return scores (n_documents, n_classes) of documents by models of the other folds; 0 of those never held out.

        The documents that a model scores affect neither its ratios nor its weights. The dual variables
        of the other documents start from those of `start`, which saves passes.
        """
        data, scores, left_out = self._data, np.zeros((len(self._data), self._data.n_classes)), self._leave_out(folds)

        def score_class(task: tuple[int, int]) -> None:
            fold, own_class = left_out[task[0]], task[1]
            is_held_out, own = ~fold.is_fitted, np.zeros(len(data))
            solution = self._solve(own_class, fold, solver, start, scores=own)
            if solution.weights is not None or self._settings.interpolation != 1:
                own = data.matrix @ self._weigh(own_class, fold, solution, solver.C)
            scores[is_held_out, own_class] = own[is_held_out]

        tasks = [(fold, own_class) for fold in left_out if fold != NEVER_HELD_OUT for own_class in self._classes]
        for _ in parallel_map(score_class, tasks, jobs=self._jobs):
            pass
        return scores

    def scorer(self, solution: Solution) -> LinearScorer:
        """Return a scorer of a solution. Of two labels the first has score 0."""
        data, fold = self._data, self._all

        def weigh(own_class: int) -> tuple[NDArray[np.int64], Floats]:
            weights = self._weigh(own_class, fold, solution.classes[own_class], solution.C)
            check_finite(weights)
            columns = np.flatnonzero(weights)
            return columns, weights[columns]

        entries = list(parallel_map(weigh, self._classes, jobs=self._jobs))
        widths = np.zeros(data.n_features, dtype=np.int64)
        for columns, _ in entries:
            widths[columns] += 1
        indptr = running_sums(widths)
        places, classes, deltas = indptr[:-1].copy(), np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        for own_class, (columns, values) in zip(self._classes, entries, strict=True):  # they ascend for each feature
            own = places[columns]
            classes[own], deltas[own] = own_class, values
            places[columns] += 1
        return LinearScorer(np.zeros(data.n_classes), np.zeros(data.n_classes), indptr, classes, deltas)

    def _leave_out(self, folds: NDArray[np.int32]) -> dict[int, Fold]:
        """Return, by fold, the documents outside of it; if no document is held out, all by NEVER_HELD_OUT."""
        data, compact, weights = self._data, self._compact, self._data.document_weights
        numbers, places = np.unique(folds, return_inverse=True)
        by_fold = np.zeros((len(numbers), len(compact.columns)))
        if HAS_KERNEL:
            from nbtext.linear._solvers import add_by_fold

            add_by_fold(self._matrix, weights, places.astype(np.int32), by_fold)
        magnitudes = np.abs(compact.single_values) * weights[compact.single_rows]
        lengths, squares = np.diff(data.indptr), compact.single_values**2

        def leave_out(number: int) -> Fold:
            is_fitted = folds != number
            totals = by_fold[numbers != number].sum(axis=0)
            own = np.bincount(data.classes[is_fitted], self._row_sums[is_fitted], data.n_classes).astype(np.float64)
            n_entries = float(lengths[is_fitted] @ weights[is_fitted])
            pseudo_count = self._settings.ratio_smoothing * float(own.sum()) / (n_entries or 1.0)
            is_seen = totals > 0
            is_single = is_fitted[compact.single_rows] & (compact.single_values != 0)
            absent = np.log(np.divide(pseudo_count, totals + pseudo_count, out=np.ones(len(totals)), where=is_seen))
            n_features = int(is_seen.sum() + is_single.sum())
            shares = np.log1p(magnitudes / pseudo_count) if pseudo_count > 0 else np.zeros(len(magnitudes))
            terms = (squares, squares * shares, squares * shares**2)
            single = [np.bincount(compact.single_rows, term, minlength=len(data)) for term in terms]
            return Fold(is_fitted, totals, absent, own, n_features, pseudo_count, np.array(single))

        held_out = [number for number in numbers.tolist() if number != NEVER_HELD_OUT]
        return {number: leave_out(number) for number in held_out} if held_out else {NEVER_HELD_OUT: leave_out(NO_FOLD)}

    def _solve(
        self, own_class: int, fold: Fold, solver: SolverSettings, start: Solution | None, scores: Floats = NO_SCORES
    ) -> ClassSolution:
        """Solve a class against the rest, for the documents outside of a fold.

        scores  (n_documents,) or empty, set to the scores of the documents in the fold if L-BFGS is not needed
        """
        data, begin = self._data, np.zeros(self._data.n_features)
        if HAS_KERNEL:
            before = None if start is None else start.classes[own_class]
            found = self._descend(own_class, fold, solver, before, scores)
            if found.is_converged or solver.is_rough:
                return found
            begin = self._weigh(own_class, fold, found, solver.C, is_mixed=False)
        weights, dual, is_converged = minimize_binary(
            data, self._strengths(own_class, fold), self._all_ratios(own_class, fold) ** 2, solver, begin,
            is_logistic=self._is_logistic,
        )  # fmt: skip
        documents = np.flatnonzero(dual).astype(np.int32)
        return ClassSolution(documents, dual[documents], weights, is_converged)

    def _strengths(self, own_class: int, fold: Fold) -> Floats:
        """Return the weight of each document, > 0 in the class and < 0 outside of it; 0 in the fold."""
        data = self._data
        return np.where(data.classes == own_class, 1.0, -1.0) * data.document_weights * fold.is_fitted

    def _descend(
        self, own_class: int, fold: Fold, solver: SolverSettings, start: ClassSolution | None, scores: Floats
    ) -> ClassSolution:
        """Solve a class against the rest by dual coordinate descent."""
        from nbtext.linear._solvers import fit_binary

        data, offset, single = self._data, fold.offset(own_class), fold.single
        signs = np.where(data.classes == own_class, 1.0, -1.0)
        # Σ x² r² with r = ±l + offset, l the log-share
        diagonal = np.maximum(0, single[2] + 2 * offset * signs * single[1] + offset**2 * single[0]).astype(np.float32)
        with np.errstate(over="ignore"):
            scales = np.square(self._ratios(own_class, fold)).astype(np.float32)
        if start is not None:
            dual, margins = np.zeros(len(data)), np.full(len(data), np.inf, dtype=np.float32)
            dual[start.documents], margins[start.documents] = start.dual, 0
            stages = [solver]
        else:
            dual, margins = np.full(len(data), START_DUAL * self._is_logistic), np.zeros(len(data), dtype=np.float32)
            mean_square = float(scales @ self._compact.squares + diagonal.sum()) / len(data)
            check_finite(mean_square)
            stages = list(continuation(solver, mean_square * float(data.document_weights.max())))
        strengths, gap = self._strengths(own_class, fold), np.inf
        for stage in stages:
            is_last = stage is stages[-1]
            gap, _ = fit_binary(
                self._matrix, stage.C * strengths, scales, diagonal, dual, margins, scores if is_last else NO_SCORES,
                is_logistic=self._is_logistic, tolerance=stage.tolerance, max_iter=solver.max_iter, seed=solver.seed,
                is_rough=not is_last or (solver.is_rough and len(scores) > 0),
            )  # fmt: skip
            if np.isnan(gap):
                check_finite(gap)
        documents = np.flatnonzero((dual != 0) | (margins <= FAR_MARGIN)).astype(np.int32)
        return ClassSolution(documents, dual[documents], None, bool(gap <= solver.tolerance))

    def _ratios(self, own_class: int, fold: Fold) -> Floats:
        """Return the log-count ratios (n_shared,) of the shared features."""
        from nbtext.linear._solvers import log_count_ratios as ratios_of_rows

        documents, weights = self._documents[own_class], self._data.class_weights
        return ratios_of_rows(
            self._matrix, documents[fold.is_fitted[documents]], fold.totals, fold.absent,
            factor=1.0 if weights is None else float(weights[own_class]), pseudo_count=fold.pseudo_count,
            offset=fold.offset(own_class),
        )  # fmt: skip

    def _all_ratios(self, own_class: int, fold: Fold) -> Floats:
        """Return the log-count ratios (n_features,) of all features."""
        data = self._data
        is_own, lengths, magnitudes = data.classes == own_class, np.diff(data.indptr), np.abs(data.values)
        own, rest = (
            np.bincount(data.indices, magnitudes * np.repeat(factors, lengths), data.n_features).astype(np.float64)
            for factors in (data.document_weights * (fold.is_fitted & each) for each in (is_own, ~is_own))
        )
        return log_count_ratios(own, rest, pseudo_count=fold.pseudo_count)

    def _weigh(self, own_class: int, fold: Fold, solution: ClassSolution, C: float, *, is_mixed: bool = True) -> Floats:
        """Return the weights (n_features,) of a class.

        is_mixed  whether to interpolate with the ratios, if the settings say so
        """
        compact, data, beta = self._compact, self._data, self._settings.interpolation
        weights, documents = np.zeros(data.n_features), solution.documents
        if solution.weights is not None:
            weights[:] = solution.weights
        else:
            from nbtext.linear._solvers import add_rows

            signs = np.where(data.classes == own_class, 1.0, -1.0)
            factors, sums = (
                C * solution.dual * (signs * data.document_weights)[documents],
                np.zeros(len(compact.columns)),
            )
            add_rows(self._matrix, documents, factors, sums)
            weights[compact.columns] = np.square(self._ratios(own_class, fold)) * sums
            by_row = np.zeros(len(data))
            by_row[documents] = factors
            single = np.flatnonzero(by_row[compact.single_rows])
            rows, values = compact.single_rows[single], compact.single_values[single]
            magnitudes = np.abs(values) * data.document_weights[rows]
            shares = np.log1p(magnitudes / fold.pseudo_count) if fold.pseudo_count > 0 else np.zeros(len(rows))
            ratios = signs[rows] * shares + fold.offset(own_class)
            weights[compact.single_columns[single]] = by_row[rows] * ratios**2 * values
        if beta == 1 or not is_mixed:
            return weights
        ratios = self._all_ratios(own_class, fold)
        mean = np.abs(np.divide(weights, ratios, out=np.zeros_like(weights), where=ratios != 0)).mean()
        return np.asarray((1 - beta) * mean * ratios + beta * weights)
