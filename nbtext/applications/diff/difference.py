"""The differences between two models."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from nbtext.arrays import Integers
from nbtext.features.counting import merge_sorted
from nbtext.model.fitted_model import TrainedModel, check_kinds
from nbtext.model.inspection import Inspector, inspect
from nbtext.records import frozen

MAX_MOVES = 1000  # of a label
SIZES = ("documents", "n_labels", "n_features", "occurrences", "smoothing")


@frozen
class Change:
    """A figure or setting in both models; None where one has none."""

    name: str
    before: Any
    after: Any


@frozen
class Move:
    """A feature's log-odds of a label in both models."""

    label: str
    feature: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@frozen
class Difference:
    """The differences between two models."""

    sizes: tuple[Change, ...]  # and the leave-one-out estimates
    settings: tuple[Change, ...]  # those that differ
    new_labels: tuple[str, ...]
    lost_labels: tuple[str, ...]
    n_common: int  # features that both have
    n_new: int
    n_lost: int
    new_features: tuple[tuple[str, float], ...]  # the most frequent ones, with their occurrences
    lost_features: tuple[tuple[str, float], ...]
    moves: tuple[Move, ...]  # by label, then by decreasing size of the change


def compare_models(
    before: TrainedModel, after: TrainedModel, *, n_features: int = 10
) -> Difference:
    """Return the differences between two trained models.

    n_features  how many changed features of each label, and how many new and lost features, to
                return
    raises      ModelError: one of the models is a multi-label model, and the other is not
    """
    check_kinds(before, after)
    old = inspect(before, n_features=0)
    new = inspect(after, n_features=0)
    one = Inspector(before)
    other = Inspector(after)
    in_old, in_new = _common(before, after)
    sizes = [Change(name, getattr(old, name), getattr(new, name)) for name in SIZES]
    for name in (
        ("accuracy", "log_loss") if old.decisions is None else ("micro_f1", "macro_f1", "log_loss")
    ):
        values = (
            inspection.expected.get(name) if inspection.expected else None
            for inspection in (old, new)
        )
        sizes.append(Change(f"expected_{name}", *values))
    settings = [{"model": inspection.model, **inspection.settings} for inspection in (old, new)]
    names = dict.fromkeys(name for each in settings for name in each)
    changes = (Change(name, *(each.get(name) for each in settings)) for name in names)
    moves = (
        _moves(label, (one, in_old), (other, in_new))[:n_features] for label in before.fitted.labels
    )
    return Difference(
        tuple(sizes),
        tuple(change for change in changes if change.before != change.after),
        tuple(label for label in after.fitted.labels if label not in set(before.fitted.labels)),
        tuple(label for label in before.fitted.labels if label not in set(after.fitted.labels)),
        len(in_old),
        new.n_features - len(in_new),
        old.n_features - len(in_old),
        _frequent(other, in_new, n_features),
        _frequent(one, in_old, n_features),
        tuple(chain.from_iterable(moves)),
    )


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
) -> tuple[tuple[str, float], ...]:
    """Return the most frequent features that are not common to both models."""
    occurrences = inspector.statistics.feature_sums(inspector.statistics.occurrences).astype(
        np.float64
    )
    occurrences[common] = 0
    order = np.argsort(-occurrences, kind="stable")[:n_features]
    return tuple(
        (inspector.name(j), float(occurrences[j])) for j in order.tolist() if occurrences[j] > 0
    )


def _moves(
    label: str, old: tuple[Inspector, Integers], new: tuple[Inspector, Integers]
) -> list[Move]:
    """Return a label's changed log-odds of common features, largest change first; none if a model
    lacks the label.
    """
    if label not in new[0].labels:
        return []
    before, after = (
        inspector.log_odds(inspector.labels.index(label))[columns]
        for inspector, columns in (old, new)
    )
    order = np.argsort(-np.abs(after - before), kind="stable")[:MAX_MOVES].tolist()
    inspector, columns = old
    changed = [place for place in order if before[place] != after[place]]
    names = [inspector.name(int(columns[place])) for place in changed]
    return [
        Move(label, *pair)
        for pair in zip(names, before[changed].tolist(), after[changed].tolist(), strict=True)
    ]
