"""Predictions as records: one for each document, with one label or several."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import SettingsError, printable
from nbtext.kernel import choose_version
from nbtext.model.multilabel_predictions import AnyPredictions, MultilabelPredictions
from nbtext.output import Writer
from nbtext.report.records import (
    DIGITS,
    FASTTEXT,
    HEADER,
    field_text,
    format_records,
    format_rows,
    join_labels,
    write_text,
)

if TYPE_CHECKING:
    from nbtext.model.predictor import Predictions
    from nbtext.model.settings import DecisionSettings


MAX_SCORED, FEW_SCORED = 1000, 64  # labels whose probabilities a record has, of several: all, or the most probable ones
FASTTEXT_PREFIX = "__label__"
SHORT_COLUMNS = ("id", "label", "probability")


def join_records(names: Sequence[str], labels: list[str | None], probabilities: NDArray[np.float64]) -> str | None:
    """Return None: the lines are formatted in plain Python."""
    return None


join_records = choose_version(join_records, "nbtext.documents._lines")


def write_predictions(
    predictions: Iterable[AnyPredictions],
    file: Writer,
    *,
    output_format: str,
    decisions: DecisionSettings | None = None,
    is_multilabel: bool = False,
) -> None:
    """Write one record for each document, each batch as soon as it arrives.

    Parameters
    ----------
    decisions : DecisionSettings, optional
        Prediction sets are one more column, and each of the most probable labels is two.
    is_multilabel : bool
        The model predicts several labels for a document.

    Raises
    ------
    SettingsError
        The format cannot hold the labels.
    """
    if output_format == HEADER:
        from nbtext.report.mail_header import format_headers

        write_text(map(format_headers, predictions), file)
        return
    with_sets = decisions is not None and decisions.coverage is not None
    top_k = decisions.top_k if decisions is not None else None
    if output_format == FASTTEXT:
        write_text((format_fasttext(batch, top_k) for batch in predictions), file)
        return
    fields = ("labels", "probabilities", "label_set") if is_multilabel else ("label", "probability", "labels")
    columns = ("id", *(fields if with_sets else fields[:2]), *top_columns(top_k))
    if output_format == "tsv" and columns == SHORT_COLUMNS:
        write_text(map(_short_lines, predictions), file)
        return
    texts = format_records(
        predictions,
        output_format=output_format,
        columns=columns,
        rows=lambda batch: _rows(batch, top_k),
        records=lambda batch: prediction_records(batch, top_k),
        table=lambda batch: _table(batch, top_k),
    )
    write_text(texts, file)


def _short_lines(batch: AnyPredictions) -> str:
    """Format the columns `SHORT_COLUMNS` as TSV."""
    lines = None
    with suppress(UnicodeEncodeError):
        if not isinstance(batch, MultilabelPredictions):
            lines = join_records(batch.ids, batch.labels, batch.best)
    return lines if lines is not None else format_rows(SHORT_COLUMNS, _rows(batch, None), output_format="tsv")


def top_columns(top_k: int | None) -> list[str]:
    """Return the names of the columns of the most probable labels."""
    return [f"{name}_{place}" for place in range(1, (top_k or 0) + 1) for name in ("label", "probability")]


def prediction_records(batch: AnyPredictions, top_k: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield each prediction as a dictionary of plain data, its keys in the order of the JSON output.

    `scores` has one probability for each label, or for the `top_k` most probable ones, the most probable first. They
    have six decimals and one more for each power of ten of the number of labels, so that those of all labels sum to 1
    within 1e-6. `probability` is the score of `label`. For several labels, see `set_records`.
    """
    if isinstance(batch, MultilabelPredictions):
        yield from set_records(batch, top_k)
        return
    decimals = DIGITS + math.ceil(math.log10(max(1, len(batch.classes))))
    best = batch.best.round(decimals).tolist()
    scores = _scores(batch, top_k, decimals)
    known = batch.known.round(DIGITS).tolist()
    typicality = batch.typicality.tolist() if batch.typicality is not None else [math.nan] * len(batch)
    for row, label in enumerate(batch.labels):
        is_read = best[row] == best[row]
        record = {
            "id": batch.ids[row],
            "label": label,
            "probability": best[row] if label is not None else None,
            "known": known[row],
            "outlier": batch.outliers[row],
            "typicality": None if math.isnan(typicality[row]) else float(f"{typicality[row]:.{DIGITS}g}"),
            "scores": next(scores) if is_read else None,
        }
        if batch.label_sets is not None:
            record["labels"] = batch.label_sets[row]
        if batch.explanations is not None:
            words = batch.explanations[row]
            record["explanation"] = [{"feature": word, "log_odds": round(odds, DIGITS)} for word, odds in words]
        if label is None:
            record["reason"] = batch.reasons[row]
        yield record


def _scores(batch: Predictions, top_k: int | None, decimals: int) -> Iterator[dict[str, float]]:
    """Yield the probabilities of the labels of each document that was read."""
    if top_k is None:
        for probabilities in batch.probabilities.round(decimals).tolist():
            if probabilities[0] == probabilities[0]:
                yield dict(zip(batch.classes, probabilities, strict=True))
        return
    best = batch.most_probable(top_k)
    for shares, classes in zip(_take(batch.probabilities, best), best, strict=True):
        if classes:
            yield {batch.classes[k]: round(share, decimals) for k, share in zip(classes, shares, strict=True)}


def _rows(batch: AnyPredictions, top_k: int | None) -> Iterator[tuple[str, ...]]:
    """Yield id, label and probability as text, with the prediction set if there is one, and the most probable labels.

    Without a label, label and probability are empty.
    """
    if isinstance(batch, MultilabelPredictions):
        for fields, top in zip(set_rows(batch), top_fields(batch, top_k), strict=True):
            yield *fields, *map(field_text, top)
        return
    shown = [f"{probability:.{DIGITS}f}" for probability in batch.best.tolist()]
    labels, is_labeled = batch.labels, None not in batch.labels
    columns: list[Iterable[str]] = [
        batch.ids,
        [label or "" for label in labels],
        shown if is_labeled else ["" if label is None else each for label, each in zip(labels, shown, strict=True)],
    ]
    if batch.label_sets is not None:
        columns.append(map(join_labels, batch.label_sets))
    rows = zip(*columns, strict=True)
    if top_k is None:
        yield from rows
        return
    for row, top in zip(rows, top_fields(batch, top_k), strict=True):
        yield *row, *map(field_text, top)


def top_fields(batch: AnyPredictions, top_k: int | None) -> list[list[str | float | None]]:
    """Return the values of the columns `top_columns` for each document; None for ranks without a label."""
    if top_k is None:
        return [[]] * len(batch)
    fields, best = [], batch.most_probable(top_k)
    for shares, classes in zip(_take(batch.probabilities, best), best, strict=True):
        pairs = zip(shares, classes, strict=True)
        found = [value for share, k in pairs for value in (batch.classes[k], round(share, DIGITS))]
        fields.append([*found, *[None] * (2 * top_k - len(found))])
    return fields


def _table(batch: AnyPredictions, top_k: int | None) -> str:
    """Format lines for a terminal: label, probability and id.

    The prediction set, the most probable labels, and the reason for no label follow if there are any.
    """
    if isinstance(batch, MultilabelPredictions):
        return format_sets(batch, top_k)
    from rich.cells import cell_len

    width = max(map(cell_len, map(printable, batch.classes)), default=0)
    lines = []
    tops = [list(zip(fields[::2], fields[1::2], strict=True)) for fields in top_fields(batch, top_k)]
    rows = _rows(batch, None)
    for (identity, label, probability, *labels), top, reason in zip(rows, tops, batch.reasons, strict=True):
        name = printable(label)
        shown = f"{float(probability):7.1%}" if probability else "      –"
        found = "".join(f"  [{printable(names)}]" for names in labels)
        note = f"  ({printable(reason)})" if reason is not None else ""
        top_labels = ", ".join(f"{printable(str(each))} {share:.1%}" for each, share in top if share is not None)
        note = f"  {{{top_labels}}}{note}" if top_labels else note
        lines.append(f"{name}{' ' * (width - cell_len(name))}  {shown}  {printable(identity)}{found}{note}\n")
    return "".join(lines)


def set_records(batch: MultilabelPredictions, top_k: int | None) -> Iterator[dict[str, Any]]:
    """Yield each prediction as a dictionary of plain data, its keys in the order of the JSON output.

    `probabilities` are those of `labels`. `scores` has the probability of each label, or of the `top_k` most probable
    ones, the most probable first. If the model has more than 1,000 labels, it has the 64 most probable ones.
    """
    if top_k is None and len(batch.classes) > MAX_SCORED:
        top_k = FEW_SCORED
    known, shares = batch.known.round(DIGITS).tolist(), batch.probabilities.round(DIGITS)
    is_unread = np.asarray(np.isnan(shares).any(axis=1)).tolist()
    classes = [range(len(batch.classes))] * len(batch) if top_k is None else batch.most_probable(top_k)
    scores = shares.tolist() if top_k is None else _take(shares, classes)
    probabilities = predicted_probabilities(batch)
    for row, labels in enumerate(batch.predicted):
        names = [batch.classes[k] for k in classes[row]]
        record: dict[str, Any] = {
            "id": batch.ids[row],
            "labels": list(labels),
            "probabilities": [round(share, DIGITS) for share in probabilities[row]],
            "known": known[row],
            "outlier": batch.outliers[row],
            "scores": None if is_unread[row] else dict(zip(names, scores[row], strict=True)),
        }
        if batch.sets is not None:
            record["label_set"] = list(batch.sets[row])
        if batch.explanations is not None:
            words = batch.explanations[row]
            record["explanation"] = [{"feature": word, "log_odds": round(odds, DIGITS)} for word, odds in words]
        if batch.reasons[row] is not None:
            record["reason"] = batch.reasons[row]
        yield record


def predicted_probabilities(batch: MultilabelPredictions) -> list[list[float]]:
    """Return the probabilities of the predicted labels of each document."""
    places = {label: place for place, label in enumerate(batch.classes)}
    return _take(batch.probabilities, [[places[label] for label in labels] for labels in batch.predicted])


def _take(values: NDArray[np.float64], columns: Sequence[Sequence[int]]) -> list[list[float]]:
    """Return some columns of each row of a matrix."""
    sizes = list(map(len, columns))
    rows = np.repeat(np.arange(len(values)), sizes)
    taken = iter(values[rows, np.fromiter(chain.from_iterable(columns), np.int64, len(rows))].tolist())
    return [list(islice(taken, size)) for size in sizes]


def set_rows(batch: MultilabelPredictions) -> Iterator[tuple[str, ...]]:
    """Yield id, labels and probabilities as text, and the label set if there is one."""
    for row, probabilities in enumerate(predicted_probabilities(batch)):
        shares = join_labels([f"{share:.{DIGITS}f}" for share in probabilities], batch.separator)
        fields = (batch.ids[row], join_labels(batch.predicted[row], batch.separator), shares)
        yield fields if batch.sets is None else (*fields, join_labels(batch.sets[row], batch.separator))


def format_sets(batch: MultilabelPredictions, top_k: int | None) -> str:
    """Format lines for a terminal: the labels of a document with their probabilities, its id, and further columns."""
    lines = []
    best = batch.most_probable(top_k) if top_k is not None else [[]] * len(batch)
    for row, probabilities in enumerate(predicted_probabilities(batch)):
        pairs = zip(batch.predicted[row], probabilities, strict=True)
        shown = ", ".join(f"{printable(label)} {share:.1%}" for label, share in pairs) or "–"
        line = f"{printable(batch.ids[row])}  {shown}"
        if batch.sets is not None:
            line += f"  [{', '.join(map(printable, batch.sets[row]))}]"
        if best[row]:
            top = ", ".join(f"{printable(batch.classes[k])} {batch.probabilities[row, k]:.1%}" for k in best[row])
            line += f"  {{{top}}}"
        reason = batch.reasons[row]
        lines.append(f"{line}  ({printable(reason)})\n" if reason is not None else f"{line}\n")
    return "".join(lines)


def format_fasttext(batch: AnyPredictions, top_k: int | None) -> str:
    """Format the predicted labels, as `fasttext predict` prints them; of `top_k` labels, with their probabilities.

    Raises
    ------
    SettingsError
        A label holds a space, which ends a label in this format.
    """
    for label in batch.classes:
        if re.search(r"\s", label) or not label:
            hint = "choose --to jsonl, or rename the label"
            what = f"the label {label!r} is empty or contains a space, which the fastText format does not allow"
            raise SettingsError(what, where="--to fasttext", hint=hint)
    if top_k is not None:
        return "".join(
            " ".join(f"{FASTTEXT_PREFIX}{batch.classes[k]} {batch.probabilities[row, k]:.{DIGITS}f}" for k in classes)
            + "\n"
            for row, classes in enumerate(batch.most_probable(top_k))
        )
    return "".join(
        " ".join(f"{FASTTEXT_PREFIX}{label}" for label in labels) + "\n" for labels in _predicted_labels(batch)
    )


def _predicted_labels(batch: AnyPredictions) -> Iterable[tuple[str, ...]]:
    if isinstance(batch, MultilabelPredictions):
        return batch.predicted
    return ((label,) if label is not None else () for label in batch.labels)
