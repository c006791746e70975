"""Mails in mbox files, in Maildirs and in single files: their headers and their texts, from MIME
parts.

Mails are often malformed, so nothing in a mail is an error. The library parses headers, a bounded
number of lines at a time; the parts are found here, in linear time and without an object for each
line.
"""

from __future__ import annotations

import binascii
import email.policy
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from nbtext.documents.batch import Batch, Block, make_batch_of_objects
from nbtext.documents.blocks import (
    ReadOptions,
    Shard,
    group_items,
    read_line_blocks,
    read_raw_blocks,
)
from nbtext.documents.decoding import BOMS, Decoded, Encoding, check_text_width, decode_named
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import DEFAULTS, name_of
from nbtext.documents.formats import MAIL_HEADERS, MBOX_SEPARATOR
from nbtext.documents.html import decode_html, remove_invisible
from nbtext.documents.streams import ByteStream, open_stream, origin_of
from nbtext.errors import InputError
from nbtext.records import dataclass, frozen

BLOCK_MAILS = 64
# of a mail or a part; the library keeps an object for each, and further ones are ignored
MAX_HEADER_LINES = 10_000
MAX_MAIL_HEADER_BYTES = 1 << 20
# characters of a MIME header; the standard library parses parameters in quadratic time
MAX_MIME_HEADER = 4_000
# characters of another header; longer ones keep their =?encoded words?=, for the same reason
MAX_ENCODED_HEADER = 8_000
MAX_DEPTH = 100  # of nested MIME parts; deeper ones are text as they are
MAX_PARTS = 10_000  # of a mail; further ones are ignored
MAILS = ("message/rfc822", "message/global", "message/news")  # an attached mail is text
UNREAD_TEXT_TYPES = {
    "text/calendar",
    "text/css",
    "text/javascript",
    "text/rfc822-headers",
    "text/vcard",
    "text/x-vcard",
}
STATUSES = ("x-mozilla-status", "x-status")  # of a mail of an mbox; see `_why_skipped`
DELETED = "deleted mail"
DELETED_STATUS = 0x8  # of X-Mozilla-Status
STATUS_FLAGS = set("ADFT")  # of X-Status: answered, deleted, flagged, a draft
FOLDER_DATA = "DON'T DELETE THIS MESSAGE"  # the subject of what a mail program keeps in an mbox
NOT_BASE64 = bytes(
    byte for byte in range(256) if not (byte < 128 and (chr(byte).isalnum() or chr(byte) in "+/"))
)

# the headers as the library finds them
_header_lines = re.compile(
    rb"(?:(?:From |[!-9;-~]*+:|[\t ])[^\r\n]*+(?:\r\n?|\n|\Z)){0,%d}+" % MAX_HEADER_LINES
)
_headers = re.compile(rb"(?:(?:From |[!-9;-~]*+:|[\t ])[^\r\n]*+(?:\r\n?|\n|\Z))*+(?:\r\n?|\n)?")
# Apple Mail: the size of the mail, the mail, and a list of its properties
_emlx = re.compile(rb"\s*(\d{1,15})[ \t]*\r?\n")
_folded = re.compile(r"\r?\n[ \t]*")
_quoted_from = re.compile(rb"^>(>*From )", re.MULTILINE)
_boundary_end = re.compile(rb"(--)?[ \t]*(?:\r\n?|\n|\Z)")
# A mail of an mbox begins with a line `From …` that a header follows; a line of an unusual form,
# with a usual header.
_usual = rb"(?i:%s|[a-z][a-z0-9]*+-[!-9;-~]++)[ \t]*+:" % b"|".join(sorted(MAIL_HEADERS))
_separator = re.compile(
    rb"^(?:(?=%s)From [^\n]*+\n(?:[!-9;-~]++:|>From )|From [^\n]*+\n(?:>From [^\n]*+\n)?+%s)"
    % (MBOX_SEPARATOR, _usual),
    re.MULTILINE,
)


class _Policy(email.policy.Compat32):
    """The most lenient policy of Python's email package; very long MIME headers are truncated."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:MAX_MIME_HEADER] if name.lower().startswith("content-") else value


POLICY = _Policy()


@frozen
class Mail:
    """The text of a mail.

    Attributes
    ----------
    headers : dict of str to list of str
        The decoded values of the wanted headers, by lower-case name.
    body : str
        The text parts, one after the other.
    repaired : int
        Invalid sequences of bytes that were replaced by U+FFFD.
    unknown : str
        The first encoding that it names and that does not exist; "" if there is none.
    """

    headers: dict[str, list[str]]
    body: str
    repaired: int
    unknown: str

    def text(self, name: str) -> str:
        """Return a field: `body`, `text` (subject and body), or a header; "" if the mail has
        none.
        """
        if name == "body":
            return self.body
        if name == "text":
            return f"{self.text('subject')}\n{self.body}"
        return "\n".join(self.headers.get(name.lower(), ()))


def parse_mail(content: bytes, headers: Collection[str], encoding: Encoding) -> Mail:
    """Return the text and the wanted headers of a mail.

    Parameters
    ----------
    content : bytes
    headers : collection of str
        The lower-case names of the wanted headers.
    encoding : Encoding
        The encoding of texts that state no valid encoding.

    Raises
    ------
    InputError
        Bytes are invalid, and the settings refuse invalid bytes.
    """
    if content.startswith(BOMS):
        content = encoding.decode(content).text.encode("utf-8", "surrogatepass")
    if (size := _emlx.match(content)) is not None:
        end = size.end() + int(size[1])
        if content[end:].lstrip().startswith(b"<?xml"):
            content = content[size.end() : end]
    content = content.lstrip(b"\r\n")
    message, start = _read_headers(content, 0, len(content))
    try:
        texts = list(_Parts(content, encoding).texts(message, start, len(content)))
    except (InputError, MemoryError):
        raise
    except Exception:
        # the library documents no errors for broken headers; then everything after them is the text
        texts = [encoding.decode_rest(content[start:])]
    body = remove_invisible("\n".join(decoded.text for decoded in texts))
    check_text_width(body)
    found: dict[str, list[str]] = {}
    for name, value in message.raw_items():
        if name.lower() in headers:
            texts.append(_decode_header(str(value), encoding))
            found.setdefault(name.lower(), []).append(remove_invisible(texts[-1].text))
    unknown = next((decoded.unknown for decoded in texts if decoded.unknown), "")
    return Mail(found, body, sum(decoded.repaired for decoded in texts), unknown)


def _read_headers(content: bytes, start: int, stop: int) -> tuple[Message, int]:
    """Return the headers that begin at a place, as many as are read, and where the body begins."""
    found = _headers.match(content, start, stop)
    end = found.end() if found else start
    lines = _header_lines.match(content, start, min(end, start + MAX_MAIL_HEADER_BYTES))
    return BytesHeaderParser(policy=POLICY).parsebytes(lines.group() if lines else b""), end


@dataclass(eq=False)
class _Parts:
    """Reads the MIME parts of a mail.

    Parameters
    ----------
    content : bytes
        The mail.
    encoding : Encoding
        The encoding of texts that state no valid encoding.
    """

    _content: bytes
    _encoding: Encoding
    _n_parts: int = 0

    def texts(self, message: Message, start: int, stop: int, depth: int = 0) -> Iterator[Decoded]:
        """Yield the texts of a part, whose body is a range of the mail, and of the parts in it.

        Of alternatives, only the plain text is read.
        """
        kind = message.get_content_type()
        transfer = str(message.get("content-transfer-encoding", ""))
        if kind in MAILS and depth < MAX_DEPTH:
            data = _decode_transfer(self._content[start:stop], transfer)
            if len(data) == stop - start:
                del data  # else each of the mails within mails would hold a copy
                yield from self._texts_of_range(start, stop, depth + 1)
            else:
                inner = _Parts(data, self._encoding)
                inner._n_parts = self._n_parts
                yield from inner._texts_of_range(0, len(data), depth + 1)
                self._n_parts = inner._n_parts
            return
        if depth and message.get_content_disposition() == "attachment":
            return
        if kind == "message/delivery-status":  # headers about each recipient
            return
        if kind.startswith("message/") and depth < MAX_DEPTH:
            yield from self._texts_of_range(start, stop, depth + 1)
            return
        boundary = (
            message.get_boundary() if kind.startswith("multipart/") and depth < MAX_DEPTH else None
        )
        ranges = list(self._split(boundary, start, stop)) if boundary else []
        if kind == "multipart/alternative" and ranges:
            yield from self._choose(ranges, depth + 1)
        elif ranges:
            for begin, end in ranges:
                yield from self._texts_of_range(
                    begin, end, depth + 1, is_mail=kind == "multipart/digest"
                )
        elif kind.startswith(("text/", "multipart/", "message/")) and kind not in UNREAD_TEXT_TYPES:
            data = _decode_transfer(self._content[start:stop], transfer)
            decode = decode_html if kind == "text/html" else decode_named
            yield decode(data, self._encoding, message.get_content_charset())

    def _texts_of_range(
        self, start: int, stop: int, depth: int, *, is_mail: bool = False
    ) -> Iterator[Decoded]:
        """Yield the texts of a part whose headers begin at `start`; `is_mail` is whether it is a
        mail if they do not say what it is.
        """
        message, body = _read_headers(self._content, start, stop)
        if is_mail:
            message.set_default_type(MAILS[0])
        yield from self.texts(message, body, stop, depth)

    def _choose(self, ranges: list[tuple[int, int]], depth: int) -> Iterator[Decoded]:
        """Yield the texts of the first plain one of some alternatives, or of the first that has a
        text.
        """
        parts = [(*_read_headers(self._content, start, stop), stop) for start, stop in ranges]
        parts.sort(key=lambda part: part[0].get_content_type() != "text/plain")
        for message, body, stop in parts:
            texts = list(self.texts(message, body, stop, depth))
            if any(decoded.text.strip() for decoded in texts):
                yield from texts
                return

    def _split(self, boundary: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the range of each part between lines of a boundary; of too many, the last one has
        the rest.
        """
        content = self._content
        line = b"--" + boundary.encode("ascii", "surrogateescape")
        begin = -1
        place = content.find(line, start, stop)
        is_last = False
        while place >= 0 and not is_last:
            end = _boundary_end.match(content, place + len(line), stop)
            if end and (place == start or content[place - 1 : place] in (b"\n", b"\r")):
                is_last = end[1] is not None
                if begin >= 0:
                    yield (
                        begin,
                        max(begin, place - (2 if content[place - 2 : place] == b"\r\n" else 1)),
                    )
                begin = end.end()
                self._n_parts += 1
                if self._n_parts >= MAX_PARTS:
                    break
            place = content.find(line, place + len(line), stop)
        if begin >= 0 and not is_last:
            yield begin, stop


def _decode_transfer(data: bytes, transfer: str) -> bytes:
    """Return the bytes of a body in a transfer encoding; as they are if they are not in it."""
    transfer = transfer.partition(";")[0].strip().lower()
    if transfer == "quoted-printable":
        return binascii.a2b_qp(data)
    if transfer != "base64":
        return data
    try:
        return binascii.a2b_base64(data + b"==")
    except binascii.Error:
        # something was appended, such as an advertisement
        letters = data.translate(None, NOT_BASE64)
        return binascii.a2b_base64(letters[: len(letters) // 4 * 4])


def _decode_header(value: str, encoding: Encoding) -> Decoded:
    """Return a header's value on one line, with its =?encoded words?= and raw bytes decoded."""
    raw = _folded.sub(" ", value).strip().encode("utf-8", "surrogateescape")
    whole = encoding.decode_rest(raw)
    if "=?" not in whole.text or len(whole.text) > MAX_ENCODED_HEADER:
        return whole
    try:
        # a text has no charset before or between encoded words
        decoded = [
            decode_named(word, encoding, charset)
            if isinstance(word, bytes) and charset is not None
            else Decoded(word if isinstance(word, str) else word.decode("raw-unicode-escape"), 0)
            for word, charset in decode_header(whole.text)
        ]
    except (HeaderParseError, UnicodeError):
        return whole
    repaired = whole.repaired + sum(word.repaired for word in decoded)
    unknown = next((word.unknown for word in decoded if word.unknown), "")
    return Decoded("".join(word.text for word in decoded), repaired, unknown)


class RawMail(NamedTuple):
    """The bytes of a mail, or the error of reading them."""

    id: str
    label: str | None
    content: bytes | InputError
    is_first: bool = True  # of its file


def _parse_mails(mails: list[RawMail], options: ReadOptions) -> Batch:
    """Parse mails; one that cannot be read is a problem of its row."""
    settings = options.settings
    wanted = {name.lower() for name in (*settings.field_names, "subject", *STATUSES)}
    found: list[Any] = []
    repairs = []
    skipped = {}
    for _, folder, content, _ in mails:
        try:
            if isinstance(content, InputError):
                raise content
            mail = parse_mail(content, wanted, options.encoding)
        except InputError as problem:
            found.append(problem)
            continue
        if content.startswith(b"From ") and (reason := _why_skipped(mail)):
            skipped[len(found)] = reason
        fields: dict[str, Any] = {name: mail.text(name) for name in settings.field_names}
        # the sender of a mail chooses no label and no id, unless the settings name a header
        if settings.label_field == DEFAULTS.label_field:
            fields[settings.label_field] = ""
        if settings.id_field == DEFAULTS.id_field:
            fields[settings.id_field] = ""
        fields[settings.label_field] = name_of(fields.get(settings.label_field)) or folder
        found.append(fields)
        repairs.append((mail.repaired, mail.unknown))
    batch = make_batch_of_objects(found, settings, numbers=[mail.id for mail in mails])
    batch.names = ()
    batch.count_repairs(repaired for repaired, _ in repairs)
    batch.unknown_encodings.update(unknown for _, unknown in repairs if unknown)
    batch.notes.update(skipped.values())
    return batch.drop(skipped) if skipped else batch


def _why_skipped(mail: Mail) -> str:
    """Return why a mail of an mbox is skipped; "" if it is a document."""
    mozilla, other = (mail.text(name) for name in STATUSES)
    with suppress(ValueError):
        if int(mozilla or "0", 16) & DELETED_STATUS:
            return DELETED
    if "D" in other and set(other) <= STATUS_FLAGS:
        return DELETED
    return "data of a mail program" if mail.text("subject").startswith(FOLDER_DATA) else ""


def read_mbox(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the mails of an mbox, with ids `FILE:NUMBER`; a file that does not begin as an mbox is
    a single mail.
    """
    origin = origin_of(stream.path)
    contents = enumerate(split_mbox(stream, options.settings.max_document_bytes), 1)
    mails = (RawMail(f"{origin}{number}", None, content) for number, content in contents)
    return _group_mails(mails, options, lambda _: stream.newly_read())


def read_mail_files(shard: Shard, options: ReadOptions) -> Iterator[Block]:
    """Yield the mails of the files of a shard, with their paths as ids; a file that is an mbox of
    several gives `FILE:NUMBER`.
    """
    limit = options.settings.max_document_bytes
    files = zip(shard.paths, shard.labels, strict=True)
    mails = chain.from_iterable(_read_mail_file(*file, limit) for file in files)
    return _group_mails(mails, options, lambda group: sum(mail.is_first for mail in group))


def _read_mail_file(path: str, label: str | None, limit: int) -> Iterator[RawMail]:
    try:
        with open_stream(path) as stream:
            contents = split_mbox(stream, limit)
            first = next(contents, b"")
            second = next(contents, None)
            if second is None:
                yield RawMail(path, label, first)
                return
            for number, content in enumerate(chain((first, second), contents), 1):
                yield RawMail(f"{path}:{number}", label, content, is_first=number == 1)
    except InputError as problem:
        yield RawMail(path, label, problem)


def split_mbox(stream: ByteStream, limit: int) -> Iterator[bytes | InputError]:
    """Yield the mails of an mbox, each with its line `From …`; any other file is one mail. A mail
    of more bytes than the limit is an error.
    """
    mail = bytearray()
    size = 0  # of the mail, also if it is too large to be kept
    is_mbox: bool | None = None  # None before the first line that is not blank
    held = b""  # a line `From …` at the end of a block, until the line that follows it arrives

    def add(lines: bytes) -> None:
        nonlocal size, mail
        size += len(lines)
        if size <= limit:
            mail += _quoted_from.sub(rb"\1", lines) if is_mbox else lines

    def finish() -> Iterator[bytes | InputError]:
        nonlocal size, mail
        if size:
            found = bytes(mail) if size <= limit else too_long(limit)
            mail = bytearray()
            size = 0
            yield found

    def split(lines: bytes) -> Iterator[bytes | InputError]:
        """Yield the mails that these lines complete; a line `From …` comes together with the one
        that follows it.
        """
        nonlocal is_mbox
        if is_mbox is None:
            lines = lines.lstrip(b"\r\n")
            is_mbox = bool(_separator.match(lines)) if lines else None
        start = 0
        for found in _separator.finditer(lines) if is_mbox else ():
            add(lines[start : found.start()])
            yield from finish()
            start = found.start()
        add(lines[start:])

    for block in read_line_blocks(read_raw_blocks(stream), limit):
        if block.is_too_long:
            if held and is_mbox:
                yield from finish()
            yield from split(held)
            size += limit + 1
            held = b""
            continue
        lines = held + block.data
        last = lines.rfind(b"\n", 0, -1) + 1
        is_open = lines.startswith((b"From ", b">From "), last)
        held = lines[last:] if is_open else b""
        yield from split(lines[:last] if is_open else lines)
        del block, lines
    yield from split(held)
    yield from finish()


def _group_mails(
    mails: Iterator[RawMail],
    options: ReadOptions,
    size_of: Callable[[list[RawMail]], int],
) -> Iterator[Block]:
    """Yield mails in blocks, of which `size_of` returns the sizes in the source."""

    def length_of(mail: RawMail) -> int:
        return len(mail.content) if isinstance(mail.content, bytes) else 0

    for group, n_bytes in group_items(mails, length_of, n_items=BLOCK_MAILS):
        block = Block(partial(_parse_mails, group, options), size_of(group), n_bytes)
        del group
        yield block
