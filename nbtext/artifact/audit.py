"""Checks of a model's record, made before anything is built from it.

A key may be a path of keys, such as `scorer.base`. Functions named `read_` return the value at a key; all functions
raise ArtifactError if a value is wrong, and `storage.name_errors` adds the name of the file.

    labels = read_texts(record, "labels", distinct=True)
    indptr = read_array(record, "scorer.indptr", "int64", shape=(n_features + 1,))
    classes = read_array(record, "scorer.classes", "int32", shape=(None,))
    check_rows("scorer.classes", indptr, classes, n_columns=len(labels))
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nbtext.artifact.stream import foreign_error
from nbtext.documents.names import are_ascending, are_utf8, find_row_error
from nbtext.errors import ArtifactError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
MAX_NUMBER = 1e100  # largest absolute value: products with counts, and sums of them, stay finite
WHOLE_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NAMES = {
    dict: "a section",
    list: "a list",
    tuple: "a tuple",
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    np.ndarray: "an array",
}


def invalid_value(key: str, what: str) -> ArtifactError:
    """Return the error for a wrong value."""
    return foreign_error(f'holds a model that cannot be right: "{key}" {what}')


def read_section(
    record: dict[str, Any], key: str, keys: tuple[str, ...], *, optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the dictionary at `key`, "" for the record itself; it has these keys, and of others only optional ones.

    A key that is unknown was probably written by a newer nbtext, and the error says so.
    """
    found = read_value(record, key, dict) if key else record
    if missing := [name for name in keys if name not in found]:
        raise invalid_value(f"{key}.{missing[0]}" if key else missing[0], "is missing")
    if unknown := sorted(found.keys() - set(keys) - set(optional)):
        name = f"{key}.{unknown[0]}" if key else unknown[0]
        what = f'was written by a newer nbtext: this one does not know its entry "{name}"'
        raise ArtifactError(what, hint="update nbtext: pip install --upgrade nbtext")
    return found


def read_fields(
    record: dict[str, Any], key: str, kind: type[DataclassInstance], *, without: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the section at `key`, whose keys are the fields of a data class but for some.

    A field that was added since the file was written is missing: its default is added to the section.
    """
    known = [each for each in fields(kind) if each.name not in without]
    defaults = {each.name: each.default for each in known if each.default is not MISSING}
    required = tuple(each.name for each in known if each.name not in defaults)
    found = read_section(record, key, required, optional=tuple(defaults))
    found.update({name: value for name, value in defaults.items() if name not in found})
    return found


def read_optional(record: dict[str, Any], key: str, kind: type[T]) -> T | None:
    """Return the value at `key`, which is None or of exactly this type."""
    return None if _find(record, key) is None else read_value(record, key, kind)


def read_value(record: dict[str, Any], key: str, kind: type[T]) -> T:
    """Return the value at `key`, of exactly this type; numbers are finite, and a float may be written as an integer."""
    value = _find(record, key)
    if kind is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            raise invalid_value(key, "is too large") from None
    if type(value) is not kind:
        raise invalid_value(key, f"should be {NAMES[kind]}, and is {NAMES.get(type(value), 'nothing')}")
    if isinstance(value, float) and not isfinite(value):
        raise invalid_value(key, f"should be finite, and is {value}")
    return value


def _find(record: dict[str, Any], key: str) -> Any:
    value: Any = record
    for name in key.split("."):
        if type(value) is not dict or name not in value:
            raise invalid_value(key, "is missing")
        value = value[name]
    return value


def read_number(
    record: dict[str, Any], key: str, *, minimum: float = -MAX_NUMBER, maximum: float = MAX_NUMBER
) -> float:
    """Return the number at `key`, from `minimum` to `maximum`."""
    value = read_value(record, key, float)
    if not minimum <= value <= maximum:
        raise invalid_value(key, f"should be from {minimum:g} to {maximum:g}, and is {value:g}")
    return value


def read_integer(record: dict[str, Any], key: str, *, minimum: int = 0, maximum: int = (1 << 63) - 1) -> int:
    """Return the integer at `key`, from `minimum` to `maximum`."""
    value = read_value(record, key, int)
    if not minimum <= value <= maximum:
        raise invalid_value(key, f"should be from {minimum:,} to {maximum:,}, and is {value:,}")
    return value


def read_choice(record: dict[str, Any], key: str, choices: tuple[str, ...]) -> str:
    """Return the text at `key`, which is one of the choices."""
    value = read_value(record, key, str)
    if value not in choices:
        raise invalid_value(key, f"should be one of {', '.join(choices)}, and is {value[:40]}")
    return value


def read_texts(record: dict[str, Any], key: str, *, distinct: bool = False) -> list[str]:
    """Return the list or tuple of texts at `key` as a list; with `distinct`, no text occurs twice."""
    kind = tuple if type(_find(record, key)) is tuple else list
    items: list[Any] = list(read_value(record, key, kind))
    if not all(type(item) is str for item in items):
        raise invalid_value(key, "should hold texts only")
    if distinct and len(set(items)) < len(items):
        raise invalid_value(key, "holds a text twice")
    return items


def read_array(record: dict[str, Any], key: str, *dtypes: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return the array at `key`, of one of these dtypes and of this shape; None means any length."""
    found: NDArray[Any] = read_value(record, key, np.ndarray)
    if found.dtype.name not in dtypes:
        raise invalid_value(key, f"should hold {' or '.join(dtypes)}, and holds {found.dtype.name}")
    wanted = tuple(
        length if expected is None else expected for expected, length in zip(shape, found.shape, strict=False)
    )
    if len(shape) != found.ndim or wanted != found.shape:
        raise invalid_value(key, f"should have the shape {_format_shape(shape)}, and has {_format_shape(found.shape)}")
    return found


def read_integers(record: dict[str, Any], key: str, length: int | None = None) -> NDArray[np.int64]:
    """Return the integers at `key`, each from 0 to 2^62, as int64 of shape (length,); None means any length."""
    numbers = read_array(record, key, *WHOLE_NUMBERS, shape=(length,))
    check_within(key, numbers, 0, 2**62)
    return numbers.astype(np.int64)


def read_floats(record: dict[str, Any], key: str, length: int | None = None) -> NDArray[np.float64]:
    """Return the numbers at `key`, each from -1e100 to 1e100, as float64 of shape (length,); None means any length."""
    numbers = read_array(record, key, "float64", shape=(length,))
    check_within(key, numbers, -MAX_NUMBER, MAX_NUMBER)
    return numbers


def _format_shape(shape: tuple[int | None, ...]) -> str:
    return " × ".join("any" if length is None else f"{length:,}" for length in shape) or "of one number"


def check_within(key: str, numbers: NDArray[Any], minimum: float, maximum: float) -> None:
    """Raise ArtifactError unless each number is from `minimum` to `maximum`."""
    if numbers.size and not (minimum <= numbers.min() and numbers.max() <= maximum):
        raise invalid_value(
            key, f"should be from {minimum:g} to {maximum:g}, and is from {numbers.min():g} to {numbers.max():g}"
        )


def check_ascending(key: str, numbers: NDArray[Any]) -> None:
    """Raise ArtifactError unless each number is at least the one before it."""
    if not (numbers[1:] >= numbers[:-1]).all():
        raise invalid_value(key, "should ascend")


def check_bounds(key: str, bounds: NDArray[Any], n_items: int) -> None:
    """Raise ArtifactError unless the bounds begin with 0, do not decrease, and end with `n_items`."""
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != n_items:
        raise invalid_value(key, f"should run from 0 to {n_items:,}")
    check_ascending(key, bounds)


def check_rows(key: str, indptr: NDArray[Any], columns: NDArray[Any], *, n_columns: int) -> None:
    """Raise ArtifactError unless columns[indptr[i]:indptr[i + 1]] ascend in each row i, from 0 to n_columns - 1."""
    if (wrong := find_row_error(indptr, columns, n_columns)) is not None:
        raise invalid_value(key, f"is not valid: {wrong}")


def check_terms(key: str, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Raise ArtifactError unless the terms blob[offsets[i]:offsets[i + 1]] are UTF-8 and ascend.

    Lone surrogates are accepted, so that every Python string can be a term.

    Parameters
    ----------
    blob : array of uint8
        Shape (n_bytes,).
    offsets : array of int64
        Shape (n_terms + 1,).
    """
    check_bounds(key, offsets, len(blob))
    if not are_utf8(blob, offsets):
        raise invalid_value(key, "should be UTF-8")
    if not are_ascending(blob, offsets):
        raise invalid_value(key, "should hold each term once, in sorted order")
