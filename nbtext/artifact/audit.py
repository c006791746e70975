"""What a record must be before anything is built from it: small checks, each of one thing.

A key may be a path of keys, as `scorer.base`. A check returns what it has looked at, where that helps, and raises
ArtifactError, which `storage.naming` completes with the name of the file.

    labels = texts(record, "labels", distinct=True)
    indptr = array(record, "scorer.indptr", "int64", shape=(n_features + 1,))
    classes = array(record, "scorer.classes", "int32", shape=(None,))
    check_rows("scorer.classes", indptr, classes, n_columns=len(labels))
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from math import isfinite
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nbtext.artifact.stream import foreign
from nbtext.errors import ArtifactError

T = TypeVar("T")
MAX_NUMBER = 1e100  # of every number's size: products with counts, and sums of them, stay finite
PIECE_BYTES = 1 << 20
WORD_BYTES = 8
WORDS = 6  # two terms that agree in so many words of 8 bytes are compared one by one
_KEEP = np.array([0] + [~0 << 8 * (WORD_BYTES - n) & (1 << 64) - 1 for n in range(1, WORD_BYTES + 1)], dtype=np.uint64)
WHOLE_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NAMES = {
    dict: "a section",
    list: "a list",
    tuple: "a tuple",
    str: "a text",
    bytes: "bytes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    np.ndarray: "an array",
}


def wrong(key: str, what: str) -> ArtifactError:
    """The error of a value that is not as it should be."""
    return foreign(f'holds a model that cannot be right: "{key}" {what}')


def section(record: dict[str, Any], key: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """The dictionary at `key`, "" being the record itself, which has exactly these keys."""
    found = require(record, key, dict) if key else record
    if missing := [name for name in keys if name not in found]:
        raise wrong(f"{key}.{missing[0]}" if key else missing[0], "is missing")
    if unknown := sorted(found.keys() - set(keys)):
        raise wrong(f"{key}.{unknown[0]}" if key else unknown[0], "is unknown")
    return found


def optional(record: dict[str, Any], key: str, kind: type[T]) -> T | None:
    """The value at `key`, which is None or of this very type."""
    return None if _find(record, key) is None else require(record, key, kind)


def require(record: dict[str, Any], key: str, kind: type[T]) -> T:
    """The value at `key`, which is of this very type; a number is finite, and may be whole where `kind` is float."""
    value = _find(record, key)
    if kind is float and type(value) is int:
        value = _as_float(key, value)
    if type(value) is not kind:
        raise wrong(key, f"should be {NAMES[kind]}, and is {NAMES.get(type(value), 'nothing')}")
    if isinstance(value, float) and not isfinite(value):
        raise wrong(key, f"should be finite, and is {value}")
    return value


def _find(record: dict[str, Any], key: str) -> Any:
    value: Any = record
    for name in key.split("."):
        if type(value) is not dict or name not in value:
            raise wrong(key, "is missing")
        value = value[name]
    return value


def _as_float(key: str, value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise wrong(key, "is too large") from None


def number(record: dict[str, Any], key: str, *, least: float = -MAX_NUMBER, most: float = MAX_NUMBER) -> float:
    """The finite number at `key`, from `least` to `most`."""
    value = require(record, key, float)
    if not least <= value <= most:
        raise wrong(key, f"should be from {least:g} to {most:g}, and is {value:g}")
    return value


def whole_number(record: dict[str, Any], key: str, *, least: int = 0, most: int = (1 << 63) - 1) -> int:
    """The whole number at `key`, from `least` to `most`."""
    value = require(record, key, int)
    if not least <= value <= most:
        raise wrong(key, f"should be from {least:,} to {most:,}, and is {value:,}")
    return value


def choice(record: dict[str, Any], key: str, choices: tuple[str, ...]) -> str:
    """The text at `key`, which is one of the choices."""
    value = require(record, key, str)
    if value not in choices:
        raise wrong(key, f"should be one of {', '.join(choices)}, and is {value[:40]}")
    return value


def texts(record: dict[str, Any], key: str, *, distinct: bool = False) -> list[str]:
    """The list or tuple at `key` as a list; it holds texts, on demand each only once."""
    kind = tuple if type(_find(record, key)) is tuple else list
    items: list[Any] = list(require(record, key, kind))
    if not all(type(item) is str for item in items):
        raise wrong(key, "should hold texts only")
    if distinct and len(set(items)) < len(items):
        raise wrong(key, "holds a text twice")
    return items


def array(record: dict[str, Any], key: str, *dtypes: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The array at `key`: its dtype is one of these names, its shape this one (None stands for any length)."""
    found: NDArray[Any] = require(record, key, np.ndarray)
    if found.dtype.name not in dtypes:
        raise wrong(key, f"should hold {' or '.join(dtypes)}, and holds {found.dtype.name}")
    wanted = tuple(
        length if expected is None else expected for expected, length in zip(shape, found.shape, strict=False)
    )
    if len(shape) != found.ndim or wanted != found.shape:
        raise wrong(key, f"should have the shape {_spelled(shape)}, and has {_spelled(found.shape)}")
    return found


def whole_numbers(record: dict[str, Any], key: str, length: int | None = None) -> NDArray[np.int64]:
    """The whole numbers at `key`, none of them negative, this many (None stands for any length), as int64."""
    numbers = array(record, key, *WHOLE_NUMBERS, shape=(length,))
    check_within(key, numbers, 0, 2**62)
    return numbers.astype(np.int64)


def real_numbers(record: dict[str, Any], key: str, length: int | None = None) -> NDArray[np.float64]:
    """The numbers at `key`, from -1e100 to 1e100, this many (None stands for any length)."""
    numbers = array(record, key, "float64", shape=(length,))
    check_within(key, numbers, -MAX_NUMBER, MAX_NUMBER)
    return numbers


def _spelled(shape: tuple[int | None, ...]) -> str:
    return " × ".join("any" if length is None else f"{length:,}" for length in shape) or "of one number"


def check_finite(key: str, numbers: NDArray[Any]) -> None:
    """Each number is finite."""
    if not np.isfinite(numbers).all():
        raise wrong(key, "should be finite throughout")


def check_within(key: str, numbers: NDArray[Any], least: float, most: float) -> None:
    """Each number is from `least` to `most`."""
    if numbers.size and not (least <= numbers.min() and numbers.max() <= most):
        raise wrong(key, f"should be from {least:g} to {most:g}, and is from {numbers.min():g} to {numbers.max():g}")


def check_ascending(key: str, numbers: NDArray[Any], *, strictly: bool = False) -> None:
    """Each number is at least the one before it, or strictly more."""
    ascends = numbers[1:] > numbers[:-1] if strictly else numbers[1:] >= numbers[:-1]
    if not ascends.all():
        raise wrong(key, "should ascend")


def check_bounds(key: str, bounds: NDArray[Any], n_items: int) -> None:
    """The bounds cut `n_items` items into runs: they begin with 0, never descend, and end with `n_items`."""
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != n_items:
        raise wrong(key, f"should run from 0 to {n_items:,}")
    check_ascending(key, bounds)


def check_rows(key: str, indptr: NDArray[Any], columns: NDArray[Any], *, n_columns: int) -> None:
    """Sparse rows: row i has the columns columns[indptr[i]:indptr[i + 1]], ascending, each of 0 to n_columns - 1."""
    check_bounds(key, indptr, len(columns))
    check_within(key, columns, 0, n_columns - 1)
    is_next_row = np.zeros(len(columns) + 1, dtype=bool)
    is_next_row[indptr] = True
    if not ((columns[1:] > columns[:-1]) | is_next_row[1:-1]).all():
        raise wrong(key, "should ascend within each row")


def check_terms(key: str, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Raise ArtifactError unless the terms blob[offsets[i]:offsets[i + 1]] are UTF-8 and ascend.

    Lone surrogates are let through, so that every Python string can be a term.

    blob     (n_bytes,) uint8
    offsets  (n_terms + 1,) int64
    """
    check_bounds(key, offsets, len(blob))
    if not _is_utf8(blob) or not _begin_characters(blob, offsets):
        raise wrong(key, "should be UTF-8")
    if not _ascend(blob, offsets):
        raise wrong(key, "should hold each term once, in sorted order")


def _is_utf8(blob: NDArray[np.uint8]) -> bool:
    decoder = getincrementaldecoder("utf-8")("surrogatepass")
    try:
        for start in range(0, len(blob), PIECE_BYTES):
            decoder.decode(blob[start : start + PIECE_BYTES].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _begin_characters(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
    """Whether no term begins in the middle of a character."""
    starts = offsets[:-1][offsets[:-1] < len(blob)]
    return not ((blob[starts] & 0xC0) == 0x80).any()


def _ascend(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
    """Whether each term is greater than the one before it, compared by words of 8 bytes while many agree."""
    padded = np.concatenate((blob, np.zeros(WORD_BYTES, dtype=np.uint8)))
    words = np.ndarray(len(blob) + 1, dtype=">u8", buffer=padded, strides=(1,))  # the word at each byte
    lengths = np.diff(offsets)
    tied = np.arange(len(lengths) - 1)  # the pairs (i, i + 1) that agree so far
    for n_before in range(0, WORDS * WORD_BYTES, WORD_BYTES):
        first, second = (_words(words, offsets[:-1][i] + n_before, lengths[i] - n_before) for i in (tied, tied + 1))
        if (first > second).any():
            return False
        tied = tied[first == second]
        is_over = np.minimum(lengths[tied], lengths[tied + 1]) <= n_before + WORD_BYTES
        over = tied[is_over]
        if (lengths[over] >= lengths[over + 1]).any():  # padding has made up for what the shorter one lacks
            return False
        tied = tied[~is_over]
    bounds = offsets.tolist() if len(tied) else []
    return all(
        blob[bounds[i] : bounds[i + 1]].tobytes() < blob[bounds[i + 1] : bounds[i + 2]].tobytes() for i in tied.tolist()
    )


def _words(words: NDArray[np.uint64], positions: NDArray[np.int64], n_bytes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The first 8 bytes at each position as one number, of which `n_bytes` count and the others are zero."""
    return words[np.minimum(positions, len(words) - 1)] & _KEEP[np.clip(n_bytes, 0, WORD_BYTES)]
