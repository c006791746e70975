"""The choice of a reader for each SOURCE."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import or_
from typing import TYPE_CHECKING

from nbtext.documents.batch import Batch
from nbtext.documents.blocks import Span
from nbtext.documents.decoding import Encoding
from nbtext.documents.directory import list_tree
from nbtext.documents.files import files_chunks, stream_chunk
from nbtext.documents.formats import EML, format_of, is_mail
from nbtext.documents.lines import LineChunk, line_chunks, parse_fasttext, parse_lines
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.shards import IN_RANGES, Shard
from nbtext.documents.streams import STANDARD_INPUT, ByteStream, file_size, is_regular, open_stream, unreadable
from nbtext.documents.urls import is_folder, is_url
from nbtext.errors import InputError, SettingsError

if TYPE_CHECKING:
    from nbtext.documents.source import Chunk


@dataclass(frozen=True, slots=True)
class Part:
    """One SOURCE, or one file of it.

    whole  what of it is to be read, for others to read it
    size   of its chunks together, in `unit`; None where it cannot be known
    """

    chunks: Callable[[], Iterator[Chunk]]
    whole: Shard
    unit: str  # "bytes" or "files"
    size: int | None
    is_live: bool = False


class Opener:
    """Finds a reader for each path."""

    def __init__(
        self, settings: ReadingSettings, encoding: Encoding, span: Span | None, outputs: Sequence[str] = ()
    ) -> None:
        self.outputs = outputs
        self.settings = settings
        self.encoding = encoding
        self.span = span
        self.skipped: Counter[str] = Counter()

    def parts(self, path: str) -> list[Part]:
        """The parts of a SOURCE."""
        wanted = self.settings.input_format
        if path == STANDARD_INPUT:
            return [self._file_part(path)]
        if _is_directory(path):
            return self._tree_parts(path)
        if wanted == "dirs":
            raise InputError("is a file, not a directory", where=path, hint="leave --input-format out")
        if is_regular(path) and wanted == "files":
            return [self._files_part([path], [None])]
        if is_regular(path) and wanted is None and is_mail(path):
            return [self._mails_part([path], [None])]
        return [self._file_part(path)]

    def part_of(self, shard: Shard) -> Part:
        """The part that a shard is; the opener has its span."""
        if shard.reader == "file":
            return self._file_part(shard.paths[0], shard.labels[0])
        if shard.reader == "mails":
            return self._mails_part(list(shard.paths), list(shard.labels))
        return self._files_part(list(shard.paths), list(shard.labels), shard.root)

    def _tree_parts(self, root: str) -> list[Part]:
        wanted = self.settings.input_format
        if wanted == "matrix":
            raise InputError("is a directory, not a matrix file", where=root)
        tree = list_tree(root, self.outputs)
        self.skipped.update(tree.skipped)
        if wanted == "mbox":
            return [self._mails_part(tree.paths, tree.labels)]
        if wanted not in (None, "dirs", "files"):
            return [self._file_part(path, label) for path, label in zip(tree.paths, tree.labels, strict=True)]
        if wanted == "files":
            tree.labels = [None] * len(tree.paths)
        are_mails = map(or_, tree.in_maildir, map(is_mail, tree.paths))
        parts, start = [], 0
        for are_mail, run in groupby(are_mails):
            stop = start + sum(1 for _ in run)
            paths, labels = tree.paths[start:stop], tree.labels[start:stop]
            parts.append(self._mails_part(paths, labels) if are_mail else self._files_part(paths, labels, root))
            start = stop
        return parts

    def _files_part(self, paths: list[str], labels: list[str | None], root: str | None = None) -> Part:
        self._require_joined(paths[0])
        whole = Shard("files", tuple(paths), tuple(labels), root=root)
        return Part(lambda: files_chunks(paths, labels, self.encoding, self.settings, root), whole, "files", len(paths))

    def _mails_part(self, paths: list[str], labels: list[str | None]) -> Part:
        def chunks() -> Iterator[Chunk]:
            from nbtext.documents.mailbox import mail_files_chunks

            return mail_files_chunks(paths, labels, self.encoding, self.settings)

        return Part(chunks, Shard("mails", tuple(paths), tuple(labels)), "files", len(paths))

    def _file_part(self, path: str, label: str | None = None) -> Part:
        size = file_size(path)
        is_live = (
            size is None and not is_url(path) and self.settings.input_format not in ("csv", "tsv", "mbox", "files")
        )
        return Part(lambda: self._file_chunks(path, label), Shard("file", (path,), (label,)), "bytes", size, is_live)

    def _file_chunks(self, path: str, label: str | None) -> Iterator[Chunk]:
        """The chunks of a single file or stream, once its first bytes have told the format."""
        stream = open_stream(path)
        try:
            found = self.settings.input_format or format_of(stream.path, stream.head(), self.encoding)
            if found in ("lines", "fasttext", "files", "dirs"):
                self._require_joined(path)
            yield from self._chunks_of(stream, found, label)
        finally:
            stream.close()

    def _chunks_of(self, stream: ByteStream, found: str, label: str | None) -> Iterator[Chunk]:
        encoding, settings = self.encoding, self.settings
        if found in IN_RANGES:
            return line_chunks(stream, _line_parser(found), encoding, settings, label=label, span=self.span)
        if self.span is not None:
            raise InputError(f"the {found} format cannot be read in parts", where=stream.path)
        if found in ("csv", "tsv"):
            from nbtext.documents.delimited import delimited_chunks

            return delimited_chunks(stream, found, encoding, settings)
        if found in ("mbox", EML):
            from nbtext.documents.mailbox import mailbox_chunks

            return mailbox_chunks(stream, encoding, settings)
        if found == "files":
            return iter((stream_chunk(stream, encoding, settings),))
        if found == "dirs":
            raise InputError("is a stream, not a directory", where=stream.path)
        raise InputError("holds a matrix, not text", where=stream.path, hint="a matrix is read alone, to train from")

    def _require_joined(self, path: str) -> None:
        if self.settings.mark_field is not None:
            raise SettingsError(
                f"{path} has no fields, and so no `{self.settings.mark_field}`",
                where="--group-field or --order-field",
                hint="they need JSON lines, a table or mails",
            )
        if self.settings.separate_fields and len(self.settings.text_field) > 1:
            raise SettingsError(
                f"{path} has no fields to keep apart", where="--separate-fields", hint="name one --text-field only"
            )


def _line_parser(input_format: str) -> Callable[[LineChunk], Batch]:
    if input_format != "jsonl":
        return parse_lines if input_format == "lines" else parse_fasttext
    from nbtext.documents.jsonl import parse_jsonl

    return parse_jsonl


def _is_directory(path: str) -> bool:
    """Whether the path is a directory.

    raises  InputError: it is not there, or cannot be read
    """
    if is_url(path):
        return is_folder(path)
    try:
        status = os.stat(path)
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError:
        raise InputError("a path cannot hold a NUL", where=path) from None
    if not os.access(path, os.R_OK):
        raise unreadable(path, PermissionError(errno.EACCES, ""))
    return stat.S_ISDIR(status.st_mode)
