"""What an artifact may hold: plain data, in the one form that makes equal records equal bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.artifact import refusals
from nbtext.artifact.arrays import ITEM_BYTES
from nbtext.artifact.interpreter import MAX_INTEGER_BYTES
from nbtext.artifact.tokens import Token
from nbtext.errors import ArtifactError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_DEPTH = 16
MAX_VALUES = 300_000  # a model of 100,000 labels has hardly more than one for each
ARRAY_VALUES = 16
MAX_CHARACTERS = 1 << 26  # of all texts together, each as often as it occurs

_NUMBERS = {bool, int, float, type(None)}
_CONTAINERS = {list, tuple, dict, np.ndarray}
_EMPTY_TUPLE = ()  # there is only one


def canonical(record: dict[str, Any]) -> dict[str, Any]:
    """A copy in which equal texts are one object and every container is one of its own.

    Pickle writes an object that it has met before as a reference to it, so the bytes of a record depend on which of
    its parts are the same object, unless that is settled first. Arrays become little-endian and C-ordered (and are
    copied only where they are not yet), NumPy's scalars become Python's.

    raises  TypeError: something in it is no plain data
    """
    copy: dict[str, Any] = _canonical(record, {})
    return copy


def _canonical(value: Any, known: dict[bytes, bytes]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if kind in _NUMBERS:
        return value
    if kind is str:
        return sys.intern(value)
    if kind is bytes:
        return known.setdefault(value, value)
    if kind is dict:
        return {_canonical_key(key): _canonical(item, known) for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind([_canonical(item, known) for item in value])
    if isinstance(value, np.ndarray) and _item_code(value) in ITEM_BYTES:
        return _canonical_array(value)
    raise TypeError(f"an artifact holds plain data, not {kind.__qualname__}")


def _canonical_key(key: object) -> str:
    if type(key) is not str:
        raise TypeError(f"an artifact's keys are texts, not {type(key).__qualname__}")
    return sys.intern(key)


def _canonical_array(array: NDArray[Any]) -> NDArray[Any]:
    """The array with NumPy's own object for its dtype, of which there may be several that are equal."""
    item_type = np.dtype(f"<{_item_code(array)}")
    return np.asarray(array, dtype=item_type, order="C").view(item_type)


def narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers, none of them negative, in the smallest type that holds them; others as they are."""
    return numbers if numbers.dtype.kind == "f" else numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _item_code(array: NDArray[Any]) -> str:
    return f"{array.dtype.kind}{array.dtype.itemsize}"


def check_plain(record: object) -> None:
    """Raise ArtifactError unless this is plain data, of sensible size, in which no part occurs in two places.

    What is referred to from two places can be made to look huge, or to contain itself. `canonical` leaves no such
    thing: only texts are shared.
    """
    seen: set[int] = set()
    n_values = n_characters = 0
    pending: list[tuple[Any, int]] = [([record], 0)]
    while pending:
        container, depth = pending.pop()
        _check_container(container, depth, seen)
        items = _items(container)
        n_values += len(items)
        for item in items:
            if type(item) in _CONTAINERS:
                pending.append((item, depth + 1))
            else:
                n_characters += _scalar_length(item)
        if n_values > MAX_VALUES or n_characters > MAX_CHARACTERS:
            raise ArtifactError(f"holds over {MAX_VALUES:,} values or {MAX_CHARACTERS:,} characters; no model does")


def _check_container(container: Any, depth: int, seen: set[int]) -> None:
    if depth > MAX_DEPTH:
        raise refusals.foreign(f"is nested more than {MAX_DEPTH} deep")
    if id(container) in seen and container is not _EMPTY_TUPLE:
        raise refusals.foreign("holds one part in two places")
    seen.add(id(container))


def _items(container: Any) -> Sequence[Any]:
    """What a container holds, the keys of a dictionary included; for an array as much as the record of one holds."""
    if type(container) is dict:
        return [*container, *container.values()]
    if type(container) is np.ndarray:
        return (None,) * ARRAY_VALUES
    items: Sequence[Any] = container
    return items


def _scalar_length(value: object) -> int:
    """How many characters a value has, 0 where it is no text; ArtifactError where it is no plain value."""
    if type(value) is str or type(value) is bytes:
        return len(value)
    if isinstance(value, int) and value.bit_length() >= 8 * MAX_INTEGER_BYTES:
        raise ArtifactError(f"holds a number of more than {MAX_INTEGER_BYTES} bytes")
    if type(value) not in _NUMBERS:
        raise refusals.code(value.name if isinstance(value, Token) else "an object that is not complete")
    return 0


def checksum(record: dict[str, Any]) -> str:
    """SHA-256 over every key, type, value, shape and byte of a plain record, in its order; 64 hexadecimal digits.

    It tells damage, not malice: whoever changes a record can compute it anew.
    """
    from hashlib import sha256

    digest = sha256()
    for piece in _pieces(record):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    """The value as bytes that no other value has: a letter for its type, its length, and then its content."""
    if isinstance(value, np.ndarray):
        yield f"a{value.dtype.str}{value.shape};".encode()
        if value.nbytes:
            yield value.reshape(-1).view(np.uint8).data
    elif isinstance(value, dict):
        yield b"d%d;" % len(value)
        for item in chain.from_iterable(value.items()):
            yield from _pieces(item)
    elif isinstance(value, (list, tuple)):
        yield b"%c%d;" % (b"l" if isinstance(value, list) else b"t", len(value))
        for item in value:
            yield from _pieces(item)
    else:
        yield _scalar_piece(value)


def _scalar_piece(value: bool | int | float | str | bytes | None) -> bytes:
    match value:
        case str():
            content = value.encode("utf-8", "surrogatepass")
            return b"s%d;" % len(content) + content
        case bytes():
            return b"b%d;" % len(value) + value
        case float():
            return b"f" + pack("<d", value)
    return b"%r;" % value  # None, True, False, or the digits of a whole number
