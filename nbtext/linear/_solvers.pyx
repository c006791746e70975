# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Dual coordinate descent for linear models, compiled. `solver.py` calls it.

Both solvers visit the documents in random order and maximize the dual objective over one document's dual variables at a
time. Every visit also gives the document's part of the duality gap. No part is negative, so their sum bounds the distance
from the optimum: it decides when to stop.

binary.pxd   one class against the rest: squared hinge loss or logistic loss
softmax.pxd  all classes at once: softmax (multinomial logistic) regression
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np

from nbtext.linear.binary cimport BinaryProblem, solve_binary
from nbtext.linear.softmax cimport SoftmaxProblem, solve_softmax


def check_matrix(indptr, indices, values, rows, n_features):
    """Raise ValueError unless the arrays are a CSR matrix with this many columns, and `rows` are rows of it."""
    is_sound = indptr.ndim == indices.ndim == values.ndim == rows.ndim == 1 and len(indptr) > 0
    is_sound = is_sound and indptr[0] == 0 and indptr[len(indptr) - 1] == len(indices) == len(values) and (np.diff(indptr) >= 0).all()
    if not is_sound or (len(rows) and not 0 <= rows.min() <= rows.max() < len(indptr) - 1):
        raise ValueError("the arrays are not a CSR matrix, or the rows are not rows of it")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError("a column of the matrix is out of range")


cdef double relative_gap(double gap, double dual_objective) noexcept nogil:
    """The duality gap divided by the dual objective, which is at most the optimum; 0 without documents."""
    return gap / dual_objective if dual_objective > 0 else 0 if gap == 0 else INFINITY


def fit_binary(
    indptr, indices, values, signs, scales, dual, rows, *, is_logistic, C, tolerance, max_iter, seed
):
    """Fit one class against the rest; _solvers.pyi has the documentation."""
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] features = indices
    cdef const double[::1] entries = values, row_signs = signs, feature_scales = scales
    cdef double[::1] row_dual = dual
    check_matrix(indptr, indices, values, rows, len(scales))
    if not len(signs) == len(dual) == len(indptr) - 1:
        raise ValueError("signs and dual variables must have one element for each row")
    weights, squares, order = np.zeros(len(scales)), np.empty(len(signs)), np.array(rows, dtype=np.int64)
    if len(order) == 0 or len(scales) == 0:
        return weights, 0.0, 0
    cdef double[::1] weight_view = weights, square_view = squares
    cdef int64_t[::1] order_view = order
    cdef BinaryProblem p
    cdef double wanted = tolerance
    cdef int most = max_iter, n_iter
    p.indptr, p.signs, p.scales = &starts[0], &row_signs[0], &feature_scales[0]
    p.indices, p.values = &features[0], &entries[0]
    p.weights, p.dual, p.squares, p.order = &weight_view[0], &row_dual[0], &square_view[0], &order_view[0]
    p.n_rows, p.n_features = len(order), len(scales)
    p.C, p.is_logistic, p.state = C, is_logistic, seed
    with nogil:
        n_iter = solve_binary(&p, wanted, most)
    return weights, relative_gap(p.gap, p.dual_objective), n_iter


def fit_softmax(
    indptr, indices, values, classes, dual, rows, intercepts, *, n_features, C, stiffness, tolerance, max_iter, seed
):
    """Fit softmax regression; _solvers.pyi has the documentation."""
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] features = indices, row_classes = classes
    cdef const double[::1] entries = values
    cdef double[:, ::1] row_dual = dual
    n_rows, n_classes = dual.shape
    check_matrix(indptr, indices, values, rows, n_features)
    if not n_rows == len(classes) == len(indptr) - 1:
        raise ValueError("classes and dual variables must have one element for each row")
    if n_classes == 0 or len(intercepts) != n_classes or (n_rows and not 0 <= classes.min() <= classes.max() < n_classes):
        raise ValueError("there must be a column for each class, and an intercept")
    weights, squares, order = np.zeros((n_features + 1, n_classes)), np.empty(n_rows), np.array(rows, dtype=np.int64)
    weights[n_features] = intercepts
    if len(order) == 0:
        return weights[:n_features], weights[n_features].copy(), 0.0, 0
    scratch = np.zeros((4, n_classes))
    cdef double[:, ::1] weight_view = weights, scratch_view = scratch
    cdef double[::1] square_view = squares
    cdef int64_t[::1] order_view = order
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
