"""The compiled solvers; _solvers.pyx says how they work."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def fit_binary(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: Floats,
    signs: Floats,
    scales: Floats,
    dual: Floats,
    rows: NDArray[np.int64],
    *,
    is_logistic: bool,
    C: float,
    tolerance: float,
    max_iter: int,
    seed: int,
) -> tuple[Floats, float, int]:
    """Fit one class against the rest without an intercept.

    Minimizes Σ_j w_j² / (2 scales_j) + C Σ_i loss(signs_i x_i·w) over the given rows.

    Parameters
    ----------
    indptr, indices, values : CSR matrix, (n_rows, n_features), no feature twice in a row
    signs : (n_rows,), 1 for the class and -1 for the rest
    scales : (n_features,), >= 0
    dual : (n_rows,), the dual variables divided by C; the start, and on return the solution
    rows : (n,), the numbers of the rows to fit, each once
    is_logistic : log(1 + e^-m) instead of max(0, 1 - m)²
    tolerance : the relative duality gap at which to stop
    max_iter : passes over the rows
    seed : of the order in which rows are visited, 0 to 2^64 - 1

    Returns
    -------
    weights (n_features,), the relative duality gap, passes

    Raises
    ------
    ValueError : the arrays do not fit together
    """

def fit_softmax(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: Floats,
    classes: NDArray[np.int32],
    dual: Floats,
    rows: NDArray[np.int64],
    intercepts: Floats,
    *,
    n_features: int,
    C: float,
    stiffness: float,
    tolerance: float,
    max_iter: int,
    seed: int,
) -> tuple[Floats, Floats, float, int]:
    """Fit softmax regression: minimizes ½ Σ w² + C Σ_i -log P(class_i | row_i) over the given rows.

    Parameters
    ----------
    indptr, indices, values : CSR matrix, (n_rows, n_features), no feature twice in a row
    classes : (n_rows,), 0 to n_classes - 1
    dual : (n_rows, n_classes), a distribution > 0 for each row; the start, and on return the solution
    rows : (n,), the numbers of the rows to fit, each once
    intercepts : (n_classes,), the start
    stiffness : > 0, weight of the quadratic term of the intercepts' constraint
    tolerance, max_iter, seed : as for `fit_binary`

    Returns
    -------
    weights (n_features, n_classes), intercepts (n_classes,), the relative duality gap, passes

    Raises
    ------
    ValueError : the arrays do not fit together
    """
