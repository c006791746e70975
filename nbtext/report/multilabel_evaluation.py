"""An evaluation of several labels for a document as a table, as rows for programs, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from nbtext.errors import number_of, printable
from nbtext.evaluation.multilabel import MULTILABEL_METRICS, LabelPair, MultilabelEvaluation
from nbtext.report.evaluation import COLUMNS, wrap_metrics
from nbtext.report.records import Row, format_json, format_rows
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_PAIRS = 10  # in a table for people
SCORES = ("precision", "recall", "f1", "support", "threshold")


def format_set_evaluation(evaluation: MultilabelEvaluation, *, output_format: str, screen: Screen = PLAIN) -> str:
    """Format an evaluation as a table for a screen, tsv, csv, json, jsonl or markdown.

    TSV and CSV have a row for each metric, and for the precision, recall, F1, support and threshold of each label.
    """
    if output_format == "table":
        return format_screen(_tables(evaluation, screen.width), screen)
    if output_format in ("json", "jsonl"):
        record = asdict(evaluation)
        record = _counts(evaluation) | dict(record.pop("metrics")) | record
        return format_json(record, output_format=output_format)
    if output_format == "markdown":
        return _markdown(evaluation)
    return format_rows(COLUMNS, _rows(evaluation), output_format=output_format)


def _counts(evaluation: MultilabelEvaluation) -> dict[str, int | float]:
    return {name: getattr(evaluation, name) for name in ("documents", "unlabeled", "unanswered")}


def _rows(evaluation: MultilabelEvaluation) -> Iterator[Row]:
    for name, value in {**_counts(evaluation), **evaluation.metrics}.items():
        yield name, value, ""
    for score in evaluation.per_label:
        for name in SCORES:
            if getattr(score, name) is not None:
                yield name, getattr(score, name), score.label


def _markdown(evaluation: MultilabelEvaluation) -> str:
    summary = {**_counts(evaluation), **evaluation.metrics}
    tables: list[tuple[tuple[str, ...], list[Row]]] = [
        (("metric", "value"), [(name.replace("_", " "), value) for name, value in summary.items()]),
        (("label", "precision", "recall", "F1", "documents", "threshold"), list(_label_rows(evaluation))),
        (("error", "label", "other label", "documents"), list(_pair_rows(evaluation.label_pairs))),
    ]
    return "\n".join(format_rows(*table, output_format="markdown") for table in tables)


def _label_rows(evaluation: MultilabelEvaluation) -> Iterator[tuple[str, ...]]:
    for score in evaluation.per_label:
        threshold = f"{score.threshold:.3f}" if score.threshold is not None else ""
        shares = (f"{share:.3f}" for share in (score.precision, score.recall, score.f1))
        yield score.label, *shares, f"{score.support:,}", threshold


def _pair_rows(pairs: tuple[LabelPair, ...]) -> Iterator[tuple[str, ...]]:
    for pair in pairs[:MAX_PAIRS]:
        yield pair.kind, pair.label, pair.other if pair.other is not None else "", f"{pair.documents:,}"


def _tables(evaluation: MultilabelEvaluation, width: int) -> Iterator[RenderableType]:
    line = number_of(evaluation.documents, "document")
    if evaluation.unlabeled:
        line += f", {evaluation.unlabeled:,} without a label"
    if evaluation.unanswered:
        line += f", {evaluation.unanswered:,} without a predicted label"
    yield line
    yield from wrap_metrics(evaluation.metrics, MULTILABEL_METRICS, width)
    table = new_table("label", "precision", "recall", "F1", "documents", "threshold")
    for row in _label_rows(evaluation):
        table.add_row(*map(printable, row))
    yield table
    if evaluation.label_pairs:
        table = new_table("wrong label", "error", "another label of the document", "documents")
        for kind, label, other, documents in _pair_rows(evaluation.label_pairs):
            table.add_row(printable(label), kind, printable(other) or "–", documents)
        yield table
