# All classes at once: softmax regression.
#
#     minimize  1/2 sum_jk w_jk^2 + sum_i C_i (log sum_k e^z_ik - z_iy),   z_i = x_i.w + b,  b not regularized
#
# The dual variables of document i are a distribution p_i over the classes, and w_j = sum_i C_i x_ij (1[k = y_i] - p_ik).
# A visit sets p_i to the value that is best while all others stay: p = softmax(z + C_i |x|^2 (old - p)). The document's
# part of the duality gap is C_i times the Kullback-Leibler divergence of softmax(z) from p_i.
#
# Because b is not regularized, sum_i C_i (1[k = y_i] - p_ik) = 0 must hold for each class k. The method of multipliers
# (augmented Lagrangian) enforces it: b is the multiplier, `stiffness` the weight of the quadratic term, and each pass
# ends with a step of b.
#
# Keerthi, Sundararajan, Chang, Hsieh, Lin, A Sequential Dual Method for Large Scale Multi-Class Linear SVMs, 2008;
# Yu, Huang, Lin 2011, section 4

from libc.math cimport INFINITY, exp, fabs, isfinite, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from nbtext.features.kernel.memory cimport AHEAD, nb_prefetch
from nbtext.linear.one_vs_rest cimport shuffle

cdef enum:
    SOFTMAX_NEWTON_STEPS = 30  # a visit

cdef extern from *:
    """
    #define NB_MIN_PROBABILITY 1e-14
    """
    const double MIN_PROBABILITY "NB_MIN_PROBABILITY"

cdef struct SoftmaxProblem:
    const int64_t* indptr
    const int32_t* indices
    const double* values
    const int32_t* classes  # (n_rows of the matrix,), y
    const double* strengths  # (n_rows of the matrix,), C
    double* weights  # (n_features + 1, n_classes), the last row is b
    double* dual  # (n_rows of the matrix, n_classes), p
    double* squares  # (n_rows of the matrix,), |x_i|^2 + stiffness
    double* center  # (n_classes,), b at the start of the pass
    int32_t* order  # (n_rows,), the rows to fit
    double* z  # (n_classes,), and so are the next two
    double* sums
    double* proposal
    int64_t n_rows
    int64_t n_features
    int64_t n_classes
    double stiffness
    double dual_objective
    double gap
    uint64_t state


cdef inline void score_row(const SoftmaxProblem* p, int64_t row) noexcept nogil:
    """Put the scores of a row into z."""
    cdef int64_t entry, k, end = p.indptr[row + 1], n_classes = p.n_classes
    cdef const double* weights
    cdef double* z = p.z
    cdef double value
    for k in range(n_classes):
        z[k] = 0
    for entry in range(p.indptr[row], end):
        if entry + AHEAD < end:
            nb_prefetch(&p.weights[p.indices[entry + AHEAD] * n_classes])
        weights = &p.weights[p.indices[entry] * n_classes]
        value = p.values[entry]
        for k in range(n_classes):
            z[k] += value * weights[k]
    weights = &p.weights[p.n_features * n_classes]
    for k in range(n_classes):
        z[k] += weights[k]


cdef inline void update_softmax_weights(const SoftmaxProblem* p, int64_t row, const double* step) noexcept nogil:
    """Update w and b after a row's dual variables times C_i decreased by `step`, (n_classes,)."""
    cdef int64_t entry, k, n_classes = p.n_classes
    cdef double* weights
    cdef double value
    for entry in range(p.indptr[row], p.indptr[row + 1]):
        weights = &p.weights[p.indices[entry] * n_classes]
        value = p.values[entry]
        for k in range(n_classes):
            weights[k] += value * step[k]
    weights = &p.weights[p.n_features * n_classes]
    for k in range(n_classes):
        weights[k] += p.stiffness * step[k]


cdef inline double log_sum_exp(const double* z, int64_t n_classes) noexcept nogil:
    cdef double largest = z[0], total = 0
    cdef int64_t k
    for k in range(1, n_classes):
        largest = max(largest, z[k])
    for k in range(n_classes):
        total += exp(z[k] - largest)
    return largest + log(total)


cdef inline double divergence(const SoftmaxProblem* p, const double* old, double log_total) noexcept nogil:
    """The Kullback-Leibler divergence of softmax(z) from a row's dual variables: its part of the gap, for C_i = 1."""
    cdef double total = log_total
    cdef int64_t k
    for k in range(p.n_classes):
        total += old[k] * (log(old[k]) - p.z[k])
    return total


cdef inline double wright_omega(double t) noexcept nogil:
    """The root w of w + log w = t. Fritsch, Shafer, Crowley, Algorithm 443, 1973."""
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


cdef inline double propose_dual(const SoftmaxProblem* p, const double* old, double curvature, double level) noexcept nogil:
    """Put into `proposal` the root q of log q + c (q - old) = z - lambda with sum q = 1; returns the gain.

    c is `curvature`, and q = wright_omega(z + c old - lambda + log c) / c. Since sum q is convex and decreasing in
    lambda, Newton's method converges from below. It starts from lambda = `level`.

    returns  the increase of the dual objective, for C_i = 1
    """
    cdef int64_t k, n_classes = p.n_classes
    cdef double total, slope, lowest = -INFINITY, shift = log(curvature), gain = 0, change
    cdef int step
    for k in range(n_classes):
        p.sums[k] = p.z[k] + curvature * old[k]
        lowest = max(lowest, p.sums[k] - curvature)
    level = max(level, lowest)
    for step in range(SOFTMAX_NEWTON_STEPS):
        total, slope = 0, 0
        for k in range(n_classes):
            p.proposal[k] = wright_omega(p.sums[k] - level + shift)
            slope += p.proposal[k] / (1 + p.proposal[k])
            p.proposal[k] /= curvature
            total += p.proposal[k]
        if fabs(total - 1) * curvature <= 1e-6 * slope:  # the next step of lambda would be negligible
            break
        level = max(level + (total - 1) * curvature / slope, lowest)
    total = 0
    for k in range(n_classes):
        p.proposal[k] = max(p.proposal[k], MIN_PROBABILITY)
        total += p.proposal[k]
    for k in range(n_classes):
        p.proposal[k] /= total
        change = old[k] - p.proposal[k]
        gain += old[k] * log(old[k]) - p.proposal[k] * log(p.proposal[k]) - change * (p.z[k] + curvature * change / 2)
    return gain


cdef inline void start_softmax(SoftmaxProblem* p) noexcept nogil:
    """Set w, the squares and the dual objective from the dual variables and the intercepts."""
    cdef int64_t place, row, entry, k, n_classes = p.n_classes
    cdef double entropy = 0, norm = 0, value, C
    cdef double* b = &p.weights[p.n_features * n_classes]
    for k in range(n_classes):
        p.center[k] = b[k]
    memset(p.weights, 0, p.n_features * n_classes * sizeof(double))
    for place in range(p.n_rows):
        row = p.order[place]
        C = p.strengths[row]
        p.squares[row] = p.stiffness
        for entry in range(p.indptr[row], p.indptr[row + 1]):
            p.squares[row] += p.values[entry] * p.values[entry]
        for k in range(n_classes):
            value = p.dual[row * n_classes + k]
            entropy -= C * value * log(value)
            p.proposal[k] = C * ((1 if k == p.classes[row] else 0) - value)
        update_softmax_weights(p, row, p.proposal)
    for entry in range(p.n_features * n_classes):
        norm += p.weights[entry] * p.weights[entry]
    p.dual_objective = entropy - norm / 2
    norm = 0
    for k in range(n_classes):
        value = (b[k] - p.center[k]) / p.stiffness
        norm += value * (p.center[k] + (b[k] - p.center[k]) / 2)
    p.dual_objective -= norm


cdef inline double constraint_violation(const SoftmaxProblem* p) noexcept nogil:
    """How much the next step of the intercepts lowers the dual objective."""
    cdef double shift, cost = 0
    cdef int64_t k
    for k in range(p.n_classes):
        shift = p.weights[p.n_features * p.n_classes + k] - p.center[k]
        cost += shift * shift / p.stiffness
    return cost


cdef inline void step_intercepts(SoftmaxProblem* p) noexcept nogil:
    """The multiplier step: b moves once more by what it moved in the pass."""
    cdef double shift
    cdef double* b = &p.weights[p.n_features * p.n_classes]
    cdef int64_t k
    p.dual_objective -= constraint_violation(p)
    for k in range(p.n_classes):
        shift = b[k] - p.center[k]
        p.center[k] = b[k]
        b[k] += shift


cdef inline void visit_softmax(SoftmaxProblem* p) noexcept nogil:
    """Optimize the dual variables of each row, in order."""
    cdef int64_t place, row, k, n_classes = p.n_classes
    cdef double level, gain, new, C
    cdef double* old
    p.gap = 0
    for place in range(p.n_rows):
        row = p.order[place]
        C = p.strengths[row]
        old = &p.dual[row * n_classes]
        score_row(p, row)
        level = log_sum_exp(p.z, n_classes)
        p.gap += C * divergence(p, old, level)
        gain = propose_dual(p, old, C * p.squares[row], level)
        if gain > 0:
            p.dual_objective += C * gain
            for k in range(n_classes):
                new = p.proposal[k]
                p.proposal[k] = C * (old[k] - new)
                old[k] = new
            update_softmax_weights(p, row, p.proposal)


cdef inline double exact_softmax_gap(const SoftmaxProblem* p) noexcept nogil:
    """The duality gap at the present weights, over all rows."""
    cdef int64_t place, row
    cdef double total = 0
    for place in range(p.n_rows):
        row = p.order[place]
        score_row(p, row)
        total += p.strengths[row] * divergence(p, &p.dual[row * p.n_classes], log_sum_exp(p.z, p.n_classes))
    return total


cdef inline bint make_softmax_passes(SoftmaxProblem* p, double tolerance, int* n_iter, int last) noexcept nogil:
    """Make passes up to the last one, or until the gap and the constraint violation are within the tolerance.

    returns  whether they are within it, or the numbers are too large to continue
    """
    while n_iter[0] < last:
        if not isfinite(p.dual_objective):
            return True
        n_iter[0] += 1
        shuffle(p.order, p.n_rows, &p.state)
        visit_softmax(p)
        if p.gap + constraint_violation(p) <= tolerance * p.dual_objective:
            measure_softmax_gap(p)
            if p.gap <= tolerance * p.dual_objective:
                return True
        step_intercepts(p)
    return False


cdef inline void measure_softmax_gap(SoftmaxProblem* p) noexcept nogil:
    p.gap = exact_softmax_gap(p) + constraint_violation(p)
