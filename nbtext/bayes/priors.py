"""What is believed of the classes before a document is read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.settings import LARGEST, SMALLEST
from nbtext.errors import ModelError, SettingsError

Prior = str | tuple[float, ...]


def log_prior(class_documents: NDArray[np.int64], prior: Prior) -> NDArray[np.float64]:
    """The logarithm of each class's prior probability, shape (n_classes,).

    class_documents  (n_classes,), documents of each class
    prior            `empirical` (the share of the documents), `uniform`, or a weight a class, SMALLEST to LARGEST
    raises           SettingsError: as many weights as classes are wanted; ModelError: a class has no document
    """
    if prior == "uniform":
        weights = np.ones(len(class_documents))
    elif prior == "empirical":
        weights = class_documents.astype(np.float64)
        if (weights <= 0).any():
            raise ModelError("a class has no document", hint="give it one, leave it out, or use --prior uniform")
    else:
        weights = np.array(prior, dtype=np.float64)
        if len(weights) != len(class_documents) or not ((weights >= SMALLEST) & (weights <= LARGEST)).all():
            raise SettingsError(
                f"{len(class_documents)} positive numbers are wanted, one for each label in sorted order",
                where="--prior",
            )
    return np.asarray(np.log(weights) - np.log(weights.sum()))
