"""Write plain data with arrays as `joblib.dump` does, byte for byte (`tests/artifact/test_storage.py`), without joblib.

Importing joblib takes 40 ms. And the bytes of a model must not depend on the installed version of joblib: equal models
have equal bytes, and the reader accepts no other form.

Source: joblib.numpy_pickle. An array is a pickled `NumpyArrayWrapper`, padding, and the items.
"""

from __future__ import annotations

import pickle
from hashlib import sha256
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

# As in joblib, this is the pickler in Python, because the compiled one cannot write bytes between two objects.
PurePickler: Any = pickle._Pickler

PICKLE_PROTOCOL = 4  # Python 3.4 and later read it
ALIGNMENT_BYTES = 16  # to which the items of an array are padded
MODULE, CLASS = "joblib.numpy_pickle", "NumpyArrayWrapper"


class _ArrayWrapper:
    """The object that is pickled in the place of an array, with the name of joblib's class."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.subclass = np.ndarray
        self.shape = array.shape
        self.order = "C"
        self.dtype = array.dtype
        self.allow_mmap = True
        self.numpy_array_alignment_bytes = ALIGNMENT_BYTES


class _Pickler(PurePickler):  # type: ignore[misc]
    """Pickles plain data; arrays are C-contiguous."""

    def __init__(self, file: HashingFile) -> None:
        super().__init__(file, protocol=PICKLE_PROTOCOL)
        self._file = file

    def save(self, value: Any, *options: Any, **named: Any) -> None:
        if type(value) is not np.ndarray:
            super().save(value, *options, **named)
            return
        super().save(_ArrayWrapper(value))
        self.framer.commit_frame(force=True)
        padding = ALIGNMENT_BYTES - (self._file.position + 1) % ALIGNMENT_BYTES
        self._file.write(bytes([padding]) + b"\xff" * padding)
        self._file.write(value.reshape(-1).view(np.uint8).data)

    def save_global(self, value: Any, name: str | None = None) -> None:
        if value is not _ArrayWrapper:
            super().save_global(value, name)
            return
        self.save(MODULE)
        self.save(CLASS)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(value)


class HashingFile:
    """A file that hashes what is written to it, and knows its position even if it is a pipe."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.position = 0
        self.digest = sha256()

    def write(self, data: bytes | memoryview) -> int:
        """Write and hash some bytes."""
        self.position += len(data)
        self.digest.update(data)
        return self._file.write(data)


def write_record(record: dict[str, Any], file: BinaryIO) -> None:
    """Write a record of plain data, and the SHA-256 digest of its bytes."""
    hashing = HashingFile(file)
    _Pickler(hashing).dump(record)
    file.write(hashing.digest.digest())
