"""Counted corpora: the counts of labeled documents from which models are trained."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.documents.batch import Batch, check_label
from nbtext.features.analyzer import TOO_LONG
from nbtext.features.counting import Counter, counter, merge_sorted
from nbtext.features.document_counts import DocumentCounts, concatenate
from nbtext.features.regex_timeout import refuse_long_texts
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting

ALL_HASHES = 2**64  # above every document's hash
SAMPLE_SIZE = 2**14  # documents retained for leave-one-out: all of most corpora; about 50 MB of counts


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """The counts of a labeled corpus. Integer counts of two corpora can be added and subtracted without rounding.

    labels       Sorted; class k is `labels[k]`.
    vocabulary   The feature of each column; None if features are hashed.
    statistics   Class statistics of all documents, over all features.
    sample       The retained documents: those with the smallest content hashes, at most `sample_size`.
    sample_size  None: all documents are retained. 0: none is, or the sample cannot be combined with another one.
    weighting    Of a matrix of weights: how its counts were weighted. Otherwise None.
    below        The sample holds all documents whose hashes are below this bound. After a subtraction from a larger
                 corpus, the documents with the next larger hashes are not known.
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
        """Whether the sample is the one that counting the same documents at once would retain."""
        return self.sample_size != 0 and self.below == ALL_HASHES

    @property
    def has_all_documents(self) -> bool:
        """Whether every document is retained."""
        return len(self.sample) == self.statistics.n_documents

    def restrict(self, columns: NDArray[np.int64]) -> CorpusCounts:
        """Return the counts of these features only; `columns` is ascending."""
        return replace(
            self,
            vocabulary=self.vocabulary.restrict(columns) if self.vocabulary is not None else None,
            statistics=self.statistics.restrict(columns),
            sample=self.sample.restrict(columns, self.statistics.n_features),
            weighting=self.weighting.restrict(columns) if self.weighting is not None else None,
        )

    def without(self, documents: NDArray[np.bool_], *, sample_size: int | None = None) -> CorpusCounts:
        """Return the counts without some of the retained documents, and without labels that no other document has.

        documents    (n_retained,), whether each retained document is removed
        sample_size  how many of the others stay retained; None: all
        """
        removed = self.sample.take(np.flatnonzero(documents))
        statistics = self.statistics - count_classes(removed, self.statistics.n_features, len(self.labels))
        sample = self.sample.take(np.flatnonzero(~documents)[:sample_size])
        return replace(self, statistics=statistics, sample=sample)._drop_unused_labels()

    def _drop_unused_labels(self) -> CorpusCounts:
        """Return the counts without labels that no document has."""
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

    def drop_unused_features(self) -> CorpusCounts:
        """Return the counts without features that no document has; hashed columns stay."""
        used = np.flatnonzero(np.diff(self.statistics.indptr))
        is_settled = self.vocabulary is None or len(used) == self.statistics.n_features
        return self if is_settled else self.restrict(used)

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts of both corpora."""
        union = _union(self, other)
        size = 0 if other.sample_size == 0 else self.sample_size
        below = min(self.below, other.below)
        # the sample first: its temporary copies are freed before the statistics are added
        bound = _bound(size, self.sample.hashes, other.sample.hashes)
        reduced = (replace(counts, sample=counts.sample.below(min(below, bound))) for counts in (self, other))
        sample = concatenate(union.samples(*reduced)).smallest(size)
        mine, theirs = union.statistics(self, other)
        counts = CorpusCounts(union.labels, union.vocabulary, mine + theirs, sample, size, below=below)
        return counts.with_known_bound()

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts without a part of the corpus, and without labels and features that no other document has.

        other   retains all of its documents, if these counts retain any
        raises  ModelError: some of these documents were never counted
        """
        union = _union(self, other)
        mine, theirs = union.statistics(self, other)
        sample, below = self._sample_without(*union.samples(self, other))
        counts = CorpusCounts(union.labels, union.vocabulary, mine - theirs, sample, self.sample_size, below=below)
        return counts.with_known_bound()._drop_unused_labels().drop_unused_features()

    def _sample_without(self, sample: DocumentCounts, removed: DocumentCounts) -> tuple[DocumentCounts, int]:
        """Return the sample without some documents, and the bound below which it is complete."""
        if self.sample_size == 0:
            return sample.below(0), ALL_HASHES
        below = self.below
        if below == ALL_HASHES and not self.has_all_documents:
            below = int(sample.hashes[-1])  # documents with larger hashes were not retained
            if int(removed.hashes.min(initial=ALL_HASHES - 1)) > below:
                return sample, ALL_HASHES
        return sample.below(below).subtract(removed.below(below)), below

    def with_known_bound(self) -> CorpusCounts:
        """Return the counts without a bound if the sample has its full size."""
        is_full = len(self.sample) == self.sample_size or self.has_all_documents
        return replace(self, below=ALL_HASHES) if is_full else self


def unite_vocabularies(
    a: CorpusCounts, b: CorpusCounts
) -> tuple[Vocabulary | None, NDArray[np.int32], NDArray[np.int32]]:
    """Return the vocabulary of both, and the new column of each column of `a` and of `b`."""
    if a.vocabulary is None or b.vocabulary is None:
        same = np.arange(a.statistics.n_features, dtype=np.int32)
        return None, same, same
    blob, offsets, columns_a, columns_b = merge_sorted(
        a.vocabulary.blob, a.vocabulary.offsets, b.vocabulary.blob, b.vocabulary.offsets
    )
    return Vocabulary(blob, offsets), columns_a, columns_b


@dataclass(frozen=True, eq=False)
class _Union:
    """The features and labels of two corpora, and the new columns and classes of each."""

    labels: tuple[str, ...]
    vocabulary: Vocabulary | None
    n_features: int
    columns: tuple[NDArray[np.int32], NDArray[np.int32]]
    classes: tuple[NDArray[np.int32], NDArray[np.int32]]

    def samples(self, *corpora: CorpusCounts) -> list[DocumentCounts]:
        """Return both samples over the features and labels of both corpora."""
        return list(map(DocumentCounts.renumber, (counts.sample for counts in corpora), self.columns, self.classes))

    def statistics(self, *corpora: CorpusCounts) -> list[ClassStatistics]:
        """Return both statistics over the features and labels of both corpora."""
        return [
            counts.statistics.align(columns, self.n_features, classes=classes, n_classes=len(self.labels))
            for counts, columns, classes in zip(corpora, self.columns, self.classes, strict=True)
        ]


def _bound(size: int | None, *hashes: NDArray[np.uint64]) -> int:
    """Return the smallest number above the `size` smallest hashes; None: of all."""
    together = np.concatenate(hashes)
    if size is None or size >= len(together):
        return ALL_HASHES
    return int(np.partition(together, size - 1)[size - 1]) + 1 if size else 0


def _union(a: CorpusCounts, b: CorpusCounts) -> _Union:
    labels = tuple(sorted({*a.labels, *b.labels}))
    places = {label: place for place, label in enumerate(labels)}
    vocabulary, *columns = unite_vocabularies(a, b)
    n_features = len(vocabulary) if vocabulary is not None else a.statistics.n_features
    mine, theirs = (np.array([places[label] for label in counts.labels], dtype=np.int32) for counts in (a, b))
    return _Union(labels, vocabulary, n_features, (columns[0], columns[1]), (mine, theirs))


class Bound:
    """The upper bound of the hashes that a corpus's sample can still have; it falls as documents are counted.

    Threads that share a bound together retain about as many documents as one thread would.

    below  a document with this hash, or a larger one, is not among the `size` smallest
    """

    def __init__(self, size: int | None) -> None:
        self.below = 0 if size == 0 else ALL_HASHES
        self._size = size
        self._hashes: list[NDArray[np.uint64]] = []
        self._n_hashes = 0
        self._lock = threading.Lock()

    def add(self, hashes: NDArray[np.uint64]) -> int:
        """Add the hashes of retained documents; return the new bound."""
        if not self._size:
            return self.below
        with self._lock:
            self._hashes.append(hashes)
            self._n_hashes += len(hashes)
            if self._n_hashes > 2 * self._size:
                smallest = np.partition(np.concatenate(self._hashes), self._size - 1)[: self._size]
                self._hashes, self._n_hashes = [smallest], self._size
                self.below = min(self.below, int(smallest[-1]) + 1)
            return self.below


class Reservoir:
    """Retains the `size` documents with the smallest hashes (None: all), in at most twice their memory.

    by_name  returns the place of each class in sorted order; it breaks ties of equal hashes
    below    each added document with a smaller hash is retained, unless `size` documents that precede it are retained
    """

    def __init__(self, size: int | None, by_name: Callable[[], NDArray[np.int32]], bound: Bound | None) -> None:
        self._size = size
        self._by_name = by_name
        self._bound = bound or Bound(size)
        self._pieces: list[DocumentCounts] = []
        self.below = self._bound.below

    def keep(self, documents: DocumentCounts) -> None:
        """Add documents, in any order."""
        self._pieces.append(documents)
        below = self._bound.add(documents.hashes)
        if below < self.below:
            self.below = below
            self._cut_to(np.concatenate([piece.hashes for piece in self._pieces]) < np.uint64(below))
        if self._size is not None and sum(map(len, self._pieces)) > 2 * self._size:
            self._cut()  # the bound does not separate equal hashes

    def take_all(self) -> DocumentCounts:
        """Return the retained documents, in order, and drop them here."""
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
        """Keep these documents, (n_documents,). Pieces are cut one by one: copies of all would double the memory."""
        pieces, self._pieces, start = self._pieces[::-1], [], 0
        while pieces:
            piece = pieces.pop()
            self._pieces.append(piece.filter(is_kept[start : start + len(piece)]))
            start += len(piece)


class CorpusCounter:
    """Counts batches of documents, in one thread.

    bound  shared by the counters of one corpus's parts
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
        """Count the documents of a batch; InputError if one has no label or could not be read."""
        refuse_long_texts(batch, self._settings)
        classes = np.array(
            [self._code(label, batch, row) for row, label in enumerate(batch.single_labels())], dtype=np.int32
        )
        unusable = [*batch.problems, *np.flatnonzero(classes < 0)[:1].tolist()]
        if unusable:  # the first one is reported, so that the error does not depend on the batches
            raise batch.problems.get(min(unusable)) or batch.missing_label(min(unusable))
        groups = np.array(batch.groups, dtype=object) if batch.groups else None
        self._reservoir.keep(self._counter.count(batch.columns, classes, self._reservoir.below, groups))
        batch.note(TOO_LONG, self._counter.take_too_long())
        for code, number in enumerate(np.bincount(classes).tolist()):
            self._class_documents[code] += number

    def _code(self, label: str | None, batch: Batch, row: int) -> int:
        if label is None:
            return -1
        code = self._codes.setdefault(label, len(self._codes))
        if code == len(self._class_documents):
            check_label(label, where=batch.place(row))
            self._class_documents.append(0)
        return code

    def _sorted_codes(self) -> NDArray[np.int32]:
        """Return for each label, in order of first occurrence, its place in sorted order."""
        places = np.empty(len(self._codes), dtype=np.int32)
        places[[self._codes[label] for label in sorted(self._codes)]] = np.arange(len(places), dtype=np.int32)
        return places

    def finish(self) -> CorpusCounts:
        """Return the counts of all batches, with sorted features and labels; no more batches can be added."""
        labels = tuple(sorted(self._codes))
        sorted_codes = self._sorted_codes()
        statistics = self._statistics(sorted_codes)
        vocabulary, columns = None, np.arange(statistics.n_features, dtype=np.int32)
        if not self._is_hashed:
            vocabulary, columns = self._counter.vocabulary()
        del self._counter  # frees the memory of the counter
        sample = self._reservoir.take_all().arrange(columns)
        sample = replace(sample, classes=sorted_codes[sample.classes])
        counts = CorpusCounts(labels, vocabulary, statistics, sample, self._sample_size, below=self._reservoir.below)
        return counts.with_known_bound()

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
