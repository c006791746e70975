"""The table of documents: sparse rows of features, and columns beside them. Training, leave-one-out
and prediction work on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Hashes, Integers, Integers32, Limits, Mask
from nbtext.documents.fields import WEIGHT_UNIT
from nbtext.errors import ModelError
from nbtext.features import csr
from nbtext.records import LazyProperty, frozen_object

if TYPE_CHECKING:
    from scipy.sparse import csr_array
SUMMED = 1024  # documents whose counts are summed at once
# of documents without a token: the last to be retained, so that others are always in a sample
EMPTY_HASH = 2**64 - 1
OPTIONAL_COLUMNS = ("weights", "rows", "groups", "token_lengths", "n_tokens")
MAX_BITS = 20  # of a count that is sorted beside its row and its column


class ClassCounts(NamedTuple):
    """The documents and occurrences by feature and class that are not zero.

    Feature j has the entries indptr[j]:indptr[j + 1], one for each class that uses it, classes
    ascending.
    """

    indptr: Integers  # (n_features + 1,)
    classes: Integers32  # (n_entries,)
    documents: Integers  # (n_entries,), documents of the class that have the feature: d_kj
    occurrences: Integers  # (n_entries,), occurrences of the feature in the class: t_kj


@frozen_object
class DocumentTable:
    """Documents in compressed sparse rows, each feature at most once in a row.

    Features ascend within a row, unless a counter gives them provisional numbers; see `arrange`.

    indptr         (n_documents + 1,) int64
    indices        (n_entries,) int32, the features of each document
    counts         (n_entries,) int32 counts > 0, or float64 weights
    classes        (n_documents,) int32; -1 for a document without a label
    hashes         (n_documents,) uint64: hashes of the features and their counts. Documents with
                   equal hashes are duplicates. A retained sample of k documents has the k smallest
                   hashes, in any order of the input. Documents to predict have 0
    weights        (n_documents,) int64 > 0, how often each document counts, in units of
                   1 / WEIGHT_UNIT; None: each counts once
    rows           (n_documents,) int64, the place of each in its source; None: nothing asks for it
    groups         (n_documents,) str objects, the group or timestamp of each; None if no splitter
                   needs it
    token_lengths  (n_documents,), known tokens of each document, if `counts` are weights that were
                   computed from counts
    n_tokens       (n_documents,), tokens of each document, also those outside the vocabulary, if
                   its text was counted
    """

    indptr: Integers
    indices: Integers32
    counts: Annotated[Array, Limits(1, 2**31 - 1, integers=np.int32)]
    classes: Integers32
    hashes: Hashes
    weights: Integers | None = None
    rows: Integers | None = None
    groups: Array | None = None
    token_lengths: Floats | None = None
    n_tokens: Integers | None = None
    # a cache of `locate`: for some classes, which are kept, the positions in them
    _located: list[Array] = field(default_factory=list, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def from_texts(
        cls, indptr: Integers, indices: Integers32, counts: Integers32, n_tokens: Integers
    ) -> DocumentTable:
        """Return the counts of texts, without labels and hashes."""
        n = len(n_tokens)
        unlabeled = np.full(n, -1, np.int32)
        return cls(indptr, indices, counts, unlabeled, np.zeros(n, np.uint64), n_tokens=n_tokens)

    @property
    def is_counted(self) -> bool:
        """Whether the entries are whole counts; otherwise they are weights."""
        return bool(self.counts.dtype.kind == "i")

    @LazyProperty
    def entry_documents(self) -> Integers:
        """The document of each entry."""
        return csr.entry_rows(self.indptr)

    @LazyProperty
    def totals(self) -> Floats:
        """The sum of the counts (or weights) of each document, shape (n_documents,)."""
        return self.sum_entries(self.counts)

    @property
    def units(self) -> Integers:
        """How often each document counts, (n_documents,), in units of 1 / WEIGHT_UNIT."""
        if self.weights is not None:
            return self.weights
        return np.full(len(self), WEIGHT_UNIT, np.int64)

    @property
    def multiplicities(self) -> Array:
        """How often each document counts, (n_documents,): int64 if all are whole numbers, else
        float64.
        """
        if self.weights is None:
            return np.ones(len(self), np.int64)
        whole, rest = np.divmod(self.weights, WEIGHT_UNIT)
        return self.weights / WEIGHT_UNIT if rest.any() else whole

    def without_equal_weights(self) -> DocumentTable:
        """Return the same documents, without weights if each counts once."""
        is_plain = self.weights is not None and (self.weights == WEIGHT_UNIT).all()
        return replace(self, weights=None) if is_plain else self

    @property
    def times(self) -> Floats | None:
        """How often each document counts, (n_documents,) float64; None: once."""
        return None if self.weights is None else self.weights / WEIGHT_UNIT

    @property
    def n_documents(self) -> int | float:
        """The sum of how often each document counts."""
        if self.weights is None:
            return len(self)
        number: int | float = self.multiplicities.sum().item()
        return number

    def count_by_class(self, n_classes: int) -> Array:
        """Return how many documents of each class there are, (n_classes,)."""
        if self.weights is None:
            return np.bincount(self.classes, minlength=n_classes).astype(np.int64)
        counts = np.zeros(n_classes, self.multiplicities.dtype)
        np.add.at(counts, self.classes, self.multiplicities)
        return counts

    @property
    def has_lengths(self) -> bool:
        """Whether the number of tokens of each document is known; it is not for a matrix of
        weights.
        """
        return self.is_counted or self.token_lengths is not None

    @property
    def lengths(self) -> Floats:
        """The number of known tokens of each document, shape (n_documents,); 1 if it is not
        known.
        """
        if self.token_lengths is not None:
            return self.token_lengths
        return self.totals if self.is_counted else np.ones(len(self))

    def sum_entries(self, values: Array) -> Floats:
        """Return the sum of the entries' values for each document, shape (n_documents,)."""
        sums = np.zeros(len(self))
        for start in range(0, len(self), SUMMED):  # NumPy needs the document of each entry
            ends = self.indptr[start : start + SUMMED + 1]
            sums[start : start + SUMMED] = csr.row_sums(ends, values[ends[0] : ends[-1]])
        return sums

    def sum_features(self, features: Mask) -> Floats:
        """Return the sum of the counts of some features in each document, shape (n_documents,).

        features  (n_features,), whether each feature is summed
        """
        entries = np.flatnonzero(features[self.indices])
        return csr.row_sums(np.searchsorted(entries, self.indptr), self.counts[entries])

    def weigh(self, weights: Array) -> DocumentTable:
        """Return the same documents with other values for their entries; their lengths stay."""
        return replace(
            self, counts=weights, token_lengths=self.lengths if self.has_lengths else None
        )

    def binarize(self) -> DocumentTable:
        """Return the same documents with binary counts."""
        return self.weigh(np.ones_like(self.counts))

    def first(self, size: int) -> DocumentTable:
        """Return about the first `size` documents, in the order of their hashes, up to the end of
        duplicates.
        """
        if size >= len(self):
            return self
        return self.slice(0, int(np.searchsorted(self.hashes, self.hashes[size - 1], "right")))

    def restrict(self, columns: Integers, n_features: int) -> DocumentTable:
        """Return the same documents over some features only; `columns` is ascending."""
        return self.map_features(csr.find_places(columns, n_features))

    def map_features(self, columns: Integers32) -> DocumentTable:
        """Return the same documents with feature j in column columns[j], in the same order; a
        column below 0 removes the feature.
        """
        indices = columns[self.indices]
        # token lengths include the removed features; lengths of counts are computed from counts
        return replace(self, indices=indices, token_lengths=None).filter_entries(indices >= 0)

    def filter_entries(self, is_kept: Mask) -> DocumentTable:
        """Return the same documents with some of their entries only; `is_kept` has shape
        (n_entries,).
        """
        if is_kept.all():
            return self
        indptr = np.searchsorted(np.flatnonzero(is_kept), self.indptr)
        return replace(
            self, indptr=indptr, indices=self.indices[is_kept], counts=self.counts[is_kept]
        )

    def renumber(self, columns: Integers32, classes: Integers32) -> DocumentTable:
        """Return the same documents with other numbers for features (in the same order) and
        classes.
        """
        return replace(self, indices=columns[self.indices], classes=classes[self.classes])

    def with_empty_last(self) -> DocumentTable:
        """Return the same documents; the hash of those without a token is 0 after counting, and
        then EMPTY_HASH.
        """
        return replace(self, hashes=np.where(self.hashes == 0, np.uint64(EMPTY_HASH), self.hashes))

    def arrange(self, columns: Integers32) -> DocumentTable:
        """Return the same documents with feature j in column columns[j], sorted; a column below 0
        removes the feature.

        For counts, not weights.
        """
        return self.map_features(columns).sort_features()

    def sort_features(self) -> DocumentTable:
        """Return the same documents with ascending features in each row."""
        indices = np.empty_like(self.indices)
        counts = np.empty_like(self.counts)
        n_bits = int(self.counts.max(initial=0)).bit_length()
        is_packed = self.is_counted and self.counts.min(initial=0) >= 0 and n_bits <= MAX_BITS
        for first in range(0, len(self), csr.ROWS_COPIED_AT_ONCE):
            bounds = self.indptr[first : first + csr.ROWS_COPIED_AT_ONCE + 1]
            own = slice(bounds[0], bounds[-1])
            keys = csr.row_keys(bounds, self.indices[own])
            if is_packed:  # numbers are sorted faster than their places
                packed = np.sort(keys << n_bits | self.counts[own])
                indices[own] = packed >> n_bits
                counts[own] = packed & ((1 << n_bits) - 1)
            else:
                order = np.argsort(keys)
                indices[own] = self.indices[own][order]
                counts[own] = self.counts[own][order]
        return replace(self, indices=indices, counts=counts)

    def take(self, documents: Integers) -> DocumentTable:
        """Return the documents with these numbers, in this order."""
        if np.array_equal(documents, np.arange(len(self))):
            return self
        indptr, entries = csr.take_rows(self.indptr, (self.indices, self.counts), documents)
        return self._select(documents, indptr, *entries)

    def filter(self, is_kept: Mask) -> DocumentTable:
        """Return the documents for which `is_kept`, (n_documents,), is true."""
        return self if is_kept.all() else self.take(np.flatnonzero(is_kept))

    def slice(self, start: int, stop: int) -> DocumentTable:
        """Return the documents from `start` up to `stop`."""
        entries = slice(self.indptr[start], self.indptr[stop])
        indptr = self.indptr[start : stop + 1] - self.indptr[start]
        return self._select(slice(start, stop), indptr, self.indices[entries], self.counts[entries])

    def _select(self, rows: Any, indptr: Array, indices: Array, counts: Array) -> DocumentTable:
        """Return the documents that `rows` (numbers or a slice) selects, with these entries."""
        beside = {
            name: column[rows]
            for name in OPTIONAL_COLUMNS
            if (column := getattr(self, name)) is not None
        }
        return DocumentTable(
            indptr, indices, counts, self.classes[rows], self.hashes[rows], **beside
        )

    # As of documents that are stored in a file:

    def features(self) -> Iterator[tuple[Any, Integers, Integers32]]:
        """Yield some documents, and their features as compressed sparse rows without values, until
        all were yielded.
        """
        yield slice(None), self.indptr, self.indices

    def split(self, size: int) -> list[DocumentTable]:
        """Return parts of at most `size` documents."""
        if len(self) <= size:
            return [self]
        return [
            self.slice(start, min(start + size, len(self))) for start in range(0, len(self), size)
        ]

    def matrix(self, n_features: int) -> csr_array:
        """Return the counts as a sparse matrix (n_documents, n_features)."""
        from scipy.sparse import csr_array

        return csr_array((self.counts, self.indices, self.indptr), shape=(len(self), n_features))

    @LazyProperty
    def transposed(self) -> csr_array:
        """The counts as a sparse matrix, with a row for each feature up to the last one that
        occurs, (n, n_documents).
        """
        return self.matrix(int(self.indices.max(initial=-1)) + 1).T.tocsr()

    def expect(self, posteriors: csr_array, n_features: int) -> csr_array:
        """Return the expected counts of features in classes, (n_features, n_classes).

        posteriors  (n_documents, n_classes), probabilities of the classes of each document
        """
        found = self.transposed @ posteriors
        found.resize(n_features, posteriors.shape[1])
        found.sort_indices()
        return found

    def locate(self, indptr: Integers, classes: Integers32) -> Integers:
        """Return, for each entry, the position of (its feature, its document's class) in class
        statistics.

        indptr, classes  of the class statistics of a corpus that includes these documents
        """
        if not self._located or self._located[0] is not classes:
            positions = csr.entry_positions(
                self.indptr, self.indices, self.classes, indptr, classes
            )
            self._located[:] = classes, positions
        return self._located[1]

    def smallest(self, size: int | None) -> DocumentTable:
        """Return the `size` documents (None: all) with the smallest hashes, sorted by hash and
        class.
        """
        return self.take(self.order(self.classes)[:size])

    def order(self, classes: Integers32) -> Integers:
        """Return the order of the documents by hash, then by these classes, then by the columns
        beside them.
        """
        keys: list[Array] = [classes, self.hashes]
        if self.weights is not None:
            keys.insert(0, self.weights)
        if self.groups is not None:
            keys.insert(0, np.unique(self.groups, return_inverse=True)[1])
        if self.rows is not None:
            keys.insert(0, self.rows)
        return np.lexsort(keys)

    def in_source_order(self) -> DocumentTable:
        """Return the documents in the order of their rows, without row numbers."""
        assert self.rows is not None
        return replace(self.take(np.argsort(self.rows)), rows=None)

    def below(self, bound: int) -> DocumentTable:
        """Return the documents with hashes below a bound, from 0 (none) to 2**64 (all)."""
        if bound == 0:
            return self.slice(0, 0)
        return self.filter(self.hashes <= np.uint64(bound - 1))

    def subtract(self, others: DocumentTable) -> DocumentTable:
        """Return the documents without those of `others`; each of them removes one equal document.

        Both have the same features, and are sorted as by `smallest`. A document that counts several
        times is equal to so many documents.

        raises  ModelError: a document of `others` is missing
        """
        hashes = np.concatenate((self.hashes, others.hashes))
        classes = np.concatenate((self.classes, others.classes))
        order = np.lexsort((classes, hashes))
        is_new = (np.diff(hashes[order], prepend=hashes[order][:1]) != 0) | (
            np.diff(classes[order], prepend=-1) != 0
        )
        kinds = np.empty(len(order), np.int64)
        kinds[order] = np.cumsum(is_new)
        mine = kinds[: len(self)]
        theirs = kinds[len(self) :]
        units = self.units
        taken = np.bincount(theirs, others.units, len(order) + 1)
        if (taken > np.bincount(mine, units, len(order) + 1)).any():
            raise ModelError(
                "the model was not trained on some of these documents: they are not in its retained sample"
            )
        ends = csr.running_sums(units)
        # how much is left of each document, of which equal ones follow each other
        of_kind = ends[1:] - ends[np.searchsorted(mine, mine)]
        left = np.clip(of_kind - taken[mine], 0, units).astype(np.int64)
        kept = np.flatnonzero(left)
        return replace(self.take(kept), weights=left[kept]).without_equal_weights()


def number_contents(documents: DocumentTable) -> Integers:
    """Return a number for each document's content: equal for duplicates, ascending with the hashes,
    (n_documents,).

    Documents with equal hashes are compared, because a model file may hold any hashes.
    """
    order = np.argsort(documents.hashes, kind="stable")
    hashes = documents.hashes[order]
    is_same = np.zeros(len(documents), bool)
    is_same[1:] = hashes[1:] == hashes[:-1]
    repeats = np.flatnonzero(is_same)
    if len(repeats):
        a = documents.take(order[repeats - 1])
        b = documents.take(order[repeats])
        is_equal = np.diff(a.indptr) == np.diff(b.indptr)
        a = a.filter(is_equal)
        b = b.filter(is_equal)
        differs = (a.indices != b.indices) | (a.counts != b.counts)
        is_equal[is_equal] = np.bincount(a.entry_documents, differs, len(a)) == 0
        is_same[repeats] = is_equal
    numbers = np.empty(len(documents), np.int64)
    numbers[order] = np.cumsum(~is_same) - 1
    return numbers


def count_repeated(documents: DocumentTable) -> int:
    """Return how many documents repeat another one. Documents without a token are not counted."""
    contents = number_contents(documents.filter(np.diff(documents.indptr) > 0))
    return len(contents) - int(contents.max(initial=-1)) - 1


def concatenate(parts: Sequence[DocumentTable]) -> DocumentTable:
    """Return the documents of several parts, one after the other.

    Raises ValueError if some parts with documents have a column that others lack. Documents without
    weights count once beside those with weights.
    """
    if any(part.weights is not None for part in parts):
        parts = [replace(part, weights=part.units) for part in parts]
    found = {}
    for name in ("indices", "counts", "classes", "hashes"):
        none = np.zeros(0, np.uint64 if name == "hashes" else np.int32)
        found[name] = np.concatenate([none, *(getattr(part, name) for part in parts)])
    for name in set(OPTIONAL_COLUMNS) - {"n_tokens"}:
        present = [column for part in parts if (column := getattr(part, name)) is not None]
        n_needed = sum(len(part) > 0 or getattr(part, name) is not None for part in parts)
        if present and len(present) != n_needed:
            raise ValueError(
                f"{len(present)} of {n_needed} parts have a column that the others lack"
            )
        if present:
            found[name] = np.concatenate(present)
    return DocumentTable(csr.join_bounds([part.indptr for part in parts]), **found)


def take_smallest(
    parts: Sequence[DocumentTable],
    size: int | None,
    *,
    places: Integers32 | None = None,
) -> DocumentTable:
    """Return the `size` documents (None: all) of several parts with the smallest hashes, sorted by
    hash and class.

    places   (n_classes,), the place of each class in sorted order; None: classes have sorted
             numbers
    """
    documents = concatenate(parts)
    order = documents.order(documents.classes if places is None else places[documents.classes])
    return documents.take(order[:size])
