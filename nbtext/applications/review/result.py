"""The findings of a review: as a table, as rows for programs, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nbtext.applications.review.findings import (
    LABEL_ERROR,
    MAX_SHOWN_TEXT,
    Finding,
    ReviewedDocument,
    ReviewResult,
)
from nbtext.applications.review.settings import FINDINGS
from nbtext.errors import number_of, printable
from nbtext.report.records import join_escaped
from nbtext.report.result import Result
from nbtext.report.terminal import new_table, shorten_text

if TYPE_CHECKING:
    from rich.table import Table

FINDING_COLUMNS = str.split("finding certainty label likely_label reason ids places")
MAX_NAMED_DOCUMENTS = 3  # documents of a finding, or labels, that are named


def review_result(review: ReviewResult) -> Result[tuple[Finding, ...]]:
    """Return the findings as a result, with one record or row for each."""

    def rows(findings: Iterable[Finding]) -> Iterator[list[Any]]:
        for finding in findings:
            *fields, documents = finding_record(finding).values()
            names = ([document[name] for document in documents] for name in ("id", "place"))
            yield [*fields, *map(join_escaped, names)]

    return Result(
        [review.findings] if review.findings else [],
        FINDING_COLUMNS,
        rows,
        layout=lambda findings, _: [_table(findings)],
        records=lambda findings: map(finding_record, findings),
    )


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return the record of a finding."""
    documents = [document_record(document) for document in finding.documents]
    return {name: getattr(finding, name) for name in FINDING_COLUMNS[:5]} | {"documents": documents}


def document_record(document: ReviewedDocument) -> dict[str, Any]:
    """Return the record of a document: its label is a text, a list of several, or null."""
    label: Any = None
    if document.labels is not None:
        label = document.labels[0] if len(document.labels) == 1 else list(document.labels)
    record = {"id": document.id, "place": document.place, "label": label}
    return record | {"against": True} if document.is_other else record


def _table(findings: Iterable[Finding]) -> Table:
    table = new_table("finding", "certainty", "label", "documents", texts=(2, 3))
    for finding in findings:
        named = [printable(document.place) for document in finding.documents[:MAX_NAMED_DOCUMENTS]]
        n_more = len(finding.documents) - len(named)
        named += [f"and {n_more:,} more"] if n_more else []
        first = finding.documents[0].text
        named += [shorten_text(first, is_cut=len(first) == MAX_SHOWN_TEXT)] if first else []
        row = (finding.finding, f"{finding.certainty:.1%}", describe(finding), "\n".join(named))
        table.add_row(*row)
    return table


def describe(finding: Finding) -> str:
    """Return what a label error should become: `spam → ham`; with several labels, `add ham` or
    `remove spam`. Of other findings, the reason or the labels.
    """
    if finding.finding != LABEL_ERROR:
        labels = {label for each in finding.documents for label in each.labels or ()}
        what = finding.reason or ", ".join(sorted(labels))
    elif finding.label is None:
        what = f"add {finding.likely_label}"
    elif finding.likely_label is None:
        what = f"remove {finding.label}"
    else:
        what = f"{finding.label} → {finding.likely_label}"
    return printable(what)


def summarize_review(review: ReviewResult) -> Iterator[str]:
    """Yield the result of a review in a few lines for people."""
    found = Counter(finding.finding for finding in review.findings)
    counts = (
        ", ".join(f"{name} {found[name]:,}" for name in FINDINGS if found[name]) or "nothing found"
    )
    yield f"{number_of(review.n_documents, 'document')}: {counts}"
    if not review.n_judged:
        yield "no label was judged: that needs two labels, and two documents of each"
        return
    unit = "document" if review.n_missing is None else "label"
    judged = number_of(review.n_judged, unit)
    line = f"estimated share of wrong labels: {review.n_wrong / review.n_judged:.2%} of {judged}"
    if review.n_missing is not None:
        line += f"; documents lack about {number_of(round(review.n_missing), 'label')}"
    yield line
