"""Directories, DIR/LABEL/**/FILE: select the files that are documents, in an order that depends only on names."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter

from nbtext.documents.batch import Batch
from nbtext.documents.blocks import ReadOptions
from nbtext.documents.decoding import BOMS, Encoding
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
from nbtext.documents.recognition import (
    BINARY,
    HEAD_BYTES,
    UNUSUAL_BEGINNINGS,
    is_like_results,
    name_binary,
    recognize,
    recognize_output,
)
from nbtext.documents.streams import ByteStream, unreadable
from nbtext.documents.urls import hide_credentials, is_url, list_files, read_url
from nbtext.errors import InputError

STANDARD_OUTPUT = "-"
MAILDIR = frozenset({"cur", "new", "tmp"})
BLOCK_FILES = 256
BLOCK_BYTES = 8 << 20
UNPACKED_RATIO = 20  # assumed ratio of the decompressed size to the size of a compressed file
SAMPLE_STEP = 32  # the size of every 32nd file estimates the size of a block
TAB_BYTES = 300  # a record of results has a tab among its first 300 bytes
SPECIAL_BEGINNINGS = BOMS + MAGICS + UNUSUAL_BEGINNINGS
SPECIAL_SUFFIXES = (*SUFFIXES, *HTML_SUFFIXES, ".HTML", ".HTM")
EXCLUDED = "excluded by --exclude"
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
    """

    paths: list[str]
    labels: list[str | None]
    encoding: Encoding
    max_document_bytes: int
    root: str | None = None
    contents: list[bytes | int] | None = None

    @property
    def size(self) -> int:
        """Return the number of files."""
        return len(self.paths)

    def batch(self) -> Batch:
        """Read and decode the files.

        A file that cannot be read is a problem of its row. A file of a directory that is binary, or an output of
        nbtext, is skipped and counted.
        """
        texts: list[str] = []
        ids = list(map(hide_credentials, self.paths)) if is_url(self.paths[0]) else self.paths
        batch = Batch(ids, (texts,), self.labels)
        codec, may_hold_nul = self.encoding.codec, self.encoding.width > 1
        skipped: list[int] = []
        for row, (path, content) in enumerate(zip(self.paths, self.contents or self._read(batch), strict=True)):
            if (
                isinstance(content, int)
                or path.endswith(SPECIAL_SUFFIXES)
                or content.startswith(SPECIAL_BEGINNINGS)
                or (not may_hold_nul and content.find(b"\0", 0, HEAD_BYTES) >= 0)
                or (content.find(b"\t", 0, TAB_BYTES) >= 0 and is_like_results(content))
            ):
                self._add_special(row, content, batch, skipped)
                continue
            try:
                texts.append(content.decode(codec))
            except UnicodeDecodeError:
                self._add_special(row, content, batch, skipped)
        return batch.drop(skipped) if skipped else batch

    def _read(self, batch: Batch) -> list[bytes | int]:
        """Return the content of each file; the batch gets the errors of files at URLs."""
        limit = self.max_document_bytes
        if not is_url(self.paths[0]):
            return read_files([os.fsencode(path) for path in self.paths], limit)
        contents: list[bytes | int] = []
        for row, path in enumerate(self.paths):
            try:
                contents.append(read_url(path, limit))
            except InputError as problem:
                contents.append(b"")
                batch.problems[row], batch.labels[row] = problem, None
        return contents

    def _add_special(self, row: int, content: bytes | int, batch: Batch, skipped: list[int]) -> None:
        """Add a file that may not be plain text: its text, its problem, or the reason to skip it."""
        path, text, repaired = self.paths[row], "", 0
        try:
            if row not in batch.problems and (reason := self._reason_to_skip(path, content)):
                batch.notes[reason] = batch.notes.get(reason, 0) + 1
                skipped.append(row)
            elif row not in batch.problems:
                text, repaired = self.encoding.decode(content_of(path, content, self.max_document_bytes))
                if content_suffix(path) in HTML_SUFFIXES:
                    from nbtext.documents.html import text_of_html

                    text = text_of_html(text)
        except InputError as problem:
            batch.problems[row] = problem.locate(path)
            batch.labels[row] = None
        batch.columns[0].append(text)
        batch.repaired_documents += repaired > 0
        batch.repaired_bytes += repaired

    def _reason_to_skip(self, path: str, content: bytes | int) -> str | None:
        """Return the reason to skip a file of a directory; None if it is a document.

        Raises
        ------
        InputError
            The file cannot be read, or is binary and not from a directory.
        """
        if isinstance(content, int):
            is_special = content != errno.EFBIG and (content == errno.EINVAL or os.path.islink(path))
            return UNREADABLE_LINK if is_special and self.root is not None else None
        unpacked_content = content_of(path, content, self.max_document_bytes)
        kind = recognize(unpacked_content)
        is_text = path.lower().endswith(".txt") or self.encoding.width > 1 or unpacked_content.startswith(BOMS)
        if kind is None and not is_text and b"\0" in unpacked_content[:HEAD_BYTES]:
            kind = BINARY
        if self.root is None:
            if kind is not None and kind is not BINARY:
                raise kind.refuse()
            return None
        if kind is None and not is_url(self.root):
            kind = recognize_output(unpacked_content, self.root)
        if kind is BINARY:
            kind = name_binary(unpacked_content[:HEAD_BYTES])
        return kind.describe() if kind is not None else None


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
    paths: Sequence[str], labels: Sequence[str | None], options: ReadOptions, root: str | None = None
) -> Iterator[FileDocuments]:
    """Yield files in blocks of at most 256; blocks of large files are smaller."""
    start, limit = 0, options.settings.max_document_bytes
    while start < len(paths):
        sample = paths[start : start + BLOCK_FILES : SAMPLE_STEP]  # to stat each file is as slow as to read it
        total = 0
        for path in sample:
            with suppress(OSError):
                ratio = UNPACKED_RATIO if path.endswith(SPECIAL_SUFFIXES) else 1
                total += min(os.stat(path).st_size * ratio, limit)
        stop = start + max(1, min(BLOCK_FILES, BLOCK_BYTES * len(sample) // max(total, 1)))
        yield FileDocuments(list(paths[start:stop]), list(labels[start:stop]), options.encoding, limit, root)
        start = stop


def read_whole(stream: ByteStream, options: ReadOptions) -> Iterator[FileDocuments]:
    """Yield the whole content of a pipe or standard input as one document."""
    limit = options.settings.max_document_bytes
    blocks: list[bytes] = []
    size = 0
    while size <= limit and (raw := stream.read()):
        blocks.append(raw)
        size += len(raw)
    content = b"".join(blocks) if size <= limit else errno.EFBIG
    yield FileDocuments([stream.path], [None], options.encoding, limit, contents=[content])


@dataclass(slots=True)
class Tree:
    """The files below a directory.

    Attributes
    ----------
    paths : list of str
        The directory as typed, joined with the relative path of the file; sorted by code point, name by name.
    labels : list of str or None
        The first folder below the directory; None for a file in the directory itself.
    in_maildir : list of bool
        Whether the file is a mail of a Maildir.
    skipped : Counter of str
        Number of other entries that were skipped, by the reason.
    """

    paths: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    in_maildir: list[bool] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def drop(self, rows: Sequence[bool]) -> None:
        """Remove some of the files."""
        self.paths = [path for path, is_dropped in zip(self.paths, rows, strict=True) if not is_dropped]
        self.labels = [label for label, is_dropped in zip(self.labels, rows, strict=True) if not is_dropped]
        self.in_maildir = [each for each, is_dropped in zip(self.in_maildir, rows, strict=True) if not is_dropped]


@dataclass(slots=True)
class _Folder:
    """A folder on the stack, and its remaining entries."""

    path: str
    label: str | None
    identity: tuple[int, int]  # device and inode
    entries: Iterator[os.DirEntry[str]]
    is_maildir: bool = False
    in_maildir: bool = False
    place: str = ""  # the path below the directory SOURCE, with a slash at the end


class Outputs:
    """The files that this run writes, recognized by name or, where they exist, by identity.

    Parameters
    ----------
    paths : Sequence[str]
        As typed; "-" is standard output, which a shell may have opened as a file of the directory.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = {os.path.realpath(path) for path in paths if path != STANDARD_OUTPUT}
        self._names = {os.path.basename(path) for path in self._paths}
        self._identities: set[tuple[int, int]] = set()
        for path in (1 if path == STANDARD_OUTPUT else path for path in paths):
            with suppress(OSError, ValueError):
                status = os.stat(path)
                if stat.S_ISREG(status.st_mode):
                    self._identities.add((status.st_dev, status.st_ino))
        self._inodes = {inode for _, inode in self._identities}

    def __contains__(self, entry: os.DirEntry[str]) -> bool:
        if entry.name in self._names and os.path.realpath(entry.path) in self._paths:
            return True
        if entry.inode() not in self._inodes and not (self._inodes and entry.is_symlink()):
            return False
        status = entry.stat()
        return (status.st_dev, status.st_ino) in self._identities


def list_tree(root: str, outputs: Sequence[str] = (), exclude: Sequence[str] = ()) -> Tree:
    """Return all files below a directory; symbolic links are followed, hidden files and folders are skipped.

    Parameters
    ----------
    outputs, exclude : Sequence[str]
        Files that this run writes, and patterns of names, or of paths below the directory: they are skipped.

    Raises
    ------
    InputError
        The directory cannot be read, or holds no file.
    """
    tree, is_excluded = Tree(), _compile_globs(exclude)
    if is_url(root):
        return _list_remote_tree(root, is_excluded)
    written = Outputs(outputs)
    try:
        stack = [_open_folder(root, None)]
    except OSError as error:
        raise unreadable(root, error) from None
    while stack:
        entry = _take_files(stack[-1], tree, written, is_excluded)
        if entry is None:
            stack.pop()
        elif (folder := _enter(entry, stack, tree)) is not None:
            stack.append(folder)
    return _check_tree(tree, root)


def _compile_globs(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return whether the relative path of a file or folder, or its name, matches a pattern."""
    matches = re.compile("|".join(fnmatch.translate(pattern.rstrip("/")) for pattern in patterns) or r"(?!)").match
    return lambda path: bool(matches(path) or matches(os.path.basename(path)))


def _list_remote_tree(root: str, is_excluded: Callable[[str], bool]) -> Tree:
    """Return the files below a URL. Maildirs are not recognized there."""
    tree = Tree()
    for names in list_files(root):
        if any(name.startswith(".") for name in names):
            tree.skipped["hidden file or folder"] += 1
            continue
        if any(is_excluded("/".join(names[:stop])) for stop in range(1, len(names) + 1)):
            tree.skipped[EXCLUDED] += 1
            continue
        tree.paths.append("/".join((root.rstrip("/"), *names)))
        tree.labels.append(names[0] if len(names) > 1 else None)
        tree.in_maildir.append(False)
    return _check_tree(tree, root)


def _check_tree(tree: Tree, root: str) -> Tree:
    if not tree.paths:
        skipped = ", ".join(f"{reason}: {number}" for reason, number in sorted(tree.skipped.items()))
        raise InputError(f"contains no file to read{f' ({skipped})' if skipped else ''}", where=hide_credentials(root))
    return tree


def _open_folder(path: str, label: str | None) -> _Folder:
    status = os.stat(path)
    with os.scandir(path) as scan:
        entries = sorted(scan, key=attrgetter("name"))
    is_maildir = MAILDIR.issubset(entry.name for entry in entries)
    return _Folder(path, label, (status.st_dev, status.st_ino), iter(entries), is_maildir=is_maildir)


def _take_files(
    folder: _Folder, tree: Tree, outputs: Outputs, is_excluded: Callable[[str], bool]
) -> os.DirEntry[str] | None:
    """Add the next files of a folder to the tree, and return the first folder among the entries."""
    prefix, label = os.path.join(folder.path, ""), folder.label
    for entry in folder.entries:
        name = entry.name
        try:
            if name[0] == ".":
                tree.skipped["hidden file or folder"] += 1
            elif folder.is_maildir and not (name in MAILDIR and entry.is_dir()):
                tree.skipped["beside the mails of a Maildir"] += 1
            elif is_excluded(folder.place + name):
                tree.skipped[EXCLUDED] += 1
            elif entry in outputs:
                tree.skipped["output of this run"] += 1
            elif entry.is_file():
                tree.paths.append(prefix + name)
                tree.labels.append(label)
                tree.in_maildir.append(folder.in_maildir)
            elif entry.is_dir():
                return entry
            else:
                tree.skipped["broken symbolic link" if entry.is_symlink() else "not a regular file"] += 1
        except OSError as error:
            tree.skipped["symbolic link loop" if error.errno == errno.ELOOP else "unreadable entry"] += 1
    return None


def _enter(entry: os.DirEntry[str], stack: list[_Folder], tree: Tree) -> _Folder | None:
    """Open a folder in the last folder of the stack; return None if it cannot be read, or is on the stack already."""
    parent = stack[-1]
    if parent.is_maildir and entry.name == "tmp":  # mails that are still being delivered
        return None
    is_label = len(stack) == 1 and not parent.is_maildir
    try:
        folder = _open_folder(entry.path, entry.name if is_label else parent.label)
    except OSError:
        tree.skipped["unreadable folder"] += 1
        return None
    if any(folder.identity == ancestor.identity for ancestor in stack):
        tree.skipped["symbolic link loop"] += 1
        return None
    folder.in_maildir = parent.is_maildir or parent.in_maildir
    folder.place = f"{parent.place}{entry.name}/"
    return folder
