"""The counter of rows of matrices, whose features are already counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbtext.arrays import Hashes, Integers, Integers32
from nbtext.errors import InputError, ModelError
from nbtext.features.counting import ClassCounter, find_known_columns, merge_sorted
from nbtext.features.csr import find_places, split_columns
from nbtext.features.document_table import ClassCounts, DocumentTable
from nbtext.features.hashing import bucket_hashes, document_hashes, join_hashes, vocabulary_hashes
from nbtext.features.matrix import Matrix
from nbtext.features.settings import ANALYSIS, FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views, split_views
from nbtext.settings import describe_difference

LARGEST_COUNT = np.iinfo(np.int32).max
MAX_SUM = 2.0**62  # of the weights of a matrix, so that sums cannot overflow
LIKE_HINT = "make it with nbtext vectorize SOURCE --like MODEL"


class MatrixCounter:
    """Counts rows of matrices. It has the methods of Counter that are for growing vocabularies, and
    `rows`.

    settings    of the features
    vocabulary  of a model, for `rows`
    n_columns   of the matrix without names that the model was trained on; the names of its features
                are numbers of columns. None: it was trained on something else
    """

    def __init__(
        self,
        settings: FeatureSettings,
        vocabulary: Vocabulary | None = None,
        n_columns: int | None = None,
    ) -> None:
        self._settings = settings
        self._vocabulary = vocabulary
        self._n_columns = n_columns
        self._names = Vocabulary.from_sorted([])
        self._numbers = np.zeros(0, np.int32)  # the provisional column of each of these names
        self._sums = ClassCounter()
        # by the number of the object that all blocks of a matrix share, which is kept alive
        self._columns: dict[int, tuple[Any, Integers32, Hashes]] = {}
        self.has_weights = False  # instead of counts
        self.is_numbered = False

    def rows(self, matrix: Matrix) -> DocumentTable:
        """Return the rows over the features of the model; others are in n_tokens only."""
        rows = check_numbers(matrix)
        columns, _ = self._find(matrix, self._find_known)
        return replace(rows.map_features(columns), n_tokens=known_tokens(rows))

    def count(
        self,
        matrix: Matrix,
        classes: Integers32,
        keep_below: int,
    ) -> DocumentTable:
        """See Counter. The sums of weights are not those of `class_counts`."""
        columns, hashes = self._find(matrix, self._add_names)
        rows = hash_rows(check_numbers(matrix), hashes, matrix.names, self._settings.view)
        rows = replace(
            rows,
            indices=columns[rows.indices],
            classes=classes,
            rows=np.arange(len(rows)),
            n_tokens=None,
        )
        if rows.is_counted:
            self._sums.add(rows, classes)
        self.has_weights |= not rows.is_counted
        self.is_numbered |= matrix.is_numbered
        return rows.below(keep_below)

    def vocabulary(self) -> tuple[Vocabulary, Integers32]:
        """See Counter."""
        if self._settings.hash_bits is not None:
            return self._names, np.arange(1 << self._settings.hash_bits, dtype=np.int32)
        return self._names, find_places(self._numbers, len(self._names))

    def class_counts(self) -> ClassCounts:
        """See Counter."""
        _, rank = self.vocabulary()
        return self._sums.class_counts(len(rank), rank)

    def take_too_long(self) -> int:
        """See Counter: the tokens that were ignored are not known."""
        return 0

    def _find(
        self, matrix: Matrix, find: Callable[[Matrix], Integers32]
    ) -> tuple[Integers32, Hashes]:
        """Return the columns that the features of a matrix become, from the first block on, and the
        hashes of the features.
        """
        owner = matrix.columns or matrix.input
        if id(owner) not in self._columns:
            # its features must be those of the settings; counts can be weighted in any way
            if matrix.columns is not None and (
                found := describe_difference(matrix.columns.settings, self._settings, ANALYSIS)
            ):
                raise InputError(
                    f"the matrix and the model, or another SOURCE, {found}", hint=LIKE_HINT
                )
            if matrix.names is None:
                hashes = bucket_hashes(np.arange(matrix.n_features, dtype=np.int32))
            else:
                views = split_views(matrix.names, self._settings.view)
                hashes = np.concatenate([vocabulary_hashes(own) for own in views])
            self._columns[id(owner)] = owner, find(matrix), hashes
        return self._columns[id(owner)][1:]

    def _find_known(self, matrix: Matrix) -> Integers32:
        """Return the column of the model for each feature of a matrix; -1: there is none."""
        known = self._vocabulary
        if not matrix.is_numbered and matrix.names is not None and known is not None:
            return find_known_columns(matrix.names, known)
        if matrix.is_numbered:
            n_known = 1 << (self._settings.hash_bits or 0) if known is None else len(known)
            check_matrix_width(matrix, n_known if self._n_columns is None else self._n_columns)
        if self._n_columns is None or known is None:
            return np.arange(matrix.n_features, dtype=np.int32)
        return find_places(np.array(known.terms, np.int64), self._n_columns)

    def _add_names(self, matrix: Matrix) -> Integers32:
        """Return the provisional column of each feature of a matrix; those of new names follow the
        others.
        """
        names = matrix.names
        if names is None:
            return np.arange(matrix.n_features, dtype=np.int32)
        if matrix.is_numbered and self._columns and len(names) != len(self._names):
            raise InputError(
                f"the matrix has {len(names):,} columns without names, and another SOURCE has {len(self._names):,}",
                hint="give matrices with the same columns, or .npz, which has their names",
            )
        blob, offsets, mine, theirs = merge_sorted(
            self._names.blob, self._names.offsets, names.blob, names.offsets
        )
        numbers = np.full(len(offsets) - 1, -1, np.int32)
        numbers[mine] = self._numbers
        numbers[numbers < 0] = np.arange(len(mine), len(numbers), dtype=np.int32)
        self._names = Vocabulary(blob, offsets)
        self._numbers = numbers
        return numbers[theirs]


def check_numbers(matrix: Matrix) -> DocumentTable:
    """Return the counts, or weights, of all features of the documents.

    raises  InputError: a number is too large
    """
    rows = matrix.rows
    largest = max(rows.counts.max(initial=0), -rows.counts.min(initial=0))
    if rows.is_counted and largest > LARGEST_COUNT:
        raise InputError(
            f"the matrix contains a count above {LARGEST_COUNT:,}, the largest that is allowed"
        )
    maximum = MAX_SUM / max(1, len(rows.counts))
    if not rows.is_counted and largest > maximum:
        raise InputError(
            f"the matrix contains a weight above {maximum:g}, so that sums could overflow"
        )
    dtype = np.int32 if rows.is_counted else np.float64
    return replace(rows, counts=rows.counts.astype(dtype, copy=False))


def hash_rows(
    rows: DocumentTable, hashes: Hashes, names: Vocabulary | None, views: Sequence[str]
) -> DocumentTable:
    """Return rows with the hashes of their contents; `hashes` and `names` are of the features."""
    if not views or names is None:
        return replace(rows, hashes=document_hashes(rows, hashes[rows.indices]))
    found = []
    for places, ends, indices in split_columns(rows.indptr, rows.indices, find_views(names, views)):
        part = replace(rows, indptr=ends, indices=indices, counts=rows.counts[places])
        found.append(document_hashes(part, hashes[rows.indices[places]]))
    return replace(rows, hashes=join_hashes(views, found))


def known_tokens(rows: DocumentTable) -> Integers:
    """Return the number of known tokens of each document, (n_documents,): 1 where the length is not
    known.
    """
    return np.where(np.diff(rows.indptr) > 0, rows.lengths, 0).astype(np.int64)


def check_matrix_width(matrix: Matrix, n_columns: int) -> None:
    """Raise InputError unless the columns of a matrix without names can be the first of
    `n_columns`.

    A file that declares its number of columns has as many.
    """
    is_narrower = matrix.is_width_declared and matrix.n_features < n_columns
    if matrix.n_features > n_columns or is_narrower:
        raise InputError(
            f"the matrix has {matrix.n_features:,} columns without names, and the model has {n_columns:,}",
            hint=LIKE_HINT,
        )


def name_numbered(matrix: Matrix, names: Vocabulary) -> Matrix:
    """Return a matrix without names with those of the features of a model; InputError if its
    columns are others.
    """
    check_matrix_width(matrix, len(names))
    return replace(matrix, vocabulary=names, n_features=len(names))


def require_counts(matrix: Matrix, job: str) -> None:
    """Raise ModelError if a matrix holds weights; `job` needs counts."""
    if not matrix.rows.is_counted:
        raise ModelError(
            f"{job} needs counts, and the matrix holds weights",
            hint="give the texts, or an .npz file of nbtext vectorize",
        )
