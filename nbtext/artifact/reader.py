"""The reader of model files. It accepts the part of the pickle language that `save_model` uses, and refuses the rest.

A pickle is a program for a stack machine. Python's machine looks up any name and calls it. This one supports numbers,
texts, lists, tuples, dictionaries and the arrays of joblib, and it refuses every other operation, so it never calls
anything. It does not recurse, its memory grows with the bytes read, and the number of its operations is bounded.

Source: pickletools in Python's standard library (the operations of protocol 4), joblib.numpy_pickle (arrays).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from struct import unpack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.artifact.stream import DamagedError, Stream, code_error, foreign_error
from nbtext.errors import ArtifactError

PROTOCOL = b"\x80\x04"
MAX_OPERATIONS = 1_000_000  # storage.check_plain accepts only records that need fewer
MAX_INTEGER_BYTES = 9  # with the sign; the largest integer of a model is a hash of 64 bits
MAX_TEXT_BYTES = 1 << 26
MAX_DIMENSIONS = 8
MAX_ITEMS = 1 << 48
ITEM_BYTES = {"b1": 1, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "u1": 1, "u2": 2, "u4": 4, "u8": 8, "f4": 4, "f8": 8}
ALIGNMENT_BYTES = 16  # to which joblib pads arrays
ARRAY_KEYS = ("subclass", "shape", "order", "dtype", "allow_mmap", "numpy_array_alignment_bytes")


class Name:
    """A name that a model file may contain. It is compared, and never looked up or imported."""

    def __init__(self, name: str) -> None:
        self.name = name


NDARRAY, DTYPE = Name("numpy.ndarray"), Name("numpy.dtype")
ARRAY_WRAPPER = Name("joblib.numpy_pickle.NumpyArrayWrapper")
NAMES = {each.name: each for each in (NDARRAY, DTYPE, ARRAY_WRAPPER)}


class ItemType:
    """The dtype of an array: its code, such as `i4`, and its byte order once that is known."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = ""


class ArrayWrapper:
    """joblib's record of an array, before its state is known."""


def is_exactly(found: object, expected: tuple[object, ...]) -> bool:
    """Return whether a tuple holds exactly these values of exactly these types: True is not 1."""
    return (
        type(found) is tuple
        and len(found) == len(expected)
        and all(type(a) is type(b) and a == b for a, b in zip(found, expected, strict=True))
    )


def _read_integer(stream: Stream) -> int:
    n_bytes = stream.take(1)[0]
    if n_bytes > MAX_INTEGER_BYTES:
        raise foreign_error(f"holds an integer of {n_bytes} bytes; the maximum is {MAX_INTEGER_BYTES}")
    return int.from_bytes(stream.take(n_bytes), "little", signed=True)


def _read_text(stream: Stream, length_bytes: int) -> str:
    n_bytes = int.from_bytes(stream.take(length_bytes), "little")
    if n_bytes > MAX_TEXT_BYTES:
        raise foreign_error(f"holds a text of {n_bytes:,} bytes; the maximum is {MAX_TEXT_BYTES:,}")
    return stream.take(n_bytes).decode("utf-8", "surrogatepass")


# operations that push a value
VALUES: dict[bytes, Callable[[Stream], Any]] = {
    b"N": lambda stream: None,
    b"\x88": lambda stream: True,
    b"\x89": lambda stream: False,
    b"K": lambda stream: stream.take(1)[0],
    b"M": lambda stream: int.from_bytes(stream.take(2), "little"),
    b"J": lambda stream: int.from_bytes(stream.take(4), "little", signed=True),
    b"\x8a": _read_integer,
    b"G": lambda stream: unpack(">d", stream.take(8))[0],
    b"\x8c": lambda stream: _read_text(stream, 1),
    b"X": lambda stream: _read_text(stream, 4),
    b")": lambda stream: (),
    b"]": lambda stream: [],
    b"}": lambda stream: {},
}
TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}  # operations that make a tuple, with its number of values

FOREIGN = {  # operations that plain data never needs, with their effects
    b"c": "a name, by GLOBAL",
    b"i": "an object, by INST",
    b"o": "an object, by OBJ",
    b"\x92": "an object, by NEWOBJ_EX",
    b"P": "an object outside the file, by PERSID",
    b"Q": "an object outside the file, by BINPERSID",
    b"\x82": "a registered name, by EXT1",
    b"\x83": "a registered name, by EXT2",
    b"\x84": "a registered name, by EXT4",
    b"\x97": "a buffer outside the file, by NEXT_BUFFER",
}


class Reader:
    """The stack machine that reads one model file."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []  # the stacks below each open mark
        self._memo: list[Any] = []

    def read(self) -> object:
        """Return the value of the file.

        Raises
        ------
        ArtifactError
            The file is damaged, too long, or contains something that `save_model` does not write.
        """
        stream = self._stream
        stream.check_start(PROTOCOL)
        for _ in range(MAX_OPERATIONS):
            operation = stream.take(1)
            if operation == b".":
                if len(self._stack) != 1 or self._marks:
                    raise self._damaged_error("the value is not complete")
                return self._stack[0]
            try:
                self._run(operation)
            except (IndexError, ValueError) as error:
                raise self._damaged_error(f"operation {operation!r} finds no operand") from error
        raise foreign_error(f"is longer than any model: {MAX_OPERATIONS:,} operations did not read it")

    def first_items(self) -> list[Any]:
        """Return the keys and values of the outermost dictionary that have been read so far."""
        return self._marks[1] if len(self._marks) > 1 else self._stack

    def _run(self, operation: bytes) -> None:
        stack = self._stack
        if operation in VALUES:
            stack.append(VALUES[operation](self._stream))
        elif operation in TUPLES:
            n_items = TUPLES[operation]
            if len(stack) < n_items:
                raise IndexError
            stack[-n_items:] = [tuple(stack[-n_items:])]
        else:
            self._fill_container(operation)

    def _fill_container(self, operation: bytes) -> None:
        match operation:
            case b"\x94":  # MEMOIZE
                self._memo.append(self._stack[-1])
            case b"h":  # BINGET
                self._push_memo(1)
            case b"j":  # LONG_BINGET
                self._push_memo(4)
            case b"(":  # MARK
                self._marks.append(self._stack)
                self._stack = []
            case b"t":  # TUPLE
                values = tuple(self._pop_mark())
                self._stack.append(values)
            case b"a":  # APPEND
                item = self._stack.pop()
                self._top(list).append(item)
            case b"e":  # APPENDS
                items = self._pop_mark()
                self._top(list).extend(items)
            case b"s":  # SETITEM
                value, key = self._stack.pop(), self._stack.pop()
                self._set_items([key, value])
            case b"u":  # SETITEMS
                self._set_items(self._pop_mark())
            case b"\x95":  # FRAME
                self._stream.require(int.from_bytes(self._stream.take(8), "little"))
            case _:
                self._make_object(operation)

    def _make_object(self, operation: bytes) -> None:
        match operation:
            case b"\x93":  # STACK_GLOBAL
                attribute, module = self._stack.pop(), self._stack.pop()
                if type(module) is not str or type(attribute) is not str:
                    raise code_error("a name that is not text")
                name = f"{module}.{attribute}"
                if name not in NAMES or (module, attribute) != tuple(name.rsplit(".", 1)):
                    raise code_error(name)
                self._stack.append(NAMES[name])
            case b"\x81":  # NEWOBJ
                arguments, kind = self._stack.pop(), self._stack.pop()
                if kind is not ARRAY_WRAPPER or arguments != ():
                    raise code_error(f"an object of {kind.name}" if isinstance(kind, Name) else "an object of no class")
                self._stack.append(ArrayWrapper())
            case b"R":  # REDUCE
                arguments, function = self._stack.pop(), self._stack.pop()
                if not isinstance(function, Name) or not isinstance(arguments, tuple):
                    raise code_error("a call of something that is not a function")
                if (
                    function is not DTYPE
                    or not is_exactly(arguments[1:], (False, True))
                    or type(arguments[0]) is not str
                ):
                    raise code_error(f"a call of {function.name}")
                if arguments[0] not in ITEM_BYTES:
                    raise foreign_error(
                        f"holds an array of dtype {arguments[0][:20]!r}, not of numbers or truth values"
                    )
                self._stack.append(ItemType(arguments[0]))
            case b"b":  # BUILD
                state, target = self._stack.pop(), self._stack.pop()
                self._stack.append(self._complete(target, state))
            case _:
                if operation in FOREIGN:
                    raise code_error(FOREIGN[operation])
                raise self._damaged_error(f"{operation!r} is not an operation of plain data")

    def _push_memo(self, place_bytes: int) -> None:
        """Push a value that was read before. Containers occur once, so no value can contain itself or be copied."""
        value = self._memo[int.from_bytes(self._stream.take(place_bytes), "little")]
        if type(value) not in (str, Name, ItemType):
            raise foreign_error("holds a container in two places")
        self._stack.append(value)

    def _pop_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._marks.pop()
        return items

    def _top(self, kind: type) -> Any:
        if type(self._stack[-1]) is not kind:
            raise code_error(f"filling a value that is not a {kind.__name__}")
        return self._stack[-1]

    def _set_items(self, items: list[Any]) -> None:
        dictionary = self._top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str:
                raise foreign_error("contains a key that is not text")
            if key in dictionary:
                raise self._damaged_error("a key occurs twice")
            dictionary[key] = value

    def _complete(self, target: object, state: object) -> object:
        """Return the object with its state: a dtype with its byte order, or an array."""
        if isinstance(target, ArrayWrapper):
            return self._read_array(state)
        if not isinstance(target, ItemType) or target.order:
            raise code_error("the state of an object")
        order = "|" if ITEM_BYTES[target.code] == 1 else "<"
        if not is_exactly(state, (3, order, None, None, None, -1, -1, 0)):
            raise foreign_error("holds an array whose dtype is not plain and little-endian")
        target.order = order
        return target

    def _read_array(self, state: object) -> NDArray[Any]:
        """Return the read-only array of this state, whose items are the next bytes of the file."""
        if not isinstance(state, dict) or tuple(state) != ARRAY_KEYS or state["subclass"] is not NDARRAY:
            raise foreign_error("holds an array that is not as joblib writes it")
        constants = (state["order"], state["allow_mmap"], state["numpy_array_alignment_bytes"])
        shape, item_type = state["shape"], state["dtype"]
        is_known = isinstance(item_type, ItemType) and item_type.order != ""
        if not is_known or not is_exactly(constants, ("C", True, ALIGNMENT_BYTES)):
            raise foreign_error("holds an array that is not as joblib writes it")
        if type(shape) is not tuple or not all(type(length) is int and length >= 0 for length in shape):
            raise foreign_error("holds an array of an impossible shape")
        if len(shape) > MAX_DIMENSIONS or prod(length or 1 for length in shape) > MAX_ITEMS:
            raise foreign_error("holds an array of an impossible shape")
        padding = self._stream.take(self._stream.take(1)[0])
        if len(padding) > ALIGNMENT_BYTES or padding.strip(b"\xff"):
            raise self._damaged_error("the padding of an array is wrong")
        items = self._stream.take_array(prod(shape) * ITEM_BYTES[item_type.code])
        if item_type.code == "b1" and items.max(initial=0) > 1:
            raise self._damaged_error("a truth value is neither true nor false")
        array: NDArray[Any] = items.view(np.dtype(item_type.order + item_type.code)).reshape(shape)
        array.flags.writeable = False
        return array

    def _damaged_error(self, what: str) -> ArtifactError:
        return DamagedError(f"{what} (at byte {self._stream.position:,})")
