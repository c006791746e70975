"""Recognize documents that are not text: empty ones, encoded data, tables of numbers."""

from __future__ import annotations

import numpy as np

EXAMINED = 1 << 18  # characters of a document that are examined
MIN_CHARACTERS = 200  # minimum length of a document that can be classified as data or a table
LONG_RUN = 40  # characters without a space; words are shorter, and addresses are few
MIN_LETTERS = 0.25  # share of letters in a long run of encoded data; a drawn line has none
MAX_ENCODED = 0.5  # share of the characters in long runs of ASCII
MAX_SYMBOLS = 0.6  # share of digits and punctuation among the characters that are not spaces
MAX_INVALID = 0.1  # share of control characters and replacement characters

# of the bytes of UTF-8: 0 space, 1 letter, 2 control, 3 digit or symbol
_kinds = np.full(256, 3, dtype=np.uint8)
_kinds[:32] = _kinds[127] = 2
_kinds[list(b" \t\n\r\f\v")] = 0
_kinds[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] = 1
_kinds[128:] = 1  # all characters outside ASCII, so that no script is taken for symbols


def describe_non_text(text: str) -> str | None:
    """Return why a document is not text, such as `encoded data`; None if it is text."""
    if not text.strip():
        return "empty"
    examined = text[:EXAMINED]
    data = np.frombuffer(examined.encode("utf-8", "replace"), dtype=np.uint8)
    kinds = _kinds[data]
    n_spaces, _, n_controls, n_symbols = np.bincount(kinds, minlength=4).tolist()
    if n_controls + examined.count("\ufffd") > MAX_INVALID * len(examined):
        return "binary data"
    if len(examined) < MIN_CHARACTERS:
        return None
    ends = np.concatenate(([-1], np.flatnonzero(kinds == 0), [len(data)]))
    lengths = np.diff(ends) - 1
    last = np.minimum(ends + 1, len(data))
    n_wide, n_letters = (
        np.diff(np.append(0, np.cumsum(kind))[last]) for kind in (data >= 128, kinds == 1)
    )
    is_long = (lengths >= LONG_RUN) & (n_wide == 0) & (n_letters >= MIN_LETTERS * lengths)
    if lengths[is_long].sum() > MAX_ENCODED * len(data):
        return "encoded data"
    if n_symbols > MAX_SYMBOLS * (len(data) - n_spaces):
        return "a table of numbers and symbols"
    return None
