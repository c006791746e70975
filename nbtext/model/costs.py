"""What errors cost: a file of true label, predicted label and cost."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nbtext.errors import InputError

COLUMNS = 3
HINT = "a line is true label, predicted label and cost, between commas, semicolons or tabs"
WRONG = 1.0  # what a wrong label, or none, costs where the file does not say


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of each pair of a true and a predicted label that was listed; of others 0 where right, 1 where wrong.

    The predicted label "" is no label: what it costs to abstain.
    """

    path: str
    pairs: dict[tuple[str, str], float]
    lines: dict[tuple[str, str], int]

    def of(self, true: str, predicted: str | None) -> float:
        """What this answer costs."""
        listed = self.pairs.get((true, predicted or ""))
        return listed if listed is not None else WRONG * (true != predicted)

    def check(self, labels: Iterable[str]) -> None:
        """Raise InputError where a label is not among these."""
        known = set(labels)
        for (true, predicted), line in self.lines.items():
            for label in (true, predicted or true):
                if label not in known:
                    raise InputError(
                        f"there is no label {label}", where=f"{self.path}:{line}", hint=f"there are {_said(known)}"
                    )


def read_costs(path: str) -> Costs:
    """Costs from a CSV or TSV file, with or without a header.

    raises  InputError, with the line: it cannot be read, or what it says is no cost
    """
    pairs: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], int] = {}
    for line, columns in _rows(path):
        where = f"{path}:{line}"
        if len(columns) != COLUMNS:
            raise InputError(f"expected {COLUMNS} columns, found {len(columns)}", where=where, hint=HINT)
        true, predicted, cost = columns
        if line == 1 and _number(cost) is None:
            continue  # the header
        number = _number(cost)
        if number is None or not math.isfinite(number):
            raise InputError(f"{cost!r} is no cost", where=where, hint=HINT)
        if not true:
            raise InputError("the true label is empty", where=where, hint=HINT)
        if (true, predicted) in pairs:
            raise InputError(f"{true} taken for {predicted} has a cost already", where=where, hint="keep one of both")
        pairs[true, predicted], lines[true, predicted] = number, line
    if not pairs:
        raise InputError("there is no cost in it", where=path, hint=HINT)
    return Costs(path, pairs, lines)


def _rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """The columns of each line that is not blank, with its number."""
    from nbtext.documents.records import separator_of

    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = next(filter(str.strip, file), "")
            file.seek(0)
            rows = csv.reader(file, delimiter=separator_of(first, frozenset(), COLUMNS), strict=True)
            for columns in rows:
                if any(map(str.strip, columns)):
                    yield rows.line_num, [column.strip() for column in columns]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path, hint="check the path") from None
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise InputError(f"holds no costs ({error})", where=path, hint=HINT) from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _said(labels: set[str]) -> str:
    shown = sorted(labels)[:10]
    return ", ".join(shown) + (" and others" if len(labels) > len(shown) else "")
