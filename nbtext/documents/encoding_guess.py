"""Guess the encoding of text that is not valid UTF-8, to name it in a message. Text is never decoded by a guess."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

SAMPLE_BYTES = 1 << 16  # of a file
MAX_FILES = 20
MIN_SHARE = 0.45  # of the non-ASCII characters that are among the frequent ones of a language
LATIN = 0.15  # share of non-ASCII characters below which text is written in Latin letters
# Encodings, and characters that are frequent in their languages. Text that is decoded by a wrong one has others.
FREQUENT = {
    "shift_jis": r"[ぁ-ヿ]",
    "euc_jp": r"[ぁ-ヿ]",
    "euc_kr": r"[가-힣]",
    "cp1251": r"[аевинорст]",
    "koi8_r": r"[аевинорст]",
    "cp1253": r"[αειηνοστυ]",
    "cp1255": r"[אהוילמנרת]",
    "cp1256": r"[اةتبرلمنوي]",
    "cp874": "[กงนมรวอาีเ่้]",
}
# of Chinese encodings: the first bytes of common characters
COMMON_LEADS = {"gb18030": ("gb2312", range(0xB0, 0xD8)), "big5": ("big5", range(0xA4, 0xC7))}

EAST_ASIAN = ("euc_kr", "shift_jis", "euc_jp", "gb18030", "big5")  # if shares are equal, the first one


def guess_encoding(paths: Iterable[str]) -> str | None:
    """Return the encoding that the files at some paths seem to have; None if none fits or all are valid UTF-8.

    Parameters
    ----------
    paths : Iterable[str]
        Files and directories. Other paths are ignored.
    """
    sample = b"\n".join(_samples(paths))
    if not sample:
        return None
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return find_fitting(sample)
    best = from_bytes(sample).best()
    return best.encoding if best is not None and best.encoding not in ("utf_8", "ascii") else find_fitting(sample)


def find_fitting(sample: bytes) -> str | None:
    """Return the encoding whose language has the characters of a text; None if none fits.

    Parameters
    ----------
    sample : bytes
        Some lines. The last character may be incomplete.
    """
    if (wide := utf_16_codec(sample)) is not None:
        return wide
    n_high = sum(byte >= 0x80 for byte in sample)
    is_latin = n_high <= LATIN * len(sample)
    for codecs in (EAST_ASIAN, () if is_latin else tuple(FREQUENT)):
        shares = {codec: round(_frequent_share(sample, codec), 1) for codec in codecs}
        best = max(shares, key=lambda codec: shares[codec], default=None)
        if best is not None and shares[best] >= MIN_SHARE:
            return best
    return "cp1252" if is_latin else None


def utf_16_codec(sample: bytes) -> str | None:
    """Return the codec of UTF-16 text without a byte order mark; None if the bytes are something else.

    Text has blanks and line feeds, which the other byte order turns into other characters.
    """
    sample = sample[: len(sample) // 2 * 2]
    n_blanks = {}
    for codec in ("utf-16-le", "utf-16-be"):
        try:
            text = sample.decode(codec)
        except UnicodeDecodeError as error:
            if error.start < len(sample) - 2:
                continue
            text = sample[: error.start].decode(codec)
        is_text = "\0" not in text and sum(c.isprintable() or c.isspace() for c in text) >= 0.98 * len(text)
        n_blanks[codec] = sum(map(text.count, " \n。，、")) if is_text else 0
    best = max(n_blanks, key=lambda codec: n_blanks[codec], default=None)
    return best if best is not None and n_blanks[best] * 200 > len(sample) and sample.count(0) > 0 else None


def _frequent_share(sample: bytes, codec: str) -> float:
    """Return the share of non-ASCII characters that are frequent in the language; 0 if the bytes are invalid."""
    try:
        text = sample.decode(codec)
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 4:  # not a character that the end of the sample cuts
            return 0.0
        text = sample[: error.start].decode(codec)
    characters = re.sub(r"[\x00-\x7f\s]", "", text)
    if not characters:
        return 0.0
    if codec in FREQUENT:
        n_frequent = len(re.findall(FREQUENT[codec], characters))
    else:
        narrow, leads = COMMON_LEADS[codec]
        n_frequent = sum(encoded[0] in leads for c in characters if len(encoded := c.encode(narrow, "ignore")) == 2)
    # kana are half of Japanese text, and ideographs the other half
    return min(1.0, (2 if codec in ("shift_jis", "euc_jp") else 1) * n_frequent / len(characters))


def _samples(paths: Iterable[str]) -> Iterator[bytes]:
    """Yield the beginnings of files that are not valid UTF-8, without an incomplete last line."""
    n_files = 0
    for path in paths:
        for name in _list_files(path):
            try:
                with open(name, "rb") as file:
                    content = file.read(SAMPLE_BYTES)
            except (OSError, ValueError):
                continue
            whole = content[: content.rfind(b"\n") + 1] if len(content) == SAMPLE_BYTES else content
            lines = [line for line in whole.split(b"\n") if not _is_utf_8(line)]
            if lines:
                yield b"\n".join(lines)
                n_files += 1
            if n_files == MAX_FILES:
                return


def _list_files(path: str) -> Iterator[str]:
    if os.path.isdir(path):
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(names))
    elif os.path.isfile(path):
        yield path


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
