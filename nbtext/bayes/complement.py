"""Complement Naive Bayes: what all other classes do not write."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.probability import CLIP
from nbtext.bayes.sample import Sample
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.statistics import Statistics

BLOCK = 1 << 21  # entries that are expanded at once, so that memory stays bounded


def complement(statistics: Statistics, *, smoothing: float, normalize_weights: bool = False) -> LinearScorer:
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
    everywhere = statistics.feature_sums(statistics.occurrences)
    totals = _complement_totals(statistics, smoothing)
    others = np.repeat(everywhere, np.diff(statistics.indptr)) - statistics.occurrences
    base = -_log_count(everywhere, smoothing)
    default = np.log(np.maximum(totals, CLIP))
    deltas = -_log_count(others, smoothing) - base[statistics.entry_features]
    scale = np.ones(statistics.n_classes)
    if normalize_weights:
        sums = base.sum() + statistics.n_features * default + statistics.class_sums(deltas)
        scale = np.divide(1.0, sums, out=np.ones_like(sums), where=sums != 0)
    return LinearScorer(
        np.zeros(statistics.n_classes),
        scale * default,
        statistics.indptr,
        statistics.classes,
        scale[statistics.classes] * deltas,
        base,
        scale,
    )


def complement_left_out(statistics: Statistics, sample: Sample, scores: Floats, *, smoothing: float) -> Floats:
    """The scores of documents under the model of all documents but themselves.

    A document's own class never saw it (its complement is the others); every other class did, and there its
    counts leave the numerators, its length the denominator.

    statistics  of the whole corpus, the sample's documents included
    scores      (n_documents, n_classes), what the scorer of `statistics` says
    returns     the same with all classes but each document's own scored anew
    """
    everywhere = statistics.feature_sums(statistics.occurrences)[sample.indices] - sample.counts
    common = sample.document_sums(-sample.counts * _log_count(everywhere, smoothing))
    totals = _complement_totals(statistics, smoothing)[None, :] - sample.lengths[:, None]
    left_out = common[:, None] + sample.lengths[:, None] * np.log(np.maximum(totals, CLIP))

    flat = left_out.reshape(-1)
    widths = np.diff(statistics.indptr)[sample.indices]
    cuts = np.searchsorted(np.cumsum(widths), np.arange(0, widths.sum() + BLOCK, BLOCK), side="left")
    for start, stop in zip(cuts, np.append(cuts[1:], len(widths)), strict=True):
        block, width = slice(start, stop), widths[start:stop]
        entries = np.repeat(statistics.indptr[sample.indices[block]], width) + _within(width)
        document = np.repeat(sample.entry_documents[block], width)
        classes = statistics.classes[entries]
        without = np.repeat(everywhere[block], width)
        others = without - statistics.occurrences[entries]
        change = _log_count(without, smoothing) - _log_count(others, smoothing)
        weighted = np.repeat(sample.counts[block], width) * change
        flat += np.bincount(document * statistics.n_classes + classes, weights=weighted, minlength=len(flat))

    own = np.arange(len(sample)), sample.classes
    left_out[own] = scores[own]
    return left_out


def _complement_totals(statistics: Statistics, smoothing: float) -> Floats:
    tokens = statistics.class_occurrences
    return np.asarray(tokens.sum() - tokens + smoothing * statistics.n_features, dtype=np.float64)


def _log_count(counts: Floats, smoothing: float) -> Floats:
    """log(counts + smoothing), and of a trace where there is neither."""
    return np.log(np.maximum(counts + smoothing, smoothing or CLIP))


def _within(widths: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, … widths[0] − 1, 0, 1, … widths[1] − 1, and so on."""
    starts = np.cumsum(widths) - widths
    return np.asarray(np.arange(widths.sum()) - np.repeat(starts, widths))
