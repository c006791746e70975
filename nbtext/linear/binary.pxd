# One class against the rest.
#
#     minimize  1/2 sum_j w_j^2 / s_j + C sum_i loss(m_i),   m_i = y_i x_i.w
#
# With scale s_j = 1 this is the usual L2 regularization; with s_j = r_j^2 it is that of a model whose features are
# multiplied by r_j. The loss is max(0, 1 - m)^2 (squared hinge) or log(1 + e^-m) (logistic). Document i has the dual
# variable C * dual_i >= 0, and w_j = s_j C sum_i dual_i y_i x_ij.
#
# Hsieh, Chang, Lin, Keerthi, Sundararajan, A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008;
# Yu, Huang, Lin, Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011

from libc.math cimport INFINITY, exp, fabs, isfinite, log, log1p
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

cdef enum:
    NEWTON_STEPS = 60  # for one dual variable; bisection alone would have converged by then
    RESTORE_PASSES = 16  # between two restorations of all shrunk rows: where progress is slow, some shrink too early

cdef extern from *:
    """
    #define NB_MAX_LOG_ODDS 36.0
    """
    const double MAX_LOG_ODDS "NB_MAX_LOG_ODDS"  # log-odds of a dual variable that rounds to 0 or 1

cdef struct BinaryProblem:
    const int64_t* indptr
    const int32_t* indices
    const double* values
    const double* signs  # (n_rows of the matrix,), y: 1 or -1
    const double* scales  # (n_features,), s
    double* weights  # (n_features,), w
    double* dual  # (n_rows of the matrix,)
    double* squares  # (n_rows of the matrix,), sum_j x_ij^2 s_j
    int64_t* order  # (n_rows,), the rows to fit; those that are not shrunk come first
    int64_t n_rows
    int64_t n_features
    double C
    double dual_objective
    double gap  # sum of the rows' parts of the duality gap
    bint is_logistic
    uint64_t state  # of the random number generator


cdef inline int64_t draw_below(uint64_t* state, int64_t count) noexcept nogil:
    """The next random number from 0 to count - 1, count < 2**32, by SplitMix64 (Steele, Lea, Flood 2014)."""
    cdef uint64_t z
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    z ^= z >> 31
    return <int64_t> ((z >> 32) * <uint64_t> count >> 32)


cdef inline void shuffle(int64_t* order, int64_t count, uint64_t* state) noexcept nogil:
    """The Fisher-Yates shuffle."""
    cdef int64_t last, other
    for last in range(count - 1, 0, -1):
        other = draw_below(state, last + 1)
        order[last], order[other] = order[other], order[last]


cdef inline double margin(const BinaryProblem* p, int64_t row) noexcept nogil:
    cdef int64_t entry = p.indptr[row], end = p.indptr[row + 1]
    cdef const int32_t* indices = p.indices
    cdef const double* values = p.values
    cdef const double* weights = p.weights
    cdef double a = 0, b = 0, c = 0, d = 0  # four sums, so that additions need not wait for each other
    while entry + 4 <= end:
        a += values[entry] * weights[indices[entry]]
        b += values[entry + 1] * weights[indices[entry + 1]]
        c += values[entry + 2] * weights[indices[entry + 2]]
        d += values[entry + 3] * weights[indices[entry + 3]]
        entry += 4
    if entry < end:
        a += values[entry] * weights[indices[entry]]
    if entry + 1 < end:
        b += values[entry + 1] * weights[indices[entry + 1]]
    if entry + 2 < end:
        c += values[entry + 2] * weights[indices[entry + 2]]
    return p.signs[row] * ((a + b) + (c + d))


cdef inline void update_weights(const BinaryProblem* p, int64_t row, double step) noexcept nogil:
    """Update w after a row's dual variable changed by `step`."""
    cdef int64_t entry
    step *= p.signs[row]
    for entry in range(p.indptr[row], p.indptr[row + 1]):
        p.weights[p.indices[entry]] += step * p.values[entry] * p.scales[p.indices[entry]]


cdef inline double softplus(double z) noexcept nogil:
    """log(1 + e^z)"""
    return max(z, 0.0) + log1p(exp(-fabs(z)))


cdef inline double sigmoid(double z) noexcept nogil:
    return 1 / (1 + exp(-z))


cdef inline double log_odds(double probability) noexcept nogil:
    return min(max(log(probability) - log1p(-probability), -MAX_LOG_ODDS), MAX_LOG_ODDS) if 0 < probability < 1 else (
        -MAX_LOG_ODDS if probability <= 0 else MAX_LOG_ODDS
    )


cdef inline double dual_loss(double dual, bint is_logistic) noexcept nogil:
    """A row's term of the dual objective without the regularization, for C = 1."""
    cdef double odds
    if not is_logistic:
        return dual - dual * dual / 4
    odds = log_odds(dual)
    return softplus(odds) - dual * odds


cdef inline double gap_part(double dual, double margin, bint is_logistic) noexcept nogil:
    """A row's part of the duality gap for C = 1; never negative, by the Fenchel-Young inequality."""
    cdef double slack = 1 - margin, odds
    if not is_logistic:
        return (slack - dual / 2) * (slack - dual / 2) if slack > 0 else dual * dual / 4 - dual * slack
    odds = log_odds(dual)
    return softplus(-margin) - softplus(odds) + dual * (odds + margin)


cdef inline double maximize_dual(double dual, double margin, double curvature, bint is_logistic) noexcept nogil:
    """The value of a row's dual variable that is best while all others stay; `curvature` is C times its square."""
    cdef double low, high, odds, error, next_odds, probability
    cdef int step
    if not is_logistic:
        return max(dual + (1 - margin - dual / 2) / (curvature + 0.5), 0.0)
    # the root z of curvature * (sigmoid(z) - dual) + margin + z lies between the present log-odds and -margin
    odds = log_odds(dual)
    high = min(max(-margin, -MAX_LOG_ODDS), MAX_LOG_ODDS)
    low, high = min(odds, high), max(odds, high)
    for step in range(NEWTON_STEPS):
        probability = sigmoid(odds)
        error = curvature * (probability - dual) + margin + odds
        if error > 0:
            high = odds
        else:
            low = odds
        next_odds = odds - error / (curvature * probability * (1 - probability) + 1)
        if not low < next_odds < high:
            next_odds = (low + high) / 2
        if fabs(next_odds - odds) <= 1e-6:
            odds = next_odds
            break
        odds = next_odds
    return sigmoid(odds)


cdef inline void recompute_weights(const BinaryProblem* p) noexcept nogil:
    """Set w from the dual variables; this removes the rounding errors of many small steps."""
    cdef int64_t place, row
    memset(p.weights, 0, p.n_features * sizeof(double))
    for place in range(p.n_rows):
        row = p.order[place]
        if p.dual[row] != 0:
            update_weights(p, row, p.C * p.dual[row])


cdef inline void start_binary(BinaryProblem* p) noexcept nogil:
    """Set w, the squares and the dual objective from the dual variables."""
    cdef int64_t place, row, entry, feature
    cdef double losses = 0, norm = 0, value, square
    recompute_weights(p)
    for place in range(p.n_rows):
        row = p.order[place]
        square = 0
        for entry in range(p.indptr[row], p.indptr[row + 1]):
            value = p.values[entry]
            square += value * value * p.scales[p.indices[entry]]
        p.squares[row] = square
        losses += dual_loss(p.dual[row], p.is_logistic)
    for feature in range(p.n_features):
        if p.weights[feature] != 0:
            norm += p.weights[feature] * p.weights[feature] / p.scales[feature]
    p.dual_objective = p.C * losses - norm / 2


cdef inline int64_t visit_binary(BinaryProblem* p, int64_t count, double* violation) noexcept nogil:
    """Optimize the dual variable of each of the first `count` rows; returns how many remain after shrinking.

    A row is shrunk, and not visited any more, where its dual variable is 0 and its margin is larger than the largest
    violation of the optimality conditions during the last pass. `violation` is that, and then the one of this pass.
    """
    cdef int64_t place = 0, row
    cdef double row_margin, old, new, step, bound = violation[0]
    violation[0] = 0
    p.gap = 0
    while place < count:
        row = p.order[place]
        old = p.dual[row]
        row_margin = margin(p, row)
        if old == 0 and not p.is_logistic and row_margin - 1 > bound:
            count -= 1
            p.order[place], p.order[count] = p.order[count], row
            continue
        p.gap += p.C * gap_part(old, row_margin, p.is_logistic)
        if not p.is_logistic and (old > 0 or row_margin < 1):
            violation[0] = max(violation[0], row_margin - 1 + old / 2)
        new = maximize_dual(old, row_margin, p.C * p.squares[row], p.is_logistic)
        if new != old:
            step = p.C * (new - old)
            p.dual_objective += p.C * (dual_loss(new, p.is_logistic) - dual_loss(old, p.is_logistic))
            p.dual_objective -= step * row_margin + step * step * p.squares[row] / 2
            p.dual[row] = new
            update_weights(p, row, step)
        place += 1
    if violation[0] <= 0:
        violation[0] = INFINITY
    return count


cdef inline double exact_binary_gap(const BinaryProblem* p) noexcept nogil:
    """The duality gap at the present weights, over all rows."""
    cdef int64_t place, row
    cdef double total = 0
    for place in range(p.n_rows):
        row = p.order[place]
        total += gap_part(p.dual[row], margin(p, row), p.is_logistic)
    return p.C * total


cdef inline int solve_binary(BinaryProblem* p, double tolerance, int max_iter) noexcept nogil:
    """Make passes until the relative duality gap is within the tolerance; returns the number of passes."""
    cdef int64_t count = p.n_rows
    cdef double violation = INFINITY
    cdef int n_iter = 0
    start_binary(p)
    while n_iter < max_iter and isfinite(p.dual_objective):
        n_iter += 1
        shuffle(p.order, count, &p.state)
        count = visit_binary(p, count, &violation)
        if p.gap <= tolerance * p.dual_objective:
            p.gap = exact_binary_gap(p)
            if p.gap <= tolerance * p.dual_objective:
                break
            count, violation = p.n_rows, INFINITY
        elif n_iter % RESTORE_PASSES == 0:
            count, violation = p.n_rows, INFINITY
    recompute_weights(p)
    p.gap = exact_binary_gap(p)
    return n_iter
