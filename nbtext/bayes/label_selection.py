"""Selection of the multi-label model: its smoothing, its scores and its thresholds, by leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from nbtext.bayes.binary_relevance import Smoothing
from nbtext.bayes.label_calibration import IMPROBABLE, Cells, Combination, collect_cells, fit_combination
from nbtext.bayes.label_scaling import ScoreScaling
from nbtext.bayes.label_shares import LabelPosteriors, fit_label_posteriors
from nbtext.bayes.label_thresholds import Thresholds, fit_thresholds, precision_at_1
from nbtext.bayes.prediction_sets import Quantiles
from nbtext.bayes.scorer import Floats
from nbtext.errors import ModelError
from nbtext.parallel import parallel_map
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.bayes.relevance_leave_one_out import LeftOutBlock, RelevanceLeaveOneOut

DEFAULT = Smoothing(1e4, 0.1)  # if no document can be left out; the search starts here
DEFAULT_THRESHOLD = 0.5
MINIMUM, MAXIMUM = Smoothing(1.0, 1e-3), Smoothing(1e8, 1e2)  # the limits of the search
STEP = 10.0  # factor of the steps of the search
TOLERANCE = 1e-3  # of the losses of the search, relative
SEARCH_SIZE = 1024  # documents that each step of the search scores; fewer with many labels
SEARCH_SCORES = 1 << 20  # documents times labels
MAX_SCORES = 1 << 26  # documents times labels: with more than 4096 labels, fewer documents are left out
CALIBRATION_SIZE = 1 << 14  # documents that the parameters and one threshold for all labels are fitted to
IMPROBABLE_BY_LABEL = -9.0  # log-odds, instead of IMPROBABLE: the threshold of a rare label may be low
MACRO_F1 = "macro_f1"


@dataclass(frozen=True, eq=False)
class MultilabelEstimate:
    """The leave-one-out estimate for new documents.

    documents       number of scored documents, on which all figures are computed
    micro_f1        of all pairs of a document and a label
    macro_f1        mean F1 of the labels that a scored document has
    precision_at_1  share of documents with a label whose most probable label is one of theirs
    log_loss        mean over documents of −Σ log P(label is there, or is not), in nats
    label_f1        (n_labels,)
    unanswered      number of documents without a word that the model of the others knows; it gives them no label
    duplicates      number of documents that repeat another one; see `ModelSettings.duplicates`
    other           micro F1 if duplicates are left out separately instead of together, or together instead of
                    separately; None: it differs by no more than `error_of` micro F1
    """

    FIGURES: ClassVar = ("micro_f1", "macro_f1", "precision_at_1", "log_loss")  # in output
    HEADLINE: ClassVar = {"micro F1": "micro_f1", "precision at 1": "precision_at_1"}  # of a summary
    held_out: ClassVar = 0  # documents that are not in the training set: such a model is not calibrated on any

    documents: int
    micro_f1: float
    macro_f1: float
    precision_at_1: float
    log_loss: float
    label_f1: Floats
    unanswered: int = 0
    duplicates: int = 0
    other: float | None = None

    @property
    def metric(self) -> float:
        """The figure that `other` is compared with."""
        return self.micro_f1


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
    n_labels = corpus.counts.statistics.n_classes
    corpus = corpus.first(MAX_SCORES // max(1, n_labels))
    if len(corpus.copies) < 2 or n_labels == 0:
        return default_multilabel_fit(n_labels)
    smoothing, start = _search(corpus, jobs)
    by_label = optimize == MACRO_F1
    corpus = corpus if by_label else corpus.first(CALIBRATION_SIZE)
    improbable = IMPROBABLE_BY_LABEL if by_label else IMPROBABLE
    cells = collect_cells(corpus, corpus.scores_of(smoothing), start, improbable=improbable, jobs=jobs)
    combination, _ = fit_combination(cells, start)
    probabilities = cells.left_out_probabilities(combination)
    return make_multilabel_fit(cells, probabilities, combination, smoothing, by_label=by_label)


def default_multilabel_fit(n_labels: int) -> MultilabelFit:
    """Return the fit of a model of which no document can be left out."""
    prior = Combination((1.0,), 1.0, 0.0, 1.0, 0.0, np.zeros(n_labels))
    return MultilabelFit(without_contrast(DEFAULT), prior, np.full(n_labels, DEFAULT_THRESHOLD))


def without_contrast(smoothing: Smoothing) -> Smoothing:
    """Return the smoothing of a model without the score B."""
    return smoothing._replace(alpha=None)


class _Trials:
    """Fits a model with each smoothing that is tried to the same cells of some documents, each smoothing once."""

    def __init__(self, corpus: RelevanceLeaveOneOut, jobs: int) -> None:
        self._corpus, self._blocks, self._jobs = corpus, list(corpus.blocks), jobs
        score = corpus.scores_of(without_contrast(DEFAULT))
        self._cells = collect_cells(corpus, score, blocks=self._blocks, jobs=jobs)
        self._priors = self._take(lambda block: block.priors)
        self._relevance = {DEFAULT.mu: self._cells.scores[0]}  # A of each cell, by μ
        self._contrast: dict[float, Floats] = {}  # B + π of each cell, by α
        self._fits: dict[Smoothing, tuple[Combination, float]] = {}

    def fit(self, smoothing: Smoothing) -> tuple[Combination, float]:
        """Return the parameters for a smoothing, and the loss for each document."""
        if smoothing not in self._fits:
            near = [each for each in self._fits if (each.alpha is None) == (smoothing.alpha is None)]
            nearest = min(near, key=lambda each: abs(np.log(each.mu / smoothing.mu)), default=None)
            cells = replace(self._cells, scores=self._scores(smoothing))
            start = None if nearest is None else self._fits[nearest][0]
            self._fits[smoothing] = fit_combination(cells, start, tolerance=TOLERANCE)
        return self._fits[smoothing]

    def _scores(self, smoothing: Smoothing) -> tuple[Floats, ...]:
        """Return the scores of each cell. Those for the same μ, or the same α, are computed once."""
        mu, alpha = smoothing
        if mu not in self._relevance:
            self._relevance[mu] = self._take(lambda block: block.ratios(mu)) + self._priors
        if alpha is None:
            return (self._relevance[mu],)
        if alpha not in self._contrast:
            scorer = self._corpus.counts.contrast_scorer(alpha)
            self._contrast[alpha] = self._take(lambda block: block.contrast(scorer, alpha)) + self._priors
        return self._relevance[mu], self._contrast[alpha]

    def _take(self, score: Callable[[LeftOutBlock], Floats]) -> Floats:
        """Return the scores of the cells, (n_cells,), from those of whole blocks."""
        contents, labels = self._cells.contents, self._cells.labels

        def take(block: LeftOutBlock) -> Floats:
            own = slice(*np.searchsorted(contents, (block.start, block.stop)))
            return score(block)[contents[own] - block.start, labels[own]]

        return np.concatenate(list(parallel_map(take, self._blocks, jobs=self._jobs)))

    def loss(self, smoothing: Smoothing) -> float:
        return self.fit(smoothing)[1]

    def descend(self, start: Smoothing, name: str) -> Smoothing:
        """Return the smoothing with the lowest loss on the path of decreasing loss from a start, step by step."""
        best = start
        for factor in (1 / STEP, STEP):
            while (proposal := _move(best, name, factor)) and self.loss(proposal) < self.loss(best):
                best = proposal
        return best


def _search(corpus: RelevanceLeaveOneOut, jobs: int) -> tuple[Smoothing, Combination]:
    """Return the smoothing with the lowest loss on some documents, to an order of magnitude, and its parameters.

    Both scores are used, unless there is one label, or A alone has a lower loss with the same μ. Smaller steps would
    lower the loss by less than it varies between samples of documents.
    """
    n_labels = corpus.counts.statistics.n_classes
    trials = _Trials(corpus.first(min(SEARCH_SIZE, SEARCH_SCORES // n_labels)), jobs)
    best = trials.descend(trials.descend(DEFAULT, "alpha"), "mu") if n_labels > 1 else DEFAULT
    alone = without_contrast(best)
    if n_labels == 1 or trials.loss(alone) < trials.loss(best):
        best = trials.descend(alone, "mu")
    return best, trials.fit(best)[0]


def _move(smoothing: Smoothing, name: str, factor: float) -> Smoothing | None:
    """Return the smoothing with one value multiplied by a factor; None if that is beyond the limits of the search.

    The value is rounded, so that it does not depend on the path to it.
    """
    value = float(f"{getattr(smoothing, name) * factor:.6g}")
    is_within = getattr(MINIMUM, name) <= value <= getattr(MAXIMUM, name)
    return smoothing._replace(**{name: value}) if is_within else None


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
        float(losses.sum() / cells.n_documents), thresholds.label_f1, cells.n_unanswered,
    )  # fmt: skip
