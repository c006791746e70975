"""A chart of a page: a Vega-Lite drawing, a summary in words, and its data as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

MOST_ROWS = 40  # of the table; of more rows, so many are shown, evenly spaced


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    name           of its figure on the page
    summary        what the chart shows, in words
    columns        fields of the rows in the specification
    headings       the same for people, in the table
    rows           numbers, texts and None
    is_tabled      False: the page has another table of the same data
    rows_of        another chart with the same rows, which are then not repeated
    specification  file in `charts/`, without its suffix; "": `name`
    metric         title of a metric, which replaces METRIC in the specification
    """

    name: str
    title: str
    summary: str
    columns: tuple[str, ...]
    headings: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    is_tabled: bool = True
    rows_of: str | None = None
    specification: str = ""
    metric: str = ""

    def plain(self) -> dict[str, Any]:
        """Return what the page's script draws the chart from; numbers have six digits."""
        path = files("nbtext.report.page") / "charts" / f"{self.specification or self.name}.json"
        specification = json.loads(path.read_text(encoding="utf-8").replace("METRIC", self.metric))
        if self.rows_of is not None:
            return {"specification": specification, "rows_of": self.rows_of}
        rows = [[_shorten(value) for value in row] for row in self.rows]
        return {"specification": specification, "columns": self.columns, "rows": rows}

    def table(self) -> list[list[str]]:
        """Return the rows as text, at most 40 of them."""
        rows = list(self.rows)
        if len(rows) > MOST_ROWS:
            rows = [rows[round(place * (len(rows) - 1) / (MOST_ROWS - 1))] for place in range(MOST_ROWS)]
        return [[_show(value) for value in row] for row in rows]


def _shorten(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _show(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
