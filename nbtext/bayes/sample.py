"""Training documents that leave-one-out looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.derivation import Derivation
from nbtext.errors import ModelError
from nbtext.features.routines import routines
from nbtext.features.rows import run_starts, running_sums

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Sample:
    """Documents as rows of counts, each with its class: compressed sparse rows, features ascending within a row.

    indptr   (n_documents + 1,) int64
    indices  (n_entries,) int32
    counts   (n_entries,) int32 or float64, > 0
    classes  (n_documents,) int32
    hashes   (n_documents,) uint64, ascending: numbers that depend on the counts alone. A sample of k documents is
             those with the k smallest, whatever the order in which documents came
    marks    (n_documents,) str objects, the group or time of each; None where it was not asked for
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    counts: NDArray[Any]
    classes: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    marks: NDArray[Any] | None = None
    _located: tuple[ClassStatistics, NDArray[np.int64]] | None = field(default=None, init=False, repr=False)
    _transposed: csr_array | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def entry_documents(self) -> NDArray[np.int64]:
        """The document of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def document_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of one value an entry, for each document: shape (n_documents,)."""
        return np.bincount(self.entry_documents, weights=values, minlength=len(self)).astype(np.float64)

    def sums_of_features(self, features: NDArray[np.bool_], *, are_counted: bool = True) -> NDArray[np.float64]:
        """The counts of some features (or how many of them there are) in each document, shape (n_documents,)."""
        entries = np.flatnonzero(features[self.indices])
        documents = np.searchsorted(self.indptr, entries, side="right") - 1
        weights = self.counts[entries] if are_counted else None
        return np.bincount(documents, weights=weights, minlength=len(self)).astype(np.float64)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Tokens of each document."""
        if self.counts.dtype.kind == "f":
            return self.document_sums(self.counts)
        lengths = np.zeros(len(self))
        is_filled = np.diff(self.indptr) > 0
        if is_filled.any():  # whole numbers: summed in place, in whatever order
            lengths[is_filled] = np.add.reduceat(self.counts, self.indptr[:-1][is_filled], dtype=np.int64)
        return lengths

    def presence(self) -> Sample:
        """The same documents with every count capped at one."""
        return replace(self, counts=np.ones_like(self.counts))

    def derived(self, derivation: Derivation) -> Sample:
        """The same documents over the columns that are made of the features."""
        indptr, indices, values = derivation.rows(self.indptr, self.indices, self.counts)
        return replace(self, indptr=indptr, indices=indices, counts=values)

    def restricted(self, columns: NDArray[np.int64], n_features: int) -> Sample:
        """The same documents over these of the features only; `columns` ascends."""
        renumbered = np.full(n_features, -1, dtype=np.int32)
        renumbered[columns] = np.arange(len(columns), dtype=np.int32)
        indices = renumbered[self.indices]
        kept = indices >= 0
        return replace(self, indptr=running_sums(kept)[self.indptr], indices=indices[kept], counts=self.counts[kept])

    def taken(self, documents: NDArray[np.int64]) -> Sample:
        """These of the documents, in this order."""
        rows = routines.take_rows(self.indptr, self.indices, self.counts, documents)
        marks = self.marks[documents] if self.marks is not None else None
        return Sample(*rows, self.classes[documents], self.hashes[documents], marks)

    def where(self, is_kept: NDArray[np.bool_]) -> Sample:
        """The documents for which this is true: shape (n_documents,)."""
        return self if is_kept.all() else self.taken(np.flatnonzero(is_kept))

    def parts(self, size: int) -> list[Sample]:
        """The sample cut into parts of at most `size` documents; itself where it is no larger."""
        if len(self) <= size:
            return [self]
        return [self.part(start, min(start + size, len(self))) for start in range(0, len(self), size)]

    def part(self, start: int, stop: int) -> Sample:
        """The documents from `start` up to `stop`."""
        entries = slice(self.indptr[start], self.indptr[stop])
        return Sample(
            self.indptr[start : stop + 1] - self.indptr[start],
            self.indices[entries],
            self.counts[entries],
            self.classes[start:stop],
            self.hashes[start:stop],
            self.marks[start:stop] if self.marks is not None else None,
        )

    def by_feature(self, n_features: int) -> csr_array:
        """The counts as a sparse matrix (n_features, n_documents), which is made once."""
        from scipy.sparse import csr_array

        if self._transposed is None:
            rows = csr_array((self.counts, self.indices, self.indptr), shape=(len(self), n_features))
            object.__setattr__(self, "_transposed", rows.T.tocsr())  # a memory, no part of the value
        return self._transposed

    def own_entries(self, statistics: ClassStatistics) -> NDArray[np.int64]:
        """For each entry, the position of (its feature, the class of its document) in statistics of the corpus."""
        if self._located is None or self._located[0] is not statistics:
            positions = routines.entry_positions(
                self.indptr, self.indices, self.classes, statistics.indptr, statistics.classes
            )
            object.__setattr__(self, "_located", (statistics, positions))  # a memory, no part of the value
            return positions
        return self._located[1]

    def smallest(self, size: int | None) -> Sample:
        """The documents with the smallest hashes (all where size is None), in their order; equal ones by class."""
        return self.taken(self.order(self.classes)[:size])

    def order(self, classes: NDArray[np.int32]) -> NDArray[np.int64]:
        """The places of the documents in the order of their hashes, then of these classes, then of their marks."""
        if self.marks is None:
            return np.lexsort((classes, self.hashes))
        return np.lexsort((np.unique(self.marks, return_inverse=True)[1], classes, self.hashes))

    def below(self, bound: int) -> Sample:
        """The documents whose hashes are below a bound, of which 2**64 is the highest."""
        if bound > int(self.hashes.max(initial=0)):
            return self
        return self.part(0, int(np.searchsorted(self.hashes, np.uint64(bound))))

    def less(self, others: Sample) -> Sample:
        """The documents without those of another sample, over the same features: of equal ones as many as there.

        Both are in the order that `smallest` gives.

        raises  ModelError: one is not there
        """
        hashes = np.concatenate((self.hashes, others.hashes))
        classes = np.concatenate((self.classes, others.classes))
        order = np.lexsort((classes, hashes))
        is_new = (np.diff(hashes[order], prepend=hashes[order][:1]) != 0) | (np.diff(classes[order], prepend=-1) != 0)
        kinds = np.empty(len(order), dtype=np.int64)
        kinds[order] = np.cumsum(is_new)
        mine, theirs = kinds[: len(self)], kinds[len(self) :]
        n_taken = np.bincount(theirs, minlength=len(order) + 1)
        if (n_taken > np.bincount(mine, minlength=len(order) + 1)).any():
            raise ModelError("some of these documents were never learned: the model's sample lacks them")
        copies = np.arange(len(mine)) - np.searchsorted(mine, mine)
        return self.taken(np.flatnonzero(copies >= n_taken[mine]))

    def renumbered(self, columns: NDArray[np.int32], classes: NDArray[np.int32]) -> Sample:
        """The same documents with other numbers for features (in the same order) and classes."""
        return replace(self, indices=columns[self.indices], classes=classes[self.classes])

    def is_within(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Whether each document, taken by itself, could be one that the statistics count: shape (n_documents,)."""
        keys = self.indices.astype(np.int64) * statistics.n_classes + self.classes[self.entry_documents]
        known = np.append(statistics.entry_features * statistics.n_classes + statistics.classes, -1)
        places = np.searchsorted(known[:-1], keys)
        is_met = known[places] == keys
        is_met[is_met] = statistics.occurrences[places[is_met]] >= self.counts[is_met]
        n_unmet = np.bincount(self.entry_documents, weights=~is_met, minlength=len(self))
        return np.asarray((n_unmet == 0) & (statistics.class_documents[self.classes] > 0))

    def statistics(self, n_features: int, n_classes: int) -> ClassStatistics:
        """What these documents amount to."""
        keys = self.indices.astype(np.int64) * n_classes + self.classes[self.entry_documents]
        # sums of whole numbers are the same in any order, and sorting without regard to it is much quicker
        order = np.argsort(keys, kind=None if self.counts.dtype.kind == "i" else "stable")
        keys = keys[order]
        starts = run_starts(keys)
        features, classes = np.divmod(keys[starts], max(1, n_classes))
        exact = np.int64 if self.counts.dtype.kind == "i" else np.float64
        counts = self.counts[order].astype(exact)
        return ClassStatistics(
            np.bincount(self.classes, minlength=n_classes).astype(np.int64),
            np.searchsorted(features, np.arange(n_features + 1)).astype(np.int64),
            classes.astype(np.int32),
            np.diff(np.append(starts, len(keys))),
            np.add.reduceat(counts, starts) if len(starts) else counts,
        )


def concatenated(samples: Sequence[Sample]) -> Sample:
    """The documents of several samples, one after the other; none of no sample."""
    ends = np.cumsum([0, *(sample.indptr[-1] for sample in samples)])
    indptr = [sample.indptr[1:] + end for sample, end in zip(samples, ends, strict=False)]
    marks = [sample.marks for sample in samples if sample.marks is not None]
    return Sample(
        np.concatenate((np.zeros(1, dtype=np.int64), *indptr)),
        np.concatenate([np.zeros(0, dtype=np.int32), *(sample.indices for sample in samples)]),
        np.concatenate([np.zeros(0, dtype=np.int32), *(sample.counts for sample in samples)]),
        np.concatenate([np.zeros(0, dtype=np.int32), *(sample.classes for sample in samples)]),
        np.concatenate([np.zeros(0, dtype=np.uint64), *(sample.hashes for sample in samples)]),
        np.concatenate(marks) if marks else None,
    )
