"""Prevalence: the share of each class among unlabeled documents, estimated from their predicted
probabilities.

If a document can have several labels, each label is estimated against the rest. With m₁ and m₀ the
mean probability of label k on left-out documents with and without it, and m that on new documents,
the share of k among these is (m − m₀) / (m₁ − m₀), clipped to [0, 1].

Word drift: how far the words of unlabeled documents are from a mixture of those of the labels, and
what that does.

An estimate of prevalence assumes that only the shares of the labels have changed, so that the words
of the documents are a mixture of those of the training documents of each label. This is a goodness
of fit of that mixture, feature by feature. A feature that deviates significantly has changed within
labels. It moves the scores, and with them the mean posterior, by an amount that follows from its
weights, so that intervals can allow for it.

Source: PACC (probabilistic adjusted classify and count); Bella, Ferri, Hernández-Orallo and
Ramírez-Quintana, Quantification via Probability Estimators, 2010; Firat, Unified Framework for
Quantification, 2016.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.decision_offsets import fit_prior_adjustment
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.document_counts import DocumentCounts
from nbtext.records import dataclass

# with more, the mean posteriors would take more than 2 MiB, and hardly any class has documents
MAX_CLASSES = 512
RESAMPLES = 500
CONFIDENCE = 0.95
DEVIATIONS = 3.92  # width of an interval of CONFIDENCE in standard deviations
# makes the least squares strictly convex, also if two classes have the same mean posteriors; and of
# a
RIDGE = 1e-12
# covariance without full rank, relative to its trace
TOLERANCE = 1e-12
MIN_POSITIVE = 1e-9  # parameter of a Beta distribution
# left-out documents with one of several labels; with fewer, its m₁ says next to nothing
MIN_DOCUMENTS = 10
# exchanges of all infeasible variables without progress, before they are exchanged one by one
MAX_EXCHANGES = 3


@dataclass(frozen=True, slots=True, eq=False)
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

    means: Floats
    documents: NDArray[np.int64]
    spreads: Floats
    prior: Floats

    def resample(self, rng: np.random.Generator) -> Floats:
        """Return random means: how they would be with other left-out documents.

        Each row has a Dirichlet distribution whose mean and variance are those of the mean of the
        row's documents.
        """
        # one more document with the maximum
        spread = (self.documents * self.spreads + 1) / (self.documents + 1)
        concentration = self.documents / spread - 1
        drawn = rng.standard_gamma(np.maximum(self.means * concentration[:, None], 0.0))
        totals = drawn.sum(axis=1)
        is_drawn = (self.documents > 0) & (totals > 0)
        return np.where(
            is_drawn[:, None], drawn / np.where(is_drawn, totals, 1.0)[:, None], self.means
        )


def fit_mean_posteriors(log_posterior: Floats, classes: NDArray[Any]) -> MeanPosteriors | None:
    """Return the mean posteriors of documents that the model has not seen; None with one class or
    too many classes.

    log_posterior  (n_documents, n_classes), calibrated
    classes        (n_documents,), the true classes
    """
    n_classes = log_posterior.shape[1]
    if not 2 <= n_classes <= MAX_CLASSES:
        return None
    documents = np.bincount(classes, minlength=n_classes)
    posteriors = np.exp(log_posterior)[np.argsort(classes, kind="stable")]
    bounds = np.concatenate(([0], np.cumsum(documents)))
    means = np.eye(n_classes)
    spreads = np.zeros(n_classes)
    for k in np.flatnonzero(documents).tolist():
        own = posteriors[bounds[k] : bounds[k + 1]]
        mean = own.mean(axis=0)
        means[k] = mean / mean.sum()
        maximum = 1 - float(means[k] @ means[k])  # the variance if each posterior is 0 or 1
        if maximum > 0:
            spreads[k] = np.clip(((own - mean) ** 2).sum() / len(own) / maximum, 0.0, 1.0)
    shares = (documents + 0.5) / (documents.sum() + 0.5 * n_classes)
    # with these offsets the posteriors are calibrated for the shares of the left-out documents
    offsets = fit_prior_adjustment(log_posterior, classes, start=np.zeros(n_classes))
    prior = shares * np.exp(-offsets)
    return MeanPosteriors(means, documents, spreads, prior / prior.sum())


class ShareEstimate(NamedTuple):
    """Estimated class shares, (n_classes,) each, and the bounds of their intervals."""

    shares: Floats
    low: Floats
    high: Floats

    def widen(self, n_documents: int, others: ShareEstimate | None = None) -> ShareEstimate:
        """Return the shares with intervals that are not narrower than those of counting so many
        documents.

        others  whose intervals are included, too
        """
        low, high = count_interval(self.shares, n_documents)
        for each in (self,) if others is None else (self, others):
            low = np.minimum(low, each.low)
            high = np.maximum(high, each.high)
        return ShareEstimate(
            self.shares, np.minimum(low, self.shares), np.maximum(high, self.shares)
        )


class PosteriorSums:
    """The sum of the posteriors of documents, and of resampled documents, as they are read batch by
    batch.

    The sums do not depend on how the documents are cut into batches, up to rounding. The resampling
    is the Bayesian bootstrap: documents have exponential random weights (Rubin, The Bayesian
    Bootstrap, 1981).
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.n_documents = 0
        self.total = np.zeros(n_classes)
        self.resampled = np.zeros((RESAMPLES, n_classes))
        self.weights = np.zeros(RESAMPLES)
        self.rng = np.random.default_rng(0)

    def add(self, posteriors: Floats) -> None:
        """Add the posteriors of some documents, (n_documents, n_classes)."""
        drawn = self.rng.standard_exponential((len(posteriors), RESAMPLES), dtype=np.float32)
        self.n_documents += len(posteriors)
        self.total += posteriors.sum(axis=0)
        self.resampled += drawn.T @ posteriors
        self.weights += drawn.sum(axis=0, dtype=np.float64)

    def solve(self, known: MeanPosteriors) -> Floats:
        """Return the shares of the documents, one at least."""
        return solve_on_simplex(known.means.T, self.total / self.n_documents)

    def estimate(self, known: MeanPosteriors, drift: WordDrift | None = None) -> ShareEstimate:
        """Return the shares of the documents, one at least, with intervals that cover them with
        CONFIDENCE.

        Each resample has one more document, of a random class. Without it, few documents would vary
        too little. What no shares explain of the mean posterior is the size of other changes; its
        sign and size are random, too.

        drift  how the documents differ from those of training; if it is too large, shares can be
               anything
        """
        shares = self.solve(known)
        if drift is not None and drift.is_too_large:
            return ShareEstimate(shares, np.zeros(self.n_classes), np.ones(self.n_classes))
        moved = (
            None
            if drift is None or not len(drift.features)
            else drift.draw(np.random.default_rng(1), RESAMPLES)
        )
        found = np.empty((RESAMPLES, self.n_classes))
        unexplained = _random_misfit(self.total / self.n_documents - known.means.T @ shares)
        classes = self.rng.integers(self.n_classes, size=RESAMPLES)
        added = self.rng.standard_exponential(RESAMPLES)
        for i, (k, weight) in enumerate(zip(classes.tolist(), added.tolist(), strict=True)):
            means = known.resample(self.rng)
            mean = (self.resampled[i] + weight * means[k]) / (
                self.weights[i] + weight
            ) + unexplained[i]
            if moved is not None:
                mean = mean + moved[i]
            mean = np.maximum(mean, 0.0)
            mean /= mean.sum()
            found[i] = solve_on_simplex(means.T, mean, start=shares)
        tail = (1 - CONFIDENCE) / 2
        low, high = np.quantile(found, (tail, 1 - tail), axis=0)
        return ShareEstimate(shares, low, high).widen(self.n_documents)


def _random_misfit(misfit: Floats) -> Floats:
    """Return random deviations of the size of a misfit, (RESAMPLES, n_classes)."""
    return np.random.default_rng(2).standard_normal((RESAMPLES, 1)) * misfit


def count_predictions(
    predicted: NDArray[np.int64], right: Floats, sums: PosteriorSums, corrected: ShareEstimate
) -> ShareEstimate:
    """Return the shares of counted predictions, with intervals that allow for the errors of the
    model.

    As many predictions of a label may be wrong as the probabilities say, and as many of its
    documents may be missed; all errors may be of one kind. The intervals of the corrected shares
    are included.

    predicted  (n_classes,), documents that are predicted as each class
    right      (n_classes,), the sum of the probabilities of these predictions
    corrected  the shares that are corrected by the errors in training
    """
    n = sums.n_documents
    shares = predicted / max(1, predicted.sum())
    low = shares - (predicted - right) / n
    high = shares + (sums.total - right) / n
    return ShareEstimate(shares, np.maximum(low, 0.0), np.minimum(high, 1.0)).widen(n, corrected)


def count_interval(shares: Floats, n_documents: int) -> tuple[Floats, Floats]:
    """Return Wilson's interval with CONFIDENCE of shares that were counted among documents: its low
    and high bounds.

    Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference, 1927.
    """
    square = (DEVIATIONS / 2) ** 2 / n_documents
    middle = (shares + square / 2) / (1 + square)
    width = np.sqrt(square * (shares * (1 - shares) + square / 4)) / (1 + square)
    return np.maximum(middle - width, 0.0), np.minimum(middle + width, 1.0)


def solve_on_simplex(columns: Floats, target: Floats, *, start: Floats | None = None) -> Floats:
    """Return the x that minimizes |columns @ x − target|² with x ≥ 0 and Σ x = 1.

    Block principal pivoting: the variables are divided into free ones and zeros; those that violate
    the optimality conditions change sides. If this makes no progress, only the last one of them
    changes sides, so that the algorithm terminates.

    columns  (n, n_variables)
    target   (n,)
    start    (n_variables,), a solution of a similar problem
    source   Kim and Park, Fast Nonnegative Matrix Factorization: An Active-Set-Like Method and
             Comparisons, 2011
    """
    n = columns.shape[1]
    gram = columns.T @ columns + RIDGE * np.eye(n)
    product = columns.T @ target
    is_free = np.ones(n, dtype=bool) if start is None else start > 0
    fewest = n + 1
    left = MAX_EXCHANGES
    while True:
        free = np.flatnonzero(is_free)
        solved = np.linalg.solve(
            gram[np.ix_(free, free)], np.stack((product[free], np.ones(len(free))), axis=1)
        )
        multiplier = (solved[:, 0].sum() - 1) / solved[:, 1].sum()
        x = np.zeros(n)
        x[free] = solved[:, 0] - multiplier * solved[:, 1]
        is_wrong = np.where(is_free, x, gram @ x - product + multiplier) < -TOLERANCE
        n_wrong = int(is_wrong.sum())
        if n_wrong == 0:
            x = np.maximum(x, 0.0)
            return np.asarray(x / x.sum())
        if n_wrong < fewest:
            fewest = n_wrong
            left = MAX_EXCHANGES
        elif left > 0:
            left -= 1
        else:
            is_wrong[: np.flatnonzero(is_wrong)[-1]] = False
        is_free ^= is_wrong
        if not is_free.any():
            is_free[product.argmax()] = True


def shrink_shares(estimate: ShareEstimate, n_documents: int, prior: Floats) -> Floats:
    """Return shares to adapt predictions to, above 0: the estimate, moved towards a prior if it is
    uncertain.

    v is the sum of the variances of the shares, and d the sum of their squared differences from the
    prior. The estimate weighs 1 − v / d, and the prior the rest; if v > d, only the prior counts.
    So chance differences change nothing. Half a document of each class is added to the estimate
    (Jeffreys' prior).

    prior   (n_classes,), the shares for which the posteriors are calibrated
    source  positive-part James-Stein estimator; Efron and Morris, Stein's Estimation Rule and Its
            Competitors, 1973
    """
    deviations = (estimate.high - estimate.low) / DEVIATIONS
    difference = float(((estimate.shares - prior) ** 2).sum())
    weight = max(0.0, 1 - float((deviations**2).sum()) / difference) if difference > 0 else 0.0
    smoothed = (n_documents * estimate.shares + 0.5) / (n_documents + 0.5 * len(prior))
    return np.asarray(prior + weight * (smoothed - prior))


@dataclass(frozen=True, eq=False)
class LabelPosteriors:
    """The mean probability of each label on left-out documents. Column 0: those without the label;
    column 1: with it.

    documents  (n_labels, 2), numbers of documents
    means      (n_labels, 2)
    spreads    (n_labels, 2), variance of the probabilities in relation to its maximum, from 0 to 1
    """

    documents: Floats
    means: Floats
    spreads: Floats

    @property
    def is_measured(self) -> NDArray[np.bool_]:
        """Whether enough left-out documents have a label, and it is more probable on these on
        average.
        """
        return np.asarray(
            (self.documents[:, 1] >= MIN_DOCUMENTS) & (self.means[:, 1] > self.means[:, 0])
        )

    def resample(self, rng: np.random.Generator) -> Floats:
        """Return random means: how they would be with other left-out documents; see
        MeanPosteriors.resample.
        """
        spreads = (self.documents * self.spreads + 1) / (self.documents + 1)
        concentration = self.documents / spreads - 1
        parameters = (
            np.maximum(each * concentration, MIN_POSITIVE) for each in (self.means, 1 - self.means)
        )
        return np.where(self.documents > 0, rng.beta(*parameters), self.means)

    def estimate(self, sums: PosteriorSums) -> ShareEstimate:
        """Return the shares among the documents of these sums, one at least, with intervals of
        CONFIDENCE.

        The share of a label that is not measured is its mean probability, and can be anything. Each
        resample has one more document, which has each label with probability ½; see
        PosteriorSums.estimate.
        """
        mean = np.clip(sums.total / sums.n_documents, 0.0, 1.0)
        shares = np.where(self.is_measured, _solve_for_label(self.means, mean, mean), mean)
        without, with_label = self.means.T
        explained = without + shares * (with_label - without)
        unexplained = _random_misfit(np.where(self.is_measured, mean - explained, 0.0))
        found = np.empty_like(sums.resampled)
        added = sums.rng.standard_exponential(len(found))
        for i, weight in enumerate(added.tolist()):
            means = self.resample(sums.rng)
            document = np.where(sums.rng.random(len(mean)) < 0.5, means[:, 1], means[:, 0])
            resampled = (sums.resampled[i] + weight * document) / (
                sums.weights[i] + weight
            ) + unexplained[i]
            found[i] = _solve_for_label(means, resampled, sums.rng.random(len(mean)))
        tail = (1 - CONFIDENCE) / 2
        low, high = np.quantile(found, (tail, 1 - tail), axis=0)
        is_measured = self.is_measured
        low = np.where(is_measured, low, 0.0)
        high = np.where(is_measured, high, 1.0)
        return ShareEstimate(shares, low, high).widen(sums.n_documents)


def _solve_for_label(means: Floats, mean: Floats, otherwise: Floats) -> Floats:
    """Return the share of each label, or another value where the means of both columns do not
    differ.
    """
    without, with_label = means.T
    is_known = with_label > without
    shares = (mean - without) / np.where(is_known, with_label - without, 1.0)
    return np.where(is_known, np.clip(shares, 0.0, 1.0), otherwise)


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


@dataclass(frozen=True, eq=False)
class WordDrift:
    """How the features of unlabeled documents deviate from the mixture.

    share     total variation distance of the features that deviate: the share of them that
              documents have too often
    features  those that deviate, the largest deviation first
    factor    (n_classes, n_classes), the deviation of the mean posterior is factor @ standard
              normal variables
    """

    share: float
    features: NDArray[np.int64]
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
        self._pending: list[tuple[NDArray[np.int32], Floats]] = []

    def add(
        self, documents: DocumentCounts, weights: Floats, posteriors: Floats, temperatures: Floats
    ) -> None:
        """Add some documents.

        weights       (n_entries,), the weight of each entry
        posteriors    (n_documents, n_classes)
        temperatures  (n_documents,), by which scores are divided
        """
        self.n_documents += len(documents)
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


def _weigh(scorer: LinearScorer, features: NDArray[np.int64]) -> Floats:
    """Return what a value of 1 of each feature adds to the scores, (n_features, n_classes)."""
    order = np.argsort(features)
    ones = np.ones(len(features), dtype=np.int32)
    weights = np.empty((len(features), scorer.n_classes))
    for k in range(scorer.n_classes):
        weights[order, k] = scorer.contributions(features[order].astype(np.int32), ones, k)
    return weights
