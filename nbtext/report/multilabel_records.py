"""Records of predictions for documents with several labels: the predicted labels and their probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nbtext.errors import printable
from nbtext.model.multilabel_predictions import MultilabelPredictions
from nbtext.report.records import DIGITS, join_labels

MAX_SCORED, FEW_SCORED = 1000, 64  # labels whose probabilities a record has: all, or the most probable ones


def set_records(batch: MultilabelPredictions, top_k: int | None) -> Iterator[dict[str, Any]]:
    """Yield each prediction as a dictionary of plain data, its keys in the order of the JSON output.

    `probabilities` are those of `labels`. `scores` has the probability of each label, or of the `top_k` most probable
    ones, the most probable first. If the model has more than 1,000 labels, it has the 64 most probable ones.
    """
    if top_k is None and len(batch.classes) > MAX_SCORED:
        top_k = FEW_SCORED
    known, shares = batch.known.round(DIGITS).tolist(), batch.probabilities.round(DIGITS)
    best = batch.most_probable(top_k) if top_k is not None else None
    for row, (labels, probabilities) in enumerate(zip(batch.predicted, predicted_probabilities(batch), strict=True)):
        scores: dict[str, float] | None = None
        if not np.isnan(shares[row]).any():
            classes = best[row] if best is not None else range(len(batch.classes))
            scores = {batch.classes[k]: float(shares[row, k]) for k in classes}
        record: dict[str, Any] = {
            "id": batch.ids[row],
            "labels": list(labels),
            "probabilities": [round(share, DIGITS) for share in probabilities],
            "known": known[row],
            "outlier": batch.outliers[row],
            "scores": scores,
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
    return [
        batch.probabilities[row, [places[label] for label in labels]].tolist() if labels else []
        for row, labels in enumerate(batch.predicted)
    ]


def set_rows(batch: MultilabelPredictions) -> Iterator[tuple[str, ...]]:
    """Yield id, labels and probabilities as text, and the label set if there is one."""
    for row, probabilities in enumerate(predicted_probabilities(batch)):
        shares = join_labels([f"{share:.{DIGITS}f}" for share in probabilities], batch.separator)
        fields = (batch.ids[row], join_labels(batch.predicted[row], batch.separator), shares)
        yield fields if batch.sets is None else (*fields, join_labels(batch.sets[row], batch.separator))


def format_sets(batch: MultilabelPredictions, top_k: int | None) -> str:
    """Format lines for a terminal: the labels of a document with their probabilities, its id, and whatever else."""
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
