"""Tasks: what a prediction is. A document has a set of labels, and the task says which sets there
are.

`OneLabel` (exactly one) normalizes over the labels, and takes the most probable one.
`SeveralLabels` (0 to n, in `nbtext.model.several_labels`) looks at each label by itself, with
thresholds. A fitted model has one task, which holds what was fitted to leave-one-out scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Self

import numpy as np

from nbtext.arrays import LOG_PRIOR, Array, Floats, Integers
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.conformal import nonconformity
from nbtext.bayes.diagnostics import Hyperparameters, LeaveOneOutEstimate
from nbtext.bayes.prevalence import MeanPosteriors
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.model.predictions import Labels, Predictions, rank_labels
from nbtext.model.settings import DEFAULT_ERROR_COST, Costs, DecisionSettings
from nbtext.numerics import exp, log
from nbtext.records import frozen_object

if TYPE_CHECKING:
    from nbtext.bayes.smoothing import Selection

# what a calibration has for each label, and what a new label gets
OF_LABELS = {
    "prior_adjustment": 0.0,
    "decision_offsets": 0.0,
    "min_probabilities": 0.0,
    "label_scales": 1.0,
}
TIE = 1e-12  # expected costs that differ by less are equal


class Task(Protocol):
    """What a prediction is, and how scores become one.

    Attributes
    ----------
    name
        As it is stored.
    labels
        Sorted by code point; class k is `labels[k]`.
    log_prior : (n_labels,)
        Natural logarithm of the prior probability of each label.
    """

    name: ClassVar[str]
    labels: Labels
    log_prior: Floats

    @property
    def calibration(self) -> Calibration:
        """Turns the scores of labels that exclude each other into probabilities; empty if they do
        not.
        """
        return Calibration()

    @property
    def estimate(self) -> Any:
        """The leave-one-out estimate for new documents; None if no document could be left out."""

    @property
    def n_scores(self) -> int:
        """Number of scores of a document."""
        return len(self.labels)

    @property
    def parts(self) -> Mapping[str, Any]:
        """What is fitted to leave-one-out scores, by name; None: the model does not have it."""

    @property
    def posteriors(self) -> Any:
        """Probabilities of left-out documents, to estimate shares of labels; None: not known."""

    @classmethod
    def check_settings(cls, features: FeatureSettings, settings: ModelSettings) -> None:
        """Raise SettingsError if a setting of training does not apply to the documents."""

    def belongs_to(self, settings: ModelSettings) -> bool:
        """Return whether it can be of a model with these settings of training."""
        return True

    def with_selection(self, selection: Selection | None) -> Self:
        """Return the task with the calibration and the estimate of a selection; None: without an
        estimate.
        """

    def change_calibration(self, change: Callable[[Calibration], Calibration]) -> Self:
        """Return the task with a changed calibration, if it has one."""
        return self

    def log_probabilities(self, scores: Floats, lengths: Array) -> Floats:
        """Return the calibrated log-probabilities that follow from scores, (n_documents, n_labels).

        scores   (n_documents, n_scores), of the scorer
        lengths  (n_documents,), known tokens
        """
        return log(self.judge(scores, lengths)[0])

    def judge(self, scores: Floats, lengths: Array) -> tuple[Floats, Integers | None]:
        """Return the probabilities, (n_documents, n_labels), and the class of the one label of each
        document.

        None in place of the classes: the probabilities decide. See `log_probabilities` for the
        parameters.
        """

    def scorer_of_labels(self, scorer: LinearScorer) -> LinearScorer:
        """Return the scorer whose weights tell for and against each label."""
        return scorer

    def inspect(self, classes: Sequence[int]) -> dict[str, Any]:
        """Return the values of an `Inspection` that this task has, and others do not."""
        return {}

    def margins(self, log_probabilities: Floats) -> Floats:
        """Return the values that determine the labels, (n_documents, n_labels)."""

    def decide(self, predictions: Predictions, decisions: DecisionSettings) -> Predictions:
        """Return the predictions, which may be changed, with the labels that follow from the
        probabilities; one with a reason gets none.

        Raises
        ------
        SettingsError
            `coverage` is set, and the model has no nonconformity scores.
        """

    def transfer(self, labels: Labels, hyperparameters: Hyperparameters) -> Any:
        """Return what was fitted to leave-one-out scores, for a model of other labels.

        hyperparameters  of the model
        """


@frozen_object
class OneLabel(Task):
    """A document has exactly one label; the labels exclude each other."""

    name: ClassVar[str] = "one"
    # see artifact/record.py
    REMOVED: ClassVar = {"is_calibrated": None, "default_class": None}

    labels: Labels
    log_prior: Annotated[Floats, LOG_PRIOR]
    calibration: Calibration = Calibration()
    estimate: LeaveOneOutEstimate | None = None

    @property
    def parts(self) -> Mapping[str, Any]:
        """See Task."""
        calibration = self.calibration
        return {
            "model": True,
            "weights": True,
            "smoothing": True,
            "calibration": calibration.temperature,
            "decision_offsets": True,
            "outlier_threshold": calibration.outlier_threshold,
            "nonconformity": calibration.nonconformity,
        }

    @property
    def posteriors(self) -> MeanPosteriors | None:
        """See Task."""
        return self.calibration.mean_posteriors

    def with_selection(self, selection: Selection | None) -> Self:
        """See Task."""
        if selection is None:
            return replace(self, estimate=None)
        return replace(self, calibration=selection.calibration, estimate=selection.estimate)

    def change_calibration(self, change: Callable[[Calibration], Calibration]) -> Self:
        """See Task."""
        return replace(self, calibration=change(self.calibration))

    def log_probabilities(self, scores: Floats, lengths: Array) -> Floats:
        """See Task."""
        return self.calibration.log_posterior(scores, lengths)

    def judge(self, scores: Floats, lengths: Array) -> tuple[Floats, Integers | None]:
        """See Task."""
        found = self.log_probabilities(scores, lengths)
        return exp(found), self.calibration.decide(found)

    def margins(self, log_probabilities: Floats) -> Floats:
        """See Task; the label with the largest one is predicted."""
        offsets = self.calibration.decision_offsets
        return log_probabilities if offsets is None else log_probabilities + offsets

    def decide(self, predictions: Predictions, decisions: DecisionSettings) -> Predictions:
        """See Task."""
        sets = [(label,) for label in self.labels]
        pairs = zip(predictions.label_classes.tolist(), predictions.reasons, strict=True)
        predictions.labels = [sets[k] if reason is None else () for k, reason in pairs]
        if len(predictions):
            if decisions.cost is not None:
                predictions = _minimize_cost(predictions, decisions.cost)
            if decisions.label_thresholds:
                predictions = _apply_thresholds(predictions, decisions.label_thresholds)
            if not decisions.replaces_label:
                predictions = self._withhold(predictions)
        if decisions.coverage is not None:
            predictions = self._add_sets(predictions, decisions.coverage)
        return abstain_below(predictions, decisions.min_probability)

    def transfer(self, labels: Labels, hyperparameters: Hyperparameters) -> Selection:
        """See Task; a new label gets offsets and corrections of 0, and the scale 1."""
        from nbtext.bayes.smoothing import Selection

        calibration = self.calibration
        aligned: dict[str, Any] = {}
        for name, default in OF_LABELS.items():
            values = getattr(calibration, name)
            aligned[name] = None if values is None else align(values, self.labels, labels, default)
        posteriors = calibration.mean_posteriors if labels == self.labels else None
        corrections = hyperparameters.corrections
        if corrections is not None:
            known = dict(zip(self.labels, corrections.weights.T, strict=True))
            of_new = np.zeros(len(corrections.weights))
            weights = np.stack([known.get(label, of_new) for label in labels], axis=1)
            corrections = replace(corrections, weights=weights)
        return Selection(
            replace(hyperparameters, corrections=corrections),
            replace(calibration, **aligned, mean_posteriors=posteriors),
        )

    def _withhold(self, predictions: Predictions) -> Predictions:
        """Return the predictions without the labels that a target of precision withholds."""
        calibration = self.calibration
        classes = predictions.label_classes
        is_withheld = calibration.are_withheld(predictions.probabilities, classes)
        reasons = {}
        for row in np.flatnonzero(is_withheld).tolist():
            k = classes[row]
            minimum = calibration.min_probabilities[k]  # type: ignore[index]
            what = f"the label {self.labels[k]} has probability {predictions.best[row]:.6f}"
            reasons[row] = f"{what}, below {minimum:.6f}, from which its precision is assured"
        return _abstain(predictions, reasons)

    def _add_sets(self, predictions: Predictions, coverage: float) -> Predictions:
        """Return the predictions with prediction sets; a document that could not be read has an
        empty set.

        A set holds the labels whose nonconformity is at most the quantile that covers the true
        label with this frequency. If the set is empty, the model abstains.
        """
        if self.calibration.nonconformity is None:
            raise no_prediction_sets("train it on at least two documents of each label")
        is_read = predictions.is_read
        probabilities = np.where(is_read[:, None], predictions.probabilities, 1.0)
        highest = self.calibration.nonconformity.upper_bound(coverage)
        belongs = (nonconformity(probabilities) <= highest) & is_read[:, None]
        sets = rank_labels(belongs, probabilities, self.labels)
        reasons = {
            row: f"the prediction set is empty: no label is probable enough at coverage {coverage:g}"
            for row, each in enumerate(sets)
            if not each
        }
        return _abstain(replace(predictions, label_sets=sets), reasons)


def align(values: Floats, earlier: Labels, labels: Labels, default: float) -> Floats:
    """Return the values of earlier labels for other ones, (n_labels,); a new label has the
    default.
    """
    known = dict(zip(earlier, values.tolist(), strict=True))
    return np.array([known.get(label, default) for label in labels], np.float64)


def no_prediction_sets(hint: str) -> SettingsError:
    """Return the error for a model without nonconformity scores."""
    return SettingsError(
        "prediction sets need nonconformity scores of left-out documents, which the model does not store",
        where="coverage",
        hint=hint,
    )


def abstain_below(predictions: Predictions, minimum: float | None) -> Predictions:
    """Return the predictions without the labels whose probability is below a minimum, if there is
    one.
    """
    if minimum is None:
        return predictions
    best = predictions.best
    reasons = {
        row: f"the label {predictions.labels[row][0]} has probability {best[row]:.6f}, below {minimum:g}"
        for row in np.flatnonzero(best < minimum).tolist()
        if predictions.labels[row]
    }
    return _abstain(predictions, reasons)


def _abstain(predictions: Predictions, new_reasons: dict[int, str]) -> Predictions:
    """Return the predictions without the labels of these rows; a row without a label keeps its
    reason.
    """
    labels = list(predictions.labels)
    reasons = list(predictions.reasons)
    for row, reason in new_reasons.items():
        if labels[row]:
            labels[row] = ()
            reasons[row] = reason
    return replace(predictions, labels=labels, reasons=reasons)


def _decide_again(
    predictions: Predictions, decided: Integers, reasons: dict[int, str]
) -> Predictions:
    """Return the predictions with other labels, but without labels for reasons."""
    pairs = zip(predictions.labels, decided.tolist(), strict=True)
    labels: list[Labels] = [(predictions.classes[k],) if label else () for label, k in pairs]
    return _abstain(replace(predictions, labels=labels, decided=decided), reasons)


def _minimize_cost(predictions: Predictions, costs: Costs) -> Predictions:
    """Return the predictions with the labels of the lowest expected cost; ties go to the more
    probable label.

    A document for which abstaining costs less than every label gets no label.
    """
    probabilities = predictions.probabilities
    classes = predictions.classes
    places = {label: place for place, label in enumerate(classes)}
    # the expected cost of each label, (n_documents, n_classes), and of abstaining, (n_documents,)
    expected = 1 - probabilities  # every error costs 1, unless the file lists another cost
    abstaining = np.full(len(probabilities), DEFAULT_ERROR_COST)
    for (true, predicted), cost in costs.pairs.items():
        if true in places and predicted in places:
            default = DEFAULT_ERROR_COST * (true != predicted)
            expected[:, places[predicted]] += (cost - default) * probabilities[:, places[true]]
        elif true in places and predicted == "":
            abstaining += (cost - DEFAULT_ERROR_COST) * probabilities[:, places[true]]
    may_abstain = any(predicted == "" for _, predicted in costs.pairs)
    lowest = expected.min(axis=1)
    decided = np.where(expected <= lowest[:, None] + TIE, probabilities, -1.0).argmax(axis=1)
    reasons = {
        row: f"no label costs less than abstaining: expected cost {abstaining[row]:.6g}, "
        f"and {lowest[row]:.6g} of the label {classes[decided[row]]}"
        for row in np.flatnonzero(abstaining < lowest - TIE).tolist()
        if may_abstain
    }
    return _decide_again(predictions, decided, reasons)


def _apply_thresholds(predictions: Predictions, minimums: Mapping[str, float]) -> Predictions:
    """Return the predictions with the most probable label that reaches its threshold.

    If no label reaches one, it is the most probable label without a threshold; if all labels have
    one, there is none.
    """
    probabilities = predictions.probabilities
    needed = np.array([minimums.get(label, np.inf) for label in predictions.classes])
    is_free = np.isinf(needed)
    reached = np.where(probabilities >= needed, probabilities, -1.0)
    free = np.where(is_free, probabilities, -1.0)
    has_reached = (reached >= 0).any(axis=1)
    decided = np.where(
        has_reached,
        reached.argmax(axis=1),
        (free if is_free.any() else probabilities).argmax(axis=1),
    )
    reasons = {}
    if not is_free.any():
        reasons = dict.fromkeys(
            np.flatnonzero(~has_reached).tolist(), "no label reaches its threshold"
        )
    return _decide_again(predictions, decided, reasons)
