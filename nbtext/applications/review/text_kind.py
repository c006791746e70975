"""Recognize documents that are not text: empty ones, encoded data, tables of numbers."""

from __future__ import annotations

from string import ascii_letters, digits, punctuation

EXAMINED = 1 << 18  # characters of a document that are examined
MIN_CHARACTERS = 200  # minimum length of a document that can be classified as data or a table
LONG_RUN = 40  # characters without a space; words are shorter, and addresses are few
MIN_LETTERS = 0.25  # share of letters in a long run of encoded data; a drawn line has none
MAX_ENCODED = 0.5  # share of the characters in long runs of ASCII
MAX_SYMBOLS = 0.6  # share of digits and punctuation among the characters that are not spaces
MAX_CONTROL_SHARE = 0.1  # share of control characters and replacement characters
SPACES = b" \t\n\r\f\v"
CONTROLS = bytes({*range(32), 127}.difference(SPACES))
LETTERS = ascii_letters.encode()
# ASCII only, so that no script is taken for symbols
SYMBOLS = (digits + punctuation).encode()


def describe_non_text(text: str) -> str | None:
    """Return why a document is not text, such as `encoded data`; None if it is text."""
    if not text.strip():
        return "empty"
    examined = text[:EXAMINED]
    data = examined.encode("utf-8", "replace")
    n_invalid = _count(data, CONTROLS) + examined.count("\ufffd")
    if n_invalid > MAX_CONTROL_SHARE * len(examined):
        return "binary data"
    if len(examined) < MIN_CHARACTERS:
        return None
    n_encoded = 0
    for run in data.split():
        is_long = len(run) >= LONG_RUN and run.isascii()
        if is_long and _count(run, LETTERS) >= MIN_LETTERS * len(run):
            n_encoded += len(run)
    if n_encoded > MAX_ENCODED * len(data):
        return "encoded data"
    if _count(data, SYMBOLS) > MAX_SYMBOLS * (len(data) - _count(data, SPACES)):
        return "a table of numbers and symbols"
    return None


def _count(data: bytes, characters: bytes) -> int:
    """Return how many bytes are one of some characters."""
    return len(data) - len(data.translate(None, characters))
