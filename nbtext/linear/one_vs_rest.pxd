# Each class against the rest: squared hinge loss or logistic loss. Several such problems, the lanes, share the documents.
#
#     minimize  1/2 sum_j w_j^2 / s_j + C sum_i loss(m_i),   m_i = y_i x_i.w
#
# With scale s_j = 1 this is the usual L2 regularization; with s_j = r_j^2 it is that of a model whose features are
# multiplied by r_j. The loss is max(0, 1 - m)^2 (squared hinge) or log(1 + e^-m) (logistic). Document i has the dual
# variable C * dual_i >= 0, and w_j = s_j C sum_i dual_i y_i x_ij.
#
# A lane is a class and a fold that it leaves out. The numbers of all lanes for one feature are neighbors in memory, so
# that one visit of a document serves all lanes. A lane's result does not depend on the other lanes: all visit the rows
# in the same order, and each skips the rows that it leaves out or that are shrunk in it.
#
# A feature of one document only adds a constant to that document's own margin for each unit of its dual variable. The
# sum of these constants is the document's `diagonal`; such a feature needs no entry in the matrix, and no weight.
#
# Hsieh, Chang, Lin, Keerthi, Sundararajan, A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008;
# Yu, Huang, Lin, Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011

from libc.math cimport INFINITY, exp, fabs, isfinite, log, log1p
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from nbtext.features.kernel.memory cimport nb_lowest_bit
from nbtext.linear.lanes cimport nb_score_lanes, nb_square_lanes, nb_update_lanes

cdef enum:
    LANES = 16  # at most
    NEWTON_STEPS = 60  # for one dual variable; bisection alone would have converged by then
    RESTORE_PASSES = 16  # between two restorations of all shrunk rows: where progress is slow, some shrink too early

cdef extern from *:
    """
    #define NB_MAX_LOG_ODDS 36.0
    """
    const double MAX_LOG_ODDS "NB_MAX_LOG_ODDS"  # log-odds of a dual variable that rounds to 0 or 1

cdef struct Lane:
    int32_t own_class
    int32_t fold  # that the lane leaves out
    double C
    double violation  # largest violation of the optimality conditions in the pass
    double bound  # the one of the pass before
    double gap  # sum of the rows' parts of the duality gap, and of the dual objective, divided by C
    double objective

cdef struct LaneProblem:
    const int64_t* indptr
    const int32_t* features
    const float* values
    const int32_t* classes  # (n_rows,)
    const int32_t* folds  # (n_rows,)
    const float* scales  # (n_features, width), s
    const float* diagonal  # (n_rows, width)
    double* weights  # (n_features, width), w
    double* dual  # (n_rows, width)
    float* squares  # (n_rows, width), sum_j x_ij^2 s_j
    uint32_t* active  # (n_rows,), a bit for each lane in which the row is fitted, and not shrunk
    int32_t* order  # (n_rows,)
    Lane lanes[LANES]
    int64_t n_rows
    int64_t n_features
    int n_lanes
    int width  # n_lanes, rounded up so that loops over it are short sequences of vector instructions
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


cdef inline void shuffle(int32_t* order, int64_t count, uint64_t* state) noexcept nogil:
    """The Fisher-Yates shuffle."""
    cdef int64_t last, other
    for last in range(count - 1, 0, -1):
        other = draw_below(state, last + 1)
        order[last], order[other] = order[other], order[last]


cdef inline void score(const LaneProblem* p, int64_t row, double* z) noexcept nogil:
    """Put x.w of each lane into z."""
    cdef int64_t first = p.indptr[row]
    nb_score_lanes(&p.features[first], &p.values[first], p.indptr[row + 1] - first, p.weights, z, p.width)


cdef inline void update(const LaneProblem* p, int64_t row, const double* steps) noexcept nogil:
    """Update w after y times C times a row's dual variables changed by `steps`."""
    cdef int64_t first = p.indptr[row]
    nb_update_lanes(&p.features[first], &p.values[first], p.indptr[row + 1] - first, p.scales, steps, p.weights, p.width)


cdef inline double sign(const LaneProblem* p, int64_t row, int k) noexcept nogil:
    return 1.0 if p.classes[row] == p.lanes[k].own_class else -1.0


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


cdef inline uint32_t lanes_of_row(const LaneProblem* p, int64_t row, uint32_t lanes) noexcept nogil:
    """Those of the lanes that do not leave the row out."""
    cdef uint32_t found = 0
    cdef int k
    for k in range(p.n_lanes):
        if p.folds[row] != p.lanes[k].fold:
            found |= <uint32_t> 1 << k
    return found & lanes


cdef inline void restore(LaneProblem* p, uint32_t lanes, uint32_t dropped) noexcept nogil:
    """Make all rows of some lanes active, and no row of the dropped ones."""
    cdef int64_t row
    cdef int k
    for row in range(p.n_rows):
        p.active[row] = p.active[row] & ~dropped | lanes_of_row(p, row, lanes)
    for k in range(p.n_lanes):
        if lanes >> k & 1:
            p.lanes[k].bound = INFINITY


cdef inline void start(LaneProblem* p) noexcept nogil:
    """Set w and the squares from the dual variables; those of rows that a lane leaves out become 0."""
    cdef int64_t row, first
    cdef double steps[LANES]
    cdef bint is_moved
    cdef uint32_t lanes
    cdef float* squares
    cdef int k
    if p.n_features:
        memset(p.weights, 0, p.n_features * p.width * sizeof(double))
    for row in range(p.n_rows):
        lanes = lanes_of_row(p, row, <uint32_t> -1)
        is_moved = False
        for k in range(p.width):
            steps[k] = 0
            if not lanes >> k & 1:
                p.dual[row * p.width + k] = 0
            elif p.dual[row * p.width + k] != 0:
                steps[k] = sign(p, row, k) * p.lanes[k].C * p.dual[row * p.width + k]
                is_moved = True
        squares = &p.squares[row * p.width]
        for k in range(p.width):
            squares[k] = p.diagonal[row * p.width + k]
        if lanes == 0:
            continue
        first = p.indptr[row]
        nb_square_lanes(&p.features[first], &p.values[first], p.indptr[row + 1] - first, p.scales, squares, p.width)
        if is_moved:
            update(p, row, steps)


cdef inline void visit(LaneProblem* p, int64_t row) noexcept nogil:
    """Optimize the dual variables of a row.

    A row is shrunk in a lane, and not visited any more, where its dual variable is 0 and its margin is larger than the
    largest violation of the optimality conditions during the last pass.
    """
    cdef uint32_t lanes = p.active[row], left = lanes
    cdef double z[LANES]
    cdef double steps[LANES]
    cdef double y, margin, old, new
    cdef Lane* lane
    cdef int64_t place
    cdef int k
    cdef bint is_moved = False
    score(p, row, z)
    for k in range(p.width):
        steps[k] = 0
    while left:
        k = nb_lowest_bit(left)
        left &= left - 1
        lane, place = &p.lanes[k], row * p.width + k
        old, y = p.dual[place], sign(p, row, k)
        margin = y * z[k] + lane.C * old * p.diagonal[place]
        if old == 0 and not p.is_logistic and margin - 1 > lane.bound:
            lanes &= ~(<uint32_t> 1 << k)
            continue
        lane.gap += gap_part(old, margin, p.is_logistic)
        lane.objective += dual_loss(old, p.is_logistic) - old * margin / 2
        if not p.is_logistic and (old > 0 or margin < 1):
            lane.violation = max(lane.violation, margin - 1 + old / 2)
        new = maximize_dual(old, margin, lane.C * p.squares[place], p.is_logistic)
        if new != old:
            steps[k] = y * lane.C * (new - old)
            p.dual[place] = new
            is_moved = True
    p.active[row] = lanes
    if is_moved:
        update(p, row, steps)


cdef inline void measure_gaps(LaneProblem* p) noexcept nogil:
    """The duality gap and the dual objective of each lane at the present weights, over all rows."""
    cdef int64_t row, place
    cdef double z[LANES]
    cdef double margin, dual
    cdef uint32_t lanes
    cdef int k
    for k in range(p.n_lanes):
        p.lanes[k].gap, p.lanes[k].objective = 0, 0
    for row in range(p.n_rows):
        lanes = lanes_of_row(p, row, <uint32_t> -1)
        if lanes:
            score(p, row, z)
        while lanes:
            k = nb_lowest_bit(lanes)
            lanes &= lanes - 1
            place = row * p.width + k
            dual = p.dual[place]
            margin = sign(p, row, k) * z[k] + p.lanes[k].C * dual * p.diagonal[place]
            p.lanes[k].gap += gap_part(dual, margin, p.is_logistic)
            p.lanes[k].objective += dual_loss(dual, p.is_logistic) - dual * margin / 2


cdef inline uint32_t lanes_above(const LaneProblem* p, uint32_t lanes, double tolerance) noexcept nogil:
    """Those of the lanes whose relative duality gap is above the tolerance, and is a number."""
    cdef uint32_t found = 0
    cdef int k
    for k in range(p.n_lanes):
        if lanes >> k & 1 and isfinite(p.lanes[k].objective) and not p.lanes[k].gap <= tolerance * p.lanes[k].objective:
            found |= <uint32_t> 1 << k
    return found


cdef inline int solve_lanes(LaneProblem* p, uint32_t lanes, double tolerance, int max_iter, bint is_rough) noexcept nogil:
    """Make passes until the relative duality gap of each of the lanes is within the tolerance; returns their number.

    The gap that a pass finds is that of each row when it is visited. `is_rough` is satisfied with that; otherwise the
    gap is measured at the end, over all rows.
    """
    cdef uint32_t above, within
    cdef int64_t place
    cdef int n_iter = 0, k
    start(p)
    restore(p, lanes, 0)
    while lanes and n_iter < max_iter:
        n_iter += 1
        for k in range(p.n_lanes):
            p.lanes[k].gap, p.lanes[k].objective, p.lanes[k].violation = 0, 0, 0
        shuffle(p.order, p.n_rows, &p.state)
        for place in range(p.n_rows):
            if p.active[p.order[place]]:
                visit(p, p.order[place])
        for k in range(p.n_lanes):
            p.lanes[k].bound = p.lanes[k].violation if p.lanes[k].violation > 0 else INFINITY
        within = lanes & ~lanes_above(p, lanes, tolerance)
        above = 0
        if within and not is_rough:
            measure_gaps(p)
            above = lanes_above(p, within, tolerance)
        lanes &= ~(within & ~above)
        if n_iter % RESTORE_PASSES == 0:
            above = lanes
        if within or above:
            restore(p, above, within)
    if not is_rough:
        start(p)  # removes the rounding errors of many small steps
        measure_gaps(p)
    return n_iter
