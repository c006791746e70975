"""Where mails lie: mbox files, Maildirs, and files with a mail each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from nbtext.documents.batch import Batch, as_columns, marked
from nbtext.documents.blocks import line_blocks, pieces_of
from nbtext.documents.decoding import Encoding
from nbtext.documents.decompression import too_long
from nbtext.documents.files import located
from nbtext.documents.mail import Mail, parse_mail
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import STANDARD_INPUT, ByteStream, open_stream
from nbtext.errors import InputError

CHUNK_MAILS = 64
CHUNK_BYTES = 1 << 20
DEFAULTS = ReadingSettings()
PLAIN = Encoding("latin-1")  # for lines of bytes

# what begins a mail in an mbox: "From ada@example.org Thu Nov 21 03:37:00 2024", or an address alone
# whatever begins like one is looked through once: nothing is tried again by less
_separator = re.compile(rb"From (?:\S[^\s@]*+@\S++\s*+$|(?>.*?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b).*?\d:\d\d)")
_quoted_from = re.compile(rb"^>(>*From )", re.MULTILINE)


class RawMail(NamedTuple):
    """A mail as it lies there, or why it cannot be read."""

    id: str
    label: str | None
    content: bytes | InputError


@dataclass(slots=True)
class MailChunk:
    """Some mails.

    size  their share of the source: files, or bytes of an mbox
    """

    mails: list[RawMail]
    encoding: Encoding
    settings: ReadingSettings
    size: int

    def batch(self) -> Batch:
        """Parse the mails; one that cannot be read is a problem of its row."""
        settings = self.settings
        names = (*settings.text_field, settings.label_field, settings.id_field, "subject", settings.mark_field or "")
        wanted = {name.lower() for name in names if name}
        fields: list[list[str]] = [[] for _ in settings.text_field]
        batch = Batch([], (), [], marks=[] if settings.mark_field is not None else None)
        for row, (identity, folder, content) in enumerate(self.mails):
            mail, label = Mail(), None
            try:
                if isinstance(content, InputError):
                    raise content
                mail = parse_mail(content, wanted, self.encoding)
                label = _named(mail, settings.label_field, DEFAULTS.label_field) or folder
                if batch.marks is not None:
                    marked(mail.text(settings.mark_field or ""), settings.mark_field or "")
            except InputError as problem:
                batch.problems[row] = located(problem, identity)
            batch.ids.append(_named(mail, settings.id_field, DEFAULTS.id_field) or identity)
            batch.labels.append(label)
            if batch.marks is not None:
                batch.marks.append(mail.text(settings.mark_field or ""))
            for field, name in zip(fields, settings.text_field, strict=True):
                field.append(mail.text(name))
            batch.repaired_documents += mail.repaired > 0
            batch.repaired_bytes += mail.repaired
        batch.columns = as_columns(fields, are_separate=settings.separate_fields)
        return batch


def _named(mail: Mail, name: str, default: str) -> str | None:
    """The header that the user named. A default name is nobody's: a stranger's mail could bring its own label along."""
    return mail.text(name) or None if name != default else None


def mailbox_chunks(stream: ByteStream, encoding: Encoding, settings: ReadingSettings) -> Iterator[MailChunk]:
    """The mails of an mbox, by `path:NUMBER`; what does not begin as one is a single mail."""
    origin = "" if stream.path == STANDARD_INPUT else f"{stream.path}:"
    position = 0

    def read() -> Iterator[tuple[RawMail, int]]:
        nonlocal position
        for number, content in enumerate(mailbox_contents(stream, settings.max_document_bytes), 1):
            yield RawMail(f"{origin}{number}", None, content), stream.position - position
            position = stream.position

    return _chunks(read(), encoding, settings)


def mail_files_chunks(
    paths: Iterable[str], labels: Iterable[str | None], encoding: Encoding, settings: ReadingSettings
) -> Iterator[MailChunk]:
    """The mails of some files, by their paths; a file that holds several as an mbox gives `path:NUMBER`."""

    def read() -> Iterator[tuple[RawMail, int]]:
        for path, label in zip(paths, labels, strict=True):
            for number, mail in enumerate(_file_mails(path, label, settings.max_document_bytes)):
                yield mail, number == 0

    return _chunks(read(), encoding, settings)


def _file_mails(path: str, label: str | None, limit: int) -> Iterator[RawMail]:
    try:
        stream = open_stream(path)
    except InputError as problem:
        yield RawMail(path, label, problem)
        return
    try:
        contents = mailbox_contents(stream, limit)
        first = next(contents, b"")
        following = next(contents, None)
        if following is None:
            yield RawMail(path, label, first)
            return
        for number, content in enumerate(chain((first, following), contents), 1):
            yield RawMail(f"{path}:{number}", label, content)
    except InputError as problem:
        yield RawMail(path, label, problem)
    finally:
        stream.close()


def is_separator(line: bytes) -> bool:
    """Whether a line begins a mail in an mbox."""
    return _separator.match(line) is not None


def mailbox_contents(stream: ByteStream, limit: int) -> Iterator[bytes | InputError]:
    """The mails of an mbox, each with its line `From ADDRESS`; of another file, all that it holds."""
    lines: list[bytes] = []
    size, is_after_blank = 0, True
    for line in _lines(stream, limit):
        if is_after_blank and is_separator(line):
            if size:
                yield _joined(lines, size, limit)
            lines, size = [], 0
        size += len(line)
        if size <= limit:
            lines.append(line)
        is_after_blank = not line.strip()
    if size:
        yield _joined(lines, size, limit)


def _lines(stream: ByteStream, limit: int) -> Iterator[bytes]:
    """The lines with their line feeds; in place of one that is too long, as many zeros as make its mail too long."""
    for block in line_blocks(pieces_of(stream), PLAIN, limit, position=lambda: stream.position):
        if block.is_too_long:
            yield bytes(limit + 1)
        *whole, rest = block.data.split(b"\n")
        for line in whole:
            yield line + b"\n"
        if rest:
            yield rest


def _joined(lines: list[bytes], size: int, limit: int) -> bytes | InputError:
    return _quoted_from.sub(rb"\1", b"".join(lines)) if size <= limit else too_long(limit)


def _chunks(mails: Iterator[tuple[RawMail, int]], encoding: Encoding, settings: ReadingSettings) -> Iterator[MailChunk]:
    """Mails, with their shares, some at a time."""
    group: list[RawMail] = []
    size = n_bytes = 0
    for mail, share in mails:
        group.append(mail)
        size += share
        n_bytes += len(mail.content) if isinstance(mail.content, bytes) else 0
        if len(group) == CHUNK_MAILS or n_bytes >= CHUNK_BYTES:
            yield MailChunk(group, encoding, settings, size)
            group, size, n_bytes = [], 0, 0
    if group:
        yield MailChunk(group, encoding, settings, size)
