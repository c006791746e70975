"""CPU seconds of our solver on the same rows as LIBLINEAR (as scikit-learn runs it), and their
ratio.

    python tests/benchmarks/solvers.py [C...]

The rows are the training half of 20 Newsgroups, words, binary counts; one group against the rest,
without an intercept, in one thread. Both fit in turn in one process, and the best of three counts.
"""

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from protocols import newsgroups
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from nbtext._kernel import CheckedMatrix, fit_binary
from nbtext.linear.data import MAX_ITER, TOLERANCE
from nbtext.linear.one_vs_rest import START_DUAL

RUNS = 3
GROUP = "sci.med"


def ours(rows: csr_matrix, signs: Any, C: float, *, is_logistic: bool) -> Any:
    """The weights of our solver."""
    n_documents, n_features = rows.shape
    matrix = CheckedMatrix(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        rows.data.astype(np.float32),
        n_features,
    )
    strengths = C * signs
    dual = np.full(n_documents, START_DUAL * is_logistic)
    return fit_binary(
        matrix,
        strengths,
        np.ones(n_features, np.float32),
        np.zeros(n_documents, np.float32),
        dual,
        np.zeros(n_documents, np.float32),
        np.zeros(0),
        is_logistic=is_logistic,
        tolerance=TOLERANCE,
        max_iter=MAX_ITER,
        seed=0,
    )[2]


def theirs(rows: csr_matrix, signs: Any, C: float, *, is_logistic: bool) -> Any:
    """The weights of LIBLINEAR, dual, at its usual tolerance."""
    shared: dict[str, Any] = {
        "C": C,
        "fit_intercept": False,
        "dual": True,
        "max_iter": MAX_ITER,
        "random_state": 0,
    }
    peer = LogisticRegression(solver="liblinear", **shared) if is_logistic else LinearSVC(**shared)
    return peer.fit(rows, signs).coef_[0]


def objective(rows: csr_matrix, signs: Any, weights: Any, C: float, *, is_logistic: bool) -> float:
    """½|w|² + C Σ loss."""
    margins = signs * (rows @ weights)
    losses = np.logaddexp(0, -margins) if is_logistic else np.maximum(0, 1 - margins) ** 2
    return float(weights @ weights / 2 + C * losses.sum())


def seconds(fit: Callable[[], Any]) -> float:
    """Processor seconds of a fit."""
    start = time.process_time()
    fit()
    return time.process_time() - start


def compared(rows: csr_matrix, signs: Any, C: float, *, is_logistic: bool) -> list[str]:
    """Seconds of both, their ratio, and the ratio of the objectives that both reach."""
    fits = [partial(fit, rows, signs, C, is_logistic=is_logistic) for fit in (ours, theirs)]
    times = np.array([[seconds(fit) for fit in fits] for _ in range(RUNS)]).min(axis=0)
    minimum = [objective(rows, signs, fit(), C, is_logistic=is_logistic) for fit in fits]
    return [
        f"{times[0]:.3f}",
        f"{times[1]:.3f}",
        f"{times[0] / times[1]:.2f}",
        f"{minimum[0] / minimum[1]:.6f}",
    ]


def main() -> None:
    texts, labels = newsgroups("train")[:2]
    rows = CountVectorizer(binary=True, dtype=np.float64).fit_transform(texts).tocsr()
    signs = np.where(np.array(labels) == GROUP, 1.0, -1.0)
    sys.stdout.write("loss\tC\tnbtext, s\tLIBLINEAR, s\tratio\tobjective, ratio\n")
    warnings.simplefilter("ignore")
    for name in ("squared-hinge", "logistic"):
        for C in map(float, sys.argv[1:] or ("1",)):
            numbers = compared(rows, signs, C, is_logistic=name == "logistic")
            sys.stdout.write("\t".join((name, f"{C:g}", *numbers)) + "\n")


if __name__ == "__main__":
    main()
