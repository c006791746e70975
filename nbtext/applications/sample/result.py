"""Generated documents, as a result that `nbtext train` reads."""

from __future__ import annotations

from collections.abc import Iterable

from nbtext.applications.sample.generation import GeneratedDocument
from nbtext.errors import printable
from nbtext.report.result import Result


def sample_result(
    documents: Iterable[GeneratedDocument], fields: tuple[str, ...]
) -> Result[GeneratedDocument]:
    """Return generated documents as a result.

    TSV begins with the names of the columns: `nbtext train` reads them.

    fields  names of the text fields; empty if there is only one
    """
    return Result(
        documents,
        ("label", *(fields or ("text",))),
        lambda document: [(document.label, *document.texts)],
        layout=lambda document, _: [
            f"{printable(document.label)}  {'  |  '.join(map(printable, document.texts))}"
        ],
        has_header=True,
    )
