"""Splitters: stratified k-fold, grouped k-fold, and time-series split."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import SettingsError
from nbtext.evaluation.settings import TIME_STEPS, FoldSettings
from nbtext.features.document_counts import DocumentCounts, number_contents
from nbtext.features.folds import stratified_folds

OTHER_DATE = (  # whose order as texts is not that of time
    r"\d{1,2} ?([./-]) ?\d{1,2} ?\1 ?(?:\d{4}|\d\d)(?!\d)"  # 31.12.2024, 12/31/24
    r"|\D*?(?:\d{1,2}\.? +[^\W\d]{3,}|[^\W\d]{3,}\.? +\d{1,2}),?\.? +\d{4}\b"  # 31 December 2024, Dec 31, 2024
)


def assign_folds(documents: DocumentCounts, settings: FoldSettings, *, is_separate: bool = False) -> NDArray[np.int64]:
    """Return the fold of each document, 0 to n_folds - 1; in a time-series split fold 0 is only trained on.

    Without groups or timestamps, documents of equal content are in the same fold, unless they are separate.

    Parameters
    ----------
    documents : DocumentCounts
        With the group or timestamp of each document if the settings ask for it.
    is_separate : bool
        Whether documents of equal content may be in different folds.

    Raises
    ------
    SettingsError
        There are too few documents, groups or timestamps.
    """
    groups = documents.groups
    if settings.group_field is not None and groups is not None:
        return grouped_folds(groups, settings.folds, seed=settings.seed)
    if settings.order_field is not None and groups is not None:
        return time_series_folds(groups, settings.folds or TIME_STEPS)
    n_folds, n_documents = settings.folds or 0, len(documents)
    if not 2 <= n_folds <= n_documents:
        possible = "use 2" if n_documents == 2 else f"use 2 to {n_documents}"
        usual = "10 is usual" if n_documents >= 10 else possible
        hint = usual if n_documents > 1 else "give at least 2 documents"
        what = f"{n_folds} folds need at least as many documents; found {n_documents}"
        raise SettingsError(what, where="--folds", hint=hint)
    contents = None if is_separate else number_contents(documents)
    folds = stratified_folds(documents.classes, n_folds, seed=settings.seed, contents=contents)
    if folds.min() == folds.max():
        raise SettingsError("all documents have the same content, so they cannot be split into folds", where="--folds")
    return folds


def split_folds(folds: NDArray[np.int64], *, is_forward: bool) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield for each fold which documents a model is trained on, and which it predicts; both (n_documents,).

    The training documents are those of all other folds, or with `is_forward` those of earlier folds; then the first
    fold is not predicted.
    """
    for fold in np.unique(folds).tolist()[is_forward:]:
        is_held_out = folds == fold
        yield folds < fold if is_forward else ~is_held_out, is_held_out


def grouped_folds(groups: NDArray[Any], n_folds: int | None, *, seed: int) -> NDArray[np.int64]:
    """Split into folds without splitting a group: a fold for each group, or n_folds of about the same size."""
    names, numbers = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise SettingsError("all documents have the same group", where="--group-field", hint="name another field")
    if n_folds is None:
        return np.asarray(numbers, dtype=np.int64)
    if n_folds > len(names):
        raise SettingsError(
            f"{n_folds} folds need {n_folds} groups; found {len(names)}", where="--folds", hint="use fewer"
        )
    sizes = np.bincount(numbers)
    shuffled = np.random.default_rng(seed).permutation(len(names))
    folds, filled = np.zeros(len(names), dtype=np.int64), np.zeros(n_folds, dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")].tolist():
        folds[group] = filled.argmin()
        filled[folds[group]] += sizes[group]
    return np.asarray(folds[numbers])


def time_series_folds(times: NDArray[Any], n_steps: int) -> NDArray[np.int64]:
    """Split into n_steps + 1 consecutive parts of about the same size; equal timestamps stay together."""
    found, moments = np.unique(sort_keys(times.tolist()), return_inverse=True)
    if len(found) < 2:
        raise SettingsError("all documents have the same timestamp", where="--order-field", hint="name another field")
    before = np.searchsorted(np.sort(moments), moments)  # number of earlier documents
    _, steps = np.unique(before * (n_steps + 1) // len(moments), return_inverse=True)
    if steps.max() == 0:  # nearly all documents have the last timestamp
        steps = moments == moments.max()
    return np.asarray(steps, dtype=np.int64)


def sort_keys(times: list[str]) -> NDArray[Any]:
    """Return the sort keys of timestamps: numbers if all are numbers, else dates, else text.

    Raises
    ------
    SettingsError
        Most are numbers or dates, and some are not; or they are dates whose order of day and month is not known, or
        that name the month.
    """
    for parse, kind in ((_number, "number"), (_iso_date, "date"), (_mail_date, "date")):
        found = [parse(time) for time in times]
        odd = found.count(None)
        if odd == 0:
            return np.array(found, dtype=np.float64)
        if odd < len(times) / 2:
            raise SettingsError(
                f"{times[found.index(None)]!r} is not a {kind}, but most of the others are",
                where="--order-field",
                hint="correct the field",
            )
    dates = [time for time in times if re.match(OTHER_DATE, time.strip())]
    if 2 * len(dates) >= len(times):
        what, hint = f"the order of dates such as {dates[0]!r} is not known", "write them as 2024-12-31"
        raise SettingsError(what, where="--order-field", hint=hint)
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
    """Return seconds since 1970; a time without a zone is UTC."""
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
