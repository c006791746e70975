"""Documents that are files: they are selected from a directory, DIR/LABEL/**/FILE, then read and
decoded in blocks.

The order of files depends on their names only. Binary files of a directory are skipped. The
compiled kernel reads many small files; without it, plain Python does.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

from nbtext.documents import recognition, streams
from nbtext.documents.batch import Batch, Block
from nbtext.documents.blocks import ReadOptions, Shard
from nbtext.documents.decoding import BOMS, Decoded, Encoding, encoding_of
from nbtext.documents.decompression import (
    COMPRESSION_SUFFIXES,
    MAGICS,
    check_compression,
    suffix_compression,
    too_long,
    unpack,
)
from nbtext.documents.fields import find_delimiter, name_of
from nbtext.documents.formats import (
    BINARY_TABLES,
    FORMATS,
    HTML_SUFFIXES,
    MAIL_SUFFIXES,
    MATRICES,
    MBOX_SUFFIX,
    TABLES,
    begins_as_mail,
    content_suffix,
)
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, NbtextError, number_of
from nbtext.kernel import choose_version
from nbtext.records import dataclass

STANDARD_OUTPUT = "-"
MAILDIR = frozenset({"cur", "new", "tmp"})
INBOX = "INBOX"  # the label of the mails of a Maildir++ that lie in none of its folders
EXCLUDED = "excluded by --exclude"
ABOUT_FILE = "file about the directory, such as README or LICENSE"
JUNK = "file of a system or of another program, such as Thumbs.db or a lock"

ABOUT_NAME = r"(?i)(?:readme|licen[cs]e|copying|authors|changelog|notice|contributing)(?:\.\w+)*"
_is_junk = re.compile(  # of a system, an editor or a mail program; a comma: a deleted mail of MH
    r"(?is)(?:eh)?thumbs\.db|desktop\.ini|icon\r|__macosx|\$recycle\.bin|system volume information|lost\+found|@eadir"
    r"|_success|msgfilterrules\.dat|popstate\.dat|filterlog\.html|#(?:.*#)?|(?:~\$|,|_committed_|_started_).*"
    r"|.*+(?:(?<=~)|(?<=\.(?:msf|lck|sw[po]))|(?<=\.lock)|(?<=\.crdownload))"  # at once, not at each dot
).fullmatch
_is_deleted = re.compile(r".*[:;!]2,[A-Za-z]*T[A-Za-z]*").fullmatch  # the flag T of a Maildir
# files without a suffix of a directory; more of them are documents, which need not be opened
MAX_UNNAMED = 64

READ_BYTES = 1 << 20
BLOCK_FILES = 256
FILE_BLOCK_BYTES = 8 << 20
# assumed ratio of the decompressed size to the size of a compressed file
ASSUMED_UNPACKED_RATIO = 20
SAMPLE_FILES = 16  # of a block, in which headers of mails are looked for
SAMPLE_STEP = 32  # the size of every 32nd file estimates the size of a block
SPECIAL_BEGINNINGS = BOMS + MAGICS + recognition.BEGINNINGS
COMPRESSED = tuple(COMPRESSION_SUFFIXES)
SPECIAL_SUFFIXES = (*COMPRESSED, *HTML_SUFFIXES)
# most files begin with none of these, and need not be compared with each beginning
SPECIAL_FIRST_BYTES = frozenset(beginning[:1] for beginning in SPECIAL_BEGINNINGS)
UNREADABLE_LINK = "symbolic link to a file that cannot be read"
BROKEN_LINK = "broken symbolic link"
HIDDEN_FILE = "hidden file or folder"
LINK_LOOP = "symbolic link loop"


Skipped = list[tuple[str, str]]  # the path of each entry that is skipped, and the reason


class File(NamedTuple):
    """A file below a directory.

    Attributes
    ----------
    path : str
        The directory as typed, joined with the relative path of the file.
    label : str, optional
        The folder below the directory, at the level of the labels; None for a file above it.
    suffix : str
        Of its name; see `formats.content_suffix`.
    in_maildir : bool
        Whether it is a mail of a Maildir.
    """

    path: str
    label: str | None
    suffix: str
    in_maildir: bool = False

    @property
    def is_mail(self) -> bool:
        """Whether it is one mail, by its name or its folder."""
        return self.in_maildir or self.suffix in MAIL_SUFFIXES


@dataclass
class Tree:
    """The files below a directory.

    Attributes
    ----------
    files : list of File
        Sorted by code point, name by name.
    skipped : list of tuple of str
        The path of each other entry, and the reason why it is skipped.
    """

    files: list[File]
    skipped: Skipped


class _Folder(NamedTuple):
    """What the entries of a folder have in common."""

    prefix: str  # its path, with a slash at the end
    place: str = ""  # the path below the directory SOURCE, with a slash at the end
    label: str | None = None
    # device and inode of the folder and of those above it
    identities: tuple[tuple[int, int], ...] = ()
    is_maildir: bool = False
    in_maildir: bool = False


def _identify(path: str | int) -> set[tuple[int, int]]:
    """Return the device and the inode of a file; nothing if there is none."""
    with suppress(OSError, ValueError):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return {(status.st_dev, status.st_ino)}
    return set()


def list_tree(
    root: str, outputs: Sequence[str] = (), exclude: Sequence[str] = (), label_level: int = 1
) -> Tree:
    """Return all files below a directory; symbolic links are followed, hidden files and folders are
    skipped, and so are files that other programs leave there.

    Parameters
    ----------
    outputs, exclude : Sequence[str]
        Files that this run writes ("-" is standard output, which a shell may have opened as a file
        of the directory), and patterns of names, or of paths below the directory: they are
        skipped.
    label_level : int
        Which folder of a path below the directory is the label, from 1.

    Raises
    ------
    InputError
        The directory cannot be read, or holds no file.
    """
    tree = Tree([], [])
    matches = re.compile("|".join(fnmatch.translate(each.rstrip("/")) for each in exclude)).match

    def is_excluded(path: str) -> bool:
        """Return whether a path, or the name at its end, matches a pattern."""
        return bool(exclude) and bool(matches(path) or matches(os.path.basename(path)))

    if not streams.is_url(root):
        # others do not exist yet
        paths = (1 if path == STANDARD_OUTPUT else path for path in outputs)
        _list_local_files(root, tree, set().union(*map(_identify, paths)), is_excluded, label_level)
    for names in streams.list_files(root) if streams.is_url(root) else ():
        # Maildirs are not recognized there
        path = "/".join((root.rstrip("/"), *names))
        if any(name.startswith(".") for name in names):
            tree.skipped.append((path, HIDDEN_FILE))
        elif any(map(_is_junk, names)):
            tree.skipped.append((path, JUNK))
        elif any(is_excluded("/".join(names[:stop])) for stop in range(1, len(names) + 1)):
            tree.skipped.append((path, EXCLUDED))
        else:
            label = name_of(names[label_level - 1]) if len(names) > label_level else None
            tree.files.append(File(path, label, content_suffix(path)))
    if not tree.files:
        numbers = Counter(reason for _, reason in tree.skipped)
        skipped = ", ".join(f"{reason}: {number}" for reason, number in sorted(numbers.items()))
        raise InputError(
            f"the directory contains no file that nbtext reads{f' ({skipped})' if skipped else ''}",
            where=streams.name_source(root),
            hint="give a directory that contains text files",
        )
    return tree


def _list_local_files(
    root: str,
    tree: Tree,
    written: set[tuple[int, int]],
    is_excluded: Callable[[str], bool],
    label_level: int,
) -> None:
    """Add the files below a directory to the tree, without folders that cannot be read or that hold
    themselves.

    The hidden folders of a Maildir++ that is the directory, such as `.Spam`, are labels.
    """
    stack: list[tuple[os.DirEntry[str], _Folder]] = []  # the entries to come, the next one last
    inodes = {inode for _, inode in written}  # which spare most entries the whole test
    has_folders = False  # of a Maildir++

    def open_folder(path: str, folder: _Folder) -> str:
        """Add the entries of a folder to the stack; return the reason to skip it, if there is
        one.
        """
        status = os.stat(path)
        identity = (status.st_dev, status.st_ino)
        if identity in folder.identities:
            return LINK_LOOP
        with os.scandir(path) as scan:
            entries = sorted(scan, key=attrgetter("name"), reverse=True)
        is_maildir = MAILDIR.issubset([entry.name for entry in entries])
        opened = folder._replace(identities=(*folder.identities, identity), is_maildir=is_maildir)
        stack.extend((entry, opened) for entry in entries)
        return ""

    try:
        open_folder(root, _Folder(os.path.join(root, "")))
    except OSError as error:
        raise streams.unreadable_file(root, error) from None
    while stack:
        entry, folder = stack.pop()
        name = entry.name
        path = folder.prefix + name
        reason = ""
        try:
            is_hidden = name[0] == "."
            if is_hidden and (
                folder.place or not all(os.path.isdir(os.path.join(path, each)) for each in MAILDIR)
            ):
                reason = HIDDEN_FILE
            elif not name.isalnum() and _is_junk(name):  # all of them have other characters
                reason = JUNK
            elif folder.in_maildir and _is_deleted(name):
                reason = "deleted mail"
            elif not is_hidden and folder.is_maildir and not (name in MAILDIR and entry.is_dir()):
                reason = "beside the mails of a Maildir"
            elif is_excluded(folder.place + name):
                reason = EXCLUDED
            elif (
                inodes
                and (entry.inode() in inodes or entry.is_symlink())
                and _identify(path) & written
            ):
                reason = "output of this run"
            elif entry.is_file():
                tree.files.append(File(path, folder.label, content_suffix(name), folder.in_maildir))
            elif not entry.is_dir():
                reason = BROKEN_LINK if entry.is_symlink() else "not a regular file"
            elif not (folder.is_maildir and name == "tmp"):  # mails that are still being delivered
                inner = folder._replace(
                    prefix=os.path.join(path, ""),
                    place=f"{folder.place}{name}/",
                    in_maildir=(folder.is_maildir and not is_hidden) or folder.in_maildir,
                )
                if is_hidden:
                    has_folders = True
                    inner = inner._replace(label=name_of(name[1:]))
                elif folder.place.count("/") + 1 == label_level and not folder.is_maildir:
                    inner = inner._replace(label=name_of(name))
                try:
                    reason = open_folder(path, inner)
                except OSError:
                    reason = "unreadable folder"
        except OSError as error:
            reasons = {errno.ELOOP: LINK_LOOP, errno.ENOENT: BROKEN_LINK}
            reason = reasons.get(error.errno or 0, "unreadable entry")
        if reason:
            tree.skipped.append((path, reason))
    if has_folders:
        tree.files = [
            file._replace(label=INBOX) if file.in_maildir and file.label is None else file
            for file in tree.files
        ]


def find_repeated_folders(root: str, paths: Iterable[str]) -> tuple[int, list[str]]:
    """Return the first level below the first folders of a directory at which most of them hold
    folders of the same names, at least two, and these names; (0, []) if there is none.
    """
    start = len(root.rstrip("/")) + 1
    folders = {path[start:].rpartition("/")[0] for path in paths}
    below = [folder.replace(os.sep, "/").split("/") for folder in folders if folder]
    n_first = len({names[0] for names in below})
    for level in range(1, max(map(len, below), default=0)):
        pairs = {(names[0], names[level]) for names in below if len(names) > level}
        numbers = Counter(name for _, name in pairs if name not in MAILDIR)
        repeated = sorted(name for name, number in numbers.items() if number > n_first / 2)
        if len(repeated) > 1:
            return level + 1, repeated
    return 0, []


def list_shards(
    root: str, settings: InputSettings, outputs: Sequence[str]
) -> tuple[list[Shard], Skipped]:
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
    if wanted is not None and FORMATS[wanted].is_counted:
        raise InputError(
            "is a directory, not a matrix file", where=root, hint="name the matrix file"
        )
    tree = list_tree(root, outputs, settings.exclude, settings.label_level)
    files = tree.files
    if wanted not in (None, "dirs", "files", "mbox"):
        return _make_shards(files, root, lambda _: "file"), tree.skipped
    if wanted is None and (collections := _find_collections(tree, root, settings)):
        shards = _make_shards(
            collections, root, lambda file: "file" if file.suffix in TABLES else "mails"
        )
        units = {"file": ("table", "row"), "mails": ("mail file", "mail")}
        numbers = Counter(units[shard.reader] for shard in shards for _ in shard.paths)
        found = " and ".join(number_of(numbers[unit], unit[0]) for unit in sorted(numbers))
        kinds = " or ".join(document for _, document in sorted(numbers))
        streams.warn(
            root,
            f"{found}: each {kinds} is a document; give --input-format dirs to read each file as one text",
        )
        return shards, tree.skipped
    labels = {file.label for file in files}
    if None in labels and len(labels) > 1 and wanted != "mbox":
        for file in [file for file in files if file.label is None]:
            if re.fullmatch(ABOUT_NAME, os.path.basename(file.path)):
                tree.skipped.append((file.path, ABOUT_FILE))
                files.remove(file)
    if wanted == "files":
        files = [file._replace(label=None) for file in files]

    def reader_of(file: File) -> str:
        return "mails" if wanted == "mbox" or file.is_mail else "files"

    return _make_shards(files, root, reader_of), tree.skipped


def _make_shards(files: list[File], root: str, reader_of: Callable[[File], str]) -> list[Shard]:
    """Return files with the same reader one after the other as one shard, but each file of any
    format alone.
    """
    shards: list[Shard] = []
    for reader, run in groupby(files, reader_of):
        paths, labels, *_ = zip(*run, strict=True)
        whole = Shard(reader, paths, labels, root=root)
        shards += split_files(whole, 1) if reader == "file" else [whole]
    return shards


def split_files(shard: Shard, n_files: int) -> Iterator[Shard]:
    """Yield the files of a shard in shards of at most `n_files`."""
    for start in range(0, len(shard.paths), n_files):
        files = slice(start, start + n_files)
        yield replace(shard, paths=shard.paths[files], labels=shard.labels[files])


def _find_collections(tree: Tree, root: str, settings: InputSettings) -> list[File]:
    """Return the files of a directory that holds tables, mbox files and mails only; [] if it holds
    no table and no mbox file of several mails.

    Binary files and those about the directory are skipped, and removed from its files.

    Raises
    ------
    InputError
        There are texts beside them, or matrices among them.
    """
    matrices = [file.path for file in tree.files if file.suffix in MATRICES]
    tables = {file.path for file in tree.files if file.suffix in TABLES}.union(matrices)
    mboxes = {file.path for file in tree.files if file.suffix == MBOX_SUFFIX}
    unnamed = [
        file.path for file in tree.files if not file.in_maildir and not file.suffix[1:].isalpha()
    ]
    if len(unnamed) <= MAX_UNNAMED:
        counts = {path: count_mails(path, settings.max_document_bytes) for path in unnamed}
        if mboxes or max(counts.values(), default=0) > 1:
            mboxes |= {path for path, number in counts.items() if number}
    found = tables | mboxes
    if not found:
        return []
    encoding = encoding_of(settings)
    skipped: Skipped = []
    collections = []
    for file in tree.files:
        is_read = file.path in found or (not tables and file.is_mail)
        if is_read:
            collections.append(file)
        elif reason := _why_no_text(file, root, encoding):
            skipped.append((file.path, reason))
        else:
            tables_and_mboxes = [file for file in tree.files if file.path in found]
            if all(each.suffix in BINARY_TABLES for each in tables_and_mboxes):
                return []
            import shlex

            patterns: dict[str, None] = {}
            for each in tables_and_mboxes:
                name = os.path.basename(each.path)
                stem = os.path.splitext(suffix_compression(name)[0])[0]
                patterns[f"*{name[len(stem) :]}" if each.suffix[1:].isalpha() else name] = None
            excluded = " ".join(f"--exclude {shlex.quote(pattern)}" for pattern in patterns)
            raise InputError(
                f"contains tables or mail files, such as {tables_and_mboxes[0].path}, beside texts, such as {file.path}",
                where=root,
                hint=f"give {excluded} to leave them out, --input-format dirs to read each file as one text, or name the files",
            )
    if matrices:
        raise InputError(
            f"contains a matrix, {matrices[0]}", where=root, hint="name the matrix files themselves"
        )
    tree.skipped += skipped
    return collections


def count_mails(path: str, limit: int) -> int:
    """Return the number of mails in a file that begins as an mbox, at most 2; 0 for another one."""
    with suppress(NbtextError):  # which is reported when the file is read
        start = streams.peek(path).lstrip(b"\r\n")
        if start.startswith(b"From ") and begins_as_mail(start):
            from nbtext.documents.mail import split_mbox  # for few files

            with streams.open_stream(path) as stream:
                return len(list(islice(split_mbox(stream, limit), 2)))
    return 0


def _why_no_text(file: File, root: str, encoding: Encoding) -> str | None:
    """Return why a file is skipped beside tables or mbox files; None if it may be a text."""
    folder, name = os.path.split(file.path)
    if folder == root.rstrip("/") and re.fullmatch(ABOUT_NAME, name):
        return ABOUT_FILE
    try:
        head = streams.peek(file.path)
    except NbtextError:  # which is reported when the file is read
        return None
    kind = kind_of(head, encoding)
    if kind is not None:
        return kind.describe()
    return None if head else "empty file"


def kind_of(head: bytes, encoding: Encoding) -> recognition.Kind | None:
    """Return what the first bytes of a file tell, if it is not a text."""
    kind = recognition.recognize(head)
    if kind is None and not encoding.is_wide and "\0" in encoding.decode_leniently(head):
        kind = recognition.name_binary(head)
    return kind


def is_directory(path: str) -> bool:
    """Return whether the path is a directory.

    Raises
    ------
    InputError
        The path does not exist or cannot be read.
    """
    if streams.is_url(path):
        return streams.is_folder(path)
    try:
        status = os.stat(path)
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, "")
    except (OSError, ValueError) as error:
        raise streams.unreadable_file(path, error) from None
    return stat.S_ISDIR(status.st_mode)


def read_files(paths: list[bytes], limit: int) -> list[bytes | int]:
    """Return the content of each file, or its error number: EINVAL for special files, EFBIG above
    `limit` bytes.
    """
    return [_read_file(path, limit) for path in paths]


def _read_file(path: bytes, limit: int) -> bytes | int:
    try:
        handle = os.open(path, streams.READ_NOW)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte
        return error.errno or errno.EIO if isinstance(error, OSError) else errno.EINVAL
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return errno.EINVAL
        if status.st_size > limit:
            return errno.EFBIG
        blocks = [os.read(handle, status.st_size + 1)]
        # the file grows, or the system states another size, as in /proc
        if len(blocks[0]) != status.st_size:
            while blocks[-1]:
                blocks.append(os.read(handle, READ_BYTES))
                if sum(map(len, blocks)) > limit:
                    return errno.EFBIG
        return b"".join(blocks)
    except OSError as error:
        return error.errno or errno.EIO
    finally:
        os.close(handle)


read_files = choose_version(read_files)


def say_of_headers(where: str, what: str = "begins like a mail") -> None:
    """Say that mails are read as texts, with their headers."""
    hint = "give --input-format mbox to read subjects and texts of mails"
    streams.warn(where, f"{what}, and the headers are read as words; {hint}")


@dataclass
class FileDocuments:
    """Documents that are files.

    Attributes
    ----------
    shard : Shard
        The files, whose paths are the ids. Without a root, they are named by themselves.
    contents : list of bytes or int, optional
        The contents, as `read_files` returns them, if they have already been read.
    is_unpacked : bool
        Whether the contents are from a stream that decompresses them.
    """

    shard: Shard
    options: ReadOptions
    contents: list[bytes | int] | None = None
    is_unpacked: bool = False

    def batch(self) -> Batch:
        """Read and decode the files.

        A file that cannot be read is a problem of its row. A file of a directory that is binary is
        skipped and counted.
        """
        paths = self.shard.paths
        encoding = self.options.encoding
        texts: list[str] = []
        ids = list(map(streams.name_source, paths)) if streams.is_url(paths[0]) else list(paths)
        batch = Batch(ids, (texts,), self.shard.labels, are_files=True)
        may_hold_nul = encoding.is_wide
        skipped: list[int] = []
        contents = self.contents or self._read()
        for row, (path, content) in enumerate(zip(paths, contents, strict=True)):
            if not (
                not isinstance(content, bytes)
                or path.lower().endswith(SPECIAL_SUFFIXES)
                or (content[:1] in SPECIAL_FIRST_BYTES and content.startswith(SPECIAL_BEGINNINGS))
                or (not may_hold_nul and content.find(b"\0", 0, recognition.HEAD_BYTES) >= 0)
            ):
                try:  # `suppress` would take as long as a short file
                    texts.append(content.decode(encoding.codec))
                    continue
                except UnicodeDecodeError:
                    pass
            found: Decoded | str = ""
            try:
                found = self._read_special(path, content)
            except InputError as problem:
                batch.problems[row] = problem.locate(ids[row])
            if isinstance(found, Decoded):
                texts.append(found.text)
                batch.count_repairs([found.repaired])
                batch.unknown_encodings.update(filter(None, [found.unknown]))
                continue
            texts.append("")
            if row not in batch.problems:
                recognition.log_skipped(ids[row], found)
                batch.notes[found] += 1
                skipped.append(row)
        if self.shard.root is not None:
            # one of the first files, whose name tells nothing, may begin like a mail, or all of
            # them like tables
            starts = list[bytes]()
            for path, text in zip(paths[:SAMPLE_FILES], texts, strict=False):
                starts.append(text[: recognition.HEAD_BYTES].encode("utf-8", "replace"))
                if not content_suffix(path)[1:].isalpha() and begins_as_mail(starts[-1]):
                    say_of_headers(self.shard.root, "has files that begin like mails")
                    break
            else:
                settings = self.options.settings
                if settings.input_format is None and (named := _name_table(starts, settings)):
                    what = "each file is read as one text, and they begin like tables"
                    how = f"give {named} to read each row or line as a document"
                    streams.warn(self.shard.root, f"{what}; {how}")
        if batch.problems:
            batch.labels = [
                None if row in batch.problems else label for row, label in enumerate(batch.labels)
            ]
        return batch.drop(skipped) if skipped else batch

    def _read(self) -> Sequence[bytes | int | InputError]:
        """Return the content of each file, or its error."""
        paths = self.shard.paths
        limit = self.options.settings.max_document_bytes
        if not streams.is_url(paths[0]):
            return read_files(list(map(os.fsencode, paths)), limit)
        contents: list[bytes | int | InputError] = []
        for path in paths:
            try:
                contents.append(streams.read_url(path, limit))
            except InputError as problem:
                contents.append(problem)
        return contents

    def _read_special(self, path: str, content: bytes | int | InputError) -> Decoded | str:
        """Return the text of a file that may not be plain text; a `str` is the reason to skip a
        file of a directory.

        Raises
        ------
        InputError
            The file cannot be read, or is binary and not from a directory.
        """
        settings = self.options.settings
        encoding = self.options.encoding
        limit = settings.max_document_bytes
        is_named = self.shard.root is None
        if isinstance(content, InputError):
            raise content
        if isinstance(content, int):
            if content == errno.EFBIG:
                raise too_long(limit)
            if is_named or not (content == errno.EINVAL or os.path.islink(path)):
                raise streams.unreadable_file(path, OSError(content, os.strerror(content)))
            if settings.keeps_skipped:
                raise InputError(
                    f"is a {UNREADABLE_LINK}", hint="correct its target (ls -l shows it)"
                )
            return UNREADABLE_LINK
        if not self.is_unpacked and (compression := check_compression(path, content)) is not None:
            content = unpack(content, compression, limit=limit)
        kind = kind_of(content[: recognition.HEAD_BYTES], encoding)
        is_text = is_named or path.lower().endswith(".txt")
        if kind is not None and kind.name == recognition.BINARY_FILE.name and is_text:
            kind = recognition.find_utf_16(content[: recognition.HEAD_BYTES])
        if kind is not None:
            if is_named or (settings.keeps_skipped and kind not in recognition.OUTPUTS):
                raise kind.refuse()
            return kind.describe()
        if content_suffix(path) in HTML_SUFFIXES:
            from nbtext.documents.html import decode_html

            return decode_html(content, encoding)
        return encoding.decode(content)


def _name_table(starts: Sequence[bytes], settings: InputSettings) -> str:
    """Return the options to read files as tables, if all of them begin like one: with an object of
    JSON, a label of fastText, or the same header; "" if not.
    """
    for name in ("jsonl", "json", "fasttext"):
        if all(map(FORMATS[name].begins, starts)):
            return f"--input-format {name}"
    first, *others = {start.partition(b"\n")[0] for start in starts}
    delimiter = "" if others else find_delimiter(first.decode(), settings.text_field)
    return f"--input-format csv {delimiter}" if delimiter else ""


def read_whole(stream: streams.ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the whole content of a pipe or standard input as one document."""
    limit = options.settings.max_document_bytes
    blocks: list[bytes] = []
    size = 0
    while size <= limit and (raw := stream.read()):
        blocks.append(raw)
        size += len(raw)
    contents = [b"".join(blocks) if size <= limit else errno.EFBIG]
    documents = FileDocuments(
        Shard("files", (stream.path,), (None,)), options, contents, is_unpacked=True
    )
    return iter([Block(documents.batch, 1, size)])


def read_directory(shard: Shard, options: ReadOptions) -> Iterator[Block]:
    """Yield the files of a shard in blocks of at most 256; blocks of large files are smaller."""
    paths = shard.paths
    limit = options.settings.max_document_bytes
    start = 0
    while start < len(paths):
        # to stat each file is as slow as to read it
        sample = paths[start : start + BLOCK_FILES : SAMPLE_STEP]
        total = 0
        for path in sample:
            with suppress(OSError):
                ratio = ASSUMED_UNPACKED_RATIO if path.endswith(COMPRESSED) else 1
                total += min(os.stat(path).st_size * ratio, limit)
        n_files = min(BLOCK_FILES, FILE_BLOCK_BYTES * len(sample) // max(total, 1)) or 1
        files = slice(start, start + n_files)
        part = replace(shard, paths=paths[files], labels=shard.labels[files])
        n_files = len(part.paths)
        start += n_files
        yield Block(FileDocuments(part, options).batch, n_files, total * n_files // len(sample))
