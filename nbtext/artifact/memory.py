"""Memory for the arrays of an artifact, taken from the system at once."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE_PAGE = 2 << 20
ALIGNMENT = 64  # a cache line


class Memory:
    """Room for arrays of `n_bytes` bytes together, in large pages where the system has them; more is found apart.

    The first touch of a page costs more than reading a file into it: 15 MB in one piece of large pages are
    there in a third of the time that they take array by array.
    """

    __slots__ = ("_free", "_n_bytes", "_room")

    def __init__(self, n_bytes: int) -> None:
        self._n_bytes = n_bytes
        self._room: NDArray[np.uint8] | None = None
        self._free = 0

    def items(self, n_bytes: int) -> NDArray[np.uint8]:
        """An array of so many bytes, not yet filled; of its own where the room is used up."""
        start, stop = self._free, self._free + n_bytes
        if not n_bytes or stop > self._n_bytes:
            return np.empty(n_bytes, dtype=np.uint8)
        if self._room is None:
            self._room = _large_pages(self._n_bytes)
        self._free = stop + -stop % ALIGNMENT
        return self._room[start:stop]


def _large_pages(n_bytes: int) -> NDArray[np.uint8]:
    """So many bytes that nobody else sees, beginning with a large page."""
    room = mmap.mmap(-1, n_bytes + LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        room.madvise(mmap.MADV_HUGEPAGE)
    items = np.frombuffer(room, dtype=np.uint8)
    return items[-items.ctypes.data % LARGE_PAGE :]
