"""What the posteriors of left-out documents are on average, which models store, and the estimate of
prevalence that is made of it: the share of each label among unlabeled documents.

The application `prevalence` estimates it.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from nbtext.arrays import (
    FOR_EACH_LABEL,
    MAX_EXACT_INTEGER,
    N_LABELS,
    Floats,
    Integers,
    Limits,
)
from nbtext.bayes.decision_offsets import fit_prior_adjustment
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.numerics import dot, exp
from nbtext.records import Strings, frozen_object

# with more, the mean posteriors would take more than 2 MiB, and hardly any class has documents
MAX_SHARES = 512
MIN_PRIOR = 1e-300  # of a class, so that its logarithm is finite


@frozen_object
class MeanPosteriors:
    """What the posteriors of documents of each class are on average, measured on left-out
    documents.

    means      (n_classes, n_classes), row k is the mean posterior of the documents of class k; its
               sum is 1
    documents  (n_classes,), left-out documents of each class; a class without any is assumed to be
               predicted without errors
    spreads    (n_classes,), variance of these posteriors in relation to its maximum, from 0 to 1
    prior      (n_classes,), the class shares for which the posteriors are calibrated; their sum is
               1
    """

    means: Annotated[Floats, Limits(0, 1, (N_LABELS, N_LABELS))]
    documents: Annotated[Integers, FOR_EACH_LABEL]
    spreads: Annotated[Floats, Limits(0, 1, (N_LABELS,))]
    prior: Annotated[Floats, Limits(MIN_PRIOR, 1, (N_LABELS,))]


def fit_mean_posteriors(judged: JudgedDocuments) -> MeanPosteriors | None:
    """Return the mean posteriors of documents that the model has not seen; None with one class or
    too many classes.

    judged  with calibrated log-probabilities
    """
    n_classes = judged.n_classes
    if not 2 <= n_classes <= MAX_SHARES:
        return None
    documents = judged.count()
    means = np.eye(n_classes)
    spreads = np.zeros(n_classes)
    for k in np.flatnonzero(documents).tolist():
        own = judged.take(judged.classes == k)
        posteriors = exp(own.scores)
        mean = np.average(posteriors, axis=0, weights=own.weights)
        means[k] = mean / mean.sum()
        maximum = 1 - dot(means[k], means[k])  # the variance if each posterior is 0 or 1
        if maximum > 0:
            squares = (posteriors - mean) ** 2
            variance = (
                squares.sum() / len(own)
                if own.weights is None
                else dot(own.weights, squares.sum(axis=1)) / own.n_documents
            )
            spreads[k] = np.clip(variance / maximum, 0.0, 1.0)
    shares = (documents + 0.5) / (documents.sum() + 0.5 * n_classes)
    # with these offsets the posteriors are calibrated for the shares of the left-out documents
    prior = shares * exp(-fit_prior_adjustment(judged))
    return MeanPosteriors(means, np.rint(documents).astype(np.int64), spreads, prior / prior.sum())


@frozen_object
class LabelPosteriors:
    """The mean probability of each label on left-out documents. Column 0: those without the label;
    column 1: with it.

    documents  (n_labels, 2), numbers of documents
    means      (n_labels, 2)
    spreads    (n_labels, 2), variance of the probabilities in relation to its maximum, from 0 to 1
    """

    documents: Annotated[Floats, Limits(0, MAX_EXACT_INTEGER, (N_LABELS, 2))]
    means: Annotated[Floats, Limits(0, 1, (N_LABELS, 2))]
    spreads: Annotated[Floats, Limits(0, 1, (N_LABELS, 2))]


class ShareEstimate(NamedTuple):
    """Estimated class shares, (n_classes,) each, and the bounds of their intervals."""

    shares: Floats
    low: Floats
    high: Floats


@frozen_object
class Prevalence:
    """The estimated shares of labels among documents.

    labels           of the model, sorted
    n_documents      that could be read
    estimate         the share of each label, and its interval; the count of predictions, if more
                     than shares has changed
    predicted        (n_classes,), number of documents that are predicted as each label
    naive_shares     (n_classes,), the share of the predictions with each label
    unmeasured       labels without a left-out document (several labels: with fewer than ten), whose
                     errors are not known
    drift            share of the words that differ from those of training, whatever the shares are;
                     None: not known, as with several labels
    drifted          the features with the largest deviations, as text; those of hashed features
                     have no text
    shift            standard deviations by which the predictions are more certain than in training,
                     whatever the shares are; 0 if it is not significant, and with several labels
    """

    labels: Strings
    n_documents: int
    estimate: ShareEstimate
    predicted: Integers
    naive_shares: Floats
    unmeasured: Strings
    drift: float | None = None
    drifted: Strings = ()
    shift: float = 0.0
