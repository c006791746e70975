"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from nbtext.errors import OutputError

HINTS = {
    errno.ENOSPC: "free some space, or write elsewhere",
    errno.EDQUOT: "free some space, or write elsewhere",
    errno.EFBIG: "the limit of file sizes is too low (ulimit -f)",
    errno.ENOENT: "its folder does not exist; make it first",
    errno.EISDIR: "it is a folder; name a file",
    errno.EROFS: "write to a place that is not read-only",
    errno.EACCES: "write where you may, or change its permissions",
}


@contextmanager
def atomic_output(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when all went well; "-" is standard output.

    Until then it is a temporary file beside it, which is removed on any error. A pipe or a device is written to
    directly.

    raises  OutputError: it cannot be written
    """
    if path == "-":
        with _explained("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    target = os.path.realpath(path)
    with _explained(path):
        if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
            with open(target, "wb") as file:
                yield file
            return
        with _replacing(target) as file:
            yield file


@contextmanager
def _replacing(target: str) -> Iterator[BinaryIO]:
    """A temporary file beside the target, flushed to the disk and renamed over it at the end."""
    folder, name = os.path.split(target)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".part", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: str) -> int:
    """The permissions of the file that is replaced, else those that a new file would have."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(target).st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn the system's errors into one that says what would help; a closed pipe stays what it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = HINTS.get(error.errno or 0, "")
        raise OutputError(
            f"cannot be written: {(error.strerror or str(error)).lower()}", where=where, hint=hint
        ) from error
