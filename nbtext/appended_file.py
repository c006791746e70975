"""A file of JSON lines to which one process at a time appends, each line on the disk before it is
confirmed.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable

from nbtext.errors import NbtextError, OutputError, reason_of
from nbtext.output import BINARY, convert_errors, lock_descriptor

# bytes of a line that are read at once, so that another program's file does not fill the memory
MAX_LINE_BYTES = 1 << 28
LINE_START = b'{"'  # of each line

# raises NbtextError unless a line, of which the place is given, is a right one
Check = Callable[[bytes, str], object]


class AppendedFile:
    """A locked file of JSON lines that only grows, or loses its last lines.

    All lines are checked before the file is changed. If there are right ones, an unfinished line
    after them was not confirmed to anyone, and is removed. Another program may move the file away:
    `append` then makes a new one. If another program changed the file, its lines are checked again.

    Parameters
    ----------
    path
        The file; it is made, with its folder, if it does not exist.
    check
        Checks each line.
    hint
        What the user can do if the file cannot be opened.

    Raises
    ------
    OutputError
        The file cannot be opened, or another process appends to it.
    NbtextError
        Of `check`: a line is not a right one. The file is not changed.
    """

    def __init__(self, path: str, check: Check, *, hint: str) -> None:
        self.path = path
        self._check = check
        self._hint = hint
        self._descriptor = -1
        self._size = 0  # bytes after the last change by this process
        self._open()

    def append(self, lines: bytes) -> None:
        """Append lines, all or none, and return when they are on the disk; OSError if they cannot
        be written.
        """
        if self._is_moved() or os.fstat(self._descriptor).st_size != self._size:
            self._open()
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(lines)

    def remove_last(self, line: bytes) -> None:
        """Remove the last line, and return when this is on the disk; OutputError if the file does
        not end with it.
        """
        with convert_errors(self.path):
            start = self._size - len(line)
            is_found = start >= 0 and not self._is_moved()
            if is_found:
                os.lseek(self._descriptor, start, os.SEEK_SET)
                is_found = os.read(self._descriptor, len(line) + 1) == line
            if not is_found:
                raise OutputError(
                    "it was changed, moved or deleted by another program",
                    where=self.path,
                    hint=self._hint,
                )
            os.ftruncate(self._descriptor, start)
            self._size = start
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
            raise OutputError(
                f"cannot be written: {reason_of(error)}", where=self.path, hint=self._hint
            ) from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputError("is not a regular file", where=self.path, hint=self._hint)
            lock_descriptor(descriptor, self.path)
            self._size = self._check_lines(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _check_lines(self, descriptor: int) -> int:
        """Check all lines, then complete or remove an unfinished last one; return the size of the
        file.
        """
        size = 0
        line = b""
        with open(descriptor, "rb", closefd=False) as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), 1):
                size += len(line)
                try:
                    self._check(line, f"{self.path}:{number}")
                except NbtextError:
                    if number == 1 or file.read(1) or not _is_unfinished(line):
                        raise
                    size -= len(line)
                    os.ftruncate(descriptor, size)
                    return size
        if line and not line.endswith(b"\n"):
            size += os.write(descriptor, b"\n")
        return size


def _is_unfinished(line: bytes) -> bool:
    """Return whether this is the beginning of a JSON object, and not all of one."""
    if line.endswith(b"\n") or not line.startswith(LINE_START[: len(line)]):
        return False
    try:
        json.loads(line)
    except ValueError:
        return True
    except RecursionError:
        pass
    return False
