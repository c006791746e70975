"""Validation of matrices and labels from NumPy, SciPy and pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import InputError
from nbtext.model.sklearn_compat import is_missing, warn_of_column

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class MatrixError(InputError, ValueError):
    """A matrix or its labels are invalid."""


def validate_matrix(X: Any, *, n_features: int | None, is_positive: bool, name: str) -> csr_array:
    """Return a dense or sparse matrix as compressed sparse rows of float64, without stored zeros.

    n_features   required number of columns; None: any
    is_positive  whether negative numbers are refused
    name         the name of the estimator, for messages
    raises       MatrixError; TypeError: a cell is not a number
    """
    from scipy.sparse import csr_array

    is_sparse = hasattr(X, "tocsr")
    dense = None if is_sparse else np.asarray(X)
    if (X if dense is None else dense).dtype.kind == "c":
        raise MatrixError("Complex data not supported")
    if dense is not None and dense.ndim == 1 and len(dense) and isinstance(dense[0], str):
        raise MatrixError(f"X contains texts, but {name} needs numbers", hint="put a vectorizer before it")
    if dense is not None and dense.ndim != 2:
        raise MatrixError(
            f"Expected 2D array, got {dense.ndim}D array instead",
            hint="Reshape your data: array.reshape(-1, 1) if it has one feature, array.reshape(1, -1) if one sample",
        )
    rows: csr_array = csr_array(X if dense is None else dense.astype(np.float64), dtype=np.float64)
    for number, what in zip(rows.shape, ("sample", "feature"), strict=True):
        if number == 0:
            raise MatrixError(
                f"Found array with 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required by {name}."
            )
    if n_features is not None and rows.shape[1] != n_features:
        raise MatrixError(f"X has {rows.shape[1]} features, but {name} is expecting {n_features} features as input")
    if not np.isfinite(rows.data).all():
        raise MatrixError(f"Input X contains {'NaN' if np.isnan(rows.data).any() else 'infinity'}")
    if is_positive and rows.data.min(initial=0) < 0:
        raise MatrixError(f"Negative values in data passed to {name}")
    if is_sparse:
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def validate_labels(y: Any, *, n_samples: int, name: str) -> NDArray[Any]:
    """Return the labels as an array, shape (n_samples,).

    raises  MatrixError: labels are missing, their number is not that of the samples, or they are continuous values
    """
    if y is None:
        raise MatrixError(f"{name} requires y to be passed, but the target y is None")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warn_of_column()
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise MatrixError(f"y should be a 1d array, got an array of shape {labels.shape} instead")
    if len(labels) != n_samples:
        raise MatrixError(f"Found input variables with inconsistent numbers of samples: {[n_samples, len(labels)]}")
    if labels.dtype.kind == "O" and any(map(is_missing, labels.tolist())):
        raise MatrixError("Input y contains NaN", hint="leave out what has no label")
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise MatrixError(f"Input y contains {'NaN' if np.isnan(labels).any() else 'infinity'}")
        if (labels != np.floor(labels)).any():
            raise MatrixError("Unknown label type: continuous", hint="labels are names or whole numbers")
    return labels
