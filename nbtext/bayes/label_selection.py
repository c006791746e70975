"""Selection of the multi-label model: its smoothing, its scores and its thresholds, by leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from nbtext.bayes.binary_relevance import RelevanceScores, Smoothing
from nbtext.bayes.label_calibration import Cells, Combination, collect_cells, fit_combination
from nbtext.bayes.label_scaling import ScoreScaling
from nbtext.bayes.label_shares import LabelPosteriors, fit_label_posteriors
from nbtext.bayes.label_thresholds import Thresholds, fit_thresholds, precision_at_1
from nbtext.bayes.prediction_sets import Quantiles
from nbtext.bayes.relevance_leave_one_out import LeftOutBlock, RelevanceLeaveOneOut
from nbtext.bayes.scorer import Floats
from nbtext.errors import ModelError

DEFAULT = Smoothing(1e4, 0.1)  # if no document can be left out; the search starts here
DEFAULT_THRESHOLD = 0.5
MINIMUM, MAXIMUM = Smoothing(1.0, 1e-3), Smoothing(1e8, 1e2)  # the limits of the search
STEPS = (10.0, 10**0.5)  # factors; the second is taken around the best value of the first
SEARCH_SIZES = (512, 2048)  # documents that each step of the search scores; fewer with many labels
SEARCH_SCORES = 1 << 20  # documents times labels
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
    """What a multi-label model has besides its scorer.

    smoothing      of the scores A and B; None: the model is linear
    combination    turns the scores into probabilities
    thresholds     (n_labels,), the probability from which each label is predicted
    fallback       the numbers of labels whose leave-one-out F1 was too low for a threshold of their own; see
                   label_thresholds
    estimate       None: no document could be left out
    nonconformity  1 − p of the true pairs of a document and a label, for prediction sets; None: there was none
    posteriors     mean probabilities of left-out documents, to estimate shares of labels; None: they are not known
    """

    smoothing: Smoothing | None
    combination: Combination | ScoreScaling
    thresholds: Floats
    fallback: tuple[int, ...] = ()
    estimate: MultilabelEstimate | None = None
    nonconformity: Quantiles | None = None
    posteriors: LabelPosteriors | None = None

    @property
    def naive_bayes(self) -> tuple[Smoothing, Combination]:
        """The smoothing and the combination of Naive Bayes; ModelError if the model is linear."""
        if self.smoothing is None or isinstance(self.combination, ScoreScaling):
            raise ModelError("this needs a Naive Bayes model, and the model is linear")
        return self.smoothing, self.combination


def select_multilabel(corpus: RelevanceLeaveOneOut, *, optimize: str | None, jobs: int = 1) -> MultilabelFit:
    """Return the fit with the lowest leave-one-out loss, with thresholds that maximize a metric.

    corpus    documents in the order of their hashes
    optimize  `macro_f1`; None: micro-F1
    jobs      number of threads; the fit does not depend on it
    """
    n_labels = corpus.labels.n_classes
    corpus = corpus.first(MAX_SCORES // max(1, n_labels))
    if len(corpus.copies) < 2 or n_labels == 0:
        return default_multilabel_fit(n_labels)
    smoothing, start = _search(corpus)
    cells = collect_cells(corpus, corpus.scores_of(smoothing), jobs=jobs)
    return _fit(cells, smoothing, start, by_label=optimize == MACRO_F1)


def default_multilabel_fit(n_labels: int) -> MultilabelFit:
    """Return the fit of a model of which no document can be left out."""
    prior = Combination((1.0,), 1.0, 0.0, 1.0, 0.0, np.zeros(n_labels))
    return MultilabelFit(without_contrast(DEFAULT), prior, np.full(n_labels, DEFAULT_THRESHOLD))


def without_contrast(smoothing: Smoothing) -> Smoothing:
    """Return the smoothing of a model without the score B."""
    return smoothing._replace(alpha=None)


class _Trials:
    """Fits a model with each smoothing that is tried to some documents, each smoothing once.

    start  parameters from which the first fits start
    """

    def __init__(self, corpus: RelevanceLeaveOneOut, start: Combination | None = None) -> None:
        self._corpus = corpus
        self._start = start
        self._fits: dict[Smoothing, tuple[Combination, float]] = {}
        self._scorer, self._ratios = cache(corpus.contrast_scorer), cache(LeftOutBlock.ratios)
        self._contrast = cache(LeftOutBlock.contrast)

    def fit(self, smoothing: Smoothing) -> tuple[Combination, float]:
        """Return the parameters for a smoothing, and the loss for each document."""
        if smoothing not in self._fits:
            near = [fit for tried, (fit, _) in self._fits.items() if (tried.alpha is None) == (smoothing.alpha is None)]
            start = near[-1] if near else self._start
            cells = collect_cells(self._corpus, self._scores_of(smoothing))
            self._fits[smoothing] = fit_combination(cells if start is None else cells.sample(start), start)
        return self._fits[smoothing]

    def _scores_of(self, smoothing: Smoothing) -> Callable[[LeftOutBlock], RelevanceScores]:
        """Return the function that scores a block. It computes scores for the same μ, or the same α, once."""

        def score(block: LeftOutBlock) -> RelevanceScores:
            priors, alpha = block.priors(), smoothing.alpha
            contrast = None if alpha is None else self._contrast(block, self._scorer(alpha), alpha)
            return RelevanceScores(self._ratios(block, smoothing.mu) + priors, contrast, priors)

        return score

    def loss(self, smoothing: Smoothing) -> float:
        return self.fit(smoothing)[1]

    def descend(self, start: Smoothing, name: str, factor: float) -> Smoothing:
        """Return the smoothing with the lowest loss on the path of decreasing loss from a start, step by step."""
        best = start
        for each in (1 / factor, factor):
            while True:
                value = _round(getattr(best, name) * each)
                proposal = best._replace(**{name: value})
                if not getattr(MINIMUM, name) <= value <= getattr(MAXIMUM, name):
                    break
                if self.loss(proposal) >= self.loss(best):
                    break
                best = proposal
        return best


def _search(corpus: RelevanceLeaveOneOut) -> tuple[Smoothing, Combination]:
    """Return the smoothing with the lowest loss, and its parameters.

    It is that of A alone, or that of A and B together if there are several labels. Its order of magnitude is
    searched on some of the documents, in large steps, and its value on more of them, in smaller steps.
    """
    coarse, fine = (corpus.first(min(size, SEARCH_SCORES // corpus.labels.n_classes)) for size in SEARCH_SIZES)
    trials = _Trials(coarse)
    found = [trials.descend(without_contrast(DEFAULT), "mu", STEPS[0])]
    if corpus.labels.n_classes > 1:
        found.append(trials.descend(trials.descend(DEFAULT, "alpha", STEPS[0]), "mu", STEPS[0]))
    best = min(found, key=trials.loss)
    trials = _Trials(fine, trials.fit(best)[0])
    for name in ("mu",) if best.alpha is None else ("alpha", "mu"):
        best = trials.descend(best, name, STEPS[1])
    return best, trials.fit(best)[0]


def _round(value: float) -> float:
    """Return a value of the search, rounded so that it does not depend on the path to it."""
    return float(f"{value:.6g}")


def _fit(cells: Cells, smoothing: Smoothing, start: Combination, *, by_label: bool) -> MultilabelFit:
    combination, _ = fit_combination(cells.sample(start), start)
    return make_multilabel_fit(cells, cells.probabilities(combination), combination, smoothing, by_label=by_label)


def make_multilabel_fit(
    cells: Cells,
    probabilities: Floats,
    combination: Combination | ScoreScaling,
    smoothing: Smoothing | None = None,
    *,
    by_label: bool,
) -> MultilabelFit:
    """Return the fit that follows from the probabilities of cells that were left out, (n_cells,).

    by_label  whether each label has its own threshold
    """
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
