# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Many classes at once: the sequential dual method of softmax regression.
#
# minimised is  ½ Σ_jk w_jk² + C Σ_i (log Σ_k e^z_ik - z_iy),  z_i = w·x_i + b, b free. Each document holds a belief:
# a distribution p_i over the classes, and w_j = C Σ_i x_ij (1[k = y_i] - p_ik). A visit gives it the belief that is
# best while all others stay, p = softmax(z + C |x|² (old - p)), exactly.
# A document's share of the duality gap is C times the divergence of softmax(z) from its belief.
#
# That b is free asks Σ_i (1[k = y_i] - p_ik) = 0: the method of multipliers with the stiffness `spring`, a step a round.
#
# Keerthi, Sundararajan, Chang, Hsieh, Lin, A Sequential Dual Method for Large Scale Multi-Class Linear SVMs, 2008;
# Yu, Huang, Lin 2011, section 4

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from nbtext.features.kernel.memory cimport AHEAD, nb_prefetch
from nbtext.linear.binary cimport shuffle_rows

cdef enum:
    BELIEF_STEPS = 30  # of Newton's method a visit

cdef extern from *:
    """
    #define NB_LEAST_BELIEF 1e-14
    """
    const double LEAST_BELIEF "NB_LEAST_BELIEF"

cdef struct Softmax:
    const int64_t* indptr
    const int32_t* indices
    const double* values
    const int32_t* classes  # (n_rows,)
    double* weights  # (n_features + 1, n_classes), the last row is b
    double* beliefs  # (n_rows, n_classes)
    double* squares  # (n_rows,), |x_i|² + spring
    double* center  # (n_classes,), where b began the round
    int64_t* order  # (n_rows,)
    double* z  # (n_classes,), and so are the next two
    double* sums
    double* belief
    int64_t n_rows
    int64_t n_features
    int64_t n_classes
    double penalty
    double spring
    double dual
    double gap
    uint64_t state


cdef inline void score_row(const Softmax* s, int64_t row) noexcept nogil:
    """z of a row."""
    cdef int64_t entry, k, end = s.indptr[row + 1], n_classes = s.n_classes
    cdef const double* weights
    cdef double* z = s.z
    cdef double value
    for k in range(n_classes):
        z[k] = 0
    for entry in range(s.indptr[row], end):
        if entry + AHEAD < end:
            nb_prefetch(&s.weights[s.indices[entry + AHEAD] * n_classes])
        weights = &s.weights[s.indices[entry] * n_classes]
        value = s.values[entry]
        for k in range(n_classes):
            z[k] += value * weights[k]
    weights = &s.weights[s.n_features * n_classes]
    for k in range(n_classes):
        z[k] += weights[k]


cdef inline void add_row(const Softmax* s, int64_t row, const double* change) noexcept nogil:
    """Let a row's α change by this, (n_classes,)."""
    cdef int64_t entry, k, n_classes = s.n_classes
    cdef double* weights
    cdef double value
    for entry in range(s.indptr[row], s.indptr[row + 1]):
        weights = &s.weights[s.indices[entry] * n_classes]
        value = s.values[entry]
        for k in range(n_classes):
            weights[k] += value * change[k]
    weights = &s.weights[s.n_features * n_classes]
    for k in range(n_classes):
        weights[k] += s.spring * change[k]


cdef inline double log_sum(const double* z, int64_t n_classes) noexcept nogil:
    """log Σ_k e^z_k"""
    cdef double largest = z[0], total = 0
    cdef int64_t k
    for k in range(1, n_classes):
        largest = max(largest, z[k])
    for k in range(n_classes):
        total += exp(z[k] - largest)
    return largest + log(total)


cdef inline double divergence(const Softmax* s, const double* old, double log_total) noexcept nogil:
    """Of softmax(z) from the belief: the row's share of the duality gap, for C = 1."""
    cdef double total = log_total
    cdef int64_t k
    for k in range(s.n_classes):
        total += old[k] * (log(old[k]) - s.z[k])
    return total


cdef inline double omega(double t) noexcept nogil:
    """Wright's function: the root of w + log w = t. Fritsch, Shafer, Crowley, Algorithm 443, 1973."""
    cdef double w, r, q
    cdef int step
    if t < -2:
        w = exp(t)
        if t < -18:
            return w
        w = w * (1 - w + 1.5 * w * w)
    elif t < 3:
        w = 0.5671432904 + t * (0.3618962566 + t * (0.0737 + t * 0.0013))
    else:
        w = t - log(t) * (1 - 1 / t)
    for step in range(3):
        r = t - w - log(w)
        if fabs(r) <= 1e-9:
            break
        q = 2 * (1 + w) * (1 + w + 2 * r / 3)
        w *= 1 + r / (1 + w) * (q - r) / (q - 2 * r)
    return w


cdef inline double find_belief(const Softmax* s, const double* old, double curvature, double level) noexcept nogil:
    """Put into `belief` the root of log p + c (p - old) = z - λ, Σ p = 1: p = ω(z + c old - λ + log c) / c.

    Σ p is convex and falls in λ, so that Newton's method cannot miss. `level` is where λ begins.
    returns  what the dual objective gains, for C = 1; 0 where nothing was to be gained
    """
    cdef int64_t k, n_classes = s.n_classes
    cdef double total, slope, lowest = -INFINITY, shift = log(curvature)
    cdef int step
    for k in range(n_classes):
        s.sums[k] = s.z[k] + curvature * old[k]
        lowest = max(lowest, s.sums[k] - curvature)
    level = max(level, lowest)
    for step in range(BELIEF_STEPS):
        total, slope = 0, 0
        for k in range(n_classes):
            s.belief[k] = omega(s.sums[k] - level + shift)
            slope += s.belief[k] / (1 + s.belief[k])
            s.belief[k] /= curvature
            total += s.belief[k]
        if fabs(total - 1) * curvature <= 1e-6 * slope:  # a step that λ would not feel
            break
        level = max(level + (total - 1) * curvature / slope, lowest)
    total = 0
    for k in range(n_classes):
        s.belief[k] = max(s.belief[k], LEAST_BELIEF)
        total += s.belief[k]
    for k in range(n_classes):
        s.belief[k] /= total
    return gain_of_belief(s, old, curvature)


cdef inline double gain_of_belief(const Softmax* s, const double* old, double curvature) noexcept nogil:
    """What the dual objective gains, for C = 1, by `belief` in the place of the old one."""
    cdef double gain = 0, change
    cdef int64_t k
    for k in range(s.n_classes):
        change = old[k] - s.belief[k]
        gain += old[k] * log(old[k]) - s.belief[k] * log(s.belief[k]) - change * (s.z[k] + curvature * change / 2)
    return gain


cdef inline void begin_softmax(Softmax* s) noexcept nogil:
    """The weights that the beliefs make, b where it is, and the dual objective there."""
    cdef int64_t row, entry, k, n_classes = s.n_classes
    cdef double entropy = 0, norm = 0, value
    cdef double* b = &s.weights[s.n_features * n_classes]
    for k in range(n_classes):
        s.center[k] = b[k]
    memset(s.weights, 0, s.n_features * n_classes * sizeof(double))
    for row in range(s.n_rows):
        s.order[row] = row
        s.squares[row] = s.spring
        for entry in range(s.indptr[row], s.indptr[row + 1]):
            s.squares[row] += s.values[entry] * s.values[entry]
        for k in range(n_classes):
            value = s.beliefs[row * n_classes + k]
            entropy -= value * log(value)
            s.belief[k] = s.penalty * ((1 if k == s.classes[row] else 0) - value)
        add_row(s, row, s.belief)
    for entry in range(s.n_features * n_classes):
        norm += s.weights[entry] * s.weights[entry]
    s.dual = s.penalty * entropy - norm / 2
    norm = 0
    for k in range(n_classes):
        value = (b[k] - s.center[k]) / s.spring
        norm += value * (s.center[k] + (b[k] - s.center[k]) / 2)
    s.dual -= norm


cdef inline double pressure(const Softmax* s) noexcept nogil:
    """What the multipliers' next step takes off the dual objective."""
    cdef double shift, cost = 0
    cdef int64_t k
    for k in range(s.n_classes):
        shift = s.weights[s.n_features * s.n_classes + k] - s.center[k]
        cost += shift * shift / s.spring
    return cost


cdef inline void recenter(Softmax* s) noexcept nogil:
    """The multipliers' step: b goes as far again as the round has moved it."""
    cdef double shift
    cdef double* b = &s.weights[s.n_features * s.n_classes]
    cdef int64_t k
    s.dual -= pressure(s)
    for k in range(s.n_classes):
        shift = b[k] - s.center[k]
        s.center[k] = b[k]
        b[k] += shift


cdef inline void visit_beliefs(Softmax* s) noexcept nogil:
    """Give each row in order its best belief."""
    cdef int64_t place, row, k, n_classes = s.n_classes
    cdef double level, share
    cdef double* old
    s.gap = 0
    for place in range(s.n_rows):
        row = s.order[place]
        old = &s.beliefs[row * n_classes]
        score_row(s, row)
        level = log_sum(s.z, n_classes)
        s.gap += s.penalty * divergence(s, old, level)
        share = find_belief(s, old, s.penalty * s.squares[row], level)
        if share > 0:
            s.dual += s.penalty * share
            for k in range(n_classes):
                share = s.belief[k]
                s.belief[k] = s.penalty * (old[k] - share)
                old[k] = share
            add_row(s, row, s.belief)


cdef inline double beliefs_gap(const Softmax* s) noexcept nogil:
    """The duality gap at the weights as they are, exactly."""
    cdef int64_t row
    cdef double total = 0
    for row in range(s.n_rows):
        score_row(s, row)
        total += divergence(s, &s.beliefs[row * s.n_classes], log_sum(s.z, s.n_classes))
    return s.penalty * total


cdef inline int believe(Softmax* s, double tolerance, int rounds) noexcept nogil:
    """Go on until the duality gap, and what b still moves, are below their share of the dual objective."""
    cdef int done = 0
    begin_softmax(s)
    while done < rounds:
        done += 1
        shuffle_rows(s.order, s.n_rows, &s.state)
        visit_beliefs(s)
        if s.gap + pressure(s) <= tolerance * s.dual:
            s.gap = beliefs_gap(s) + pressure(s)
            if s.gap <= tolerance * s.dual:
                return done
        recenter(s)
    s.gap = beliefs_gap(s) + pressure(s)
    return done
