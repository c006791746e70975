"""Where an artifact's bytes come from: a file, a pipe, or either of them compressed, each with a bound."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from nbtext.artifact import refusals
from nbtext.artifact.compression import PackedFile, unpacked, unpacked_limit, unpacks_too_far
from nbtext.artifact.memory import Memory
from nbtext.artifact.recognition import HEAD_BYTES, compression_of, refuse_foreign
from nbtext.documents.similar import is_broken_link, similar_path
from nbtext.errors import ArtifactError

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIPE_BYTES = 4 << 30  # what is read from a pipe at most
BUFFER_BYTES = 1 << 16


class Stream:
    """Bytes that are read once, in order, and known to be there (or possible) before memory is asked for.

    They are read, not mapped: what has been audited must not change afterwards, and truncating a mapped file
    kills whoever reads it.

    position  how many bytes have been read
    limit     how many there are; where `excess` is given, how many there may be, and that is the error of more
    """

    __slots__ = ("_excess", "_file", "_memory", "limit", "position")

    def __init__(self, file: Any, limit: int, *, excess: ArtifactError | None = None) -> None:
        self._file = file
        self._memory = Memory(0 if excess else limit)
        self._excess = excess
        self.position = 0
        self.limit = limit

    def expect(self, n_bytes: int) -> None:
        """Raise ArtifactError unless `n_bytes` more bytes can be there."""
        n_left = self.limit - self.position
        if n_bytes > n_left:
            raise self._excess or refusals.damaged(f"{n_bytes:,} bytes are announced, {n_left:,} are left")

    def take(self, n_bytes: int) -> bytes:
        """The next `n_bytes` bytes; ArtifactError where they are not there."""
        if n_bytes > self.limit - self.position:
            self.expect(n_bytes)
        data: bytes = self._file.read(n_bytes) or b""
        if len(data) != n_bytes:
            raise self._ends_early(len(data))
        self.position += n_bytes
        return data

    def line(self, n_bytes: int) -> bytes:
        """The next line without its end; ArtifactError where it is longer than `n_bytes` or has no end."""
        data: bytes = self._file.readline(n_bytes + 1)
        self.position += len(data)
        if not data.endswith(b"\n"):
            raise refusals.damaged("a line has no end")
        return data[:-1]

    def items(self, n_bytes: int) -> NDArray[np.uint8]:
        """The next `n_bytes` bytes as an array of their own; ArtifactError where they are not there."""
        self.expect(n_bytes)
        items = self._memory.items(n_bytes)
        n_read = 0
        while n_read < n_bytes and (n_more := self._file.readinto(items[n_read:].data)):
            n_read += n_more
        if n_read != n_bytes:
            raise self._ends_early(n_read)
        self.position += n_bytes
        return items

    def is_at_end(self) -> bool:
        """Whether no byte follows."""
        return not self._file.read(1)

    def _ends_early(self, n_read: int) -> ArtifactError:
        return refusals.damaged(f"it ends early, after {self.position + n_read:,} bytes")


@contextmanager
def open_stream(path: str) -> Iterator[Stream]:
    """The bytes of the artifact at `path`, "-" being standard input, unpacked where they are compressed.

    raises  ArtifactError: it cannot be read, or it is something else that has a name
    """
    try:
        with _opened(path) as file:
            yield _stream(file)
    except OSError as error:
        raise _unreadable(error) from error
    except MemoryError:
        raise ArtifactError("needs more memory than there is") from None


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    if path != "-":
        with open(path, "rb", buffering=BUFFER_BYTES) as file:
            yield file
    elif sys.stdin is None:
        raise ArtifactError("is closed", hint="name the model's file instead of -")
    else:
        yield sys.stdin.buffer


def _stream(file: BinaryIO) -> Stream:
    n_bytes = _file_size(file)
    head = file.read(HEAD_BYTES)
    refuse_foreign(head)
    whole = io.BufferedReader(_Rejoined(head, file), BUFFER_BYTES)
    if compression := compression_of(head):
        return _unpacked_stream(whole, compression, n_bytes or PIPE_BYTES)
    return Stream(whole, n_bytes) if n_bytes else Stream(whole, PIPE_BYTES, excess=_too_long())


def _unpacked_stream(packed: PackedFile, compression: str, n_packed: int) -> Stream:
    file = unpacked(packed, compression)
    refuse_foreign(file.peek(HEAD_BYTES)[:HEAD_BYTES])
    return Stream(file, unpacked_limit(n_packed), excess=unpacks_too_far())


def _too_long() -> ArtifactError:
    return ArtifactError(f"is larger than {PIPE_BYTES >> 30} GiB", hint="give the model as a file, not through a pipe")


def _file_size(file: BinaryIO) -> int:
    """How many bytes a regular file still has, 0 where it is something else."""
    try:
        status = os.fstat(file.fileno())
    except io.UnsupportedOperation:  # a stand-in for standard input
        return 0
    return status.st_size - file.tell() if stat.S_ISREG(status.st_mode) else 0


class _Rejoined(io.RawIOBase):
    """A file whose first bytes have been looked at already."""

    def __init__(self, head: bytes, rest: Any) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        if not self._head:
            return self._rest.readinto(memory) or 0
        n_bytes = min(len(self._head), len(memory))
        memory[:n_bytes], self._head = self._head[:n_bytes], self._head[n_bytes:]
        return n_bytes


def _unreadable(error: OSError) -> ArtifactError:
    match error:
        case FileNotFoundError():
            path = os.fsdecode(error.filename or "")
            if is_broken_link(path):
                return ArtifactError("is a symbolic link to what does not exist", hint="see where it leads: ls -l")
            similar = similar_path(path) if path else None
            hint = f"did you mean {similar}?" if similar is not None else "nbtext train SOURCE -o MODEL writes a model"
            return ArtifactError("does not exist", hint=hint)
        case IsADirectoryError():
            return refusals.foreign("is a directory, not a model")
        case PermissionError():
            return ArtifactError("cannot be read: permission denied")
    return ArtifactError(f"cannot be read: {(error.strerror or str(error)).lower()}")
