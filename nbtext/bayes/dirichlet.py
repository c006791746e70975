"""Multinomial Naive Bayes with Dirichlet smoothing: each class is smoothed towards the whole
corpus.

A class with few documents lacks most of the words of its next documents. Additive smoothing gives
all of these the same probability. Here, each has the share that it has in the corpus, so that a
frequent word says little about the classes that happen to lack it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtext.arrays import Array, Floats
from nbtext.bayes import multinomial
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.complement import distinct_pairs, score_pairs, split_pairs
from nbtext.bayes.event_model import EventModel, LeftOut
from nbtext.bayes.scorer import LinearScorer
from nbtext.features.csr import entries_of
from nbtext.numerics import log, log1p

ROUNDED = 1e-12  # share of a sum of weights below which a difference from it is a rounding error


def compile_dirichlet(statistics: ClassStatistics, *, smoothing: float) -> LinearScorer:
    """Weigh each feature by log P(feature | class) = log((t_kj + μ t_j / T) / (T_k + μ)), with μ =
    α T / K.

    The μ pseudo-tokens are α times the tokens of a class on average, distributed as in the corpus.
    So a feature gets α times its mean occurrences in a class. A feature that no document has gets
    as much as one that occurs once.

    Parameters
    ----------
    statistics : counts of K classes and V features; t_j = Σ_k t_kj, T = Σ_j t_j
    smoothing : α >= 0; 0 is maximum likelihood, clipped

    Returns
    -------
    The scorer of log P(document | class), without the prior and the multinomial coefficient.

    Source: Zhai, Lafferty, A Study of Smoothing Methods for Language Models Applied to Information
    Retrieval, 2004, section 3 (Bayesian smoothing using Dirichlet priors).
    """
    if smoothing == 0:
        return multinomial.compile_multinomial(statistics, smoothing=0)
    everywhere = statistics.feature_occurrences
    share = smoothing / statistics.n_classes
    counted = _count_once(everywhere)
    pseudo = np.repeat(share * counted, np.diff(statistics.indptr))
    default = log(share) - log(statistics.class_occurrences + share * _count_once(everywhere.sum()))
    return LinearScorer(
        np.zeros(len(default)),
        default,
        statistics.indptr,
        statistics.classes,
        log1p(statistics.occurrences / pseudo),
        log(counted),
        np.ones(len(default)),
    )


def leave_out_dirichlet(
    statistics: ClassStatistics, left_out: LeftOut, *, smoothings: Sequence[float]
) -> Floats:
    """Return leave-one-out scores for several smoothings, or for 0 alone, (n_smoothings, n,
    n_classes). The own classes lose the document, and so do the totals, which all classes use.
    """
    if smoothings[0] == 0:
        return multinomial.leave_out_multinomial(statistics, left_out, smoothings=[0])
    shares = [smoothing / statistics.n_classes for smoothing in smoothings]

    def score(rows: LeftOut) -> Floats:
        parts = split_pairs(rows, np.diff(statistics.indptr))
        return np.concatenate([_score_part(statistics, part, shares) for part in parts], axis=1)

    return left_out.map(score)


def _score_part(statistics: ClassStatistics, part: LeftOut, shares: Sequence[float]) -> Floats:
    """Return the scores of the part for each share of the occurrences of all classes, (n_shares, n,
    n_classes).
    """
    documents = part.documents
    pairs = part.pairs
    everywhere = statistics.feature_occurrences
    columns, features, gone = distinct_pairs(part)
    met = entries_of(statistics.indptr, features)
    occurrences = statistics.occurrences[met[1]]
    counted = _count_once(everywhere[features], gone)
    widths = np.diff(met[0])
    own = (
        statistics.occurrences[statistics.locate(pairs)]
        - part.copies[pairs.entry_documents] * pairs.counts
    )
    of_own = _count_once(
        everywhere[pairs.indices], part.all_copies[part.rows][pairs.entry_documents] * pairs.counts
    )
    scores = np.empty((len(shares), len(part), statistics.n_classes))
    for number, share in enumerate(shares):
        found = score_pairs(
            statistics,
            met,
            log(share * counted),
            log1p(occurrences / np.repeat(share * counted, widths)),
            documents.indptr,
            columns,
            documents.counts,
        )
        found[part.rows, part.classes] = pairs.sum_entries(
            pairs.counts * log(np.maximum(own, 0) + share * of_own)
        )
        scores[number] = found - documents.totals[:, None] * _log_totals(statistics, part, share)
    return scores


def weigh_unseen_dirichlet(
    statistics: ClassStatistics, left_out: LeftOut, *, smoothing: float
) -> Floats:
    """Return the weight of a feature that no remaining document has, shape (n, n_classes)."""
    if smoothing == 0:
        return multinomial.weigh_unseen_multinomial(statistics, left_out, smoothing=0)
    share = smoothing / statistics.n_classes
    return log(share) - _log_totals(statistics, left_out, share)


def _log_totals(statistics: ClassStatistics, left_out: LeftOut, share: float) -> Floats:
    """Return log(T_k + share · T) without each document, (n, n_classes)."""
    totals = left_out.documents.totals
    tokens = statistics.class_occurrences.astype(np.float64)
    everywhere = _count_once(tokens.sum(), left_out.all_copies * totals)
    return log(np.maximum(left_out.subtract(tokens, totals), 0) + share * everywhere[:, None])


def _count_once(occurrences: Any, gone: Array | float = 0.0) -> Floats:
    """Return the occurrences that remain of features, or of all; 1 where none remains."""
    left = np.asarray(occurrences - gone, np.float64)
    return np.where(left > ROUNDED * occurrences, left, 1.0)


DIRICHLET = EventModel(
    compile=compile_dirichlet,
    leave_one_out=leave_out_dirichlet,
    out_of_vocabulary=weigh_unseen_dirichlet,
    generate=multinomial.draw_tokens,
    has_length=True,
    has_pseudo_counts=False,  # not as many as with additive smoothing of the same value
)
