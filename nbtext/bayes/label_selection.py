"""Selection of the multi-label model: its smoothing, its scores and its thresholds, by leave-one-out.

By default, there is one threshold for all labels that maximizes micro-F1: of all such thresholds, the one nearest to
F1 / 2. To maximize macro-F1, there is one for each label (SCut): of all thresholds with the highest F1 of the label,
the lowest. A label whose F1 is below 0.1 gets the probability of its highest-ranked document instead (FBR.1), because a
threshold that was fitted to so little would let in many documents. The F1 of a label of one document of the corpus is
0: a model without this document does not know the label. As in `evaluate`, macro-F1 is the mean over the labels that a
scored document has.

Sources: Lewis, Yang, Rose and Li, RCV1: A New Benchmark Collection for Text Categorization Research, 2004, section 6.1;
Lipton, Elkan and Narayanaswamy, Optimal Thresholding of Classifiers to Maximize F1 Measure, 2014 (half of F1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.binary_relevance import Smoothing
from nbtext.bayes.label_calibration import IMPROBABLE, Cells, Combination, ScoreScaling, collect_cells, fit_combination
from nbtext.bayes.prediction_sets import Quantiles
from nbtext.bayes.prevalence import LabelPosteriors, fit_label_posteriors
from nbtext.bayes.scorer import Floats
from nbtext.errors import ModelError
from nbtext.features.csr import run_starts
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
MIN_F1 = 0.1  # of a label with its own threshold


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


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The probability from which each label is predicted, and the leave-one-out metrics at these thresholds.

    values     (n_labels,)
    label_f1   (n_labels,)
    micro_f1
    macro_f1   mean F1 of the labels that a scored document has
    fallback   labels with the threshold of FBR.1
    """

    values: Floats
    label_f1: Floats
    micro_f1: float
    macro_f1: float
    fallback: tuple[int, ...] = ()


def fit_thresholds(cells: Cells, probabilities: Floats, *, by_label: bool) -> Thresholds:
    """Return the thresholds: one for all labels that maximizes micro-F1, or one for each; see the module."""
    is_answered = cells.is_answered
    if not by_label:
        rows = slice(None) if is_answered.all() else np.flatnonzero(is_answered)
        best, _ = _best_threshold(
            probabilities[rows], cells.positives[rows], cells.documents[rows], true=float(cells.positives.sum())
        )
        return measure(cells, probabilities, np.full(cells.n_labels, best))
    order, floor = np.argsort(cells.labels, kind="stable"), _highest_dropped(cells, probabilities)
    bounds = np.searchsorted(cells.labels[order], np.arange(cells.n_labels + 1))
    n_contents = np.bincount(cells.labels[cells.positives > 0], minlength=cells.n_labels)
    is_single = (n_contents < 2) & (cells.sum_by_label(cells.positives) >= cells.class_documents)
    values, fallback = np.empty(cells.n_labels), []
    for k in range(cells.n_labels):
        own = order[bounds[k] : bounds[k + 1]]
        true, own = float(cells.positives[own].sum()), own[is_answered[own]]
        values[k], f1 = _best_threshold(
            probabilities[own], cells.positives[own], cells.documents[own], true=true, is_lowest=True, floor=floor
        )
        if f1 < MIN_F1 or is_single[k]:
            fallback.append(k)
            values[k] = max(probabilities[own].max(initial=0.0), floor) or 1.0
    return measure(cells, probabilities, values, tuple(fallback), is_single)


def _highest_dropped(cells: Cells, probabilities: Floats) -> float:
    """Return the highest probability of a pair that stands for others, which are dropped; 0 if there is none."""
    starts = run_starts(cells.contents)
    if len(starts) == 0:
        return 0.0
    sizes = np.diff(np.append(starts, len(probabilities)))
    copies = np.repeat(np.minimum.reduceat(cells.documents, starts), sizes)
    return float(probabilities[cells.documents > copies].max(initial=0.0))


def measure(
    cells: Cells, probabilities: Floats, values: Floats, fallback: tuple[int, ...] = (), is_single: Any = False
) -> Thresholds:
    """Return thresholds with the metrics of the cells at these thresholds.

    is_single  (n_labels,), labels whose F1 is 0: they have one document
    """
    is_predicted = (probabilities >= values[cells.labels]) & cells.is_answered
    by_label = cells.sum_by_label
    correct, predicted = by_label(cells.positives * is_predicted), by_label(cells.documents * is_predicted)
    true = by_label(cells.positives)
    label_f1 = np.divide(2 * correct, predicted + true, out=np.zeros(cells.n_labels), where=predicted + true > 0)
    label_f1[is_single] = 0.0
    total, measured = float((predicted + true).sum()), label_f1[true > 0]
    micro, macro = float(2 * correct.sum() / total) if total else 0.0, float(measured.mean()) if len(measured) else 0.0
    return Thresholds(values, label_f1, micro, macro, fallback)


def _best_threshold(
    probabilities: Floats,
    positives: Floats,
    documents: Floats,
    *,
    true: float,
    is_lowest: bool = False,
    floor: float = 0.0,
    n_tried: int | None = None,
) -> tuple[float, float]:
    """Return the threshold with the highest F1, and this F1.

    true       positive pairs, also of documents that get no label
    is_lowest  return the lowest such threshold, at least `floor` if there is one; otherwise the one nearest to half
               of F1, which is the best one for probabilities that are right
    n_tried    how many of the highest probabilities are tried before all; None: four for each positive pair
    """
    if len(probabilities) == 0 or true == 0:
        return 1.0, 0.0
    n_tried = int(4 * true) if n_tried is None else n_tried
    order = _descend(probabilities, n_tried)
    descending = probabilities[order]
    last = np.append(run_starts(descending)[1:], len(order)) - 1  # of each run of equal probabilities
    correct, predicted = np.cumsum(positives[order])[last], np.cumsum(documents[order])[last]
    f1 = 2 * correct / (predicted + true)
    best = int(f1.argmax())
    if len(order) < len(probabilities) and 2 * true / (predicted[-1] + true) >= f1[best]:  # a lower one may be better
        return _best_threshold(
            probabilities, positives, documents, true=true, is_lowest=is_lowest, floor=floor, n_tried=4 * n_tried
        )
    threshold = descending[last[best]]
    lower = np.nextafter(descending[last[best + 1]], 1.0) if best + 1 < len(last) else 0.0
    if not is_lowest:
        threshold = min(threshold, max(lower, f1[best] / 2))
    elif best + 1 < len(last):
        threshold = max(lower, min(floor, threshold))
    return float(threshold), float(f1[best])


def _descend(probabilities: Floats, n: int) -> NDArray[np.int64]:
    """Return the places of about the n highest probabilities, the highest first; of equal ones, all or none."""
    if n >= len(probabilities):
        return np.argsort(-probabilities, kind="stable")
    lowest = np.partition(probabilities, len(probabilities) - n)[len(probabilities) - n]
    places = np.flatnonzero(probabilities >= lowest)
    return places[np.argsort(-probabilities[places], kind="stable")]


def precision_at_1(cells: Cells, probabilities: Floats) -> float:
    """Return the share of documents with a label whose most probable label is one of theirs."""
    starts = run_starts(cells.contents)
    if len(starts) == 0:
        return 0.0
    sizes = np.diff(np.append(starts, len(probabilities)))
    is_best = probabilities == np.repeat(np.maximum.reduceat(probabilities, starts), sizes)
    best = np.flatnonzero(is_best & cells.is_answered)
    first = best[run_starts(cells.contents[best])]  # of equal probabilities, the first label
    copies = np.minimum.reduceat(cells.documents, starts)
    n_labeled = np.minimum(np.add.reduceat(cells.positives, starts), copies).sum()  # copies may differ in their labels
    return float(cells.positives[first].sum() / max(1.0, n_labeled))
