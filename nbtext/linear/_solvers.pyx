# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Dual coordinate descent for logistic regression and the squared hinge, two classes or many."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from nbtext.features.kernel.memory cimport is_indptr
from nbtext.linear.binary cimport Plane, settle_plane
from nbtext.linear.multinomial cimport Softmax, believe


def divide(
    indptr, indices, values, signs, scales, pulls, *, is_logistic, penalty, constant, tolerance, rounds, seed
):
    """The plane between rows of two signs: (weights, the constant's weight, duality gap, rounds).

    raises  ValueError: the arrays do not fit each other
    """
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] features = indices
    cdef const double[::1] entries = values, row_signs = signs, feature_scales = scales
    cdef double[::1] row_pulls = pulls
    if len(indptr) != len(signs) + 1 or len(pulls) != len(signs) or len(indices) != len(values) or not is_indptr(starts, len(indices)):
        raise ValueError("the arrays of the rows do not fit each other")
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(scales):
        raise ValueError("there is no such feature")
    weights, squares, order = np.empty(len(scales) + 1), np.empty(len(signs)), np.empty(len(signs), dtype=np.int64)
    cdef double[::1] weight_view = weights, square_view = squares
    cdef int64_t[::1] order_view = order
    cdef Plane plane
    cdef double share = tolerance
    cdef int most = rounds, done
    cdef bint logistic = is_logistic
    plane.indptr, plane.indices, plane.values = &starts[0], &features[0], &entries[0]
    plane.signs, plane.scales, plane.pulls = &row_signs[0], &feature_scales[0], &row_pulls[0]
    plane.weights, plane.squares, plane.order = &weight_view[0], &square_view[0], &order_view[0]
    plane.n_rows, plane.n_features = len(signs), len(scales)
    plane.penalty, plane.constant, plane.state = penalty, constant, seed
    with nogil:
        done = settle_plane(&plane, share, most, logistic)
    return weights[:len(scales)], float(weights[len(scales)]), plane.gap, done


def regress(
    indptr, indices, values, classes, beliefs, intercepts, *, n_features, penalty, spring, tolerance, rounds, seed
):
    """Softmax regression on rows: (weights (n_features, n_classes), intercepts, duality gap, rounds).

    raises  ValueError: the arrays do not fit each other
    """
    cdef const int64_t[::1] starts = indptr
    cdef const int32_t[::1] features = indices, row_classes = classes
    cdef const double[::1] entries = values
    cdef double[:, ::1] row_beliefs = beliefs
    n_rows, n_classes = beliefs.shape
    if len(indptr) != n_rows + 1 or len(classes) != n_rows or len(indices) != len(values) or not is_indptr(starts, len(indices)):
        raise ValueError("the arrays of the rows do not fit each other")
    if n_classes == 0:
        raise ValueError("a class at least was wanted")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError("there is no such feature")
    weights, squares, order = np.zeros((n_features + 1, n_classes)), np.empty(n_rows), np.empty(n_rows, dtype=np.int64)
    weights[n_features] = intercepts
    scratch = np.zeros((4, n_classes))
    cdef double[:, ::1] weight_view = weights, scratch_view = scratch
    cdef double[::1] square_view = squares
    cdef int64_t[::1] order_view = order
    cdef Softmax s
    cdef double share = tolerance
    cdef int most = rounds, done
    s.indptr, s.indices, s.values, s.classes = &starts[0], &features[0], &entries[0], &row_classes[0]
    s.weights, s.beliefs, s.squares, s.order = &weight_view[0, 0], &row_beliefs[0, 0], &square_view[0], &order_view[0]
    s.center, s.z, s.sums, s.belief = &scratch_view[0, 0], &scratch_view[1, 0], &scratch_view[2, 0], &scratch_view[3, 0]
    s.n_rows, s.n_features, s.n_classes = n_rows, n_features, n_classes
    s.penalty, s.spring, s.state = penalty, spring, seed
    with nogil:
        done = believe(&s, share, most)
    return weights[:n_features], weights[n_features].copy(), s.gap, done
