"""How good predictions are: accuracy, F1, log-loss, calibration and confusions, added up batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.batch import missing_label
from nbtext.errors import InputError
from nbtext.evaluation.outcomes import LEAST_PROBABILITY
from nbtext.evaluation.outliers import Likelihoods, auroc
from nbtext.evaluation.reliability import Reliability, ReliabilityBin
from nbtext.model.predictor import Predictions
from nbtext.model.settings import Costs

MOST_CONFUSED = 2048  # labels whose confusions are written out as a matrix


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How well one label is told from the others; 0 where there is nothing to divide by."""

    label: str
    precision: float  # of the documents that were given the label, the share that has it
    recall: float  # of the documents that have it, the share that was given it
    f1: float  # the harmonic mean of both
    support: int  # documents that have it


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What predictions are worth on labelled documents.

    A document without an answer counts as wrong, is in `unanswered` and in no column of the confusion matrix, and
    costs what the model thought of its label all the same.
    """

    documents: int
    unanswered: int
    accuracy: float
    macro_f1: float  # the mean over the labels
    weighted_f1: float  # the same, weighted by support
    log_loss: float  # in nats
    brier_score: float  # the mean squared distance from the truth, summed over the labels
    expected_calibration_error: float
    labels: tuple[str, ...]  # of the model and of the documents, sorted
    per_label: tuple[LabelScore, ...]
    confusion_matrix: tuple[tuple[int, ...], ...] | None  # rows are true labels; None of more than MOST_CONFUSED
    reliability: tuple[ReliabilityBin, ...]  # bins that hold a document
    answered: float = 1.0  # the share of documents that were given a label
    accuracy_among_answered: float = 0.0  # 0 where none was
    coverage: float | None = None  # the share of documents whose set of labels holds the true one; None without sets
    mean_set_size: float | None = None
    mean_cost: float | None = None  # None where costs were not given
    outlier_auroc: float | None = None  # how surely foreign documents are less likely; None where there were none
    foreign_documents: int | None = None


class Judge:
    """Compares predictions with the labels that their documents have, in memory that the labels alone determine.

    With likelihoods it keeps a number for each document as well.
    """

    def __init__(self, costs: Costs | None = None, *, with_likelihoods: bool = False) -> None:
        self._costs = costs
        self._own: Likelihoods | None = Likelihoods() if with_likelihoods else None
        self._foreign: Likelihoods | None = Likelihoods() if with_likelihoods else None
        self._confusions: Counter[tuple[str, str | None]] = Counter()
        self._classes: set[str] = set()
        self._log_loss = 0.0
        self._squared_error = 0.0
        self._reliability = Reliability()
        self._sets = np.zeros(3, dtype=np.int64)  # their number, those that hold the true label, labels in them

    def add_all(self, predictions: Iterable[Predictions]) -> None:
        """Count all these predictions."""
        for batch in predictions:
            self.add(batch)

    def add_foreign(self, predictions: Iterable[Predictions]) -> None:
        """Note how likely documents of another kind are, whatever their labels."""
        for batch in predictions:
            if self._foreign is not None:
                self._foreign.add(batch)

    def add(self, predictions: Predictions) -> None:
        """Count these predictions; InputError where a document does not say its label."""
        labels = [self._true_label(predictions, row) for row in range(len(predictions))]
        self._confusions.update(zip(labels, predictions.labels, strict=True))
        self._classes.update(predictions.classes)
        if labels:
            self._add_probabilities(predictions, labels)
        if self._own is not None:
            self._own.add(predictions)
        if predictions.label_sets is not None:
            pairs = list(zip(labels, predictions.label_sets, strict=True))
            covered = sum(label in found for label, found in pairs)
            self._sets += (len(pairs), covered, sum(len(found) for _, found in pairs))

    def _true_label(self, predictions: Predictions, row: int) -> str:
        label = predictions.true_labels[row]
        if label is None:
            raise missing_label(predictions.ids[row])
        return label

    def _add_probabilities(self, predictions: Predictions, labels: list[str]) -> None:
        # a document that could not be read is a uniform guess
        is_read = ~np.isnan(predictions.probabilities)
        probabilities = np.where(is_read, predictions.probabilities, 1 / len(predictions.classes))
        places = {label: place for place, label in enumerate(predictions.classes)}
        true = np.array([places.get(label, -1) for label in labels])
        of_true = np.where(true >= 0, probabilities[np.arange(len(true)), true], 0.0)
        self._log_loss -= float(np.log(np.maximum(of_true, LEAST_PROBABILITY)).sum())
        # Σ (p - y)² = Σ p² - 2 p_true + 1, a label that the model does not know having p = 0
        self._squared_error += float(((probabilities**2).sum(axis=1) - 2 * of_true + 1).sum())
        # where nbtext abstains, what it would have answered is no less honest
        best = probabilities[np.arange(len(true)), predictions.chosen]
        right = (true == predictions.chosen) & is_read[:, 0]
        self._reliability.add(best, right)

    def evaluation(self) -> Evaluation:
        """The verdict on all that was added; InputError where that is nothing."""
        n = self._confusions.total()
        if n == 0:
            raise InputError("there is no document to judge by")
        labels = tuple(sorted(self._classes | {true for true, _ in self._confusions}))
        places = {label: place for place, label in enumerate(labels)}
        support, given, right = np.zeros((3, len(labels)), dtype=np.int64)
        for (true, predicted), number in self._confusions.items():
            support[places[true]] += number
            if predicted is not None:
                given[places[predicted]] += number
                right[places[true]] += number * (true == predicted)
        per_label = _per_label(labels, right, given, support)
        weights = np.array([score.support for score in per_label])
        f1 = np.array([score.f1 for score in per_label])
        return Evaluation(
            documents=n,
            unanswered=n - int(given.sum()),
            accuracy=float(right.sum() / n),
            macro_f1=float(f1.mean()),
            weighted_f1=float(f1 @ weights / n),
            log_loss=self._log_loss / n,
            brier_score=self._squared_error / n,
            expected_calibration_error=self._reliability.error,
            labels=labels,
            per_label=per_label,
            confusion_matrix=self._matrix(places) if len(labels) <= MOST_CONFUSED else None,
            reliability=self._reliability.bins(),
            answered=float(given.sum() / n),
            accuracy_among_answered=float(right.sum() / max(1, given.sum())),
            coverage=self._per_set(1),
            mean_set_size=self._per_set(2),
            mean_cost=self._mean_cost(n),
            outlier_auroc=auroc(self._own, self._foreign) if self._own and self._foreign else None,
            foreign_documents=len(self._foreign.found()) if self._foreign else None,
        )

    def _mean_cost(self, n: int) -> float | None:
        if self._costs is None:
            return None
        return sum(number * self._costs.of(*pair) for pair, number in sorted(self._confusions.items(), key=str)) / n

    def _per_set(self, row: int) -> float | None:
        return float(self._sets[row] / self._sets[0]) if self._sets[0] else None

    def _matrix(self, places: dict[str, int]) -> tuple[tuple[int, ...], ...]:
        matrix = np.zeros((len(places), len(places)), dtype=np.int64)
        for (true, predicted), number in self._confusions.items():
            if predicted is not None:
                matrix[places[true], places[predicted]] += number
        return tuple(map(tuple, matrix.tolist()))


def _per_label(
    labels: tuple[str, ...], right: NDArray[np.int64], given: NDArray[np.int64], support: NDArray[np.int64]
) -> tuple[LabelScore, ...]:
    precision, recall, f1 = _ratio(right, given), _ratio(right, support), _ratio(2 * right, given + support)
    columns = (precision.tolist(), recall.tolist(), f1.tolist(), support.tolist())
    return tuple(LabelScore(*row) for row in zip(labels, *columns, strict=True))


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """part / whole, and 0 where whole is 0."""
    ratio: NDArray[np.float64] = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return ratio
