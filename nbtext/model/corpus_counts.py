"""Counted corpora: the counts of labeled documents from which models are trained."""

from __future__ import annotations

import threading
from collections import Counter as Numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import add, sub
from typing import Annotated, Any, TypeVar

import numpy as np

from nbtext.arrays import Hashes, Integers, Integers32, Limits, Mask
from nbtext.bayes.class_statistics import (
    ClassStatistics,
    LabelSets,
    count_classes,
    count_label_sets,
    sum_over_sets,
    weigh_classes,
)
from nbtext.documents.batch import MAX_LABEL_CHARACTERS, Batch, check_label
from nbtext.documents.fields import WEIGHT_UNIT
from nbtext.errors import ModelError
from nbtext.features import stored_documents
from nbtext.features.analyzer import TOO_LONG, refuse_long_texts
from nbtext.features.counting import Counter, align_documents, counter, merge_sorted
from nbtext.features.csr import entry_rows, find_places
from nbtext.features.document_table import EMPTY_HASH, DocumentTable, concatenate, take_smallest
from nbtext.features.matrix_counter import MatrixCounter
from nbtext.features.settings import FeatureSettings
from nbtext.features.stored_documents import CounterRuns, SortedRun, Spill, StoredDocuments
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting, WeightingOfViews
from nbtext.model.tasks import TASKS, find_task
from nbtext.parallel import return_memory
from nbtext.records import Strings, frozen_object

ALL_HASHES = 2**64  # above every document's hash


EXCESS = 1 / 8  # of a sample, by which more hashes are known before the bound falls


class Bound:
    """The upper bound of the hashes that a corpus's sample can still have; it falls as documents
    are counted.

    Threads that share a bound together retain about as many documents as one thread would.

    below  a document with this hash, or a larger one, is not among the `size` smallest
    """

    def __init__(self, size: int | None) -> None:
        self.below = 0 if size == 0 else ALL_HASHES
        self._size = size
        self._hashes: list[Hashes] = []
        self._n_hashes = 0
        self._lock = threading.Lock()

    def add(self, hashes: Hashes) -> int:
        """Add the hashes of retained documents; return the new bound."""
        if not self._size:
            return self.below
        with self._lock:
            self._hashes.append(hashes)
            self._n_hashes += len(hashes)
            if self._n_hashes > self._size * (1 + EXCESS):
                smallest = np.partition(np.concatenate(self._hashes), self._size - 1)[: self._size]
                self._hashes = [smallest]
                self._n_hashes = self._size
                self.below = min(self.below, int(smallest[-1]) + 1)
            return self.below


class Reservoir:
    """Retains the `size` documents with the smallest hashes (None: all), in at most twice their
    memory.

    by_name  returns the place of each class in sorted order; it breaks ties of equal hashes
    spill    where all documents go in runs if they are too many for memory, and `size` is None;
             None: nowhere
    below    each added document with a smaller hash is retained, unless `size` documents that
             precede it are retained
    """

    def __init__(
        self,
        size: int | None,
        by_name: Callable[[], Integers32],
        bound: Bound | None,
        spill: Spill | None = None,
    ) -> None:
        self._size = size
        self._spill = spill
        self._n_documents = self._n_entries = 0
        self.runs: list[SortedRun] = []
        self._by_name = by_name
        self._bound = bound or Bound(size)
        self._pieces: list[DocumentTable] = []
        self.below = self._bound.below
        self._pieces_below = self.below  # the bound when the pieces were last reduced

    def keep(self, documents: DocumentTable) -> None:
        """Add documents, in any order."""
        self._pieces.append(documents)
        self._n_documents += len(documents)
        if self._spill is not None:
            self._n_entries += len(documents.indices)
            if self._spill.add(documents) and self._n_entries > stored_documents.RUN_ENTRIES:
                self.store()
            return
        self.below = self._bound.add(documents.hashes)
        if self.below <= self._pieces_below // 2:
            self._pieces_below = self.below
            for place, piece in enumerate(self._pieces):  # copies of all would double the memory
                self._pieces[place] = piece.below(self.below)
            self._n_documents = sum(map(len, self._pieces))
        if self._size is not None and self._n_documents > 2 * self._size:
            self._pieces = [self.take_all()]  # the bound does not separate equal hashes
            self._n_documents = len(self._pieces[0])

    def store(self) -> None:
        """Store the documents in runs, and drop them here."""
        assert self._spill is not None
        pieces = self._pieces[::-1]
        self._pieces = []
        self._n_entries = 0
        while pieces:
            group = []
            n = 0
            while pieces and n < stored_documents.RUN_ENTRIES:
                group.append(pieces.pop())
                n += len(group[-1].indices)
            self.runs.append(self._spill.store(take_smallest(group, None, places=self._by_name())))

    def take_all(self) -> DocumentTable:
        """Return the retained documents, in order, and drop them here."""
        pieces = self._pieces
        self._pieces = []
        return take_smallest(pieces, self._size, places=self._by_name())


LabelSet = tuple[str, ...]  # sorted
Name = TypeVar("Name", str, LabelSet)
WEIGHED = 2**10  # documents whose weights are computed at once
MAX_SETS = 2**16  # label sets whose counts are kept apart while documents are counted
# one thread lists its features at a time, beside the counters of the others
_finishing = threading.Lock()
CALIBRATION_SIZE = 4096  # documents that a selected event model is calibrated with
# documents retained for that; the last ones may lack duplicates
SELECTION_SIZE = CALIBRATION_SIZE * 5 // 4
N_TRAINED = 1024  # content hashes of training documents in a model, of 8 bytes each
# documents retained for leave-one-out: all of most corpora; about 50 MB of counts
SAMPLE_SIZE = 2**14


@frozen_object
class CorpusCounts:
    """The counts of a labeled corpus. Integer counts of two corpora can be added and subtracted
    without rounding.

    labels       Sorted; class k is `labels[k]`.
    vocabulary   The feature of each column; None if features are hashed.
    statistics   Class statistics of all documents, over all features.
    sample       The retained documents: those with the smallest content hashes, at most
                 `sample_size`.
    sample_size  None: all documents are retained. 0: no documents are retained, or those that are
                 cannot be combined with the sample of another corpus.
    weighting    Of a matrix of weights: how its counts were weighted. Otherwise None.
    below        The sample holds all documents whose hashes are below this bound. After a
                 subtraction, the documents with larger hashes are not known, so the sample can be
                 smaller than `sample_size`.
    label_sets   If documents have several labels: the distinct label sets of the retained
                 documents, sorted, each with its labels sorted. The class of a retained document is
                 the number of its set. Otherwise None.
    empty        How many documents of each label set hold no token; None: not known, as of a model
                 file
    chosen_task  The name of the task of their models; None: it follows from the label sets.
    stored       All documents, in a temporary file, if a model needs them and they are too many for
                 memory.
    """

    labels: Strings
    vocabulary: Vocabulary | None
    statistics: ClassStatistics
    sample: DocumentTable
    sample_size: int | None
    weighting: Weighting | None = None
    below: Annotated[int, Limits(0, ALL_HASHES)] = ALL_HASHES
    label_sets: tuple[LabelSet, ...] | None = None
    empty: Mapping[LabelSet, int | float] | None = None
    stored: StoredDocuments | None = None
    chosen_task: str | None = None

    @property
    def sets(self) -> tuple[LabelSet, ...]:
        """The label set of each class of the retained documents."""
        return (
            tuple((label,) for label in self.labels) if self.label_sets is None else self.label_sets
        )

    @property
    def empty_documents(self) -> Mapping[LabelSet, int | float] | None:
        """How many documents of each label set hold no token; None: not known."""
        return self._count_empty(self.sample) if self.has_all_documents else self.empty

    def _count_empty(self, documents: DocumentTable) -> Numbers[LabelSet]:
        sets = self.sets
        empty = documents.filter(documents.hashes == np.uint64(EMPTY_HASH))
        numbers = empty.count_by_class(len(sets))
        return Numbers({sets[k]: numbers[k].item() for k in np.flatnonzero(numbers)})

    @property
    def task(self) -> str:
        """The name of the task of their models: the chosen one, if it is of such documents."""
        has_one_label = self.label_sets is None
        chosen = self.chosen_task
        if chosen is not None and TASKS[chosen].has_one_label == has_one_label:
            return chosen
        return find_task(has_one_label)

    @property
    def trained_hashes(self) -> Hashes:
        """The smallest content hashes of the documents that have a token, ascending, at most
        N_TRAINED; and the last one again if larger ones are not known.

        They are the same for each number of retained documents from SELECTION_SIZE on, so that a
        model that is only saved has them, too.
        """
        first = self.sample.hashes[:SELECTION_SIZE]
        # without the indices, NumPy imports its masked arrays
        hashes, _ = np.unique(first[first != np.uint64(EMPTY_HASH)], return_index=True)
        is_complete = len(first) == len(self.sample) and self.has_all_documents
        is_complete &= len(hashes) < N_TRAINED
        hashes = hashes[:N_TRAINED]
        return hashes if is_complete else np.append(hashes, hashes[-1:])

    @property
    def has_all_documents(self) -> bool:
        """Whether every document is retained."""
        return self.sample.n_documents == self.statistics.n_documents

    def check_complete(self) -> None:
        """Raise ModelError unless every document is retained."""
        if not self.has_all_documents:
            raise ModelError(
                "this model needs the counts of each document, which SOURCE does not hold",
                hint="train it on the texts",
            )

    def sample_over(self, vocabulary: Vocabulary | None) -> DocumentTable:
        """Return the retained documents over the features of another vocabulary."""
        return align_documents(self.sample, self.vocabulary, vocabulary)

    def fit_weighting(self, features: FeatureSettings) -> Weighting:
        """Return the weighting of the counts; if there is none yet, the one of the settings, fitted
        to them.
        """
        if self.weighting is not None:
            return self.weighting
        statistics = self.statistics
        return Weighting.fitted(
            features,
            self.vocabulary,
            statistics.document_frequencies,
            n_documents=statistics.n_documents,
        )

    def weigh(self, weighting: Weighting) -> tuple[ClassStatistics, DocumentTable]:
        """Return the class statistics and the retained documents of the weighted counts."""
        statistics = self.statistics
        sample = self.sample
        is_alike = not isinstance(weighting, WeightingOfViews)
        if weighting.is_counting and is_alike:
            return (
                (statistics.binarize(), sample.binarize())
                if weighting.tf == "binary"
                else (statistics, sample)
            )
        weighted = sample.weigh(weighting.weights(sample.indptr, sample.indices, sample.counts))
        if weighting.is_linear and weighting.idf is not None and is_alike:
            counted = statistics.binarize() if weighting.tf == "binary" else statistics
            return counted.scale(weighting.idf), weighted
        self.check_complete()
        return count_classes(weighted, statistics.n_features, statistics.n_classes), weighted

    def weigh_documents(self, features: FeatureSettings) -> tuple[DocumentTable, Weighting]:
        """Return the retained documents, weighted for a linear model, and the weighting.

        raises  ModelError: some documents are neither retained nor stored
        """
        if self.stored is None:
            self.check_complete()
        weighting = self.fit_weighting(features)
        sample = self.sample
        if self.weighting is None:
            weights = np.empty(len(sample.counts))
            # a few at a time: there are several arrays on the way
            for start in range(0, len(sample), WEIGHED):
                part = sample.slice(start, min(start + WEIGHED, len(sample)))
                entries = slice(sample.indptr[start], sample.indptr[start + len(part)])
                weights[entries] = weighting.weights(part.indptr, part.indices, part.counts)
            sample = sample.weigh(weights)
        return sample, weighting

    def retain(self, size: int) -> CorpusCounts:
        """Return the counts with a sample of the stored documents; counts without stored documents
        do not change.

        If documents can have several labels, all of them are retained, in memory, and no longer
        stored.
        """
        if self.stored is None:
            return self
        if self.label_sets is not None:
            return replace(
                self, sample=self.stored.first(len(self.stored)), stored=None
            ).drop_unused_sets()
        return replace(self, sample=self.stored.first(size), sample_size=size)

    def restrict(self, columns: Integers) -> CorpusCounts:
        """Return the counts of these features only; `columns` is ascending."""
        places = find_places(columns, self.statistics.n_features)
        return replace(
            self,
            vocabulary=self.vocabulary and self.vocabulary.restrict(columns),
            statistics=self.statistics.restrict(columns),
            sample=self.sample.map_features(places),
            stored=None if self.stored is None else self.stored.map_features(places),
            weighting=self.weighting and self.weighting.restrict(columns),
        )

    def without(self, documents: Mask, *, sample_size: int | None = None) -> CorpusCounts:
        """Return the counts without some of the retained documents, and without labels that no
        other document has.

        documents    (n_retained,), whether each retained document is removed
        sample_size  how many of the others stay retained; None: all
        """
        removed = self.sample.take(np.flatnonzero(documents))
        counts = replace(
            self,
            statistics=self.statistics - self.count(removed),
            sample=self.sample.take(np.flatnonzero(~documents)[:sample_size]),
            empty=None if self.empty is None else Numbers(self.empty) - self._count_empty(removed),
        )
        return counts._drop_unused_labels()

    def take(self, documents: Integers) -> CorpusCounts:
        """Return the counts of some retained documents alone, without labels that none of them
        has.
        """
        sample = self.sample.take(documents)
        return replace(self, statistics=self.count(sample), sample=sample)._drop_unused_labels()

    def count(self, documents: DocumentTable) -> ClassStatistics:
        """Return the class statistics of some retained documents."""
        n_features = self.statistics.n_features
        n_labels = len(self.labels)
        if self.label_sets is None:
            return count_classes(documents, n_features, n_labels)
        sets = LabelSets.of(self.label_sets, self.labels)
        return count_label_sets(documents, sets, n_features=n_features, n_labels=n_labels)

    def without_class_sums(self) -> CorpusCounts:
        """Return the counts without the sums by class, which linear models of documents with one
        label do not need.
        """
        return replace(self, statistics=self.statistics.without_classes())

    def with_class_sums(self) -> CorpusCounts:
        """Return the counts with the sums by class, from the documents, which are all retained."""
        is_complete = self.label_sets is not None or self.statistics.totals is None
        return self if is_complete else replace(self, statistics=self.count(self.sample))

    def drop_unused_sets(self) -> CorpusCounts:
        """Return the counts without label sets that no retained document has."""
        if self.label_sets is None or self.stored is not None:
            return self
        used, classes = np.unique(self.sample.classes, return_inverse=True)
        if len(used) == len(self.label_sets):
            return self
        sample = replace(self.sample, classes=classes.astype(np.int32))
        return replace(
            self, label_sets=tuple(self.label_sets[k] for k in used.tolist()), sample=sample
        )

    def _drop_unused_labels(self) -> CorpusCounts:
        """Return the counts without labels, and label sets of the sample, that no document has."""
        counts = self.drop_unused_sets()
        remaining = np.flatnonzero(self.statistics.class_documents)
        if len(remaining) == len(self.labels):
            return counts
        labels = tuple(self.labels[k] for k in remaining)
        statistics = replace(
            self.statistics,
            class_documents=self.statistics.class_documents[remaining],
            classes=np.searchsorted(remaining, self.statistics.classes).astype(np.int32),
        )
        sample = counts.sample
        if self.label_sets is None:
            sample = replace(
                sample, classes=np.searchsorted(remaining, sample.classes).astype(np.int32)
            )
        return replace(counts, labels=labels, statistics=statistics, sample=sample)

    def drop_unused_features(self) -> CorpusCounts:
        """Return the counts without features that no document has; hashed columns stay."""
        used = self.statistics.used_features
        is_settled = self.vocabulary is None or len(used) == self.statistics.n_features
        return self if is_settled else self.restrict(used)

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts of both corpora; if documents of one have several labels, those of the
        other may, too.
        """
        return add_counts([self, other])

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts without a part of the corpus, and without labels and features that no
        other document has.

        other   retains all of its documents, if these counts retain any
        raises  ModelError: some of these documents were never counted
        """
        union = _Union(self, other)
        samples = map(
            DocumentTable.renumber, (self.sample, other.sample), union.columns, union.sets
        )
        sample, below = self._sample_without(*samples)
        counts = union.combine(sub, self, other, sample, sample_size=self.sample_size, below=below)
        return counts.with_known_bound()._drop_unused_labels().drop_unused_features()

    def _sample_without(
        self, sample: DocumentTable, removed: DocumentTable
    ) -> tuple[DocumentTable, int]:
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
        """Return the counts without a bound in `below` if the sample has its full size, so that
        none is needed.
        """
        is_full = len(self.sample) == self.sample_size or self.has_all_documents
        return replace(self, below=ALL_HASHES) if is_full else self


def add_counts(corpora: list[CorpusCounts]) -> CorpusCounts:
    """Return the sum of two corpora. The list becomes empty, so that a part that is needed no more
    is freed.
    """
    one, other = corpora
    corpora.clear()
    if one.weighting is not None or other.weighting is not None:
        raise ModelError(
            "a matrix of weights cannot be added to other documents", hint="give counts, or texts"
        )
    union = _Union(one, other)
    size = 0 if other.sample_size == 0 else one.sample_size
    below = min(one.below, other.below)
    samples, stored = union.store(one, other)
    one, other = (replace(each, vocabulary=None, sample=concatenate(())) for each in (one, other))
    bound = min(below, _bound(size, *(each.hashes for each in samples)))
    parts = [
        samples.pop(0).below(bound).renumber(columns, sets)
        for columns, sets in zip(union.columns, union.sets, strict=True)
    ]
    sample = take_smallest(parts, size)
    counts = union.combine(add, one, other, sample, sample_size=size, below=below, stored=stored)
    return counts.drop_unused_sets().with_known_bound()


def unite_vocabularies(
    a: CorpusCounts, b: CorpusCounts
) -> tuple[Vocabulary | None, Integers32, Integers32]:
    """Return the vocabulary of both, and the new column of each column of `a` and of `b`."""
    if a.vocabulary is None or b.vocabulary is None:
        same = np.arange(a.statistics.n_features, dtype=np.int32)
        return None, same, same
    blob, offsets, columns_a, columns_b = merge_sorted(
        a.vocabulary.blob, a.vocabulary.offsets, b.vocabulary.blob, b.vocabulary.offsets
    )
    return Vocabulary(blob, offsets), columns_a, columns_b


class _Union:
    """The features, labels and label sets of two corpora, and the new columns, classes and sets of
    each.
    """

    def __init__(self, a: CorpusCounts, b: CorpusCounts) -> None:
        self.labels, self.classes = _unite(a.labels, b.labels)
        sets, self.sets = _unite(a.sets, b.sets)
        self.label_sets = None if a.label_sets is None and b.label_sets is None else sets
        self.chosen_task = a.chosen_task or b.chosen_task
        self.vocabulary, *self.columns = unite_vocabularies(a, b)
        self._n_features = (
            a.statistics.n_features if self.vocabulary is None else len(self.vocabulary)
        )

    def store(self, *corpora: CorpusCounts) -> tuple[list[DocumentTable], StoredDocuments | None]:
        """Return both samples, and the stored documents; if one corpus has some, the other's sample
        is stored, too.
        """
        known = [each.stored for each in corpora]
        spills = [stored.spill for stored in known if stored is not None]
        if not spills:
            return [counts.sample for counts in corpora], None
        parts = [
            stored or StoredDocuments.of(spills[0], counts.sample, len(columns), len(sets))
            for counts, stored, columns, sets in zip(
                corpora, known, self.columns, self.sets, strict=True
            )
        ]
        mine, theirs = map(StoredDocuments.renumber, parts, self.columns, self.sets)
        return [counts.sample.slice(0, 0) for counts in corpora], mine + theirs

    def combine(
        self,
        operate: Callable[[Any, Any], Any],
        one: CorpusCounts,
        other: CorpusCounts,
        sample: DocumentTable,
        **facts: Any,
    ) -> CorpusCounts:
        """Return the sum or the difference of the counts of both corpora; `facts` are of the
        sample.
        """
        mine, theirs = (
            counts.statistics.align(
                columns, self._n_features, classes=classes, n_classes=len(self.labels)
            )
            for counts, columns, classes in zip(
                (one, other), self.columns, self.classes, strict=True
            )
        )
        empty = None
        if one.empty is not None and other.empty is not None:
            empty = operate(Numbers(one.empty), Numbers(other.empty))
        return CorpusCounts(
            self.labels,
            self.vocabulary,
            operate(mine, theirs),
            sample,
            label_sets=self.label_sets,
            empty=empty,
            chosen_task=self.chosen_task,
            **facts,
        )


def _bound(size: int | None, *hashes: Hashes) -> int:
    """Return the smallest number above the `size` smallest hashes; None: of all."""
    together = np.concatenate(hashes)
    if size is None or size >= len(together):
        return ALL_HASHES
    return int(np.partition(together, size - 1)[size - 1]) + 1 if size else 0


def _unite(
    a: tuple[Name, ...], b: tuple[Name, ...]
) -> tuple[tuple[Name, ...], tuple[Integers32, Integers32]]:
    """Return the names of both, sorted, and the place of each name of `a` and of `b` among them."""
    names = tuple(sorted(set(a) | set(b)))
    places = {name: place for place, name in enumerate(names)}
    mine, theirs = (np.array([places[name] for name in each], np.int32) for each in (a, b))
    return names, (mine, theirs)


class CorpusCounter:
    """Counts batches of documents, in one thread.

    bound  shared by the counters of one corpus's parts, and so is `spill`; see `Reservoir`
    """

    def __init__(
        self,
        settings: FeatureSettings,
        *,
        sample_size: int | None = SAMPLE_SIZE,
        bound: Bound | None = None,
        spill: Spill | None = None,
    ) -> None:
        self._counter: Counter | MatrixCounter | None = None  # of the first batch's kind
        self._settings = settings
        self._sample_size = sample_size
        # the number of each label set with a weight of its documents
        self._codes: dict[tuple[LabelSet, int], int] = {}
        self._has_weights = False  # whether a batch has weights of documents
        self._has_lists = False  # whether a batch has lists of labels
        self._class_documents: list[int] = []
        self._empty: Numbers[int] = Numbers()  # documents without a token, by code
        self._spill = spill
        self._reservoir = Reservoir(sample_size, self._sorted_codes, bound, spill)

    def is_full(self, batch: Batch) -> bool:
        """Whether another counter should count a batch, because of its kind or because there are
        many label sets.
        """
        is_matrix = isinstance(self._counter, MatrixCounter)
        is_other = self._counter is not None and is_matrix != (batch.matrix is not None)
        has_many = self._has_lists or self._has_weights
        return is_other or (has_many and len(self._codes) >= MAX_SETS)

    def add(self, batch: Batch) -> None:
        """Count the documents of a batch; InputError if one has no label or could not be read.

        A document whose label is "" is counted as unlabeled. None may be left out: cross-validation
        numbers documents in the order in which they are added.
        """
        refuse_long_texts(batch, self._settings)
        batch = batch.spread()
        counting = self._counter
        if counting is None:
            counting = (
                counter(self._settings) if batch.matrix is None else MatrixCounter(self._settings)
            )
            self._counter = counting
            if batch.matrix is not None and not batch.features.rows.is_counted:
                # all rows of a matrix of weights are retained
                self._sample_size = 0
                self._spill = None
                self._reservoir = Reservoir(None, self._sorted_codes, None)
        self._has_lists |= batch.has_lists
        self._has_weights |= batch.weights is not None
        batch.check_labels()
        keys: Sequence[Any] = batch.labels
        if batch.weights is not None:
            keys = list(zip(keys, batch.weights, strict=True))
        codes = {key: self._code(key, batch) for key in dict.fromkeys(keys)}
        classes = np.fromiter(map(codes.__getitem__, keys), np.int32, len(keys))
        documents = counting.count(batch.features, classes, self._reservoir.below)
        if batch.groups:
            documents = replace(documents, groups=np.array(batch.groups, object)[documents.rows])
        numbers = batch.row_numbers
        rows = None if numbers is None else np.array(numbers, np.int64)[documents.rows]
        documents = replace(documents, rows=rows)
        # with this hash, none is missing, unless nothing is retained
        if (is_empty := documents.hashes == 0).any():
            self._empty.update(documents.classes[is_empty].tolist())
            documents = documents.with_empty_last()
            if self._reservoir.below < ALL_HASHES:
                documents = documents.filter(~is_empty)
        self._reservoir.keep(documents)
        batch.note(TOO_LONG, counting.take_too_long())
        for code, number in enumerate(np.bincount(classes).tolist()):
            self._class_documents[code] += number

    def _code(self, key: Any, batch: Batch) -> int:
        """Return the number of the label set of some documents, which is given with their weight if
        the batch has weights.
        """
        given, weight = (key, WEIGHT_UNIT) if batch.weights is None else key
        labels = (given,) if isinstance(given, str) else given
        code = self._codes.setdefault((tuple(sorted(set(labels))), weight), len(self._codes))
        if code == len(self._class_documents):
            for label in labels:
                if len(label) > MAX_LABEL_CHARACTERS:
                    check_label(label, where=batch.place(batch.labels.index(given)))
            self._class_documents.append(0)
        return code

    def _sorted_codes(self) -> Integers32:
        """Return for each label set and weight, in order of first occurrence, its place in sorted
        order.
        """
        order = np.array([code for _, code in sorted(self._codes.items())], np.int64)
        return find_places(order, len(order))

    def finish(self) -> CorpusCounts:
        """Return the counts of all batches, with sorted features and labels; no more batches can be
        added.
        """
        pairs = sorted(self._codes)
        sets = tuple(dict.fromkeys(labels for labels, _ in pairs))
        sorted_codes = self._sorted_codes()
        counting = self._counter or counter(self._settings)
        self._counter = None
        with _finishing:
            return_memory()
            vocabulary, columns = counting.vocabulary()  # first: the sums by class have its order
            statistics = self._statistics(counting, sorted_codes)
        has_weights = isinstance(counting, MatrixCounter) and counting.has_weights
        is_trimmed = isinstance(counting, MatrixCounter) and not counting.is_numbered
        del counting  # frees the memory of the counter
        numbers = {labels: number for number, labels in enumerate(sets)}
        set_of = np.array([numbers[labels] for labels, _ in pairs], np.int32)
        weights = np.array([weight for _, weight in pairs], np.int64)
        stored = None
        if self._spill is not None and self._spill.is_begun:
            self._reservoir.store()
            runs = CounterRuns(tuple(self._reservoir.runs), columns, set_of[sorted_codes])
            if self._has_weights:
                runs = runs._replace(weights=weights[sorted_codes])
            stored = StoredDocuments(self._spill, [runs])
        sample = self._reservoir.take_all()
        sample = sample if has_weights else sample.arrange(columns)
        sample = replace(sample, classes=sorted_codes[sample.classes])
        weighting = None
        if self._has_weights:
            statistics = weigh_classes(statistics, weights, set_of, len(sets))
            sample = replace(
                sample, weights=weights[sample.classes], classes=set_of[sample.classes]
            ).without_equal_weights()
        if has_weights:
            statistics = count_classes(sample, len(columns), len(sets))
            weighting = Weighting()
        labels = tuple(sorted({label for labels in sets for label in labels}))
        label_sets = sets if self._has_lists else None
        if label_sets is not None:
            statistics = sum_over_sets(statistics, LabelSets.of(sets, labels), len(labels))
        counts = CorpusCounts(
            labels,
            vocabulary if self._settings.hash_bits is None else None,
            statistics,
            sample,
            self._sample_size,
            weighting,
            below=self._reservoir.below,
            label_sets=label_sets,
            empty=None if self._sample_size == 0 else self._sum_empty(),
            stored=stored,
        )
        counts = counts.drop_unused_features() if is_trimmed else counts
        return counts.drop_unused_sets().with_known_bound()

    def _sum_empty(self) -> dict[LabelSet, float]:
        """Return how many documents of each label set hold no token."""
        units: Numbers[LabelSet] = Numbers()
        for (labels, weight), code in self._codes.items():
            if code in self._empty:
                units[labels] += self._empty[code] * weight
        return {
            labels: number / WEIGHT_UNIT if number % WEIGHT_UNIT else number // WEIGHT_UNIT
            for labels, number in units.items()
        }

    def _statistics(
        self, counting: Counter | MatrixCounter, sorted_codes: Integers32
    ) -> ClassStatistics:
        counts = counting.class_counts()
        class_documents = np.zeros(len(sorted_codes), np.int64)
        class_documents[sorted_codes] = self._class_documents
        classes = sorted_codes[counts.classes]
        order: Integers | slice = slice(None)
        if (np.diff(sorted_codes) < 0).any():  # within a feature, entries ascend by class
            keys = entry_rows(counts.indptr) * len(sorted_codes) + classes
            order = np.argsort(keys, kind="stable")
        return ClassStatistics(
            class_documents,
            counts.indptr,
            classes[order],
            counts.documents[order],
            counts.occurrences[order],
        )
