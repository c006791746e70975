"""The counter of rows of matrices, whose features are already counted; and the settings and weights
of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.matrix import Matrix
from nbtext.errors import InputError, ModelError, NbtextError
from nbtext.features.counting import ClassCounter, merge_sorted
from nbtext.features.csr import split_columns
from nbtext.features.document_counts import ClassCounts, DocumentCounts
from nbtext.features.hashing import (
    bucket_hashes,
    count_matrix,
    document_hashes,
    join_hashes,
    vocabulary_hashes,
)
from nbtext.features.selection import is_selective
from nbtext.features.settings import FeatureSettings, find_invalid_field
from nbtext.features.vocabulary import Vocabulary, find_views, split_views
from nbtext.features.weighting import Weighting

LARGEST_COUNT = np.iinfo(np.int32).max
MAX_SUM = 2.0**62  # of the weights of a matrix, so that sums cannot overflow
ANALYSIS = (  # settings that say what a feature is; the others select and weight features
    "analyzer",
    "ngrams",
    "view",
    "token_pattern",
    "lowercase",
    "strip_accents",
    "stop_words",
    "stem",
    "fields",
    "hash_bits",
)
WEIGHTS = ("tf", "idf", "norm")
LIKE_HINT = "make it with nbtext vectorize SOURCE --like MODEL"
COUNTS_HINT = "give the texts, or an .npz file of nbtext vectorize"


def matrix_features(matrix: Matrix) -> FeatureSettings:
    """Return the settings that turn texts into rows of a matrix.

    If the matrix of an older file has only some features of the documents, these columns become the
    vocabulary.

    raises  InputError: the matrix does not hold its settings
    """
    if matrix.settings is None:
        return FeatureSettings()
    settings = matrix_settings(matrix)
    known = {each.name for each in fields(FeatureSettings)}
    if unknown := sorted(settings.keys() - known):
        what = f"the matrix file was written by a newer nbtext: this one does not know its setting {unknown[0]!r}"
        raise InputError(what, hint="update nbtext: pip install --upgrade nbtext")
    try:
        if find_invalid_field(FeatureSettings, settings) is not None:
            raise TypeError
        features = FeatureSettings(**settings)
        names = Vocabulary(matrix.feature_blob, matrix.feature_offsets)
        if matrix.n_features != (
            len(names) if features.hash_bits is None else 1 << features.hash_bits
        ):
            raise ValueError
        if features.view:
            find_views(names, features.view)
        is_selected = matrix.counted is None and is_selective(features)
        if features.hash_bits is None and is_selected:
            features = replace(features, vocabulary=tuple(names.terms))
        if is_selected:
            features = replace(features, min_df=1, max_df=1.0, max_features=None, select=None)
        return features
    except (NbtextError, TypeError, ValueError):
        what = "the matrix file does not contain valid feature settings"
        raise InputError(what, hint="make it with nbtext vectorize") from None


def matrix_settings(matrix: Matrix) -> dict[str, Any]:
    """Return the settings of features that a matrix was made with; a given vocabulary is that of
    its columns.
    """
    # a matrix file that is older than a setting lacks it
    defaults: dict[str, Any] = {each.name: each.default for each in fields(FeatureSettings)}
    settings = defaults | {name: _freeze(value) for name, value in (matrix.settings or {}).items()}
    if settings["vocabulary"] == ():
        settings["vocabulary"] = tuple(
            Vocabulary(matrix.feature_blob, matrix.feature_offsets).terms
        )
    return settings


def matrix_vocabulary(matrix: Matrix) -> Vocabulary | None:
    """Return the names of the columns, which are their numbers if they have no names; None if they
    are hashed.
    """
    if matrix.is_numbered and len(matrix.feature_offsets) == 1:
        return Vocabulary.of_numbers(matrix.n_features)
    is_hashed = matrix.settings is not None and matrix.settings.get("hash_bits") is not None
    return None if is_hashed else Vocabulary(matrix.feature_blob, matrix.feature_offsets)


def holds_counts(matrix: Matrix) -> bool:
    """Return whether the counts of the documents are known, not only weights or binary counts."""
    if matrix.counted is not None:
        return True
    features = matrix_features(matrix)
    is_plain = all(each.tf == "count" for each in features.of_views)
    return matrix.is_whole and features.is_counting and is_plain


def matrix_weighting(matrix: Matrix) -> Weighting | None:
    """Return how weights were made of the counts of a matrix; None: not known, as of counts and of
    older files.
    """
    if matrix.is_numbered:
        return Weighting()
    if matrix.idf is None:
        return None
    features = matrix_features(matrix)
    vocabulary = matrix_vocabulary(matrix)
    bounds = (0, matrix.n_features)
    if features.view and vocabulary is not None:
        bounds = tuple(find_views(vocabulary, features.view).tolist())
    parameters = matrix.parameters or [{} for _ in features.of_views]
    if len(parameters) != len(features.of_views):
        raise InputError(
            "the matrix file does not contain valid feature settings",
            hint="make it with nbtext vectorize",
        )
    found = [
        Weighting(each.tf, each.norm, matrix.idf[start:stop] if each.idf != "none" else None, own)
        for each, own, (start, stop) in zip(
            features.of_views, parameters, pairwise(bounds), strict=True
        )
    ]
    return Weighting.join_views(found, bounds)


def check_made_alike(matrix: Matrix, settings: FeatureSettings) -> FeatureSettings:
    """Return the settings of a matrix; InputError unless its features and weights are those of
    other settings.

    Counts can be weighted in any way.
    """
    own = matrix_features(matrix)
    if matrix.is_numbered:
        return own
    pairs = [(own, settings, name) for name in ANALYSIS]
    if not holds_counts(matrix):
        views = zip(own.of_views, settings.of_views, strict=False)
        pairs += [(mine, wanted, name) for mine, wanted in views for name in WEIGHTS]
    for mine, wanted, name in pairs:
        values = getattr(mine, name), getattr(wanted, name)
        if values[0] != values[1]:
            option = "separate-fields" if name == "fields" else name.replace("_", "-")
            shown = " and ".join(
                "not given" if value in (None, ()) else str(value)[:40] for value in values
            )
            what = f"the matrix and the model, or another SOURCE, have different settings: --{option} is {shown}"
            raise InputError(what, hint=LIKE_HINT)
    return own


def document_rows(
    matrix: Matrix, vocabulary: Vocabulary | None, views: Sequence[str] = ()
) -> DocumentCounts:
    """Return the rows of a matrix of counts or weights, with the hashes of their contents.

    vocabulary  of the matrix; None if features are hashed
    views       the names of its views
    raises      InputError: a number is negative or too large
    """
    if matrix.data.min(initial=0) < 0:
        hint = "train on the texts, or weight with another --idf"
        raise InputError("the matrix contains negative numbers", hint=hint)
    is_whole = matrix.is_whole
    if is_whole and matrix.data.max(initial=0) > LARGEST_COUNT:
        raise InputError(
            f"the matrix contains a count above {LARGEST_COUNT:,}, the largest that is allowed"
        )
    maximum = MAX_SUM / max(1, len(matrix.data))
    if not is_whole and matrix.data.max(initial=0) > maximum:
        raise InputError(
            f"the matrix contains a weight above {maximum:g}, so that sums could overflow"
        )
    if vocabulary is not None:
        hashes = vocabulary_hashes(vocabulary)
    else:
        hashes = bucket_hashes(np.arange(matrix.n_features, dtype=np.int32))
    unlabeled = np.full(len(matrix.ids), -1, dtype=np.int32)
    rows = count_matrix(matrix.indptr, matrix.indices, matrix.data, unlabeled, hashes)
    if not views or vocabulary is None:
        return rows
    bounds = find_views(vocabulary, views)
    own_hashes = list[NDArray[np.uint64]]()
    parts = zip(
        split_columns(rows.indptr, rows.indices, bounds),
        split_views(vocabulary, views),
        strict=True,
    )
    for (places, ends, indices), own in parts:
        part = replace(rows, indptr=ends, indices=indices, counts=rows.counts[places])
        own_hashes.append(document_hashes(part, vocabulary_hashes(own)[indices]))
    return replace(rows, hashes=join_hashes(views, own_hashes))


class MatrixCounter:
    """Counts rows of matrices. It has the methods of Counter that are for growing vocabularies, and
    `rows`.

    settings    of the features
    vocabulary  of a model, for `rows`
    """

    def __init__(self, settings: FeatureSettings, vocabulary: Vocabulary | None = None) -> None:
        self._settings = settings
        self._vocabulary = vocabulary
        self._names = Vocabulary.from_sorted([])
        self._numbers = np.zeros(0, dtype=np.int32)  # the provisional column of each of these names
        self._sums = ClassCounter()
        self._columns: dict[int, tuple[Any, Vocabulary | None, NDArray[np.int32]]] = {}
        self.weighted: Matrix | None = None  # a block of the weights that were counted
        self.is_numbered = False

    def rows(self, matrix: Matrix) -> DocumentCounts:
        """Return the rows over the features of the model; others are in n_tokens only."""
        names, columns = self._find(matrix, self._find_known)
        rows = document_rows(matrix.counted or matrix, names, self._settings.view)
        rows = replace(rows, n_tokens=known_tokens(rows))
        is_known = columns[rows.indices] >= 0
        if not is_known.all():
            if not rows.is_counted:
                what = "the weights of the matrix are of other features than those of the model"
                raise InputError(what, hint=LIKE_HINT)
            rows = rows.filter_entries(is_known)
        return replace(rows, indices=columns[rows.indices])

    def count(
        self,
        matrix: Matrix,
        classes: NDArray[np.int32],
        keep_below: int,
        groups: NDArray[np.object_] | None = None,
    ) -> DocumentCounts:
        """See Counter. The sums of weights are not those of `class_counts`."""
        names, columns = self._find(matrix, self._add_names)
        rows = document_rows(matrix.counted or matrix, names, self._settings.view)
        rows = replace(rows, indices=columns[rows.indices], classes=classes, groups=groups)
        if rows.is_counted:
            self._sums.add(rows, classes)
        elif self.weighted is None:
            self.weighted = matrix
        elif not np.array_equal(self.weighted.feature_blob, matrix.feature_blob):
            raise InputError(
                "the matrices have weights of different features", hint="give texts, or counts"
            )
        self.is_numbered |= matrix.is_numbered
        kept = (
            np.flatnonzero(rows.hashes <= np.uint64(keep_below - 1))
            if keep_below
            else np.zeros(0, dtype=np.int64)
        )
        return rows.take(kept)

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.int32]]:
        """See Counter."""
        if self._settings.hash_bits is not None:
            return self._names, np.arange(1 << self._settings.hash_bits, dtype=np.int32)
        rank = np.empty(len(self._names), dtype=np.int32)
        rank[self._numbers] = np.arange(len(self._names), dtype=np.int32)
        return self._names, rank

    def class_counts(self) -> ClassCounts:
        """See Counter."""
        _, rank = self.vocabulary()
        return self._sums.class_counts(len(rank), rank)

    def take_too_long(self) -> int:
        """See Counter: the tokens that were ignored are not known."""
        return 0

    def _find(
        self, matrix: Matrix, find: Callable[[Matrix, Vocabulary], NDArray[np.int32]]
    ) -> tuple[Vocabulary | None, NDArray[np.int32]]:
        """Return the names of the columns of a matrix, and the columns that they become, from the
        first block on.
        """
        key = id(matrix.settings) if matrix.settings is not None else id(matrix.feature_offsets)
        if key not in self._columns:
            check_made_alike(matrix, self._settings)
            names = matrix_vocabulary(matrix.counted or matrix)
            columns = np.arange(matrix.n_features, dtype=np.int32)
            if names is not None:
                columns = find(matrix, names)
            owner = matrix.settings if matrix.settings is not None else matrix.feature_offsets
            self._columns[key] = owner, names, columns
        return self._columns[key][1:]

    def _find_known(self, matrix: Matrix, names: Vocabulary) -> NDArray[np.int32]:
        """Return the column of the model for each column of a matrix; -1: there is none."""
        known = self._vocabulary
        if matrix.is_numbered:
            check_width(
                matrix, 1 << (self._settings.hash_bits or 0) if known is None else len(known)
            )
            return np.arange(matrix.n_features, dtype=np.int32)
        assert known is not None  # hashed features have no names, which was checked
        _, offsets, mine, theirs = merge_sorted(
            known.blob, known.offsets, names.blob, names.offsets
        )
        columns = np.full(len(offsets) - 1, -1, dtype=np.int32)
        columns[mine] = np.arange(len(mine), dtype=np.int32)
        found = columns[theirs]
        if not holds_counts(matrix) and any(each.idf != "none" for each in self._settings.of_views):
            what = "the matrix is of an older nbtext, which did not store the document frequencies of its weights"
            raise InputError(what, hint=LIKE_HINT)
        return found

    def _add_names(self, matrix: Matrix, names: Vocabulary) -> NDArray[np.int32]:
        """Return the provisional column of each column of a matrix; those of new names follow the
        others.
        """
        if matrix.is_numbered and self._columns and len(names) != len(self._names):
            what = f"the matrix has {len(names):,} columns without names, and another SOURCE has {len(self._names):,}"
            raise InputError(
                what, hint="give matrices with the same columns, or .npz, which has their names"
            )
        blob, offsets, mine, theirs = merge_sorted(
            self._names.blob, self._names.offsets, names.blob, names.offsets
        )
        numbers = np.full(len(offsets) - 1, -1, dtype=np.int32)
        numbers[mine] = self._numbers
        is_new = numbers < 0
        numbers[is_new] = np.arange(len(mine), len(numbers), dtype=np.int32)
        self._names = Vocabulary(blob, offsets)
        self._numbers = numbers
        return numbers[theirs]


def known_tokens(rows: DocumentCounts) -> NDArray[np.int64]:
    """Return the number of known tokens of each document, (n_documents,): 1 where the length is not
    known.
    """
    return np.where(np.diff(rows.indptr) > 0, rows.lengths, 0).astype(np.int64)


def check_width(matrix: Matrix, n_columns: int) -> None:
    """Raise InputError unless the columns of a matrix without names can be the first of
    `n_columns`.

    A file that declares its number of columns has as many.
    """
    is_narrower = matrix.is_width_declared and matrix.n_features < n_columns
    if matrix.n_features > n_columns or is_narrower:
        what = f"the matrix has {matrix.n_features:,} columns without names, and the model has {n_columns:,}"
        raise InputError(what, hint=LIKE_HINT)


def name_numbered(matrix: Matrix, names: Vocabulary) -> Matrix:
    """Return a matrix without names with those of the features of a model; InputError if its
    columns are others.
    """
    check_width(matrix, len(names))
    return replace(
        matrix, n_features=len(names), feature_blob=names.blob, feature_offsets=names.offsets
    )


def require_counts(matrix: Matrix, job: str) -> None:
    """Raise ModelError unless the counts of all features of the documents are known; `job` needs
    them.
    """
    if not holds_counts(matrix):
        raise ModelError(f"{job} needs counts, and the matrix holds weights", hint=COUNTS_HINT)
    if matrix.is_partial and matrix_features(matrix).vocabulary is not None:
        raise ModelError(
            f"{job} needs all words, and the matrix of an older nbtext holds some", hint=COUNTS_HINT
        )


def _freeze(value: Any) -> Any:
    """Return a value of settings, with tuples for the lists that JSON made of them."""
    return tuple(map(_freeze, value)) if isinstance(value, list) else value
