"""An evaluation as a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nbtext.bayes.diagnostics import Interval
from nbtext.errors import format_number, number_of, printable
from nbtext.evaluation.evaluator import Evaluation, Groups, TargetAccuracy, ThresholdScore
from nbtext.evaluation.metrics import ALL_METRICS, METRICS, Metric
from nbtext.report.records import OutputRow
from nbtext.report.result import Result
from nbtext.report.terminal import Screen, new_table, show_number
from nbtext.report.training import format_share

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

METRIC_COLUMNS = ("metric", "value", "label")
# labels of a confusion matrix; with more, only the most frequent confusions
MAX_MATRIX_LABELS = 12
MAX_CONFUSIONS = 10  # of labels, also of a wrong one and another one of a document
SHARE_BAR_CHARACTERS = 12  # characters for a share of 1
CONFUSION_STYLES = ("", "dim", "", "yellow", "bold yellow")  # by the share of the row


def evaluation_result(evaluation: Evaluation) -> Result[Evaluation]:
    """Return an evaluation as a result, with a row for each metric, and for each figure of each
    label.
    """
    if evaluation.groups is None:
        return Result([evaluation], METRIC_COLUMNS, _rows, _document, _layout)
    return Result([evaluation], (*METRIC_COLUMNS, "group"), _rows_by_group, _document, _layout)


def _document(evaluation: Evaluation) -> dict[str, Any]:
    record = asdict(evaluation)
    record = _counts(evaluation) | dict(record.pop("metrics")) | record
    return {name: value for name, value in record.items() if value is not None}


def _rows(evaluation: Evaluation) -> Iterator[OutputRow]:
    for name, value in {**_counts(evaluation), **evaluation.metrics}.items():
        yield name, value, ""
    for which, bound in zip(("low", "high"), evaluation.accuracy_interval or (), strict=False):
        yield f"accuracy_{which}", bound, ""
    for name in ("duplicates", "trained_on"):
        if (value := getattr(evaluation, name)) is not None:
            yield name, value, ""
    if (target := evaluation.target_accuracy) is not None:
        yield "target_accuracy", target.target, ""
        yield "min_probability", target.min_probability, ""
    for check in evaluation.targets or ():
        yield f"target_{check.metric}", check.target, check.label
        for name in ("min_probability", "offset"):
            if (value := getattr(check, name)) is not None:
                yield f"target_{name}", value, check.label
    for score in evaluation.per_label:
        for name, value in asdict(score).items():
            if name != "label" and value is not None:
                yield name, value, score.label


def _rows_by_group(evaluation: Evaluation) -> Iterator[OutputRow]:
    """Yield the rows of all documents, then those of each group, which name it."""
    for row in _rows(evaluation):
        yield *row, ""
    groups = evaluation.groups
    assert groups is not None  # which this is for
    if groups.accuracy is not None:
        yield "group_accuracy", groups.accuracy, "", ""
    for label in groups.per_label:
        yield "auroc", label.auroc, label.label, ""
        yield "auroc_within_groups", label.auroc_within_groups, label.label, ""
    for score in groups.per_group:
        for name, value in {"documents": score.documents, **score.metrics}.items():
            yield name, value, "", score.group


def _group_tables(groups: Groups) -> Iterator[Table]:
    """Yield the table of groups, and that of labels."""
    names = [name for name in groups.per_group[0].metrics if ALL_METRICS[name].is_compared]
    titles = [ALL_METRICS[name].title for name in names]
    rows = (
        (
            printable(score.group),
            format_number(score.documents),
            *(show_number(score.metrics.get(name), ".4f") for name in names),
        )
        for score in groups.per_group
    )
    yield new_table(printable(groups.field), "documents", *titles, rows=rows)
    if groups.per_label:
        labels = (
            (
                printable(each.label),
                show_number(each.auroc, ".4f"),
                show_number(each.auroc_within_groups, ".4f"),
            )
            for each in groups.per_label
        )
        yield new_table("label", "AUROC", "within groups", rows=labels)


def format_unknown(n_documents: float) -> str:
    """Say that so many documents have a true label that a model does not know, and what leaves them
    out.
    """
    return (
        f"{n_documents:,} with a label that the model does not know (wrong in the accuracy, left out of metrics of "
        "probabilities)"
    )


def _counts(evaluation: Evaluation) -> dict[str, int | float]:
    found = {
        name: getattr(evaluation, name)
        for name in ("documents", "unlabeled", "unknown_label", "unanswered")
    }
    return {name: value for name, value in found.items() if value is not None}


def _layout(evaluation: Evaluation, screen: Screen) -> Iterator[RenderableType]:
    from rich.text import Text

    line = number_of(evaluation.documents, "document")
    if evaluation.unknown_label:
        line += f", {format_unknown(evaluation.unknown_label)}"
    if evaluation.unlabeled:
        line += f", {evaluation.unlabeled:,} without a label"
    if evaluation.unanswered:
        line += f", {evaluation.unanswered:,} without a predicted label"
    yield line
    if evaluation.duplicates is not None:
        verb = "repeats" if evaluation.duplicates == 1 else "repeat"
        yield f"{evaluation.duplicates:,} of them {verb} another text; equal texts are in one fold"
    shown = {ALL_METRICS[name]: value for name, value in evaluation.metrics.items()}
    has_all = not evaluation.unanswered
    yield from wrap_metrics(
        {each: shown[each] for each in shown if not (each.is_abstention and has_all)},
        screen.width,
        evaluation.accuracy_interval,
    )
    if evaluation.target_accuracy is not None:
        yield _format_target(evaluation.target_accuracy)
    for each in evaluation.targets or ():
        found = f"{each.value:.4f} (interval {each.low:.4f} to {each.high:.4f})"
        yield f"target {each.metric} of {printable(each.label)} {each.target:g}: {each.result}, {found}"
    table = new_table("label", "precision", "recall", "F1", "documents")
    if any(isinstance(score, ThresholdScore) for score in evaluation.per_label):
        table.add_column("threshold", justify="right")
    for score in evaluation.per_label:
        row = [f"{share:.3f}" for share in (score.precision, score.recall, score.f1)]
        row.append(format_number(score.support))
        if isinstance(score, ThresholdScore) and score.threshold is not None:
            row.append(f"{score.threshold:.3f}")
        table.add_row(printable(score.label), *row)
    yield table
    if evaluation.groups is not None:
        yield from _group_tables(evaluation.groups)
    if evaluation.label_pairs:
        pairs = (
            (
                printable(pair.label),
                pair.kind,
                printable(pair.other or "–"),
                format_number(pair.documents),
            )
            for pair in evaluation.label_pairs[:MAX_CONFUSIONS]
        )
        titles = ("wrong label", "error", "another label of the document", "documents")
        yield new_table(*titles, rows=pairs, texts=(0, 1, 2))
    if evaluation.reliability is None:
        return
    table = new_table("probability", "documents", "mean", "accuracy")
    table.add_column("")
    for b in evaluation.reliability:
        figures = (format_number(b.documents), f"{b.mean_probability:.3f}", f"{b.accuracy:.3f}")
        table.add_row(
            f"{b.low:.2f} to {b.high:.2f}", *figures, "━" * round(b.accuracy * SHARE_BAR_CHARACTERS)
        )
    yield table
    labels = evaluation.labels
    matrix = dict(zip(labels, evaluation.confusion_matrix or (), strict=False))
    if len(labels) < 2 or evaluation.metrics["accuracy"] == 1:
        return
    if len(labels) > MAX_MATRIX_LABELS:
        confused = [
            (-count, label, predicted)
            for label, numbers in matrix.items()
            for predicted, count in zip(labels, numbers, strict=True)
            if count and predicted != label
        ]
        most = (
            (printable(label), printable(predicted), format_number(-count))
            for count, label, predicted in sorted(confused)[:MAX_CONFUSIONS]
        )
        yield new_table("true", "predicted", "documents", rows=most, texts=(0, 1))
        return
    # a row for each true label, a column for each predicted label
    table = new_table("true \\ predicted", *map(printable, labels))
    for label, numbers in matrix.items():
        total = max(1, sum(numbers))
        cells = []
        for predicted, count in zip(labels, numbers, strict=True):
            shade = CONFUSION_STYLES[min(4, math.ceil(count * 16 / total))]
            style = "bold blue" if predicted == label else shade
            cells.append(Text(format_number(count) if count else "·", style=style))
        table.add_row(printable(label), *cells)
    yield table


def _format_target(found: TargetAccuracy) -> str:
    confidence = f"{found.confidence:g} confidence"
    if found.min_probability is None:
        why = (
            f"at most {found.highest:.4f} can be"
            if found.highest
            else "there are too few documents"
        )
        return f"accuracy {found.target:g} cannot be assured with {confidence}: {why}"
    what = (
        f"accuracy {found.target:g} with {confidence}: --min-probability {found.min_probability:g}"
    )
    return f"{what} ({found.answered:.4f} answered, accuracy among them {found.accuracy:.4f})"


def wrap_metrics(
    metrics: Mapping[Metric[Any], float], width: int, interval: Interval
) -> Iterator[str]:
    """Yield lines with the titles and values of metrics, as many in a line as fit.

    interval  of the accuracy
    """
    line = ""
    for metric, value in metrics.items():
        own = interval if metric is METRICS["accuracy"] else None
        shown = f"{metric.title} {format_share(value, own)}"
        if line and len(line) + len(shown) + 2 > width:
            yield line + ","
            line = ""
        line += f", {shown}" if line else shown
    yield line
