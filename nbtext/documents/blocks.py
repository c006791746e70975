"""Split a stream, or a byte range of a file, into blocks of complete lines."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nbtext.documents.decoding import Encoding, count_byte, to_utf8
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream, open_stream
from nbtext.records import Strings, frozen

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

Item = TypeVar("Item")
NEWLINE = ord("\n")
MAX_BLOCK_LINES = 1 << 14  # of a block; short lines would make large batches


class ByteRange(NamedTuple):
    """A range of an uncompressed file: the lines that begin at byte `start` or later, before byte
    `stop`.

    `first_line` is the number of its first line, from 1; None: the reader counts the lines before
    it.
    """

    start: int
    stop: int
    first_line: int | None = None


@frozen
class ReadOptions:
    """Options of a reader.

    Attributes
    ----------
    encoding : Encoding
        That of the file. The lines of a format with text arrive in UTF-8; see `decoding.to_utf8`.
    settings : InputSettings
    byte_range : ByteRange, optional
        The only lines to read, of a splittable format.
    """

    encoding: Encoding
    settings: InputSettings
    byte_range: ByteRange | None = None


@frozen
class Shard:
    """Some files, or a range of one.

    Attributes
    ----------
    reader : {"file", "files", "mails"}
        "files" are a document each, "mails" a mail each, and "file" is one file of any format.
    paths : tuple of str
        As typed.
    labels : tuple of str or None
        The label of each file, which is the name of its folder; None if there is none.
    byte_range : ByteRange, optional
        The range of the only file; None for all of it.
    root : str, optional
        The directory SOURCE that the files are from.
    """

    reader: str
    paths: Strings
    labels: tuple[str | None, ...]
    byte_range: ByteRange | None = None
    root: str | None = None

    @property
    def path(self) -> str:
        """The path of the first file, or of the only one."""
        return self.paths[0]


class LineBlock(NamedTuple):
    """Complete lines, or one line that is too long to be kept.

    Attributes
    ----------
    data : bytes
        The lines with their line feeds, which only the last line of a file may lack; empty for a
        line that is too long.
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


class Row(NamedTuple):
    """A row of a text file as it was read. Invalid bytes are lone surrogates.

    Attributes
    ----------
    first_line : int
        The number of its line, or of the row if the file has no lines.
    gap : str
        The text before it: blank lines, or a bracket or comma of an array.
    text : str
        Its own text, with its line end, which only the last one of a file may lack.
    columns : sequence of str
        Its cells, if it is a row of a table.
    """

    first_line: int
    gap: str
    text: str
    columns: Sequence[str] = ()


def read_line_blocks(
    raw_blocks: Iterator[bytes],
    limit: int,
    *,
    newly_read: Callable[[], int] = lambda: 0,
    first_line: int = 1,
) -> Iterator[LineBlock]:
    """Yield blocks of complete lines, each as soon as its bytes arrive.

    A line of more than `limit` bytes is a block of its own, without its bytes, so that memory is
    bounded.

    Parameters
    ----------
    raw_blocks : iterator of bytes
        The bytes of the stream, split anywhere.
    limit : int
        The maximum size of a line, in bytes.
    newly_read : callable
        Returns the number of bytes of the file that were read since the last call, for
        `LineBlock.size`.
    first_line : int
        The number of the first line.
    """
    pending: list[bytes] = []  # of an unfinished line, unless it is too long
    size = 0  # of that line

    def block(data: bytes, n_lines: int) -> LineBlock:
        nonlocal first_line
        first_line += n_lines
        return LineBlock(data, first_line - n_lines, 0, is_too_long=not data)

    def divide(whole: bytes) -> Iterator[LineBlock]:
        """Yield complete lines as one block, or as several if they are many or too long
        together.
        """
        n_lines = count_byte(whole, NEWLINE) + (not whole.endswith(b"\n"))
        if n_lines <= MAX_BLOCK_LINES and len(whole) <= limit:
            yield block(whole, n_lines)
            return
        lines = whole.removesuffix(b"\n").split(b"\n")
        ends = list(accumulate(len(line) + 1 for line in lines))
        for start, stop in cut(ends, MAX_BLOCK_LINES, limit + 1):
            is_kept = len(lines[start]) <= limit
            yield block(b"\n".join((*lines[start:stop], b"")) if is_kept else b"", stop - start)

    for raw in chain(raw_blocks, (b"",)):
        found = deque[LineBlock]()
        whole = b""
        start = 0
        end = raw.rfind(b"\n") + 1
        if end or not raw:
            if size > limit:
                found.append(block(b"", 1))
                start = raw.find(b"\n") + 1
            whole = b"".join((*pending, memoryview(raw)[start:end]))  # copies once
            found.extend(divide(whole) if whole else ())
            pending = []
            size = 0
        size += len(raw) - end
        pending = [*pending, raw[end:]] if size <= limit else []
        del raw, whole
        while found:
            # no name keeps the block of a long line
            yield found.popleft()._replace(size=newly_read())


def cut(ends: SupportsLenAndGetItem[int], n_items: int, size: float) -> Iterator[tuple[int, int]]:
    """Yield the places of at most `n_items` in a row, which have at most `size` together unless one
    alone has more.

    ends  the sum of the sizes up to each item, itself included
    """
    start = before = 0
    while start < len(ends):
        stop = min(max(start + 1, bisect_right(ends, before + size)), start + n_items)
        yield start, stop
        start = stop
        before = ends[stop - 1]


def group_items(
    items: Iterable[Item],
    size_of: Callable[[Item], int],
    *,
    n_items: float = 1 << 12,
    size: int = 1 << 20,
) -> Iterator[tuple[list[Item], int]]:
    """Yield several items at a time, with their size: at most `n_items`, and no further ones when
    they have `size`.
    """
    remaining = iter(items)

    def take() -> tuple[list[Item], int]:
        group = list[Item]()
        total = 0
        for item in remaining:
            group.append(item)
            total += size_of(item)
            if len(group) == n_items or total >= size:
                break
        return group, total

    return iter(take, ([], 0))  # which keeps no item, as a generator would


def read_raw_blocks(stream: ByteStream) -> Iterator[bytes]:
    """Yield the bytes of a stream as they arrive."""
    return iter(stream.read, b"")


def count_lines_in_range(path: str, byte_range: ByteRange, bom_size: int) -> int:
    """Return how many lines begin within a range of a file whose text begins at byte `bom_size`; a
    last line without an end is not counted.
    """
    start, stop, _ = byte_range
    base = bom_size if start <= bom_size else start - 1
    with open_stream(path, offset=base) as stream:
        owned = _cut_range(read_raw_blocks(stream), base, stop, is_skipping=start > bom_size)
        return sum(count_byte(raw, NEWLINE) for raw in owned)


def read_range(
    path: str, byte_range: ByteRange, bom_size: int, encoding: Encoding, limit: int
) -> Iterator[LineBlock]:
    """Yield the blocks of the lines that begin within a range of a file whose text begins at byte
    `bom_size`.
    """
    start, stop, first_line = byte_range
    # one byte earlier: a line that ends there begins in the range
    base = bom_size if start <= bom_size else start - 1
    if first_line is None:
        first_line = 1 + count_lines_in_range(path, ByteRange(0, start), bom_size)
    with open_stream(path, offset=base) as stream:
        owned = _cut_range(read_raw_blocks(stream), base, stop, is_skipping=start > bom_size)
        owned = owned if encoding.codec == "utf-8" else to_utf8(owned, encoding)
        yield from read_line_blocks(
            owned, limit, newly_read=stream.newly_read, first_line=first_line
        )


def _cut_range(
    raw_blocks: Iterator[bytes], offset: int, stop: int, *, is_skipping: bool
) -> Iterator[bytes]:
    """Yield the bytes of blocks up to the end of the last line that begins before `stop`; after the
    first line, if it is skipped. The first block is at `offset`.
    """
    if not is_skipping and offset >= stop:
        return
    for raw in raw_blocks:
        begin = 0
        if is_skipping:
            begin = raw.find(b"\n") + 1
            if begin and offset + begin >= stop:
                return
            is_skipping = not begin
        if not is_skipping:
            end = raw.find(b"\n", max(begin, stop - 1 - offset)) + 1
            if begin < len(raw):
                yield raw[begin : end or len(raw)]
            if end:
                return
        offset += len(raw)
