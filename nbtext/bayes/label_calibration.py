"""Probabilities and thresholds of several labels, fitted to leave-one-out scores.

    p_k = σ((w₁ A_k + w₂ B_k) / L^b + c + bias_k)

A and B are the scores of binary_relevance, L is the number of known tokens. Tokens of a text are not independent, so
the scores of long texts are too large (as in calibration.py). The weights are positive. Weak Gaussian priors keep every
parameter finite; the prior of bias_k has the standard deviation 1, so that a rare label hardly moves from the others.

Thresholds. By default, one for all labels that maximizes micro-F1. To maximize macro-F1, one for each label (SCut): of
all thresholds with the highest F1 of the label, the lowest. A label whose F1 is below 0.1 gets the probability of its
highest-ranked document instead (FBR.1), because a threshold that was fitted to so little would let in many documents.

Source: Lewis, Yang, Rose and Li, RCV1: A New Benchmark Collection for Text Categorization Research, 2004, section 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.binary_relevance import LeftOutBlock, RelevanceLeaveOneOut, RelevanceScores, Smoothing
from nbtext.bayes.scorer import Floats
from nbtext.features.csr import run_starts

MAX_KEPT = 64  # labels of a document that are kept besides its own: those with the highest score A
MAX_STEPS = 60
TOLERANCE = 1e-6  # of the loss, relative
PRIOR_MEANS = {"log_weight": 1.0, "exponent": 0.85, "intercept": -2.0}
PRIOR_DEVIATIONS = {"log_weight": 2.0, "exponent": 0.5, "intercept": 10.0}
BIAS_DEVIATION = 1.0
MIN_F1 = 0.1  # of a label with its own threshold
LARGEST = 700.0  # log-odds, so that no exponential overflows


@dataclass(frozen=True, eq=False)
class Combination:
    """How the scores of a label become a probability; see the module.

    weights    (1,) or (2,), w₁ and w₂, above 0
    exponent   b
    intercept  c
    biases     (n_labels,)
    """

    weights: tuple[float, ...]
    exponent: float
    intercept: float
    biases: Floats

    def log_odds(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the log-odds of each label, (n_documents, n_labels).

        lengths  (n_documents,), known tokens
        """
        total = self.weights[0] * scores.relevance
        if scores.contrast is not None:
            total += self.weights[1] * scores.contrast
        return np.asarray(total * self.scales(lengths)[:, None] + self.intercept + self.biases)

    def scales(self, lengths: NDArray[Any]) -> Floats:
        """Return L^−b of each document; without tokens, L counts as 1."""
        return np.asarray(np.maximum(lengths, 1.0) ** -self.exponent)

    def probabilities(self, scores: RelevanceScores, lengths: NDArray[Any]) -> Floats:
        """Return the probability of each label, (n_documents, n_labels)."""
        return sigmoid(self.log_odds(scores, lengths))


def sigmoid(log_odds: Floats) -> Floats:
    """Return 1 / (1 + exp(−log_odds))."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -LARGEST, LARGEST))))


def softplus(log_odds: Floats) -> Floats:
    """Return log(1 + exp(log_odds))."""
    return np.asarray(np.maximum(log_odds, 0.0) + np.log1p(np.exp(-np.abs(log_odds))))


def _dot(a: Floats, b: Floats) -> float:
    """Return the scalar product. BLAS would round it differently for other numbers of threads."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True, eq=False)
class Cells:
    """Leave-one-out scores of pairs of a content and a label: all labels of the content, and the next MAX_KEPT.

    contents    (n_cells,), ascending
    labels      (n_cells,)
    positives   (n_cells,), documents of this content that have the label
    documents   (n_cells,), documents of this content
    scores      one or two arrays (n_cells,): A and B
    lengths     (n_cells,), known tokens of the content
    n_labels, n_documents
    """

    contents: NDArray[np.int64]
    labels: NDArray[np.int64]
    positives: Floats
    documents: Floats
    scores: tuple[Floats, ...]
    lengths: Floats
    n_labels: int
    n_documents: int

    def probabilities(self, fit: Combination) -> Floats:
        """Return the probability of each pair, (n_cells,)."""
        total = sum((w * s for w, s in zip(fit.weights, self.scores, strict=True)), np.zeros(len(self.labels)))
        return sigmoid(total * fit.scales(self.lengths) + fit.intercept + fit.biases[self.labels])


def collect_cells(
    corpus: RelevanceLeaveOneOut, smoothing: Smoothing, blocks: Sequence[LeftOutBlock] | None = None
) -> Cells:
    """Return the leave-one-out scores of the documents of a corpus.

    blocks  of the corpus, if they are kept for other smoothings
    """
    parts: list[tuple[NDArray[Any], ...]] = []
    start = 0
    for block in corpus.blocks() if blocks is None else blocks:
        scores = [block.relevance(smoothing.mu)]
        if smoothing.alpha is not None:
            scores.append(block.contrast(smoothing.alpha))
        rows, labels = _kept(scores[0], block.own > 0)
        parts.append((rows + start, labels, block.own[rows, labels], *(each[rows, labels] for each in scores)))
        start += block.n_rows
    contents, labels, positives, *columns = map(np.concatenate, zip(*parts, strict=True))
    return Cells(
        contents, labels, positives, corpus.copies[contents].astype(np.float64), tuple(columns),
        corpus.lengths[contents], corpus.labels.n_classes, len(corpus.documents),
    )  # fmt: skip


def _kept(scores: Floats, is_own: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and labels of the pairs to keep: the own labels, and the MAX_KEPT with the highest scores."""
    n_labels = scores.shape[1]
    if n_labels <= MAX_KEPT:
        is_kept = np.ones(scores.shape, dtype=bool)
    else:
        lowest = np.partition(scores, n_labels - MAX_KEPT, axis=1)[:, n_labels - MAX_KEPT]
        is_kept = (scores >= lowest[:, None]) | is_own
    rows, labels = np.nonzero(is_kept)
    return rows, labels


def fit_combination(cells: Cells, start: Combination | None = None) -> tuple[Combination, float]:
    """Return the parameters with the lowest logistic loss on the cells, and the loss per document.

    start  parameters from which the search starts, fitted to some of the documents

    By the Levenberg-Marquardt method: the Hessian is that of Gauss and Newton, which couples each bias with the few
    common parameters only, so a step takes time in proportion to the cells.
    """
    solver = _Solver(cells)
    state = solver.evaluate(*solver.start(start))
    damping = 1e-3
    for _ in range(MAX_STEPS):
        step = solver.step(state, damping)
        proposal = solver.evaluate(state.common + step[0], state.biases + step[1])
        if not proposal.loss < state.loss:
            damping *= 10
            if damping > 1e8:
                break
            continue
        gain, state = state.loss - proposal.loss, proposal
        damping = max(damping / 10, 1e-9)
        if gain < TOLERANCE * state.loss:
            break
    n = len(cells.scores)
    weights = tuple(np.exp(state.common[:n]).tolist())
    fit = Combination(weights, float(state.common[n]), float(state.common[n + 1]), state.biases)
    return fit, state.loss / max(1, cells.n_documents)


@dataclass(frozen=True, eq=False)
class _State:
    """Parameters, and the loss, the log-odds without biases, and the probabilities that they give."""

    common: Floats  # the logarithms of the weights, b and c
    biases: Floats
    loss: float
    parts: list[Floats]  # the weighted scores of each cell, divided by L^b
    probabilities: Floats


class _Solver:
    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.log_lengths = np.log(np.maximum(cells.lengths, 1.0))
        n = len(cells.scores)
        names = ["log_weight"] * n + ["exponent", "intercept"]
        self.means = np.array([PRIOR_MEANS[name] for name in names])
        self.precisions = np.array([PRIOR_DEVIATIONS[name] ** -2 for name in names])

    def start(self, fit: Combination | None) -> tuple[Floats, Floats]:
        """Return the first values of the common parameters and of the biases."""
        if fit is None:
            return self.means.copy(), np.zeros(self.cells.n_labels)
        return np.array([*np.log(fit.weights), fit.exponent, fit.intercept]), fit.biases.copy()

    def evaluate(self, common: Floats, biases: Floats) -> _State:
        cells, n = self.cells, len(self.cells.scores)
        with np.errstate(over="ignore", invalid="ignore"):  # a step may go too far; then it is not taken
            scales = np.exp(-common[n] * self.log_lengths)
            parts = [np.exp(common[i]) * scores * scales for i, scores in enumerate(cells.scores)]
            log_odds = sum(parts, np.zeros(len(scales))) + common[n + 1] + biases[cells.labels]
            loss = _dot(cells.documents, softplus(log_odds)) - _dot(cells.positives, log_odds)
        penalty = _dot(self.precisions, (common - self.means) ** 2) + _dot(biases, biases) / BIAS_DEVIATION**2
        return _State(common, biases, loss + 0.5 * penalty, parts, sigmoid(log_odds))

    def step(self, state: _State, damping: float) -> tuple[Floats, Floats]:
        """Return the step of the common parameters and of the biases."""
        cells, p = self.cells, state.probabilities
        total = sum(state.parts, np.zeros(len(p)))
        columns = [*state.parts, -total * self.log_lengths, np.ones(len(p))]
        residuals, curvature = cells.documents * p - cells.positives, cells.documents * p * (1 - p)
        gradient = np.array([_dot(residuals, column) for column in columns])
        gradient += self.precisions * (state.common - self.means)
        weighted = [curvature * column for column in columns]
        hessian = np.array([[_dot(one, other) for other in columns] for one in weighted]) + np.diag(self.precisions)

        def by_label(values: Floats) -> Floats:
            return np.bincount(cells.labels, weights=values, minlength=cells.n_labels).astype(np.float64, copy=False)

        bias_gradient = by_label(residuals) + state.biases / BIAS_DEVIATION**2
        bias_hessian = by_label(curvature) + BIAS_DEVIATION**-2
        mixed = np.stack([by_label(column) for column in weighted])
        reduced = hessian - np.einsum("ik,jk->ij", mixed / bias_hessian, mixed)
        reduced[np.diag_indices_from(reduced)] += damping * np.diag(hessian)
        shared = np.einsum("ik,k->i", mixed, bias_gradient / bias_hessian)
        common = np.linalg.solve(reduced, shared - gradient)
        return common, -(bias_gradient + np.einsum("ik,i->k", mixed, common)) / bias_hessian


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The probability from which each label is predicted, and the leave-one-out metrics at these thresholds.

    values     (n_labels,)
    label_f1   (n_labels,)
    micro_f1
    fallback   labels with the threshold of FBR.1
    """

    values: Floats
    label_f1: Floats
    micro_f1: float
    fallback: tuple[int, ...] = ()

    @property
    def macro_f1(self) -> float:
        return float(self.label_f1.mean()) if len(self.label_f1) else 0.0


def fit_thresholds(cells: Cells, probabilities: Floats, *, by_label: bool) -> Thresholds:
    """Return the thresholds: one for all labels that maximizes micro-F1, or one for each; see the module."""
    if not by_label:
        best, _ = _best_threshold(probabilities, cells.positives, cells.documents)
        return measure(cells, probabilities, np.full(cells.n_labels, best))
    order, floor = np.argsort(cells.labels, kind="stable"), _highest_dropped(cells, probabilities)
    bounds = np.searchsorted(cells.labels[order], np.arange(cells.n_labels + 1))
    values, fallback = np.empty(cells.n_labels), []
    for k in range(cells.n_labels):
        own = order[bounds[k] : bounds[k + 1]]
        values[k], f1 = _best_threshold(
            probabilities[own], cells.positives[own], cells.documents[own], is_lowest=True, floor=floor
        )
        if f1 < MIN_F1:
            fallback.append(k)
            values[k] = max(probabilities[own].max(initial=0.0), floor) or 1.0
    return measure(cells, probabilities, values, tuple(fallback))


def _highest_dropped(cells: Cells, probabilities: Floats) -> float:
    """Return about the highest probability of the pairs that are not kept: that of the last label kept for a document.

    0 if all pairs are kept.
    """
    if cells.n_labels <= MAX_KEPT or len(probabilities) == 0:
        return 0.0
    is_other = cells.positives == 0  # labels of the document are kept, however improbable they are
    order = np.lexsort((probabilities[is_other], cells.contents[is_other]))
    first = run_starts(cells.contents[is_other][order])
    return float(probabilities[is_other][order][first].max(initial=0.0))


def measure(cells: Cells, probabilities: Floats, values: Floats, fallback: tuple[int, ...] = ()) -> Thresholds:
    """Return thresholds with the metrics of the cells at these thresholds."""
    is_predicted = probabilities >= values[cells.labels]

    def by_label(counts: Floats) -> Floats:
        return np.bincount(cells.labels, weights=counts, minlength=cells.n_labels).astype(np.float64, copy=False)

    correct, predicted = by_label(cells.positives * is_predicted), by_label(cells.documents * is_predicted)
    true = by_label(cells.positives)
    label_f1 = np.divide(2 * correct, predicted + true, out=np.zeros(cells.n_labels), where=predicted + true > 0)
    total = float((predicted + true).sum())
    return Thresholds(values, label_f1, float(2 * correct.sum() / total) if total else 0.0, fallback)


def _best_threshold(
    probabilities: Floats,
    positives: Floats,
    documents: Floats,
    *,
    is_lowest: bool = False,
    floor: float = 0.0,
) -> tuple[float, float]:
    """Return the threshold with the highest F1, and this F1.

    is_lowest  return the lowest such threshold, not the highest, but not below `floor` without need
    """
    true = positives.sum()
    if len(probabilities) == 0 or true == 0:
        return 1.0, 0.0
    order = np.argsort(-probabilities, kind="stable")
    descending = probabilities[order]
    last = np.append(run_starts(descending)[1:], len(order)) - 1  # of each run of equal probabilities
    correct, predicted = np.cumsum(positives[order])[last], np.cumsum(documents[order])[last]
    f1 = 2 * correct / (predicted + true)
    best = int(f1.argmax())
    threshold = descending[last[best]]
    if is_lowest and best + 1 < len(last):
        threshold = max(np.nextafter(descending[last[best + 1]], 1.0), min(floor, threshold))
    return float(threshold), float(f1[best])


def precision_at_1(cells: Cells, probabilities: Floats) -> float:
    """Return the share of documents whose most probable label is one of theirs."""
    order = np.lexsort((cells.labels, -probabilities, cells.contents))
    first = order[run_starts(cells.contents[order])]
    return float(cells.positives[first].sum() / max(1.0, cells.documents[first].sum()))
