"""Which columns `predict --add-columns` adds to the rows of a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from nbtext.errors import SettingsError

COLUMNS = ("label", "probability")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSettings:
    """Which columns are added to the rows of a source.

    add_columns    whether columns are added
    columns        names of fields of a prediction
    column_prefix  what the names of the columns begin with
    table          the name of the new table, if the rows are those of a database; None: the default name
    """

    add_columns: bool = False
    columns: tuple[str, ...] = COLUMNS
    column_prefix: str = ""
    table: str | None = None

    def __post_init__(self) -> None:
        given = {"column_prefix": self.column_prefix, "table": self.table, "columns": self.columns != COLUMNS}
        if not self.add_columns and any(given.values()):
            where = next(name for name, value in given.items() if value)
            raise SettingsError("no columns are added to records", where=where, hint="give --add-columns")
        if self.table == "":
            raise SettingsError("the name of the table is empty", where="table", hint="name it, or leave out --table")
        for name in self.columns:
            if name not in FIELDS:
                raise SettingsError(
                    f"there is no column {name!r}", where="columns", hint=f"choose of {', '.join(FIELDS)}"
                )
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise SettingsError("name each column once", where="columns", hint=f"choose of {', '.join(FIELDS)}")


class Field(NamedTuple):
    """A field of a prediction: the kind of its values (see `rows.Column`), and how a value is written as text."""

    kind: str
    cell: Callable[[Any], str]


def _number_cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _text_cell(value: str | None) -> str:
    return value or ""


def _set_cell(labels: tuple[str, ...]) -> str:
    from nbtext.report.records import set_field

    return set_field(labels)


def _json_cell(value: Any) -> str:
    import json  # only needed here: json is slow to import

    return json.dumps(value, ensure_ascii=False)


FIELDS = {
    "label": Field("text", _text_cell),
    "probability": Field("number", _number_cell),
    "known": Field("number", _number_cell),
    "outlier": Field("boolean", lambda value: "" if value is None else str(value).lower()),
    "typicality": Field("number", lambda value: "" if value is None else f"{value:g}"),
    "reason": Field("text", _text_cell),
}
DECIDED_FIELDS = {  # are added where a decision asks for them
    "labels": Field("labels", _set_cell),
    "scores": Field("scores", _json_cell),
    "explanation": Field("contributions", _json_cell),
}
