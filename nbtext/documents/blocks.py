"""Split a stream, or a byte range of a file, into blocks of complete lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from nbtext.documents.decoding import Encoding
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream, open_stream
from nbtext.records import dataclass

MAX_LINES = 1 << 14  # of a block; short lines would make large batches


class ByteRange(NamedTuple):
    """A range of an uncompressed file: the lines that begin at byte `start` or later, before byte `stop`.

    `first_line` is the number of its first line, from 1; None: the reader counts the lines before it.
    """

    start: int
    stop: int
    first_line: int | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a reader.

    Attributes
    ----------
    encoding : Encoding
    settings : InputSettings
    label : str, optional
        The label of every document, for formats without one: the name of the file's folder.
    byte_range : ByteRange, optional
        The only lines to read, of a splittable format.
    """

    encoding: Encoding
    settings: InputSettings
    label: str | None = None
    byte_range: ByteRange | None = None


class LineBlock(NamedTuple):
    """Complete lines, or one line that is too long to be kept.

    Attributes
    ----------
    data : bytes
        The lines with their line feeds, which only the last line of a file may lack; empty for a line that is too long.
    first_line : int
        The number of the first line, from 1.
    size : int
        Number of bytes of the file that were read for the block.
    is_too_long : bool
    """

    data: bytes
    first_line: int
    size: int
    is_too_long: bool = False


def read_line_blocks(
    raw_blocks: Iterator[bytes],
    encoding: Encoding,
    limit: int,
    *,
    position: Callable[[], int],
    first_line: int = 1,
) -> Iterator[LineBlock]:
    """Yield blocks of complete lines, each as soon as its bytes arrive.

    A line of more than `limit` bytes is a block of its own, without its bytes, so that memory is bounded.

    Parameters
    ----------
    raw_blocks : iterator of bytes
        The bytes of the stream, split anywhere.
    limit : int
        The maximum size of a line, in bytes.
    position : callable
        Returns the number of bytes of the file that have been read.
    first_line : int
        The number of the first line.
    """
    splitter = LineSplitter(encoding, limit, first_line)
    n_read = 0
    for block in chain.from_iterable(map(splitter.feed, _align(raw_blocks, encoding.width))):
        yield block._replace(size=position() - n_read)
        n_read = position()
    for block in splitter.finish():
        yield block._replace(size=position() - n_read)
        n_read = position()


class LineSplitter:
    """Splits bytes, which arrive in parts of any size, into blocks of complete lines.

    Parameters
    ----------
    encoding : Encoding
    limit : int
        The maximum size of a line, and of several lines together, in bytes without the last line feed. A longer line
        is a block without data.
    first_line : int
        The number of the first line.
    """

    def __init__(self, encoding: Encoding, limit: int, first_line: int = 1) -> None:
        self._encoding = encoding
        self._limit = limit
        self._line = first_line  # the number of the next line
        self._pending: list[bytes] = []  # the bytes of an unfinished line
        self._pending_size = 0

    def feed(self, raw: bytes) -> Iterator[LineBlock]:
        """Yield the blocks that these bytes complete."""
        last = self._encoding.last_newline(raw)
        if last < 0:
            self._keep(raw)
            return
        start, end = 0, last + self._encoding.width
        if self._pending_size > self._limit:
            yield self._too_long_line()
            start = self._encoding.find_newline(raw) + self._encoding.width
        whole = b"".join((*self._pending, memoryview(raw)[start:end]))  # copies once
        self._pending, self._pending_size = [], 0
        self._keep(raw[end:])
        yield from self._cut(whole)

    @property
    def n_pending(self) -> int:
        """The number of bytes of an unfinished line that are kept."""
        return self._pending_size if self._pending else 0

    def finish(self) -> Iterator[LineBlock]:
        """Yield the last line, which has no line feed."""
        if self._pending_size > self._limit:
            yield self._too_long_line()
        else:
            yield from self._cut(b"".join(self._pending))

    def _keep(self, raw: bytes) -> None:
        self._pending_size += len(raw)
        if self._pending_size > self._limit:
            self._pending = []
        elif raw:
            self._pending.append(raw)

    def _cut(self, whole: bytes) -> Iterator[LineBlock]:
        """Yield complete lines as one block, or as several if they are many or too long together."""
        newline = self._encoding.newline
        n_lines = self._encoding.count_newlines(whole) + (not whole.endswith(newline))
        if not whole:
            return
        if n_lines <= MAX_LINES and len(whole) <= self._limit:
            yield self._block(whole, n_lines)
            return
        group: list[bytes] = []
        size = 0
        for line in self._encoding.split_lines(whole):
            if group and (size + len(line) > self._limit or len(group) == MAX_LINES):
                yield self._block(newline.join(group) + newline, len(group))
                group, size = [], 0
            if len(line) > self._limit:
                yield self._too_long_line()
            else:
                group.append(line)
                size += len(line) + len(newline)
        if group:
            yield self._block(newline.join(group) + newline, len(group))

    def _block(self, data: bytes, n_lines: int) -> LineBlock:
        self._line += n_lines
        return LineBlock(data, self._line - n_lines, 0)

    def _too_long_line(self) -> LineBlock:
        self._line += 1
        return LineBlock(b"", self._line - 1, 0, is_too_long=True)


def read_raw_blocks(stream: ByteStream) -> Iterator[bytes]:
    """Yield the bytes of a stream as they arrive."""
    return iter(stream.read, b"")


def _align(raw_blocks: Iterator[bytes], width: int) -> Iterator[bytes]:
    """Yield the same bytes in blocks of whole characters; only the last may be incomplete."""
    if width == 1:
        yield from raw_blocks
        return
    rest = b""
    for raw in raw_blocks:
        data = rest + raw
        end = len(data) - len(data) % width
        rest = data[end:]
        yield data[:end]
    if rest:
        yield rest


def count_lines_in_range(path: str, byte_range: ByteRange, bom_size: int, encoding: Encoding) -> int:
    """Return how many lines begin within a range of a file whose text begins at byte `bom_size`."""
    start, stop = _round_to_characters(byte_range, encoding)
    if stop <= bom_size:
        return 0
    base = bom_size if start <= bom_size else start - encoding.width
    return (start <= bom_size) + _count_newlines(path, base, stop - encoding.width, encoding)


def _round_to_characters(byte_range: ByteRange, encoding: Encoding) -> tuple[int, int]:
    width = encoding.width
    return -(-byte_range.start // width) * width, -(-byte_range.stop // width) * width


def read_range(path: str, byte_range: ByteRange, bom_size: int, encoding: Encoding, limit: int) -> Iterator[LineBlock]:
    """Yield the blocks of the lines that begin within a range of a file whose text begins at byte `bom_size`."""
    width = encoding.width
    start, stop = _round_to_characters(byte_range, encoding)
    is_first = start <= bom_size
    base = bom_size if is_first else start - width  # one character earlier: a line that ends there begins in the range
    first_line = byte_range.first_line
    if first_line is None:
        first_line = 1 + count_lines_in_range(path, ByteRange(0, start), bom_size, encoding)
    stream = open_stream(path, offset=base)
    try:
        raw_blocks = _align(read_raw_blocks(stream), width)
        offset = base
        if not is_first:
            offset, raw_blocks = _skip_line(raw_blocks, base, encoding)
        owned = _stop_after_line(raw_blocks, offset, stop, encoding)
        yield from read_line_blocks(owned, encoding, limit, position=lambda: stream.position, first_line=first_line)
    finally:
        stream.close()


def _skip_line(raw_blocks: Iterator[bytes], offset: int, encoding: Encoding) -> tuple[int, Iterator[bytes]]:
    """Return the offset of the next line, and the blocks from there on."""
    for raw in raw_blocks:
        found = encoding.find_newline(raw)
        if found >= 0:
            end = found + encoding.width
            return offset + end, chain((raw[end:],), raw_blocks)
        offset += len(raw)
    return offset, iter(())


def _stop_after_line(raw_blocks: Iterator[bytes], offset: int, stop: int, encoding: Encoding) -> Iterator[bytes]:
    """Yield the bytes up to the end of the last line that begins before `stop`; the first block is at `offset`."""
    if offset >= stop:
        return
    for raw in raw_blocks:
        found = encoding.find_newline(raw, max(0, stop - encoding.width - offset))
        if found >= 0:
            yield raw[: found + encoding.width]
            return
        yield raw
        offset += len(raw)


def _count_newlines(path: str, start: int, stop: int, encoding: Encoding) -> int:
    n_lines, offset = 0, start
    stream = open_stream(path, offset=start)
    try:
        for raw in _align(read_raw_blocks(stream), encoding.width):
            n_lines += encoding.count_newlines(raw[: max(0, stop - offset)])
            offset += len(raw)
            if offset >= stop:
                break
    finally:
        stream.close()
    return n_lines
