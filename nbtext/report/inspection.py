"""An inspection of a model or a matrix as a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nbtext.bayes.label_calibration import MIN_F1
from nbtext.errors import list_some, number_of, printable
from nbtext.evaluation.metrics import ALL_METRICS
from nbtext.model.inspection import (
    Inspection,
    MatrixInspection,
)
from nbtext.model.settings import CRITERIA
from nbtext.report.records import OutputRow
from nbtext.report.result import Result
from nbtext.report.terminal import Screen, name_features, new_table, show_features, show_number
from nbtext.report.training import format_figures, format_parts, format_unlabeled, format_views
from nbtext.settings import format_value

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


ESTIMATES = ("accuracy", "log_loss", "micro_f1", "macro_f1", "precision_at_1")
FEATURE_COLUMNS = tuple(
    str.split("label feature log_odds z mutual_information chi_squared occurrences documents")
)
OF_SEVERAL_LABELS = ("mu", "alpha", "decisions")  # keys
WORD_COLUMNS = ("word", *FEATURE_COLUMNS)
CONFUSED_COLUMNS = ("label A", "label B", "confusions", "A predicted as B", "B predicted as A")


def inspection_result(inspection: Inspection) -> Result[Inspection]:
    """Return the inspection of a model as a result: the words that were asked for, or the features
    of each label.
    """

    def rows(found: Inspection) -> Iterator[OutputRow]:
        for word in found.words:
            yield from ([word.word, label, *_fields(item)] for label, item in word.classes)
            if word.feature is None:  # the model does not know the word
                yield [word.word, *(None for _ in FEATURE_COLUMNS)]
        for view in found.labels if not found.words else ():
            yield from ([view.label, *_fields(each)] for each in view.features)

    columns = WORD_COLUMNS if inspection.words else FEATURE_COLUMNS
    return Result([inspection], columns, rows, _document, _layout)


def matrix_result(inspection: MatrixInspection) -> Result[MatrixInspection]:
    """Return the inspection of a matrix as a result."""

    def layout(found: MatrixInspection, _: Screen) -> Iterator[RenderableType]:
        n_features = found.features or 0
        cells = found.documents * n_features
        share = f", {found.entries / cells:.3%} of the cells" if cells else ""
        size = f"{number_of(found.documents, 'document')} × {number_of(n_features, 'feature')}"
        summary = [("matrix", size), ("entries", f"{found.entries:,} {found.kind}{share}")]
        yield from _lines((*summary, *_settings_line(found)))
        rows = (
            (printable(label) if label is not None else "(none)", f"{number:,}")
            for label, number in found.labels
        )
        yield new_table("label", "documents", rows=rows)

    return Result([inspection], ("label", "documents"), lambda found: found.labels, asdict, layout)


def _document(inspection: Inspection) -> dict[str, Any]:
    record = asdict(inspection)
    if inspection.decisions is None:
        record = {name: value for name, value in record.items() if name not in OF_SEVERAL_LABELS}
    for name in ("parts", "n_corrected", "targets", "view_choice"):  # which few models have
        if not record[name]:
            del record[name]
    return record


def _fields(feature: Any) -> list[Any]:
    return [getattr(feature, name) for name in FEATURE_COLUMNS[1:]]


def summary_lines(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each line of a summary of the model."""
    yield "model", inspection.model
    sizes = (
        f"{number_of(inspection.n_labels, 'label')}, {number_of(inspection.n_features, 'feature')}"
    )
    found = f"{number_of(inspection.documents, 'document')}, {sizes}"
    if inspection.occurrences is not None:
        found += f", {number_of(inspection.occurrences, 'occurrence')} of features"
    yield "training", found
    if inspection.decisions is not None:
        yield "labels", "several for a document, or none"
    if inspection.parts:
        yield "parts", format_parts(inspection.parts, inspection.n_corrected)
        if inspection.view_choice is not None:
            views = dict.fromkeys(part.view for part in inspection.parts if part.weight > 0)
            yield "selected", format_views(inspection.view_choice, views)
    elif inspection.C is not None:
        yield "C", f"{inspection.C:.4g} ({inspection.chosen_by})"
    elif inspection.mu is not None:
        alpha = f", α {inspection.alpha:.4g}" if inspection.alpha is not None else ""
        yield "smoothing", f"μ {inspection.mu:.4g}{alpha} ({inspection.chosen_by})"
    else:
        yield "smoothing", f"{inspection.smoothing:.4g} ({inspection.chosen_by})"
    if inspection.expected is not None:
        expected = inspection.expected
        figures = {
            ALL_METRICS[name].title: expected[name] for name in ESTIMATES if name in expected
        }
        found = format_figures(figures, expected["interval"])
        documents = number_of(expected["documents"], "document")
        yield "estimate", f"{found} ({inspection.estimated_by} of {documents})"
    if inspection.decisions is not None:
        thresholds = sorted({each.threshold for each in inspection.decisions})
        if thresholds:
            yield "thresholds", f"from {thresholds[0]:.4f} to {thresholds[-1]:.4f}"
        fallback = [each.label for each in inspection.decisions if each.is_fallback]
        if fallback:
            judge = "held-out" if inspection.mu is None else "leave-one-out"
            what = f"{number_of(len(fallback), 'label')} with a {judge} F1 below {MIN_F1}"
            yield "fallback", f"{what}: {list_some(fallback)}"
    if inspection.is_converged is False:
        yield (
            "converged",
            "no: the solver stopped before it met its tolerance; scale large values down, or lower C",
        )
    if inspection.calibration is not None:
        yield "temperature", "{:.4g} · (number of tokens)^{:.4g}".format(*inspection.calibration)
    if inspection.outlier_threshold is not None:
        yield (
            "outliers",
            f"documents with a log-likelihood below {inspection.outlier_threshold:.3f} per token",
        )
    if isinstance(inspection.documents, float):
        yield (
            "keywords",
            "documents count for their labels by probabilities; numbers of documents are sums of these",
        )
    if inspection.unlabeled is not None:
        yield "unlabeled", format_unlabeled(inspection.unlabeled)
    if inspection.approximate:
        names = ", ".join(inspection.approximate).replace("_", " ")
        is_calibrated = inspection.decisions is None and inspection.occurrences is not None
        advice = (
            "refit them with nbtext calibrate"
            if is_calibrated
            else "train with --keep-sample to refit them"
        )
        yield "approximate", f"{names}: not fitted to all documents; {advice}"
    yield from _settings_line(inspection)
    if not inspection.has_names:
        yield (
            "words",
            "not stored, because features are hashed; nbtext explain shows those of a document",
        )


def _settings_line(inspection: Inspection | MatrixInspection) -> Iterator[tuple[str, str]]:
    texts = {name: format_value(value) for name, value in inspection.settings.items()}
    if texts:
        yield "settings", ", ".join(f"{name}={printable(text)}" for name, text in texts.items())


def _lines(summary: Iterable[tuple[str, str]]) -> Iterator[Text]:
    from rich.text import Text

    for name, text in summary:
        yield Text.assemble((f"{name:<12}", "bold"), printable(text))


def _layout(inspection: Inspection, _: Screen) -> Iterator[RenderableType]:
    from rich.text import Text

    for word in inspection.words:
        if word.feature is None:
            yield Text.assemble((printable(word.word), "bold"), "  is not in the vocabulary")
            continue
        feature = word.classes[0][1]
        yield Text.assemble(
            (show_features([word.feature])[0], "bold"),
            f"  mutual information {show_number(feature.mutual_information, '.6f')}, "
            f"chi-squared {show_number(feature.chi_squared, ',.1f')}",
        )
        rows = (
            (
                printable(label),
                show_number(view.occurrences, ",.6g"),
                show_number(view.documents, ",.6g" if isinstance(view.documents, float) else ","),
                f"{view.log_odds:+.3f}",
                show_number(view.z, "+.1f"),
            )
            for label, view in word.classes
        )
        yield new_table("label", "occurrences", "documents", "log-odds", "z", rows=rows)
    if inspection.words:
        return
    yield from _lines(summary_lines(inspection))
    if inspection.confused:
        rows = (
            (
                printable(pair.first),
                printable(pair.second),
                f"{pair.first_as_second + pair.second_as_first:,}",
                f"{pair.first_as_second:,}",
                f"{pair.second_as_first:,}",
            )
            for pair in inspection.confused
        )
        yield new_table(*CONFUSED_COLUMNS, rows=rows, texts=(0, 1))
    criterion = CRITERIA[inspection.by]
    decisions = {each.label: each for each in inspection.decisions or ()}
    for view in inspection.labels:
        yield ""
        facts = f"  {number_of(view.documents, 'document')}"
        facts += f", prior {view.prior:.4f}" if view.prior is not None else ""
        if (decision := decisions.get(view.label)) is not None:
            f1 = f", leave-one-out F1 {decision.f1:.4f}" if decision.f1 is not None else ""
            facts += f", threshold {decision.threshold:.4f}{f1}"
        yield Text.assemble(
            (printable(view.label), "bold"), f"{facts}; features by {criterion.title}:"
        )
        names = name_features(view.features)
        numbers = map(criterion.format, view.features)
        yield ", ".join(map(" ".join, zip(names, numbers, strict=True)))
