"""NB-SVM: each class against the rest, over features that are scaled by their log-count ratios.

With the log-count ratios r of a class, w minimizes ½ |w|² + C Σ loss(± w·(x ∘ r)). The weights of the class are
r ∘ ((1 - β) mean|w| + β w), β the interpolation. The model has no intercept: scaling by r makes it unnecessary,
and with interpolation it lowers accuracy. Of two classes, one is fitted against the other.

Wang, Manning, Baselines and Bigrams: Simple, Good Sentiment and Topic Classification, 2012; with the logistic loss:
Mesnil, Mikolov, Ranzato, Bengio, Ensemble of Generative and Discriminative Techniques for Sentiment Analysis of Movie
Reviews, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.kernel import HAS_KERNEL
from nbtext.features.weighting import row_sums
from nbtext.linear.data import NO_FOLD, CompactMatrix, Floats, TrainingData, check_finite, mapped_zeros
from nbtext.linear.lbfgs import SolverSettings, minimize_binary
from nbtext.linear.logistic import ROUGH_TOLERANCE, continuation
from nbtext.parallel import parallel_map

MAX_LANES = 8  # that are solved together: more of them need more memory, and are not faster
LANE_STEP = 4  # numbers of lanes are padded to a multiple of it, except for one
NO_WEIGHTS = np.zeros((0, 0))
START_DUAL = 1e-8  # of the logistic loss, as in LIBLINEAR: its dual variables are inside of (0, 1)


class Lane(NamedTuple):
    """One problem: a class against the rest, fitted to the documents that are not in a fold."""

    own_class: int
    fold: int = NO_FOLD


class Block(NamedTuple):
    """The solution of some lanes; column k belongs to lane k, and further columns are padding.

    weights       (n_shared, width), of the shared features of the compact matrix
    dual          (n_documents, width)
    is_converged  whether each lane met the tolerance
    """

    lanes: Sequence[Lane]
    weights: Floats
    dual: Floats
    is_converged: bool


class Solution(NamedTuple):
    """The solution of all classes for all documents, or where the solver stopped."""

    C: float
    blocks: list[Block]
    is_converged: bool

    def dual_of(self, own_class: int) -> Floats:
        """Return the dual variables (n_documents,) of a class."""
        for block in self.blocks:
            if block.lanes[0].own_class <= own_class <= block.lanes[-1].own_class:
                return block.dual[:, own_class - block.lanes[0].own_class]
        raise KeyError(own_class)


class FoldSums(NamedTuple):
    """The sums from which log-count ratios are computed, over the documents that are not in a fold.

    Ratio smoothing counts occurrences, of which one has the mean weight of an entry: 1 for binary counts, about 0.05
    for TF-IDF vectors of length 1. In this unit, 1 to 2 is best for both (20 Newsgroups, IMDB, polarity 2.0).

    totals        (n_shared,), of the magnitudes of each feature's values
    absent        (n_shared,), log-count ratio, without offset, of a feature that no document of the class holds
    own           (n_classes,), of the magnitudes of all values in the documents of a class
    n_features    number of features that the documents hold
    pseudo_count  additive smoothing
    single        (3, n_documents), Σ x² l^m for m = 0, 1, 2 over the single features of a document, l their `log_share`
    """

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

    def log_share(self, values: Floats) -> Floats:
        """Return the log-count ratio, without offset, of features of one document, in the class of that document."""
        return np.log1p(np.abs(values) / self.pseudo_count) if self.pseudo_count > 0 else np.zeros(len(values))


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
        self._no_folds = np.full(len(data), NEVER_HELD_OUT, dtype=np.int32)
        # of magnitudes: a weighting may have negative weights, and a ratio of sums needs positive ones
        self._row_sums = row_sums(data.indptr, np.abs(data.values))

    @cached_property
    def _compact(self) -> CompactMatrix:
        return CompactMatrix.of(self._data, is_splitting=HAS_KERNEL and self._settings.interpolation == 1)

    def solve(self, solver: SolverSettings, start: Solution | None = None) -> Solution:
        """Return the solution for all documents. It does not depend on the number of threads.

        start  the solution for another C; its weights are freed

        raises  ModelError: the values are too large to compute with
        """
        sums = self._sum_folds(self._no_folds)

        def solve_block(lanes: Sequence[Lane]) -> Block:
            return self._solve(lanes, self._no_folds, sums, solver, start)

        if start is not None:
            start.blocks[:] = [block._replace(weights=NO_WEIGHTS) for block in start.blocks]
        tasks = self._cut([Lane(own_class) for own_class in self._classes])
        blocks = list(parallel_map(solve_block, tasks, jobs=self._jobs))
        return Solution(solver.C, blocks, all(block.is_converged for block in blocks))

    def score_folds(self, folds: NDArray[np.int32], solver: SolverSettings, start: Solution) -> Floats:
        """Return scores (n_documents, n_classes) of documents by models of the other folds; 0 of those never held out.

        The documents that a model scores affect neither its ratios nor its weights. The dual variables
        of the other documents start from those of `start`, which saves passes.
        """
        scores, sums = np.zeros((len(self._data), self._data.n_classes)), self._sum_folds(folds)

        def score_block(lanes: Sequence[Lane]) -> None:
            block = self._solve(lanes, folds, sums, solver, start)
            if HAS_KERNEL:
                from nbtext.linear._solvers import score_left_out

                compact, (own_classes, own_folds) = self._compact, np.array(lanes, dtype=np.int32).T.copy()
                score_left_out(
                    compact.indptr, compact.features, compact.values, folds, block.weights, own_classes, own_folds,
                    scores,
                )  # fmt: skip
                return
            for k, lane in enumerate(lanes):
                is_held_out = folds == lane.fold
                weights = self._weights_of(block.weights[:, k], block.dual[:, k], lane, sums, solver.C)
                scores[is_held_out, lane.own_class] = self._data.matrix[is_held_out] @ weights

        held_out = np.unique(folds[folds != NEVER_HELD_OUT]).tolist()
        tasks = self._cut([Lane(own_class, fold) for fold in held_out for own_class in self._classes])
        for _ in parallel_map(score_block, tasks, jobs=self._jobs):
            pass
        return scores

    def scorer(self, solution: Solution) -> LinearScorer:
        """Return a scorer of a solution, whose weights are freed. Of two labels the first has score 0."""
        data, compact, sums = self._data, self._compact, self._sum_folds(self._no_folds)
        widths = np.zeros(data.n_features, dtype=np.int64)
        for block in solution.blocks:
            weights, dual = (each[:, : len(block.lanes)] for each in (block.weights, block.dual))
            widths[compact.columns] += np.count_nonzero(weights, axis=1)
            widths[compact.single_columns] += np.count_nonzero(dual, axis=1)[compact.single_rows]
        indptr = running_sums(widths)
        places, classes, deltas = indptr[:-1].copy(), np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        for number, block in enumerate(solution.blocks):  # classes ascend for each feature
            solution.blocks[number] = block._replace(weights=NO_WEIGHTS)
            for k, lane in enumerate(block.lanes):
                columns, values = self._entries(block.weights[:, k], block.dual[:, k], lane, sums, solution.C)
                own = places[columns]
                classes[own], deltas[own] = lane.own_class, values
                places[columns] += 1
        return LinearScorer(np.zeros(data.n_classes), np.zeros(data.n_classes), indptr, classes, deltas)

    def _cut(self, lanes: list[Lane]) -> list[list[Lane]]:
        """Cut the lanes into blocks of nearly equal size, enough of them for all threads."""
        n_blocks = max(-(-len(lanes) // MAX_LANES), min(self._jobs, -(-len(lanes) // LANE_STEP)))
        bounds = [len(lanes) * block // n_blocks for block in range(n_blocks + 1)] if lanes else [0]
        return [lanes[first:last] for first, last in pairwise(bounds)]

    def _sum_folds(self, folds: NDArray[np.int32]) -> dict[int, FoldSums]:
        """Return, by fold, the sums over the documents outside of it; NO_FOLD if no document is held out."""
        if not HAS_KERNEL:
            return {}
        from nbtext.linear._solvers import add_by_fold

        data, compact = self._data, self._compact
        numbers, places = np.unique(folds, return_inverse=True)
        by_fold = np.zeros((len(numbers), len(compact.columns)))
        add_by_fold(compact.indptr, compact.features, compact.values, places.astype(np.int32), by_fold)

        def sum_fold(fold: int) -> FoldSums:
            is_fitted = folds != fold
            totals = by_fold[numbers != fold].sum(axis=0)
            n_entries = int(np.diff(data.indptr)[is_fitted].sum())
            own = np.bincount(data.classes[is_fitted], self._row_sums[is_fitted], data.n_classes).astype(np.float64)
            pseudo_count = self._settings.ratio_smoothing * float(own.sum()) / max(1, n_entries)
            is_seen = totals > 0
            is_single = is_fitted[compact.single_rows] & (compact.single_values != 0)
            absent = np.log(np.divide(pseudo_count, totals + pseudo_count, out=np.ones(len(totals)), where=is_seen))
            n_features = int(is_seen.sum() + is_single.sum())
            sums = FoldSums(totals, absent, own, n_features, pseudo_count, np.zeros((3, 0)))
            logs, squares = sums.log_share(compact.single_values), compact.single_values**2
            terms = (squares, squares * logs, squares * logs**2)
            single = [np.bincount(compact.single_rows, term, minlength=len(data)) for term in terms]
            return sums._replace(single=np.array(single))

        held_out = [number for number in numbers.tolist() if number != NEVER_HELD_OUT] or [NO_FOLD]
        return {fold: sum_fold(fold) for fold in held_out}

    def _solve(
        self,
        lanes: Sequence[Lane],
        folds: NDArray[np.int32],
        sums: dict[int, FoldSums],
        solver: SolverSettings,
        start: Solution | None,
    ) -> Block:
        """Solve some lanes together; the result of none depends on the others."""
        width = 1 if len(lanes) == 1 else -(-len(lanes) // LANE_STEP) * LANE_STEP
        shape, beta = (len(self._compact.columns), width), self._settings.interpolation
        dual, is_converged = np.zeros((len(self._data), width)), np.zeros(len(lanes), dtype=bool)
        if HAS_KERNEL:
            ratios = self._ratios(lanes, folds, sums, width)
            scales = np.square(ratios, out=mapped_zeros(shape, np.float32), casting="same_kind")
            ratios = NO_WEIGHTS if beta == 1 else ratios
            for k, lane in enumerate(lanes):
                dual[:, k] = start.dual_of(lane.own_class) if start is not None else START_DUAL * self._is_logistic
            weights, gaps = self._descend(lanes, folds, sums, solver, scales, dual, is_warm=start is not None)
            check_finite(weights)
            is_converged = gaps <= solver.tolerance
        else:
            weights, ratios = np.zeros(shape), np.zeros(shape)
        if not (HAS_KERNEL and solver.is_rough):
            for k in np.flatnonzero(~is_converged).tolist():
                begin = self._weights_of(weights[:, k], dual[:, k], lanes[k], sums, solver.C)
                own, weights[:, k], dual[:, k], is_converged[k] = self._minimize(lanes[k], folds, solver, begin)
                if beta != 1:
                    ratios[:, k] = own
        if beta != 1:
            sizes = np.abs(np.divide(weights, ratios, out=np.zeros_like(weights), where=ratios != 0))
            means = np.ascontiguousarray(sizes.T).sum(axis=1) / self._data.n_features  # in the same order for any width
            weights = (1 - beta) * means * ratios + beta * weights
        return Block(lanes, weights, dual, bool(is_converged.all()))

    def _ratios(self, lanes: Sequence[Lane], folds: NDArray[np.int32], sums: dict[int, FoldSums], width: int) -> Floats:
        """Return the log-count ratios (n_shared, width) of the shared features in each lane."""
        from nbtext.linear._solvers import log_count_ratios as ratios_of_lanes

        compact, left_out = self._compact, list(dict.fromkeys(lane.fold for lane in lanes))
        own_classes, own_folds = np.array(lanes, dtype=np.int32).T.copy()
        return ratios_of_lanes(
            compact.indptr, compact.features, compact.values, self._data.classes, folds,
            np.stack([sums[fold].totals for fold in left_out]), np.stack([sums[fold].absent for fold in left_out]),
            own_classes, own_folds, np.array([left_out.index(fold) for fold in own_folds], dtype=np.int32),
            np.array([sums[fold].pseudo_count for fold in left_out]),
            np.array([sums[lane.fold].offset(lane.own_class) for lane in lanes]), width,
        )  # fmt: skip

    def _descend(
        self,
        lanes: Sequence[Lane],
        folds: NDArray[np.int32],
        sums: dict[int, FoldSums],
        solver: SolverSettings,
        scales: NDArray[np.float32],
        dual: Floats,
        *,
        is_warm: bool,
    ) -> tuple[Floats, Floats]:
        """Solve lanes by dual coordinate descent: weights (n_shared, width) and relative duality gaps (n_lanes,)."""
        from nbtext.linear._solvers import fit_lanes

        data, compact = self._data, self._compact
        diagonal = np.zeros(dual.shape, dtype=np.float32)
        for k, lane in enumerate(lanes):  # Σ x² r² with r = ±l + offset, l the log-share
            offset, single = sums[lane.fold].offset(lane.own_class), sums[lane.fold].single
            signs = np.where(data.classes == lane.own_class, 1.0, -1.0)
            diagonal[:, k] = np.maximum(0, single[2] + 2 * offset * signs * single[1] + offset**2 * single[0])
        stages = [[solver] for _ in lanes]
        if not is_warm:
            shares = [np.ascontiguousarray(each[:, : len(lanes)].T) for each in (scales, diagonal)]
            means = [float(own @ compact.squares + rest.sum()) / len(data) for own, rest in zip(*shares, strict=True)]
            check_finite(np.array(means))
            stages = [list(continuation(solver, mean)) for mean in means]
        n_stages = max(map(len, stages))
        weights, gaps = NO_WEIGHTS, np.zeros(len(lanes))
        own_classes, own_folds = np.array(lanes, dtype=np.int32).T.copy()
        for stage in range(-n_stages, 0):
            strengths = [own[stage].C if len(own) >= -stage else 0.0 for own in stages]  # 0: not in this stage
            tolerance = solver.tolerance if stage == -1 else ROUGH_TOLERANCE
            del weights
            weights, gaps, _ = fit_lanes(
                compact.indptr, compact.features, compact.values, data.classes, folds, scales, diagonal, dual,
                own_classes, own_folds, np.array(strengths), is_logistic=self._is_logistic, tolerance=tolerance,
                max_iter=solver.max_iter, seed=solver.seed, is_rough=solver.is_rough or stage != -1,
            )  # fmt: skip
        return weights, gaps

    def _minimize(
        self, lane: Lane, folds: NDArray[np.int32], solver: SolverSettings, start: Floats
    ) -> tuple[Floats, Floats, Floats, bool]:
        """Solve one lane by L-BFGS: ratios and weights (n_shared,), dual (n_documents,), and whether it converged."""
        data, columns = self._data, self._compact.columns
        is_fitted, is_own = folds != lane.fold, data.classes == lane.own_class
        lengths, magnitudes = np.diff(data.indptr), np.abs(data.values)
        own, rest = (
            np.bincount(data.indices, magnitudes * np.repeat(is_fitted & each, lengths), data.n_features).astype(
                np.float64
            )
            for each in (is_own, ~is_own)
        )
        pseudo_count = self._settings.ratio_smoothing * (own.sum() + rest.sum()) / max(1, int(lengths[is_fitted].sum()))
        ratios = log_count_ratios(own, rest, pseudo_count=pseudo_count)
        weights, dual, is_converged = minimize_binary(
            data, np.flatnonzero(is_fitted), np.where(is_own, 1.0, -1.0), ratios**2, solver, start,
            is_logistic=self._is_logistic,
        )  # fmt: skip
        return ratios[columns], weights[columns], dual, is_converged

    def _entries(
        self, shared: Floats, dual: Floats, lane: Lane, sums: dict[int, FoldSums], C: float
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return columns and weights of shared features with a weight, and of single ones with a dual variable.

        shared  (n_shared,), weights of the shared features
        dual    (n_documents,)
        """
        compact, is_weighted = self._compact, np.flatnonzero(shared)
        single = np.flatnonzero(dual[compact.single_rows])
        if len(single) == 0:
            return compact.columns[is_weighted], shared[is_weighted]
        rows, values, own = compact.single_rows[single], compact.single_values[single], sums[lane.fold]
        signs = np.where(self._data.classes[rows] == lane.own_class, 1.0, -1.0)
        ratios = signs * own.log_share(values) + own.offset(lane.own_class)
        weights = C * dual[rows] * signs * ratios**2 * values
        columns = np.concatenate((compact.columns[is_weighted], compact.single_columns[single]))
        return columns, np.concatenate((shared[is_weighted], weights))

    def _weights_of(self, shared: Floats, dual: Floats, lane: Lane, sums: dict[int, FoldSums], C: float) -> Floats:
        """Return the weights (n_features,) of a lane."""
        weights = np.zeros(self._data.n_features)
        columns, values = self._entries(shared, dual, lane, sums, C)
        weights[columns] = values
        return weights
