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

from nbtext.arrays import Floats, Integers
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.scorer import LinearScorer
from nbtext.features.document_table import DocumentTable
from nbtext.records import frozen_object

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


@frozen_object
class WordDrift:
    """How the features of unlabeled documents deviate from the mixture.

    share       total variation distance of the features that deviate: the share of them that
                documents have too often
    features    those that deviate, the largest deviation first
    covariance  (n_classes, n_classes), of the deviation of the mean posterior, above 0
    """

    share: float
    features: Integers
    covariance: Floats

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Return random deviations of the mean posterior, (n, n_classes)."""
        mean = np.zeros(len(self.covariance))
        return rng.multivariate_normal(mean, self.covariance, n, method="cholesky")


class WordSums:
    """Sums over unlabeled documents, as they are read batch by batch.

    found    (n_features,), documents that have each feature
    weights  (n_features,), the sum of its weights
    slope    (n_classes, n_classes), the derivatives of the sum of posteriors by the scores of a
             unit of weight
    """

    def __init__(self, n_classes: int, n_features: int) -> None:
        self.n_documents = 0.0
        self.found = np.zeros(n_features)
        self.weights = np.zeros(n_features)
        self.slope = np.zeros((n_classes, n_classes))

    def add(
        self,
        documents: DocumentTable,
        posteriors: Floats,
        temperatures: Floats,
        times: Floats | float = 1.0,
    ) -> None:
        """Add some documents.

        documents     with the weights of their features
        posteriors    (n_documents, n_classes)
        temperatures  (n_documents,), by which scores are divided
        times         (n_documents,), how often each counts
        """
        times = np.broadcast_to(times, len(documents))
        self.n_documents += float(times.sum())
        weights = documents.counts
        scale = documents.sum_entries(np.abs(weights).astype(np.float64)) / temperatures
        scaled = posteriors * (scale * times)[:, None]
        self.slope += np.diag(scaled.sum(axis=0)) - scaled.T @ posteriors
        of_entries = times[documents.entry_documents]
        np.add.at(self.found, documents.indices, of_entries)
        np.add.at(self.weights, documents.indices, weights * of_entries)

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
        found = self.found
        # features of all documents of a class
        entries = statistics.class_sums(statistics.documents).astype(np.float64)
        is_known = entries > 0
        lengths = entries / np.where(is_known, statistics.class_documents, 1)
        n_found = float(found.sum())
        total = float(np.abs(self.weights).sum())
        mean_length = float(shares @ lengths)
        if n_found <= 0 or total <= 0 or mean_length <= 0:
            return None
        rates = n_found / mean_length * shares * lengths / np.where(is_known, entries, 1)
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
        units = np.where(found > 0, self.weights / np.maximum(found, 1), total / n_found)[features]
        # what a value of 1 of each feature adds to the scores, (n_features, n_classes)
        ones = np.ones(len(features), dtype=np.int32)
        scores = scorer.scores(np.arange(len(features) + 1), features.astype(np.int32), ones)
        added = scores - [scorer.bias_of(k) for k in range(scorer.n_classes)]
        moves = added * (deviations * units / total)[:, None]
        moves = np.concatenate((moves, moves.sum(axis=0, keepdims=True)))
        moves = moves @ (self.slope / self.n_documents).T
        covariance = moves.T @ moves
        ridge = RIDGE * max(float(np.trace(covariance)), RIDGE)
        covariance += ridge * np.eye(len(covariance))
        share = float(np.abs(deviations).sum() / (2 * n_found))
        return WordDrift(share, features, covariance)
