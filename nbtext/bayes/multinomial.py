"""Multinomial Naive Bayes: a class draws each token of a document from its distribution over the
vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbtext.arrays import Floats
from nbtext.bayes import plain
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_model import EventModel, FeatureIds, LeftOut, leave_out_own
from nbtext.bayes.scorer import LinearScorer, log_share
from nbtext.kernel import choose_version
from nbtext.numerics import exp, log

left_out_sums = choose_version(plain.left_out_sums)

# counts of a class, or of its rest, whose logarithms are in a table
TABLE_SIZE = 4096
REST_TABLE_SIZE = 1 << 16


def compile_multinomial(statistics: ClassStatistics, *, smoothing: float) -> LinearScorer:
    """Weigh each feature by log P(feature | class) = log((t_kj + α) / (T_k + αV)).

    Parameters
    ----------
    statistics : counts of K classes and V features
    smoothing : pseudo-counts α >= 0 of each feature in each class; 0 is maximum likelihood, clipped

    Returns
    -------
    The scorer of log P(document | class), without the prior and the multinomial coefficient.

    Source: Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 13.2.
    """
    totals = statistics.class_occurrences + smoothing * statistics.n_features
    default = log_share(np.zeros(statistics.n_classes), totals, smoothing)
    deltas = log_share(statistics.occurrences, totals, smoothing, of=statistics.classes)
    deltas -= default[statistics.classes]
    return LinearScorer(
        np.zeros(statistics.n_classes), default, statistics.indptr, statistics.classes, deltas
    )


def leave_out_multinomial(
    statistics: ClassStatistics, left_out: LeftOut, *, smoothings: Sequence[float]
) -> Floats:
    """Return leave-one-out scores, (n_smoothings, n, n_classes)."""
    if min(smoothings) > 0 and left_out.is_whole(statistics):
        return leave_out_counts(statistics, left_out, smoothings=smoothings)
    return leave_out_own(
        statistics, left_out, smoothings=smoothings, compile=compile_multinomial, own=_score_own
    )


def _score_own(statistics: ClassStatistics, left_out: LeftOut, *, smoothing: float) -> Floats:
    """Return the scores of the pairs: the document's counts and length are subtracted."""
    pairs = left_out.pairs
    totals = statistics.class_occurrences[pairs.classes] - left_out.copies * pairs.totals
    gone = left_out.copies[pairs.entry_documents] * pairs.counts
    others = statistics.occurrences[statistics.locate(pairs)] - gone
    logs = log_share(
        others, totals + smoothing * statistics.n_features, smoothing, of=pairs.entry_documents
    )
    return pairs.sum_entries(pairs.counts * logs)


def leave_out_counts(
    statistics: ClassStatistics,
    left_out: LeftOut,
    *,
    smoothings: Sequence[float],
    of_rest: bool = False,
) -> Floats:
    """Return leave-one-out scores for integer counts and several smoothings > 0, without a scorer.

    A score is Σ_j c_j · log((t_kj + α) / (T_k + αV)) = Σ_j c_j · log(1 + t_kj / α) − L · log((T_k +
    αV) / α). The first sum needs only the features that the class has. With `of_rest`, t_kj and T_k
    are those of all other classes, and the score is negated.
    """
    alphas = np.array(smoothings, np.float64)
    everywhere = statistics.feature_occurrences if of_rest else None
    most = (
        statistics.occurrences.max(initial=0) if everywhere is None else everywhere.max(initial=0)
    )
    counts = np.arange(
        min(REST_TABLE_SIZE if of_rest else TABLE_SIZE, int(most) + 1), dtype=np.float64
    )
    logs = alphas, log(alphas), log(counts[:, None] + alphas) - log(alphas)
    tokens = statistics.class_occurrences.astype(np.float64)

    def score(part: LeftOut) -> Floats:
        documents = part.documents
        rows = documents.indptr, documents.indices, documents.counts.astype(np.int32, copy=False)
        own = part.indptr, part.classes, part.copies
        sums = left_out_sums(
            rows, own, part.all_copies, statistics.entries, everywhere, len(tokens), logs
        )
        totals = part.subtract(
            tokens.sum() - tokens if of_rest else tokens, documents.totals, from_rest=of_rest
        )
        sums -= documents.totals[:, None, None] * log(
            np.maximum(totals, 0)[:, :, None] / alphas + statistics.n_features
        )
        return np.moveaxis(-sums if of_rest else sums, 2, 0)

    return left_out.map(score)


def weigh_unseen_multinomial(
    statistics: ClassStatistics, left_out: LeftOut, *, smoothing: float
) -> Floats:
    """Return the weight of a feature that no remaining document has, shape (n, n_classes)."""
    smoothed = statistics.class_occurrences.astype(np.float64) + smoothing * statistics.n_features
    return log_share(np.zeros(1), left_out.subtract(smoothed, left_out.documents.totals), smoothing)


def draw_tokens(weights: Floats, random: np.random.Generator, length: int) -> FeatureIds:
    """Draw `length` tokens with replacement; weights (V,) are log P(feature | class)."""
    running = np.cumsum(exp(weights - weights.max(initial=-np.inf)))
    features = np.searchsorted(running, random.random(length) * running[-1], "right")
    return np.asarray(np.minimum(features, len(weights) - 1), np.int64)


MULTINOMIAL = EventModel(
    compile=compile_multinomial,
    leave_one_out=leave_out_multinomial,
    out_of_vocabulary=weigh_unseen_multinomial,
    generate=draw_tokens,
    has_length=True,
    sklearn="MultinomialNB",
)
