"""Word lists: files with one word, feature or document id on each line."""

from __future__ import annotations

from nbtext.errors import InputError


def read_words(path: str) -> tuple[str, ...]:
    """Return the lines of a word list, such as a vocabulary, in order, without empty lines.

    Spaces are kept, because character n-grams may contain them.

    raises  InputError: the file cannot be read, is not UTF-8, or lists nothing
    """
    words = tuple(line for line in _lines(path) if line)
    if not words:
        raise InputError("the file contains no words", where=path, hint="write one word per line")
    return words


def _lines(path: str) -> list[str]:
    """Return the lines of a UTF-8 file, without line ends."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        what = getattr(error, "strerror", None) or str(error)
        raise InputError(what, where=path, hint="give --stop-words english, or a file with one word per line") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8", where=f"{path}:{line}", hint="save it as UTF-8") from None
    return text.replace("\r\n", "\n").split("\n")
