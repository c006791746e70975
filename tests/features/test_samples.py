"""Rows of a sample, compiled and in plain Python: the same, and careful."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.features import twins


def both() -> list[ModuleType]:
    """The twins, and the kernel where it is compiled."""
    try:
        from nbtext.features import _kernel
    except ImportError:
        return [twins]
    return [twins, _kernel]


matrices = st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=6).map(np.array)


def rows_of(matrix: NDArray[np.int64], dtype: type) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.generic]]:
    rows, columns = np.nonzero(matrix)
    indptr = np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int64)
    return indptr, columns.astype(np.int32), matrix[rows, columns].astype(dtype)


@given(matrix=matrices, data=st.data(), dtype=st.sampled_from([np.int32, np.float64]))
def test_rows_are_taken_in_any_order(matrix: NDArray[np.int64], data: st.DataObject, dtype: type) -> None:
    """The rows taken are those of the matrix, repeated and reordered as asked."""
    picked = np.array(data.draw(st.lists(st.integers(0, len(matrix) - 1), max_size=8)), dtype=np.int64)
    expected = rows_of(matrix[picked], dtype)
    for module in both():
        found = module.take_rows(*rows_of(matrix, dtype), picked)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype


@given(matrix=matrices, data=st.data())
def test_entries_are_found(matrix: NDArray[np.int64], data: st.DataObject) -> None:
    """Each entry of a row is found where its feature and the row's class stand in a feature-major list."""
    classes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(matrix), max_size=len(matrix))), np.int32)
    indptr, indices, _ = rows_of(matrix, np.int32)
    row_classes = np.repeat(classes, np.diff(indptr))
    listed = sorted(set(zip(indices.tolist(), row_classes.tolist(), strict=True)))
    w_indptr = np.searchsorted([feature for feature, _ in listed], np.arange(4)).astype(np.int64)
    w_classes = np.array([k for _, k in listed], dtype=np.int32)
    for module in both():
        positions = module.entry_positions(indptr, indices, classes, w_indptr, w_classes)
        assert [listed[p] for p in positions] == list(zip(indices.tolist(), row_classes.tolist(), strict=True))


@pytest.mark.parametrize("module", both(), ids=lambda module: module.__name__)
def test_rows_that_are_no_part_of_the_entries(module: ModuleType) -> None:
    """A feature that the class never used is an error, and not a wrong position."""
    indptr, indices = np.array([0, 1]), np.array([1], dtype=np.int32)
    for w_indptr, w_classes in (([0, 0, 1], [1]), ([0, 1, 1], [0]), ([0, 0, 0], [])):
        with pytest.raises(ValueError, match="no part"):
            module.entry_positions(
                indptr, indices, np.zeros(1, np.int32), np.array(w_indptr), np.array(w_classes, dtype=np.int32)
            )
