"""Generated documents as records that `nbtext train` reads: a label, and one text for each text field."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import BinaryIO

from nbtext.errors import printable
from nbtext.model.generation import GeneratedDocument
from nbtext.report.records import format_records, write_text


def write_samples(
    documents: Iterable[GeneratedDocument], file: BinaryIO, *, output_format: str, fields: tuple[str, ...]
) -> None:
    """Write a record for each document.

    TSV begins with a header line, unlike TSV of results: `nbtext train` takes the names of columns from it.

    Parameters
    ----------
    fields : names of the text fields; empty if there is only one
    """
    columns = ("label", *(fields or ("text",)))
    texts = format_records(
        documents,
        output_format=output_format,
        columns=columns,
        rows=lambda document: [(document.label, *document.texts)],
        records=lambda document: [dict(zip(columns, (document.label, *document.texts), strict=True))],
        table=lambda document: f"{printable(document.label)}  {'  |  '.join(map(printable, document.texts))}\n",
    )
    write_text(chain(["\t".join(columns) + "\n"], texts) if output_format == "tsv" else texts, file)
