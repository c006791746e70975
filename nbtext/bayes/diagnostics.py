"""What a model keeps about its training: selected hyperparameters, the leave-one-out estimate,
unlabeled documents.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from nbtext.arrays import (
    AT_LEAST_0,
    FROM_0_TO_1,
    LOG_PRIOR,
    MAX_STORED_NUMBER,
    N_LABELS,
    Array,
    Floats,
    Limits,
)
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.features.vocabulary import Vocabulary
from nbtext.records import frozen, frozen_object

MAX_KEPT_PAIRS = 20  # pairs of confused labels that are kept
DEVIATIONS = 1.96  # standard deviations, within which are 95 % of a normal distribution
MAX_SCORE_WEIGHT = 1e20  # of parts and labels, so that products are finite


# the bounds of a figure; None: they are not known
Interval = tuple[float, float] | None


@frozen
class Confusion:
    """Two classes, and how many documents of each are predicted as the other (both directions)."""

    first: int  # before the second
    second: int
    first_as_second: int
    second_as_first: int

    @property
    def together(self) -> int:
        return self.first_as_second + self.second_as_first


@frozen
class Proportion:
    """A number of successes among a number of trials, such as the correctly predicted documents of
    a label.
    """

    correct: int
    documents: int

    @property
    def value(self) -> float:
        """Return the share of successes; 0 without trials."""
        return self.correct / self.documents if self.documents else 0.0

    def lower_bound(self, confidence: float) -> float:
        """Return the bound that the true probability exceeds with this confidence.

        Source: Clopper and Pearson, The Use of Confidence or Fiducial Limits Illustrated in the
        Case of the Binomial, 1934.
        """
        from scipy.special import betaincinv

        if self.correct == 0:
            return 0.0
        return float(betaincinv(self.correct, self.documents - self.correct + 1, 1 - confidence))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the two-sided interval of Clopper and Pearson of the true probability."""
        one_sided = (1 + confidence) / 2
        missed = Proportion(self.documents - self.correct, self.documents)
        return self.lower_bound(one_sided), 1 - missed.lower_bound(one_sided)


@frozen
class ViewChoice:
    """What the views that training selected bring, by leave-one-out.

    accuracy  of words alone
    gain      what the views add to it
    """

    accuracy: Annotated[float, FROM_0_TO_1]
    gain: Annotated[float, FROM_0_TO_1]


@frozen
class LeaveOneOutEstimate:
    """The leave-one-out estimate for new documents of the same kind.

    documents   number of scored documents, on which all figures are computed
    accuracy    share of correct predictions
    log_loss    mean −log P(true label), in nats; of calibrated probabilities if the model is
                calibrated
    confused    the pairs of labels that are confused most often
    duplicates  number of documents that repeat another one; they are left out together
    unjudged    number of documents (and their duplicates) that are the only ones of their label;
                they cannot be scored
    held_out    number of documents that are not in the training set, so that they did not have to
                be left out
    optimized   the optimized metric before and after; equal if no decision offsets improve it;
                None: none is optimized
    targets     recall or precision of each target: those of `min_recall`, then those of
                `min_precision`
    other       accuracy of Naive Bayes if each document is left out without its duplicates; None:
                it differs by no more than `error_of` the accuracy
    folds       number of folds that models of the other documents scored; None: leave-one-out, or
                those of the settings
    """

    FIGURES: ClassVar = ("accuracy", "log_loss")  # in output
    HEADLINE: ClassVar = {"accuracy": "accuracy", "log-loss": "log_loss"}  # of a summary
    REMOVED: ClassVar = {"unanswered": None}  # see artifact/record.py

    documents: int
    accuracy: Annotated[float, FROM_0_TO_1]
    log_loss: Annotated[float, AT_LEAST_0]
    confused: tuple[Confusion, ...] = ()
    duplicates: int = 0
    unjudged: int = 0
    held_out: int = 0
    optimized: tuple[float, float] | None = None
    targets: tuple[Proportion, ...] = ()
    other: float | None = None
    folds: int | None = None

    @property
    def metric(self) -> float:
        """The figure that `other` is compared with."""
        return self.accuracy

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the accuracy (low, high); None without a scored document.

        A text is one observation, however often it is repeated and whatever its weight is: if few
        texts make up much of the whole, the interval is too narrow. So it is where the estimate has
        selected the model, and it tells nothing of documents of another kind.
        """
        if not self.documents:
            return None
        low, high = score_interval(self.accuracy, max(1, self.documents - self.duplicates))
        return float(low), float(high)


@frozen
class Part:
    """One of the models whose weighted scores a combination adds up.

    view       the name of the view that it scores; empty if there is only one
    model      its name
    smoothing  of an event model; that of the combination multiplies it
    C          inverse regularization strength of a linear model; None for an event model
    weight     by which its scores are multiplied, at least 0
    idf        the inverse document frequency in the weights of a linear model
    is_of_words  whether it scores single words only, and no pairs of the view
    informed   share of the documents in which its scores tell labels apart; 1 of a part of a stack
    """

    view: str
    model: str
    smoothing: Annotated[float, AT_LEAST_0] = 0.0
    C: Annotated[float | None, AT_LEAST_0] = None
    weight: Annotated[float, Limits(0, MAX_SCORE_WEIGHT)] = 1.0
    idf: str = "none"
    is_of_words: bool = False
    informed: float = 1.0


@frozen_object
class Corrections:
    """What is added to the weights of some features.

    features  the names of the features
    weights   (n_features, n_classes), in the unit of scores; 0 if no document of the class has the
              feature
    """

    features: Vocabulary
    weights: Annotated[Floats, Limits(-MAX_STORED_NUMBER, MAX_STORED_NUMBER, (None, N_LABELS))]


@frozen
class Hyperparameters:
    """What is selected before a model is fitted.

    smoothing     of the event model
    C             inverse regularization strength of a linear model; None for an event model
    is_converged  whether the solver of a linear model met its tolerance with this C
    parts         of a combination
    n_corrected   number of features of a combination whose weights are corrected; None: of none
    corrections   these corrections; None: there are none, or the model has no counts, to which it
                  could be fitted again
    """

    smoothing: Annotated[float, AT_LEAST_0]
    C: Annotated[float | None, AT_LEAST_0] = None
    is_converged: bool = True
    parts: tuple[Part, ...] = ()
    n_corrected: Annotated[int | None, AT_LEAST_0] = None
    corrections: Corrections | None = None


@frozen
class Unlabeled:
    """How a model was trained on unlabeled documents.

    method           em
    documents        number of unlabeled documents
    weight           λ, the weight of an unlabeled document relative to a labeled one
    log_prior        (n_classes,), the class log priors, which the counts of labeled documents do
                     not determine
    log_likelihoods  penalized, in nats: before the first step and after each step
    """

    method: str
    documents: int
    weight: float
    log_prior: Annotated[tuple[float, ...], LOG_PRIOR]
    log_likelihoods: tuple[float, ...]


def score_interval(shares: Any, n_documents: float) -> tuple[Any, Any]:
    """Return the bounds of the 95 % score interval of the probability behind a share of documents,
    or behind each of an array of shares.

    Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference, 1927.
    """
    square = DEVIATIONS**2 / n_documents
    middle = (shares + square / 2) / (1 + square)
    width = np.sqrt(square * (shares * (1 - shares) + square / 4)) / (1 + square)
    return middle - width, middle + width


def error_of(share: float, documents: int) -> float:
    """Return two standard errors of a share of documents, with half a success and half a failure
    added.
    """
    p = (share * documents + 0.5) / (documents + 1)
    return float(2 * (p * (1 - p) / max(1, documents)) ** 0.5)


def count_confusions(judged: JudgedDocuments, predicted: Array) -> tuple[Confusion, ...]:
    """Return the MAX_KEPT_PAIRS pairs of classes that are confused most often, in either direction;
    ties by class number.

    judged     the sums of their weights are rounded
    predicted  (n_documents,), the predicted classes; negative without one
    """
    is_wrong = (judged.classes != predicted) & (predicted >= 0)
    judged = judged.take(is_wrong)
    true = judged.classes.astype(np.int64)
    wrong = predicted[is_wrong].astype(np.int64)
    first = np.minimum(true, wrong)
    second = np.maximum(true, wrong)
    width = int(second.max(initial=0)) + 1
    pairs, places = np.unique(first * width + second, return_inverse=True)
    times = judged.weigh(np.ones(len(judged)))
    together = np.rint(np.bincount(places, times, len(pairs))).astype(np.int64)
    one_way = np.rint(np.bincount(places, times * (true == first), len(pairs))).astype(np.int64)
    return tuple(
        Confusion(
            int(pairs[j] // width),
            int(pairs[j] % width),
            int(one_way[j]),
            int(together[j] - one_way[j]),
        )
        for j in np.argsort(-together, kind="stable")[:MAX_KEPT_PAIRS].tolist()
    )
