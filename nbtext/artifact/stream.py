"""The bytes of a model file, read once, in order, and hashed. Memory is allocated only for bytes that the file has."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.streams import is_broken_link, similar_path
from nbtext.errors import ArtifactError

MAX_PIPE_BYTES = 4 << 30  # the length of a pipe is not known
BUFFER_BYTES = 1 << 16
HEAD_BYTES = 64  # first bytes of a file that is not a model, to recognize its kind
DIGEST_BYTES = 32  # SHA-256
TRAIN_HINT = "give the file that nbtext train wrote"

KNOWN_FILES = (  # first bytes, kind of file, hint
    (b"\x1f\x8b", "is compressed by gzip, and models are not", TRAIN_HINT),
    (b"BZh", "is compressed by bzip2, and models are not", TRAIN_HINT),
    (b"\xfd7zXZ\x00", "is compressed by xz, and models are not", TRAIN_HINT),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd, and models are not", TRAIN_HINT),
    (
        b"PK\x03\x04",
        "looks like a zip archive, such as a matrix file (.npz) or an office document (.docx), not a model",
        TRAIN_HINT,
    ),
    (b"version https://git-lfs", "is a Git LFS pointer, not the model itself", "fetch the model with git lfs pull"),
    (b"{", "looks like JSON, not a model", TRAIN_HINT),
    (b"<", "looks like a web page or XML, not a model", "check that the download did not stop at a login page"),
)


class DamagedError(ArtifactError):
    """The file is damaged."""

    def __init__(self, what: str) -> None:
        super().__init__(f"is damaged: {what}", hint="copy it again, or train the model again")


def foreign_error(what: str) -> ArtifactError:
    """Return the error for content that `save_model` does not write."""
    return ArtifactError(what, hint=TRAIN_HINT)


def code_error(name: str) -> ArtifactError:
    """Return the error for content that would look up or call `name`."""
    short = name if len(name) <= 80 else f"{name[:77]}..."
    return foreign_error(f"holds code ({short}); nbtext never runs what it loads")


class Stream:
    """A file or pipe that is read forwards.

    The content is read, not memory-mapped: it cannot change after it has been audited, and truncating the file does
    not kill the process that reads it.

    Attributes
    ----------
    position : int
        The number of bytes read.
    limit : int
        The number of bytes of a file, or `MAX_PIPE_BYTES` for a pipe.
    """

    def __init__(self, file: Any) -> None:
        n_bytes = _file_size(file)
        self._file = file
        self._is_pipe = n_bytes == 0
        self._digest = sha256()
        self.position = 0
        self.limit = n_bytes or MAX_PIPE_BYTES

    def check_start(self, expected: bytes) -> None:
        """Raise ArtifactError, which names the kind of file, unless the file begins with these bytes."""
        head: bytes = self._file.read(len(expected)) or b""
        if head != expected:
            raise _name_content(head + (self._file.read(HEAD_BYTES) or b""))
        self._advance(head, len(expected))

    def require(self, n_bytes: int) -> None:
        """Raise ArtifactError unless `n_bytes` more bytes can follow."""
        n_left = self.limit - self.position
        if n_bytes > n_left and self._is_pipe:
            hint = "give the model as a file, not through a pipe"
            raise ArtifactError(f"is larger than {MAX_PIPE_BYTES >> 30} GiB, the maximum for a pipe", hint=hint)
        if n_bytes > n_left:
            raise DamagedError(f"{n_bytes:,} bytes should follow, and {n_left:,} do")

    def take(self, n_bytes: int) -> bytes:
        """Return the next `n_bytes` bytes; raise ArtifactError if there are fewer."""
        if n_bytes > self.limit - self.position:
            self.require(n_bytes)
        data: bytes = self._file.read(n_bytes) or b""
        self._advance(data, n_bytes)
        return data

    def take_array(self, n_bytes: int) -> NDArray[np.uint8]:
        """Return the next `n_bytes` bytes as a new array; raise ArtifactError if there are fewer."""
        self.require(n_bytes)
        items = np.empty(n_bytes, dtype=np.uint8)
        n_read = 0
        while n_read < n_bytes and (n_more := self._file.readinto(items[n_read:].data)):
            n_read += n_more
        self._advance(items[:n_read].data, n_bytes)
        return items

    def _advance(self, data: bytes | memoryview, n_bytes: int) -> None:
        self.position += len(data)
        self._digest.update(data)
        if len(data) != n_bytes:
            raise DamagedError(f"it ends early, after {self.position:,} bytes")

    def check_end(self) -> None:
        """Raise ArtifactError unless only the digest of all bytes before it follows."""
        expected = self._digest.digest()
        if self.take(DIGEST_BYTES) != expected:
            raise DamagedError("its checksum does not match")
        if self._file.read(1):
            raise DamagedError("bytes follow its end")


def _name_content(head: bytes) -> ArtifactError:
    """Return the error for a file whose first bytes `head` are not those of a model."""
    if not head:
        return ArtifactError("the file is empty", hint=TRAIN_HINT)
    for magic, what, hint in KNOWN_FILES:
        if head.startswith(magic):
            return ArtifactError(what, hint=hint)
    is_text = not any((byte < 32 and byte not in b"\t\n\r") or byte == 127 for byte in head)
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        is_text = is_text and error.start > len(head) - 4  # the last character may be cut
    return foreign_error("looks like text, not a model" if is_text else "is not a model")


def _file_size(file: BinaryIO) -> int:
    """Return the number of bytes that follow in a regular file, 0 for anything else."""
    try:
        status = os.fstat(file.fileno())
    except io.UnsupportedOperation:  # standard input may be replaced by an object without a descriptor
        return 0
    return status.st_size - file.tell() if stat.S_ISREG(status.st_mode) else 0


@contextmanager
def open_stream(path: str) -> Iterator[Stream]:
    """Open the file at `path`, "-" for standard input; raise ArtifactError if it cannot be read."""
    try:
        if path != "-":
            with open(path, "rb", buffering=BUFFER_BYTES) as file:
                yield Stream(file)
        elif sys.stdin is None:
            raise ArtifactError("is closed", hint="name the model's file instead of -")
        else:
            yield Stream(sys.stdin.buffer)
    except OSError as error:
        raise _unreadable(path, error) from error
    except MemoryError:
        raise ArtifactError("needs more memory than is available") from None


def _unreadable(path: str, error: OSError) -> ArtifactError:
    match error:
        case FileNotFoundError():
            if is_broken_link(path):
                return ArtifactError(
                    "is a symbolic link to a file that does not exist", hint="correct its target (ls -l shows it)"
                )
            similar = similar_path(path) if path else None
            hint = f"did you mean {similar}?" if similar is not None else "nbtext train SOURCE -o MODEL writes a model"
            return ArtifactError("does not exist", hint=hint)
        case IsADirectoryError():
            return foreign_error("is a directory, not a model")
        case PermissionError():
            return ArtifactError("cannot be read: permission denied")
    return ArtifactError(f"cannot be read: {(error.strerror or str(error)).lower()}")
