"""Complement Naive Bayes: a feature is evidence for a class if it is rare in all other classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_model import EventModel, LeftOut
from nbtext.bayes.multinomial import leave_out_counts
from nbtext.bayes.scorer import CLIP, LinearScorer
from nbtext.features.csr import entries_of
from nbtext.numerics import log

# pairs of a document's feature and a class that are scored together, so that memory is bounded
PAIRS_SCORED_AT_ONCE = 1 << 18
FEATURES_WEIGHED_AT_ONCE = 1 << 16  # features whose entries are weighed at once
NEGLIGIBLE_WEIGHT = 1e-6  # of the sum of V weights, which is at least V log V


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
    base, deltas = _log_counts(
        statistics.indptr, statistics.occurrences, statistics.feature_occurrences, smoothing
    )
    default = log(np.maximum(_complement_totals(statistics, smoothing), CLIP))
    scale = np.ones(statistics.n_classes)
    if normalize_weights:
        scale = _inverse(
            statistics.n_features * default - (base.sum() + statistics.class_sums(deltas))
        )
        deltas *= scale[statistics.classes]
    base = np.negative(base, out=base)
    deltas = np.negative(deltas, out=deltas)
    return LinearScorer(
        np.zeros(len(scale)),
        scale * default,
        statistics.indptr,
        statistics.classes,
        deltas,
        base,
        scale,
    )


def leave_out_complement(
    statistics: ClassStatistics,
    left_out: LeftOut,
    *,
    smoothings: Sequence[float],
    normalize_weights: bool = False,
) -> Floats:
    """Return leave-one-out scores for several smoothings, (n_smoothings, n, n_classes). The
    complement of each class loses the copies in the other classes.
    """
    if min(smoothings) > 0 and not normalize_weights and left_out.is_whole(statistics):
        return leave_out_counts(statistics, left_out, smoothings=smoothings, of_rest=True)

    def score(part: LeftOut, smoothing: float) -> Floats:
        documents = part.documents
        log_totals = _log_totals(statistics, part, smoothing)
        sums = _sum_logs(statistics, part, documents.counts, smoothing)
        scores = documents.totals[:, None] * log_totals - sums
        if normalize_weights:
            scores *= _left_out_scales(statistics, part, log_totals, smoothing)
        return scores

    return np.stack([left_out.map(partial(score, smoothing=each)) for each in smoothings])


def _sum_logs(
    statistics: ClassStatistics, left_out: LeftOut, values: Array, smoothing: float
) -> Floats:
    """Return Σ_j v_j · log(remaining count of j in each class's complement), (n, n_classes).

    values  v of each entry of the documents
    """
    everywhere = statistics.feature_occurrences
    sums = []
    for part in split_pairs(left_out, np.diff(statistics.indptr)):
        own = values[: len(part.documents.indices)]
        values = values[len(own) :]
        columns, features, gone = distinct_pairs(part)
        met = entries_of(statistics.indptr, features)
        base, deltas = _log_counts(
            met[0], statistics.occurrences[met[1]], everywhere[features] - gone, smoothing
        )
        found = score_pairs(statistics, met, base, deltas, part.documents.indptr, columns, own)
        # the complement of an own class loses only the copies in other classes
        pairs = part.pairs
        counts = everywhere[pairs.indices] - statistics.occurrences[statistics.locate(pairs)]
        others = part.all_copies[part.rows] - part.copies
        logs = _log_count(counts - others[pairs.entry_documents] * pairs.counts, smoothing)
        _, entries = entries_of(part.documents.indptr, part.rows)
        found[part.rows, part.classes] = pairs.sum_entries(own[entries] * logs)
        sums.append(found)
    return np.concatenate(sums)


def _left_out_scales(
    statistics: ClassStatistics, left_out: LeftOut, log_totals: Floats, smoothing: float
) -> Floats:
    """Return what normalizes the weights of each class without each document, (n, n_classes).

    log_totals  (n, n_classes), logarithms of the tokens that remain in each complement
    """
    base, deltas = _log_counts(
        statistics.indptr, statistics.occurrences, statistics.feature_occurrences, smoothing
    )
    log_sums = base.sum() + statistics.class_sums(deltas)
    ones = np.ones(len(left_out.documents.indices))
    nothing = replace(
        left_out,
        all_copies=np.zeros_like(left_out.all_copies),
        copies=np.zeros_like(left_out.copies),
    )
    before = _sum_logs(statistics, nothing, ones, smoothing)
    after = _sum_logs(statistics, left_out, ones, smoothing)
    return _inverse(statistics.n_features * log_totals - log_sums + before - after)


def distinct_pairs(part: LeftOut) -> tuple[Integers32, Integers, Array]:
    """Return the distinct pairs of a feature and its left-out count; most words occur once, so
    there are few.

    returns  the pair of each entry; the feature of each pair; its count
    """
    documents = part.documents
    gone = documents.counts * part.all_copies[documents.entry_documents]
    if gone.dtype.kind == "f" or gone.max(initial=0) > 0x7FFFFFFF:  # weights are rarely equal
        return (
            np.arange(len(documents.indices), dtype=np.int32),
            documents.indices.astype(np.int64),
            gone,
        )
    pairs, columns = np.unique(documents.indices.astype(np.int64) << 32 | gone, return_inverse=True)
    return columns.astype(np.int32), pairs >> 32, pairs & 0xFFFFFFFF


def score_pairs(
    statistics: ClassStatistics,
    met: tuple[Integers, Integers],
    base: Floats,
    deltas: Floats,
    *rows: Array,
) -> Floats:
    """Return the sums of values · (base + delta) over the features of each document, shape (n,
    n_classes).

    met  where the entries of each feature of the rows begin, and their places in the statistics
    """
    zeros = np.zeros(statistics.n_classes)
    indptr, entries = met
    classes = statistics.classes[entries]
    return LinearScorer(zeros, zeros, indptr, classes, deltas, base, zeros + 1).scores(*rows)


def split_pairs(left_out: LeftOut, widths: Integers) -> list[LeftOut]:
    """Return parts that need about PAIRS_SCORED_AT_ONCE pairs of a feature and a class each."""
    n_pairs = left_out.documents.sum_entries(widths[left_out.documents.indices].astype(np.float64))
    _, starts = np.unique((np.cumsum(n_pairs) - n_pairs) // PAIRS_SCORED_AT_ONCE, return_index=True)
    return [
        left_out.slice(start, stop)
        for start, stop in pairwise([*(starts.tolist() or [0]), len(left_out)])
    ]


def _log_counts(
    indptr: Integers, occurrences: Array, everywhere: Array, smoothing: float
) -> tuple[Floats, Floats]:
    """Return log(count + α) of each feature in all classes, and the change for each entry if its
    class is left out.

    indptr, occurrences  the entries of each feature, and its count in each class
    everywhere           (V,), the count of each feature in all classes
    """
    base = _log_count(everywhere, smoothing)
    deltas = np.empty(len(occurrences))
    for start in range(0, len(everywhere), FEATURES_WEIGHED_AT_ONCE):
        bounds = indptr[start : start + FEATURES_WEIGHED_AT_ONCE + 1]
        features = slice(start, start + FEATURES_WEIGHED_AT_ONCE)
        widths = np.diff(bounds)
        entries = slice(bounds[0], bounds[-1])
        others = np.repeat(everywhere[features], widths) - occurrences[entries]
        deltas[entries] = _log_count(others, smoothing) - np.repeat(base[features], widths)
    return base, deltas


def weigh_unseen_complement(
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
    return weights


def _log_totals(statistics: ClassStatistics, left_out: LeftOut, smoothing: float) -> Floats:
    """Return the logarithms of the tokens that remain in each complement, (n, n_classes)."""
    totals = _complement_totals(statistics, smoothing)
    remaining = left_out.subtract(totals, left_out.documents.totals, from_rest=True)
    return log(np.maximum(remaining, CLIP))


def _complement_totals(statistics: ClassStatistics, smoothing: float) -> Floats:
    tokens = statistics.class_occurrences
    return np.asarray(tokens.sum() - tokens + smoothing * statistics.n_features, np.float64)


def _log_count(counts: Floats, smoothing: float) -> Floats:
    """Return log(counts + smoothing), with the count CLIP if both are 0."""
    return log(np.maximum(counts + smoothing, smoothing or CLIP))


def _inverse(sums: Floats) -> Floats:
    """Return 1 / sums, and 1 for a sum that is 0 up to rounding, as with one feature that all
    classes use alike.
    """
    return np.divide(1.0, sums, out=np.ones_like(sums), where=np.abs(sums) > NEGLIGIBLE_WEIGHT)


COMPLEMENT = EventModel(
    compile=compile_complement,
    leave_one_out=leave_out_complement,
    out_of_vocabulary=weigh_unseen_complement,
    prior="uniform",
    scores="nats",
    sklearn="ComplementNB",
    options=("smoothing", "prior", "normalize_weights"),
    normalized=EventModel(
        compile=partial(compile_complement, normalize_weights=True),
        leave_one_out=partial(leave_out_complement, normalize_weights=True),
        out_of_vocabulary=partial(weigh_unseen_complement, normalize_weights=True),
        prior="uniform",
        scores="numbers",
    ),
)
