"""What a classifier answers, for a batch of documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class Predictions:
    """One answer for each document, in order, as columns of the same length.

    Where there is no answer (the document could not be read, holds no token, or nbtext abstains) the label is None
    and a reason says why.
    """

    ids: list[str]
    labels: list[str | None]
    classes: tuple[str, ...]  # the labels that the model knows, sorted
    probabilities: NDArray[np.float64]  # (n_documents, n_classes), rows that sum to one; NaN where it was not read
    known: NDArray[np.float64]  # (n_documents,), the share of its tokens that the model knows; 0 where it has none
    outliers: list[bool | None]  # unlike what the model learned; None where that cannot be told
    reasons: list[str | None]
    true_labels: list[str | None]  # what the source says, where it says so
    decided: NDArray[np.int64] | None = None  # (n_documents,), the class that was decided for; None: the most probable
    likelihoods: NDArray[np.float64] | None = None  # (n_documents,), log p(x) per token in nats; NaN without tokens
    typicality: NDArray[np.float64] | None = (
        None  # (n_documents,), the share of left-out documents that are less likely
    )
    label_sets: list[tuple[str, ...]] | None = None  # by falling probability; None where sets were not asked for
    explanations: list[tuple[tuple[str, float], ...]] | None = None  # words and their log-odds, the strongest first

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The class that is each document's answer, or would be if it had one."""
        if self.decided is not None:
            return self.decided
        return self.probabilities.argmax(axis=1) if len(self) else np.zeros(0, dtype=np.int64)

    @property
    def best(self) -> NDArray[np.float64]:
        """The probability of each document's answer."""
        return self.probabilities[np.arange(len(self)), self.chosen] if len(self) else np.zeros(0)
