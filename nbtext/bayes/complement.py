"""Complement Naive Bayes: what all other classes do not write."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.probability import CLIP
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.document_counts import DocumentCounts

BLOCK = 1 << 20  # meetings of a document's feature with a class that are looked at together, so that memory is bounded

NEGLIGIBLE = 1e-6  # of V weights' sum, which is V log V at least


def complement(statistics: ClassStatistics, *, smoothing: float, normalize_weights: bool = False) -> LinearScorer:
    """Weigh each feature by how seldom all the other classes use it.

    The weight is −log θ, with θ the smoothed share of the feature among the tokens of all classes but this one.
    With `normalize_weights` the logarithms of a class are divided by their sum, so that classes with long
    documents gain nothing by their length.

    statistics  counts of K classes and V features
    smoothing   α >= 0; at 0, a feature that no other class uses counts as 1e-14 of a sighting
    returns     the scorer, without the prior
    source      Rennie, Shih, Teevan, Karger, Tackling the Poor Assumptions of Naive Bayes Text Classifiers, 2003,
                sections 3.1 and 3.2
    """
    base, deltas = _logs(statistics, statistics.feature_sums(statistics.occurrences), smoothing)
    default = np.log(np.maximum(_complement_totals(statistics, smoothing), CLIP))
    scale = np.ones(statistics.n_classes)
    if normalize_weights:
        scale = _inverse(statistics.n_features * default - (base.sum() + statistics.class_sums(deltas)))
    return LinearScorer(
        np.zeros(statistics.n_classes),
        scale * default,
        statistics.indptr,
        statistics.classes,
        -scale[statistics.classes] * deltas,
        -base,
        scale,
    )


def complement_left_out(
    statistics: ClassStatistics,
    sample: DocumentCounts,
    scores: Floats,
    *,
    smoothing: float,
    normalize_weights: bool = False,
) -> Floats:
    """The scores of documents under the model of all documents but themselves.

    A document's own class never saw it (its complement is the others); every other class did, and there its
    counts leave the numerators, its length the denominator; of normalized weights, all of it the sum as well.

    statistics  of the whole corpus, the sample's documents included
    scores      (n_documents, n_classes), what the scorer of `statistics` says
    returns     the same with all classes but each document's own scored anew
    """
    everywhere = statistics.feature_sums(statistics.occurrences)
    totals = _complement_totals(statistics, smoothing)[None, :] - sample.totals[:, None]
    log_totals = np.log(np.maximum(totals, CLIP))
    # each document's counts times the logarithms without it, and what all logarithms lose by it
    of_part = partial(_sums, statistics, everywhere, smoothing=smoothing, normalize_weights=normalize_weights)
    sums = [of_part(part) for part in _parts(sample, np.diff(statistics.indptr))]
    weighted, gained = (np.concatenate(of_all) for of_all in zip(*sums, strict=True))
    left_out: Floats = sample.totals[:, None] * log_totals - weighted
    if normalize_weights:
        base, deltas = _logs(statistics, everywhere, smoothing)
        of_all = base.sum() + statistics.class_sums(deltas)
        left_out *= _inverse(statistics.n_features * log_totals - of_all + gained)
    own = np.arange(len(sample)), sample.classes
    left_out[own] = scores[own]
    return left_out


def _sums(
    statistics: ClassStatistics, everywhere: Floats, part: DocumentCounts, *, smoothing: float, normalize_weights: bool
) -> tuple[Floats, Floats]:
    """What leaving out takes, for each document and class, of logarithms of counts: shape (n_documents, n_classes).

    returns  the document's counts times the logarithms without it, summed up; and what all logarithms have lost, with
             `normalize_weights` (else nothing)
    """
    columns, features, counts = _distinct(part)
    met = statistics.restricted(features)
    base, deltas = _logs(met, everywhere[features] - counts, smoothing)
    weighted = _scores(met, base, deltas, part.indptr, columns, part.counts)
    if not normalize_weights:
        return weighted, np.zeros((len(part), 0))
    with_it, with_it_deltas = _logs(met, everywhere[features], smoothing)
    ones = np.ones(len(columns))
    return weighted, _scores(met, with_it - base, with_it_deltas - deltas, part.indptr, columns, ones)


def _distinct(part: DocumentCounts) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[Any]]:
    """The distinct pairs of a feature and how often a document has it; most words are there once, so they are few.

    returns  the pair of each entry; the feature of each pair; its count
    """
    if part.counts.dtype.kind == "f":  # hardly two are alike
        return np.arange(len(part.indices), dtype=np.int32), part.indices.astype(np.int64), part.counts
    pairs, columns = np.unique(part.indices.astype(np.int64) << 32 | part.counts, return_inverse=True)
    return columns.astype(np.int32), pairs >> 32, pairs & 0xFFFFFFFF


def _scores(met: ClassStatistics, base: Floats, deltas: Floats, *rows: NDArray[Any]) -> Floats:
    """The sums of values · (base + delta) over the features of each document, shape (n_documents, n_classes)."""
    nothing, ones = np.zeros(met.n_classes), np.ones(met.n_classes)
    return LinearScorer(nothing, nothing, met.indptr, met.classes, deltas, base, ones).scores(*rows)


def _parts(sample: DocumentCounts, widths: NDArray[np.int64]) -> list[DocumentCounts]:
    """The sample cut into parts whose features meet BLOCK classes, or a document more."""
    meetings = sample.sum_entries(widths[sample.indices].astype(np.float64))
    _, starts = np.unique((np.cumsum(meetings) - meetings) // BLOCK, return_index=True)
    return [sample.slice(start, stop) for start, stop in pairwise([*(starts.tolist() or [0]), len(sample)])]


def _logs(statistics: ClassStatistics, everywhere: Floats, smoothing: float) -> tuple[Floats, Floats]:
    """log(sightings + α) of each feature in all classes, and what it changes to leave out a class that has an entry.

    everywhere  (V,), the sightings of each feature
    """
    widths = np.diff(statistics.indptr)
    base = _log_count(everywhere, smoothing)
    others = np.repeat(everywhere, widths) - statistics.occurrences
    return base, _log_count(others, smoothing) - np.repeat(base, widths)


def complement_unseen(statistics: ClassStatistics, sample: DocumentCounts, *, smoothing: float) -> Floats:
    """The weight that a feature has for a document under the model of all others, none of which holds it.

    returns  (n_documents, n_classes)
    """
    totals = np.tile(_complement_totals(statistics, smoothing), (len(sample), 1))
    own = np.arange(len(sample)), sample.classes
    without = totals - sample.totals[:, None]
    without[own] = totals[own]
    return np.asarray(np.log(np.maximum(without, CLIP)) - _log_count(np.zeros(1), smoothing))


def _complement_totals(statistics: ClassStatistics, smoothing: float) -> Floats:
    tokens = statistics.class_occurrences
    return np.asarray(tokens.sum() - tokens + smoothing * statistics.n_features, dtype=np.float64)


def _log_count(counts: Floats, smoothing: float) -> Floats:
    """log(counts + smoothing), and of a trace where there is neither."""
    return np.log(np.maximum(counts + smoothing, smoothing or CLIP))


def _inverse(sums: Floats) -> Floats:
    """1 / sums, and 1 where they are 0 but for rounding: of one feature, which every class uses alike."""
    inverse: Floats = np.divide(1.0, sums, out=np.ones_like(sums), where=np.abs(sums) > NEGLIGIBLE)
    return inverse
