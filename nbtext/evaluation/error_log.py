"""The error log of an evaluation: outcomes of all documents and examples of some, recorded batch by batch."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from nbtext.bayes.scorer import Floats
from nbtext.evaluation.label_curves import ThinnedRows
from nbtext.evaluation.outcomes import LabelNumbers, Outcomes, PredictedBatch, join_outcomes, measure
from nbtext.evaluation.reliability import Reliability

if TYPE_CHECKING:
    pass

MAX_PROBABILITIES = 1 << 23  # kept for curves (64 MiB); beyond that, those of every second, fourth, ... document
MAX_LISTED = 10_000  # documents whose names can be looked up
MAX_STUDIED = 2_000  # documents whose words may explain a confusion
N_TOP = 25  # mistakes, and outliers, that are shown with their text
# characters of each text that are kept
IN_LISTS, FOR_WORDS, IN_FULL = 160, 16_384, 200_000

Cell = tuple[str, str | None]  # true label, predicted label


@dataclass(frozen=True, slots=True)
class Example:
    """A document with its true and its predicted label.

    probability  The probability of the predicted label, or of the label that a threshold withholds.
    texts        The texts of its fields, shortened; empty if they were not kept.
    n_missing    Number of characters that were cut off.
    """

    id: str
    label: str
    predicted: str | None
    probability: float
    texts: tuple[str, ...] = ()
    n_missing: int = 0


Make = Callable[[], Example]
Item = TypeVar("Item")


class ExamplesByCell:
    """Keeps the most probable examples of each cell of the confusion matrix, and counts all of them.

    Parameters
    ----------
    maximum : int
        Maximum number of examples; if there are more, the largest cells keep fewer.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._kept: dict[Cell, list[tuple[float, int, Example]]] = {}
        self._n_kept = 0
        self.counts: Counter[Cell] = Counter()

    def add(self, place: int, probability: float, cell: Cell, make: Make) -> None:
        """Count an example, and keep it for now."""
        self.counts[cell] += 1
        self._kept.setdefault(cell, []).append((-probability, place, make()))
        self._n_kept += 1
        if self._n_kept > 2 * self._maximum:
            self._trim()

    def cells(self) -> dict[Cell, list[Example]]:
        """Return the examples of each cell, the most probable first."""
        self._trim()
        return {cell: [example for *_, example in entries] for cell, entries in self._kept.items()}

    def _trim(self) -> None:
        if len(self._kept) > self._maximum:
            largest = sorted(self._kept, key=lambda cell: (-self.counts[cell], str(cell)))
            self._kept = {cell: self._kept[cell] for cell in largest[: self._maximum]}
        sizes = [len(entries) for entries in self._kept.values()]
        limits = range(max(sizes, default=0) + 1)
        limit = bisect_right(limits, self._maximum, key=lambda limit: sum(min(size, limit) for size in sizes)) - 1
        for entries in self._kept.values():
            entries.sort(key=lambda entry: entry[:2])
            del entries[limit:]
        self._n_kept = sum(map(len, self._kept.values()))


class TopExamples(Generic[Item]):
    """Keeps the examples with the highest rank; of equal ones the first."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._heap: list[tuple[float, int, Item]] = []

    def add(self, place: int, rank: float, make: Callable[[], Item]) -> None:
        """Keep an example if its rank is high enough."""
        key = (rank, -place)
        if len(self._heap) < self._maximum:
            heapq.heappush(self._heap, (*key, make()))
        elif key > self._heap[0][:2]:
            heapq.heapreplace(self._heap, (*key, make()))

    def rank_examples(self) -> list[tuple[float, Item]]:
        """Return the examples with their ranks, the highest first."""
        return [(rank, example) for rank, _, example in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]


class ErrorLog:
    """Records outcomes of all documents, and examples of some.

    listed    examples of each cell, for the lists of the confusion matrix
    studied   wrong ones with enough text to find misleading words
    mistakes  the wrong ones with the highest probability
    outliers  those with the lowest typicality

    Parameters
    ----------
    min_probability : float
        Threshold of `--min-probability` that was applied to the predictions.
    """

    def __init__(self, *, min_probability: float = 0.0) -> None:
        self._min_probability = min_probability
        self._numbers, self._parts = LabelNumbers(), list[Outcomes]()
        self._probabilities = ThinnedRows(MAX_PROBABILITIES)
        self.before_calibration: Reliability | None = None
        self.listed, self.studied = ExamplesByCell(MAX_LISTED), ExamplesByCell(MAX_STUDIED)
        self.mistakes, self.outliers = TopExamples[Example](N_TOP), TopExamples[Example](N_TOP)
        self.n_documents = 0
        self.has_texts = False

    def record(self, batch: PredictedBatch) -> None:
        """Record a batch; InputError if a document has no label."""
        predictions = batch.predictions
        if len(predictions) == 0:
            return
        outcomes = measure(predictions, self._numbers, min_probability=self._min_probability)
        self._parts.append(outcomes)
        rows = np.zeros((len(predictions), len(self._numbers)))
        is_unread = np.isnan(predictions.probabilities)
        rows[:, self._numbers.add(predictions.classes)] = np.where(
            is_unread, 1 / len(predictions.classes), predictions.probabilities
        )
        self._probabilities.add(rows)
        if batch.scores is not None:
            # the probabilities of the same labels without calibration
            exponentials = np.exp(batch.scores - batch.scores.max(axis=1, keepdims=True))
            uncalibrated = exponentials[np.arange(len(rows)), predictions.label_classes] / exponentials.sum(axis=1)
            self.before_calibration = self.before_calibration or Reliability()
            self.before_calibration.add(uncalibrated, outcomes.is_chosen_right)
        columns = batch.columns
        self.has_texts = self.has_texts or columns is not None
        for row, (identity, true, labels) in enumerate(
            zip(predictions.ids, predictions.true_labels, predictions.labels, strict=True)
        ):
            if not identity or not true:  # counts alone have no names
                continue
            label, predicted = true[0], labels[0] if labels else None
            place, probability, cell = self.n_documents + row, float(outcomes.best[row]), (label, predicted)
            make = partial(_example, columns, row, identity, cell, probability)
            is_wrong = predicted not in (label, None)
            self.listed.add(place, probability, cell, partial(make, IN_LISTS if is_wrong else 0))
            if is_wrong and columns is not None:
                self.studied.add(place, probability, cell, partial(make, FOR_WORDS))
                self.mistakes.add(place, probability, partial(make, IN_FULL))
            if outcomes.is_outlier[row] and predictions.typicality is not None:
                self.outliers.add(place, -float(predictions.typicality[row]), partial(make, IN_LISTS))
        self.n_documents += len(predictions)

    def outcomes(self, labels: tuple[str, ...]) -> Outcomes:
        """Return the outcomes of all documents; `labels` are all labels, sorted."""
        return join_outcomes(self._parts, self._numbers, labels)

    def probabilities(self, labels: tuple[str, ...]) -> tuple[Floats, int]:
        """Return the probabilities of every n-th document, shape (n_kept, n_labels), and n."""
        positions, rows = self._numbers.positions(labels), self._probabilities.rows()
        found = np.zeros((len(rows), len(labels)))
        found[:, positions[: rows.shape[1]]] = rows
        return found, self._probabilities.step


def _example(
    columns: tuple[Sequence[str], ...] | None,
    row: int,
    identity: str,
    cell: Cell,
    probability: float,
    n_characters: int,
) -> Example:
    """Make an example with so many characters of each text."""
    texts = tuple(column[row] for column in columns) if columns is not None and n_characters else ()
    n_missing = sum(max(0, len(text) - n_characters) for text in texts)
    return Example(identity, *cell, probability, tuple(text[:n_characters] for text in texts), n_missing)
