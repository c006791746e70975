"""Metrics of predictions for documents with several labels, and their registry.

Source: Tsoumakas, Katakis, Vlahavas, Mining Multi-label Data, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.evaluation.metrics import SET_METRICS, Metric, SetCounts
from nbtext.evaluation.outcomes import LabelNumbers

RANKS = (1, 3, 5)  # of precision at k

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class MultilabelOutcomes:
    """Predicted label sets compared with the true ones: an entry for each document, shape (n_documents,).

    n_true       Number of true labels.
    n_predicted  Number of predicted labels.
    n_correct    Number of predicted labels that are true.
    n_unknown    Number of true labels that the model does not know.
    hits         Shape (n_documents, 3): true labels among the 1, 3 and 5 most probable ones.
    ranking      Label-ranking average precision of the labels that the model knows. Unknown labels are ranked last;
                 their part is added in `sum_outcomes`.
    """

    n_true: Integers
    n_predicted: Integers
    n_correct: Integers
    n_unknown: Integers
    hits: Integers
    ranking: Floats

    def __len__(self) -> int:
        return len(self.n_true)

    @property
    def is_correct(self) -> NDArray[np.bool_]:
        """Whether the predicted labels are exactly the true ones."""
        return np.asarray((self.n_true == self.n_correct) & (self.n_predicted == self.n_correct))


def join_set_outcomes(
    parts: list[MultilabelOutcomes], numbers: LabelNumbers, labels: tuple[str, ...]
) -> MultilabelOutcomes:
    """Concatenate the outcomes of batches; see `join_outcomes`."""
    columns = {field.name: [getattr(part, field.name) for part in parts] for field in fields(MultilabelOutcomes)}
    return MultilabelOutcomes(**{name: np.concatenate(arrays) for name, arrays in columns.items()})


@dataclass(frozen=True, eq=False)
class MultilabelTotals:
    """Sums over documents that metrics are computed from.

    n_labels     Number of labels of the model and of the documents.
    n_labeled    Number of documents with a label.
    n_exact      Number of documents with exactly the true labels.
    example_f1   The sum of the F1 of documents; 1 without true and predicted labels.
    precision    Shape (3,): the sum over documents with a label of the precision at 1, 3 and 5.
    ranking      The sum of the label-ranking average precisions; 1 without true labels.
    f1, support  Shape (n_labels,); None: they were not counted.
    calibration  The classwise calibration error; None: it was not measured.
    sets         Of prediction sets; None: there are none.
    """

    n_labels: int
    n_documents: int
    n_labeled: int
    n_true: int
    n_predicted: int
    n_correct: int
    n_exact: int
    example_f1: float
    precision: Floats
    ranking: float
    f1: Floats | None = None
    support: Floats | None = None
    calibration: float | None = None
    sets: SetCounts | None = None


def sum_outcomes(outcomes: MultilabelOutcomes, n_labels: int, rows: Integers | slice = slice(None)) -> MultilabelTotals:
    """Return the totals of some documents, without what depends on single labels."""
    true, predicted, correct = outcomes.n_true[rows], outcomes.n_predicted[rows], outcomes.n_correct[rows]
    is_empty, is_labeled = true + predicted == 0, true > 0
    f1 = np.where(is_empty, 1.0, 2 * correct / np.maximum(true + predicted, 1))
    ranking = np.where(is_labeled, outcomes.ranking[rows] + outcomes.n_unknown[rows] / max(1, n_labels), 1.0)
    return MultilabelTotals(
        n_labels, len(true), int(is_labeled.sum()), int(true.sum()), int(predicted.sum()), int(correct.sum()),
        int(outcomes.is_correct[rows].sum()), float(f1.sum()),
        outcomes.hits[rows].sum(axis=0) / np.array(RANKS), float(ranking.sum()),
    )  # fmt: skip


def _macro_f1(totals: MultilabelTotals) -> float | None:
    if totals.f1 is None or totals.support is None:
        return None
    return float(totals.f1[totals.support > 0].mean()) if (totals.support > 0).any() else 0.0


def _precision_at(place: int, totals: MultilabelTotals) -> float:
    return float(totals.precision[place] / max(1, totals.n_labeled))


MULTILABEL_METRICS = {
    metric.name: metric
    for metric in (
        Metric[MultilabelTotals](
            "micro_f1", "micro F1", lambda totals: 2 * totals.n_correct / max(1, totals.n_true + totals.n_predicted),
            note="F1 of all pairs of a document and a label", is_compared=True, is_curve=True,
        ),
        Metric[MultilabelTotals](
            "micro_precision", "micro precision", lambda totals: totals.n_correct / max(1, totals.n_predicted),
        ),
        Metric[MultilabelTotals](
            "micro_recall", "micro recall", lambda totals: totals.n_correct / max(1, totals.n_true),
        ),
        Metric[MultilabelTotals](
            "macro_f1", "macro F1", _macro_f1, note="mean F1 over the labels that a document has",
        ),
        Metric[MultilabelTotals](
            "macro_f1_all", "macro F1 of all labels",
            lambda totals: float(totals.f1.mean()) if totals.f1 is not None else None,
        ),
        Metric[MultilabelTotals](
            "example_f1", "example F1", lambda totals: totals.example_f1 / totals.n_documents,
            note="mean F1 of a document's labels",
        ),
        Metric[MultilabelTotals](
            "subset_accuracy", "subset accuracy", lambda totals: totals.n_exact / totals.n_documents,
            note="share of documents with exactly the right labels", is_compared=True,
        ),
        *(
            Metric[MultilabelTotals](
                f"precision_at_{k}", f"precision at {k}", partial(_precision_at, place),
                is_compared=k == 1,
            )
            for place, k in enumerate(RANKS)
        ),
        Metric[MultilabelTotals](
            "label_ranking_average_precision", "label-ranking average precision",
            lambda totals: totals.ranking / totals.n_documents,
        ),
        Metric[MultilabelTotals](
            "classwise_calibration_error", "classwise calibration error", lambda totals: totals.calibration,
            is_loss=True, note="mean over labels of the gap between probability and frequency",
        ),
        *SET_METRICS,
    )
}  # fmt: skip
