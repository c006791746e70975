"""Streams of bytes: a file, a pipe, a URL or standard input, decompressed and read once from the start."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from itertools import chain, islice

from nbtext.documents.decoding import Encoding, detect_bom, to_utf8
from nbtext.documents.decompression import HEAD_BYTES, compression_of, misnamed_error, suffix_compression, unpack_blocks
from nbtext.documents.files import READ
from nbtext.documents.recognition import BROKEN_ZIP, MATRIX, MODEL, PICKLE, Kind, recognize
from nbtext.documents.urls import convert_errors, hide_credentials, is_url, open_remote, remote_size
from nbtext.errors import InputError

STANDARD_INPUT = "-"
RAW_BYTES = 1 << 21  # bytes that are read at a time
MAX_ENTRIES = 1000  # names in a folder that are compared with a mistyped name
KIND_BYTES = 256  # that tell the kind of a binary file
HEAD_LIMIT = 1 << 16  # first bytes that detect the content of a file

_opened: dict[str, ByteStream] = {}  # pipes whose first bytes were read to detect their content, by path


class ByteStream:
    """A stream of bytes, read in raw blocks. What `head` returns is returned by `read` again.

    Parameters
    ----------
    path : str
        The path as typed; a URL is without credentials.
    location  where it can be opened again
    position  bytes of the file (before decompression) that were read so far
    bom       its byte order mark, which `decode` removes
    size : int, optional
        Size of the file in bytes; None for a pipe or terminal.
    """

    def __init__(self, path: str, read: Callable[[], bytes], *, size: int | None, close: Callable[[], None]) -> None:
        self.path = hide_credentials(path)
        self.location = path
        self.position = self._counted = 0
        self.size = size
        self.compression: str | None = None
        self.bom = b""
        self._read_raw = read
        self._close = close
        self._ahead = b""
        self._raw_blocks = self._read_all()

    def read(self) -> bytes:
        """Return the next block: all available bytes of a pipe, or some megabytes of a file; b"" at the end."""
        if self._ahead:
            raw, self._ahead = self._ahead, b""
            return raw
        return next(self._raw_blocks, b"")

    def head(self, size: int = HEAD_LIMIT) -> bytes:
        """Return the start of the stream: its first line at least, or `size` bytes, or all of it."""
        while len(self._ahead) < size and b"\n" not in self._ahead:
            if not (raw := next(self._raw_blocks, b"")):
                break
            self._ahead += raw
        return self._ahead

    def unpack(self) -> ByteStream:
        """Decompress the rest of the stream, if it is compressed."""
        self.compression = compression_of(self.head(HEAD_BYTES))
        if self.compression is None:
            _, suffix = suffix_compression(self.path)
            if suffix is not None:
                raise misnamed_error(suffix, where=self.path)
            return self
        ahead, self._ahead = self._ahead, b""
        packed = chain([ahead] if ahead else [], self._raw_blocks)
        self._raw_blocks = unpack_blocks(packed, self.compression, where=self.path)
        return self

    def decode(self, encoding: Encoding) -> Encoding:
        """Make the rest of the stream UTF-8 without a byte order mark, and return the encoding that it had.

        encoding  its encoding, unless it has a byte order mark
        """
        head = self.head()
        encoding, size = detect_bom(head, encoding)
        self.bom = head[:size]
        self.skip(size)
        if encoding.codec != "utf-8":
            ahead, self._ahead = self._ahead, b""
            self._raw_blocks = to_utf8(chain([ahead] if ahead else [], self._raw_blocks), encoding)
        return encoding

    def skip(self, n_bytes: int) -> None:
        """Skip the first bytes of what `head` returned."""
        self._ahead = self._ahead[n_bytes:]

    def newly_read(self) -> int:
        """Return how many bytes of the file were read since the last call."""
        before, self._counted = self._counted, self.position
        return self.position - before

    def close(self) -> None:
        """Close the file."""
        self._close()

    def _read_all(self) -> Iterator[bytes]:
        while True:
            try:
                raw = self._read_raw()
            except OSError as error:
                raise unreadable(self.path, error) from None
            if not raw:
                return
            self.position += len(raw)
            yield raw


def open_stream(path: str, *, offset: int = 0) -> ByteStream:
    """Return the bytes of a path, or of standard input for `-`, decompressed unless there is an offset.

    Raises
    ------
    InputError
        The path cannot be read, or its suffix is that of another compression.
    """
    if path in _opened:
        return _opened.pop(path)
    if path == STANDARD_INPUT:
        stream = _standard_input()
    else:
        stream = _url_stream(path, offset) if is_url(path) else _file_stream(path, offset)
    try:
        return stream if offset else stream.unpack()
    except BaseException:
        stream.close()
        raise


def is_regular(path: str) -> bool:
    """Return whether the path is a file that can be read more than once."""
    return path != STANDARD_INPUT and (is_url(path) or os.path.isfile(path))


def file_size(path: str) -> int | None:
    """Return the size in bytes of a path, or of standard input for `-`; None if it is a pipe or a terminal."""
    if is_url(path):
        return remote_size(path)
    try:
        status = os.stat(path) if path != STANDARD_INPUT else os.fstat(sys.stdin.fileno())
    except (OSError, AttributeError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def is_matrix(path: str) -> bool:
    """Return whether the path (`-` is standard input) is a matrix file. Its first bytes can be read again.

    A broken zip file is one if its name ends with `.npz`.

    Raises
    ------
    InputError
        The path cannot be read.
    """
    kind = _kind(path)
    return kind is MATRIX or (kind is BROKEN_ZIP and path.lower().endswith(".npz"))


def is_model(path: str) -> bool:
    """Return whether the path is a model file: its first bytes are those of a pickle. They can be read again."""
    kind = _kind(path)
    return kind is MODEL or kind is PICKLE


def _kind(path: str) -> Kind | None:
    """Return what the first bytes of a path tell."""
    if is_url(path) or (path != STANDARD_INPUT and os.path.isdir(path)):  # URLs are read as text
        return None
    stream = open_stream(path)
    found = recognize(stream.head(KIND_BYTES))
    if is_regular(path):
        stream.close()
    else:
        _opened[path] = stream
    return found


def unreadable(path: str, error: OSError) -> InputError:
    """Return the error for a file that the system cannot open or read."""
    hints = {
        FileNotFoundError: "check the path",
        PermissionError: "check its permissions (ls -l)",
        IsADirectoryError: "name a file in it",
    }
    reason = os.strerror(error.errno) if error.errno else str(error)
    similar = similar_path(path) if isinstance(error, FileNotFoundError) else None
    if is_broken_link(path):
        return InputError(
            "is a symbolic link to a file that does not exist", where=path, hint="correct its target (ls -l shows it)"
        )
    hint = f"did you mean {similar}?" if similar is not None else hints.get(type(error), "")
    if " " in path and similar is None and isinstance(error, FileNotFoundError):
        hint += "; to predict a text: echo … | nbtext predict -"
    return InputError(f"cannot be read: {reason}", where=path or "''", hint=hint)


def is_broken_link(path: str) -> bool:
    """Return whether the path is a symbolic link to something that does not exist."""
    return os.path.islink(path) and not os.path.exists(path)


def similar_path(path: str) -> str | None:
    """Return the path of the entry with the most similar name in the same folder; None if no name is similar."""
    folder, name = os.path.split(path.rstrip(os.sep))
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in islice(entries, MAX_ENTRIES) if entry.name != name]
    except OSError:
        return None
    from difflib import get_close_matches

    nearest = get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return os.path.join(folder, nearest[0]) if nearest else None


def _file_stream(path: str, offset: int) -> ByteStream:
    try:
        handle = os.open(path, READ)
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError:
        raise InputError("a path cannot contain a NUL character", where=path) from None
    if offset:
        os.lseek(handle, offset, os.SEEK_SET)
    return _handle_stream(path, handle, lambda: os.close(handle))


def _url_stream(url: str, offset: int) -> ByteStream:
    file, size = open_remote(url, offset)

    def read() -> bytes:
        with convert_errors(url):
            return file.read(RAW_BYTES)

    return ByteStream(url, read, size=size, close=file.close)


def _standard_input() -> ByteStream:
    if sys.stdin is None:
        raise InputError("standard input is closed", where=STANDARD_INPUT)
    buffer = sys.stdin.buffer
    try:
        handle = buffer.fileno()
    except OSError:  # the program has replaced standard input by another object
        return ByteStream(STANDARD_INPUT, lambda: buffer.read(RAW_BYTES), size=None, close=lambda: None)
    return _handle_stream(STANDARD_INPUT, handle, lambda: None)


def _handle_stream(path: str, handle: int, close: Callable[[], None]) -> ByteStream:
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode):
        return ByteStream(path, lambda: os.read(handle, RAW_BYTES), size=status.st_size, close=close)
    return ByteStream(path, lambda: _read_ready(handle), size=None, close=close)


def _read_ready(handle: int) -> bytes:
    """Return the available bytes of a pipe, up to RAW_BYTES; wait for the first byte only."""
    if not hasattr(select, "poll"):  # Windows
        return os.read(handle, RAW_BYTES)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll()  # another process that shares the pipe may have made it non-blocking
    raw = os.read(handle, RAW_BYTES)
    blocks, size = [raw], len(raw)
    while raw and size < RAW_BYTES and not os.isatty(handle) and poll.poll(0):
        raw = os.read(handle, RAW_BYTES - size)
        blocks.append(raw)
        size += len(raw)
    return b"".join(blocks)
