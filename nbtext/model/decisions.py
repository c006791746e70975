"""From probabilities to answers: when to abstain, and which set of labels is enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbtext.bayes.prediction_sets import nonconformity
from nbtext.bayes.smoothing import Choice
from nbtext.errors import SettingsError
from nbtext.model.costs import WRONG, Costs
from nbtext.model.predictions import Predictions
from nbtext.model.settings import DecisionSettings

TIE = 1e-12  # expected costs that are this near are equal


def decided(predictions: Predictions, choice: Choice | None, settings: DecisionSettings) -> Predictions:
    """The predictions as they are after these decisions.

    choice  of the model that made them; None where it is not known
    raises  SettingsError: the model does not know how strange its labels are, and --coverage asks for it
    """
    if settings.coverage is not None:
        predictions = _with_sets(predictions, choice, settings.coverage)
    if settings.cost is not None:
        predictions = _of_least_cost(predictions, settings.cost)
    if settings.min_probability is not None:
        predictions = _with_abstention(predictions, settings.min_probability)
    return predictions


def _of_least_cost(predictions: Predictions, costs: Costs) -> Predictions:
    """The label whose expected cost is least, the more probable one of two that cost the same."""
    probabilities, classes = predictions.probabilities, predictions.classes
    places = {label: place for place, label in enumerate(classes)}
    expected = 1 - probabilities  # where every error costs 1
    for (true, predicted), cost in costs.pairs.items():
        if true in places and predicted in places:
            expected[:, places[predicted]] += (cost - WRONG * (true != predicted)) * probabilities[:, places[true]]
    is_least = expected <= expected.min(axis=1, keepdims=True, initial=np.inf) + TIE
    chosen = np.where(is_least, probabilities, -1.0).argmax(axis=1) if len(predictions) else predictions.chosen
    labels = [
        None if label is None else classes[k] for label, k in zip(predictions.labels, chosen.tolist(), strict=True)
    ]
    return replace(predictions, labels=labels, decided=chosen)


def _with_abstention(predictions: Predictions, least: float) -> Predictions:
    """No label where it is less probable than this."""
    labels, reasons = list(predictions.labels), list(predictions.reasons)
    best = predictions.best
    for row in np.flatnonzero(best < least).tolist():
        if labels[row] is not None:
            reasons[row] = f"the label {labels[row]} has probability {best[row]:.6f}, below {least:g}"
            labels[row] = None
    return replace(predictions, labels=labels, reasons=reasons)


def _with_sets(predictions: Predictions, choice: Choice | None, coverage: float) -> Predictions:
    """The labels that are no stranger than the true one is with this frequency; none for what was not read."""
    if choice is None or choice.nonconformity is None:
        raise SettingsError(
            "the model does not know how often it is right",
            where="--coverage",
            hint="train it on several documents of each label",
        )
    if len(predictions) == 0:
        return replace(predictions, label_sets=[])
    is_read = ~np.isnan(predictions.probabilities[:, 0])
    probabilities = np.where(is_read[:, None], predictions.probabilities, 1.0)
    belongs = (nonconformity(probabilities) <= choice.nonconformity.upper_bound(coverage)) & is_read[:, None]
    order = np.argsort(-probabilities, axis=1, kind="stable")
    kept = np.take_along_axis(belongs, order, axis=1)
    rows = zip(order.tolist(), kept.tolist(), strict=True)
    sets = [tuple(predictions.classes[k] for k, is_in in zip(*row, strict=True) if is_in) for row in rows]
    return replace(predictions, label_sets=sets)
