# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Dual coordinate descent for linear models, compiled. `solver.py` and `one_vs_rest.py` call it.

Both solvers visit the documents in random order and maximize the dual objective over one document's dual variables at a
time. Every visit also gives the document's part of the duality gap. No part is negative, so their sum bounds the distance
from the optimum: it decides when to stop.

one_vs_rest.pxd  each class against the rest: squared hinge loss or logistic loss
softmax.pxd      all classes at once: softmax (multinomial logistic) regression
"""

from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

from nbtext.linear.data import mapped_zeros
from nbtext.linear.one_vs_rest cimport LANES, LaneProblem, score, solve_lanes
from nbtext.linear.softmax cimport SoftmaxProblem, solve_softmax

MAX_LANES = LANES


def check_matrix(indptr, indices, values, n_features):
    """Raise ValueError unless the arrays are a CSR matrix with this many columns."""
    is_sound = indptr.ndim == indices.ndim == values.ndim == 1 and len(indptr) > 0
    is_sound = is_sound and indptr[0] == 0 and indptr[len(indptr) - 1] == len(indices) == len(values) and (np.diff(indptr) >= 0).all()
    if not is_sound:
        raise ValueError("the arrays are not a CSR matrix")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError("a column of the matrix is out of range")


cdef double relative_gap(double gap, double dual_objective) noexcept nogil:
    """The duality gap divided by the dual objective, which is at most the optimum; 0 without documents."""
    return gap / dual_objective if dual_objective > 0 else 0 if gap == 0 else INFINITY


def check_lanes(indptr, features, values, classes, folds, n_features, lane_classes, lane_folds, width):
    """Raise ValueError unless the arrays are the documents of so many lanes."""
    check_matrix(indptr, features, values, n_features)
    if not len(classes) == len(folds) == len(indptr) - 1:
        raise ValueError("classes and folds must have one element for each row")
    if not 0 < len(lane_classes) == len(lane_folds) <= width or width not in (1, 4, 8, 12, 16):
        raise ValueError("there must be a class and a fold for each lane, and 1, 4, 8, 12 or 16 of them with the padding")


def add_by_fold(indptr, features, values, folds, sums):
    """Add the magnitudes of each feature's values in the documents of each fold; _solvers.pyi has the documentation."""
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] columns = features, row_folds = folds
    cdef const float[::1] entries = values
    cdef double[:, ::1] totals = sums
    cdef int64_t row, entry
    check_matrix(indptr, features, values, sums.shape[1])
    if len(folds) != len(indptr) - 1 or (len(folds) and not 0 <= folds.min() <= folds.max() < len(sums)):
        raise ValueError("there must be a fold for each row, and sums for each fold")
    with nogil:
        for row in range(starts.shape[0] - 1):
            for entry in range(starts[row], starts[row + 1]):
                totals[row_folds[row], columns[entry]] += fabs(entries[entry])


def log_count_ratios(
    indptr, features, values, classes, folds, totals, absent, lane_classes, lane_folds, groups, pseudo_counts, offsets,
    width
):
    """Return the log-count ratios of each lane; _solvers.pyi has the documentation."""
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] columns = features, row_classes = classes, row_folds = folds
    cdef const int32_t[::1] own_classes = lane_classes, left_out = lane_folds, group = groups
    cdef const float[::1] entries = values
    cdef const double[:, ::1] total = totals, zero = absent
    cdef const double[::1] pseudo_count = pseudo_counts, offset = offsets
    n_features = totals.shape[1]
    check_lanes(indptr, features, values, classes, folds, n_features, lane_classes, lane_folds, width)
    if totals.shape != absent.shape or not len(groups) == len(offsets) == len(lane_classes):
        raise ValueError("there must be a group and an offset for each lane")
    if not 0 <= groups.min() <= groups.max() < len(totals) == len(pseudo_counts):
        raise ValueError("there must be totals and a pseudo-count for each group")
    ratios = mapped_zeros((n_features, width), np.float64)
    cdef double[:, ::1] ratio = ratios
    cdef int64_t row, entry, feature, most = n_features
    cdef int k, n_lanes = len(lane_classes)
    cdef double own, rest, a
    with nogil:
        for row in range(starts.shape[0] - 1):
            for k in range(n_lanes):
                if row_classes[row] == own_classes[k] and row_folds[row] != left_out[k]:
                    for entry in range(starts[row], starts[row + 1]):
                        ratio[columns[entry], k] += fabs(entries[entry])
        for feature in range(most):
            for k in range(n_lanes):
                own, a = ratio[feature, k], pseudo_count[group[k]]
                if own > 0:
                    rest = max(total[group[k], feature] - own, 0)
                    ratio[feature, k] = log((own + a) / (rest + a)) + offset[k]
                elif total[group[k], feature] > 0:
                    ratio[feature, k] = zero[group[k], feature] + offset[k]
    return ratios


def fit_lanes(
    indptr, features, values, classes, folds, scales, diagonal, dual, lane_classes, lane_folds, strengths, *,
    is_logistic, tolerance, max_iter, seed, is_rough=False
):
    """Fit classes against the rest; _solvers.pyi has the documentation."""
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] columns = features, row_classes = classes, row_folds = folds
    cdef const int32_t[::1] own_classes = lane_classes, left_out = lane_folds
    cdef const float[::1] entries = values
    cdef const float[:, ::1] feature_scales = scales, row_diagonal = diagonal
    cdef const double[::1] strength = strengths
    cdef double[:, ::1] row_dual = dual
    n_features, width = scales.shape
    n_rows = len(indptr) - 1
    check_lanes(indptr, features, values, classes, folds, n_features, lane_classes, lane_folds, width)
    if not dual.shape == diagonal.shape == (n_rows, width) or len(strengths) != len(lane_classes):
        raise ValueError("dual variables and diagonal must have one row for each row, and lanes a strength each")
    weights, gaps = mapped_zeros((n_features, width), np.float64), np.zeros(len(lane_classes))
    if n_rows == 0:
        return weights, gaps, 0
    squares, active = np.empty((n_rows, width), dtype=np.float32), np.zeros(n_rows, dtype=np.uint32)
    order = np.arange(n_rows, dtype=np.int32)
    cdef double[:, ::1] weight_view = weights
    cdef float[:, ::1] square_view = squares
    cdef uint32_t[::1] active_view = active
    cdef int32_t[::1] order_view = order
    cdef LaneProblem p
    cdef double wanted = tolerance
    cdef int most = max_iter, k, n_iter
    cdef bint rough = is_rough
    cdef uint32_t lanes = 0
    p.indptr, p.classes, p.folds = &starts[0], &row_classes[0], &row_folds[0]
    p.features = &columns[0] if len(features) else NULL
    p.values = &entries[0] if len(features) else NULL
    p.scales = &feature_scales[0, 0] if n_features else NULL
    p.weights = &weight_view[0, 0] if n_features else NULL
    p.diagonal, p.dual, p.squares = &row_diagonal[0, 0], &row_dual[0, 0], &square_view[0, 0]
    p.active, p.order = &active_view[0], &order_view[0]
    p.n_rows, p.n_features, p.n_lanes, p.width = n_rows, n_features, len(lane_classes), width
    for k in range(p.n_lanes):
        p.lanes[k].own_class, p.lanes[k].fold, p.lanes[k].C = own_classes[k], left_out[k], strength[k]
        p.lanes[k].gap, p.lanes[k].objective = 0, 0
        if strength[k] > 0:
            lanes |= <uint32_t> 1 << k
    p.is_logistic, p.state = is_logistic, seed
    with nogil:
        n_iter = solve_lanes(&p, lanes, wanted, most, rough)
    for k in range(p.n_lanes):
        gaps[k] = relative_gap(p.lanes[k].gap, p.lanes[k].objective)
    return weights, gaps, n_iter


def score_left_out(indptr, features, values, folds, weights, lane_classes, lane_folds, scores):
    """Score the documents that each lane leaves out; _solvers.pyi has the documentation."""
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] columns = features, row_folds = folds
    cdef const int32_t[::1] own_classes = lane_classes, left_out = lane_folds
    cdef const float[::1] entries = values
    cdef double[:, ::1] weight_view = weights, score_view = scores
    n_features, width = weights.shape
    check_lanes(indptr, features, values, folds, folds, n_features, lane_classes, lane_folds, width)
    if len(scores) != len(folds) or not 0 <= lane_classes.min() <= lane_classes.max() < scores.shape[1]:
        raise ValueError("there must be a row of scores for each row, with a column for each class")
    if len(features) == 0:
        return
    cdef LaneProblem p
    cdef double z[LANES]
    cdef int64_t row
    cdef int k, n_lanes = len(lane_classes)
    cdef bint is_left_out
    p.indptr, p.features, p.values = &starts[0], &columns[0], &entries[0]
    p.weights, p.width = &weight_view[0, 0], width
    with nogil:
        for row in range(starts.shape[0] - 1):
            is_left_out = False
            for k in range(n_lanes):
                is_left_out |= row_folds[row] == left_out[k]
            if is_left_out:
                score(&p, row, z)
                for k in range(n_lanes):
                    if row_folds[row] == left_out[k]:
                        score_view[row, own_classes[k]] = z[k]


def fit_softmax(
    indptr, indices, values, classes, dual, rows, intercepts, *, n_features, C, stiffness, tolerance, max_iter, seed
):
    """Fit softmax regression; _solvers.pyi has the documentation."""
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] features = indices, row_classes = classes
    cdef const double[::1] entries = values
    cdef double[:, ::1] row_dual = dual
    n_rows, n_classes = dual.shape
    check_matrix(indptr, indices, values, n_features)
    if not n_rows == len(classes) == len(indptr) - 1:
        raise ValueError("classes and dual variables must have one element for each row")
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError("the rows are not rows of the CSR matrix")
    if n_classes == 0 or len(intercepts) != n_classes or (n_rows and not 0 <= classes.min() <= classes.max() < n_classes):
        raise ValueError("there must be a column for each class, and an intercept")
    weights, squares, order = np.zeros((n_features + 1, n_classes)), np.empty(n_rows), np.array(rows, dtype=np.int32)
    weights[n_features] = intercepts
    if len(order) == 0:
        return weights[:n_features], weights[n_features].copy(), 0.0, 0
    scratch = np.zeros((4, n_classes))
    cdef double[:, ::1] weight_view = weights, scratch_view = scratch
    cdef double[::1] square_view = squares
    cdef int32_t[::1] order_view = order
    cdef SoftmaxProblem p
    cdef double wanted = tolerance
    cdef int most = max_iter, n_iter
    p.indptr, p.classes = &starts[0], &row_classes[0]
    p.indices, p.values = &features[0], &entries[0]
    p.weights, p.dual, p.squares, p.order = &weight_view[0, 0], &row_dual[0, 0], &square_view[0], &order_view[0]
    p.center, p.z, p.sums, p.proposal = &scratch_view[0, 0], &scratch_view[1, 0], &scratch_view[2, 0], &scratch_view[3, 0]
    p.n_rows, p.n_features, p.n_classes = len(order), n_features, n_classes
    p.C, p.stiffness, p.state = C, stiffness, seed
    with nogil:
        n_iter = solve_softmax(&p, wanted, most)
    return weights[:n_features], weights[n_features].copy(), relative_gap(p.gap, p.dual_objective), n_iter
