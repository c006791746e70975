"""The times of documents: what is a number, what a date, and what is neither."""

from datetime import datetime

import pytest

from nbtext.documents.times import read_date, read_period, sort_keys
from nbtext.errors import InputError

NOON = "2024-02-01T12:00:00"
DATES = {
    "2024-02-01": ["2024-2-1", "2024/2/1", "2024.02.1", "20240201", "1 Feb 2024", "Feb 1, 2024"],
    "2024-02-01T00:00": ["2024-02", "01-Feb-2024", "Thursday, 1 February 2024", "2024-W05-4"],
    "2024-01-01": ["2024", "2024/1", "202401"],
    NOON: ["2024-2-1 12:00", "20240201T120000", "2024/02/01 12:00:00.000", "2024-02-01 12 PM"],
    "2024-02-01T00:05": ["2024-2-1 12:05 am", "February 1, 2024 at 12:05AM", "2024-02-01T0005"],
    f"{NOON}.123456": ["2024-02-01 12:00:00.123456789", "2024-02-01T12:00:00,123456"],
    f"{NOON}+00:00": [f"{NOON}Z", "2024-02-01 12:00:00 UTC", "Thu, 01 Feb 2024 12:00:00 GMT"],
    f"{NOON}-05:00": [f"{NOON}-0500", "2024-02-01 12:00:00 -05", "1 Feb 2024 12:00 EST"],
    "2008-08-27T13:08:45+00:00": ["Wed Aug 27 13:08:45 +0000 2008"],
    "2016-12-31T23:59:59+00:00": ["2016-12-31T23:59:60Z"],
}
NO_DATES = ["1/2/2024", "31.12.2024", "12-31-24", "2024-02-30", "2024-13", "2024-2/1", "2024 12"]
NO_DATES += ["spring", "1.10.3", "2024 Q1", "5. Mai 2023", "Feb 1, 2024 13 PM", "2024-02 10:00", ""]


@pytest.mark.parametrize("wanted", DATES)
def test_dates(wanted: str) -> None:
    """ISO 8601 with one digit, slashes and points, names of months, clocks and zones."""
    skipped = ["202401"]  # a number, as four digits and two may be anything
    for text in (wanted, *DATES[wanted]):
        if text not in skipped:
            assert read_date(f" {text} ") == datetime.fromisoformat(wanted), text


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date(text: str) -> None:
    """It is an error at its place, in whose order as texts the later ones would come first."""
    assert read_date(text) is None
    message = "order of day, month and year" if text[-4:] in ("2024", "1-24") else "expected"
    places = ["t.csv:2", "t.csv:3", "t.csv:10", "t.csv:9"]
    with pytest.raises(InputError, match=rf"^t.csv:9: `day` is .*{message}.* 2024-12-31$"):
        sort_keys(["2023-12-31", "2024-01-01", text, text], places, "day")


@pytest.mark.parametrize(
    "times",
    [
        ["-inf", "9", "10", "1e3", "20240101", "20240201"],
        ["2023-12-31", "2024-2-1", "2024-10-1", "2024/11/02"],
        ["2024", "2024-05-06T01:00:00+05:00", "2024-05-06", "2024-05-06T00:00:01Z"],
        ["2024.9", "2024.10", "2024.11"],
        ["2024.05", "2024.5", "2024.75"],
        ["Mon, 01 Jan 2024 10:00:00 +0000", "Mon, 01 Jan 2024 10:00:00 -0100", "2 Jan 2024"],
    ],
)
def test_order(times: list[str]) -> None:
    """Numbers by their size, dates by the moment."""
    keys = sort_keys(times, [""] * len(times), "day")
    assert keys == sorted(set(keys))


def test_a_number_among_dates() -> None:
    """Seconds since 1970 are not a date beside dates, and a date not a number beside numbers."""
    places = ["a:1", "a:2", "a:3"]
    for times, row in ((["2024-5-6", "2024-5-7", "1706745600"], 3), (["7", "n/a", "8"], 2)):
        with pytest.raises(InputError, match=f"^a:{row}: `t` is '{times[row - 1]}', expected"):
            sort_keys(times, places, "t")


@pytest.mark.parametrize(
    ("text", "period", "wanted"),
    [
        ("2024-2-1 23:30:00-08:00", "month", "2024-02"),
        ("Wed Aug 27 13:08:45 +0000 2008", "day", "2008-08-27"),
        ("2024", "year", "2024"),
        ("1706745600", "day", "2024-02-01"),
        ("1706745600000", "month", "2024-02"),
        ("1706745600000000000.0", "year", "2024"),
        ("2024-2", "day", "-"),
        ("202402", "day", "-"),
        ("2024", "month", "-"),
        ("7", "month", "-"),
        ("3/4/2024", "month", "-"),
        ("1e300", "year", "-"),
    ],
)
def test_periods(text: str, period: str, wanted: str) -> None:
    """The month or day is that of the calendar of the zone; what is too coarse has none."""
    assert (read_period(text, period) or "-") == wanted
