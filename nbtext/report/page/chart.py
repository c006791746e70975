"""A chart of a page: a drawing, what it shows in words, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_ROWS = 40  # of the table; of more rows, so many at even distances


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn by the Vega-Lite specification `charts/NAME.json`, which finds the rows in its data."""

    name: str
    title: str
    summary: str  # what there is to see, in words
    columns: tuple[str, ...]  # the fields of the specification
    headings: tuple[str, ...]  # the same for people, in the table
    rows: Sequence[Sequence[Any]]  # numbers, texts and None
    is_tabled: bool = True  # else the page has another table of the same
    rows_of: str | None = None  # the chart that has the same columns and rows, which need not be there twice

    def plain(self, specification: dict[str, Any]) -> dict[str, Any]:
        """What the page's script draws it from; numbers to six digits."""
        if self.rows_of is not None:
            return {"specification": specification, "rows_of": self.rows_of}
        rows = [[_short(value) for value in row] for row in self.rows]
        return {"specification": specification, "columns": self.columns, "rows": rows}

    def table(self) -> list[list[str]]:
        """Its rows as text."""
        return [[_shown(value) for value in row] for row in thinned(self.rows, MOST_ROWS)]


def thinned(rows: Sequence[Any], most: int) -> list[Any]:
    """All of the rows, or so many at even distances, the first and the last among them."""
    if len(rows) <= most:
        return list(rows)
    return [rows[round(place * (len(rows) - 1) / (most - 1))] for place in range(most)]


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
