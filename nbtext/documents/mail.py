"""Mails: their headers and texts, out of whatever MIME they are wrapped in. Nothing in a mail is an error by itself."""

from __future__ import annotations

import email
import email.message
import email.policy
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from email.errors import HeaderParseError
from email.header import decode_header
from email.parser import BytesHeaderParser

from nbtext.documents.decoding import MARKS, Decoded, Encoding, text_codec
from nbtext.documents.html import text_of_html
from nbtext.errors import InputError

LONGEST_MIME_HEADER = 4_000  # characters; the library takes quadratic time for parameters
LONGEST_ENCODED_HEADER = 8_000  # characters; longer ones keep their =?encoded words?=, for the same reason
DEEPEST = 100  # parts within parts; the library's recursion ends somewhere above
MOST_LINE_CHECKS = 50_000_000  # each line is held against each boundary; a second or two
NO_TEXT = {"text/calendar", "text/css", "text/javascript", "text/vcard", "text/x-vcard"}
WIDER = {"gb2312": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932"}  # what mailers mean when they say the former

_folded = re.compile(r"\r?\n[ \t]*")
_boundary = re.compile(rb"boundary\s*=", re.IGNORECASE)


class _Policy(email.policy.Compat32):
    """The library's most lenient policy, with MIME headers cut to a length that no honest mail has."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:LONGEST_MIME_HEADER] if name.lower().startswith("content-") else value


POLICY = _Policy()


@dataclass(slots=True)
class Mail:
    """What of a mail is text.

    headers   the values of the headers that were asked for, by lower-case name, decoded
    body      the text parts, one after the other
    repaired  invalid sequences of bytes that U+FFFD stands for
    """

    headers: dict[str, list[str]] = field(default_factory=dict)
    body: str = ""
    repaired: int = 0

    def text(self, name: str) -> str:
        """A field: `body`, `text` (subject and body), or a header, empty where there is none."""
        if name == "body":
            return self.body
        if name == "text":
            return f"{self.text('subject')}\n{self.body}"
        return "\n".join(self.headers.get(name.lower(), ()))


def parse_mail(content: bytes, headers: Collection[str], encoding: Encoding) -> Mail:
    """Read a mail.

    headers   lower-case names of those that are wanted
    encoding  of what names none, or a wrong one
    raises    InputError: bytes are invalid, and invalid bytes are refused
    """
    if content.startswith(MARKS):
        content = encoding.decode(content).text.encode("utf-8", "surrogatepass")
    content = content.lstrip(b"\r\n")
    message, texts = _parsed(content, encoding)
    mail = Mail(body="\n".join(text for text, _ in texts), repaired=sum(repaired for _, repaired in texts))
    for name, value in message.raw_items():
        if name.lower() in headers:
            text, repaired = _header(str(value), encoding)
            mail.headers.setdefault(name.lower(), []).append(text)
            mail.repaired += repaired
    return mail


def _parsed(content: bytes, encoding: Encoding) -> tuple[email.message.Message, list[Decoded]]:
    """The mail and its texts; where the library fails on a broken one, all below its headers is the text."""
    try:
        if len(_boundary.findall(content)) * content.count(b"\n") <= MOST_LINE_CHECKS:
            message = email.message_from_bytes(content, policy=POLICY)
            return message, list(_texts(message, encoding))
    except (InputError, MemoryError):
        raise
    except Exception:  # what the library raises on broken mails is no part of its contract
        pass
    message = BytesHeaderParser(policy=POLICY).parsebytes(content)
    return message, [encoding.decode_rest(_payload(message))]


def _texts(part: email.message.Message, encoding: Encoding, depth: int = 0) -> Iterator[Decoded]:
    """The texts of a part and of the parts in it; of alternatives, the plain one."""
    if depth > DEEPEST:
        raise RecursionError
    if depth and part.get_content_disposition() == "attachment":
        return
    kind = part.get_content_type()
    payload = part.get_payload()
    if not isinstance(payload, list):
        if kind.startswith(("text/", "multipart/", "message/")) and kind not in NO_TEXT:
            yield _text(part, kind, encoding)
        return
    children = [child for child in payload if isinstance(child, email.message.Message)]
    texts = [(child.get_content_type(), list(_texts(child, encoding, depth + 1))) for child in children]
    if kind == "multipart/alternative":
        with_text = [(kind, found) for kind, found in texts if any(text.strip() for text, _ in found)]
        texts = [choice for choice in with_text if choice[0] == "text/plain"][:1] or with_text[:1]
    for _, found in texts:
        yield from found


def _text(part: email.message.Message, kind: str, encoding: Encoding) -> Decoded:
    text, repaired = _decoded(_payload(part), part.get_content_charset(), encoding)
    return Decoded(text_of_html(text) if kind == "text/html" else text, repaired)


def _payload(part: email.message.Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _decoded(data: bytes, charset: str | None, encoding: Encoding) -> Decoded:
    """Bytes as their charset says, else as the settings say; repaired where neither fits."""
    codec = text_codec(charset) if charset else None
    codec = WIDER.get(codec, codec) if codec else encoding.codec
    for candidate in (codec, encoding.codec):
        try:
            return Decoded(data.decode(candidate), 0)
        except UnicodeDecodeError:
            continue
    return replace(encoding, codec=encoding.codec if codec == "ascii" else codec).decode_rest(data)


def _header(value: str, encoding: Encoding) -> Decoded:
    """A header's value on one line, its =?encoded words?= and raw bytes decoded."""
    raw = _folded.sub(" ", value).strip().encode("utf-8", "surrogateescape")
    text, repaired = encoding.decode_rest(raw)
    if "=?" not in text or len(text) > LONGEST_ENCODED_HEADER:
        return Decoded(text, repaired)
    try:
        words = [_word(word, charset, encoding) for word, charset in decode_header(text)]
    except (HeaderParseError, UnicodeError):
        return Decoded(text, repaired)
    return Decoded("".join(word for word, _ in words), repaired + sum(repaired for _, repaired in words))


def _word(word: bytes | str, charset: str | None, encoding: Encoding) -> Decoded:
    if isinstance(word, str):
        return Decoded(word, 0)
    if charset is None:  # what stood between the encoded words, as decode_header hands it over
        return Decoded(word.decode("raw-unicode-escape"), 0)
    return _decoded(word, charset, encoding)
