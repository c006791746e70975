"""Compressed sparse rows as plain arrays, entries indptr[i]:indptr[i + 1] for row i; sparse weights
of classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nbtext.arrays import Array, Floats, Integers, Integers32
from nbtext.kernel import choose_version
from nbtext.records import frozen_object

# rows whose entries are copied or sorted together, so that they stay in the cache
ROWS_COPIED_AT_ONCE = 512


def running_sums(values: Array | Sequence[int]) -> Integers:
    """Return cumulative sums that begin with 0, shape (n + 1,)."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def entry_rows(indptr: Array) -> Integers:
    """Return the row of each entry, (n_entries,)."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def row_sums(indptr: Array, values: Array) -> Floats:
    """Return the sum of each row's values, (n_rows,); it does not depend on the other rows.

    values  (n_entries,); sums of whole numbers below 2**53 are exact
    """
    if np.issubdtype(values.dtype, np.integer) and len(values):  # eight times as fast
        sums = np.zeros(len(indptr) - 1)
        filled = np.flatnonzero(np.diff(indptr))
        sums[filled] = np.add.reduceat(values, indptr[filled] - indptr[0], dtype=np.int64)
        return sums
    return np.bincount(entry_rows(indptr), values, len(indptr) - 1).astype(np.float64, copy=False)


def find_places(numbers: Array, n: int) -> Integers32:
    """Return the place of each number from 0 to n - 1 among some numbers, (n,); -1: it is not one
    of them.
    """
    places = np.full(n, -1, np.int32)
    places[numbers] = np.arange(len(numbers), dtype=np.int32)
    return places


def entries_of(indptr: Array, rows: Array) -> tuple[Integers, Integers]:
    """Return the bounds of selected rows, concatenated, and the positions of their entries among
    all entries.
    """
    starts = indptr[rows]
    lengths = indptr[rows + 1] - starts
    bounds = running_sums(lengths)
    positions = np.arange(bounds[-1])
    positions += np.repeat(starts - bounds[:-1], lengths)
    return bounds, positions


def join_bounds(bounds: Iterable[Array]) -> Integers:
    """Return the bounds of all rows of several parts, one part after the other."""
    return running_sums(np.concatenate([np.zeros(0, np.int64), *map(np.diff, bounds)]))


def run_starts(keys: Array) -> Integers:
    """Return the start of each run of equal keys."""
    return np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1])))


def row_keys(indptr: Integers, indices: Integers32) -> Integers:
    """Return a number for each entry: its row, and its column in the low 32 bits."""
    return entry_rows(indptr) << 32 | indices


def take_rows(indptr: Array, values: Sequence[Array], rows: Array) -> tuple[Integers, list[Array]]:
    """Return the bounds of selected rows, in this order, and the values of their entries.

    values  arrays (n_entries,)
    """
    bounds, entries = entries_of(indptr, rows)
    return bounds, [each[entries] for each in values]


def join_columns(
    parts: Sequence[tuple[Integers, Integers32, Array]],
) -> tuple[Integers, Integers32, Array]:
    """Return rows that hold the entries of the same row of each part, part by part: (indptr,
    indices, counts).
    """
    bounds, *values = zip(*parts, strict=True)
    n = len(parts)
    rows = np.arange(n * (len(bounds[0]) - 1)).reshape(n, -1).T.ravel()
    joined, (indices, counts) = take_rows(
        join_bounds(bounds), [np.concatenate(each) for each in values], rows
    )
    return joined[::n].copy(), indices, counts


def split_columns(
    indptr: Integers, indices: Integers32, bounds: Integers
) -> Iterator[tuple[Integers, Integers, Integers32]]:
    """Yield the entries of rows in each range of columns bounds[i]:bounds[i + 1]: their places,
    indptr and indices.
    """
    for start, stop in pairwise(bounds.tolist()):
        places = np.flatnonzero((indices >= start) & (indices < stop))
        yield places, np.searchsorted(places, indptr), indices[places] - np.int32(start)


def select_class(
    indptr: Integers,
    classes: Integers32,
    values: Array,
    features: Array,
    k: int,
) -> Array:
    """Return the values of some features in a class, from a feature-major list of entries; 0 where
    there is none.
    """
    bounds, entries = entries_of(indptr, features)
    is_own = classes[entries] == k
    found = np.zeros(len(features), values.dtype)
    found[entry_rows(bounds)[is_own]] = values[entries[is_own]]
    return found


def entry_positions(
    indptr: Integers,
    indices: Integers32,
    row_classes: Integers32,
    w_indptr: Integers,
    w_classes: Integers32,
) -> Integers:
    """Return, for each entry of the rows, the index of (feature, class of the row) in a
    feature-major list of entries.

    raises  ValueError: an entry is not in the list
    """
    n_classes = max(row_classes.max(initial=0), w_classes.max(initial=0)) + 1
    listed = entry_rows(w_indptr) * n_classes + w_classes
    wanted = indices.astype(np.int64) * n_classes + np.repeat(row_classes, np.diff(indptr))
    positions: Integers = np.searchsorted(listed, wanted)
    if not np.array_equal(np.append(listed, -1)[positions], wanted):
        raise ValueError("the list of entries lacks an entry of the rows")
    return positions


entry_positions = choose_version(entry_positions)
take_rows = choose_version(take_rows)


@frozen_object
class SparseWeights:
    """scores = X @ weights.T + bias, one score for each class.

    Most features do not occur in most classes, and have the same weight there. So only differences
    are stored: weights[k, j] = default[k] + base_scale[k] · base[j] + delta[k, j], with a sparse
    delta, feature by feature. If documents are counted in several views, each view has its own
    default.

    bias     (K,)
    default  (K,), the weight of a feature that does not occur in the class; (n_views * K,) if there
             are bounds
    indptr   (n_rows + 1,) int64, classes (n_entries,) int32, deltas (n_entries,): the entries of
             each row
    base     (V,) or None, base_scale (K,) or None: the part of the weights that is the same in all
             classes (complement)
    bounds   (n_views + 1,) int64 or None: the columns of view i are bounds[i]:bounds[i + 1]
    rows     (V,) int32, the row that has feature j's entries; None: row j. Features with equal
             entries share a row
    """

    bias: Floats
    default: Floats
    indptr: Integers
    classes: Integers32
    deltas: Floats
    base: Floats | None = None
    base_scale: Floats | None = None
    bounds: Integers | None = None
    rows: Integers32 | None = None

    @property
    def n_columns(self) -> int:
        return len(self.indptr) - 1 if self.rows is None else len(self.rows)

    def rows_of(self, columns: Array) -> Array:
        """Return the row that has the entries of each of these features."""
        return columns if self.rows is None else self.rows[columns]

    def split(self, bounds: Integers) -> tuple[Self, ...]:
        """Return the weights of the columns bounds[i]:bounds[i + 1] for each view i; the bias is in
        the first one.
        """
        found = []
        n_classes = len(self.bias)
        for view, (start, stop) in enumerate(pairwise(bounds.tolist())):
            own = (
                slice(None)
                if self.bounds is None
                else slice(view * n_classes, (view + 1) * n_classes)
            )
            part = replace(
                self,
                bias=self.bias if view == 0 else np.zeros(n_classes),
                default=self.default[own],
                base=None if self.base is None else self.base[start:stop],
                bounds=None,
            )
            if self.rows is None:
                indptr = self.indptr[start : stop + 1]
                cells = slice(indptr[0], indptr[-1])
                part = replace(
                    part,
                    indptr=indptr - indptr[0],
                    classes=self.classes[cells],
                    deltas=self.deltas[cells],
                )
            else:
                part = replace(part, rows=self.rows[start:stop])
            found.append(part)
        return tuple(found)

    def list_defaults(self, n_views: int) -> Floats:
        """Return the default weights of each view, (n_views * K,)."""
        return np.tile(self.default, n_views) if self.bounds is None else self.default

    def default_of(self, columns: NDArray[np.integer], k: int) -> Floats:
        """Return the default weight of some columns in class k, (n,)."""
        if self.bounds is None:
            return np.full(len(columns), self.default[k])
        views = np.searchsorted(self.bounds, columns, "right") - 1
        return self.default[views * len(self.bias) + k]

    def weights(self) -> Floats:
        """Return the weights as one dense matrix, shape (K, V), for inspection; predicting uses the
        sparse ones.
        """
        columns = np.arange(self.n_columns)
        dense = np.stack([self.default_of(columns, k) for k in range(len(self.bias))])
        if self.base is not None and self.base_scale is not None:
            dense += np.outer(self.base_scale, self.base)
        bounds, entries = entries_of(self.indptr, self.rows_of(columns))
        dense[self.classes[entries], np.repeat(columns, np.diff(bounds))] += self.deltas[entries]
        return dense
