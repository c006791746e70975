"""Documents that are a file each."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from nbtext.documents.batch import Batch
from nbtext.documents.decoding import MARKS, Encoding
from nbtext.documents.decompression import (
    MAGICS,
    SUFFIXES,
    compression_of,
    misnamed,
    suffix_compression,
    too_long,
    unpacked,
)
from nbtext.documents.recognition import (
    BINARY,
    HEAD_BYTES,
    UNUSUAL_BEGINNINGS,
    Kind,
    recognize,
    recognize_output,
)
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import ByteStream, unreadable
from nbtext.documents.urls import is_url, read_whole, shown
from nbtext.errors import InputError

FILES_AT_ONCE = 256  # of a chunk,
CHUNK_BYTES = 8 << 20  # as long as they have no more bytes together
UNPACKED_RATIO = 20  # to which a compressed file is expected to unpack
SAMPLE_STEP = 32  # one file in so many is looked at to tell
READ_BYTES = 1 << 20
UNREADABLE_LINK = "symbolic link to a file that cannot be read"
SPECIAL_BEGINNINGS = MARKS + MAGICS + UNUSUAL_BEGINNINGS
SPECIAL_SUFFIXES = tuple(SUFFIXES)
TAB_BYTES = 300  # a record of results has a tab within so many bytes


def read_files_plainly(paths: list[bytes], limit: int) -> list[bytes | int]:
    """The content of each file, or the number of the system's error.

    That is EINVAL where it is no regular file, and EFBIG where it has more than `limit` bytes.
    """
    return [_read_file(path, limit) for path in paths]


try:
    from nbtext.documents._files import read_files
except ImportError:  # not compiled here
    read_files = read_files_plainly


def _read_file(path: bytes, limit: int) -> bytes | int:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        return error.errno or errno.EIO
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return errno.EINVAL
        if status.st_size > limit:
            return errno.EFBIG
        content = os.read(handle, status.st_size + 1)
        return content if len(content) == status.st_size else _read_changing(handle, content, limit)
    except OSError as error:
        return error.errno or errno.EIO
    finally:
        os.close(handle)


def _read_changing(handle: int, content: bytes, limit: int) -> bytes | int:
    """The rest of a file whose size is not what the system says."""
    pieces, size = [content], len(content)
    while pieces[-1]:
        pieces.append(os.read(handle, READ_BYTES))
        size += len(pieces[-1])
        if size > limit:
            return errno.EFBIG
    return b"".join(pieces)


@dataclass(slots=True)
class FilesChunk:
    """Some files, each of which is a document.

    paths     as typed; they are the ids
    labels    of each of them
    root      the directory SOURCE that they are from, None for files that are named by themselves
    contents  what was read of them already, None where they are still to be read
    """

    paths: list[str]
    labels: list[str | None]
    encoding: Encoding
    max_document_bytes: int
    root: str | None = None
    contents: list[bytes | int] | None = None

    @property
    def size(self) -> int:
        """The number of files."""
        return len(self.paths)

    def batch(self) -> Batch:
        """Read and decode the files.

        A file that cannot be read is a problem of its row. A file of a directory that is binary, or an output of
        nbtext, is skipped and counted.
        """
        texts: list[str] = []
        ids = list(map(shown, self.paths)) if is_url(self.paths[0]) else self.paths
        batch = Batch(ids, (texts,), self.labels)
        codec, may_hold_nul = self.encoding.codec, self.encoding.width > 1
        skipped: list[int] = []
        for row, (path, content) in enumerate(zip(self.paths, self.contents or self._read(batch), strict=True)):
            if (
                isinstance(content, int)
                or path.endswith(SPECIAL_SUFFIXES)
                or content.startswith(SPECIAL_BEGINNINGS)
                or (not may_hold_nul and content.find(b"\0", 0, HEAD_BYTES) >= 0)
                or content.find(b"\t", 0, TAB_BYTES) >= 0
            ):
                self._add_special(row, content, batch, skipped)
                continue
            try:
                texts.append(content.decode(codec))
            except UnicodeDecodeError:
                self._add_special(row, content, batch, skipped)
        return batch.without(skipped) if skipped else batch

    def _read(self, batch: Batch) -> list[bytes | int]:
        """Return the content of each file; what is wrong with one at a URL goes into the batch."""
        limit = self.max_document_bytes
        if not is_url(self.paths[0]):
            return read_files([os.fsencode(path) for path in self.paths], limit)
        contents: list[bytes | int] = []
        for row, path in enumerate(self.paths):
            try:
                contents.append(read_whole(path, limit))
            except InputError as problem:
                contents.append(b"")
                batch.problems[row], batch.labels[row] = problem, None
        return contents

    def _add_special(self, row: int, content: bytes | int, batch: Batch, skipped: list[int]) -> None:
        """Add a file that needs a closer look: its text, its problem, or the reason why it is skipped."""
        path, text, repaired = self.paths[row], "", 0
        try:
            if row not in batch.problems and (reason := self._reason_to_skip(path, content)):
                batch.notes[reason] = batch.notes.get(reason, 0) + 1
                skipped.append(row)
            elif row not in batch.problems:
                text, repaired = self.encoding.decode(content_of(path, content, self.max_document_bytes))
        except InputError as problem:
            batch.problems[row] = located(problem, path)
            batch.labels[row] = None
        batch.columns[0].append(text)
        batch.repaired_documents += repaired > 0
        batch.repaired_bytes += repaired

    def _reason_to_skip(self, path: str, content: bytes | int) -> str | None:
        """Return why a file of a directory is no document, or None where it is one.

        raises  InputError: the file cannot be read, or is binary and not from a directory
        """
        if isinstance(content, int):
            is_special = content != errno.EFBIG and (content == errno.EINVAL or os.path.islink(path))
            return UNREADABLE_LINK if is_special and self.root is not None else None
        unpacked_content = content_of(path, content, self.max_document_bytes)
        kind = recognize(unpacked_content) or self._recognize_binary(path, unpacked_content)
        if self.root is None:
            if kind is not None and kind is not BINARY:
                raise kind.refuse()
            return None
        if kind is None and not is_url(self.root):
            kind = recognize_output(unpacked_content, self.root)
        return kind.describe() if kind is not None else None

    def _recognize_binary(self, path: str, content: bytes) -> Kind | None:
        is_text = path.lower().endswith(".txt") or self.encoding.width > 1 or content.startswith(MARKS)
        return BINARY if not is_text and b"\0" in content[:HEAD_BYTES] else None


def content_of(path: str, content: bytes | int, limit: int) -> bytes:
    """What was read, unpacked where it is compressed.

    raises  InputError: it could not be read, has more than `limit` bytes, or does not unpack
    """
    if isinstance(content, int):
        raise too_long(limit) if content == errno.EFBIG else unreadable(path, OSError(content, os.strerror(content)))
    compression = compression_of(content)
    if compression is not None:
        return unpacked(content, compression, limit=limit)
    if (suffix := suffix_compression(path)[1]) is not None:
        raise misnamed(suffix)
    return content


def located(problem: InputError, where: str) -> InputError:
    """The problem, said of this document."""
    return problem if problem.where else InputError(problem.what, where=where, hint=problem.hint)


def files_chunks(
    paths: Sequence[str],
    labels: Sequence[str | None],
    encoding: Encoding,
    settings: ReadingSettings,
    root: str | None = None,
) -> Iterator[FilesChunk]:
    """The files in chunks of some hundreds, of fewer where they are large."""
    start, limit = 0, settings.max_document_bytes
    while start < len(paths):
        part = slice(start, start + _files_at_once(paths[start : start + FILES_AT_ONCE : SAMPLE_STEP], limit))
        yield FilesChunk(list(paths[part]), list(labels[part]), encoding, limit, root)
        start = part.stop


def _files_at_once(sample: Sequence[str], limit: int) -> int:
    """How many files make a chunk, by the sizes of some: to look at each would cost as much as to read it."""
    total = 0
    for path in sample:
        with suppress(OSError):
            ratio = UNPACKED_RATIO if path.endswith(SPECIAL_SUFFIXES) else 1
            total += min(os.stat(path).st_size * ratio, limit)
    return max(1, min(FILES_AT_ONCE, CHUNK_BYTES * len(sample) // max(total, 1)))


def stream_chunk(stream: ByteStream, encoding: Encoding, settings: ReadingSettings) -> FilesChunk:
    """All that a pipe or standard input gives as one document."""
    limit = settings.max_document_bytes
    pieces: list[bytes] = []
    size = 0
    while size <= limit and (piece := stream.read()):
        pieces.append(piece)
        size += len(piece)
    content = b"".join(pieces) if size <= limit else errno.EFBIG
    return FilesChunk([stream.path], [None], encoding, limit, contents=[content])
