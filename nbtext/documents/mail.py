"""Mails in mbox files, in Maildirs and in single files: their headers and their texts, from MIME parts.

Mails are often malformed, so nothing in a mail is an error.
"""

from __future__ import annotations

import email
import email.message
import email.policy
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from email.errors import HeaderParseError
from email.header import decode_header
from email.parser import BytesHeaderParser
from functools import partial
from itertools import chain
from typing import NamedTuple

from nbtext.documents.batch import Batch, BatchBuilder, Block
from nbtext.documents.blocks import ReadOptions, group_items, read_line_blocks, read_raw_blocks
from nbtext.documents.decoding import BOMS, Decoded, Encoding, text_codec
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import DEFAULTS, split_label
from nbtext.documents.formats import MBOX_SEPARATOR
from nbtext.documents.html import text_of_html
from nbtext.documents.lines import origin_of
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream, open_stream
from nbtext.errors import InputError

BLOCK_MAILS = 64
MAX_MIME_HEADER = 4_000  # characters of a MIME header; the standard library parses parameters in quadratic time
# characters of another header; longer ones keep their =?encoded words?=, for the same reason
MAX_ENCODED_HEADER = 8_000
MAX_DEPTH = 100  # of nested MIME parts; far below the limit of the standard library's recursion
# lines times boundaries: each line is compared with each boundary, which takes about 2 s at this limit
MAX_LINE_CHECKS = 50_000_000
NO_TEXT = {"text/calendar", "text/css", "text/javascript", "text/vcard", "text/x-vcard"}
# mailers use the first name for the second encoding
WIDER_CODECS = {"gb2312": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932"}

MAX_LINES = 2_000_000  # of a mail whose parts are read; 100 MB of base64 have fewer
LARGE_BYTES = 1 << 22  # of a mail; a smaller one is read by the library whatever it is
PLAIN = ("", "7bit", "8bit", "binary")  # encodings of a text that need no decoding

# the headers as the library finds them
_headers = re.compile(rb"(?:(?:From |[!-9;-~]*+:|[\t ])[^\r\n]*+(?:\r\n?|\n|\Z))*+(?:\r\n?|\n)?")
_folded = re.compile(r"\r?\n[ \t]*")
_boundary = re.compile(rb"boundary\s*=", re.IGNORECASE)
_separator = re.compile(MBOX_SEPARATOR)
_quoted_from = re.compile(rb"^>(>*From )", re.MULTILINE)


class _Policy(email.policy.Compat32):
    """The most lenient policy of Python's email package; very long MIME headers are truncated."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:MAX_MIME_HEADER] if name.lower().startswith("content-") else value


POLICY = _Policy()


@dataclass(slots=True)
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
    """

    headers: dict[str, list[str]] = field(default_factory=dict)
    body: str = ""
    repaired: int = 0

    def text(self, name: str) -> str:
        """Return a field: `body`, `text` (subject and body), or a header; "" if the mail has none."""
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
    message, texts = _parse_mime(content.lstrip(b"\r\n"), encoding)
    mail = Mail(body="\n".join(text for text, _ in texts), repaired=sum(repaired for _, repaired in texts))
    for name, value in message.raw_items():
        if name.lower() in headers:
            text, repaired = _decode_header(str(value), encoding)
            mail.headers.setdefault(name.lower(), []).append(text)
            mail.repaired += repaired
    return mail


def _parse_mime(content: bytes, encoding: Encoding) -> tuple[email.message.Message, list[Decoded]]:
    """Return the message and its texts; if the library fails, everything after the headers is the text.

    The library keeps each line by itself, so the text of a large mail without parts is read without it.
    """
    n_lines = content.count(b"\n")
    if len(content) > LARGE_BYTES:
        headers = _headers.match(content)
        end = headers.end() if headers else 0
        message = BytesHeaderParser(policy=POLICY).parsebytes(content[:end])
        kind, transfer = message.get_content_type(), message.get("content-transfer-encoding", "").lower()
        if n_lines > MAX_LINES or (kind.startswith("text/") and transfer in PLAIN):
            text, repaired = _decode_bytes(content[end:], message.get_content_charset(), encoding)
            return message, [Decoded(text_of_html(text) if kind == "text/html" else text, repaired)]
    try:
        if sum(1 for _ in _boundary.finditer(content)) * n_lines <= MAX_LINE_CHECKS:
            message = email.message_from_bytes(content, policy=POLICY)
            return message, list(_texts(message, encoding))
    except (InputError, MemoryError):
        raise
    except Exception:  # the library documents no errors for broken mails
        pass
    message = BytesHeaderParser(policy=POLICY).parsebytes(content)
    return message, [encoding.decode_rest(_payload(message))]


def _texts(part: email.message.Message, encoding: Encoding, depth: int = 0) -> Iterator[Decoded]:
    """Yield the texts of a MIME part and of the parts in it; of alternatives, only the plain text."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if depth and part.get_content_disposition() == "attachment":
        return
    kind = part.get_content_type()
    payload = part.get_payload()
    if not isinstance(payload, list):
        if kind.startswith(("text/", "multipart/", "message/")) and kind not in NO_TEXT:
            text, repaired = _decode_bytes(_payload(part), part.get_content_charset(), encoding)
            yield Decoded(text_of_html(text) if kind == "text/html" else text, repaired)
        return
    children = [child for child in payload if isinstance(child, email.message.Message)]
    texts = [(child.get_content_type(), list(_texts(child, encoding, depth + 1))) for child in children]
    if kind == "multipart/alternative":
        with_text = [(kind, found) for kind, found in texts if any(text.strip() for text, _ in found)]
        texts = [choice for choice in with_text if choice[0] == "text/plain"][:1] or with_text[:1]
    for _, found in texts:
        yield from found


def _payload(part: email.message.Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _decode_bytes(data: bytes, charset: str | None, encoding: Encoding) -> Decoded:
    """Decode bytes with their charset, or with the encoding of the settings; replace bytes that are invalid in both."""
    codec = text_codec(charset) if charset else None
    codec = WIDER_CODECS.get(codec, codec) if codec else encoding.codec
    for candidate in (codec, encoding.codec):
        try:
            return Decoded(data.decode(candidate), 0)
        except UnicodeDecodeError:
            continue
    return replace(encoding, codec=encoding.codec if codec == "ascii" else codec).decode_rest(data)


def _decode_header(value: str, encoding: Encoding) -> Decoded:
    """Return a header's value on one line, with its =?encoded words?= and raw bytes decoded."""
    raw = _folded.sub(" ", value).strip().encode("utf-8", "surrogateescape")
    text, repaired = encoding.decode_rest(raw)
    if "=?" not in text or len(text) > MAX_ENCODED_HEADER:
        return Decoded(text, repaired)
    try:
        words = [_decode_word(word, charset, encoding) for word, charset in decode_header(text)]
    except (HeaderParseError, UnicodeError):
        return Decoded(text, repaired)
    return Decoded("".join(word for word, _ in words), repaired + sum(repaired for _, repaired in words))


def _decode_word(word: bytes | str, charset: str | None, encoding: Encoding) -> Decoded:
    if isinstance(word, str):
        return Decoded(word, 0)
    if charset is None:  # text between encoded words, as decode_header returns it
        return Decoded(word.decode("raw-unicode-escape"), 0)
    return _decode_bytes(word, charset, encoding)


class RawMail(NamedTuple):
    """The bytes of a mail, or the error of reading them."""

    id: str
    label: str | None
    content: bytes | InputError
    is_first: bool = True  # of its file


def _parse_mails(mails: list[RawMail], encoding: Encoding, settings: InputSettings) -> Batch:
    """Parse mails; one that cannot be read is a problem of its row."""
    names = (*settings.text_field, settings.label_field, settings.id_field, "subject", settings.split_field or "")
    wanted = {name.lower() for name in names if name}
    builder = BatchBuilder(settings)
    for identity, folder, content, _ in mails:
        try:
            if isinstance(content, InputError):
                raise content
            mail = parse_mail(content, wanted, encoding)
            header = _header_if_named(mail, settings.label_field, DEFAULTS.label_field)
            label = split_label(header, settings) if header is not None else folder
        except InputError as problem:
            builder.add((), place=identity, label=problem)
            continue
        texts = [mail.text(name) for name in settings.text_field]
        name = _header_if_named(mail, settings.id_field, DEFAULTS.id_field)
        group = mail.text(settings.split_field) if settings.split_field is not None else None
        builder.add(texts, place=identity, identity=name, label=label, group=group, repaired=mail.repaired)
    return builder.finish()


def _header_if_named(mail: Mail, name: str, default: str) -> str | None:
    """Return the header if its name is not the default; otherwise the sender of a mail could choose its label or id."""
    return mail.text(name) or None if name != default else None


def read_mbox(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the mails of an mbox, with ids `FILE:NUMBER`; a file that does not begin as an mbox is a single mail."""
    origin = origin_of(stream.path)
    contents = enumerate(_split_mbox(stream, options.settings.max_document_bytes), 1)
    mails = (RawMail(f"{origin}{number}", None, content) for number, content in contents)
    return _group_mails(mails, options.encoding, options.settings, lambda _: stream.newly_read())


def read_mail_files(
    paths: Iterable[str], labels: Iterable[str | None], encoding: Encoding, settings: InputSettings
) -> Iterator[Block]:
    """Yield the mails of some files, with their paths as ids; a file that is an mbox of several gives `FILE:NUMBER`."""
    limit = settings.max_document_bytes
    mails = chain.from_iterable(_read_mail_file(*file, limit) for file in zip(paths, labels, strict=True))
    return _group_mails(mails, encoding, settings, lambda group: sum(mail.is_first for mail in group))


def _read_mail_file(path: str, label: str | None, limit: int) -> Iterator[RawMail]:
    try:
        with closing(open_stream(path)) as stream:
            contents = _split_mbox(stream, limit)
            first = next(contents, b"")
            second = next(contents, None)
            if second is None:
                yield RawMail(path, label, first)
                return
            for number, content in enumerate(chain((first, second), contents), 1):
                yield RawMail(f"{path}:{number}", label, content, is_first=number == 1)
    except InputError as problem:
        yield RawMail(path, label, problem)


def is_separator(line: bytes) -> bool:
    """Return whether a line precedes a mail in an mbox."""
    return _separator.match(line) is not None


def _split_mbox(stream: ByteStream, limit: int) -> Iterator[bytes | InputError]:
    """Yield the mails of an mbox, each with its line `From ADDRESS`; any other file is one mail."""
    content, size, is_after_blank = bytearray(), 0, True
    for line in _read_lines(stream, limit):
        if is_after_blank and is_separator(line):
            if size:
                yield _take_mail(content, size, limit)
            size = 0
        size += len(line)
        if size <= limit:
            content += line
        is_after_blank = not line.strip()
    if size:
        yield _take_mail(content, size, limit)


def _read_lines(stream: ByteStream, limit: int) -> Iterator[bytes]:
    """Yield the lines with their line feeds; zeros replace a line that is too long, so that its mail is too long."""
    for block in read_line_blocks(read_raw_blocks(stream), limit):
        if block.is_too_long:
            yield bytes(limit + 1)
        lines = deque(block.data.split(b"\n"))
        del block
        while len(lines) > 1:
            yield lines.popleft() + b"\n"
        if lines[0]:
            yield lines.popleft()


def _take_mail(content: bytearray, size: int, limit: int) -> bytes | InputError:
    mail = bytes(content)
    content.clear()
    return _quoted_from.sub(rb"\1", mail) if size <= limit else too_long(limit)


def _group_mails(
    mails: Iterator[RawMail], encoding: Encoding, settings: InputSettings, size_of: Callable[[list[RawMail]], int]
) -> Iterator[Block]:
    """Yield mails in blocks, of which `size_of` returns the sizes in the source."""

    def length_of(mail: RawMail) -> int:
        return len(mail.content) if isinstance(mail.content, bytes) else 0

    for group, n_bytes in group_items(mails, length_of, n_items=BLOCK_MAILS):
        block = Block(partial(_parse_mails, group, encoding, settings), size_of(group), n_bytes)
        del group
        yield block
