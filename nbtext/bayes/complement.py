"""Complement Naive Bayes: a feature is evidence for a class if it is rare in all other classes."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_model import EventModel, LeftOut, SklearnClass
from nbtext.bayes.multinomial import leave_out_counts
from nbtext.bayes.scorer import CLIP, Floats, LinearScorer
from nbtext.features.document_counts import DocumentCounts

# pairs of a document's feature and a class that are scored together, so that memory is bounded
BLOCK = 1 << 18
AT_ONCE = 1 << 16  # features whose entries are weighed at once
NEGLIGIBLE = 1e-6  # of the sum of V weights, which is at least V log V


def compile_complement(
    statistics: ClassStatistics, *, smoothing: float, normalize_weights: bool = False
) -> LinearScorer:
    """Weigh each feature by −log θ, with θ its smoothed share of the tokens of all other classes.

    Parameters
    ----------
    statistics : counts of K classes and V features
    smoothing : pseudo-counts α >= 0; with 0, a feature that no other class has gets the count 1e-14
    normalize_weights : divide each class's weights by their sum, so that long documents do not
    favor a class

    Returns
    -------
    The scorer, without the prior.

    Source: Rennie, Shih, Teevan, Karger, Tackling the Poor Assumptions of Naive Bayes Text
    Classifiers, 2003, sections 3.1 and 3.2.
    """
    base, deltas = _log_counts(statistics, statistics.feature_occurrences, smoothing)
    default = np.log(np.maximum(_complement_totals(statistics, smoothing), CLIP))
    scale = np.ones(statistics.n_classes)
    if normalize_weights:
        scale = _inverse(
            statistics.n_features * default - (base.sum() + statistics.class_sums(deltas))
        )
        deltas *= scale[statistics.classes]
    base = np.negative(base, out=base)
    deltas = np.negative(deltas, out=deltas)
    bias = np.zeros(statistics.n_classes)
    return LinearScorer(
        bias, scale * default, statistics.indptr, statistics.classes, deltas, base, scale
    )


def leave_out(
    statistics: ClassStatistics,
    left_out: LeftOut,
    scores: Floats,
    *,
    smoothing: float,
    normalize_weights: bool = False,
) -> Floats:
    """Return leave-one-out scores. The complement of each class loses the copies in the other
    classes.

    The score of an own class changes only if there are copies in other classes too.
    """
    documents = left_out.documents
    log_totals = _log_totals(statistics, left_out, smoothing)
    sums = [
        _sum_part(statistics, part, smoothing)
        for part in split_pairs(left_out, np.diff(statistics.indptr))
    ]
    result: Floats = documents.totals[:, None] * log_totals - np.concatenate(sums)
    scales = np.ones_like(result)
    if normalize_weights:
        scales = _left_out_scales(statistics, left_out, log_totals, smoothing)
    result *= scales
    own = left_out.rows, left_out.classes
    result[own] = scores[own]
    others = _copies_elsewhere(left_out)
    if others.any():
        chosen = np.flatnonzero(others)
        pairs = left_out.pairs.take(chosen)
        own = (left_out.rows[chosen], left_out.classes[chosen])
        _, after = _count_elsewhere(statistics, pairs, others[chosen])
        weighted = pairs.sum_entries(pairs.counts * _log_count(after, smoothing))
        result[own] = scales[own] * (pairs.totals * log_totals[own] - weighted)
    return result


def _copies_elsewhere(left_out: LeftOut) -> NDArray[np.int64]:
    """Return the copies of each document and class that are in other classes, (n_pairs,)."""
    return np.asarray(left_out.all_copies[left_out.rows] - left_out.copies)


def _count_elsewhere(
    statistics: ClassStatistics, pairs: DocumentCounts, others: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return the count of each entry in the complement of its pair's class, and without `others`
    copies, (n_pairs,).
    """
    before = (
        statistics.feature_occurrences[pairs.indices]
        - statistics.occurrences[statistics.locate(pairs)]
    )
    return before, before - others[pairs.entry_documents] * pairs.counts


def _sum_part(statistics: ClassStatistics, part: LeftOut, smoothing: float) -> Floats:
    """Return Σ_j c_j · log(remaining count of j in each class's complement), (n, n_classes)."""
    documents = part.documents
    columns, features, gone = distinct_pairs(part)
    remaining = statistics.feature_occurrences[features] - gone
    met = statistics.restrict(features)
    base, deltas = _log_counts(met, remaining, smoothing)
    return score_pairs(met, base, deltas, documents.indptr, columns, documents.counts)


def _left_out_scales(
    statistics: ClassStatistics, left_out: LeftOut, log_totals: Floats, smoothing: float
) -> Floats:
    """Return what normalizes the weights of each class without each document, (n, n_classes).

    log_totals  (n, n_classes), logarithms of the tokens that remain in each complement
    """
    base, deltas = _log_counts(statistics, statistics.feature_occurrences, smoothing)
    log_sums = base.sum() + statistics.class_sums(deltas)
    lost = np.concatenate(
        [
            _lose_part(statistics, part, smoothing)
            for part in split_pairs(left_out, np.diff(statistics.indptr))
        ]
    )
    before, after = _count_elsewhere(statistics, left_out.pairs, _copies_elsewhere(left_out))
    of_own = _log_count(before, smoothing) - _log_count(after, smoothing)
    lost[left_out.rows, left_out.classes] = left_out.pairs.sum_entries(of_own)
    return _inverse(statistics.n_features * log_totals - log_sums + lost)


def _lose_part(statistics: ClassStatistics, part: LeftOut, smoothing: float) -> Floats:
    """Return the decrease of Σ_j log(count of j in each class's complement), (n, n_classes); not of
    own classes.
    """
    columns, features, gone = distinct_pairs(part)
    met = statistics.restrict(features)
    everywhere = statistics.feature_occurrences[features]
    base, deltas = _log_counts(met, everywhere - gone, smoothing)
    before, deltas_before = _log_counts(met, everywhere, smoothing)
    ones = np.ones(len(columns))
    return score_pairs(
        met, before - base, deltas_before - deltas, part.documents.indptr, columns, ones
    )


def distinct_pairs(part: LeftOut) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[Any]]:
    """Return the distinct pairs of a feature and its left-out count; most words occur once, so
    there are few.

    returns  the pair of each entry; the feature of each pair; its count
    """
    documents = part.documents
    gone = documents.counts * part.all_copies[documents.entry_documents]
    if not documents.is_counted or gone.max(initial=0) > 0x7FFFFFFF:  # weights are rarely equal
        return (
            np.arange(len(documents.indices), dtype=np.int32),
            documents.indices.astype(np.int64),
            gone,
        )
    pairs, columns = np.unique(documents.indices.astype(np.int64) << 32 | gone, return_inverse=True)
    return columns.astype(np.int32), pairs >> 32, pairs & 0xFFFFFFFF


def score_pairs(met: ClassStatistics, base: Floats, deltas: Floats, *rows: NDArray[Any]) -> Floats:
    """Return the sums of values · (base + delta) over the features of each document, shape (n,
    n_classes).
    """
    zeros = np.zeros(met.n_classes)
    ones = np.ones(met.n_classes)
    return LinearScorer(zeros, zeros, met.indptr, met.classes, deltas, base, ones).scores(*rows)


def split_pairs(left_out: LeftOut, widths: NDArray[np.int64]) -> list[LeftOut]:
    """Return parts that need about BLOCK pairs of a feature and a class each."""
    n_pairs = left_out.documents.sum_entries(widths[left_out.documents.indices].astype(np.float64))
    _, starts = np.unique((np.cumsum(n_pairs) - n_pairs) // BLOCK, return_index=True)
    return [
        left_out.slice(start, stop)
        for start, stop in pairwise([*(starts.tolist() or [0]), len(left_out)])
    ]


def _log_counts(
    statistics: ClassStatistics, everywhere: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """Return log(count + α) of each feature in all classes, and the change for each entry if its
    class is left out.

    everywhere  (V,), the count of each feature in all classes
    """
    base = _log_count(everywhere, smoothing)
    deltas = np.empty(len(statistics.classes))
    for start in range(0, statistics.n_features, AT_ONCE):
        bounds = statistics.indptr[start : start + AT_ONCE + 1]
        features = slice(start, start + AT_ONCE)
        widths = np.diff(bounds)
        entries = slice(bounds[0], bounds[-1])
        others = np.repeat(everywhere[features], widths) - statistics.occurrences[entries]
        deltas[entries] = _log_count(others, smoothing) - np.repeat(base[features], widths)
    return base, deltas


def weigh_unseen(
    statistics: ClassStatistics,
    left_out: LeftOut,
    *,
    smoothing: float,
    normalize_weights: bool = False,
) -> Floats:
    """Return the weight of a feature that no remaining document has, shape (n, n_classes)."""
    log_totals = _log_totals(statistics, left_out, smoothing)
    weights = log_totals - _log_count(np.zeros(1), smoothing)
    if normalize_weights:
        weights *= _left_out_scales(statistics, left_out, log_totals, smoothing)
    return np.asarray(weights)


def _log_totals(statistics: ClassStatistics, left_out: LeftOut, smoothing: float) -> Floats:
    """Return the logarithms of the tokens that remain in each complement, (n, n_classes)."""
    totals = _complement_totals(statistics, smoothing)
    remaining = left_out.subtract(totals, left_out.documents.totals, from_rest=True)
    return np.asarray(np.log(np.maximum(remaining, CLIP)))


def _complement_totals(statistics: ClassStatistics, smoothing: float) -> Floats:
    tokens = statistics.class_occurrences
    return np.asarray(tokens.sum() - tokens + smoothing * statistics.n_features, dtype=np.float64)


def _log_count(counts: Floats, smoothing: float) -> Floats:
    """Return log(counts + smoothing), with the count CLIP if both are 0."""
    return np.log(np.maximum(counts + smoothing, smoothing or CLIP))


def _inverse(sums: Floats) -> Floats:
    """Return 1 / sums, and 1 for a sum that is 0 up to rounding, as with one feature that all
    classes use alike.
    """
    inverse: Floats = np.divide(1.0, sums, out=np.ones_like(sums), where=np.abs(sums) > NEGLIGIBLE)
    return inverse


COMPLEMENT = EventModel(
    compile=compile_complement,
    leave_one_out=leave_out,
    leave_one_out_counts=partial(leave_out_counts, of_rest=True),
    out_of_vocabulary=weigh_unseen,
    prior="uniform",
    is_generative=False,
    sklearn=SklearnClass(name="ComplementNB", has_prior=False),
    options=("smoothing", "prior", "normalize_weights"),
    normalized=EventModel(
        compile=partial(compile_complement, normalize_weights=True),
        leave_one_out=partial(leave_out, normalize_weights=True),
        out_of_vocabulary=partial(weigh_unseen, normalize_weights=True),
        prior="uniform",
        is_generative=False,
        is_in_nats=False,
    ),
)
