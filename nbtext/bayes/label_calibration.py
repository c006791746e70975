"""The fit of a multi-label model: its probabilities, smoothing and thresholds, selected by
leave-one-out.

Probabilities are fitted to leave-one-out scores of Naive Bayes:

    p_k = σ(z_k)
    z_k = (w₁ A_k + w₂ (B_k + π_k) + L^b (c + s log L + v π_k + bias_k)) / (L^b + w₁ + w₂)

A, B and the prior π are those of binary_relevance, L is the number of known tokens. z is a weighted
mean: of the two log-odds of Naive Bayes, and of log-odds that do not depend on the words. The
tokens of a text are not independent (as in calibration.py), so the weight of Naive Bayes falls with
L. Without tokens, z_k = π_k. Even if all training documents are long, the log-odds of a short text
are not larger than those of Naive Bayes.

The weights are positive, and b is above ½. Weak Gaussian priors keep every parameter finite. The
prior of bias_k has the standard deviation 1, so that the bias of a rare label stays near 0.

Of linear models, whose scores f are held out, in units of the margin (Platt, Probabilistic Outputs
for Support Vector Machines, 1999): p_k = σ(a f_k + c + bias_k), with the same prior of bias_k, and
weak priors of log a and c.

By default, there is one threshold for all labels that maximizes micro-F1: of all such thresholds,
the one nearest to F1 / 2. To maximize macro-F1, there is one for each label (SCut): of all
thresholds with the highest F1 of the label, the lowest. A label whose F1 is below 0.1 gets the
probability of its highest-ranked document instead (FBR.1), because a threshold that was fitted to
so little would let in many documents. The F1 of a label of one
document of the corpus is 0: a model without this document does not know the label. As in
`evaluate`, macro-F1 is the mean over the labels that a scored document has or gets.

Sources: Lewis, Yang, Rose and Li, RCV1: A New Benchmark Collection for Text Categorization
Research, 2004, section 6.1; Lipton, Elkan and Narayanaswamy, Optimal Thresholding of Classifiers to
Maximize F1 Measure, 2014 (half of F1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from nbtext.arrays import FOR_EACH_LABEL, N_LABELS, Array, Floats, Integers, Limits, Mask
from nbtext.bayes.binary_relevance import (
    SCORE_WEIGHT,
    RelevanceLeaveOneOut,
    RelevanceScores,
    Smoothing,
    prior_log_odds,
)
from nbtext.bayes.conformal import Quantiles
from nbtext.bayes.newton import minimize, solve_densely
from nbtext.bayes.prevalence import LabelPosteriors
from nbtext.errors import ModelError
from nbtext.features.csr import run_starts
from nbtext.features.document_table import count_repeated
from nbtext.numerics import dot, exp, log, log1p, power, ratio, sigmoid
from nbtext.parallel import parallel_map
from nbtext.records import frozen_object

LOSS_TOLERANCE = 1e-5  # of the loss, in nats per document
# means and standard deviations of log w₁ and log w₂ (B ignores documents without label), and of log
# (b − ½), c, v and s
WEIGHT_PRIORS = ((1.5, 2.0), (0.0, 2.0))
OTHER_PRIORS = ((-1.0, 0.5), (0.0, 2.0), (1.0, 1.0), (0.0, 1.0))
# otherwise long documents alone could take all weight from the words of short texts
MIN_EXPONENT = 0.5
BIAS_DEVIATION = 1.0
SCALE_PRIORS = ((1.5, 2.0), (-2.0, 10.0))  # of log a and c of a linear model
# with more, at most MAX_KEPT_LABELS labels of a document are kept besides its own and the sample
MAX_FULLY_KEPT_LABELS = 128
MAX_KEPT_LABELS = 64
SAMPLED = 8  # about so many of the other labels of a document are kept, too, each for several
IMPROBABLE = -6.0  # log-odds of a label of which a sample stands for the others


class Factors(NamedTuple):
    """The factors of the parts of the log-odds of a document, or of several, (n_documents,).

    relevance   w₁ / (L^b + w₁ + w₂), of A
    contrast    w₂ / (L^b + w₁ + w₂), of B + π
    baseline    L^b / (L^b + w₁ + w₂), of what does not depend on the words
    log_length  log L, 0 for a text without tokens
    """

    relevance: Any
    contrast: Any
    baseline: Any
    log_length: Any


@frozen_object
class Combination:
    """How the scores of a label become a probability; see the module.

    weights       (1,) or (2,), w₁ and w₂, above 0
    exponent      b, above ½
    intercept     c
    prior_weight  v
    slope         s
    biases        (n_labels,)
    """

    weights: Annotated[tuple[float, ...], SCORE_WEIGHT]
    exponent: Annotated[float, Limits(1e-20, 10)]
    intercept: float
    prior_weight: float
    slope: float
    biases: Annotated[Floats, FOR_EACH_LABEL]

    @classmethod
    def expected(cls, n_scores: int, n_labels: int) -> Combination:
        """Return the parameters whose prior is highest."""
        means = [mean for mean, _ in (*WEIGHT_PRIORS[:n_scores], *OTHER_PRIORS)]
        return cls.of(np.array(means), np.zeros(n_labels))

    @classmethod
    def of(cls, common: Floats, biases: Floats) -> Self:
        """Return the combination of some parameters; see `common`."""
        *weights, exponent = exp(common[:-3]).tolist()
        intercept, prior_weight, slope = common[-3:].tolist()
        exponent = MIN_EXPONENT + exponent
        return cls(tuple(weights), exponent, intercept, prior_weight, slope, biases)

    @property
    def common(self) -> Floats:
        """The parameters that all labels share, as numbers that may have any value."""
        logs = log(np.array((*self.weights, self.exponent - MIN_EXPONENT)))
        return np.append(logs, (self.intercept, self.prior_weight, self.slope))

    @property
    def priors(self) -> Floats:
        """The means and the standard deviations of the priors of `common`, (2, n_common)."""
        return np.array((*WEIGHT_PRIORS[: len(self.weights)], *OTHER_PRIORS)).T

    def factors(self, lengths: Array) -> Factors:
        """Return the factors of documents with these numbers of known tokens."""
        powers = power(lengths, self.exponent)
        scales = 1 / (powers + sum(self.weights))
        contrast = sum(self.weights[1:]) * scales
        logarithms = log(np.maximum(lengths, 1.0))  # 0 for a text without tokens
        return Factors(self.weights[0] * scales, contrast, powers * scales, logarithms)

    def derive(self, part: Cells) -> tuple[Floats, Floats, Floats]:
        """Return the log-odds of some cells, and their derivatives.

        Returns
        -------
        log-odds (n_cells,) derivatives by the parameters of `common`, (n_common, n_cells)
        derivative by the bias of the cell's label, (n_cells,)
        """
        log_odds, baseline, factors = part.weigh(self)
        derivatives = [
            weight * (scores - log_odds)
            for weight, scores in zip(factors, part.scores, strict=False)
        ]
        of_logs = factors.baseline * factors.log_length
        derivatives.append((self.exponent - MIN_EXPONENT) * of_logs * (baseline - log_odds))
        derivatives += [factors.baseline, factors.baseline * part.priors[part.labels], of_logs]
        return log_odds, np.stack(derivatives), factors.baseline


@frozen_object
class ScoreScaling:
    """How the score of a linear model becomes a probability; see the module and Combination.

    scale      a, above 0
    intercept  c
    biases     (n_labels,)
    """

    prior_weight: ClassVar = 0.0
    slope: ClassVar = 0.0
    priors: ClassVar = np.array(SCALE_PRIORS).T

    scale: Annotated[float, SCORE_WEIGHT]
    intercept: float
    biases: Annotated[Floats, FOR_EACH_LABEL]

    @classmethod
    def of(cls, common: Floats, biases: Floats) -> Self:
        """Return the scaling with these values of log a and c."""
        return cls(float(exp(common[0])), float(common[1]), biases)

    @property
    def common(self) -> Floats:
        """The values of log a and c."""
        return np.array((log(self.scale), self.intercept))

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each score of the scorer."""
        return (self.scale,)

    def factors(self, lengths: Array) -> Factors:
        """Return the factors of documents; they do not depend on the length."""
        ones = np.ones(len(lengths))
        return Factors(self.scale * ones, 0 * ones, ones, 0 * ones)

    def derive(self, part: Cells) -> tuple[Floats, Floats, Floats]:
        """Return the log-odds of some cells, and their derivatives."""
        log_odds, _, factors = part.weigh(self)
        columns = np.stack((factors.relevance * part.scores[0], factors.baseline))
        return log_odds, columns, factors.baseline


LabelCalibration = Combination | ScoreScaling
AnyCalibration = TypeVar("AnyCalibration", bound=Combination | ScoreScaling)


def weigh(
    fit: LabelCalibration,
    scores: Sequence[Floats],
    priors: Floats,
    biases: Floats,
    factors: Factors,
) -> tuple[Floats, Floats]:
    """Return the log-odds of pairs of a document and a label, and those without its words.

    scores  A and, if it is used, B + π
    priors  π
    """
    baseline = fit.intercept + fit.prior_weight * priors + fit.slope * factors.log_length + biases
    log_odds = factors.baseline * baseline
    for weight, each in zip(factors, scores, strict=False):
        log_odds = log_odds + weight * each
    return log_odds, baseline


def log_odds_of(fit: LabelCalibration, scores: RelevanceScores, lengths: Array) -> Floats:
    """Return the log-odds of each label, (n_documents, n_labels).

    lengths  (n_documents,), known tokens
    """
    used = [scores.relevance]
    if scores.contrast is not None:
        used.append(scores.contrast + scores.priors)
    factors = Factors(*(each[:, None] for each in fit.factors(lengths)))
    return weigh(fit, used, scores.priors, fit.biases, factors)[0]


@frozen_object
class Cells:
    """Leave-one-out scores of pairs of a distinct document ("content") and a label: its own labels
    and some others.

    contents    (n_cells,), from 0 on, ascending; each has at least one cell
    labels      (n_cells,)
    positives   (n_cells,), documents of this content that have the label
    documents   (n_cells,), documents of this content, and those of the pairs that the cell stands
                for
    scores      one or two arrays (n_cells,): A and B + π
    priors      (n_labels,), π of all documents; left out of π, a document would be recognizable by
                its labels
    lengths     (n_contents,), known tokens of each content
    class_documents  (n_labels,), documents with each label in the whole corpus
    n_documents      whose scores these are
    n_duplicates     of the documents of the corpus, those that repeat another one
    """

    contents: Integers
    labels: Integers
    positives: Floats
    documents: Floats
    scores: tuple[Floats, ...]
    priors: Floats
    lengths: Floats
    class_documents: Array
    n_documents: float
    n_duplicates: int = 0

    @property
    def n_labels(self) -> int:
        return len(self.class_documents)

    @property
    def n_copies(self) -> float:
        """The mean number of copies of a document, by which the precisions of priors are
        multiplied: duplicates add no evidence.
        """
        return self.n_documents / max(1, len(self.lengths))

    def sum_by_label(self, values: Floats) -> Floats:
        """Return the sum of the values of the cells of each label, (n_labels,)."""
        return np.bincount(self.labels, values, self.n_labels).astype(np.float64, copy=False)

    def weigh(self, fit: LabelCalibration) -> tuple[Floats, Floats, Factors]:
        """Return the log-odds of each pair, those without its words, and its factors."""
        factors = Factors(*(each[self.contents] for each in fit.factors(self.lengths)))
        labels = self.labels
        return *weigh(fit, self.scores, self.priors[labels], fit.biases[labels], factors), factors

    def probabilities(self, fit: LabelCalibration) -> Floats:
        """Return the probability of each pair, (n_cells,)."""
        return sigmoid(self.weigh(fit)[0])

    def left_out_probabilities(self, fit: LabelCalibration) -> Floats:
        """Return the probability of each pair with the bias of its label fitted without the pair,
        by one Newton step.

        Otherwise the biases of rare labels would fit themselves to these pairs, and the estimate
        would be too high.

        returns  (n_cells,)

        Source: Beirami, Razaviyayn, Shahrampour and Tarokh, On Optimal Generalizability in
        Parametric Learning, 2017.
        """
        log_odds, _, of_bias = fit.derive(self)
        p = sigmoid(log_odds)
        residuals = (self.documents * p - self.positives) * of_bias**2
        curvatures = self.documents * p * (1 - p) * of_bias**2
        of_labels = self.n_copies / BIAS_DEVIATION**2 + self.sum_by_label(curvatures)
        return sigmoid(log_odds + residuals / (of_labels[self.labels] - curvatures))


def keep_cells(
    scores: Floats, is_own: Mask, first: int, minimum: float = -np.inf
) -> tuple[Integers, Integers, Floats]:
    """Return the pairs to keep: the own labels of each row, those with high scores, and a sample of
    the others.

    Almost all pairs are of improbable labels that a document does not have. They hardly move a fit.
    But without a sample of them, such a label would be kept only where it is an own one, and look
    probable. Returns rows, labels, and how many pairs each one stands for, each (n_kept,).

    scores   (n_rows, n_labels)
    first    the number of the first row, on which the sample depends
    minimum  a score from which pairs are kept; the highest score of a row is kept in any case
    """
    n_labels = scores.shape[1]
    lowest = np.minimum(scores.max(axis=1, initial=-np.inf), minimum)
    if n_labels > MAX_FULLY_KEPT_LABELS:
        lowest = np.maximum(
            np.partition(scores, n_labels - MAX_KEPT_LABELS, axis=1)[:, n_labels - MAX_KEPT_LABELS],
            lowest,
        )
    is_kept = (scores >= lowest[:, None]) | is_own
    step = -(-n_labels // SAMPLED)
    is_sampled = (np.arange(first, first + len(scores))[:, None] + np.arange(n_labels)) % step == 0
    cells = np.flatnonzero(is_kept | is_sampled)
    rows, labels = np.divmod(cells, n_labels)
    return rows, labels, np.where(is_kept.ravel()[cells], 1.0, step)


def collect_cells(
    corpus: RelevanceLeaveOneOut,
    score: Callable[[RelevanceLeaveOneOut], RelevanceScores],
    fit: Combination,
    *,
    improbable: float = IMPROBABLE,
    blocks: Sequence[RelevanceLeaveOneOut] | None = None,
    jobs: int = 1,
) -> Cells:
    """Return the leave-one-out scores of the documents of a corpus.

    score       computes the scores of a block
    fit         gives the log-odds by which improbable labels are recognized
    improbable  the log-odds below which they are improbable
    blocks      those of the corpus, if the caller scores them again later; None: they are made here
    jobs        number of threads; the result does not depend on it
    """

    def collect(block: RelevanceLeaveOneOut) -> tuple[Array, ...]:
        scores = score(block)
        positives = block.positives
        log_odds = log_odds_of(fit, scores, block.lengths)
        rows, labels, weights = keep_cells(log_odds, positives > 0, block.start, improbable)
        columns = [
            positives[rows, labels],
            block.left_out.all_copies[rows] * weights,
            scores.relevance[rows, labels],
        ]
        if scores.contrast is not None:
            columns.append(scores.contrast[rows, labels] + scores.priors[rows, labels])
        return (block.lengths, rows + block.start, labels, *columns)

    lengths, contents, labels, positives, documents, *scores = map(
        np.concatenate, zip(*parallel_map(collect, blocks or corpus.blocks, jobs=jobs), strict=True)
    )
    return Cells(
        contents,
        labels,
        positives,
        documents,
        tuple(scores),
        prior_log_odds(corpus.statistics.class_documents, corpus.statistics.n_documents),
        lengths,
        corpus.statistics.class_documents,
        corpus.documents.n_documents,
    )


def fit_calibration(
    cells: Cells, start: AnyCalibration, *, tolerance: float = LOSS_TOLERANCE
) -> tuple[AnyCalibration, float]:
    """Return the parameters with the lowest logistic loss on the cells, and the loss per document.

    start      parameters from which the search starts
    tolerance  of the loss, in nats per document

    The Hessian is that of Gauss and Newton.
    """
    means, deviations = start.priors
    n = len(means)
    of_biases = np.full(cells.n_labels, BIAS_DEVIATION)
    precisions = cells.n_copies / np.append(deviations, of_biases) ** 2

    make: Callable[[Floats, Floats], AnyCalibration] = type(start).of  # type: ignore[assignment]

    def evaluate(at: Floats) -> tuple[float, Floats, Floats]:
        distances = at - np.pad(means, (0, cells.n_labels))
        fit = make(at[:n], at[n:])
        log_odds, columns, of_bias = fit.derive(cells)
        shrunk = exp(-np.abs(log_odds))
        loss = 0.5 * dot(precisions, distances**2) - dot(cells.positives, log_odds)
        loss += dot(cells.documents, np.maximum(log_odds, 0.0) + log1p(shrunk))
        p = np.where(log_odds >= 0, 1.0, shrunk) / (1 + shrunk)
        residuals = cells.documents * p - cells.positives
        curvature = cells.documents * p * (1 - p)
        gradient = precisions * distances
        gradient[:n] += np.einsum("ij,j->i", columns, residuals)
        gradient[n:] += cells.sum_by_label(residuals * of_bias)
        weighted = columns * curvature
        hessian = np.diag(precisions[:n]) + np.einsum("ij,kj->ik", weighted, columns)
        mixed = np.stack([cells.sum_by_label(row) for row in weighted * of_bias])
        of_biases = precisions[n:] + cells.sum_by_label(curvature * of_bias**2)
        blocks = np.hstack((hessian, mixed)), np.pad(of_biases, (n, 0))
        n_documents = max(1, cells.n_documents)
        return loss / n_documents, gradient / n_documents, np.vstack(blocks) / n_documents

    at, loss = minimize(
        evaluate, np.append(start.common, start.biases), solve=solve_bordered, tolerance=tolerance
    )
    return make(at[:n], at[n:]), loss


def solve_bordered(hessian: Floats, gradient: Floats) -> Floats:
    """Return Newton's step where biases are coupled with the common parameters only, so that it
    takes time in proportion to the labels.

    hessian  (n_common + 1, n_common + n_labels): that of the common parameters, beside their mixed
             derivatives with the biases; and below these the second derivatives by the biases
    """
    n = len(hessian) - 1
    mixed = hessian[:n, n:]
    of_biases = hessian[n, n:]
    scaled = mixed / of_biases
    reduced = hessian[:n, :n] - np.einsum("ik,jk->ij", scaled, mixed)
    common = solve_densely(reduced, gradient[:n] - np.einsum("ik,k->i", scaled, gradient[n:]))
    return np.append(common, gradient[n:] / of_biases - np.einsum("ik,i->k", scaled, common))


UNFITTED = Smoothing(1e4, 0.1)  # if no document can be left out; the search starts here
RELEVANCE_ALONE = UNFITTED._replace(alpha=None)  # without the score B
DEFAULT_THRESHOLD = 0.5
# the limits of the search
MINIMUM = Smoothing(1.0, 1e-3)
MAXIMUM = Smoothing(1e8, 1e2)
STEP = 10.0  # factor of the steps of the search
SEARCH_TOLERANCE = 1e-3  # of the losses of the search, relative
# documents that each step of the search scores; fewer with many labels
MULTILABEL_SEARCH_SIZE = 1024
SEARCH_SCORES = 1 << 20  # documents times labels
# documents times labels: with more than 4096 labels, fewer documents are left out
MAX_LEFT_OUT_SCORES = 1 << 26
# documents that the parameters and one threshold for all labels are fitted to
MULTILABEL_CALIBRATION_SIZE = 1 << 14
# log-odds, instead of IMPROBABLE: the threshold of a rare label may be low
IMPROBABLE_BY_LABEL = -9.0
MACRO_F1 = "macro_f1"
MIN_F1 = 0.1  # of a label with its own threshold


@frozen_object
class MultilabelEstimate:
    """The leave-one-out estimate for new documents.

    documents       number of scored documents, on which all figures are computed
    micro_f1        of all pairs of a document and a label
    macro_f1        mean F1 of the labels that a scored document has, or gets
    precision_at_1  share of documents with a label whose most probable label is one of theirs
    log_loss        mean over documents of −Σ log P(label is there, or is not), in nats
    label_f1        (n_labels,)
    duplicates      number of documents that repeat another one; they are left out together
    other           micro F1 of Naive Bayes if each document is left out without its duplicates;
                    None: it differs by no more than `error_of` micro F1
    folds           number of folds that models of the other documents scored; None: leave-one-out,
                    or those of the settings
    """

    FIGURES: ClassVar = ("micro_f1", "macro_f1", "precision_at_1", "log_loss")  # in output
    # of a summary
    HEADLINE: ClassVar = {"micro F1": "micro_f1", "precision at 1": "precision_at_1"}
    REMOVED: ClassVar = {"unanswered": None}  # see artifact/record.py
    # documents that are not in the training set: such a model is not calibrated on any
    held_out: ClassVar = 0
    interval: ClassVar = None  # of the first figure: the record does not determine that of an F1

    documents: int
    micro_f1: float
    macro_f1: float
    precision_at_1: float
    log_loss: float
    label_f1: Annotated[Floats, FOR_EACH_LABEL]
    duplicates: int = 0
    other: float | None = None
    folds: int | None = None

    @property
    def metric(self) -> float:
        """The figure that `other` is compared with."""
        return self.micro_f1


@frozen_object
class MultilabelFit:
    """What a multi-label model has besides its scorer.

    smoothing      of the scores A and B; None: the model is linear
    combination    turns the scores into probabilities
    thresholds     (n_labels,), the probability from which each label is predicted
    fallback       the numbers of labels whose leave-one-out F1 was too low for a threshold of their
                   own; see label_thresholds
    estimate       None: no document could be left out
    nonconformity  1 − p of the true pairs of a document and a label, for prediction sets; None:
                   there was none
    posteriors     mean probabilities of left-out documents, to estimate shares of labels; None:
                   they are not known
    """

    smoothing: Smoothing | None
    combination: Combination | ScoreScaling
    thresholds: Annotated[Floats, Limits(0, 1, (N_LABELS,))]
    fallback: tuple[int, ...] = ()
    estimate: MultilabelEstimate | None = None
    nonconformity: Quantiles | None = None
    posteriors: LabelPosteriors | None = None

    @property
    def naive_bayes(self) -> tuple[Smoothing, Combination]:
        """The smoothing and the combination of Naive Bayes; ModelError if the model is linear."""
        if self.smoothing is None or isinstance(self.combination, ScoreScaling):
            raise ModelError(
                "this needs a Naive Bayes model, and the model is linear",
                hint="train one, such as ‹model=auto›",
            )
        return self.smoothing, self.combination


def select_multilabel(
    corpus: RelevanceLeaveOneOut, *, optimize: str | None, jobs: int = 1
) -> MultilabelFit:
    """Return the fit with the lowest leave-one-out loss, with thresholds that maximize a metric.

    corpus    documents in the order of their hashes
    optimize  `macro_f1`; None: micro-F1
    jobs      number of threads; the fit does not depend on it
    """
    n_labels = corpus.statistics.n_classes
    n_duplicates = count_repeated(corpus.documents)
    corpus = corpus.first(MAX_LEFT_OUT_SCORES // max(1, n_labels))
    if corpus.contents.max(initial=0) < 1 or n_labels == 0:
        return default_multilabel_fit(n_labels)
    smoothing, start = _search(corpus, jobs)
    by_label = optimize == MACRO_F1
    corpus = corpus if by_label else corpus.first(MULTILABEL_CALIBRATION_SIZE)
    improbable = IMPROBABLE_BY_LABEL if by_label else IMPROBABLE
    cells = collect_cells(
        corpus, corpus.scores_of(smoothing), start, improbable=improbable, jobs=jobs
    )
    cells = replace(cells, n_duplicates=n_duplicates)
    combination, _ = fit_calibration(cells, start)
    fit = make_multilabel_fit(cells, combination, smoothing, by_label=by_label)
    estimate = fit.estimate
    assert estimate is not None  # for the types

    def measure_alone(_: Integers) -> float:
        alone = corpus.alone
        scored = collect_cells(alone, alone.scores_of(smoothing), combination, jobs=jobs)
        probabilities = scored.left_out_probabilities(combination)
        return estimate_multilabel(scored, probabilities, fit.thresholds).micro_f1

    other = corpus.estimate_other(estimate.micro_f1, measure_alone)
    return replace(fit, estimate=replace(estimate, other=other))


def default_multilabel_fit(n_labels: int) -> MultilabelFit:
    """Return the fit of a model of which no document can be left out."""
    prior = Combination((1.0,), 1.0, 0.0, 1.0, 0.0, np.zeros(n_labels))
    return MultilabelFit(RELEVANCE_ALONE, prior, np.full(n_labels, DEFAULT_THRESHOLD))


def _search(corpus: RelevanceLeaveOneOut, jobs: int) -> tuple[Smoothing, Combination]:
    """Return the smoothing with the lowest loss on some documents, to an order of magnitude, and
    its parameters.

    Each value of a smoothing is changed as long as that lowers the loss. Both scores are used,
    unless there is one label, or A alone has a lower loss with the same μ. Smaller steps would
    lower the loss by less than it varies between samples of documents.
    """
    n_labels = corpus.statistics.n_classes
    searched = corpus.first(min(MULTILABEL_SEARCH_SIZE, SEARCH_SCORES // n_labels))
    blocks = list(searched.blocks)
    starts = {is_both: Combination.expected(1 + is_both, n_labels) for is_both in (False, True)}
    cells = collect_cells(
        searched,
        searched.scores_of(RELEVANCE_ALONE),
        starts[False],
        blocks=blocks,
        jobs=jobs,
    )

    @cache
    def scores_of(name: str, value: float) -> Floats:
        """Return the scores A or B of the cells, with π, with a value of their smoothing."""
        scorer = corpus.counts.contrast_scorer(value) if name == "alpha" else None

        def of_block(block: RelevanceLeaveOneOut) -> Floats:
            stop = block.start + len(block.left_out)
            own = slice(*np.searchsorted(cells.contents, (block.start, stop)))
            scores = block.ratios(value) if scorer is None else block.contrast(scorer, value)
            return (scores + block.priors)[cells.contents[own] - block.start, cells.labels[own]]

        return np.concatenate(list(parallel_map(of_block, blocks, jobs=jobs)))

    @cache
    def fit(smoothing: Smoothing) -> tuple[Combination, float]:
        used = smoothing._asdict().items()
        scores = [scores_of(name, value) for name, value in used if value is not None]
        is_both = len(scores) > 1
        found = fit_calibration(
            replace(cells, scores=tuple(scores)), starts[is_both], tolerance=SEARCH_TOLERANCE
        )
        starts[is_both] = found[0]
        return found

    def descend(best: Smoothing, name: str) -> Smoothing:
        for factor in (1 / STEP, STEP):
            while (other := _move(best, name, factor)) and fit(other)[1] < fit(best)[1]:
                best = other
        return best

    best = descend(descend(UNFITTED, "alpha"), "mu") if n_labels > 1 else UNFITTED
    alone = best._replace(alpha=None)
    if n_labels == 1 or fit(alone)[1] < fit(best)[1]:
        best = descend(alone, "mu")
    return best, fit(best)[0]


def _move(smoothing: Smoothing, name: str, factor: float) -> Smoothing | None:
    """Return the smoothing with one value multiplied by a factor; None if that is beyond the limits
    of the search.

    The value is rounded, so that it does not depend on the path to it.
    """
    value = float(f"{getattr(smoothing, name) * factor:.6g}")
    is_within = getattr(MINIMUM, name) <= value <= getattr(MAXIMUM, name)
    return smoothing._replace(**{name: value}) if is_within else None


def make_multilabel_fit(
    cells: Cells,
    calibration: LabelCalibration,
    smoothing: Smoothing | None = None,
    *,
    by_label: bool,
) -> MultilabelFit:
    """Return the fit that follows from the calibration of cells that were left out.

    by_label  whether each label has its own threshold
    """
    probabilities = cells.left_out_probabilities(calibration)
    thresholds = np.full(
        cells.n_labels, _best_threshold(probabilities, cells.positives, cells.documents)[0]
    )
    fallback: list[int] = []
    is_single = np.zeros(cells.n_labels, bool)
    if by_label:
        contents = np.bincount(cells.labels[cells.positives > 0], minlength=cells.n_labels)
        is_single = (contents < 2) & (cells.sum_by_label(cells.positives) >= cells.class_documents)
        # the highest probability of a pair that stands for others, which are dropped
        copies = np.minimum.reduceat(cells.documents, run_starts(cells.contents))
        is_dropped = cells.documents > copies[cells.contents]
        floor = float(probabilities[is_dropped].max(initial=0.0))
        order = np.argsort(cells.labels, kind="stable")
        bounds = np.searchsorted(cells.labels[order], np.arange(cells.n_labels + 1))
        for k, own in enumerate(np.split(order, bounds[1:-1])):
            thresholds[k], f1 = _best_threshold(
                probabilities[own], cells.positives[own], cells.documents[own], floor=floor
            )
            if f1 < MIN_F1 or is_single[k]:
                fallback.append(k)
                thresholds[k] = max(probabilities[own].max(initial=0.0), floor) or 1.0
    is_own = cells.positives > 0
    return MultilabelFit(
        smoothing,
        calibration,
        thresholds,
        tuple(fallback),
        estimate_multilabel(cells, probabilities, thresholds, is_single),
        Quantiles.of(1 - probabilities[is_own], cells.positives[is_own]),
        fit_label_posteriors(cells, probabilities),
    )


def fit_label_posteriors(cells: Cells, probabilities: Floats) -> LabelPosteriors:
    """Return the mean probabilities of documents that the model has not seen.

    probabilities  (n_cells,)
    """
    by_label = cells.sum_by_label
    with_label = by_label(cells.positives)
    documents = np.stack((cells.n_documents - with_label, with_label), axis=1)
    weights = (cells.documents - cells.positives, cells.positives)
    powers = (probabilities, probabilities**2)
    sums, squares = (
        np.stack([by_label(weight * power) for weight in weights], axis=1) for power in powers
    )
    means = ratio(sums, documents)
    spreads = ratio(ratio(squares, documents) - means**2, means * (1 - means))
    return LabelPosteriors(documents, np.clip(means, 0.0, 1.0), np.clip(spreads, 0.0, 1.0))


def estimate_multilabel(
    cells: Cells, probabilities: Floats, thresholds: Floats, is_single: Any = False
) -> MultilabelEstimate:
    """Return the estimate by the probabilities of cells that were left out, (n_cells,).

    is_single  (n_labels,), labels whose F1 is 0: they have one document
    """
    is_predicted = probabilities >= thresholds[cells.labels]
    by_label = cells.sum_by_label
    correct = by_label(cells.positives * is_predicted)
    sums = by_label(cells.documents * is_predicted) + by_label(cells.positives)
    label_f1 = ratio(2 * correct, sums)
    label_f1[is_single] = 0.0
    measured = label_f1[sums > 0]
    present = log(np.maximum(probabilities, 1e-300))
    absent = log1p(-np.minimum(probabilities, 1 - 1e-16))
    losses = -(cells.positives * present + (cells.documents - cells.positives) * absent)
    return MultilabelEstimate(
        round(cells.n_documents),
        float(2 * correct.sum() / max(1.0, sums.sum())),
        float(measured.mean()) if len(measured) else 0.0,
        precision_at_1(cells, probabilities),
        float(losses.sum() / cells.n_documents),
        label_f1,
        cells.n_duplicates,
    )


def _best_threshold(
    probabilities: Floats, positives: Floats, documents: Floats, *, floor: float | None = None
) -> tuple[float, float]:
    """Return the threshold with the highest F1, and this F1.

    floor  return the lowest such threshold, at least this one if there is one; None: the one
           nearest to half of F1, which is the best one for probabilities that are right
    """
    true = float(positives.sum())
    if true == 0:
        return 1.0, 0.0
    is_predicted = probabilities >= DEFAULT_THRESHOLD
    known = 2 * positives[is_predicted].sum() / (documents[is_predicted].sum() + true)
    # with more predictions, F1 is lower even if they have all labels
    most = (
        min(len(probabilities), int(2 * true / known - true) + 1) if known else len(probabilities)
    )
    places = np.flatnonzero(probabilities >= np.partition(probabilities, -most)[-most])
    order = places[np.argsort(-probabilities[places], kind="stable")]
    descending = probabilities[order]
    # of each run of equal probabilities
    last = np.append(run_starts(descending)[1:], len(order)) - 1
    f1 = 2 * np.cumsum(positives[order])[last] / (np.cumsum(documents[order])[last] + true)
    best = int(f1.argmax())
    threshold = descending[last[best]]
    is_all = best + 1 == len(last)
    lower = 0.0 if is_all else np.nextafter(descending[last[best + 1]], 1.0)
    if floor is None:
        threshold = min(threshold, max(lower, f1[best] / 2))
    elif not is_all:
        threshold = max(lower, min(floor, threshold))
    return float(threshold), float(f1[best])


def precision_at_1(cells: Cells, probabilities: Floats) -> float:
    """Return the share of documents with a label whose most probable label is one of theirs."""
    starts = run_starts(cells.contents)
    highest = np.maximum.reduceat(probabilities, starts)
    best = np.flatnonzero(probabilities == highest[cells.contents])
    first = best[run_starts(cells.contents[best])]  # of equal probabilities, the first label
    copies = np.minimum.reduceat(cells.documents, starts)
    # copies may differ in their labels
    n_labeled = np.minimum(np.add.reduceat(cells.positives, starts), copies).sum()
    return float(cells.positives[first].sum() / max(1.0, n_labeled))
