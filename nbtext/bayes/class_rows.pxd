# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Dense rows of logarithms, one value for each class, of the features that many classes have: a document adds a whole row
# instead of one entry after another.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc

cdef extern from *:
    """
    #include <stddef.h>

    static inline void nb_add_multiple(double *restrict sums, const double *restrict values, double factor, size_t n) {
        for (size_t i = 0; i < n; i++)
            sums[i] += factor * values[i];
    }
    """
    void nb_add_multiple(double* sums, const double* values, double factor, size_t n) noexcept nogil

from nbtext.features.kernel.memory cimport AHEAD, nb_prefetch

cdef enum:
    MAX_VALUES = 1 << 18  # of all rows together: 2 MB, about the size of the cache of a core
    MAX_ROWS = 60000
    MAX_FETCHED = 64  # values of a row that are prefetched
    SHARE = 4  # a row is made if one of so many classes has the feature

cdef enum State:  # of a feature; a larger number is that of its row, plus FIRST_ROW
    UNUSED
    USED_ONCE  # a row pays off at the second use
    WITHOUT_ROW
    FIRST_ROW

cdef struct Counted:
    const int64_t* starts
    const int32_t* classes
    const int64_t* documents

cdef struct ClassRows:
    uint16_t* states  # (n_features,)
    uint8_t* is_filled  # (depth, limit)
    double* logs  # (depth, limit, width)
    double* of_own  # (depth, limit, width), or NULL: logarithms for documents of the class
    double* rests  # (depth, limit, n_smoothings)
    int64_t* occurrences  # (limit, n_classes)
    size_t limit
    size_t depth  # rows of a feature
    size_t n_used
    size_t width  # n_classes * n_smoothings
    size_t n_classes
    size_t n_smoothings


cdef inline bint reserve_rows(ClassRows* rows, size_t n_features, size_t depth, bint has_own) noexcept nogil:
    """Allocate memory, for the sizes that are set; return whether there was enough."""
    rows.depth, rows.n_used = depth, 0
    rows.limit = min(<size_t> MAX_ROWS, min(n_features, <size_t> MAX_VALUES // (depth * rows.width)))
    rows.states = <uint16_t*> calloc(n_features + 1, sizeof(uint16_t))
    rows.is_filled = <uint8_t*> calloc(rows.limit * depth + 1, 1)
    rows.logs = <double*> malloc((rows.limit * depth * rows.width + 1) * sizeof(double))
    rows.of_own = <double*> malloc((rows.limit * depth * rows.width + 1) * sizeof(double)) if has_own else NULL
    rows.rests = <double*> malloc((rows.limit * depth * rows.n_smoothings + 1) * sizeof(double))
    rows.occurrences = <int64_t*> malloc((rows.limit * rows.n_classes + 1) * sizeof(int64_t))
    return not (
        rows.states == NULL or rows.is_filled == NULL or rows.logs == NULL or rows.rests == NULL
        or rows.occurrences == NULL or has_own and rows.of_own == NULL
    )


cdef inline void release_rows(ClassRows* rows) noexcept nogil:
    free(rows.states)
    free(rows.is_filled)
    free(rows.logs)
    free(rows.of_own)
    free(rows.rests)
    free(rows.occurrences)


cdef inline int64_t row_of(
    ClassRows* rows, const Counted* corpus, const int64_t* occurrences, int64_t feature
) noexcept nogil:
    """Return the row of a feature that many classes have, from its second use on; -1 if it has none."""
    cdef int64_t entry, k, start, end
    cdef int64_t* row
    if rows.states[feature] >= FIRST_ROW:
        return rows.states[feature] - FIRST_ROW
    start, end = corpus.starts[feature], corpus.starts[feature + 1]
    if rows.states[feature] == UNUSED:
        rows.states[feature] = USED_ONCE if (end - start) * SHARE >= <int64_t> rows.n_classes else WITHOUT_ROW
        return -1
    if rows.states[feature] == WITHOUT_ROW or rows.n_used >= rows.limit:
        return -1
    row = rows.occurrences + rows.n_used * rows.n_classes
    for k in range(<int64_t> rows.n_classes):
        row[k] = 0
    for entry in range(start, end):
        row[corpus.classes[entry]] = occurrences[entry]
    rows.states[feature] = <uint16_t> (rows.n_used + FIRST_ROW)
    rows.n_used += 1
    return rows.n_used - 1


cdef inline bint fetch(
    const Counted* corpus, const int64_t* occurrences, const ClassRows* rows, int64_t n_features,
    const int32_t* features, size_t i, size_t length, int32_t own, const int64_t* everywhere
) noexcept nogil:
    """Prefetch the row or the entries of features after feature i of a document; return whether feature i is valid.

    everywhere  (n_features,), occurrences in all classes, which are prefetched too; or NULL
    """
    cdef int32_t next_feature, later
    cdef size_t row, line
    if i + 2 * AHEAD < length:
        next_feature, later = features[i + AHEAD], features[i + 2 * AHEAD]
        if 0 <= later < n_features and 0 <= next_feature < n_features:
            nb_prefetch(&rows.states[later])
            nb_prefetch(&corpus.starts[later])
            if everywhere != NULL:
                nb_prefetch(&everywhere[later])
            if rows.states[next_feature] >= FIRST_ROW:
                row = rows.states[next_feature] - FIRST_ROW
                if rows.of_own != NULL:
                    nb_prefetch(&rows.of_own[row * rows.width + own * rows.n_smoothings])
                else:
                    nb_prefetch(&rows.occurrences[row * rows.n_classes + own])
                for line in range(0, min(<size_t> MAX_FETCHED, rows.width), 8):
                    nb_prefetch(&rows.logs[row * rows.width + line])
            else:
                nb_prefetch(corpus.classes + corpus.starts[next_feature])
                nb_prefetch(occurrences + corpus.starts[next_feature])
    return 0 <= features[i] < n_features
