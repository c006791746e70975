"""Sets of labels that hold the true one as often as they promise: how strange a label is, from its probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

LEAST = 1e-300  # of a probability, so that its logarithm is finite
STRANGEST = 2.0  # of a label that nothing was known of: more than any other label's


def nonconformity(probabilities: Floats) -> Floats:
    """How strange each label would be for each document, shape (n_documents, n_classes); a set holds the least strange.

    The nonconformity of adaptive prediction sets: the probability of all labels that are more probable, from 0 to 1.
    It is 0 for every most probable label, be it sure or unsure; there the logarithm of what is left for the others
    decides, which is below 0. So the scores hardly tie, the coverage is what was asked for without a throw of dice,
    and where less is asked for than the accuracy anyway, the documents that end up with an empty set are the least
    sure ones.

    probabilities  (n_documents, n_classes), rows that sum to one
    source         Romano, Sesia, Candès, Classification with Valid and Adaptive Coverage, 2020, section 2
                   (there u is drawn at random; here it is 0, and 1 for a document's first label, on another scale)
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    descending = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(descending, axis=1) - descending
    is_tied = descending[:, 1:] == descending[:, :-1]
    starts = np.where(np.pad(is_tied, ((0, 0), (1, 0))), 0, np.arange(probabilities.shape[1]))
    starts = np.maximum.accumulate(starts, axis=1)  # labels that are equally probable are equally strange
    scores = np.take_along_axis(before, starts, axis=1)
    scores[starts == 0] = np.repeat(_unsureness(descending), (starts == 0).sum(axis=1))
    result = np.empty_like(scores)
    np.put_along_axis(result, order, scores, axis=1)
    return result


def own_nonconformity(probabilities: Floats, classes: NDArray[Any]) -> Floats:
    """How strange its own label is for each document, shape (n_documents,): a column of `nonconformity`, sooner had."""
    own = probabilities[np.arange(len(classes)), classes]
    before = np.where(probabilities > own[:, None], probabilities, 0.0).sum(axis=1)
    is_first = before == 0
    before[is_first] = _unsureness(probabilities[is_first])
    return np.asarray(before)


def _unsureness(probabilities: Floats) -> Floats:
    """The logarithm of what the most probable label leaves for the others."""
    others = probabilities.copy()
    others[np.arange(len(others)), others.argmax(axis=1)] = 0.0
    return np.asarray(np.log(np.clip(others.sum(axis=1), LEAST, 1.0)))
