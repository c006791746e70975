"""Label noise: the probability that a given label is wrong, and how often each label is given for
another one.

Of documents with several labels: how probably a label of a document is wrong, or missing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers, Integers32
from nbtext.bayes.binary_relevance import LabelCounts, RelevanceLeaveOneOut
from nbtext.bayes.class_statistics import LabelSets, count_classes, count_label_sets
from nbtext.bayes.conformal import log_likelihood_per_token
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.label_calibration import (
    Cells,
    MultilabelFit,
    collect_cells,
    select_multilabel,
)
from nbtext.bayes.leave_one_out import LeaveOneOut, count_hapaxes
from nbtext.bayes.newton import minimize
from nbtext.bayes.settings import check_label_count
from nbtext.bayes.smoothing import BLOCK_SCORES, calibrate_with_noise
from nbtext.features.csr import entries_of, entry_rows
from nbtext.features.document_table import DocumentTable
from nbtext.numerics import exp, log, log1p, sigmoid

# that judge the labels; with two labels, the second one equals the first
JUDGING_MODELS = ("multinomial", "complement")
ITERATIONS = 30
CORRECT = 0.95  # the initial share of correct labels
MAX_JUDGED_LABELS = 64  # whose probabilities a document keeps, besides its given label
CALIBRATION_SCORES = 1 << 22  # documents times labels to which the calibrations are fitted
PSEUDO_COUNTS = 5  # of each pair of a true and a given label, on average


class LabelNoise(NamedTuple):
    """How probably labels of documents are wrong.

    rows       (n_found,), the documents; with several labels, of the pairs with a label
    given      (n_found,), the given label; with several labels, -1 if the label should be added
    likely     (n_found,), the most probable label, the given one if none is more probable; with
               several labels, -1 if the label should be removed
    wrong      (n_found,), the probability that the given label, or the pair, is wrong
    n_judged   given labels that were judged
    n_wrong    expected number of these that are wrong
    n_missing  with several labels: expected number of labels that are missing
    """

    rows: Integers
    given: Integers
    likely: Integers
    wrong: Floats
    n_judged: int
    n_wrong: float
    n_missing: float | None = None


NO_ROWS = np.zeros(0, dtype=np.int64)


def estimate_label_noise(
    documents: DocumentTable,
    n_features: int,
    n_classes: int,
    *,
    is_vocabulary: bool = True,
    jobs: int = 1,
) -> tuple[LabelNoise, Floats]:
    """Estimate from leave-one-out posteriors which labels are wrong. Duplicates are left out
    together. A document that is alone with its label is not judged.

    Memory is bounded for many labels: each document keeps the probabilities of its
    MAX_JUDGED_LABELS most probable labels and of its given one, and only the pairs of labels that
    occur among these are stored.

    Returns the noise, and log p(x) of each of its documents per distinct token in nats; NaN for one
    without known tokens.

    The posteriors are those of multinomial and complement Naive Bayes on binary counts, without the
    label-noise term of their calibration; the mean of both ranks wrong labels of 20 Newsgroups
    better than either.

    Parameters
    ----------
    documents : counts of labeled documents
    n_classes : number of labels
    is_vocabulary : whether the vocabulary is that of these documents, so that a feature of a single
    document is unknown
        while this document is left out
    jobs : number of threads

    Source: the noise matrix is a maximum a posteriori estimate by expectation-maximization, as in
    Dawid and Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm,
    1979, with one observer.
    """
    check_label_count(n_classes, "review", "SOURCE")
    order = documents.order(documents.classes)
    documents = documents.take(order)
    statistics = count_classes(documents, n_features, n_classes)
    binary = replace(documents.binarize(), rows=np.arange(len(documents)))
    n_hapax = hapax_sums = None
    if is_vocabulary:
        n_hapax, hapax_sums = (count_hapaxes(statistics, each) for each in (documents, binary))
    models = [EVENT_MODELS[name] for name in JUDGING_MODELS[: 1 if n_classes < 3 else None]]
    binarized = statistics.binarize()
    corpora = [
        LeaveOneOut(
            binarized, binary, n_hapax, model, model.prior, jobs, hapax_sums=hapax_sums
        ).drop_single_documents()
        for model in models
    ]
    if not len(corpora[0].documents):
        return LabelNoise(NO_ROWS, NO_ROWS, NO_ROWS, np.zeros(0), 0, 0.0), np.zeros(0)
    fitted = [
        calibrate_with_noise(corpus.first(CALIBRATION_SCORES // n_classes)) for corpus in corpora
    ]
    places = corpora[0].documents.rows
    assert places is not None  # set above
    given = documents.classes[places].astype(np.int64)
    kept = []
    likelihoods = []
    for part in zip(*(corpus.split(BLOCK_SCORES // n_classes) for corpus in corpora), strict=True):
        posterior = np.zeros((len(part[0].documents), n_classes))
        for judged, (smoothing, temperature) in zip(part, fitted, strict=True):
            (scores,) = judged.scores(smoothing)
            known = judged.ignore_hapaxes(scores, smoothing)
            log_posterior = replace(temperature, noise=0.0).log_posterior(known, judged.n_known)
            posterior += exp(log_posterior) / len(models)
            if judged.model.scores == "likelihoods":
                likelihoods.append(log_likelihood_per_token(scores, judged.documents.totals))
        kept.append(keep_best(posterior, part[0].documents.classes))
    labels, posteriors = map(np.concatenate, zip(*kept, strict=True))
    likely, wrong, rate = estimate_noise(posteriors, labels, given, n_classes)
    n_judged = len(given) if n_classes > 1 else 0
    noise = LabelNoise(order[places], given, likely, wrong, n_judged, rate * n_judged)
    return noise, np.concatenate(likelihoods)


def keep_best(posterior: Floats, given: Integers32) -> tuple[Integers32, Floats]:
    """Return the most probable labels of each document and its given one, and their probabilities.

    Both (n_documents, n_kept); all labels if there are at most MAX_JUDGED_LABELS. Otherwise the
    given label is the last one, with the probability 0 if it is also among the others.
    """
    n_classes = posterior.shape[1]
    if n_classes <= MAX_JUDGED_LABELS:
        return np.broadcast_to(np.arange(n_classes, dtype=np.int32), posterior.shape), posterior
    best = np.argpartition(posterior, -MAX_JUDGED_LABELS)[:, -MAX_JUDGED_LABELS:]
    best.sort(axis=1)
    own = np.where(
        (best == given[:, None]).any(axis=1), 0.0, posterior[np.arange(len(given)), given]
    )
    values = np.concatenate((np.take_along_axis(posterior, best, axis=1), own[:, None]), axis=1)
    return np.concatenate((best, given[:, None]), axis=1).astype(np.int32), values


def estimate_noise(
    posterior: Floats, labels: Integers32, given: Integers, n_classes: int
) -> tuple[Integers, Floats, float]:
    """Return the likely label of each document, the probability that the given one is wrong, and
    the share of wrong labels.

    posterior  (n_documents, n_kept), of the true label, given the document only
    labels     (n_documents, n_kept), the label of each
    given      (n_documents,), the given labels
    """
    keys, places = np.unique(
        labels.astype(np.int64) * n_classes + given[:, None], return_inverse=True
    )
    places = places.reshape(posterior.shape)
    true, observed = np.divmod(keys, n_classes)
    is_correct = true == observed
    others = max(1, n_classes - 1)
    noise = CORRECT * is_correct + (1 - CORRECT) / n_classes
    for _ in range(ITERATIONS):
        probabilities = posterior * noise[places]
        probabilities /= np.maximum(
            probabilities.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny
        )
        expected = np.bincount(
            places.reshape(-1), weights=probabilities.reshape(-1), minlength=len(keys)
        )
        wrong = 1 - expected[is_correct].sum() / expected.sum()
        pseudo_counts = PSEUDO_COUNTS * n_classes * np.where(is_correct, 1 - wrong, wrong / others)
        sums = np.bincount(true, weights=expected, minlength=n_classes) + PSEUDO_COUNTS * n_classes
        noise = (expected + pseudo_counts) / sums[true]
    own = np.where(labels == given[:, None], probabilities, 0.0).sum(axis=1)
    best = labels[np.arange(len(given)), probabilities.argmax(axis=1)]
    likely = np.where(own < probabilities.max(axis=1), best, given)
    return likely, 1 - own, float(wrong)


DOCUMENTS_JUDGED_AT_ONCE = 1 << 16  # documents that are judged at once
# other documents of a label; with fewer, its absence from a document says nothing
MIN_OTHER_DOCUMENTS = 2
MIN_LABEL_PROBABILITY = 1e-12
MAX_NOISE_PARAMETER = 30.0  # parameter
# of (log a, c, logit of the missing rate, logit of the added rate); wrong labels flatten the
# calibration, so a is large
PRIOR_MEANS = np.array([1.5, 0.0, -3.0, -4.5])
PRIOR_DEVIATIONS = np.array([0.5, 3.0, 1.0, 1.0])


class NoiseRates(NamedTuple):
    """How often labels are wrong.

    slope, intercept  turn the log-odds of a given label into those of a true label
    missing           share of the true pairs of a document and a label that are not given
    added             share of the other pairs that are given
    """

    slope: float
    intercept: float
    missing: float
    added: float

    def wrong(self, probabilities: Floats) -> tuple[Floats, Floats]:
        """Return how probably a given label of these pairs is wrong, and how probably a label that
        is not given is.

        probabilities  probabilities of the labels as they are given, from a model without the
                       document
        """
        true = sigmoid(self.slope * _log_odds(probabilities) + self.intercept)
        added = self.added * (1 - true)
        given = (1 - self.missing) * true
        missing = self.missing * true
        absent = (1 - self.added) * (1 - true)
        return np.asarray(added / (added + given)), np.asarray(missing / (missing + absent))


def estimate_pair_noise(
    documents: DocumentTable,
    sets: LabelSets,
    n_features: int,
    n_labels: int,
    *,
    is_vocabulary: bool = True,
    minimum: float = 0.5,
) -> LabelNoise:
    """Return the pairs of a document and a label that are wrong with a probability above `minimum`.

    The probability of each pair is that of the multi-label model without the document and its
    copies. A document without a token that another one has is not judged, nor is a label that only
    one other document has, or none. Of the labels that a document does not have, the 64 with the
    highest score are judged.

    Parameters
    ----------
    documents : counts of documents; the class of a document is the index of its set in `sets`
    sets : the label sets
    is_vocabulary : whether the vocabulary is that of these documents, so that a feature of a single
    document is unknown
        while this document is left out
    """
    order = documents.order(documents.classes)
    documents = documents.take(order)
    statistics = count_label_sets(documents, sets, n_features=n_features, n_labels=n_labels)
    n_hapax = count_hapaxes(statistics, documents) if is_vocabulary else None
    corpus = RelevanceLeaveOneOut(LabelCounts.of(statistics), documents, sets, n_hapax)
    if len(corpus.left_out) < 2 or n_labels == 0:
        return LabelNoise(NO_ROWS, NO_ROWS, NO_ROWS, np.zeros(0), 0, 0.0, 0.0)
    fit = select_multilabel(corpus, optimize=None)
    sizes = statistics.class_documents
    cells, probabilities = _judge(corpus.first(DOCUMENTS_JUDGED_AT_ONCE), fit, sizes)
    rates = fit_noise_rates(cells.positives, cells.documents, probabilities)
    parts = []
    start = 0
    for part in corpus.split(DOCUMENTS_JUDGED_AT_ONCE):
        found = _find_wrong(part, _judge(part, fit, sizes), rates, minimum)
        parts.append(found._replace(rows=order[start + found.rows]))
        start += len(part.documents)
    columns: list[Any] = list(zip(*parts, strict=True))
    joined: Any = [*map(np.concatenate, columns[:4]), *map(sum, columns[4:])]
    return LabelNoise(*joined)


def _judge(
    corpus: RelevanceLeaveOneOut, fit: MultilabelFit, sizes: Integers
) -> tuple[Cells, Floats]:
    """Return the cells that can be judged, and their probabilities."""
    smoothing, combination = fit.naive_bayes
    cells = collect_cells(corpus, corpus.scores_of(smoothing), combination)
    others = sizes[cells.labels] - cells.positives
    is_judged = (cells.lengths[cells.contents] > 0) & (others >= MIN_OTHER_DOCUMENTS)
    columns = ("contents", "labels", "positives", "documents")
    judged = {name: getattr(cells, name)[is_judged] for name in columns}
    return replace(cells, **judged), cells.probabilities(combination)[is_judged]


def _find_wrong(
    corpus: RelevanceLeaveOneOut, judged: tuple[Cells, Floats], rates: NoiseRates, minimum: float
) -> LabelNoise:
    """Return the wrong pairs of a part of a corpus; its documents are numbered from 0."""
    cells, probabilities = judged
    given, missing = rates.wrong(probabilities)
    absent = cells.documents - cells.positives
    is_found = ((given > minimum) & (cells.positives > 0)) | ((missing > minimum) & (absent > 0))
    found = np.flatnonzero(is_found)
    # from contents to their documents
    by_content = np.argsort(corpus.contents, kind="stable")
    starts = np.searchsorted(corpus.contents[by_content], np.arange(len(corpus.left_out) + 1))
    bounds, places = entries_of(starts, cells.contents[found])
    rows = by_content[places]
    owners = found[entry_rows(bounds)]
    labels = cells.labels[owners].astype(np.int64)
    n_labels = corpus.counts.statistics.n_classes
    keys = corpus.sets.entry_sets * n_labels + corpus.sets.classes
    is_given = np.isin(corpus.documents.classes[rows].astype(np.int64) * n_labels + labels, keys)
    wrong = np.where(is_given, given[owners], missing[owners])
    is_wrong = wrong > minimum
    labels = labels[is_wrong]
    is_given = is_given[is_wrong]
    return LabelNoise(
        rows[is_wrong],
        np.where(is_given, labels, -1),
        np.where(is_given, -1, labels),
        wrong[is_wrong],
        n_judged=int(cells.positives.sum()),
        n_wrong=float((given * cells.positives).sum()),
        n_missing=float((missing * absent).sum()),
    )


def _log_odds(probabilities: Floats) -> Floats:
    bounded = np.clip(probabilities, MIN_LABEL_PROBABILITY, 1 - MIN_LABEL_PROBABILITY)
    return np.asarray(log(bounded) - log1p(-bounded))


def fit_noise_rates(positives: Floats, documents: Floats, probabilities: Floats) -> NoiseRates:
    """Return the noise rates with the least log-loss on the given labels, with weak Gaussian
    priors.

    Parameters
    ----------
    positives : (n_cells,), documents of a content that have a label
    documents : (n_cells,), documents of the content
    probabilities : (n_cells,), of the given labels, without the document itself

    Source: Patrini, Rozza, Menon, Nock and Qu, Making Deep Neural Networks Robust to Label Noise: A
    Loss Correction Approach, 2017, section 4.1 (forward correction), with two classes.
    """
    evaluate = partial(
        _evaluate, positives=positives, documents=documents, log_odds=_log_odds(probabilities)
    )
    at, _ = minimize(evaluate, PRIOR_MEANS, bound=MAX_NOISE_PARAMETER)
    missing, added = sigmoid(at[2:]).tolist()
    return NoiseRates(float(exp(at[0])), float(at[1]), missing, added)


def _evaluate(
    at: Floats, *, positives: Floats, documents: Floats, log_odds: Floats
) -> tuple[float, Floats, Floats]:
    """Return the log-loss at (log a, c, and both logits), its gradient, and its expected Hessian,
    Fisher information.

    It is that of P(given) = added + (1 − added − missing) σ(a · log-odds + c).
    """
    missing, added = sigmoid(at[2:]).tolist()
    scaled = exp(at[0]) * log_odds
    true = sigmoid(scaled + at[1])
    p = np.clip(added + (1 - added - missing) * true, 1e-300, 1 - 1e-16)
    loss = -np.einsum("i,i->", positives, log(p))
    loss -= np.einsum("i,i->", documents - positives, log1p(-p))
    steep = (1 - added - missing) * true * (1 - true)
    slopes = np.stack(
        (steep * scaled, steep, -missing * (1 - missing) * true, added * (1 - added) * (1 - true))
    )
    weights = 1 / (p * (1 - p))
    gradient = np.einsum("ki,i->k", slopes, (documents * p - positives) * weights)
    information = np.einsum("ki,li->kl", slopes * (documents * weights), slopes)
    distance = (at - PRIOR_MEANS) / PRIOR_DEVIATIONS
    loss += float(np.einsum("i,i->", distance, distance)) / 2
    return (
        float(loss),
        gradient + distance / PRIOR_DEVIATIONS,
        information + np.diag(PRIOR_DEVIATIONS**-2.0),
    )
