"""Name the encoding of text that is not valid UTF-8 in a message, by charset-normalizer. Text is never decoded so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

SAMPLE_BYTES = 1 << 16  # of a file
MAX_FILES = 20
WIDE = ("utf_16_le", "utf_16_be")


def guess_codec(sample: bytes, *, is_wide: bool = False) -> str | None:
    """Return the encoding that some bytes seem to have; None if none fits, or the library is not installed.

    is_wide  whether only UTF-16 is considered
    """
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    if is_wide:
        sample = sample[: len(sample) // 2 * 2]
    best = from_bytes(sample, cp_isolation=list(WIDE) if is_wide else None).best()
    if best is None or best.encoding in ("utf_8", "ascii"):
        return None
    if is_wide and {" ", "\n"}.isdisjoint(sample.decode(best.encoding, "ignore")):  # other bytes may be letters, too
        return None
    return best.encoding.replace("_", "-")


def guess_encoding(paths: Iterable[str]) -> str | None:
    """Return the encoding that the files at some paths seem to have; None if none fits or all are valid UTF-8.

    Parameters
    ----------
    paths : Iterable[str]
        Files and directories. Other paths are ignored.
    """
    samples = []
    for name in _list_files(paths):
        try:
            with open(name, "rb") as file:
                content = file.read(SAMPLE_BYTES)
        except (OSError, ValueError):
            continue
        whole = content[: content.rfind(b"\n") + 1] if len(content) == SAMPLE_BYTES else content
        invalid = [line for line in whole.split(b"\n") if not _is_utf_8(line)]
        samples += [b"\n".join(invalid)] if invalid else []
        if len(samples) == MAX_FILES:
            break
    return guess_codec(b"\n".join(samples)) if samples else None


def _list_files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(names))


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
