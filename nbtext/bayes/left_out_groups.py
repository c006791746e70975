"""Groups of documents that are left out together, and what remains of the class statistics without each group."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.csr import entries_of, entry_positions, run_starts, running_sums
from nbtext.features.document_counts import DocumentCounts
from nbtext.records import dataclass

AT_ONCE = 1 << 22  # entries of documents that are sorted at once


@dataclass(frozen=True, eq=False)
class LeftOutGroups:
    """Some groups of documents of a corpus. Each group is left out as a whole, and some of its documents are scored.

    documents      the scored documents
    groups         (n_documents,), the group of each, 0 to n_groups - 1
    members        all documents of the groups
    member_groups  (n_members,), the group of each
    n_groups       number of groups
    n_classes      number of classes
    """

    documents: DocumentCounts
    groups: NDArray[np.int64]
    members: DocumentCounts
    member_groups: NDArray[np.int64]
    n_groups: int
    n_classes: int

    @cached_property
    def class_documents(self) -> NDArray[np.int64]:
        """The number of documents of each class in each group, (n_groups, n_classes)."""
        places = self._class_places
        return np.bincount(places, minlength=self._n_places).reshape(self.n_groups, self.n_classes)

    @cached_property
    def tokens(self) -> Floats:
        """The sum of the counts (or weights) of each class in each group, (n_groups, n_classes)."""
        sums = np.bincount(self._class_places, weights=self.members.totals, minlength=self._n_places)
        return sums.reshape(self.n_groups, self.n_classes).astype(np.float64, copy=False)

    @property
    def _class_places(self) -> NDArray[np.int64]:
        return self.member_groups * self.n_classes + self.members.classes

    @property
    def _n_places(self) -> int:
        return self.n_groups * self.n_classes

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct pairs of a group and a feature, as sorted keys, and the pair of each entry of `members`."""
        keys = self.member_groups[self.members.entry_documents] << 32 | self.members.indices
        return np.unique(keys, return_inverse=True)

    @property
    def features(self) -> NDArray[np.int64]:
        """The feature of each pair, (n_pairs,)."""
        return self._pairs[0] & 0xFFFFFFFF

    @property
    def pair_groups(self) -> NDArray[np.int64]:
        """The group of each pair, (n_pairs,)."""
        return self._pairs[0] >> 32

    @property
    def member_columns(self) -> NDArray[np.int64]:
        """The pair of each entry of `members`."""
        return self._pairs[1]

    @cached_property
    def columns(self) -> NDArray[np.int32]:
        """The pair of each entry of `documents`."""
        keys = self.groups[self.documents.entry_documents] << 32 | self.documents.indices
        return np.searchsorted(self._pairs[0], keys).astype(np.int32)

    def remainders(self, statistics: ClassStatistics, *, width: int = 1) -> Remainders:
        """Return the entries of the statistics for the features of each group.

        width  columns of the statistics for each feature, which all have the same classes
        """
        columns = (self.features[:, None] * width + np.arange(width)).reshape(-1)
        indptr, entries = entries_of(statistics.indptr, columns)
        classes = statistics.classes[entries]
        owners = np.repeat(np.repeat(self.pair_groups, width), np.diff(indptr))
        member_columns = (self._pairs[1] * width).astype(np.int32)  # the first column of the pair
        positions = entry_positions(self.members.indptr, member_columns, self.members.classes, indptr, classes)
        return Remainders(indptr, classes, entries, owners, positions, self)


@dataclass(frozen=True, eq=False)
class Remainders:
    """Entries of class statistics, once for each group that has the feature.

    indptr     (n_columns + 1,), the entries of each pair of a group and a feature
    classes    (n_entries,)
    entries    (n_entries,), the entry of the statistics
    groups     (n_entries,), the group
    positions  for each entry of the left-out documents, the entry here that has the same group, feature and class
    """

    indptr: NDArray[np.int64]
    classes: NDArray[np.int32]
    entries: NDArray[np.int64]
    groups: NDArray[np.int64]
    positions: NDArray[np.int64]
    left_out: LeftOutGroups

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each entry's group and class in a flat array (n_groups, n_classes)."""
        return self.groups * self.left_out.n_classes + self.classes

    def sum_members(self, values: NDArray[Any] | None = None, positions: NDArray[np.int64] | None = None) -> Floats:
        """Return for each entry the sum of the values of the members' entries; None: their number."""
        positions = self.positions if positions is None else positions
        return np.bincount(positions, weights=values, minlength=len(self.entries)).astype(np.float64, copy=False)

    def sum_groups(self, values: Floats) -> Floats:
        """Return the sums of the entries' values by group and class, (n_groups, n_classes)."""
        shape = self.left_out.n_groups, self.left_out.n_classes
        sums = np.bincount(self.places, weights=values, minlength=shape[0] * shape[1])
        return sums.reshape(shape).astype(np.float64, copy=False)

    def score(
        self, deltas: Floats, columns: NDArray[np.int32], counts: NDArray[Any], base: Floats | None = None
    ) -> Floats:
        """Return the sums of counts · (base + delta) over the entries of each scored document, (n, n_classes)."""
        zeros = np.zeros(self.left_out.n_classes)
        scale = None if base is None else np.ones(len(zeros))
        scorer = LinearScorer(zeros, zeros, self.indptr, self.classes, deltas, base, scale)
        return scorer.scores(self.left_out.documents.indptr, columns, counts)


def count_group_hapaxes(
    statistics: ClassStatistics, documents: DocumentCounts, groups: NDArray[np.int64], *, is_binary: bool = False
) -> Floats:
    """Return the number of tokens whose features occur only in the group of each document, shape (n_documents,).

    documents  of the corpus, each with all other documents of its group
    is_binary  whether each feature counts once
    """
    order = np.argsort(groups, kind="stable")
    ends = np.append(run_starts(groups[order])[1:], len(order))
    running = running_sums(np.diff(documents.indptr)[order])
    frequencies, found = statistics.document_frequencies, np.zeros(len(documents))
    start = 0
    for stop in ends[np.append(np.diff(running[ends] // AT_ONCE) > 0, True)].tolist():
        rows = order[start:stop]
        found[rows] = _count_part(frequencies, documents.take(rows), groups[rows], is_binary)
        start = stop
    return found


def _count_part(
    frequencies: NDArray[np.int64], documents: DocumentCounts, groups: NDArray[np.int64], is_binary: bool
) -> Floats:
    """Return the number of tokens of each document whose features occur only in its group; groups ascend."""
    sizes, numbers = np.unique(groups, return_inverse=True, return_counts=True)[2:0:-1]
    owners = documents.entry_documents
    entries = np.flatnonzero(frequencies[documents.indices] <= sizes[numbers[owners]])
    keys = groups[owners[entries]] << 32 | documents.indices[entries]
    order = np.argsort(keys, kind="stable")
    n_members = np.diff(np.append(run_starts(keys[order]), len(keys)))
    holders = np.zeros(len(keys), dtype=np.int64)
    holders[order] = np.repeat(n_members, n_members)
    entries = entries[holders == frequencies[documents.indices[entries]]]
    counts = None if is_binary else documents.counts[entries]
    return np.bincount(owners[entries], weights=counts, minlength=len(documents)).astype(np.float64)


def split_groups(
    documents: DocumentCounts,
    groups: NDArray[np.int64],
    members: DocumentCounts,
    member_groups: NDArray[np.int64],
    *,
    costs: Floats,
    most: float,
    n_classes: int,
) -> list[tuple[NDArray[np.int64], LeftOutGroups]]:
    """Cut documents into parts of whole groups: the rows of each part, and the part.

    groups         (n_documents,), any numbers
    member_groups  (n_members,), ascending
    costs          (n_members,), of each member
    most           cost of a part; a group may have more
    """
    order = np.argsort(groups, kind="stable")
    starts = run_starts(groups[order])
    present = groups[order][starts]
    first, last = np.searchsorted(member_groups, present), np.searchsorted(member_groups, present, side="right")
    running = np.concatenate(([0.0], np.cumsum(costs)))
    before = np.cumsum(running[last] - running[first]) - (running[last] - running[first])
    cuts = np.append(run_starts((before // most).astype(np.int64)), len(present))
    bounds = np.append(starts, len(order))
    parts = []
    for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        rows = order[bounds[begin] : bounds[end]]
        sizes = (last - first)[begin:end]
        places = np.repeat(first[begin:end] - running_sums(sizes)[:-1], sizes) + np.arange(sizes.sum())
        numbers = np.repeat(np.arange(end - begin), np.diff(bounds[begin : end + 1]))
        parts.append(
            (rows, LeftOutGroups(
                documents.take(rows), numbers, members.take(places), np.repeat(np.arange(end - begin), sizes),
                end - begin, n_classes,
            ))
        )  # fmt: skip
    return parts
