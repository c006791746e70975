"""Multinomial Naive Bayes: a class writes a document word by word, each drawn from the class's bag with replacement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbtext.bayes import plain
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.probability import log_share
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.kernel import choose_version

left_out_gains = choose_version(plain.left_out_gains, "nbtext.bayes._statistics")

MOST_TABLED = 4096  # sightings whose logarithms are looked up


def multinomial(statistics: ClassStatistics, *, smoothing: float) -> LinearScorer:
    """Weigh each feature by how often a class uses it.

    The weight is log P(feature | class) = log((t_kj + α) / (Σ_j t_kj + αV)): the share of the class's tokens that
    are this feature, after `smoothing` imaginary sightings of every feature, so that none has probability zero.

    statistics  counts of K classes and V features
    smoothing   α >= 0; 0 is maximum likelihood, clipped
    returns     the scorer of log P(document | class), without the prior and the multinomial coefficient
    source      Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 13.2
    """
    totals = statistics.class_occurrences + smoothing * statistics.n_features
    default = log_share(np.zeros(statistics.n_classes), totals, smoothing)
    seen = log_share(statistics.occurrences, totals, smoothing, of=statistics.classes)
    return LinearScorer(
        np.zeros(statistics.n_classes),
        default,
        statistics.indptr,
        statistics.classes,
        seen - default[statistics.classes],
    )


def multinomial_left_out(
    statistics: ClassStatistics, sample: DocumentCounts, scores: Floats, *, smoothing: float
) -> Floats:
    """The scores of documents under the model of all documents but themselves.

    Only a document's own class has learned from it: there its counts leave the numerators, its length the
    denominator.

    statistics  of the whole corpus, the sample's documents included
    scores      (n_documents, n_classes), what the scorer of `statistics` says
    returns     the same with each document's own class scored anew
    """
    totals = statistics.class_occurrences[sample.classes] - sample.totals + smoothing * statistics.n_features
    others = statistics.occurrences[statistics.locate(sample)] - sample.counts
    logs = log_share(others, totals, smoothing, of=sample.entry_documents)
    left_out = scores.copy()
    left_out[np.arange(len(sample)), sample.classes] = sample.sum_entries(sample.counts * logs)
    return left_out


def multinomial_unseen(statistics: ClassStatistics, sample: DocumentCounts, *, smoothing: float) -> Floats:
    """The weight that a feature has for a document under the model of all others, none of which holds it.

    returns  (n_documents, n_classes)
    """
    totals = np.tile(statistics.class_occurrences + smoothing * statistics.n_features, (len(sample), 1))
    totals[np.arange(len(sample)), sample.classes] -= sample.totals
    return log_share(np.zeros(1), totals, smoothing)


def multinomial_counts_left_out(
    statistics: ClassStatistics, sample: DocumentCounts, *, smoothings: Sequence[float]
) -> Floats:
    """What `multinomial_left_out` gives for whole counts, for several smoothings > 0 at once, and without a scorer.

    A score is Σ_j c_j · log((t_kj + α) / (T_k + αV)) = Σ_j c_j · log(1 + t_kj / α) − L · log((T_k + αV) / α), where
    only features that the class has used count in the first sum.

    returns  (n_smoothings, n_documents, n_classes)
    """
    alphas = np.array(smoothings, dtype=np.float64)
    sightings = np.arange(min(MOST_TABLED, int(statistics.occurrences.max(initial=0)) + 1), dtype=np.float64)
    table = np.log(sightings[:, None] + alphas) - np.log(alphas)
    gains = left_out_gains(
        (sample.indptr, sample.indices, sample.counts),
        sample.classes,
        statistics.entries,
        statistics.n_classes,
        alphas,
        np.log(alphas),
        table,
    )
    lengths = sample.totals
    totals = np.repeat(statistics.class_occurrences[None, :].astype(np.float64), len(sample), axis=0)
    totals[np.arange(len(sample)), sample.classes] -= lengths
    nothing = lengths[:, None, None] * np.log(totals[:, :, None] / alphas + statistics.n_features)
    return np.asarray(np.moveaxis(gains - nothing, 2, 0))
