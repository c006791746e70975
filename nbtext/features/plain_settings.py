"""Whether plain data that somebody else wrote can be the fields of a settings record."""

from __future__ import annotations

from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints


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
