"""The settings that turn text into features, and the validation of parameters for the settings of every stage."""

from __future__ import annotations

from dataclasses import astuple, field, fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from nbtext.errors import SettingsError
from nbtext.features.formulas import INVERSE_DOCUMENT_FREQUENCIES, NORMS, TERM_FREQUENCIES
from nbtext.features.stop_words import ENGLISH
from nbtext.records import dataclass

LONGEST_NGRAM = 100  # words or characters
LONGEST_PATTERN = 1_000  # characters of a regular expression
MAX_NUMBER = 2**62  # the largest number of documents or features that an option accepts


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSettings:
    """The analyzer (what a feature is), the selection (which features are kept) and the weighting (of counts)."""

    # what a feature is
    analyzer: str = field(default="word", metadata={"choices": ("word", "char", "char_wb")})
    ngrams: tuple[int, int] = (1, 1)
    token_pattern: str | None = None
    lowercase: bool = True
    strip_accents: str | None = field(default=None, metadata={"choices": ("unicode", "ascii")})
    stop_words: tuple[str, ...] = ()
    stem: str | None = None
    fields: tuple[str, ...] = ()  # the names of the text fields that --separate-fields keeps apart

    # which features are kept
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    vocabulary: tuple[str, ...] | None = None
    hash_bits: int | None = None
    select: tuple[str, int] | None = None

    # the weights of features
    tf: str = field(default="count", metadata={"choices": tuple(TERM_FREQUENCIES)})
    idf: str = field(default="none", metadata={"choices": tuple(INVERSE_DOCUMENT_FREQUENCIES)})
    norm: str = field(default="none", metadata={"choices": NORMS})

    def __post_init__(self) -> None:
        self._check_limits()
        shortest, longest = self.ngrams
        if not 1 <= shortest <= longest:
            raise SettingsError(
                f"{shortest},{longest} is not a range", where="ngrams", hint="write 1,2 for words and pairs of words"
            )
        if longest > LONGEST_NGRAM:
            raise SettingsError(f"{longest:,} is more than {LONGEST_NGRAM}", where="ngrams")
        if len(self.token_pattern or "") > LONGEST_PATTERN:
            raise SettingsError(f"has more than {LONGEST_PATTERN:,} characters", where="token_pattern")
        if self.vocabulary is not None and self.hash_bits is not None:
            raise SettingsError("cannot be combined with --vocabulary", where="hash_bits", hint="leave out one of them")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= 30:
            raise SettingsError(f"{self.hash_bits} is not between 1 and 30", where="hash_bits")

    def _check_limits(self) -> None:
        for option, limit in (("min_df", self.min_df), ("max_df", self.max_df)):
            if not (limit >= 1 if isinstance(limit, int) else 0 <= limit <= 1):
                what = f"{limit:g} is neither a number of documents nor a proportion of them"
                hint = "give a whole number from 1, or a proportion from 0.0 to 1.0 with a decimal point"
                raise SettingsError(what, where=option, hint=hint)
        n_selected = self.select[1] if self.select is not None else None
        for option, number in (("max_features", self.max_features), ("select", n_selected)):
            if number is not None and number < 1:
                raise SettingsError(f"{number} is less than 1", where=option)
        numbers = {"min_df": self.min_df, "max_df": self.max_df, "max_features": self.max_features or 0}
        for option, maximum in (numbers | {"select": n_selected or 0}).items():
            if maximum > MAX_NUMBER:
                raise SettingsError(f"is more than {MAX_NUMBER:,}", where=option)

    def __eq__(self, other: object) -> bool:
        """Compare types too: a limit of 1 is one document, and a limit of 1.0 all documents."""
        return type(other) is type(self) and other._typed_values() == self._typed_values()

    def __hash__(self) -> int:
        return hash(self._typed_values())

    def _typed_values(self) -> tuple[Any, ...]:
        return astuple(self), type(self.min_df), type(self.max_df)

    @property
    def is_counting(self) -> bool:
        """Whether weights are counts or binary counts, so that class statistics are whole numbers."""
        return self.is_linear and self.idf == "none"

    @property
    def is_linear(self) -> bool:
        """Whether the weights of documents add up as their counts, or binary counts, do."""
        return TERM_FREQUENCIES[self.tf].is_linear and self.norm == "none"


class ParameterError(SettingsError, ValueError):
    """A parameter of an estimator has a wrong type or value."""


def convert_parameters(record: type, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of the library in the types of a settings record.

    Lists, sets and arrays become tuples, NumPy numbers become Python numbers, and an int becomes a float where a float
    is needed. For `smoothing`, "auto" becomes None; for `stop_words`, "english" becomes the list. The record itself
    refuses names that are not its fields.

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
    hints, known = get_type_hints(record), {each.name: each for each in fields(record)}
    converted = {}
    for name, given in parameters.items():
        converted[name] = value = _convert(_resolve_name(name, given), hints.get(name))
        if name not in known:
            continue
        choices = known[name].metadata.get("choices")
        if choices and value is not None and value not in choices:
            raise ParameterError(f"unknown value {value!r}", where=name, hint=f"choose one of {', '.join(choices)}")
        if not _has_type(value, hints[name]):
            raise ParameterError(f"{value!r} has the wrong type, expected {known[name].type}", where=name)
    return converted


def find_invalid_field(record: type, values: dict[str, Any]) -> str | None:
    """Return the first field of a settings record whose value is missing, of another type, or not a choice."""
    hints = get_type_hints(record)
    for each in fields(record):
        value, choices = values.get(each.name, ...), each.metadata.get("choices")
        if not _has_type(value, hints[each.name]) or (choices and value is not None and value not in choices):
            return each.name
    return None


def _resolve_name(name: str, value: Any) -> Any:
    """Return the value of a named choice, as on the command line."""
    if name == "smoothing" and isinstance(value, str) and value == "auto":
        return None
    return ENGLISH if name == "stop_words" and isinstance(value, str) and value == "english" else value


def _convert(value: Any, hint: Any) -> Any:
    """Return the value as plain data of this type if that is possible, else the value."""
    plain = _plain(value)
    real = tuple(map(_real, plain)) if type(plain) is tuple else _real(plain)
    return next((each for each in (value, plain, real) if _has_type(each, hint)), value)


def _plain(value: Any) -> Any:
    """Return lists, sets and arrays as tuples, NumPy scalars as Python scalars, and a dict as pairs."""
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
    """Return whether plain data has a type that settings use: a scalar, a tuple, or a union of these."""
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
