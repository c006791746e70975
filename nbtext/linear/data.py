"""What linear models share: their records, their training data, and the compact matrix of the
compiled solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.arrays import Array, Floats, Floats32, Hashes, Integers, Integers32, Mask
from nbtext.bayes.class_statistics import LabelSets
from nbtext.bayes.scorer import LinearScorer
from nbtext.errors import ModelError
from nbtext.features.csr import running_sums
from nbtext.kernel import HAS_KERNEL
from nbtext.numerics import dot
from nbtext.records import frozen

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SQUARES_AT_ONCE = 2**18  # entries whose squares are in memory at once
ROWS_CONVERTED_AT_ONCE = 2**10  # documents whose values are converted at once

LINEAR_TOLERANCE = 5e-5
MAX_ITER = 1000
# Fold models are solved roughly: what they tell of C and the temperature has a larger error than
# that.
FOLD_TOLERANCE = 1e-3
FOLD_MAX_ITER = 30
# of L-BFGS: it gains less than a pass of coordinate descent, and rough fits are of few passes
STEPS_PER_PASS = 10
# The state of a document in the problem of a class: see `Row` in one_vs_rest.pxi. The dual variable
# is divided by C; the sign is 1 if the document is of the class, else -1.
ROW = np.dtype(
    [
        ("dual", np.float32),
        ("square", np.float32),
        ("due", np.int32),
        ("wait", np.int16),
        ("sign", np.int8),
        ("is_far", np.int8),
    ]
)
Rows = NDArray[np.void]


class SolverSettings(NamedTuple):
    """The regularization of a problem, and the limits of its solver.

    C          inverse regularization strength, > 0
    tolerance  relative duality gap at which the solver stops
    max_iter   passes over the documents at which it stops in any case; L-BFGS stops after as many
               iterations, or after STEPS_PER_PASS times as many in a rough fit, and Newton's method
               after as many steps
    seed       of the order in which documents are visited
    is_rough   whether to stop after `max_iter` passes, without Newton's method
    min_weight  of the largest magnitude of a class, below which weights are left out
    """

    C: float
    tolerance: float = LINEAR_TOLERANCE
    max_iter: int = MAX_ITER
    seed: int = 0
    is_rough: bool = False
    min_weight: float = 0.0


def make_rough(solver: SolverSettings) -> SolverSettings:
    """Return the settings of models of folds."""
    return solver._replace(tolerance=FOLD_TOLERANCE, max_iter=FOLD_MAX_ITER, is_rough=True)


class Problem(Protocol):
    """A linear model over given training data. Its solutions are plain data, and serve as starts of
    further ones.
    """

    def solve(self, solver: SolverSettings, start: Any = None) -> Any:
        """Return the solution for all documents; `start`, one for another C, may be overwritten."""

    def scorer(self, solution: Any) -> LinearScorer:
        """Return the scorer of a solution, which may give up its memory."""

    def score_folds(self, folds: Integers32, solver: SolverSettings, start: Any) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by models of the
        other folds.

        folds  (n_documents,), the fold of each document
        start  the solution for all documents, from which the models of the folds continue
        """


@frozen(kw_only=True)
class LinearModel:
    """One linear model. `event_models.LINEAR_MODELS` registers them by name.

    problem  makes a Problem of the documents, LinearSettings and the number of threads
    is_one_vs_rest  whether it is a OneVsRest, which documents with several labels, or in blocks,
                    need
    options  fields of ModelSettings that this model takes, but not every model
    searched  candidates of a model search: the names of a feature set and a weighting, and C
    is_stacked  whether it adds up the scores of parts, whose weights are fitted to held-out
                documents
    """

    problem: Callable[..., Any]
    is_one_vs_rest: bool = False
    options: tuple[str, ...] = ("C",)
    searched: tuple[tuple[str, str, float], ...] = ()
    is_stacked: bool = False


@frozen(eq=False)
class WordVectors:
    """The vectors of the words among the features, and of further words, which no document has.

    columns  (n_words,), ascending, of the features that are words
    rows     (n_words + n_further, n_dimensions), the vectors of both; 0 where there is none
    places   (n_features + n_further,), the column of each feature and further word in the scorer
    bounds   (n_views + 1,) of the columns of the views in the scorer; None: there is only one
    """

    columns: Integers32
    rows: Floats32
    places: Integers32
    bounds: tuple[int, ...] | None = None


@frozen(eq=False)
class TrainingData:
    """The weighted features of documents as a CSR matrix (n_documents, n_features), and their
    classes.

    With `sets`, a document has several classes, or none.

    indptr   (n_documents + 1,) int64
    indices  (n_entries,) int32
    values   (n_entries,) float64, finite
    classes  (n_documents,) int32, 0 to n_classes - 1; with `sets`, the number of the document's set
    hashes   (n_documents,) of their content: documents with equal hashes are duplicates; None:
             there are none
    class_weights  (n_classes,), > 0, of each document of a class in all sums of documents; None: 1,
                   as with `sets`
    sets     of classes; None: each document has one class
    views    names of the views of the features; empty: there is only one
    bounds   (n_views + 1,) of their columns; None: there is only one
    words    (n_words,) of the columns, those of single words, of which a stack has parts; None:
             there are none
    factors  (n_features,), by which the values are multiplied; None: 1. `slice` multiplies them
    vectors  of words, of which a stack has a part; None: there are none
    """

    indptr: Integers
    indices: Integers32
    values: Floats
    classes: Integers32
    n_features: int
    n_classes: int
    hashes: Hashes | None = None
    class_weights: Floats | None = None
    sets: LabelSets | None = None
    views: tuple[str, ...] = ()
    bounds: tuple[int, ...] | None = None
    words: Integers | None = None
    factors: Floats | None = None
    vectors: WordVectors | None = None

    def __len__(self) -> int:
        return len(self.classes)

    def slice(self, start: int, stop: int) -> TrainingData:
        """Return the documents from `start` up to `stop`; the factors are in their values."""
        entries = slice(self.indptr[start], self.indptr[stop])
        ends = self.indptr[start : stop + 1]
        indptr = ends - ends[0]
        indices = self.indices[entries]
        values = self.values[entries]
        if self.factors is not None:
            values = self.factors[indices] * values
        return replace(
            self,
            indptr=indptr,
            indices=indices,
            values=values,
            classes=self.classes[start:stop],
            hashes=None if self.hashes is None else self.hashes[start:stop],
            factors=None,
        )

    def split(self) -> Iterator[tuple[int, TrainingData]]:
        """Yield parts of ROWS_CONVERTED_AT_ONCE documents, each with the number of its first one;
        see `slice`.
        """
        for start in range(0, len(self), ROWS_CONVERTED_AT_ONCE):
            yield start, self.slice(start, min(start + ROWS_CONVERTED_AT_ONCE, len(self)))

    @cached_property
    def document_weights(self) -> Floats:
        """The class weight of each document, (n_documents,)."""
        return (
            np.ones(len(self)) if self.class_weights is None else self.class_weights[self.classes]
        )

    @cached_property
    def members(self) -> list[Integers32]:
        """The documents of each class, ascending."""
        documents = np.arange(len(self), dtype=np.int32)
        classes = self.classes
        if self.sets is not None:
            own = self.sets.take(self.classes)
            documents = own.entry_sets.astype(np.int32)
            classes = own.classes
        order = np.argsort(classes, kind="stable")
        return np.split(
            documents[order], np.searchsorted(classes[order], np.arange(1, self.n_classes))
        )

    def is_of(self, own_class: int) -> Mask:
        """Return whether each document is of a class, (n_documents,)."""
        is_own = np.zeros(len(self), dtype=bool)
        is_own[self.members[own_class]] = True
        return is_own

    @cached_property
    def matrix(self) -> csr_array:
        from scipy.sparse import csr_array

        return csr_array(
            (self.values, self.indices, self.indptr), shape=(len(self), self.n_features)
        )

    def mean_square(self) -> float:
        """Return the mean over documents of Σ_j x_j².

        Raises
        ------
        ModelError : it is not finite
        """
        with np.errstate(over="ignore", invalid="ignore"):
            mean = dot(self.values, self.values) / max(1, len(self))
        check_finite(mean)
        return mean


@frozen(eq=False)
class CompactMatrix:
    """The documents with frequent features first, and features of one document apart.

    Frequent features are neighbors, so that the weights that are used most stay in the cache. With
    word pairs, most features occur in one document only: `one_vs_rest.pxi` says why the solvers
    need no weight for them.

    columns         (n_shared,) int32, the column of each feature that at least two documents hold
    indptr          (n_documents + 1,) int64
    features        (n_entries,) int32, 0 to n_shared - 1
    values          (n_entries,) float32
    single_rows     (n_single,) int32, the document of each feature that one document holds,
                    ascending
    single_columns  (n_single,) int32
    single_values   (n_single,) float64
    """

    columns: Integers32
    indptr: Integers
    features: Integers32
    values: Floats32
    single_rows: Integers32
    single_columns: Integers32
    single_values: Floats

    @classmethod
    def of(cls, data: TrainingData, *, has_constant: bool = False) -> CompactMatrix:
        """Return the compact matrix of training data; of a single document, all features are
        shared.

        has_constant  whether there is a further feature, with the value 1 in each document

        raises  ModelError: values are too large for float32
        """
        frequencies = np.append(
            sum_columns(data.indices, None, data.n_features), [len(data)] * has_constant
        )
        columns, places = order_features(frequencies, min(2, len(data)))
        indptr = np.zeros(len(data) + 1, dtype=np.int64)
        n_shared = int(frequencies[columns].sum())
        features = np.empty(n_shared, dtype=np.int32)
        values = np.empty(n_shared, dtype=np.float32)
        singles = [(features[:0], features[:0], np.zeros(0))]
        for start, part in data.split():
            own = cls.split(
                part.indptr, part.indices, part.values, columns, places, is_adding=has_constant
            )
            ends = indptr[start] + own.indptr
            indptr[start : start + len(ends)] = ends
            entries = slice(ends[0], ends[-1])
            features[entries] = own.features
            values[entries] = own.values
            singles.append(
                (own.single_rows + np.int32(start), own.single_columns, own.single_values)
            )
        return cls(
            columns, indptr, features, values, *map(np.concatenate, zip(*singles, strict=True))
        )

    @classmethod
    def split(
        cls,
        indptr: Integers,
        indices: Integers32,
        values: Floats,
        columns: Integers32,
        places: Integers32,
        *,
        is_adding: bool = False,
    ) -> CompactMatrix:
        """Return the compact matrix of some documents; `columns` and `places` are of
        `order_features`.

        is_adding  whether to add an entry to each document: of the last feature, with the value 1

        raises  ModelError: values are too large for float32
        """
        if is_adding:
            indices = np.insert(indices, indptr[1:], np.int32(len(places) - 1))
            values = np.insert(values, indptr[1:], 1.0)
            indptr = indptr + np.arange(len(indptr))
        features = places[indices]
        is_shared = features >= 0
        single = np.flatnonzero(~is_shared)
        rows = (np.searchsorted(indptr, single, side="right") - 1).astype(np.int32)
        features = features[is_shared]
        ends = indptr - running_sums(np.bincount(rows, minlength=len(indptr) - 1))
        shared = np.empty(len(features), dtype=np.float32)
        for first in range(0, len(indptr) - 1, ROWS_CONVERTED_AT_ONCE):
            last = min(first + ROWS_CONVERTED_AT_ONCE, len(indptr) - 1)
            entries = slice(indptr[first], indptr[last])
            with np.errstate(over="ignore"):
                shared[ends[first] : ends[last]] = values[entries][is_shared[entries]]
        check_finite(shared)
        return cls(columns, ends, features, shared, rows, indices[single], values[single])

    @property
    def sizes(self) -> Integers:
        """The number of entries of each document, (n_documents,)."""
        return np.diff(self.indptr) + np.bincount(self.single_rows, minlength=len(self.indptr) - 1)

    @cached_property
    def checked(self) -> Any:
        """The shared features as the compiled functions take them."""
        from nbtext._kernel import CheckedMatrix

        return CheckedMatrix(self.indptr, self.features, self.values, len(self.columns))

    def add_magnitudes(self, weights: Floats, groups: Integers, sums: Floats) -> None:
        """Add the magnitudes of each shared feature's values, times the weight of the document, in
        each group of documents.

        groups  (n_documents,); documents below 0 are in no group
        sums    (n_groups, n_shared), to which is added
        """
        if HAS_KERNEL:
            from nbtext._kernel import add_by_fold

            add_by_fold(self.checked, weights, groups.astype(np.int32), sums)
            return
        lengths = np.diff(self.indptr)
        for group in range(len(sums)):
            shares = np.repeat(weights * (groups == group), lengths)
            magnitudes = np.abs(self.values) * shares
            sums[group] += np.bincount(self.features, magnitudes, len(self.columns))

    def squares(self) -> Floats:
        """Return the sum of the squares of each shared feature's values, (n_shared,)."""
        return sum_columns(self.features, self.values, len(self.columns), power=2)


class ClassSolution(NamedTuple):
    """The solution of a class against the rest.

    documents     (n_close,) int32, those with a dual variable, or close to the margin
    dual          (n_close,), the dual variables divided by C
    weights       None: of a rough fit, which only starts others
    is_converged  whether the tolerance is met
    """

    documents: Integers32
    dual: Floats32
    weights: LabelWeights | None
    is_converged: bool


class LabelWeights(NamedTuple):
    """The weights of a class.

    columns, values  (n,), of the features whose weight is not 0, ascending
    """

    own_class: int
    bias: float
    columns: Integers32
    values: Floats


@frozen(eq=False)
class DocumentBlock:
    """Some of the documents: all of them if they are in memory.

    documents  their numbers
    compact    their features
    weights    (n,), the class weight of each
    is_of      returns whether each document is of a class, (n,)
    """

    number: int
    documents: slice
    compact: CompactMatrix
    weights: Floats
    is_of: Callable[[int], Mask]

    def signs(self, own_class: int) -> Integers:
        """Return 1 for each document of a class, and -1 for the others, (n,)."""
        return np.where(self.is_of(own_class), 1, -1)

    def places(self, classes: Sequence[int]) -> Integers:
        """Return the place of each document's class among some classes, or -1, (n,)."""
        places = np.full(len(self.weights), -1)
        for place, own_class in enumerate(classes):
            places[self.is_of(own_class)] = place
        return places


class DocumentsInMemory:
    """Training data as one block, over which each class is solved by a thread of its own.

    columns  (n_shared,) int32, of the features that at least two documents hold
    squares  (n_shared,), the sum of the squares of the values of each
    """

    is_on_disk = False
    n_blocks = 1

    def __init__(self, data: TrainingData, *, has_intercept: bool) -> None:
        compact = CompactMatrix.of(data, has_constant=has_intercept)
        self.blocks = [DocumentBlock(0, slice(None), compact, data.document_weights, data.is_of)]
        self.columns = compact.columns
        self.squares = compact.squares()

    def load(self, seed: tuple[int, int] | None = None) -> Iterator[DocumentBlock]:
        """Yield the block."""
        yield from self.blocks

    def make_rows(
        self, own_class: int, start: ClassSolution | None, *, first_dual: float
    ) -> list[Rows]:
        """Return the state of the documents of each block, where a fit begins."""
        signs = self.blocks[0].signs(own_class)
        rows = np.zeros(len(signs), dtype=ROW)
        rows["sign"] = signs
        rows["dual"] = first_dual
        if start is not None:
            rows["dual"] = 0
            rows["is_far"] = 1
            rows["dual"][start.documents] = start.dual
            rows["is_far"][start.documents] = 0
        return [rows]

    def pack_rows(self, rows: list[Rows]) -> tuple[Integers32, Floats32]:
        """Return the documents and the dual variables of a `ClassSolution`."""
        (own,) = rows
        documents = np.flatnonzero((own["dual"] != 0) | (own["is_far"] == 0)).astype(np.int32)
        return documents, own["dual"][documents]


def sum_columns(
    indices: Integers32,
    values: NDArray[np.floating] | None,
    n_columns: int,
    *,
    power: int = 1,
) -> Floats:
    """Return the sum over each column of its entries to a power, (n_columns,).

    indices  (n_entries,), the column of each entry
    values   (n_entries,); None: each is 1, so that the sums are numbers of entries
    """
    sums = np.zeros(n_columns)
    for first in range(0, len(indices), SQUARES_AT_ONCE):  # bincount makes copies
        part = slice(first, first + SQUARES_AT_ONCE)
        own = None if values is None else np.power(values[part], power, dtype=np.float64)
        sums += np.bincount(indices[part], own, n_columns)
    return sums


def order_features(frequencies: Array, at_least: int = 2) -> tuple[Integers32, Integers32]:
    """Return the columns of the features that so many documents hold, the most frequent first, and
    their places.

    frequencies  (n_features,), numbers of documents
    returns      (n_shared,), and for each feature its place among these, (n_features,); -1 if it
                 has none
    """
    shared = np.flatnonzero(frequencies >= at_least)
    columns = shared[np.argsort(-frequencies[shared], kind="stable")].astype(np.int32)
    places = np.full(len(frequencies), -1, dtype=np.int32)
    places[columns] = np.arange(len(columns), dtype=np.int32)
    return columns, places


def check_finite(numbers: NDArray[np.floating] | float) -> None:
    """Raise ModelError if a number is infinite or not a number."""
    if not np.isfinite(numbers).all():
        hint = "scale the features down, or use a smaller C"
        raise ModelError(
            "a feature value, or C, is infinite or too large for a linear model", hint=hint
        )
