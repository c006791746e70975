"""Word drift: how far the words of unlabeled documents are from a mixture of those of the labels,
and what that does.

An estimate of prevalence assumes that only the shares of the labels have changed, so that the words
of the documents are a mixture of those of the training documents of each label. This is a goodness
of fit of that mixture, feature by feature. A feature that deviates significantly has changed within
labels. It moves the scores, and with them the mean posterior, by an amount that follows from its
weights, so that intervals can allow for it.
"""

from __future__ import annotations

import numpy as np

from nbtext.arrays import Floats, Integers, Integers32
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.scorer import LinearScorer
from nbtext.features.document_counts import DocumentCounts
from nbtext.records import frozen

RIDGE = 1e-12  # of a covariance without full rank, relative to its trace
# Standard deviations from which a feature deviates. Between halves of 20 Newsgroups, RT-s, the SMS
# messages or IMDB, of 10,000 to 200,000 features the largest one deviates by 3.6 to 3.9. A word
# that is added to half of 400 messages deviates by 14.
SIGNIFICANT = 4.0
# Share of the features that deviate, from which nothing is known. For senders' domains of 20
# Newsgroups it is 0.007 (at most 0.1), for five words added to messages of 17 it is 0.07. For long
# reviews of another source it is 0.08: the estimate is wrong by 0.14, twice what the effect of the
# words explains; for sentences of these 0.16.
MAX_DRIFT = 0.075
# The same, from which predictions are counted, because the correction of the count makes it worse:
# by the benchmark from 0.061 to 0.053 on average for senders' domains in groups about religion,
# from 0.129 to 0.105 for short reviews.
MIN_DRIFT = 0.01
PENDING = 1 << 20  # entries that are summed together


@frozen(eq=False)
class WordDrift:
    """How the features of unlabeled documents deviate from the mixture.

    share     total variation distance of the features that deviate: the share of them that
              documents have too often
    features  those that deviate, the largest deviation first
    factor    (n_classes, n_classes), the deviation of the mean posterior is factor @ standard
              normal variables
    """

    share: float
    features: Integers
    factor: Floats

    @property
    def is_rejected(self) -> bool:
        """Whether more has changed than the shares, so that the errors of the model are not those
        of training.
        """
        return self.share >= MIN_DRIFT

    @property
    def is_too_large(self) -> bool:
        """Whether the documents are too different for their effect on posteriors to be known."""
        return self.share > MAX_DRIFT

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Return random deviations of the mean posterior, (n, n_classes)."""
        return np.asarray(rng.standard_normal((n, len(self.factor))) @ self.factor.T)


class WordSums:
    """Sums over unlabeled documents, as they are read batch by batch. Memory holds the features
    that occur.

    features  those that occur, ascending
    sums      a row for each of them: documents that have it, and the sum of its weights
    slope     (n_classes, n_classes), the derivatives of the sum of posteriors by the scores of a
              unit of weight
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.n_documents = 0
        self.features = np.zeros(0, dtype=np.int64)
        self.sums = np.zeros((0, 2))
        self.slope = np.zeros((n_classes, n_classes))
        self._pending: list[tuple[Integers32, Floats]] = []

    def add(self, documents: DocumentCounts, posteriors: Floats, temperatures: Floats) -> None:
        """Add some documents.

        documents     with the weights of their features
        posteriors    (n_documents, n_classes)
        temperatures  (n_documents,), by which scores are divided
        """
        self.n_documents += len(documents)
        weights = documents.counts
        scale = documents.sum_entries(np.abs(weights).astype(np.float64)) / temperatures
        scaled = posteriors * scale[:, None]
        self.slope += np.diag(scaled.sum(axis=0)) - scaled.T @ posteriors
        self._pending.append(
            (documents.indices, np.stack((np.ones(len(weights)), weights), axis=1))
        )
        if sum(len(features) for features, _ in self._pending) > max(PENDING, len(self.features)):
            self._sum_pending()

    def _sum_pending(self) -> None:
        features = np.concatenate((self.features, *(each for each, _ in self._pending)))
        sums = np.concatenate((self.sums, *(each for _, each in self._pending)))
        self.features, places = np.unique(features, return_inverse=True)
        self.sums = np.stack(
            [np.bincount(places, column, len(self.features)) for column in sums.T], axis=1
        )
        self._pending.clear()

    def compare(
        self, statistics: ClassStatistics, shares: Floats, scorer: LinearScorer
    ) -> WordDrift | None:
        """Return how the features deviate from a mixture of the classes; None if there is nothing
        to compare.

        The number of documents that have a feature is expected to be as in the training documents,
        each class in proportion to its share; all numbers are scaled to those of the documents,
        which may be longer. The variance is that of both samples. What deviates significantly is
        assumed to be random: each feature by its deviation, and all together by their sum.

        statistics  over the features of the scorer
        shares      (n_classes,)
        """
        self._sum_pending()
        found, weights = np.zeros((2, statistics.n_features))
        found[self.features], weights[self.features] = self.sums.T
        # features of all documents of a class
        entries = statistics.class_sums(statistics.documents).astype(np.float64)
        known = (entries > 0) & (statistics.class_documents > 0)
        lengths = np.divide(
            entries, statistics.class_documents, out=np.zeros(len(entries)), where=known
        )
        n_found = float(found.sum())
        total = float(np.abs(weights).sum())
        mean_length = float(shares @ lengths)
        if n_found <= 0 or total <= 0 or mean_length <= 0:
            return None
        rates = (
            n_found
            / mean_length
            * np.divide(shares * lengths, entries, out=np.zeros(len(entries)), where=known)
        )
        rate = rates[statistics.classes]
        frequencies = statistics.documents.astype(np.float64)
        expected = statistics.feature_sums(rate * frequencies)
        variances = (
            np.maximum(expected, found) + statistics.feature_sums(rate * rate * frequencies) + 1
        )
        deviations = found - expected
        features = np.flatnonzero(deviations**2 > SIGNIFICANT**2 * variances)
        features = features[np.argsort(-np.abs(deviations[features]), kind="stable")]
        deviations = deviations[features]
        factor = np.zeros((self.n_classes, self.n_classes))
        if len(features):
            unit = np.divide(
                weights, found, out=np.full(len(found), total / n_found), where=found > 0
            )[features]
            moves = _weigh(scorer, features) * (deviations * unit / total)[:, None]
            moves = (
                np.concatenate((moves, moves.sum(axis=0)[None, :]))
                @ (self.slope / self.n_documents).T
            )
            covariance = moves.T @ moves
            covariance[np.diag_indices_from(covariance)] += RIDGE * max(
                float(np.trace(covariance)), RIDGE
            )
            factor = np.linalg.cholesky(covariance)
        return WordDrift(float(np.abs(deviations).sum() / (2 * n_found)), features, factor)


def _weigh(scorer: LinearScorer, features: Integers) -> Floats:
    """Return what a value of 1 of each feature adds to the scores, (n_features, n_classes)."""
    order = np.argsort(features)
    ones = np.ones(len(features), dtype=np.int32)
    weights = np.empty((len(features), scorer.n_classes))
    for k in range(scorer.n_classes):
        weights[order, k] = scorer.contributions(features[order].astype(np.int32), ones, k)
    return weights
