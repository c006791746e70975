"""Columns made of features, for models that are linear in more than the features themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts

Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]  # indptr, indices and values, as CSR has them
MOST_COLUMNS = 2**31 - 1  # that int32 can number


class Derivation(Protocol):
    """What becomes of a document's row of features; feature j owns the columns from j · width on.

    height  scores that are added up to one class's: class k has those from k on, n_classes apart
    """

    @property
    def height(self) -> int: ...

    @property
    def width(self) -> int:
        """Columns of each feature."""

    def rows(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> Rows:
        """The rows over the derived columns, ascending as those given are."""


@dataclass(frozen=True, slots=True)
class Values:
    """An indicator for each value of a feature but 0: value v >= 1 of feature j is a 1 in column j(m − 1) + v − 1.

    n_values  m >= 2: counts are told apart from 0 to m − 1, and higher ones count as m − 1
    """

    n_values: int
    height: ClassVar[int] = 1

    @property
    def width(self) -> int:
        return self.n_values - 1

    def rows(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> Rows:
        capped = np.minimum(values, self.width).astype(np.int32)
        return indptr, indices * np.int32(self.width) + capped - np.int32(1), np.ones(len(indices), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Powers:
    """A feature's weight in column 2j, and its square in column 2j + 1.

    Two scores make one: what is vast is added up apart from what is not, so that it leaves no rounding behind where
    it cancels out.
    """

    width: ClassVar[int] = 2
    height: ClassVar[int] = 2

    def rows(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> Rows:
        weights = values.astype(np.float64)
        columns = np.stack((2 * indices, 2 * indices + 1), axis=1).reshape(-1)
        return 2 * indptr, columns, np.stack((weights, weights * weights), axis=1).reshape(-1)


def derive(documents: DocumentCounts, derivation: Derivation) -> DocumentCounts:
    """The documents over the derived columns."""
    indptr, indices, values = derivation.rows(documents.indptr, documents.indices, documents.counts)
    return replace(documents, indptr=indptr, indices=indices, counts=values)


def check_columns(n_features: int, derivation: Derivation) -> None:
    """Raise ModelError where there are more derived columns than can be numbered."""
    if n_features * derivation.width > MOST_COLUMNS:
        raise ModelError(
            f"{n_features:,} features make more columns than can be told apart",
            hint="use fewer --hash-bits, or --min-df and --max-features",
        )
