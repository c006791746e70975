"""How options are written on the command line, and what they mean to the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.files import FileType

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # before click 8.5 it takes no parameter
    ParamType = click.ParamType

DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.25}  # how long each unit is


class Parsed(ParamType):
    """A value that a function makes of what was typed; ValueError says what is wrong with it."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self.parse = parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The name as it is: what stands in it in small letters is typed so."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _ngrams(text: str) -> tuple[int, int]:
    shortest, _, longest = text.replace("-", ",").partition(",")
    if not (shortest.strip().isdecimal() and (longest or shortest).strip().isdecimal()):
        raise ValueError(f"{text!r} is no range; write 1,2 for words and pairs")
    return int(shortest), int(longest or shortest)


def _document_frequency(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a number of documents nor a share like 0.5") from None


def _number_or_auto(auto: str | None) -> Callable[[str], str | float | None]:
    """A number, or what `auto` stands for."""

    def parse(text: str) -> str | float | None:
        try:
            return auto if text == "auto" else float(text)
        except ValueError:
            raise ValueError(f"{text!r} is neither auto nor a number") from None

    return parse


def _prior(text: str) -> str | tuple[float, ...]:
    if text in ("empirical", "uniform"):
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is neither empirical, uniform nor numbers like 1,3") from None


def _selection(text: str) -> tuple[str, int]:
    criterion, _, number = text.partition(":")
    if criterion not in ("mi", "chi2") or not number.isdecimal():
        raise ValueError(f"{text!r} is not mi:N or chi2:N")
    return criterion, int(number)


def _stop_words(text: str) -> tuple[str, ...]:
    from nbtext.features.stop_words import ENGLISH, read_words

    return tuple(sorted(ENGLISH if text == "english" else read_words(text)))


def _vocabulary(text: str) -> tuple[str, ...]:
    from nbtext.features.stop_words import read_words

    return tuple(sorted(set(read_words(text))))


def _seconds(text: str) -> float:
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("s", "m", "h") else (text, "s")
    try:
        return float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except ValueError:
        raise ValueError(f"{text!r} is no time; write 30s or 5m") from None


def _days(text: str) -> float:
    number, unit = (text[:-1], text[-1]) if text[-1:] in DAYS else (text, "d")
    try:
        return float(number) * DAYS[unit]
    except ValueError:
        raise ValueError(f"{text!r} is no time; write 30d, 12h or 4w") from None


def _costs(text: str) -> Any:
    from nbtext.model.settings import read_costs

    return read_costs(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{text!r} is no list of numbers; write 50,100,200")
    return tuple(map(int, parts))


PARSED = {  # settings' fields whose values are not plain words or numbers
    "ngrams": Parsed("N,N", _ngrams),
    "min_df": Parsed("N", _document_frequency),
    "max_df": Parsed("N", _document_frequency),
    "C": Parsed("auto|N", _number_or_auto("auto")),
    "smoothing": Parsed("auto|N", _number_or_auto(None)),
    "prior": Parsed("empirical|uniform|N,N…", _prior),
    "select": Parsed("mi:N|chi2:N", _selection),
    "stop_words": FileType(parse=_stop_words, not_files=("english",)),
    "vocabulary": FileType(parse=_vocabulary),
    "half_life": Parsed("TIME", _days),
    "elapsed": Parsed("TIME", _days),
    "budget": Parsed("SECONDS", _seconds),
    "cost": FileType(parse=_costs),
    "models": Parsed("MODEL,…", _names),
    "sizes": Parsed("N,N…", _sizes),
    "text_field": Parsed("NAME[,NAME…]", _names),
}
