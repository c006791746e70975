"""A file of JSON lines to which one process at a time appends, each line on the disk before it is confirmed."""

from __future__ import annotations

import json
import os
import stat

from nbtext.errors import OutputError
from nbtext.output import BINARY, convert_errors, lock_descriptor

TAIL = 1 << 16  # bytes that are read at once to find the last line


class AppendedFile:
    """A locked file of JSON lines that only grows, or loses its last lines.

    A line that the last process did not complete was not confirmed to anyone, and is removed when the file is opened.
    Another program may move the file away: `append` then makes a new one.

    Parameters
    ----------
    path
        The file; it is made, with its folder, if it does not exist.
    hint
        What the user can do if the file cannot be opened.

    Raises
    ------
    OutputError
        The file cannot be opened, or another process appends to it.
    """

    def __init__(self, path: str, *, hint: str) -> None:
        self.path = path
        self._hint = hint
        self._descriptor = -1
        self._open()

    def append(self, lines: bytes) -> None:
        """Append lines, all or none, and return when they are on the disk; OSError if they cannot be written."""
        if self._is_moved():
            self._open()
        size = os.fstat(self._descriptor).st_size
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise

    def read(self) -> bytes:
        """Return all lines."""
        with open(self.path, "rb") as file:
            return file.read()

    def remove_end(self, n_bytes: int) -> None:
        """Remove the last bytes, and return when this is on the disk."""
        with convert_errors(self.path):
            if self._is_moved():
                raise OutputError("it was moved or deleted by another program", where=self.path, hint=self._hint)
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - n_bytes)
            os.fsync(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_moved(self) -> bool:
        if self._descriptor < 0:  # the last attempt to open a new file failed
            return True
        try:
            return not os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))
        except FileNotFoundError:
            return True

    def _open(self) -> None:
        self.close()
        try:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            what = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise OutputError(what, where=self.path, hint=self._hint) from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputError("is not a regular file", where=self.path, hint=self._hint)
            lock_descriptor(descriptor, self.path)
            _complete_last_line(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor


def _complete_last_line(descriptor: int) -> None:
    """Remove what follows the last line feed of a file, or end it by one if it is a whole JSON object."""
    size = os.fstat(descriptor).st_size
    tail, start = b"", size
    while start > 0 and b"\n" not in tail:
        length = min(TAIL, start)
        start -= length
        os.lseek(descriptor, start, os.SEEK_SET)
        tail = os.read(descriptor, length) + tail
    rest = tail.rpartition(b"\n")[2]
    if not rest:
        return
    try:
        is_whole = isinstance(json.loads(rest), dict)
    except (ValueError, RecursionError):
        is_whole = False
    if is_whole:
        os.write(descriptor, b"\n")
    else:
        os.ftruncate(descriptor, size - len(rest))
