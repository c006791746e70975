# Dual coordinate descent for linear models, compiled: each class against the rest. `one_vs_rest.py` calls it.
#
# The solver visits the documents in random order and maximizes the dual objective over one document's dual variable at a
# time. Every visit also gives the document's part of the duality gap. No part is negative, so their sum bounds the distance
# from the optimum: it decides when to stop. `one_vs_rest.pxi` holds the passes.

PASSES = 4  # after which signals are handled
MAX_PASSES = 2**15 - 1 - 2 * MAX_WAIT


cdef class CheckedMatrix:
    """A CSR matrix of float32 that is checked once; `_kernel.pyi` has the documentation."""

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] features
    cdef const float[::1] values
    cdef readonly int64_t n_features

    def __init__(self, indptr, features, values, n_features):
        self.indptr, self.features, self.values, self.n_features = indptr, features, values, n_features
        if not len(features) == len(values) or not is_indptr(self.indptr, len(features)):
            raise ValueError("the arrays are not a CSR matrix")
        if len(features) and not 0 <= features.min() <= features.max() < n_features:
            raise ValueError("a column of the matrix is out of range")

    def __len__(self):
        return self.indptr.shape[0] - 1


def add_by_fold(CheckedMatrix matrix, factors, folds, sums):
    """Add the magnitudes of each feature's values in the documents of each fold; `_kernel.pyi` has the documentation."""
    cdef const int32_t[::1] row_folds = folds
    cdef const double[::1] row_factors = factors
    cdef double[:, ::1] totals = sums
    cdef int64_t row, entry
    if not len(factors) == len(folds) == len(matrix) or (len(folds) and folds.max() >= len(sums)):
        raise ValueError("there must be a factor and a fold for each row, and sums for each fold")
    if sums.shape[1] != matrix.n_features:
        raise ValueError("there must be a sum for each feature")
    with nogil:
        for row in range(row_folds.shape[0]):
            if row_folds[row] < 0:
                continue
            for entry in range(matrix.indptr[row], matrix.indptr[row + 1]):
                totals[row_folds[row], matrix.features[entry]] += row_factors[row] * fabs(matrix.values[entry])


def fit_binary(
    CheckedMatrix matrix, strengths, scales, diagonal, dual, margins, scores, *,
    is_logistic, tolerance, max_iter, seed, is_rough=False
):
    """Fit a class against the rest; `_kernel.pyi` has the documentation."""
    cdef const float[::1] feature_scales = scales, row_diagonal = diagonal
    cdef const double[::1] row_strengths = strengths
    cdef double[::1] row_dual = dual, row_scores = scores
    cdef float[::1] row_margins = margins
    cdef int64_t n_rows = len(matrix), n_features = matrix.n_features, row, feature
    if not len(strengths) == len(diagonal) == len(dual) == len(margins) == n_rows or len(scores) not in (0, n_rows):
        raise ValueError("there must be one element for each row")
    if len(scales) != n_features:
        raise ValueError("there must be a scale for each feature")
    if max_iter > MAX_PASSES:
        raise ValueError("more passes than a row can count")
    order = np.flatnonzero(strengths).astype(np.int32)
    if len(order) == 0:
        return 0.0, 0, np.zeros(n_features, np.float32)
    weights, rows = np.empty((max(1, n_features), 2), np.float32), np.empty((n_rows, 2), np.int32)
    visited = np.empty_like(order)
    cdef float[:, ::1] weight_view = weights
    cdef int32_t[:, ::1] row_view = rows
    cdef int32_t[::1] order_view = order, visited_view = visited
    cdef BinaryProblem p
    cdef double wanted = tolerance
    cdef int most = max_iter, n_iter = 0, step = PASSES
    cdef bint rough = is_rough, is_done = False
    p.indptr, p.strengths, p.diagonal = &matrix.indptr[0], &row_strengths[0], &row_diagonal[0]
    p.features = &matrix.features[0] if matrix.features.shape[0] else NULL
    p.values = &matrix.values[0] if matrix.values.shape[0] else NULL
    p.weights, p.rows = <Feature*> &weight_view[0, 0], <Row*> &row_view[0, 0]
    p.dual, p.margins, p.order, p.visited = &row_dual[0], &row_margins[0], &order_view[0], &visited_view[0]
    p.n_rows, p.n_features, p.n_order, p.n_fitted = n_rows, n_features, len(order), len(order)
    p.is_logistic, p.state, p.gap, p.negligible = is_logistic, seed, 0, 0
    with nogil:
        for feature in range(n_features):
            p.weights[feature].scale = feature_scales[feature]
        start(&p)
    while n_iter < most and not is_done:
        with nogil:
            is_done = make_passes(&p, wanted, &n_iter, min(most, n_iter + step), rough)
        PyErr_CheckSignals()
    with nogil:
        if not is_done and not rough:
            measure_gap(&p)
        for row in range(row_scores.shape[0]):
            if row_strengths[row] == 0:
                row_scores[row] = score(&p, row)
    relative = p.gap / p.objective if p.objective > 0 else INFINITY if p.gap else 0.0  # the dual objective is at most the optimum
    is_finite = isfinite(p.gap) and isfinite(p.objective)
    return relative if is_finite else NAN, n_iter, weights[:n_features, 0].copy()
