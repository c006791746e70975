"""Many names as two arrays, which matrix files, models and vocabularies contain."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def pack_names(names: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return names as UTF-8 bytes one after the other, and the offset of each; lone surrogates are kept.

    Returns
    -------
    blob : array of shape (n_bytes,), uint8
    offsets : array of shape (n_names + 1,), int64
        Name i is `blob[offsets[i]:offsets[i + 1]]`.
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_names(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return the names that `pack_names` packed.

    Raises
    ------
    UnicodeDecodeError
        The names are not valid UTF-8.
    """
    data, bounds = blob.tobytes(), offsets.tolist()
    return [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(bounds)]
