"""Rows of a table for other programs, and values as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from nbtext.report.fields import markdown_field, tsv_field

Row = Sequence[str | int | float | None]
DIGITS = 6


def row_text(header: Sequence[str], rows: Iterable[Row], *, form: str) -> str:
    """Rows as tsv (without the header, as everywhere), csv or markdown."""
    texts = [[field_text(value) for value in row] for row in rows]
    if form == "tsv":
        return "".join("\t".join(map(tsv_field, row)) + "\n" for row in texts)
    if form == "csv":
        target = io.StringIO()
        csv.writer(target).writerows([header, *texts])
        return target.getvalue()
    lines = [header, ["---"] * len(header), *([markdown_field(text) for text in row] for row in texts)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def field_text(value: str | int | float | None) -> str:
    """A value in a field: six digits behind the point, nothing where there is none."""
    if value is None:
        return ""
    return f"{value:.{DIGITS}f}" if isinstance(value, float) else str(value)


def count_text(value: float) -> str:
    """A count as it is, and a sum of weights to six digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def json_text(record: Any, *, form: str = "json") -> str:
    """A record as JSON on many lines, or on one for jsonl."""
    plain = record if isinstance(record, dict) else asdict(record)
    return json.dumps(plain, ensure_ascii=False, indent=2 if form == "json" else None) + "\n"
