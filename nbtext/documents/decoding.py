"""Decode bytes to text: byte order marks, encodings, and invalid bytes."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from nbtext.documents.charsets import find_codec
from nbtext.documents.settings import DEFAULT_ENCODING, InputSettings
from nbtext.errors import InputError, SettingsError
from nbtext.kernel import choose_version
from nbtext.records import frozen

BYTE_ORDER_MARKS = {  # UTF-32 comes before UTF-16, because its mark begins with the mark of UTF-16
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
BOM = "\ufeff"  # also where a file was appended to another one
BOMS = tuple(BYTE_ORDER_MARKS)
NATIVE_ORDER = "le" if sys.byteorder == "little" else "be"
# codecs that look for a byte order mark in each block, with the codecs that do not
CODECS_WITHOUT_BOM = {
    "utf-8-sig": "utf-8",
    "utf-16": f"utf-16-{NATIVE_ORDER}",
    "utf-32": f"utf-32-{NATIVE_ORDER}",
}
# characters of a text of four bytes each, of which there are three copies in some formats
MAX_WIDE = 60_000_000
WIDE_BYTES = 3  # a character that needs more has four
ESCAPE_HANDLER = "nbtext-escape"  # the name of an error handler
UNICODE = ("utf-8", "utf-16", "utf-32")  # codecs that have all characters begin with these

_surrogate = re.compile("[\ud800-\udfff]")


def count_byte(data: bytes, wanted: int) -> int:
    """Return how often a byte occurs."""
    return data.count(wanted)


count_byte = choose_version(count_byte)


class Decoded(NamedTuple):
    """A text, and what was not certain about its bytes.

    Attributes
    ----------
    text : str
    repaired : int
        The number of invalid sequences of bytes that were replaced by U+FFFD.
    unknown : str
        The encoding that the document names, if there is none of this name; "" otherwise.
    """

    text: str
    repaired: int
    unknown: str = ""


@frozen
class Encoding:
    """An encoding of text.

    Attributes
    ----------
    codec : str
        Python's name of the encoding, "utf-8" for the most common one.
    is_typed : bool
        Whether the user has named it; otherwise it is that of documents that do not declare their
        own.
    """

    codec: str
    is_typed: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether text may hold the byte NUL."""
        return self.codec.startswith(UNICODE[1:])

    @property
    def has_byte_lines(self) -> bool:
        """Whether the byte of a line feed always is one, so that lines can be found without
        decoding.
        """
        return "\n".encode(self.codec) == b"\n"

    def decode(self, data: bytes) -> Decoded:
        """Return the text of these bytes; a byte order mark at their start decides the encoding and
        is removed.
        """
        detected, length = detect_bom(data, self)
        return detected.decode_rest(data[length:])

    def decode_rest(self, data: bytes) -> Decoded:
        """Return the text of bytes that do not begin their file."""
        try:
            return Decoded(data.decode(self.codec), 0)
        except UnicodeDecodeError:
            text = data.decode(self.codec, "replace")
        return Decoded(
            text, text.count("\ufffd") - data.decode(self.codec, "ignore").count("\ufffd")
        )

    def decode_leniently(self, data: bytes) -> str:
        """Return the text of the first bytes of a file, which may end within a character."""
        detected, length = detect_bom(data, self)
        return data[length:].decode(detected.codec, "replace")

    def decode_line(self, data: bytes) -> Decoded:
        """Return the text of bytes that `to_utf8` converted."""
        if self.codec == "utf-8":
            return self.decode_rest(data)
        return Decoded(*_surrogate.subn("\ufffd", data.decode("utf-8", "surrogatepass")))

    def decode_exactly(self, data: bytes) -> str:
        """Return the text of bytes that `to_utf8` converted, in which invalid bytes are lone
        surrogates.
        """
        return data.decode("utf-8", "surrogateescape" if self.codec == "utf-8" else "surrogatepass")

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text, invalid ones as well; UnicodeEncodeError if the encoding
        lacks a character.
        """
        return text.encode(self.codec, "surrogatepass" if self.is_wide else "surrogateescape")

    def repair(self, text: str) -> str:
        """Return a text of `decode_exactly` with U+FFFD for invalid bytes."""
        if self.codec == "utf-8" and not text.isascii():
            return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return _surrogate.sub("\ufffd", text)


def to_utf8(blocks: Iterator[bytes], encoding: Encoding) -> Iterator[bytes]:
    """Convert the bytes of a text, without its byte order mark, to UTF-8.

    Invalid bytes become lone surrogates, which are not valid in UTF-8 either. So each line is
    repaired where it is read, as a line of UTF-8 is; see `Encoding.decode_line`.
    """
    decoder = codecs.getincrementaldecoder(encoding.codec)(ESCAPE_HANDLER)
    for block in blocks:
        if text := decoder.decode(block):
            yield text.encode("utf-8", "surrogatepass")
    if text := decoder.decode(b"", final=True):
        yield text.encode("utf-8", "surrogatepass")


def _escape(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return lone surrogates for invalid bytes: the same in UTF-16 and UTF-32, otherwise U+DC00 + n
    for the byte n.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    try:
        return codecs.lookup_error("surrogatepass")(error)
    except UnicodeDecodeError:
        return "".join(
            chr(0xDC00 + byte) for byte in error.object[error.start : error.end]
        ), error.end


codecs.register_error(ESCAPE_HANDLER, _escape)


def encoding_of(settings: InputSettings) -> Encoding:
    """Return the encoding of the settings.

    Raises
    ------
    SettingsError
        Python has no text encoding of this name.
    """
    name = DEFAULT_ENCODING if settings.encoding is None else settings.encoding
    codec = find_codec(name, is_web=False)
    if codec is None:
        raise SettingsError(
            f"unknown encoding {name!r}", where="encoding", hint="try utf-8, latin-1 or cp1252"
        )
    return Encoding(CODECS_WITHOUT_BOM.get(codec, codec), settings.encoding is not None)


def detect_bom(head: bytes, encoding: Encoding) -> tuple[Encoding, int]:
    """Return the encoding of the byte order mark and the size of the mark in bytes; without one,
    `encoding` and 0.
    """
    for bom, codec in BYTE_ORDER_MARKS.items():
        if head.startswith(bom):
            return replace(encoding, codec=codec), len(bom)
    return encoding, 0


def decode_named(data: bytes, encoding: Encoding, charset: str | None) -> Decoded:
    """Return the text of bytes in the encoding that their document names, if there is one, or in
    that of the settings.

    The first of both in which the bytes are valid is taken, else the first. Text that states ASCII,
    and has other bytes, is in the encoding of the settings or in cp1252: many programs state ASCII
    without looking.
    """
    named = find_codec(charset, is_web=True) if charset else None
    is_plain = data.isascii() and b"\x1b" not in data
    is_doubtful = named is None and not is_plain and not encoding.is_typed
    unknown = charset if charset and is_doubtful else ""
    if named is not None and named.startswith(UNICODE[1:]):
        found, size = detect_bom(data, replace(encoding, codec=named))
        named = found.codec
        data = data[size:]
    choices = [named or encoding.codec, encoding.codec]
    if charset and find_codec(charset, is_web=False) == "ascii":
        choices.reverse()
    for codec in choices:
        try:
            return Decoded(data.decode(codec), 0, unknown)
        except UnicodeDecodeError:
            continue
    codec = named or encoding.codec
    return replace(encoding, codec=codec).decode_rest(data)._replace(unknown=unknown)


def check_text_width(text: str) -> None:
    """Raise InputError if a text is so long and so wide that the copies of its columns or tags
    would fill the memory.

    Python needs four bytes for each character of a text that has one outside of the Basic
    Multilingual Plane.
    """
    if len(text) > MAX_WIDE and sys.getsizeof(text) > WIDE_BYTES * len(text):
        raise InputError(
            f"the text has more than {MAX_WIDE:,} characters, and emoji or other characters of four bytes among them",
            hint="split the document",
        )


class DecodedLines(NamedTuple):
    """Lines of text, and the number of repairs of each invalid one, by index."""

    texts: list[str]
    repaired: dict[int, int]


def decode_lines(data: bytes, encoding: Encoding) -> DecodedLines:
    """Decode lines of UTF-8; if one is invalid, only this line is repaired. Carriage returns are
    kept.

    encoding  that of the file, whose bytes `to_utf8` converted
    """
    repaired: dict[int, int] = {}
    try:
        texts = data.decode().split("\n")
    except UnicodeDecodeError:
        lines = list(map(encoding.decode_line, data.split(b"\n")))
        texts = [line.text for line in lines]
        repaired = {place: line.repaired for place, line in enumerate(lines) if line.repaired}
    if not texts[-1]:
        texts.pop()
    return DecodedLines(texts, repaired)
