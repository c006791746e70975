"""Counted documents that are too many for memory: sorted runs in a temporary file, read in parts
by their hashes.

This is an external merge sort. A thread that counts writes its documents in runs, sorted by hash
and class. A part holds documents that follow each other in this order of all documents. So it
depends neither on the threads nor on the order of the input, and as hashes are random, it is a
random sample of the corpus.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Hashes, Integers, Integers32
from nbtext.documents.fields import WEIGHT_UNIT
from nbtext.errors import OutputError
from nbtext.features.csr import running_sums
from nbtext.features.document_table import DocumentTable, concatenate, take_smallest
from nbtext.output import convert_errors

# Entries (a feature of a document) up to which the documents of a linear model stay in memory,
# where fitting takes about 60 bytes for each (8.1 GB for the 2 GB of tests/benchmarks/scale.py): 1
# GB.
MAX_ENTRIES_IN_MEMORY = 1 << 24
RUN_ENTRIES = 1 << 21  # of a run, of which each thread holds one
# of a block, at most; it has 8 bytes for each entry
STORED_BLOCK_ENTRIES = 1 << 21
STORED_BLOCK_DOCUMENTS = 1 << 16
# of the files: for an entry, a document, and one in each problem
ENTRY_BYTES = 14
DOCUMENT_BYTES = 24
DUAL_BYTES = 16


class Place(NamedTuple):
    """The place of an array in a file."""

    start: int
    dtype: np.dtype[Any]
    size: int

    def part(self, first: int, last: int) -> Place:
        """Return the place of the elements from `first` up to `last`."""
        return Place(self.start + first * self.dtype.itemsize, self.dtype, last - first)


class ArrayFile:
    """Arrays of one dimension in a temporary file without a name, which the system removes when it
    is closed or the process ends.

    All methods raise OutputError if the file cannot be written or read. Several threads may call
    them.
    """

    def __init__(self, folder: str) -> None:
        self._where = f"a temporary file in {folder}"
        self._lock = threading.Lock()
        self._size = 0
        with convert_errors(self._where):
            self._file = _open_file(folder)

    def append(self, array: Array) -> Place:
        """Write an array at the end."""
        with self._lock, convert_errors(self._where):
            place = Place(self._size, array.dtype, len(array))
            self._file.seek(place.start)
            self._file.write(np.ascontiguousarray(array).data)
            self._file.flush()  # raises where the disk is full
            self._size += array.nbytes
        return place

    def read(self, place: Place) -> Array:
        """Return the array at a place."""
        array = np.empty(place.size, place.dtype)
        with self._lock, convert_errors(self._where):
            self._file.seek(place.start)
            if self._file.readinto(array.data) < array.nbytes:
                raise OSError("it is shorter than it was")
        return array

    def close(self) -> None:
        self._file.close()


class MappedArrays:
    """Groups of arrays of zeros, mapped from a temporary file without a name, which goes with the
    last array.

    The whole file is allocated at first, so that writing to the arrays cannot fill the disk.

    folder  of the file
    groups  type and length of the arrays of each group; later, the arrays

    raises  OutputError: the folder has too little space, or the file cannot be made
    """

    def __init__(self, folder: str, groups: Sequence[Sequence[tuple[Any, int]]]) -> None:
        import mmap

        sizes = [
            [-(-np.dtype(dtype).itemsize * length // 64) * 64 for dtype, length in group]
            for group in groups
        ]
        pages = running_sums([-(-sum(own) // mmap.PAGESIZE) for own in sizes])
        self._bounds = (pages * mmap.PAGESIZE).tolist()
        size = max(self._bounds[-1], mmap.PAGESIZE)
        with convert_errors(f"a temporary file in {folder}"), _open_file(folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            self._memory = memory = mmap.mmap(file.fileno(), size)
        self.groups = [
            tuple(
                np.frombuffer(memory, dtype, length, int(start))
                for (dtype, length), start in zip(
                    group, first + running_sums(own)[:-1], strict=True
                )
            )
            for group, own, first in zip(groups, sizes, self._bounds[:-1], strict=True)
        ]

    def fetch(self, group: int) -> None:
        """Begin to read a group that will be used."""
        self._advise("MADV_WILLNEED", group)

    def release(self, group: int) -> None:
        """Let the pages of a group go from the memory of the process; they stay in the file."""
        self._advise("MADV_DONTNEED", group)

    def _advise(self, advice: str, group: int) -> None:
        import mmap

        first, last = self._bounds[group : group + 2]
        if last > first and hasattr(mmap, advice):  # Windows has none
            self._memory.madvise(getattr(mmap, advice), first, last - first)


def _open_file(folder: str) -> io.BufferedRandom:
    import tempfile  # by a few corpora only

    return tempfile.TemporaryFile(dir=folder)


class SortedRun(NamedTuple):
    """Documents in a file, sorted by hash and class; `sizes` are their numbers of entries."""

    indices: Place
    counts: Place
    sizes: Integers32
    classes: Integers32
    hashes: Hashes


class Spill:
    """Where threads that count a corpus leave their documents once all of them together are too
    many for memory.

    folder    of the temporary files
    size      of the source, in the unit of `read`; None: not known
    announce  called once with the bytes that the files will need, or None if they cannot be told,
              and with `folder`

    raises  OutputError: the folder has too little space, or a file cannot be written
    """

    def __init__(
        self, folder: str, size: int | None = None, announce: Callable[..., None] = lambda *_: None
    ) -> None:
        self.folder = folder
        self._size = size
        self._announce = announce
        self._lock = threading.Lock()
        self._n_entries = self._n_documents = self._n_classes = self._n_read = 0
        self._files: list[ArrayFile] = []

    @property
    def is_begun(self) -> bool:
        """Whether documents are stored: whether all of them have more than MAX_ENTRIES_IN_MEMORY
        entries.
        """
        return bool(self._files)

    def add(self, documents: DocumentTable) -> bool:
        """Count documents; return whether documents are to be stored."""
        with self._lock:
            self._n_entries += len(documents.indices)
            self._n_documents += len(documents)
            self._n_classes = max(self._n_classes, int(documents.classes.max(initial=0)) + 1)
            if not self._files and self._n_entries > MAX_ENTRIES_IN_MEMORY:
                self._begin()
        return self.is_begun

    def read(self, size: int) -> None:
        """Count what was read of the source."""
        with self._lock:
            self._n_read += size

    def _begin(self) -> None:
        import shutil

        needed = None
        if self._size is not None and self._n_read:
            by_document = DOCUMENT_BYTES + DUAL_BYTES * (
                self._n_classes if self._n_classes > 2 else 1
            )
            so_far = ENTRY_BYTES * self._n_entries + by_document * self._n_documents
            needed = so_far * max(1.0, self._size / self._n_read)
        self._announce(needed, self.folder)
        free = shutil.disk_usage(self.folder).free
        if needed is not None and needed > free:
            raise OutputError(
                f"the documents need about {needed / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free",
                where=self.folder,
                hint="free some space, or set TMPDIR to another folder",
            )
        self._files.append(ArrayFile(self.folder))

    def store(self, documents: DocumentTable) -> SortedRun:
        """Store a run."""
        file = self._files[0]
        counts = documents.counts.astype(np.min_scalar_type(documents.counts.max(initial=0)))
        return SortedRun(
            file.append(documents.indices),
            file.append(counts),
            np.diff(documents.indptr).astype(np.int32),
            documents.classes,
            documents.hashes,
        )

    def load(self, run: SortedRun, first: int, last: int, start: int) -> DocumentTable:
        """Return the documents of a run from `first` up to `last`; `start` is the first one's first
        entry.
        """
        indptr = running_sums(run.sizes[first:last])
        places = (each.part(start, start + int(indptr[-1])) for each in (run.indices, run.counts))
        indices, counts = (
            self._files[0].read(place).astype(np.int32, copy=False) for place in places
        )
        return DocumentTable(
            indptr, indices, counts, run.classes[first:last], run.hashes[first:last]
        )

    def load_features(self, run: SortedRun) -> Integers32:
        """Return the features of all documents of a run, (n_entries,), one document after the
        other.
        """
        return self._files[0].read(run.indices)

    def close(self) -> None:
        """Remove the file of the documents."""
        for file in self._files:
            file.close()


class CounterRuns(NamedTuple):
    """Runs of one counter: its feature j is column columns[j] (below 0: removed), its class k is
    classes[k], and documents of this class have the weight weights[k] (None: each counts once).
    """

    runs: tuple[SortedRun, ...]
    columns: Integers32
    classes: Integers32
    weights: Integers | None = None

    def weigh(self, classes: Integers32) -> Integers:
        """Return the weights of documents with these classes of the counter."""
        if self.weights is None:
            return np.full(len(classes), WEIGHT_UNIT, np.int64)
        return self.weights[classes]


class RunOrder(NamedTuple):
    """The order of the documents of all runs: by hash, then by class.

    hashes, classes  (n_documents,)
    times            (n_documents,), how often each counts; None: once
    owners           (n_documents,), the run of each
    bounds           of parts, of which each is small enough to be loaded
    taken            (n_parts + 1, n_runs), how many documents of a run precede each part
    """

    hashes: Hashes
    classes: Integers32
    times: Floats | None
    owners: Integers32
    bounds: list[int]
    taken: Integers


class StoredDocuments:
    """All documents of a corpus, in runs. It has the columns and parts that a DocumentTable has, in
    the order of the hashes, then of the classes.
    """

    def __init__(self, spill: Spill, parts: Sequence[CounterRuns]) -> None:
        self.spill = spill
        self._parts = tuple(parts)

    @classmethod
    def of(
        cls, spill: Spill, documents: DocumentTable, n_features: int, n_classes: int
    ) -> StoredDocuments:
        """Store sorted documents in memory."""
        columns = np.arange(n_features, dtype=np.int32)
        classes = np.arange(n_classes, dtype=np.int32)
        weights = None
        if documents.weights is not None:
            pairs = np.column_stack((documents.classes, documents.weights))
            found, codes = np.unique(pairs, axis=0, return_inverse=True)
            documents = replace(documents, classes=codes.ravel().astype(np.int32), weights=None)
            classes = found[:, 0].astype(np.int32)
            weights = found[:, 1]
        return cls(spill, [CounterRuns((spill.store(documents),), columns, classes, weights)])

    def __len__(self) -> int:
        return sum(len(run.sizes) for part in self._parts for run in part.runs)

    def __add__(self, other: StoredDocuments) -> StoredDocuments:
        return StoredDocuments(self.spill, self._parts + other._parts)

    def map_features(self, columns: Integers32) -> StoredDocuments:
        """Return the same documents with other numbers for features; below 0: removed."""
        columns = np.append(columns, np.int32(-1))  # of features that were removed before
        parts = [part._replace(columns=columns[part.columns]) for part in self._parts]
        return StoredDocuments(self.spill, parts)

    def renumber(self, columns: Integers32, classes: Integers32) -> StoredDocuments:
        """Return the same documents with other numbers for features and classes."""
        parts = self.map_features(columns)._parts
        return StoredDocuments(
            self.spill, [part._replace(classes=classes[part.classes]) for part in parts]
        )

    @cached_property
    def _runs(self) -> list[tuple[SortedRun, CounterRuns]]:
        return [(run, part) for part in self._parts for run in part.runs]

    @cached_property
    def _order(self) -> RunOrder:
        runs = self._runs
        hashes = np.concatenate([run.hashes for run, _ in runs])
        classes = np.concatenate([part.classes[run.classes] for run, part in runs])
        keys = [classes, hashes]
        weights = None
        if any(part.weights is not None for part in self._parts):
            weights = np.concatenate([part.weigh(run.classes) for run, part in runs])
            keys.insert(0, weights)
        order = np.lexsort(keys)
        owners = np.repeat(
            np.arange(len(runs), dtype=np.int32), [len(run.sizes) for run, _ in runs]
        )[order]
        sizes = np.concatenate([run.sizes for run, _ in runs])[order]
        ends = np.cumsum(sizes, dtype=np.int64)
        bounds = [0]
        while bounds[-1] < len(order):
            first = bounds[-1]
            last = int(
                np.searchsorted(ends, ends[first] - sizes[first] + STORED_BLOCK_ENTRIES, "right")
            )
            bounds.append(min(max(last, first + 1), first + STORED_BLOCK_DOCUMENTS, len(order)))
        # the documents of each run that the parts up to each one hold: runs have the same order
        taken = [np.zeros(len(runs), np.int64)]
        for first, last in pairwise(bounds):
            taken.append(taken[-1] + np.bincount(owners[first:last], minlength=len(runs)))
        times = None if weights is None else weights[order] / WEIGHT_UNIT
        return RunOrder(hashes[order], classes[order], times, owners, bounds, np.array(taken))

    @property
    def hashes(self) -> Hashes:
        return self._order.hashes

    @property
    def classes(self) -> Integers32:
        return self._order.classes

    @property
    def times(self) -> Floats | None:
        return self._order.times

    @property
    def part_bounds(self) -> list[int]:
        """The parts of the documents that are loaded one by one: part b begins at bounds[b]."""
        return self._order.bounds

    def load(self, part: int) -> DocumentTable:
        """Return the documents of a part, sorted by hash and class."""
        found = []
        for number, (run, counter) in enumerate(self._runs):
            first, last = self._order.taken[part : part + 2, number].tolist()
            if first < last:
                start = int(run.sizes[:first].sum(dtype=np.int64))
                documents = self.spill.load(run, first, last, start)
                weights = None if self.times is None else counter.weigh(documents.classes)
                classes = counter.classes[documents.classes]
                documents = documents.arrange(counter.columns)
                found.append(replace(documents, classes=classes, weights=weights))
        return take_smallest(found, None)

    def features(self) -> Iterator[tuple[Any, Integers, Integers32]]:
        """Yield some documents, and their features as compressed sparse rows without values, until
        all were yielded.
        """
        sizes = [len(run.sizes) for run, _ in self._runs]
        documents = np.split(np.argsort(self._order.owners, kind="stable"), np.cumsum(sizes)[:-1])
        for (run, counter), own in zip(self._runs, documents, strict=True):
            features = counter.columns[self.spill.load_features(run)]
            is_kept = features >= 0
            yield own, running_sums(is_kept)[running_sums(run.sizes)], features[is_kept]

    def first(self, size: int) -> DocumentTable:
        """Return the first `size` documents, or all of them."""
        found = []
        n = 0
        for part in range(len(self.part_bounds) - 1):
            if n >= size:
                break
            found.append(self.load(part))
            n += len(found[-1])
        return concatenate(found).slice(0, min(n, size))


def scratch_folder(output: str) -> str:
    """Return where temporary files go: to $TMPDIR if it is set, else beside the output, if that is
    a file.
    """
    if (
        os.environ.get("TMPDIR")
        or output == "-"
        or (os.path.exists(output) and not os.path.isfile(output))
    ):
        import tempfile

        return tempfile.gettempdir()
    return os.path.dirname(os.path.realpath(output))
