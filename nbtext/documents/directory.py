"""The files of a directory tree: DIR/LABEL/**/FILE, in an order that depends on their names alone."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter

from nbtext.documents.streams import unreadable
from nbtext.documents.urls import files_below, is_url, shown
from nbtext.errors import InputError

STANDARD_OUTPUT = "-"
MAILDIR = frozenset({"cur", "new", "tmp"})


@dataclass(slots=True)
class Tree:
    """What was found below a directory.

    paths       of the files, as typed: the directory joined with the way down; sorted by code point, name by name
    labels      the first folder on the way down to each; None for a file that lies in the directory itself
    in_maildir  whether each is a mail of a Maildir
    skipped     why something else was passed over: how often
    """

    paths: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    in_maildir: list[bool] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Folder:
    """A folder on the way down, and what of it is still to be looked at."""

    path: str
    label: str | None
    identity: tuple[int, int]  # device and number: the same by whichever way it is reached
    entries: Iterator[os.DirEntry[str]]
    is_maildir: bool = False
    in_maildir: bool = False


class Outputs:
    """The files that this run writes, to be recognized by name or, where they exist, by identity.

    Parameters
    ----------
    paths : sequence of str
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


def list_tree(root: str, outputs: Sequence[str] = ()) -> Tree:
    """Find all files below a directory; symbolic links are followed, hidden files and folders are not entered.

    outputs  files that this run writes: they are skipped
    raises  InputError: the directory cannot be read, or holds no file
    """
    tree = Tree()
    if is_url(root):
        return _remote_tree(root)
    written = Outputs(outputs)
    try:
        stack = [_opened(root, None)]
    except OSError as error:
        raise unreadable(root, error) from None
    while stack:
        entry = _take_files(stack[-1], tree, written)
        if entry is None:
            stack.pop()
        elif (folder := _entered(entry, stack, tree)) is not None:
            stack.append(folder)
    return _checked(tree, root)


def _remote_tree(root: str) -> Tree:
    """The same where a URL says. There are no Maildirs, whose names say which mails are still being delivered."""
    tree = Tree()
    for way in files_below(root):
        if any(name.startswith(".") for name in way):
            tree.skipped["hidden file or folder"] += 1
            continue
        tree.paths.append("/".join((root.rstrip("/"), *way)))
        tree.labels.append(way[0] if len(way) > 1 else None)
        tree.in_maildir.append(False)
    return _checked(tree, root)


def _checked(tree: Tree, root: str) -> Tree:
    if not tree.paths:
        skipped = ", ".join(f"{reason}: {number}" for reason, number in sorted(tree.skipped.items()))
        raise InputError(f"holds no file to read{f' ({skipped})' if skipped else ''}", where=shown(root))
    return tree


def _opened(path: str, label: str | None) -> _Folder:
    status = os.stat(path)
    with os.scandir(path) as scan:
        entries = sorted(scan, key=attrgetter("name"))
    is_maildir = MAILDIR.issubset(entry.name for entry in entries)
    return _Folder(path, label, (status.st_dev, status.st_ino), iter(entries), is_maildir=is_maildir)


def _take_files(folder: _Folder, tree: Tree, outputs: Outputs) -> os.DirEntry[str] | None:
    """Put the next files of a folder into the tree, up to the first folder in it, which is returned."""
    prefix, label = os.path.join(folder.path, ""), folder.label
    for entry in folder.entries:
        name = entry.name
        try:
            if name[0] == ".":
                tree.skipped["hidden file or folder"] += 1
            elif folder.is_maildir and not (name in MAILDIR and entry.is_dir()):
                tree.skipped["beside the mails of a Maildir"] += 1
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


def _entered(entry: os.DirEntry[str], stack: list[_Folder], tree: Tree) -> _Folder | None:
    """The folder within the last one of the stack; None where it cannot be entered, or is itself one of the stack."""
    parent = stack[-1]
    if parent.is_maildir and entry.name == "tmp":  # mails that are still being delivered
        return None
    is_label = len(stack) == 1 and not parent.is_maildir
    try:
        folder = _opened(entry.path, entry.name if is_label else parent.label)
    except OSError:
        tree.skipped["unreadable folder"] += 1
        return None
    if any(folder.identity == ancestor.identity for ancestor in stack):
        tree.skipped["symbolic link loop"] += 1
        return None
    folder.in_maildir = parent.is_maildir or parent.in_maildir
    return folder
