"""Files that are written completely or not at all."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from nbtext.errors import OutputError

CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
NEW = os.O_WRONLY | CLOSE_ON_EXEC
OPEN_FILES = "/proc/self/fd"  # the files that this process has open, by their numbers
STANDARD_OUTPUT = ("-", "/dev/stdout")
State = tuple[int, int, int, int]  # device, inode, size, time of the last change
_expected: dict[str, State | None] = {}  # files that this process has locked: the state in which it replaces them
HINTS = {
    errno.ENOSPC: "free some space, or write elsewhere",
    errno.EDQUOT: "free some space, or write elsewhere",
    errno.EFBIG: "the limit of file sizes is too low (ulimit -f)",
    errno.ENOENT: "make its folder first",
    errno.EISDIR: "name a file in it",
    errno.EROFS: "write to a place that is not read-only",
    errno.EACCES: "write where you may, or change its permissions",
}


_FORMULA = re.compile(r"[=+\-@\t\r]")  # what a cell begins with that spreadsheets evaluate
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def escape_formulas(rows: bytes) -> bytes:
    """CSV rows in UTF-8 with a quote before each cell that a spreadsheet would evaluate; numbers stay as they are."""
    csv.field_size_limit(sys.maxsize)
    end = "\r\n" if rows.endswith(b"\r\n") else "\n"
    texts = csv.reader(io.StringIO(rows.decode("utf-8", "surrogateescape"), newline=""))
    lines = (",".join(map(_safe_cell, row)) + end for row in texts)
    return "".join(lines).encode("utf-8", "surrogateescape")


def _safe_cell(cell: str) -> str:
    if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        cell = "'" + cell
    # csv.writer does not quote a carriage return in lines that end without one
    return '"' + cell.replace('"', '""') + '"' if re.search('[",\r\n]', cell) else cell


def check_output(path: str) -> None:
    """Check, before the work, that a file can be written.

    raises  OutputError: it cannot
    """
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
    """A file to write to, which replaces `path` at the end; "-" is standard output.

    Until then it is a temporary file in the same directory, which is removed on any error. A pipe or a device is
    written directly.

    raises  OutputError: it cannot be written, or another program changed it although this process has locked it
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
def resumed_output(path: str) -> Iterator[BinaryIO]:
    """A file to continue, at its beginning, open for reading and writing; it is made if it is missing.

    Unlike with `atomic_output`, what is written is in the file at once. No other nbtext writes to it meanwhile.

    raises  OutputError: it is not a regular file, cannot be written, or another process continues it
    """
    if path in STANDARD_OUTPUT:
        raise OutputError("standard output cannot be resumed", where="--resume", hint="name a file with -o")
    with _explained(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | CLOSE_ON_EXEC | os.O_NONBLOCK, 0o666)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OutputError("only a regular file can be resumed", where=path, hint="leave --resume out")
        with os.fdopen(descriptor, "r+b") as file:
            _lock(descriptor, path)
            yield file
            file.flush()
            os.fsync(descriptor)


def _lock(descriptor: int, path: str) -> None:
    """Take the lock of an open file; where the system has no locks, do nothing.

    raises  OutputError: another process has it
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError("another nbtext is writing it", where=path, hint="try again when it is done") from None
    except OSError:  # a file system without locks, such as some network file systems
        return


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock of a file that this process is going to replace; reading it stays allowed.

    Meanwhile `atomic_output` refuses to replace the file if anybody changed, replaced or made it in spite of the lock.
    The lock is on the file itself, so no lock file is left behind, and it ends with the process. A process that waits
    for nothing may open the file just before another one replaces it: it then holds the lock of a file without a name,
    and starts over.

    raises  OutputError: another process has the lock, or the file cannot be opened
    """
    if path in STANDARD_OUTPUT or (os.path.exists(path) and not os.path.isfile(path)):
        yield
        return
    target = os.path.realpath(path)
    with _explained(path):
        descriptor = _locked_descriptor(path)
        try:
            _expected[target] = _state_of(target)
            yield
        finally:
            del _expected[target]
            if descriptor is not None:
                os.close(descriptor)


def _locked_descriptor(path: str) -> int | None:
    """The file at this path, open and locked; None if there is no such file."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | CLOSE_ON_EXEC)
        except FileNotFoundError:
            return None
        try:
            _lock(descriptor, path)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _state_of(target: str) -> State | None:
    """What changes when a file is changed or replaced; None if there is no file."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _check_unchanged(target: str) -> None:
    """Raise OutputError if this process has locked the target and another one has changed it since."""
    if target in _expected and _state_of(target) != _expected[target]:
        hint = "nothing was written; run the command again"
        raise OutputError("it was changed by another program since this command began", where=target, hint=hint)


@contextmanager
def _replacing(target: str) -> Iterator[BinaryIO]:
    """A temporary file in the directory of the target, which is flushed to the disk and renamed at the end.

    If the system can, it has no name until it is complete, so that a process that is killed leaves nothing behind.
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
            with suppress(FileNotFoundError):  # the permissions of a new file follow the umask
                os.fchmod(descriptor, stat.S_IMODE(os.stat(target).st_mode))
            os.fsync(descriptor)
            if not is_named:
                # to the file that the link in /proc leads to; Python follows the link only if a directory is given,
                # although an absolute path does not need one
                os.link(f"{OPEN_FILES}/{descriptor}", temporary, src_dir_fd=descriptor, follow_symlinks=True)
                is_named = True
        _check_unchanged(target)
        os.replace(temporary, target)
    except BaseException:
        if is_named:
            with suppress(OSError):
                os.unlink(temporary)
        raise


def _nameless(folder: str) -> int | None:
    """A new file without a name in a directory; None if the system does not support it."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(OPEN_FILES):
        return None
    with suppress(OSError):
        return os.open(folder, NEW | os.O_TMPFILE, 0o666)
    return None


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn errors of the system into an OutputError with a hint; a closed pipe stays a BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = HINTS.get(error.errno or 0, "")
        raise OutputError(
            f"cannot be written: {(error.strerror or str(error)).lower()}", where=where or "''", hint=hint
        ) from error
