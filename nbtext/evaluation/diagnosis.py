"""Diagnosis of an evaluation: everything that its page shows, as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbtext.bayes.calibration import TemperatureScaling
from nbtext.documents.batch import Batch
from nbtext.evaluation.bootstrap import Estimate, compute_intervals
from nbtext.evaluation.confusions import ConfusedPair, find_confused_pairs, order_by_confusion
from nbtext.evaluation.error_log import Cell, ErrorLog, Example
from nbtext.evaluation.evaluator import Evaluation
from nbtext.evaluation.label_curves import LabelCurve, compute_label_curve
from nbtext.evaluation.outcomes import UNANSWERED, Outcomes
from nbtext.evaluation.reliability import AnsweredPart, Reliability, SetSize, TradeOff, measure_set_sizes
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.inspection import Inspection, inspect

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel

MAX_LABELS = 100  # in charts and in the confusion matrix: the most frequent ones
TARGETS = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995)  # accuracies of answers
N_PARTS = 120  # points of the trade-off
N_FEATURES = 12  # of each label
N_TYPICALITY_BINS = 20


@dataclass(frozen=True, slots=True)
class Target:
    """The largest part of the documents, the most certain ones, with at least this accuracy; None: there is none."""

    accuracy: float
    part: AnsweredPart | None


@dataclass(frozen=True, slots=True)
class Mistake:
    """A document with a wrong predicted label, explained against the true label if the model knows it."""

    document: Example
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Outliers:
    """Documents unlike the training documents.

    correct     Number of outliers with the right predicted label.
    examples    The outliers with the lowest typicality, each with its typicality.
    typicality  Number of documents in each of 20 bins of typicality; uniform for documents like the training documents.
    """

    documents: int
    correct: int
    examples: tuple[tuple[float, Example], ...]
    typicality: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Confusions:
    """The confusion matrix with examples.

    labels  The labels that are shown, sorted.
    order   The positions of the labels, with confused labels adjacent.
    counts  Number of documents in each cell that is not empty, of all labels.
    listed  The most probable examples of each cell.
    pairs   The labels that are confused most often.
    """

    labels: tuple[str, ...]
    order: tuple[int, ...]
    counts: tuple[tuple[Cell, int], ...]
    listed: dict[Cell, list[Example]]
    pairs: tuple[ConfusedPair, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of labels and sizes of prediction sets. They are computed from every `step`-th document."""

    labels: tuple[LabelCurve, ...]
    set_sizes: tuple[SetSize, ...]
    step: int


@dataclass(frozen=True, slots=True)
class Trust:
    """The calibration of the probabilities, and the accuracy and share of answers at each threshold.

    before  Reliability of the same predictions without calibration; None: the model has no calibration.
    """

    before: Reliability | None
    calibration: TemperatureScaling | None
    trade_off: tuple[AnsweredPart, ...]
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """An evaluation with details; what is not available is None or empty.

    Attributes
    ----------
    curves : Curves, optional
        Curves of labels; None: only the probability of the predicted label is known.
    top_features : Inspection, optional
        The features with the largest weights, of the labels that are shown.
    has_conformal_scores
        Whether the model has nonconformity scores, so that prediction sets keep the coverage asked for.
    has_names, has_texts of documents
    """

    evaluation: Evaluation
    intervals: dict[str, Estimate]
    confusions: Confusions
    trust: Trust
    curves: Curves | None
    mistakes: tuple[Mistake, ...]
    outliers: Outliers | None
    top_features: Inspection | None
    has_conformal_scores: bool
    has_names: bool
    has_texts: bool


def diagnose(
    error_log: ErrorLog,
    evaluation: Evaluation,
    model: TrainedModel | None = None,
    *,
    has_all_probabilities: bool = True,
    seed: int = 1,
) -> Diagnosis:
    """Collect the details of an evaluation.

    Parameters
    ----------
    error_log : ErrorLog
        The error log of the same predictions.
    model : TrainedModel, optional
        The model that made the predictions; None: several models, or unknown.
    has_all_probabilities : bool
        The probabilities of all labels are known, not only of the predicted one.
    seed : int
        Seed of the bootstrap.
    """
    outcomes = error_log.outcomes(evaluation.labels)
    by_support = sorted(evaluation.per_label, key=lambda score: (-score.support, score.label))
    labels = tuple(sorted(score.label for score in by_support[:MAX_LABELS]))
    calibration = model.fitted.calibration if model is not None else None
    scaling = calibration.temperature if calibration is not None else None
    trade_off = TradeOff.of(outcomes)
    top_features = None
    if model is not None:
        known = [label for label in labels if label in set(model.fitted.labels)]
        top_features = inspect(model, n_features=N_FEATURES, labels=known)
    return Diagnosis(
        evaluation=evaluation,
        intervals=compute_intervals(outcomes, seed=seed),
        confusions=_confusions(error_log, outcomes, labels, model),
        trust=Trust(
            error_log.before_calibration if scaling is not None else None,
            scaling,
            trade_off.parts(N_PARTS),
            tuple(Target(accuracy, trade_off.at_accuracy(accuracy)) for accuracy in TARGETS),
        ),
        curves=_curves(error_log, outcomes, labels, model) if has_all_probabilities else None,
        mistakes=_mistakes(error_log, model) if model is not None else (),
        outliers=_outliers(error_log, outcomes),
        top_features=top_features,
        has_conformal_scores=calibration is not None and calibration.nonconformity is not None,
        has_names=error_log.listed.counts.total() > 0,
        has_texts=error_log.has_texts,
    )


def _confusions(
    error_log: ErrorLog, outcomes: Outcomes, labels: tuple[str, ...], model: TrainedModel | None
) -> Confusions:
    names = outcomes.labels
    counts: dict[Cell, int] = {}
    for (true, predicted), count in Counter(
        zip(outcomes.true.tolist(), outcomes.predicted.tolist(), strict=True)
    ).items():
        counts[names[true], names[predicted] if predicted != UNANSWERED else None] = count
    shown = {*labels, None}
    return Confusions(
        labels,
        order_by_confusion(labels, [(cell, count) for cell, count in counts.items() if shown.issuperset(cell)]),
        tuple(sorted(counts.items(), key=str)),
        error_log.listed.cells(),
        find_confused_pairs(counts, error_log.studied.cells(), model),
    )


def _curves(error_log: ErrorLog, outcomes: Outcomes, labels: tuple[str, ...], model: TrainedModel | None) -> Curves:
    probabilities, step = error_log.probabilities(outcomes.labels)
    true = outcomes.true[::step]
    places = {label: place for place, label in enumerate(outcomes.labels)}
    curves = tuple(
        compute_label_curve(label, probabilities[:, places[label]], true == places[label]) for label in labels
    )
    nonconformity = model.fitted.calibration.nonconformity if model is not None else None
    columns = np.array([places[label] for label in (model.fitted.labels if model is not None else outcomes.labels)])
    own = np.full(len(places), -1)
    own[columns] = np.arange(len(columns))
    return Curves(curves, measure_set_sizes(probabilities[:, columns], own[true], nonconformity), step)


def _mistakes(error_log: ErrorLog, model: TrainedModel) -> tuple[Mistake, ...]:
    explainer, mistakes = Explainer(model.fitted), []
    for _, example in error_log.mistakes.rank_examples():
        against = example.label if example.label in model.fitted.labels else None
        batch = Batch([example.id], tuple([text] for text in example.texts), [example.label])
        (explanation,) = explainer.explain_batch(batch, label=example.predicted, against=against)
        mistakes.append(Mistake(example, explanation))
    return tuple(mistakes)


def _outliers(error_log: ErrorLog, outcomes: Outcomes) -> Outliers | None:
    """Describe outliers; None if the model has no likelihood of a document."""
    typicality = outcomes.typicality[~np.isnan(outcomes.typicality)]
    if not len(typicality):
        return None
    counts, _ = np.histogram(typicality, N_TYPICALITY_BINS, (0, 1))
    examples = tuple((-rank, example) for rank, example in error_log.outliers.rank_examples())
    n_correct = int((outcomes.is_outlier & outcomes.is_correct).sum())
    return Outliers(int(outcomes.is_outlier.sum()), n_correct, examples, tuple(counts.tolist()))
