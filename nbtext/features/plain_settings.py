"""Whether what somebody else wrote can be the fields of a settings record, and how they would have them."""

from __future__ import annotations

from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from nbtext.errors import SettingsError
from nbtext.features.stop_words import ENGLISH


class ParameterError(SettingsError, ValueError):
    """A parameter of an estimator that makes no sense."""


def as_settings(kind: type, given: dict[str, Any]) -> dict[str, Any]:
    """Values of some fields of a settings record, as programs give them, in the types in which the record keeps them.

    Lists, sets and arrays become tuples, NumPy's numbers Python's, and whole numbers what they are as real ones; "auto"
    and "english" mean what they do as options. Names that are no fields are left for the record to refuse.

    raises  ParameterError: one is of another type, or none of its choices
    """
    hints, known = get_type_hints(kind), {field.name: field for field in fields(kind)}
    values = {name: _as_fitting(_meant(name, value), hints.get(name)) for name, value in given.items()}
    for name in filter(known.__contains__, values):
        value = values[name]
        choices = known[name].metadata.get("choices")
        if choices and value is not None and value not in choices:
            raise ParameterError(f"there is no {value!r}", where=name, hint=f"choose one of {', '.join(choices)}")
        if not _fits(value, hints[name]):
            raise ParameterError(f"{value!r} is of another type", where=name, hint=f"it takes {known[name].type}")
    return values


def _meant(name: str, value: Any) -> Any:
    """What the command line has words for."""
    if name == "smoothing" and isinstance(value, str) and value == "auto":
        return None
    return ENGLISH if name == "stop_words" and isinstance(value, str) and value == "english" else value


def _as_fitting(value: Any, hint: Any) -> Any:
    """The same value in a type that fits, if there is one; else as it is."""
    if _fits(value, hint):
        return value
    plain = _plain(value)
    if _fits(plain, hint):
        return plain
    real = tuple(map(_real, plain)) if type(plain) is tuple else _real(plain)
    return real if _fits(real, hint) else value


def _plain(value: Any) -> Any:
    """Lists, sets and arrays as tuples, and what NumPy has for texts and numbers as Python's."""
    if callable(getattr(value, "tolist", None)):
        value = value.tolist()
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _real(value: Any) -> Any:
    return float(value) if type(value) is int else value


def misfit(kind: type, values: dict[str, Any]) -> str | None:
    """The first field of a settings record whose value is missing, of another type, or none of its choices."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        value, choices = values.get(field.name, ...), field.metadata.get("choices")
        if not _fits(value, hints[field.name]) or (choices and value is not None and value not in choices):
            return field.name
    return None


def _fits(value: object, hint: Any) -> bool:
    """Whether plain data is of a type, as settings use them: scalars, tuples and unions of these."""
    if isinstance(hint, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if type(value) is not tuple:
            return False
        if parts[-1] is Ellipsis:
            return all(_fits(item, parts[0]) for item in value)
        return len(value) == len(parts) and all(map(_fits, value, parts))
    return type(value) is hint
