"""Predictions for documents with several labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Rows
from nbtext.model.predictor import Predictions, most_probable
from nbtext.records import dataclass

SEPARATOR = "|"  # of labels in a table, if the labels of the training documents had none


@dataclass(slots=True, eq=False)
class MultilabelPredictions:
    """The predicted labels of some documents, in order, as columns of the same length.

    Attributes
    ----------
    classes : tuple of str
        The labels of the model, sorted.
    probabilities : (n_documents, n_classes)
        The probabilities of the labels, which need not sum to 1; NaN for a document that could not be read.
    known : (n_documents,)
        The share of the document's tokens that are in the vocabulary; 0 without tokens.
    outliers
        Whether each document is unlike the training documents; None if it is not known.
    reasons
        Why a document could not be predicted; None if it could.
    true_labels
        The labels that the source gives; None if it gives none.
    thresholds : (n_classes,)
        A label is predicted if its probability is at least its threshold.
    predicted
        The predicted labels, the most probable first; none for a document that could not be read.
    separator : str
        Divides labels in a table.
    sets
        Sets that hold the true labels with the coverage that was asked for, the most probable label first; None: no
        coverage was asked for.
    explanations
        The strongest features of each document with their log-odds, strongest first.
    rows
        The documents as the file has them, if the source keeps them.
    """

    ids: Sequence[str]
    classes: tuple[str, ...]
    probabilities: Floats
    known: Floats
    outliers: list[bool | None]
    reasons: list[str | None]
    true_labels: list[tuple[str, ...] | None]
    thresholds: Floats
    predicted: list[tuple[str, ...]]
    separator: str = SEPARATOR
    sets: list[tuple[str, ...]] | None = None
    explanations: list[tuple[tuple[str, float], ...]] | None = None
    rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def most_probable(self, k: int) -> list[list[int]]:
        """Return the k most probable classes of each document, the most probable first; none if it was not read."""
        return most_probable(self.probabilities, k)


AnyPredictions = Predictions | MultilabelPredictions


def select_labels(
    probabilities: Floats, classes: Sequence[str], thresholds: Floats, *, at_least_one: bool = False
) -> list[tuple[str, ...]]:
    """Return the labels of each document whose probability is at least their threshold, the most probable first.

    Ties are in the order of the classes. A document that could not be read has none.

    Parameters
    ----------
    probabilities : array of float64
        Shape (n_documents, n_classes).
    thresholds : array of float64
        Shape (n_classes,).
    at_least_one : bool
        A document without such a label gets its most probable one.
    """
    with np.errstate(invalid="ignore"):
        is_reached = probabilities >= thresholds
    if at_least_one and len(classes):
        rows = np.flatnonzero(~is_reached.any(axis=1) & ~np.isnan(probabilities[:, :1]).any(axis=1))
        is_reached[rows, probabilities[rows].argmax(axis=1)] = True
    rows, columns = np.nonzero(is_reached)
    order = np.lexsort((columns, -probabilities[rows, columns], rows))
    names = [classes[k] for k in columns[order].tolist()]
    bounds = [0, *np.cumsum(is_reached.sum(axis=1)).tolist()]
    return [tuple(names[start:end]) for start, end in pairwise(bounds)]
