"""Text to counts: by the compiled kernel if it supports the features, otherwise in plain Python and
NumPy.

The plain version defines the results of the kernel.
"""

from __future__ import annotations

import collections
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from itertools import islice, permutations, repeat
from threading import Lock
from typing import Any, cast

import numpy as np

from nbtext.arrays import Array, Bytes, Floats, Hashes, Integers, Integers32
from nbtext.features.analyzer import (
    ACCENTS,
    MARKS_PATTERN,
    Analyzer,
    has_marks,
    has_own_pattern,
    regex_timeout,
)
from nbtext.features.csr import (
    SparseWeights,
    find_places,
    join_bounds,
    join_columns,
    row_keys,
    run_starts,
    running_sums,
)
from nbtext.features.document_table import ClassCounts, DocumentTable
from nbtext.features.hashing import (
    bucket_hashes,
    buckets,
    document_hashes,
    join_hashes,
    vocabulary_hashes,
)
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views, join_views, split_views
from nbtext.features.weighting import Weighting
from nbtext.kernel import HAS_KERNEL, WHY_PLAIN, choose_version, warn_if_missing

TokenColumns = Sequence[Sequence[str]]
Numbering = Callable[[Iterable[str]], Iterable[int]]
CLASS_BITS = 32  # an entry's key is its feature, shifted by these, and its class
MAX_PENDING_ENTRIES = 1_000_000  # entries that were not added to the sums yet

_logging = Lock()  # so that only one of several threads logs the message


class Counter:
    """Counts the features of documents over a vocabulary that grows, a fixed one, or hashed
    columns.

    Documents are given as columns: the texts of each field, or those of all fields together.
    Several threads may call `rows` and `scores` of a fixed or hashed counter at once. A growing
    counter, and `count`, need one thread.

    The kernel has a class with the same methods and results; `counter` chooses one of both.
    """

    def __init__(self, settings: FeatureSettings, vocabulary: Vocabulary | None = None) -> None:
        self._analyzer = Analyzer(settings)
        self._has_pattern = has_own_pattern(settings)
        self._hash_bits = settings.hash_bits
        self._is_fixed = vocabulary is not None
        self._vocabulary = vocabulary or Vocabulary.from_sorted([])
        # the column of each feature, when `vocabulary` was last called
        self._rank = np.empty(0, np.int32)
        self._numbers = _growing_numbers()
        self._hashes: Hashes = np.empty(0, np.uint64)  # of the features so far
        self._counts = ClassCounter()

    def rows(self, columns: TokenColumns) -> DocumentTable:
        """Count each document's features.

        A fixed or hashed counter returns final columns, ascending within a row; features outside
        the vocabulary are in n_tokens only. A growing one returns provisional columns, which
        `DocumentTable.arrange` replaces.
        """
        return self._rows(columns).sort_features()

    def count(
        self,
        columns: TokenColumns,
        classes: Integers32,
        keep_below: int,
    ) -> DocumentTable:
        """Add each document's counts to its class; return the documents with a hash below a bound,
        with the row of each among these documents.

        For a growing or hashed counter. Documents of class -1 are skipped. The hash depends
        on the document's features and counts only. `DocumentTable.arrange` gives them their final
        columns.

        keep_below  from 0 (none) to 2**64 (all)
        """
        labeled = np.flatnonzero(classes >= 0)
        if len(labeled) < len(classes):
            columns = [[texts[document] for document in labeled.tolist()] for texts in columns]
        rows = self._rows(columns)
        self._counts.add(rows, classes[labeled])
        hashes = document_hashes(rows, self._entry_hashes(rows))
        return replace(
            rows, classes=classes[labeled], hashes=hashes, rows=labeled, n_tokens=None
        ).below(keep_below)

    def vocabulary(self) -> tuple[Vocabulary, Integers32]:
        """Return the features so far, sorted, and the final column of each provisional one (-1 if
        it is removed).

        Hashed features have no names: their vocabulary is empty, and their columns are final.
        """
        if self._hash_bits is not None:
            return self._vocabulary, np.arange(1 << self._hash_bits, dtype=np.int32)
        if self._is_fixed:
            return self._vocabulary, np.arange(len(self._vocabulary), dtype=np.int32)
        if len(self._vocabulary) < len(self._numbers):
            terms = sorted(self._numbers)
            numbers = np.array([self._numbers[term] for term in terms])
            self._vocabulary = Vocabulary.from_sorted(terms)
            self._rank = np.argsort(numbers).astype(np.int32)
        return self._vocabulary, self._rank

    def class_counts(self) -> ClassCounts:
        """Return the sums of `count`, by final column."""
        if self._hash_bits is not None:
            return self._counts.class_counts(1 << self._hash_bits)
        vocabulary, rank = self.vocabulary()
        return self._counts.class_counts(len(vocabulary), rank)

    def take_too_long(self) -> int:
        """Return the number of tokens ignored since the last call because they are too long; see
        Analyzer.
        """
        return self._analyzer.take_too_long()

    def scores(
        self, columns: TokenColumns, weighting: Weighting, scorer: SparseWeights
    ) -> tuple[Floats, Integers, Integers]:
        """Weight and score each document, for a fixed or hashed counter and a compiled weighting.

        returns  scores (n_documents, n_classes); tokens of each document; known tokens of each
                 document

        Sums have the order in which features occur, as in the kernel, so that both return the same
        bits.
        """
        rows = self._rows(columns)
        weights = weighting.weights(rows.indptr, rows.indices, rows.counts)
        return (
            score_rows(rows.indptr, rows.indices, weights, scorer),
            np.asarray(rows.n_tokens),
            np.diff(running_sums(rows.counts)[rows.indptr]),
        )

    def _rows(self, columns: TokenColumns) -> DocumentTable:
        """Return the counts of documents, each in the order in which its features occur; of
        buckets, sorted.
        """
        with regex_timeout(columns) if self._has_pattern else nullcontext():
            documents = map(self._analyzer.document, zip(*columns, strict=True))
            if self._hash_bits is not None:
                numbers = _growing_numbers()  # for this batch only, so that memory stays bounded
                rows = _count(documents, lambda terms: map(numbers.__getitem__, terms))
                own_buckets = buckets(numbers, self._hash_bits)
                rows = replace(rows, indices=own_buckets[rows.indices]).sort_features()
                starts = run_starts(row_keys(rows.indptr, rows.indices))
                return replace(
                    rows,
                    indptr=np.searchsorted(starts, rows.indptr),
                    indices=rows.indices[starts],
                    counts=_sums(rows.counts, starts).astype(np.int32),
                )
            if self._is_fixed:
                column_of = self._vocabulary.columns.get
                rows = _count(documents, lambda terms: map(column_of, terms, repeat(-1)))
                return rows.filter_entries(rows.indices >= 0)
            return _count(documents, lambda terms: map(self._numbers.__getitem__, terms))

    def _entry_hashes(self, rows: DocumentTable) -> Hashes:
        """Return the hash of each entry's feature."""
        if self._hash_bits is not None:
            return bucket_hashes(rows.indices)
        n_new = len(self._numbers) - len(self._hashes)
        if n_new:
            newest_first = vocabulary_hashes(
                Vocabulary.from_sorted(islice(reversed(self._numbers), n_new))
            )
            self._hashes = np.concatenate((self._hashes, newest_first[::-1]))
        return self._hashes[rows.indices]


class ViewCounter:
    """Counts the features of documents in each view. It has the methods of Counter.

    The features of a view are a range of columns, because their names begin with the name of the
    view. Provisional columns of the views alternate. The length of a document is that of all views.
    """

    def __init__(self, settings: FeatureSettings, vocabulary: Vocabulary | None) -> None:
        self._names = settings.view
        self._vocabulary = vocabulary
        given = (
            [None] * len(self._names)
            if vocabulary is None
            else split_views(vocabulary, self._names)
        )
        self._counters = [
            counter(each, own) for each, own in zip(settings.of_views, given, strict=True)
        ]
        self._bounds = None if vocabulary is None else find_views(vocabulary, self._names)
        # the arrays of a scorer, by view
        self._prepared: tuple[SparseWeights | None, list[Any]] = None, []
        self._sums: list[ClassCounts] = []  # of each view, after `vocabulary`

    def rows(self, columns: TokenColumns) -> DocumentTable:
        """See Counter."""
        return self._join([each.rows(columns) for each in self._counters])

    def count(
        self,
        columns: TokenColumns,
        classes: Integers32,
        keep_below: int,
    ) -> DocumentTable:
        """See Counter. The hash of a document follows from its hashes in all views."""
        below = 1 << 64 if keep_below else 0
        parts = [each.count(columns, classes, below) for each in self._counters]
        hashes = join_hashes(self._names, [part.hashes for part in parts])
        parts = [replace(part, hashes=hashes).below(keep_below) for part in parts]
        first = parts[0]
        return replace(
            self._join(parts),
            classes=first.classes,
            hashes=first.hashes,
            rows=first.rows,
            n_tokens=None,
        )

    def vocabulary(self) -> tuple[Vocabulary, Integers32]:
        """See Counter. It ends the counting: the memory of a view's counter is free before the next
        one is listed.
        """
        if self._vocabulary is not None:
            return self._vocabulary, np.arange(len(self._vocabulary), dtype=np.int32)
        listed: list[tuple[Vocabulary, Integers32]] = []
        while self._counters:
            own = self._counters.pop(0)
            listed.append(own.vocabulary())
            self._sums.append(own.class_counts())
        parts, ranks = zip(*listed, strict=True)
        starts = running_sums([len(part) for part in parts])
        n = len(parts)
        columns = np.full(n * max(map(len, ranks)), -1, np.int32)
        for view, (rank, start) in enumerate(zip(ranks, starts[:-1], strict=True)):
            columns[view : view + n * len(rank) : n] = np.where(rank < 0, -1, rank + start)
        return join_views(self._names, parts), columns

    def class_counts(self) -> ClassCounts:
        """See Counter. The sums are those that `vocabulary` has left, and are given away."""
        parts = self._sums
        self._sums = []
        indptr = join_bounds([part.indptr for part in parts])
        columns = list(zip(*parts, strict=True))[:0:-1]
        del parts
        # the parts of each are freed then
        return ClassCounts(indptr, *(np.concatenate(columns.pop()) for _ in list(columns)))

    def take_too_long(self) -> int:
        """See Counter. All views of words ignore the same tokens."""
        return max(each.take_too_long() for each in self._counters)

    def scores(
        self, columns: TokenColumns, weighting: Weighting, scorer: SparseWeights
    ) -> tuple[Floats, Integers, Integers]:
        """See Counter."""
        prepared = self._prepared
        bounds = self._bounds
        assert bounds is not None
        # they are prepared once, and set together, because several threads may score
        if prepared[0] is not scorer:
            prepared = self._prepared = (
                scorer,
                [*zip(weighting.split(bounds), scorer.split(bounds), strict=True)],
            )
        found = [
            each.scores(columns, *own)
            for each, own in zip(self._counters, prepared[1], strict=True)
        ]
        scores, n_tokens, n_known = (np.sum(values, axis=0) for values in zip(*found, strict=True))
        return scores, n_tokens, n_known

    def _join(self, parts: Sequence[DocumentTable]) -> DocumentTable:
        """Return the rows of all views as one, without hashes and classes."""
        if self._bounds is None:
            indices = [
                part.indices * np.int32(len(parts)) + np.int32(view)
                for view, part in enumerate(parts)
            ]
        else:
            indices = [
                part.indices + np.int32(start)
                for part, start in zip(parts, self._bounds, strict=False)
            ]
        rows = join_columns(
            [(part.indptr, own, part.counts) for part, own in zip(parts, indices, strict=True)]
        )
        n_tokens = [
            np.zeros(len(parts[0]), np.int64) if part.n_tokens is None else part.n_tokens
            for part in parts
        ]
        return DocumentTable.from_texts(*rows, np.sum(n_tokens, axis=0))


def _growing_numbers() -> collections.defaultdict[str, int]:
    """Return a dict that gives each new term the next number when it is looked up."""
    numbers: collections.defaultdict[str, int] = collections.defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _count(documents: Iterable[list[str]], numbers: Numbering) -> DocumentTable:
    """Count the features of each document, in the order of their first occurrence."""
    indptr = array("q", [0])
    indices = array("i")
    counts = array("i")
    n_tokens = array("q")
    for features in documents:
        times = collections.Counter(features)
        indices.extend(numbers(times))
        counts.extend(times.values())
        indptr.append(len(indices))
        n_tokens.append(len(features))
    return DocumentTable.from_texts(
        np.frombuffer(indptr, np.int64),
        np.frombuffer(indices, np.int32),
        np.frombuffer(counts, np.int32),
        np.frombuffer(n_tokens, np.int64),
    )


class ClassCounter:
    """Sums of documents and occurrences by feature and class, in memory that grows with the
    vocabulary only.
    """

    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)  # ascending
        self._documents = np.empty(0, np.int64)
        self._occurrences = np.empty(0, np.int64)
        self._waiting: list[tuple[Integers, Integers32]] = []
        self._n_waiting = 0

    def add(self, rows: DocumentTable, classes: Integers32) -> None:
        """Add each row to its class; classes (n_documents,) are >= 0."""
        entry_classes = np.repeat(classes, np.diff(rows.indptr))
        self._waiting.append(
            (rows.indices.astype(np.int64) << CLASS_BITS | entry_classes, rows.counts)
        )
        self._n_waiting += len(rows.indices)
        # so that the total time stays linear
        if self._n_waiting > max(MAX_PENDING_ENTRIES, len(self._keys)):
            self._fold()

    def class_counts(self, n_features: int, rank: Integers32 | None = None) -> ClassCounts:
        """Return the sums so far; with a rank, feature j becomes column rank[j]."""
        self._fold()
        features = self._keys >> CLASS_BITS
        classes = self._keys & ((1 << CLASS_BITS) - 1)
        columns = features if rank is None else rank[features].astype(np.int64)
        order = np.argsort(columns << CLASS_BITS | classes, kind="stable")
        return ClassCounts(
            running_sums(np.bincount(columns, minlength=n_features)),
            classes[order].astype(np.int32),
            self._documents[order],
            self._occurrences[order],
        )

    def _fold(self) -> None:
        """Add the waiting entries to the sums."""
        if not self._waiting:
            return
        waiting_keys, counts = zip(*self._waiting, strict=True)
        self._waiting = []
        self._n_waiting = 0
        keys = np.concatenate((self._keys, *waiting_keys))
        order = np.argsort(keys)
        keys = keys[order]
        starts = run_starts(keys)
        once = np.ones(len(keys) - len(self._keys), np.int64)
        self._documents = _sums(np.concatenate((self._documents, once))[order], starts)
        self._occurrences = _sums(np.concatenate((self._occurrences, *counts))[order], starts)
        self._keys = keys[starts]


def _sums(values: Array, starts: Integers) -> Integers:
    """Return the sum of each run of values; `starts` are the starts of the runs."""
    return np.add.reduceat(values, starts) if len(starts) else values


def merge_sorted(
    blob_a: Bytes,
    offsets_a: Integers,
    blob_b: Bytes,
    offsets_b: Integers,
) -> tuple[Bytes, Integers, Integers32, Integers32]:
    """Return the union of two sorted vocabularies (blob, offsets), and the column in it of each
    feature of either.
    """
    terms_a = Vocabulary(blob_a, offsets_a).terms
    terms_b = Vocabulary(blob_b, offsets_b).terms
    union = Vocabulary.from_terms(terms_a + terms_b)
    return union.blob, union.offsets, union.columns_of(terms_a), union.columns_of(terms_b)


def score_rows(
    indptr: Integers,
    indices: Integers32,
    values: Floats | Integers32,
    scorer: SparseWeights,
) -> Floats:
    """Return scores (n_documents, n_classes) of rows by a sparse linear scorer."""
    from scipy.sparse import csr_array

    n_features = scorer.n_columns
    rows = csr_array(
        (values.astype(np.float64), indices, indptr), shape=(len(indptr) - 1, n_features)
    )
    shape = len(scorer.indptr) - 1, len(scorer.bias)
    deltas = csr_array((scorer.deltas, scorer.classes, scorer.indptr), shape=shape)
    own = csr_array((rows.data, scorer.rows_of(indices), indptr), shape=(len(indptr) - 1, shape[0]))
    scores: Floats = (
        (own @ deltas).toarray()
        + np.outer(rows @ np.ones(n_features), scorer.default)
        + scorer.bias
    )
    if scorer.base is not None and scorer.base_scale is not None:
        scores += np.outer(rows @ scorer.base, scorer.base_scale)
    return scores


merge_sorted = choose_version(merge_sorted)
score_rows = choose_version(score_rows)


def find_known_columns(vocabulary: Vocabulary, known: Vocabulary) -> Integers32:
    """Return the column in `known` of each feature of a vocabulary, (n_features,); -1: there is
    none.
    """
    _, offsets, mine, theirs = merge_sorted(
        known.blob, known.offsets, vocabulary.blob, vocabulary.offsets
    )
    return find_places(mine, len(offsets) - 1)[theirs]


def align_documents(
    documents: DocumentTable, vocabulary: Vocabulary | None, known: Vocabulary | None
) -> DocumentTable:
    """Return documents over the features of another vocabulary, without unknown features; hashed
    features stay.
    """
    if vocabulary is None or known is None:
        return documents
    return documents.map_features(find_known_columns(vocabulary, known))


def counter(settings: FeatureSettings, vocabulary: Vocabulary | None = None) -> Counter:
    """Return a counter for these settings; its vocabulary grows if none is given and features are
    not hashed.

    raises  SettingsError, MissingExtra: see Analyzer
    """
    if settings.view:
        return cast(Counter, ViewCounter(settings, vocabulary))
    if why := why_plain(settings) if HAS_KERNEL else f"the compiled kernel is {WHY_PLAIN}":
        warn_if_missing()
        with _logging:
            _log_plain(settings, why)
        return Counter(settings, vocabulary)
    from nbtext._kernel import Counter as CompiledCounter

    normalizer = Analyzer(settings).normalizer
    compiled = CompiledCounter(
        analyzer=settings.analyzer,
        marks=has_marks(settings),
        ngrams=settings.ngrams,
        lowercase=settings.lowercase,
        fields=settings.fields,
        normalize=normalizer.normalize if normalizer is not None else None,
        strip_accents=ACCENTS[settings.strip_accents],
        hash_bits=settings.hash_bits,
        vocabulary=vocabulary,
    )
    return cast(Counter, compiled)


def why_plain(settings: FeatureSettings) -> str:
    """Return why the kernel cannot count these features; "" if it can."""
    if has_own_pattern(settings):
        return f"the kernel supports the default --token-pattern and {MARKS_PATTERN} only"
    if has_marks(settings) and (settings.stop_words or settings.stem is not None):
        # a normal form may be a colon or a control character
        return (
            f"the kernel supports --token-pattern {MARKS_PATTERN} only without stop words and stems"
        )
    prefixes = [f"{name}:" for name in settings.fields]
    if any(one.startswith(other) for one, other in permutations(prefixes, 2)):
        return "the kernel needs --text-field names of which none begins another"
    return ""


@cache
def _log_plain(settings: FeatureSettings, why: str) -> None:
    """Log once for each settings record why plain Python counts."""
    from logging import getLogger

    getLogger("nbtext").info("counting in plain Python, which is slower: %s", why)
