"""What a count counts for: term frequency, inverse document frequency, and the norm of a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.features.settings import FeatureSettings

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weighting:
    """How counts become weights: weight = norm(tf(count) · idf).

    tf    `count`, `binary` (1), `relative` (count / the document's counts together), `log` (1 + ln count)
    norm  `none`, `l1` (the weights of a document sum to 1), `l2` (so do their squares)
    idf   (n_features,), what each feature's rarity counts for; None where it does not matter
    """

    tf: str = "count"
    norm: str = "none"
    idf: Floats | None = None

    @classmethod
    def fitted(
        cls, settings: FeatureSettings, document_frequencies: NDArray[np.int64], *, n_documents: int
    ) -> Weighting:
        """The weighting that the settings ask for, its idf taken from a corpus.

        document_frequencies  (n_features,), the documents that hold each feature
        """
        if settings.idf == "none":
            return cls(settings.tf, settings.norm)
        return cls(
            settings.tf,
            settings.norm,
            inverse_document_frequencies(document_frequencies, n_documents=n_documents, idf=settings.idf),
        )

    @property
    def is_counting(self) -> bool:
        """Whether the weights are whole numbers: counts, or ones."""
        return self.tf in ("count", "binary") and self.norm == "none" and self.idf is None

    @property
    def is_linear(self) -> bool:
        """Whether weights add up as counts do, so that statistics of counts tell those of weights."""
        return self.tf in ("count", "binary") and self.norm == "none"

    def weights(self, indptr: NDArray[Any], indices: NDArray[np.int32], counts: NDArray[Any]) -> NDArray[Any]:
        """The weight of each entry of compressed sparse rows; of the counts' own type where it is a count or one."""
        if self.is_counting:
            return counts if self.tf == "count" else np.ones_like(counts)
        weights = term_frequencies(indptr, counts, tf=self.tf)
        if self.idf is not None:
            weights *= self.idf[indices]
        return normalized(indptr, weights, norm=self.norm)

    def restricted(self, columns: NDArray[np.int64]) -> Weighting:
        """The weighting of these columns only."""
        return self if self.idf is None else Weighting(self.tf, self.norm, self.idf[columns])


def document_frequencies(indices: NDArray[np.int32], *, n_features: int) -> NDArray[np.int64]:
    """The documents that hold each feature, shape (n_features,), from entries that are distinct within a row."""
    return np.bincount(indices, minlength=n_features).astype(np.int64)


def term_frequencies(indptr: NDArray[Any], counts: NDArray[Any], *, tf: str) -> Floats:
    """The weight of each entry within its document, shape (n_entries,)."""
    if tf == "binary":
        return np.ones(len(counts))
    weights = counts.astype(np.float64)
    if tf == "log":
        np.log(weights, out=weights)
        weights += 1.0
    elif tf == "relative":
        weights /= _spread(indptr, row_sums(indptr, weights))
    return weights


def inverse_document_frequencies(document_frequencies: NDArray[np.int64], *, n_documents: int, idf: str) -> Floats:
    """What each feature's rarity counts for, shape (n_features,), natural logarithms.

    For `plain`, a feature of a given vocabulary that no document holds counts as if one did.

    idf     `plain` ln(N/df), `plus-one` ln(N/(df+1)), `smooth` ln((1+N)/(1+df)) + 1
    source  plain: Spärck Jones, A Statistical Interpretation of Term Specificity, 1972; smooth: scikit-learn 1.9,
            TfidfTransformer
    """
    formulas: dict[str, Callable[[Floats], Floats]] = {
        "plain": lambda df: np.log(n_documents / np.maximum(df, 1)),
        "plus-one": lambda df: np.log(n_documents / (df + 1)),
        "smooth": lambda df: np.log((1 + n_documents) / (1 + df)) + 1,
    }
    return formulas[idf](document_frequencies.astype(np.float64))


def normalized(indptr: NDArray[Any], weights: Floats, *, norm: str) -> Floats:
    """The weights with each row's absolute values (l1) or squares (l2) summing to 1; a row of zeros stays."""
    if norm == "none":
        return weights
    lengths = row_sums(indptr, np.abs(weights)) if norm == "l1" else np.sqrt(row_sums(indptr, weights * weights))
    lengths[lengths == 0] = 1
    scaled: Floats = weights / _spread(indptr, lengths)
    return scaled


def row_sums(indptr: NDArray[Any], values: NDArray[Any]) -> Floats:
    """The sum of each row's values, shape (n_documents,); a row's sum does not depend on the other rows."""
    n_rows = len(indptr) - 1
    rows = _spread(indptr, np.arange(n_rows))
    return np.bincount(rows, weights=values, minlength=n_rows).astype(np.float64, copy=False)


def _spread(indptr: NDArray[Any], row_values: NDArray[Any]) -> NDArray[Any]:
    """One value a row, repeated for each of its entries."""
    return np.repeat(row_values, np.diff(indptr))
