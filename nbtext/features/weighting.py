"""Weights of counts: term frequency times inverse document frequency, divided by the norm of the
document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32
from nbtext.features.csr import row_sums, split_columns
from nbtext.features.formulas import (
    INVERSE_DOCUMENT_FREQUENCIES,
    TERM_FREQUENCIES,
    TermFrequency,
)
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views
from nbtext.numerics import log
from nbtext.records import frozen_object


@frozen_object
class Weighting:
    """A fitted weighting: weight = tf(count) * idf / norm.

    Attributes
    ----------
    tf : str
        A key of TERM_FREQUENCIES.
    norm : str
        `none`, `l1` (the absolute weights of a document sum to 1) or `l2` (their squares do).
    idf : (n_features,) float64, or None
        Inverse document frequencies; None for 1.
    """

    # see artifact/record.py
    REMOVED: ClassVar[dict[str, Any]] = {"parameters": {"keys": [], "values": []}}

    tf: str = "count"
    norm: str = "none"
    idf: Floats | None = None

    @classmethod
    def fitted(
        cls,
        settings: FeatureSettings,
        vocabulary: Vocabulary | None,
        frequencies: Integers,
        *,
        n_documents: int,
    ) -> Weighting:
        """Fit the weighting of each view of the settings to the counts of a corpus.

        Parameters
        ----------
        vocabulary : of the corpus; None if features are hashed
        frequencies : (n_features,) int64, the number of documents that have each feature
        """
        bounds = (0, len(frequencies))
        if settings.view:
            assert vocabulary is not None  # for the types: views are not hashed
            bounds = tuple(find_views(vocabulary, settings.view).tolist())
        found = []
        for each, (start, stop) in zip(settings.of_views, pairwise(bounds), strict=True):
            idf = None
            if each.idf != "none":
                idf = inverse_document_frequencies(
                    frequencies[start:stop], n_documents=n_documents, idf=each.idf
                )
            found.append(cls(each.tf, each.norm, idf))
        return cls.join_views(found, bounds)

    @classmethod
    def join_views(cls, views: Sequence[Weighting], bounds: Sequence[int]) -> Weighting:
        """Return the weighting of the features of all views; `bounds` are those of their
        columns.
        """
        is_one = len(views) == 1 or (
            len({each.tf for each in views}) == 1 and all(each.is_counting for each in views)
        )
        return views[0] if is_one else WeightingOfViews(views=tuple(views), bounds=np.array(bounds))

    def split(self, bounds: Integers) -> tuple[Weighting, ...]:
        """Return the weighting of the columns bounds[i]:bounds[i + 1] for each view i."""
        return tuple(
            self.restrict(np.arange(start, stop)) for start, stop in pairwise(bounds.tolist())
        )

    @property
    def is_compiled(self) -> bool:
        """Whether the counting kernel has the formulas, too."""
        return self.term_frequency.is_compiled

    @property
    def term_frequency(self) -> TermFrequency:
        """The record of the term frequency."""
        return TERM_FREQUENCIES[self.tf]

    @property
    def is_counting(self) -> bool:
        """Whether the weights are whole numbers: counts, or binary counts."""
        return self.is_linear and self.idf is None

    @property
    def is_linear(self) -> bool:
        """Whether weights add up as counts do, so that class statistics of weights follow from
        those of counts.
        """
        return self.term_frequency.is_linear and self.norm == "none"

    def weights(self, indptr: Array, indices: Integers32, counts: Array) -> Array:
        """Return the weight of each entry of compressed sparse rows, in the type of `counts` if
        they stay whole.
        """
        if self.is_counting:
            return counts if self.tf == "count" else np.ones_like(counts)
        formula = self.term_frequency.formula
        values = counts.astype(np.float64)
        variables = {"count": values}
        if "length" in formula:
            variables["length"] = np.repeat(row_sums(indptr, values), np.diff(indptr))
        weights = _evaluate(formula, variables, len(values))
        if self.idf is not None:
            weights *= self.idf[indices]
        return normalize(indptr, weights, norm=self.norm)

    def list_idf(self, n_features: int) -> Floats:
        """Return the inverse document frequencies, (n_features,); 1 without them."""
        return np.ones(n_features) if self.idf is None else self.idf

    def restrict(self, columns: Integers) -> Weighting:
        """Return the weighting of these columns only."""
        return self if self.idf is None else Weighting(self.tf, self.norm, self.idf[columns])

    def with_bounds(self, bounds: Integers | None) -> Weighting:
        """Return the weighting of other columns, of views with these bounds; without idf."""
        return self


@frozen_object
class WeightingOfViews(Weighting):
    """A weighting that differs by view: weights and norms are computed within each view. It has no
    tf, idf or norm.

    Attributes
    ----------
    views : tuple of Weighting
        The weighting of each view.
    bounds : (n_views + 1,) int64
        The columns of view i are bounds[i]:bounds[i + 1].
    """

    views: tuple[Weighting, ...] = ()
    bounds: Integers = field(default_factory=lambda: np.zeros(1, np.int64))

    def split(self, bounds: Integers) -> tuple[Weighting, ...]:
        """See Weighting."""
        return self.views

    @property
    def is_compiled(self) -> bool:
        """See Weighting."""
        return all(each.is_compiled for each in self.views)

    @property
    def is_counting(self) -> bool:
        """See Weighting."""
        return all(each.is_counting for each in self.views)

    @property
    def is_linear(self) -> bool:
        """See Weighting."""
        return all(each.is_linear for each in self.views)

    def weights(self, indptr: Array, indices: Integers32, counts: Array) -> Array:
        """See Weighting."""
        values = np.empty(len(counts), counts.dtype if self.is_counting else np.float64)
        for each, (places, ends, own) in zip(
            self.views, split_columns(indptr, indices, self.bounds), strict=True
        ):
            values[places] = each.weights(ends, own, counts[places])
        return values

    def list_idf(self, n_features: int) -> Floats:
        """See Weighting."""
        return np.concatenate(
            [each.list_idf(n) for each, n in zip(self.views, np.diff(self.bounds), strict=True)]
        )

    def with_bounds(self, bounds: Integers | None) -> Weighting:
        """See Weighting."""
        assert bounds is not None  # there are views
        return WeightingOfViews(views=self.views, bounds=bounds)

    def restrict(self, columns: Integers) -> Weighting:
        """See Weighting."""
        places = np.searchsorted(columns, self.bounds)
        parts = zip(self.views, pairwise(places.tolist()), self.bounds.tolist(), strict=False)
        return WeightingOfViews(
            views=tuple(each.restrict(columns[a:b] - start) for each, (a, b), start in parts),
            bounds=places,
        )


def inverse_document_frequencies(
    document_frequencies: Integers, *, n_documents: int, idf: str
) -> Floats:
    """Return the inverse document frequency of each feature, (n_features,) float64.

    Parameters
    ----------
    document_frequencies : (n_features,) int64
    n_documents : int
    idf : str
        A key of INVERSE_DOCUMENT_FREQUENCIES.
    """
    variables = {"df": document_frequencies.astype(np.float64), "n": float(n_documents)}
    return _evaluate(INVERSE_DOCUMENT_FREQUENCIES[idf], variables, len(document_frequencies))


def _evaluate(formula: str, variables: Mapping[str, Any], size: int) -> Floats:
    """Return the values of a formula of the registry, (size,)."""
    value = eval(formula, {**variables, "log": log, "max": np.maximum})
    return np.array(np.broadcast_to(value, size), np.float64)


def normalize(indptr: Array, weights: Floats, *, norm: str) -> Floats:
    """Return weights divided by the norm of their row; a row of zeros does not change."""
    if norm == "none":
        return weights
    norms = (
        row_sums(indptr, np.abs(weights))
        if norm == "l1"
        else np.sqrt(row_sums(indptr, weights * weights))
    )
    norms[norms == 0] = 1
    return np.asarray(weights / np.repeat(norms, np.diff(indptr)))
