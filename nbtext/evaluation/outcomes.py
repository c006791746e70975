"""Outcomes: a few numbers for each document, from which metrics and curves are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import missing_label
from nbtext.errors import InputError
from nbtext.model.predictions import Predictions

MIN_PROBABILITY = 1e-15  # log-loss clips the probability of a true label to this
UNANSWERED = -1  # the predicted label of a document without one


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Predictions compared with the true labels, one entry for each document.

    labels           All labels; `true` and `predicted` are positions among them.
    true             Shape (n_documents,).
    predicted        Shape (n_documents,): UNANSWERED where no label was predicted.
    best             Shape (n_documents,): the probability of the chosen label, even if it was not given as the answer.
    of_true          Shape (n_documents,): the probability of the true label; 0 for a label that the model does not
                     know.
    squared_errors   Shape (n_documents,): Σ_k (p_k - y_k)².
    is_chosen_right  Shape (n_documents,): the chosen label is the true one, even if it was not given as the answer.
    is_answerable    Shape (n_documents,): the document was read and has a known token, so that only a threshold could
                     withhold its label.
    typicality       Shape (n_documents,): the conformal p-value of the document; NaN if the model has none.
    is_outlier       Shape (n_documents,).
    """

    labels: tuple[str, ...]
    true: NDArray[np.int32]
    predicted: NDArray[np.int32]
    best: Floats
    of_true: Floats
    squared_errors: Floats
    is_chosen_right: NDArray[np.bool_]
    is_answerable: NDArray[np.bool_]
    typicality: Floats
    is_outlier: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.true)

    @property
    def is_correct(self) -> NDArray[np.bool_]:
        """Whether the predicted label is the true one; False for a document without a predicted label."""
        return np.equal(self.true, self.predicted)

    @property
    def log_losses(self) -> Floats:
        """The log-loss of each document, in nats."""
        return np.asarray(-np.log(np.maximum(self.of_true, MIN_PROBABILITY)))


class PredictedBatch(NamedTuple):
    """Predictions of a batch, of one label or of several, with what they were made from where it is known.

    columns  The texts, a list for each text field.
    scores   Shape (n_documents, n_classes): the scores before calibration.
    """

    predictions: Predictions
    columns: tuple[Sequence[str], ...] | None = None
    scores: Floats | None = None


class LabelNumbers:
    """Numbers labels in the order in which they first occur."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, labels: Iterable[str]) -> NDArray[np.int64]:
        """Return the number of each label; new labels get the next numbers."""
        return np.array([self._numbers.setdefault(label, len(self._numbers)) for label in labels], dtype=np.int64)

    def sorted(self) -> tuple[str, ...]:
        """Return all labels, sorted."""
        return tuple(sorted(self._numbers))

    def positions(self, labels: tuple[str, ...]) -> NDArray[np.int64]:
        """Return, for each number, the position of its label in `labels`."""
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places[label] for label in self._numbers], dtype=np.int64)


def measure(predictions: Predictions, numbers: LabelNumbers, *, min_probability: float = 0.0) -> Outcomes:
    """Compare a batch of predictions with the true labels of its documents.

    Parameters
    ----------
    numbers : LabelNumbers
        Numbers the labels; `true` and `predicted` of the result are these numbers, and `labels` is empty.
    min_probability : float
        Threshold of `--min-probability` that was applied to the predictions.

    Raises
    ------
    InputError
        A document has no label.
    """
    classes = numbers.add(predictions.classes)
    true = numbers.add(label for (label,) in true_sets(predictions))
    columns = np.full(len(numbers), -1)
    columns[classes] = np.arange(len(classes))
    own, rows, chosen = columns[true], np.arange(len(true)), predictions.label_classes
    is_read = predictions.is_read if len(classes) else np.zeros(len(true), dtype=np.bool_)
    # a document that could not be read gets uniform probabilities
    probabilities = np.where(is_read[:, None], predictions.probabilities, 1 / max(1, len(classes)))
    best, of_true = probabilities[rows, chosen], np.where(own >= 0, probabilities[rows, own], 0.0)
    is_answered = np.array(list(map(bool, predictions.labels)), dtype=np.bool_)
    typicality = predictions.typicality
    return Outcomes(
        (),
        true=true.astype(np.int32),
        predicted=np.where(is_answered, classes[chosen], UNANSWERED).astype(np.int32),
        best=best,
        of_true=of_true,
        squared_errors=(probabilities**2).sum(axis=1) - 2 * of_true + 1,
        is_chosen_right=(own == chosen) & is_read,
        is_answerable=is_answered | ((best < min_probability) & (predictions.known > 0)),
        typicality=typicality if typicality is not None else np.full(len(true), np.nan),
        is_outlier=np.array(list(map(bool, predictions.outliers or [False] * len(true))), dtype=np.bool_),
    )


def true_sets(predictions: Predictions) -> list[tuple[str, ...]]:
    """Return the true labels of each document; InputError if those of a document are not known."""
    for row, labels in enumerate(predictions.true_labels):
        if labels is None:
            raise unknown_label(predictions, row)
    return [labels for labels in predictions.true_labels if labels is not None]


def mark_true(predictions: Predictions) -> NDArray[np.bool_]:
    """Return whether each label of the model is a true one of each document, (n_documents, n_classes)."""
    places = {label: place for place, label in enumerate(predictions.classes)}
    is_true = np.zeros(predictions.probabilities.shape, dtype=np.bool_)
    for row, labels in enumerate(true_sets(predictions)):
        is_true[row, [places[label] for label in labels if label in places]] = True
    return is_true


def unknown_label(predictions: Predictions, row: int) -> InputError:
    """Return the error for a document without a true label: why it could not be read, or that it has no label."""
    reason = predictions.reasons[row]
    if reason is not None and np.isnan(predictions.probabilities[row]).any():
        return InputError(reason)
    return missing_label(predictions.ids[row])


def join_outcomes(parts: list[Outcomes], numbers: LabelNumbers, labels: tuple[str, ...]) -> Outcomes:
    """Concatenate the outcomes of batches; `labels` are all labels, in the order that their positions should have."""
    positions = numbers.positions(labels)
    names = [field.name for field in fields(Outcomes) if field.name != "labels"]
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    columns["true"] = positions[columns["true"]].astype(np.int32)
    columns["predicted"] = np.append(positions, UNANSWERED)[columns["predicted"]].astype(np.int32)
    return Outcomes(labels, **columns)
