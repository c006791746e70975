"""Probabilities of a multi-label model, fitted to leave-one-out scores of Naive Bayes.

    p_k = σ(z_k)
    z_k = (w₁ A_k + w₂ (B_k + π_k) + L^b (c + s log L + v π_k + bias_k)) / (L^b + w₁ + w₂)

A, B and the prior π are those of binary_relevance, L is the number of known tokens. z is a weighted mean: of the two
log-odds of Naive Bayes, and of log-odds that do not depend on the words. The tokens of a text are not independent (as
in calibration.py), so the weight of Naive Bayes falls with L. Without tokens, z_k = π_k. Even if all training
documents are long, the log-odds of a short text are not larger than those of Naive Bayes.

The weights are positive, and b is above ½. Weak Gaussian priors keep every parameter finite. The prior of bias_k has
the standard deviation 1, so that the bias of a rare label stays near 0.

Of linear models, whose scores f are held out, in units of the margin (Platt, Probabilistic Outputs for Support Vector
Machines, 1999): p_k = σ(a f_k + c + bias_k), with the same prior of bias_k, and weak priors of log a and c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.binary_relevance import RelevanceScores
from nbtext.bayes.label_sets import keep_cells
from nbtext.bayes.newton import Bordered, dot, minimize_bordered
from nbtext.bayes.scorer import Floats
from nbtext.parallel import parallel_map
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.bayes.relevance_leave_one_out import LeftOutBlock, RelevanceLeaveOneOut

TOLERANCE = 1e-5  # of the loss, relative
# means and standard deviations of log w₁ and log w₂ (B ignores documents without label), and of log (b − ½), c, v and s
WEIGHT_PRIORS, OTHER_PRIORS = ((1.5, 2.0), (0.0, 2.0)), ((-1.0, 0.5), (0.0, 2.0), (1.0, 1.0), (0.0, 1.0))
MIN_EXPONENT = 0.5  # otherwise long documents alone could take all weight from the words of short texts
BIAS_DEVIATION = 1.0
LARGEST = 700.0  # log-odds, so that no exponential overflows
SCALE_MEANS, SCALE_PRECISIONS = np.array([1.5, -2.0]), np.array([1 / 4, 1 / 100])  # of the priors of log a and c
LARGEST_SCALE = np.array([20.0, np.inf])  # log a and c
SCALE_TOLERANCE = 1e-7  # of the loss, relative
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
        """Return the factors of the scores. The prior that is part of A has the factor of A besides its own.

        lengths  (n_documents,), known tokens
        """
        powers = np.asarray(lengths, dtype=np.float64) ** self.exponent
        scales = 1 / (powers + sum(self.weights))
        relevance, contrast = self.weights[0] * scales, sum(self.weights[1:]) * scales
        return Factors(relevance, contrast, contrast + self.prior_weight * powers * scales, powers * scales)

    def log_odds(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the log-odds of each label, (n_documents, n_labels).

        lengths  (n_documents,), known tokens
        """
        relevance, contrast, prior, baseline = (each[:, None] for each in self.factors(lengths))
        total = relevance * scores.relevance + prior * scores.priors
        total += baseline * (self.intercept + self.slope * log_lengths(lengths)[:, None] + self.biases)
        if scores.contrast is not None:
            total += contrast * scores.contrast
        return np.asarray(total)

    def probabilities(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the probability of each label, (n_documents, n_labels)."""
        return sigmoid(self.log_odds(scores, lengths))


def log_lengths(lengths: NDArray[Any]) -> Floats:
    """Return log L; 0 for a text without tokens."""
    return np.asarray(np.log(np.maximum(lengths, 1.0)))


def sigmoid(log_odds: Floats) -> Floats:
    """Return 1 / (1 + exp(−log_odds))."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -LARGEST, LARGEST))))


@dataclass(frozen=True, eq=False)
class Cells:
    """Leave-one-out scores of pairs of a distinct document ("content") and a label: its own labels and some others.

    contents    (n_cells,), ascending
    labels      (n_cells,)
    positives   (n_cells,), documents of this content that have the label
    documents   (n_cells,), documents of this content, and those of the pairs that the cell stands for
    scores      one or two arrays (n_cells,): A and B + π
    priors      (n_labels,), π of all documents; left out of π, a document would be recognizable by its labels
    lengths     (n_contents,), known tokens of each content
    class_documents  (n_labels,), documents with each label in the whole corpus
    n_documents      whose scores these are
    n_unanswered     of these documents, those without a known word
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
    n_unanswered: int = 0

    @property
    def n_labels(self) -> int:
        return len(self.class_documents)

    @property
    def n_copies(self) -> float:
        """The mean number of copies of a document, by which priors are multiplied: duplicates add no evidence."""
        return self.n_documents / max(1, len(self.lengths))

    @property
    def is_answered(self) -> NDArray[np.bool_]:
        """Whether the document of each cell has a known word, (n_cells,); another document gets no label."""
        return np.asarray(self.lengths[self.contents] > 0)

    def sum_by_label(self, values: Floats) -> Floats:
        """Return the sum of the values of the cells of each label, (n_labels,)."""
        return np.bincount(self.labels, weights=values, minlength=self.n_labels).astype(np.float64, copy=False)

    def probabilities(self, fit: Combination) -> Floats:
        """Return the probability of each pair, (n_cells,)."""
        return np.concatenate([np.zeros(0), *(sigmoid(_score(part, fit)[0]) for part in self.parts())])

    def left_out_probabilities(self, fit: Combination) -> Floats:
        """Return the probability of each pair with the bias of its label fitted without the pair, (n_cells,)."""
        curvatures, found = np.full(self.n_labels, self.n_copies / BIAS_DEVIATION**2), [np.zeros(0)]
        for part in self.parts():
            log_odds, _, factors, _ = _score(part, fit)
            curvatures += part.curvatures(log_odds, factors.baseline)
        for part in self.parts():
            log_odds, _, factors, _ = _score(part, fit)
            found.append(sigmoid(part.leave_out(log_odds, factors.baseline, curvatures)))
        return np.concatenate(found)

    def curvatures(self, log_odds: Floats, slopes: Any) -> Floats:
        """Return the second derivative of the loss by each bias, (n_labels,); `slopes` are those of the log-odds."""
        p = sigmoid(log_odds)
        return self.sum_by_label(self.documents * p * (1 - p) * slopes**2)

    def leave_out(self, log_odds: Floats, slopes: Any, curvatures: Floats) -> Floats:
        """Return the log-odds of each pair with the bias of its label fitted without the pair, by one Newton step.

        Otherwise the biases of rare labels would fit themselves to these pairs, and the estimate would be too high.

        curvatures  (n_labels,), the second derivative of the loss of all cells and the prior by each bias

        Source: Beirami, Razaviyayn, Shahrampour and Tarokh, On Optimal Generalizability in Parametric Learning, 2017.
        """
        p = sigmoid(log_odds)
        own = self.documents * p * (1 - p) * slopes**2
        residuals = self.documents * p - self.positives
        return np.asarray(log_odds + residuals * slopes**2 / (curvatures[self.labels] - own))

    def parts(self) -> Iterator[Cells]:
        """Yield parts of the cells that fit into the cache of a processor."""
        for start in range(0, len(self.contents), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            yield Cells(
                self.contents[part], self.labels[part], self.positives[part], self.documents[part],
                tuple(scores[part] for scores in self.scores), self.priors, self.lengths,
                self.class_documents, self.n_documents,
            )  # fmt: skip


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
    fit         gives the log-odds by which improbable labels are recognized; None: the prior means, with A alone
    improbable  the log-odds below which they are improbable
    blocks      those of the corpus, if the caller scores them again later; None: they are made here
    jobs        number of threads; the result does not depend on it
    """
    known = fit or _combination(_priors(1)[0], np.zeros(corpus.counts.statistics.n_classes))

    def collect(block: LeftOutBlock) -> tuple[NDArray[Any], ...]:
        scores, positives = score(block), block.positives
        log_odds = known.log_odds(scores, corpus.lengths[block.start : block.stop])
        rows, labels, weights = keep_cells(log_odds, positives > 0, block.start, improbable)
        columns = [positives[rows, labels], block.copies[rows] * weights, scores.relevance[rows, labels]]
        if scores.contrast is not None:
            columns.append(scores.contrast[rows, labels] + scores.priors[rows, labels])
        return (rows + block.start, labels, *columns)

    parts = parallel_map(collect, blocks or corpus.blocks, jobs=jobs)
    contents, labels, positives, documents, *scores = map(np.concatenate, zip(*parts, strict=True))
    return Cells(
        contents, labels, positives, documents, tuple(scores), corpus.counts.priors, corpus.lengths,
        corpus.counts.statistics.class_documents, len(corpus.documents), int(corpus.copies[corpus.lengths <= 0].sum()),
    )  # fmt: skip


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
    common, biases = means, np.zeros(cells.n_labels)
    if start is not None:
        logs = *np.log(start.weights), np.log(start.exponent - MIN_EXPONENT)
        common, biases = np.array([*logs, start.intercept, start.prior_weight, start.slope]), start.biases

    def evaluate(common: Floats, biases: Floats) -> Bordered:
        return _evaluate(cells, _combination(common, biases), common - means, precisions)

    common, biases, loss = minimize_bordered(evaluate, common, biases, tolerance=tolerance)
    return _combination(common, biases), loss / max(1, cells.n_documents)


def _combination(common: Floats, biases: Floats) -> Combination:
    """Return the combination of some parameters."""
    *weights, exponent = np.exp(np.minimum(common[:-3], LARGEST / 4)).tolist()
    intercept, prior_weight, slope = common[-3:].tolist()
    return Combination(tuple(weights), MIN_EXPONENT + exponent, intercept, prior_weight, slope, biases)


def _score(part: Cells, fit: Combination) -> tuple[Floats, Floats, Factors, Floats]:
    """Return the log-odds of some cells, those without their words, the factors, and log L."""
    first, rows = part.contents[0], part.contents - part.contents[0]
    lengths = part.lengths[first : part.contents[-1] + 1]
    factors, logs = Factors(*(each[rows] for each in fit.factors(lengths))), log_lengths(lengths)[rows]
    of_labels = fit.intercept + fit.prior_weight * part.priors + fit.biases
    baseline = of_labels[part.labels] + fit.slope * logs
    log_odds = factors.baseline * baseline
    for weight, scores in zip(factors[: len(part.scores)], part.scores, strict=True):
        log_odds += weight * scores
    return log_odds, baseline, factors, logs


def _derive(part: Cells, fit: Combination) -> tuple[Floats, Floats, Floats]:
    """Return the log-odds of some cells, and their derivatives.

    Returns
    -------
    log-odds (n_cells,)
    derivatives by the logarithms of the weights and of b − ½, and by c, v and s, (n_common, n_cells)
    derivative by the bias of the cell's label, (n_cells,)
    """
    log_odds, baseline, factors, logs = _score(part, fit)
    derivatives = [
        weight * (scores - log_odds) for weight, scores in zip(factors[: len(part.scores)], part.scores, strict=True)
    ]
    of_logs = factors.baseline * logs
    derivatives.append((fit.exponent - MIN_EXPONENT) * of_logs * (baseline - log_odds))
    derivatives += [factors.baseline, factors.baseline * part.priors[part.labels], of_logs]
    return log_odds, np.stack(derivatives), factors.baseline


def _evaluate(cells: Cells, fit: Combination, offsets: Floats, precisions: Floats) -> Bordered:
    """Return the loss of the cells and of the prior, with its derivatives.

    offsets     distances of the common parameters from the means of the prior
    precisions  of the prior
    """
    n = len(offsets)
    of_biases = cells.n_copies / BIAS_DEVIATION**2
    loss = 0.5 * (dot(precisions, offsets**2) + dot(fit.biases, fit.biases) * of_biases)
    gradient, hessian = precisions * offsets, np.diag(precisions)
    bias_gradient = fit.biases * of_biases
    bias_hessian, mixed = np.full(cells.n_labels, of_biases), np.zeros((n, cells.n_labels))
    for part in cells.parts():
        with np.errstate(over="ignore", invalid="ignore"):  # a step may go too far; then it is not taken
            log_odds, columns, of_bias = _derive(part, fit)
            shrunk = np.exp(-np.abs(log_odds))
            loss += dot(part.documents, np.maximum(log_odds, 0.0) + np.log1p(shrunk)) - dot(part.positives, log_odds)
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
        """Return the factors of the scores, as those of Combination; they do not depend on the length."""
        ones = np.ones(len(lengths))
        return Factors(self.scale * ones, 0 * ones, 0 * ones, ones)

    def log_odds(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the log-odds of each label, (n_documents, n_labels)."""
        return np.asarray(self.scale * scores.relevance + self.intercept + self.biases)

    def probabilities(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the probability of each label, (n_documents, n_labels)."""
        return sigmoid(self.log_odds(scores, lengths))

    def left_out_probabilities(self, cells: Cells) -> Floats:
        """Return the probability of each pair with the bias of its label fitted without the pair, (n_cells,)."""
        log_odds = self.scale * cells.scores[0] + self.intercept + self.biases[cells.labels]
        return sigmoid(cells.leave_out(log_odds, 1.0, 1 + cells.curvatures(log_odds, 1.0)))


def fit_scaling(cells: Cells) -> tuple[ScoreScaling, float]:
    """Return the parameters with the lowest logistic loss on the cells, and the loss per document."""

    def evaluate(common: Floats, biases: Floats) -> Bordered:
        return _evaluate_scaling(cells, np.minimum(common, LARGEST_SCALE), biases)

    common, biases, loss = minimize_bordered(evaluate, SCALE_MEANS, np.zeros(cells.n_labels), tolerance=SCALE_TOLERANCE)
    scale, intercept = float(np.exp(min(common[0], LARGEST_SCALE[0]))), float(common[1])
    return ScoreScaling(scale, intercept, biases), loss / max(1, cells.n_documents)


def _evaluate_scaling(cells: Cells, common: Floats, biases: Floats) -> Bordered:
    """Return the loss of log a and c, and of the biases, with that of their priors, and its derivatives.

    The Hessian is that of Gauss and Newton. Sums do not depend on the number of threads.
    """
    scaled = np.exp(common[0]) * cells.scores[0]
    log_odds = scaled + common[1] + biases[cells.labels]
    offsets, by_label = common - SCALE_MEANS, cells.sum_by_label
    loss = float(np.sum(cells.documents * np.logaddexp(0, log_odds) - cells.positives * log_odds))
    loss += 0.5 * float(np.sum(SCALE_PRECISIONS * offsets**2) + np.sum(biases**2))
    p = sigmoid(log_odds)
    residuals, curvature = cells.documents * p - cells.positives, cells.documents * p * (1 - p)
    gradient = np.array([np.sum(residuals * scaled), np.sum(residuals)]) + SCALE_PRECISIONS * offsets
    cross = float(np.sum(curvature * scaled))
    hessian = np.array([[np.sum(curvature * scaled**2), cross], [cross, np.sum(curvature)]]) + np.diag(SCALE_PRECISIONS)
    mixed = np.stack([by_label(curvature * scaled), by_label(curvature)])
    return Bordered(loss, gradient, hessian, by_label(residuals) + biases, by_label(curvature) + 1, mixed)
