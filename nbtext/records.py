"""Data classes that take little time to define.

`dataclasses.dataclass` compiles the source of up to six methods for each class: 0.4 ms for a frozen
one in Python 3.11. `nbtext predict` imports sixty of them, and would spend a fifth of its time on
one text with that. The data classes of this module have the same fields, and share their methods
instead. `dataclasses.fields`, `replace` and `asdict` work as usual. Use it in modules that `train`
or `predict` imports. A frozen subclass of such a class must use it, too, because
`dataclasses.dataclass` does not know that the base class is frozen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, dataclass_transform

__all__ = ["LazyProperty", "Strings", "dataclass", "frozen", "frozen_object"]

Strings = tuple[str, ...]  # labels, fields, paths and other names: records cannot hold lists
Value = TypeVar("Value")
MISSING = dataclasses.MISSING
set_field = object.__setattr__  # also of frozen classes


class LazyProperty(Generic[Value]):
    """A property that is computed once for each object.

    `functools.cached_property` does the same, but with Python 3.11, threads that compute it for
    different objects wait for each other.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        value = instance.__dict__[self._function.__name__] = self._function(instance)
        return value


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, *, eq: bool = True, kw_only: bool = False) -> Any:
        """Return the class as a data class whose fields can be set; see `dataclasses.dataclass`."""
        if cls is None:
            return partial(dataclass, eq=eq, kw_only=kw_only)
        methods = {"__eq__": _is_equal, "__hash__": None} if eq else {}
        return _define(cls, methods, kw_only=kw_only)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type | None = None, /, *, eq: bool = True, kw_only: bool = False) -> Any:
    """Return the class as a data class whose fields cannot be set again.

    eq       whether objects with equal fields are equal; otherwise each equals itself only
    kw_only  whether fields are given by name only
    """
    if cls is None:
        return partial(frozen, eq=eq, kw_only=kw_only)
    methods: dict[str, Any] = {"__setattr__": _refuse, "__delattr__": _refuse}
    if eq:
        methods |= {"__eq__": _is_equal, "__hash__": _hash}
    return _define(cls, methods, kw_only=kw_only)


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen_object(cls: type[Value]) -> type[Value]:
    """Return the class as a data class whose fields cannot be set again, and whose objects equal
    themselves only: for fields such as arrays, which have no one answer to whether they are equal.
    """
    found: type[Value] = frozen(eq=False)(cls)
    return found


def _define(cls: Any, methods: dict[str, Any], *, kw_only: bool) -> Any:
    """Return the class with fields and methods; it keeps the methods that it has."""
    methods |= {"__init__": _initialize, "__repr__": _format}
    own = {name for name, value in vars(cls).items() if value is not None}
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    cls._parameters = [
        (each.name, each.init and not each.kw_only, each.init, each.default, each.default_factory)
        for each in dataclasses.fields(cls)
    ]
    return cls


def _initialize(self: Any, /, *args: Any, **given: Any) -> None:
    """Set each field to its argument or default, then call __post_init__."""
    cls = type(self)
    values = iter(args)
    n_left = len(args)
    for name, is_positional, is_parameter, default, make_default in cls._parameters:
        if n_left and is_positional:
            value = next(values)
            n_left -= 1
            if name in given:
                raise TypeError(f"{cls.__name__}() got multiple values for argument {name!r}")
        elif is_parameter and name in given:
            value = given.pop(name)
        elif make_default is not MISSING:
            value = make_default()
        elif default is not MISSING:
            value = default
        elif is_parameter:
            raise TypeError(f"{cls.__name__}() missing required argument {name!r}")
        else:
            continue
        set_field(self, name, value)
    if n_left:
        raise TypeError(f"{cls.__name__}() got {n_left} positional arguments too many")
    if given:
        raise TypeError(
            f"{cls.__name__}() got an unexpected keyword argument {next(iter(given))!r}"
        )
    if hasattr(cls, "__post_init__"):
        self.__post_init__()


def _format(self: Any) -> str:
    values = ", ".join(
        f"{each.name}={getattr(self, each.name)!r}"
        for each in dataclasses.fields(self)
        if each.repr
    )
    return f"{type(self).__qualname__}({values})"


def _is_equal(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, field.name) for field in dataclasses.fields(self) if field.compare)


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")
