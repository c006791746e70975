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
so little would let in many documents. The F1 of a label of one document of the corpus is 0: a model
without this document does not know the label. As in `evaluate`, macro-F1 is the mean over the
labels that a scored document has or gets.

Sources: Lewis, Yang, Rose and Li, RCV1: A New Benchmark Collection for Text Categorization
Research, 2004, section 6.1; Lipton, Elkan and Narayanaswamy, Optimal Thresholding of Classifiers to
Maximize F1 Measure, 2014 (half of F1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.binary_relevance import (
    LeftOutBlock,
    RelevanceLeaveOneOut,
    RelevanceScores,
    Smoothing,
)
from nbtext.bayes.conformal import Quantiles
from nbtext.bayes.diagnostics import error_of
from nbtext.bayes.newton import Bordered, dot, minimize_bordered
from nbtext.bayes.prevalence import LabelPosteriors
from nbtext.bayes.scorer import Floats
from nbtext.errors import ModelError
from nbtext.features.csr import run_starts
from nbtext.features.document_counts import count_repeated
from nbtext.parallel import parallel_map
from nbtext.records import dataclass

TOLERANCE = 1e-5  # of the loss, relative
# means and standard deviations of log w₁ and log w₂ (B ignores documents without label), and of log
# (b − ½), c, v and s
WEIGHT_PRIORS = ((1.5, 2.0), (0.0, 2.0))
OTHER_PRIORS = ((-1.0, 0.5), (0.0, 2.0), (1.0, 1.0), (0.0, 1.0))
# otherwise long documents alone could take all weight from the words of short texts
MIN_EXPONENT = 0.5
BIAS_DEVIATION = 1.0
LARGEST = 700.0  # log-odds, so that no exponential overflows
# of the priors of log a and c
SCALE_MEANS = np.array([1.5, -2.0])
SCALE_PRECISIONS = np.array([1 / 4, 1 / 100])
LARGEST_SCALE = np.array([20.0, np.inf])  # log a and c
SCALE_TOLERANCE = 1e-7  # of the loss, relative
# with more, at most MAX_KEPT labels of a document are kept besides its own and the sample
MAX_LABELS = 128
MAX_KEPT = 64
SAMPLED = 8  # about so many of the other labels of a document are kept, too, each for several
AT_ONCE = 1 << 14  # cells whose arrays fit into the cache of a processor
IMPROBABLE = -6.0  # log-odds of a label of which a sample stands for the others


class Factors(NamedTuple):
    """The factors of the parts of the log-odds of a document, or of several, (n_documents,).

    relevance  w₁ / (L^b + w₁ + w₂), of A
    contrast   w₂ / (L^b + w₁ + w₂), of B
    prior      of π
    baseline   L^b / (L^b + w₁ + w₂), of c and the biases
    """

    relevance: Any
    contrast: Any
    prior: Any
    baseline: Any


@dataclass(frozen=True, eq=False)
class Combination:
    """How the scores of a label become a probability; see the module.

    weights       (1,) or (2,), w₁ and w₂, above 0
    exponent      b, above ½
    intercept     c
    prior_weight  v
    slope         s
    biases        (n_labels,)
    """

    weights: tuple[float, ...]
    exponent: float
    intercept: float
    prior_weight: float
    slope: float
    biases: Floats

    def factors(self, lengths: NDArray[Any]) -> Factors:
        """Return the factors of the scores. The prior that is part of A has the factor of A besides
        its own.

        lengths  (n_documents,), known tokens
        """
        powers = np.asarray(lengths, dtype=np.float64) ** self.exponent
        scales = 1 / (powers + sum(self.weights))
        relevance = self.weights[0] * scales
        contrast = sum(self.weights[1:]) * scales
        return Factors(
            relevance, contrast, contrast + self.prior_weight * powers * scales, powers * scales
        )

    def log_odds(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the log-odds of each label, (n_documents, n_labels).

        lengths  (n_documents,), known tokens
        """
        relevance, contrast, prior, baseline = (each[:, None] for each in self.factors(lengths))
        total = relevance * scores.relevance + prior * scores.priors
        total += baseline * (
            self.intercept + self.slope * log_lengths(lengths)[:, None] + self.biases
        )
        if scores.contrast is not None:
            total += contrast * scores.contrast
        return np.asarray(total)

    def probabilities(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the probability of each label, (n_documents, n_labels)."""
        return sigmoid(self.log_odds(scores, lengths))

    def derive(self, part: Cells) -> tuple[Floats, Floats, Floats]:
        """Return the log-odds of some cells, and their derivatives.

        Returns
        -------
        log-odds (n_cells,) derivatives by the logarithms of the weights and of b − ½, and by c, v
        and s, (n_common, n_cells) derivative by the bias of the cell's label, (n_cells,)
        """
        log_odds, baseline, factors, logs = _score(part, self)
        weights = factors[: len(part.scores)]
        derivatives = [
            weight * (scores - log_odds)
            for weight, scores in zip(weights, part.scores, strict=True)
        ]
        of_logs = factors.baseline * logs
        derivatives.append((self.exponent - MIN_EXPONENT) * of_logs * (baseline - log_odds))
        derivatives += [factors.baseline, factors.baseline * part.priors[part.labels], of_logs]
        return log_odds, np.stack(derivatives), factors.baseline


def log_lengths(lengths: NDArray[Any]) -> Floats:
    """Return log L; 0 for a text without tokens."""
    return np.asarray(np.log(np.maximum(lengths, 1.0)))


def sigmoid(log_odds: Floats) -> Floats:
    """Return 1 / (1 + exp(−log_odds))."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -LARGEST, LARGEST))))


@dataclass(frozen=True, eq=False)
class Cells:
    """Leave-one-out scores of pairs of a distinct document ("content") and a label: its own labels
    and some others.

    contents    (n_cells,), ascending
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

    contents: NDArray[np.int64]
    labels: NDArray[np.int64]
    positives: Floats
    documents: Floats
    scores: tuple[Floats, ...]
    priors: Floats
    lengths: Floats
    class_documents: NDArray[Any]
    n_documents: int
    n_duplicates: int = 0

    @property
    def n_labels(self) -> int:
        return len(self.class_documents)

    @property
    def n_copies(self) -> float:
        """The mean number of copies of a document, by which priors are multiplied: duplicates add
        no evidence.
        """
        return self.n_documents / max(1, len(self.lengths))

    def sum_by_label(self, values: Floats) -> Floats:
        """Return the sum of the values of the cells of each label, (n_labels,)."""
        return np.bincount(self.labels, weights=values, minlength=self.n_labels).astype(
            np.float64, copy=False
        )

    def probabilities(self, fit: Combination) -> Floats:
        """Return the probability of each pair, (n_cells,)."""
        return np.concatenate(
            [np.zeros(0), *(sigmoid(_score(part, fit)[0]) for part in self.parts())]
        )

    def left_out_probabilities(self, fit: Combination | ScoreScaling) -> Floats:
        """Return the probability of each pair with the bias of its label fitted without the pair,
        by one Newton step.

        Otherwise the biases of rare labels would fit themselves to these pairs, and the estimate
        would be too high.

        returns  (n_cells,)

        Source: Beirami, Razaviyayn, Shahrampour and Tarokh, On Optimal Generalizability in
        Parametric Learning, 2017.
        """

        def weigh(part: Cells) -> tuple[Floats, Floats, Floats]:
            """Return the log-odds, the scaled residuals, and the second derivatives of the loss by
            the bias.
            """
            log_odds, _, of_bias = fit.derive(part)
            p = sigmoid(log_odds)
            residuals = part.documents * p - part.positives
            curvatures = part.documents * p * (1 - p)
            return log_odds, residuals * of_bias**2, curvatures * of_bias**2

        of_labels = np.full(self.n_labels, self.n_copies / BIAS_DEVIATION**2)
        found = [np.zeros(0)]
        for part in self.parts():
            of_labels += part.sum_by_label(weigh(part)[2])
        for part in self.parts():
            log_odds, residuals, curvatures = weigh(part)
            found.append(sigmoid(log_odds + residuals / (of_labels[part.labels] - curvatures)))
        return np.concatenate(found)

    def parts(self) -> Iterator[Cells]:
        """Yield parts of the cells that fit into the cache of a processor."""
        for start in range(0, len(self.contents), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            yield Cells(
                self.contents[part],
                self.labels[part],
                self.positives[part],
                self.documents[part],
                tuple(scores[part] for scores in self.scores),
                self.priors,
                self.lengths,
                self.class_documents,
                self.n_documents,
            )


def keep_cells(
    scores: Floats, is_own: NDArray[np.bool_], first: int, minimum: float = -np.inf
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
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
    if n_labels > MAX_LABELS:
        lowest = np.maximum(
            np.partition(scores, n_labels - MAX_KEPT, axis=1)[:, n_labels - MAX_KEPT], lowest
        )
    is_kept = (scores >= lowest[:, None]) | is_own
    step = -(-n_labels // SAMPLED)
    is_sampled = (np.arange(first, first + len(scores))[:, None] + np.arange(n_labels)) % step == 0
    cells = np.flatnonzero(is_kept | is_sampled)
    rows, labels = np.divmod(cells, n_labels)
    return rows, labels, np.where(is_kept.ravel()[cells], 1.0, step)


def collect_cells(
    corpus: RelevanceLeaveOneOut,
    score: Callable[[LeftOutBlock], RelevanceScores],
    fit: Combination | None = None,
    *,
    improbable: float = IMPROBABLE,
    blocks: Sequence[LeftOutBlock] | None = None,
    jobs: int = 1,
) -> Cells:
    """Return the leave-one-out scores of the documents of a corpus.

    score       computes the scores of a block
    fit         gives the log-odds by which improbable labels are recognized; None: the prior means,
                with A alone
    improbable  the log-odds below which they are improbable
    blocks      those of the corpus, if the caller scores them again later; None: they are made here
    jobs        number of threads; the result does not depend on it
    """
    known = fit or _combination(_priors(1)[0], np.zeros(corpus.statistics.n_classes))

    def collect(block: LeftOutBlock) -> tuple[NDArray[Any], ...]:
        scores = score(block)
        positives = block.positives
        log_odds = known.log_odds(scores, corpus.lengths[block.start : block.stop])
        rows, labels, weights = keep_cells(log_odds, positives > 0, block.start, improbable)
        columns = [
            positives[rows, labels],
            block.left_out.all_copies[rows] * weights,
            scores.relevance[rows, labels],
        ]
        if scores.contrast is not None:
            columns.append(scores.contrast[rows, labels] + scores.priors[rows, labels])
        return (rows + block.start, labels, *columns)

    parts = parallel_map(collect, blocks or corpus.blocks, jobs=jobs)
    contents, labels, positives, documents, *scores = map(np.concatenate, zip(*parts, strict=True))
    return Cells(
        contents,
        labels,
        positives,
        documents,
        tuple(scores),
        corpus.counts.priors,
        corpus.lengths,
        corpus.statistics.class_documents,
        len(corpus.documents),
    )


def _priors(n_scores: int) -> tuple[Floats, Floats]:
    """Return the means and the standard deviations of the common parameters."""
    means, deviations = np.array([*WEIGHT_PRIORS[:n_scores], *OTHER_PRIORS]).T
    return means, deviations


def fit_combination(
    cells: Cells, start: Combination | None = None, *, tolerance: float = TOLERANCE
) -> tuple[Combination, float]:
    """Return the parameters with the lowest logistic loss on the cells, and the loss per document.

    start      parameters from which the search starts, fitted to some of the documents
    tolerance  of the loss, relative

    The Hessian is that of Gauss and Newton.
    """
    means, deviations = _priors(len(cells.scores))
    precisions = deviations**-2.0 * cells.n_copies
    common = means
    biases = np.zeros(cells.n_labels)
    if start is not None:
        logs = *np.log(start.weights), np.log(start.exponent - MIN_EXPONENT)
        common = np.array([*logs, start.intercept, start.prior_weight, start.slope])
        biases = start.biases

    def evaluate(common: Floats, biases: Floats) -> Bordered:
        return _evaluate(cells, _combination(common, biases), common - means, precisions)

    common, biases, loss = minimize_bordered(evaluate, common, biases, tolerance=tolerance)
    return _combination(common, biases), loss / max(1, cells.n_documents)


def _combination(common: Floats, biases: Floats) -> Combination:
    """Return the combination of some parameters."""
    *weights, exponent = np.exp(np.minimum(common[:-3], LARGEST / 4)).tolist()
    intercept, prior_weight, slope = common[-3:].tolist()
    return Combination(
        tuple(weights), MIN_EXPONENT + exponent, intercept, prior_weight, slope, biases
    )


def _score(part: Cells, fit: Combination) -> tuple[Floats, Floats, Factors, Floats]:
    """Return the log-odds of some cells, those without their words, the factors, and log L."""
    first = part.contents[0]
    rows = part.contents - part.contents[0]
    lengths = part.lengths[first : part.contents[-1] + 1]
    factors = Factors(*(each[rows] for each in fit.factors(lengths)))
    logs = log_lengths(lengths)[rows]
    of_labels = fit.intercept + fit.prior_weight * part.priors + fit.biases
    baseline = of_labels[part.labels] + fit.slope * logs
    log_odds = factors.baseline * baseline
    for weight, scores in zip(factors[: len(part.scores)], part.scores, strict=True):
        log_odds += weight * scores
    return log_odds, baseline, factors, logs


def _evaluate(
    cells: Cells, fit: Combination | ScoreScaling, offsets: Floats, precisions: Floats
) -> Bordered:
    """Return the loss of the cells and of the prior, with its derivatives.

    offsets     distances of the common parameters from the means of the prior
    precisions  of the prior
    """
    n = len(offsets)
    of_biases = cells.n_copies / BIAS_DEVIATION**2
    loss = 0.5 * (dot(precisions, offsets**2) + dot(fit.biases, fit.biases) * of_biases)
    gradient = precisions * offsets
    hessian = np.diag(precisions)
    bias_gradient = fit.biases * of_biases
    bias_hessian = np.full(cells.n_labels, of_biases)
    mixed = np.zeros((n, cells.n_labels))
    for part in cells.parts():
        # a step may go too far; then it is not taken
        with np.errstate(over="ignore", invalid="ignore"):
            log_odds, columns, of_bias = fit.derive(part)
            shrunk = np.exp(-np.abs(log_odds))
            loss += dot(part.documents, np.maximum(log_odds, 0.0) + np.log1p(shrunk)) - dot(
                part.positives, log_odds
            )
            p = np.where(log_odds >= 0, 1.0, shrunk) / (1 + shrunk)
            residuals = part.documents * p - part.positives
            curvature = part.documents * p * (1 - p)
            weighted = columns * curvature
            gradient += np.einsum("ij,j->i", columns, residuals)
            hessian += np.einsum("ij,kj->ik", weighted, columns)
            bias_gradient = bias_gradient + part.sum_by_label(residuals * of_bias)
            weighted *= of_bias
            bias_hessian += part.sum_by_label(curvature * of_bias**2)
            mixed += np.stack([part.sum_by_label(row) for row in weighted])
    return Bordered(loss, gradient, hessian, bias_gradient, bias_hessian, mixed)


@dataclass(frozen=True, eq=False)
class ScoreScaling:
    """How the score of a linear model becomes a probability; see the module.

    scale      a, above 0
    intercept  c
    biases     (n_labels,)
    """

    scale: float
    intercept: float
    biases: Floats

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each score of the scorer, as those of Combination."""
        return (self.scale,)

    @property
    def slope(self) -> float:
        """The factor of the logarithm of the length."""
        return 0.0

    def factors(self, lengths: NDArray[Any]) -> Factors:
        """Return the factors of the scores, as those of Combination; they do not depend on the
        length.
        """
        ones = np.ones(len(lengths))
        return Factors(self.scale * ones, 0 * ones, 0 * ones, ones)

    def log_odds(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the log-odds of each label, (n_documents, n_labels)."""
        return np.asarray(self.scale * scores.relevance + self.intercept + self.biases)

    def probabilities(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the probability of each label, (n_documents, n_labels)."""
        return sigmoid(self.log_odds(scores, lengths))

    def derive(self, part: Cells) -> tuple[Floats, Floats, Floats]:
        """Return the log-odds of some cells, and their derivatives by log a and c, and by the bias;
        see Combination.
        """
        scaled = self.scale * part.scores[0]
        ones = np.ones(len(part.labels))
        return scaled + self.intercept + self.biases[part.labels], np.stack((scaled, ones)), ones


def fit_scaling(cells: Cells) -> tuple[ScoreScaling, float]:
    """Return the parameters with the lowest logistic loss on the cells, and the loss per document.

    The Hessian is that of Gauss and Newton.
    """

    def make(common: Floats, biases: Floats) -> ScoreScaling:
        log_scale, intercept = np.minimum(common, LARGEST_SCALE).tolist()
        return ScoreScaling(math.exp(log_scale), intercept, biases)

    def evaluate(common: Floats, biases: Floats) -> Bordered:
        offsets = np.minimum(common, LARGEST_SCALE) - SCALE_MEANS
        return _evaluate(cells, make(common, biases), offsets, SCALE_PRECISIONS * cells.n_copies)

    common, biases, loss = minimize_bordered(
        evaluate, SCALE_MEANS, np.zeros(cells.n_labels), tolerance=SCALE_TOLERANCE
    )
    return make(common, biases), loss / max(1, cells.n_documents)


DEFAULT = Smoothing(1e4, 0.1)  # if no document can be left out; the search starts here
DEFAULT_THRESHOLD = 0.5
# the limits of the search
MINIMUM = Smoothing(1.0, 1e-3)
MAXIMUM = Smoothing(1e8, 1e2)
STEP = 10.0  # factor of the steps of the search
SEARCH_TOLERANCE = 1e-3  # of the losses of the search, relative
SEARCH_SIZE = 1024  # documents that each step of the search scores; fewer with many labels
SEARCH_SCORES = 1 << 20  # documents times labels
# documents times labels: with more than 4096 labels, fewer documents are left out
MAX_SCORES = 1 << 26
# documents that the parameters and one threshold for all labels are fitted to
CALIBRATION_SIZE = 1 << 14
# log-odds, instead of IMPROBABLE: the threshold of a rare label may be low
IMPROBABLE_BY_LABEL = -9.0
MACRO_F1 = "macro_f1"
MIN_F1 = 0.1  # of a label with its own threshold


@dataclass(frozen=True, eq=False)
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
    """

    FIGURES: ClassVar = ("micro_f1", "macro_f1", "precision_at_1", "log_loss")  # in output
    # of a summary
    HEADLINE: ClassVar = {"micro F1": "micro_f1", "precision at 1": "precision_at_1"}
    # documents that are not in the training set: such a model is not calibrated on any
    held_out: ClassVar = 0
    folds: ClassVar = None  # those of the settings

    documents: int
    micro_f1: float
    macro_f1: float
    precision_at_1: float
    log_loss: float
    label_f1: Floats
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
    corpus = corpus.first(MAX_SCORES // max(1, n_labels))
    if len(corpus.left_out) < 2 or n_labels == 0:
        return default_multilabel_fit(n_labels)
    smoothing, start = _search(corpus, jobs)
    by_label = optimize == MACRO_F1
    corpus = corpus if by_label else corpus.first(CALIBRATION_SIZE)
    improbable = IMPROBABLE_BY_LABEL if by_label else IMPROBABLE
    cells = collect_cells(
        corpus, corpus.scores_of(smoothing), start, improbable=improbable, jobs=jobs
    )
    cells = replace(cells, n_duplicates=n_duplicates)
    combination, _ = fit_combination(cells, start)
    probabilities = cells.left_out_probabilities(combination)
    fit = make_multilabel_fit(cells, probabilities, combination, smoothing, by_label=by_label)
    return _add_other_estimate(fit, corpus, jobs)


def _add_other_estimate(
    fit: MultilabelFit, corpus: RelevanceLeaveOneOut, jobs: int
) -> MultilabelFit:
    """Return the fit with the micro F1 of its model if each document is left out without its
    duplicates, where so many repeat that it can differ.
    """
    smoothing, combination = fit.naive_bayes
    assert fit.estimate is not None  # for the types
    micro_f1 = fit.estimate.micro_f1
    error = error_of(micro_f1, len(corpus.documents))
    is_repeated = (corpus.copies > 1) & (np.diff(corpus.documents.indptr) > 0)
    if is_repeated.sum() <= error * len(corpus.documents):
        return fit
    alone = corpus.alone
    cells = collect_cells(alone, alone.scores_of(smoothing), combination, jobs=jobs)
    other = measure(cells, cells.left_out_probabilities(combination), fit.thresholds).micro_f1
    if abs(other - micro_f1) <= error:
        return fit
    return replace(fit, estimate=replace(fit.estimate, other=other))


def default_multilabel_fit(n_labels: int) -> MultilabelFit:
    """Return the fit of a model of which no document can be left out."""
    prior = Combination((1.0,), 1.0, 0.0, 1.0, 0.0, np.zeros(n_labels))
    return MultilabelFit(without_contrast(DEFAULT), prior, np.full(n_labels, DEFAULT_THRESHOLD))


def without_contrast(smoothing: Smoothing) -> Smoothing:
    """Return the smoothing of a model without the score B."""
    return smoothing._replace(alpha=None)


class _Trials:
    """Fits a model with each smoothing that is tried to the same cells of some documents, each
    smoothing once.
    """

    def __init__(self, corpus: RelevanceLeaveOneOut, jobs: int) -> None:
        self._corpus = corpus
        self._blocks = list(corpus.blocks)
        self._jobs = jobs
        score = corpus.scores_of(without_contrast(DEFAULT))
        self._cells = collect_cells(corpus, score, blocks=self._blocks, jobs=jobs)
        self._priors = self._take(lambda block: block.priors)
        self._relevance = {DEFAULT.mu: self._cells.scores[0]}  # A of each cell, by μ
        self._contrast: dict[float, Floats] = {}  # B + π of each cell, by α
        self._fits: dict[Smoothing, tuple[Combination, float]] = {}

    def fit(self, smoothing: Smoothing) -> tuple[Combination, float]:
        """Return the parameters for a smoothing, and the loss for each document."""
        if smoothing not in self._fits:
            near = [
                each for each in self._fits if (each.alpha is None) == (smoothing.alpha is None)
            ]
            nearest = min(near, key=lambda each: abs(np.log(each.mu / smoothing.mu)), default=None)
            cells = replace(self._cells, scores=self._scores(smoothing))
            start = None if nearest is None else self._fits[nearest][0]
            self._fits[smoothing] = fit_combination(cells, start, tolerance=SEARCH_TOLERANCE)
        return self._fits[smoothing]

    def _scores(self, smoothing: Smoothing) -> tuple[Floats, ...]:
        """Return the scores of each cell. Those for the same μ, or the same α, are computed
        once.
        """
        mu, alpha = smoothing
        if mu not in self._relevance:
            self._relevance[mu] = self._take(lambda block: block.ratios(mu)) + self._priors
        if alpha is None:
            return (self._relevance[mu],)
        if alpha not in self._contrast:
            scorer = self._corpus.counts.contrast_scorer(alpha)
            self._contrast[alpha] = (
                self._take(lambda block: block.contrast(scorer, alpha)) + self._priors
            )
        return self._relevance[mu], self._contrast[alpha]

    def _take(self, score: Callable[[LeftOutBlock], Floats]) -> Floats:
        """Return the scores of the cells, (n_cells,), from those of whole blocks."""
        contents = self._cells.contents
        labels = self._cells.labels

        def take(block: LeftOutBlock) -> Floats:
            own = slice(*np.searchsorted(contents, (block.start, block.stop)))
            return score(block)[contents[own] - block.start, labels[own]]

        return np.concatenate(list(parallel_map(take, self._blocks, jobs=self._jobs)))

    def loss(self, smoothing: Smoothing) -> float:
        return self.fit(smoothing)[1]

    def descend(self, start: Smoothing, name: str) -> Smoothing:
        """Return the smoothing with the lowest loss on the path of decreasing loss from a start,
        step by step.
        """
        best = start
        for factor in (1 / STEP, STEP):
            while (proposal := _move(best, name, factor)) and self.loss(proposal) < self.loss(best):
                best = proposal
        return best


def _search(corpus: RelevanceLeaveOneOut, jobs: int) -> tuple[Smoothing, Combination]:
    """Return the smoothing with the lowest loss on some documents, to an order of magnitude, and
    its parameters.

    Both scores are used, unless there is one label, or A alone has a lower loss with the same μ.
    Smaller steps would lower the loss by less than it varies between samples of documents.
    """
    n_labels = corpus.statistics.n_classes
    trials = _Trials(corpus.first(min(SEARCH_SIZE, SEARCH_SCORES // n_labels)), jobs)
    best = trials.descend(trials.descend(DEFAULT, "alpha"), "mu") if n_labels > 1 else DEFAULT
    alone = without_contrast(best)
    if n_labels == 1 or trials.loss(alone) < trials.loss(best):
        best = trials.descend(alone, "mu")
    return best, trials.fit(best)[0]


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
    with np.errstate(divide="ignore"):
        present = np.log(np.maximum(probabilities, 1e-300))
        absent = np.log1p(-np.minimum(probabilities, 1 - 1e-16))
    losses = -(cells.positives * present + (cells.documents - cells.positives) * absent)
    estimate = MultilabelEstimate(
        cells.n_documents,
        thresholds.micro_f1,
        thresholds.macro_f1,
        precision_at_1(cells, probabilities),
        float(losses.sum() / cells.n_documents),
        thresholds.label_f1,
        cells.n_duplicates,
    )
    return MultilabelFit(
        smoothing,
        combination,
        thresholds.values,
        thresholds.fallback,
        estimate,
        Quantiles.of(np.repeat(1 - probabilities, cells.positives.astype(np.int64))),
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
    means = np.divide(sums, documents, out=np.zeros_like(sums), where=documents > 0)
    variances = (
        np.divide(squares, documents, out=np.zeros_like(sums), where=documents > 0) - means**2
    )
    most = means * (1 - means)
    spreads = np.divide(variances, most, out=np.zeros_like(sums), where=most > 0)
    return LabelPosteriors(documents, np.clip(means, 0.0, 1.0), np.clip(spreads, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The probability from which each label is predicted, and the leave-one-out metrics at these
    thresholds.

    values     (n_labels,)
    label_f1   (n_labels,)
    micro_f1
    macro_f1   mean F1 of the labels that a scored document has, or gets
    fallback   labels with the threshold of FBR.1
    """

    values: Floats
    label_f1: Floats
    micro_f1: float
    macro_f1: float
    fallback: tuple[int, ...] = ()


def fit_thresholds(cells: Cells, probabilities: Floats, *, by_label: bool) -> Thresholds:
    """Return the thresholds: one for all labels that maximizes micro-F1, or one for each; see the
    module.
    """
    if not by_label:
        best, _ = _best_threshold(probabilities, cells.positives, cells.documents)
        return measure(cells, probabilities, np.full(cells.n_labels, best))
    order = np.argsort(cells.labels, kind="stable")
    floor = _highest_dropped(cells, probabilities)
    bounds = np.searchsorted(cells.labels[order], np.arange(cells.n_labels + 1))
    n_contents = np.bincount(cells.labels[cells.positives > 0], minlength=cells.n_labels)
    is_single = (n_contents < 2) & (cells.sum_by_label(cells.positives) >= cells.class_documents)
    values = np.empty(cells.n_labels)
    fallback = []
    for k in range(cells.n_labels):
        own = order[bounds[k] : bounds[k + 1]]
        values[k], f1 = _best_threshold(
            probabilities[own],
            cells.positives[own],
            cells.documents[own],
            is_lowest=True,
            floor=floor,
        )
        if f1 < MIN_F1 or is_single[k]:
            fallback.append(k)
            values[k] = max(probabilities[own].max(initial=0.0), floor) or 1.0
    return measure(cells, probabilities, values, tuple(fallback), is_single)


def _highest_dropped(cells: Cells, probabilities: Floats) -> float:
    """Return the highest probability of a pair that stands for others, which are dropped; 0 if
    there is none.
    """
    starts = run_starts(cells.contents)
    if len(starts) == 0:
        return 0.0
    sizes = np.diff(np.append(starts, len(probabilities)))
    copies = np.repeat(np.minimum.reduceat(cells.documents, starts), sizes)
    return float(probabilities[cells.documents > copies].max(initial=0.0))


def measure(
    cells: Cells,
    probabilities: Floats,
    values: Floats,
    fallback: tuple[int, ...] = (),
    is_single: Any = False,
) -> Thresholds:
    """Return thresholds with the metrics of the cells at these thresholds.

    is_single  (n_labels,), labels whose F1 is 0: they have one document
    """
    is_predicted = probabilities >= values[cells.labels]
    by_label = cells.sum_by_label
    correct = by_label(cells.positives * is_predicted)
    predicted = by_label(cells.documents * is_predicted)
    true = by_label(cells.positives)
    label_f1 = np.divide(
        2 * correct, predicted + true, out=np.zeros(cells.n_labels), where=predicted + true > 0
    )
    label_f1[is_single] = 0.0
    total = float((predicted + true).sum())
    measured = label_f1[predicted + true > 0]
    micro = float(2 * correct.sum() / total) if total else 0.0
    macro = float(measured.mean()) if len(measured) else 0.0
    return Thresholds(values, label_f1, micro, macro, fallback)


def _best_threshold(
    probabilities: Floats,
    positives: Floats,
    documents: Floats,
    *,
    is_lowest: bool = False,
    floor: float = 0.0,
    n_tried: int | None = None,
) -> tuple[float, float]:
    """Return the threshold with the highest F1, and this F1.

    is_lowest  return the lowest such threshold, at least `floor` if there is one; otherwise the one
               nearest to half of F1, which is the best one for probabilities that are right
    n_tried    how many of the highest probabilities are tried before all; None: four for each
               positive pair
    """
    true = float(positives.sum())
    if true == 0:
        return 1.0, 0.0
    n_tried = int(4 * true) if n_tried is None else n_tried
    order = _descend(probabilities, n_tried)
    descending = probabilities[order]
    # of each run of equal probabilities
    last = np.append(run_starts(descending)[1:], len(order)) - 1
    correct = np.cumsum(positives[order])[last]
    predicted = np.cumsum(documents[order])[last]
    f1 = 2 * correct / (predicted + true)
    best = int(f1.argmax())
    # a lower one may be better
    if len(order) < len(probabilities) and 2 * true / (predicted[-1] + true) >= f1[best]:
        return _best_threshold(
            probabilities,
            positives,
            documents,
            is_lowest=is_lowest,
            floor=floor,
            n_tried=4 * n_tried,
        )
    threshold = descending[last[best]]
    lower = np.nextafter(descending[last[best + 1]], 1.0) if best + 1 < len(last) else 0.0
    if not is_lowest:
        threshold = min(threshold, max(lower, f1[best] / 2))
    elif best + 1 < len(last):
        threshold = max(lower, min(floor, threshold))
    return float(threshold), float(f1[best])


def _descend(probabilities: Floats, n: int) -> NDArray[np.int64]:
    """Return the places of about the n highest probabilities, the highest first; of equal ones, all
    or none.
    """
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
    best = np.flatnonzero(is_best)
    first = best[run_starts(cells.contents[best])]  # of equal probabilities, the first label
    copies = np.minimum.reduceat(cells.documents, starts)
    # copies may differ in their labels
    n_labeled = np.minimum(np.add.reduceat(cells.positives, starts), copies).sum()
    return float(cells.positives[first].sum() / max(1.0, n_labeled))
