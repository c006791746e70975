"""Naive Bayes for several labels: two scores of each document and label, and their exact leave-one-out values.

Relevance. Label k against the rest, both multinomial and smoothed towards the corpus (Dirichlet smoothing):

    A_k = log (n_k + ½) / (n − n_k + ½) + Σ_j x_j log θ_kj / φ_kj
    θ_kj = (t_kj + μ g_j) / (T_k + μ),  φ_kj = (t_j − t_kj + μ g_j) / (T − T_k + μ)

where t_j and T are counts of all documents, each once, and g_j = t_j / T. A feature that label k does not have adds
log μ / (T + μ), whatever its t_j. So the weights are sparse: one number for each feature that a label has.

Contrast. The log-odds of label k against all other labels in an ordinary multinomial model with additive smoothing α:

    S_k = log (n_k + ½) + Σ_j x_j log (t_kj + α) / (T_k + αV),  B_k = S_k − log Σ_{l ≠ k} exp S_l

One scorer holds both: A_k is its score k, S_k its score K + k.

Sources: Zhai and Lafferty, A Study of Smoothing Methods for Language Models Applied to Information Retrieval, 2004
(Dirichlet smoothing); McCallum and Nigam, A Comparison of Event Models for Naive Bayes Text Classification, 1998.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.label_sets import LabelSets, drop_totals
from nbtext.bayes.leave_one_out import count_hapaxes
from nbtext.bayes.multinomial import compile_multinomial
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.csr import entries_of, run_starts, running_sums
from nbtext.features.document_counts import DocumentCounts, number_contents

HALF = 0.5  # document that is added to those of a label, and of the rest, so that no prior is 0
MAX_CELLS = 1 << 21  # documents times labels that are scored at once
MAX_ENTRIES = 1 << 18  # pairs of a document's feature and a label that has it, at once
TABLE_SIZE = 1 << 16  # counts whose logarithms are in a table
NO_CONTRAST = 0.0  # the score B if there is only one label


class Smoothing(NamedTuple):
    """The smoothing of both scores.

    mu     μ, tokens of the corpus that are added to those of each label and of its rest
    alpha  α, the pseudo-count of each feature in each label; None: the score B is not used
    """

    mu: float
    alpha: float | None


class RelevanceScores(NamedTuple):
    """The scores of some documents, each (n_documents, n_labels); B is None if it is not used."""

    relevance: Floats
    contrast: Floats | None


def compile_relevance(statistics: ClassStatistics, smoothing: Smoothing) -> LinearScorer:
    """Return the scorer of A, and if α is given of S; see the module.

    statistics  with totals: class 0 is of all documents
    """
    labels = drop_totals(statistics)
    mu, n, n_k = smoothing.mu, statistics.n_documents, labels.class_documents
    totals = statistics.feature_sums(statistics.occurrences).astype(np.float64)
    T, T_k = totals.sum(), labels.class_occurrences
    of_entries = np.repeat(totals, np.diff(labels.indptr))
    base = _log_absent(T, mu)
    added = of_entries * (mu / T) if T else of_entries
    gains = np.log((labels.occurrences + added) / (of_entries - labels.occurrences + added)) - base
    bias = np.log(n_k + HALF) - np.log(n - n_k + HALF)
    default = base - np.log(T_k + mu) + np.log(T - T_k + mu)
    if smoothing.alpha is None:
        return LinearScorer(bias, default, labels.indptr, labels.classes, gains)
    contrasts = compile_multinomial(labels, smoothing=smoothing.alpha)
    widths, n_labels = np.diff(labels.indptr), labels.n_classes
    order = _interleave(labels.indptr)
    return LinearScorer(
        np.concatenate((bias, np.log(n_k + HALF))),
        np.concatenate((default, contrasts.default)),
        running_sums(2 * widths),
        np.concatenate((labels.classes, labels.classes + np.int32(n_labels)))[order],
        np.concatenate((gains, contrasts.deltas))[order],
    )


def first_score(scorer: LinearScorer, n_labels: int) -> LinearScorer:
    """Return the scorer of A only."""
    is_first = scorer.classes < n_labels
    return LinearScorer(
        scorer.bias[:n_labels],
        scorer.default[:n_labels],
        running_sums(is_first)[scorer.indptr],
        scorer.classes[is_first],
        scorer.deltas[is_first],
    )


def _interleave(indptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order in which each row of two equal lists of rows follows the same row of the other list."""
    n, widths = int(indptr[-1]), np.diff(indptr)
    places = np.arange(n) + np.repeat(indptr[:-1], widths)
    order = np.empty(2 * n, dtype=np.int64)
    order[places] = np.arange(n)
    order[places + np.repeat(widths, widths)] = np.arange(n, 2 * n)
    return order


def _log_absent(T: Any, mu: float) -> Any:
    """Return what a token adds to the score of a label that does not have it, the normalization aside."""
    return np.log(mu) - np.log(T + mu)


def split_scores(scores: Floats, n_labels: int) -> RelevanceScores:
    """Return the scores A and B of documents from those of the scorer, (n_documents, n_labels or twice as many)."""
    if scores.shape[1] == n_labels:
        return RelevanceScores(scores, None)
    return RelevanceScores(scores[:, :n_labels], contrast_labels(scores[:, n_labels:]))


def contrast_labels(scores: Floats) -> Floats:
    """Return the log-odds of each label against all others, (n_documents, n_labels), from their scores S."""
    n, n_labels = scores.shape
    if n_labels < 2 or n == 0:
        return np.full(scores.shape, NO_CONTRAST)
    rows, best = np.arange(n), scores.argmax(axis=1)
    highest = scores[rows, best]
    shares = np.exp(scores - highest[:, None])
    shares[rows, best] = 0.0
    rest = np.maximum(1 + shares.sum(axis=1)[:, None] - shares, 1.0)  # the best label, and all others but one
    log_odds = scores - highest[:, None] - np.log(rest)
    others = scores.copy()
    others[rows, best] = -np.inf
    second = others.max(axis=1)
    log_odds[rows, best] = highest - second - np.log(np.exp(others - second[:, None]).sum(axis=1))
    return np.asarray(log_odds)


@dataclass(frozen=True, eq=False)
class RelevanceLeaveOneOut:
    """The retained documents of a corpus, for exact leave-one-out scores. Duplicates leave together.

    statistics  of the whole corpus, with totals
    documents   some of its documents; their classes number `sets`
    sets        the label sets of the documents
    n_hapax     (n_documents,), tokens of each document whose features no other document has: they are out of
                vocabulary. None: the vocabulary does not depend on the documents
    """

    statistics: ClassStatistics
    documents: DocumentCounts
    sets: LabelSets
    n_hapax: NDArray[Any] | None

    def first(self, size: int) -> RelevanceLeaveOneOut:
        """Return about the first `size` documents, up to the end of a group of documents with equal hashes."""
        hashes = self.documents.hashes
        if size >= len(hashes):
            return self
        return self._slice(int(np.searchsorted(hashes, hashes[max(1, size) - 1], side="right")))

    def drop_last_content(self) -> RelevanceLeaveOneOut:
        """Return a sample without its last documents of equal hashes, because some may not be retained."""
        hashes = self.documents.hashes
        return self._slice(int(np.searchsorted(hashes, hashes[-1]))) if len(hashes) else self

    def _slice(self, stop: int) -> RelevanceLeaveOneOut:
        n_hapax = None if self.n_hapax is None else self.n_hapax[:stop]
        return replace(self, documents=self.documents.slice(0, stop), n_hapax=n_hapax)

    @cached_property
    def contents(self) -> NDArray[np.int64]:
        """The number of the content of each document; duplicates have the same number, shape (n_documents,)."""
        return number_contents(self.documents)

    @cached_property
    def distinct(self) -> DocumentCounts:
        """One document of each content."""
        return self.documents.take(self._first)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """The number of documents of each content."""
        return np.bincount(self.contents)

    @cached_property
    def labels(self) -> ClassStatistics:
        return drop_totals(self.statistics)

    @cached_property
    def own(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For each content (indptr) its labels, ascending, and the number of its documents with each."""
        sets = self.sets.take(self.documents.classes)
        keys = np.sort(self.contents[sets.entry_sets] * self.labels.n_classes + sets.classes - 1)
        starts = run_starts(keys)
        contents, labels = np.divmod(keys[starts], self.labels.n_classes)
        indptr = np.searchsorted(contents, np.arange(len(self.copies) + 1))
        return indptr, labels, np.diff(np.append(starts, len(keys)))

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The first document of each content."""
        return np.unique(self.contents, return_index=True)[1]

    @cached_property
    def totals(self) -> Floats:
        """The occurrences of each feature in all documents, t_j."""
        return self.statistics.feature_sums(self.statistics.occurrences).astype(np.float64)

    @cached_property
    def n_known(self) -> Floats:
        """The counts of each content whose features are in the vocabulary of the others."""
        counts = self.distinct.totals
        return counts if self.n_hapax is None else counts - count_hapaxes(self.statistics, self.documents)[self._first]

    @cached_property
    def lengths(self) -> Floats:
        """The tokens of each content that are in the vocabulary of the others, also if the counts are binary."""
        lengths = self.distinct.lengths
        return lengths if self.n_hapax is None else lengths - self.n_hapax[self._first]

    def blocks(self) -> Iterator[LeftOutBlock]:
        """Yield the contents in blocks whose scores fit into memory."""
        sizes = running_sums(np.diff(self.labels.indptr)[self.distinct.indices])[self.distinct.indptr]
        maximum, start, n = max(1, MAX_CELLS // self.labels.n_classes), 0, len(self.copies)
        while start < n:
            stop = int(np.searchsorted(sizes, sizes[start] + MAX_ENTRIES, side="right")) - 1
            stop = min(max(stop, start + 1), start + maximum, n)
            yield LeftOutBlock.of(self, start, stop)
            start = stop

    @property
    def n_entries(self) -> int:
        """The number of entries of all blocks."""
        return int(np.diff(self.labels.indptr)[self.distinct.indices].sum())


@dataclass(frozen=True, eq=False)
class LeftOutBlock:
    """Some contents that are left out, and the entries of the labels that have their features.

    corpus    of the contents
    n_rows    number of contents
    cells     (n_entries,), row · n_labels + label of each entry
    pairs     (n_entries,), the pair of a row and one of its features
    rows      (n_pairs,), the row of each pair
    values    (n_pairs,), x, the count of the feature in the document
    left      (n_pairs,), t_j without all copies of the document, above 0: what no other document has adds nothing
    label_left   (n_entries,), t_kj without the copies that have label k
    own       (n_rows, n_labels), copies of the document with each label
    copies    (n_rows,)
    lengths   (n_rows,), L, the tokens of a copy
    known     (n_rows,), its tokens that count for the labels
    """

    corpus: RelevanceLeaveOneOut
    n_rows: int
    cells: NDArray[Any]
    pairs: NDArray[np.int64]
    rows: NDArray[Any]
    values: Floats
    left: Floats
    label_left: NDArray[np.int64]
    own: Floats
    copies: Floats
    lengths: Floats
    known: Floats

    @classmethod
    def of(cls, corpus: RelevanceLeaveOneOut, start: int, stop: int) -> LeftOutBlock:
        labels, n_rows = corpus.labels, stop - start
        part = corpus.distinct.slice(start, stop)
        copies = corpus.copies[start:stop].astype(np.float64)
        indptr, own_labels, numbers = corpus.own
        own = np.zeros((n_rows, labels.n_classes))
        own_rows = np.repeat(np.arange(n_rows), np.diff(indptr[start : stop + 1]))
        entries = slice(indptr[start], indptr[stop])
        own[own_rows, own_labels[entries]] = numbers[entries]
        left = corpus.totals[part.indices] - copies[part.entry_documents] * part.counts
        is_known = left > 0
        left, rows, features = left[is_known], part.entry_documents[is_known], part.indices[is_known]
        values = part.counts[is_known].astype(np.float64)
        widths = np.diff(labels.indptr)[features]
        _, found = entries_of(labels.indptr, features)
        pairs = np.repeat(np.arange(len(rows)), widths)
        cells = np.repeat(rows * labels.n_classes, widths) + labels.classes[found]
        taken = own.ravel()[cells] * values[pairs]
        label_left = labels.occurrences[found] - taken.astype(np.int64)
        return cls(
            corpus, n_rows, cells, pairs, rows, values, left, label_left, own,
            copies, part.totals, corpus.n_known[start:stop],
        )  # fmt: skip

    def _sum(self, gains: Floats) -> Floats:
        """Return the sums of the entries' gains times counts for each row and label."""
        gains *= self.values[self.pairs]
        sums = np.bincount(self.cells, weights=gains, minlength=self.own.size)
        return sums.reshape(self.own.shape).astype(np.float64, copy=False)

    def relevance(self, mu: float) -> Floats:
        """Return A of each row and label, (n_rows, n_labels)."""
        statistics, labels = self.corpus.statistics, self.corpus.labels
        T = self.corpus.totals.sum() - self.copies * self.lengths
        T_k = labels.class_occurrences - self.own * self.lengths[:, None]
        n = statistics.n_documents - self.copies
        n_k = labels.class_documents - self.own
        base = _log_absent(T, mu)
        added = self.left * (mu / np.maximum(T, 1))[self.rows]
        above = added[self.pairs]
        above += self.label_left
        rest = (self.left + 2 * added)[self.pairs]
        rest -= above  # t_j − t_kj + μ g_j
        above /= rest
        gains = np.log(above, out=above)
        gains -= base[self.rows][self.pairs]
        default = base[:, None] - np.log(T_k + mu) + np.log(T[:, None] - T_k + mu)
        prior = np.log(n_k + HALF) - np.log(n[:, None] - n_k + HALF)
        return np.asarray(self._sum(gains) + self.known[:, None] * default + prior)

    def contrast(self, alpha: float) -> Floats:
        """Return B of each row and label, (n_rows, n_labels)."""
        labels = self.corpus.labels
        T_k = labels.class_occurrences - self.own * self.lengths[:, None]
        n_k = labels.class_documents - self.own
        maximum = int(self.label_left.max(initial=0))
        if maximum < TABLE_SIZE:  # a table of logarithms is faster
            gains = np.log(np.arange(maximum + 1) / alpha + 1.0)[self.label_left]
        else:
            gains = np.log(self.label_left / alpha + 1.0)
        default = np.log(alpha) - np.log(T_k + alpha * labels.n_features)
        return contrast_labels(self._sum(gains) + self.known[:, None] * default + np.log(n_k + HALF))
