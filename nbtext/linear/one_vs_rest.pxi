# A class against the rest: squared hinge loss or logistic loss.
#
#     minimize  1/2 sum_j w_j^2 / s_j + sum_i C_i loss(m_i),   m_i = y_i x_i.w
#
# With scale s_j = 1 this is the usual L2 regularization; with s_j = r_j^2 it is that of a model whose features are
# multiplied by r_j. The loss is max(0, 1 - m)^2 (squared hinge) or log(1 + e^-m) (logistic). Document i has the dual
# variable C_i * dual_i >= 0, and w_j = s_j sum_i C_i dual_i y_i x_ij.
#
# The weight and the scale of a feature are neighbors in memory, as 32-bit numbers, so that the weights of most corpora
# fit into the cache. Sums over a document are of 64 bits. The weights collect the rounding errors of many small steps;
# they are therefore computed again from the dual variables before the duality gap is measured.
#
# A document whose part of the duality gap is negligible keeps its dual variable, and is skipped in the next 3, then 12,
# then 16 passes. This holds for documents beyond the margin whose dual variable is 0: with many classes, for most. The
# measured gap is that of all documents.
#
# A feature of one document only adds a constant to that document's own margin for each unit of its dual variable. The
# sum of these constants is the document's `diagonal`; such a feature needs no entry in the matrix, and no weight.
#
# Hsieh, Chang, Lin, Keerthi, Sundararajan, A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008;
# Yu, Huang, Lin, Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011

cdef enum:
    NEWTON_STEPS = 60  # for one dual variable; bisection alone would have converged by then
    MIN_WAIT = 3  # passes in which a document is skipped
    MAX_WAIT = 16
    ROWS_AHEAD = 2  # by which the entries of documents are prefetched
    MAX_AHEAD = 256  # entries of a document that are prefetched
    IN_LINE = 16  # entries in a cache line

cdef extern from *:
    """
    #define NB_MAX_LOG_ODDS 36.0
    #define NB_FAR_MARGIN 1.5
    #define NB_NEGLIGIBLE 0.3
    """
    const double MAX_LOG_ODDS "NB_MAX_LOG_ODDS"  # log-odds of a dual variable that rounds to 0 or 1
    const double FAR_MARGIN "NB_FAR_MARGIN"
    const double NEGLIGIBLE "NB_NEGLIGIBLE"  # share of the tolerated gap that the skipped documents may make up together

cdef struct Feature:
    float weight  # w
    float scale  # s

cdef struct Row:
    float square  # sum_j x_ij^2 s_j, below 0 until it is needed
    int16_t due  # pass in which the row is visited next
    int16_t wait  # passes in which it was skipped last

cdef struct BinaryProblem:
    const int64_t* indptr
    const int32_t* features
    const float* values
    const double* strengths  # (n_rows,), y C; 0 for a row that is not fitted
    const float* diagonal  # (n_rows,)
    Feature* weights  # (n_features,)
    double* dual  # (n_rows,)
    Row* rows  # (n_rows,)
    int32_t* order  # (n_order,), the rows that are fitted
    int32_t* visited  # (n_order,), those of the current pass
    float* margins  # (n_rows,), m at the start and at the end
    int64_t n_rows
    int64_t n_features
    int64_t n_order
    int64_t n_fitted  # rows that are fitted; more than `n_order` if these are of one block only
    double gap  # sum of the rows' parts of the duality gap
    double objective  # the dual one
    double negligible  # a row whose part of the gap is at most this is skipped
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


cdef inline double score(const BinaryProblem* p, int64_t row) noexcept nogil:
    """x.w; four sums, because one would wait for every addition."""
    cdef int64_t entry = p.indptr[row], end = p.indptr[row + 1]
    cdef const int32_t* features = p.features
    cdef const float* values = p.values
    cdef double first = 0, second = 0, third = 0, fourth = 0
    while entry + 4 <= end:
        first += values[entry] * p.weights[features[entry]].weight
        second += values[entry + 1] * p.weights[features[entry + 1]].weight
        third += values[entry + 2] * p.weights[features[entry + 2]].weight
        fourth += values[entry + 3] * p.weights[features[entry + 3]].weight
        entry += 4
    while entry < end:
        first += values[entry] * p.weights[features[entry]].weight
        entry += 1
    return (first + second) + (third + fourth)


cdef inline float square(const BinaryProblem* p, int64_t row) noexcept nogil:
    """sum_j x_j^2 s_j"""
    cdef int64_t entry = p.indptr[row], end = p.indptr[row + 1]
    cdef double first = 0, second = 0
    while entry + 2 <= end:
        first += p.values[entry] * p.values[entry] * p.weights[p.features[entry]].scale
        second += p.values[entry + 1] * p.values[entry + 1] * p.weights[p.features[entry + 1]].scale
        entry += 2
    if entry < end:
        first += p.values[entry] * p.values[entry] * p.weights[p.features[entry]].scale
    return <float> (first + second + p.diagonal[row])


cdef inline void update(const BinaryProblem* p, int64_t row, double step) noexcept nogil:
    """Update w after y times C times a row's dual variable changed by `step`."""
    cdef int64_t entry
    cdef Feature* feature
    cdef float size = <float> step
    for entry in range(p.indptr[row], p.indptr[row + 1]):
        feature = &p.weights[p.features[entry]]
        feature.weight += size * p.values[entry] * feature.scale


cdef inline void prefetch_row(const BinaryProblem* p, int64_t row) noexcept nogil:
    cdef int64_t entry = p.indptr[row], end = min(p.indptr[row + 1], p.indptr[row] + MAX_AHEAD)
    while entry < end:
        nb_prefetch(&p.features[entry])
        nb_prefetch(&p.values[entry])
        entry += IN_LINE


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


cdef inline double dual_gain(double old, double new, double margin, double curvature, bint is_logistic) noexcept nogil:
    """How much a step of a row's dual variable increases the dual objective, for C = 1; `curvature` as below."""
    return dual_loss(new, is_logistic) - dual_loss(old, is_logistic) - (new - old) * (margin + curvature * (new - old) / 2)


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


cdef inline void set_weights(BinaryProblem* p) noexcept nogil:
    """Compute w from the dual variables."""
    cdef int64_t feature
    for feature in range(p.n_features):
        p.weights[feature].weight = 0
    add_weights(p)


cdef inline void add_weights(BinaryProblem* p) noexcept nogil:
    """Add what the dual variables contribute to w."""
    cdef int64_t place, row
    for place in range(p.n_order):
        row = p.order[place]
        if p.dual[row] != 0:
            update(p, row, p.strengths[row] * p.dual[row])


cdef inline double margin_of(const BinaryProblem* p, int64_t row) noexcept nogil:
    """y x.w, with the features of this row only"""
    cdef double strength = p.strengths[row]
    return (score(p, row) if strength > 0 else -score(p, row)) + fabs(strength) * p.dual[row] * p.diagonal[row]


cdef inline void set_objective(BinaryProblem* p) noexcept nogil:
    """Compute the dual objective from the dual variables and w."""
    p.objective = 0
    add_dual_losses(p)
    subtract_squares(p)


cdef inline void add_dual_losses(BinaryProblem* p) noexcept nogil:
    """Add what the rows contribute to the dual objective."""
    cdef int64_t place, row
    cdef double dual, C
    for place in range(p.n_order):
        row = p.order[place]
        dual, C = p.dual[row], fabs(p.strengths[row])
        p.objective += C * (dual_loss(dual, p.is_logistic) - C * dual * dual * p.diagonal[row] / 2)


cdef inline void subtract_squares(BinaryProblem* p) noexcept nogil:
    """Subtract the regularization from the dual objective."""
    cdef int64_t feature
    cdef const Feature* own
    for feature in range(p.n_features):
        own = &p.weights[feature]
        if own.weight != 0:
            p.objective -= <double> own.weight * own.weight / own.scale / 2


cdef inline void visit(BinaryProblem* p, int64_t number, int32_t n_iter) noexcept nogil:
    """Optimize the dual variable of a row, or decide in how many passes to skip it."""
    cdef double margin = margin_of(p, number), old = p.dual[number], strength = p.strengths[number], C = fabs(strength)
    cdef double part = C * gap_part(old, margin, p.is_logistic), curvature, new
    cdef Row* row = &p.rows[number]
    p.gap += part
    if part <= p.negligible:
        row.wait = <int16_t> min(max(<int32_t> MIN_WAIT, 4 * row.wait), <int32_t> MAX_WAIT)
        row.due = <int16_t> (n_iter + 1 + row.wait)
        return
    row.wait = 0
    if row.square < 0:
        row.square = square(p, number)
    curvature = C * row.square
    new = maximize_dual(old, margin, curvature, p.is_logistic)
    if new != old:
        p.objective += C * dual_gain(old, new, margin, curvature, p.is_logistic)
        p.dual[number] = new
        update(p, number, strength * (new - old))


cdef inline void set_negligible(BinaryProblem* p, double tolerance) noexcept nogil:
    p.negligible = max(0.0, NEGLIGIBLE * tolerance * p.objective / p.n_fitted)


cdef inline void make_pass(BinaryProblem* p, double tolerance, int32_t n_iter) noexcept nogil:
    """Visit the rows that are due, in random order."""
    cdef int64_t place, n_visited = 0
    p.gap = 0
    set_negligible(p, tolerance)
    shuffle(p.order, p.n_order, &p.state)
    for place in range(p.n_order):
        if p.rows[p.order[place]].due <= n_iter:
            p.visited[n_visited] = p.order[place]
            n_visited += 1
    for place in range(n_visited):
        if place + ROWS_AHEAD < n_visited:
            prefetch_row(p, p.visited[place + ROWS_AHEAD])
        visit(p, p.visited[place], n_iter)


cdef inline void measure_gap(BinaryProblem* p) noexcept nogil:
    """Measure the duality gap, the dual objective and the margins of all rows at weights that are computed again.

    Rows whose part of the gap is not negligible are due in the next pass.
    """
    set_weights(p)
    set_objective(p)
    p.gap = 0
    add_gaps(p)


cdef inline void add_gaps(BinaryProblem* p) noexcept nogil:
    """Add the parts of all rows to the duality gap, and set their margins."""
    cdef int64_t row
    cdef double margin, part
    for row in range(p.n_rows):
        if p.strengths[row] != 0:
            margin = margin_of(p, row)
            part = fabs(p.strengths[row]) * gap_part(p.dual[row], margin, p.is_logistic)
            p.gap += part
            p.margins[row] = <float> margin
            if part > p.negligible:
                p.rows[row].due = 0


cdef inline bint is_within(const BinaryProblem* p, double tolerance) noexcept nogil:
    """Whether the relative duality gap is within the tolerance, or the numbers are too large to continue."""
    return p.gap <= tolerance * p.objective or not isfinite(p.objective)


cdef inline void start(BinaryProblem* p) noexcept nogil:
    """Set w, and when each row is due first: late where the start is far beyond the margin."""
    cdef int64_t place, row
    for place in range(p.n_order):
        row = p.order[place]
        p.rows[row].square, p.rows[row].wait, p.rows[row].due = -1, 0, 0
        if p.dual[row] == 0 and p.margins[row] > FAR_MARGIN:
            p.rows[row].due = MAX_WAIT
    set_weights(p)
    set_objective(p)


cdef inline bint make_passes(BinaryProblem* p, double tolerance, int* n_iter, int last, bint is_rough) noexcept nogil:
    """Make passes up to the last one, or until the relative duality gap is within the tolerance; returns whether it is.

    `is_rough` trusts the gap that a pass finds, which is that of each row when it was visited last.
    """
    while n_iter[0] < last:
        n_iter[0] += 1
        make_pass(p, tolerance, n_iter[0])
        if is_within(p, tolerance):
            if is_rough:
                return True
            measure_gap(p)
            if is_within(p, tolerance):
                return True
    return False
