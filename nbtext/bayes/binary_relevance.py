"""Multi-label Naive Bayes: two scores of each document and label.

Relevance. Label k against the rest, both multinomial, discounted, and smoothed towards the corpus:

    A_k = π_k + Σ_j x_j log(θ_kj / φ_kj),  π_k = log((n_k + ½) / (n − n_k + ½))
    θ_kj = (t'_kj + μ_k g_j) / (T_k + μ_k),  φ_kj = (t_j − t'_kj + μ_k g_j) / (T − T_k + μ_k)
    t'_kj = max(t_kj − 0.8, 0),  μ_k = μ + min(T_k, 20 μ)

where x_j is the count of feature j in the document, t_kj its occurrences in the documents with
label k, T_k = Σ_j t_kj, n_k the number of these documents; t_j, T and n are the same for all
documents, each counted once; g_j = t_j / T.

The discount lowers the weight of features that occur once in a label. Most of these are unrelated
to the label, above all in short texts with many labels. μ_k has two parts. The pseudo-tokens μ
weigh most in rare labels (Dirichlet smoothing). T_k gives the corpus about half of the weight in a
label (Jelinek-Mercer smoothing), because many frequent features of a large label are unrelated to
it, too. The second part is at most 20 μ, so that a small μ smooths every label little. This is best
if a few words identify each label.

A feature that label k does not have adds log(μ_k / (T + μ_k)) + log((T − T_k + μ_k) / (T_k + μ_k)),
which is the same for all such features. So the weights are sparse: one number for each feature that
a label has.

Contrast. The log-likelihood of label k against the mean likelihood of the K − 1 other labels, in an
ordinary multinomial model with additive smoothing α:

    S_k = Σ_j x_j log((t_kj + α) / (T_k + αV)),  B_k = S_k − log(Σ_{l ≠ k} exp(S_l) / (K − 1))

with V features and K labels.

Without tokens, A_k is the prior π_k, and B_k is 0. One scorer holds both: A_k is its score k, S_k
its score K + k.

Leave-one-out scores are exact: those of each document under the model of all others, in one pass. A
document is subtracted from the counts of each of its labels, and once from the counts of all
documents. So the complement of its own labels does not change, and the complement of each other
label loses it. Identical documents ("contents") are left out together. Their sums of logarithms are
logarithms of products, which are faster.

Sources: Zhai and Lafferty, A Study of Smoothing Methods for Language Models Applied to Information
Retrieval, 2004 (discount, Dirichlet and Jelinek-Mercer smoothing); the same authors, Two-Stage
Language Models for Information Retrieval, 2002 (both smoothings combined); McCallum and Nigam, A
Comparison of Event Models for Naive Bayes Text Classification, 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Limits
from nbtext.bayes import plain
from nbtext.bayes.class_statistics import ClassStatistics, LabelSets
from nbtext.bayes.diagnostics import MAX_SCORE_WEIGHT
from nbtext.bayes.event_model import LeftOut
from nbtext.bayes.leave_one_out import LeftOutDocuments
from nbtext.bayes.multinomial import compile_multinomial
from nbtext.bayes.scorer import LinearScorer
from nbtext.errors import ModelError
from nbtext.features.csr import running_sums
from nbtext.features.document_table import DocumentTable
from nbtext.kernel import HAS_KERNEL, choose_version
from nbtext.numerics import exp, log, log1p
from nbtext.records import LazyProperty, frozen_object

# document that is added to those of a label, and of the rest, so that no prior is 0
HALF_DOCUMENT = 0.5
NO_CONTRAST = 0.0  # the score B if there is only one label
MAX_FACTOR = 20.0  # T_k adds at most this multiple of μ to μ_k
DISCOUNT = 0.8  # subtracted from the occurrences of each feature of a label
SCORE_WEIGHT = Limits(1e-20, MAX_SCORE_WEIGHT)


class Smoothing(NamedTuple):
    """The smoothing of both scores.

    mu     μ: each label and its complement get μ + min(T_k, 20 μ) pseudo-tokens, distributed as in
           the corpus
    alpha  α, the pseudo-count of each feature in each label; None: the score B is not used
    """

    mu: Annotated[float, SCORE_WEIGHT]
    alpha: Annotated[float | None, SCORE_WEIGHT]


class RelevanceScores(NamedTuple):
    """The scores of some documents, each (n_documents, n_labels).

    relevance  A
    contrast   B; None: it is not used
    priors     π, (n_labels,) or (n_documents, n_labels)
    """

    relevance: Floats
    contrast: Floats | None
    priors: Floats


def compile_relevance(statistics: ClassStatistics, smoothing: Smoothing) -> LinearScorer:
    """Return the scorer of A, and if α is given of S; see the module."""
    mu = smoothing.mu
    indptr = statistics.indptr
    own = statistics.classes
    totals = statistics.feature_occurrences.astype(np.float64)
    T = totals.sum()
    T_k = statistics.class_occurrences
    of_entries = np.repeat(totals, np.diff(indptr))
    mu_k = pseudo_tokens(T_k, mu)
    added = of_entries * (mu_k / max(T, 1.0))[own]
    discounted = discount(statistics.occurrences)
    gains = log((discounted + added) / (of_entries - discounted + added))
    gains += log((T + mu_k) / mu_k)[own]
    bias = prior_log_odds(statistics.class_documents, statistics.n_documents)
    default = log_absent(T, T_k, mu)
    if smoothing.alpha is None:
        return LinearScorer(bias, default, indptr, own, gains)
    contrasts = compile_multinomial(statistics, smoothing=smoothing.alpha)
    features = statistics.entry_features
    # the entries of A of a feature precede those of S
    order = np.argsort(np.concatenate((2 * features, 2 * features + 1)), kind="stable")
    classes = np.concatenate((own, own + np.int32(statistics.n_classes)))[order]
    deltas = np.concatenate((gains, contrasts.deltas))[order]
    bias = np.concatenate((bias, contrasts.bias))
    default = np.concatenate((default, contrasts.default))
    return LinearScorer(bias, default, 2 * indptr, classes, deltas)


def first_score(scorer: LinearScorer, n_labels: int) -> LinearScorer:
    """Return the scorer of A only."""
    is_first = scorer.classes < n_labels
    indptr = running_sums(is_first)[scorer.indptr]
    classes = scorer.classes[is_first]
    deltas = scorer.deltas[is_first]
    return LinearScorer(
        scorer.bias[:n_labels], scorer.default[:n_labels], indptr, classes, deltas, rows=scorer.rows
    )


def discount(occurrences: Array) -> Floats:
    """Return t' of each occurrences t; see the module."""
    return np.maximum(occurrences - DISCOUNT, 0.0)


def pseudo_tokens(T_k: Any, mu: float) -> Any:
    """Return μ_k; see the module."""
    return mu + np.minimum(T_k, MAX_FACTOR * mu)


def log_absent(T: Any, T_k: Any, mu: float) -> Any:
    """Return the weight of a feature that a label does not have."""
    mu_k = pseudo_tokens(T_k, mu)
    return log(mu_k * (T - T_k + mu_k) / ((T + mu_k) * (T_k + mu_k)))


def prior_log_odds(n_k: Any, n: Any) -> Any:
    """Return the log-odds π that a document has a label that n_k of n documents have."""
    return log(n_k + HALF_DOCUMENT) - log(n - n_k + HALF_DOCUMENT)


def split_scores(scores: Floats, priors: Floats) -> RelevanceScores:
    """Return the scores of documents from those of the scorer, (n_documents, n_labels or twice as
    many).

    priors  (n_labels,), π
    """
    n_labels = len(priors)
    if scores.shape[1] == n_labels:
        return RelevanceScores(scores, None, priors)
    return RelevanceScores(scores[:, :n_labels], contrast_labels(scores[:, n_labels:]), priors)


def contrast_labels(scores: Floats) -> Floats:
    """Return B, the log-odds of each label against the mean of all others, (n_documents, n_labels),
    from S.
    """
    n, n_labels = scores.shape
    if n_labels < 2 or n == 0:
        return np.full(scores.shape, NO_CONTRAST)
    rows = np.arange(n)
    best = scores.argmax(axis=1)
    differences = scores - scores[rows, best][:, None]
    others = differences.copy()
    others[rows, best] = -np.inf
    second = others.max(axis=1)
    shares = exp(others - second[:, None])  # of all labels but the best one
    sums = shares.sum(axis=1)
    # of all labels but one, beside the best one, whose difference is 0
    differences -= log(1 + exp(second)[:, None] * (sums[:, None] - shares))
    differences[rows, best] = -second - log(sums)
    return np.asarray(differences + log(n_labels - 1))


left_out_products = choose_version(plain.left_out_products)

# documents times labels that are scored at once; the plain version takes more memory for each
CELLS_SCORED_AT_ONCE = 1 << (16 if HAS_KERNEL else 12)
MAX_EXPONENT = 500.0  # exponent of 2 that a product may gain before it is divided


@frozen_object
class LabelCounts:
    """What the scores of left-out documents need of the whole corpus.

    statistics  of the corpus
    discounted  the discounted occurrences of each entry of the statistics, t'_kj
    """

    statistics: ClassStatistics
    discounted: Floats

    @classmethod
    def of(cls, statistics: ClassStatistics) -> LabelCounts:
        """Return the counts of statistics."""
        return cls(statistics, discount(statistics.occurrences))

    def contrast_scorer(self, alpha: float) -> LinearScorer:
        """Return the scorer of S, with nothing left out."""
        statistics = self.statistics
        default = log(alpha / (statistics.class_occurrences + alpha * statistics.n_features))
        return LinearScorer(
            np.zeros(len(default)),
            default,
            statistics.indptr,
            statistics.classes,
            log(statistics.occurrences / alpha + 1),
        )


@frozen_object
class RelevanceLeaveOneOut(LeftOutDocuments):
    """The retained documents of a corpus, for exact leave-one-out scores. Identical documents are
    left out together.

    counts      of the whole corpus
    documents   some of its documents; the class of a document is the index of its set in `sets`
    sets        the label sets of the documents
    n_hapax     (n_documents,), tokens of each document whose features no other document has: they
                are out of vocabulary. None: the vocabulary does not depend on the documents
    start       the number of its first content, if it is a block of these documents
    """

    counts: LabelCounts
    documents: DocumentTable
    sets: LabelSets
    n_hapax: Array | None
    start: int = 0

    def drop_last_content(self) -> RelevanceLeaveOneOut:
        """Return a sample without its last group of duplicates, which may be incomplete."""
        hashes = self.documents.hashes
        return self.slice(0, int(np.searchsorted(hashes, hashes[-1]))) if len(hashes) else self

    @property
    def statistics(self) -> ClassStatistics:  # type: ignore[override]
        return self.counts.statistics

    @LazyProperty
    def examples(self) -> Integers:
        """The first document of each content, (n_contents,)."""
        return np.unique(self.contents, return_index=True)[1]

    @LazyProperty
    def left_out(self) -> LeftOut:
        """What is left out with each content."""
        examples = self.examples
        is_each_alone = len(examples) == len(self.documents)
        documents = self.documents if is_each_alone else self.documents.take(examples)
        sets = self.sets.take(self.documents.classes)
        return self.leave_out(documents, self.contents[examples], (sets.entry_sets, sets.classes))

    @property
    def blocks(self) -> Iterator[RelevanceLeaveOneOut]:
        """Parts whose scores fit into memory, one after the other."""
        size = max(1, CELLS_SCORED_AT_ONCE // self.statistics.n_classes)
        start = 0
        for block in self.split(size):
            yield replace(block, start=start)
            start += int(block.contents[-1]) + 1

    @LazyProperty
    def n_known(self) -> Floats:
        """The sum of the counts of each content, without features that no other document has."""
        counts = self.left_out.documents.totals
        if self.n_hapax is None:
            return counts
        return counts - self.left_out.count_unseen(self.statistics.document_frequencies)

    @LazyProperty
    def lengths(self) -> Floats:
        """The tokens of each content, without features that no other document has."""
        lengths = self.left_out.documents.lengths
        return lengths if self.n_hapax is None else lengths - self.n_hapax[self.examples]

    def scores_of(self, smoothing: Smoothing) -> Callable[[RelevanceLeaveOneOut], RelevanceScores]:
        """Return the function that scores a block of this corpus."""
        alpha = smoothing.alpha
        scorer = None if alpha is None else self.counts.contrast_scorer(alpha)

        def score(block: RelevanceLeaveOneOut) -> RelevanceScores:
            priors = block.priors
            contrast = None if scorer is None or alpha is None else block.contrast(scorer, alpha)
            return RelevanceScores(block.ratios(smoothing.mu) + priors, contrast, priors)

        return score

    @LazyProperty
    def own(self) -> tuple[Integers, Floats]:
        """The place of each entry of the pairs among those of the statistics, and its t without the
        copies.
        """
        pairs = self.left_out.pairs
        places = self.statistics.locate(pairs)
        left = (
            self.statistics.occurrences[places]
            - self.left_out.copies[pairs.entry_documents] * pairs.counts
        )
        return places, _check_counted(left)

    @LazyProperty
    def positives(self) -> Floats:
        """The number of documents of each content that have each label, (n_rows, n_labels)."""
        return -self._subtract(np.zeros(self.statistics.n_classes), np.ones(len(self.left_out)))

    @LazyProperty
    def priors(self) -> Floats:
        """π of each content and label, (n_rows, n_labels)."""
        n = self.statistics.n_documents - self.left_out.all_copies.astype(np.float64)
        n_k = self._subtract(self.statistics.class_documents, np.ones(len(n)))
        return np.asarray(prior_log_odds(n_k, n[:, None]))

    def ratios(self, mu: float) -> Floats:
        """Return A − π of each content and label, (n_rows, n_labels)."""
        left_out = self.left_out
        places, own = self.own
        left = self._left
        part = left_out.documents
        T = self.statistics.feature_occurrences.sum() - left_out.all_copies * part.totals
        tokens = self.statistics.class_occurrences
        T_k = self._subtract(tokens, part.totals)
        shares = left / np.repeat(np.maximum(T, 1), np.diff(part.indptr))
        # a factor is at most (1 + T / μ)²
        limits = np.maximum(MAX_EXPONENT * log(2) / (2 * log1p(T / mu) + 1e-9), 1).astype(np.int64)
        products, exponents = left_out_products(
            (part.indptr, part.indices, part.counts),
            (
                left_out.indptr,
                places,
                discount(own),
                pseudo_tokens(T_k[left_out.rows, left_out.classes], mu),
            ),
            (self.statistics.indptr, self.statistics.classes, self.counts.discounted),
            pseudo_tokens(tokens, mu),
            (left, shares),
            T,
            limits,
        )
        mantissas, shifts = np.frexp(products)
        scores = log(mantissas) + (exponents + shifts) * log(2)
        scores += self.n_known[:, None] * log_absent(T[:, None], T_k, mu)
        return np.asarray(scores)

    def contrast(self, scorer: LinearScorer, alpha: float) -> Floats:
        """Return B of each content and label, (n_rows, n_labels).

        scorer  of S, with nothing left out
        """
        left_out = self.left_out
        _, left = self.own
        part = left_out.documents
        pairs = left_out.pairs
        scores = scorer.scores(part.indptr, part.indices, part.counts)
        scores -= (part.totals - self.n_known)[:, None] * scorer.default
        tokens = self.statistics.class_occurrences[left_out.classes]
        totals = tokens - left_out.copies * pairs.totals
        default = log(alpha / (totals + alpha * self.statistics.n_features))
        logs = pairs.sum_entries(pairs.counts * log(left / alpha + 1))
        rows = left_out.rows
        scores[rows, left_out.classes] = logs + self.n_known[rows] * default
        return contrast_labels(scores)

    @LazyProperty
    def _left(self) -> Floats:
        """t_j of each entry without all copies of the document."""
        part = self.left_out.documents
        return _check_counted(
            self.statistics.feature_occurrences[part.indices]
            - self.left_out.all_copies[part.entry_documents] * part.counts
        )

    def _subtract(self, values: Array, lengths: Floats) -> Array:
        """Return a value of each label without that of the documents that have it; see
        LeftOut.subtract.
        """
        return self.left_out.subtract(values.astype(np.float64), lengths)


def _check_counted(left: Array) -> Floats:
    """Return counts without those of documents; ModelError if one is negative."""
    if left.min(initial=0) < 0:
        raise ModelError(
            "the model file is not consistent: its counts lack a retained document",
            hint="train again",
        )
    return left.astype(np.float64)
