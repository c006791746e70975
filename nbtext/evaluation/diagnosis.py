"""All that a page about an evaluation says, as plain data; the page only draws it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbtext.bayes.calibration import TemperatureScaling
from nbtext.documents.batch import Batch
from nbtext.evaluation.bootstrap import intervals
from nbtext.evaluation.confusions import Pair, confused_pairs, side_by_side
from nbtext.evaluation.error_log import ErrorLog
from nbtext.evaluation.label_curves import LabelCurve, label_curve
from nbtext.evaluation.metrics import Evaluation
from nbtext.evaluation.outcomes import Outcomes
from nbtext.evaluation.reliability import ReliabilityBin
from nbtext.evaluation.resampling import Interval
from nbtext.evaluation.set_sizes import SetSize, set_sizes
from nbtext.evaluation.shelves import Cell, Noted
from nbtext.evaluation.trade_off import AnsweredPart, TradeOff
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.inspection import Inspection, inspect

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel

MOST_LABELS = 100  # that are drawn: the most frequent ones
TARGETS = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995)  # shares of answers that should be right
N_PARTS = 120  # points of the trade-off
TELLING = 12  # words of each label
BINS = 20  # of the typicality


@dataclass(frozen=True, slots=True)
class Target:
    """From which threshold on so large a share of the answers is right; None: from nowhere on."""

    accuracy: float
    part: AnsweredPart | None


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong answer, and why it was given: against the true label where the model knows that."""

    document: Noted
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Outliers:
    """Documents unlike any that the model learned from."""

    documents: int
    right: int  # of them
    strangest: tuple[tuple[float, Noted], ...]  # with their typicality
    typicality: tuple[int, ...]  # documents in each twentieth: equally many where they are like those learned from


@dataclass(frozen=True, slots=True)
class Confusions:
    """Documents by their label and their answer."""

    labels: tuple[str, ...]  # that are drawn: all, or the most frequent; sorted
    alike: tuple[int, ...]  # their places, those that are confused side by side
    numbers: tuple[tuple[Cell, int], ...]  # of documents, in each cell of all labels that has one
    listed: dict[Cell, list[Noted]]  # the surest documents of each
    pairs: tuple[Pair, ...]  # of labels that are confused most often


@dataclass(frozen=True, slots=True)
class Curves:
    """What the probabilities of each label say."""

    labels: tuple[LabelCurve, ...]  # of those that are drawn
    set_sizes: tuple[SetSize, ...]
    step: int  # all of it is about every so many-th document


@dataclass(frozen=True, slots=True)
class Trust:
    """Whether answers are right as often as their probabilities say, and what a threshold would do."""

    before: tuple[tuple[ReliabilityBin, ...], float] | None  # without calibration: reliability, and its error
    calibration: TemperatureScaling | None
    trade_off: tuple[AnsweredPart, ...]
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """An evaluation with all that there is to see of it; what could not be had is None or empty."""

    evaluation: Evaluation
    intervals: dict[str, Interval]
    confusions: Confusions
    trust: Trust
    curves: Curves | None  # None where only the probabilities of answers are known
    mistakes: tuple[Mistake, ...]
    outliers: Outliers | None
    telling: Inspection | None  # what the model has learned, of the labels that are drawn
    knows_coverage: bool  # the model says how strange a label is: sets keep what was promised before
    has_names: bool  # of documents
    has_texts: bool


def diagnosed(
    witness: ErrorLog,
    evaluation: Evaluation,
    model: TrainedModel | None = None,
    *,
    has_all_probabilities: bool = True,
    seed: int = 1,
) -> Diagnosis:
    """What there is to see of an evaluation.

    witness                of the same answers
    model             that gave them; None where there is none, or a different one each time
    has_all_probabilities  of every label; else only of the answers
    seed                   of the bootstrap
    """
    outcomes, labels = witness.outcomes(evaluation.labels), _most_frequent(evaluation)
    calibration = model.fitted.calibration if model is not None else None
    return Diagnosis(
        evaluation=evaluation,
        intervals=intervals(outcomes, seed=seed),
        confusions=_confusions(witness, outcomes, labels, model),
        trust=_trust(witness, outcomes, calibration.temperature if calibration is not None else None),
        curves=_curves(witness, outcomes, labels, model) if has_all_probabilities else None,
        mistakes=_mistakes(witness, model) if model is not None else (),
        outliers=_outliers(witness, outcomes),
        telling=_telling(labels, model) if model is not None else None,
        knows_coverage=calibration is not None and calibration.nonconformity is not None,
        has_names=witness.listed.numbers.total() > 0,
        has_texts=witness.has_texts,
    )


def _most_frequent(evaluation: Evaluation) -> tuple[str, ...]:
    """The labels that are drawn, sorted."""
    by_support = sorted(evaluation.per_label, key=lambda score: (-score.support, score.label))
    return tuple(sorted(score.label for score in by_support[:MOST_LABELS]))


def _telling(labels: tuple[str, ...], model: TrainedModel) -> Inspection:
    known = set(model.fitted.labels)
    return inspect(model, n_features=TELLING, labels=[label for label in labels if label in known])


def _confusions(
    witness: ErrorLog, outcomes: Outcomes, labels: tuple[str, ...], model: TrainedModel | None
) -> Confusions:
    numbers = _numbers(outcomes)
    return Confusions(
        labels,
        side_by_side(labels, _among(numbers, labels)),
        tuple(sorted(numbers.items(), key=str)),
        witness.listed.cells(),
        confused_pairs(numbers, witness.studied.cells(), model),
    )


def _trust(witness: ErrorLog, outcomes: Outcomes, calibration: TemperatureScaling | None) -> Trust:
    trade_off = TradeOff.of(outcomes)
    targets = tuple(Target(wanted, trade_off.at_accuracy(wanted)) for wanted in TARGETS)
    before = witness.before_calibration if calibration is not None else None
    return Trust(before, calibration, trade_off.parts(N_PARTS), targets)


def _numbers(outcomes: Outcomes) -> dict[Cell, int]:
    """How many documents of each label got each answer."""
    found = Counter(zip(outcomes.true.tolist(), outcomes.predicted.tolist(), strict=True))
    names = outcomes.labels
    return {(names[label], names[answer] if answer >= 0 else None): number for (label, answer), number in found.items()}


def _among(numbers: dict[Cell, int], labels: tuple[str, ...]) -> list[tuple[Cell, int]]:
    """The cells of these labels alone."""
    chosen = {*labels, None}
    return [(cell, number) for cell, number in numbers.items() if chosen.issuperset(cell)]


def _curves(witness: ErrorLog, outcomes: Outcomes, labels: tuple[str, ...], model: TrainedModel | None) -> Curves:
    probabilities, step = witness.probabilities(outcomes.labels)
    true = outcomes.true[::step]
    places = {label: place for place, label in enumerate(outcomes.labels)}
    curves = tuple(label_curve(label, probabilities[:, places[label]], true == places[label]) for label in labels)
    nonconformity = model.fitted.calibration.nonconformity if model is not None else None
    columns = np.array([places[label] for label in (model.fitted.labels if model is not None else outcomes.labels)])
    own = np.full(len(places), -1)
    own[columns] = np.arange(len(columns))
    return Curves(curves, set_sizes(probabilities[:, columns], own[true], nonconformity), step)


def _mistakes(witness: ErrorLog, model: TrainedModel) -> tuple[Mistake, ...]:
    explainer = Explainer(model.fitted)
    return tuple(_mistake(noted, explainer) for _, noted in witness.mistakes.found())


def _mistake(noted: Noted, explainer: Explainer) -> Mistake:
    """Why the document was taken for what it is not."""
    against = noted.label if noted.label in explainer.model.labels else None
    batch = Batch([noted.id], tuple([text] for text in noted.texts), [noted.label])
    (explanation,) = explainer.explain_batch(batch, label=noted.answer, against=against)
    return Mistake(noted, explanation)


def _outliers(witness: ErrorLog, outcomes: Outcomes) -> Outliers | None:
    """What is unlike the corpus; None where the model cannot tell."""
    typicality = outcomes.typicality[~np.isnan(outcomes.typicality)]
    if not len(typicality):
        return None
    numbers, _ = np.histogram(typicality, BINS, (0, 1))
    strangest = tuple((-rank, noted) for rank, noted in witness.outliers.found())
    n_right = int((outcomes.is_outlier & outcomes.is_right).sum())
    return Outliers(int(outcomes.is_outlier.sum()), n_right, strangest, tuple(numbers.tolist()))
