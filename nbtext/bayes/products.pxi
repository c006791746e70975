# Products for the leave-one-out scores of several labels, compiled. `plain.py` has the pure-Python version.

cdef extern from *:
    """
    /* With GCC and glibc, the widest vectors of the processor; every version rounds in the same way, because -ffp-contract=off forbids fused operations. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define NB_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define NB_VECTORS
    #endif

    /* Powers by squaring: the plain version rounds in the same order. nb_raise overwrites `bases` with the powers. */
    static inline double nb_power(double base, int64_t exponent) {
        double result = 1.0;
        for (;; base *= base) {
            if (exponent & 1)
                result *= base;
            exponent >>= 1;
            if (exponent == 0)
                return result;
        }
    }

    static inline __attribute__((always_inline)) void nb_raise(
        double *restrict bases, size_t width, int64_t exponent, double *restrict results
    ) {
        for (size_t i = 0; i < width; i++)
            results[i] = 1.0;
        for (;;) {
            if (exponent & 1)
                for (size_t i = 0; i < width; i++)
                    results[i] *= bases[i];
            exponent >>= 1;
            if (exponent == 0)
                break;
            for (size_t i = 0; i < width; i++)
                bases[i] *= bases[i];
        }
        memcpy(bases, results, width * sizeof(double));
    }

    static inline __attribute__((always_inline)) double nb_factor(
        double t, double mu, double left, double share, double total
    ) {
        double added = share * mu;
        return (t + added) * (total + mu) / ((left - t + added) * mu);
    }

    /* Write the powers of the factors of some classes. `powers` is memory for as many numbers. */
    static NB_VECTORS void nb_fill_factors(
        const double *restrict occurrences, const int32_t *restrict classes, size_t width, const double *restrict mu,
        double left, double share, double total, int64_t exponent, double *restrict factors, double *restrict powers
    ) {
        for (size_t i = 0; i < width; i++)
            factors[i] = nb_factor(occurrences[i], mu[classes[i]], left, share, total);
        if (exponent > 1)
            nb_raise(factors, width, exponent, powers);
    }
    """
    double nb_power(double base, int64_t exponent) noexcept nogil
    double nb_factor(double t, double mu, double left, double share, double total) noexcept nogil
    void nb_fill_factors(
        const double* occurrences, const int32_t* classes, size_t width, const double* mu, double left, double share,
        double total, int64_t exponent, double* factors, double* powers
    ) noexcept nogil


cdef double LARGE = 2.0**500, LARGE_EXPONENT = 500  # larger products are divided by a power of 2


cdef struct Factors:
    const double* left
    const double* shares
    const double* mu
    double total
    int64_t limit


cdef struct OwnEntries:
    const int64_t* places
    const double* occurrences
    const double* mu
    size_t size  # number of own classes


cdef bint multiply_factors(
    const int64_t* starts, const int32_t* classes, const double* occurrences, int64_t n_features,
    const int32_t* features, const int32_t* counts, size_t length, OwnEntries own, Factors factors, size_t n_classes,
    double* memory, double* products, double* exponents
) noexcept nogil:
    """Multiply the product of each class by the factors of a document; return False if it is not part of the corpus.

    memory  for 2 * n_classes numbers
    """
    cdef size_t i, k, width
    cdef int64_t first, budget = factors.limit, remaining, repeats
    cdef double left, share
    for i in range(length):
        if i + AHEAD < length and 0 <= features[i + AHEAD] < n_features:
            nb_prefetch(occurrences + starts[features[i + AHEAD]])
        if not 0 <= features[i] < n_features:
            return False
        left = factors.left[i]
        share = factors.shares[i]
        first = starts[features[i]]
        width = starts[features[i] + 1] - starts[features[i]]
        remaining = counts[i]
        for k in range(own.size):
            if not first <= own.places[k * length + i] < first + <int64_t> width:
                return False
        if left <= 0:
            continue
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
            nb_fill_factors(
                occurrences + first, classes + first, width, factors.mu, left, share, factors.total, repeats, memory,
                memory + n_classes
            )
            for k in range(own.size):
                memory[n_classes + k] = products[classes[own.places[k * length + i]]]
            for k in range(width):
                products[classes[first + k]] *= memory[k]
            for k in range(own.size):  # replacing factors in `memory` would stall its vectors
                products[classes[own.places[k * length + i]]] = memory[n_classes + k] * nb_power(
                    nb_factor(own.occurrences[k * length + i], own.mu[k], left, share, factors.total), repeats
                )
    return True


def left_out_products(rows, own, corpus, mu, left, totals, limits):
    """Return the product of the factors of each document and class, as mantissas and exponents of 2; see plain.py."""
    cdef const int64_t[::1] starts = rows[0], own_starts = own[0], own_places = own[1], w_starts = corpus[0]
    cdef const int64_t[::1] most = limits
    cdef const int32_t[::1] features = rows[1], counts = rows[2], classes = corpus[1]
    cdef const double[::1] own_occurrences = own[2], own_mu = own[3], occurrences = corpus[2], class_mu = mu
    cdef const double[::1] entry_left = left[0], entry_shares = left[1], row_totals = totals
    cdef Py_ssize_t row, length, place = 0, n_rows = len(starts) - 1, size = len(mu)
    cdef int64_t n_features = len(w_starts) - 1
    cdef bint is_part = True
    cdef Factors factors
    cdef OwnEntries own_part
    products = np.ones((n_rows, size))
    exponents = np.zeros((n_rows, size))
    memory = np.empty(2 * size)
    cdef double[:, ::1] to_products = products, to_exponents = exponents
    cdef double[::1] to_memory = memory
    if len(features) and size and len(classes):
        with nogil:
            for row in range(n_rows):
                length = starts[row + 1] - starts[row]
                own_part = OwnEntries(NULL, NULL, NULL, own_starts[row + 1] - own_starts[row])
                if own_part.size and length:
                    own_part.places = &own_places[place]
                    own_part.occurrences = &own_occurrences[place]
                    own_part.mu = &own_mu[own_starts[row]]
                place += own_part.size * length
                factors = Factors(
                    &entry_left[0] + starts[row], &entry_shares[0] + starts[row], &class_mu[0], row_totals[row],
                    most[row]
                )
                is_part &= multiply_factors(
                    &w_starts[0], &classes[0], &occurrences[0], n_features, &features[0] + starts[row],
                    &counts[0] + starts[row], length, own_part, factors, size, &to_memory[0], &to_products[row, 0],
                    &to_exponents[row, 0]
                )
    if not is_part:
        raise ValueError("a document is not part of the corpus")
    return products, exponents
