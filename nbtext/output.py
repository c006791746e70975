"""Atomic output files, file locks, and the log of long computations."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Protocol

from nbtext.errors import OutputError, reason_of
from nbtext.interrupts import temporary_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

BINARY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NEW = os.O_WRONLY | BINARY
OPEN_FILES = "/proc/self/fd"  # the file descriptors of this process
STANDARD_OUTPUT_PATHS = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
DESCRIPTOR = r"/(?:dev|proc/\d+)/fd/(\d+)"  # the path of an open file, after its folder is resolved
MAX_LINKS = 40  # that are followed, as by Linux
NOT_WRITABLE = {stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a block device"}
State = tuple[int, int, int, int]  # device, inode, size, time of the last change
HINTS = {
    errno.ENOSPC: "free some space, or write elsewhere",
    errno.EDQUOT: "free some space, or write elsewhere",
    errno.EFBIG: "the limit of file sizes is too low (ulimit -f)",
    errno.ENOENT: "make its folder first",
    errno.EISDIR: "name a file in it",
    errno.ENOTDIR: "write to another folder, because a part of this path is a file",
    errno.EROFS: "write to a place that is not read-only",
    errno.EACCES: "write where you may, or change its permissions",
}


class LockedPath(str):
    """The path of a file that this process has locked, with the state that it had then."""

    __slots__ = ("state",)
    state: State | None


def note_phase(phase: str, *values: object) -> None:
    """Say in the log of nbtext, at level INFO, what a long computation does now; a progress bar
    shows the log.

    phase   the message with `%` in place of its values, such as `fold %d of %d`; phases with the
            same one follow each other
    """
    import logging  # takes 8 ms, a tenth of a short command

    logging.getLogger("nbtext").info(phase, *values)


class Writer(Protocol):
    """A binary file to write to."""

    def write(self, data: bytes, /) -> int: ...

    def flush(self) -> None: ...


class Sink(io.RawIOBase):
    """A write-only file object without `seek`, whose file remains open; libraries ask for its
    position.
    """

    def __init__(self, file: Writer) -> None:
        self._file = file
        self._position = 0

    def write(self, data: Any) -> int:
        self._file.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def writable(self) -> bool:
        return True


FORMULA = r"[=+\-@\t\r]"  # the first character of a cell that a spreadsheet evaluates
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


def escape_formulas(rows: str) -> str:
    """Return CSV rows with a quote before each cell that a spreadsheet would evaluate as a formula.

    Numbers are not changed.
    """
    # csv.writer does not quote a carriage return in lines that end without one
    plain = r'[^",\r\n]' if rows.endswith("\r\n") else r'[^",\n]'
    return re.sub(rf'"(?:[^"]++|"")*+"|{plain}++', _safe_cell, rows)


def _safe_cell(found: re.Match[str]) -> str:
    cell = found[0]
    if cell.startswith('"'):
        cell = cell[1:-1].replace('""', '"')
    if re.match(FORMULA, cell) and not re.fullmatch(NUMBER, cell):
        cell = "'" + cell
    return '"' + cell.replace('"', '""') + '"' if re.search('[",\r\n]', cell) else cell


def is_written_to(path: str) -> bool:
    """Return whether an output is a pipe, a character device or an open file of this process; other
    files are replaced.

    Raises
    ------
    OutputError
        It is a socket or a block device.
    """
    if path in STANDARD_OUTPUT_PATHS or _find_descriptor(path) is not None:
        return True
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except (OSError, ValueError):  # there is no file yet, or opening it says why
        return False
    if kind in NOT_WRITABLE:
        raise OutputError(
            f"cannot be written: it is {NOT_WRITABLE[kind]}",
            where=path,
            hint="write to a file, a pipe or a character device",
        )
    return kind in (stat.S_IFCHR, stat.S_IFIFO)


def _find_descriptor(path: str) -> int | None:
    """Return the descriptor that a path such as /dev/fd/3 names, also through links; None if it
    names none.
    """
    for _ in range(MAX_LINKS):
        folder, name = os.path.split(path)
        place = os.path.join(os.path.realpath(folder), name)
        if found := re.fullmatch(DESCRIPTOR, place):
            return int(found[1])
        if not os.path.islink(place):
            return None
        path = os.path.join(os.path.dirname(place), os.readlink(place))
    return None


def check_output(path: str) -> None:
    """Check that a file can be written, before the work begins.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with convert_errors(path):
        if path.endswith(os.sep) or os.path.isdir(path):
            raise _system_error(errno.EISDIR)
        if is_written_to(path):
            return
        folder = os.path.dirname(os.path.realpath(path))
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise _system_error(errno.ENOTDIR)
        if not os.access(folder, os.W_OK | os.X_OK):
            is_read_only = hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY
            raise _system_error(errno.EROFS if is_read_only else errno.EACCES)


def _system_error(number: int) -> OSError:
    """Return the error of the system with this number, of the class that Python has for it."""
    return OSError(number, os.strerror(number))


@contextmanager
def atomic_output(path: str) -> Iterator[BinaryIO]:
    """Open a temporary file in the same directory, which replaces `path` on success and is removed
    on any error.

    "-" is standard output. A pipe, a character device, or an open file such as /dev/fd/3 is written
    to.

    Raises
    ------
    OutputError
        The file is of another kind or cannot be written, or this process has locked it and another
        program changed it.
    """
    if path in STANDARD_OUTPUT_PATHS:
        with convert_errors("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with convert_errors(path):
        if path.endswith(os.sep):
            raise _system_error(errno.EISDIR)
        if is_written_to(path):
            descriptor = _find_descriptor(path)
            with open(path if descriptor is None else os.dup(descriptor), "wb") as file:
                yield file
            return
        with _open_replacement(path) as file:
            yield file


def lock_descriptor(descriptor: int, path: str) -> None:
    """Lock an open file; do nothing if the system or the file system has no locks.

    Raises OutputError if another process has locked the file.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(
            "another nbtext process is writing it",
            where=path,
            hint="try again when that process has ended",
        ) from None
    except OSError:  # a file system without locks, such as some network file systems
        return


@contextmanager
def lock_file(path: str) -> Iterator[str]:
    """Lock a file that this process is going to replace, and yield its path; other programs can
    still read it.

    `atomic_output` of this path does not replace the file if another program changed, replaced or
    created it in spite of the lock. The file itself is locked, without a separate lock file, and
    the lock ends with the process.

    Raises
    ------
    OutputError
        Another process has locked the file, or it cannot be opened.
    """
    if is_written_to(path):
        yield path
        return
    with convert_errors(path):
        descriptor = _open_locked(path)
        try:
            locked = LockedPath(path)
            locked.state = _read_state(path)
            yield locked
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _open_locked(path: str) -> int | None:
    """Open and lock a file, and return its descriptor; None if there is no such file, or the system
    has no such locks.

    Windows has none, and an open file cannot be replaced there; `_check_unchanged` still protects
    the file. If another process replaces the file between the two steps, the lock is on a deleted
    file, so this tries again.
    """
    if fcntl is None:
        return None
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | BINARY)
        except FileNotFoundError:
            return None
        try:
            lock_descriptor(descriptor, path)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _read_state(path: str) -> State | None:
    """Return values that differ after a file is changed or replaced; None if there is no file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def _open_replacement(path: str) -> Iterator[BinaryIO]:
    """Open a temporary file in the directory of a file, which is not a link to it; at the end,
    flush it to the disk and rename it.

    On Linux the file has no name until it is complete, so that a killed process leaves no file
    behind.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".nbtext-{os.urandom(8).hex()}.part")
    with temporary_path(temporary):
        try:
            descriptor = _create_unnamed(folder)
            is_named = descriptor is None
            if descriptor is None:
                descriptor = os.open(temporary, NEW | os.O_CREAT | os.O_EXCL, 0o666)
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                # a new file has the permissions of the umask; Windows has no fchmod
                with suppress(FileNotFoundError, AttributeError):
                    os.fchmod(descriptor, stat.S_IMODE(os.stat(target).st_mode))
                os.fsync(descriptor)
                if not is_named:
                    # os.link follows the link in /proc only if a directory is given, although the
                    # path is absolute
                    os.link(
                        f"{OPEN_FILES}/{descriptor}",
                        temporary,
                        src_dir_fd=descriptor,
                        follow_symlinks=True,
                    )
            if isinstance(path, LockedPath) and _read_state(target) != path.state:
                raise OutputError(
                    "it was changed by another program since this command began",
                    where=target,
                    hint="nothing was written; run the command again",
                )
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):  # it has no name yet, or no longer
                os.unlink(temporary)
            raise


def _create_unnamed(folder: str) -> int | None:
    """Create a file without a name, and return its descriptor; None if the system does not support
    it.
    """
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(OPEN_FILES):
        return None
    with suppress(OSError):
        return os.open(folder, NEW | os.O_TMPFILE, 0o666)
    return None


@contextmanager
def convert_errors(where: str) -> Iterator[None]:
    """Convert an OSError into an OutputError with a hint; a BrokenPipeError is not converted."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = HINTS.get(error.errno or 0, "")
        raise OutputError(
            f"cannot be written: {reason_of(error)}", where=where or "''", hint=hint
        ) from error
