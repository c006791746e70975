"""Gaussian Naive Bayes: each weight of a class scatters around a mean, by a variance of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.derivation import Powers, check_columns
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts

FLOOR = 1e-9  # of variances, as a share of the largest; scikit-learn's var_smoothing
LEAST_FLOOR = 1e-14  # where that is 0
UNIT_BITS = 33  # of a vast 1 / 2ε: few enough that its products with counts are exact, enough for 1e-10
VAST = 1e6  # times the inverse of the largest variance
NEGLIGIBLE = 1e-16  # a variance below this share of ε is none
MOST_WEIGHTS = 1 << 26  # of squares: 3 GB while they are sorted


@dataclass(frozen=True, eq=False)
class Moments(ClassStatistics):
    """ClassStatistics whose `occurrences` are sums of weights, with what their scatter takes besides.

    squares           (n_entries,) float64, sums of squared weights
    variances         (n_entries,) float64, of the feature's weights in all documents of the class, zeros included
    largest_variance  of a feature's weights in all documents, whatever their class
    """

    squares: Floats
    variances: Floats
    largest_variance: float


def moments(statistics: ClassStatistics, sample: DocumentCounts) -> Moments:
    """Means and variances of each feature in each class, without a dense matrix.

    statistics  of the sample's documents, which are all that there are
    raises      ModelError: there are too many features, or too many labels for them
    """
    check_columns(statistics.n_features, Powers())
    if statistics.n_features * statistics.n_classes > MOST_WEIGHTS:
        raise ModelError(
            f"a gaussian model of {statistics.n_classes:,} labels and {statistics.n_features:,} features is too large",
            hint="it has a weight for each pair of them; use --min-df, --max-features, or another model",
        )
    weights, entries = sample.counts.astype(np.float64), statistics.locate(sample)
    n_entries, n_documents = len(statistics.classes), max(1, statistics.n_documents)
    documents = np.maximum(statistics.class_documents, 1)[statistics.classes]
    sums = statistics.occurrences.astype(np.float64)
    means, overall = sums / documents, statistics.feature_sums(sums) / n_documents
    scatter = _sums(entries, (weights - means[entries]) ** 2, n_entries)
    overall_scatter = _sums(sample.indices, (weights - overall[sample.indices]) ** 2, statistics.n_features)
    overall_scatter += (n_documents - statistics.document_frequencies) * overall**2
    return Moments(
        statistics.class_documents,
        statistics.indptr,
        statistics.classes,
        statistics.documents,
        sums,
        _sums(entries, weights**2, n_entries),
        (scatter + (documents - statistics.documents) * means**2) / documents,
        float(overall_scatter.max(initial=0) / n_documents),
    )


def _sums(places: NDArray[Any], values: Floats, n_places: int) -> Floats:
    """The sum of the values that belong to each place."""
    return np.bincount(places, weights=values, minlength=n_places).astype(np.float64)


def gaussian(statistics: Moments, *, smoothing: float = FLOOR) -> LinearScorer:
    """Weigh each feature and its square by log N(x; μ, σ² + ε), with ε the share `smoothing` of the largest variance.

    Zeros are evidence too: what a document without any feature scores is the bias. Where a class has no variance, what
    counts is (x − μ)² / 2ε, vast unless it is nothing; these sums are kept in rows of their own (see Powers), whole
    multiples of 1 / 2ε where weights are whole numbers, so that they vanish to the last bit when they should.

    statistics  moments of K classes and V features; the scorer holds K weights for each feature
    smoothing   >= 0
    returns     the scorer of log p(document | class), a density, without the prior
    source      scikit-learn 1.9, GaussianNB, on the dense matrix; log p to 1e-9 for counts. Of weights too, but where
                a feature has one and the same weight, no whole number, in all documents of a class: (x − μ)² is as
                exact as its terms there
    """
    n_classes, n_features, of_class = statistics.n_classes, statistics.n_features, statistics.classes
    floor, unit = _floor(statistics, smoothing)
    means = statistics.occurrences / np.maximum(statistics.class_documents, 1)[of_class]
    light, heavy = _evidence(statistics.variances, means, floor)
    scatters, doubled = _scatters(statistics.variances, floor), 2 * (statistics.variances + floor)
    bias = np.concatenate(
        (n_features * _log_density(floor) + statistics.class_sums(light), -unit * statistics.class_sums(heavy))
    )

    rows = np.tile(np.arange(n_classes, 2 * n_classes), (n_features, 1))
    squared = np.full(rows.shape, -unit)
    features, scattered = statistics.entry_features, np.where(scatters, of_class, of_class + n_classes)
    rows[features, of_class] = scattered
    squared[features, of_class] = np.where(scatters, -1 / doubled, -unit)
    columns = np.concatenate((2 * features, np.repeat(2 * np.arange(n_features) + 1, n_classes)))
    rows = np.concatenate((scattered, rows.ravel()))
    deltas = np.concatenate((2 * means * np.where(scatters, 1 / doubled, unit), squared.ravel()))
    order = np.argsort(columns * (2 * n_classes) + rows)
    indptr = np.searchsorted(columns[order], np.arange(2 * n_features + 1)).astype(np.int64)
    default = np.zeros(2 * n_classes)
    return LinearScorer(bias, default, indptr, rows[order].astype(np.int32), deltas[order], derivation=Powers())


def gaussian_left_out(
    statistics: Moments, sample: DocumentCounts, scores: Floats, *, smoothing: float = FLOOR
) -> Floats:
    """The scores of documents under the model of all documents but themselves, the floor ε of variances as it was.

    Only a document's own class has learned from it: there its weights leave the sums, its squares the sums of squares,
    and the zeros of the features that it lacks leave them as well.

    statistics  of the whole corpus, the sample's documents included
    scores      (n_documents, n_classes), what the scorer of `statistics` says
    returns     the same with each document's own class scored anew
    """
    floor, unit = _floor(statistics, smoothing)
    of_class, others = statistics.classes, np.maximum(statistics.class_documents - 1, 1)
    sums, squares, entries = statistics.occurrences, statistics.squares, statistics.locate(sample)
    # of a document that lacks the feature; where none in the class does, each document that is left out has it
    light, heavy = _evidence(*_left(others[of_class], sums, squares), floor)
    somebody_lacks = statistics.documents < statistics.class_documents[of_class]
    light, heavy = np.where(somebody_lacks, light, 0), np.where(somebody_lacks, heavy, 0)
    empty_light = statistics.n_features * _log_density(floor) + statistics.class_sums(light)

    x = sample.counts.astype(np.float64)
    variances, means = _left(others[of_class[entries]], sums[entries] - x, squares[entries] - x * x)
    light_x, heavy_x = _evidence(variances, x - means, floor)
    left_out = scores.copy()
    left_out[np.arange(len(sample)), sample.classes] = (
        empty_light[sample.classes] + sample.sum_entries(light_x - light[entries])
    ) - unit * (statistics.class_sums(heavy)[sample.classes] + sample.sum_entries(heavy_x - heavy[entries]))
    return left_out


def _left(documents: NDArray[np.int64], sums: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Variances and means of what some documents have left; exact for whole numbers."""
    means = sums / documents
    return np.maximum(documents * squares - sums * sums, 0) / (documents * documents), means


def _evidence(variances: Floats, distances: Floats, floor: float) -> tuple[Floats, Floats]:
    """log N at these distances from the mean less log N(0; 0, ε), in two parts: a sum, and −1 / 2ε times the other."""
    squares, scatters = distances**2, _scatters(variances, floor)
    light = -np.log1p(variances / floor) / 2 - np.where(scatters, squares / (2 * (variances + floor)), 0)
    return light, np.where(scatters, 0, squares)


def _scatters(variances: Floats, floor: float) -> NDArray[np.bool_]:
    """Where there is a variance to speak of."""
    return np.asarray(variances > NEGLIGIBLE * floor)


def _floor(statistics: Moments, smoothing: float) -> tuple[float, float]:
    """What is added to each variance, ε, and 1 / 2ε, in few bits where it is vast."""
    floor = max(smoothing, LEAST_FLOOR) * (statistics.largest_variance or 1.0)
    mantissa, exponent = math.frexp(1 / (2 * floor))
    if smoothing * VAST >= 1:
        return floor, 1 / (2 * floor)
    return floor, math.ldexp(round(math.ldexp(mantissa, UNIT_BITS)), exponent - UNIT_BITS)


def _log_density(variance: float) -> float:
    """log N(0; 0, variance)."""
    return -math.log(2 * math.pi * variance) / 2
