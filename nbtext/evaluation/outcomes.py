"""What became of each document: a few numbers each, so that millions of them fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

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


def joined(parts: Sequence[Outcomes], labels: tuple[str, ...], places: NDArray[np.int64]) -> Outcomes:
    """Several, one after the other.

    places  where among the labels each one stands that has a number in the parts
    """
    names = [field.name for field in fields(Outcomes) if field.name != "labels"]
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    columns["true"] = places[columns["true"]].astype(np.int32)
    columns["predicted"] = np.append(places, -1)[columns["predicted"]].astype(np.int32)  # no answer stays the last one
    return Outcomes(labels, **columns)
