"""The sparse linear scorer to which every model compiles, and the contributions of features to its
scores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.arrays import MAX_STORED_NUMBER, Array, Floats, Integers, Integers32, Limits
from nbtext.errors import ModelError
from nbtext.features.counting import score_rows
from nbtext.features.csr import (
    SparseWeights,
    entries_of,
    entry_rows,
    running_sums,
    select_class,
    split_columns,
)
from nbtext.features.document_table import DocumentTable
from nbtext.features.hashing import mix64
from nbtext.numerics import exp, log
from nbtext.records import frozen_object

Csr = tuple[Integers, Integers32, Array]  # indptr, indices, values
ALL = slice(None)
# without smoothing, probabilities stay within [CLIP, 1 - CLIP], so that each has a finite logarithm
CLIP = 1e-14
MAX_DERIVED_COLUMNS = 2**31 - 1  # that int32 can number
MAX_CODE = 127  # of a weight in 8 bits
SMALLEST_SCALE = 1e-100  # so that weights divided by it are finite
FEATURES_HASHED_AT_ONCE = 1 << 16  # features whose entries are hashed at once


class Derivation(Protocol):
    """Columns that a scorer derives from features; feature j owns the columns from j · width on."""

    @property
    def width(self) -> int:
        """Number of columns for each feature."""

    @property
    def height(self) -> int:
        """Number of partial scores whose sum is a class's score: k, k + n_classes, and so on for
        class k.
        """

    def rows(self, indptr: Integers, indices: Integers32, values: Array) -> Csr:
        """Return the rows over the derived columns; they are ascending if the given ones are."""


@frozen_object
class LinearScorer(SparseWeights):
    """The weights by which a model scores classes. The scores of a probabilistic model are natural
    logarithms.

    derivation  derives columns from features; None: each feature is a column. With a derivation,
                the "features" of SparseWeights are columns, and its "classes" are partial scores
    scales      (K,), by class, what the deltas are whole multiples of, from −127 to 127; None: they
                are any numbers
    """

    derivation: Derivation | None = None
    scales: Annotated[Floats | None, Limits(SMALLEST_SCALE, MAX_STORED_NUMBER / MAX_CODE)] = None

    @property
    def n_classes(self) -> int:
        return (
            len(self.bias) if self.derivation is None else len(self.bias) // self.derivation.height
        )

    @property
    def n_features(self) -> int:
        return (
            self.n_columns if self.derivation is None else self.n_columns // self.derivation.width
        )

    def with_prior(self, log_prior: Floats) -> LinearScorer:
        """Return the scorer of the joint probability: each class's log prior is added to its
        bias.
        """
        return replace(
            self, bias=self.bias + np.pad(log_prior, (0, len(self.bias) - len(log_prior)))
        )

    def round(self) -> LinearScorer:
        """Return the scorer with weights that float32 holds, so that a file of float32 loses
        nothing.
        """
        return replace(self, deltas=round_to_float32(self.deltas))

    def quantize(self, steps: Floats | float = 0.0) -> LinearScorer:
        """Return the scorer with deltas in 8 bits, a scale for each class, and without those that
        become 0; no `rows`.

        steps  (n_features,): a delta becomes a multiple of a number of at most this size, the scale
               times a power of two, so that few different ones are left. 0: as exact as 8 bits are
        """
        largest = np.zeros(len(self.bias))
        np.maximum.at(largest, self.classes, np.abs(self.deltas))
        scales = np.where(largest > 0, np.maximum(largest / MAX_CODE, SMALLEST_SCALE), 1.0)
        own_scales = scales[self.classes]
        units: Floats | float = 1.0
        if np.any(steps):
            own_steps = np.repeat(steps, np.diff(self.indptr))
            units = np.ldexp(1.0, np.maximum(np.frexp(own_steps / own_scales)[1] - 1, 0))
        codes = np.clip(np.rint(self.deltas / own_scales / units) * units, -MAX_CODE, MAX_CODE)
        is_kept = codes != 0
        classes = self.classes[is_kept]
        bounds = running_sums(is_kept)[self.indptr]
        deltas = codes[is_kept] * scales[classes]
        return replace(self, indptr=bounds, classes=classes, deltas=deltas, scales=scales)

    @property
    def codes(self) -> NDArray[np.int8]:
        """The deltas as multiples of the scales, (n_entries,)."""
        assert self.scales is not None  # of a quantized scorer
        return np.rint(self.deltas / self.scales[self.classes]).astype(np.int8)

    def restrict(self, columns: Integers) -> LinearScorer:
        """Return the scorer of these features only; not with a derivation."""
        bounds, entries = entries_of(self.indptr, self.rows_of(columns))
        return replace(
            self,
            indptr=bounds,
            classes=self.classes[entries],
            deltas=self.deltas[entries],
            rows=None,
            base=None if self.base is None else self.base[columns],
            bounds=None if self.bounds is None else np.searchsorted(columns, self.bounds),
        )

    def add_up(self, bounds: Integers, columns: Integers) -> LinearScorer:
        """Return the scorer of features whose weights are sums of those of some features; not with
        a derivation or a base.

        bounds   (n + 1,): feature i has the sum of columns[bounds[i]:bounds[i + 1]], at least one
        columns  of one view for each feature, and of one view after the other
        """
        n_classes = len(self.bias)
        sizes = np.diff(bounds)
        first = columns[bounds[:-1]]
        ends, entries = entries_of(self.indptr, self.rows_of(columns))
        owners = np.repeat(np.repeat(np.arange(len(sizes)), sizes), np.diff(ends))
        several = np.flatnonzero(sizes > 1)  # of which the default weight counts once, so far
        defaults = [self.default_of(first[several], k) for k in range(n_classes)]
        added = np.stack(defaults, axis=1) * (sizes[several] - 1)[:, None]
        numbers = np.append(
            owners * n_classes + self.classes[entries],
            several[:, None] * n_classes + np.arange(n_classes),
        )
        cells, places = np.unique(numbers, return_inverse=True)
        views = None
        if self.bounds is not None:
            of_view = np.searchsorted(self.bounds, first, "right")
            views = np.searchsorted(of_view, np.arange(1, len(self.bounds) + 1))
        return replace(
            self,
            indptr=np.searchsorted(cells, np.arange(len(sizes) + 1) * n_classes),
            classes=(cells % n_classes).astype(np.int32),
            deltas=np.bincount(places, np.append(self.deltas[entries], added)).astype(np.float64),
            rows=None,
            bounds=views,
            scales=None,
        )

    def scale_labels(self, label_scales: Floats) -> LinearScorer:
        """Return the scorer whose scores are those of this one minus their mean over the classes,
        times the scales of the classes; not with a derivation.
        """
        n_classes = self.n_classes
        defaults = self.default.reshape(-1, n_classes)
        sums = np.bincount(entry_rows(self.indptr), self.deltas, len(self.indptr) - 1)
        return replace(
            self,
            bias=(self.bias - self.bias.mean()) * label_scales,
            default=((defaults - defaults.mean(axis=1)[:, None]) * label_scales).ravel(),
            deltas=self.deltas * label_scales[self.classes],
            base=-sums[self.rows_of(np.arange(self.n_columns))] / n_classes,
            base_scale=label_scales,
            scales=None if self.scales is None else self.scales * label_scales,
        )

    def share_rows(self) -> LinearScorer:
        """Return the scorer with equal entries of several features stored once; not with a
        derivation.

        In a linear model, the features that only one document holds have equal entries, if it holds
        them equally often.
        """
        keys = np.zeros(self.n_columns, np.uint64)
        blocks = [
            slice(start, start + FEATURES_HASHED_AT_ONCE)
            for start in range(0, self.n_columns, FEATURES_HASHED_AT_ONCE)
        ]
        for block in blocks:
            bounds = self.indptr[block.start : block.stop + 1]
            own = slice(bounds[0], bounds[-1])
            hashes = mix64(
                mix64(self.deltas[own].view(np.uint64)) ^ self.classes[own].astype(np.uint64)
            )
            is_filled = np.diff(bounds) > 0
            if len(hashes):
                keys[block][is_filled] = np.add.reduceat(hashes, bounds[:-1][is_filled] - bounds[0])
        _, first, rows = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        places = np.empty(len(first), np.int32)
        places[order] = np.arange(len(first))
        own_rows = places[rows]
        bounds, entries = entries_of(self.indptr, first[order])
        shared = replace(
            self,
            indptr=bounds,
            classes=self.classes[entries],
            deltas=self.deltas[entries],
            rows=own_rows,
        )
        for block in blocks:  # features with equal hashes could differ
            bounds, entries = entries_of(shared.indptr, own_rows[block])
            ends = self.indptr[block.start : block.stop + 1]
            own = slice(ends[0], ends[-1])
            if not (
                np.array_equal(bounds, ends - ends[0])
                and np.array_equal(shared.classes[entries], self.classes[own])
                and np.array_equal(shared.deltas[entries], self.deltas[own])
            ):
                return self
        return shared

    def scores(self, indptr: Integers, indices: Integers32, values: Array) -> Floats:
        """Return the scores of documents in compressed sparse rows of features, shape (n_documents,
        n_classes).
        """
        if self.derivation is not None:
            indptr, indices, values = self.derivation.rows(indptr, indices, values)
        if self.bounds is not None:
            rows = zip(
                split_columns(indptr, indices, self.bounds), self.split(self.bounds), strict=True
            )
            return np.asarray(
                sum(
                    score_rows(ends, own, values[places], view)
                    for (places, ends, own), view in rows
                )
            )
        scores = score_rows(indptr, indices, values, self)
        if self.derivation is None or self.derivation.height == 1:
            return scores
        return np.asarray(
            scores.reshape(len(scores), self.derivation.height, self.n_classes).sum(axis=1)
        )

    def bias_of(self, k: int) -> float:
        """Return the score of class k for a document without features."""
        return float(sum(self.bias[row] for row in self.rows_of_class(k)))

    def contributions(self, indices: Integers32, values: Array, k: int) -> Floats:
        """Return what each feature of one document adds to the score of class k, shape
        (n_entries,).

        The sum of the contributions and `bias_of(k)` is the score.

        indices  (n_entries,), the document's features, ascending
        values   (n_entries,), their weights in the document
        """
        n_entries = len(indices)
        owners = np.arange(n_entries)
        if self.derivation is not None:
            indptr, indices, values = self.derivation.rows(
                np.arange(n_entries + 1), indices, values
            )
            owners = np.repeat(owners, np.diff(indptr))
        weights = sum(
            (self.column_weights(indices, row) for row in self.rows_of_class(k)),
            np.zeros(len(indices)),
        )
        return np.bincount(owners, weights * values, n_entries).astype(np.float64, copy=False)

    def rows_of_class(self, k: int) -> range:
        """Return the numbers of the partial scores whose sum is the score of class k."""
        return range(k, len(self.bias), self.n_classes)

    def column_weights(self, columns: NDArray[np.integer], row: int) -> Floats:
        """Return the weights of some columns in one partial score, shape (n,)."""
        own = select_class(self.indptr, self.classes, self.deltas, self.rows_of(columns), row)
        return self.absent(columns, row) + own

    def absent(self, columns: NDArray[np.integer], row: int) -> Floats:
        """Return the weights of some columns in a partial score that stores none for them, shape
        (n,).
        """
        weights = self.default_of(columns, row)
        if self.base is not None and self.base_scale is not None:
            weights += self.base_scale[row] * self.base[columns]
        return weights


class ClassWeights:
    """Computes dense weights, one class at a time, so that the inspection of many classes takes
    little memory.

    With derived columns, the weight of a feature is what a value of 1 adds to the score.
    """

    def __init__(self, scorer: LinearScorer) -> None:
        self._scorer = scorer
        bounds, entries = entries_of(scorer.indptr, scorer.rows_of(np.arange(scorer.n_columns)))
        classes = scorer.classes[entries]
        order = np.argsort(classes, kind="stable")
        self._bounds = np.searchsorted(classes[order], np.arange(len(scorer.bias) + 1))
        self._columns = entry_rows(bounds)[order]
        self._deltas = scorer.deltas[entries[order]]

    def of(self, k: int) -> Floats:
        """Return the weights of class k, shape (n_features,)."""
        derivation = self._scorer.derivation
        n_features = self._scorer.n_features
        if derivation is None:
            return self.row(k)
        features = np.arange(n_features + 1)
        ones = np.ones(n_features, np.int32)
        indptr, columns, values = derivation.rows(features, features[:-1].astype(np.int32), ones)
        rows = map(self.row, self._scorer.rows_of_class(k))
        total = sum((weights[columns] * values for weights in rows), np.zeros(len(columns)))
        return np.add.reduceat(total, indptr[:-1]) if n_features else total

    def at(self, k: int, columns: Integers) -> Floats:
        """Return the weights of some features in class k, shape (n,)."""
        return (
            self._scorer.column_weights(columns, k)
            if self._scorer.derivation is None
            else self.of(k)[columns]
        )

    def sums(self) -> Floats:
        """Return the sum of all classes' weights, shape (n_features,)."""
        scorer = self._scorer
        return sum(map(self.of, range(scorer.n_classes)), np.zeros(scorer.n_features))

    def row(self, row: int) -> Floats:
        """Return the weights in one partial score, shape (n_columns,)."""
        weights = self._scorer.absent(np.arange(self._scorer.n_columns), row)
        own = slice(self._bounds[row], self._bounds[row + 1])
        weights[self._columns[own]] += self._deltas[own]
        return weights


def derive(documents: DocumentTable, derivation: Derivation) -> DocumentTable:
    """Return the documents over the derived columns."""
    indptr, indices, values = derivation.rows(documents.indptr, documents.indices, documents.counts)
    return replace(documents, indptr=indptr, indices=indices, counts=values)


def round_to_float32(numbers: Floats) -> Floats:
    """Return numbers rounded to those of float32; those that are too large for it become its
    largest.
    """
    largest = np.finfo(np.float32).max
    return np.clip(numbers, -largest, largest).astype(np.float32).astype(np.float64)


def check_derived_columns(n_features: int, derivation: Derivation) -> None:
    """Raise ModelError if there are more derived columns than int32 can number."""
    if n_features * derivation.width > MAX_DERIVED_COLUMNS:
        what = f"{n_features:,} features are too many for this model: it needs {derivation.width} columns for each"
        raise ModelError(
            f"{what}, and supports {MAX_DERIVED_COLUMNS:,} in all",
            hint="use fewer ‹hash_bits›, or ‹min_df› and ‹max_features›",
        )


def log_posterior(scores: Floats) -> Floats:
    """Return each row of scores normalized to log-probabilities over the classes, without overflow
    or underflow.
    """
    shifted = subtract_maxima(scores)
    shifted -= log(exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def subtract_maxima(scores: Floats) -> Floats:
    """Return each row of scores minus its largest one, (n_documents, n_classes)."""
    # several times as fast as the maxima of short rows
    largest = scores[np.arange(len(scores)), scores.argmax(axis=1)]
    return np.asarray(scores - largest[:, None])


def log_share(counts: Array, totals: Array, smoothing: float, *, of: Array | slice = ALL) -> Floats:
    """Return log((counts + smoothing) / totals[of]), element by element; the totals include their
    smoothing.

    With smoothing 0 this is the maximum-likelihood estimate, clipped to [CLIP, 1 - CLIP]; 0 of 0
    counts as 0.
    """
    if smoothing > 0:
        return np.asarray(log(counts + smoothing) - log(totals)[of], np.float64)
    totals = totals[of]
    share = np.divide(
        counts, totals, out=np.zeros(np.broadcast(counts, totals).shape), where=totals > 0
    )
    return np.asarray(log(np.clip(share, CLIP, 1 - CLIP)), np.float64)
