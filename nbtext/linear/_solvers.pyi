"""The compiled solvers; _solvers.pyx says how they work."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Singles = NDArray[np.float32]
Numbers = NDArray[np.int32]
MAX_LANES: int

def add_by_fold(indptr: NDArray[np.int64], features: Numbers, values: Singles, folds: Numbers, sums: Floats) -> None:
    """Add the magnitudes of each feature's values in the documents of each fold to `sums`, (n_folds, n_features).

    folds  (n_rows,), 0 to n_folds - 1

    raises  ValueError: the arrays do not fit together
    """

def log_count_ratios(
    indptr: NDArray[np.int64],
    features: Numbers,
    values: Singles,
    classes: Numbers,
    folds: Numbers,
    totals: Floats,
    absent: Floats,
    lane_classes: Numbers,
    lane_folds: Numbers,
    groups: Numbers,
    pseudo_counts: Floats,
    offsets: Floats,
    width: int,
) -> Floats:
    """Return the log-count ratios (n_features, width) of each lane: a class, without a fold.

    Parameters
    ----------
    indptr, features, values : CSR matrix, (n_rows, n_features), no feature twice in a row
    classes, folds : (n_rows,)
    totals : (n_groups, n_features), sums of the values' magnitudes over all rows that a lane does not leave out
    absent : (n_groups, n_features), the ratio, without offset, of a feature that no row of the class holds
    lane_classes, lane_folds : (n_lanes,)
    groups : (n_lanes,), which of the totals and pseudo-counts are those of the lane
    pseudo_counts : (n_groups,)
    offsets : (n_lanes,), log(|q| / |p|)
    width : columns of the result: 1, 4, 8, 12 or 16, and at least n_lanes; further columns are 0

    Raises
    ------
    ValueError : the arrays do not fit together
    """

def fit_lanes(
    indptr: NDArray[np.int64],
    features: Numbers,
    values: Singles,
    classes: Numbers,
    folds: Numbers,
    scales: Singles,
    diagonal: Singles,
    dual: Floats,
    lane_classes: Numbers,
    lane_folds: Numbers,
    strengths: Floats,
    *,
    is_logistic: bool,
    tolerance: float,
    max_iter: int,
    seed: int,
    is_rough: bool = False,
) -> tuple[Floats, Floats, int]:
    """Fit each lane, a class against the rest, without an intercept, to the rows that are not in its fold.

    Minimizes Σ_j w_j² / (2 scales_j) + C Σ_i loss(± x_i·w). `one_vs_rest.pxd` explains lanes and the diagonal.

    Parameters
    ----------
    indptr, features, values : CSR matrix, (n_rows, n_features), no feature twice in a row
    classes, folds : (n_rows,)
    scales : (n_features, width), >= 0; width is 1, 4, 8, 12 or 16
    diagonal : (n_rows, width), Σ x² scale over the features that occur in no other row, and not in the matrix
    dual : (n_rows, width), the dual variables divided by C; the start, and on return the solution
    lane_classes, lane_folds : (n_lanes,), at most width
    strengths : (n_lanes,), C; 0 for a lane that is not fitted in this call
    is_logistic : log(1 + e^-m) instead of max(0, 1 - m)²
    tolerance : the relative duality gap at which a lane stops
    max_iter : passes over the rows
    seed : of the order in which rows are visited, 0 to 2^64 - 1
    is_rough : whether to trust the gap that the last pass found, and not to measure it at the end

    Returns
    -------
    weights (n_features, width), the relative duality gap of each lane, passes

    Raises
    ------
    ValueError : the arrays do not fit together
    """

def score_left_out(
    indptr: NDArray[np.int64],
    features: Numbers,
    values: Singles,
    folds: Numbers,
    weights: Floats,
    lane_classes: Numbers,
    lane_folds: Numbers,
    scores: Floats,
) -> None:
    """Put into `scores`, (n_rows, n_classes), what each lane says of the rows of its fold.

    Parameters are those of `fit_lanes`; it raises the same error.
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
    tolerance, max_iter, seed : as for `fit_lanes`

    Returns
    -------
    weights (n_features, n_classes), intercepts (n_classes,), the relative duality gap, passes

    Raises
    ------
    ValueError : the arrays do not fit together
    """
