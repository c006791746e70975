"""Exact leave-one-out scores of a multi-label model: those of each document under the model of all others, in one pass.

A document is subtracted from the counts of each of its labels, and once from the counts of all documents. So the
complement of its own labels does not change, and the complement of each other label loses it. Identical documents
("contents") are left out together.

The sums of logarithms of binary_relevance are logarithms of products here, which are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes import plain
from nbtext.bayes.binary_relevance import (
    RelevanceScores,
    Smoothing,
    contrast_labels,
    discount,
    log_absent,
    prior_log_odds,
    pseudo_tokens,
)
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.label_sets import LabelSets
from nbtext.bayes.leave_one_out import LeftOutDocuments, count_hapaxes
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.errors import ModelError
from nbtext.features.csr import run_starts, running_sums
from nbtext.features.document_counts import DocumentCounts, count_copies
from nbtext.kernel import HAS_KERNEL, choose_version
from nbtext.records import LazyProperty, dataclass

left_out_products = choose_version(plain.left_out_products)

MAX_CELLS = 1 << 16  # documents times labels that are scored at once
# pairs of a document's feature and a label that has it, at once; None: the kernel needs no memory for them
MAX_ENTRIES = None if HAS_KERNEL else 1 << 18
LARGEST = 500.0  # exponent of 2 that a product may gain before it is divided


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """What the scores of left-out documents need of the whole corpus.

    statistics  of the corpus
    entries     the occurrences t_kj, feature by feature: indptr, classes, t
    discounted  the discounted occurrences of `entries`, t'_kj
    totals      (n_features,), the occurrences of each feature in all documents, t_j
    n_tokens    the occurrences of all features in all documents, T
    priors      (n_labels,), π with nothing left out
    """

    statistics: ClassStatistics
    entries: tuple[NDArray[np.int64], NDArray[np.int32], Floats]
    discounted: Floats
    totals: Floats
    n_tokens: float
    priors: Floats

    @classmethod
    def of(cls, statistics: ClassStatistics) -> LabelCounts:
        """Return the counts of statistics.

        A feature that half of the labels have has an entry for each label, so that the kernel need not look it up.
        """
        widths, n_labels = np.diff(statistics.indptr), statistics.n_classes
        is_frequent = 2 * widths >= n_labels
        indptr = running_sums(np.where(is_frequent, n_labels, widths))
        classes = (np.arange(indptr[-1]) - np.repeat(indptr[:-1], np.diff(indptr))).astype(np.int32)
        ranks = np.arange(len(statistics.classes)) - np.repeat(statistics.indptr[:-1], widths)
        places = np.repeat(indptr[:-1], widths) + np.where(np.repeat(is_frequent, widths), statistics.classes, ranks)
        occurrences = np.zeros(len(classes))
        classes[places], occurrences[places] = statistics.classes, statistics.occurrences
        totals = statistics.feature_occurrences.astype(np.float64)
        priors = np.asarray(prior_log_odds(statistics.class_documents, statistics.n_documents))
        entries = indptr, classes, occurrences
        return cls(statistics, entries, discount(occurrences), totals, float(totals.sum()), priors)

    def contrast_scorer(self, alpha: float) -> LinearScorer:
        """Return the scorer of S, with nothing left out, over `entries`."""
        indptr, classes, occurrences = self.entries
        default = np.log(alpha / (self.statistics.class_occurrences + alpha * self.statistics.n_features))
        return LinearScorer(np.zeros(len(default)), default, indptr, classes, np.log(occurrences / alpha + 1))


@dataclass(frozen=True, eq=False)
class RelevanceLeaveOneOut(LeftOutDocuments):
    """The retained documents of a corpus, for exact leave-one-out scores. Identical documents are left out together.

    counts      of the whole corpus
    documents   some of its documents; the class of a document is the index of its set in `sets`
    sets        the label sets of the documents
    n_hapax     (n_documents,), tokens of each document whose features no other document has: they are out of
                vocabulary. None: the vocabulary does not depend on the documents
    is_separate  whether each document is a content of its own, and is left out alone
    """

    counts: LabelCounts
    documents: DocumentCounts
    sets: LabelSets
    n_hapax: NDArray[Any] | None
    is_separate: bool = False

    def drop_last_content(self) -> RelevanceLeaveOneOut:
        """Return a sample without its last group of duplicates, which may be incomplete."""
        hashes = self.documents.hashes
        return self.slice(0, int(np.searchsorted(hashes, hashes[-1]))) if len(hashes) else self

    def take(self, documents: NDArray[np.int64]) -> RelevanceLeaveOneOut:
        """Return only these documents; they must include all duplicates of each."""
        n_hapax = None if self.n_hapax is None else self.n_hapax[documents]
        return replace(self, documents=self.documents.take(documents), n_hapax=n_hapax)

    def slice(self, start: int, stop: int) -> RelevanceLeaveOneOut:
        """Return only these documents; they must include all duplicates of each."""
        n_hapax = None if self.n_hapax is None else self.n_hapax[start:stop]
        return replace(self, documents=self.documents.slice(start, stop), n_hapax=n_hapax)

    @cached_property
    def n_copies(self) -> NDArray[np.int64]:
        """The number of documents that are equal to each document, itself included, shape (n_documents,)."""
        return count_copies(self.documents)

    @cached_property
    def distinct(self) -> DocumentCounts:
        """One document of each content."""
        return self.documents.take(self._first)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """The number of documents of each content."""
        return np.bincount(self.contents)

    @cached_property
    def own(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For each content (indptr) its labels, ascending, and the number of its documents with each."""
        sets = self.sets.take(self.documents.classes)
        keys = np.sort(self.contents[sets.entry_sets] * self.counts.statistics.n_classes + sets.classes)
        starts = run_starts(keys)
        contents, labels = np.divmod(keys[starts], self.counts.statistics.n_classes)
        indptr = np.searchsorted(contents, np.arange(len(self.copies) + 1))
        return indptr, labels, np.diff(np.append(starts, len(keys)))

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The first document of each content."""
        return np.unique(self.contents, return_index=True)[1]

    @cached_property
    def n_known(self) -> Floats:
        """The sum of the counts of each distinct document, without features that no other document has."""
        counts = self.distinct.totals
        if self.n_hapax is None:
            return counts
        return np.asarray(counts - self._unseen(count_hapaxes(self.counts.statistics, self.documents).tokens))

    @cached_property
    def lengths(self) -> Floats:
        """The tokens of each distinct document, without features that no other document has."""
        lengths = self.distinct.lengths
        return lengths if self.n_hapax is None else lengths - self._unseen(self.n_hapax)

    def _unseen(self, n_hapax: NDArray[Any]) -> NDArray[Any]:
        """Return for each distinct document the tokens that are out of vocabulary without it, of those of documents."""
        return np.where(self.is_separate & (self.n_copies > 1), 0, n_hapax)[self._first]

    def scores_of(self, smoothing: Smoothing) -> Callable[[LeftOutBlock], RelevanceScores]:
        """Return the function that scores a block of this corpus."""
        alpha = smoothing.alpha
        scorer = None if alpha is None else self.counts.contrast_scorer(alpha)

        def score(block: LeftOutBlock) -> RelevanceScores:
            priors = block.priors
            contrast = None if scorer is None or alpha is None else block.contrast(scorer, alpha)
            return RelevanceScores(block.ratios(smoothing.mu) + priors, contrast, priors)

        return score

    @property
    def blocks(self) -> Iterator[LeftOutBlock]:
        """The contents in blocks whose scores fit into memory, one after the other."""
        n, start = len(self.copies), 0
        n_blocks = -(-n // max(1, MAX_CELLS // self.counts.statistics.n_classes))
        size = -(-n // max(1, n_blocks))  # equal sizes, for threads
        widths = None if MAX_ENTRIES is None else np.diff(self.counts.statistics.indptr)[self.distinct.indices]
        bounds = None if widths is None else running_sums(widths)[self.distinct.indptr]
        while start < n:
            stop = min(start + size, n)
            if bounds is not None:
                last = int(np.searchsorted(bounds, bounds[start] + MAX_ENTRIES, side="right")) - 1
                stop = min(stop, max(last, start + 1))
            yield LeftOutBlock(self, start, stop)
            start = stop


@dataclass(frozen=True, eq=False)
class LeftOutBlock:
    """The contents of a corpus from `start` up to `stop`, which are left out. It keeps what all smoothings need."""

    corpus: RelevanceLeaveOneOut
    start: int
    stop: int

    @LazyProperty
    def documents(self) -> DocumentCounts:
        """One document of each content."""
        return self.corpus.distinct.slice(self.start, self.stop)

    @LazyProperty
    def copies(self) -> Floats:
        """The number of documents of each content."""
        return self.corpus.copies[self.start : self.stop].astype(np.float64)

    @LazyProperty
    def known(self) -> Floats:
        """The part of `n_known` that belongs to this block."""
        return self.corpus.n_known[self.start : self.stop]

    @LazyProperty
    def own(self) -> OwnLabels:
        """The labels of the contents."""
        starts, labels, numbers = self.corpus.own
        entries = slice(starts[self.start], starts[self.stop])
        bounds = starts[self.start : self.stop + 1] - starts[self.start]
        classes, copies = labels[entries].astype(np.int32), numbers[entries].astype(np.float64)
        rows = np.repeat(np.arange(len(self.documents)), np.diff(bounds))
        documents = replace(self.documents.take(rows), classes=classes)
        indptr, of_entries, occurrences = self.corpus.counts.entries
        places = documents.locate(indptr, of_entries)
        left = occurrences[places] - np.repeat(copies, np.diff(documents.indptr)) * documents.counts
        return OwnLabels(bounds, rows, classes, copies, documents, places, _check_counted(left))

    @LazyProperty
    def positives(self) -> Floats:
        """The number of documents of each content that have each label, (n_rows, n_labels)."""
        return -self._subtract_own(np.zeros(self.corpus.counts.statistics.n_classes), np.ones(self.stop - self.start))

    @LazyProperty
    def priors(self) -> Floats:
        """π of each content and label, (n_rows, n_labels)."""
        n = self.corpus.counts.statistics.n_documents - self.copies
        n_k = self._subtract_own(self.corpus.counts.statistics.class_documents, np.ones(len(n)))
        return np.asarray(prior_log_odds(n_k, n[:, None]))

    def ratios(self, mu: float) -> Floats:
        """Return A − π of each content and label, (n_rows, n_labels)."""
        corpus, part, own, left = self.corpus, self.documents, self.own, self._left
        T = corpus.counts.n_tokens - self.copies * part.totals
        T_k = self._subtract_own(corpus.counts.statistics.class_occurrences, part.totals)
        shares = left / np.repeat(np.maximum(T, 1), np.diff(part.indptr))
        # a factor is at most (1 + T / μ)²
        limits = np.maximum(LARGEST * np.log(2) / (2 * np.log1p(T / mu) + 1e-9), 1).astype(np.int64)
        indptr, classes, _ = corpus.counts.entries
        products, exponents = left_out_products(
            (part.indptr, part.indices, part.counts),
            (own.indptr, own.places, discount(own.left), pseudo_tokens(T_k[own.rows, own.classes], mu)),
            (indptr, classes, corpus.counts.discounted), pseudo_tokens(corpus.counts.statistics.class_occurrences, mu),
            (left, shares), T, limits,
        )  # fmt: skip
        mantissas, shifts = np.frexp(products)
        scores = np.log(mantissas) + (exponents + shifts) * np.log(2)
        scores += self.known[:, None] * log_absent(T[:, None], T_k, mu)
        return np.asarray(scores)

    def contrast(self, scorer: LinearScorer, alpha: float) -> Floats:
        """Return B of each content and label, (n_rows, n_labels).

        scorer  of S, with nothing left out
        """
        corpus, part, own = self.corpus, self.documents, self.own
        scores = scorer.scores(part.indptr, part.indices, part.counts)
        scores -= (part.totals - self.known)[:, None] * scorer.default
        totals = corpus.counts.statistics.class_occurrences[own.classes] - own.copies * own.documents.totals
        default = np.log(alpha / (totals + alpha * corpus.counts.statistics.n_features))
        logs = own.documents.sum_entries(own.documents.counts * np.log(own.left / alpha + 1))
        scores[own.rows, own.classes] = logs + self.known[own.rows] * default
        return contrast_labels(scores)

    @LazyProperty
    def _left(self) -> Floats:
        """t_j of each entry without all copies of the document."""
        part = self.documents
        return _check_counted(self.corpus.counts.totals[part.indices] - self.copies[part.entry_documents] * part.counts)

    def _subtract_own(self, values: NDArray[Any], lengths: Floats) -> Floats:
        """Return a value of each label without that of the document's copies that have it, (n_rows, n_labels).

        lengths  (n_rows,), what one copy adds to the value of its labels
        """
        left = np.repeat(values[None].astype(np.float64), self.stop - self.start, axis=0)
        left[self.own.rows, self.own.classes] -= self.own.copies * lengths[self.own.rows]
        return left


class OwnLabels(NamedTuple):
    """The labels of some contents: each pair of a content and a label that some of its documents have.

    indptr     (n_contents + 1,), the pairs of each content, whose labels ascend
    rows       (n_pairs,), the content
    classes    (n_pairs,), the label
    copies     (n_pairs,), documents of the content with the label
    documents  one document for each pair; its class is the label
    places     (n_entries,), the places of its entries among those of the statistics
    left       (n_entries,), t of each entry without these copies
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int64]
    classes: NDArray[np.int32]
    copies: Floats
    documents: DocumentCounts
    places: NDArray[np.int64]
    left: Floats


def _check_counted(left: Floats) -> Floats:
    """Return counts without those of documents; ModelError if one is negative."""
    if left.min(initial=0) < 0:
        raise ModelError(
            "the model file is not consistent: a retained document is not in its counts", hint="train again"
        )
    return left
