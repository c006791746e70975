# Scores of a document by a sparse linear scorer, which is SparseWeights in Python.

cdef extern from *:
    """
    /* Add up values[i] * rows[features[i]] for some columns: a constant number of them keeps the sums in registers.
       Without values, each is 1. */
    static inline __attribute__((always_inline)) void nb_sum_columns(
        const double *rows, size_t n_columns, const int32_t *features, const double *values, size_t count,
        double *sums, const size_t width
    ) {
        double running[8] = {0};
        size_t i, k;
        for (i = 0; i < count; i++) {
            const double *row = rows + (size_t)features[i] * n_columns;
            if (i + 32 < count)
                __builtin_prefetch(rows + (size_t)features[i + 32] * n_columns);
            for (k = 0; k < width; k++)
                running[k] += values == NULL ? row[k] : values[i] * row[k];
        }
        memcpy(sums, running, width * sizeof(double));
    }

    static inline void nb_sum_rows(
        const double *rows, size_t n_columns, const int32_t *features, const double *values, size_t count, double *sums
    ) {
        size_t first = 0;
        for (; first + 8 <= n_columns; first += 8)
            nb_sum_columns(rows + first, n_columns, features, values, count, sums + first, 8);
        if (n_columns & 4) {
            nb_sum_columns(rows + first, n_columns, features, values, count, sums + first, 4);
            first += 4;
        }
        if (n_columns & 2) {
            nb_sum_columns(rows + first, n_columns, features, values, count, sums + first, 2);
            first += 2;
        }
        if (n_columns & 1)
            nb_sum_columns(rows + first, n_columns, features, values, count, sums + first, 1);
    }
    """
    void nb_sum_rows(
        const double* rows, size_t n_columns, const int32_t* features, const double* values, size_t count, double* sums
    ) noexcept nogil

cdef struct Scorer:
    size_t n_classes
    size_t n_features
    size_t n_rows
    size_t n_entries
    const double* bias
    const double* default
    const double* base  # or NULL
    const double* base_scale
    const int32_t* rows  # of the features, or NULL: feature j has row j
    const int64_t* indptr
    const int32_t* classes
    const double* deltas
    const double* dense  # deltas as a dense matrix (n_features, n_classes) if that is hardly larger, or NULL


cdef inline int64_t row_of(const Scorer* scorer, int64_t feature) noexcept nogil:
    """Return the row that has the entries of a feature; −1 if the arrays, which may be an untrusted model's, are wrong."""
    cdef int64_t row = feature if scorer.rows == NULL else scorer.rows[feature]
    if not 0 <= row < <int64_t> scorer.n_rows:
        return -1
    return row if 0 <= scorer.indptr[row] <= scorer.indptr[row + 1] <= <int64_t> scorer.n_entries else -1


cdef inline bint add_scores(
    const Scorer* scorer, const int32_t* features, const double* values, size_t count, double* scores
) noexcept nogil:
    """Write the scores of a document; return False if the arrays of the scorer do not match.

    values  NULL: each is 1
    Sums have the same order as in counting.py, so both return the same bits.
    """
    cdef double total = count if values == NULL else 0, based = 0
    cdef size_t i, k
    for i in range(0 if values == NULL else count):
        total += values[i]
        if scorer.base != NULL:
            based += values[i] * scorer.base[features[i]]
    if scorer.dense != NULL:
        nb_sum_rows(scorer.dense, scorer.n_classes, features, values, count, scores)
    elif not sum_deltas(scorer, features, values, count, scores):
        return False
    for k in range(scorer.n_classes):
        scores[k] = scores[k] + total * scorer.default[k] + scorer.bias[k]
        if scorer.base != NULL:
            scores[k] += based * scorer.base_scale[k]
    return True


cdef inline bint sum_deltas(
    const Scorer* scorer, const int32_t* features, const double* values, size_t count, double* scores
) noexcept nogil:
    """Add up the deltas of the features; return False if the arrays of the scorer do not match."""
    cdef size_t i
    cdef int64_t row
    memset(scores, 0, scorer.n_classes * sizeof(double))
    for i in range(count):
        if i + 2 * AHEAD < count:
            if scorer.rows != NULL:
                nb_prefetch(&scorer.rows[features[i + 2 * AHEAD]])
            else:
                nb_prefetch(&scorer.indptr[features[i + 2 * AHEAD]])
            row = row_of(scorer, features[i + AHEAD])
            if row >= 0:
                nb_prefetch(scorer.classes + scorer.indptr[row])
                nb_prefetch(scorer.deltas + scorer.indptr[row])
        row = row_of(scorer, features[i])
        if row < 0 or not add_deltas(scorer, row, values[i], scores):
            return False
    return True


cdef inline bint add_deltas(const Scorer* scorer, int64_t row, double value, double* scores) noexcept nogil:
    """Add the deltas of a feature; if it has all classes, which ascend, they are not looked up."""
    cdef int64_t entry, start = scorer.indptr[row], end = scorer.indptr[row + 1], last = scorer.n_classes - 1
    cdef const double* deltas = scorer.deltas
    if end - start == last + 1 and start < end and scorer.classes[start] == 0 and scorer.classes[end - 1] == last:
        for entry in range(last + 1):
            scores[entry] += value * deltas[start + entry]
        return True
    for entry in range(start, end):
        if not 0 <= scorer.classes[entry] < <int64_t> scorer.n_classes:
            return False
        scores[scorer.classes[entry]] += value * deltas[entry]
    return True
