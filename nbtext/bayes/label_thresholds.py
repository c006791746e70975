"""Thresholds on the probabilities of a multi-label model, fitted to leave-one-out probabilities.

By default, one for all labels that maximizes micro-F1: of all such thresholds, the one nearest to F1 / 2. To maximize
macro-F1, one for each label (SCut): of all thresholds with the highest F1 of the label, the lowest. A label whose F1 is
below 0.1 gets the probability of its highest-ranked document instead (FBR.1), because a threshold that was fitted to so
little would let in many documents. The F1 of a label of one document of the corpus is 0: a model without this document
does not know the label. As in `evaluate`, macro-F1 is the mean over the labels that a scored document has.

Sources: Lewis, Yang, Rose and Li, RCV1: A New Benchmark Collection for Text Categorization Research, 2004, section 6.1;
Lipton, Elkan and Narayanaswamy, Optimal Thresholding of Classifiers to Maximize F1 Measure, 2014 (half of F1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_calibration import Cells
from nbtext.bayes.scorer import Floats
from nbtext.features.csr import run_starts
from nbtext.records import dataclass

MIN_F1 = 0.1  # of a label with its own threshold


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The probability from which each label is predicted, and the leave-one-out metrics at these thresholds.

    values     (n_labels,)
    label_f1   (n_labels,)
    micro_f1
    macro_f1   mean F1 of the labels that a scored document has
    fallback   labels with the threshold of FBR.1
    """

    values: Floats
    label_f1: Floats
    micro_f1: float
    macro_f1: float
    fallback: tuple[int, ...] = ()


def fit_thresholds(cells: Cells, probabilities: Floats, *, by_label: bool) -> Thresholds:
    """Return the thresholds: one for all labels that maximizes micro-F1, or one for each; see the module."""
    is_answered = cells.is_answered
    if not by_label:
        rows = slice(None) if is_answered.all() else np.flatnonzero(is_answered)
        best, _ = _best_threshold(
            probabilities[rows], cells.positives[rows], cells.documents[rows], true=float(cells.positives.sum())
        )
        return measure(cells, probabilities, np.full(cells.n_labels, best))
    order, floor = np.argsort(cells.labels, kind="stable"), _highest_dropped(cells, probabilities)
    bounds = np.searchsorted(cells.labels[order], np.arange(cells.n_labels + 1))
    n_contents = np.bincount(cells.labels[cells.positives > 0], minlength=cells.n_labels)
    is_single = (n_contents < 2) & (cells.sum_by_label(cells.positives) >= cells.class_documents)
    values, fallback = np.empty(cells.n_labels), []
    for k in range(cells.n_labels):
        own = order[bounds[k] : bounds[k + 1]]
        true, own = float(cells.positives[own].sum()), own[is_answered[own]]
        values[k], f1 = _best_threshold(
            probabilities[own], cells.positives[own], cells.documents[own], true=true, is_lowest=True, floor=floor
        )
        if f1 < MIN_F1 or is_single[k]:
            fallback.append(k)
            values[k] = max(probabilities[own].max(initial=0.0), floor) or 1.0
    return measure(cells, probabilities, values, tuple(fallback), is_single)


def _highest_dropped(cells: Cells, probabilities: Floats) -> float:
    """Return the highest probability of a pair that stands for others, which are dropped; 0 if there is none."""
    starts = run_starts(cells.contents)
    if len(starts) == 0:
        return 0.0
    sizes = np.diff(np.append(starts, len(probabilities)))
    copies = np.repeat(np.minimum.reduceat(cells.documents, starts), sizes)
    return float(probabilities[cells.documents > copies].max(initial=0.0))


def measure(
    cells: Cells, probabilities: Floats, values: Floats, fallback: tuple[int, ...] = (), is_single: Any = False
) -> Thresholds:
    """Return thresholds with the metrics of the cells at these thresholds.

    is_single  (n_labels,), labels whose F1 is 0: they have one document
    """
    is_predicted = (probabilities >= values[cells.labels]) & cells.is_answered
    by_label = cells.sum_by_label
    correct, predicted = by_label(cells.positives * is_predicted), by_label(cells.documents * is_predicted)
    true = by_label(cells.positives)
    label_f1 = np.divide(2 * correct, predicted + true, out=np.zeros(cells.n_labels), where=predicted + true > 0)
    label_f1[is_single] = 0.0
    total, measured = float((predicted + true).sum()), label_f1[true > 0]
    micro, macro = float(2 * correct.sum() / total) if total else 0.0, float(measured.mean()) if len(measured) else 0.0
    return Thresholds(values, label_f1, micro, macro, fallback)


def _best_threshold(
    probabilities: Floats,
    positives: Floats,
    documents: Floats,
    *,
    true: float,
    is_lowest: bool = False,
    floor: float = 0.0,
    n_tried: int | None = None,
) -> tuple[float, float]:
    """Return the threshold with the highest F1, and this F1.

    true       positive pairs, also of documents that get no label
    is_lowest  return the lowest such threshold, at least `floor` if there is one; otherwise the one nearest to half
               of F1, which is the best one for probabilities that are right
    n_tried    how many of the highest probabilities are tried before all; None: four for each positive pair
    """
    if len(probabilities) == 0 or true == 0:
        return 1.0, 0.0
    n_tried = int(4 * true) if n_tried is None else n_tried
    order = _descend(probabilities, n_tried)
    descending = probabilities[order]
    last = np.append(run_starts(descending)[1:], len(order)) - 1  # of each run of equal probabilities
    correct, predicted = np.cumsum(positives[order])[last], np.cumsum(documents[order])[last]
    f1 = 2 * correct / (predicted + true)
    best = int(f1.argmax())
    if len(order) < len(probabilities) and 2 * true / (predicted[-1] + true) >= f1[best]:  # a lower one may be better
        return _best_threshold(
            probabilities, positives, documents, true=true, is_lowest=is_lowest, floor=floor, n_tried=4 * n_tried
        )
    threshold = descending[last[best]]
    lower = np.nextafter(descending[last[best + 1]], 1.0) if best + 1 < len(last) else 0.0
    if not is_lowest:
        threshold = min(threshold, max(lower, f1[best] / 2))
    elif best + 1 < len(last):
        threshold = max(lower, min(floor, threshold))
    return float(threshold), float(f1[best])


def _descend(probabilities: Floats, n: int) -> NDArray[np.int64]:
    """Return the places of about the n highest probabilities, the highest first; of equal ones, all or none."""
    if n >= len(probabilities):
        return np.argsort(-probabilities, kind="stable")
    lowest = np.partition(probabilities, len(probabilities) - n)[len(probabilities) - n]
    places = np.flatnonzero(probabilities >= lowest)
    return places[np.argsort(-probabilities[places], kind="stable")]


def precision_at_1(cells: Cells, probabilities: Floats) -> float:
    """Return the share of documents with a label whose most probable label is one of theirs."""
    starts = run_starts(cells.contents)
    if len(starts) == 0:
        return 0.0
    sizes = np.diff(np.append(starts, len(probabilities)))
    is_best = probabilities == np.repeat(np.maximum.reduceat(probabilities, starts), sizes)
    best = np.flatnonzero(is_best & cells.is_answered)
    first = best[run_starts(cells.contents[best])]  # of equal probabilities, the first label
    copies = np.minimum.reduceat(cells.documents, starts)
    n_labeled = np.minimum(np.add.reduceat(cells.positives, starts), copies).sum()  # copies may differ in their labels
    return float(cells.positives[first].sum() / max(1.0, n_labeled))
