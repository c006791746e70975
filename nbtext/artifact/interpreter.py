"""The part of the pickle language that plain data needs, run on a stack machine that can do nothing else.

A pickle is a program for a stack machine. The standard library's machine looks up any name and calls it; this one
knows numbers, texts, bytes, lists, tuples, dictionaries keyed by texts, and joblib's arrays (`arrays`). What it does
not know it refuses, so there is no hole to guard. It never recurses, its memory grows with the bytes read, and its
time with the number of operations, which is bounded.

source  pickletools, in Python's standard library: the meaning of each operation, protocols 0 to 5
"""

from __future__ import annotations

from collections.abc import Callable
from struct import unpack
from typing import Any

from nbtext.artifact import refusals
from nbtext.artifact.arrays import called, completed, made
from nbtext.artifact.machine import Machine
from nbtext.artifact.tokens import token
from nbtext.errors import ArtifactError

MAX_OPERATIONS = 1_000_000  # what `record.check_plain` lets through needs fewer; a model of 100,000 labels, 250,000
MAX_INTEGER_BYTES = 32
MAX_LINE_BYTES = 1 << 20  # protocol 0 writes a text as a line


Action = Callable[[Machine], None]


def run(machine: Machine) -> object:
    """The value that the program on the machine's stream leaves.

    raises  ArtifactError: the program is damaged, too long, or asks for more than plain data
    """
    take = machine.stream.take
    for _ in range(MAX_OPERATIONS):
        code = take(1)
        if code == b".":
            return machine.result()
        action = ACTIONS.get(code)
        if action is None:
            raise _refusal(code, machine)
        try:
            action(machine)
        except (IndexError, KeyError, ValueError) as error:
            raise machine.damaged(f"operation {code!r} makes no sense") from error
    raise ArtifactError(f"holds more than any model: {MAX_OPERATIONS:,} operations did not read it")


def _constant(value: object) -> Action:
    return lambda machine: machine.stack.append(value)


def _fresh(kind: type) -> Action:
    return lambda machine: machine.stack.append(kind())


def _unsigned(machine: Machine, width: int) -> int:
    return int.from_bytes(machine.stream.take(width), "little")


def _integer(width: int, *, signed: bool = False) -> Action:
    return lambda machine: machine.stack.append(int.from_bytes(machine.stream.take(width), "little", signed=signed))


def _long_integer(width: int) -> Action:
    def push(machine: Machine) -> None:
        n_bytes = _unsigned(machine, width)
        if n_bytes > MAX_INTEGER_BYTES:
            raise ArtifactError(f"holds a number of {n_bytes:,} bytes; {MAX_INTEGER_BYTES} are the most")
        machine.stack.append(int.from_bytes(machine.stream.take(n_bytes), "little", signed=True))

    return push


def _text(width: int) -> Action:
    def push(machine: Machine) -> None:
        machine.stack.append(machine.stream.take(_unsigned(machine, width)).decode("utf-8", "surrogatepass"))

    return push


def _bytes(width: int) -> Action:
    return lambda machine: machine.stack.append(machine.stream.take(_unsigned(machine, width)))


def _float(machine: Machine) -> None:
    machine.stack.append(unpack(">d", machine.stream.take(8))[0])


def _line(machine: Machine) -> bytes:
    return machine.stream.line(80)


def _integer_line(machine: Machine) -> None:
    line = _line(machine)
    machine.stack.append(line == b"01" if line in (b"00", b"01") else int(line.removesuffix(b"L")))


def _float_line(machine: Machine) -> None:
    machine.stack.append(float(_line(machine)))


def _text_line(machine: Machine) -> None:
    machine.stack.append(machine.stream.line(MAX_LINE_BYTES).decode("raw-unicode-escape"))


def _mark(machine: Machine) -> None:
    machine.marks.append(machine.stack)
    machine.stack = []


def _tuple_of(n_items: int) -> Action:
    def push(machine: Machine) -> None:
        if len(machine.stack) < n_items:
            raise IndexError
        machine.stack[-n_items:] = [tuple(machine.stack[-n_items:])]

    return push


def _marked_tuple(machine: Machine) -> None:
    items = tuple(machine.pop_mark())
    machine.stack.append(items)


def _marked_list(machine: Machine) -> None:
    items = machine.pop_mark()
    machine.stack.append(items)


def _marked_dictionary(machine: Machine) -> None:
    items = machine.pop_mark()
    machine.stack.append({})
    _set(machine, items)


def _append(machine: Machine) -> None:
    item = machine.stack.pop()
    machine.top(list).append(item)


def _append_marked(machine: Machine) -> None:
    items = machine.pop_mark()
    machine.top(list).extend(items)


def _set_item(machine: Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _set(machine, [key, value])


def _set_marked(machine: Machine) -> None:
    _set(machine, machine.pop_mark())


def _set(machine: Machine, items: list[Any]) -> None:
    """Put keys and values into the dictionary on top: each key a text, and each only once."""
    dictionary = machine.top(dict)
    for key, value in zip(items[::2], items[1::2], strict=True):
        if type(key) is not str:
            raise refusals.foreign("holds a key that is no text")
        if key in dictionary:
            raise machine.damaged("a key occurs twice")
        dictionary[key] = value


def _memoize(machine: Machine) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _put(machine: Machine, place: int) -> None:
    if not 0 <= place < MAX_OPERATIONS:
        raise machine.damaged(f"it memoizes {place:,} values")
    machine.memo[place] = machine.stack[-1]


def _get(machine: Machine, place: int) -> None:
    machine.stack.append(machine.memo[place])


def _at(width: int, action: Callable[[Machine, int], None]) -> Action:
    return lambda machine: action(machine, _unsigned(machine, width))


def _at_line(action: Callable[[Machine, int], None]) -> Action:
    return lambda machine: action(machine, int(_line(machine)))


def _protocol(machine: Machine) -> None:
    if (protocol := machine.stream.take(1)[0]) > 5:
        raise ArtifactError(f"is written in pickle protocol {protocol}; nbtext reads 0 to 5")
    machine.is_announced = True


def _frame(machine: Machine) -> None:
    machine.stream.expect(_unsigned(machine, 8))


def _name(machine: Machine) -> None:
    module, name = (machine.stream.line(MAX_LINE_BYTES).decode("utf-8", "replace") for _ in range(2))
    machine.stack.append(token(module, name))


def _stacked_name(machine: Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise refusals.code("a name that is no text")
    machine.stack.append(token(module, name))


def _make(machine: Machine) -> None:
    arguments, kind = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(made(kind, arguments))


def _call(machine: Machine) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(called(function, arguments))


def _complete(machine: Machine) -> None:
    state, target = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(completed(target, state, machine.stream))


ACTIONS: dict[bytes, Action] = {
    b"N": _constant(None),
    b"\x88": _constant(True),
    b"\x89": _constant(False),
    b")": _constant(()),
    b"]": _fresh(list),
    b"}": _fresh(dict),
    b"K": _integer(1),
    b"M": _integer(2),
    b"J": _integer(4, signed=True),
    b"\x8a": _long_integer(1),
    b"\x8b": _long_integer(4),
    b"G": _float,
    b"\x8c": _text(1),
    b"X": _text(4),
    b"\x8d": _text(8),
    b"C": _bytes(1),
    b"B": _bytes(4),
    b"\x8e": _bytes(8),
    b"I": _integer_line,
    b"L": _integer_line,
    b"F": _float_line,
    b"V": _text_line,
    b"(": _mark,
    b"\x85": _tuple_of(1),
    b"\x86": _tuple_of(2),
    b"\x87": _tuple_of(3),
    b"t": _marked_tuple,
    b"l": _marked_list,
    b"d": _marked_dictionary,
    b"a": _append,
    b"e": _append_marked,
    b"s": _set_item,
    b"u": _set_marked,
    b"\x94": _memoize,
    b"q": _at(1, _put),
    b"r": _at(4, _put),
    b"p": _at_line(_put),
    b"h": _at(1, _get),
    b"j": _at(4, _get),
    b"g": _at_line(_get),
    b"\x80": _protocol,
    b"\x95": _frame,
    b"c": _name,
    b"\x93": _stacked_name,
    b"\x81": _make,
    b"R": _call,
    b"b": _complete,
}

CODE = {
    b"o": "an object made by OBJ",
    b"\x92": "an object made by NEWOBJ_EX",
    b"P": "an object outside the file, by PERSID",
    b"Q": "an object outside the file, by BINPERSID",
    b"\x82": "a registered name, by EXT1",
    b"\x83": "a registered name, by EXT2",
    b"\x84": "a registered name, by EXT4",
    b"\x97": "a buffer outside the file, by NEXT_BUFFER",
}


def _refusal(code: bytes, machine: Machine) -> ArtifactError:
    """Why an operation is not done."""
    if code == b"i":
        module, name = (machine.stream.line(MAX_LINE_BYTES).decode("utf-8", "replace") for _ in range(2))
        return refusals.code(f"{module}.{name}")
    if code in CODE:
        return refusals.code(CODE[code])
    return machine.damaged(f"{code!r} begins no plain data")
