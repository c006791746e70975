"""Predictions: what a model says about some documents, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from nbtext.arrays import Floats, Integers, Mask
from nbtext.records import Strings, dataclass

Labels = tuple[str, ...]
LabelValue = TypeVar("LabelValue", bound=str | int | float)
# columns, with an entry for each document
OF_EACH = str.split(
    "ids labels probabilities known reasons true_labels decided outliers typicality label_sets "
    "explanations weights texts"
)
FEW_CLASSES = 256  # so many are sorted at once


@dataclass(eq=False)
class Predictions:
    """The predictions for some documents, in order: columns of the same length, and what all
    documents share.

    A document has a set of labels: exactly one, or any number, as the task says (see
    `nbtext.model.task`). One without a label may have a reason: it could not be read, or the model
    abstains.

    Attributes
    ----------
    task : str
        The name of the task of the model.
    classes : tuple of str
        The labels of the model, sorted.
    labels
        The predicted labels of each document, the most probable first.
    probabilities : (n_documents, n_classes)
        The probability of each label; NaN for a document that could not be read.
    known : (n_documents,)
        The share of the document's tokens that are in the vocabulary; 0 without tokens.
    reasons
        Why a document has no label; None if it has one, or if none of its labels reached its
        threshold.
    true_labels
        The labels that the source gives; None if it gives none.
    decided : (n_documents,) or None
        The class of the one label of each document, even if the model abstains; None: the most
        probable.
    thresholds : (n_classes,) or None
        The probability from which each label was predicted; None: one label excludes the others.
    separator
        Divides labels in a table.
    outliers
        Whether each document is unlike the training documents; None if it is not known.
    typicality : (n_documents,) or None
        The conformal p-value of the document: about the share of left-out training documents that
        are less likely.
    label_sets
        Prediction sets, each by decreasing probability; None if they are not requested.
    explanations
        The strongest features of each document with their log-odds, strongest first.
    rows
        The documents as the file has them, if the source keeps them.
    weights : (n_documents,) or None
        How often each document counts in an evaluation; None: once.
    texts : (n_documents,) or None
        The number of the text of each document: a text with a soft label is a document for each of
        its labels. None: each document has its own text.
    measure
        Adds `outliers` and `typicality`, which few formats have; None if the model does not know
        them, or they are there already.
    """

    task: str
    classes: Strings
    ids: Sequence[str]
    labels: list[Labels]
    probabilities: Floats
    known: Floats
    reasons: list[str | None]
    true_labels: list[Labels | None]
    decided: Integers | None = None
    thresholds: Floats | None = None
    separator: str = ","
    outliers: list[bool | None] | None = None
    typicality: Floats | None = None
    label_sets: list[Labels] | None = None
    explanations: list[tuple[tuple[str, float], ...]] | None = None
    rows: Any = None
    weights: Floats | None = None
    texts: Integers | None = None
    measure: Callable[[Predictions], None] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_read(self) -> Mask:
        """Whether each document could be read, (n_documents,); without labels, that is not known of
        any.
        """
        return np.asarray(np.isfinite(self.probabilities[:, :1]).any(axis=1))

    @property
    def label_classes(self) -> Integers:
        """The class of each document's first label, or of the label it would have if the model did
        not abstain.
        """
        if self.decided is not None:
            return self.decided
        return np.asarray(self.probabilities.argmax(axis=1))

    @property
    def best(self) -> Floats:
        """The probability of the label of each document in `label_classes`."""
        return self.probabilities[np.arange(len(self)), self.label_classes]

    def complete(self) -> None:
        """Add `outliers` and `typicality`, if the model knows them."""
        if self.measure:
            self.measure(self)
            self.measure = None

    def take(self, chosen: Mask | Integers) -> Predictions:
        """Return the predictions for some documents, without the rows of the file."""
        self.complete()
        rows = np.arange(len(self))[chosen]
        taken: dict[str, Any] = {"rows": None}
        for field in fields(self):
            values = getattr(self, field.name)
            if field.name in OF_EACH and values is not None:
                is_array = isinstance(values, np.ndarray)
                taken[field.name] = values[rows] if is_array else [values[k] for k in rows.tolist()]
        return replace(self, **taken)

    def classes_of(self, labels: Sequence[Labels]) -> list[list[int]]:
        """Return the classes of some labels of each document."""
        places = {label: place for place, label in enumerate(self.classes)}
        return [[places[label] for label in each] for each in labels]


def most_probable(probabilities: Floats, k: int) -> list[list[int]]:
    """Return the k most probable classes of each row, (n_documents, n_classes); none of a row of
    NaN.

    Ties are in the order of the classes.
    """
    n_classes = probabilities.shape[1]
    if len(probabilities) == 0 or k >= n_classes or n_classes < FEW_CLASSES:
        order = np.argsort(-probabilities, axis=1, kind="stable")[:, :k].tolist()
    else:
        lowest = np.partition(probabilities, n_classes - k, axis=1)[:, n_classes - k]
        order = []
        for row, minimum in zip(probabilities, lowest.tolist(), strict=True):
            found = np.flatnonzero(row >= minimum)
            order.append(found[np.argsort(-row[found], kind="stable")][:k].tolist())
    is_unread = np.asarray(np.isnan(probabilities[:, :1]).any(axis=1))
    return [[] if is_unread[row] else classes for row, classes in enumerate(order)]


def select_labels(
    probabilities: Floats, classes: Sequence[str], thresholds: Floats, *, at_least_one: bool = False
) -> list[Labels]:
    """Return the labels of each document whose probability is at least their threshold; see
    `rank_labels`.

    A document that could not be read has none.

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
    return rank_labels(is_reached, probabilities, classes)


def rank_labels(
    is_chosen: Mask, probabilities: Floats, classes: Sequence[LabelValue]
) -> list[tuple[LabelValue, ...]]:
    """Return the chosen labels of each document, the most probable first; ties are in the order of
    the classes.

    Parameters
    ----------
    is_chosen : array of bool
        Shape (n_documents, n_classes).
    probabilities : array of float64
        Shape (n_documents, n_classes).
    """
    rows, columns = np.nonzero(is_chosen)
    order = np.lexsort((columns, -probabilities[rows, columns], rows))
    names = [classes[k] for k in columns[order].tolist()]
    return [
        tuple(names[start:end])
        for start, end in pairwise([0, *np.cumsum(is_chosen.sum(axis=1)).tolist()])
    ]
