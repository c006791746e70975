"""Each class against the rest: the problems that NB-SVM and the linear SVM share.

The weights w of a class minimize ½ Σ w_j² / f_j² + C Σ loss(± w·x), where f_j is the factor of
feature j: its log-count ratio, or 1. This is the problem with the weights v and the features x ∘ f,
and w = f ∘ v. Of two classes, one is fitted against the other; if documents have several classes,
each is fitted.

The intercept, if there is one, is the weight of a feature that each document has with the value 1
and the factor 1. So it is regularized like the others, as in LIBLINEAR.

Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: A Library for Large Linear Classification, 2008.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Floats32, Integers, Integers32, Mask
from nbtext.bayes.newton import MAX_STEPS, dot, minimize, solve_by_conjugate_gradients
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.kernel import HAS_KERNEL, warn_if_missing
from nbtext.linear.data import (
    NO_FOLD,
    CompactMatrix,
    LinearModel,
    SolverSettings,
    TrainingData,
    check_finite,
)
from nbtext.parallel import parallel_map
from nbtext.records import frozen

# Dual coordinate descent is slow where C |x|² is large. Solutions for smaller C, a factor of STRIDE
# apart and only roughly solved, then serve as warm starts.
EASY_CURVATURE = 100.0
STRIDE = 10.0
ROUGH_TOLERANCE = 1e-2
START_DUAL = 1e-8  # of the logistic loss, as in LIBLINEAR: its dual variables are inside of (0, 1)
FAR_MARGIN = 1.5  # a document beyond it rarely gets a dual variable when others are left out
NO_SCORES = np.zeros(0)


class LabelWeights(NamedTuple):
    """The weights of a class.

    columns, values  (n,), of the features whose weight is not 0, ascending
    """

    own_class: int
    bias: float
    columns: Integers32
    values: Floats


class ClassSolution(NamedTuple):
    """The solution of a class against the rest.

    documents     (n_close,) int32, those with a dual variable, or with a margin up to FAR_MARGIN
    dual          (n_close,), the dual variables divided by C
    weights       None: of a rough fit, which only starts others
    is_converged  whether the tolerance is met
    """

    documents: Integers32
    dual: Floats
    weights: LabelWeights | None
    is_converged: bool


class Solution(NamedTuple):
    """The solutions of all classes, by number, for all documents, or where the solver stopped."""

    classes: dict[int, ClassSolution]
    is_converged: bool

    def weights(self) -> list[LabelWeights]:
        """Return the weights of all classes.

        raises  ValueError: the fit was rough, so it has none
        """
        weights = [each.weights for each in self.classes.values() if each.weights is not None]
        if len(weights) < len(self.classes):
            raise ValueError("a rough solution has no weights; it only starts other fits")
        return weights


@frozen(eq=False)
class Factors:
    """The factors of the features in the problems of one fold, and the documents that are not in
    the fold.

    Here each factor is 1.

    compact    the compact matrix of the training data
    is_fitted  (n_documents,), whether each document is not in the fold
    squares    (n_documents,), Σ x² over the features of one document
    """

    data: TrainingData
    compact: CompactMatrix
    is_fitted: Mask
    squares: Floats

    def of_shared(self, own_class: int) -> Floats:
        """Return the factors (n_shared,) of the shared features."""
        return np.ones(len(self.compact.columns))

    def of_single(self, own_class: int, entries: Integers) -> Floats:
        """Return the factors (n,) of some of the features of one document."""
        return np.ones(len(entries))

    def single_squares(self, own_class: int) -> Floats:
        """Return Σ (x f)² over the features of one document, (n_documents,)."""
        return self.squares

    def of_all(self, own_class: int, n_features: int) -> Floats:
        """Return the factors (n_features,) of all features, with the intercept's; 0 of those that
        no document holds.
        """
        compact = self.compact
        factors = np.zeros(n_features)
        factors[compact.columns] = self.of_shared(own_class)
        factors[compact.single_columns] = self.of_single(
            own_class, np.arange(len(compact.single_rows))
        )
        return factors


class OneVsRest:
    """Binary problems over given training data, one for each class.

    Here all features have the factor 1: this is the linear support vector machine (squared hinge
    loss), the model of LIBLINEAR, and of scikit-learn's LinearSVC.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: LinearSettings,
        *,
        has_intercept: bool = True,
        jobs: int = 1,
    ) -> None:
        self._data = data
        self._n_classes = data.n_classes
        self._n_features = data.n_features + has_intercept
        self._has_intercept = has_intercept
        self._settings = settings
        self._jobs = jobs
        self._is_logistic = settings.loss == "logistic"
        has_two = data.n_classes <= 2 and data.sets is None
        self._classes = range(1, data.n_classes) if has_two else range(data.n_classes)

    def _make_factors(self, folds: Integers32, numbers: list[int]) -> Iterable[Factors]:
        """Yield the factors in the problems of some folds, or of NO_FOLD."""
        compact = self._compact
        n = len(self._data)
        squares = np.bincount(compact.single_rows, compact.single_values**2, minlength=n).astype(
            np.float64
        )
        for number in numbers:
            yield Factors(self._data, compact, folds != number, squares)

    @cached_property
    def _compact(self) -> CompactMatrix:
        is_splitting = HAS_KERNEL and len(self._data) > 1
        return CompactMatrix.of(
            self._data, is_splitting=is_splitting, has_constant=self._has_intercept
        )

    @cached_property
    def _all_data(self) -> TrainingData:
        """The training data with the feature of the intercept, and without factors: few fits need
        them.
        """
        data = self._data.slice(0, len(self._data))
        return add_constant(data) if self._has_intercept else data

    @cached_property
    def _constant(self) -> int | None:
        """The place of the feature of the intercept among the shared ones; None: there is none."""
        if not self._has_intercept:
            return None
        return int(np.flatnonzero(self._compact.columns == self._n_features - 1)[0])

    @cached_property
    def _all(self) -> Factors:
        """The factors in the problems of all documents."""
        folds = np.full(len(self._data), NEVER_HELD_OUT, dtype=np.int32)
        return next(iter(self._make_factors(folds, [NO_FOLD])))

    def solve(
        self,
        solver: SolverSettings,
        start: Solution | None = None,
        *,
        classes: Iterable[int] | None = None,
        max_weights: int | None = None,
    ) -> Solution:
        """Return the solution for all documents. It does not depend on the number of threads.

        start        the solution for another C
        classes      to solve; None: all
        max_weights  of a class; those with the largest magnitude are kept, of equal ones the first.
                     None: all

        raises  ModelError: the values are too large to compute with
        """
        factors = self._all  # made once, before threads share it
        numbers = list(self._classes if classes is None else classes)

        def solve_class(own_class: int) -> ClassSolution:
            solution, weights = self._solve(own_class, factors, solver, start)
            if weights is None:
                return solution
            return solution._replace(
                weights=self._make_weights(own_class, weights, max_weights, solver.min_weight)
            )

        solved = list(parallel_map(solve_class, numbers, jobs=self._jobs))
        is_converged = all(each.is_converged for each in solved)
        return Solution(dict(zip(numbers, solved, strict=True)), is_converged)

    def score_folds(self, folds: Integers32, solver: SolverSettings, start: Solution) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by models of the
        other folds.

        The documents that a model scores affect neither its factors nor its weights. The dual
        variables of the other documents start from those of `start`, which saves passes.
        """
        scores = np.zeros((int((folds != NEVER_HELD_OUT).sum()), self._n_classes))
        self.score_held_out(folds, solver, start, scores)
        return scores

    def score_held_out(
        self,
        folds: Integers32,
        solver: SolverSettings,
        start: Solution,
        scores: Array,
    ) -> None:
        """Score the documents that are held out by the classes of `start`, as `score_folds` does.

        scores  (n_held_out, n_classes), whose columns of these classes are set
        """
        data = self._data
        numbers = np.flatnonzero(np.bincount(folds[folds != NEVER_HELD_OUT])).tolist()
        left_out = list(self._make_factors(folds, numbers))
        places = np.full(len(data), -1)
        held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
        places[held_out] = np.arange(len(held_out))

        def score_class(task: tuple[int, int]) -> None:
            factors = left_out[task[0]]
            own_class = task[1]
            is_held_out = ~factors.is_fitted
            own = np.zeros(len(data))
            _, weights = self._solve(own_class, factors, solver, start, scores=own)
            if weights is not None:
                own = self._all_data.matrix @ weights
            scores[places[is_held_out], own_class] = own[is_held_out]

        tasks = [(place, own_class) for place in range(len(numbers)) for own_class in start.classes]
        for _ in parallel_map(score_class, tasks, jobs=self._jobs):
            pass

    def scorer(self, solution: Solution) -> LinearScorer:
        """Return a scorer of a solution, which gives up its weights. Of two labels the first has
        score 0.
        """
        weights = solution.weights()
        for own_class, each in solution.classes.items():
            solution.classes[own_class] = each._replace(weights=None)
        for name in ("_compact", "_all"):
            self.__dict__.pop(name, None)  # which are made again if they are needed
        return self.compile(weights)

    def compile(self, weights: list[LabelWeights]) -> LinearScorer:
        """Return the scorer of the weights of all classes, in ascending order; the list is empty
        then.
        """
        return compile_weights(weights, self._n_features - self._has_intercept, self._n_classes)

    def _solve(
        self,
        own_class: int,
        factors: Factors,
        solver: SolverSettings,
        start: Solution | None,
        scores: Floats = NO_SCORES,
    ) -> tuple[ClassSolution, Floats | None]:
        """Solve a class against the rest, for the documents outside of a fold.

        scores  (n_documents,) or empty, to be set to the scores of the documents in the fold

        Returns
        -------
        The solution without weights, and the weights (n_features,); None: the scores are set, or
        the fit is rough and only starts others.
        """
        begin = None
        is_start = solver.is_rough and not len(scores)
        if HAS_KERNEL:
            before = None if start is None else start.classes[own_class]
            found, shared = self._descend(own_class, factors, solver, before, scores)
            is_done = found.is_converged or solver.is_rough
            if is_start or (is_done and len(scores)):
                return found, None
            begin = self._weigh(own_class, factors, found, shared, solver.C)
            if is_done:
                return found, begin
        weights, dual, is_converged = minimize_binary(
            self._all_data,
            self._strengths(own_class, factors),
            factors.of_all(own_class, self._n_features) ** 2,
            solver,
            begin,
            is_logistic=self._is_logistic,
        )
        documents = np.flatnonzero(dual).astype(np.int32)
        solution = ClassSolution(documents, dual[documents], None, is_converged)
        return solution, None if is_start else weights

    def _strengths(self, own_class: int, factors: Factors) -> Floats:
        """Return the weight of each document, > 0 in the class and < 0 outside of it; 0 in the
        fold.
        """
        return self._data.signs(own_class) * self._data.document_weights * factors.is_fitted

    def _descend(
        self,
        own_class: int,
        factors: Factors,
        solver: SolverSettings,
        start: ClassSolution | None,
        scores: Floats,
    ) -> tuple[ClassSolution, Floats32]:
        """Solve a class against the rest by dual coordinate descent.

        Returns
        -------
        The solution without weights, and the weights of the shared features (n_shared,).
        """
        from nbtext._kernel import fit_binary

        data = self._data
        diagonal = factors.single_squares(own_class).astype(np.float32)
        with np.errstate(over="ignore"):
            scales = np.square(factors.of_shared(own_class)).astype(np.float32)
        if start is not None:
            dual = np.zeros(len(data))
            margins = np.full(len(data), np.inf, dtype=np.float32)
            dual[start.documents] = start.dual
            margins[start.documents] = 0
            stages = [solver]
        else:
            dual = np.full(len(data), START_DUAL * self._is_logistic)
            margins = np.zeros(len(data), dtype=np.float32)
            mean_square = float(dot(scales, self._compact.squares) + diagonal.sum()) / len(data)
            check_finite(mean_square)
            stages = list(continuation(solver, mean_square * float(data.document_weights.max())))
        strengths = self._strengths(own_class, factors)
        gap = np.inf
        shared = scales
        for stage in stages:
            is_last = stage is stages[-1]
            gap, _, shared = fit_binary(
                self._compact.checked,
                stage.C * strengths,
                scales,
                diagonal,
                dual,
                margins,
                scores if is_last else NO_SCORES,
                is_logistic=self._is_logistic,
                tolerance=stage.tolerance,
                max_iter=solver.max_iter,
                seed=solver.seed,
                is_rough=not is_last or (solver.is_rough and len(scores) > 0),
            )
            if np.isnan(gap):
                check_finite(gap)
        documents = np.flatnonzero((dual != 0) | (margins <= FAR_MARGIN)).astype(np.int32)
        return ClassSolution(
            documents, dual[documents], None, bool(gap <= solver.tolerance)
        ), shared

    def _weigh(
        self,
        own_class: int,
        factors: Factors,
        solution: ClassSolution,
        shared: Floats32,
        C: float,
    ) -> Floats:
        """Return the weights (n_features,) of a class; `shared` are those of the shared
        features.
        """
        compact = self._compact
        data = self._data
        documents = solution.documents
        weights = np.zeros(self._n_features)
        by_row = np.zeros(len(data))
        weights[compact.columns] = shared
        by_row[documents] = (
            C * solution.dual * (data.signs(own_class) * data.document_weights)[documents]
        )
        for entries in compact.split_singles():
            by_entry = by_row[compact.single_rows[entries]]
            is_used = by_entry != 0
            single = entries.start + np.flatnonzero(is_used)
            own = by_entry[is_used] * factors.of_single(own_class, single) ** 2
            weights[compact.single_columns[single]] = own * compact.single_values[single]
        return weights

    def _make_weights(
        self, own_class: int, weights: Floats, max_weights: int | None, min_weight: float = 0.0
    ) -> LabelWeights:
        """Return the weights that are not 0, at most `max_weights`; see
        `SolverSettings.min_weight`.

        raises  ModelError: they are not finite
        """
        check_finite(weights)
        n_features = self._n_features - self._has_intercept
        own = weights[:n_features]
        least = min_weight * max(own.max(initial=0), -own.min(initial=0))
        columns = np.flatnonzero((own > least) | (own < -least)).astype(np.int32)
        if max_weights is not None and len(columns) > max_weights:
            columns = np.sort(
                columns[np.argsort(-np.abs(own[columns]), kind="stable")[:max_weights]]
            )
        bias = float(weights[n_features]) if self._has_intercept else 0.0
        return LabelWeights(own_class, bias, columns, weights[columns])


def compile_weights(weights: list[LabelWeights], n_features: int, n_classes: int) -> LinearScorer:
    """Return the scorer of the weights of classes, in ascending order; the list is empty then."""
    bias = np.zeros(n_classes)
    widths = np.zeros(n_features, dtype=np.int64)
    for each in weights:
        widths[each.columns] += 1
    indptr = running_sums(widths)
    places = indptr[:-1].copy()
    classes = np.empty(indptr[-1], dtype=np.int32)
    deltas = np.empty(indptr[-1])
    weights.reverse()
    while weights:  # they ascend for each feature, and are freed one by one
        own_class, own_bias, columns, values = weights.pop()
        own = places[columns]
        bias[own_class] = own_bias
        classes[own] = own_class
        deltas[own] = values
        places[columns] += 1
    return LinearScorer(bias, np.zeros(n_classes), indptr, classes, deltas)


def add_constant(data: TrainingData) -> TrainingData:
    """Return training data with a further column, which has the value 1 in each document."""
    ends = data.indptr[1:]
    return replace(
        data,
        indptr=data.indptr + np.arange(len(data) + 1),
        indices=np.insert(data.indices, ends, np.int32(data.n_features)),
        values=np.insert(data.values, ends, 1.0),
        n_features=data.n_features + 1,
    )


def minimize_binary(
    data: TrainingData,
    strengths: Floats,
    scales: Floats,
    settings: SolverSettings,
    start: Floats | None,
    *,
    is_logistic: bool,
) -> tuple[Floats, Floats, bool]:
    """Minimize Σ_j w_j² / (2 scales_j) + C Σ_i |strengths_i| loss(± x_i·w), where ± is the sign of
    the strength.

    This is Newton's method with conjugate gradients. It continues where dual coordinate descent
    does not converge, as with few columns of different scales, and replaces it where the kernel is
    not compiled. The duality gap at w is Σ_j scales_j g_j² / 2, where g is the gradient: the slopes
    of the losses are the best dual variables for w.

    Parameters
    ----------
    strengths : (n_documents,), > 0 for the class and < 0 for the rest; 0 for a document that is not
    fitted
    scales : (n_features,), >= 0
    start : (n_features,); None: 0, and problems with a smaller C are solved first
    is_logistic : whether the loss is log(1 + e^-m), not max(0, 1 - m)²

    Returns
    -------
    The weights (n_features,), the dual variables (n_documents,), and whether it converged.

    Raises
    ------
    ModelError : the values are too large to compute with

    References
    ----------
    Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale linear
    SVMs, 2005; Lin, Weng and Keerthi, Trust region Newton method for logistic regression, 2008.
    """
    rows = np.flatnonzero(strengths)
    signs = np.sign(strengths)
    is_used = scales > 0
    matrix = data.matrix[rows]
    own = signs[rows]
    shares = np.abs(strengths[rows])
    transposed = matrix.T.tocsr()
    squares = matrix.power(2)
    regularization = np.divide(1, scales, out=np.zeros(len(scales)), where=is_used)
    weights = start
    stages = [settings]
    if weights is None:
        weights = np.zeros(len(scales))
        stages = list(
            continuation(settings, float((squares @ scales).mean() * shares.max(initial=0)))
        )
    stage = settings  # the one that is solved

    def slopes(margins: Floats) -> Floats:
        return (
            1 / (1 + np.exp(np.minimum(margins, 500)))
            if is_logistic
            else 2 * np.maximum(0, 1 - margins)
        )

    def evaluate(w: Floats) -> tuple[float, Floats, Floats]:
        """Return the objective, its gradient, and the second derivative of the loss of each
        document.
        """
        margins = own * (matrix @ w)
        slope = slopes(margins)
        loss = dot(shares, np.logaddexp(0, -margins) if is_logistic else slope**2 / 4)
        gradient = is_used * (regularization * w - stage.C * (transposed @ (shares * own * slope)))
        curvature = stage.C * shares * (slope * (1 - slope) if is_logistic else 2.0 * (slope > 0))
        return dot(regularization, w**2) / 2 + stage.C * loss, gradient, curvature

    def is_minimum(objective: float, gradient: Floats) -> bool:
        return dot(scales, gradient**2) / 2 <= stage.tolerance * objective

    def solve(curvature: Floats, gradient: Floats) -> Floats:
        def multiply(vector: Floats) -> Floats:
            image: Floats = is_used * (transposed @ (curvature * (matrix @ vector)))
            return image + regularization * vector

        scale = np.where(is_used, regularization + squares.T @ curvature, 1)
        return solve_by_conjugate_gradients(multiply, gradient, scale=scale)

    warn_if_missing()
    for stage in stages:
        n_steps = min(stage.max_iter, MAX_STEPS)
        weights, _ = minimize(
            evaluate, weights, solve=solve, tolerance=0, max_steps=n_steps, is_minimum=is_minimum
        )
    is_converged = is_minimum(*evaluate(weights)[:2])
    dual: Floats = (signs != 0) * slopes(signs * (data.matrix @ weights))
    return weights, dual, is_converged


def continuation(settings: SolverSettings, mean_square: float) -> Iterator[SolverSettings]:
    """Yield the problems to solve one after the other, the last one being the one that is asked
    for.
    """
    C = settings.C
    n_stages = 0
    while C * mean_square > EASY_CURVATURE:
        C /= STRIDE
        n_stages += 1
    for stage in range(n_stages, 0, -1):
        yield settings._replace(C=settings.C / STRIDE**stage, tolerance=ROUGH_TOLERANCE)
    yield settings


SVM = LinearModel(
    problem=OneVsRest,
    is_blocked=True,
    has_sets=True,
    searched=(("words", "log-tfidf", 1.0),),
)
