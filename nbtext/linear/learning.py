"""Train a linear model: select C, fit, calibrate, and estimate accuracy, the last two by stratified
k-fold.

With several labels, each is fitted against the rest, with probabilities and thresholds from folds.
Memory is bounded. Labels are fitted some at a time. Of many labels, each keeps its largest weights,
as in DiSMEC (Babbar and Schölkopf 2017). With many documents or labels, only some documents are
held out, in as few folds as possible.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Floats32, Hashes, Integers, Integers32
from nbtext.bayes import label_calibration
from nbtext.bayes.calibration import fit_scaled_temperature
from nbtext.bayes.decision_offsets import Goals, refuse_targets
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import AUTO, ModelSettings, check_label_count
from nbtext.bayes.smoothing import BLOCK_SCORES, SCORES_AT_ONCE, Selection, judge
from nbtext.errors import ConvergenceWarning, SettingsError
from nbtext.features.csr import find_places
from nbtext.features.document_table import EMPTY_HASH, DocumentTable
from nbtext.features.folds import NEVER_HELD_OUT, list_held_out, stratified_folds
from nbtext.features.stored_documents import StoredDocuments
from nbtext.linear.data import (
    LabelWeights,
    LinearModel,
    Problem,
    SolverSettings,
    TrainingData,
    make_rough,
)
from nbtext.linear.one_vs_rest import OneVsRest, compile_weights
from nbtext.linear.stacking import Stack

DEFAULT_C = 1.0  # if there are too few documents to select it
C_DECADES = (-3.0, 3.0)  # log10 of the values that are searched
C_STEPS = (1.0, 0.5)  # of log10 C; each is taken around the best value of the step before
# a value of C must lower the loss to this share of the best one: larger values take longer
MAX_LOSS_SHARE = 0.995
# Documents that are held out, at least, if there are no goals: for the calibration alone, and to
# select C
LINEAR_CALIBRATION_SIZE = 1 << 11
C_SELECTION_SIZE = 1 << 12
NO_CONVERGENCE = "did not converge: the solver stopped after its maximum of passes; scale large values down, or use a smaller C"


def learn(
    data: TrainingData,
    lengths: Array,
    settings: ModelSettings,
    *,
    goals: Goals,
    jobs: int = 1,
) -> tuple[LinearScorer, Selection]:
    """Fit a linear model to all documents, and return it with its hyperparameters, calibration and
    estimate.

    The result does not depend on the number of threads.

    Folds are fitted only if something needs them: calibration, `optimize`, targets or the search
    for C. Without them, the result has no estimate for new documents. Of a large corpus only some
    folds are held out, unless decisions have to achieve something.

    Parameters
    ----------
    lengths : (n_documents,), known tokens of each document; of documents in blocks, only of the
    first ones, of which
        some are held out
    settings : of a linear model
    goals : what the decisions have to achieve

    Raises
    ------
    ModelError : the values are too large to compute with
    SettingsError : there are too many labels

    Warns
    -----
    ConvergenceWarning : the solver stopped before it met its tolerance
    """
    model: LinearModel = settings.linear_model
    check_label_count(data.n_classes, settings.model, "vectors" if settings.vectors else "model")
    documents = data.documents
    if isinstance(documents, StoredDocuments):
        held_out = _hold_out_first(data, lengths, settings, goals)
        # of the others, only documents without a word are held out
        lengths = np.pad(lengths, (0, len(data) - len(lengths)))
    else:
        held_out = _hold_out(data, settings, goals, is_stacked=model.is_stacked)
    is_selecting = settings.C == AUTO
    if not len(held_out.documents):
        refuse_targets(goals.targets)
    is_judged = is_selecting or settings.calibrate or goals != Goals()
    has_folds = len(held_out.documents) > 0 and is_judged
    problem: Problem = model.problem(data, settings, jobs=jobs)
    C = DEFAULT_C if isinstance(settings.C, str) else settings.C
    solver = SolverSettings(C, seed=settings.seed)
    scores = None
    start = None
    if has_folds and is_selecting:
        C, scores, start = _select_strength(
            problem, held_out.folds, documents, lengths, make_rough(solver)
        )
        solver = solver._replace(C=C)
    solution = problem.solve(solver, start)
    if has_folds and scores is None:
        scores = problem.score_folds(held_out.folds, make_rough(solver), solution)
    parts = problem.parts if isinstance(problem, Stack) else ()
    selection = Selection(Hyperparameters(0.0, C, parts=parts))
    if scores is not None:
        rows = held_out.documents
        n_unjudged = held_out.n_unjudged
        judged = JudgedDocuments.of(documents, scores, lengths[rows], rows)
        selection = judge(
            selection.hyperparameters,
            judged,
            fit_scaled_temperature(judged) if settings.calibrate else None,
            n_unjudged=n_unjudged * len(rows) // (len(data) - n_unjudged),
            goals=goals,
        )
        assert selection.estimate is not None  # for the types
        estimate = replace(
            selection.estimate,
            unjudged=n_unjudged,
            duplicates=count_duplicates(documents.hashes, documents.times),
            folds=_count_folds(held_out.folds, settings),
        )
        selection = selection._replace(estimate=estimate)
    scorer = problem.scorer(solution)
    if not solution.is_converged:
        warnings.warn(f"{settings.model} {NO_CONVERGENCE}", ConvergenceWarning, stacklevel=2)
    hyperparameters = replace(selection.hyperparameters, is_converged=solution.is_converged)
    return scorer, selection._replace(hyperparameters=hyperparameters)


def count_duplicates(hashes: Hashes, times: Floats | None) -> int:
    """Return how many documents with a word repeat another one.

    times  (n_documents,), how often each document counts; None: once
    """
    rows = np.flatnonzero(hashes != np.uint64(EMPTY_HASH))
    _, numbers = np.unique(hashes[rows], return_inverse=True)
    copies = np.bincount(numbers, None if times is None else times[rows])
    return round(float(np.maximum(copies - 1, 0).sum()))


class HeldOut(NamedTuple):
    """The documents that are scored by models of others.

    folds       (n_documents,), the fold of each document, or NEVER_HELD_OUT
    n_unjudged  number of documents that cannot be in a fold, because their class has no other one
    """

    folds: Integers32
    n_unjudged: int

    @property
    def documents(self) -> Integers:
        """Those in a fold, (n_held_out,)."""
        return list_held_out(self.folds)


def _hold_out_at_least(folds: Integers32, size: int) -> None:
    """Hold out only as many folds as have so many documents."""
    sizes = np.cumsum(np.bincount(folds[folds != NEVER_HELD_OUT]))
    folds[folds > np.searchsorted(sizes, size)] = NEVER_HELD_OUT


def _hold_out(
    data: TrainingData, settings: ModelSettings, goals: Goals, *, is_stacked: bool = False
) -> HeldOut:
    """Choose documents to hold out: none if there are fewer than folds.

    Without goals, only enough folds are held out for LINEAR_CALIBRATION_SIZE documents, or
    C_SELECTION_SIZE: more are not worth the time. Of many classes, only so many documents are held
    out that their scores, by each part of a stack, fit into memory.
    """
    classes = data.documents.classes
    folds = stratified_folds(
        classes,
        settings.folds,
        seed=settings.seed,
        contents=data.documents.hashes,
        class_documents=np.bincount(classes, minlength=data.n_classes),
    ).astype(np.int32)
    n_unjudged = int((folds == NEVER_HELD_OUT).sum())
    if data.n_classes < 2 or len(data) - n_unjudged < settings.folds:
        folds[:] = NEVER_HELD_OUT
    elif replace(goals, adjusts_prior=False) == Goals():
        _hold_out_at_least(
            folds,
            C_SELECTION_SIZE if settings.C == AUTO or is_stacked else LINEAR_CALIBRATION_SIZE,
        )
    n_scored = (BLOCK_SCORES if is_stacked else SCORES_AT_ONCE) // data.n_classes
    documents = np.random.default_rng(settings.seed).permutation(list_held_out(folds))
    folds[documents[n_scored:]] = NEVER_HELD_OUT
    return HeldOut(folds, n_unjudged)


def _hold_out_first(
    data: TrainingData, lengths: Array, settings: ModelSettings, goals: Goals
) -> HeldOut:
    """Choose documents to hold out of documents in blocks: as one fold, those with the smallest
    hashes.

    They are a random sample, which has all duplicates of its documents. Without goals, they are
    C_SELECTION_SIZE, with goals all whose lengths are known, but at most one of `settings.folds`
    parts. Their labels have other documents. Documents without a word, which are the last ones, are
    held out in the same share.
    """
    classes = data.documents.classes
    hashes = data.documents.hashes
    wanted = len(lengths) if goals != Goals() else C_SELECTION_SIZE
    size = min(wanted, len(lengths), len(data) // settings.folds, SCORES_AT_ONCE // data.n_classes)
    if data.n_classes < 2:
        size = 0
    if 0 < size < len(lengths):
        size = int(np.searchsorted(hashes[: len(lengths)], hashes[size - 1], "right"))
    class_documents = np.bincount(classes, minlength=data.n_classes)
    own = classes[:size]
    is_held_out = (np.bincount(own, minlength=data.n_classes) < class_documents)[own]
    folds = np.full(len(data), NEVER_HELD_OUT, np.int32)
    folds[np.flatnonzero(is_held_out)] = 0
    empty = np.flatnonzero(hashes == np.uint64(EMPTY_HASH))
    if size:
        folds[empty[empty >= size][:: len(data) // size]] = 0
    return HeldOut(folds, int((class_documents == 1).sum()))


def _select_strength(
    problem: Problem,
    folds: Integers32,
    documents: DocumentTable | StoredDocuments,
    lengths: Array,
    rough: SolverSettings,
) -> tuple[float, Floats, Any]:
    """Return the C with the lowest calibrated log-loss on held-out documents, their scores, and a
    solution.
    """
    held_out = list_held_out(folds)

    def evaluate(C: float, start: Any) -> tuple[float, Floats, Any]:
        solver = rough._replace(C=C)
        solution = problem.solve(solver, start)
        scores = problem.score_folds(folds, solver, solution)
        judged = JudgedDocuments.of(documents, scores, lengths[held_out], held_out)
        judged = judged.calibrate(fit_scaled_temperature(judged).log_posterior)
        return -judged.mean(judged.own), scores, solution

    return search_strength(evaluate)


def search_strength(
    evaluate: Callable[[float, Any], tuple[float, Any, Any]],
) -> tuple[float, Any, Any]:
    """Return the C with the lowest loss, its scores, and the solution that was computed last.

    The search goes up and down from the default as long as that pays, in steps of a decade and then
    of half a decade. Every solution continues from the one before, whose memory it may reuse.

    evaluate  returns the loss, the scores and the solution of a C, from the solution of another
              one, or None
    """
    best = float(np.log10(DEFAULT_C))
    loss, scores, solution = evaluate(10.0**best, None)
    tried = {best}
    for step in C_STEPS:
        for direction in (-step, step):
            while (
                C_DECADES[0] <= best + direction <= C_DECADES[1] and best + direction not in tried
            ):
                tried.add(best + direction)
                found_loss, found, solution = evaluate(10.0 ** (best + direction), solution)
                if found_loss >= MAX_LOSS_SHARE * loss:
                    break
                best += direction
                loss = found_loss
                scores = found
    return 10.0**best, scores, solution


MAX_DUALS = 1 << 23  # documents times labels whose dual variables are in memory at once: 0.1 GB
MAX_LABEL_WEIGHTS = 1 << 24  # of all labels together: 0.2 GB
MAX_LABEL_SCORES = 1 << 25  # held-out documents times labels: 0.1 GB
CELLS_CHOSEN_AT_ONCE = 1 << 21  # documents times labels whose pairs are chosen at once
DEFAULT_SCALE = 4.0  # without folds: a score of 0 has the probability ½


def learn_labels(
    data: TrainingData, settings: ModelSettings, *, jobs: int
) -> tuple[LinearScorer, Hyperparameters, label_calibration.MultilabelFit]:
    """Fit a linear multi-label model to all documents, and return it with what was fitted to
    held-out scores.

    The result does not depend on the number of threads.

    Parameters
    ----------
    data : of documents with label sets
    settings : of a linear model

    Raises
    ------
    ModelError : the values are too large to compute with
    SettingsError : the model gives each document one label

    Warns
    -----
    ConvergenceWarning : the solver stopped before it met its tolerance
    """
    model: LinearModel = settings.linear_model
    if not model.is_one_vs_rest:
        raise SettingsError(
            f"{settings.model} cannot be trained on documents with several labels",
            where="vectors" if settings.vectors else "model",
            hint="use ‹model=svm› or nbsvm, which compare each label with the rest",
        )
    check_label_count(data.n_classes, settings.model, "model")
    problem: OneVsRest = model.problem(data, settings, jobs=jobs)
    folds = _hold_out_sets(data, settings)
    held_out = list_held_out(folds)
    chunks = np.array_split(np.arange(data.n_classes), -(-data.n_classes * len(data) // MAX_DUALS))
    C = DEFAULT_C if isinstance(settings.C, str) else settings.C
    solver = SolverSettings(C, seed=settings.seed)
    scaling = label_calibration.ScoreScaling(DEFAULT_SCALE, 0.0, np.zeros(data.n_classes))
    scores = None
    start = None
    if settings.C == AUTO and len(held_out):
        C, scores, start = _select_strength_of_labels(
            problem, data, folds, len(chunks), make_rough(solver), scaling
        )
        solver = solver._replace(C=C)
    has_scores = scores is not None
    scores = np.zeros((len(held_out), data.n_classes), np.float32) if scores is None else scores
    weights: list[LabelWeights] = []
    is_converged = True
    for chunk in chunks:
        solution = problem.solve(
            solver, start, classes=chunk.tolist(), max_weights=MAX_LABEL_WEIGHTS // data.n_classes
        )
        is_converged &= solution.is_converged
        if len(held_out) and not has_scores:
            problem.score_held_out(folds, make_rough(solver), solution, scores)
        weights += solution.weights()
    if not is_converged:
        warnings.warn(f"{settings.model} {NO_CONVERGENCE}", ConvergenceWarning, stacklevel=2)
    scorer = compile_weights(weights, data.n_features, data.n_classes)
    hyperparameters = Hyperparameters(0.0, C, is_converged)
    if not len(held_out):
        thresholds = np.full(data.n_classes, label_calibration.DEFAULT_THRESHOLD)
        return scorer, hyperparameters, label_calibration.MultilabelFit(None, scaling, thresholds)
    cells = _collect_cells(data, held_out, scores, list(range(data.n_classes)))
    cells = replace(
        cells, n_duplicates=count_duplicates(data.documents.hashes, data.documents.times)
    )
    fit = label_calibration.make_multilabel_fit(
        cells,
        label_calibration.fit_calibration(cells, scaling)[0],
        by_label=settings.optimize == label_calibration.MACRO_F1,
    )
    assert fit.estimate is not None  # for the types
    estimate = replace(fit.estimate, folds=_count_folds(folds, settings))
    return scorer, hyperparameters, replace(fit, estimate=estimate)


def _count_folds(folds: Integers32, settings: ModelSettings) -> int | None:
    """Return how many folds were scored; None: all of the settings."""
    n_scored = len(np.unique(folds[folds != NEVER_HELD_OUT]))
    return n_scored if n_scored < settings.folds else None


def _hold_out_sets(data: TrainingData, settings: ModelSettings) -> Integers32:
    """Return the fold of each document, (n_documents,); NEVER_HELD_OUT of all if there are fewer
    documents than folds.

    The documents of each rare label are spread over the folds: documents are stratified by their
    rarest label. If a label has only one document, that is held out, too, because labels of new
    documents may also lack examples. One threshold for all labels is fitted to about
    LINEAR_CALIBRATION_SIZE documents, one for each label to all that fit into memory.
    """
    sizes = np.array([len(members) for members in data.members])
    order = np.argsort(-sizes, kind="stable")
    rarest = np.full(len(data), data.n_classes, np.int32)
    for k in order.tolist():
        rarest[data.members[k]] = k
    folds = stratified_folds(
        rarest, settings.folds, seed=settings.seed, contents=data.documents.hashes
    ).astype(np.int32)
    if len(np.unique(folds)) < settings.folds:
        folds[:] = NEVER_HELD_OUT
    wanted = (
        len(data)
        if settings.optimize == label_calibration.MACRO_F1
        else label_calibration.MULTILABEL_CALIBRATION_SIZE
    )
    n_scored = max(1, min(wanted, MAX_LABEL_SCORES // data.n_classes))
    _hold_out_at_least(folds, n_scored)
    documents = np.random.default_rng(settings.seed).permutation(list_held_out(folds))
    folds[documents[n_scored:]] = NEVER_HELD_OUT
    return folds


def _select_strength_of_labels(
    problem: OneVsRest,
    data: TrainingData,
    folds: Integers32,
    n_chunks: int,
    rough: SolverSettings,
    scaling: label_calibration.ScoreScaling,
) -> tuple[float, Floats32 | None, Any]:
    """Return the C with the lowest calibrated log-loss on held-out documents, their scores, and a
    solution.

    If only a part of the labels fits into memory, C is selected for every n-th label, and the
    others are None.
    """
    held_out = list_held_out(folds)
    classes = list(range(0, data.n_classes, n_chunks))

    def evaluate(C: float, start: Any) -> tuple[float, Array, Any]:
        solver = rough._replace(C=C)
        solution = problem.solve(solver, start, classes=classes)
        scores = np.zeros((len(held_out), data.n_classes), np.float32)
        problem.score_held_out(folds, solver, solution, scores)
        return (
            label_calibration.fit_calibration(
                _collect_cells(data, held_out, scores, classes), scaling
            )[1],
            scores,
            solution,
        )

    C, scores, solution = search_strength(evaluate)
    return (C, scores, solution) if n_chunks == 1 else (C, None, None)


def _collect_cells(
    data: TrainingData, held_out: Integers, scores: Floats32, classes: list[int]
) -> label_calibration.Cells:
    """Return the pairs of a held-out document and a label to keep; see `keep_cells`.

    scores   (n_held_out, n_classes)
    classes  the labels of the pairs
    """
    places = find_places(held_out, len(data))
    parts = []
    n_rows = max(1, CELLS_CHOSEN_AT_ONCE // len(classes))
    for first in range(0, len(held_out), n_rows):
        own = scores[first : first + n_rows, classes].astype(np.float64)
        is_own = np.zeros(own.shape, bool)
        for column, k in enumerate(classes):
            members = places[data.members[k]]
            is_in_part = (members >= first) & (members < first + len(own))
            is_own[members[is_in_part] - first, column] = True
        rows, columns, weights = label_calibration.keep_cells(own, is_own, first)
        parts.append(
            (
                rows + first,
                np.array(classes)[columns],
                is_own[rows, columns],
                weights,
                own[rows, columns],
            )
        )
    contents, labels, is_positive, weights, kept = map(np.concatenate, zip(*parts, strict=True))
    times = data.documents.times
    times = np.ones(len(data), np.int64) if times is None else times
    own_times = times[held_out]
    return label_calibration.Cells(
        contents,
        labels,
        is_positive * own_times[contents].astype(np.float64),
        weights * own_times[contents],
        (kept,),
        np.zeros(data.n_classes),
        np.ones(len(held_out)),
        np.array([times[each].sum() for each in data.members]),
        own_times.sum().item(),
    )
