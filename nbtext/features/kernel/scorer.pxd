# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Scores of a document by a sparse linear scorer, which is SparseWeights in Python.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from nbtext.features.kernel.memory cimport AHEAD, nb_prefetch


ctypedef fused Value:
    double
    int32_t

cdef struct Scorer:
    size_t n_classes
    size_t n_features
    size_t n_entries
    const double* bias
    const double* default
    const double* base  # or NULL
    const double* base_scale
    const int64_t* indptr
    const int32_t* classes
    const double* deltas
    const double* dense  # deltas as a dense matrix (n_features, n_classes) if that is hardly larger, or NULL


cdef inline bint is_sound(const Scorer* scorer, int64_t feature) noexcept nogil:
    """Return whether a feature and its bounds are valid; the arrays may come from an untrusted model."""
    return 0 <= feature < <int64_t> scorer.n_features and (
        scorer.dense != NULL or 0 <= scorer.indptr[feature] <= scorer.indptr[feature + 1] <= <int64_t> scorer.n_entries
    )


cdef inline bint add_scores(
    const Scorer* scorer, const int32_t* features, const Value* values, size_t count, double* scores
) noexcept nogil:
    """Write the scores of a document; return False if scorer and document do not match.

    Sums have the same order as in plain.py, so both return the same bits.
    """
    cdef double total = 0, based = 0
    cdef const double* row
    cdef size_t i, k
    memset(scores, 0, scorer.n_classes * sizeof(double))
    for i in range(count):
        if i + 2 * AHEAD < count:
            prefetch_entries(scorer, features[i + AHEAD], features[i + 2 * AHEAD])
        if not is_sound(scorer, features[i]):
            return False
        total += values[i]
        if scorer.base != NULL:
            based += values[i] * scorer.base[features[i]]
        if scorer.dense != NULL:
            row = scorer.dense + features[i] * scorer.n_classes
            for k in range(scorer.n_classes):
                scores[k] += values[i] * row[k]
        elif not add_deltas(scorer, features[i], values[i], scores):
            return False
    for k in range(scorer.n_classes):
        scores[k] = scores[k] + total * scorer.default[k] + scorer.bias[k]
        if scorer.base != NULL:
            scores[k] += based * scorer.base_scale[k]
    return True


cdef inline void prefetch_entries(const Scorer* scorer, int32_t feature, int32_t later_feature) noexcept nogil:
    """Prefetch the deltas of one feature, and the bounds of a later one."""
    if scorer.dense != NULL:
        if 0 <= later_feature < <int64_t> scorer.n_features:
            nb_prefetch(scorer.dense + later_feature * scorer.n_classes)
        return
    if 0 <= later_feature < <int64_t> scorer.n_features:
        nb_prefetch(&scorer.indptr[later_feature])
    if 0 <= feature < <int64_t> scorer.n_features:
        nb_prefetch(scorer.classes + scorer.indptr[feature])
        nb_prefetch(scorer.deltas + scorer.indptr[feature])


cdef inline bint add_deltas(const Scorer* scorer, int32_t feature, double value, double* scores) noexcept nogil:
    """Add the deltas of a feature; if it has all classes, which ascend, they are not looked up."""
    cdef int64_t entry, start = scorer.indptr[feature], end = scorer.indptr[feature + 1], last = scorer.n_classes - 1
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
