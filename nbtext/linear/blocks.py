"""Training data as the compiled solvers take it: compact blocks of documents, and the state of each
document in the problem of each class.

In memory, all documents are one block. Documents that are too many for memory are in a temporary
file, as many blocks. The solver visits block after block, and for each block some classes, as many
as have their weights in memory. One fold is held out, of documents with the smallest hashes; its
models continue from the solution of all documents.

Each range of hashes is spread over all blocks. With ranges as blocks, all duplicates of a document
would be visited one after the other, which is as slow as one document with a larger C: 300 MB of
repeated documents need 213 visits to all blocks instead of 57.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from nbtext.arrays import Array, Floats, Floats32, Integers, Integers32, Mask
from nbtext.features.csr import find_places, join_bounds, running_sums, take_rows
from nbtext.features.document_table import DocumentTable
from nbtext.features.stored_documents import MappedArrays, StoredDocuments
from nbtext.linear.data import (
    ROW,
    ClassSolution,
    Rows,
    TrainingData,
    check_finite,
    check_squares,
    sum_columns,
)
from nbtext.parallel import parallel_map
from nbtext.records import frozen_object

ROWS_ADDED_AT_ONCE = 1024  # documents whose values are added at once
# Fewer blocks need more passes, because the solution follows each of them: on 300 MB of
# tests/benchmarks/scale.py, made unique, 6 blocks need 1,031 passes of 20 classes, 12 need 865, 23
# need 777, and 46 need 717.
MIN_BLOCKS = 64
# ranges of hashes for each block, at most; a thread that writes the blocks has one range in memory
RANGES = 2
DOCUMENTS_WEIGHED_AT_ONCE = 1024  # of those in memory
NO_DOCUMENTS = np.zeros(0, np.int32)


@frozen_object
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
    def of(
        cls, documents: DocumentTable, columns: Integers32, places: Integers32, *, is_adding: bool
    ) -> CompactMatrix:
        """Return the compact matrix of some documents; `columns` and `places` are of
        `order_features`.

        is_adding  whether to add an entry to each document: of the last feature, with the value 1

        raises  ModelError: values are too large for float32, or for sums of squares
        """
        check_squares(documents.counts)
        indptr = documents.indptr
        indices = documents.indices
        values = documents.counts
        if is_adding:
            indices = np.insert(indices, indptr[1:], np.int32(len(places) - 1))
            values = np.insert(values, indptr[1:], 1.0)
            indptr = indptr + np.arange(len(indptr))
        features = places[indices]
        is_shared = features >= 0
        single = np.flatnonzero(~is_shared)
        rows = (np.searchsorted(indptr, single, "right") - 1).astype(np.int32)
        ends = indptr - running_sums(np.bincount(rows, minlength=len(indptr) - 1))
        with np.errstate(over="ignore"):
            shared = values[is_shared].astype(np.float32)
        check_finite(shared)
        return cls(
            columns, ends, features[is_shared], shared, rows, indices[single], values[single]
        )

    @classmethod
    def join(cls, columns: Integers32, parts: Sequence[CompactMatrix]) -> CompactMatrix:
        """Return the documents of all parts, one part after the other."""
        starts = running_sums([len(part.indptr) - 1 for part in parts]).astype(np.int32)
        entries: list[list[Array]] = [
            [part.features for part in parts],
            [part.values for part in parts],
            [part.single_rows + start for part, start in zip(parts, starts, strict=False)],
            [part.single_columns for part in parts],
            [part.single_values for part in parts],
        ]
        return cls(
            columns, join_bounds([part.indptr for part in parts]), *map(np.concatenate, entries)
        )

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
        rows = np.flatnonzero(groups >= 0)
        for start in range(0, len(rows), ROWS_ADDED_AT_ONCE):
            own = rows[start : start + ROWS_ADDED_AT_ONCE]
            bounds, (features, values) = take_rows(self.indptr, (self.features, self.values), own)
            lengths = np.diff(bounds)
            places = np.repeat(groups[own] * sums.shape[1], lengths)
            places += features
            magnitudes = np.repeat(weights[own], lengths)
            magnitudes *= np.abs(values)
            np.add.at(sums.reshape(-1), places, magnitudes)

    def squares(self) -> Floats:
        """Return the sum of the squares of each shared feature's values, (n_shared,)."""
        return sum_columns(self.features, self.values, len(self.columns), power=2)


@frozen_object
class DocumentBlock:
    """Some of the documents: all of them if they are in memory.

    documents  their numbers
    compact    their features
    weights    (n,), of each in all sums of documents
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


class CompactDocuments:
    """The documents of training data in blocks.

    In memory, they are one block, over which each class is solved by a thread of its own. On the
    disk, one block is in memory, and each is visited for several classes by several threads.

    columns  (n_shared,) int32, of the features that at least two documents hold
    """

    def __init__(
        self, data: TrainingData, classes: Sequence[int], *, has_intercept: bool, jobs: int = 1
    ) -> None:
        documents = data.documents
        self.is_on_disk = isinstance(documents, StoredDocuments)
        self._data = data
        self._classes = list(classes)
        self._has_intercept = has_intercept
        frequencies = np.zeros(data.n_features + has_intercept)
        for _, _, features in documents.features():
            frequencies += sum_columns(features, None, len(frequencies))
        frequencies[data.n_features :] = len(data)
        self.columns, places = order_features(frequencies, min(2, len(data)))
        if isinstance(documents, StoredDocuments):
            self._write(documents, places, jobs)
            return
        self.n_blocks = 1
        parts = [
            self._make_compact(part, places) for part in documents.split(DOCUMENTS_WEIGHED_AT_ONCE)
        ]
        self.blocks = [self._make_block(0, CompactMatrix.join(self.columns, parts))]

    def _make_compact(self, documents: DocumentTable, places: Integers32) -> CompactMatrix:
        return CompactMatrix.of(
            self._data.weigh(documents), self.columns, places, is_adding=self._has_intercept
        )

    def _write(self, documents: StoredDocuments, places: Integers32, jobs: int) -> None:
        """Store the documents as blocks of a file, with the state of each in each problem."""
        folder = documents.spill.folder
        n_parts = len(documents.part_bounds) - 1
        self.n_blocks = min(max(MIN_BLOCKS, n_parts // RANGES), len(documents))
        is_shared = places >= 0
        sizes = np.zeros((2, len(documents)), np.int64)
        for rows, indptr, features in documents.features():
            sizes[0, rows] = np.diff(running_sums(is_shared[features])[indptr])
            sizes[1, rows] = np.diff(indptr) - sizes[0, rows]
        sizes[0] += self._has_intercept
        # the first entry of each document in its block, of the shared features, and of those of one
        # document
        self._bounds = [
            [running_sums(own[self._documents(n)]) for own in sizes] for n in range(self.n_blocks)
        ]
        del sizes
        entries = [(int(shared[-1]), int(single[-1])) for shared, single in self._bounds]
        kinds = [
            ((np.int32, m), (np.float32, m), (np.int32, n), (np.int32, n), (np.float64, n))
            for m, n in entries
        ]
        self._entries = MappedArrays(folder, kinds)
        for _ in parallel_map(partial(self._store, documents, places), range(n_parts), jobs=jobs):
            pass
        documents.spill.close()  # whose documents are stored as blocks now
        lengths = [len(self._classes) * (len(shared) - 1) for shared, _ in self._bounds]
        self._state = MappedArrays(folder, [((ROW, length),) for length in lengths])
        self.blocks = [
            self._make_block(number, CompactMatrix(self.columns, shared, *entries))
            for number, ((shared, _), entries) in enumerate(
                zip(self._bounds, self._entries.groups, strict=True)
            )
        ]

    def _documents(self, block: int) -> slice:
        """Return the documents of a block: every n-th one, so that duplicates are in as many blocks
        as possible.
        """
        return slice(block, None, self.n_blocks)

    def _store(self, documents: StoredDocuments, places: Integers32, part: int) -> None:
        """Store a part of the documents in the blocks."""
        first, last = documents.part_bounds[part : part + 2]
        blocks = np.arange(first, last) % self.n_blocks
        order = np.argsort(blocks, kind="stable")
        own = self._make_compact(documents.load(part).take(order), places)
        singles = running_sums(np.bincount(own.single_rows, minlength=last - first))
        starts = np.searchsorted(blocks[order], np.arange(self.n_blocks + 1)).tolist()
        for block, (begin, end) in enumerate(pairwise(starts)):
            place = -(-(first - block) // self.n_blocks)  # in the block, of the first document
            to, to_single = (
                slice(each[place], each[place + end - begin]) for each in self._bounds[block]
            )
            shared = slice(*own.indptr[[begin, end]])
            single = slice(*singles[[begin, end]])
            features, values, rows, single_columns, single_values = self._entries.groups[block]
            features[to] = own.features[shared]
            values[to] = own.values[shared]
            rows[to_single] = own.single_rows[single] + (place - begin)
            single_columns[to_single] = own.single_columns[single]
            single_values[to_single] = own.single_values[single]
            self._entries.release(block)

    def _make_block(self, number: int, compact: CompactMatrix) -> DocumentBlock:
        documents = self._documents(number)
        weights = self._data.document_weights[documents]
        is_of = partial(self._data.is_of, documents=documents)
        return DocumentBlock(number, documents, compact, weights, is_of)

    @cached_property
    def squares(self) -> Floats:
        """The sum of the squares of the values of each shared feature, (n_shared,)."""
        squares = np.zeros(len(self.columns))
        for block in self.load():
            squares += block.compact.squares()
        return squares

    def load(self, seed: tuple[int, int] | None = None) -> Iterator[DocumentBlock]:
        """Yield the blocks, in a random order if there is a seed; on the disk, one is in memory."""
        if not self.is_on_disk:
            yield from self.blocks
            return
        order = list(range(self.n_blocks))
        if seed is not None:
            # in the same order each time, the solver needs more visits: 612 instead of about 72 on
            # RT-s (counts, 27 blocks)
            order = np.random.default_rng(seed).permutation(self.n_blocks).tolist()
        for number in order:
            self._entries.fetch(number)
            self._state.fetch(number)
            yield self.blocks[number]
            self._entries.release(number)
            self._state.release(number)

    def make_rows(
        self, own_class: int, start: ClassSolution | None, *, first_dual: float
    ) -> list[Rows]:
        """Return the state of the documents of each block, where a fit begins. On the disk, it is
        kept from fit to fit.
        """
        found = []
        for block in self.blocks:
            rows = np.zeros(len(block.weights), ROW)
            if self.is_on_disk:
                kept = self._state.groups[block.number][0].reshape(len(self._classes), -1)
                rows = kept[self._classes.index(own_class)]
            found.append(rows)
            if self.is_on_disk and start is not None:
                continue
            rows["sign"] = block.signs(own_class)
            rows["dual"] = first_dual
            if start is not None:
                rows["dual"] = 0
                rows["is_far"] = 1
                rows["dual"][start.documents] = start.dual
                rows["is_far"][start.documents] = 0
            if self.is_on_disk:
                self._state.release(block.number)
        return found

    def pack_rows(self, rows: list[Rows]) -> tuple[Integers32, Floats32]:
        """Return the documents and the dual variables of a `ClassSolution`: none on the disk."""
        if self.is_on_disk:
            return NO_DOCUMENTS, NO_DOCUMENTS.astype(np.float32)
        (own,) = rows
        documents = np.flatnonzero((own["dual"] != 0) | (own["is_far"] == 0)).astype(np.int32)
        return documents, own["dual"][documents]


def order_features(frequencies: Array, at_least: int) -> tuple[Integers32, Integers32]:
    """Return the columns of the features that so many documents hold, the most frequent first, and
    their places.

    frequencies  (n_features,), numbers of documents
    returns      (n_shared,), and for each feature its place among these, (n_features,); -1 if it
                 has none
    """
    shared = np.flatnonzero(frequencies >= at_least)
    columns = shared[np.argsort(-frequencies[shared], kind="stable")].astype(np.int32)
    return columns, find_places(columns, len(frequencies))
