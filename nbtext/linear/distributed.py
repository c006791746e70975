"""Each class against the rest, for documents that workers of a cluster keep: the problems of
`one_vs_rest` and `nbsvm`.

Each worker keeps a part of the documents with their dual variables. In a round, it improves them
with its own copy of the weights w, and returns what they contribute to w; the sum of all
contributions is the next w. All do so at once. So in a copy, a step of feature j counts n_j times,
where n_j is the number of parts that hold j: as (Σ_p d_pj)² is at most n_j Σ_p d_pj², the dual
objective grows by what all parts expect, or more. This is CoCoA+, whose σ' is the same for all
features: the number of parts.

Rounds are accelerated: each starts from the dual variables α + β (α - α'), α' those before, and β
becomes 0 where the dual objective falls. The primal objective is measured where a round starts, the
dual one where it ends. Both bound the optimum, whatever the dual variables are, so that the part of
a lost worker may begin again with 0.

Ma, Smith, Jaggi, Jordan, Richtárik, Takáč, Adding vs. Averaging in Distributed Primal-Dual
Optimization, 2015; O'Donoghue, Candès, Adaptive Restart for Accelerated Gradient Schemes, 2015.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.newton import dot
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.stored_documents import DocumentParts, Record
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.linear import blocks
from nbtext.linear.blocks import NO_DOCUMENTS, BlockedData
from nbtext.linear.data import (
    CompactMatrix,
    Floats,
    LinearModel,
    SolverSettings,
    check_finite,
    order_features,
)
from nbtext.linear.nbsvm import log_shares, square_factors, sum_single_squares
from nbtext.linear.one_vs_rest import START_DUAL, ClassSolution, OneVsRest, Solution

# Passes of a worker in a round, if the loss is logistic and if not. With 4 parts of 20 Newsgroups,
# three labels: 9, 7, 9 rounds of three passes, and 21, 18, 21 of one; of the squared hinge loss 33,
# 24, 26 rounds of two passes, and 35, 24, 26 of one.
N_PASSES = {True: 3, False: 1}
# Share of the tolerance by which the dual objective may seem to fall: rounding to float32 changes
# it by about 1e-7 of its value. The counts of IMDB, from a solution for a smaller C, need over
# 1,000 rounds with 0, 324 with 0.01 and 274 with 0.1; a small corpus with C = 30 needs 174, 174 and
# 205.
NOISE = 0.01
# rows of the sums of NB-SVM: number of parts, all classes, each class
TOTAL = 1
FIRST_CLASS = 2
NO_HELD_OUT = np.zeros(0, dtype=np.int64)
# of a part: documents; of those, for NB-SVM, features of one document, their sum, entries
N_SCALARS = 4


def make_part(
    documents: DocumentCounts,
    weights: Floats,
    places: NDArray[np.int32],
    class_weights: Floats,
    *,
    has_intercept: bool,
) -> Record:
    """Return documents as a worker keeps them: those of a `CompactMatrix`, whose columns are those
    features it holds.

    weights  (n_entries,), of the features
    places   (n_columns,), the place of each feature among the shared ones; -1 if only one document
             holds it
    """
    own = CompactMatrix.split(
        documents.indptr, documents.indices, weights, NO_DOCUMENTS, places, is_adding=has_intercept
    )
    is_held = np.zeros(int(places.max(initial=-1)) + 1, dtype=bool)
    is_held[own.features] = True
    return vars(own) | {
        "columns": np.flatnonzero(is_held).astype(np.int32),
        "features": running_sums(is_held).astype(np.int32)[own.features],
        "classes": documents.classes,
        "hashes": documents.hashes,
        "weights": class_weights[documents.classes],
    }


def _fitted_weights(part: Record, held_out: Record) -> Floats:
    """Return the class weight of each document of a part; 0 if it is held out."""
    weights = part["weights"].copy()
    pairs = set(zip(*(each.tolist() for each in held_out.values()), strict=True))
    for row in np.flatnonzero(np.isin(part["hashes"], held_out["hashes"])).tolist():
        if (int(part["hashes"][row]), int(part["classes"][row])) in pairs:
            weights[row] = 0
    return np.asarray(weights)


def _matrix(part: Record) -> Any:
    from nbtext._kernel import CheckedMatrix

    return CheckedMatrix(part["indptr"], part["features"], part["values"], len(part["columns"]))


def sum_features(part: Record, before: Record | None, given: Record) -> Record:
    """Return the sums over the fitted documents of a part from which a problem is made; see
    `_begin_problem`.
    """
    from nbtext._kernel import add_by_fold

    weights = _fitted_weights(part, given["held_out"])
    rows = part["single_rows"]
    n_classes = given["n_classes"]
    scalars = np.zeros(N_SCALARS + n_classes)
    scalars[0] = np.count_nonzero(weights)
    values = np.ones((1, len(part["columns"])))
    if given["has_ratios"]:
        classes = given["classes"]
        matrix = _matrix(part)
        numbers = np.full(n_classes, -1, dtype=np.int32)
        numbers[classes] = np.arange(len(classes), dtype=np.int32)
        sums = np.zeros((1 + len(classes), len(part["columns"])))
        add_by_fold(matrix, weights, np.zeros(len(weights), dtype=np.int32), sums[:1])
        add_by_fold(matrix, weights, numbers[part["classes"]], sums[1:])
        values = np.concatenate((values, sums))
        magnitudes = np.abs(part["single_values"]) * weights[rows]
        n_entries = np.diff(part["indptr"]) + np.bincount(rows, minlength=len(weights))
        scalars[1:N_SCALARS] = (
            np.count_nonzero(magnitudes),
            magnitudes.sum(),
            dot(n_entries, weights),
        )
        scalars[N_SCALARS:] = np.bincount(part["classes"][rows], magnitudes, n_classes)
    update = {"columns": part["columns"], "values": values, "scalars": scalars}
    return {"state": None if before is None else before["state"], "update": update}


def _begin(part: Record, before: Record | None, problem: Record) -> Record:
    """Return the state of a part in a problem; it keeps the dual variables of the problem
    before.
    """
    state: Record | None = None if before is None else before["state"]
    if state is not None and state["problem"] == problem["number"]:
        return state
    weights = _fitted_weights(part, problem["held_out"])
    rows = part["single_rows"]
    values = part["single_values"]
    # see nbsvm.Ratios
    squares = np.zeros((3 if problem["has_ratios"] else 1, len(weights)), dtype=np.float32)
    shares = log_shares(np.abs(values) * part["weights"][rows], problem["pseudo_count"])
    for power in range(len(squares)):
        squares[power] = np.bincount(rows, values**2 * shares**power, minlength=len(weights))
    dual = {} if state is None else state["dual"]
    return {"problem": problem["number"], "weights": weights, "squares": squares, "dual": dual}


def improve(part: Record, before: Record | None, problem: Record, given: Record) -> Record:
    """Improve the dual variables of a part, for some classes; return what they contribute to their
    weights.

    given["weights"]  (n_active, n_shared), of each class where the round starts
    """
    from nbtext._kernel import improve_binary

    state = _begin(part, before, problem)
    matrix = _matrix(part)
    columns = part["columns"]
    is_logistic = problem["is_logistic"]
    n = len(part["classes"])
    duals = dict(state["dual"])
    squares = state["squares"]
    values = np.zeros((len(given["classes"]), len(columns)), dtype=np.float32)
    scalars = []
    for number, own_class in enumerate(given["classes"]):
        place = problem["classes"].index(own_class)
        signs = np.where(part["classes"] == own_class, 1.0, -1.0)
        start = np.full(n, START_DUAL * is_logistic)
        old, older = duals.get(own_class, (start, start))
        dual = np.clip(
            old + given["momentum"][number] * (old - older), 0, 1 if is_logistic else None
        )
        features = np.ones((len(columns), 2), dtype=np.float32)
        features[:, 0] = given["weights"][number][columns]
        diagonal = squares[0]
        if problem["has_ratios"]:
            features[:, 1] = problem["scales"][place][columns]
            diagonal = sum_single_squares(squares, signs, problem["offsets"][place])
        scalars.append(
            improve_binary(
                matrix,
                given["C"] * signs * state["weights"],
                diagonal.astype(np.float32),
                features,
                problem["holders"][columns],
                dual,
                is_logistic=is_logistic,
                tolerance=given["tolerance"],
                objective=given["objective"][number],
                n_fitted=problem["n_fitted"],
                n_passes=given["n_passes"],
                seed=given["seed"],
            )
        )
        duals[own_class] = (dual, old)
        values[number] = features[:, 0]
    update = {"columns": columns, "values": values, "scalars": np.array(scalars).ravel()}
    return {"state": {**state, "dual": duals}, "update": update}


def weigh_singles(part: Record, before: Record | None, problem: Record, given: Record) -> Record:
    """Return the weights of the features that one document holds, (n_classes, n_single)."""
    state = _begin(part, before, problem)
    rows = part["single_rows"]
    values = part["single_values"]
    magnitudes = np.abs(values) * part["weights"][rows]
    found = np.zeros((len(problem["classes"]), len(values)), dtype=np.float32)
    for place, own_class in enumerate(problem["classes"]):
        signs = np.where(part["classes"] == own_class, 1.0, -1.0)
        factor = np.ones(1)
        if problem["has_ratios"]:
            factor = (
                signs[rows] * log_shares(magnitudes, problem["pseudo_count"])
                + problem["offsets"][place]
            )
        dual = state["dual"][own_class][0] if own_class in state["dual"] else np.zeros(len(signs))
        found[place] = (given["C"] * dual * signs * state["weights"])[rows] * factor**2 * values
    update = {"columns": part["single_columns"], "values": found, "scalars": np.zeros(0)}
    return {"state": state, "update": update}


def add_updates(updates: Sequence[Record]) -> Record:
    """Return the sum of what parts return: `values`, (n, n_columns), by column, and `scalars`."""
    columns = np.unique(np.concatenate([each["columns"] for each in updates]))
    values = np.zeros((len(updates[0]["values"]), len(columns)), dtype=updates[0]["values"].dtype)
    for each in updates:
        values[:, np.searchsorted(columns, each["columns"])] += each["values"]
    return {
        "columns": columns,
        "values": values,
        "scalars": np.sum([each["scalars"] for each in updates], axis=0),
    }


class DistributedData(BlockedData):
    """The training data of documents that workers keep in parts.

    sample  the documents with the smallest hashes, weighted
    """

    def __init__(  # noqa: PLR0913 - what is kept, what it means, and what is fitted to it
        self,
        parts: DocumentParts,
        sample: DocumentCounts,
        vocabulary: Vocabulary | None,
        labels: tuple[str, ...],
        weighting: Weighting,
        statistics: ClassStatistics,
        class_weights: Floats | None,
        *,
        has_intercept: bool,
    ) -> None:
        self.parts = parts
        self.sample = sample
        self.has_intercept = has_intercept
        self.n_features = statistics.n_features
        self.n_classes = len(labels)
        self.class_weights = np.ones(len(labels)) if class_weights is None else class_weights
        frequencies = statistics.document_frequencies
        if has_intercept:
            frequencies = np.append(frequencies, statistics.n_documents)
        self.columns, places = order_features(frequencies)
        hashes, classes = parts.prepare(
            {
                "vocabulary": vocabulary,
                "labels": labels,
                "weighting": weighting,
                "places": places,
                "class_weights": self.class_weights,
                "has_intercept": has_intercept,
            }
        )
        order = np.lexsort((classes, hashes))
        self.hashes = hashes[order]
        self.classes = classes[order]

    def make_problem(self, model: LinearModel, settings: LinearSettings, *, jobs: int) -> OneVsRest:
        return DistributedOneVsRest(self, settings)


class DistributedOneVsRest(OneVsRest):
    """NB-SVM, or the linear support vector machine, of documents that workers keep in parts."""

    def __init__(self, data: DistributedData, settings: LinearSettings) -> None:
        self._distributed = data
        self._settings = settings
        self._has_intercept = data.has_intercept
        self._classes = range(1, data.n_classes) if data.n_classes <= 2 else range(data.n_classes)
        self._n_classes = data.n_classes
        self._n_features = data.n_features + data.has_intercept
        self._n_problems = 0
        self._is_started = False

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
        found = {}
        for own_class, weights, is_converged in self._solve_all(
            self._classes if classes is None else classes, solver
        ):
            own = None if solver.is_rough else self._make_weights(own_class, weights, max_weights)
            found[own_class] = ClassSolution(NO_DOCUMENTS, np.zeros(0), own, is_converged)
        return Solution(found, all(each.is_converged for each in found.values()))

    def score_held_out(
        self,
        folds: NDArray[np.int32],
        solver: SolverSettings,
        start: Solution,
        scores: NDArray[Any],
    ) -> None:
        """Score the documents that are held out by the classes of `start`; see
        `OneVsRest.score_held_out`.
        """
        from scipy.sparse import csr_array

        data = self._distributed
        sample = self._distributed.sample
        matrix = csr_array(
            (sample.counts, sample.indices, sample.indptr), shape=(len(sample), data.n_features)
        )
        held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
        for number in np.unique(folds[held_out]).tolist():
            documents = np.flatnonzero(folds == number)
            rows = np.searchsorted(held_out, documents)
            own = matrix[documents]
            for own_class, weights, _ in self._solve_all(start.classes, solver, documents):
                bias = weights[-1] if self._has_intercept else 0.0
                scores[rows, own_class] = own @ weights[: data.n_features] + bias

    def _solve_all(
        self,
        classes: Iterable[int],
        solver: SolverSettings,
        held_out: NDArray[np.int64] = NO_HELD_OUT,
    ) -> Iterator[tuple[int, Floats, bool]]:
        """Yield each class with its weights, (n_features,), and whether they are within the
        tolerance.

        Classes are solved some at a time, as many as have their weights in the memory of a worker.
        """
        data = self._distributed
        numbers = list(classes)
        n_groups = -(-len(numbers) * len(data.columns) * 8 // blocks.MAX_WEIGHT_BYTES) or 1
        for group in np.array_split(numbers, max(1, min(n_groups, len(numbers)))):
            problem = self._begin_problem(group.tolist(), held_out)
            n_lost = -1
            # a worker may be lost whose dual variables are needed
            while n_lost != data.parts.n_lost:
                shared, is_converged = self._solve_group(problem, solver)
                n_lost = data.parts.n_lost
                self._is_started = True
                single = data.parts.run(weigh_singles, problem, {"C": solver.C})
            for place, own_class in enumerate(problem["classes"]):
                weights = np.zeros(self._n_features)
                weights[data.columns] = shared[place]
                weights[single["columns"]] = single["values"][place]
                yield own_class, weights, bool(is_converged[place])

    def _begin_problem(self, classes: list[int], held_out: NDArray[np.int64]) -> Record:
        """Return what workers need to know of the problems of some classes, without the documents
        of a fold.
        """
        data = self._distributed
        has_ratios = not self._has_intercept
        problem: Record = {
            "classes": classes,
            "n_classes": data.n_classes,
            "has_ratios": has_ratios,
            "held_out": {"hashes": data.hashes[held_out], "classes": data.classes[held_out]},
        }
        found = data.parts.run(sum_features, problem)
        sums = np.zeros((len(found["values"]), len(data.columns)))
        sums[:, found["columns"]] = found["values"]
        n_fitted, n_single, in_single, n_entries = found["scalars"][:N_SCALARS].tolist()
        self._n_problems += 1
        problem = problem | {
            "number": self._n_problems,
            "n_fitted": int(n_fitted),
            "holders": sums[0].astype(np.float32),
            "is_logistic": self._settings.loss == "logistic",
            "pseudo_count": 0.0,
            "offsets": [0.0] * len(classes),
            "scales": np.ones((1, len(data.columns)), dtype=np.float32),
        }
        if has_ratios:
            totals = sums[TOTAL]
            total = float(sums[TOTAL].sum() + in_single)
            a = problem["pseudo_count"] = (
                self._settings.ratio_smoothing * total / (n_entries or 1.0)
            )
            n_features = int(np.count_nonzero(totals) + n_single)
            problem["scales"] = np.zeros((len(classes), len(totals)), dtype=np.float32)
            for place, (own_class, own) in enumerate(zip(classes, sums[FIRST_CLASS:], strict=True)):
                problem["scales"][place], problem["offsets"][place] = square_factors(
                    own,
                    float(found["scalars"][N_SCALARS + own_class]),
                    totals,
                    total,
                    n_features,
                    a,
                )
        return problem

    def _solve_group(
        self, problem: Record, solver: SolverSettings
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the weights of shared features, (n_classes, n_shared), and whether each class
        converged.
        """
        data = self._distributed
        n = len(problem["classes"])
        weights = np.zeros((n, len(data.columns)), dtype=np.float32)
        older = weights.copy()
        is_converged = np.zeros(n, dtype=bool)
        active = np.arange(n)
        objective = np.zeros(n)
        steps = np.ones(n)
        momentum = np.zeros(n)
        # at first, compute the weights
        n_passes = 0 if self._is_started else N_PASSES[problem["is_logistic"]]

        def penalize(rows: NDArray[np.float32]) -> Floats:
            """Return ½ Σ w² / scale of some active classes."""
            scales = problem["scales"][
                active if problem["has_ratios"] else np.zeros(len(active), dtype=int)
            ]
            pairs = zip(rows, scales, strict=True)
            return np.array(
                [dot(np.divide(w, s, out=np.zeros_like(w), where=s > 0), w) / 2 for w, s in pairs]
            )

        n_lost = data.parts.n_lost
        for n_iter in range(1, solver.max_iter + 1):
            solver.check()
            begin = weights[active] + momentum[active, None].astype(np.float32) * (
                weights[active] - older[active]
            )
            update = data.parts.run(
                improve,
                problem,
                {
                    "classes": [problem["classes"][place] for place in active],
                    "weights": begin,
                    "C": solver.C,
                    "momentum": momentum[active],
                    "objective": objective[active],
                    "tolerance": solver.tolerance,
                    "n_passes": n_passes,
                    "seed": (solver.seed + n_iter) % 2**64,
                },
            )
            found = np.zeros_like(begin)
            found[:, update["columns"]] = update["values"]
            losses, dual = update["scalars"].reshape(-1, 2).T
            primal = losses + penalize(begin)
            dual = dual - penalize(found)
            check_finite(primal)
            check_finite(dual)
            is_within = primal - dual <= solver.tolerance * dual
            best = objective[active]
            is_falling = (dual < (1 - NOISE * solver.tolerance) * best) | (n_passes == 0)
            next_step = np.where(is_falling, 1.0, (1 + np.sqrt(1 + 4 * steps[active] ** 2)) / 2)
            momentum[active] = np.where(is_falling, 0.0, (steps[active] - 1) / next_step)
            steps[active] = next_step
            objective[active] = np.maximum(dual, np.where(is_falling, 0, best))
            older[active] = weights[active]
            weights[active] = found
            is_converged[active] = is_within
            # and with them dual variables of classes that had converged
            if n_lost < data.parts.n_lost:
                n_lost = data.parts.n_lost
                is_converged[:] = False
                steps[:] = 1
                momentum[:] = 0
                objective[:] = 0
            active = np.flatnonzero(~is_converged)
            n_passes = N_PASSES[problem["is_logistic"]]
            if not len(active):
                break
        return weights, is_converged
