"""What became of each document: a few numbers each, so that millions of them fit into memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.model.predictor import Predictions

LEAST_PROBABILITY = 1e-15  # a label that was thought impossible costs its logarithm, and not infinitely much


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Answers and truth, as columns of the same length, in the order of the documents."""

    labels: tuple[str, ...]  # of the model and of the documents, sorted
    true: NDArray[np.int32]  # the place of each document's label among them
    predicted: NDArray[np.int32]  # that of its answer; -1 where there was none
    best: Floats  # the probability of the answer, or of what it would have been
    of_true: Floats  # the probability of the true label; 0 of one that the model does not know
    squared_errors: Floats  # the squared distance of all probabilities from the truth
    is_sound: NDArray[np.bool_]  # the answer, or what it would have been, is right
    can_be_answered: NDArray[np.bool_]  # it could be read and holds a token: only a threshold keeps it unanswered
    typicality: Floats  # the share of left-out documents that are less likely; NaN where that is not known
    is_outlier: NDArray[np.bool_]  # by the model's threshold

    def __len__(self) -> int:
        return len(self.true)

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """There was an answer, and the right one."""
        return np.equal(self.true, self.predicted)

    @property
    def losses(self) -> Floats:
        """The log-loss of each document, in nats."""
        return np.asarray(-np.log(np.maximum(self.of_true, LEAST_PROBABILITY)))


class OutcomesSoFar:
    """Notes what becomes of each document while answers go by.

    least  below this probability there was no answer for that reason alone (--min-probability)
    """

    def __init__(self, *, least: float = 0.0) -> None:
        self._least = least
        self._labels: dict[str, int] = {}
        self._parts: list[Outcomes] = []  # labels by the places that they have here

    def add(self, predictions: Predictions, labels: list[str]) -> tuple[Outcomes, Floats]:
        """What became of these documents, and the probabilities by the places that labels have here.

        labels  the true ones, at least one
        """
        classes, true = self._places(predictions.classes), self._places(labels)
        probabilities = self._by_label(predictions.probabilities, classes)
        outcomes = self._outcomes(predictions, probabilities, true=true, chosen=classes[predictions.chosen])
        self._parts.append(outcomes)
        return outcomes, probabilities

    def joined(self, labels: tuple[str, ...]) -> Outcomes:
        """All of them, one after the other; `labels` are all that there are, in the order of their places."""
        places = self.places_among(labels)
        names = [field.name for field in fields(Outcomes) if field.name != "labels"]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in self._parts]) for name in names
        }
        columns["true"] = places[columns["true"]].astype(np.int32)
        columns["predicted"] = np.append(places, -1)[columns["predicted"]].astype(np.int32)  # no answer stays the last
        return Outcomes(labels, **columns)

    def places_among(self, labels: tuple[str, ...]) -> NDArray[np.int64]:
        """The place among these labels of each label, by the order in which they came."""
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places[label] for label in self._labels], dtype=np.int64)

    def _places(self, labels: Iterable[str]) -> NDArray[np.int64]:
        """The places of labels in the order in which they came."""
        return np.array([self._labels.setdefault(label, len(self._labels)) for label in labels], dtype=np.int64)

    def _by_label(self, probabilities: Floats, classes: NDArray[np.int64]) -> Floats:
        """Probabilities by the places of labels; a document that was not read is a uniform guess."""
        found = np.zeros((len(probabilities), len(self._labels)))
        found[:, classes] = np.where(np.isnan(probabilities), 1 / len(classes), probabilities)
        return found

    def _outcomes(
        self, predictions: Predictions, probabilities: Floats, *, true: NDArray[np.int64], chosen: NDArray[np.int64]
    ) -> Outcomes:
        rows = np.arange(len(true))
        best, of_true = probabilities[rows, chosen], probabilities[rows, true]
        is_answered = np.array([label is not None for label in predictions.labels])
        typicality = predictions.typicality
        return Outcomes(
            (),
            true=true.astype(np.int32),
            predicted=np.where(is_answered, chosen, -1).astype(np.int32),
            best=best,
            of_true=of_true,
            squared_errors=(probabilities**2).sum(axis=1) - 2 * of_true + 1,
            is_sound=(chosen == true) & ~np.isnan(predictions.probabilities[:, 0]),
            can_be_answered=is_answered | (best < self._least),
            typicality=typicality if typicality is not None else np.full(len(true), np.nan),
            is_outlier=np.array([bool(flag) for flag in predictions.outliers]),
        )
