"""The kernel's free functions in plain Python and NumPy; `routines` picks the one or the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.features.rows import Rows, entries_of, run_starts
from nbtext.features.sparse_weights import SparseWeights
from nbtext.features.vocabulary import Vocabulary

Floats = NDArray[np.float64]
# statistics as plain arrays, feature by feature: indptr, classes, documents, occurrences
Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[Any]]


def arrange(rows: Rows, columns: NDArray[np.int32]) -> Rows:
    """Renumber each feature j as columns[j], leave out those below 0, and sort within each row."""
    return rows.renumbered(columns).known().ordered()


def merge_sorted(
    blob_a: NDArray[np.uint8], offsets_a: NDArray[np.int64], blob_b: NDArray[np.uint8], offsets_b: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The union of two sorted vocabularies (blob, offsets), and where each feature of either is in it."""
    terms_a, terms_b = Vocabulary(blob_a, offsets_a).terms, Vocabulary(blob_b, offsets_b).terms
    union = Vocabulary.from_terms(terms_a + terms_b)
    return union.blob, union.offsets, union.columns_of(terms_a), union.columns_of(terms_b)


def score_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64] | NDArray[np.int32],
    scorer: SparseWeights,
) -> Floats:
    """Scores (n_documents, n_classes) of rows by the sparse linear scorer."""
    from scipy.sparse import csr_array

    n_features = scorer.n_columns
    rows = csr_array((values.astype(np.float64), indices, indptr), shape=(len(indptr) - 1, n_features))
    deltas = csr_array((scorer.deltas, scorer.classes, scorer.indptr), shape=(n_features, len(scorer.bias)))
    scores: Floats = (rows @ deltas).toarray() + np.outer(rows @ np.ones(n_features), scorer.default) + scorer.bias
    if scorer.base is not None and scorer.base_scale is not None:
        scores += np.outer(rows @ scorer.base, scorer.base_scale)
    return scores


def take_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], counts: NDArray[Any], picked: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """The rows of these numbers, in this order: (indptr, indices, counts)."""
    bounds, entries = entries_of(indptr, picked)
    return bounds, indices[entries], counts[entries]


def entry_positions(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    row_classes: NDArray[np.int32],
    w_indptr: NDArray[np.int64],
    w_classes: NDArray[np.int32],
) -> NDArray[np.int64]:
    """For each entry of the rows, where (its feature, its row's class) stands among a feature-major list of entries.

    raises  ValueError: it is not there
    """
    features = np.repeat(np.arange(len(w_indptr) - 1), np.diff(w_indptr))
    n_classes = max(row_classes.max(initial=0), w_classes.max(initial=0)) + 1
    listed = features * n_classes + w_classes
    wanted = indices.astype(np.int64) * n_classes + np.repeat(row_classes, np.diff(indptr))
    positions: NDArray[np.int64] = np.searchsorted(listed, wanted)
    if not np.array_equal(np.append(listed, -1)[positions], wanted):
        raise ValueError("the rows are no part of these entries")
    return positions


def combine_entries(a: Entries, b: Entries, sign: int) -> Entries | None:
    """The entries of a + sign * b without those that come to nothing; None where one falls below zero."""
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
    """How much likelier each document is in each class, left out of it, than one of features that nobody has used.

    rows     (indptr, indices, counts): documents that the corpus holds
    table    (n, n_smoothings), log(1 + t / smoothing) for t = 0 ... n - 1
    returns  (n_documents, n_classes, n_smoothings): the sums of counts * log(1 + t / smoothing)
    raises   ValueError: a document is no part of the corpus
    """
    indptr, indices, counts = rows
    w_indptr, w_classes, _, occurrences = corpus
    widths = np.diff(w_indptr)[indices]
    _, entries = entries_of(w_indptr, indices)
    documents = np.repeat(np.repeat(np.arange(len(row_classes)), np.diff(indptr)), widths)
    classes, times = w_classes[entries], np.repeat(counts, widths)
    sightings = occurrences[entries] - np.where(classes == row_classes[documents], times, 0)
    if sightings.min(initial=0) < 0:
        raise ValueError("a document is no part of the corpus")
    gains = np.zeros((len(row_classes), n_classes, len(smoothings)))
    places = documents * n_classes + classes
    for a, (smoothing, log_smoothing) in enumerate(zip(smoothings.tolist(), log_smoothings.tolist(), strict=True)):
        logs = table[np.minimum(sightings, len(table) - 1), a]
        for entry in np.flatnonzero(sightings >= len(table)):  # by the logarithm of C, as in the kernel
            logs[entry] = math.log(sightings[entry] + smoothing) - log_smoothing
        sums = np.bincount(places, weights=times * logs, minlength=len(row_classes) * n_classes)
        gains[:, :, a] = sums.reshape(len(row_classes), n_classes)
    return gains
