"""The functions of statistics.pxi in plain Python and NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.features.csr import (
    Floats,
    Indices,
    Integers,
    entries_of,
    entry_rows,
    run_starts,
    running_sums,
)

# the arrays of class statistics, sorted by feature: indptr, classes, documents, occurrences
Entries = tuple[Integers, Indices, Integers, NDArray[Any]]
Counted = tuple[Integers, Indices, Indices]  # rows of documents: indptr, indices, counts
Own = tuple[Integers, Integers, Floats, Floats]  # see left_out_products
Shares = tuple[Integers, Indices, Floats]


def combine_entries(a: Entries, b: Entries, sign: int) -> Entries | None:
    """Return the entries of a + sign * b that are not zero, or None if one is negative.

    An entry without documents is zero, unless neither a nor b counts its documents, as
    scikit-learn's models do not.
    """
    n_classes = max(int(a[1].max(initial=0)), int(b[1].max(initial=0))) + 1
    keys = np.concatenate((_keys(a, n_classes), _keys(b, n_classes)))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = run_starts(keys)

    def total(own: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
        values = np.concatenate((own, sign * others))[order]
        return np.add.reduceat(values, starts) if len(starts) else values

    documents = total(a[2], b[2])
    occurrences = total(a[3], b[3])
    if min(documents.min(initial=0), occurrences.min(initial=0)) < 0:
        return None
    counted = total(a[2], sign * b[2])  # documents of both
    kept = (documents > 0) | ((counted == 0) & (occurrences > 0))
    features, classes = np.divmod(keys[starts][kept], n_classes)
    indptr = np.searchsorted(features, np.arange(len(a[0]))).astype(np.int64)
    return indptr, classes.astype(np.int32), documents[kept], occurrences[kept]


def _keys(entries: Entries, n_classes: int) -> NDArray[np.int64]:
    return entry_rows(entries[0]) * n_classes + entries[1]


def sum_classes(
    indptr: Integers,
    indices: Indices,
    counts: NDArray[Any],
    classes: Indices,
    n_features: int,
    n_classes: int,
) -> Entries:
    """Return the sums of rows by feature and class.

    counts   (n_entries,) int32 or float64
    classes  (n_rows,), 0 to n_classes - 1
    raises   ValueError: a feature or a class is out of range
    """
    from scipy.sparse import csr_array

    n = len(classes)
    dtype = np.int64 if counts.dtype.kind == "i" else np.float64

    def add_up(values: NDArray[Any]) -> Any:
        """Return the sums by feature and class, (n_classes, n_features), in compressed columns."""
        of_class = csr_array(
            (np.ones(n, dtype=values.dtype), (classes, np.arange(n))), shape=(n_classes, n)
        )
        rows = csr_array((values, indices, indptr), shape=(n, n_features))
        return (of_class @ rows).tocsc()

    found = add_up(np.ones(len(indices), dtype=np.int64))
    sums = add_up(counts.astype(dtype))
    occurrences = sums.data
    if sums.nnz < found.nnz:  # without weights whose sum is 0
        keys = [each.indices + n_classes * entry_rows(each.indptr) for each in (found, sums)]
        occurrences = np.zeros(found.nnz, dtype=dtype)
        occurrences[np.searchsorted(*keys)] = sums.data
    return found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data, occurrences


def left_out_sums(
    rows: Counted,
    own: tuple[Integers, Indices, Integers],
    all_copies: Integers,
    corpus: Entries,
    everywhere: Integers | None,
    n_classes: int,
    logarithms: tuple[Floats, Floats, Floats],
) -> Floats:
    """Return Σ counts · log(1 + t / smoothing) of each document for each class.

    t is the occurrences of a feature in the class, without the copies of the document in it; or,
    with `everywhere`, in all other classes, without the copies of the document in them.

    rows        (indptr, indices, counts), int32 counts: documents that the corpus holds
    own         (indptr, classes, copies): the classes of each document, ascending, and its copies
                in each, int64
    all_copies  (n_documents,) int64, copies in all classes
    corpus      (indptr, classes, documents, occurrences), int64 occurrences
    everywhere  (n_features,) int64, the occurrences of each feature in all classes
    logarithms  smoothings, their logarithms, and the table (n, n_smoothings) of log(1 + t /
                smoothing), t = 0 ... n - 1
    returns     (n_documents, n_classes, n_smoothings)
    raises      ValueError: a document is not part of the corpus
    """
    indptr, indices, counts = rows
    smoothings, log_smoothings, table = logarithms
    w_indptr, w_classes, _, occurrences = corpus
    if w_classes.min(initial=0) < 0 or w_classes.max(initial=-1) >= n_classes:
        raise ValueError("the occurrences must be int64, and the classes below n_classes")
    if own[1].min(initial=0) < 0 or own[1].max(initial=-1) >= n_classes:
        raise ValueError("the classes of the rows must be below n_classes")
    if indices.min(initial=0) < 0 or indices.max(initial=-1) >= len(w_indptr) - 1:
        raise ValueError("a document is not part of the corpus")
    n_rows = len(all_copies)
    lengths = np.diff(indptr)
    owners = entry_rows(indptr)
    widths = np.diff(w_indptr)[indices]
    _, entries = entries_of(w_indptr, indices)
    documents = np.repeat(owners, widths)
    times = np.repeat(counts, widths)
    places = documents * n_classes + w_classes[entries]
    pairs = np.append(entry_rows(own[0]) * n_classes + own[1], -1)
    found = np.searchsorted(pairs[:-1], places)
    is_own = pairs[found] == places
    copies = np.append(own[2], 0)[found] * is_own
    left = occurrences[entries] - copies * times
    # each class of a document has each of its features
    is_part = is_own.sum() == np.diff(own[0]) @ lengths and left[is_own].min(initial=0) >= 0
    rest = np.zeros(len(indices), dtype=np.int64)
    if everywhere is not None:
        rest = everywhere[indices] - all_copies[owners] * counts
        left = (
            np.repeat(everywhere[indices], widths)
            - occurrences[entries]
            - (all_copies[documents] - copies) * times
        )
        is_part &= min(rest.min(initial=0), left.min(initial=0)) >= 0
    if not is_part:
        raise ValueError("a document is not part of the corpus")
    sums = np.zeros((n_rows, n_classes, len(smoothings)))
    for a, parameters in enumerate(zip(smoothings.tolist(), log_smoothings.tolist(), strict=True)):
        rest_logs = _log_ratios(rest, *parameters, table[:, a])
        changes = _log_ratios(left, *parameters, table[:, a]) - np.repeat(rest_logs, widths)
        base = np.bincount(owners, weights=counts * rest_logs, minlength=n_rows)
        by_class = np.bincount(places, weights=times * changes, minlength=n_rows * n_classes)
        sums[:, :, a] = base[:, None] + by_class.reshape(n_rows, n_classes)
    return sums


def _log_ratios(
    counts: NDArray[np.int64], smoothing: float, log_smoothing: float, table: Floats
) -> Floats:
    """Return log(1 + count / smoothing) of each count."""
    logs: Floats = table[np.minimum(counts, len(table) - 1)]
    for entry in np.flatnonzero(counts >= len(table)):  # by C's logarithm, as in the kernel
        logs[entry] = math.log(counts[entry] + smoothing) - log_smoothing
    return logs


MAX_FACTORS = 1000  # mantissas, at least 1/2 each, whose product does not underflow


def left_out_products(
    rows: Counted,
    own: Own,
    corpus: Shares,
    mu: Floats,
    left: tuple[Floats, Floats],
    totals: Floats,
    limits: Integers,
) -> tuple[Floats, Floats]:
    """Return Π factor^count of each document in each class as mantissas and exponents of 2,
    (n_documents, n_classes).

    The factor of a feature that a class has is (t + share · μ) (T + μ) / ((left − t + share · μ)
    μ). A product takes one logarithm, where a sum takes many. Powers of 2 are exact, so splitting
    them off does not change the rounding.

    rows    (indptr, indices, counts): documents that the corpus holds
    own     (indptr, places, t, μ): the classes of each document; for each entry of the document in
            each of them, its place among the entries of the corpus, and its t without the document;
            μ of each class without it
    corpus  (indptr, classes, t): the occurrences of each feature in each class
    mu      (n_classes,), μ of each class
    left    two arrays (n_entries,): the occurrences of the feature in all other documents, and its
            share of them; without occurrences, the factor is 1
    totals  (n_documents,), T, the occurrences of all features in all other documents
    limits  (n_documents,), the number of factors whose product is surely below 2^500, at least 1
    raises  ValueError: a document is not part of the corpus
    """
    n_rows = len(rows[0]) - 1
    owners = entry_rows(rows[0])
    remaining, shares = left
    n_classes = len(mu)
    pieces = np.where(remaining > 0, -(-rows[2] // limits[owners]), 0)
    entries = np.repeat(np.arange(len(rows[1])), pieces)
    documents = owners[entries]
    ranks = np.arange(len(entries)) - running_sums(pieces)[rows[0]][documents]
    bounds = running_sums(pieces)[entries]
    repeats = np.minimum(
        limits[documents], rows[2][entries] - (np.arange(len(entries)) - bounds) * limits[documents]
    )
    _, own_entries = entries_of(rows[0], entry_rows(own[0]))
    own_features = rows[1][own_entries]
    n_places = len(corpus[1])
    if not ((own[1] >= corpus[0][own_features]) & (own[1] < corpus[0][own_features + 1])).all():
        raise ValueError("a document is not part of the corpus")
    own_order = np.argsort(own_entries * n_places + own[1])
    own_keys = np.append((own_entries * n_places + own[1])[own_order], -1)
    own_mu = np.repeat(own[3], np.repeat(np.diff(rows[0]), np.diff(own[0])))[own_order]
    mantissas = np.ones(n_rows * n_classes)
    exponents = np.zeros(n_rows * n_classes)
    for start in range(0, int(ranks.max(initial=-1)) + 1, MAX_FACTORS):
        chosen = np.flatnonzero((ranks >= start) & (ranks < start + MAX_FACTORS))
        widths = np.diff(corpus[0])[rows[1][entries[chosen]]]
        _, found = entries_of(corpus[0], rows[1][entries[chosen]])
        pairs = np.repeat(chosen, widths)
        cells = documents[pairs] * n_classes + corpus[1][found]
        t = corpus[2][found]
        keys = entries[pairs] * n_places + found
        places = np.searchsorted(own_keys[:-1], keys)
        is_own = own_keys[places] == keys
        t[is_own] = own[2][own_order][places[is_own]]
        of_classes = mu[corpus[1][found]]
        of_classes[is_own] = own_mu[places[is_own]]
        a = shares[entries[pairs]] * of_classes
        T = totals[documents[pairs]]
        factors = (t + a) * (T + of_classes) / ((remaining[entries[pairs]] - t + a) * of_classes)
        values, powers = np.frexp(_powers(factors, repeats[pairs]))
        np.multiply.at(mantissas, cells, values)  # in the order of the entries
        mantissas, own_exponents = np.frexp(mantissas)
        exponents += own_exponents + np.bincount(cells, weights=powers, minlength=len(exponents))
    return mantissas.reshape(n_rows, n_classes), exponents.reshape(n_rows, n_classes)


def _powers(bases: Floats, exponents: NDArray[Any]) -> Floats:
    """Return the powers, by squaring, with the rounding of the kernel."""
    results = np.ones(len(bases))
    bases = bases.copy()
    exponents = exponents.copy()
    remaining = np.arange(len(bases))
    while len(remaining):
        is_odd = remaining[(exponents[remaining] & 1) > 0]
        results[is_odd] *= bases[is_odd]
        exponents[remaining] >>= 1
        remaining = remaining[exponents[remaining] > 0]
        bases[remaining] *= bases[remaining]
    return results
