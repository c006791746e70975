"""Judged documents: what a model says of documents that it has not seen, beside what is true.

All that is fitted to left-out or held-out documents, and every figure of an estimate, is a function
of this record: the temperature, decision offsets and targets, prediction sets, mean posteriors, the
weights of a combination, confused labels. They need a score for each class, the true class and
some columns beside them. A function that changes scores, such as a calibration, returns the same
documents with other scores; one that selects documents (`take`) selects in all columns.

How often a document counts is known here only: `weigh` and what follows from it (`mean`, `count`)
are the sums over documents. Without weights they are the plain ones, to the bit.

Documents with several labels are judged as `Cells` (`label_calibration`), because of almost all
pairs of a document and a label only a sample is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Mask
from nbtext.records import frozen_object


@frozen_object
class JudgedDocuments:
    """Documents that a model has not seen, in random order.

    scores   (n_documents, n_classes), or log-probabilities; those of several models are
             (n_models, n_documents, n_classes)
    lengths  (n_documents,), known tokens; None: they are not known, as in a matrix of weights
    classes  (n_documents,), the true classes
    weights  (n_documents,), how often each document counts; None: once
    contents  (n_documents,), equal for documents of equal content; None: each has its own
    """

    scores: Floats
    lengths: Array | None
    classes: Array
    weights: Array | None = None
    contents: Array | None = None

    @classmethod
    def of(
        cls,
        documents: Any,
        scores: Floats,
        lengths: Array | None,
        rows: slice | Integers = slice(None),
    ) -> Self:
        """Return some documents of a table, with their scores and known tokens."""
        times = None if documents.times is None else documents.times[rows]
        return cls(scores, lengths, documents.classes[rows], times, documents.hashes[rows])

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the documents of all parts."""
        columns = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
            if getattr(parts[0], field.name) is not None
        }
        return replace(parts[0], **columns)

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def n_classes(self) -> int:
        return int(self.scores.shape[-1])

    @property
    def own(self) -> Floats:
        """The score of the true class of each document."""
        return self.scores[..., np.arange(len(self)), self.classes]

    @property
    def n_documents(self) -> float:
        """The sum of how often the documents count."""
        return len(self) if self.weights is None else float(self.weights.sum())

    def take(self, rows: slice | Integers | Mask) -> Self:
        """Return some of the documents."""
        beside = {  # the columns but the scores, which come first
            field.name: column[rows]
            for field in fields(self)[1:]
            if (column := getattr(self, field.name)) is not None
        }
        return replace(self, scores=self.scores[..., rows, :], **beside)

    def halves(self) -> tuple[slice, ...]:
        """Return the places of two halves that have no content in common; none if there are no
        contents, or the first half is empty.
        """
        if self.contents is None or not len(self):
            return ()
        middle = int(np.searchsorted(self.contents, self.contents[len(self) // 2]))
        return (slice(0, middle), slice(middle, None)) if middle else ()

    def with_scores(self, scores: Floats) -> Self:
        """Return the documents with other scores."""
        return replace(self, scores=scores)

    def calibrate(self, log_posterior: Callable[[Floats, Array | None], Floats]) -> Self:
        """Return the documents with the log-probabilities that follow from scores and lengths."""
        return self.with_scores(log_posterior(self.scores, self.lengths))

    def weigh(self, values: Any) -> Any:
        """Return values, (…, n_documents), times how often each document counts."""
        return values if self.weights is None else values * self.weights

    def mean(self, values: Array) -> float:
        """Return the mean of a value of each document."""
        return float(self.weigh(values).sum() / self.n_documents)

    def count(self) -> Array:
        """Return the number of documents of each class, (n_classes,)."""
        return np.bincount(self.classes, self.weights, self.n_classes)

    def losses(self) -> Floats:
        """Return −log P of the label of each document, by log-probabilities, times how often it
        counts in relation to the mean.
        """
        own = -self.own
        return own if self.weights is None else own * (self.weights / self.weights.mean())
