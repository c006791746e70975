"""Whether a model tells documents of its own kind from foreign ones, by their likelihood alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import InputError, SettingsError
from nbtext.model.predictor import Predictions


class Likelihoods:
    """The log-likelihoods per token of documents that pass by; those without a token have none."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.float64]] = []

    def add(self, predictions: Predictions) -> None:
        """Note these; SettingsError where the model does not know how likely a document is."""
        if predictions.likelihoods is None:
            hint = "multinomial and bernoulli do, over counts or presence"
            raise SettingsError("the model does not say how likely a document is", where="--foreign", hint=hint)
        self._parts.append(predictions.likelihoods[~np.isnan(predictions.likelihoods)])

    def found(self) -> NDArray[np.float64]:
        """Those of all documents that have one, in order; InputError where that is none."""
        if not sum(map(len, self._parts)):
            raise InputError("there is no document with a token to tell own from foreign ones by")
        return np.concatenate(self._parts)


def auroc(own: Likelihoods, foreign: Likelihoods) -> float:
    """The probability that a document of one's own is likelier than a foreign one; ties count half.

    source  the area under the curve of Hanley and McNeil, The Meaning and Use of the Area under a Receiver Operating
            Characteristic (ROC) Curve, 1982, as Mann and Whitney's U
    """
    ascending, numbers = np.sort(foreign.found()), own.found()
    below = np.searchsorted(ascending, numbers, side="left") + np.searchsorted(ascending, numbers, side="right")
    return float(below.mean() / (2 * len(ascending)))
