"""Train a linear model: select C, fit, calibrate, and estimate accuracy, the last two by stratified k-fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.calibration import Calibration, fit_scaled_temperature
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import MAX_SCORES, Scored, Selection, Unanswered, judge
from nbtext.bayes.targets import Goals, refuse_targets
from nbtext.errors import ConvergenceWarning
from nbtext.features.folds import NEVER_HELD_OUT, stratified_folds
from nbtext.linear.data import TrainingData
from nbtext.linear.lbfgs import SolverSettings, do_nothing
from nbtext.linear.models import LinearModel, Problem

DEFAULT_C = 1.0  # if there are too few documents to select it
C_DECADES = (-3.0, 3.0)  # log10 of the values that are searched
C_STEPS = (1.0, 0.5)  # of log10 C; each is taken around the best value of the step before
MIN_GAIN = 0.995  # a value of C must lower the loss to this share of the best one: larger values take longer
# Fold models are solved roughly: what they tell of C and the temperature has a larger error than that.
FOLD_TOLERANCE = 1e-3
FOLD_MAX_ITER = 30
# Documents that are held out, at least, if there are no goals: for the calibration alone, and to select C
CALIBRATION_SIZE, SELECTION_SIZE = 1 << 11, 1 << 12
NO_CONVERGENCE = (
    "did not converge: the solver stopped after its maximum of passes; scale large values down, or use a smaller C"
)


class Learned(NamedTuple):
    """A linear model, and its hyperparameters, calibration and estimate."""

    scorer: LinearScorer
    selection: Selection


def learn(
    data: TrainingData,
    lengths: NDArray[Any],
    settings: ModelSettings,
    *,
    goals: Goals | None = None,
    log_prior: Floats | None = None,
    jobs: int = 1,
    check: Callable[[], None] = do_nothing,
) -> Learned:
    """Fit a linear model to all documents. The result does not depend on the number of threads.

    Folds are fitted only if something needs them: calibration, `optimize`, targets or the search for C. Without them,
    the result has no estimate for new documents. Of a large corpus only some folds are held out, unless decisions have
    to achieve something.

    Parameters
    ----------
    lengths : (n_documents,), known tokens of each document
    settings : of a linear model
    goals : what the decisions have to achieve; None: `optimize` of the settings
    log_prior : (n_classes,), log-probabilities of a document without a known word; None: uniform
    check : called often; an error that it raises ends the fit

    Raises
    ------
    ModelError : the values are too large to compute with

    Warns
    -----
    ConvergenceWarning : the solver stopped before it met its tolerance
    """
    goals = Goals(settings.optimize) if goals is None else goals
    data.mean_square()  # raises where sums of squares would overflow
    held_out = _hold_out(data, lengths, settings, goals)
    is_selecting = settings.C == AUTO
    if not len(held_out.documents):
        refuse_targets(goals.targets)
    is_judged = is_selecting or settings.calibrate or goals != Goals()
    has_folds = len(held_out.documents) > 0 and is_judged
    model: LinearModel = LINEAR_MODELS[settings.model]
    problem = model.problem(data, settings, jobs=jobs)
    C, scores, start = DEFAULT_C if isinstance(settings.C, str) else settings.C, None, None
    if has_folds and is_selecting:
        C, scores, start = _select_strength(
            problem, held_out.folds, data.classes, lengths, make_rough(C, settings.seed, check)
        )
    solution = problem.solve(SolverSettings(C, seed=settings.seed, check=check), start)
    if not solution.is_converged:
        warnings.warn(f"{settings.model} {NO_CONVERGENCE}", ConvergenceWarning, stacklevel=2)
    smoothing = settings.ratio_smoothing if "ratio_smoothing" in model.options else 0.0
    selection = Selection(Hyperparameters(smoothing, C, solution.is_converged))
    if has_folds and scores is None:
        scores = problem.score_folds(held_out.folds, make_rough(C, settings.seed, check), solution)
    scorer = problem.scorer(solution)
    del problem, solution, start  # their dual variables may need more memory than the rest
    if scores is None and is_judged and len(held_out.unanswered):
        scores = np.zeros((0, data.n_classes))
    if scores is not None:
        log_prior = np.full(data.n_classes, -np.log(data.n_classes)) if log_prior is None else log_prior
        unanswered = held_out.unanswered
        without = Unanswered(np.tile(log_prior, (len(unanswered), 1)), data.classes[unanswered])
        selection = _judge(selection, data, held_out, scores, lengths, without, goals, settings)
    return Learned(scorer, selection)


class HeldOut(NamedTuple):
    """The documents that are scored by models of others.

    folds       (n_documents,), the fold of each document, or NEVER_HELD_OUT
    documents   (n_held_out,), those in a fold
    unanswered  documents of the same folds without a word that another document has, which are in no fold
    n_unjudged  number of documents that cannot be in a fold, because their class has no other one
    """

    folds: NDArray[np.int32]
    documents: NDArray[np.int64]
    unanswered: NDArray[np.int64]
    n_unjudged: int


def _hold_out(data: TrainingData, lengths: NDArray[Any], settings: ModelSettings, goals: Goals) -> HeldOut:
    """Choose documents to hold out: none if there are fewer than folds.

    Without goals, only enough folds are held out for CALIBRATION_SIZE documents, or SELECTION_SIZE: more are not worth
    the time. Of many classes, only so many documents are held out that their scores fit into memory.
    """
    class_documents = np.bincount(data.classes, minlength=data.n_classes)
    folds = stratified_folds(
        data.classes, settings.folds, seed=settings.seed,
        contents=None if settings.is_separate else data.hashes, class_documents=class_documents,
    ).astype(np.int32)  # fmt: skip
    n_unjudged = int((folds == NEVER_HELD_OUT).sum())
    if data.n_classes < 2 or len(data) - n_unjudged < settings.folds:
        folds[:] = NEVER_HELD_OUT
    elif goals == Goals():
        sizes = np.bincount(folds[folds != NEVER_HELD_OUT])
        size = SELECTION_SIZE if settings.C == AUTO else CALIBRATION_SIZE
        n_folds = int(np.searchsorted(np.cumsum(sizes), size)) + 1
        folds[folds >= n_folds] = NEVER_HELD_OUT
    documents, n_scored = np.flatnonzero(folds != NEVER_HELD_OUT), MAX_SCORES // data.n_classes
    if len(documents) > n_scored:
        folds[np.random.default_rng(settings.seed).permutation(documents)[n_scored:]] = NEVER_HELD_OUT
    unanswered = np.flatnonzero((folds != NEVER_HELD_OUT) & ((lengths <= 0) | (np.diff(data.indptr) == 0)))
    folds[unanswered] = NEVER_HELD_OUT  # models of other folds learn nothing of their words
    return HeldOut(folds, np.flatnonzero(folds != NEVER_HELD_OUT), unanswered, n_unjudged)


def _judge(  # noqa: PLR0913, PLR0917 - what is known of the held-out documents
    selection: Selection,
    data: TrainingData,
    held_out: HeldOut,
    scores: Floats,
    lengths: NDArray[Any],
    unanswered: Unanswered,
    goals: Goals,
    settings: ModelSettings,
) -> Selection:
    """Return the selection with the calibration, decision offsets and estimate from the scores of held-out documents.

    scores   (n_held_out, n_classes)
    lengths  (n_documents,)
    """
    documents, n_unjudged = held_out.documents, held_out.n_unjudged
    lengths, classes = lengths[documents], data.classes[documents]
    if settings.calibrate and len(documents):
        selection = selection._replace(calibration=Calibration(fit_scaled_temperature(scores, lengths, classes)))
    selection = judge(
        selection, Scored(scores, lengths, classes), unanswered,
        n_unjudged=n_unjudged * (len(documents) + len(unanswered.classes)) // (len(data) - n_unjudged),
        contents=None if settings.is_separate or data.hashes is None else data.hashes[documents], goals=goals,
    )  # fmt: skip
    if selection.estimate is None:
        return selection
    n_duplicates = 0 if data.hashes is None else len(data) - len(np.unique(data.hashes))
    estimate = replace(selection.estimate, duplicates=n_duplicates, unjudged=n_unjudged)
    return selection._replace(estimate=estimate)


def make_rough(C: float, seed: int, check: Callable[[], None] = do_nothing) -> SolverSettings:
    """Return the settings of models of folds."""
    return SolverSettings(C, FOLD_TOLERANCE, FOLD_MAX_ITER, seed, is_rough=True, check=check)


def _select_strength(
    problem: Problem, folds: NDArray[np.int32], classes: NDArray[np.int32], lengths: NDArray[Any], rough: SolverSettings
) -> tuple[float, Floats, Any]:
    """Return the C with the lowest calibrated log-loss on held-out documents, their scores, and a solution."""
    held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
    classes, lengths = classes[held_out], lengths[held_out]

    def evaluate(C: float, start: Any) -> tuple[float, Floats, Any]:
        solver = rough._replace(C=C)
        solution = problem.solve(solver, start)
        scores = problem.score_folds(folds, solver, solution)
        log_posterior = fit_scaled_temperature(scores, lengths, classes).log_posterior(scores, lengths)
        return -float(log_posterior[np.arange(len(classes)), classes].mean()), scores, solution

    return search_strength(evaluate)


def search_strength(evaluate: Callable[[float, Any], tuple[float, Any, Any]]) -> tuple[float, Any, Any]:
    """Return the C with the lowest loss, its scores, and the solution that was computed last.

    The search goes up and down from the default as long as that pays, in steps of a decade and then of half a decade.
    Every solution continues from the one before, whose memory it may reuse.

    evaluate  returns the loss, the scores and the solution of a C, from the solution of another one, or None
    """
    best = float(np.log10(DEFAULT_C))
    loss, scores, solution = evaluate(10.0**best, None)
    tried = {best}
    for step in C_STEPS:
        for direction in (-step, step):
            while C_DECADES[0] <= best + direction <= C_DECADES[1] and best + direction not in tried:
                tried.add(best + direction)
                found_loss, found, solution = evaluate(10.0 ** (best + direction), solution)
                if found_loss >= MIN_GAIN * loss:
                    break
                best, loss, scores = best + direction, found_loss, found
    return 10.0**best, scores, solution
