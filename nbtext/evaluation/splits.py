"""Which documents are judged together, by models of which others: folds by chance, by group, or forward in time."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import SettingsError
from nbtext.evaluation.settings import TIME_STEPS, FoldSettings
from nbtext.features.document_counts import DocumentCounts, join_duplicates


def assign_folds(documents: DocumentCounts, settings: FoldSettings) -> NDArray[np.int64]:
    """The fold of each document, 0 to n_folds - 1; in time, fold 0 comes first, and is only learned from.

    Without groups or times, documents of equal content are in the same fold.

    documents  with the group or time of each where settings ask for one
    raises     SettingsError: there are too few documents, groups or times
    """
    groups = documents.groups
    if settings.group_field is not None and groups is not None:
        return grouped_folds(groups, settings.folds, seed=settings.seed)
    if settings.order_field is not None and groups is not None:
        return time_series_folds(groups, settings.folds or TIME_STEPS)
    folds = join_duplicates(stratified_folds(documents.classes, settings.folds or 0, seed=settings.seed), documents)
    if folds.min() == folds.max():
        raise SettingsError("all documents have the same content, so they make one fold", where="--folds")
    return folds


def stratified_folds(classes: NDArray[np.int32], n_folds: int, *, seed: int) -> NDArray[np.int64]:
    """Folds by chance: the documents of each class dealt out in a shuffled order."""
    if not 2 <= n_folds <= len(classes):
        usual = "10 is usual" if len(classes) >= 10 else f"there can be 2 to {len(classes)} of them"
        hint = usual if len(classes) > 1 else "there must be two at least"
        raise SettingsError(f"{n_folds} folds of {len(classes)} documents make no sense", where="--folds", hint=hint)
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    folds = np.empty(len(classes), dtype=np.int64)
    folds[by_class] = np.arange(len(classes)) % n_folds  # on from class to class, so that folds are equally large
    return folds


def grouped_folds(groups: NDArray[Any], n_folds: int | None, *, seed: int) -> NDArray[np.int64]:
    """Folds that split no group: each group by itself, or n_folds, the largest groups first to the least folds."""
    names, numbers = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise SettingsError("all documents are of one group", where="--group-field", hint="name another field")
    if n_folds is None:
        return np.asarray(numbers, dtype=np.int64)
    if n_folds > len(names):
        raise SettingsError(f"{n_folds} folds of {len(names)} groups make no sense", where="--folds", hint="take fewer")
    sizes = np.bincount(numbers)
    shuffled = np.random.default_rng(seed).permutation(len(names))
    folds, filled = np.zeros(len(names), dtype=np.int64), np.zeros(n_folds, dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")].tolist():
        folds[group] = filled.argmin()
        filled[folds[group]] += sizes[group]
    return np.asarray(folds[numbers])


def time_series_folds(times: NDArray[Any], n_steps: int) -> NDArray[np.int64]:
    """n_steps + 1 parts of about the same size, one after the other in time; what is of one time is not parted."""
    found, moments = np.unique(sort_keys(times.tolist()), return_inverse=True)
    if len(found) < 2:
        raise SettingsError("all documents are of one time", where="--order-field", hint="name another field")
    before = np.searchsorted(np.sort(moments), moments)  # documents that are earlier than each
    _, steps = np.unique(before * (n_steps + 1) // len(moments), return_inverse=True)
    if steps.max() == 0:  # nearly all are of the last time
        steps = moments == moments.max()
    return np.asarray(steps, dtype=np.int64)


def sort_keys(times: list[str]) -> NDArray[Any]:
    """Times as what they sort by: all as numbers if all are, else as dates, else as text.

    raises  SettingsError: most are numbers or dates, and some are not
    """
    for parse, kind in ((_number, "number"), (_iso_date, "date"), (_mail_date, "date")):
        found = [parse(time) for time in times]
        odd = found.count(None)
        if odd == 0:
            return np.array(found, dtype=np.float64)
        if odd < len(times) / 2:
            raise SettingsError(
                f"{times[found.index(None)]!r} is no {kind}, as others are",
                where="--order-field",
                hint="mend the field",
            )
    return np.array(times, dtype=object)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _iso_date(text: str) -> float | None:
    try:
        return _seconds(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def _mail_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return _seconds(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _seconds(moment: datetime) -> float:
    """Seconds since 1970; a time without a zone is UTC."""
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
