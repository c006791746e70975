"""Decode bytes to text: byte order marks, encodings, and invalid bytes."""

from __future__ import annotations

import array
import codecs
import sys
from dataclasses import replace
from typing import NamedTuple

from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError
from nbtext.kernel import choose_version
from nbtext.records import dataclass

BYTE_ORDER_MARKS = {  # UTF-32 comes before UTF-16, because its mark begins with the mark of UTF-16
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
BOMS = tuple(BYTE_ORDER_MARKS)
NATIVE_ORDER = "le" if sys.byteorder == "little" else "be"
CODECS_WITHOUT_BOM = {  # codecs that look for a byte order mark in each block, with the codecs that do not
    "utf-8-sig": "utf-8",
    "utf-16": f"utf-16-{NATIVE_ORDER}",
    "utf-32": f"utf-32-{NATIVE_ORDER}",
}
UNICODE = ("utf-8", "utf-16", "utf-32")  # codecs that have all characters begin with these
NO_TEXT = {
    "idna",
    "punycode",
    "raw-unicode-escape",
    "undefined",
    "unicode-escape",
}  # codecs of escapes, some of which take quadratic time


def count_byte(data: bytes, wanted: int) -> int:
    """Return how often a byte occurs."""
    return data.count(wanted)


count_byte = choose_version(count_byte, "nbtext.documents._lines")


class Decoded(NamedTuple):
    """A text, and the number of invalid sequences of bytes that were replaced by U+FFFD."""

    text: str
    repaired: int


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding of text.

    Attributes
    ----------
    codec : str
        Python's name of the encoding, "utf-8" for the most common one.
    is_strict : bool
        Whether invalid bytes are an error, instead of becoming U+FFFD.
    newline : bytes
        The bytes of a line feed.
    """

    codec: str
    is_strict: bool = False
    newline: bytes = b"\n"

    @property
    def width(self) -> int:
        """Return the size of a code unit in bytes."""
        return len(self.newline)

    def decode(self, data: bytes) -> Decoded:
        """Return the text of these bytes; a byte order mark at their start decides the encoding and is removed.

        Raises
        ------
        InputError
            The bytes are invalid, and `is_strict` is set.
        """
        if data.startswith(BOMS):
            detected, length = detect_bom(data, self)
            return detected.decode_rest(data[length:])
        return self.decode_rest(data)

    def decode_rest(self, data: bytes) -> Decoded:
        """Return the text of bytes that do not begin their file."""
        try:
            return Decoded(data.decode(self.codec), 0)
        except UnicodeDecodeError as error:
            if self.is_strict:
                found = error.object[error.start : error.start + 1].hex()
                raise InputError(
                    f"byte 0x{found} at {error.start} is not valid {self.codec}",
                    hint="give the right --encoding, or use --encoding-errors replace",
                ) from None
        text = data.decode(self.codec, "replace")
        genuine = data.decode(self.codec, "ignore").count("\ufffd")
        return Decoded(text, text.count("\ufffd") - genuine)

    def decode_leniently(self, data: bytes) -> str:
        """Return the text of the first bytes of a file, which may end within a character."""
        detected, length = detect_bom(data, self)
        return data[length:].decode(detected.codec, "replace")

    def decode_exactly(self, data: bytes) -> str:
        """Return the text of bytes that do not begin their file; `encode` returns the bytes, invalid ones as well.

        Raises
        ------
        InputError
            The invalid bytes cannot be kept.
        """
        try:
            return data.decode(self.codec, self._escape)
        except UnicodeDecodeError:
            replace(self, is_strict=True).decode_rest(data)
            raise

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text; UnicodeEncodeError if the encoding lacks one of its characters."""
        return text.encode(self.codec, self._escape)

    def repair(self, text: str) -> str:
        """Return a text of `decode_exactly` with U+FFFD for invalid bytes."""
        return text if text.isascii() else self.encode(text).decode(self.codec, "replace")

    @property
    def _escape(self) -> str:
        """The error handler that makes lone surrogates of invalid bytes; UTF-16 has them itself."""
        return "surrogateescape" if self.width == 1 else "surrogatepass"

    def find_newline(self, data: bytes, start: int = 0) -> int:
        """Return the position of the first line feed at or after `start`; -1 if there is none."""
        found = data.find(self.newline, start)
        while found % self.width and found >= 0:
            found = data.find(self.newline, found + 1)
        return found

    def last_newline(self, data: bytes) -> int:
        """Return the position of the last line feed; -1 if there is none."""
        found = data.rfind(self.newline)
        while found % self.width and found >= 0:
            found = data.rfind(self.newline, 0, found + self.width - 1)
        return found

    def count_newlines(self, data: bytes) -> int:
        """Return the number of line feeds."""
        if self.width == 1:
            return count_byte(data, ord(self.newline))
        units = array.array("H" if self.width == 2 else "I", data[: len(data) - len(data) % self.width])
        return units.count(array.array(units.typecode, self.newline)[0])

    def split_lines(self, data: bytes) -> list[bytes]:
        """Return the lines without their line feeds; the text after the last line feed is a line unless it is empty."""
        if self.width == 1:
            lines = data.split(self.newline)
        else:
            lines, start = [], 0
            while (found := self.find_newline(data, start)) >= 0:
                lines.append(data[start:found])
                start = found + self.width
            lines.append(data[start:])
        if not lines[-1]:
            lines.pop()
        return lines


def encoding_of(settings: InputSettings) -> Encoding:
    """Return the encoding of the settings.

    Raises
    ------
    SettingsError
        Python has no text encoding of this name.
    """
    codec = text_codec(settings.encoding)
    if codec is None:
        raise SettingsError(
            f"there is no encoding {settings.encoding!r}", where="--encoding", hint="try utf-8, latin-1 or cp1252"
        )
    codec = CODECS_WITHOUT_BOM.get(codec, codec)
    return Encoding(codec, settings.encoding_errors == "strict", "\n".encode(codec))


def text_codec(name: str) -> str | None:
    """Return Python's name of an encoding; None if it is unknown or not a text encoding."""
    try:
        codec = codecs.lookup(name).name
        if codec in NO_TEXT or len("\n".encode(codec).decode(codec)) != 1:
            return None
    except (LookupError, ValueError):
        return None
    return codec


def detect_bom(head: bytes, encoding: Encoding) -> tuple[Encoding, int]:
    """Return the encoding of the byte order mark and the size of the mark in bytes; without one, `encoding` and 0."""
    for bom, codec in BYTE_ORDER_MARKS.items():
        if head.startswith(bom):
            return replace(encoding, codec=codec, newline="\n".encode(codec)), len(bom)
    return encoding, 0


@dataclass(slots=True)
class DecodedLines:
    """Lines of text, with the repairs and the problems of invalid lines, by index."""

    texts: list[str]
    repaired: dict[int, int]
    problems: dict[int, InputError]


def decode_lines(data: bytes, encoding: Encoding) -> DecodedLines:
    """Decode lines; if a line is invalid, only this line is repaired or reported. Carriage returns are kept."""
    try:
        texts = data.decode(encoding.codec).split("\n")
    except UnicodeDecodeError:
        decoded = DecodedLines([], {}, {})
        for place, line in enumerate(encoding.split_lines(data)):
            try:
                text, repaired = encoding.decode_rest(line)
            except InputError as problem:
                text, repaired = "", 0
                decoded.problems[place] = problem
            decoded.texts.append(text)
            if repaired:
                decoded.repaired[place] = repaired
        return decoded
    if not texts[-1]:
        texts.pop()
    return DecodedLines(texts, {}, {})
