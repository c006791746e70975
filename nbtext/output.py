"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from nbtext.errors import OutputError

NEW = os.O_WRONLY | os.O_CLOEXEC
OPEN_FILES = "/proc/self/fd"  # the files that this process has open, by their numbers
STANDARD_OUTPUT = ("-", "/dev/stdout")
HINTS = {
    errno.ENOSPC: "free some space, or write elsewhere",
    errno.EDQUOT: "free some space, or write elsewhere",
    errno.EFBIG: "the limit of file sizes is too low (ulimit -f)",
    errno.ENOENT: "make its folder first",
    errno.EISDIR: "name a file in it",
    errno.EROFS: "write to a place that is not read-only",
    errno.EACCES: "write where you may, or change its permissions",
}


def check_output(path: str) -> None:
    """Raise OutputError where `path` could not be written, before anybody works for it."""
    with _explained(path):
        if path.endswith(os.sep) or os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path in STANDARD_OUTPUT or (os.path.exists(path) and not os.path.isfile(path)):
            return
        folder = os.path.dirname(os.path.realpath(path))
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            why = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
            raise PermissionError(why, os.strerror(why))


@contextmanager
def atomic_output(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when all went well; "-" is standard output.

    Until then it is a temporary file beside it, which is removed on any error. A pipe or a device is written to
    directly.

    raises  OutputError: it cannot be written
    """
    if path in STANDARD_OUTPUT:
        with _explained("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with _explained(path):
        if path.endswith(os.sep):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                yield file
            return
        with _replacing(os.path.realpath(path)) as file:
            yield file


@contextmanager
def resumed_output(path: str) -> Iterator[tuple[BinaryIO, int, bytes]]:
    """A file of lines to go on with, how many whole ones it has, and the last of them; it is made where it is missing.

    What follows the last line end is cut off. Unlike `atomic_output` it is written as it comes, and nobody else may
    write to it meanwhile.

    raises  OutputError: it is no file, cannot be written, or somebody else goes on with it
    """
    if path in STANDARD_OUTPUT:
        raise OutputError("only a file can be resumed", where="--resume", hint="name one with -o")
    with _explained(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        with os.fdopen(descriptor, "r+b") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputError("only a file can be resumed", where=path, hint="leave --resume out")
            _lock(descriptor, path)
            n_lines, last = _whole_lines(file)
            yield file, n_lines, last
            file.flush()
            os.fsync(descriptor)


def _whole_lines(file: BinaryIO) -> tuple[int, bytes]:
    """How many lines a file has, and the last; it is cut after that, and goes on from there."""
    n_lines = end = 0
    last = b""
    for line in file:
        if line.endswith(b"\n"):
            n_lines, end, last = n_lines + 1, end + len(line), line
    file.seek(end)
    file.truncate()
    return n_lines, last


def _lock(descriptor: int, path: str) -> None:
    """Take the lock of a file; OutputError where somebody else has it."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError("another nbtext is rewriting it", where=path, hint="try again when it is done") from None


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Nobody else gets this file's lock meanwhile; it ends with the process, however that ends.

    The lock is on the file itself, not on one beside it, so that nothing is left behind. Who replaces the file
    unlocks it for those who open the new one: whoever has opened the old one meanwhile finds that out, and starts over.

    raises  OutputError: somebody else has it, or it cannot be locked
    """
    with _explained(path):
        while True:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                _lock(descriptor, path)
                if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    continue
                yield
                return
            finally:
                os.close(descriptor)


@contextmanager
def _replacing(target: str) -> Iterator[BinaryIO]:
    """A temporary file beside the target, flushed to the disk and renamed over it at the end.

    Where the system can, it has no name until it is whole: whoever is killed leaves nothing behind.
    """
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".nbtext-{os.urandom(8).hex()}.part")
    descriptor, is_named = _nameless(folder), False
    if descriptor is None:
        descriptor, is_named = os.open(temporary, NEW | os.O_CREAT | os.O_EXCL, 0o666), True
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            with suppress(FileNotFoundError):  # a new file has the permissions that the umask says
                os.fchmod(descriptor, stat.S_IMODE(os.stat(target).st_mode))
            os.fsync(descriptor)
            if not is_named:
                # to where /proc leads: only given a folder, though for an absolute path it does not matter which, does
                # Python ask the system to follow
                os.link(f"{OPEN_FILES}/{descriptor}", temporary, src_dir_fd=descriptor, follow_symlinks=True)
                is_named = True
        os.replace(temporary, target)
    except BaseException:
        if is_named:
            with suppress(OSError):
                os.unlink(temporary)
        raise


def _nameless(folder: str) -> int | None:
    """A new file on the disk of the folder, without a name yet; None where the system knows no such thing."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(OPEN_FILES):
        return None
    with suppress(OSError):
        return os.open(folder, NEW | os.O_TMPFILE, 0o666)
    return None


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
            f"cannot be written: {(error.strerror or str(error)).lower()}", where=where or "''", hint=hint
        ) from error
