"""Label noise: the probability that a given label is wrong, and how often each label is given for another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.leave_one_out import LeaveOneOut, count_hapaxes
from nbtext.bayes.outliers import log_likelihood_per_token
from nbtext.bayes.scorer import Floats
from nbtext.bayes.smoothing import BLOCK_SCORES, calibrate_with_noise
from nbtext.features.document_counts import DocumentCounts

MODELS = ("multinomial", "complement")  # that judge the labels; with two labels, the second one equals the first
ITERATIONS = 30
CORRECT = 0.95  # the initial share of correct labels
MAX_LABELS = 64  # whose probabilities a document keeps, besides its given label
CALIBRATION_SCORES = 1 << 22  # documents times labels to which the calibrations are fitted
PSEUDO_COUNTS = 5  # of each pair of a true and a given label, on average


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """How probable each label of a corpus is, given the other documents.

    Memory is bounded for many labels: each document keeps the probabilities of its MAX_LABELS most probable labels and
    of its given one, and only the pairs of labels that occur among these are stored.

    rows               (n_judged,), the documents that have been judged; a document that is alone with its label is not
    likely             (n_judged,), the most probable true label of each; the given one if none is more probable
    given_probability  (n_judged,), the probability that the given label is true, given the document and the noise
    true, given        (n_pairs,), pairs of a true and a given label
    expected           (n_pairs,), expected number of documents of each pair
    n_classes          number of labels
    log_likelihoods    (n_judged,), log p(x) per distinct token in nats; NaN for a document without known tokens
    """

    rows: NDArray[np.int64]
    likely: NDArray[np.int64]
    given_probability: Floats
    true: NDArray[np.int64]
    given: NDArray[np.int64]
    expected: Floats
    n_classes: int
    log_likelihoods: Floats

    @property
    def error_rate(self) -> float:
        """The estimated share of documents whose given label is wrong."""
        total = self.expected.sum()
        return float(1 - self.expected[self.true == self.given].sum() / total) if total else 0.0

    @property
    def given_documents(self) -> Floats:
        """The number of judged documents of each given label, (n_classes,)."""
        return np.bincount(self.given, weights=self.expected, minlength=self.n_classes).astype(np.float64)


def estimate_label_noise(
    documents: DocumentCounts, n_features: int, n_classes: int, *, is_vocabulary: bool = True, jobs: int = 1
) -> LabelNoise:
    """Estimate from leave-one-out posteriors which labels are wrong. Duplicates are left out together.

    The posteriors are those of multinomial and complement Naive Bayes on binary counts, without the label-noise term of
    their calibration. Their geometric mean is too certain where they disagree and their arithmetic mean too uncertain,
    so the posterior is the mean of both.

    Parameters
    ----------
    documents : counts of labeled documents
    n_classes : number of labels
    is_vocabulary : whether the vocabulary is that of these documents, so that a feature of a single document is unknown
        while this document is left out
    jobs : number of threads

    Source: the noise matrix is a maximum a posteriori estimate by expectation-maximization, as in Dawid and Skene,
    Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, 1979, with one observer.
    """
    order = documents.order(documents.classes)
    documents = documents.take(order)
    statistics = count_classes(documents, n_features, n_classes)
    n_hapax = count_hapaxes(statistics, documents).tokens if is_vocabulary else None
    binary = replace(documents.binarize(), groups=np.arange(len(documents)))
    models = [EVENT_MODELS[name] for name in MODELS[: 1 if n_classes < 3 else None]]
    corpora = [
        LeaveOneOut(statistics.binarize(), binary, n_hapax, model, model.prior, jobs).drop_single_documents()
        for model in models
    ]
    n_judged = len(corpora[0].documents)
    if not n_judged:
        return judge_none(n_classes)
    fitted = [calibrate_with_noise(corpus.first(max(1, CALIBRATION_SCORES // n_classes))) for corpus in corpora]
    places = corpora[0].documents.groups
    assert places is not None  # set above
    given = documents.classes[places]
    labels, posteriors, likelihoods = [], [], []
    for part in _cut(corpora[0].documents.hashes, max(1, BLOCK_SCORES // n_classes)):
        of_models = []
        for corpus, (smoothing, temperature) in zip(corpora, fitted, strict=True):
            judged = corpus if len(part) == n_judged else corpus.take(part)
            (scores,) = judged.scores(smoothing)
            known = judged.ignore_hapaxes(scores, smoothing)
            of_models.append(np.exp(replace(temperature, noise=0.0).log_posterior(known, judged.n_known)))
            if judged.model.is_generative:
                likelihoods.append(log_likelihood_per_token(scores, judged.documents.totals))
        best, values = keep_best(_average(of_models), given[part])
        labels.append(best)
        posteriors.append(values)
    found = estimate_noise(np.concatenate(posteriors), np.concatenate(labels), given, n_classes)
    return LabelNoise(order[places], *found, n_classes, np.concatenate(likelihoods))


def judge_none(n_classes: int) -> LabelNoise:
    numbers, floats = np.zeros(0, dtype=np.int64), np.zeros(0)
    return LabelNoise(numbers, numbers, floats, numbers, numbers, floats, n_classes, floats)


def _cut(hashes: NDArray[np.uint64], size: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of about `size` documents at a time, with all duplicates of each; the hashes ascend."""
    start = 0
    while start < len(hashes):
        last = hashes[min(start + size, len(hashes)) - 1]
        stop = int(np.searchsorted(hashes, last, side="right"))
        yield np.arange(start, stop)
        start = stop


def _average(posteriors: list[Floats]) -> Floats:
    """Return the mean of the geometric and the arithmetic mean of one or two posteriors, (n_documents, n_classes)."""
    if len(posteriors) == 1:
        return posteriors[0]
    one, other = posteriors
    geometric, mean = np.sqrt(one), (one + other) / 2
    geometric *= np.sqrt(other)
    totals = geometric.sum(axis=1, keepdims=True)
    geometric /= np.where(totals > 0, totals, 1.0)
    geometric += np.where(totals > 0, mean, 2 * mean)  # if the product is 0, the arithmetic mean alone
    geometric /= 2
    return geometric


def keep_best(posterior: Floats, given: NDArray[np.int32]) -> tuple[NDArray[np.int32], Floats]:
    """Return the most probable labels of each document and its given one, and their probabilities.

    Both (n_documents, n_kept); all labels if there are at most MAX_LABELS. Otherwise the given label is the last one,
    with the probability 0 if it is also among the others.
    """
    n_classes = posterior.shape[1]
    if n_classes <= MAX_LABELS:
        return np.broadcast_to(np.arange(n_classes, dtype=np.int32), posterior.shape), posterior
    best = np.argpartition(posterior, -MAX_LABELS, axis=1)[:, -MAX_LABELS:]
    best.sort(axis=1)
    own = np.where((best == given[:, None]).any(axis=1), 0.0, posterior[np.arange(len(given)), given])
    values = np.concatenate((np.take_along_axis(posterior, best, axis=1), own[:, None]), axis=1)
    return np.concatenate((best, given[:, None]), axis=1).astype(np.int32), values


def estimate_noise(
    posterior: Floats, labels: NDArray[np.int32], given: NDArray[np.int32], n_classes: int
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the likely label and the probability of the given one of each document, and the pairs of labels.

    posterior  (n_documents, n_kept), of the true label, given the document only
    labels     (n_documents, n_kept), the label of each
    given      (n_documents,), the given labels
    returns    likely labels, probabilities of the given labels, true and given label of each pair, expected documents
    """
    keys, places = np.unique(labels.astype(np.int64) * n_classes + given[:, None], return_inverse=True)
    places = places.reshape(posterior.shape)
    true, observed = np.divmod(keys, n_classes)
    is_correct, others = true == observed, max(1, n_classes - 1)
    noise = CORRECT * is_correct + (1 - CORRECT) / n_classes
    for _ in range(ITERATIONS):
        probabilities = posterior * noise[places]
        probabilities /= np.maximum(probabilities.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        expected = np.bincount(places.reshape(-1), weights=probabilities.reshape(-1), minlength=len(keys))
        wrong = 1 - expected[is_correct].sum() / expected.sum()
        pseudo_counts = PSEUDO_COUNTS * n_classes * np.where(is_correct, 1 - wrong, wrong / others)
        sums = np.bincount(true, weights=expected, minlength=n_classes) + PSEUDO_COUNTS * n_classes
        noise = (expected + pseudo_counts) / sums[true]
    own = np.where(labels == given[:, None], probabilities, 0.0).sum(axis=1)
    best = labels[np.arange(len(given)), probabilities.argmax(axis=1)]
    likely = np.where(own < probabilities.max(axis=1), best, given).astype(np.int64)
    return likely, own, true, observed, expected.astype(np.float64)
