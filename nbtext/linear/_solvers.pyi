"""The compiled solvers; _solvers.pyx says how they work."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Singles = NDArray[np.float32]
Numbers = NDArray[np.int32]

class CheckedMatrix:
    """A CSR matrix (n_rows, n_features) of float32 that is checked once; the arrays must not change.

    No feature occurs twice in a row.
    """

    n_features: int

    def __init__(self, indptr: NDArray[np.int64], features: Numbers, values: Singles, n_features: int) -> None:
        """Keep the arrays; ValueError if they are not a CSR matrix."""

    def __len__(self) -> int:
        """Return the number of rows."""

def add_by_fold(matrix: CheckedMatrix, factors: Floats, folds: Numbers, sums: Floats) -> None:
    """Add the magnitudes of each feature's values in the documents of each fold to `sums`, (n_folds, n_features).

    factors  (n_rows,), by which the magnitudes of a row are multiplied
    folds    (n_rows,), 0 to n_folds - 1

    raises  ValueError: the arrays do not fit together
    """

def log_count_ratios(
    matrix: CheckedMatrix,
    rows: Numbers,
    totals: Floats,
    absent: Floats,
    *,
    factor: float,
    pseudo_count: float,
    offset: float,
) -> Floats:
    """Return the log-count ratios (n_features,) of a class.

    Parameters
    ----------
    rows : (n,), those of the class
    totals : (n_features,), sums of the values' magnitudes, times a factor for each row, over the rows of all classes
    absent : (n_features,), the ratio, without offset, of a feature that no row of the class holds
    factor : of the rows of the class
    offset : log(|q| / |p|)

    Raises
    ------
    ValueError : the arrays do not fit together
    """

def fit_binary(
    matrix: CheckedMatrix,
    strengths: Floats,
    scales: Singles,
    diagonal: Singles,
    dual: Floats,
    margins: Singles,
    scores: Floats,
    *,
    is_logistic: bool,
    tolerance: float,
    max_iter: int,
    seed: int,
    is_rough: bool = False,
    check: Callable[[], None] | None = None,
) -> tuple[float, int, Singles]:
    """Fit a class against the rest, without an intercept.

    Minimizes Σ_j w_j² / (2 scales_j) + Σ_i |strengths_i| loss(± x_i·w), where ± is the sign of the strength.
    `one_vs_rest.pxd` explains the diagonal.

    Parameters
    ----------
    strengths : (n_rows,), C of each row, > 0 for the class and < 0 for the rest; 0 for a row that is not fitted
    scales : (n_features,), >= 0
    diagonal : (n_rows,), Σ x² scale over the features that occur in no other row, and not in the matrix
    dual : (n_rows,), the dual variables divided by C; the start, and on return the solution
    margins : (n_rows,), of the start: rows far beyond the margin are skipped at first; on return those of the
        solution, unless `is_rough`
    scores : (n_rows,), set to x_i·w of the rows that are not fitted; or empty
    is_logistic : log(1 + e^-m) instead of max(0, 1 - m)²
    tolerance : the relative duality gap at which it stops
    max_iter : passes over the rows
    seed : of the order in which rows are visited, 0 to 2^64 - 1
    is_rough : whether to trust the gap that a pass finds, and not to measure it
    check : called after every few passes; an error that it raises ends the fit

    Returns
    -------
    the relative duality gap (NaN if the numbers are too large to compute with), passes, the weights (n_features,)

    Raises
    ------
    ValueError : the arrays do not fit together
    """
