"""Documents that are files: they are read and decoded in blocks; binary files are skipped."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from nbtext.documents.batch import Batch, Block
from nbtext.documents.blocks import ReadOptions
from nbtext.documents.decoding import BOMS, Decoded, Encoding
from nbtext.documents.decompression import (
    MAGICS,
    SUFFIXES,
    compression_of,
    misnamed_error,
    suffix_compression,
    too_long,
    unpack,
)
from nbtext.documents.files import read_files
from nbtext.documents.formats import HTML_SUFFIXES, content_suffix
from nbtext.documents.office import extract_text, is_readable
from nbtext.documents.recognition import (
    BINARY,
    HEAD_BYTES,
    OUTPUTS,
    UNUSUAL_BEGINNINGS,
    find_utf_16,
    log_skipped,
    name_binary,
    recognize,
)
from nbtext.documents.streams import ByteStream, unreadable
from nbtext.documents.urls import hide_credentials, is_url, read_url
from nbtext.errors import InputError
from nbtext.records import dataclass

BLOCK_FILES = 256
BLOCK_BYTES = 8 << 20
UNPACKED_RATIO = 20  # assumed ratio of the decompressed size to the size of a compressed file
SAMPLE_STEP = 32  # the size of every 32nd file estimates the size of a block
SPECIAL_BEGINNINGS = BOMS + MAGICS + UNUSUAL_BEGINNINGS
SPECIAL_SUFFIXES = (*SUFFIXES, *HTML_SUFFIXES, ".HTML", ".HTM")
# Most files have none of these, and need not be compared with each beginning and suffix.
FIRST_BYTES = frozenset(beginning[:1] for beginning in SPECIAL_BEGINNINGS)
LAST_LETTERS = frozenset(suffix[-1] for suffix in SPECIAL_SUFFIXES)
UNREADABLE_LINK = "symbolic link to a file that cannot be read"


@dataclass(slots=True)
class FileDocuments:
    """Documents that are files.

    Attributes
    ----------
    paths : list of str
        As typed; they are the ids.
    labels : list of str or None
    root : str, optional
        The directory SOURCE that the files are from; None for files that are named by themselves.
    contents : list of bytes or int, optional
        The contents, as `read_files` returns them, if they have already been read.
    keeps_skipped : bool
        Whether a file of a directory that is not text is a problem of its row, unless it is a model or a matrix.
    """

    paths: list[str]
    labels: list[str | None]
    encoding: Encoding
    max_document_bytes: int
    root: str | None = None
    contents: list[bytes | int] | None = None
    keeps_skipped: bool = False

    def batch(self) -> Batch:
        """Read and decode the files.

        A file that cannot be read is a problem of its row. A file of a directory that is binary is skipped and
        counted.
        """
        texts: list[str] = []
        ids = list(map(hide_credentials, self.paths)) if is_url(self.paths[0]) else self.paths
        batch = Batch(ids, (texts,), self.labels)
        codec, may_hold_nul = self.encoding.codec, self.encoding.is_wide
        skipped: list[int] = []
        contents = self.contents or self._read(batch)
        for row, (path, content) in enumerate(zip(self.paths, contents, strict=True)):
            if (
                isinstance(content, int)
                or (path[-1:] in LAST_LETTERS and path.endswith(SPECIAL_SUFFIXES))
                or (content[:1] in FIRST_BYTES and content.startswith(SPECIAL_BEGINNINGS))
                or (not may_hold_nul and content.find(b"\0", 0, HEAD_BYTES) >= 0)
            ):
                self._add_special(row, content, batch, texts, skipped)
                continue
            try:
                texts.append(content.decode(codec))
            except UnicodeDecodeError:
                self._add_special(row, content, batch, texts, skipped)
        return batch.drop(skipped) if skipped else batch

    def _read(self, batch: Batch) -> list[bytes | int]:
        """Return the content of each file; the batch gets the errors of files at URLs."""
        if not is_url(self.paths[0]):
            return read_files(encode_paths(self.paths), self.max_document_bytes)
        contents: list[bytes | int] = []
        for row, path in enumerate(self.paths):
            try:
                contents.append(read_url(path, self.max_document_bytes))
            except InputError as problem:
                contents.append(b"")
                batch.problems[row], batch.labels[row] = problem, None
        return contents

    def _add_special(self, row: int, content: bytes | int, batch: Batch, texts: list[str], skipped: list[int]) -> None:
        """Add a file that may not be plain text: its text, its problem, or the reason to skip it."""
        path, text, repaired = self.paths[row], "", 0
        try:
            if row not in batch.problems:
                found = self._read_special(path, content)
                if isinstance(found, str):
                    log_skipped(path, found)
                    batch.note(found)
                    skipped.append(row)
                else:
                    text, repaired = found
        except InputError as problem:
            batch.problems[row] = problem.locate(path)
            batch.labels[row] = None
        texts.append(text)
        batch.repaired_documents += repaired > 0
        batch.repaired_bytes += repaired

    def _read_special(self, path: str, content: bytes | int) -> Decoded | str:
        """Return the text of a file that may not be plain text; a `str` is the reason to skip a file of a directory.

        Raises
        ------
        InputError
            The file cannot be read, or is binary and not from a directory.
        """
        if isinstance(content, int) and content != errno.EFBIG and self.root is not None:
            is_link = content == errno.EINVAL or os.path.islink(path)
            if is_link and self.keeps_skipped:
                raise InputError(f"is a {UNREADABLE_LINK}", hint="correct its target (ls -l shows it)")
            if is_link:
                return UNREADABLE_LINK
        content = content_of(path, content, self.max_document_bytes)
        kind, head = recognize(content), content[:HEAD_BYTES]
        if kind is not None and is_readable(kind, content):
            extracted = extract_text(kind, content, self.max_document_bytes)
            if isinstance(extracted, str):
                return Decoded(extracted, 0)
            kind = extracted
        if kind is None and b"\0" in head and not self.encoding.is_wide and not head.startswith(BOMS):
            kind = find_utf_16(head) if path.lower().endswith(".txt") else BINARY
        if self.root is None and kind is not None and kind is not BINARY:
            raise kind.refuse()
        if self.root is not None and kind is not None:
            kind = name_binary(head) if kind is BINARY else kind
            if self.keeps_skipped and kind not in OUTPUTS:
                raise kind.refuse()
            return kind.describe()
        text, repaired = self.encoding.decode(content)
        if content_suffix(path) in HTML_SUFFIXES:
            from nbtext.documents.html import text_of_html

            text = text_of_html(text)
        return Decoded(text, repaired)


def encode_paths(paths: Sequence[str]) -> list[bytes]:
    """Return the paths as the system has them; it is `os.fsencode` for many."""
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    return [path.encode(encoding, errors) for path in paths]


def content_of(path: str, content: bytes | int, limit: int) -> bytes:
    """Return the content, decompressed if it is compressed.

    Raises
    ------
    InputError
        The file could not be read, has more than `limit` bytes, or cannot be decompressed.
    """
    if isinstance(content, int):
        raise too_long(limit) if content == errno.EFBIG else unreadable(path, OSError(content, os.strerror(content)))
    compression = compression_of(content)
    if compression is not None:
        return unpack(content, compression, limit=limit)
    if (suffix := suffix_compression(path)[1]) is not None:
        raise misnamed_error(suffix)
    return content


def read_file_documents(
    paths: Sequence[str], labels: Sequence[str | None], options: ReadOptions, root: str | None = None, start: int = 0
) -> Iterator[Block]:
    """Yield files, from number `start` on, in blocks of at most 256; blocks of large files are smaller."""
    limit = options.settings.max_document_bytes
    while start < len(paths):
        sample = paths[start : start + BLOCK_FILES : SAMPLE_STEP]  # to stat each file is as slow as to read it
        total = 0
        for path in sample:
            with suppress(OSError):
                ratio = UNPACKED_RATIO if path.endswith(SPECIAL_SUFFIXES) else 1
                total += min(os.stat(path).st_size * ratio, limit)
        stop = start + max(1, min(BLOCK_FILES, BLOCK_BYTES * len(sample) // max(total, 1)))
        files = list(paths[start:stop]), list(labels[start:stop])
        documents = FileDocuments(*files, options.encoding, limit, root, keeps_skipped=options.settings.keeps_skipped)
        yield Block(documents.batch, len(files[0]), total * len(files[0]) // len(sample))
        start = stop


def read_whole(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the whole content of a pipe or standard input as one document."""
    limit = options.settings.max_document_bytes
    blocks: list[bytes] = []
    size = 0
    while size <= limit and (raw := stream.read()):
        blocks.append(raw)
        size += len(raw)
    content = b"".join(blocks) if size <= limit else errno.EFBIG
    documents = FileDocuments([stream.path], [None], options.encoding, limit, contents=[content])
    return iter([Block(documents.batch, 1, size)])
