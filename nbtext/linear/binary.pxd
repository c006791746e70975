# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Two classes divided by a plane: the dual coordinate method.
#
# minimised is  ½ Σ_j v_j² / s_j + C Σ_i loss(m_i),  m_i = y_i · v·x_i,  over the weights v of the features as they are:
# with s = 1 the usual penalty, with s = r² the one of features multiplied by r. The loss is max(0, 1 - m)² or
# log(1 + e^-m). A document pulls at the plane with α_i = C · pull_i, and v_j = s_j Σ_i α_i y_i x_ij.
#
# Every document's share of the duality gap is at hand when it is visited, and no share is negative; so the
# distance from the best objective is known, and it is what ends the method.
# Sums go in four lanes, in an order that the twin in plain Python follows to the last bit.
#
# Hsieh, Chang, Lin, Keerthi, Sundararajan, A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008;
# Yu, Huang, Lin, Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011

from libc.math cimport INFINITY, exp, fabs, log, log1p
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

cdef enum:
    INNER_STEPS = 60  # of Newton's method in one variable; bisection would be done by then
    REUNION = 16  # rounds, after which all rows are visited again: where progress is slow, some were set aside too soon

cdef extern from *:
    """
    #define NB_FARTHEST 36.0
    """
    const double FARTHEST "NB_FARTHEST"  # log-odds of a pull that is 0 or 1 but for rounding

cdef struct Plane:
    const int64_t* indptr
    const int32_t* indices
    const double* values
    const double* signs  # (n_rows,), 1 or -1
    const double* scales  # (n_features,), s
    double* weights  # (n_features + 1,), v; the last one is the constant's
    double* pulls  # (n_rows,)
    double* squares  # (n_rows,), Σ_j x_ij² s_j
    int64_t* order  # (n_rows,), the rows that are still visited first
    int64_t n_rows
    int64_t n_features
    double penalty  # C
    double constant  # a feature that every row has; 0 for none
    double dual  # the dual objective
    double gap  # shares of the duality gap, added up
    uint64_t state  # of the generator


cdef inline double margin_of(const Plane* plane, int64_t row) noexcept nogil:
    cdef int64_t entry = plane.indptr[row], end = plane.indptr[row + 1]
    cdef const int32_t* indices = plane.indices
    cdef const double* values = plane.values
    cdef const double* weights = plane.weights
    cdef double a = 0, b = 0, c = 0, d = 0
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
    return plane.signs[row] * (((a + b) + (c + d)) + plane.constant * weights[plane.n_features])


cdef inline void move_plane(const Plane* plane, int64_t row, double strength) noexcept nogil:
    """Move the plane by a document's change of α."""
    cdef int64_t entry
    strength *= plane.signs[row]
    for entry in range(plane.indptr[row], plane.indptr[row + 1]):
        plane.weights[plane.indices[entry]] += strength * plane.values[entry] * plane.scales[plane.indices[entry]]
    plane.weights[plane.n_features] += strength * plane.constant


cdef inline double square_of(const Plane* plane, int64_t row) noexcept nogil:
    cdef int64_t entry
    cdef double total = 0, value
    for entry in range(plane.indptr[row], plane.indptr[row + 1]):
        value = plane.values[entry]
        total += value * value * plane.scales[plane.indices[entry]]
    return total + plane.constant * plane.constant


cdef inline double softplus(double z) noexcept nogil:
    """log(1 + e^z)"""
    return max(z, 0.0) + log1p(exp(-fabs(z)))


cdef inline double sigmoid(double z) noexcept nogil:
    return 1 / (1 + exp(-z))


cdef inline double log_odds(double probability) noexcept nogil:
    return min(max(log(probability) - log1p(-probability), -FARTHEST), FARTHEST) if 0 < probability < 1 else (
        -FARTHEST if probability <= 0 else FARTHEST
    )


cdef inline double pull_gain(double pull, bint is_logistic) noexcept nogil:
    """What a pull adds to the dual objective, the penalty aside, for C = 1."""
    cdef double odds
    if not is_logistic:
        return pull - pull * pull / 4
    odds = log_odds(pull)
    return softplus(odds) - pull * odds


cdef inline double pull_gap(double pull, double margin, bint is_logistic) noexcept nogil:
    """A document's share of the duality gap for C = 1: by Fenchel and Young it is never negative."""
    cdef double slack = 1 - margin, odds
    if not is_logistic:
        return (slack - pull / 2) * (slack - pull / 2) if slack > 0 else pull * pull / 4 - pull * slack
    odds = log_odds(pull)
    return softplus(-margin) - softplus(odds) + pull * (odds + margin)


cdef inline double find_pull(const Plane* plane, double pull, double margin, double square, bint is_logistic) noexcept nogil:
    """The pull that is best while all others stay."""
    cdef double curvature = plane.penalty * square
    cdef double low, high, odds, error, slope, next_odds, probability
    cdef int step
    if not is_logistic:
        return max(pull + (1 - margin - pull / 2) / (curvature + 0.5), 0.0)
    # the root of curvature · (σ(z) - pull) + margin + z is between the log-odds now and those of the margin
    odds = log_odds(pull)
    high = min(max(-margin, -FARTHEST), FARTHEST)
    low, high = min(odds, high), max(odds, high)
    for step in range(INNER_STEPS):
        probability = sigmoid(odds)
        error = curvature * (probability - pull) + margin + odds
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


cdef inline void place_plane(const Plane* plane) noexcept nogil:
    """Put the plane where the pulls say; without what rounding left of documents that no longer pull."""
    cdef int64_t row
    memset(plane.weights, 0, (plane.n_features + 1) * sizeof(double))
    for row in range(plane.n_rows):
        if plane.pulls[row] != 0:
            move_plane(plane, row, plane.penalty * plane.pulls[row])


cdef inline void begin_plane(Plane* plane, bint is_logistic) noexcept nogil:
    """The plane that the pulls make, and the dual objective there."""
    cdef int64_t row, feature
    cdef double gains = 0, norm = 0
    place_plane(plane)
    for row in range(plane.n_rows):
        plane.order[row] = row
        plane.squares[row] = square_of(plane, row)
        gains += pull_gain(plane.pulls[row], is_logistic)
    for feature in range(plane.n_features):
        if plane.weights[feature] != 0:
            norm += plane.weights[feature] * plane.weights[feature] / plane.scales[feature]
    norm += plane.weights[plane.n_features] * plane.weights[plane.n_features]
    plane.dual = plane.penalty * gains - norm / 2


cdef inline int64_t below(uint64_t* state, int64_t count) noexcept nogil:
    """The next number from 0 to count - 1, count below 2**32, by SplitMix64 (Steele, Lea, Flood 2014)."""
    cdef uint64_t z
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    z ^= z >> 31
    return <int64_t> ((z >> 32) * <uint64_t> count >> 32)


cdef inline void shuffle_rows(int64_t* order, int64_t count, uint64_t* state) noexcept nogil:
    """Fisher and Yates's shuffle."""
    cdef int64_t last, other
    for last in range(count - 1, 0, -1):
        other = below(state, last + 1)
        order[last], order[other] = order[other], order[last]


cdef inline int64_t visit_rows(Plane* plane, int64_t count, double* steepest, bint is_logistic) noexcept nogil:
    """Give each of the first `count` rows in order its best pull; returns how many stay in play.

    A row that does not pull, and is farther from wanting to than any that pulled the last time wanted to change,
    is set aside. `steepest` is how much the most eager row wanted to change, then and now.
    """
    cdef int64_t place = 0, row
    cdef double margin, old, new, wish, step, bound = steepest[0]
    steepest[0] = 0
    plane.gap = 0
    while place < count:
        row = plane.order[place]
        old = plane.pulls[row]
        margin = margin_of(plane, row)
        if old == 0 and not is_logistic and margin - 1 > bound:
            count -= 1
            plane.order[place], plane.order[count] = plane.order[count], row
            continue
        plane.gap += plane.penalty * pull_gap(old, margin, is_logistic)
        if not is_logistic and (old > 0 or margin < 1):
            steepest[0] = max(steepest[0], margin - 1 + old / 2)
        new = find_pull(plane, old, margin, plane.squares[row], is_logistic)
        if new != old:
            step = plane.penalty * (new - old)
            plane.dual += plane.penalty * (pull_gain(new, is_logistic) - pull_gain(old, is_logistic))
            plane.dual -= step * margin + step * step * plane.squares[row] / 2
            plane.pulls[row] = new
            move_plane(plane, row, step)
        place += 1
    if steepest[0] <= 0:
        steepest[0] = INFINITY
    return count


cdef inline double plane_gap(const Plane* plane, bint is_logistic) noexcept nogil:
    """The duality gap, exactly."""
    cdef int64_t row
    cdef double total = 0
    for row in range(plane.n_rows):
        total += pull_gap(plane.pulls[row], margin_of(plane, row), is_logistic)
    return plane.penalty * total


cdef inline int settle_plane(Plane* plane, double tolerance, int rounds, bint is_logistic) noexcept nogil:
    """Go on until the duality gap is below its share of the dual objective; returns the rounds that it took."""
    cdef int64_t count = plane.n_rows
    cdef double steepest = INFINITY
    cdef int done = 0
    begin_plane(plane, is_logistic)
    while done < rounds:
        done += 1
        shuffle_rows(plane.order, count, &plane.state)
        count = visit_rows(plane, count, &steepest, is_logistic)
        if plane.gap <= tolerance * plane.dual:
            plane.gap = plane_gap(plane, is_logistic)
            if plane.gap <= tolerance * plane.dual:
                break
            count, steepest = plane.n_rows, INFINITY
        elif done % REUNION == 0:
            count, steepest = plane.n_rows, INFINITY
    place_plane(plane)
    plane.gap = plane_gap(plane, is_logistic)
    return done
