"""Many names as two arrays, as matrix files, models and vocabularies have them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def packed(names: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Names as UTF-8 bytes one after the other, and where each begins; lone surrogates are kept."""
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpacked(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """The names that `packed` packed.

    raises  UnicodeDecodeError: they are no UTF-8
    """
    data, bounds = blob.tobytes(), offsets.tolist()
    return [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(bounds)]
