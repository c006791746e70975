"""What sets of labels cost: how large they are at which coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.prediction_sets import STRANGEST, nonconformity
from nbtext.bayes.quantiles import Quantiles
from nbtext.bayes.scorer import Floats

ASKED = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995)
MOST_PROBABILITIES = 1 << 21  # that are sorted at once; of more documents every second, fourth, … is looked at


class SetSize(NamedTuple):
    """Sets of labels that were asked to hold the true one with a frequency."""

    asked: float
    coverage: float  # the share of documents whose set does
    mean_size: float  # labels in a set


def set_sizes(probabilities: Floats, own: NDArray[np.int64], known: Quantiles | None) -> tuple[SetSize, ...]:
    """What `--coverage` gives at several frequencies.

    probabilities  (n_documents, n_classes)
    own            (n_documents,), the class of each; -1 of a label that the model does not know
    known          how strange true labels are, of documents that the model left out; None: of these documents, which
                   gives the coverage that is asked for, and shows what it costs
    """
    step = max(1, probabilities.size // MOST_PROBABILITIES)
    strange, own = nonconformity(probabilities[::step]), own[::step]
    if not len(own):
        return ()
    of_own = np.where(own >= 0, strange[np.arange(len(own)), own], STRANGEST)
    known = known or Quantiles.of(of_own)
    assert known is not None  # there are documents
    thresholds = [known.upper_bound(asked) for asked in ASKED]
    return tuple(_sized(strange, of_own, pairs) for pairs in zip(ASKED, thresholds, strict=True))


def _sized(strange: Floats, of_own: Floats, pair: Sequence[float]) -> SetSize:
    asked, threshold = pair
    return SetSize(asked, float((of_own <= threshold).mean()), float((strange <= threshold).sum(axis=1).mean()))
