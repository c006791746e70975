"""Tasks: what a prediction is. A document has a set of labels, and the task says which sets there
are.

`OneLabel` (exactly one) normalizes over the labels, and takes the most probable one.
`SeveralLabels` (0 to n, in `nbtext.model.several_labels`) looks at each label by itself, with
thresholds. A fitted model has one task, which holds what was fitted to leave-one-out scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import numpy as np

from nbtext.arrays import LOG_PRIOR, Array, Floats, Integers
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.conformal import nonconformity
from nbtext.bayes.diagnostics import Hyperparameters, LeaveOneOutEstimate
from nbtext.errors import SettingsError
from nbtext.model.predictions import Labels, Predictions, rank_labels
from nbtext.model.settings import DEFAULT_ERROR_COST, Costs, DecisionSettings
from nbtext.numerics import exp
from nbtext.records import frozen

if TYPE_CHECKING:
    from nbtext.bayes.smoothing import Selection

TIE = 1e-12  # expected costs that differ by less are equal


class Task(Protocol):
    """What a prediction is, and how scores become one.

    Attributes
    ----------
    name
        As it is stored.
    is_exclusive
        Whether labels exclude each other, so that a label is compared with another one.
    labels
        Sorted by code point; class k is `labels[k]`.
    log_prior : (n_labels,)
        Natural logarithm of the prior probability of each label.
    calibration
        Turns the scores of labels that exclude each other into probabilities; empty if they do not.
    fit
        How scores become probabilities and labels that do not exclude each other; None if they do.
    """

    name: ClassVar[str]
    is_exclusive: ClassVar[bool]

    @property
    def labels(self) -> Labels: ...
    @property
    def log_prior(self) -> Floats: ...
    @property
    def calibration(self) -> Calibration: ...
    @property
    def fit(self) -> Any: ...

    def log_probabilities(self, scores: Floats, lengths: Array) -> Floats:
        """Return the calibrated log-probabilities that follow from scores, (n_documents, n_labels).

        scores   (n_documents, n_scores), of the scorer
        lengths  (n_documents,), known tokens
        """

    def judge(self, scores: Floats, lengths: Array) -> tuple[Floats, Integers | None]:
        """Return the probabilities, (n_documents, n_labels), and the class of the one label of each
        document.

        None in place of the classes: the probabilities decide. See `log_probabilities` for the
        parameters.
        """

    def decide(self, predictions: Predictions, decisions: DecisionSettings) -> Predictions:
        """Return the predictions with the labels that follow from the probabilities; one with a
        reason gets none.

        Raises
        ------
        SettingsError
            `coverage` is set, and the model has no nonconformity scores.
        """

    def transfer(self, labels: Labels, hyperparameters: Hyperparameters) -> Any:
        """Return what was fitted to leave-one-out scores, for a model of other labels.

        hyperparameters  of the model
        """


@frozen(eq=False)
class OneLabel:
    """A document has exactly one label; the labels exclude each other."""

    name: ClassVar[str] = "one"
    is_exclusive: ClassVar[bool] = True
    fit: ClassVar[None] = None

    labels: Labels
    log_prior: Annotated[Floats, LOG_PRIOR]
    calibration: Calibration = field(default_factory=Calibration)
    estimate: LeaveOneOutEstimate | None = None

    def log_probabilities(self, scores: Floats, lengths: Array) -> Floats:
        """See Task."""
        return self.calibration.log_posterior(scores, lengths)

    def judge(self, scores: Floats, lengths: Array) -> tuple[Floats, Integers | None]:
        """See Task."""
        found = self.log_probabilities(scores, lengths)
        return exp(found), self.calibration.decide(found)

    def decide(self, predictions: Predictions, decisions: DecisionSettings) -> Predictions:
        """See Task."""
        pairs = zip(predictions.label_classes.tolist(), predictions.reasons, strict=True)
        predictions = replace(
            predictions, labels=[(self.labels[k],) if reason is None else () for k, reason in pairs]
        )
        if decisions.cost is not None and len(predictions):
            predictions = _minimize_cost(predictions, decisions.cost)
        if decisions.label_thresholds and len(predictions):
            predictions = _apply_thresholds(predictions, decisions.label_thresholds)
        if not decisions.replaces_label and len(predictions):
            predictions = self._withhold(predictions)
        if decisions.coverage is not None:
            predictions = self._add_sets(predictions, decisions.coverage)
        return abstain_below(predictions, decisions.min_probability)

    def transfer(self, labels: Labels, hyperparameters: Hyperparameters) -> Selection:
        """See Task; a new label gets offsets of 0."""
        from nbtext.bayes.smoothing import Selection

        calibration = self.calibration
        adjustment = self.calibration.prior_adjustment
        offsets = calibration.decision_offsets
        minimums = calibration.min_probabilities
        calibration = replace(
            calibration,
            prior_adjustment=None
            if adjustment is None
            else align(adjustment, self.labels, labels, 0.0),
            decision_offsets=None if offsets is None else align(offsets, self.labels, labels, 0.0),
            min_probabilities=None
            if minimums is None
            else align(minimums, self.labels, labels, 0.0),
            mean_posteriors=calibration.mean_posteriors if labels == self.labels else None,
        )
        return Selection(hyperparameters, calibration)

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
    return np.array([known.get(label, default) for label in labels], dtype=np.float64)


def no_prediction_sets(hint: str) -> SettingsError:
    """Return the error for a model without nonconformity scores."""
    what = "prediction sets need nonconformity scores of left-out documents, which the model does not store"
    return SettingsError(what, where="coverage", hint=hint)


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
    expected, abstaining = _expected_costs(probabilities, classes, costs)
    lowest = expected.min(axis=1)
    decided = np.where(expected <= lowest[:, None] + TIE, probabilities, -1.0).argmax(axis=1)
    reasons = {
        row: f"no label costs less than abstaining: expected cost {abstaining[row]:.6g}, "
        f"and {lowest[row]:.6g} of the label {classes[decided[row]]}"
        for row in np.flatnonzero(abstaining < lowest - TIE).tolist()
        if costs.has_abstention
    }
    return _decide_again(predictions, decided, reasons)


def _expected_costs(
    probabilities: Floats, labels: Sequence[str], costs: Costs
) -> tuple[Floats, Floats]:
    """Return the expected cost of each label, shape (n_documents, n_classes), and of abstaining,
    (n_documents,).
    """
    places = {label: place for place, label in enumerate(labels)}
    expected = 1 - probabilities  # every error costs 1, unless the file lists another cost
    abstaining = np.full(len(probabilities), DEFAULT_ERROR_COST)
    for (true, predicted), cost in costs.pairs.items():
        if true in places and predicted in places:
            default = DEFAULT_ERROR_COST * (true != predicted)
            expected[:, places[predicted]] += (cost - default) * probabilities[:, places[true]]
        elif true in places and predicted == "":
            abstaining += (cost - DEFAULT_ERROR_COST) * probabilities[:, places[true]]
    return expected, abstaining


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
