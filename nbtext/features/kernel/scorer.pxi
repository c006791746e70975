# The linear scorer, and what a count weighs.

cdef enum Frequency:
    COUNT
    BINARY
    RELATIVE
    LOG

cdef enum Norm:
    NONE
    L1
    L2

cdef enum:
    MOST_SPREAD = 2  # numbers of a matrix for each delta that is kept

ctypedef fused Value:
    double
    int32_t

cdef struct Scorer:
    size_t n_classes
    size_t n_features
    size_t n_entries
    const double* bias
    const double* default
    const double* base  # NULL where no weights are alike
    const double* base_scale
    const int64_t* indptr
    const int32_t* classes
    const double* deltas
    const double* dense  # the deltas as a matrix (n_features, n_classes), where that takes little more room; else NULL

cdef double[1024] LOGARITHMS  # of 1 to 1023 by NumPy, so that it and the kernel agree to the last bit


cdef void learn_logarithms():
    cdef double[::1] logarithms = np.log(np.arange(1024, dtype=np.float64).clip(1))
    memcpy(LOGARITHMS, &logarithms[0], sizeof(LOGARITHMS))


cdef inline bint is_sound(const Scorer* scorer, int64_t feature) noexcept nogil:
    """Whether the scorer has entries for this feature; its arrays may come from anywhere."""
    return 0 <= feature < <int64_t> scorer.n_features and (
        scorer.dense != NULL or 0 <= scorer.indptr[feature] <= scorer.indptr[feature + 1] <= <int64_t> scorer.n_entries
    )


cdef bint add_scores(
    const Scorer* scorer, const int32_t* features, const Value* values, size_t count, double* scores
) noexcept nogil:
    """Write the scores of a document; False where scorer and document do not fit each other.

    Sums are taken in the order in which the twin takes them, so that both give the same bits.
    """
    cdef double total = 0, based = 0
    cdef const double* row
    cdef size_t i, k
    memset(scores, 0, scorer.n_classes * sizeof(double))
    for i in range(count):
        if i + 2 * AHEAD < count:
            fetch_entries(scorer, features[i + AHEAD], features[i + 2 * AHEAD])
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


cdef inline void fetch_entries(const Scorer* scorer, int32_t feature, int32_t later_feature) noexcept nogil:
    """Have the memory fetch what will be added, and before that where it is."""
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
    """Add the deltas of a feature; its classes ascend, so that one which has all need not be followed."""
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


cdef void weigh(double* values, const uint64_t* entries, size_t count, Frequency tf) noexcept nogil:
    """The weights of counts within their document."""
    cdef size_t i
    cdef double total = 0
    for i in range(count):
        values[i] = 1 if tf == BINARY else count_of(entries[i])
        total += values[i]
    if tf == RELATIVE:
        for i in range(count):
            values[i] /= total
    elif tf == LOG:
        for i in range(count):
            values[i] = 1 + (LOGARITHMS[count_of(entries[i])] if count_of(entries[i]) < 1024 else log(values[i]))


cdef void normalize_weights(double* values, size_t count, Norm norm) noexcept nogil:
    """Divide weights by the sum of their absolute values (L1) or by the root of that of their squares (L2)."""
    cdef size_t i
    cdef double length = 0
    for i in range(count):
        length += fabs(values[i]) if norm == L1 else values[i] * values[i]
    if norm == L2:
        length = sqrt(length)
    if length != 0:
        for i in range(count):
            values[i] /= length


cdef class Weights:
    """A linear scorer's arrays, held and checked."""

    cdef Scorer scorer
    cdef object source
    cdef tuple held
    cdef Buffer dense

    def __init__(self, source):
        self.source = source
        self.held = (source.bias, source.default, source.base, source.base_scale, source.indptr, source.classes, source.deltas)
        bias, default, base, base_scale, indptr, classes, deltas = self.held
        cdef const double[::1] bias_view = bias, default_view = default, deltas_view = deltas, base_view, scale_view
        cdef const int64_t[::1] indptr_view = indptr
        cdef const int32_t[::1] classes_view = classes
        if len(default) != len(bias) or len(classes) != len(deltas) or len(indptr) == 0 or (base is None) != (base_scale is None):
            raise ValueError("the arrays of the scorer do not fit each other")
        self.scorer = Scorer(
            len(bias), len(indptr) - 1, len(deltas), NULL, NULL, NULL, NULL, &indptr_view[0], NULL, NULL, NULL
        )
        if len(bias):
            self.scorer.bias, self.scorer.default = &bias_view[0], &default_view[0]
        if len(deltas):
            self.scorer.classes, self.scorer.deltas = &classes_view[0], &deltas_view[0]
        if base is not None:
            base_view, scale_view = base, base_scale
            if len(base) != len(indptr) - 1 or len(base_scale) != len(bias):
                raise ValueError("the base of the scorer does not fit its other arrays")
            if len(base) and len(bias):
                self.scorer.base, self.scorer.base_scale = &base_view[0], &scale_view[0]

    def __dealloc__(self):
        release(&self.dense)

    cdef int spread_out(self) except -1:
        """Have the deltas as a matrix too, if it fits into the room that they take: then one fetch finds all of a row."""
        cdef Scorer* scorer = &self.scorer
        cdef size_t feature, size = scorer.n_features * scorer.n_classes
        cdef int64_t entry
        cdef double* dense
        if size == 0 or size > MOST_SPREAD * scorer.n_entries:
            return 0
        reserve_zeros(&self.dense, size, sizeof(double))
        dense = <double*> self.dense.data
        for feature in range(scorer.n_features):
            if not is_sound(scorer, feature):
                return 0
            for entry in range(scorer.indptr[feature], scorer.indptr[feature + 1]):
                if not 0 <= scorer.classes[entry] < <int64_t> scorer.n_classes:
                    return 0
                dense[feature * scorer.n_classes + scorer.classes[entry]] += scorer.deltas[entry]
        scorer.dense = dense
        return 0
