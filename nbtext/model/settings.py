"""How answers are given, and unlabeled documents learned from: the options of these stages, and nothing else."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nbtext.errors import InputError, SettingsError

COST_COLUMNS = 3
COST_HINT = "a line is true label, predicted label and cost, between commas, semicolons or tabs"
DEFAULT_ERROR_COST = 1.0  # of a wrong label, or none, that the file does not list


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of each pair of a true and a predicted label that was listed; of others 0 where right, 1 where wrong.

    The predicted label "" is no label: what it costs to abstain.
    """

    path: str
    pairs: dict[tuple[str, str], float]
    lines: dict[tuple[str, str], int]

    @property
    def has_abstention(self) -> bool:
        """Whether the file lists a cost of abstaining."""
        return any(predicted == "" for _, predicted in self.pairs)

    def of(self, true: str, predicted: str | None) -> float:
        """What this answer costs."""
        listed = self.pairs.get((true, predicted or ""))
        return listed if listed is not None else DEFAULT_ERROR_COST * (true != predicted)

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
        if len(columns) != COST_COLUMNS:
            raise InputError(f"expected {COST_COLUMNS} columns, found {len(columns)}", where=where, hint=COST_HINT)
        true, predicted, cost = columns
        if line == 1 and _number(cost) is None:
            continue  # the header
        number = _number(cost)
        if number is None or not math.isfinite(number):
            raise InputError(f"{cost!r} is no cost", where=where, hint=COST_HINT)
        if not true:
            raise InputError("the true label is empty", where=where, hint=COST_HINT)
        if (true, predicted) in pairs:
            raise InputError(f"{true} taken for {predicted} has a cost already", where=where, hint="keep one of both")
        pairs[true, predicted], lines[true, predicted] = number, line
    if not pairs:
        raise InputError("there is no cost in it", where=path, hint=COST_HINT)
    return Costs(path, pairs, lines)


def _rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """The columns of each line that is not blank, with its number."""
    from nbtext.documents.tables import separator_of

    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = next(filter(str.strip, file), "")
            file.seek(0)
            rows = csv.reader(file, delimiter=separator_of(first, frozenset(), COST_COLUMNS), strict=True)
            for columns in rows:
                if any(map(str.strip, columns)):
                    yield rows.line_num, [column.strip() for column in columns]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path, hint="check the path") from None
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise InputError(f"holds no costs ({error})", where=path, hint=COST_HINT) from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _said(labels: set[str]) -> str:
    shown = sorted(labels)[:10]
    return ", ".join(shown) + (" and others" if len(labels) > len(shown) else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSettings:
    """How sure an answer must be, and of what kind it is."""

    min_probability: float | None = None
    coverage: float | None = None

    cost: Costs | None = None

    explain: int | None = None

    def __post_init__(self) -> None:
        if self.explain is not None and self.explain < 1:
            raise SettingsError(f"{self.explain} is less than 1", where="--explain", hint="5 is usual")
        if self.min_probability is not None and not 0 <= self.min_probability <= 1:
            raise SettingsError(f"{self.min_probability:g} is no probability", where="--min-probability")
        if self.coverage is not None and not 0 < self.coverage < 1:
            hint = "0.95 is nineteen times out of twenty"
            raise SettingsError(f"{self.coverage:g} is not between 0 and 1", where="--coverage", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlabeledSettings:
    """How documents without labels are learned from."""

    em: int | None = None

    marginals: bool = False

    def __post_init__(self) -> None:
        if self.em is not None and self.em < 1:
            raise SettingsError(f"{self.em} is less than 1", where="--em", hint="10 is usual")
        if self.em is not None and self.marginals:
            raise SettingsError("these are two ways to the same end", where="--marginals", hint="leave out one")

    @property
    def option(self) -> str | None:
        """The one that says how; None where none does."""
        return "--marginals" if self.marginals else "--em" if self.em is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FadingSettings:
    """How much less older documents weigh, by how much time has passed: what the clock says is never looked at."""

    half_life: float | None = None
    elapsed: float | None = None

    def __post_init__(self) -> None:
        for name, value, least in (
            ("--half-life", self.half_life, "more than 0"),
            ("--elapsed", self.elapsed, "0 or more"),
        ):
            if value is not None and not (0 <= value < math.inf and (value > 0 or name == "--elapsed")):
                raise SettingsError(f"a time of {least} is wanted", where=name, hint="write 30d, 12h or 4w")
        if (self.half_life is None) != (self.elapsed is None):
            missing = "--elapsed" if self.elapsed is None else "--half-life"
            given = "--half-life" if self.elapsed is None else "--elapsed"
            raise SettingsError(f"{missing} is wanted, too", where=given, hint="as in --half-life 30d --elapsed 7d")

    @property
    def factor(self) -> float:
        """What a document that was learned before weighs from now on: 2^(−elapsed / half-life) of what it did."""
        if self.half_life is None or self.elapsed is None:
            return 1.0
        return float(2.0 ** (-self.elapsed / self.half_life))
