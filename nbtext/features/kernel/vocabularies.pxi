# Sorted vocabularies, and rows over them.

cdef int check_terms(blob, offsets) except -1:
    """Refuse offsets that are not those of terms in the blob."""
    cdef const int64_t[::1] bounds = offsets
    cdef size_t i, n_terms = len(offsets) - 1
    cdef bint is_ascending = True
    if len(offsets) == 0 or bounds[0] != 0 or bounds[n_terms] != len(blob):
        raise ValueError("the offsets of the vocabulary do not fit its text")
    if n_terms > MOST_NODES:
        raise OverflowError("more than 2**31 features")
    for i in range(n_terms):
        is_ascending &= bounds[i] <= bounds[i + 1]
    if not is_ascending:
        raise ValueError("the offsets of the vocabulary do not ascend")
    return 0


cdef struct Terms:
    const uint8_t* blob
    const int64_t* offsets
    size_t count


cdef inline int compared(const Terms* a, size_t i, const Terms* b, size_t k) noexcept nogil:
    """Below 0, 0 or above 0 as a term comes before another, is the same or comes after it."""
    cdef int64_t length_a = a.offsets[i + 1] - a.offsets[i], length_b = b.offsets[k + 1] - b.offsets[k]
    cdef int difference = memcmp(a.blob + a.offsets[i], b.blob + b.offsets[k], min(length_a, length_b))
    return difference if difference else (length_a > length_b) - (length_a < length_b)


cdef size_t merge_terms(
    const Terms* a, const Terms* b, uint8_t* blob, int64_t* offsets, int32_t* columns_a, int32_t* columns_b
) noexcept nogil:
    """Write the union; return how many terms it has."""
    cdef size_t i = 0, k = 0, count = 0
    cdef int order
    cdef int64_t length
    offsets[0] = 0
    while i < a.count or k < b.count:
        order = 1 if i == a.count else -1 if k == b.count else compared(a, i, b, k)
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
    """The union of two sorted vocabularies (blob, offsets), and the column there of each feature of the one and the other."""
    check_terms(blob_a, offsets_a)
    check_terms(blob_b, offsets_b)
    cdef const uint8_t[::1] text_a = blob_a, text_b = blob_b
    cdef const int64_t[::1] bounds_a = offsets_a, bounds_b = offsets_b
    cdef Terms a = Terms(&text_a[0], &bounds_a[0], len(offsets_a) - 1)
    cdef Terms b = Terms(&text_b[0], &bounds_b[0], len(offsets_b) - 1)
    cdef size_t count
    if a.count + b.count > MOST_NODES:
        raise OverflowError("more than 2**31 features")
    blob = np.empty(len(blob_a) + len(blob_b) + 1, dtype=np.uint8)
    offsets = np.empty(a.count + b.count + 1, dtype=np.int64)
    columns_a, columns_b = np.empty(a.count + 1, dtype=np.int32), np.empty(b.count + 1, dtype=np.int32)
    cdef uint8_t[::1] text = blob
    cdef int64_t[::1] bounds = offsets
    cdef int32_t[::1] places_a = columns_a, places_b = columns_b
    with nogil:
        count = merge_terms(&a, &b, &text[0], &bounds[0], &places_a[0], &places_b[0])
    return blob[: offsets[count]].copy(), offsets[: count + 1].copy(), columns_a[: a.count], columns_b[: b.count]


cdef size_t arrange_row(
    const int32_t* indices, const int32_t* counts, size_t count, const int32_t[::1] columns, uint64_t* entries
) except? <size_t> -1 nogil:
    """Write the entries of a row by their new columns; return how many have one."""
    cdef size_t i, n_left = 0
    for i in range(count):
        if not 0 <= indices[i] < columns.shape[0]:
            with gil:
                raise ValueError("a row has more features than there are columns")
        if columns[indices[i]] >= 0:
            entries[n_left] = <uint64_t> columns[indices[i]] << 32 | <uint32_t> counts[i]
            n_left += 1
    return n_left


def arrange(rows, columns):
    """Renumber each feature j as columns[j], leave out those below 0, and sort within each row."""
    cdef const int64_t[::1] starts = rows.indptr
    cdef const int32_t[::1] indices = rows.indices, counts = rows.counts, places = columns
    cdef size_t row, start, n_rows = len(rows.indptr) - 1, n_entries = len(rows.indices)
    cdef Scratch s = Scratch()
    if <size_t> len(rows.counts) != n_entries or not is_indptr(starts, n_entries):
        raise ValueError("the arrays of the rows do not fit each other")
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    cdef int64_t[::1] ends = indptr
    with nogil:
        for row in range(n_rows):
            start, n_entries = starts[row], starts[row + 1] - starts[row]
            if n_entries:
                reserve(&s.entries, n_entries, sizeof(uint64_t))
                s.n_entries = arrange_row(&indices[start], &counts[start], n_entries, places, <uint64_t*> s.entries.data)
                sort_entries(<uint64_t*> s.entries.data, s.n_entries, &s.spare)
                append_row(s)
            ends[row + 1] = s.n_done
    return Rows(indptr, array_of(s.indices.data, s.n_done, np.int32), array_of(s.counts.data, s.n_done, np.int32), rows.n_tokens)


cdef bint is_indptr(const int64_t[::1] indptr, int64_t n_entries):
    """Whether these are the bounds of rows with so many entries."""
    cdef Py_ssize_t row
    if indptr.shape[0] == 0 or indptr[0] != 0 or indptr[indptr.shape[0] - 1] != n_entries:
        return False
    for row in range(indptr.shape[0] - 1):
        if indptr[row] > indptr[row + 1]:
            return False
    return True


cdef bint score_all(
    const Scorer* scorer, const int64_t[::1] indptr, const int32_t[::1] indices, const Value[::1] values, double[:, ::1] scores
) noexcept nogil:
    """Score each row; False where rows and scorer do not fit each other."""
    cdef Py_ssize_t row
    cdef bint is_sound_scorer = True
    for row in range(indptr.shape[0] - 1):
        is_sound_scorer &= add_scores(
            scorer, &indices[indptr[row]], &values[indptr[row]], <size_t> (indptr[row + 1] - indptr[row]), &scores[row, 0]
        )
    return is_sound_scorer


def score_rows(indptr, indices, values, scorer):
    """Scores (n_documents, n_classes) of rows by the sparse linear scorer."""
    cdef Weights weights = Weights(scorer)
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] features = indices
    cdef const double[::1] weighted
    cdef const int32_t[::1] counted
    cdef bint is_sound_scorer
    if len(values) != len(indices) or not is_indptr(starts, len(indices)):
        raise ValueError("the arrays of the rows do not fit each other")
    scores = np.empty((len(indptr) - 1, weights.scorer.n_classes), dtype=np.float64)
    cdef double[:, ::1] scores_view = scores
    if values.dtype == np.int32:
        counted = values
        with nogil:
            is_sound_scorer = score_all[int32_t](&weights.scorer, starts, features, counted, scores_view)
    else:
        weighted = values
        with nogil:
            is_sound_scorer = score_all[double](&weights.scorer, starts, features, weighted, scores_view)
    if not is_sound_scorer:
        raise ValueError("rows and scorer do not fit each other")
    return scores
