"""Arrays as joblib writes them: a pickled record of shape, order and dtype, and after it the array's bytes.

In the pickle a record and a dtype are made by calls. The calls are recognized here and answered with an
`ArrayRecord` or an `ItemType`, which the state that follows completes; every other call is code, and refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.artifact import refusals
from nbtext.artifact.stream import Stream
from nbtext.artifact.tokens import DTYPE, NDARRAY, OBJECT, RECONSTRUCT, WRAPPER, Token, is_exactly
from nbtext.errors import ArtifactError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ITEM_BYTES = {"b1": 1, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "u1": 1, "u2": 2, "u4": 4, "u8": 8, "f4": 4, "f8": 8}
MAX_DIMENSIONS = 8
MAX_ITEMS = 1 << 48  # what the dimensions other than zero may multiply to
ALIGNMENT_BYTES = 16  # joblib's, since 1.2
RECORD_KEYS = {"subclass", "shape", "order", "dtype", "allow_mmap"}


class ItemType:
    """A dtype: its code, as `i4`, and its byte order once that is known."""

    __slots__ = ("code", "order")

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = ""


class ArrayRecord:
    """An array of which nothing is known yet."""

    __slots__ = ()


def called(function: object, arguments: object) -> ItemType | ArrayRecord:
    """What a call stands for: a dtype or an array's record; ArtifactError for any other."""
    if not isinstance(function, Token) or not isinstance(arguments, tuple):
        raise refusals.code("a call of what is no function")
    if function is DTYPE and is_exactly(arguments[1:], (False, True)) and type(arguments[0]) is str:
        return _item_type(arguments[0])
    if function is RECONSTRUCT and is_exactly(arguments, (WRAPPER, OBJECT, None)):
        return ArrayRecord()
    raise refusals.code(f"a call of {function.name}")


def made(kind: object, arguments: object) -> ArrayRecord:
    """What making an object stands for: an array's record; ArtifactError for any other."""
    if kind is WRAPPER and is_exactly(arguments, ()):
        return ArrayRecord()
    raise refusals.code(f"an object of {kind.name}" if isinstance(kind, Token) else "an object of what is no class")


def completed(target: object, state: object, stream: Stream) -> object:
    """What `target` becomes by its state: a dtype gets its byte order, an array's record becomes the array."""
    if isinstance(target, ArrayRecord):
        return _read_array(state, stream)
    if not isinstance(target, ItemType):
        raise refusals.code("the state of an object")
    order = "|" if ITEM_BYTES[target.code] == 1 else "<"
    if not is_exactly(state, (3, order, None, None, None, -1, -1, 0)):
        raise refusals.foreign("holds an array whose dtype is not plain and little-endian")
    target.order = order
    return target


def _item_type(code: str) -> ItemType:
    if code not in ITEM_BYTES:
        raise refusals.foreign(f"holds an array of dtype {code[:20]!r}, not of numbers or truth values")
    return ItemType(code)


def _read_array(state: object, stream: Stream) -> NDArray[Any]:
    """The array of this record, whose bytes come next; read-only. Its size is checked before memory is asked for."""
    shape, item_type = _shape_and_item_type(state)
    if isinstance(state, dict) and state.get("numpy_array_alignment_bytes") is not None:
        _skip_padding(stream)
    items = stream.items(_n_items(shape) * ITEM_BYTES[item_type.code])
    if item_type.code == "b1" and items.max(initial=0) > 1:
        raise refusals.damaged("a truth value is neither true nor false")
    array = items.view(np.dtype(item_type.order + item_type.code)).reshape(shape)
    array.flags.writeable = False
    return array


def _skip_padding(stream: Stream) -> None:
    n_bytes = stream.take(1)[0]
    if n_bytes > ALIGNMENT_BYTES:
        raise refusals.damaged("an array is padded too far")
    stream.take(n_bytes)


def _shape_and_item_type(state: object) -> tuple[tuple[int, ...], ItemType]:
    """What an array's record says, once it is known to say the usual."""
    if not isinstance(state, dict) or state.keys() - {"numpy_array_alignment_bytes"} != RECORD_KEYS:
        raise _odd_record("not the record that joblib writes")
    if state["subclass"] is not NDARRAY:
        raise _odd_record("of a subclass")
    if not is_exactly((state["order"],), ("C",)):
        raise _odd_record("not in C order")
    alignment = state.get("numpy_array_alignment_bytes")
    if not (alignment is None or is_exactly((alignment,), (ALIGNMENT_BYTES,))):
        raise _odd_record("aligned in an unknown way")
    item_type, shape = state["dtype"], state["shape"]
    if not isinstance(item_type, ItemType) or not item_type.order:
        raise _odd_record("without a dtype")
    if not isinstance(shape, tuple) or not all(type(length) is int and length >= 0 for length in shape):
        raise _odd_record("of no possible shape")
    if len(shape) > MAX_DIMENSIONS or _n_items(tuple(length or 1 for length in shape)) > MAX_ITEMS:
        raise _odd_record("of no plausible shape")
    return shape, item_type


def _odd_record(what: str) -> ArtifactError:
    return refusals.foreign(f"holds an array {what}")


def _n_items(shape: tuple[int, ...]) -> int:
    """How many items an array of this shape has, however many that be."""
    n_items = 1
    for length in shape:
        n_items *= length
    return n_items
