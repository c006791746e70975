# Sums and leave-one-out scores of class statistics, compiled. `plain.py` is the pure-Python version.
#
# Feature j has the entries indptr[j]:indptr[j + 1], one for each class that has it, in ascending order of the class.

cdef enum:
    MAX_KEPT = 1 << 22  # bytes of keys that are kept for the next call

cdef list memories = []  # that no thread uses
cdef int64_t NO_CLASS = 0x80000000


cdef int64_t combine(
    Counted a, const int64_t* occurrences_a, Counted b, const int64_t* occurrences_b, int64_t sign, size_t n_features,
    int64_t* ends, int32_t* classes, int64_t* documents, int64_t* occurrences
) noexcept nogil:
    """Write the entries of a + sign * b that are not zero; return their number, or -1 if one is negative."""
    cdef size_t feature
    cdef int64_t i, k, d, t, counted, n = 0
    cdef int64_t of_a, of_b  # NO_CLASS, above all int32, if the feature has no more entries
    for feature in range(n_features):
        i = a.starts[feature]
        k = b.starts[feature]
        while i < a.starts[feature + 1] or k < b.starts[feature + 1]:
            of_a = a.classes[i] if i < a.starts[feature + 1] else NO_CLASS
            of_b = b.classes[k] if k < b.starts[feature + 1] else NO_CLASS
            d = 0
            t = 0
            counted = 0
            if of_a <= of_b:
                d = a.documents[i]
                t = occurrences_a[i]
                counted = a.documents[i]
                i += 1
            if of_b <= of_a:
                d = d + sign * b.documents[k]
                t = t + sign * occurrences_b[k]
                counted = counted | b.documents[k]
                k += 1
            if d < 0 or t < 0:
                return -1
            if d > 0 or (t > 0 and counted == 0):  # scikit-learn's models do not count documents
                classes[n] = <int32_t> min(of_a, of_b)
                documents[n] = d
                occurrences[n] = t
                n += 1
        ends[feature + 1] = n
    return n


cdef class Entries:
    """The checked arrays of class statistics of counts."""

    cdef Counted counted
    cdef const int64_t* occurrences
    cdef list held  # keeps the arrays alive

    def __init__(self, indptr, classes, documents, occurrences):
        cdef const int64_t[::1] starts = indptr, documents_view = documents, sums = occurrences
        cdef const int32_t[::1] classes_view = classes
        if not is_indptr(starts, len(classes)) or not len(classes) == len(documents) == len(occurrences):
            raise ValueError("the arrays of the statistics do not fit each other")
        self.held = [indptr, classes, documents, occurrences]
        self.counted = Counted(&starts[0], NULL, NULL)
        if len(classes) == 0:
            return
        self.counted.classes = &classes_view[0]
        self.counted.documents = &documents_view[0]
        self.occurrences = &sums[0]


def combine_entries(a, b, sign):
    """Return the entries of a + sign * b that are not zero, or None if one is negative; see plain.py."""
    cdef size_t n_features = len(a[0]) - 1, size = len(a[1]) + len(b[1])
    cdef int64_t n, by = sign
    cdef Entries one = Entries(*a), other = Entries(*b)
    if len(a[0]) != len(b[0]):
        raise ValueError("the statistics have different shapes: align them first")
    # one more than is written, so that the last address is valid
    ends = np.zeros(n_features + 1, dtype=np.int64)
    k = np.empty(size + 1, dtype=np.int32)
    d = np.empty(size + 1, dtype=np.int64)
    t = np.empty(size + 1, dtype=np.int64)
    cdef int64_t[::1] to_ends = ends, to_documents = d, to_occurrences = t
    cdef int32_t[::1] to_classes = k
    with nogil:
        n = combine(
            one.counted, one.occurrences, other.counted, other.occurrences, by, n_features,
            &to_ends[0], &to_classes[0], &to_documents[0], &to_occurrences[0]
        )
    return None if n < 0 else (ends, k[:n], d[:n], t[:n])


def sum_classes(indptr, indices, counts, classes, n_features, n_classes):
    """Return the sums of rows by feature and class: (indptr, classes, documents, occurrences); see plain.py."""
    cdef const int64_t[::1] starts = indptr, order = np.argsort(classes, kind="stable")
    cdef const int32_t[::1] features = indices, of_rows = classes, whole = counts if counts.dtype == np.int32 else None
    cdef const double[::1] real = counts if whole is None else None
    cdef Py_ssize_t i, entry
    cdef int32_t own, feature
    cdef bint is_writing
    if len(classes) != len(indptr) - 1 or len(counts) != len(indices) or not is_indptr(starts, len(indices)):
        raise ValueError("the arrays of the rows do not fit each other")
    for numbers, size in ((indices, n_features), (classes, n_classes)):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
            raise ValueError("a feature or a class of the rows is out of range")
    bounds = np.zeros(n_features + 1, dtype=np.int64)
    found = np.empty(0, dtype=np.int32)
    documents = np.empty(0, dtype=np.int64)
    sums = np.empty(0)
    cdef int64_t[::1] ends = bounds[1:], to_documents  # where the next entry of each feature begins
    cdef int32_t[::1] last, to_classes
    cdef double[::1] to_sums  # of whole numbers, too: they are exact
    for is_writing in range(2):  # the entries are counted, and then written
        if is_writing:
            np.cumsum(bounds, out=bounds)
            found, documents, sums = (np.zeros(bounds[n_features], dtype) for dtype in (np.int32, np.int64, np.float64))
            ends = bounds[:n_features].copy()
        last = np.full(n_features, -1, dtype=np.int32)
        to_classes = found
        to_documents = documents
        to_sums = sums
        with nogil:
            for i in range(order.shape[0]):
                own = of_rows[order[i]]
                for entry in range(starts[order[i]], starts[order[i] + 1]):
                    feature = features[entry]
                    ends[feature] += last[feature] != own
                    last[feature] = own
                    if is_writing:
                        to_classes[ends[feature] - 1] = own
                        to_documents[ends[feature] - 1] += 1
                        to_sums[ends[feature] - 1] += real[entry] if whole is None else whole[entry]
    return bounds, found, documents, sums if whole is None else sums.astype(np.int64)


cdef class LeftOutMemory:
    """Memory for the uses of features, and for the values of one feature in each class."""

    cdef Buffer keys, spare, occurrences, values, rests

    def __dealloc__(self):
        release_all([&self.keys, &self.spare, &self.occurrences, &self.values, &self.rests, NULL])


cdef int64_t sum_rows(
    const LeftOutRows* rows, size_t n_rows, const Corpus* corpus, const Logarithms* logs, LeftOutMemory memory
) except -1 nogil:
    """Add up the sums of all rows; return 0 if one is not part of the corpus.

    Some rows at a time are added up feature by feature, so that the entries of the corpus are read in their order, and
    the values of a feature are computed once for all of its documents. In each sum, features still follow each other in
    ascending order.
    """
    cdef size_t first = 0, limit, stop, row, pair, i, n, width = corpus.n_classes * logs.n_smoothings
    cdef uint64_t* keys
    cdef int64_t entry
    cdef Uses uses
    cdef FeatureValues values = FeatureValues(
        <double*> memory.values.data, <double*> memory.rests.data, <int64_t*> memory.occurrences.data
    )
    memset(values.occurrences, 0, corpus.n_classes * sizeof(int64_t))
    while first < n_rows:
        limit = min(n_rows, first + min(<size_t> 1 << ROW_BITS, MAX_VALUES // width))
        stop = first + 1
        while stop < limit and rows.starts[stop + 1] - rows.starts[first] <= MAX_ENTRIES:
            stop += 1
        n = <size_t> (rows.starts[stop] - rows.starts[first])
        reserve(&memory.keys, n, sizeof(uint64_t))
        keys = <uint64_t*> memory.keys.data
        i = 0
        for row in range(first, stop):
            for entry in range(rows.starts[row], rows.starts[row + 1]):
                if not 0 <= rows.features[entry] < corpus.n_features or rows.counts[entry] <= 0:
                    return 0
                keys[i] = <uint64_t> rows.features[entry] << 32 | (row - first) << COUNT_BITS | min(rows.counts[entry], LARGEST)
                i += 1
        sort_entries(keys, n, &memory.spare)
        uses = Uses(keys, keys, keys + n, first, 0)
        while uses.keys < uses.last:
            uses.feature = <int64_t> (uses.keys[0] >> 32)
            while uses.end < uses.last and <int64_t> (uses.end[0] >> 32) == uses.feature:
                uses.end += 1
            if corpus.everywhere == NULL:  # the compiler makes a version of the function for each value of the flag
                if not add_feature(rows, &uses, corpus, logs, &values, False):
                    return 0
            elif not add_feature(rows, &uses, corpus, logs, &values, True):
                return 0
            uses.keys = uses.end
        first = stop
    for row in range(n_rows):
        for pair in range(<size_t> rows.own_starts[row], <size_t> rows.own_starts[row + 1]):
            for i in range(logs.n_smoothings):
                rows.sums[row * width + rows.own[pair] * logs.n_smoothings + i] = rows.own_sums[pair * logs.n_smoothings + i]
    return 1


def left_out_sums(rows, own_pairs, all_copies, corpus, everywhere, n_classes, logarithms):
    """Return the sum of counts * log(1 + t / smoothing) of each document for each class; see plain.py."""
    cdef Entries entries = Entries(*corpus)
    cdef const int64_t[::1] starts = rows[0], own_starts = own_pairs[0], of_class = own_pairs[2], of_all = all_copies, totals
    cdef const int32_t[::1] features = rows[1], counts = rows[2], own = own_pairs[1]
    cdef const double[::1] alphas = logarithms[0], log_alphas = logarithms[1]
    cdef const double[:, ::1] table = logarithms[2]
    cdef Py_ssize_t n_rows = len(starts) - 1, n_smoothings = len(alphas)
    cdef LeftOutMemory memory = memories.pop() if memories else LeftOutMemory()  # new memory has to be mapped, page by page
    cdef bint is_part = len(counts) == len(features) and is_indptr(starts, len(features))
    if not is_part or len(own_starts) != len(starts) or not is_indptr(own_starts, len(own)):
        raise ValueError("the arrays of the rows do not fit each other")
    if not 0 < n_smoothings == len(log_alphas) == table.shape[1] or len(table) == 0:
        raise ValueError("the table must have a column of logarithms for each smoothing")
    for numbers in (corpus[1], own_pairs[1]):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n_classes:
            raise ValueError("the classes of the corpus and the classes of the rows must be below n_classes")
    cdef Logarithms logs = Logarithms(&table[0, 0], len(table), &alphas[0], &log_alphas[0], n_smoothings)
    cdef Corpus whole = Corpus(entries.counted, entries.occurrences, NULL, len(corpus[0]) - 1, n_classes)
    sums = np.zeros((n_rows, n_classes, n_smoothings))
    own_sums = np.zeros((len(own) + 1, n_smoothings))
    base = np.zeros((n_rows, n_smoothings))
    cdef double[:, :, ::1] to_sums = sums
    cdef double[:, ::1] to_own = own_sums, to_base = base
    if len(features) == 0 or n_classes == 0:
        return sums
    if len(of_class) != len(own) or len(of_all) != n_rows or everywhere is not None and len(everywhere) != whole.n_features:
        raise ValueError("there must be copies for each document, and occurrences of each feature")
    cdef LeftOutRows left_out = LeftOutRows(
        &starts[0], &features[0], &counts[0], &own_starts[0], &own[0], &of_class[0], &of_all[0], &to_sums[0, 0, 0],
        &to_own[0, 0], &to_base[0, 0]
    )
    if everywhere is not None:
        totals = everywhere
        whole.everywhere = &totals[0]
    reserve(&memory.occurrences, n_classes, sizeof(int64_t))
    reserve(&memory.values, (MAX_REMOVED + 1) * n_classes * n_smoothings, sizeof(double))
    reserve(&memory.rests, (MAX_REMOVED + 1) * n_smoothings, sizeof(double))
    with nogil:
        is_part = sum_rows(&left_out, n_rows, &whole, &logs, memory) > 0
    if memory.keys.size <= MAX_KEPT:
        memories.append(memory)
    if not is_part:
        raise ValueError("a document is not part of the corpus")
    if everywhere is not None:
        sums += base[:, None, :]
    return sums
