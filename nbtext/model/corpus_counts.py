"""A corpus counted: everything that training needs, and what two corpora add up to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.documents.batch import Batch, check_label
from nbtext.features.analyzer import TOO_LONG
from nbtext.features.counting import Counter, arrange, counter, merge_sorted
from nbtext.features.document_counts import DocumentCounts, concatenate
from nbtext.features.regex_timeout import refuse_long_texts
from nbtext.features.rows import Rows
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting

ALL_HASHES = 2**64  # above every document's hash
SAMPLE_SIZE = 2**14  # documents that leave-one-out looks at: all of most corpora, some 50 MB of counts


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """The counts of a labelled corpus. Tallies of two corpora add up to the tally of both.

    labels      sorted; class k is labels[k]
    vocabulary  the features; None where they are hashed
    statistics  over all of them
    sample      the documents with the smallest hashes, at most `sample_size`; all where that is None
    sample_size where it is 0, the sample (if there is one) cannot be added to another
    weighting   how the counts were weighted before they were counted, in a matrix of weights; else None
    below       the bound of the hashes below which the sample has all documents (up to `sample_size`): after documents
                of a larger corpus were taken out, nobody knows the next ones
    """

    labels: tuple[str, ...]
    vocabulary: Vocabulary | None
    statistics: ClassStatistics
    sample: DocumentCounts
    sample_size: int | None
    weighting: Weighting | None = None
    below: int = ALL_HASHES

    @property
    def has_own_sample(self) -> bool:
        """Whether the sample is that which counting the same documents at once would give."""
        return self.sample_size != 0 and self.below == ALL_HASHES

    @property
    def has_all_documents(self) -> bool:
        """Whether every document is in the sample."""
        return len(self.sample) == self.statistics.n_documents

    def restricted(self, columns: NDArray[np.int64]) -> CorpusCounts:
        """The tally of these features only; `columns` ascends."""
        return replace(
            self,
            vocabulary=self.vocabulary.restricted(columns) if self.vocabulary is not None else None,
            statistics=self.statistics.restricted(columns),
            sample=self.sample.restrict(columns, self.statistics.n_features),
            weighting=self.weighting.restricted(columns) if self.weighting is not None else None,
        )

    def without(self, documents: NDArray[np.bool_], *, sample_size: int | None = None) -> CorpusCounts:
        """The tally less these documents of its sample; labels that no other document has vanish.

        documents    (n_sampled,), whether each document of the sample is taken out
        sample_size  how many of the others are kept in the sample; None: all
        """
        taken = self.sample.take(np.flatnonzero(documents))
        statistics = self.statistics - count_classes(taken, self.statistics.n_features, len(self.labels))
        sample = self.sample.take(np.flatnonzero(~documents)[:sample_size])
        return replace(self, statistics=statistics, sample=sample)._of_used_labels()

    def _of_used_labels(self) -> CorpusCounts:
        """The same without the labels that no document has."""
        remaining = np.flatnonzero(self.statistics.class_documents)
        if len(remaining) == len(self.labels):
            return self
        numbers = np.full(len(self.labels), -1, dtype=np.int32)
        numbers[remaining] = np.arange(len(remaining), dtype=np.int32)
        return replace(
            self,
            labels=tuple(self.labels[k] for k in remaining),
            statistics=replace(
                self.statistics,
                class_documents=self.statistics.class_documents[remaining],
                classes=numbers[self.statistics.classes],
            ),
            sample=replace(self.sample, classes=numbers[self.sample.classes]),
        )

    def of_used_features(self) -> CorpusCounts:
        """The same without the features that no document has; hashed ones have their columns all the same."""
        used = np.flatnonzero(np.diff(self.statistics.indptr))
        is_settled = self.vocabulary is None or len(used) == self.statistics.n_features
        return self if is_settled else self.restricted(used)

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """The tally of both corpora."""
        union = _union(self, other)
        size = 0 if other.sample_size == 0 else self.sample_size
        below = min(self.below, other.below)
        # first the sample: the copies that it takes are gone when the statistics come
        bound = _bound(size, self.sample.hashes, other.sample.hashes)
        few = (replace(tally, sample=tally.sample.below(min(below, bound))) for tally in (self, other))
        sample = concatenate(union.samples(*few)).smallest(size)
        mine, theirs = union.statistics(self, other)
        tally = CorpusCounts(union.labels, union.vocabulary, mine + theirs, sample, size, below=below)
        return tally.with_known_bound()

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """The tally without a part of its corpus; labels and features that nothing else has vanish.

        other   with all of its documents in its sample, where this tally has a sample that can be added to
        raises  ModelError: some of these documents were never counted
        """
        union = _union(self, other)
        mine, theirs = union.statistics(self, other)
        sample, below = self._sample_without(*union.samples(self, other))
        tally = CorpusCounts(union.labels, union.vocabulary, mine - theirs, sample, self.sample_size, below=below)
        return tally.with_known_bound()._of_used_labels().of_used_features()

    def _sample_without(self, sample: DocumentCounts, gone: DocumentCounts) -> tuple[DocumentCounts, int]:
        """The sample without these documents, and the bound below which nothing is missing from it."""
        if self.sample_size == 0:
            return sample.below(0), ALL_HASHES
        below = self.below
        if below == ALL_HASHES and not self.has_all_documents:
            below = int(sample.hashes[-1])  # the next ones beyond were never kept
            if int(gone.hashes.min(initial=ALL_HASHES - 1)) > below:
                return sample, ALL_HASHES
        return sample.below(below).subtract(gone.below(below)), below

    def with_known_bound(self) -> CorpusCounts:
        """The same without a bound where the sample is as large as it would be in any case."""
        is_full = len(self.sample) == self.sample_size or self.has_all_documents
        return replace(self, below=ALL_HASHES) if is_full else self


def united(a: CorpusCounts, b: CorpusCounts) -> tuple[Vocabulary | None, NDArray[np.int32], NDArray[np.int32]]:
    """The vocabulary of both, and where the columns of each have gone."""
    if a.vocabulary is None or b.vocabulary is None:
        same = np.arange(a.statistics.n_features, dtype=np.int32)
        return None, same, same
    blob, offsets, columns_a, columns_b = merge_sorted(
        a.vocabulary.blob, a.vocabulary.offsets, b.vocabulary.blob, b.vocabulary.offsets
    )
    return Vocabulary(blob, offsets), columns_a, columns_b


def note_too_long(batch: Batch, counting: Counter) -> None:
    """Add to the notes of a batch how many tokens were too long while it was counted."""
    if n_too_long := counting.take_too_long():
        batch.notes[TOO_LONG] = batch.notes.get(TOO_LONG, 0) + n_too_long


@dataclass(frozen=True, eq=False)
class _Union:
    """The features and labels of two corpora, and where the columns and classes of each have gone."""

    labels: tuple[str, ...]
    vocabulary: Vocabulary | None
    n_features: int
    columns: tuple[NDArray[np.int32], NDArray[np.int32]]
    classes: tuple[NDArray[np.int32], NDArray[np.int32]]

    def samples(self, *corpora: CorpusCounts) -> list[DocumentCounts]:
        """The samples of both among the features and labels of both."""
        return list(map(DocumentCounts.renumber, (tally.sample for tally in corpora), self.columns, self.classes))

    def statistics(self, *corpora: CorpusCounts) -> list[ClassStatistics]:
        """The statistics of both among the features and labels of both."""
        return [
            tally.statistics.aligned(columns, self.n_features, classes=classes, n_classes=len(self.labels))
            for tally, columns, classes in zip(corpora, self.columns, self.classes, strict=True)
        ]


def _bound(size: int | None, *hashes: NDArray[np.uint64]) -> int:
    """What is above the smallest hashes, of which so many are wanted: None wants all."""
    together = np.concatenate(hashes)
    if size is None or size >= len(together):
        return ALL_HASHES
    return int(np.partition(together, size - 1)[size - 1]) + 1 if size else 0


def _union(a: CorpusCounts, b: CorpusCounts) -> _Union:
    labels = tuple(sorted({*a.labels, *b.labels}))
    places = {label: place for place, label in enumerate(labels)}
    vocabulary, *columns = united(a, b)
    n_features = len(vocabulary) if vocabulary is not None else a.statistics.n_features
    mine, theirs = (np.array([places[label] for label in tally.labels], dtype=np.int32) for tally in (a, b))
    return _Union(labels, vocabulary, n_features, (columns[0], columns[1]), (mine, theirs))


class Bound:
    """The bound of the hashes that the sample of a corpus can still have; it falls as documents are met.

    Threads that share it keep together what one alone would keep, and not as much each.

    below  documents with this hash or a higher one are not among the `size` smallest
    """

    def __init__(self, size: int | None) -> None:
        self.below = 0 if size == 0 else ALL_HASHES
        self._size = size
        self._met: list[NDArray[np.uint64]] = []
        self._n_met = 0
        self._lock = threading.Lock()

    def meet(self, hashes: NDArray[np.uint64]) -> int:
        """Take note of documents that are kept; the bound by now."""
        if not self._size:
            return self.below
        with self._lock:
            self._met.append(hashes)
            self._n_met += len(hashes)
            if self._n_met > 2 * self._size:
                smallest = np.partition(np.concatenate(self._met), self._size - 1)[: self._size]
                self._met, self._n_met = [smallest], self._size
                self.below = min(self.below, int(smallest[-1]) + 1)
            return self.below


class Reservoir:
    """Keeps the `size` documents with the smallest hashes (all where that is None), in about twice their memory.

    by_name  gives the place of each class by its name: of documents with equal hashes the first are kept
    below    all documents with smaller hashes are here, or `size` that come before them
    """

    def __init__(self, size: int | None, by_name: Callable[[], NDArray[np.int32]], bound: Bound | None) -> None:
        self._size = size
        self._by_name = by_name
        self._bound = bound or Bound(size)
        self._pieces: list[DocumentCounts] = []
        self.below = self._bound.below

    def keep(self, documents: DocumentCounts) -> None:
        """Keep documents, in any order."""
        self._pieces.append(documents)
        below = self._bound.meet(documents.hashes)
        if below < self.below:
            self.below = below
            self._cut_to(np.concatenate([piece.hashes for piece in self._pieces]) < np.uint64(below))
        if self._size is not None and sum(map(len, self._pieces)) > 2 * self._size:
            self._cut()  # of many equal hashes the bound leaves all

    def taken(self) -> DocumentCounts:
        """The documents that are kept, in order; none are left here."""
        if self._size is not None:
            self._cut()
        kept, self._pieces = concatenate(self._pieces), []
        return kept.take(kept.order(self._by_name()[kept.classes]))

    def _cut(self) -> None:
        hashes = np.concatenate([np.zeros(0, dtype=np.uint64), *(piece.hashes for piece in self._pieces)])
        classes = np.concatenate([np.zeros(0, dtype=np.int32), *(piece.classes for piece in self._pieces)])
        is_smallest = np.zeros(len(hashes), dtype=bool)
        is_smallest[np.lexsort((self._by_name()[classes], hashes))[: self._size]] = True
        self._cut_to(is_smallest)

    def _cut_to(self, is_kept: NDArray[np.bool_]) -> None:
        """Keep these documents: shape (n_documents,).

        Each piece is cut by itself: copies of all of them at once would be most of the memory that counting takes.
        """
        pieces, self._pieces, start = self._pieces[::-1], [], 0
        while pieces:
            piece = pieces.pop()
            self._pieces.append(piece.filter(is_kept[start : start + len(piece)]))
            start += len(piece)


class CorpusCounter:
    """Counts batches of documents, in one thread.

    bound  shared by those that count parts of one corpus at the same time
    """

    def __init__(
        self, settings: FeatureSettings, *, sample_size: int | None = SAMPLE_SIZE, bound: Bound | None = None
    ) -> None:
        self._counter: Counter = counter(settings)
        self._is_hashed = settings.hash_bits is not None
        self._settings = settings
        self._sample_size = sample_size
        self._codes: dict[str, int] = {}
        self._class_documents: list[int] = []
        self._reservoir = Reservoir(sample_size, self._sorted_codes, bound)

    def add(self, batch: Batch) -> None:
        """Count these documents; InputError where one has no label or could not be read."""
        refuse_long_texts(batch, self._settings)
        classes = np.array([self._code(label, batch, row) for row, label in enumerate(batch.labels)], dtype=np.int32)
        unusable = [*batch.problems, *np.flatnonzero(classes < 0)[:1].tolist()]
        if unusable:  # the first of them is said, into whatever batches the documents are cut
            raise batch.problems.get(min(unusable)) or batch.missing_label(min(unusable))
        kept = self._counter.tally(batch.columns, classes, self._reservoir.below)
        note_too_long(batch, self._counter)
        for code, number in enumerate(np.bincount(classes).tolist()):
            self._class_documents[code] += number
        marks = np.array(batch.marks, dtype=object)[kept.documents] if batch.marks else None
        rows = kept.rows
        documents = DocumentCounts(rows.indptr, rows.indices, rows.counts, classes[kept.documents], kept.hashes, marks)
        self._reservoir.keep(documents)

    def _code(self, label: str | None, batch: Batch, row: int) -> int:
        if label is None:
            return -1
        code = self._codes.setdefault(label, len(self._codes))
        if code == len(self._class_documents):
            check_label(label, where=batch.place(row))
            self._class_documents.append(0)
        return code

    def _sorted_codes(self) -> NDArray[np.int32]:
        """For each label in order of first sight, its place in sorted order."""
        places = np.empty(len(self._codes), dtype=np.int32)
        places[[self._codes[label] for label in sorted(self._codes)]] = np.arange(len(places), dtype=np.int32)
        return places

    def finish(self) -> CorpusCounts:
        """The tally of all that was added, its features and labels sorted; nothing can be added any more."""
        labels = tuple(sorted(self._codes))
        sorted_codes = self._sorted_codes()
        statistics = self._statistics(sorted_codes)
        vocabulary, columns = None, np.arange(statistics.n_features, dtype=np.int32)
        if not self._is_hashed:
            vocabulary, columns = self._counter.vocabulary()
        del self._counter  # its memory is better used for what follows
        kept = self._reservoir.taken()
        rows = arrange(Rows(kept.indptr, kept.indices, kept.counts, np.zeros(len(kept), dtype=np.int64)), columns)
        sample = DocumentCounts(
            rows.indptr, rows.indices, rows.counts, sorted_codes[kept.classes], kept.hashes, kept.groups
        )
        tally = CorpusCounts(labels, vocabulary, statistics, sample, self._sample_size, below=self._reservoir.below)
        return tally.with_known_bound()

    def _statistics(self, sorted_codes: NDArray[np.int32]) -> ClassStatistics:
        counts = self._counter.class_counts()
        class_documents = np.zeros(len(sorted_codes), dtype=np.int64)
        class_documents[sorted_codes] = self._class_documents
        classes = sorted_codes[counts.classes]
        order: NDArray[np.int64] | slice = slice(None)
        if (np.diff(sorted_codes) < 0).any():  # within a feature, entries ascend by class
            keys = np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr)) * len(sorted_codes) + classes
            order = np.argsort(keys, kind="stable")
        return ClassStatistics(
            class_documents, counts.indptr, classes[order], counts.documents[order], counts.occurrences[order]
        )
