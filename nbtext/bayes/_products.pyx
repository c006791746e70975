# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Products for the leave-one-out scores of several labels, compiled. `plain.py` has the pure-Python version."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from nbtext.features.kernel.memory cimport is_indptr

cdef double LARGE = 2.0**500, LARGE_EXPONENT = 500  # larger products are divided by a power of 2


cdef struct Factors:
    const double* added
    double scale
    int64_t limit


cdef struct OwnClasses:
    const int32_t* classes
    const double* copies
    size_t size


cdef inline double factor_of(double t, double left, double added, double scale) noexcept nogil:
    return (t + added) / ((left - t + added) * scale)


cdef bint fill_factors(
    const int32_t* classes, const double* occurrences, size_t width, OwnClasses own, double count, double left,
    double added, double scale, double* factors
) noexcept nogil:
    """Write the factor of each class that has a feature; return False if a document is not part of the corpus."""
    cdef size_t i, k, low, high, middle
    cdef double t
    for i in range(width):  # without a branch, so that the compiler computes several at once
        factors[i] = factor_of(occurrences[i], left, added, scale)
    for k in range(own.size):
        low, high = 0, width
        while low < high:
            middle = (low + high) // 2
            if classes[middle] < own.classes[k]:
                low = middle + 1
            else:
                high = middle
        if low == width or classes[low] != own.classes[k]:
            return False
        t = occurrences[low] - own.copies[k] * count
        if t < 0:
            return False
        factors[low] = factor_of(t, left, added, scale)
    return True


cdef void raise_powers(double* bases, size_t width, int64_t exponent, double* results) noexcept nogil:
    """Write the powers to `bases`, by squaring: the plain version rounds in the same order."""
    cdef size_t i
    for i in range(width):
        results[i] = 1.0
    while True:
        if exponent & 1:
            for i in range(width):
                results[i] *= bases[i]
        exponent >>= 1
        if exponent == 0:
            break
        for i in range(width):
            bases[i] *= bases[i]
    for i in range(width):
        bases[i] = results[i]


cdef bint multiply_factors(
    const int64_t* starts, const int32_t* classes, const double* occurrences, int64_t n_features,
    const int32_t* features, const int32_t* counts, const double* left, size_t length, OwnClasses own,
    Factors factors, size_t n_classes, double* memory, double* products, double* exponents
) noexcept nogil:
    """Multiply the product of each class by the factors of a document; return False if it is not part of the corpus.

    memory  for 2 * n_classes numbers
    """
    cdef size_t i, k, width
    cdef int64_t first, budget = factors.limit, remaining, repeats
    for i in range(length):
        if not 0 <= features[i] < n_features:
            return False
        if left[i] <= 0:
            continue
        first, width, remaining = starts[features[i]], starts[features[i] + 1] - starts[features[i]], counts[i]
        while remaining > 0:
            repeats = min(remaining, factors.limit)
            if repeats > budget:
                for k in range(n_classes):
                    if products[k] >= LARGE:
                        products[k] *= 1 / LARGE
                        exponents[k] += LARGE_EXPONENT
                budget = factors.limit
            budget -= repeats
            remaining -= repeats
            if not fill_factors(
                classes + first, occurrences + first, width, own, counts[i], left[i], factors.added[i],
                factors.scale, memory
            ):
                return False
            if repeats > 1:
                raise_powers(memory, width, repeats, memory + n_classes)
            for k in range(width):
                products[classes[first + k]] *= memory[k]
    return True


def left_out_products(rows, own, corpus, n_classes, left, scales, limits):
    """Return the product of the factors of each document and class, as mantissas and exponents of 2; see plain.py."""
    cdef const int64_t[::1] starts = rows[0], own_starts = own[0], w_starts = corpus[0], most = limits
    cdef const int32_t[::1] features = rows[1], counts = rows[2], own_classes = own[1], classes = corpus[1]
    cdef const double[::1] own_copies = own[2], occurrences = corpus[2], entry_left = left[0], entry_added = left[1]
    cdef const double[::1] row_scales = scales
    cdef Py_ssize_t row, n_rows = len(starts) - 1, size = n_classes
    cdef int64_t n_features = len(w_starts) - 1
    cdef bint is_part = True
    cdef Factors factors
    cdef OwnClasses own_part
    if not is_indptr(starts, len(features)) or not is_indptr(own_starts, len(own_classes)):
        raise ValueError("the arrays of the rows do not fit each other")
    if not len(counts) == len(features) == len(entry_left) == len(entry_added) or len(own_copies) != len(own_classes):
        raise ValueError("there must be values for each entry")
    if not len(own_starts) - 1 == len(row_scales) == len(most) == n_rows or n_rows and limits.min() < 1:
        raise ValueError("there must be labels, a scale and a limit for each document")
    if not is_indptr(w_starts, len(classes)) or len(occurrences) != len(classes):
        raise ValueError("the arrays of the statistics do not fit each other")
    for each in (corpus[1], own[1]):
        if len(each) and not 0 <= each.min() <= each.max() < size:
            raise ValueError("the classes must be below n_classes")
    products, exponents, memory = np.ones((n_rows, size)), np.zeros((n_rows, size)), np.empty(2 * size)
    cdef double[:, ::1] to_products = products, to_exponents = exponents
    cdef double[::1] to_memory = memory
    if len(features) and size and len(classes):
        with nogil:
            for row in range(n_rows):
                own_part = OwnClasses(NULL, NULL, own_starts[row + 1] - own_starts[row])
                if own_part.size:
                    own_part.classes, own_part.copies = &own_classes[own_starts[row]], &own_copies[own_starts[row]]
                factors = Factors(&entry_added[0] + starts[row], row_scales[row], most[row])
                is_part &= multiply_factors(
                    &w_starts[0], &classes[0], &occurrences[0], n_features, &features[0] + starts[row],
                    &counts[0] + starts[row], &entry_left[0] + starts[row], starts[row + 1] - starts[row], own_part,
                    factors, size, &to_memory[0], &to_products[row, 0], &to_exponents[row, 0]
                )
    if not is_part:
        raise ValueError("a document is not part of the corpus")
    return products, exponents
