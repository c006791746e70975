"""Predictions as records: one for each document, in the form that was asked for, as they come."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import printable
from nbtext.model.predictions import Predictions
from nbtext.report.fields import FORMS, TSV_SPECIAL, json_list, markdown_field, tsv_field

DIGITS = 6  # of a probability


def write_predictions(
    predictions: Iterable[Predictions], file: BinaryIO, *, form: str, with_sets: bool = False
) -> None:
    """Write a record for each document to a file, each batch as soon as it is there.

    with_sets  predictions have sets of labels, which are a column more
    The output is UTF-8; bytes of file names that are not are spelled out as escapes (`\\udcff`).
    """
    for text in _WRITERS[form](predictions, with_sets):
        file.write(text.encode("utf-8", "backslashreplace"))
        file.flush()


def record_start(identity: str, form: str) -> bytes:
    """The bytes with which the record of a document begins, in a format with a line for each record."""
    text = tsv_field(identity) + "\t" if form == "tsv" else f'{{"id": {json.dumps(identity, ensure_ascii=False)}, '
    return text.encode("utf-8", "backslashreplace")


def _answers(batch: Predictions) -> Iterator[tuple[str, ...]]:
    """Id, label and probability of each document as text, empty where there is no answer; its set where it has one."""
    sets = [(_set_field(labels),) for labels in batch.label_sets] if batch.label_sets is not None else [()] * len(batch)
    rows = zip(batch.ids, batch.labels, batch.best.tolist(), sets, strict=True)
    for identity, label, probability, labels in rows:
        answer = ("", "") if label is None else (label, f"{probability:.{DIGITS}f}")
        yield identity, *answer, *labels


def _set_field(labels: tuple[str, ...]) -> str:
    """The labels of a set with commas between them; commas and backslashes within them are escaped."""
    return ",".join(label.replace("\\", "\\\\").replace(",", "\\,") for label in labels)


def _header(with_sets: bool) -> tuple[str, ...]:
    return ("id", "label", "probability", "labels") if with_sets else ("id", "label", "probability")


def _tsv(predictions: Iterable[Predictions], _: bool) -> Iterator[str]:
    for batch in predictions:
        names = "".join((*batch.ids, *batch.classes))
        if batch.label_sets is None and not TSV_SPECIAL.search(names):  # one look at all of them is much faster
            yield "".join(f"{identity}\t{label}\t{probability}\n" for identity, label, probability in _answers(batch))
        else:
            yield "".join("\t".join(map(tsv_field, row)) + "\n" for row in _answers(batch))


def _csv(predictions: Iterable[Predictions], with_sets: bool) -> Iterator[str]:
    yield ",".join(_header(with_sets)) + "\r\n"
    for batch in predictions:
        rows = io.StringIO()
        csv.writer(rows).writerows(_answers(batch))
        yield rows.getvalue()


def _markdown(predictions: Iterable[Predictions], with_sets: bool) -> Iterator[str]:
    yield f"| {' | '.join(_header(with_sets))} |\n|---|---|---:|{'---|' * with_sets}\n"
    for batch in predictions:
        yield "".join(f"| {' | '.join(map(markdown_field, row))} |\n" for row in _answers(batch))


def _table(predictions: Iterable[Predictions], _: bool) -> Iterator[str]:
    """Lines for a terminal: label, probability, id; the reason where there is no answer; the set where there is one."""
    from rich.cells import cell_len

    for batch in predictions:
        width = max(map(cell_len, map(printable, batch.classes)), default=0)
        for (identity, label, probability, *labels), reason in zip(_answers(batch), batch.reasons, strict=True):
            shown = f"{float(probability):7.1%}" if probability else "      –"
            note = f"  ({printable(reason)})" if reason is not None else ""
            found = "".join(f"  [{printable(names)}]" for names in labels)
            name = printable(label)
            yield f"{name}{' ' * (width - cell_len(name))}  {shown}  {printable(identity)}{found}{note}\n"


def records(batch: Predictions) -> Iterator[dict[str, Any]]:
    """Each prediction as a dictionary of plain data, in the order of its keys in JSON."""
    rounded = np.round(batch.probabilities, DIGITS).tolist()
    best = np.round(batch.best, DIGITS).tolist()
    known = np.round(batch.known, DIGITS).tolist()
    typicality = _significant(batch.typicality) if batch.typicality is not None else [None] * len(batch)
    for row, label in enumerate(batch.labels):
        is_read = best[row] == best[row]
        record = {
            "id": batch.ids[row],
            "label": label,
            "probability": best[row] if label is not None else None,
            "known": known[row],
            "outlier": batch.outliers[row],
            "typicality": typicality[row],
            "scores": dict(zip(batch.classes, rounded[row], strict=True)) if is_read else None,
        }
        if batch.label_sets is not None:
            record["labels"] = batch.label_sets[row]
        if batch.explanations is not None:
            words = batch.explanations[row]
            record["explanation"] = [{"feature": word, "log_odds": round(odds, DIGITS)} for word, odds in words]
        if label is None:
            record["reason"] = batch.reasons[row]
        yield record


def _significant(numbers: NDArray[np.float64]) -> list[float | None]:
    """Numbers with so many digits that the smallest can be told from 0; None where there is none."""
    return [float(f"{number:.{DIGITS}g}") if not math.isnan(number) else None for number in numbers.tolist()]


def _jsonl(predictions: Iterable[Predictions], _: bool) -> Iterator[str]:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for batch in predictions:
        yield "".join(encode(record) + "\n" for record in records(batch))


def _json(predictions: Iterable[Predictions], _: bool) -> Iterator[str]:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    yield from json_list(encode(record) for batch in predictions for record in records(batch))


_WRITERS: dict[str, Callable[[Iterable[Predictions], bool], Iterator[str]]] = dict(
    zip(FORMS, (_table, _tsv, _csv, _jsonl, _json, _markdown), strict=True)
)
