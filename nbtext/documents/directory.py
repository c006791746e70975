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
from dataclasses import field
from itertools import compress, groupby
from operator import attrgetter, or_

from nbtext.documents.formats import is_mail
from nbtext.documents.settings import InputSettings
from nbtext.documents.shards import Shard
from nbtext.documents.streams import unreadable
from nbtext.documents.urls import hide_credentials, is_folder, is_url, list_files
from nbtext.errors import InputError
from nbtext.records import dataclass

STANDARD_OUTPUT = "-"
MAILDIR = frozenset({"cur", "new", "tmp"})
EXCLUDED = "excluded by --exclude"
ABOUT_FILE = "file about the directory, such as README or LICENSE"

ABOUT_NAME = r"(?i)(?:readme|licen[cs]e|copying|authors|changelog|notice|contributing)(?:\.\w+)*"


class Skipped(Counter[str]):
    """Number of skipped entries of directories by the reason, and the path of each with its reason."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[tuple[str, str]] = []

    def add(self, path: str, reason: str) -> None:
        """Count an entry."""
        self[reason] += 1
        self.paths.append((path, reason))


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
    skipped : Skipped
        Other entries.
    """

    paths: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    in_maildir: list[bool] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)

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
        self.names = {os.path.basename(path) for path in self._paths}
        self._identities: set[tuple[int, int]] = set()
        for path in (1 if path == STANDARD_OUTPUT else path for path in paths):
            with suppress(OSError, ValueError):
                status = os.stat(path)
                if stat.S_ISREG(status.st_mode):
                    self._identities.add((status.st_dev, status.st_ino))
        self.inodes = {inode for _, inode in self._identities}

    def __contains__(self, entry: os.DirEntry[str]) -> bool:
        if entry.name in self.names and os.path.realpath(entry.path) in self._paths:
            return True
        if entry.inode() not in self.inodes and not (self.inodes and entry.is_symlink()):
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


def _compile_globs(patterns: Sequence[str]) -> Callable[[str], bool] | None:
    """Return a function that tells whether a path, or the name at its end, matches a pattern; None without patterns."""
    if not patterns:
        return None
    matches = re.compile("|".join(fnmatch.translate(pattern.rstrip("/")) for pattern in patterns)).match
    return lambda path: bool(matches(path) or matches(os.path.basename(path)))


def _list_remote_tree(root: str, is_excluded: Callable[[str], bool] | None) -> Tree:
    """Return the files below a URL. Maildirs are not recognized there."""
    tree = Tree()
    for names in list_files(root):
        if any(name.startswith(".") for name in names):
            tree.skipped.add("/".join((root.rstrip("/"), *names)), "hidden file or folder")
            continue
        if is_excluded is not None and any(is_excluded("/".join(names[:stop])) for stop in range(1, len(names) + 1)):
            tree.skipped.add("/".join((root.rstrip("/"), *names)), EXCLUDED)
            continue
        tree.paths.append("/".join((root.rstrip("/"), *names)))
        tree.labels.append(names[0] if len(names) > 1 else None)
        tree.in_maildir.append(False)
    return _check_tree(tree, root)


def _check_tree(tree: Tree, root: str) -> Tree:
    if not tree.paths:
        skipped = ", ".join(f"{reason}: {number}" for reason, number in sorted(tree.skipped.items()))
        what = f"the directory contains no file that nbtext reads{f' ({skipped})' if skipped else ''}"
        raise InputError(what, where=hide_credentials(root), hint="give a directory that contains text files")
    return tree


def _open_folder(path: str, label: str | None) -> _Folder:
    status = os.stat(path)
    with os.scandir(path) as scan:
        entries = sorted(scan, key=attrgetter("name"))
    is_maildir = MAILDIR.issubset([entry.name for entry in entries])
    return _Folder(path, label, (status.st_dev, status.st_ino), iter(entries), is_maildir=is_maildir)


def _take_files(
    folder: _Folder, tree: Tree, outputs: Outputs, is_excluded: Callable[[str], bool] | None
) -> os.DirEntry[str] | None:
    """Add the next files of a folder to the tree, and return the first folder among the entries."""
    prefix, label = os.path.join(folder.path, ""), folder.label
    names, inodes = outputs.names, outputs.inodes  # spare most entries the whole test
    for entry in folder.entries:
        name = entry.name
        try:
            if name[0] == ".":
                tree.skipped.add(prefix + name, "hidden file or folder")
            elif folder.is_maildir and not (name in MAILDIR and entry.is_dir()):
                tree.skipped.add(prefix + name, "beside the mails of a Maildir")
            elif is_excluded is not None and is_excluded(folder.place + name):
                tree.skipped.add(prefix + name, EXCLUDED)
            elif (name in names or (inodes and (entry.inode() in inodes or entry.is_symlink()))) and entry in outputs:
                tree.skipped.add(prefix + name, "output of this run")
            elif entry.is_file():
                tree.paths.append(prefix + name)
                tree.labels.append(label)
                tree.in_maildir.append(folder.in_maildir)
            elif entry.is_dir():
                return entry
            else:
                tree.skipped.add(prefix + name, "broken symbolic link" if entry.is_symlink() else "not a regular file")
        except OSError as error:
            tree.skipped.add(prefix + name, "symbolic link loop" if error.errno == errno.ELOOP else "unreadable entry")
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
        tree.skipped.add(entry.path, "unreadable folder")
        return None
    if any(folder.identity == ancestor.identity for ancestor in stack):
        tree.skipped.add(entry.path, "symbolic link loop")
        return None
    folder.in_maildir = parent.is_maildir or parent.in_maildir
    folder.place = f"{parent.place}{entry.name}/"
    return folder


def list_shards(root: str, settings: InputSettings, outputs: Sequence[str]) -> tuple[list[Shard], Skipped]:
    """Return the documents of a directory, and the entries that are skipped.

    Parameters
    ----------
    outputs : sequence of str
        Files that this run writes: they are skipped.

    Raises
    ------
    InputError
        The directory cannot be read, holds no file, or is not in the format of the settings.
    """
    wanted = settings.input_format
    if wanted == "matrix":
        raise InputError("is a directory, not a matrix file", where=root, hint="name the matrix file")
    tree = list_tree(root, outputs, exclude=settings.exclude)
    if wanted == "mbox":
        return [Shard("mails", tuple(tree.paths), tuple(tree.labels))], tree.skipped
    if wanted not in (None, "dirs", "files"):
        files = zip(tree.paths, tree.labels, strict=True)
        return [Shard("file", (path,), (label,), root=root) for path, label in files], tree.skipped
    if None in tree.labels and any(label is not None for label in tree.labels):
        is_about = [
            label is None and re.fullmatch(ABOUT_NAME, os.path.basename(path)) is not None
            for path, label in zip(tree.paths, tree.labels, strict=True)
        ]
        if any(is_about):
            for path in compress(tree.paths, is_about):
                tree.skipped.add(path, ABOUT_FILE)
            tree.drop(is_about)
    if wanted == "files":
        tree.labels = [None] * len(tree.paths)
    shards, start = [], 0
    for are_mails, run in groupby(map(or_, tree.in_maildir, map(is_mail, tree.paths))):
        stop = start + sum(1 for _ in run)
        paths, labels = tuple(tree.paths[start:stop]), tuple(tree.labels[start:stop])
        shards.append(Shard("mails" if are_mails else "files", paths, labels, root=root))
        start = stop
    return shards, tree.skipped


def is_directory(path: str) -> bool:
    """Return whether the path is a directory.

    Raises
    ------
    InputError
        The path does not exist or cannot be read.
    """
    if is_url(path):
        return is_folder(path)
    try:
        status = os.stat(path)
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError:
        raise InputError("a path cannot contain a NUL character", where=path) from None
    if not os.access(path, os.R_OK):
        raise unreadable(path, PermissionError(errno.EACCES, ""))
    return stat.S_ISDIR(status.st_mode)
