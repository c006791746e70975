"""Gaussian Naive Bayes: in each class, the weight of each feature has a normal distribution."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_model import Entries, EventModel, LeftOut, leave_out_own
from nbtext.bayes.scorer import Csr, LinearScorer, check_derived_columns
from nbtext.errors import ModelError
from nbtext.features.document_table import DocumentTable
from nbtext.numerics import log, log1p
from nbtext.records import Strings, frozen, frozen_object

FLOOR = 1e-9  # added to each variance, as a share of the largest; scikit-learn's var_smoothing
MIN_FLOOR = 1e-14  # replaces a smoothing of 0
# significant bits of a large 1 / 2ε: its products with counts are exact, its relative error 1e-10
UNIT_BITS = 33
LARGE_SMOOTHING = 1e6  # times the inverse of the largest variance
NEGLIGIBLE_VARIANCE = 1e-16  # a variance below this share of ε is 0
MAX_SQUARES = 1 << 24  # of squares: 2 GB while they are fitted and sorted


@frozen
class Powers:
    """A feature's weight in column 2j, and its square in column 2j + 1.

    The score of a class is the sum of two partial scores: very large terms are summed separately
    from the others, so that they cancel without a rounding error.
    """

    width: ClassVar[int] = 2
    height: ClassVar[int] = 2

    def rows(self, indptr: Integers, indices: Integers32, values: Array) -> Csr:
        weights = values.astype(np.float64)
        columns = np.stack((2 * indices, 2 * indices + 1), axis=1).reshape(-1)
        return 2 * indptr, columns, np.stack((weights, weights * weights), axis=1).reshape(-1)


@frozen_object
class Moments(ClassStatistics):
    """ClassStatistics whose `occurrences` are sums of weights, with their second moments.

    squares           (n_entries,) float64, sums of squared weights
    variances         (n_entries,) float64, of the feature's weights in all documents of the class,
                      zeros included
    largest_variance  the largest variance of a feature's weights in all documents of all classes
    """

    ABSENCE: ClassVar[Strings] = ("documents", "occurrences", "squares")

    squares: Floats
    variances: Floats
    largest_variance: float


def compute_moments(
    statistics: ClassStatistics, documents: DocumentTable, *, n_values: int = 0
) -> Moments:
    """Return means and variances of each feature in each class, without a dense matrix.

    statistics  of these documents
    raises      ModelError: there are too many features, or too many labels for them
    """
    check_derived_columns(statistics.n_features, Powers())
    if statistics.n_features * statistics.n_classes > MAX_SQUARES:
        size = f"{statistics.n_classes:,} labels and {statistics.n_features:,} features"
        raise ModelError(
            f"a gaussian model of {size} is too large",
            hint="it has a weight for each pair; use ‹min_df›, ‹max_features›, fewer ‹hash_bits›, or another model",
        )
    weights = documents.counts.astype(np.float64)
    times = documents.multiplicities[documents.entry_documents]
    entries = statistics.locate(documents)
    n_entries = len(statistics.classes)
    n_documents = max(1, statistics.n_documents)
    entry_documents = np.maximum(statistics.class_documents, 1)[statistics.classes]
    sums = statistics.occurrences.astype(np.float64)
    means = sums / entry_documents
    overall = statistics.feature_sums(sums) / n_documents
    scatter = _sums(entries, times * (weights - means[entries]) ** 2, n_entries)
    overall_scatter = _sums(
        documents.indices,
        times * (weights - overall[documents.indices]) ** 2,
        statistics.n_features,
    )
    overall_scatter += (n_documents - statistics.document_frequencies) * overall**2
    return Moments(
        statistics.class_documents,
        statistics.indptr,
        statistics.classes,
        statistics.documents,
        sums,
        _sums(entries, times * weights**2, n_entries),
        (scatter + (entry_documents - statistics.documents) * means**2) / entry_documents,
        float(overall_scatter.max(initial=0) / n_documents),
    )


def _sums(places: Array, values: Floats, n_places: int) -> Floats:
    """Return, for each place, the sum of its values."""
    return np.bincount(places, values, n_places).astype(np.float64)


def compile_gaussian(statistics: ClassStatistics, *, smoothing: float = FLOOR) -> LinearScorer:
    """Weigh each feature and its square by log N(x; μ, σ² + ε), with ε = `smoothing` times the
    largest variance.

    Absent features are evidence too: the bias is the score of a document without features. Where a
    class has no variance, the term is (x − μ)² / 2ε, which is very large unless it is 0. These
    terms are summed in rows of their own (see Powers), as whole multiples of 1 / 2ε where weights
    are whole numbers, so that they cancel exactly.

    Parameters
    ----------
    statistics : Moments of K classes and V features; the scorer holds K weights for each feature
    smoothing : >= 0

    Returns
    -------
    The scorer of log p(document | class), a density, without the prior.

    Source: scikit-learn 1.9, GaussianNB, on the dense matrix. log p agrees to 1e-9 for counts; for
    weights too, except where a feature has the same fractional weight in all documents of a class.
    """
    assert isinstance(statistics, Moments)  # which compute_moments returns
    n_classes = statistics.n_classes
    n_features = statistics.n_features
    of_class = statistics.classes
    floor, unit = _floor(statistics, smoothing)
    means = statistics.occurrences / np.maximum(statistics.class_documents, 1)[of_class]
    light, heavy = _evidence(statistics.variances, means, floor)
    scatters = statistics.variances > NEGLIGIBLE_VARIANCE * floor
    doubled = 2 * (statistics.variances + floor)
    bias = np.concatenate(
        (
            n_features * _log_density(floor) + statistics.class_sums(light),
            -unit * statistics.class_sums(heavy),
        )
    )

    rows = np.tile(np.arange(n_classes, 2 * n_classes), (n_features, 1))
    squared = np.full(rows.shape, -unit)
    features = statistics.entry_features
    scattered = np.where(scatters, of_class, of_class + n_classes)
    rows[features, of_class] = scattered
    squared[features, of_class] = np.where(scatters, -1 / doubled, -unit)
    columns = np.concatenate((2 * features, np.repeat(2 * np.arange(n_features) + 1, n_classes)))
    rows = np.concatenate((scattered, rows.ravel()))
    deltas = np.concatenate((2 * means * np.where(scatters, 1 / doubled, unit), squared.ravel()))
    order = np.argsort(columns * (2 * n_classes) + rows)
    indptr = np.searchsorted(columns[order], np.arange(2 * n_features + 1)).astype(np.int64)
    default = np.zeros(2 * n_classes)
    return LinearScorer(
        bias, default, indptr, rows[order].astype(np.int32), deltas[order], derivation=Powers()
    )


def _score_own(statistics: ClassStatistics, left_out: LeftOut, *, smoothing: float) -> Floats:
    """Return the leave-one-out scores of the pairs, with the ε of the whole corpus.

    The weights of the document and its copies are subtracted from the sums of a class, their
    squares from its sums of squares, and the number of copies from its documents.
    """
    assert isinstance(statistics, Moments)  # which compute_moments returns
    floor, unit = _floor(statistics, smoothing)
    pairs = left_out.pairs

    def weigh_absence(entries: Entries, copies: Integers | int) -> tuple[Floats, Floats]:
        """Return the evidence of the absence of features; 0 if the left-out documents must have
        it.
        """
        documents = statistics.class_documents[statistics.classes[entries]]
        moments = statistics.occurrences[entries], statistics.squares[entries]
        others = np.maximum(documents - copies, 1)
        light, heavy = _evidence(*_remaining_moments(others, *moments), floor)
        may_lack = documents - statistics.documents[entries] >= copies
        return light * may_lack, heavy * may_lack

    empty = np.zeros((2, len(pairs)))
    for copies, rows, same, numbers in left_out.group_entries(statistics):
        for place, values in enumerate(weigh_absence(same, copies)):
            sums = np.bincount(statistics.classes[same], numbers * values, statistics.n_classes)
            empty[place, rows] = sums[pairs.classes[rows]]

    entries = statistics.locate(pairs)
    entry_copies = left_out.copies[pairs.entry_documents]
    light, heavy = weigh_absence(entries, entry_copies)
    x = pairs.counts.astype(np.float64)
    variances, means = _remaining_moments(
        np.maximum(statistics.class_documents[statistics.classes[entries]] - entry_copies, 1),
        statistics.occurrences[entries] - entry_copies * x,
        statistics.squares[entries] - entry_copies * x * x,
    )
    light_x, heavy_x = _evidence(variances, x - means, floor)
    of_empty = statistics.n_features * _log_density(floor)
    own: Floats = (of_empty + empty[0] + pairs.sum_entries(light_x - light)) - unit * (
        empty[1] + pairs.sum_entries(heavy_x - heavy)
    )
    return own


def _remaining_moments(documents: Integers, sums: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Return the variances and means of the remaining documents; they are exact for whole
    numbers.
    """
    return np.maximum(documents * squares - sums * sums, 0) / (
        documents * documents
    ), sums / documents


def _evidence(variances: Floats, distances: Floats, floor: float) -> tuple[Floats, Floats]:
    """Return arrays a and b with log N(distance; 0, σ²) − log N(0; 0, ε) = a − b / (2ε)."""
    squares = distances**2
    scatters = variances > NEGLIGIBLE_VARIANCE * floor
    light = -log1p(variances / floor) / 2 - np.where(
        scatters, squares / (2 * (variances + floor)), 0
    )
    return light, np.where(scatters, 0, squares)


def _floor(statistics: Moments, smoothing: float) -> tuple[float, float]:
    """Return ε, which is added to each variance, and 1 / 2ε, rounded to UNIT_BITS bits if it is
    large.
    """
    floor = max(smoothing, MIN_FLOOR) * (statistics.largest_variance or 1.0)
    mantissa, exponent = math.frexp(1 / (2 * floor))
    if smoothing * LARGE_SMOOTHING >= 1:
        return floor, 1 / (2 * floor)
    return floor, math.ldexp(round(math.ldexp(mantissa, UNIT_BITS)), exponent - UNIT_BITS)


def _log_density(variance: float) -> float:
    """Return log N(0; 0, variance)."""
    return -float(log(2 * math.pi * variance)) / 2


GAUSSIAN = EventModel(
    compile=compile_gaussian,
    leave_one_out=partial(leave_out_own, compile=compile_gaussian, own=_score_own),
    sufficient_statistics=compute_moments,
    derivation=lambda n_values: Powers(),
    smoothing=FLOOR,
    has_pseudo_counts=False,
    cells="numbers",
    scores="numbers",  # of a density, which is not used for outliers
)
