"""The charts of an evaluation's page, each with what it shows in words."""

from __future__ import annotations

from collections.abc import Iterator

from nbtext.errors import printable
from nbtext.evaluation.diagnosis import BINS, Diagnosis, Outliers
from nbtext.evaluation.label_curves import LabelCurve
from nbtext.evaluation.reliability import ReliabilityBin
from nbtext.evaluation.set_sizes import SetSize
from nbtext.evaluation.trade_off import AnsweredPart
from nbtext.report.page.chart import Chart
from nbtext.report.page.rendering import percent


def evaluation_charts(diagnosis: Diagnosis) -> Iterator[Chart]:
    """Those of which there is something to draw."""
    yield reliability_chart(diagnosis)
    if len(diagnosis.trust.trade_off) > 1:
        yield trade_off_chart(diagnosis.trust.trade_off)
    if diagnosis.curves is not None:
        yield from label_charts(diagnosis.curves.labels)
        if diagnosis.curves.set_sizes:
            yield set_size_chart(diagnosis.curves.set_sizes)
    if diagnosis.outliers is not None:
        yield typicality_chart(diagnosis.outliers)


def reliability_chart(diagnosis: Diagnosis) -> Chart:
    """Probability against frequency, after calibration and before."""
    evaluation, before = diagnosis.evaluation, diagnosis.trust.before
    error = percent(evaluation.expected_calibration_error)
    words = (
        "On the dashed line, answers are right as often as their probability says; below it they are less often right. "
    )
    if before is not None:
        words += f"Calibration takes the mean distance from it from {percent(before[1])} to {error}."
    else:
        words += f"The mean distance from it is {error}."
    after = "calibrated" if diagnosis.trust.calibration is not None else "as they are"
    rows = [
        *_reliability_rows(after, evaluation.reliability),
        *_reliability_rows("not calibrated", before[0] if before is not None else ()),
    ]
    return Chart(
        "reliability", "Reliability", words, ("kind", "probability", "right", "documents"),
        ("probabilities", "mean probability", "share right", "documents"), rows,
    )  # fmt: skip


def _reliability_rows(kind: str, bins: tuple[ReliabilityBin, ...]) -> Iterator[tuple[str, float, float, int]]:
    for part in bins:
        yield kind, part.mean_probability, part.accuracy, part.documents


def trade_off_chart(parts: tuple[AnsweredPart, ...]) -> Chart:
    """What is answered against what of it is right."""
    all_of_them = parts[-1]
    words = (
        f"From the right, where all that can be answered is and {percent(all_of_them.accuracy)} of it is right, to the "
        "left, where only the surest answers are given, and more of them are right."
    )
    rows = [(part.threshold, part.answered, part.accuracy, part.documents) for part in parts]
    return Chart(
        "trade_off", "How much is answered at which accuracy", words,
        ("threshold", "answered", "accuracy", "documents"),
        ("probability from", "share answered", "of these right", "documents"), rows,
    )  # fmt: skip


def label_charts(curves: tuple[LabelCurve, ...]) -> Iterator[Chart]:
    """Precision against recall, and recall against false alarms, of each label; a choice in the page brings one out."""
    rows = [
        (printable(curve.label), place, *point) for curve in curves for place, point in enumerate(curve.points)
    ]  # what both draw: the page has a table of the areas
    columns = ("label", "place", "threshold", "precision", "recall", "rate")
    yield Chart(
        "precision_recall", "Precision and recall",
        "Each line is a label, from its surest documents on the left to all of them on the right: the higher, the more "
        "of what is given the label bears it.",
        columns, columns, rows, is_tabled=False,
    )  # fmt: skip
    yield Chart(
        "roc", "ROC",
        "Each line is a label: how many of its documents are found (up), at the price of how many others (right).",
        columns, columns, (), is_tabled=False, rows_of="precision_recall",
    )  # fmt: skip


def set_size_chart(sizes: tuple[SetSize, ...]) -> Chart:
    """What sets of labels cost."""
    best = min(sizes, key=lambda size: abs(size.asked - 0.95))
    words = (
        f"Asked with --coverage {best.asked:g}, sets hold {best.mean_size:.2f} labels on average, and "
        f"{percent(best.coverage)} of them the true one."
    )
    return Chart(
        "set_sizes", "Coverage against the size of sets", words, ("asked", "coverage", "size"),
        ("--coverage", "sets with the true label", "labels in a set"), sizes,
    )  # fmt: skip


def typicality_chart(outliers: Outliers) -> Chart:
    """How likely these documents are among those that the model learned from."""
    words = (
        "Documents like those learned from would fill all columns up to the dashed line; a high first column means "
        "that many of them are unlike."
    )
    rows = [(place / BINS, (place + 1) / BINS, number) for place, number in enumerate(outliers.typicality)]
    return Chart(
        "typicality", "How typical the documents are", words, ("low", "high", "documents"), ("from", "to", "documents"),
        rows,
    )  # fmt: skip
