# Operations on sorted vocabularies and CSR rows, compiled.

cdef enum:
    MAX_EXPANSION = 2  # elements of a dense matrix for each sparse delta


cdef object copy_to_array(const void* data, size_t count, object dtype):
    """Return a new array with a copy of these items."""
    array = np.empty(count, dtype=dtype)
    cdef uint8_t[::1] target = array.view(np.uint8)
    if count:
        memcpy(&target[0], data, target.shape[0])
    return array


cdef object take_array(Buffer* buffer, size_t count, object dtype):
    """Return an array of the items of a buffer, whose memory is released."""
    array = copy_to_array(buffer.data, count, dtype)
    release(buffer)
    return array


cdef class Weights:
    """The checked arrays of a linear scorer."""

    cdef Scorer scorer
    cdef object source
    cdef tuple held
    cdef Buffer dense

    def __init__(self, source):
        self.source = source
        self.held = (source.bias, source.default, source.base, source.base_scale, source.indptr, source.classes, source.deltas, source.rows)
        cdef const double[::1] bias, default, base, scale, deltas
        cdef const int64_t[::1] indptr
        cdef const int32_t[::1] classes, rows
        bias, default, base, scale, indptr, classes, deltas, rows = self.held
        cdef size_t n_rows = len(indptr) - 1, n_features = n_rows if rows is None else len(rows)
        if len(default) != len(bias) or len(classes) != len(deltas) or len(indptr) == 0 or (base is None) != (scale is None):
            raise ValueError("the arrays of the scorer do not fit each other")
        if base is not None and (<size_t> len(base) != n_features or len(scale) != len(bias)):
            raise ValueError("the base of the scorer does not fit its other arrays")
        self.scorer = Scorer(
            len(bias), n_features, n_rows, len(deltas), &bias[0], &default[0], NULL, NULL, NULL, &indptr[0], &classes[0], &deltas[0], NULL
        )
        if rows is not None:
            self.scorer.rows = &rows[0]
        if base is not None:
            self.scorer.base = &base[0]
            self.scorer.base_scale = &scale[0]

    def __dealloc__(self):
        release(&self.dense)

    cdef int expand(self) except -1:
        """Expand the deltas to a dense matrix if it is not much larger: then each feature is one contiguous read."""
        cdef Scorer* scorer = &self.scorer
        cdef size_t feature, size = scorer.n_features * scorer.n_classes
        cdef int64_t entry, row
        cdef double* dense
        if size == 0 or size > MAX_EXPANSION * scorer.n_entries:
            return 0
        reserve_zeros(&self.dense, size, sizeof(double))
        dense = <double*> self.dense.data
        for feature in range(scorer.n_features):
            row = row_of(scorer, feature)
            if row < 0:
                return 0
            for entry in range(scorer.indptr[row], scorer.indptr[row + 1]):
                if not 0 <= scorer.classes[entry] < <int64_t> scorer.n_classes:
                    return 0
                dense[feature * scorer.n_classes + scorer.classes[entry]] += scorer.deltas[entry]
        scorer.dense = dense
        return 0


cdef struct Terms:
    const uint8_t* blob
    const int64_t* offsets
    size_t count


cdef inline int compare_terms(const Terms* a, size_t i, const Terms* b, size_t k) noexcept nogil:
    """Compare two terms: return < 0, 0 or > 0."""
    cdef int64_t length_a = a.offsets[i + 1] - a.offsets[i], length_b = b.offsets[k + 1] - b.offsets[k]
    cdef int difference = memcmp(a.blob + a.offsets[i], b.blob + b.offsets[k], min(length_a, length_b))
    return difference if difference else (length_a > length_b) - (length_a < length_b)


def are_ascending(blob, offsets):
    """Return whether each name is greater than the one before it."""
    check_terms(blob, offsets)
    cdef const uint8_t[::1] text = blob
    cdef const int64_t[::1] bounds = offsets
    cdef Terms terms = Terms(&text[0], &bounds[0], len(offsets) - 1)
    cdef size_t i
    for i in range(1, terms.count):
        if compare_terms(&terms, i - 1, &terms, i) >= 0:
            return False
    return True


cdef size_t merge_terms(
    const Terms* a, const Terms* b, uint8_t* blob, int64_t* offsets, int32_t* columns_a, int32_t* columns_b
) noexcept nogil:
    """Write the union of two vocabularies; return its number of terms."""
    cdef size_t i = 0, k = 0, count = 0
    cdef int order
    cdef int64_t length
    offsets[0] = 0
    while i < a.count or k < b.count:
        order = 1 if i == a.count else -1 if k == b.count else compare_terms(a, i, b, k)
        if order <= 0:
            length = a.offsets[i + 1] - a.offsets[i]
            memcpy(blob + offsets[count], a.blob + a.offsets[i], length)
            columns_a[i] = <int32_t> count
            i += 1
        if order >= 0:
            length = b.offsets[k + 1] - b.offsets[k]
            memcpy(blob + offsets[count], b.blob + b.offsets[k], length)
            columns_b[k] = <int32_t> count
            k += 1
        offsets[count + 1] = offsets[count] + length
        count += 1
    return count


def merge_sorted(blob_a, offsets_a, blob_b, offsets_b):
    """Return the union of two sorted vocabularies (blob, offsets), and the column in it of each feature of either."""
    check_terms(blob_a, offsets_a)
    check_terms(blob_b, offsets_b)
    cdef const uint8_t[::1] text_a = blob_a, text_b = blob_b
    cdef const int64_t[::1] bounds_a = offsets_a, bounds_b = offsets_b
    cdef Terms a = Terms(&text_a[0], &bounds_a[0], len(offsets_a) - 1)
    cdef Terms b = Terms(&text_b[0], &bounds_b[0], len(offsets_b) - 1)
    cdef size_t count
    if a.count + b.count > MAX_NODES:
        raise OverflowError("more than 2**31 features")
    blob = np.empty(len(blob_a) + len(blob_b) + 1, dtype=np.uint8)
    offsets = np.empty(a.count + b.count + 1, dtype=np.int64)
    columns_a = np.empty(a.count + 1, dtype=np.int32)
    columns_b = np.empty(b.count + 1, dtype=np.int32)
    cdef uint8_t[::1] text = blob
    cdef int64_t[::1] bounds = offsets
    cdef int32_t[::1] places_a = columns_a, places_b = columns_b
    with nogil:
        count = merge_terms(&a, &b, &text[0], &bounds[0], &places_a[0], &places_b[0])
    return blob[: offsets[count]].copy(), offsets[: count + 1].copy(), columns_a[: a.count], columns_b[: b.count]


cdef bint score_all(
    const Scorer* scorer, const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] values, double[:, ::1] scores
) noexcept nogil:
    """Score each row; return False if rows and scorer do not match."""
    cdef Py_ssize_t row
    cdef bint is_sound_scorer = True
    for row in range(indices.shape[0]):
        if <uint32_t> indices[row] >= scorer.n_features:
            return False
    for row in range(indptr.shape[0] - 1):
        is_sound_scorer &= add_scores(
            scorer, &indices[indptr[row]], &values[indptr[row]], <size_t> (indptr[row + 1] - indptr[row]), &scores[row, 0]
        )
    return is_sound_scorer


def score_rows(indptr, indices, values, scorer):
    """Return scores (n_documents, n_classes) of rows by a sparse linear scorer."""
    cdef Weights weights = Weights(scorer)
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] features = indices
    cdef const double[::1] weights_of_entries = values.astype(np.float64, copy=False)
    cdef bint is_sound_scorer
    if len(values) != len(indices) or not is_indptr(starts, len(indices)):
        raise ValueError("the arrays of the rows do not fit each other")
    scores = np.empty((len(indptr) - 1, weights.scorer.n_classes), dtype=np.float64)
    cdef double[:, ::1] scores_view = scores
    with nogil:
        is_sound_scorer = score_all(&weights.scorer, starts, features, weights_of_entries, scores_view)
    if not is_sound_scorer:
        raise ValueError("rows and scorer do not fit each other")
    return scores


cdef object copy_rows(
    const void* values, object dtype, const int64_t[::1] starts, const int64_t[::1] rows, const int64_t[::1] bounds
):
    """Return the items of the selected rows, one row after another."""
    array = np.empty(bounds[rows.shape[0]], dtype=dtype)
    cdef uint8_t[::1] taken = array.view(np.uint8)
    cdef size_t size = array.itemsize
    cdef Py_ssize_t i
    for i in range(rows.shape[0]):
        if bounds[i] < bounds[i + 1]:
            memcpy(
                &taken[bounds[i] * size], <const uint8_t*> values + starts[rows[i]] * size, (bounds[i + 1] - bounds[i]) * size
            )
    return array


cdef object taken_bounds(indptr, rows):
    """Return the bounds of the selected rows, one row after another."""
    bounds = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(indptr[rows + 1] - indptr[rows], out=bounds[1:])
    return bounds


def take_rows(indptr, values, rows):
    """See the plain version in features/csr.py."""
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(indptr) - 1:
        raise ValueError("the number of a row is out of range")
    cdef const uint8_t[::1] source
    bounds = taken_bounds(indptr, rows)
    taken = []
    for each in values:
        if not is_indptr(indptr, len(each)):
            raise ValueError("the arrays of the rows do not fit each other")
        source = each.view(np.uint8)
        taken.append(copy_rows(&source[0], each.dtype, indptr, rows, bounds))
    return bounds, taken


cdef inline int64_t entry_of(const int32_t* classes, int64_t low, int64_t high, int32_t wanted) noexcept nogil:
    """Return the index of a class in the ascending classes[low:high], or -1."""
    cdef int64_t size = high - low, half
    if 0 <= wanted < size and classes[low + wanted] == wanted:  # all classes before it are there
        return low + wanted
    while size > 1:  # without branches, which would be predicted wrongly half of the time
        half = size >> 1
        low += half * (classes[low + half - 1] < wanted)
        size -= half
    return low if size == 1 and classes[low] == wanted else -1


cdef bint find_entries(
    const int64_t[::1] starts, const int32_t[::1] indices, const int32_t[::1] wanted, const int64_t[::1] bounds,
    const int32_t[::1] classes, int64_t[::1] positions
) noexcept nogil:
    """Look up each entry of the rows; return False if one is missing."""
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
    """Return, for each entry of the rows, the index of (feature, class of the row) in a feature-major list of entries.

    raises  ValueError: an entry is not in the list
    """
    cdef const int64_t[::1] starts = indptr, bounds = w_indptr
    cdef const int32_t[::1] features = indices, wanted = row_classes, classes = w_classes
    positions = np.empty(len(indices), dtype=np.int64)
    cdef int64_t[::1] found = positions
    cdef bint is_complete
    if len(row_classes) != len(indptr) - 1 or not is_indptr(starts, len(indices)) or not is_indptr(bounds, len(w_classes)):
        raise ValueError("the arrays of the rows do not fit each other")
    with nogil:
        is_complete = find_entries(starts, features, wanted, bounds, classes, found)
    if not is_complete:
        raise ValueError("the list of entries lacks an entry of the rows")
    return positions
