"""Train a linear multi-label model: each label against the rest, with probabilities and thresholds from folds.

Memory is bounded. Labels are fitted some at a time. Of many labels, each keeps its largest weights, as in DiSMEC
(Babbar and Schölkopf 2017). With many documents or labels, only some documents are held out, in as few folds as
possible.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.label_calibration import Cells, ScoreScaling, fit_scaling
from nbtext.bayes.label_selection import (
    CALIBRATION_SIZE,
    DEFAULT_THRESHOLD,
    MACRO_F1,
    MultilabelFit,
    make_multilabel_fit,
)
from nbtext.bayes.label_sets import keep_cells
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.errors import ConvergenceWarning, SettingsError
from nbtext.features.folds import NEVER_HELD_OUT, stratified_folds
from nbtext.linear.data import TrainingData
from nbtext.linear.lbfgs import SolverSettings
from nbtext.linear.learning import DEFAULT_C, NO_CONVERGENCE, make_rough, search_strength
from nbtext.linear.models import LinearModel
from nbtext.linear.one_vs_rest import ClassWeights, OneVsRest

MAX_DUALS = 1 << 23  # documents times labels whose dual variables are in memory at once: 0.1 GB
MAX_WEIGHTS = 1 << 24  # of all labels together: 0.2 GB
MAX_SCORES = 1 << 25  # held-out documents times labels: 0.1 GB
MAX_CELLS = 1 << 21  # documents times labels whose pairs are chosen at once
DEFAULT_SCALE = 4.0  # without folds: a score of 0 has the probability ½


class LearnedLabels(NamedTuple):
    """A linear multi-label model, and what was fitted to its held-out scores."""

    scorer: LinearScorer
    hyperparameters: Hyperparameters
    fit: MultilabelFit


def learn_labels(
    data: TrainingData, settings: ModelSettings, *, lengths: NDArray[Any] | None = None, jobs: int = 1
) -> LearnedLabels:
    """Fit a linear multi-label model to all documents. The result does not depend on the number of threads.

    Parameters
    ----------
    data : of documents with label sets
    settings : of a linear model
    lengths : (n_documents,), tokens of each document that another document has too; None: 1 or more

    Raises
    ------
    ModelError : the values are too large to compute with
    SettingsError : the model gives each document one label

    Warns
    -----
    ConvergenceWarning : the solver stopped before it met its tolerance
    """
    data.mean_square()  # raises where sums of squares would overflow
    model: LinearModel = LINEAR_MODELS[settings.model]
    if model.one_vs_rest is None:
        hint = "use --model svm or nbsvm, which compare each label with the rest"
        what = f"{settings.model} cannot be trained on documents with several labels"
        raise SettingsError(what, where="model", hint=hint)
    problem = model.one_vs_rest(data, settings, jobs=jobs)
    folds = _hold_out(data, settings)
    held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
    chunks = np.array_split(np.arange(data.n_classes), -(-data.n_classes * len(data) // MAX_DUALS))
    C, scores, start = DEFAULT_C if isinstance(settings.C, str) else settings.C, None, None
    if settings.C == AUTO and len(held_out):
        C, scores, start = _select_strength(problem, data, folds, len(chunks), settings.seed)
    has_scores = scores is not None
    scores = np.zeros((len(held_out), data.n_classes), dtype=np.float32) if scores is None else scores
    weights: list[ClassWeights] = []
    is_converged = True
    for chunk in chunks:
        solver = SolverSettings(C, seed=settings.seed)
        solution = problem.solve(
            solver, start, classes=chunk.tolist(), max_weights=max(1, MAX_WEIGHTS // data.n_classes)
        )
        is_converged &= solution.is_converged
        if len(held_out) and not has_scores:
            problem.score_held_out(folds, make_rough(C, settings.seed), solution, scores)
        weights += solution.weights()
    if not is_converged:
        warnings.warn(f"{settings.model} {NO_CONVERGENCE}", ConvergenceWarning, stacklevel=2)
    smoothing = settings.ratio_smoothing if "ratio_smoothing" in model.options else 0.0
    lengths = np.ones(len(held_out)) if lengths is None else lengths[held_out]
    fit = _calibrate(data, held_out, scores, lengths, is_by_label=settings.optimize == MACRO_F1)
    return LearnedLabels(problem.compile(weights), Hyperparameters(smoothing, C, is_converged), fit)


def _hold_out(data: TrainingData, settings: ModelSettings) -> NDArray[np.int32]:
    """Return the fold of each document, (n_documents,); NEVER_HELD_OUT of all if there are fewer documents than folds.

    The documents of each rare label are spread over the folds: documents are stratified by their rarest label. If a
    label has only one document, that is held out, too, because labels of new documents may also lack examples. One
    threshold for all labels is fitted to about CALIBRATION_SIZE documents, one for each label to all that fit into
    memory.
    """
    sizes = np.array([len(members) for members in data.members])
    order = np.argsort(-sizes, kind="stable")
    rarest = np.full(len(data), data.n_classes, dtype=np.int32)
    for k in order.tolist():
        rarest[data.members[k]] = k
    contents = None if settings.is_separate else data.hashes
    folds = stratified_folds(rarest, settings.folds, seed=settings.seed, contents=contents).astype(np.int32)
    if len(np.unique(folds)) < settings.folds:
        folds[:] = NEVER_HELD_OUT
    wanted = len(data) if settings.optimize == MACRO_F1 else CALIBRATION_SIZE
    n_scored = max(1, min(wanted, MAX_SCORES // data.n_classes))
    n_folds = int(np.searchsorted(np.cumsum(np.bincount(folds[folds != NEVER_HELD_OUT])), n_scored)) + 1
    folds[folds >= n_folds] = NEVER_HELD_OUT
    held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
    folds[np.random.default_rng(settings.seed).permutation(held_out)[n_scored:]] = NEVER_HELD_OUT
    return folds


def _select_strength(
    problem: OneVsRest, data: TrainingData, folds: NDArray[np.int32], n_chunks: int, seed: int
) -> tuple[float, NDArray[np.float32] | None, Any]:
    """Return the C with the lowest calibrated log-loss on held-out documents, their scores, and a solution.

    If only a part of the labels fits into memory, C is selected for every n-th label, and the others are None.
    """
    held_out, classes = np.flatnonzero(folds != NEVER_HELD_OUT), list(range(0, data.n_classes, n_chunks))

    def evaluate(C: float, start: Any) -> tuple[float, NDArray[Any], Any]:
        solver = make_rough(C, seed)
        solution = problem.solve(solver, start, classes=classes)
        scores = np.zeros((len(held_out), data.n_classes), dtype=np.float32)
        problem.score_held_out(folds, solver, solution, scores)
        return fit_scaling(_collect_cells(data, held_out, scores, classes))[1], scores, solution

    C, scores, solution = search_strength(evaluate)
    return (C, scores, solution) if n_chunks == 1 else (C, None, None)


def _collect_cells(
    data: TrainingData, held_out: NDArray[np.int64], scores: NDArray[np.float32], classes: list[int]
) -> Cells:
    """Return the pairs of a held-out document and a label to keep; see `keep_cells`.

    scores   (n_held_out, n_classes)
    classes  the labels of the pairs
    """
    places = np.full(len(data), -1)
    places[held_out] = np.arange(len(held_out))
    parts = []
    n_rows = max(1, MAX_CELLS // len(classes))
    for first in range(0, len(held_out), n_rows):
        own = scores[first : first + n_rows, classes].astype(np.float64)
        is_own = np.zeros(own.shape, dtype=bool)
        for column, k in enumerate(classes):
            rows = places[data.members[k]]
            is_own[rows[(rows >= first) & (rows < first + len(own))] - first, column] = True
        rows, columns, weights = keep_cells(own, is_own, first)
        parts.append((rows + first, np.array(classes)[columns], is_own[rows, columns], weights, own[rows, columns]))
    contents, labels, positives, weights, kept = map(np.concatenate, zip(*parts, strict=True))
    return Cells(
        contents, labels, positives.astype(np.float64), weights, (kept,),
        np.zeros(data.n_classes), np.ones(len(held_out)), np.array([len(each) for each in data.members]), len(held_out),
    )  # fmt: skip


def _calibrate(
    data: TrainingData,
    held_out: NDArray[np.int64],
    scores: NDArray[np.float32],
    lengths: NDArray[Any],
    *,
    is_by_label: bool,
) -> MultilabelFit:
    """Return the probabilities and thresholds that follow from held-out scores.

    lengths  (n_held_out,), known tokens
    """
    if not len(held_out):
        scaling = ScoreScaling(DEFAULT_SCALE, 0.0, np.zeros(data.n_classes))
        return MultilabelFit(None, scaling, np.full(data.n_classes, DEFAULT_THRESHOLD))
    cells = _collect_cells(data, held_out, scores, list(range(data.n_classes)))
    scaling = fit_scaling(cells)[0]
    cells = replace(cells, lengths=lengths, n_unanswered=int((lengths <= 0).sum()))
    return make_multilabel_fit(cells, scaling.left_out_probabilities(cells), scaling, by_label=is_by_label)
