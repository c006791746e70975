"""What a page about an evaluation needs, kept while answers go by: some numbers of each document, and few texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.evaluation.outcomes import Outcomes, OutcomesSoFar
from nbtext.evaluation.reliability import Reliability, ReliabilityBin
from nbtext.evaluation.seen import Seen
from nbtext.evaluation.shelves import Noted, Shelf, Worst
from nbtext.evaluation.thinning import Thinned
from nbtext.model.predictor import Predictions

MOST_PROBABILITIES = 1 << 23  # kept for curves: 64 MiB; of more, those of every second document, fourth, …
MOST_LISTED = 10_000  # documents that are named, and the surest of their kind
MOST_STUDIED = 2_000  # wrongly answered documents whose beginning is kept, to see what misled the model
N_WORST = 25  # of mistakes, and of outliers
LISTED, STUDIED, WHOLE = 160, 16_384, 200_000  # characters of a text that are kept


class ErrorLog:
    """Keeps what a page about an evaluation needs.

    least  below this probability there was no answer for that reason alone (--min-probability)
    """

    def __init__(self, *, least: float = 0.0) -> None:
        self._outcomes = OutcomesSoFar(least=least)
        self._thinned = Thinned(MOST_PROBABILITIES)
        self._before: Reliability | None = None
        self.listed = Shelf(MOST_LISTED)
        self.studied = Shelf(MOST_STUDIED)
        self.mistakes, self.outliers = Worst(N_WORST), Worst(N_WORST)
        self.n_documents = 0
        self.has_texts = False

    def watching(self, seen: Iterable[Seen]) -> Iterator[Predictions]:
        """The answers, each batch as soon as it was noted."""
        for each in seen:
            self.add(each)
            yield each.predictions

    def add(self, seen: Seen) -> None:
        """Note these; a batch is passed over in which a document's label is not known, which the judge refuses."""
        predictions = seen.predictions
        labels = [label for label in predictions.true_labels if label is not None]
        if len(labels) < len(predictions) or not labels:
            return
        outcomes, probabilities = self._outcomes.add(predictions, labels)
        self._thinned.add(probabilities)
        if seen.scores is not None:
            self._note_scores(seen.scores, predictions.chosen, outcomes.is_sound)
        self._note_documents(seen, labels, outcomes.best)
        self.n_documents += len(labels)

    def outcomes(self, labels: tuple[str, ...]) -> Outcomes:
        """What became of each document; `labels` are all that there are, in the order that their places have."""
        return self._outcomes.joined(labels)

    def probabilities(self, labels: tuple[str, ...]) -> tuple[Floats, int]:
        """Those of all documents, or of every n-th, shape (n_documents, n_labels), and n."""
        places, rows = self._outcomes.places_among(labels), self._thinned.rows()
        found = np.zeros((len(rows), len(labels)))
        found[:, places[: rows.shape[1]]] = rows
        return found, self._thinned.step

    @property
    def before_calibration(self) -> tuple[tuple[ReliabilityBin, ...], float] | None:
        """The reliability of the same answers by probabilities as the model has them itself, and their error."""
        return (self._before.bins(), self._before.error) if self._before is not None else None

    def _note_scores(self, scores: Floats, chosen: NDArray[np.int64], is_sound: NDArray[np.bool_]) -> None:
        above = scores - scores.max(axis=1, keepdims=True)
        exponentials = np.exp(above)
        self._before = self._before or Reliability()
        self._before.add(exponentials[np.arange(len(chosen)), chosen] / exponentials.sum(axis=1), is_sound)

    def _note_documents(self, seen: Seen, labels: list[str], best: Floats) -> None:
        """Keep the names of documents, and the texts of some."""
        predictions = seen.predictions
        self.has_texts = self.has_texts or seen.columns is not None
        rows = zip(predictions.ids, labels, predictions.labels, best.tolist(), predictions.outliers, strict=True)
        for row, (identity, label, answer, probability, is_outlier) in enumerate(rows):
            if not identity:  # of counts alone
                continue
            document = _Document(seen.columns, row, identity, label, answer, probability)
            place, cell, is_wrong = self.n_documents + row, (label, answer), answer not in (label, None)
            self.listed.put(place, probability, cell, partial(document.noted, LISTED if is_wrong else 0))
            if is_wrong and seen.columns is not None:
                self.studied.put(place, probability, cell, partial(document.noted, STUDIED))
                self.mistakes.put(place, probability, partial(document.noted, WHOLE))
            if is_outlier and predictions.typicality is not None:
                self.outliers.put(place, -float(predictions.typicality[row]), partial(document.noted, LISTED))


class _Document(NamedTuple):
    """A document where it stands in its batch."""

    columns: tuple[list[str], ...] | None
    row: int
    id: str
    label: str
    answer: str | None
    probability: float

    def noted(self, n_characters: int) -> Noted:
        """With so many characters of each of its texts."""
        columns = self.columns if self.columns is not None and n_characters else ()
        texts = tuple(column[self.row] for column in columns)
        n_missing = sum(max(0, len(text) - n_characters) for text in texts)
        cut = tuple(text[:n_characters] for text in texts)
        return Noted(self.id, self.label, self.answer, self.probability, cut, n_missing)
