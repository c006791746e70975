"""Each class against the rest: the problems that NB-SVM and the linear SVM share.

The weights w of a class minimize ½ Σ w_j² / f_j² + C Σ loss(± w·x), where f_j is the factor of
feature j: its log-count ratio, or 1. This is the problem with the weights v and the features x ∘ f,
and w = f ∘ v. Of two classes, one is fitted against the other; if documents have several classes,
each is fitted.

The intercept, if there is one, is the weight of a feature that each document has with the value 1
and the factor 1. So it is regularized like the others, as in LIBLINEAR.

The documents are in memory, as one block, or in blocks on the disk. The solver visits them block
after block, for one class or for several.

Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: A Library for Large Linear Classification, 2008.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Floats32, Integers, Integers32, Mask
from nbtext.bayes.newton import MAX_NEWTON_STEPS, minimize, solve_by_conjugate_gradients
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import NEVER_HELD_OUT, list_held_out
from nbtext.kernel import HAS_KERNEL, warn_if_missing
from nbtext.linear.blocks import CompactDocuments, CompactMatrix, DocumentBlock
from nbtext.linear.data import (
    ClassSolution,
    LabelWeights,
    LinearModel,
    Rows,
    SolverSettings,
    TrainingData,
    check_finite,
)
from nbtext.numerics import dot, exp, ratio, softplus
from nbtext.parallel import parallel_map
from nbtext.records import dataclass, frozen_object

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Dual coordinate descent is slow where C |x|² is large. Solutions for smaller C, a factor of STRIDE
# apart and only roughly solved, then serve as warm starts.
EASY_CURVATURE = 100.0
STRIDE = 10.0
ROUGH_TOLERANCE = 1e-2
START_DUAL = 1e-8  # of the logistic loss, as in LIBLINEAR: its dual variables are inside of (0, 1)
MAX_WEIGHT_BYTES = 1 << 28  # of the classes that are solved at once: 8 for each feature and class
# Passes after a measured gap was too large, before it is measured again. On 5 GB, to measure takes
# as long as 9 passes, and without a wait, 135 of 155 measurements are in vain.
PASSES_BETWEEN_GAPS = 5
# what a class needs from the next visits to all blocks
ADD = "add"
PASS = "pass"
MEASURE = "measure"
DONE = "done"


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


@frozen_object
class FoldProblem:
    """The documents that are not in a fold, in the problems of all classes.

    shares     of the documents of each block in the loss, (n,): their class weights; 0 in the fold
    factors    what the factors of features are computed from; None: each is 1
    documents  of each block, a `FittedDocuments` of the kernel; empty without the kernel
    """

    shares: list[Floats]
    factors: Any
    documents: list[Any]


@dataclass(eq=False)
class Fit:
    """The solver of a class: its state, and what it needs next.

    features  (n_shared, 2) float32, weight and scale of each shared feature
    kernel    a `ClassFit` over these features
    offset    of its log-count ratios
    rows      the state of the documents of each block
    """

    own_class: int
    features: Floats32
    kernel: Any
    offset: float
    rows: list[Rows]
    stages: list[SolverSettings]
    n_iter: int = 0
    action: str = ADD
    is_measured: bool = False
    is_converged: bool = False
    first_measured: int = 0  # the pass from which on the gap is measured

    @property
    def stage(self) -> SolverSettings:
        """The problem that is solved now; the last one is the one that is asked for."""
        return self.stages[0]

    def begin(self) -> None:
        """Begin to visit all blocks."""
        self.kernel.begin(is_adding=self.action == ADD)
        self.n_iter += self.action == PASS

    def visit(self, number: int, documents: Any, seed: int) -> None:
        """Visit a block."""
        stage = self.stage
        rows = self.rows[number]
        if self.action == ADD:
            self.kernel.add(documents, rows, C=stage.C)
        elif self.action == MEASURE:
            self.kernel.measure(documents, rows, C=stage.C, tolerance=stage.tolerance)
        else:
            self.kernel.visit(
                documents,
                rows,
                C=stage.C,
                tolerance=stage.tolerance,
                n_iter=self.n_iter,
                seed=(seed + self.n_iter * len(self.rows) + number) % 2**64,
            )

    def end(self, *, is_rough: bool) -> None:
        """Decide what to do next, after all blocks were visited."""
        kernel = self.kernel
        stage = self.stage
        is_finite = np.isfinite(kernel.objective) and np.isfinite(kernel.gap)
        is_within = kernel.gap <= stage.tolerance * kernel.objective or not is_finite
        is_trusted = is_rough or len(self.stages) > 1
        if self.action == ADD:
            kernel.end()
            self.action = MEASURE if self.is_measured else PASS
        elif is_within and (self.action == MEASURE or is_trusted):
            check_finite(kernel.gap)
            self._end_stage(is_converged=True)
        elif is_within and self.n_iter >= self.first_measured:
            # the gap of a pass is of each document when it was visited, and lacks those that it
            # skips
            self.action = ADD
            self.is_measured = True
        elif self.n_iter >= stage.max_iter:
            self._end_stage(is_converged=False)
        else:
            if self.is_measured:
                self.first_measured = self.n_iter + PASSES_BETWEEN_GAPS
            self.action = PASS
            self.is_measured = False

    def _end_stage(self, *, is_converged: bool) -> None:
        self.is_converged = is_converged
        self.is_measured = False
        self.n_iter = 0
        self.first_measured = 0
        self.action = DONE
        if len(self.stages) > 1:
            del self.stages[0]
            self.action = ADD


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
        self._n_features = data.n_features + has_intercept
        self._has_intercept = has_intercept
        self._jobs = jobs
        self._is_logistic = settings.loss == "logistic"
        has_two = data.n_classes <= 2 and data.sets is None
        self._classes = range(1, data.n_classes) if has_two else range(data.n_classes)

    @cached_property
    def _documents(self) -> CompactDocuments:
        return CompactDocuments(
            self._data, self._classes, has_intercept=self._has_intercept, jobs=self._jobs
        )

    @cached_property
    def _matrix(self) -> csr_array:
        """The documents in memory with the feature of the intercept; few fits need them."""
        from scipy.sparse import hstack

        matrix = self._data.matrix
        constant = np.ones((len(self._data), 1))
        return hstack((matrix, constant), format="csr") if self._has_intercept else matrix

    @property
    def _constant(self) -> Integers:
        """The place of the feature of the intercept among the shared ones; empty: there is none."""
        return np.flatnonzero(self._documents.columns == self._data.n_features)

    # What depends on the factors of the features, which are 1 here.

    def _sum_values(self, shares: list[Floats]) -> Any:
        """Return what the factors are computed from, of the shares of the documents."""
        return None

    def _scale(self, classes: Sequence[int], problem: FoldProblem) -> tuple[Floats32, list[float]]:
        """Return the weights (0) and squared factors of shared features, (n_classes, n_shared, 2),
        and the offsets of the factors.
        """
        features = np.zeros((len(classes), len(self._documents.columns), 2), np.float32)
        features[:, :, 1] = 1
        return features, [0.0] * len(classes)

    def _square_singles(self, compact: CompactMatrix, shares: Floats, factors: Any) -> Floats32:
        """Return the sums of squares over the features of one document, (1 or 3, n_documents)."""
        squares = np.bincount(compact.single_rows, compact.single_values**2, len(shares))
        return squares[None].astype(np.float32)

    def _single_factors(
        self, signs: Array, magnitudes: Floats, offset: float, factors: Any
    ) -> Floats:
        """Return the squared factors of features of one document; `signs` and `magnitudes` are of
        its values.
        """
        return np.ones(len(signs))

    # The solver.

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
        problem = self._make_problem(np.ones(len(self._data), bool))

        def solve_group(group: list[int]) -> list[ClassSolution]:
            if not HAS_KERNEL:
                return [self._minimize(each, problem, solver, None, max_weights) for each in group]
            fits = self._solve_group(group, problem, solver, start)
            if solver.is_rough:
                return [self._pack(fit) for fit in fits]
            return list(self._finish(fits, problem, solver, max_weights))

        numbers = list(self._classes if classes is None else classes)
        solved = parallel_map(solve_group, self._group(numbers), jobs=self._group_jobs)
        found = dict(zip(numbers, chain.from_iterable(solved), strict=True))
        return Solution(found, all(each.is_converged for each in found.values()))

    def score_folds(self, folds: Integers32, solver: SolverSettings, start: Solution) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by models of the
        other folds.

        The documents that a model scores affect neither its factors nor its weights. The dual
        variables of the other documents start from those of `start`, which saves passes.
        """
        scores = np.zeros((len(list_held_out(folds)), self._data.n_classes))
        self.score_held_out(folds, solver, start, scores)
        return scores

    def score_held_out(
        self, folds: Integers32, solver: SolverSettings, start: Solution, scores: Array
    ) -> None:
        """Score the documents that are held out by the classes of `start`, as `score_folds` does.

        scores  (n_held_out, n_classes), whose columns of these classes are set
        """
        is_held_out = folds != NEVER_HELD_OUT
        places = running_sums(is_held_out)[:-1]

        def tasks() -> Iterator[tuple[int, FoldProblem, list[int]]]:
            for number in np.unique(folds[is_held_out]).tolist():
                problem = self._make_problem(folds != number)
                for group in self._group(list(start.classes)):
                    yield number, problem, group

        def score_group(task: tuple[int, FoldProblem, list[int]]) -> None:
            number, problem, group = task
            if not HAS_KERNEL:
                rows = np.flatnonzero(folds == number)
                for own_class in group:
                    weights, _ = self._minimize_class(own_class, problem, solver, None)
                    scores[places[rows], own_class] = (self._matrix @ weights)[rows]
                return
            fits = self._solve_group(group, problem, solver, start)
            for block in self._documents.load():
                rows = np.flatnonzero(folds[block.documents] == number)
                own_places = places[block.documents][rows]
                for fit in fits:
                    own = fit.kernel.scores(block.compact.checked, rows)
                    scores[own_places, fit.own_class] = own

        for _ in parallel_map(score_group, tasks(), jobs=self._group_jobs):
            pass

    def scorer(self, solution: Solution) -> LinearScorer:
        """Return a scorer of a solution, which gives up its weights. Of two labels the first has
        score 0.
        """
        weights = solution.weights()
        for own_class, each in solution.classes.items():
            solution.classes[own_class] = each._replace(weights=None)
        self.__dict__.pop("_documents", None)  # which are made again if they are needed
        return compile_weights(weights, self._data.n_features, self._data.n_classes)

    def _make_problem(self, is_fitted: Mask) -> FoldProblem:
        """Return the problem of some documents; `is_fitted` is (n_documents,)."""
        shares = [block.weights * is_fitted[block.documents] for block in self._documents.blocks]
        problem = FoldProblem(shares, self._sum_values(shares), [])
        if HAS_KERNEL:
            from nbtext._kernel import FittedDocuments

            for block in self._documents.load():
                own = shares[block.number]
                squares = self._square_singles(block.compact, own, problem.factors)
                problem.documents.append(FittedDocuments(block.compact.checked, own, squares))
        return problem

    @property
    def _group_jobs(self) -> int:
        """The number of threads of which each solves a group of classes."""
        return 1 if self._documents.is_on_disk else self._jobs

    def _group(self, classes: list[int]) -> list[list[int]]:
        """Return groups of classes that are solved together, so that each block is loaded once for
        all of them: as many as have their weights in memory.
        """
        size = 1
        if self._documents.is_on_disk:
            size = max(1, MAX_WEIGHT_BYTES // (8 * (len(self._documents.columns) or 1)))
        return [classes[first : first + size] for first in range(0, len(classes), size)]

    def _solve_group(
        self,
        classes: list[int],
        problem: FoldProblem,
        solver: SolverSettings,
        start: Solution | None,
    ) -> list[Fit]:
        """Solve some classes against the rest by dual coordinate descent."""
        from nbtext._kernel import ClassFit

        features, offsets = self._scale(classes, problem)
        n_fitted = sum(int(np.count_nonzero(own)) for own in problem.shares)
        fits: list[Fit] = []
        for own_class, own, offset in zip(classes, features, offsets, strict=True):
            rows = self._documents.make_rows(
                own_class,
                None if start is None else start.classes[own_class],
                first_dual=START_DUAL * self._is_logistic,
            )
            kernel = ClassFit(own, offset=offset, n_fitted=n_fitted, is_logistic=self._is_logistic)
            fit = Fit(own_class, own, kernel, offset, rows, [solver])
            if start is None:
                squares = dot(own[:, 1], self._documents.squares)
                squares += sum(map(kernel.sum_diagonals, problem.documents, rows))
                check_finite(squares)
                largest = max(float(each.max(initial=0)) for each in problem.shares)
                fit.stages = list(continuation(solver, squares / n_fitted * largest))
                if not self._is_logistic:
                    fit.action = PASS  # all dual variables are 0
            fits.append(fit)
        n_visits = 0
        while active := [fit for fit in fits if fit.action != DONE]:
            n_visits += 1
            for fit in active:
                fit.begin()
            self._visit(active, problem, (solver.seed, n_visits))
            for fit in active:
                fit.end(is_rough=solver.is_rough)
        return fits

    def _visit(self, fits: list[Fit], problem: FoldProblem, seed: tuple[int, int]) -> None:
        """Visit all blocks for some classes, each of which does what it needs to."""
        jobs = min(self._jobs, len(fits))
        for block in self._documents.load(seed):

            def visit(own: list[Fit], block: DocumentBlock = block) -> None:
                for fit in own:
                    fit.visit(block.number, problem.documents[block.number], seed[0])

            # a task for each class would spend more on threads than on some blocks: 19 s and not 14
            # to 16 s for 200 MB
            parts = [fits[n::jobs] for n in range(jobs)]
            list(parallel_map(visit, parts, jobs=jobs))

    def _pack(self, fit: Fit) -> ClassSolution:
        return ClassSolution(*self._documents.pack_rows(fit.rows), None, fit.is_converged)

    def _finish(
        self,
        fits: list[Fit],
        problem: FoldProblem,
        solver: SolverSettings,
        max_weights: int | None,
    ) -> Iterator[ClassSolution]:
        """Yield the solutions, which Newton's method completes where the solver stopped."""
        # the columns and the weights of features of one document that are not 0, by class
        singles: dict[int, list[tuple[Integers32, Floats]]] = {fit.own_class: [] for fit in fits}
        for block in self._documents.load():
            compact = block.compact
            shares = problem.shares[block.number]
            for fit in fits:
                rows = fit.rows[block.number]
                by_row = solver.C * rows["dual"] * (rows["sign"] * shares)
                single = np.flatnonzero((by_row != 0)[compact.single_rows])
                places = compact.single_rows[single]
                values = compact.single_values[single]
                factors = self._single_factors(
                    rows["sign"][places],
                    np.abs(values) * shares[places],
                    fit.offset,
                    problem.factors,
                )
                singles[fit.own_class].append(
                    (compact.single_columns[single], by_row[places] * factors * values)
                )
        for fit in fits:
            weights = np.zeros(self._n_features)
            weights[self._documents.columns] = fit.features[:, 0]
            for columns, values in singles[fit.own_class]:
                weights[columns] = values
            if fit.is_converged or self._documents.is_on_disk:
                own = self._make_weights(fit.own_class, weights, max_weights, solver.min_weight)
                yield self._pack(fit)._replace(weights=own)
            else:
                yield self._minimize(fit.own_class, problem, solver, weights, max_weights)

    def _minimize(
        self,
        own_class: int,
        problem: FoldProblem,
        solver: SolverSettings,
        begin: Floats | None,
        max_weights: int | None,
    ) -> ClassSolution:
        """Solve a class against the rest by Newton's method; see `minimize_binary`."""
        weights, solution = self._minimize_class(own_class, problem, solver, begin)
        if solver.is_rough:
            return solution
        return solution._replace(
            weights=self._make_weights(own_class, weights, max_weights, solver.min_weight)
        )

    def _minimize_class(
        self, own_class: int, problem: FoldProblem, solver: SolverSettings, begin: Floats | None
    ) -> tuple[Floats, ClassSolution]:
        (block,) = self._documents.blocks
        compact = block.compact
        (shares,) = problem.shares
        signs = block.signs(own_class)
        (features,), (offset,) = self._scale([own_class], problem)
        scales = np.zeros(self._n_features)
        scales[compact.columns] = features[:, 1]
        rows = compact.single_rows
        scales[compact.single_columns] = self._single_factors(
            signs[rows], np.abs(compact.single_values) * shares[rows], offset, problem.factors
        )
        weights, dual, is_converged = minimize_binary(
            self._matrix, signs * shares, scales, solver, begin, is_logistic=self._is_logistic
        )
        documents = np.flatnonzero(dual).astype(np.int32)
        duals = dual[documents].astype(np.float32)
        return weights, ClassSolution(documents, duals, None, is_converged)

    def _make_weights(
        self, own_class: int, weights: Floats, max_weights: int | None, min_weight: float
    ) -> LabelWeights:
        """Return the weights that are not 0, at most `max_weights`; see
        `SolverSettings.min_weight`.

        raises  ModelError: they are not finite
        """
        check_finite(weights)
        own = weights[: self._data.n_features]
        least = min_weight * max(own.max(initial=0), -own.min(initial=0))
        columns = np.flatnonzero((own > least) | (own < -least)).astype(np.int32)
        if max_weights is not None and len(columns) > max_weights:
            columns = np.sort(
                columns[np.argsort(-np.abs(own[columns]), kind="stable")[:max_weights]]
            )
        bias = float(weights[-1]) if self._has_intercept else 0.0
        return LabelWeights(own_class, bias, columns, weights[columns])


def compile_weights(weights: list[LabelWeights], n_features: int, n_classes: int) -> LinearScorer:
    """Return the scorer of the weights of classes, in ascending order; the list is empty then."""
    bias = np.zeros(n_classes)
    widths = np.zeros(n_features, np.int64)
    for each in weights:
        widths[each.columns] += 1
    indptr = running_sums(widths)
    places = indptr[:-1].copy()
    classes = np.empty(indptr[-1], np.int32)
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


def minimize_binary(
    documents: csr_array,
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
    documents : the features, (n_documents, n_features)
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
    matrix = documents[rows]
    own = signs[rows]
    shares = np.abs(strengths[rows])
    transposed = matrix.T.tocsr()
    squares = matrix.power(2)
    regularization = ratio(np.ones(len(scales)), scales)
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
            1 / (1 + exp(np.minimum(margins, 500)))
            if is_logistic
            else 2 * np.maximum(0, 1 - margins)
        )

    def evaluate(w: Floats) -> tuple[float, Floats, Floats]:
        """Return the objective, its gradient, and the second derivative of the loss of each
        document.
        """
        margins = own * (matrix @ w)
        slope = slopes(margins)
        loss = dot(shares, softplus(-margins) if is_logistic else slope**2 / 4)
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
        n_steps = min(stage.max_iter, MAX_NEWTON_STEPS)
        weights, _ = minimize(
            evaluate, weights, solve=solve, tolerance=0, max_steps=n_steps, is_minimum=is_minimum
        )
    is_converged = is_minimum(*evaluate(weights)[:2])
    dual: Floats = (signs != 0) * slopes(signs * (documents @ weights))
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


SVM = LinearModel(problem=OneVsRest, is_one_vs_rest=True, searched=(("words", "log-tfidf", 1.0),))
