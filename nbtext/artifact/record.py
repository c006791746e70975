"""Records as plain data: a frozen record is stored by its fields, and read by their types, with
checks of all values.

A field that is missing has its default, so that files stay readable when a record gets a new field.
An unknown field was probably written by a newer nbtext. A field that is None by default is left out
if it is None. A class may have `REMOVED`: fields that it had, and the only value that files of
version 3 may have in them; None: any. The type of a field has the bounds of its numbers
(`arrays.Limits`); `audit` checks them, and what several fields must have in common.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from itertools import chain, pairwise
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from nbtext.arrays import Array, Limits
from nbtext.artifact import audit
from nbtext.artifact.audit import invalid_value, require
from nbtext.artifact.storage import Record, StoredArray, newer_error
from nbtext.documents.names import are_ascending, pack_names, unpack_names
from nbtext.errors import ArtifactError, SettingsError
from nbtext.features.csr import running_sums
from nbtext.features.vocabulary import Vocabulary

T = TypeVar("T")
NO_LIMITS = Limits()
# values of a tuple that are stored in the header; more are stored as an array
MAX_TUPLE_VALUES = 1_000
TYPE_WORDS = {
    dict: "a section",
    list: "a list",
    tuple: "a list",
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    NoneType: "nothing",
    StoredArray: "an array",
    np.ndarray: "an array",
}


class StoredField(NamedTuple):
    """A field of a record: its type, and its default; MISSING if it has none."""

    hint: Any
    default: Any


@cache
def fields_of(kind: Hashable) -> dict[str, StoredField]:
    """Return the stored fields of a class of records by name; none of another class."""
    if is_dataclass(kind):
        defaults = {each.name: each.default for each in fields(kind) if each.init}
    elif hasattr(kind, "_field_defaults"):  # a NamedTuple
        defaults = dict.fromkeys(get_type_hints(kind), MISSING) | kind._field_defaults
    else:
        return {}
    hints = get_type_hints(kind, include_extras=True)
    return {name: StoredField(hints[name], default) for name, default in defaults.items()}


def narrow_integers(numbers: Array) -> Array:
    """Return non-negative integers in the smallest dtype that holds them, and floats unchanged."""
    return (
        numbers
        if numbers.dtype.kind == "f"
        else numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
    )


def narrow(numbers: Array) -> Array:
    """Return numbers in the smallest dtype that holds them: many floats as float32, if they were
    rounded to it.
    """
    if numbers.dtype != np.float64 or numbers.size <= MAX_TUPLE_VALUES:
        return narrow_integers(numbers)
    with np.errstate(over="ignore", under="ignore"):
        single = numbers.astype(np.float32)
    return single if np.array_equal(single, numbers) else numbers


def write(value: Any, *, without: Iterable[str] = ()) -> Any:
    """Return a record, or the value of a field, as plain data and arrays.

    without  fields of the record that are not stored
    """
    if isinstance(value, Vocabulary):
        return {"blob": value.blob, "offsets": narrow_integers(value.offsets)}
    if isinstance(value, np.ndarray):
        return narrow(value)
    if isinstance(value, Mapping):
        return {"keys": write(tuple(value)), "values": write(tuple(value.values()))}
    if known := fields_of(cast(Hashable, type(value))):
        found = ((name, getattr(value, name)) for name in known if name not in without)
        return {
            name: write(part)
            for name, part in found
            if part is not None or known[name].default is not None
        }
    return _write_tuple(value) if isinstance(value, tuple) else value


def _write_tuple(values: tuple[Any, ...]) -> Any:
    """Return a tuple as a list, or, if it is long, as an array of numbers, or as arrays of packed
    texts.
    """
    kinds = {type(each) for each in values} if len(values) > MAX_TUPLE_VALUES else set()
    if kinds == {str}:
        blob, offsets = pack_names(values)
        return {"blob": blob, "offsets": narrow_integers(offsets)}
    if kinds == {tuple} and all(type(each) is str for each in chain.from_iterable(values)):
        return {
            "bounds": narrow_integers(running_sums(np.array([len(each) for each in values]))),
            "items": write(tuple(chain.from_iterable(values))),
        }
    return (
        write(np.array(values)) if kinds in ({int}, {float}) else [write(each) for each in values]
    )


class Reader:
    """Reads records, and checks each value; `n_labels` is the length of arrays that have a number
    for each label.
    """

    n_labels = 0

    def read_record(self, kind: type[T], value: Any, key: str) -> T:
        """Return the record of a class; `key` is its place in the file, for errors."""
        if isinstance(value, kind):
            return value
        found = self.read_fields(kind, value, key)
        try:
            record = kind(**found)
        except SettingsError as error:
            place = f"{key}.{error.where}" if error.where in found else key
            raise invalid_value(place, f"is not a setting: {error}") from error
        audit.check(record, key, self.n_labels)
        return record

    def read_fields(
        self, kind: type, value: Any, key: str, *, without: Iterable[str] = ()
    ) -> Record:
        """Return the fields of a record by name; `without` names fields that are not stored."""
        if type(value) is not dict:
            raise _wrong_type(key, dict, value)
        known = {name: each for name, each in fields_of(kind).items() if name not in without}
        prefix = f"{key}." if key else ""
        removed: dict[str, Any] = getattr(kind, "REMOVED", {})
        for name, meant in removed.items():
            if meant is not None and value.get(name, meant) != meant:
                raise ArtifactError(
                    f"the model was made with {name} {value[name]!r}, which nbtext no longer has",
                    hint="train it again",
                )
        if unknown := sorted(value.keys() - known.keys() - removed.keys()):
            raise newer_error(f'this one does not know its entry "{prefix}{unknown[0]}"')
        found = {}
        for name, (hint, default) in known.items():
            require(prefix + name, name in value or default is not MISSING, "is missing")
            found[name] = default
            if name in value:
                found[name] = self.read(hint, value[name], prefix + name)
        return found

    def read(self, hint: Any, value: Any, key: str, limits: Limits = NO_LIMITS) -> Any:
        """Return the value of a type."""
        if get_origin(hint) is Annotated:
            hint, limits = get_args(hint)
        # NumPy 2.5 declares NDArray as an alias (`type NDArray[…] = …`) on Python 3.12 and later
        if (meant := getattr(get_origin(hint), "__value__", None)) is not None:
            hint = meant[get_args(hint)]
        origin = get_origin(hint)
        parts = get_args(hint)
        found = value
        if origin in (UnionType, Union):
            if value is not None or NoneType not in parts:
                part = _choose([part for part in parts if part is not NoneType], value)
                found = self.read(part, value, key, limits)
        elif origin is np.ndarray:
            found = self._read_array(get_args(parts[1])[0], value, key, limits)
        elif origin is tuple:
            found = self._read_tuple(parts, value, key, limits)
        elif origin is Mapping:
            is_right = type(value) is dict and value.keys() == {"keys", "values"}
            require(key, is_right, "should have keys and values")
            keys, values = (
                self._read_tuple((part, ...), value[name], f"{key}.{name}", limits)
                for part, name in zip(parts, ("keys", "values"), strict=True)
            )
            found = dict(zip(keys, values, strict=False))
            is_right = len(keys) == len(values) == len(found)
            require(key, is_right, "should have one value for each key")
        elif hint is Vocabulary:
            if not isinstance(value, Vocabulary):
                names = self.read_record(audit.Names, value, key)
                is_right = are_ascending(names.blob, names.offsets)
                require(key, is_right, "should hold each term once, in sorted order")
                found = Vocabulary(names.blob, names.offsets)
        elif fields_of(hint):
            found = self.read_record(hint, value, key)
        else:
            if hint is float and type(value) is int and abs(value) < 2**1000:
                found = float(value)
            if type(found) is not hint:
                raise _wrong_type(key, hint, value)
            if hint in (int, float):
                audit.check_number(key, found, limits)
        return found

    def _read_array(self, kind: Any, value: Any, key: str, limits: Limits) -> Array:
        """Return the array of the type `kind` (Any: int64 or float64), which can be stored in a
        smaller one.
        """
        array = value.read() if isinstance(value, StoredArray) else value
        if not isinstance(array, np.ndarray):
            raise _wrong_type(key, np.ndarray, value)
        is_float = array.dtype.kind == "f"
        if kind is Any:
            kind = np.float64 if is_float else limits.integers
        require(
            key,
            is_float == (kind is np.float64),
            f"should hold {kind.__name__}, and holds {array.dtype.name}",
        )
        audit.check_array(key, array, limits, self.n_labels, np.dtype(kind))
        return array.astype(kind, copy=False)

    def _read_tuple(
        self, parts: tuple[Any, ...], value: Any, key: str, limits: Limits
    ) -> tuple[Any, ...]:
        items = self._read_items(value, key, limits)
        if parts[-1] is not Ellipsis:
            require(
                key,
                len(items) == len(parts),
                f"should have {len(parts)} values, and has {len(items):,}",
            )
            return tuple(
                self.read(part, item, key, limits) for part, item in zip(parts, items, strict=True)
            )
        if parts[0] is str and all(type(item) is str for item in items):
            return tuple(items)
        return tuple(self.read(parts[0], item, key, limits) for item in items)

    def _read_items(self, value: Any, key: str, limits: Limits) -> list[Any]:
        """Return the values of a tuple; see _write_tuple."""
        if isinstance(value, list | tuple):
            return list(value)
        if isinstance(value, StoredArray | np.ndarray):
            return cast(
                list[Any],
                self._read_array(Any, value, key, limits._replace(shape=(None,))).tolist(),
            )
        if type(value) is not dict:
            raise _wrong_type(key, tuple, value)
        if "blob" in value:
            names = self.read_record(audit.Names, value, key)
            return unpack_names(names.blob, names.offsets)
        lists = self.read_record(audit.Lists, value, key)
        return [lists.items[start:stop] for start, stop in pairwise(lists.bounds.tolist())]


def _choose(parts: list[Any], value: Any) -> Any:
    """Return the type, among those of a union, that a value has."""
    for part in parts:
        if known := fields_of(part):
            is_right = type(value) is dict and value.keys() <= known.keys()
        elif get_origin(part) is tuple:
            is_right = isinstance(value, list | tuple | dict | StoredArray)
        else:
            is_right = type(value) is part
        if is_right:
            return part
    return parts[0]


def _wrong_type(key: str, expected: type, value: Any) -> Exception:
    found = TYPE_WORDS.get(type(value), "a record")
    return invalid_value(key, f"should be {TYPE_WORDS.get(expected, 'a record')}, and is {found}")
