"""The sparse linear scorer to which every model compiles, and the contributions of features to its scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import ModelError
from nbtext.features.counting import score_rows
from nbtext.features.csr import SparseWeights, select_class, split_columns
from nbtext.features.document_counts import DocumentCounts
from nbtext.records import dataclass

Floats = NDArray[np.float64]
Csr = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]  # indptr, indices, values
ALL = slice(None)
CLIP = 1e-14  # without smoothing, probabilities stay within [CLIP, 1 - CLIP], so that each has a finite logarithm
MAX_COLUMNS = 2**31 - 1  # that int32 can number


class Derivation(Protocol):
    """Columns that a scorer derives from features; feature j owns the columns from j · width on."""

    @property
    def width(self) -> int:
        """Number of columns for each feature."""

    @property
    def height(self) -> int:
        """Number of partial scores whose sum is a class's score: k, k + n_classes, and so on for class k."""

    def rows(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> Csr:
        """Return the rows over the derived columns; they are ascending if the given ones are."""


@dataclass(frozen=True, eq=False)
class LinearScorer(SparseWeights):
    """The weights by which a model scores classes. The scores of a probabilistic model are natural logarithms.

    derivation  derives columns from features; None: each feature is a column. With a derivation, the "features" of
                SparseWeights are columns, and its "classes" are partial scores
    """

    derivation: Derivation | None = None

    @property
    def n_classes(self) -> int:
        return len(self.bias) if self.derivation is None else len(self.bias) // self.derivation.height

    @property
    def n_features(self) -> int:
        return self.n_columns if self.derivation is None else self.n_columns // self.derivation.width

    def with_prior(self, log_prior: Floats) -> LinearScorer:
        """Return the scorer of the joint probability: each class's log prior is added to its bias."""
        return replace(self, bias=self.bias + np.pad(log_prior, (0, len(self.bias) - len(log_prior))))

    def scores(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> Floats:
        """Return the scores of documents in compressed sparse rows of features, shape (n_documents, n_classes)."""
        if self.derivation is not None:
            indptr, indices, values = self.derivation.rows(indptr, indices, values)
        if self.bounds is not None:
            rows = zip(split_columns(indptr, indices, self.bounds), self.split(self.bounds), strict=True)
            return np.asarray(sum(score_rows(ends, own, values[places], view) for (places, ends, own), view in rows))
        scores = score_rows(indptr, indices, values, self)
        if self.derivation is None or self.derivation.height == 1:
            return scores
        return np.asarray(scores.reshape(len(scores), self.derivation.height, self.n_classes).sum(axis=1))

    def bias_of(self, k: int) -> float:
        """Return the score of class k for a document without features."""
        return float(sum(self.bias[row] for row in self._rows(k)))

    def contributions(self, indices: NDArray[np.int32], values: NDArray[Any], k: int) -> Floats:
        """Return what each feature of one document adds to the score of class k, shape (n_entries,).

        The sum of the contributions and `bias_of(k)` is the score.

        indices  (n_entries,), the document's features, ascending
        values   (n_entries,), their weights in the document
        """
        n_entries = len(indices)
        owners = np.arange(n_entries)
        if self.derivation is not None:
            indptr, indices, values = self.derivation.rows(np.arange(n_entries + 1), indices, values)
            owners = np.repeat(owners, np.diff(indptr))
        parts = sum((self.column_weights(indices, row) for row in self._rows(k)), np.zeros(len(indices))) * values
        return np.bincount(owners, weights=parts, minlength=n_entries).astype(np.float64, copy=False)

    def _rows(self, k: int) -> list[int]:
        """Return the numbers of the partial scores whose sum is the score of class k."""
        height = 1 if self.derivation is None else self.derivation.height
        return [k + part * self.n_classes for part in range(height)]

    def column_weights(self, columns: NDArray[np.integer], row: int) -> Floats:
        """Return the weights of some columns in one partial score, shape (n,)."""
        own: Floats = select_class(self.indptr, self.classes, self.deltas, columns, row)
        return self.absent(columns, row) + own

    def absent(self, columns: NDArray[np.integer], row: int) -> Floats:
        """Return the weights of some columns in a partial score that stores none for them, shape (n,)."""
        weights = self.default_of(columns, row)
        if self.base is not None and self.base_scale is not None:
            weights += self.base_scale[row] * self.base[columns]
        return weights


class ClassWeights:
    """Computes dense weights, one class at a time, so that the inspection of many classes takes little memory.

    With derived columns, the weight of a feature is what a value of 1 adds to the score.
    """

    def __init__(self, scorer: LinearScorer) -> None:
        self._scorer = scorer
        self._order = np.argsort(scorer.classes, kind="stable")
        self._bounds = np.searchsorted(scorer.classes[self._order], np.arange(len(scorer.bias) + 1))
        self._columns = np.repeat(np.arange(scorer.n_columns), np.diff(scorer.indptr))[self._order]

    def of(self, k: int) -> Floats:
        """Return the weights of class k, shape (n_features,)."""
        derivation, n_features = self._scorer.derivation, self._scorer.n_features
        if derivation is None:
            return self.row(k)
        ones = np.ones(n_features, dtype=np.int32)
        indptr, columns, values = derivation.rows(
            np.arange(n_features + 1), np.arange(n_features, dtype=np.int32), ones
        )
        rows = range(k, len(self._scorer.bias), self._scorer.n_classes)
        total = sum((self.row(row)[columns] * values for row in rows), np.zeros(len(columns)))
        return np.add.reduceat(total, indptr[:-1]) if n_features else total

    def at(self, k: int, columns: NDArray[np.int64]) -> Floats:
        """Return the weights of some features in class k, shape (n,)."""
        return self._scorer.column_weights(columns, k) if self._scorer.derivation is None else self.of(k)[columns]

    def entries(self, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the features for which class k stores a weight, and these weights; only without a derivation."""
        own = slice(self._bounds[k], self._bounds[k + 1])
        columns = self._columns[own]
        return columns, self._scorer.absent(columns, k) + self._scorer.deltas[self._order[own]]

    def common(self) -> Floats | None:
        """Return the weights, (n_features,), of features in a class that does not have them, up to a constant.

        None: classes differ in more than a constant.
        """
        scorer = self._scorer
        is_scaled = scorer.base_scale is not None and np.ptp(scorer.base_scale) > 0
        if scorer.derivation is not None or scorer.bounds is not None or is_scaled:
            return None
        return scorer.absent(np.arange(scorer.n_columns), 0) if len(scorer.bias) else None

    def sums(self) -> Floats:
        """Return the sum of all classes' weights, shape (n_features,)."""
        if self._scorer.derivation is not None:
            return sum((self.of(k) for k in range(self._scorer.n_classes)), np.zeros(self._scorer.n_features))
        scorer = self._scorer
        columns = np.arange(scorer.n_columns)
        total = sum((scorer.default_of(columns, row) for row in range(len(scorer.bias))), np.zeros(len(columns)))
        total += np.bincount(self._columns, weights=scorer.deltas[self._order], minlength=scorer.n_columns)
        if scorer.base is not None and scorer.base_scale is not None:
            total += scorer.base_scale.sum() * scorer.base
        return total

    def row(self, row: int) -> Floats:
        """Return the weights in one partial score, shape (n_columns,)."""
        scorer, own = self._scorer, slice(self._bounds[row], self._bounds[row + 1])
        weights = scorer.absent(np.arange(scorer.n_columns), row)
        weights[self._columns[own]] += scorer.deltas[self._order[own]]
        return weights


def derive(documents: DocumentCounts, derivation: Derivation) -> DocumentCounts:
    """Return the documents over the derived columns."""
    indptr, indices, values = derivation.rows(documents.indptr, documents.indices, documents.counts)
    return replace(documents, indptr=indptr, indices=indices, counts=values)


def check_columns(n_features: int, derivation: Derivation) -> None:
    """Raise ModelError if there are more derived columns than int32 can number."""
    if n_features * derivation.width > MAX_COLUMNS:
        raise ModelError(
            f"{n_features:,} features are too many for this model: it needs {derivation.width} columns for each, and "
            f"supports {MAX_COLUMNS:,} in all",
            hint="use fewer --hash-bits, or --min-df and --max-features",
        )


def log_posterior(scores: Floats) -> Floats:
    """Return each row of scores normalized to log-probabilities over the classes, without overflow or underflow."""
    shifted = subtract_maxima(scores)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def subtract_maxima(scores: Floats) -> Floats:
    """Return each row of scores minus its largest one, (n_documents, n_classes)."""
    largest = scores[np.arange(len(scores)), scores.argmax(axis=1)]  # several times as fast as the maxima of short rows
    return np.asarray(scores - largest[:, None])


def log_share(
    counts: NDArray[Any], totals: NDArray[Any], smoothing: float, *, of: NDArray[Any] | slice = ALL
) -> Floats:
    """Return log((counts + smoothing) / totals[of]), element by element; the totals include their smoothing.

    With smoothing 0 this is the maximum-likelihood estimate, clipped to [CLIP, 1 - CLIP]; 0 of 0 counts as 0.
    """
    if smoothing > 0:
        return np.asarray(np.log(counts + smoothing) - np.log(totals)[of], dtype=np.float64)
    totals = totals[of]
    share = np.divide(counts, totals, out=np.zeros(np.broadcast(counts, totals).shape), where=totals > 0)
    return np.asarray(np.log(np.clip(share, CLIP, 1 - CLIP)), dtype=np.float64)
