# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Dual coordinate descent for linear models, compiled: each class against the rest. `one_vs_rest.py` calls it.

The solver visits the documents in random order and maximizes the dual objective over one document's dual variable at a
time. Every visit also gives the document's part of the duality gap. No part is negative, so their sum bounds the distance
from the optimum: it decides when to stop. `one_vs_rest.pxd` holds the passes.
"""

from libc.math cimport INFINITY, NAN, fabs, isfinite, log
from libc.stdint cimport int32_t, int64_t

import numpy as np

from nbtext.linear.one_vs_rest cimport BinaryProblem, Feature, Row, make_passes, measure_gap, score, start

PASSES = 4  # between two calls of `check`


def check_matrix(indptr, indices, values, n_features):
    """Raise ValueError unless the arrays are a CSR matrix with this many columns."""
    is_sound = indptr.ndim == indices.ndim == values.ndim == 1 and len(indptr) > 0
    is_sound = is_sound and indptr[0] == 0 and indptr[len(indptr) - 1] == len(indices) == len(values) and (np.diff(indptr) >= 0).all()
    if not is_sound:
        raise ValueError("the arrays are not a CSR matrix")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError("a column of the matrix is out of range")


cdef double relative_gap(double gap, double dual_objective) noexcept nogil:
    """The duality gap divided by the dual objective, which is at most the optimum; 0 without documents, NAN if too large."""
    if not (isfinite(gap) and isfinite(dual_objective)):
        return NAN
    return gap / dual_objective if dual_objective > 0 else 0 if gap == 0 else INFINITY


cdef class CheckedMatrix:
    """A CSR matrix of float32 that is checked once; _solvers.pyi has the documentation."""

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] features
    cdef const float[::1] values
    cdef readonly int64_t n_features

    def __init__(self, indptr, features, values, n_features):
        check_matrix(indptr, features, values, n_features)
        self.indptr, self.features, self.values, self.n_features = indptr, features, values, n_features

    def __len__(self):
        return self.indptr.shape[0] - 1

    def check_rows(self, rows):
        """Raise ValueError unless these are row numbers."""
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise ValueError("the rows are not rows of the CSR matrix")


def add_by_fold(CheckedMatrix matrix, factors, folds, sums):
    """Add the magnitudes of each feature's values in the documents of each fold; _solvers.pyi has the documentation."""
    cdef const int32_t[::1] row_folds = folds
    cdef const double[::1] row_factors = factors
    cdef double[:, ::1] totals = sums
    cdef int64_t row, entry
    if not len(factors) == len(folds) == len(matrix) or (len(folds) and not 0 <= folds.min() <= folds.max() < len(sums)):
        raise ValueError("there must be a factor and a fold for each row, and sums for each fold")
    if sums.shape[1] != matrix.n_features:
        raise ValueError("there must be a sum for each feature")
    with nogil:
        for row in range(row_folds.shape[0]):
            for entry in range(matrix.indptr[row], matrix.indptr[row + 1]):
                totals[row_folds[row], matrix.features[entry]] += row_factors[row] * fabs(matrix.values[entry])


def log_count_ratios(CheckedMatrix matrix, rows, totals, absent, *, factor, pseudo_count, offset):
    """Return the log-count ratios of a class; _solvers.pyi has the documentation."""
    cdef const int32_t[::1] own_rows = rows
    cdef const double[::1] total = totals, zero = absent
    matrix.check_rows(rows)
    if not len(totals) == len(absent) == matrix.n_features:
        raise ValueError("there must be a total and a ratio for each feature")
    ratios = np.zeros(matrix.n_features)
    cdef double[::1] ratio = ratios
    cdef int64_t place, entry, feature
    cdef double own, rest, a = pseudo_count, shift = offset, weight = factor
    with nogil:
        for place in range(own_rows.shape[0]):
            for entry in range(matrix.indptr[own_rows[place]], matrix.indptr[own_rows[place] + 1]):
                ratio[matrix.features[entry]] += weight * fabs(matrix.values[entry])
        for feature in range(ratio.shape[0]):
            own = ratio[feature]
            if own > 0:
                rest = max(total[feature] - own, 0)
                ratio[feature] = log((own + a) / (rest + a)) + shift
            elif total[feature] > 0:
                ratio[feature] = zero[feature] + shift
    return ratios


def fit_binary(
    CheckedMatrix matrix, strengths, scales, diagonal, dual, margins, scores, *,
    is_logistic, tolerance, max_iter, seed, is_rough=False, check=None
):
    """Fit a class against the rest; _solvers.pyi has the documentation."""
    cdef const float[::1] feature_scales = scales, row_diagonal = diagonal
    cdef const double[::1] row_strengths = strengths
    cdef double[::1] row_dual = dual, row_scores = scores
    cdef float[::1] row_margins = margins
    cdef int64_t n_rows = len(matrix), n_features = matrix.n_features, row, feature
    if not len(strengths) == len(diagonal) == len(dual) == len(margins) == n_rows or len(scores) not in (0, n_rows):
        raise ValueError("there must be one element for each row")
    if len(scales) != n_features:
        raise ValueError("there must be a scale for each feature")
    order = np.flatnonzero(strengths).astype(np.int32)
    if len(order) == 0:
        return 0.0, 0, np.zeros(n_features, np.float32)
    weights, rows = np.empty((max(1, n_features), 2), np.float32), np.empty((n_rows, 3), np.int32)
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
    p.n_rows, p.n_features, p.n_order = n_rows, n_features, len(order)
    p.is_logistic, p.state, p.gap, p.negligible = is_logistic, seed, 0, 0
    with nogil:
        for feature in range(n_features):
            p.weights[feature].scale = feature_scales[feature]
        start(&p)
    while n_iter < most and not is_done:
        with nogil:
            is_done = make_passes(&p, wanted, &n_iter, min(most, n_iter + step), rough)
        if check is not None:
            check()
    with nogil:
        if not is_done and not rough:
            measure_gap(&p)
        for row in range(row_scores.shape[0]):
            if row_strengths[row] == 0:
                row_scores[row] = score(&p, row)
    return relative_gap(p.gap, p.objective), n_iter, weights[:n_features, 0].copy()
