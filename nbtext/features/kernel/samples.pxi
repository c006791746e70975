# Rows of a sample: picked out, and looked up in the statistics of their class.

cdef void copy_rows(
    const int64_t[::1] starts, const int32_t[::1] indices, const Value[::1] counts, const int64_t[::1] picked,
    const int64_t[::1] ends, int32_t[::1] to_indices, double[::1] to_weights, int32_t[::1] to_counts
) noexcept nogil:
    cdef Py_ssize_t row
    cdef int64_t start, length
    for row in range(picked.shape[0]):
        start, length = starts[picked[row]], ends[row + 1] - ends[row]
        if length:
            memcpy(&to_indices[ends[row]], &indices[start], length * sizeof(int32_t))
            if Value is double:
                memcpy(&to_weights[ends[row]], &counts[start], length * sizeof(double))
            else:
                memcpy(&to_counts[ends[row]], &counts[start], length * sizeof(int32_t))


def take_rows(indptr, indices, counts, picked):
    """The rows of these numbers, in this order: (indptr, indices, counts)."""
    cdef const int64_t[::1] starts = indptr, rows = picked
    cdef const int32_t[::1] columns = indices, numbers
    cdef const double[::1] weights
    if len(indices) != len(counts) or not is_indptr(starts, len(indices)):
        raise ValueError("the arrays of the rows do not fit each other")
    ends = np.zeros(len(picked) + 1, dtype=np.int64)
    np.cumsum(np.diff(indptr)[picked], out=ends[1:])
    if len(picked) and not 0 <= picked.min() <= picked.max() < len(indptr) - 1:
        raise ValueError("there is no such row")
    taken_indices, taken_counts = np.empty(ends[len(picked)], dtype=np.int32), np.empty(ends[len(picked)], dtype=counts.dtype)
    cdef const int64_t[::1] bounds = ends
    cdef int32_t[::1] to_indices = taken_indices, to_counts
    cdef double[::1] to_weights
    if counts.dtype == np.float64:
        weights, to_weights = counts, taken_counts
        with nogil:
            copy_rows[double](starts, columns, weights, rows, bounds, to_indices, to_weights, to_counts)
    else:
        numbers, to_counts = counts, taken_counts
        with nogil:
            copy_rows[int32_t](starts, columns, numbers, rows, bounds, to_indices, to_weights, to_counts)
    return ends, taken_indices, taken_counts


cdef inline int64_t entry_of(const int32_t* classes, int64_t low, int64_t high, int32_t wanted) noexcept nogil:
    """Where the ascending classes[low:high] hold the wanted one; -1 where they do not."""
    cdef int64_t end = high, middle
    while low < high:
        middle = (low + high) >> 1
        if classes[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and classes[low] == wanted else -1


cdef bint find_entries(
    const int64_t[::1] starts, const int32_t[::1] indices, const int32_t[::1] wanted, const int64_t[::1] bounds,
    const int32_t[::1] classes, int64_t[::1] positions
) noexcept nogil:
    """Look up each entry of the rows; False where one is not there."""
    cdef Py_ssize_t row
    cdef int64_t entry
    cdef bint is_complete = True
    for row in range(starts.shape[0] - 1):
        for entry in range(starts[row], starts[row + 1]):
            if not 0 <= indices[entry] < bounds.shape[0] - 1:
                return False
            positions[entry] = entry_of(&classes[0], bounds[indices[entry]], bounds[indices[entry] + 1], wanted[row])
            is_complete &= positions[entry] >= 0
    return is_complete


def entry_positions(indptr, indices, row_classes, w_indptr, w_classes):
    """For each entry of the rows, where (its feature, its row's class) stands among a feature-major list of entries.

    raises  ValueError: it is not there
    """
    cdef const int64_t[::1] starts = indptr, bounds = w_indptr
    cdef const int32_t[::1] features = indices, wanted = row_classes, classes = w_classes
    positions = np.empty(len(indices), dtype=np.int64)
    cdef int64_t[::1] found = positions
    cdef bint is_complete = True
    if len(row_classes) != len(indptr) - 1 or not is_indptr(starts, len(indices)) or not is_indptr(bounds, len(w_classes)):
        raise ValueError("the arrays of the rows do not fit each other")
    if len(indices):
        if len(w_classes) == 0:
            raise ValueError("the rows are no part of these entries")
        with nogil:
            is_complete = find_entries(starts, features, wanted, bounds, classes, found)
    if not is_complete:
        raise ValueError("the rows are no part of these entries")
    return positions
