"""The shares of labels as a table, as rows for programs, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.bayes.prevalence import CONFIDENCE
from nbtext.errors import number_of, printable
from nbtext.report.records import format_json, format_rows
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from nbtext.model.prevalence import Prevalence

COLUMNS = ("label", "share", "low", "high", "documents", "predicted", "predicted_share")


def format_prevalence(prevalence: Prevalence, *, output_format: str, screen: Screen = PLAIN) -> str:
    """Format shares as a table for the screen, tsv, csv, json, jsonl or markdown."""
    rows = [
        (label, share, low, high, share * prevalence.n_documents, predicted, naive)
        for label, share, low, high, predicted, naive in zip(
            prevalence.labels,
            *(each.tolist() for each in prevalence.estimate),
            prevalence.predicted.tolist(),
            prevalence.naive_shares.tolist(),
            strict=True,
        )
    ]
    if output_format == "table":
        table = new_table("label", "share", f"{CONFIDENCE:.0%} interval", "documents", "predicted")
        for label, share, low, high, documents, predicted, naive in rows:
            interval = f"{low:.4f} … {high:.4f}"
            table.add_row(
                printable(label), f"{share:.4f}", interval, f"{documents:,.0f}", f"{predicted:,} ({naive:.4f})"
            )
        title = f"{number_of(prevalence.n_documents, 'document')}; predicted: counted labels, errors included"
        return format_screen([title, table], screen)
    if output_format in ("json", "jsonl"):
        records: list[dict[str, Any]] = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        if output_format == "jsonl":
            return "".join(format_json(record, output_format="jsonl") for record in records)
        return format_json({"documents": prevalence.n_documents, "labels": records}, output_format="json")
    return format_rows(COLUMNS, rows, output_format=output_format)
