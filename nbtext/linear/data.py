"""What linear models share: their records, and their training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.arrays import Floats, Floats32, Integers, Integers32, Mask
from nbtext.bayes.class_statistics import LabelSets
from nbtext.bayes.scorer import LinearScorer
from nbtext.errors import ModelError
from nbtext.features.document_table import DocumentTable
from nbtext.features.stored_documents import StoredDocuments
from nbtext.features.weighting import Weighting
from nbtext.numerics import dot
from nbtext.records import Strings, frozen, frozen_object

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SQUARES_AT_ONCE = 2**18  # entries whose squares are in memory at once

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
    options: Strings = ("C",)
    searched: tuple[tuple[str, str, float], ...] = ()
    is_stacked: bool = False


@frozen_object
class WordVectors:
    """The vectors of the words among the features, and of further words, which no document has.

    columns  (n_words,), ascending, of the features that are words
    rows     (n_words + n_further, n_dimensions), the vectors of both; 0 where there is none
    norms    (n_words + n_further,), the sums of the lengths of the vectors of their pieces, or the
             lengths of these vectors
    places   (n_features + n_further,), the column of each feature and further word in the scorer
    bounds   (n_views + 1,) of the columns of the views in the scorer; None: there is only one
    ranks    (n_features + n_further,), by column of the scorer, in which order pieces of words are
             joined; None: the longest ones are taken, or there are none
    longest_piece  its characters; None: there are no pieces
    names    (n_classes, n_dimensions), unit vectors of what the labels are called, less their mean;
             0 for a label without words. None: they are not known
    """

    columns: Integers32
    rows: Floats32
    norms: Floats32
    places: Integers32
    bounds: tuple[int, ...] | None = None
    names: Floats | None = None
    ranks: Integers32 | None = None
    longest_piece: int | None = None


@frozen_object
class TrainingData:
    """Documents, and what linear models know of their features and classes.

    documents      in memory, with finite float64 weights as entries, or stored, with counts. With
                   `sets`, the class of a document is the number of its set
    class_weights  (n_classes,), > 0, of each document of a class in all sums of documents; None: 1,
                   as with `sets`
    sets           of classes; None: each document has one class
    views          names of the views of the features; empty: there is only one
    bounds         (n_views + 1,) of their columns; None: there is only one
    words          (n_words,) of the columns, those of single words, of which a stack has parts;
                   None: there are none
    factors        (n_features,), by which the entries are multiplied when they are loaded; None: 1
    vectors        of words, of which a stack has a part; None: there are none
    weighting      by which stored counts are weighted when they are loaded
    """

    documents: DocumentTable | StoredDocuments
    n_features: int
    n_classes: int
    class_weights: Floats | None = None
    sets: LabelSets | None = None
    views: Strings = ()
    bounds: tuple[int, ...] | None = None
    words: Integers | None = None
    factors: Floats | None = None
    vectors: WordVectors | None = None
    weighting: Weighting | None = None

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def table(self) -> DocumentTable:
        """The documents, which are in memory."""
        assert isinstance(self.documents, DocumentTable)
        return self.documents

    def weigh(self, documents: DocumentTable) -> DocumentTable:
        """Return some of the documents with the weights of their features."""
        values = documents.counts
        if self.weighting is not None:
            values = self.weighting.weights(documents.indptr, documents.indices, values)
        if self.factors is not None:
            values = self.factors[documents.indices] * values
        return replace(documents, counts=np.asarray(values, np.float64))

    @cached_property
    def document_weights(self) -> Floats:
        """How often each document counts, times the weight of its class, (n_documents,)."""
        times = self.documents.times
        weights = np.ones(len(self)) if times is None else times
        if self.class_weights is not None:  # a new array: the other one may be kept
            weights = weights * self.class_weights[self.documents.classes]
        return weights

    @cached_property
    def members(self) -> list[Integers32]:
        """The documents of each class, ascending; of documents with several classes."""
        assert self.sets is not None
        own = self.sets.take(self.documents.classes)
        order = np.argsort(own.classes, kind="stable")
        return np.split(
            own.entry_sets[order].astype(np.int32),
            np.searchsorted(own.classes[order], np.arange(1, self.n_classes)),
        )

    def is_of(self, own_class: int, documents: slice = slice(None)) -> Mask:
        """Return whether each of some documents is of a class, (n,)."""
        if self.sets is None:
            return np.asarray(self.documents.classes[documents] == own_class)
        is_own = np.zeros(len(self), bool)
        is_own[self.members[own_class]] = True
        return is_own[documents]

    @cached_property
    def matrix(self) -> csr_array:
        """The weights of the features, (n_documents, n_features)."""
        return self.weigh(self.table).matrix(self.n_features)


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


def check_finite(numbers: NDArray[np.floating] | float) -> None:
    """Raise ModelError if a number is infinite or not a number."""
    if not np.isfinite(numbers).all():
        raise ModelError(
            "a feature value, or C, is infinite or too large for a linear model",
            hint="scale the features down, or use a smaller C",
        )


def check_squares(values: Floats) -> None:
    """Raise ModelError if the sum of the squares of values is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        check_finite(dot(values, values))
