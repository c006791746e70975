"""Cutting a stream of bytes into blocks of whole lines, whatever pieces it comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from nbtext.documents.decoding import Encoding
from nbtext.documents.streams import ByteStream, open_stream

CHUNK_LINES = 1 << 14  # at most; short lines make large batches else


class Span(NamedTuple):
    """A part of an uncompressed file: the lines that begin from byte `start` on, before byte `stop`.

    first_line is the number of its first line, from 1; without it the lines before are counted.
    """

    start: int
    stop: int
    first_line: int | None = None


class Block(NamedTuple):
    """Some whole lines, or one that is too long to be kept.

    data        the bytes of the lines; only the last line of a file may lack its line feed; empty where too long
    first_line  the number of the first, from 1
    size        bytes of the file read for it
    """

    data: bytes
    first_line: int
    size: int
    is_too_long: bool = False


def line_blocks(
    pieces: Iterator[bytes], encoding: Encoding, limit: int, *, position: Callable[[], int], first_line: int = 1
) -> Iterator[Block]:
    """Cut pieces of bytes into blocks of whole lines, each as soon as it is there.

    A line of more than `limit` bytes is passed over in bounded memory; it is a block by itself, without its bytes.

    position  tells how many bytes of the file were read so far
    """
    cutter = _Cutter(encoding, limit, first_line)
    read = 0
    for piece in _aligned(pieces, encoding.width):
        for block in cutter.feed(piece):
            yield block._replace(size=position() - read)
            read = position()
    for block in cutter.finish():
        yield block._replace(size=position() - read)
        read = position()


class _Cutter:
    """Cuts at line feeds what is fed piece by piece."""

    def __init__(self, encoding: Encoding, limit: int, first_line: int) -> None:
        self._encoding = encoding
        self._limit = limit
        self._line = first_line  # the number of the next line to give
        self._pending: list[bytes] = []  # of a line that goes on
        self._pending_size = 0

    def feed(self, piece: bytes) -> Iterator[Block]:
        """The blocks that this piece completes."""
        last = self._encoding.last_newline(piece)
        if last < 0:
            self._keep(piece)
            return
        start, end = 0, last + self._encoding.width
        if self._pending_size > self._limit:
            yield self._too_long()
            start = self._encoding.find_newline(piece) + self._encoding.width
        whole = b"".join((*self._pending, memoryview(piece)[start:end]))  # copies once
        self._pending, self._pending_size = [], 0
        self._keep(piece[end:])
        yield from self._cut(whole)

    def finish(self) -> Iterator[Block]:
        """What is left at the end: a line without a line feed."""
        if self._pending_size > self._limit:
            yield self._too_long()
        else:
            yield from self._cut(b"".join(self._pending))

    def _keep(self, piece: bytes) -> None:
        self._pending_size += len(piece)
        if self._pending_size > self._limit:
            self._pending = []
        elif piece:
            self._pending.append(piece)

    def _cut(self, whole: bytes) -> Iterator[Block]:
        """Whole lines as one block, or as several where they are many or some of them are too long."""
        n_lines = self._encoding.count_newlines(whole) + (not whole.endswith(self._encoding.newline))
        if not whole:
            return
        if n_lines <= CHUNK_LINES and len(whole) <= self._limit:
            yield self._block(whole, n_lines)
            return
        group: list[bytes] = []
        for line in self._encoding.split_lines(whole):
            if len(line) > self._limit or len(group) == CHUNK_LINES:
                yield from self._grouped(group)
                group = []
            if len(line) > self._limit:
                yield self._too_long()
            else:
                group.append(line)
        yield from self._grouped(group)

    def _grouped(self, lines: list[bytes]) -> Iterator[Block]:
        if lines:
            newline = self._encoding.newline
            yield self._block(newline.join(lines) + newline, len(lines))

    def _block(self, data: bytes, n_lines: int) -> Block:
        self._line += n_lines
        return Block(data, self._line - n_lines, 0)

    def _too_long(self) -> Block:
        self._line += 1
        return Block(b"", self._line - 1, 0, is_too_long=True)


def pieces_of(stream: ByteStream) -> Iterator[bytes]:
    """What the stream gives, piece by piece."""
    return iter(stream.read, b"")


def _aligned(pieces: Iterator[bytes], width: int) -> Iterator[bytes]:
    """The same bytes in pieces of whole characters, but for a last one that is broken."""
    if width == 1:
        yield from pieces
        return
    rest = b""
    for piece in pieces:
        data = rest + piece
        end = len(data) - len(data) % width
        rest = data[end:]
        yield data[:end]
    if rest:
        yield rest


def count_beginnings(path: str, span: Span, mark: int, encoding: Encoding) -> int:
    """How many lines begin within the span of a file whose text begins at byte `mark`."""
    start, stop = _edges(span, encoding)
    if stop <= mark:
        return 0
    base = mark if start <= mark else start - encoding.width
    return (start <= mark) + _count_lines(path, base, stop - encoding.width, encoding)


def _edges(span: Span, encoding: Encoding) -> tuple[int, int]:
    """Where the span starts and stops, in whole characters."""
    width = encoding.width
    return -(-span.start // width) * width, -(-span.stop // width) * width


def span_blocks(path: str, span: Span, mark: int, encoding: Encoding, limit: int) -> Iterator[Block]:
    """The blocks of the lines that begin within the span of a file whose text begins at byte `mark`."""
    width = encoding.width
    start, stop = _edges(span, encoding)
    is_first = start <= mark
    base = mark if is_first else start - width  # one character ahead: a line that ended there begins in the span
    first_line = span.first_line
    if first_line is None:
        first_line = 1 + count_beginnings(path, Span(0, start), mark, encoding)
    stream = open_stream(path, offset=base)
    try:
        pieces = _aligned(pieces_of(stream), width)
        offset = base
        if not is_first:
            offset, pieces = _after_newline(pieces, base, encoding)
        owned = _until(pieces, offset, stop, encoding)
        yield from line_blocks(owned, encoding, limit, position=lambda: stream.position, first_line=first_line)
    finally:
        stream.close()


def _after_newline(pieces: Iterator[bytes], offset: int, encoding: Encoding) -> tuple[int, Iterator[bytes]]:
    """Where the first line after the next line feed begins, and the pieces from there on."""
    for piece in pieces:
        found = encoding.find_newline(piece)
        if found >= 0:
            end = found + encoding.width
            return offset + end, chain((piece[end:],), pieces)
        offset += len(piece)
    return offset, iter(())


def _until(pieces: Iterator[bytes], offset: int, stop: int, encoding: Encoding) -> Iterator[bytes]:
    """The pieces up to the end of the last line that begins before `stop`; the first piece is at `offset`."""
    if offset >= stop:
        return
    for piece in pieces:
        found = encoding.find_newline(piece, max(0, stop - encoding.width - offset))
        if found >= 0:
            yield piece[: found + encoding.width]
            return
        yield piece
        offset += len(piece)


def _count_lines(path: str, start: int, stop: int, encoding: Encoding) -> int:
    """How many lines end between two places of a file."""
    n_lines, offset = 0, start
    stream = open_stream(path, offset=start)
    try:
        for piece in _aligned(pieces_of(stream), encoding.width):
            n_lines += encoding.count_newlines(piece[: max(0, stop - offset)])
            offset += len(piece)
            if offset >= stop:
                break
    finally:
        stream.close()
    return n_lines
