"""The choice of a model where classes have few documents: the log-loss of folds that are held out.

Leave-one-out makes one class smaller, that of the document. With five documents in a class, it
loses a fifth of its words, which the other classes keep, and the heavier the smoothing is, the more
that counts against it: leave-one-out then selects too little smoothing. Folds take about as much
from each class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.bayes.calibration import fit_temperature
from nbtext.bayes.class_statistics import ClassStatistics, count_classes, log_prior
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.smoothing import COMPARISON_SIZE, count_at_once, deviations

# Mean differences of the accuracy that this choice makes, over 20 draws of 5, 10, 20, 30 and 50
# documents a label of the training documents, on others of these: +0.026, +0.042, +0.018, +0.004
# and −0.002 with 77 short questions as labels; +0.001, +0.003, 0, −0.001 and 0 with 20 newsgroups;
# and +0.003, 0, +0.002, +0.002 and 0 on four corpora of reviews and messages with two labels.
MAX_CLASS_DOCUMENTS = 25  # of a class on average
N_SMOOTHING_FOLDS = 5
TRIED_SMOOTHINGS = (0.3, 1.0, 3.0)
STANDARD_ERRORS = 1.0  # by which the log-loss has to be lower (Breiman et al. 1984, section 3.4.3)


def is_few(statistics: ClassStatistics) -> bool:
    """Return whether the classes have so few documents that this choice is made."""
    return (
        statistics.n_classes > 1
        and statistics.n_documents <= MAX_CLASS_DOCUMENTS * statistics.n_classes
    )


def find_better(
    current: LeaveOneOut,
    smoothing: float,
    others: Sequence[LeaveOneOut],
    smoothings: Sequence[float],
) -> tuple[int, float] | None:
    """Return which other model, and smoothing, has the lowest log-loss on held-out documents, if it
    is clearly lower.

    Parameters
    ----------
    current, smoothing : of the model to compare with: all documents of the corpus, weighted for it,
    and its smoothing
    others, smoothings : the documents, weighted for each other model, and the smoothings of each
    """
    folds = make_folds(current)
    size = min(COMPARISON_SIZE, count_at_once(current))
    judged = score_held_out(current, [smoothing], folds, size)
    if len(judged) == 0:
        return None
    assert judged.contents is not None  # for the types
    (own,) = list_losses(judged)
    losses = {
        (number, each): found
        for number, other in enumerate(others)
        for each, found in zip(
            smoothings,
            list_losses(score_held_out(other, smoothings, folds, size)),
            strict=True,
        )
    }
    best = min(losses, key=lambda each: float(losses[each].mean()))
    return best if deviations(own - losses[best], judged.contents) > STANDARD_ERRORS else None


def make_folds(corpus: LeaveOneOut) -> Integers:
    """Return the fold of each document; those of a class take turns, and those of a content are in
    one fold.
    """
    contents = corpus.contents
    classes = corpus.documents.classes
    _, first, numbers = np.unique(contents, return_index=True, return_inverse=True)
    order = np.argsort(classes[first], kind="stable")
    of_class = classes[first][order]
    folds = np.empty(len(order), np.int64)
    folds[order] = (np.arange(len(order)) - np.searchsorted(of_class, of_class)) % N_SMOOTHING_FOLDS
    return folds[numbers]


def score_held_out(
    corpus: LeaveOneOut, smoothings: Sequence[float], folds: Integers, size: int
) -> JudgedDocuments:
    """Return documents with their scores by models of the other folds, for each smoothing, and with
    the prior of all documents.

    Only the first `size` documents are scored, and of these only those with a known label.
    """
    documents = corpus.documents
    prior = log_prior(corpus.statistics.class_documents, corpus.prior)
    n_features = corpus.statistics.n_features
    n_classes = corpus.statistics.n_classes
    first = documents.take(np.arange(min(size, len(documents))))
    lengths = np.zeros(len(first))
    is_judged = np.zeros(len(first), bool)
    scores = np.zeros((len(smoothings), len(first), n_classes))
    for fold in range(N_SMOOTHING_FOLDS):
        rows = np.flatnonzero(folds[:size] == fold)
        others = np.flatnonzero(folds != fold)
        held_out = documents.take(rows)
        counts = count_classes(documents.take(others), n_features, n_classes)
        if corpus.n_hapax is not None:  # words of these documents alone are out of vocabulary
            held_out = held_out.filter_entries(np.diff(counts.indptr)[held_out.indices] > 0)
        lengths[rows] = held_out.totals
        is_judged[rows] = counts.class_documents[held_out.classes] > 0
        for found, smoothing in zip(scores, smoothings, strict=True):
            scorer = corpus.model.compile(counts, smoothing=smoothing).with_prior(prior)
            found[rows] = scorer.scores(held_out.indptr, held_out.indices, held_out.counts)
    judged = JudgedDocuments(
        scores, lengths, first.classes, first.times, corpus.contents[: len(first)]
    )
    return judged.take(is_judged)


def list_losses(judged: JudgedDocuments) -> list[Floats]:
    """Return the calibrated −log P of the labels of documents, for each of their scores."""
    found = []
    for scores in judged.scores:
        own = judged.with_scores(scores)
        found.append(own.calibrate(fit_temperature(own).log_posterior).losses())
    return found
