"""An evaluation for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nbtext.errors import number_of, printable
from nbtext.evaluation.metrics import Evaluation
from nbtext.report.heat import fits, heat_map
from nbtext.report.records import Row, format_json, format_rows, markdown_field
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

SUMMARY = (
    "documents",
    "unanswered",
    "accuracy",
    "answered",
    "accuracy_among_answered",
    "macro_f1",
    "weighted_f1",
    "log_loss",
    "brier_score",
    "expected_calibration_error",
    "coverage",
    "mean_set_size",
    "mean_cost",
    "outlier_auroc",
    "foreign_documents",
)
COLUMNS = ("metric", "value", "label")
MOST_COLUMNS = (
    12  # labels whose confusions are shown as a matrix; of more, as a heat map with a list of the most frequent ones
)
MOST_CONFUSIONS = 10
BAR = 12  # characters for a share of 1
SHADES = ("", "dim", "", "yellow", "bold yellow")  # by the share of a row that was confused


def format_evaluation(evaluation: Evaluation, *, output_format: str, screen: Screen = PLAIN) -> str:
    """Format an evaluation as a table for a screen, tsv, csv, json, jsonl or markdown.

    TSV and CSV have a row for each metric, and for the precision, recall, F1 and support of each label.
    """
    if output_format == "table":
        return format_screen(_tables(evaluation, screen.width), screen)
    if output_format in ("json", "jsonl"):
        return format_json(_measured(evaluation), output_format=output_format)
    if output_format == "markdown":
        return _markdown(evaluation)
    return format_rows(COLUMNS, _rows(evaluation), output_format=output_format)


def _rows(evaluation: Evaluation) -> Iterator[Row]:
    for name, value in _summary(evaluation):
        yield name, value, ""
    for score in evaluation.per_label:
        for name in ("precision", "recall", "f1", "support"):
            yield name, getattr(score, name), score.label


def _summary(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Each figure that was measured, with its name."""
    values = ((name, getattr(evaluation, name)) for name in SUMMARY)
    return [
        (name, str(value) if isinstance(value, int) else f"{value:.6f}") for name, value in values if value is not None
    ]


def _measured(evaluation: Evaluation) -> dict[str, Any]:
    return {name: value for name, value in asdict(evaluation).items() if value is not None}


def _markdown(evaluation: Evaluation) -> str:
    lines = ["| metric | value |", "|---|---:|"]
    lines += [f"| {name.replace('_', ' ')} | {value} |" for name, value in _summary(evaluation)]
    lines += ["", "| label | precision | recall | F1 | documents |", "|---|---:|---:|---:|---:|"]
    lines += [
        f"| {markdown_field(s.label)} | {s.precision:.3f} | {s.recall:.3f} | {s.f1:.3f} | {s.support} |"
        for s in evaluation.per_label
    ]
    lines += ["", "| probability | documents | mean | right |", "|---|---:|---:|---:|"]
    lines += [
        f"| {part.low:.3f} to {part.high:.3f} | {part.documents} | {part.mean_probability:.4f} | {part.accuracy:.4f} |"
        for part in evaluation.reliability
    ]
    return "\n".join(lines) + "\n"


def _tables(evaluation: Evaluation, width: int) -> Iterator[RenderableType]:
    yield "\n".join(_summary_lines(evaluation))
    yield _label_table(evaluation)
    yield _reliability_table(evaluation)
    if len(evaluation.labels) > 1 and evaluation.accuracy < 1:
        if len(evaluation.labels) <= MOST_COLUMNS:
            yield _confusion_matrix(evaluation)
            return
        if evaluation.confusion_matrix is not None and fits(evaluation.labels, width):
            yield ""
            yield from heat_map(evaluation.labels, evaluation.confusion_matrix)
        yield _frequent_confusions(evaluation)


def _summary_lines(evaluation: Evaluation) -> Iterator[str]:
    answered = f", {evaluation.unanswered:,} unanswered" if evaluation.unanswered else ""
    yield (
        f"{number_of(evaluation.documents, 'document')}{answered}: accuracy {evaluation.accuracy:.4f}, "
        f"macro F1 {evaluation.macro_f1:.4f}"
    )
    yield (
        f"log-loss {evaluation.log_loss:.4f}, Brier score {evaluation.brier_score:.4f}, "
        f"expected calibration error {evaluation.expected_calibration_error:.4f}"
    )
    if evaluation.unanswered:
        yield f"answered {evaluation.answered:.4f}, accuracy among answered {evaluation.accuracy_among_answered:.4f}"
    if evaluation.coverage is not None:
        yield f"coverage {evaluation.coverage:.4f}, mean set size {evaluation.mean_set_size:.4f}"
    if evaluation.mean_cost is not None:
        yield f"mean cost {evaluation.mean_cost:.4f}"
    if evaluation.outlier_auroc is not None:
        foreign = number_of(evaluation.foreign_documents or 0, "foreign document")
        yield f"outlier AUROC {evaluation.outlier_auroc:.4f} against {foreign}"


def _label_table(evaluation: Evaluation) -> Table:
    table = new_table("label", "precision", "recall", "F1", "documents")
    for s in evaluation.per_label:
        table.add_row(printable(s.label), f"{s.precision:.3f}", f"{s.recall:.3f}", f"{s.f1:.3f}", f"{s.support:,}")
    return table


def _reliability_table(evaluation: Evaluation) -> Table:
    """How often what was thought to be so probable was right."""
    table = new_table("probability", "documents", "mean", "right")
    table.add_column("")
    for part in evaluation.reliability:
        bar = "━" * round(part.accuracy * BAR)
        table.add_row(
            f"{part.low:.2f} to {part.high:.2f}",
            f"{part.documents:,}",
            f"{part.mean_probability:.3f}",
            f"{part.accuracy:.3f}",
            bar,
        )
    return table


def _confusion_matrix(evaluation: Evaluation) -> Table:
    """Rows are true labels, columns what they were taken for."""
    from rich.text import Text

    table = new_table("true \\ predicted", *map(printable, evaluation.labels))
    for place, (label, row) in enumerate(zip(evaluation.labels, evaluation.confusion_matrix or (), strict=False)):
        total = max(1, sum(row))
        cells = [
            Text(
                f"{number:,}" if number else "·",
                style="bold blue" if column == place else SHADES[min(4, -(-number * 16 // total))],
            )
            for column, number in enumerate(row)
        ]
        table.add_row(printable(label), *cells)
    return table


def _frequent_confusions(evaluation: Evaluation) -> Table:
    """The pairs of labels that are confused most often."""
    found: list[tuple[int, Any, Any]] = [
        (-number, label, evaluation.labels[column])
        for place, (label, row) in enumerate(zip(evaluation.labels, evaluation.confusion_matrix or (), strict=False))
        for column, number in enumerate(row)
        if number and column != place
    ]
    table = new_table("true", "predicted", "documents")
    for number, label, taken_for in sorted(found)[:MOST_CONFUSIONS]:
        table.add_row(printable(label), printable(taken_for), f"{-number:,}")
    return table
