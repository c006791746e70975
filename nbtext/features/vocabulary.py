"""Vocabulary: the names of the features, in the order of the columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.names import pack_names, unpack_names
from nbtext.features.csr import entries_of


class Vocabulary:
    """Sorted, distinct terms, stored as one UTF-8 blob with offsets.

    Terms are sorted by code point, which is also the order of their UTF-8 bytes. Lone surrogates are allowed
    (`surrogatepass`), so every Python string can be a term.

    blob     (n_bytes,) uint8, the terms one after the other
    offsets  (n_features + 1,) int64, the start of each term
    """

    __slots__ = ("__dict__", "blob", "offsets")

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.blob = blob
        self.offsets = offsets

    @classmethod
    def from_terms(cls, terms: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of these terms, sorted and without repetitions."""
        return cls.from_sorted(sorted(set(terms)))

    @classmethod
    def from_sorted(cls, terms: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of terms, which must be sorted and distinct."""
        return cls(*pack_names(terms))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.blob, other.blob)

    __hash__ = None  # type: ignore[assignment]

    def term(self, column: int) -> str:
        """Return the name of one feature."""
        return self.blob[self.offsets[column] : self.offsets[column + 1]].tobytes().decode("utf-8", "surrogatepass")

    @cached_property
    def terms(self) -> list[str]:
        """All names, in the order of the columns."""
        return unpack_names(self.blob, self.offsets)

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each term."""
        return {term: column for column, term in enumerate(self.terms)}

    def columns_of(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the column of each of these terms, which must all be in the vocabulary."""
        return np.fromiter(map(self.columns.__getitem__, terms), dtype=np.int32, count=len(terms))

    def restrict(self, columns: NDArray[np.int64]) -> Vocabulary:
        """Return the vocabulary of these columns only; `columns` is ascending."""
        offsets, positions = entries_of(self.offsets, columns)
        return Vocabulary(self.blob[positions], offsets)
