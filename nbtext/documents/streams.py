"""Streams of bytes: a file, a pipe, a URL or standard input, decompressed and read once from the
start.

URLs may have any scheme for which fsspec has a file system.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, Any, Self

from nbtext.documents.decoding import BOMS, Encoding, detect_bom, to_utf8
from nbtext.documents.decompression import MAGIC_BYTES, MAGICS, check_compression, unpack_blocks
from nbtext.documents.recognition import (
    BROKEN_ZIP,
    MATRIX,
    MODEL_FILE,
    PICKLE,
    Kind,
    may_begin,
    recognize,
)
from nbtext.errors import (
    AssumptionWarning,
    InputError,
    MissingExtra,
    NbtextError,
    hide_credentials,
    reason_of,
)

STANDARD_INPUT = "-"
# if there is the flag
READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOCTTY"))
READ_NOW = READ | getattr(os, "O_NONBLOCK", 0)  # does not wait for the writer of a FIFO
RAW_BYTES = 1 << 20  # bytes that are read at a time
MAX_COMPARED_NAMES = 1000  # names in a folder that are compared with a mistyped name
KIND_BYTES = 256  # that tell the kind of a binary file
HEAD_LIMIT = 1 << 16  # first bytes that detect the content of a file
HTTP = ("http", "https")
DATABASES = str.split("sqlite postgresql mysql mariadb oracle mssql snowflake redshift")
RANGE_BYTES = 8 << 20  # of one range request

SCHEME = r"([A-Za-z][A-Za-z0-9+.-]+)://"

# pipes whose first bytes were read to detect their content, by path
_opened: dict[str, ByteStream] = {}


class ByteStream:
    """A stream of bytes, read in raw blocks. What `head` returns is returned by `read` again.

    At the end of a `with` statement, it is closed.

    Parameters
    ----------
    path : str
        The path as typed; a URL is without credentials.
    location  where it can be opened again
    position  bytes of the file (before decompression) that were read so far
    bom       its byte order mark, which `decode` removes
    size : int, optional
        Size of the file in bytes; None for a pipe or terminal.
    is_terminal : bool
        Whether a person types the bytes, and waits for an answer to the first line.
    close : callable
        Closes the file.
    """

    def __init__(
        self,
        path: str,
        read: Callable[[], bytes],
        *,
        size: int | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = hide_credentials(path, is_source=True)
        self.location = path
        self.position = self._counted = 0
        self.size = size
        self.compression: str | None = None
        self.bom = b""
        self.is_terminal = False
        self._read_raw = read
        self.close = close
        self._raw_blocks = self._read_all()  # of the rest of the stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, _size: int = -1) -> bytes:
        """Return the next block: all available bytes of a pipe, or some megabytes of a file; b"" at
        the end.
        """
        return next(self._raw_blocks, b"")

    def head(
        self, size: int = HEAD_LIMIT, is_enough: Callable[[bytes], bool] = lambda _: False
    ) -> bytes:
        """Return the start of the stream: `size` bytes, or all of it, or as many as are enough.

        What is judged by it must not depend on how the bytes of a pipe arrive.
        """
        ahead = b""
        while len(ahead) < size and not is_enough(ahead):
            if not (raw := next(self._raw_blocks, b"")):
                break
            ahead += raw
        self._put_back(ahead)
        return ahead[:size]

    def check_later(self, check: Callable[[bytes], object]) -> None:
        """Let a function see the first bytes again if fewer were judged, and a NUL is among them
        when they arrive.
        """
        head = b""
        blocks = self._raw_blocks

        def watch() -> Iterator[bytes]:
            nonlocal head
            for raw in blocks:
                if len(head) < HEAD_LIMIT:
                    head = (head + raw)[:HEAD_LIMIT]
                    if b"\0" in head:
                        check(head)
                yield raw

        self._raw_blocks = watch()

    def unpack(self) -> ByteStream:
        """Decompress the rest of the stream, if it is compressed."""
        head = self.head(MAGIC_BYTES, lambda head: not may_begin(head, MAGICS))
        self.compression = check_compression(self.path, head, where=self.path)
        if self.compression is not None:
            self._raw_blocks = unpack_blocks(self._raw_blocks, self.compression, where=self.path)
        return self

    def decode(self, encoding: Encoding) -> Encoding:
        """Make the rest of the stream UTF-8 without a byte order mark, and return the encoding that
        it had.

        encoding  its encoding, unless it has a byte order mark
        """
        head = self.head(max(map(len, BOMS)), lambda head: not may_begin(head, BOMS))
        encoding, size = detect_bom(head, encoding)
        self.bom = head[:size]
        self.skip(size)
        if encoding.codec != "utf-8":
            self._raw_blocks = to_utf8(self._raw_blocks, encoding)
        return encoding

    def skip(self, n_bytes: int) -> None:
        """Skip the first bytes of what `head` returned just now."""
        if n_bytes:
            self._put_back(next(self._raw_blocks)[n_bytes:])

    def _put_back(self, raw: bytes) -> None:
        # which keeps no block that was read again
        self._raw_blocks = chain(filter(None, [raw]), self._raw_blocks)

    def newly_read(self) -> int:
        """Return how many bytes of the file were read since the last call."""
        before = self._counted
        self._counted = self.position
        return self.position - before

    def _read_all(self) -> Iterator[bytes]:
        while True:
            try:
                raw = self._read_raw()
            except OSError as error:
                raise unreadable_file(self.path, error) from None
            if not raw:
                return
            self.position += len(raw)
            yield raw


def open_stream(path: str, *, offset: int = 0) -> ByteStream:
    """Return the bytes of a path, or of standard input for `-`, decompressed unless there is an
    offset.

    Raises
    ------
    InputError
        The path cannot be read, or its suffix is that of another compression.
    """
    if path in _opened:
        return _opened.pop(path)
    stream = open_url(path, offset) if is_url(path) else _open_file(path, offset)
    try:
        return stream if offset else stream.unpack()
    except BaseException:
        stream.close()
        raise


def is_regular(path: str) -> bool:
    """Return whether the path is a file that can be read more than once."""
    return path != STANDARD_INPUT and (is_url(path) or os.path.isfile(path))


def is_pipe(path: str) -> bool:
    """Return whether the path is standard input or another stream, neither a file nor a
    directory.
    """
    is_handle = path.startswith(("/dev/", "/proc/self/fd/"))  # which may be a file of the shell
    return is_handle or not (is_regular(path) or os.path.isdir(path))


def file_size(path: str) -> int | None:
    """Return the size in bytes of a path, or of standard input for `-`; None: not known, as of a
    pipe.
    """
    if is_url(path):
        with _resolve(path) as (system, name, _):
            size: int | None = system.size(name)
            return size
    try:
        status = os.stat(path) if path != STANDARD_INPUT else os.fstat(sys.stdin.fileno())
    except (OSError, AttributeError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def is_matrix_file(path: str) -> bool:
    """Return whether the path (`-` is standard input) is a matrix file. Its first bytes can be read
    again.

    A broken zip file is one if its name ends with `.npz`.

    Raises
    ------
    InputError
        The path cannot be read.
    """
    kind = _kind(path)
    return kind is MATRIX or (kind is BROKEN_ZIP and path.lower().endswith(".npz"))


def is_model(path: str) -> bool:
    """Return whether the path is a model file: its first bytes are those of a pickle. They can be
    read again.
    """
    return _kind(path) in (MODEL_FILE, PICKLE)


def _kind(path: str) -> Kind | None:
    """Return what the first bytes of a path tell."""
    if is_url(path) or (path != STANDARD_INPUT and os.path.isdir(path)):  # URLs are read as text
        return None
    return recognize(peek(path, KIND_BYTES))


def peek(path: str, size: int = HEAD_LIMIT) -> bytes:
    """Return the first bytes of a path, decompressed. They are read again."""
    stream = open_stream(path)
    found = stream.head(size)
    keep_opened(path, stream)
    return found


def keep_opened(path: str, stream: ByteStream) -> None:
    """Let `open_stream` return a pipe of which only the head was read; a file is closed."""
    if is_regular(path):
        stream.close()
    else:
        _opened[path] = stream


def take_opened(path: str) -> ByteStream | None:
    """Return the pipe whose first bytes `is_matrix_file` or `is_model` has read; None: they have
    not.
    """
    return _opened.pop(path, None)


def unreadable_file(path: str, error: OSError | ValueError) -> InputError:
    """Return the error for a file that the system cannot open or read."""
    if isinstance(error, ValueError):
        return InputError("a path cannot contain a NUL character", where=path)
    hints = {
        FileNotFoundError: "check the path",
        PermissionError: "check its permissions (ls -l)",
        IsADirectoryError: "name a file in it",
    }
    hint = hints.get(type(error), "")
    if isinstance(error, FileNotFoundError) and (similar := similar_path(path)):
        hint = f"did you mean {similar}?"
    elif " " in path:
        hint += "; to predict a text: echo … | nbtext predict -"
    return InputError(f"cannot be read: {reason_of(error)}", where=path or "''", hint=hint)


def similar_path(path: str) -> str | None:
    """Return the path of the entry with the most similar name in the same folder; None if no name
    is similar.
    """
    folder, name = os.path.split(path.rstrip(os.sep))
    try:
        with os.scandir(folder or ".") as entries:
            names = [
                entry.name for entry in islice(entries, MAX_COMPARED_NAMES) if entry.name != name
            ]
    except OSError:
        return None
    from difflib import get_close_matches

    nearest = get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return os.path.join(folder, nearest[0]) if nearest else None


def open_url(url: str, offset: int = 0) -> ByteStream:
    """Open a file at a URL. HTTP at offset 0 uses one plain request: some servers have no range
    requests.
    """
    with _resolve(url) as (system, path, is_http):
        size = system.size(path)
        file: IO[bytes] = system.open(
            path, "rb", block_size=0 if is_http and not offset else RANGE_BYTES
        )
        if offset:
            file.seek(offset)

    def read() -> bytes:
        with convert_url_errors(url):
            return file.read(RAW_BYTES)

    return ByteStream(url, read, size=size, close=file.close)


def _open_file(path: str, offset: int) -> ByteStream:
    """Open a file, a pipe, or standard input."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise InputError("standard input is closed", where=STANDARD_INPUT)
        buffer = sys.stdin.buffer
        try:
            handle = buffer.fileno()
        except OSError:  # the program has replaced standard input by another object
            return ByteStream(path, lambda: buffer.read(RAW_BYTES))
    else:
        try:
            handle = os.open(path, READ)
        except (OSError, ValueError) as error:
            raise unreadable_file(path, error) from None
    if offset:
        os.lseek(handle, offset, os.SEEK_SET)
    status = os.fstat(handle)
    is_file = stat.S_ISREG(status.st_mode)
    stream = ByteStream(
        path,
        (lambda: os.read(handle, RAW_BYTES)) if is_file else lambda: _read_ready(handle),
        size=status.st_size if is_file else None,
    )
    if path != STANDARD_INPUT:
        stream.close = lambda: os.close(handle)
    stream.is_terminal = not is_file and os.isatty(handle)
    return stream


def _read_ready(handle: int) -> bytes:
    """Return the available bytes of a pipe, up to RAW_BYTES; wait for the first byte only."""
    if not hasattr(select, "poll"):  # Windows
        return os.read(handle, RAW_BYTES)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll()  # another process that shares the pipe may have made it non-blocking
    raw = os.read(handle, RAW_BYTES)
    blocks = [raw]
    size = len(raw)
    while raw and size < RAW_BYTES and not os.isatty(handle) and poll.poll(0):
        raw = os.read(handle, RAW_BYTES - size)
        blocks.append(raw)
        size += len(raw)
    return b"".join(blocks)


def is_url(path: str) -> bool:
    """Return whether a SOURCE is a URL."""
    return "://" in path and re.match(SCHEME, path) is not None


def is_database_url(path: str) -> bool:
    """Whether a SOURCE is the URL of a database, whose scheme may name a driver too:
    postgresql+psycopg.
    """
    return is_url(path) and path.partition(":")[0].partition("+")[0].lower() in DATABASES


def origin_of(path: str) -> str:
    """Return the prefix of the number of a line, row, mail or item in an id."""
    return "" if path == STANDARD_INPUT else f"{path}:"


def name_source(path: str) -> str:
    """Return how a sentence names a SOURCE."""
    return "standard input" if path == STANDARD_INPUT else hide_credentials(path, is_source=True)


def warn(path: str, what: str) -> None:
    """Say what was assumed about a SOURCE."""
    warnings.warn(f"{name_source(path)}: {what}", AssumptionWarning, stacklevel=3)


@contextmanager
def _resolve(url: str) -> Iterator[tuple[Any, str, bool]]:
    """Yield the file system of a URL (of fsspec), its path there, and whether it is HTTP, without a
    request.

    Errors within the context are converted.

    Raises
    ------
    MissingExtra
        The library fsspec is not installed.
    InputError
        No library for such URLs is installed, or the file system raises any error.
    """
    scheme = url.partition("://")[0].lower()
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtra(f"reading {scheme}:// URLs", library="fsspec", extra="url") from None
    with convert_url_errors(url):
        try:
            system, path = url_to_fs(url)
        except ImportError as error:
            raise InputError(
                f"{scheme}:// needs another package: {error}",
                where=hide_credentials(url, is_source=True),
            ) from None
        yield system, path, scheme in HTTP


def open_seekable(url: str) -> IO[bytes]:
    """Open a file at a URL, to be read at any place by range requests."""
    with _resolve(url) as (system, path, _):
        file: IO[bytes] = system.open(path, "rb", block_size=RANGE_BYTES)
        return file


def is_folder(url: str) -> bool:
    """Return whether a URL names a folder; HTTP has no folders.

    Raises
    ------
    InputError
        The URL does not exist or cannot be read.
    """
    with _resolve(url) as (system, path, is_http):
        return not is_http and bool(system.isdir(path))


def list_files(url: str) -> list[list[str]]:
    """Return the relative path of each file below a folder, as a list of names; sorted."""
    with _resolve(url) as (system, path, _):
        root = system._strip_protocol(path).rstrip("/") + "/"
        return sorted(name.removeprefix(root).split("/") for name in system.find(path))


def read_url(url: str, limit: int) -> bytes | int:
    """Return the bytes of a file, or the error number EFBIG if it has more than `limit` bytes.

    Raises
    ------
    InputError
        The URL cannot be read.
    """
    content = b""
    with open_url(url) as stream:
        while len(content) <= limit and (block := stream.read()):
            content += block
    return content if len(content) <= limit else errno.EFBIG


@contextmanager
def convert_url_errors(url: str) -> Iterator[None]:
    """Convert any error of a file system into an InputError of one line, without credentials."""
    try:
        yield
    except (NbtextError, ImportError, MemoryError):
        raise
    except Exception as error:
        where = hide_credentials(url, is_source=True)
        message = str(error).partition("\n")[0].replace(url, where)
        reason = f"{type(error).__name__}: {message}" if message else type(error).__name__
        what = "there is no such file" if isinstance(error, FileNotFoundError) else reason
        raise InputError(f"cannot be read: {what}", where=where, hint="check the URL") from None
