"""Documents that are too many for memory, in blocks.

They are in a temporary file, with the state of each in the problem of each class. The solver visits
block after block, and for each block some classes, as many as have their weights in memory. One
fold is held out, of documents with the smallest hashes; its models continue from the solution of
all documents.

Each range of hashes is spread over all blocks. With ranges as blocks, all duplicates of a document
would be visited one after the other, which is as slow as one document with a larger C: 300 MB of
repeated documents need 213 visits to all blocks instead of 57.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from nbtext.arrays import Floats, Floats32, Integers, Integers32
from nbtext.features.csr import running_sums
from nbtext.features.stored_documents import MappedArrays, StoredDocuments
from nbtext.features.weighting import Weighting
from nbtext.linear.data import (
    ROW,
    ClassSolution,
    CompactMatrix,
    DocumentBlock,
    Rows,
    check_finite,
    order_features,
)
from nbtext.numerics import dot
from nbtext.parallel import parallel_map

# Fewer blocks need more passes, because the solution follows each of them: on 300 MB of
# tests/benchmarks/scale.py, made unique, 6 blocks need 1,031 passes of 20 classes, 12 need 865, 23
# need 777, and 46 need 717.
MIN_BLOCKS = 64
# ranges of hashes for each block, at most; a thread that writes the blocks has one range in memory
RANGES = 2
NO_DOCUMENTS = np.zeros(0, dtype=np.int32)


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
        self.sets = None  # each document has one class

    def __len__(self) -> int:
        return len(self.classes)

    def load(self, number: int, rows: Integers) -> tuple[Integers, Integers32, Floats]:
        """Return some weighted documents of a range of hashes as compressed sparse rows."""
        documents = self.blocks.load(number).take(rows)
        weights = self.weighting.weights(documents.indptr, documents.indices, documents.counts)
        return documents.indptr, documents.indices, np.asarray(weights, dtype=np.float64)


class DocumentsOnDisk:
    """Training data in blocks, of which one is in memory, and each is visited for several classes
    by several threads; see `DocumentsInMemory`.
    """

    is_on_disk = True

    def __init__(
        self, data: BlockedData, classes: Sequence[int], *, has_intercept: bool, jobs: int = 1
    ) -> None:
        self._data = data
        self._classes = list(classes)
        self._has_intercept = has_intercept
        frequencies = np.append(data.frequencies, len(data)) if has_intercept else data.frequencies
        self.columns, self._places = order_features(frequencies)
        self.n_blocks = min(max(MIN_BLOCKS, len(data.blocks) // RANGES), len(data))
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
            [running_sums(own[self._documents(n)]) for own in sizes] for n in range(self.n_blocks)
        ]
        del sizes
        entries = [(int(shared[-1]), int(single[-1])) for shared, single in self._bounds]
        kinds = [
            ((np.int32, m), (np.float32, m), (np.int32, n), (np.int32, n), (np.float64, n))
            for m, n in entries
        ]
        self._entries = MappedArrays(folder, kinds)
        self.squares = np.zeros(len(self.columns))
        for squares in parallel_map(self._store, range(len(data.blocks)), jobs=jobs):
            self.squares += squares
        del self._places
        data.blocks.spill.close()  # whose documents are stored as blocks now
        lengths = [len(self._classes) * (len(shared) - 1) for shared, _ in self._bounds]
        self._state = MappedArrays(folder, [((ROW, length),) for length in lengths])
        self.blocks = [self._make_block(number) for number in range(self.n_blocks)]

    def _documents(self, block: int) -> slice:
        """Return the documents of a block: every n-th one, so that duplicates are in as many blocks
        as possible.
        """
        return slice(block, None, self.n_blocks)

    def _store(self, number: int) -> Floats:
        """Store a range of hashes in the blocks; return the sum of the squares of each shared
        feature's values.
        """
        first, last = self._data.blocks.bounds[number : number + 2]
        blocks = np.arange(first, last) % self.n_blocks
        order = np.argsort(blocks, kind="stable")
        entries = self._data.load(number, order)
        own = CompactMatrix.split(
            *entries, self.columns, self._places, is_adding=self._has_intercept
        )
        check_finite(dot(own.values, own.values) + dot(own.single_values, own.single_values))
        singles = running_sums(np.bincount(own.single_rows, minlength=last - first))
        starts = np.searchsorted(blocks[order], np.arange(self.n_blocks + 1)).tolist()
        for block, (begin, end) in enumerate(pairwise(starts)):
            place = -(-(first - block) // self.n_blocks)  # in the block, of the first document
            to, to_single = (
                slice(each[place], each[place + end - begin]) for each in self._bounds[block]
            )
            part = slice(*own.indptr[[begin, end]])
            single = slice(*singles[[begin, end]])
            features, values, rows, single_columns, single_values = self._entries.groups[block]
            features[to] = own.features[part]
            values[to] = own.values[part]
            rows[to_single] = own.single_rows[single] + (place - begin)
            single_columns[to_single] = own.single_columns[single]
            single_values[to_single] = own.single_values[single]
            self._entries.release(block)
        return own.squares()

    def _make_block(self, number: int) -> DocumentBlock:
        documents = self._documents(number)
        indptr, _ = self._bounds[number]
        compact = CompactMatrix(self.columns, indptr, *self._entries.groups[number])
        assert compact.checked is not None  # made now, once
        classes = self._data.classes[documents].copy()
        weights = self._data.class_weights[classes]
        block = DocumentBlock(number, documents, compact, weights, partial(np.equal, classes))
        self._release(number)
        return block

    def _release(self, number: int) -> None:
        self._entries.release(number)
        self._state.release(number)

    def load(self, seed: tuple[int, int] | None = None) -> Iterator[DocumentBlock]:
        """Yield the blocks, in a random order if there is a seed; one is in memory."""
        order = list(range(self.n_blocks))
        if seed is not None:
            # in the same order each time, the solver needs more visits: 612 instead of about 72 on
            # RT-s (counts, 27 blocks)
            order = np.random.default_rng(seed).permutation(self.n_blocks).tolist()
        for number in order:
            self._entries.fetch(number)
            self._state.fetch(number)
            yield self.blocks[number]
            self._release(number)

    def make_rows(
        self, own_class: int, start: ClassSolution | None, *, first_dual: float
    ) -> list[Rows]:
        """Return the state of the documents of each block, which is kept from fit to fit."""
        place = self._classes.index(own_class)
        found = []
        for block in self.blocks:
            rows = self._state.groups[block.number][0].reshape(len(self._classes), -1)[place]
            if start is None:
                rows["sign"] = block.signs(own_class)
                rows["dual"] = first_dual
                self._state.release(block.number)
            found.append(rows)
        return found

    def pack_rows(self, rows: list[Rows]) -> tuple[Integers32, Floats32]:
        """Return nothing: the state is kept."""
        return NO_DOCUMENTS, NO_DOCUMENTS.astype(np.float32)
