"""Label noise: the probability that a given label is wrong, and how often each label is given for another one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.leave_one_out import LeaveOneOut, count_hapaxes
from nbtext.bayes.outliers import log_likelihood_per_token
from nbtext.bayes.scorer import Floats, log_posterior
from nbtext.bayes.smoothing import calibrate_with_noise
from nbtext.features.document_counts import DocumentCounts

MODELS = ("multinomial", "complement")  # that judge the labels; with two labels, the second one equals the first
ITERATIONS = 30
CORRECT = 0.95  # the initial share of correct labels
PSEUDO_COUNTS = 5  # of each pair of a true and a given label, on average


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """How probable each label of a corpus is, given the other documents.

    rows            (n_judged,), the documents that have been judged; a document that is alone with its label is not
    probabilities   (n_judged, n_classes), of the true label, given the document, its given label and the noise
    confusions      (n_classes, n_classes), expected number of documents with the true label t and the given label g
    log_likelihoods (n_judged,), log p(x) per distinct token in nats; NaN for a document without known tokens
    """

    rows: NDArray[np.int64]
    probabilities: Floats
    confusions: Floats
    log_likelihoods: Floats

    @property
    def error_rate(self) -> float:
        """The estimated share of documents whose given label is wrong."""
        total = self.confusions.sum()
        return float(1 - np.trace(self.confusions) / total) if total else 0.0


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
    is_vocabulary : whether features that occur in one document only are out of vocabulary without it
    jobs : number of threads

    Source: the noise matrix is a maximum a posteriori estimate by expectation-maximization, as in Dawid and Skene,
    Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, 1979, with one observer.
    """
    order = documents.order(documents.classes)
    documents = documents.take(order)
    statistics = count_classes(documents, n_features, n_classes)
    n_hapax = count_hapaxes(statistics, documents) if is_vocabulary else None
    binary = replace(documents.binarize(), groups=np.arange(len(documents)))
    log_posteriors = []
    places, log_likelihoods = np.zeros(0, dtype=np.int64), np.zeros(0)
    for name in MODELS[: 1 if n_classes < 3 else None]:
        model = EVENT_MODELS[name]
        corpus = LeaveOneOut(statistics.binarize(), binary, n_hapax, model, model.prior, jobs)
        judged = corpus.drop_single_documents()
        if not len(judged.documents):
            return _judge_none(n_classes)
        smoothing, temperature = calibrate_with_noise(judged)
        (scores,) = judged.scores(smoothing)
        known = judged.ignore_hapaxes(scores, smoothing)
        log_posteriors.append(replace(temperature, noise=0.0).log_posterior(known, judged.n_known))
        if model.is_generative:
            assert judged.documents.groups is not None  # set above
            places = judged.documents.groups
            log_likelihoods = log_likelihood_per_token(scores, judged.documents.totals)
    posterior = _average(log_posteriors)
    probabilities, confusions = _estimate_noise(posterior, documents.classes[places])
    return LabelNoise(order[places], probabilities, confusions, log_likelihoods)


def _judge_none(n_classes: int) -> LabelNoise:
    nothing = np.zeros((0, n_classes))
    return LabelNoise(np.zeros(0, dtype=np.int64), nothing, np.zeros((n_classes, n_classes)), np.zeros(0))


def _average(log_posteriors: list[Floats]) -> Floats:
    """Return the mean of the geometric and the arithmetic mean of some posteriors, (n_documents, n_classes)."""
    geometric = np.exp(log_posterior(np.mean(log_posteriors, axis=0)))
    return np.asarray((geometric + np.mean(np.exp(log_posteriors), axis=0)) / 2)


def _estimate_noise(posterior: Floats, given: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return the probabilities of the true labels (n_documents, n_classes), and the expected confusions.

    posterior  (n_documents, n_classes), of the true label, given the document only
    given      (n_documents,), the given labels
    """
    n_classes = posterior.shape[1]
    order = np.argsort(given, kind="stable")
    present, starts = np.unique(given[order], return_index=True)
    is_correct, others = np.eye(n_classes), max(1, n_classes - 1)
    noise = CORRECT * is_correct + (1 - CORRECT) / n_classes
    for _ in range(ITERATIONS):
        probabilities = posterior * noise.T[given]
        probabilities /= np.maximum(probabilities.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        confusions = np.zeros((n_classes, n_classes))
        confusions[:, present] = np.add.reduceat(probabilities[order], starts).T
        wrong = 1 - np.trace(confusions) / confusions.sum()
        pseudo_counts = (1 - wrong) * is_correct + wrong / others * (1 - is_correct)
        noise = confusions + PSEUDO_COUNTS * n_classes * pseudo_counts
        noise /= noise.sum(axis=1, keepdims=True)
    return probabilities, confusions
