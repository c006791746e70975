"""The differences between two models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Integers
from nbtext.features.counting import merge_sorted
from nbtext.model.fitted_model import TrainedModel, check_kinds
from nbtext.model.inspection import Inspector, inspect_model

COMPARED_SIZES = str.split("documents n_labels n_features occurrences smoothing")
EXPECTED = ("accuracy", "micro_f1", "macro_f1", "log_loss")  # those that a model has


class ModelDifference(NamedTuple):
    """What differs between two models.

    what    size, setting, new label, lost label, new feature, lost feature, or log-odds
    label   of which it is, or ""
    name    of the size, setting or feature, or ""
    before  value in the first model: of a new or lost feature, its occurrences; None: it has none
    after   value in the second model
    """

    what: str
    label: str
    name: str
    before: Any = None
    after: Any = None


def list_differences(
    before: TrainedModel, after: TrainedModel, *, n_features: int = 10
) -> Iterator[ModelDifference]:
    """Yield the differences between two trained models: sizes and leave-one-out estimates, whether
    they differ or not; settings that differ; labels; the most frequent new and lost features; and
    the log-odds of common features that changed most, by label.

    n_features  how many features of each label, and how many new and lost ones
    raises      ModelError: one of the models is a multi-label model, and the other is not
    """
    check_kinds(before, after)
    old = inspect_model(before, n_features=0)
    new = inspect_model(after, n_features=0)
    one = Inspector(before)
    other = Inspector(after)
    in_old, in_new = _common(before, after)
    for name in COMPARED_SIZES:
        yield ModelDifference("size", "", name, getattr(old, name), getattr(new, name))
    yield ModelDifference("size", "", "n_common_features", len(in_old), len(in_new))
    for name in EXPECTED:
        values = [(each.expected or {}).get(name) for each in (old, new)]
        if values != [None, None]:
            yield ModelDifference("size", "", f"expected_{name}", *values)
    settings = [{"model": each.model, **each.settings} for each in (old, new)]
    for name in dict.fromkeys(chain(*settings)):
        values = [_plain(each.get(name)) for each in settings]
        if values[0] != values[1]:
            yield ModelDifference("setting", "", name, *values)
    labels = before.fitted.labels
    for label in after.fitted.labels:
        if label not in labels:
            yield ModelDifference("new label", label, "")
    for label in labels:
        if label not in after.fitted.labels:
            yield ModelDifference("lost label", label, "")
    for feature, number in _frequent(other, in_new, n_features):
        yield ModelDifference("new feature", "", feature, None, number)
    for feature, number in _frequent(one, in_old, n_features):
        yield ModelDifference("lost feature", "", feature, number, None)
    for label in labels:
        if label in after.fitted.labels:
            first, second = (
                inspector.log_odds(inspector.labels.index(label))[columns]
                for inspector, columns in ((one, in_old), (other, in_new))
            )
            moves = np.abs(second - first)
            for place in np.argsort(-moves, kind="stable")[:n_features].tolist():
                if moves[place]:
                    name = one.name(int(in_old[place]))
                    figures = float(first[place]), float(second[place])
                    yield ModelDifference("log-odds", label, name, *figures)


def _plain(value: Any) -> Any:
    """Return the value of a setting as a number or text."""
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return str(value) if isinstance(value, bool) else value


def _common(before: TrainedModel, after: TrainedModel) -> tuple[Integers, Integers]:
    """Return the columns, in each model, of the features that both models have."""
    old = before.fitted.vocabulary
    new = after.fitted.vocabulary
    if old is None or new is None:
        is_same = (
            old is new
            and before.fitted.feature_settings.hash_bits == after.fitted.feature_settings.hash_bits
        )
        columns = np.arange(before.fitted.scorer.n_features if is_same else 0)
        return columns, columns
    _, _, places_old, places_new = merge_sorted(old.blob, old.offsets, new.blob, new.offsets)
    _, in_old, in_new = np.intersect1d(
        places_old, places_new, assume_unique=True, return_indices=True
    )
    return in_old, in_new


def _frequent(
    inspector: Inspector, common: Integers, n_features: int
) -> Iterator[tuple[str, float]]:
    """Yield the most frequent features that are not common to both models, and their
    occurrences.
    """
    statistics = inspector.statistics
    occurrences = statistics.feature_sums(statistics.occurrences).astype(np.float64)
    occurrences[common] = 0
    for j in np.argsort(-occurrences, kind="stable")[:n_features].tolist():
        if occurrences[j] > 0:
            yield inspector.name(j), float(occurrences[j])
