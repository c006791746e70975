"""Pieces of a source that can be read by themselves, by whoever has the same files: some files, or a range of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nbtext.documents.blocks import Span, count_beginnings
from nbtext.documents.decoding import Encoding, marked_encoding
from nbtext.documents.formats import format_of
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import STANDARD_INPUT, file_size, open_stream
from nbtext.documents.urls import has_ranges, is_url
from nbtext.errors import InputError

LEAST_BYTES, MOST_BYTES = 16 << 20, 512 << 20  # of a shard: each has a sample of its own, and must fit into memory
FILE_BYTES = 32 << 10  # that a file of a directory is taken to have: to look at each would cost as much as to read it
IN_RANGES = ("jsonl", "lines", "fasttext")  # formats of which any line is a document by itself


@dataclass(frozen=True, slots=True)
class Shard:
    """Some files, or a part of one.

    reader  "files" (a document each), "mails" (a mail each), or "file" for one of any format
    paths   as typed
    labels  of each file, where its folder says one
    span    the part of the one file; None: all of it
    root    the directory that the files are from, if any
    """

    reader: str
    paths: tuple[str, ...]
    labels: tuple[str | None, ...]
    span: Span | None = None
    root: str | None = None


def suitable_bytes(n_bytes: int | None, n_readers: int) -> int:
    """How large shards should be for so many readers of so many bytes: two for each, unless that makes extreme ones."""
    if n_bytes is None:
        return MOST_BYTES
    return min(max(-(-n_bytes // (2 * n_readers)), LEAST_BYTES), MOST_BYTES)


def cut(whole: Shard, n_bytes: int, *, encoding: Encoding, settings: ReadingSettings) -> Iterator[Shard]:
    """The same documents in shards of about so many bytes, in order. Lines are not numbered: all spans begin at line 1.

    raises  InputError: it can be read here only
    """
    if whole.reader != "file":
        step = max(1, n_bytes // FILE_BYTES)
        for start in range(0, len(whole.paths), step):
            part = slice(start, start + step)
            yield replace(whole, paths=whole.paths[part], labels=whole.labels[part])
        return
    path, size = whole.paths[0], file_size(whole.paths[0])
    if path == STANDARD_INPUT or (size is None and not is_url(path)):
        raise InputError("a stream cannot be read by others", where=path, hint="save it as a file that all can read")
    if size is None or size <= n_bytes or not _has_ranges(path, encoding, settings):
        yield whole
        return
    for start in range(0, size, n_bytes):
        yield replace(whole, span=Span(start, min(start + n_bytes, size), first_line=1))


def _has_ranges(path: str, encoding: Encoding, settings: ReadingSettings) -> bool:
    """Whether the lines of a file can be read from anywhere on."""
    stream = open_stream(path)
    try:
        found = settings.input_format or format_of(stream.path, stream.head(), encoding)
        if stream.compression is not None or found not in IN_RANGES:
            return False
        return not is_url(path) or has_ranges(path)
    finally:
        stream.close()


def count_lines(shard: Shard, encoding: Encoding) -> int:
    """How many lines begin in the span of a shard; 0 for one that has none.

    raises  InputError: its file cannot be read
    """
    if shard.span is None:
        return 0
    stream = open_stream(shard.paths[0])
    try:
        encoding, mark = marked_encoding(stream.head(), encoding)
    finally:
        stream.close()
    return count_beginnings(stream.location, shard.span, mark, encoding)


def numbered(shards: Sequence[Shard], n_lines: Sequence[int]) -> list[Shard]:
    """The same shards, each knowing the number of its first line, where so many begin in each."""
    found: list[Shard] = []
    first_line = 1
    for shard, number in zip(shards, n_lines, strict=True):
        if shard.span is None or shard.span.start == 0:
            first_line = 1
        found.append(_from_line(shard, first_line))
        first_line += number
    return found


def unnumbered(shard: Shard) -> Shard:
    """The same shard; the lines before it are counted when it is read."""
    return _from_line(shard, None)


def _from_line(shard: Shard, first_line: int | None) -> Shard:
    return shard if shard.span is None else replace(shard, span=shard.span._replace(first_line=first_line))
