"""Label noise of documents with several labels: how probably a label of a document is wrong, or missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_calibration import Cells, collect_cells, sigmoid
from nbtext.bayes.label_selection import MultilabelFit, select_multilabel
from nbtext.bayes.label_sets import LabelSets, count_label_sets
from nbtext.bayes.leave_one_out import count_hapaxes
from nbtext.bayes.newton import minimize
from nbtext.bayes.relevance_leave_one_out import LabelCounts, RelevanceLeaveOneOut
from nbtext.bayes.scorer import Floats
from nbtext.features.document_counts import DocumentCounts

MAX_AT_ONCE = 1 << 16  # documents that are judged at once
MIN_DOCUMENTS = 2  # other documents of a label; with fewer, its absence from a document says nothing
MIN_PROBABILITY = 1e-12
LARGEST = 30.0  # parameter
# of (log a, c, logit of the missing rate, logit of the added rate); wrong labels flatten the calibration, so a is large
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
        """Return how probably a given label of these pairs is wrong, and how probably a label that is not given is.

        probabilities  probabilities of the labels as they are given, from a model without the document
        """
        true = sigmoid(self.slope * _log_odds(probabilities) + self.intercept)
        added, given = self.added * (1 - true), (1 - self.missing) * true
        missing, absent = self.missing * true, (1 - self.added) * (1 - true)
        return np.asarray(added / (added + given)), np.asarray(missing / (missing + absent))


@dataclass(frozen=True, eq=False)
class PairNoise:
    """The pairs of a document and a label that are probably wrong.

    documents   (n_pairs,)
    labels      (n_pairs,)
    is_given    (n_pairs,), whether the document has the label, which should be removed; else it should be added
    wrong       (n_pairs,), the probability that the pair is wrong
    n_documents  number of documents that were judged
    n_given     given pairs that were judged
    n_wrong     expected number of given pairs that are wrong
    n_missing   expected number of pairs that are missing
    """

    documents: NDArray[np.int64]
    labels: NDArray[np.int64]
    is_given: NDArray[np.bool_]
    wrong: Floats
    n_documents: int
    n_given: int
    n_wrong: float
    n_missing: float


def estimate_pair_noise(
    documents: DocumentCounts, sets: LabelSets, n_features: int, n_labels: int, *, is_vocabulary: bool = True,
    minimum: float = 0.5,
) -> PairNoise:  # fmt: skip
    """Return the pairs of a document and a label that are wrong with a probability above `minimum`.

    The probability of each pair is that of the multi-label model without the document and its copies. A document
    without a token that another one has is not judged, nor is a label that only one other document has, or none. Of the
    labels that a document does not have, the 64 with the highest score are judged.

    Parameters
    ----------
    documents : counts of documents; the class of a document is the index of its set in `sets`
    sets : the label sets
    is_vocabulary : whether the vocabulary is that of these documents, so that a feature of a single document is unknown
        while this document is left out
    """
    order = documents.order(documents.classes)
    documents = documents.take(order)
    statistics = count_label_sets(documents, sets, n_features=n_features, n_labels=n_labels)
    n_hapax = count_hapaxes(statistics, documents).tokens if is_vocabulary else None
    corpus = RelevanceLeaveOneOut(LabelCounts.of(statistics), documents, sets, n_hapax)
    if len(corpus.copies) < 2 or n_labels == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return PairNoise(nothing, nothing, nothing.astype(bool), np.zeros(0), 0, 0, 0.0, 0.0)
    fit = select_multilabel(corpus, optimize=None)
    sizes = statistics.class_documents
    some = corpus.first(MAX_AT_ONCE)
    cells, probabilities = _judge(some, fit, sizes)
    rates = fit_noise_rates(cells.positives, cells.documents, probabilities)
    parts, start = [], 0
    for part in corpus.split(MAX_AT_ONCE):
        parts.append(_find_wrong(part, fit, rates, sizes, minimum, start))
        start += len(part.documents)
    found, wrong, counts = (list(each) for each in zip(*parts, strict=True))
    rows, labels, is_given = (np.concatenate(each) for each in zip(*found, strict=True))
    totals = np.sum(counts, axis=0).tolist()
    return PairNoise(order[rows], labels, is_given, np.concatenate(wrong), int(totals[0]), int(totals[1]), *totals[2:])


def find_wrong_pairs(
    documents: NDArray[np.int64], labels: NDArray[np.int64], is_given: NDArray[np.bool_], probabilities: Floats
) -> PairNoise:
    """Return the pairs of a document and a label that are wrong with a probability above ½.

    Parameters
    ----------
    documents, labels, is_given : (n_pairs,), as in PairNoise, of all pairs that are judged
    probabilities : (n_pairs,), of the label, without the document itself
    """
    rates = fit_noise_rates(is_given.astype(np.float64), np.ones(len(is_given)), probabilities)
    given, missing = rates.wrong(probabilities)
    wrong = np.where(is_given, given, missing)
    found = np.flatnonzero(wrong > 0.5)
    return PairNoise(
        documents[found], labels[found], is_given[found], wrong[found], len(np.unique(documents)), int(is_given.sum()),
        float(wrong[is_given].sum()), float(wrong[~is_given].sum()),
    )  # fmt: skip


def _judge(corpus: RelevanceLeaveOneOut, fit: MultilabelFit, sizes: NDArray[np.int64]) -> tuple[Cells, Floats]:
    """Return the cells that can be judged, and their probabilities."""
    smoothing, combination = fit.naive_bayes
    cells = collect_cells(corpus, corpus.scores_of(smoothing), combination)
    others = sizes[cells.labels] - cells.positives
    is_judged = (cells.lengths[cells.contents] > 0) & (others >= MIN_DOCUMENTS)
    judged = replace(
        cells, contents=cells.contents[is_judged], labels=cells.labels[is_judged],
        positives=cells.positives[is_judged], documents=cells.documents[is_judged],
    )  # fmt: skip
    return judged, cells.probabilities(combination)[is_judged]


def _find_wrong(
    corpus: RelevanceLeaveOneOut, fit: MultilabelFit, rates: NoiseRates, sizes: NDArray[np.int64], minimum: float,
    start: int,
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]], Floats, list[float]]:  # fmt: skip
    """Return the wrong pairs of a part of a corpus: rows, labels, and whether they are given; their probabilities.

    The last item: documents and given pairs that were judged, and the expected numbers of wrong and of missing pairs.

    start  the row of the first document
    """
    cells, probabilities = _judge(corpus, fit, sizes)
    given, missing = rates.wrong(probabilities)
    absent = cells.documents - cells.positives
    counts = [
        float(corpus.copies[np.unique(cells.contents)].sum()), float(cells.positives.sum()),
        float((given * cells.positives).sum()), float((missing * absent).sum()),
    ]  # fmt: skip
    is_found = ((given > minimum) & (cells.positives > 0)) | ((missing > minimum) & (absent > 0))
    found = np.flatnonzero(is_found)
    # from contents to their documents
    by_content = np.argsort(corpus.contents, kind="stable")
    bounds = np.searchsorted(corpus.contents[by_content], np.arange(len(corpus.copies) + 1))
    copies = corpus.copies[cells.contents[found]]
    owners = np.repeat(found, copies)
    first = np.repeat(bounds[cells.contents[found]], copies)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(copies) - copies, copies)
    rows, labels = by_content[first + within], cells.labels[owners].astype(np.int64)
    n_labels = corpus.counts.statistics.n_classes
    keys = corpus.sets.entry_sets * n_labels + corpus.sets.classes
    is_given = np.isin(corpus.documents.classes[rows].astype(np.int64) * n_labels + labels, keys)
    wrong = np.where(is_given, given[owners], missing[owners])
    is_wrong = wrong > minimum
    return (rows[is_wrong] + start, labels[is_wrong], is_given[is_wrong]), wrong[is_wrong], counts


def _log_odds(probabilities: Floats) -> Floats:
    bounded = np.clip(probabilities, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return np.asarray(np.log(bounded) - np.log1p(-bounded))


def fit_noise_rates(positives: Floats, documents: Floats, probabilities: Floats) -> NoiseRates:
    """Return the noise rates with the least log-loss on the given labels, with weak Gaussian priors.

    Parameters
    ----------
    positives : (n_cells,), documents of a content that have a label
    documents : (n_cells,), documents of the content
    probabilities : (n_cells,), of the given labels, without the document itself

    Source: Patrini, Rozza, Menon, Nock and Qu, Making Deep Neural Networks Robust to Label Noise: A Loss Correction
    Approach, 2017, section 4.1 (forward correction), with two classes.
    """
    problem = _Problem(positives, documents, _log_odds(probabilities))
    at = minimize(problem.evaluate, PRIOR_MEANS.copy(), bound=LARGEST)
    missing, added = sigmoid(at[2:]).tolist()
    return NoiseRates(float(np.exp(at[0])), float(at[1]), missing, added)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The log-loss of P(given) = added + (1 − added − missing) σ(a · log-odds + c) in (log a, c, and both logits)."""

    positives: Floats
    documents: Floats
    log_odds: Floats

    def evaluate(self, at: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss, its gradient, and the Fisher information, which is its expected Hessian."""
        missing, added = sigmoid(at[2:]).tolist()
        scaled = np.exp(at[0]) * self.log_odds
        true = sigmoid(scaled + at[1])
        p = np.clip(added + (1 - added - missing) * true, 1e-300, 1 - 1e-16)
        loss = -np.einsum("i,i->", self.positives, np.log(p))
        loss -= np.einsum("i,i->", self.documents - self.positives, np.log1p(-p))
        steep = (1 - added - missing) * true * (1 - true)
        slopes = np.stack((steep * scaled, steep, -missing * (1 - missing) * true, added * (1 - added) * (1 - true)))
        weights = 1 / (p * (1 - p))
        gradient = np.einsum("ki,i->k", slopes, (self.documents * p - self.positives) * weights)
        information = np.einsum("ki,li->kl", slopes * (self.documents * weights), slopes)
        distance = (at - PRIOR_MEANS) / PRIOR_DEVIATIONS
        loss += float(np.einsum("i,i->", distance, distance)) / 2
        return float(loss), gradient + distance / PRIOR_DEVIATIONS, information + np.diag(PRIOR_DEVIATIONS**-2.0)
