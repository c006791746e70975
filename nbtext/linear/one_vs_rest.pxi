# A class against the rest: squared hinge loss or logistic loss.
#
#     minimize  1/2 sum_j w_j^2 / s_j + sum_i C_i loss(m_i),   m_i = y_i x_i.w
#
# With scale s_j = 1 this is the usual L2 regularization; with s_j = r_j^2 it is that of a model whose features are
# multiplied by r_j. The loss is max(0, 1 - m)^2 (squared hinge) or log(1 + e^-m) (logistic). Document i has the dual
# variable C_i * dual_i >= 0, and w_j = s_j sum_i C_i dual_i y_i x_ij.
#
# The solver visits the documents of a block in random order and maximizes the dual objective over one document's dual
# variable at a time. Every visit also gives the document's part of the duality gap. No part is negative, so their sum bounds
# the distance from the optimum: it decides when to stop.
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
# A class has its weights in memory all the time; the documents and their state come and go with the blocks. Blocks are
# random samples, so that more than one pass over a block at a time gains little.
#
# Hsieh, Chang, Lin, Keerthi, Sundararajan, A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008;
# Yu, Huang, Lin, Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011;
# Yu, Hsieh, Chang, Lin, Large Linear Classification When Data Cannot Fit In Memory, 2010, algorithm 1.

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

cdef packed struct Row:  # the state of a document in the problem of a class; `ROW` in data.py is its type in NumPy
    float dual
    float square  # sum_j x_ij^2 s_j, below 0 until it is needed
    int32_t due  # pass in which the row is visited next
    int16_t wait  # passes in which it was skipped last
    int8_t sign  # y
    int8_t is_far  # whether its margin was beyond FAR_MARGIN: then it rarely gets a dual variable when others are left out

cdef struct BinaryProblem:
    const int64_t* indptr
    const int32_t* features
    const float* values
    const double* shares  # (n_rows,), of a row in the loss; 0 for a row that is not fitted
    const float* squares  # (n_powers, n_rows), from which the diagonal is computed
    Feature* weights  # (n_features,)
    Row* rows  # (n_rows,)
    int32_t* order  # (n_order,), the rows to visit
    int64_t n_rows
    int64_t n_features
    int64_t n_order
    int64_t n_fitted  # rows of all blocks that are fitted
    double C
    double offset  # of the log-count ratios
    double gap  # sum of the rows' parts of the duality gap
    double objective  # the dual one
    double negligible  # a row whose part of the gap is at most this is skipped
    bint has_ratios
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


cdef inline double diagonal(const BinaryProblem* p, int64_t row) noexcept nogil:
    """The sum of x_j^2 s_j over the features of one document; `Ratios` in nbsvm.py explains the squares."""
    cdef double both
    if not p.has_ratios:
        return p.squares[row]
    both = p.squares[2 * p.n_rows + row] + 2 * p.offset * p.rows[row].sign * p.squares[p.n_rows + row]
    return max(both + p.offset * p.offset * p.squares[row], 0.0)


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
    return <float> (first + second + diagonal(p, row))


cdef inline void update(const BinaryProblem* p, int64_t row, double step) noexcept nogil:
    """Update w after y times the share times C times a row's dual variable changed by `step`."""
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


cdef inline double log_odds(double probability) noexcept nogil:
    return min(max(nb_log(probability) - nb_log1p(-probability), -MAX_LOG_ODDS), MAX_LOG_ODDS) if 0 < probability < 1 else (
        -MAX_LOG_ODDS if probability <= 0 else MAX_LOG_ODDS
    )


cdef inline double dual_loss(double dual, bint is_logistic) noexcept nogil:
    """A row's term of the dual objective without the regularization, for C = 1."""
    cdef double odds
    if not is_logistic:
        return dual - dual * dual / 4
    odds = log_odds(dual)
    return nb_softplus(odds) - dual * odds


cdef inline double dual_gain(double old, double new, double margin, double curvature, bint is_logistic) noexcept nogil:
    """How much a step of a row's dual variable increases the dual objective, for C = 1; `curvature` as below."""
    return dual_loss(new, is_logistic) - dual_loss(old, is_logistic) - (new - old) * (margin + curvature * (new - old) / 2)


cdef inline double gap_part(double dual, double margin, bint is_logistic) noexcept nogil:
    """A row's part of the duality gap for C = 1; never negative, by the Fenchel-Young inequality."""
    cdef double slack = 1 - margin, odds
    if not is_logistic:
        return (slack - dual / 2) * (slack - dual / 2) if slack > 0 else dual * dual / 4 - dual * slack
    odds = log_odds(dual)
    return nb_softplus(-margin) - nb_softplus(odds) + dual * (odds + margin)


cdef inline double maximize_dual(double dual, double margin, double curvature, bint is_logistic) noexcept nogil:
    """The value of a row's dual variable that is best while all others stay; `curvature` is C times its square."""
    cdef double low, high, odds, error, next_odds, probability
    cdef int step
    if not is_logistic:
        return max(dual + (1 - margin - dual / 2) / (curvature + 0.5), 0.0)
    # the root z of curvature * (sigmoid(z) - dual) + margin + z lies between the present log-odds and -margin
    odds = log_odds(dual)
    high = min(max(-margin, -MAX_LOG_ODDS), MAX_LOG_ODDS)
    low = min(odds, high)
    high = max(odds, high)
    for step in range(NEWTON_STEPS):
        probability = nb_sigmoid(odds)
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
    return nb_sigmoid(odds)


cdef inline double strength(const BinaryProblem* p, int64_t row) noexcept nogil:
    return p.C * p.shares[row]


cdef inline double margin_of(const BinaryProblem* p, int64_t row) noexcept nogil:
    """y x.w, with the features of this row only"""
    return p.rows[row].sign * score(p, row) + strength(p, row) * p.rows[row].dual * diagonal(p, row)


cdef inline void add_row(BinaryProblem* p, int64_t row) noexcept nogil:
    """Add what a row contributes to w, and to the dual objective without the regularization."""
    cdef double C = strength(p, row), dual = p.rows[row].dual
    if C != 0:
        p.objective += C * (dual_loss(dual, p.is_logistic) - C * dual * dual * diagonal(p, row) / 2)
        if dual != 0:
            update(p, row, p.rows[row].sign * C * dual)


cdef inline void visit(BinaryProblem* p, int64_t number, int32_t n_iter) noexcept nogil:
    """Optimize the dual variable of a row, or decide in how many passes to skip it."""
    cdef Row* row = &p.rows[number]
    cdef double margin = margin_of(p, number), C = strength(p, number), curvature
    cdef double part = C * gap_part(row.dual, margin, p.is_logistic)
    cdef float old = row.dual
    p.gap += part
    row.is_far = margin > FAR_MARGIN
    if part <= p.negligible:
        row.wait = <int16_t> min(max(<int32_t> MIN_WAIT, 4 * row.wait), <int32_t> MAX_WAIT)
        row.due = n_iter + 1 + row.wait
        return
    row.wait = 0
    if row.square < 0:
        row.square = square(p, number)
    curvature = C * row.square
    row.dual = <float> maximize_dual(old, margin, curvature, p.is_logistic)
    if row.dual != old:
        p.objective += C * dual_gain(old, row.dual, margin, curvature, p.is_logistic)
        update(p, number, row.sign * C * (<double> row.dual - old))


cdef inline void set_negligible(BinaryProblem* p, double tolerance) noexcept nogil:
    p.negligible = max(0.0, NEGLIGIBLE * tolerance * p.objective / max(<int64_t> 1, p.n_fitted))


cdef inline void make_pass(BinaryProblem* p, int32_t n_iter) noexcept nogil:
    """Visit the rows that are due, in random order."""
    cdef int64_t place, row
    p.n_order = 0
    for row in range(p.n_rows):
        if p.rows[row].due <= n_iter and p.shares[row] != 0:
            p.order[p.n_order] = <int32_t> row
            p.n_order += 1
    shuffle(p.order, p.n_order, &p.state)
    for place in range(p.n_order):
        if place + ROWS_AHEAD < p.n_order:
            prefetch_row(p, p.order[place + ROWS_AHEAD])
        visit(p, p.order[place], n_iter)


cdef inline void add_gaps(BinaryProblem* p) noexcept nogil:
    """Add the parts of all rows to the duality gap. Those whose part is not negligible are due in the next pass."""
    cdef int64_t row
    cdef double margin, part
    for row in range(p.n_rows):
        if p.shares[row] != 0:
            margin = margin_of(p, row)
            part = strength(p, row) * gap_part(p.rows[row].dual, margin, p.is_logistic)
            p.gap += part
            p.rows[row].is_far = margin > FAR_MARGIN
            if part > p.negligible:
                p.rows[row].due = 0
