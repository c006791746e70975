# Leave-one-out sums of logarithms, feature by feature: what one feature adds to the sums of the documents that have it.

cdef extern from *:
    """
    static inline void nb_add_multiple(double *restrict sums, const double *restrict values, double factor, size_t n) {
        for (size_t i = 0; i < n; i++)
            sums[i] += factor * values[i];
    }
    """
    void nb_add_multiple(double* sums, const double* values, double factor, size_t n) noexcept nogil

cdef enum:
    MAX_VALUES = 1 << 17  # sums of the documents that are scored together: 1 MB, so that a core's cache holds them
    MAX_ENTRIES = 1 << 18  # of these documents, unless one has more
    ROW_BITS = 11  # of the number of one of these documents; below them in a key are the bits of a count
    COUNT_BITS = 21
    LARGEST = (1 << COUNT_BITS) - 1  # for all counts that have more bits
    SHARE = 4  # a feature that one of so many classes has is added as a row with a value for each class
    MAX_REMOVED = 5  # the values of complements from which 0, 1, ... occurrences are removed are computed once

cdef struct Counted:
    const int64_t* starts
    const int32_t* classes
    const int64_t* documents

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
    return nb_log(count + logs.smoothings[a]) - logs.log_smoothings[a]


cdef struct Corpus:
    Counted counted
    const int64_t* occurrences
    const int64_t* everywhere  # (n_features,), occurrences in all classes; or NULL
    int64_t n_features
    size_t n_classes

cdef struct LeftOutRows:  # documents of a corpus, and the sums of each without itself
    const int64_t* starts
    const int32_t* features
    const int32_t* counts
    const int64_t* own_starts  # of the pairs of each row and one of its classes
    const int32_t* own  # the class of each pair
    const int64_t* of_class  # copies in the class of each pair
    const int64_t* of_all  # copies of each row in all classes
    double* sums  # (n_rows, n_classes, n_smoothings)
    double* own_sums  # (n_pairs, n_smoothings)
    double* base  # (n_rows, n_smoothings), what all classes have in common; or NULL

cdef struct Uses:  # of one feature
    const uint64_t* keys  # of each the feature, a row and its count
    const uint64_t* end
    const uint64_t* last  # the end of the keys of all features
    size_t first_row
    int64_t feature

cdef struct FeatureValues:  # of one feature
    double* values  # (MAX_REMOVED + 1, n_classes, n_smoothings), a row for each number of removed occurrences
    double* rests  # (MAX_REMOVED + 1, n_smoothings)
    int64_t* occurrences  # (n_classes,), 0 between two features


cdef inline int32_t next_use(const LeftOutRows* rows, const Uses* uses, size_t width, size_t* row) noexcept nogil:
    """Return the count of the next use of a feature, and write its row; prefetch the sums of a later one."""
    cdef const double* sums
    cdef size_t value
    cdef int64_t entry
    cdef int32_t count = <int32_t> (uses.keys[0] & LARGEST)
    row[0] = uses.first_row + (<uint32_t> uses.keys[0] >> COUNT_BITS)
    if uses.keys + AHEAD < uses.last:
        sums = rows.sums + (uses.first_row + (<uint32_t> uses.keys[AHEAD] >> COUNT_BITS)) * width
        for value in range(0, min(<size_t> 64, width), 8):
            nb_prefetch(sums + value)
    if count == LARGEST:
        for entry in range(rows.starts[row[0]], rows.starts[row[0] + 1]):
            if rows.features[entry] == uses.feature:
                return rows.counts[entry]
    return count


cdef inline bint add_feature(
    const LeftOutRows* rows, Uses* uses, const Corpus* corpus, const Logarithms* logs, FeatureValues* memory, bint has_base
) noexcept nogil:
    """Add count * log(1 + t / smoothing) of a feature to the sums of rows; return False if one is not of the corpus.

    t is what remains of the feature's occurrences in the class, or, if `has_base`, in all other classes. In the latter
    case the base is of a class that does not have the feature; the sums are the differences of the others.
    """
    cdef size_t a, row, slot = 0, pair, first_pair, last_pair, S = logs.n_smoothings, width = corpus.n_classes * S
    cdef int64_t entry, removed = 0, gone, left, of_own
    cdef int32_t own, count
    cdef int64_t first = corpus.counted.starts[uses.feature], last = corpus.counted.starts[uses.feature + 1]
    cdef int64_t everywhere = corpus.everywhere[uses.feature] if has_base else 0
    # a row of all classes takes longer to fill than it saves if it is added once
    cdef bint is_dense = uses.end - uses.keys > 1 and <size_t> (last - first) * SHARE >= corpus.n_classes
    cdef bint[MAX_REMOVED + 1] is_filled
    cdef double* values
    cdef double* rests
    cdef double* target
    cdef int64_t* occurrences = memory.occurrences
    if <size_t> (last - first) > corpus.n_classes:
        return False
    memset(is_filled, 0, sizeof(is_filled))
    for entry in range(first, last):
        occurrences[corpus.counted.classes[entry]] = corpus.occurrences[entry]
    while uses.keys < uses.end:
        count = next_use(rows, uses, width, &row)
        if has_base:
            removed = rows.of_all[row] * count
            slot = <size_t> min(removed, <int64_t> MAX_REMOVED)
            if removed > everywhere:
                return False
        values = memory.values + slot * width
        rests = memory.rests + slot * S
        if not is_filled[slot]:
            is_filled[slot] = slot < MAX_REMOVED
            fill_values(corpus, logs, first, last, everywhere - removed, is_dense, rests, values, has_base)
        if has_base:
            for a in range(S):
                rows.base[row * S + a] += count * rests[a]
        first_pair = <size_t> rows.own_starts[row]
        last_pair = <size_t> rows.own_starts[row + 1]
        own = rows.own[first_pair] if last_pair - first_pair == 1 else -1
        if is_dense:
            nb_add_multiple(rows.sums + row * width, values, count, width)
        else:
            for entry in range(first, last):
                if corpus.counted.classes[entry] == own:  # its sums are replaced by those of the pair
                    continue
                target = rows.sums + row * width + corpus.counted.classes[entry] * S
                nb_add_multiple(target, values + (entry - first) * S, count, S)
        for pair in range(first_pair, last_pair):
            of_own = occurrences[rows.own[pair]]
            gone = rows.of_class[pair] * count
            left = everywhere - of_own - removed + gone if has_base else of_own - gone
            if left < 0 or gone > of_own:
                return False
            if of_own and (left or has_base):  # else 0 is added
                for a in range(S):
                    rows.own_sums[pair * S + a] += count * (log_ratio(logs, left, a) - rests[a])
        uses.keys += 1
    for entry in range(first, last):
        occurrences[corpus.counted.classes[entry]] = 0
    return True


cdef inline void fill_values(
    const Corpus* corpus, const Logarithms* logs, int64_t first, int64_t last, int64_t rest, bint is_dense,
    double* rests, double* values, bint has_base
) noexcept nogil:
    """Write what a feature adds to the base for each smoothing, and to the sums for each class.

    rest  what remains in all classes, if t is of all other classes
    """
    cdef size_t a, S = logs.n_smoothings
    cdef int64_t entry, left
    cdef double* target
    for a in range(S):
        rests[a] = log_ratio(logs, rest, a) if has_base else 0
    if is_dense:
        memset(values, 0, corpus.n_classes * S * sizeof(double))
    for entry in range(first, last):
        left = corpus.occurrences[entry]
        if has_base:  # below 0 only if the class has copies; then its sums are replaced
            left = max(0, rest - left)
        target = values + (corpus.counted.classes[entry] if is_dense else entry - first) * S
        for a in range(S):
            target[a] = log_ratio(logs, left, a) - rests[a]
