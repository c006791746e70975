"""Files of keywords: the words and phrases of each label, as TOML or CSV."""

from __future__ import annotations

from nbtext.documents.batch import check_label
from nbtext.documents.settings import read_small_file
from nbtext.errors import InputError
from nbtext.model.settings import read_cells

KEYWORDS_HINT = 'write TOML (spam = ["free", "prize money"]), or CSV: a label, then its words'


def read_keywords(path: str) -> dict[str, tuple[str, ...]]:
    """Return the words and phrases of each label in a TOML file (.toml), or in a CSV file.

    A line of CSV is a label and its words. Several lines may have the same label. A first line
    `label,words` is a header.

    raises  InputError: the file cannot be read, a line is wrong, or there is only one label
    """
    text = read_small_file(path)
    found = _read_toml(text, path) if path.lower().endswith(".toml") else _read_csv(text, path)
    for label in found:
        check_label(label, where=path)
    if len(found) < 2:
        raise InputError(
            f"keywords of two labels or more are needed; found {len(found)}",
            where=path,
            hint=KEYWORDS_HINT,
        )
    return {label: tuple(dict.fromkeys(words)) for label, words in sorted(found.items())}


def _read_toml(text: str, path: str) -> dict[str, list[str]]:
    import tomllib

    try:
        found = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not valid TOML: {error}", where=path, hint=KEYWORDS_HINT) from None
    for label, words in found.items():
        is_list = (
            isinstance(words, list)
            and words
            and all(isinstance(word, str) and word.strip() for word in words)
        )
        if not is_list:
            raise InputError(f"{label!r} should be a list of words", where=path, hint=KEYWORDS_HINT)
    return found


def _read_csv(text: str, path: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    is_first = True
    for where, cells in read_cells(text, path, separator=",", hint=KEYWORDS_HINT):
        is_header = is_first and [cell.lower() for cell in cells] == ["label", "words"]
        is_first = False
        if is_header:
            continue
        if not cells[0] or not any(cells[1:]):
            raise InputError("expected a label and its words", where=where, hint=KEYWORDS_HINT)
        found.setdefault(cells[0], []).extend(filter(None, cells[1:]))
    return found
