"""Invalid arguments of the compiled kernel raise an error, and never crash."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nbtext.features.csr import SparseWeights
from nbtext.features.vocabulary import Vocabulary
from nbtext.kernel import HAS_KERNEL

kernel = pytest.importorskip("nbtext._kernel", reason="the kernel is not compiled")
pytestmark = pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is switched off")
TOP = Path(__file__).parents[2]


def no_rows(indptr: list[int], indices: list[int], counts: list[int]) -> tuple[NDArray[Any], ...]:
    return np.array(indptr, np.int64), np.array(indices, np.int32), np.array(counts, np.int32)


@pytest.mark.parametrize(
    ("misuse", "error"),
    [
        (lambda: kernel.Counter().rows([[b"bytes"]]), TypeError),
        (lambda: kernel.Counter().rows([["a"], ["b"]]), ValueError),
        (lambda: kernel.Counter().rows([]), ValueError),
        (lambda: kernel.Counter(fields=("a", "b")).rows([["a"], []]), ValueError),
        (lambda: kernel.Counter().count([["a"]], np.zeros(2, np.int32), 0), ValueError),
        (lambda: kernel.Counter().count([["a"]], np.full(1, 2**24, np.int32), 0), OverflowError),
        (lambda: kernel.Counter().count([["a"]], np.zeros(1, np.int64), 0), ValueError),
        (lambda: kernel.Counter().count([["a"]], np.zeros(1, np.int32), -1), OverflowError),
        (
            lambda: kernel.Counter(
                vocabulary=Vocabulary(np.zeros(3, np.uint8), np.array([0, 2, 1, 3]))
            ),
            ValueError,
        ),
        (
            lambda: kernel.Counter(vocabulary=Vocabulary(np.zeros(3, np.uint8), np.array([0, 9]))),
            ValueError,
        ),
        (
            lambda: kernel.Counter(
                vocabulary=Vocabulary(np.zeros(3, np.uint8), np.array([], np.int64))
            ),
            ValueError,
        ),
    ],
)
def test_misuse_is_an_error(misuse: Callable[[], object], error: type[Exception]) -> None:
    """Each invalid argument raises an error."""
    with pytest.raises(error):
        misuse()


@pytest.mark.parametrize(
    "change",
    [
        {"indices": [9]},
        {"indices": [-1]},
        {"indptr": [1, 1]},
        {"values": []},
        {"default": [0.0]},
        {"base": [0.0], "base_scale": [0.0, 0.0]},
        {"starts": [0, 2, 9]},
        {"starts": [0, 2, 1]},
        {"starts": [-1, 2, 2]},
        {"classes": [0, 2]},
        {"classes": [-1, 0]},
        {"bias": [0.0]},
    ],
)
def test_a_scorer_that_fits_nothing_is_an_error(change: dict[str, list[float]]) -> None:
    """Columns, classes and bounds that point elsewhere are found before they are followed."""
    arguments = {
        "indptr": [0, 2],
        "indices": [0, 1],
        "values": [1.0, 1.0],
        "bias": [0.0, 0.0],
        "default": [0.0, 0.0],
        "starts": [0, 2, 2],
        "classes": [0, 1],
        "deltas": [1.0, 1.0],
        "base": None,
        "base_scale": None,
    }
    types = {"indptr": np.int64, "starts": np.int64, "indices": np.int32, "classes": np.int32}
    arrays = {
        name: value if value is None else np.array(value, dtype=types.get(name, np.float64))
        for name, value in (arguments | change).items()
    }
    with pytest.raises(ValueError, match="fit"):
        rows = [arrays.pop(name) for name in ("indptr", "indices", "values")]
        scorer = SparseWeights(*arrays.values())
        kernel.score_rows(*rows, scorer)


def test_the_largest_class_is_a_class() -> None:
    """It is not taken for the end of a feature's entries."""
    largest = np.iinfo(np.int32).max
    one = (np.array([0, 1]), np.array([largest], np.int32), np.array([1]), np.array([2]))
    none = (
        np.zeros(2, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
    )
    for pair, wanted in (((one, none), [1, 2]), ((none, one), [1, 2]), ((one, one), [2, 4])):
        _, classes, *sums = kernel.combine_entries(*pair, 1)
        assert ([classes.tolist()], [array.item() for array in sums]) == ([[largest]], wanted)
