"""Settings: a field of a settings record says everything that the program has to know about a
setting.

The option of the command line with its help and its check, the parameter of `TextClassifier` with
its documentation, the key of the HTTP API with its schema, and the stored form are derived from the
field. A setting is declared once:

    ngrams: tuple[int, int] = setting((1, 1), "Minimum and maximum n-gram length.",
    parse=parse_range, metavar="N,N")

Settings that exclude or need each other are a table, `RULES`, of the record or of the command. It
has one wording.

This module imports neither click nor NumPy: the options of all commands are derived in a few
milliseconds.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from nbtext.errors import SettingsError
from nbtext.records import Strings
from nbtext.registry import has_application

KEY = "setting"  # of the metadata of a field
SettingsRecord = TypeVar("SettingsRecord")


class Setting(NamedTuple):
    """What a field of a settings record says beside its name, type and default.

    help          sentences; the first one alone is the help of -h
    is_option     whether it is an option of the command line; all settings are parameters of the
                  library
    in_python     what the library says instead of the help, if the option names a file
    metavar       stands for the value in the help, such as N; each option with a value has one, or
                  a `file`
    default_help  the default as the help shows it; "" shows the default itself
    flags         names of the option, if not --NAME, such as ("-j", "--jobs")
    title         of its group in the help; "" is that of the record
    choices       the allowed values, if they are few; None is allowed, too, if it is the default
    low, high     the allowed numbers, both included
    wanted        what to give instead of a wrong value; "" is made of choices or bounds
    parse         makes the value of typed text; ValueError if it cannot. None: by the type of the
                  field
    file          if the option names a file, its role; see cli.command.ROLES
    names         named values, which `parse` reads, in Python, too; not files, if it names a file
    is_repeated   whether the option may be given several times; the values are a tuple
    is_required   whether a value must be given
    is_argument   whether it is an argument of the command, not an option
    is_analysis   whether it says what a feature is: a matrix and a model must have it in common
    is_of_words   whether it is for features of words only
    applications  folders of applications, without which it is not an option; one of them is enough
    """

    help: str = ""
    is_option: bool = True
    in_python: str = ""
    metavar: str = ""
    default_help: str = ""
    flags: Strings = ()
    title: str = ""
    choices: Strings = ()
    low: float = -math.inf
    high: float = math.inf
    wanted: str = ""
    parse: Callable[[str], Any] | None = None
    file: str = ""
    names: Strings = ()
    is_repeated: bool = False
    is_required: bool = False
    is_argument: bool = False
    is_analysis: bool = False
    is_of_words: bool = False
    applications: Strings = ()

    @property
    def is_flag(self) -> bool:
        """Whether the option takes no value: of a truth value."""
        return not (self.metavar or self.file)

    @property
    def is_offered(self) -> bool:
        """Whether it is an option of the command line here."""
        return self.is_option and (not self.applications or has_application(*self.applications))

    def find_error(self, value: object) -> str:
        """Return what to give instead of a value; "" if the value is right."""
        is_right = True
        if self.choices:
            is_right = set(value if isinstance(value, tuple) else [value]) <= set(self.choices)
        elif isinstance(value, int | float) and (self.low, self.high) != (-math.inf, math.inf):
            is_right = self.low <= value <= self.high  # not so for NaN
        return "" if is_right else self.wanted or self._describe()

    def _describe(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        low, high = (
            f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
            for bound in (self.low, self.high)
        )
        return (
            f"a number from {low} to {high}"
            if self.high < math.inf
            else f"a number of {low} or more"
        )


def setting(default: Any, help: str = "", **facts: Any) -> Any:
    """Return a field of a settings record; `facts` are those of `Setting`."""
    return dataclasses.field(default=default, metadata={KEY: Setting(help=help, **facts)})


class SettingsPart(NamedTuple):
    """A record within the record of a command; its settings are options of the command.

    record   its class
    without  names of settings that the command does not have; they keep their defaults
    changed  facts of single settings that differ in this command, by name
    is_open  the command gets the given values by name, and makes the record itself, because more
             belongs to it
    """

    record: type[Any]
    without: frozenset[str] = frozenset()
    changed: Mapping[str, Mapping[str, Any]] = {}
    is_open: bool = False


def part(
    record: type[Any],
    *,
    without: Iterable[str] = (),
    is_open: bool = False,
    **changed: Mapping[str, Any],
) -> Any:
    """Return a field of the record of a command that is a record itself; see Part."""
    return dataclasses.field(
        metadata={KEY: SettingsPart(record, frozenset(without), changed, is_open)}
    )


def _as_part(record: type[Any] | SettingsPart) -> SettingsPart:
    return record if isinstance(record, SettingsPart) else SettingsPart(record)


def list_settings(
    record: type[Any] | SettingsPart,
) -> Iterator[tuple[dataclasses.Field[Any], Setting]]:
    """Yield each setting of a record, or of a part as the command has it, with its field, but those
    of its own parts.
    """
    own = _as_part(record)
    for field in dataclasses.fields(own.record):
        found = field.metadata.get(KEY)
        if isinstance(found, Setting) and field.name not in own.without:
            yield field, found._replace(**own.changed.get(field.name, {}))


class Shorthand(NamedTuple):
    """An option that stands for several settings of a record, none of which is an option.

    field  the field that it would be; the record does not have it
    names  of the settings, whose values are the parts of its value
    """

    field: dataclasses.Field[Any]
    names: Strings


def shorthand(name: str, names: Strings, help: str, **facts: Any) -> Shorthand:
    """Return a shorthand, for the tuple SHORTHANDS of a record; `facts` are those of `Setting`."""
    field = setting(None, help, **facts)
    field.name = name
    field.type = str
    return Shorthand(field, names)


def list_options(
    record: type[Any] | SettingsPart,
) -> Iterator[tuple[dataclasses.Field[Any], Setting]]:
    """Yield the shorthands and the settings of a record, or of a part, that are options."""
    own = _as_part(record)
    for each in getattr(own.record, "SHORTHANDS", ()):
        if each.field.name not in own.without:
            yield each.field, each.field.metadata[KEY]
    for field, found in list_settings(own):
        if found.is_offered:
            yield field, found


def make_record(record: type[SettingsRecord], given: Mapping[str, Any]) -> SettingsRecord:
    """Return the settings record of the given values, with its parts; all other settings have their
    defaults.

    given  by name; names that the record does not have are ignored
    """
    values = dict(given)
    for each in getattr(record, "SHORTHANDS", ()):
        if each.field.name in given:
            values |= zip(each.names, given[each.field.name], strict=True)
    made = _values_of(record, values)
    for name, each in list_settings_parts(record):
        of_part = {key: given[key] for key in given.keys() - each.without}
        make = _values_of if each.is_open else make_record
        made[name] = make(each.record, of_part)
    return record(**made)


def _values_of(record: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        field.name: given[field.name] for field, _ in list_settings(record) if field.name in given
    }


def list_settings_parts(record: type[Any]) -> Iterator[tuple[str, SettingsPart]]:
    """Yield the parts of the record of a command, by the names of their fields."""
    for field in dataclasses.fields(record):
        if isinstance(found := field.metadata.get(KEY), SettingsPart):
            yield field.name, found


class Excludes(NamedTuple):
    """A rule: two settings cannot be combined.

    because  the reason, if it is not obvious; the end of a sentence
    """

    name: str
    other: str
    because: str = ""


class Needs(NamedTuple):
    """A rule: a setting has an effect only with another one.

    other  its name, or NAME=VALUE; of several names that are divided by |, one is enough
    """

    name: str
    other: str


Rule = Excludes | Needs


def list_all_settings(
    record: type[Any],
) -> Iterator[tuple[type[Any], dataclasses.Field[Any], Setting]]:
    """Yield the settings of a record and of its parts, each after the record that has it."""
    for each in (SettingsPart(record), *dict(list_settings_parts(record)).values()):
        for field, found in list_settings(each):
            yield each.record, field, found


def check_rules(
    rules: Iterable[Rule], given: Mapping[str, Any], options: Collection[str] = ()
) -> None:
    """Raise SettingsError if the given settings break a rule.

    given    the values of the settings that are not the default, by name
    options  the names of the settings that the command has; (): all can be given
    """
    for rule in rules:
        if rule.name not in given:
            continue
        if isinstance(rule, Excludes) and _is_given(rule.other, given):
            because = f", because {rule.because}" if rule.because else ""
            raise SettingsError(
                f"cannot be combined with ‹{rule.other}›{because}",
                where=rule.name,
                hint="leave out one of them",
            )
        others = rule.other.split("|")
        if isinstance(rule, Needs) and not any(_is_given(other, given) for other in others):
            there = [each for each in others if not options or each.partition("=")[0] in options]
            names = " or ".join(f"‹{other}›" for other in there or others)
            raise SettingsError(
                f"needs {names}", where=rule.name, hint=f"add {names}, or leave out this option"
            )


def refuse(name: str, because: str) -> SettingsError:
    """Return the error of a setting that does not apply; `because` is the reason, a sentence."""
    return SettingsError(f"does not apply: {because}", where=name, hint="leave out this option")


def _is_given(condition: str, given: Mapping[str, Any]) -> bool:
    name, has_value, value = condition.partition("=")
    return name in given and (not has_value or given[name] in (value, (value,)))


class Settings:
    """A settings record, whose values are checked when it is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_settings(self)
        self.check_values()

    def check_values(self) -> None:
        """Raise SettingsError if a value is wrong in a way that `check_settings` does not see."""


def check_settings(record: Any) -> None:
    """Raise SettingsError if a value is not among the choices or bounds of its field, or breaks a
    rule of the record.

    Every settings record is checked when it is made (`Settings`); of the record of a command, the
    command calls this.
    """
    given = {}
    for field, found in list_settings(type(record)):
        value = getattr(record, field.name)
        if value == field.default and type(value) is type(field.default):
            continue
        given[field.name] = value
        if value is not None:
            require_setting(not (wanted := found.find_error(value)), value, wanted, field.name)
    check_rules(getattr(record, "RULES", ()), given)


def require_setting(is_right: bool, value: object, wanted: str, name: str) -> None:
    """Raise SettingsError unless a value of a setting is right; `wanted` is what to give
    instead.
    """
    if not is_right:
        shown = f"{value:g}" if isinstance(value, float) else value
        raise SettingsError(f"{shown} is not a valid value", where=name, hint=f"give {wanted}")


@cache
def hints_of(record: Hashable) -> dict[str, Any]:
    """Return the type of each field of a record, by name."""
    return get_type_hints(record)


def type_of_values(record: type, field: dataclasses.Field[Any]) -> Any:
    """Return the type of the values of a setting, without None; of several values, that of one."""
    kind = hints_of(record).get(field.name, field.type)  # a shorthand is not in the record
    if NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return get_args(kind)[0] if get_origin(kind) is tuple else kind


def parse_value(record: type[Any], field: dataclasses.Field[Any], found: Setting, text: str) -> Any:
    """Return the value of typed text; ValueError if it is not one."""
    if found.parse is not None:
        return found.parse(text)
    kind = type_of_values(record, field)
    if found.choices:
        if text not in found.choices:
            raise ValueError(f"{text!r} is not one of {', '.join(found.choices)}")
        return text
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false")
        return text == "true"
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a {'whole ' if kind is int else ''}number") from None
    return text


def split_list(text: str) -> list[str]:
    """Return the parts of a list that is separated by commas; a comma in a part is typed with a
    backslash before it.
    """
    return [part.replace("\\,", ",").strip() for part in re.split(r"(?<!\\),", text)]


def join_list(parts: Iterable[str]) -> str:
    """Return the text that `split_list` splits into these parts."""
    return ",".join(part.replace(",", "\\,") for part in parts)


def parse_names(text: str) -> Strings:
    """Return the names in a list that is separated by commas; ValueError if there is none."""
    names = tuple(filter(None, split_list(text)))
    if not names:
        raise ValueError(f"{text!r} contains no name; separate several names with commas")
    return names


def parse_label_share(text: str) -> tuple[str, float]:
    """Return the label and the number of LABEL=P."""
    label, _, number = text.rpartition("=")
    try:
        share = float(number)
    except ValueError:
        share = math.nan
    if not label or not math.isfinite(share):
        raise ValueError(f"{text!r} is not LABEL=P, such as spam=0.99")
    return label, share


UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}
MAX_BYTES = 2.0**63  # more than any bound of a size


def parse_bytes(text: str) -> int:
    """Return a number of bytes, such as 300KB, 2MB, 1.5MiB or 4096; ValueError if it is not one."""
    found = re.fullmatch(r"([0-9.]+) ?(|[kmg]|[kmg]i)b?", text.strip(), re.IGNORECASE)
    if found is None or found[1].count(".") > 1 or found[1] == ".":
        raise ValueError(f"{text!r} is not a size; write 300KB, 2MB or a number of bytes")
    return int(min(float(found[1]) * UNITS[found[2].upper()], MAX_BYTES))


def parse_number_or_auto(auto: str | None) -> Callable[[str], str | float | None]:
    """Make a parser of a number, or of `auto`, which becomes the given value."""

    def parse(text: str) -> str | float | None:
        try:
            return auto if text == "auto" else float(text)
        except ValueError:
            raise ValueError(f"{text!r} is neither a number nor `auto`") from None

    return parse


def describe_difference(one: Any, other: Any, names: Iterable[str]) -> str | None:
    """Return the first of these settings that has different values in two records, with both of
    them, for an error; None: there is none.
    """
    for name in names:
        values = getattr(one, name), getattr(other, name)
        if repr(values[0]) != repr(values[1]):
            shown = (
                "not given" if value in (None, ()) else format_value(value)[:40] for value in values
            )
            return f"have different settings: {name} is {' and '.join(shown)}"
    return None


def format_value(value: Any) -> str:
    """Return a value of a setting as it is typed: a pair is `ham=0.99`, and commas separate several
    values.
    """
    if not isinstance(value, tuple | list):
        return str(value)
    is_pair = len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], float)
    return ("=" if is_pair else ",").join(map(format_value, value))


class ParameterError(SettingsError, ValueError):
    """A parameter of an estimator has a wrong type or value."""


def convert_parameters(record: type, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of the library in the types of a settings record.

    Lists, sets and arrays become tuples, NumPy numbers become Python numbers, and an int becomes a
    float where a float is needed. Where an option may be repeated, one text is a tuple of it. Named
    values, such as `auto`, become what they name. The record itself refuses names that are not its
    fields.

    Parameters
    ----------
    record : type
        A settings dataclass of any stage.
    parameters : dict
        Some of its fields.

    Raises
    ------
    ParameterError
        A value has another type, or is not among the choices of its field.
    """
    hints = hints_of(record)
    known = {each.name: each.metadata.get(KEY, Setting()) for each in dataclasses.fields(record)}
    converted = dict(parameters)
    for name in parameters.keys() & known:
        given = parameters[name]
        found = known[name]
        value = given
        if isinstance(given, str) and given in found.names and found.parse is not None:
            value = found.parse(given)
        plain = _plain(value)
        if found.is_repeated and isinstance(plain, str):
            plain = (plain,)
        real = tuple(map(_real, plain)) if type(plain) is tuple else _real(plain)
        found_values = (each for each in (value, plain, real) if _has_type(each, hints[name]))
        converted[name] = value = next(found_values, value)
        if found.choices and value is not None and value not in found.choices:
            raise ParameterError(
                f"unknown value {value!r}",
                where=name,
                hint=f"choose one of {', '.join(found.choices)}",
            )
        if not _has_type(value, hints[name]):
            raise ParameterError(
                f"{value!r} has the wrong type, expected {record.__annotations__[name]}",
                where=name,
            )
    return converted


def _plain(value: Any) -> Any:
    """Return lists, sets and arrays as tuples, NumPy scalars as Python scalars, paths as texts, and
    a dict as pairs.
    """
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(getattr(value, "tolist", None)):
        value = value.tolist()
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, dict):
        value = [(str(name), _real(_plain(number))) for name, number in value.items()]
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _real(value: Any) -> Any:
    return float(value) if type(value) is int and abs(value) < 2**1000 else value


def _has_type(value: object, hint: Any) -> bool:
    """Return whether plain data has a type that settings use: a scalar, a tuple, or a union of
    these.
    """
    if isinstance(hint, UnionType):
        return any(_has_type(value, part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if type(value) is not tuple:
            return False
        if parts[-1] is Ellipsis:
            return all(_has_type(item, parts[0]) for item in value)
        return len(value) == len(parts) and all(map(_has_type, value, parts))
    return type(value) is hint
