"""The page of a review, on which a person reads the documents of each finding and decides about
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nbtext.applications.review.findings import LABEL_ERROR, Finding, ReviewedDocument, ReviewResult
from nbtext.applications.review.result import (
    describe,
    document_record,
    summarize_review,
)
from nbtext.applications.review.settings import FINDINGS
from nbtext.features.analyzer import Locator
from nbtext.report.explanation import add_weights, cut_runs, highlight
from nbtext.report.page.rendering import render_page

MAX_FINDINGS = 500  # on the page
MAX_FINDING_DOCUMENTS = 4  # of a finding
MAX_REVIEWED_CHARACTERS = 5_000  # of the text of a document
# to choose from; with more labels, another one is typed into the file of decisions
MAX_LABEL_CHOICES = 200


def shown_findings(review: ReviewResult) -> tuple[Finding, ...]:
    """Return the findings that the page shows."""
    return review.findings[:MAX_FINDINGS]


def render_review_page(
    review: ReviewResult,
    *,
    subject: str,
    texts: Mapping[int, str],
    weights: Sequence[dict[str, float] | None],
    locate: Locator,
) -> bytes:
    """Render the page of a review.

    Parameters
    ----------
    subject : str
        What was reviewed.
    texts : Mapping[int, str]
        The texts of the documents of `shown_findings`, by their numbers.
    weights : Sequence[dict[str, float] or None]
        For each of these findings, the log-odds of the likely label of each word.
    locate : Locator
        Finds the words in a text.
    """
    numbers: dict[ReviewedDocument, int] = {}

    def show(document: ReviewedDocument, words: dict[str, float]) -> dict[str, Any]:
        text = texts.get(document.number, "")
        cut = text[:MAX_REVIEWED_CHARACTERS]
        weighed = (
            (words.get(feature, 0.0), spans) for feature, spans in (locate(cut) if words else ())
        )
        return {
            # in the data of the page; -1: no decision can be made about it
            "number": -1 if document.is_other else numbers.setdefault(document, len(numbers)),
            "place": document.place,
            "label": ", ".join(document.labels) if document.labels is not None else None,
            "labels_as_json": json.dumps(document.labels or ()),
            "is_other": document.is_other,
            "runs": cut_runs(highlight(cut, add_weights(cut, weighed)), len(cut)),
            "n_more": len(text) - len(cut),
        }

    shown = [
        {
            "finding": finding,
            "is_error": finding.finding == LABEL_ERROR,
            "what": describe(finding),
            "documents": [
                show(document, words or {})
                for document in finding.documents[:MAX_FINDING_DOCUMENTS]
            ],
            "n_more": max(0, len(finding.documents) - MAX_FINDING_DOCUMENTS),
        }
        for finding, words in zip(shown_findings(review), weights, strict=True)
    ]
    labels = sorted(
        {label for each in numbers for label in each.labels or ()}
        | {each.likely_label for each in review.findings if each.likely_label is not None}
    )
    is_several = review.n_missing is not None
    found = {finding.finding for finding in shown_findings(review)}
    content: dict[str, Any] = {
        "subject": subject,
        "lines": list(summarize_review(review)),
        "shown": shown,
        "n_findings": len(review.findings),
        "kinds": [name for name in FINDINGS if name in found],
        "labels": labels[:MAX_LABEL_CHOICES],
        "places": {label: place for place, label in enumerate(labels)},
        "is_several": is_several,
    }
    data = {
        "review": {
            "documents": [document_record(document) for document in numbers],
            "several": is_several,
            "labels": labels,
        }
    }
    return render_page(
        "review.html", content, scripts=("review.js",), data=data, package=__package__
    )
