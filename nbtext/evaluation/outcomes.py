"""Outcomes: a few numbers for each document, from which metrics and curves are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import accumulate, chain
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32, Mask
from nbtext.documents.batch import Batch
from nbtext.documents.fields import WEIGHT_UNIT
from nbtext.features.csr import find_places
from nbtext.model.predictions import Predictions, most_probable
from nbtext.numerics import log
from nbtext.records import Strings, frozen, frozen_object

MIN_LOG_LOSS_PROBABILITY = 1e-15  # log-loss clips the probability of a true label to this
UNANSWERED = -1  # the predicted label of a document without one
RANKS = (1, 3, 5)  # of precision at k

AnyOutcomes = TypeVar("AnyOutcomes", bound="Outcomes | MultilabelOutcomes")


@frozen(eq=False, kw_only=True)
class WeighedOutcomes:
    """What the outcomes of each task have.

    weights  Shape (n_documents,): how often each document counts; None: once.
    texts    Shape (n_documents,): the number of its text, which documents with a part of a soft
             label share; None if `weights` is.
    """

    weights: Floats | None = None
    texts: Integers | None = None

    def weights_of(self, rows: Integers | slice = slice(None)) -> Any:
        """Return how often some documents count, (n_documents,); or 1."""
        return 1 if self.weights is None else self.weights[rows]

    @property
    def agreement(self) -> Floats | None:
        """The weight of the most frequent label of each text at one of its documents, and 0 at the
        others, (n_documents,); None: no text has several.
        """
        if self.weights is None or self.texts is None:
            return None
        order = np.lexsort((-self.weights, self.texts))
        ascending = self.texts[order]
        is_first = np.append(True, ascending[1:] != ascending[:-1])
        largest = np.zeros(len(order))
        largest[order[is_first]] = self.weights[order[is_first]]
        return None if is_first.all() else largest


@frozen_object
class Outcomes(WeighedOutcomes):
    """Predictions of one label compared with the true ones, one entry for each document.

    true             Shape (n_documents,).
    predicted        Shape (n_documents,): UNANSWERED where no label was predicted.
    best             Shape (n_documents,): the probability of the chosen label, even if it was not
                     given as the answer.
    is_known         Shape (n_documents,): the model knows the true label. Metrics of probabilities
                     leave out the other documents.
    of_true          Shape (n_documents,): the probability of the true label; 0 if it is not known.
    squared_errors   Shape (n_documents,): Σ_k (p_k - y_k)².
    is_chosen_right  Shape (n_documents,): the chosen label is the true one, even if it was not
                     given as the answer.
    is_answerable    Shape (n_documents,): the document was read and has a known token, so that only
                     a threshold could withhold its label.
    labels           All labels; `true` and `predicted` are positions among them, or numbers of a
                     `LabelNumbers`.
    """

    true: Integers32
    predicted: Integers32
    best: Floats
    is_known: Mask
    of_true: Floats
    squared_errors: Floats
    is_chosen_right: Mask
    is_answerable: Mask
    labels: Strings = ()

    def __len__(self) -> int:
        return len(self.true)

    @property
    def is_correct(self) -> Mask:
        """Whether the predicted label is the true one; False for a document without a predicted
        label.
        """
        return np.equal(self.true, self.predicted)

    @property
    def log_losses(self) -> Floats:
        """The log-loss of each document, in nats."""
        return -log(np.maximum(self.of_true, MIN_LOG_LOSS_PROBABILITY))


@frozen_object
class MultilabelOutcomes(WeighedOutcomes):
    """Predicted label sets compared with the true ones: an entry for each document, shape
    (n_documents,).

    n_true       Number of true labels.
    n_predicted  Number of predicted labels.
    n_correct    Number of predicted labels that are true.
    is_known     Whether the model knows all true labels. Metrics of probabilities leave out the
                 other documents.
    hits         Shape (n_documents, 3): true labels among the 1, 3 and 5 most probable ones.
    """

    n_true: Integers
    n_predicted: Integers
    n_correct: Integers
    is_known: Mask
    hits: Integers

    def __len__(self) -> int:
        return len(self.n_true)

    @property
    def is_correct(self) -> Mask:
        """Whether the predicted labels are exactly the true ones."""
        return np.asarray((self.n_true == self.n_correct) & (self.n_predicted == self.n_correct))


class PredictedBatch(NamedTuple):
    """Predictions of a batch, of one label or of several, with what they were made from where it is
    known.

    columns  The texts, a list for each text field.
    folds    Shape (n_documents,): the numbers of the folds that hold the documents, from 1 on.
    places   Sort the documents of all batches in the order of the source.
    groups   The group of each document, if a field of groups was read.
    excerpts The beginning of the text of each document, or why there is none.
    """

    predictions: Predictions
    columns: tuple[Sequence[str], ...] | None = None
    folds: Integers | None = None
    places: Sequence[str | int] | None = None
    groups: Sequence[str] | None = None
    excerpts: Sequence[str] = ()

    @classmethod
    def of(cls, found: Predictions, batch: Batch) -> Self:
        """Return the predictions for a batch, whose rows have numbers: one for each label of a soft
        label, as of `Batch.spread`.
        """
        if batch.shares or batch.weights is not None:
            numbers = np.array(batch.row_numbers)
            batch = batch.spread()
            texts = np.array(batch.row_numbers)
            found = replace(
                found.take(np.searchsorted(numbers, texts)),
                true_labels=batch.list_labels(),
                weights=np.array(batch.weights) / WEIGHT_UNIT,
                texts=texts,
            )
        columns = batch.columns if batch.matrix is None else ()
        return cls(found, columns or None, groups=batch.groups)


class LabelNumbers:
    """Numbers labels in the order in which they first occur."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.add_again = cache(self.add)  # of the labels of a model, which come with each batch

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, labels: Iterable[str]) -> Integers:
        """Return the number of each label; new labels get the next numbers."""
        return np.array(
            [self._numbers.setdefault(label, len(self._numbers)) for label in labels],
            np.int64,
        )

    def sorted(self) -> Strings:
        """Return all labels, sorted."""
        return tuple(sorted(self._numbers))

    def positions(self, labels: Strings) -> Integers:
        """Return, for each number, the position of its label in `labels`."""
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places[label] for label in self._numbers], np.int64)


def measure_outcomes(
    predictions: Predictions, numbers: LabelNumbers, *, min_probability: float
) -> Outcomes:
    """Compare a batch of predictions with the true labels of its documents.

    Parameters
    ----------
    numbers : LabelNumbers
        Numbers the labels; `true` and `predicted` of the result are these numbers.
    min_probability : float
        Threshold of `--min-probability` that was applied to the predictions.
    """
    classes = numbers.add_again(predictions.classes)
    true = numbers.add(label for (label,) in true_sets(predictions))
    own = find_places(classes, len(numbers))[true]
    rows = np.arange(len(true))
    chosen = predictions.label_classes
    is_read = predictions.is_read
    # a document that could not be read gets uniform probabilities
    probabilities = np.where(is_read[:, None], predictions.probabilities, 1 / max(1, len(classes)))
    best = probabilities[rows, chosen]
    is_known = own >= 0
    of_true = np.where(is_known, probabilities[rows, own], 0.0)
    is_answered = np.array(list(map(bool, predictions.labels)), np.bool_)
    return Outcomes(
        true=true.astype(np.int32),
        predicted=np.where(is_answered, classes[chosen], UNANSWERED).astype(np.int32),
        best=best,
        is_known=is_known,
        of_true=of_true,
        squared_errors=(probabilities**2).sum(axis=1) - 2 * of_true + 1,
        is_chosen_right=(own == chosen) & is_read,
        is_answerable=is_answered | ((best < min_probability) & is_read),
        weights=predictions.weights,
        texts=predictions.texts,
    )


def measure_sets(predictions: Predictions, numbers: LabelNumbers) -> MultilabelOutcomes:
    """Compare a batch of predictions with the true labels of its documents, and number all labels.

    A document that could not be read has the probability 0 for every label.
    """
    true = list(map(set, true_sets(predictions)))
    numbers.add(chain(predictions.classes, chain.from_iterable(true)))
    known = set(predictions.classes)
    hits = np.zeros((len(true), len(RANKS)), np.int64)
    for row, best in enumerate(most_probable(predictions.probabilities, RANKS[-1])):
        is_hit = [predictions.classes[k] in true[row] for k in best]
        hits[row] = [sum(is_hit[:k]) for k in RANKS]
    correct = [
        len(labels.intersection(found))
        for labels, found in zip(true, predictions.labels, strict=True)
    ]
    return MultilabelOutcomes(
        n_true=np.array(list(map(len, true)), np.int64),
        n_predicted=np.array(list(map(len, predictions.labels)), np.int64),
        n_correct=np.array(correct, np.int64),
        is_known=np.array([labels <= known for labels in true], np.bool_),
        hits=hits,
        weights=predictions.weights,
        texts=predictions.texts,
    )


def true_sets(predictions: Predictions) -> list[Strings]:
    """Return the true labels of each document, which `Evaluator.check` has found to be
    known.
    """
    return cast("list[Strings]", predictions.true_labels)


def mark_true(predictions: Predictions) -> Mask:
    """Return whether each label of the model is a true one of each document, (n_documents,
    n_classes).
    """
    places = {label: place for place, label in enumerate(predictions.classes)}
    is_true = np.zeros(predictions.probabilities.shape, np.bool_)
    for row, labels in enumerate(true_sets(predictions)):
        is_true[row, [places[label] for label in labels if label in places]] = True
    return is_true


def as_counts(sums: Array) -> Array:
    """Return sums of weights, as whole numbers if all are."""
    whole = np.rint(sums).astype(np.int64)
    return np.asarray(whole if (whole == sums).all() else sums)


def join_outcomes(parts: list[AnyOutcomes], numbers: LabelNumbers, labels: Strings) -> AnyOutcomes:
    """Concatenate the outcomes of batches; `labels` are all labels, in the order that their
    positions should have.
    """
    names = [field.name for field in fields(parts[0]) if field.name != "labels"]
    if any(part.weights is not None for part in parts):
        # a document without a weight counts once, and has a text of its own
        parts = [
            replace(part, weights=np.ones(len(part)), texts=-np.arange(start, start + len(part)))
            if part.weights is None
            else part
            for part, start in zip(parts, accumulate(map(len, parts), initial=1), strict=False)
        ]
    else:
        names = [name for name in names if name not in ("weights", "texts")]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in names
    }
    whole = type(parts[0])(**columns)
    if isinstance(whole, MultilabelOutcomes):
        return whole
    positions = np.append(numbers.positions(labels), UNANSWERED).astype(np.int32)
    return replace(
        whole,
        labels=labels,
        true=positions[whole.true],
        predicted=positions[whole.predicted],
    )
