"""Weights of counts: term frequency times inverse document frequency, divided by the norm of the document."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import ModelError
from nbtext.features.formulas import INVERSE_DOCUMENT_FREQUENCIES, TERM_FREQUENCIES, TermFrequency, evaluate
from nbtext.features.settings import FeatureSettings
from nbtext.records import dataclass

Floats = NDArray[np.float64]
OPERATIONS: dict[str, Callable[..., Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "log": np.log,
    "max": np.maximum,
}


@dataclass(frozen=True, eq=False)
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
    parameters : mapping of str to float
        The numbers in the formula of `tf`, other than those of the document.
    """

    tf: str = "count"
    norm: str = "none"
    idf: Floats | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def fitted(
        cls,
        settings: FeatureSettings,
        document_frequencies: NDArray[np.int64],
        *,
        n_documents: int,
        mean_length: float | None = None,
    ) -> Weighting:
        """Fit the weighting of the settings to a corpus.

        Parameters
        ----------
        document_frequencies : (n_features,) int64
            The number of documents that have each feature.
        n_documents : int
        mean_length : float
            Known tokens in a document of the corpus, on average; None if the counts are weights.

        Raises
        ------
        ModelError
            The formula needs the mean length.
        """
        idf = None
        if settings.idf != "none":
            idf = inverse_document_frequencies(document_frequencies, n_documents=n_documents, idf=settings.idf)
        parameters = {name: float(getattr(settings, name)) for name in TERM_FREQUENCIES[settings.tf].parameters}
        if TERM_FREQUENCIES[settings.tf].needs_mean_length:
            if mean_length is None:
                raise ModelError(
                    f"--tf {settings.tf} cannot be applied to a matrix of weights",
                    hint="make the matrix with nbtext vectorize --weighting counts",
                )
            parameters["mean_length"] = mean_length
        return cls(settings.tf, settings.norm, idf, parameters)

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
        """Whether weights add up as counts do, so that class statistics of weights follow from those of counts."""
        return self.term_frequency.is_linear and self.norm == "none"

    def weights(self, indptr: NDArray[Any], indices: NDArray[np.int32], counts: NDArray[Any]) -> NDArray[Any]:
        """Return the weight of each entry of compressed sparse rows, in the type of `counts` if they stay whole."""
        if self.is_counting:
            return counts if self.tf == "count" else np.ones_like(counts)
        weights = term_frequencies(indptr, counts, tf=self.tf, parameters=self.parameters)
        if self.idf is not None:
            weights *= self.idf[indices]
        return normalize(indptr, weights, norm=self.norm)

    def restrict(self, columns: NDArray[np.int64]) -> Weighting:
        """Return the weighting of these columns only."""
        return self if self.idf is None else Weighting(self.tf, self.norm, self.idf[columns], self.parameters)


def document_frequencies(indices: NDArray[np.int32], *, n_features: int) -> NDArray[np.int64]:
    """Return the number of documents that have each feature, (n_features,); a row must not repeat a feature."""
    return np.bincount(indices, minlength=n_features).astype(np.int64)


def term_frequencies(
    indptr: NDArray[Any], counts: NDArray[Any], *, tf: str, parameters: Mapping[str, float] | None = None
) -> Floats:
    """Return the term frequency of each entry, (n_entries,) float64."""
    formula, values = TERM_FREQUENCIES[tf].formula, counts.astype(np.float64)
    variables: dict[str, Any] = {"count": values, **(parameters or {})}
    if "length" in formula:
        variables["length"] = np.repeat(row_sums(indptr, values), np.diff(indptr))
    return np.array(np.broadcast_to(evaluate(formula, variables, OPERATIONS, float), len(values)))


def inverse_document_frequencies(document_frequencies: NDArray[np.int64], *, n_documents: int, idf: str) -> Floats:
    """Return the inverse document frequency of each feature, (n_features,) float64.

    Parameters
    ----------
    document_frequencies : (n_features,) int64
    n_documents : int
    idf : str
        A key of INVERSE_DOCUMENT_FREQUENCIES.
    """
    variables: dict[str, Any] = {"df": document_frequencies.astype(np.float64), "n": n_documents}
    value = evaluate(INVERSE_DOCUMENT_FREQUENCIES[idf], variables, OPERATIONS, float)
    return np.array(np.broadcast_to(value, len(document_frequencies)))


def normalize(indptr: NDArray[Any], weights: Floats, *, norm: str) -> Floats:
    """Return weights divided by the norm of their row; a row of zeros does not change."""
    if norm == "none":
        return weights
    norms = row_sums(indptr, np.abs(weights)) if norm == "l1" else np.sqrt(row_sums(indptr, weights * weights))
    norms[norms == 0] = 1
    return np.asarray(weights / np.repeat(norms, np.diff(indptr)))


def row_sums(indptr: NDArray[Any], values: NDArray[Any]) -> Floats:
    """Return the sum of each row's values, (n_documents,); it does not depend on the other rows."""
    n_rows = len(indptr) - 1
    rows = np.repeat(np.arange(n_rows), np.diff(indptr))
    return np.bincount(rows, weights=values, minlength=n_rows).astype(np.float64, copy=False)
