# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums and leave-one-out scores of class statistics, compiled. `plain.py` is the pure-Python version.

Feature j has the entries indptr[j]:indptr[j + 1], one for each class that has it, in ascending order of the class.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t

import numpy as np

from nbtext.bayes.class_rows cimport ClassRows, Counted, fetch, nb_add_multiple, release_rows, reserve_rows, row_of
from nbtext.features.kernel.memory cimport is_indptr

ctypedef fused Number:
    int64_t
    double

cdef enum:
    # A feature has rows for complements from which 1, 2, ... occurrences are removed, up to the largest count of these
    # documents: fewer rows for each feature leave memory for more features.
    MAX_REMOVED = 4

cdef int64_t NO_CLASS = 0x80000000


cdef int64_t combine(
    Counted a, const Number* occurrences_a, Counted b, const Number* occurrences_b, int64_t sign, size_t n_features,
    int64_t* ends, int32_t* classes, int64_t* documents, Number* occurrences
) noexcept nogil:
    """Write the entries of a + sign * b that are not zero; return their number, or -1 if one is negative."""
    cdef size_t feature
    cdef int64_t i, k, d, n = 0
    cdef int64_t of_a, of_b  # NO_CLASS, above all int32, if the feature has no more entries
    cdef Number t
    for feature in range(n_features):
        i, k = a.starts[feature], b.starts[feature]
        while i < a.starts[feature + 1] or k < b.starts[feature + 1]:
            of_a = a.classes[i] if i < a.starts[feature + 1] else NO_CLASS
            of_b = b.classes[k] if k < b.starts[feature + 1] else NO_CLASS
            d, t = 0, 0
            if of_a <= of_b:
                d, t = a.documents[i], occurrences_a[i]
                i += 1
            if of_b <= of_a:
                d, t = d + sign * b.documents[k], t + sign * occurrences_b[k]
                k += 1
            if d < 0 or t < 0:
                return -1
            if d > 0:
                classes[n], documents[n], occurrences[n] = <int32_t> min(of_a, of_b), d, t
                n += 1
        ends[feature + 1] = n
    return n


cdef class Entries:
    """The checked arrays of class statistics."""

    cdef Counted counted
    cdef const int64_t* whole  # occurrences if they are counts
    cdef const double* real  # occurrences if they are weights
    cdef list held  # keeps the arrays alive

    def __init__(self, indptr, classes, documents, occurrences):
        cdef const int64_t[::1] starts = indptr, documents_view = documents, whole
        cdef const int32_t[::1] classes_view = classes
        cdef const double[::1] real
        if not is_indptr(starts, len(classes)) or not len(classes) == len(documents) == len(occurrences):
            raise ValueError("the arrays of the statistics do not fit each other")
        self.held = [indptr, classes, documents, occurrences]
        self.counted = Counted(&starts[0], NULL, NULL)
        if len(classes) == 0:
            return
        self.counted.classes, self.counted.documents = &classes_view[0], &documents_view[0]
        if occurrences.dtype == np.float64:
            real = occurrences
            self.real = &real[0]
        else:
            whole = occurrences
            self.whole = &whole[0]


def combine_entries(a, b, sign):
    """Return the entries of a + sign * b that are not zero, or None if one is negative; see plain.py."""
    cdef size_t n_features = len(a[0]) - 1, size = len(a[1]) + len(b[1])
    cdef int64_t n, by = sign
    dtype = np.promote_types(a[3].dtype, b[3].dtype)
    cdef Entries one = Entries(*a[:3], a[3].astype(dtype, copy=False))
    cdef Entries other = Entries(*b[:3], b[3].astype(dtype, copy=False))
    if len(a[0]) != len(b[0]):
        raise ValueError("the statistics have different shapes: align them first")
    # one more than is written, so that the last address is valid
    ends, k = np.zeros(n_features + 1, dtype=np.int64), np.empty(size + 1, dtype=np.int32)
    d, t = np.empty(size + 1, dtype=np.int64), np.empty(size + 1, dtype=dtype)
    cdef int64_t[::1] to_ends = ends, to_documents = d, whole
    cdef int32_t[::1] to_classes = k
    cdef double[::1] real
    if dtype == np.float64:
        real = t
        with nogil:
            n = combine[double](
                one.counted, one.real, other.counted, other.real, by, n_features,
                &to_ends[0], &to_classes[0], &to_documents[0], &real[0]
            )
    else:
        whole = t
        with nogil:
            n = combine[int64_t](
                one.counted, one.whole, other.counted, other.whole, by, n_features,
                &to_ends[0], &to_classes[0], &to_documents[0], &whole[0]
            )
    return None if n < 0 else (ends, k[:n], d[:n], t[:n])


cdef struct Logarithms:
    const double* table  # (n_rows, n_smoothings), log(1 + row / smoothing)
    int64_t n_rows
    const double* smoothings
    const double* log_smoothings
    size_t n_smoothings


cdef inline double log_ratio(const Logarithms* logs, int64_t count, size_t a) noexcept nogil:
    """Return log(1 + count / smoothing) for smoothing number a."""
    if count < logs.n_rows:
        return logs.table[count * logs.n_smoothings + a]
    return log(count + logs.smoothings[a]) - logs.log_smoothings[a]


cdef inline void add_gains(const Logarithms* logs, int64_t others, double count, double* gains) noexcept nogil:
    """Add count * log(1 + others / smoothing) for each smoothing."""
    cdef size_t a
    if others < logs.n_rows:
        if logs.n_smoothings == 1:  # the usual case, without a loop
            gains[0] += count * logs.table[others]
            return
        for a in range(logs.n_smoothings):
            gains[a] += count * logs.table[others * logs.n_smoothings + a]
    else:
        for a in range(logs.n_smoothings):
            gains[a] += count * (log(others + logs.smoothings[a]) - logs.log_smoothings[a])


cdef bint add_left_out(
    const Counted* corpus, const int64_t* occurrences, int64_t n_features, const int32_t* features,
    const int32_t* counts, size_t length, int32_t own, const Logarithms* logs, ClassRows* rows, double* own_gains,
    double* gains
) noexcept nogil:
    """Add the gains of a document in each class, its own counts left out; return False if it is not part of the corpus.

    own_gains  memory for a sum for each smoothing
    """
    cdef size_t i
    cdef int64_t entry, others, row
    for i in range(logs.n_smoothings):
        own_gains[i] = 0
    for i in range(length):
        if not fetch(corpus, occurrences, rows, n_features, features, i, length, own, NULL):
            return False
        row = row_of(rows, corpus, occurrences, features[i])
        if row >= 0:
            others = rows.occurrences[row * rows.n_classes + own]
            if 0 < others < counts[i]:
                return False
            if others > counts[i]:
                add_gains(logs, others - counts[i], counts[i], own_gains)
            nb_add_multiple(gains, gains_of_row(corpus, logs, rows, features[i], row), counts[i], rows.width)
            continue
        for entry in range(corpus.starts[features[i]], corpus.starts[features[i] + 1]):
            if corpus.classes[entry] != own:
                add_gains(logs, occurrences[entry], counts[i], gains + corpus.classes[entry] * logs.n_smoothings)
            elif occurrences[entry] < counts[i]:
                return False
            else:
                add_gains(logs, occurrences[entry] - counts[i], counts[i], own_gains)
    for i in range(logs.n_smoothings):
        gains[own * logs.n_smoothings + i] = own_gains[i]
    return True


cdef inline const double* gains_of_row(
    const Counted* corpus, const Logarithms* logs, ClassRows* rows, int64_t feature, int64_t row
) noexcept nogil:
    """Return log(1 + t / smoothing) of a feature for each class and smoothing."""
    cdef double* found = rows.logs + row * rows.width
    cdef size_t a, k
    if not rows.is_filled[row]:
        rows.is_filled[row] = True
        for k in range(rows.n_classes):
            for a in range(logs.n_smoothings):
                found[k * logs.n_smoothings + a] = log_ratio(logs, rows.occurrences[row * rows.n_classes + k], a)
    return found


cdef class Rows:
    """Memory for dense rows of the features of a corpus."""

    cdef ClassRows rows

    def __init__(self, corpus, n_classes, n_smoothings, depth, has_own):
        self.rows.n_classes, self.rows.n_smoothings = n_classes, n_smoothings
        self.rows.width = max(1, n_classes * n_smoothings)
        if not reserve_rows(&self.rows, len(corpus[0]) - 1, depth, has_own):
            raise MemoryError

    def __dealloc__(self):
        release_rows(&self.rows)


cdef check_arrays(
    const int64_t[::1] starts, const int32_t[::1] features, const int32_t[::1] counts, Py_ssize_t n_rows, corpus,
    Py_ssize_t n_classes, const double[::1] smoothings, const double[::1] log_smoothings, const double[:, ::1] table
):
    """Raise ValueError unless the arrays of documents, of the corpus and of logarithms have the same sizes and range."""
    if len(starts) != n_rows + 1 or not is_indptr(starts, len(features)) or len(counts) != len(features):
        raise ValueError("the arrays of the rows do not fit each other")
    if not 0 < len(smoothings) == len(log_smoothings) == table.shape[1] or len(table) == 0:
        raise ValueError("the table must have a column of logarithms for each smoothing")
    if corpus[3].dtype != np.int64 or len(corpus[1]) and not 0 <= corpus[1].min() <= corpus[1].max() < n_classes:
        raise ValueError("the occurrences must be int64, and the classes below n_classes")


def left_out_gains(rows, row_classes, corpus, n_classes, smoothings, log_smoothings, table):
    """Return the sum of counts * log(1 + t / smoothing) of each document in each class, t without the document itself.

    rows        (indptr, indices, counts), int32 counts: documents of the corpus
    corpus      (indptr, classes, documents, occurrences), int64 occurrences
    table       (n, n_smoothings), log(1 + t / smoothing) for t = 0 ... n - 1
    returns     (n_documents, n_classes, n_smoothings); t is the occurrences of a feature in a class
    raises      ValueError: a document is not part of the corpus
    """
    cdef Entries entries = Entries(*corpus)
    cdef const int64_t[::1] starts = rows[0]
    cdef const int32_t[::1] features = rows[1], counts = rows[2], own = row_classes
    cdef const double[::1] alphas = smoothings, log_alphas = log_smoothings
    cdef const double[:, ::1] logarithms = table
    cdef int64_t n_features = len(corpus[0]) - 1
    cdef Py_ssize_t row, n_rows = len(row_classes)
    cdef bint is_part = True
    cdef Logarithms logs
    check_arrays(starts, features, counts, n_rows, corpus, n_classes, alphas, log_alphas, logarithms)
    logs = Logarithms(&logarithms[0, 0], len(table), &alphas[0], &log_alphas[0], len(smoothings))
    gains, memory = np.zeros((n_rows, n_classes, len(smoothings)), dtype=np.float64), np.empty(len(smoothings))
    cdef double[:, :, ::1] to_gains = gains
    cdef double[::1] to_memory = memory
    cdef Rows dense = Rows(corpus, n_classes, len(smoothings), 1, False)
    if len(features) and n_classes:
        with nogil:
            for row in range(n_rows):
                is_part &= add_left_out(
                    &entries.counted, entries.whole, n_features, &features[0] + starts[row], &counts[0] + starts[row],
                    starts[row + 1] - starts[row], own[row], &logs, &dense.rows, &to_memory[0], &to_gains[row, 0, 0]
                )
    if not is_part:
        raise ValueError("a document is not part of the corpus")
    return gains


cdef bint add_complements(
    const Counted* corpus, const int64_t* occurrences, const int64_t* everywhere, int64_t n_features,
    const int32_t* features, const int32_t* counts, size_t length, int32_t own, int64_t copies, int64_t others,
    const Logarithms* logs, ClassRows* rows, double* memory, double* base, double* changes
) noexcept nogil:
    """Add the sums of a document over the complement of each class, without the document; False if it is not counted.

    base     is of the classes that have none of the features; changes are the differences of the other classes
    memory   for a logarithm and a sum for each smoothing
    """
    cdef size_t i, a, S = logs.n_smoothings
    cdef int64_t entry, rest, left, row, removed
    cdef double* change
    cdef double* rest_logs = memory
    cdef double* own_changes = memory + S
    for a in range(S):
        own_changes[a] = 0
    for i in range(length):
        if not fetch(corpus, occurrences, rows, n_features, features, i, length, own, everywhere):
            return False
        removed = copies * counts[i]
        rest = everywhere[features[i]] - removed
        if rest < 0:
            return False
        row = row_of(rows, corpus, occurrences, features[i])
        if row >= 0 and others == 0 and 1 <= removed <= <int64_t> rows.depth:
            row += (removed - 1) * rows.limit
            if not rows.is_filled[row]:
                fill_changes(logs, rows, row, rest, everywhere[features[i]])
            nb_add_multiple(changes, rows.logs + row * rows.width, counts[i], rows.width)
            nb_add_multiple(own_changes, rows.of_own + row * rows.width + own * S, counts[i], S)
            nb_add_multiple(base, rows.rests + row * S, counts[i], S)
            continue
        for a in range(S):
            rest_logs[a] = log_ratio(logs, rest, a)
            base[a] += counts[i] * rest_logs[a]
        for entry in range(corpus.starts[features[i]], corpus.starts[features[i] + 1]):
            if corpus.classes[entry] != own:
                left, change = rest - occurrences[entry], changes + corpus.classes[entry] * S
                left = max(0, left)  # below 0 if the class has copies too; its score is taken from a row of its own
            else:
                left, change = everywhere[features[i]] - occurrences[entry] - others * counts[i], own_changes
                if left < 0:
                    return False
            for a in range(S):
                change[a] += counts[i] * (log_ratio(logs, left, a) - rest_logs[a])
    for a in range(S):
        changes[own * S + a] = own_changes[a]
    return True


cdef void fill_changes(const Logarithms* logs, ClassRows* rows, int64_t row, int64_t rest, int64_t all) noexcept nogil:
    """Write the logarithm of a feature's remaining count for each smoothing, and its differences for each class.

    rest, all  occurrences of the feature in all classes, without and with those that are removed from them
    """
    cdef const int64_t* occurrences = rows.occurrences + row % rows.limit * rows.n_classes
    cdef double* rest_logs = rows.rests + row * logs.n_smoothings
    cdef double* changes = rows.logs + row * rows.width
    cdef double* of_own = rows.of_own + row * rows.width
    cdef size_t a, k
    rows.is_filled[row] = True
    for a in range(logs.n_smoothings):
        rest_logs[a] = log_ratio(logs, rest, a)
    for k in range(rows.n_classes):
        for a in range(logs.n_smoothings):
            changes[a] = of_own[a] = 0
            if occurrences[k]:
                changes[a] = log_ratio(logs, max(0, rest - occurrences[k]), a) - rest_logs[a]
                of_own[a] = log_ratio(logs, all - occurrences[k], a) - rest_logs[a]
        changes += logs.n_smoothings
        of_own += logs.n_smoothings


def left_out_complements(rows, row_classes, copies, corpus, everywhere, n_classes, logarithms):
    """Return the sum of counts * log(1 + t / smoothing) of each document over the complement of each class.

    rows        (indptr, indices, counts), int32 counts: documents of the corpus
    copies      (n_documents,) int64, of the document in its class, and in all classes
    corpus      (indptr, classes, documents, occurrences), int64 occurrences
    everywhere  (n_features,) int64, the occurrences of each feature in all classes
    logarithms  smoothings, their logarithms, and the table (n, n_smoothings) of log(1 + t / smoothing), t = 0 ... n - 1
    returns     (n_documents, n_classes, n_smoothings); t is the occurrences of a feature in all other classes, without
                the copies of the document in them
    raises      ValueError: a document is not part of the corpus
    """
    cdef Entries entries = Entries(*corpus)
    cdef const int64_t[::1] starts = rows[0], of_class = copies[0], of_all = copies[1], totals = everywhere
    cdef const int32_t[::1] features = rows[1], counts = rows[2], own = row_classes
    cdef const double[::1] alphas = logarithms[0], log_alphas = logarithms[1]
    cdef const double[:, ::1] table = logarithms[2]
    cdef int64_t n_features = len(corpus[0]) - 1
    cdef Py_ssize_t row, n_rows = len(row_classes), n_smoothings = len(alphas)
    cdef bint is_part = True
    cdef Logarithms logs
    check_arrays(starts, features, counts, n_rows, corpus, n_classes, alphas, log_alphas, table)
    if not len(of_class) == len(of_all) == n_rows or len(everywhere) != n_features:
        raise ValueError("there must be copies for each document, and occurrences of each feature")
    logs = Logarithms(&table[0, 0], len(table), &alphas[0], &log_alphas[0], n_smoothings)
    sums, base = np.zeros((n_rows, n_classes, n_smoothings)), np.zeros((n_rows, 1, n_smoothings))
    memory = np.zeros(2 * n_smoothings)
    cdef Rows dense = Rows(corpus, n_classes, n_smoothings, min(MAX_REMOVED, rows[2].max(initial=1)), True)
    cdef double[:, :, ::1] to_sums = sums, to_base = base
    cdef double[::1] to_memory = memory
    if len(features) and n_classes:
        with nogil:
            for row in range(n_rows):
                is_part &= add_complements(
                    &entries.counted, entries.whole, &totals[0], n_features, &features[0] + starts[row],
                    &counts[0] + starts[row], starts[row + 1] - starts[row], own[row], of_all[row],
                    of_all[row] - of_class[row], &logs, &dense.rows, &to_memory[0], &to_base[row, 0, 0], &to_sums[row, 0, 0]
                )
    if not is_part:
        raise ValueError("a document is not part of the corpus")
    sums += base
    return sums
