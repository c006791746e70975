"""The functions of statistics.pxi in plain Python and NumPy."""

from __future__ import annotations

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32
from nbtext.features.csr import entries_of, entry_rows
from nbtext.numerics import log

# the arrays of class statistics, sorted by feature: indptr, classes, documents, occurrences
Entries = tuple[Integers, Integers32, Integers, Array]
CountedRows = tuple[Integers, Integers32, Integers32]  # rows of documents: indptr, indices, counts
Own = tuple[Integers, Integers, Floats, Floats]  # see left_out_products
Shares = tuple[Integers, Integers32, Floats]


def combine_entries(a: Entries, b: Entries, sign: int) -> Entries | None:
    """Return the entries of a + sign * b that are not zero, or None if one is negative.

    An entry without documents is zero, unless neither a nor b counts its documents, as
    scikit-learn's models do not.
    """
    n_classes = max(int(a[1].max(initial=0)), int(b[1].max(initial=0))) + 1
    keys = [entry_rows(each[0]) * n_classes + each[1] for each in (a, b)]
    found, places = np.unique(np.concatenate(keys), return_inverse=True)

    def add_up(own: Array, others: Array) -> Array:
        sums = np.zeros(len(found), np.promote_types(own.dtype, others.dtype))
        np.add.at(sums, places, np.concatenate((own, others)))
        return sums

    documents = add_up(a[2], sign * b[2])
    occurrences = add_up(a[3], sign * b[3])
    if min(documents.min(initial=0), occurrences.min(initial=0)) < 0:
        return None
    is_counted = add_up(a[2], b[2]) > 0
    kept = (documents > 0) | (~is_counted & (occurrences > 0))
    features, classes = np.divmod(found[kept], n_classes)
    indptr = np.searchsorted(features, np.arange(len(a[0]))).astype(np.int64)
    return indptr, classes.astype(np.int32), documents[kept], occurrences[kept]


def sum_classes(
    indptr: Integers,
    indices: Integers32,
    counts: Array,
    classes: Integers32,
    n_features: int,
    n_classes: int,
) -> Entries:
    """Return the sums of rows by feature and class.

    counts   (n_entries,) int32 or float64
    classes  (n_rows,), 0 to n_classes - 1
    raises   ValueError: a feature or a class is out of range
    """
    for numbers, size in ((indices, n_features), (classes, n_classes)):
        if not 0 <= numbers.min(initial=0) <= numbers.max(initial=0) < max(1, size):
            raise ValueError("a feature or a class of the rows is out of range")
    keys = indices.astype(np.int64) * n_classes + np.repeat(classes, np.diff(indptr))
    found, places = np.unique(keys, return_inverse=True)
    documents = np.bincount(places, minlength=len(found))
    sums = np.bincount(places, counts, len(found))  # in the order of the documents
    features, of_class = np.divmod(found, max(1, n_classes))
    bounds = np.searchsorted(features, np.arange(n_features + 1))
    dtype = np.int64 if counts.dtype.kind == "i" else np.float64
    return bounds, of_class.astype(np.int32), documents, sums.astype(dtype)


def left_out_sums(
    rows: CountedRows,
    own: tuple[Integers, Integers32, Integers],
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
    for classes in (w_classes, own[1]):
        if classes.min(initial=0) < 0 or classes.max(initial=-1) >= n_classes:
            raise ValueError(
                "the classes of the corpus and the classes of the rows must be below n_classes"
            )
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
    rest = np.zeros(len(indices), np.int64)
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
        base = np.bincount(owners, counts * rest_logs, n_rows)
        by_class = np.bincount(places, times * changes, n_rows * n_classes)
        sums[:, :, a] = base[:, None] + by_class.reshape(n_rows, n_classes)
    return sums


def _log_ratios(counts: Integers, smoothing: float, log_smoothing: float, table: Floats) -> Floats:
    """Return log(1 + count / smoothing) of each count."""
    logs = table[np.minimum(counts, len(table) - 1)]
    for entry in np.flatnonzero(counts >= len(table)):
        logs[entry] = log(counts[entry] + smoothing) - log_smoothing
    return logs


def left_out_products(
    rows: CountedRows,
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
    indptr, features, counts = rows
    starts, places, own_occurrences, own_mu = own
    n_rows = len(indptr) - 1
    mantissas = np.full((n_rows, len(mu)), 0.5)
    exponents = np.ones((n_rows, len(mu)))
    first = 0  # of the places of a row: those of all of its entries in each of its classes
    for row in range(n_rows):
        entries = slice(indptr[row], indptr[row + 1])
        pairs = slice(starts[row], starts[row + 1])
        shape = int(starts[row + 1] - starts[row]), int(indptr[row + 1] - indptr[row])
        last = first + shape[0] * shape[1]
        own_places = places[first:last].reshape(shape)
        of_own = own_occurrences[first:last].reshape(shape)
        first = last
        for i, feature in enumerate(features[entries].tolist()):
            entry = indptr[row] + i
            bounds = corpus[0][feature : feature + 2]
            at = own_places[:, i] - bounds[0]
            if ((at < 0) | (at >= bounds[1] - bounds[0])).any():
                raise ValueError("a document is not part of the corpus")
            if left[0][entry] <= 0:
                continue
            classes = corpus[1][slice(*bounds)]
            occurrences = corpus[2][slice(*bounds)].copy()
            occurrences[at] = of_own[:, i]
            of_classes = mu[classes]
            of_classes[at] = own_mu[pairs]
            added = left[1][entry] * of_classes
            factors = (occurrences + added) * (totals[row] + of_classes)
            factors /= (left[0][entry] - occurrences + added) * of_classes
            remaining = int(counts[entry])
            while remaining > 0:
                repeats = min(remaining, int(limits[row]))
                remaining -= repeats
                products = np.frexp(mantissas[row, classes] * _raise(factors, repeats))
                mantissas[row, classes] = products[0]
                exponents[row, classes] += products[1]
    return mantissas, exponents


def _raise(bases: Floats, exponent: int) -> Floats:
    """Return the powers, by squaring, with the rounding of the kernel."""
    results = np.ones(len(bases))
    while True:
        if exponent & 1:
            results *= bases
        exponent >>= 1
        if exponent == 0:
            return results
        bases = bases * bases
