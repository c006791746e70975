"""The times of documents: numbers, and dates by stated rules.

A date is one of ISO 8601, whose month and day may have one digit and whose separator may be a
slash or a point, or one whose month has an English name, such as that of a mail. In a date such as
3/4/2024, the order of day and month is not known, so that it is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from nbtext.documents.settings import PERIODS
from nbtext.errors import InputError

# dates without the period
COARSE_DATES = {"month": r"\d{4}", "day": r"\d{4}(?:[-/.]?\d\d?)?"}
MONTHS = str.split("jan feb mar apr may jun jul aug sep oct nov dec")
DATE_HINT = "write dates as 2024-12-31"
MAX_TIME_CHARACTERS = 40  # characters of a time in an error
# the least number that is the milliseconds, microseconds or nanoseconds since 1970, and the factor
UNITS_OF_EPOCH = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
MIN_EPOCH = 1e8  # seconds since 1970; smaller numbers are years and the like

_number_text = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.IGNORECASE
)
_weekday = r"(?:[a-z]{3,9}\.?,? )?"
_clock = (
    r"(?:(?:T|,? (?:at )?)(?P<hour>\d\d?)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r" ?(?P<half>[ap]m)?)? ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
)
_dates = [
    re.compile(pattern + _clock, re.IGNORECASE | re.ASCII)
    for pattern in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d\d?)(?:(?P=mark)(?P<day>\d\d?))?",
        r"(?P<year>\d{4})(?:(?P<month>\d\d)(?P<day>\d\d))?",
        rf"{_weekday}(?P<day>\d\d?)[ -](?P<month>[a-z]{{3,9}})\.?,?[ -](?P<year>\d{{4}})",
        rf"{_weekday}(?P<month>[a-z]{{3,9}})\.? (?P<day>\d\d?),? (?P<year>\d{{4}})",
    )
]
_ambiguous = re.compile(r"\d\d?\s?([./-])\s?\d\d?\s?\1\s?(?:\d{4}|\d\d)(?!\d)")


def read_number(text: str) -> float | None:
    """Return a number; None for another text."""
    return float(text) if _number_text.fullmatch(text.strip()) else None


def read_date(text: str) -> datetime | None:
    """Return the moment of a date, in the zone that it names; None for another text.

    Without a day or a month, it is the first one.
    """
    text = " ".join(text.split())
    try:
        for pattern in _dates:
            if found := pattern.fullmatch(text):
                return _make_date(found)
        if re.search(r"\d ?[ap]m\b", text, re.IGNORECASE):
            return None
        if text[:1].isdecimal() and "W" in text:  # 2024-W05-4
            return datetime.fromisoformat(text)
        from email.utils import parsedate_to_datetime  # only then, because the import takes time

        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _make_date(found: re.Match[str]) -> datetime | None:
    """Return the date of a match; ValueError if there is no such day."""
    month = found["month"] or "1"
    day = found["day"]
    hour = int(found["hour"] or 0)
    if found["half"] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (found["half"].lower() == "pm")
    if day is None and (found["hour"] or found["zone"]):
        return None
    number = int(month) if month.isdecimal() else 1 + MONTHS.index(month[:3].lower())
    second = min(int(found["second"] or 0), 59)  # not a leap second
    date = f"{found['year']}-{number:02}-{int(day or 1):02}"
    clock = f"{hour:02}:{found['minute'] or '00'}:{second:02}.{found['fraction'] or 0}"
    zone = found["zone"] or ""
    if zone[:1].isalpha():  # UTC, GMT or Z
        zone = "Z"
    return datetime.fromisoformat(f"{date}T{clock}{zone}")


def read_period(text: str, period: str) -> str | None:
    """Return the year, month or day of a date as ISO 8601 writes it, by the calendar of its zone;
    None for another text.

    A number is the seconds, or the milliseconds and so on, since 1970.
    """
    date = read_date(text)
    number = read_number(text)
    if date is None and number is not None and number >= MIN_EPOCH:
        factor = next((factor for least, factor in UNITS_OF_EPOCH if number >= least), 1)
        try:
            date = datetime.fromtimestamp(number / factor, UTC)
        except (ValueError, OverflowError, OSError):
            return None
    is_too_short = re.fullmatch(COARSE_DATES.get(period, ""), text.strip()) is not None
    return None if date is None or is_too_short else date.date().isoformat()[: PERIODS[period]]


def refuse_time(text: str, name: str, wanted: str) -> InputError:
    """Return the error of a field that holds no time."""
    what = f"`{name}` is {text[:MAX_TIME_CHARACTERS]!r}, expected {wanted}"
    if _ambiguous.match(text.strip()):
        what = f"`{name}` is {text!r}, in which the order of day, month and year is not known"
    return InputError(what, hint=DATE_HINT)


def sort_keys(times: Sequence[str], places: Sequence[str], name: str) -> list[float]:
    """Return what times are sorted by: themselves if all are numbers, else the seconds since 1970
    of dates, which are in UTC if they name no zone.

    places  the place of each document, for errors
    name    the field that holds the times
    raises  InputError: a time is not a date, and not all are numbers
    """
    numbers = list(map(read_number, times))
    dates = list(map(_read_moment, times))
    is_date = None not in dates and any("." in time for time in times)  # 2024.10 is a month
    if None not in numbers and not is_date:
        return cast("list[float]", numbers)
    is_number = numbers.count(None) < dates.count(None)
    keys = numbers if is_number else dates
    odd = [row for row, key in enumerate(keys) if key is None]
    if odd:
        row = min(odd, key=lambda row: (len(places[row]), places[row]))
        wanted = "a number, as in most documents" if is_number else "a number or a date"
        raise refuse_time(times[row], name, wanted).locate(places[row])
    return cast("list[float]", keys)


def _read_moment(text: str) -> float | None:
    """Return the seconds since 1970 of a date; None for another text."""
    date = read_date(text)
    if date is None:
        return None
    return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()
