"""Which columns `predict --add-columns` adds to the rows of a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nbtext.errors import SettingsError
from nbtext.records import dataclass

COLUMNS = ("label", "probability")
SEVERAL_COLUMNS = ("labels", "probabilities")  # of a model that predicts several labels for a document


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
            raise SettingsError("is used only with --add-columns", where=where, hint="add --add-columns")
        if self.table == "":
            raise SettingsError("the name of the table is empty", where="table", hint="name it, or leave out --table")
        for name in self.columns:
            if name not in FIELDS:
                raise SettingsError(
                    f"unknown column {name!r}", where="columns", hint=f"choose from {', '.join(FIELDS)}"
                )
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise SettingsError("name each column once", where="columns", hint=f"choose from {', '.join(FIELDS)}")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a prediction.

    kind        the kind of its values; see `rows.Column`
    cell        returns a value, or an item of a list, as text
    is_list     whether its values are lists, whose items are divided by a separator in a text
    is_several  whether only predictions of several labels have it; False: only those of one label; None: all
    """

    kind: str
    cell: Callable[[Any], str]
    is_list: bool = False
    is_several: bool | None = None


def _number_cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _text_cell(value: str | None) -> str:
    return value or ""


def _json_cell(value: Any) -> str:
    import json  # only needed here: json is slow to import

    return json.dumps(value, ensure_ascii=False)


LABEL_LIST = Field("labels", str, is_list=True)
FIELDS = {
    "label": Field("text", _text_cell, is_several=False),
    "probability": Field("number", _number_cell, is_several=False),
    "labels": replace(LABEL_LIST, is_several=True),
    "probabilities": Field("numbers", _number_cell, is_list=True, is_several=True),
    "known": Field("number", _number_cell),
    "outlier": Field("boolean", lambda value: "" if value is None else str(value).lower()),
    "typicality": Field("number", lambda value: "" if value is None else f"{value:g}", is_several=False),
    "reason": Field("text", _text_cell),
}
SCORES, EXPLANATION = Field("scores", _json_cell), Field("contributions", _json_cell)
