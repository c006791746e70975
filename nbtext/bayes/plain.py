"""The functions of _statistics.pyx in plain Python and NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.features.csr import entries_of, run_starts

Floats = NDArray[np.float64]
# the arrays of class statistics, sorted by feature: indptr, classes, documents, occurrences
Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[Any]]


def combine_entries(a: Entries, b: Entries, sign: int) -> Entries | None:
    """Return the entries of a + sign * b that are not zero, or None if one is negative."""
    n_classes = max(int(a[1].max(initial=0)), int(b[1].max(initial=0))) + 1
    keys = np.concatenate((_keys(a, n_classes), _keys(b, n_classes)))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = run_starts(keys)

    def total(own: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
        values = np.concatenate((own, sign * others))[order]
        return np.add.reduceat(values, starts) if len(starts) else values

    documents, occurrences = total(a[2], b[2]), total(a[3], b[3])
    if min(documents.min(initial=0), occurrences.min(initial=0)) < 0:
        return None
    kept = documents > 0
    features, classes = np.divmod(keys[starts][kept], n_classes)
    indptr = np.searchsorted(features, np.arange(len(a[0]))).astype(np.int64)
    return indptr, classes.astype(np.int32), documents[kept], occurrences[kept]


def _keys(entries: Entries, n_classes: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(entries[0]) - 1), np.diff(entries[0])) * n_classes + entries[1]


def left_out_gains(
    rows: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
    row_classes: NDArray[np.int32],
    corpus: Entries,
    n_classes: int,
    smoothings: Floats,
    log_smoothings: Floats,
    table: Floats,
) -> Floats:
    """Return Σ counts · log(1 + t / smoothing) of each document in each class, t without the document itself.

    rows     (indptr, indices, counts): documents that the corpus holds
    table    (n, n_smoothings), log(1 + t / smoothing) for t = 0 ... n - 1
    returns  (n_documents, n_classes, n_smoothings); t is the occurrences of a feature in a class
    raises   ValueError: a document is not part of the corpus
    """
    indptr, indices, counts = rows
    w_indptr, w_classes, _, occurrences = corpus
    widths = np.diff(w_indptr)[indices]
    _, entries = entries_of(w_indptr, indices)
    documents = np.repeat(np.repeat(np.arange(len(row_classes)), np.diff(indptr)), widths)
    classes, times = w_classes[entries], np.repeat(counts, widths)
    others = occurrences[entries] - np.where(classes == row_classes[documents], times, 0)
    if others.min(initial=0) < 0:
        raise ValueError("a document is not part of the corpus")
    gains = np.zeros((len(row_classes), n_classes, len(smoothings)))
    places = documents * n_classes + classes
    for a, (smoothing, log_smoothing) in enumerate(zip(smoothings.tolist(), log_smoothings.tolist(), strict=True)):
        logs = table[np.minimum(others, len(table) - 1), a]
        for entry in np.flatnonzero(others >= len(table)):  # by C's logarithm, as in the kernel
            logs[entry] = math.log(others[entry] + smoothing) - log_smoothing
        sums = np.bincount(places, weights=times * logs, minlength=len(row_classes) * n_classes)
        gains[:, :, a] = sums.reshape(len(row_classes), n_classes)
    return gains
