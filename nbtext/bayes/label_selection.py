"""Selection of the model of several labels: its smoothing, its scores and its thresholds, by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from nbtext.bayes.binary_relevance import RelevanceLeaveOneOut, Smoothing
from nbtext.bayes.label_calibration import (
    Cells,
    Combination,
    Thresholds,
    collect_cells,
    fit_combination,
    fit_thresholds,
    precision_at_1,
)
from nbtext.bayes.label_shares import LabelPosteriors, fit_label_posteriors
from nbtext.bayes.prediction_sets import Quantiles
from nbtext.bayes.scorer import Floats

DEFAULT = Smoothing(1e4, 0.1)  # if no document can be left out; the search starts here
DEFAULT_THRESHOLD = 0.5
MINIMUM, MAXIMUM = Smoothing(1.0, 1e-3), Smoothing(1e8, 1e2)  # the limits of the search
STEPS = (10.0, 10**0.5)  # factors; each is taken around the best value of the step before
SEARCH_SIZE = 512  # documents that the search scores; fewer with more than 2048 labels
SEARCH_SCORES = 1 << 20
MAX_PREPARED = 1 << 22  # entries that are prepared once for all smoothings: 128 MB
MAX_SCORES = 1 << 26  # documents times labels: with more than 4096 labels, fewer documents are left out
MACRO_F1 = "macro_f1"


@dataclass(frozen=True, eq=False)
class MultilabelEstimate:
    """The leave-one-out estimate for new documents.

    documents       number of scored documents, on which all figures are computed
    micro_f1        of all pairs of a document and a label
    macro_f1        mean F1 of all labels
    precision_at_1  share of documents whose most probable label is one of theirs
    log_loss        mean over documents of −Σ log P(label is there, or is not), in nats
    label_f1        (n_labels,)
    """

    documents: int
    micro_f1: float
    macro_f1: float
    precision_at_1: float
    log_loss: float
    label_f1: Floats


@dataclass(frozen=True, eq=False)
class MultilabelFit:
    """What a model of several labels has besides its scorer.

    smoothing      of the scores A and B
    combination    turns the scores into probabilities
    thresholds     (n_labels,), the probability from which each label is predicted
    fallback       the numbers of labels whose leave-one-out F1 was too low for a threshold of their own (FBR.1)
    estimate       None: no document could be left out
    nonconformity  1 − p of the true pairs of a document and a label, for prediction sets; None: there was none
    posteriors     mean probabilities of left-out documents, to estimate shares of labels; None: they are not known
    """

    smoothing: Smoothing
    combination: Combination
    thresholds: Floats
    fallback: tuple[int, ...] = ()
    estimate: MultilabelEstimate | None = None
    nonconformity: Quantiles | None = None
    posteriors: LabelPosteriors | None = None


def select_multilabel(corpus: RelevanceLeaveOneOut, *, optimize: str | None) -> MultilabelFit:
    """Return the fit with the lowest leave-one-out loss, with thresholds that maximize a metric.

    corpus    documents in the order of their hashes
    optimize  `macro_f1`; None: micro-F1
    """
    n_labels = corpus.labels.n_classes
    corpus = corpus.first(MAX_SCORES // max(1, n_labels))
    if len(corpus.copies) < 2 or n_labels == 0:
        return default_multilabel_fit(n_labels)
    smoothing, start = _search(corpus.first(min(SEARCH_SIZE, SEARCH_SCORES // n_labels)))
    return _fit(collect_cells(corpus, smoothing), smoothing, start, by_label=optimize == MACRO_F1)


def default_multilabel_fit(n_labels: int) -> MultilabelFit:
    """Return the fit of a model of which no document can be left out."""
    prior = Combination((1.0,), 1.0, 0.0, np.zeros(n_labels))
    return MultilabelFit(without_contrast(DEFAULT), prior, np.full(n_labels, DEFAULT_THRESHOLD))


def without_contrast(smoothing: Smoothing) -> Smoothing:
    """Return the smoothing of a model without the score B."""
    return smoothing._replace(alpha=None)


def _search(corpus: RelevanceLeaveOneOut) -> tuple[Smoothing, Combination]:
    """Return the smoothing with the lowest loss, and its parameters.

    It is that of A alone, or that of A and B together if there are several labels.
    """
    blocks = list(corpus.blocks()) if corpus.n_entries <= MAX_PREPARED else None

    @cache
    def fit(smoothing: Smoothing) -> tuple[Combination, float]:
        return fit_combination(collect_cells(corpus, smoothing, blocks))

    def loss(smoothing: Smoothing) -> float:
        return fit(smoothing)[1]

    def descend(start: Smoothing, name: str) -> Smoothing:
        """Return the smoothing with the lowest loss on the path of decreasing loss from a start."""
        best = start
        for factor in STEPS:
            for each in (1 / factor, factor):
                while True:
                    value = _round(getattr(best, name) * each)
                    proposal = best._replace(**{name: value})
                    if not getattr(MINIMUM, name) <= value <= getattr(MAXIMUM, name) or loss(proposal) >= loss(best):
                        break
                    best = proposal
        return best

    found = [descend(without_contrast(DEFAULT), "mu")]
    if corpus.labels.n_classes > 1:
        found.append(descend(descend(DEFAULT, "alpha"), "mu"))
    best = min(found, key=loss)
    return best, fit(best)[0]


def _round(value: float) -> float:
    """Return a value of the search, rounded so that it does not depend on the path to it."""
    return float(f"{value:.6g}")


def _fit(cells: Cells, smoothing: Smoothing, start: Combination, *, by_label: bool) -> MultilabelFit:
    combination, _ = fit_combination(cells, start)
    probabilities = cells.probabilities(combination)
    thresholds = fit_thresholds(cells, probabilities, by_label=by_label)
    return MultilabelFit(
        smoothing, combination, thresholds.values, thresholds.fallback,
        _estimate(cells, probabilities, thresholds),
        Quantiles.of(np.repeat(1 - probabilities, cells.positives.astype(np.int64))),
        fit_label_posteriors(cells, probabilities),
    )  # fmt: skip


def _estimate(cells: Cells, probabilities: Floats, thresholds: Thresholds) -> MultilabelEstimate:
    with np.errstate(divide="ignore"):
        present, absent = np.log(np.maximum(probabilities, 1e-300)), np.log1p(-np.minimum(probabilities, 1 - 1e-16))
    losses = -(cells.positives * present + (cells.documents - cells.positives) * absent)
    return MultilabelEstimate(
        cells.n_documents, thresholds.micro_f1, thresholds.macro_f1, precision_at_1(cells, probabilities),
        float(losses.sum() / cells.n_documents), thresholds.label_f1,
    )  # fmt: skip
