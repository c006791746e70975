"""Each class against the rest, for documents that are too many for memory: the problems of
`one_vs_rest` and `nbsvm`.

The documents are in blocks in a temporary file, with their dual variables. Dual coordinate descent
visits block after block, and for each block some classes, as many as have their weights in memory.
It solves the same problems to the same tolerance, so that the weights are those of the solver in
memory up to that. One fold is held out, of documents with the smallest hashes; its models continue
from the solution of all documents.

Each range of hashes is spread over all blocks. With ranges as blocks, all duplicates of a document
would be visited one after the other, which is as slow as one document with a larger C: 300 MB of
repeated documents need 213 visits to all blocks instead of 57.

Yu, Hsieh, Chang, Lin, Large Linear Classification When Data Cannot Fit In Memory, 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Array, Bytes, Floats, Floats32, Integers, Integers32, Mask
from nbtext.bayes.newton import dot
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.stored_documents import MappedArrays, StoredDocuments
from nbtext.features.weighting import Weighting
from nbtext.linear.data import CompactMatrix, SolverSettings, check_finite, order_features
from nbtext.linear.nbsvm import log_shares, square_factors
from nbtext.linear.one_vs_rest import START_DUAL, ClassSolution, OneVsRest, Solution, continuation
from nbtext.parallel import parallel_map

MAX_WEIGHT_BYTES = 1 << 28  # of the classes that are solved at once: 8 for each feature and class
# Fewer blocks need more passes, because the solution follows each of them: on 300 MB of
# tests/benchmarks/scale.py, made unique, 6 blocks need 1,031 passes of 20 classes, 12 need 865, 23
# need 777, and 46 need 717.
MIN_BLOCKS = 64
# ranges of hashes for each block, at most; a thread that writes the blocks has one range in memory
RANGES = 2
NO_DOCUMENTS = np.zeros(0, dtype=np.int32)
# Passes after a measured gap was too large, before it is measured again. On 5 GB, to measure takes
# as long as 9 passes, and without a wait, 135 of 155 measurements are in vain.
WAIT = 5
# what a class needs from the next visits to all blocks
ADD = "add"
PASS = "pass"
MEASURE = "measure"
DONE = "done"


class BlockedData:
    """The training data of documents in blocks, which are weighted when they are read.

    classes, hashes  (n_documents,), in the order of the hashes; of documents with equal hashes, by
                     class
    frequencies      (n_features,), the number of documents that hold each feature
    class_weights    (n_classes,), > 0, of each document of a class; None: 1
    """

    def __init__(
        self,
        stored: StoredDocuments,
        weighting: Weighting,
        frequencies: Integers,
        n_classes: int,
        class_weights: Floats | None,
    ) -> None:
        self.blocks = stored.blocks()
        self.weighting = weighting
        self.frequencies = frequencies
        self.classes = self.blocks.classes
        self.hashes = self.blocks.hashes
        self.n_features = len(frequencies)
        self.n_classes = n_classes
        self.class_weights = np.ones(n_classes) if class_weights is None else class_weights

    def __len__(self) -> int:
        return len(self.classes)

    def load(self, number: int, rows: Integers) -> tuple[Integers, Integers32, Floats]:
        """Return some weighted documents of a range of hashes as compressed sparse rows."""
        documents = self.blocks.load(number).take(rows)
        weights = self.weighting.weights(documents.indptr, documents.indices, documents.counts)
        return documents.indptr, documents.indices, np.asarray(weights, dtype=np.float64)


class MappedBlock(NamedTuple):
    """The documents of a block, whose arrays are mapped from files.

    matrix          the shared features
    single_indptr   (n + 1,), where the features of one document of each document are in the two
                    arrays after it
    duals           (n_problems, n) float32, the dual variables divided by C
    waits           (n_problems, 2, n) uint8, the passes in which each document is skipped from now
                    on, and was last
    """

    number: int
    documents: slice
    matrix: Any
    classes: Integers32
    single_indptr: Integers
    single_columns: Integers32
    single_values: Floats
    duals: Floats32
    waits: Bytes

    @property
    def single_rows(self) -> Integers:
        """The document of each feature of one document, (n_single,)."""
        return np.repeat(np.arange(len(self.classes)), np.diff(self.single_indptr))


class BlockFactors(NamedTuple):
    """The problems of one fold: its documents, and what the factors of all features are computed
    from (`nbsvm.Ratios`).

    weights    of the documents of each block, (n,): their class weights; 0 in the fold
    documents  of each block, a `BlockDocuments` of the kernel
    """

    weights: list[Floats]
    documents: list[Any]
    totals: Floats
    total: float = 0.0
    n_features: int = 0
    pseudo_count: float = 0.0


class Fit:
    """The state of one class: what it needs next, and how far its solver is.

    place     of its problem
    offset    of its log-count ratios
    features  (n_shared, 2) float32, weight and scale of each shared feature
    """

    def __init__(
        self,
        place: int,
        own_class: int,
        offset: float,
        features: Floats32,
        n_fitted: int,
        stages: Sequence[SolverSettings],
        *,
        is_logistic: bool,
    ) -> None:
        from nbtext._kernel import BlockFit

        self.place = place
        self.own_class = own_class
        self.offset = offset
        self.features = features
        self.kernel = BlockFit(
            features, own_class=own_class, offset=offset, n_rows=n_fitted, is_logistic=is_logistic
        )
        self.stages = list(stages)
        self.n_iter = 0
        self.action = ADD
        self.is_measured = self.is_converged = False
        self.first_measured = 0  # the pass from which on the gap is measured

    @property
    def stage(self) -> SolverSettings:
        """The problem that is solved now; the last one is the one that is asked for."""
        return self.stages[0]

    def begin(self) -> None:
        """Begin to visit all blocks."""
        if self.action == ADD:
            self.kernel.begin()
        else:
            self.kernel.forget_gap()
            self.n_iter += self.action == PASS

    def end(self, *, is_rough: bool) -> None:
        """Decide what to do next, after all blocks were visited; see `make_passes` in
        one_vs_rest.pxi.
        """
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
                self.first_measured = self.n_iter + WAIT
            self.action = PASS
            self.is_measured = False

    def _end_stage(self, *, is_converged: bool) -> None:
        self.is_converged = is_converged
        self.is_measured = False
        self.n_iter = 0
        self.first_measured = 0
        self.action = ADD if len(self.stages) > 1 else DONE
        if len(self.stages) > 1:
            del self.stages[0]


class BlockedOneVsRest(OneVsRest):
    """The linear support vector machine of documents in blocks."""

    def __init__(
        self,
        data: BlockedData,
        settings: LinearSettings,
        *,
        has_intercept: bool = True,
        jobs: int = 1,
    ) -> None:
        self._blocked = data
        self._has_intercept = has_intercept
        self._settings = settings
        self._jobs = jobs
        self._is_logistic = settings.loss == "logistic"
        self._classes = range(1, data.n_classes) if data.n_classes <= 2 else range(data.n_classes)
        self._n_classes = data.n_classes
        self._n_features = data.n_features + has_intercept
        self._is_started = False
        frequencies = np.append(data.frequencies, len(data)) if has_intercept else data.frequencies
        self._columns, self._places = order_features(frequencies)
        self._n_blocks = min(max(MIN_BLOCKS, len(data.blocks) // RANGES), len(data))
        self._shared_squares = np.zeros(len(self._columns))
        is_shared = self._places >= 0
        folder = data.blocks.spill.folder
        sizes = np.zeros((2, len(data)), dtype=np.int64)
        for number, features in enumerate((is_shared, ~is_shared)):
            sizes[number] = data.blocks.count(features[: data.n_features]) + int(
                features[data.n_features :].sum()
            )
        # the first entry of each document in its block, of the shared features, and of those of one
        # document
        self._bounds = [
            [running_sums(own[self._documents(n)]) for own in sizes] for n in range(self._n_blocks)
        ]
        del sizes
        entries = [(int(shared[-1]), int(single[-1])) for shared, single in self._bounds]
        self._entries = MappedArrays(
            folder,
            [((np.int32, m), (np.float32, m), (np.int32, n), (np.float64, n)) for m, n in entries],
        )
        for squares in parallel_map(self._store, range(len(data.blocks)), jobs=jobs):
            self._shared_squares += squares
        del self._places
        data.blocks.spill.close()  # whose documents are stored as blocks now
        duals = [len(self._classes) * (len(shared) - 1) for shared, _ in self._bounds]
        self._state = MappedArrays(folder, [((np.float32, n), (np.uint8, 2 * n)) for n in duals])
        self._blocks = [self._make_block(number) for number in range(self._n_blocks)]

    def _documents(self, block: int) -> slice:
        """Return the documents of a block: every n-th one, so that duplicates are in as many blocks
        as possible.
        """
        return slice(block, None, self._n_blocks)

    def _store(self, number: int) -> Floats:
        """Store a range of hashes in the blocks; return the sum of the squares of each shared
        feature's values.
        """
        first, last = self._blocked.blocks.bounds[number : number + 2]
        blocks = np.arange(first, last) % self._n_blocks
        order = np.argsort(blocks, kind="stable")
        entries = self._blocked.load(number, order)
        own = CompactMatrix.split(
            *entries, self._columns, self._places, is_adding=self._has_intercept
        )
        check_finite(dot(own.values, own.values) + dot(own.single_values, own.single_values))
        singles = running_sums(np.bincount(own.single_rows, minlength=last - first))
        starts = np.searchsorted(blocks[order], np.arange(self._n_blocks + 1)).tolist()
        for block, (begin, end) in enumerate(pairwise(starts)):
            place = -(-(first - block) // self._n_blocks)  # in the block, of the first document
            to, to_single = (
                slice(each[place], each[place + end - begin]) for each in self._bounds[block]
            )
            part = slice(*own.indptr[[begin, end]])
            single = slice(*singles[[begin, end]])
            features, values, single_columns, single_values = self._entries.groups[block]
            features[to] = own.features[part]
            values[to] = own.values[part]
            single_columns[to_single] = own.single_columns[single]
            single_values[to_single] = own.single_values[single]
            self._entries.release(block)
        return own.squares.astype(np.float64)

    def _make_block(self, number: int) -> MappedBlock:
        from nbtext._kernel import CheckedMatrix

        documents = self._documents(number)
        indptr, single_indptr = self._bounds[number]
        features, values, single_columns, single_values = self._entries.groups[number]
        n = len(self._classes)
        duals, waits = self._state.groups[number]
        duals = duals.reshape(n, -1)
        waits = waits.reshape(n, 2, -1)
        if self._is_logistic:
            duals[:] = START_DUAL
        matrix = CheckedMatrix(indptr, features, values, len(self._columns))
        self._entries.release(number)
        self._state.release(number)
        classes = self._blocked.classes[documents].copy()
        return MappedBlock(
            number,
            documents,
            matrix,
            classes,
            single_indptr,
            single_columns,
            single_values,
            duals,
            waits,
        )

    def _load(self, order: Iterable[int] | None = None) -> Iterator[MappedBlock]:
        """Yield the blocks, in an order if it matters; one is in memory."""
        for number in range(self._n_blocks) if order is None else order:
            for file in (self._entries, self._state):
                file.fetch(number)
            yield self._blocks[number]
            for file in (self._entries, self._state):
                file.release(number)

    def _fitted_weights(self, is_fitted: Mask) -> list[Floats]:
        """Return the class weights of the documents of each block; 0 of those that are not
        fitted.
        """
        return [
            self._blocked.class_weights[block.classes] * is_fitted[block.documents]
            for block in self._blocks
        ]

    def _factors(self, is_fitted: Mask) -> BlockFactors:
        """Return the documents, and the sums from which factors are computed. Here each factor is
        1.
        """
        weights = self._fitted_weights(is_fitted)
        return BlockFactors(weights, self._make_documents(weights, 1), np.zeros(0))

    def _make_documents(
        self, weights: list[Floats], n_powers: int, pseudo_count: float = 0.0
    ) -> list[Any]:
        """Return the documents of each block with their sums of squares; see `nbsvm.Ratios`."""
        from nbtext._kernel import BlockDocuments

        found = []
        for block in self._load():
            values = block.single_values
            rows = block.single_rows
            n = len(block.classes)
            shares = log_shares(np.abs(values) * weights[block.number][rows], pseudo_count)
            sums = [
                np.bincount(rows, values**2 * shares**power, minlength=n)
                for power in range(n_powers)
            ]
            squares = np.array(sums, dtype=np.float32)
            found.append(
                BlockDocuments(block.matrix, block.classes, weights[block.number], squares)
            )
        return found

    def _scale(self, classes: Sequence[int], factors: BlockFactors) -> tuple[Floats32, Floats]:
        """Return the weights (0) and squared factors of shared features, (n_classes, n_shared, 2),
        and the offsets.
        """
        features = np.zeros((len(classes), len(self._columns), 2), dtype=np.float32)
        features[:, :, 1] = 1
        return features, np.zeros(len(classes))

    def _single_factors(
        self, signs: Floats, magnitudes: Floats, offset: float, factors: BlockFactors
    ) -> Floats:
        """Return the squared factors of features of one document; `signs` and `magnitudes` are of
        its values.
        """
        return np.ones(len(signs))

    def solve(
        self,
        solver: SolverSettings,
        start: Solution | None = None,
        *,
        classes: Iterable[int] | None = None,
        max_weights: int | None = None,
    ) -> Solution:
        """Return the solution for all documents; see `OneVsRest.solve`. It continues from the last
        one.
        """
        factors = self._factors(np.ones(len(self._blocked), dtype=bool))
        found = {}

        def keep(fits: list[Fit]) -> None:
            singles = self._weigh_singles(fits, factors, solver.C) if not solver.is_rough else {}
            for fit in fits:
                weights = None
                if not solver.is_rough:
                    dense = np.zeros(self._n_features)
                    dense[self._columns] = fit.features[:, 0]
                    for columns, values in singles[fit.own_class]:
                        dense[columns] = values
                    weights = self._make_weights(fit.own_class, dense, max_weights)
                found[fit.own_class] = ClassSolution(
                    NO_DOCUMENTS, np.zeros(0), weights, fit.is_converged
                )

        self._solve_groups(
            list(self._classes if classes is None else classes), factors, solver, keep
        )
        return Solution(found, all(each.is_converged for each in found.values()))

    def score_held_out(
        self,
        folds: Integers32,
        solver: SolverSettings,
        start: Solution,
        scores: Array,
    ) -> None:
        """Score the documents that are held out by the classes of `start`; see
        `OneVsRest.score_held_out`.
        """
        is_held_out = folds != NEVER_HELD_OUT
        places = running_sums(is_held_out)[:-1]
        for number in np.unique(folds[is_held_out]).tolist():
            factors = self._factors(folds != number)
            is_own = folds == number

            def keep(fits: list[Fit], is_own: Mask = is_own) -> None:
                for block in self._load():
                    rows = np.flatnonzero(is_own[block.documents])
                    for fit in fits:
                        scores[places[block.documents][rows], fit.own_class] = fit.kernel.scores(
                            block.matrix, rows
                        )

            self._solve_groups(list(start.classes), factors, solver, keep)

    def _solve_groups(
        self,
        classes: list[int],
        factors: BlockFactors,
        solver: SolverSettings,
        keep: Callable[[list[Fit]], None],
    ) -> None:
        """Solve some classes at a time, as many as have their weights in memory, and keep what is
        needed of them.
        """
        n_groups = -(-len(classes) * len(self._columns) * 8 // MAX_WEIGHT_BYTES) or 1
        for group in np.array_split(classes, max(1, min(n_groups, len(classes)))):
            keep(self._solve_group(group.tolist(), factors, solver))
        self._is_started = True

    def _solve_group(
        self, classes: list[int], factors: BlockFactors, solver: SolverSettings
    ) -> list[Fit]:
        features, offsets = self._scale(classes, factors)
        n_fitted = sum(int(np.count_nonzero(own)) for own in factors.weights)
        largest = float(self._blocked.class_weights.max())
        fits: list[Fit] = []
        for own_class, own, offset in zip(classes, features, offsets.tolist(), strict=True):
            stages = [solver]
            if not self._is_started:
                squares = sum(each.sum_diagonal(own_class, offset) for each in factors.documents)
                squares += dot(own[:, 1], self._shared_squares)
                check_finite(squares)
                stages = list(continuation(solver, squares / n_fitted * largest))
            place = self._classes.index(own_class)
            fits.append(
                Fit(place, own_class, offset, own, n_fitted, stages, is_logistic=self._is_logistic)
            )
            if not self._is_started and not self._is_logistic:
                fits[-1].action = PASS  # all dual variables are 0
        n_visits = 0
        while active := [fit for fit in fits if fit.action != DONE]:
            n_visits += 1
            for fit in active:
                fit.begin()
            self._visit(active, factors, solver, n_visits)
            for fit in active:
                fit.end(is_rough=solver.is_rough)
        return fits

    def _visit(
        self, fits: list[Fit], factors: BlockFactors, solver: SolverSettings, n_visits: int
    ) -> None:
        """Visit all blocks for some classes, each of which does what it needs to."""
        # in the same order each time, the solver needs more visits: 612 instead of about 72 on RT-s
        # (counts, 27 blocks)
        order = np.random.default_rng((solver.seed, n_visits)).permutation(self._n_blocks)
        for block in self._load(order.tolist()):

            def visit(own: list[Fit], block: MappedBlock = block) -> None:
                for fit in own:
                    C = fit.stage.C
                    tolerance = fit.stage.tolerance
                    problem = (
                        factors.documents[block.number],
                        block.duals[fit.place],
                        block.waits[fit.place],
                    )
                    if fit.action == ADD:
                        fit.kernel.add(*problem, C=C)
                    elif fit.action == MEASURE:
                        fit.kernel.measure(*problem, C=C, tolerance=tolerance)
                    else:
                        seed = (solver.seed + fit.n_iter * self._n_blocks + block.number) % 2**64
                        fit.kernel.visit(
                            *problem, C=C, tolerance=tolerance, n_iter=fit.n_iter, seed=seed
                        )

            # a task for each class would spend more on threads than on some blocks: 19 s and not 14
            # to 16 s for 200 MB
            list(
                parallel_map(
                    visit, [fits[n :: self._jobs] for n in range(self._jobs)], jobs=self._jobs
                )
            )

    def _weigh_singles(
        self, fits: list[Fit], factors: BlockFactors, C: float
    ) -> dict[int, list[tuple[Integers32, Floats]]]:
        """Return the columns and the weights of features of one document that are not 0, by
        class.
        """
        found: dict[int, list[tuple[Integers32, Floats]]] = {fit.own_class: [] for fit in fits}
        for block in self._load():
            weights = factors.weights[block.number]
            single_rows = block.single_rows
            for fit in fits:
                signs = np.where(block.classes == fit.own_class, 1.0, -1.0)
                by_entry = (C * block.duals[fit.place] * signs * weights)[single_rows]
                single = np.flatnonzero(by_entry)
                rows = single_rows[single]
                values = block.single_values[single]
                own = self._single_factors(
                    signs[rows], np.abs(values) * weights[rows], fit.offset, factors
                )
                found[fit.own_class].append(
                    (block.single_columns[single], by_entry[single] * own * values)
                )
        return found


class BlockedNbSvm(BlockedOneVsRest):
    """NB-SVM of documents in blocks."""

    def __init__(self, data: BlockedData, settings: LinearSettings, *, jobs: int = 1) -> None:
        super().__init__(data, settings, has_intercept=False, jobs=jobs)

    def _factors(self, is_fitted: Mask) -> BlockFactors:
        from nbtext._kernel import add_by_fold

        totals = np.zeros((1, len(self._columns)))
        total = 0.0
        n_single = 0
        n_entries = 0.0
        fitted = self._fitted_weights(is_fitted)
        for block in self._load():
            weights = fitted[block.number]
            rows = block.single_rows
            add_by_fold(block.matrix, weights, np.zeros(len(weights), dtype=np.int32), totals)
            total += float(np.sum(np.abs(block.single_values) * weights[rows]))
            n_single += int(((weights[rows] > 0) & (block.single_values != 0)).sum())
            shared, single = self._bounds[block.number]
            n_entries += dot(np.diff(shared + single), weights)
        total += float(totals.sum())
        pseudo_count = total / (n_entries or 1.0)
        documents = self._make_documents(fitted, 3, pseudo_count)
        n_features = int((totals > 0).sum()) + n_single
        return BlockFactors(fitted, documents, totals[0], total, n_features, pseudo_count)

    def _scale(self, classes: Sequence[int], factors: BlockFactors) -> tuple[Floats32, Floats]:
        from nbtext._kernel import add_by_fold

        features = np.zeros((len(classes), len(self._columns), 2), dtype=np.float32)
        # sums first, in the same memory
        sums = features.view(np.float64)[:, :, 0]
        single = np.zeros(self._n_classes)
        numbers = np.full(self._n_classes, -1, dtype=np.int32)
        numbers[classes] = np.arange(len(classes), dtype=np.int32)
        for block in self._load():
            weights = factors.weights[block.number]
            rows = block.single_rows
            add_by_fold(block.matrix, weights, numbers[block.classes], sums)
            magnitudes = np.abs(block.single_values) * weights[rows]
            single += np.bincount(block.classes[rows], magnitudes, self._n_classes)
        offsets = np.zeros(len(classes))
        for number, own_class in enumerate(classes):
            features[number, :, 1], offsets[number] = square_factors(
                sums[number].copy(),
                single[own_class],
                factors.totals,
                factors.total,
                factors.n_features,
                factors.pseudo_count,
            )
            features[number, :, 0] = 0
        return features, offsets

    def _single_factors(
        self, signs: Floats, magnitudes: Floats, offset: float, factors: BlockFactors
    ) -> Floats:
        return np.asarray((signs * log_shares(magnitudes, factors.pseudo_count) + offset) ** 2)


# the problems of documents in blocks, by model
BLOCKED = {"svm": BlockedOneVsRest, "nbsvm": BlockedNbSvm}
