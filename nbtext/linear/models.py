"""The linear models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import LinearScorer
from nbtext.linear.data import Floats
from nbtext.linear.lbfgs import SolverSettings
from nbtext.linear.logistic import LogisticRegression
from nbtext.linear.nbsvm import NbSvm
from nbtext.linear.one_vs_rest import OneVsRest
from nbtext.linear.svm import LinearSvm


class Problem(Protocol):
    """A linear model over given training data. Its solutions are plain data, and serve as starts of further ones."""

    def solve(self, solver: SolverSettings, start: Any = None) -> Any:
        """Return the solution for all documents; `start`, one for another C, may be overwritten."""

    def scorer(self, solution: Any) -> LinearScorer:
        """Return the scorer of a solution, which may give up its memory."""

    def score_folds(self, folds: NDArray[np.int32], solver: SolverSettings, start: Any) -> Floats:
        """Return the scores (n_held_out, n_classes) of the documents in a fold, by models of the other folds.

        folds  (n_documents,), the fold of each document
        start  the solution for all documents, from which the models of the folds continue
        """


@dataclass(frozen=True, kw_only=True)
class LinearModel:
    """One linear model. `event_models.LINEAR_MODELS` registers them by name.

    problem  makes a Problem of TrainingData, LinearSettings and the number of threads
    one_vs_rest  makes the problem of documents with several labels; None: each document has one label
    options  fields of ModelSettings that this model takes, but not every model
    searched  candidates of a model search: the names of a feature set and a weighting, and C
    is_tried_last  whether a search tries it with the features and the weighting of the best other linear model
    """

    problem: Callable[..., Problem]
    one_vs_rest: Callable[..., OneVsRest] | None = None
    options: tuple[str, ...] = ("C",)
    searched: tuple[tuple[str, str, float], ...] = ()
    is_tried_last: bool = False


# C = 3 is better than 1 for character n-grams (0.723 and 0.710 on messages in Thai), and as fast.
LOGISTIC = LinearModel(problem=LogisticRegression, searched=(("characters", "binary-l2", 3.0),))
# The log-count ratios of NB-SVM already tell rare and frequent features apart. In short texts, where frequent ones such
# as question words matter, it is more accurate without the inverse document frequency: 0.702 and not 0.680 on messages
# in Thai (6,000 of them), 0.738 and not 0.715 on titles of 20 Newsgroups, both by character n-grams.
NBSVM = LinearModel(
    problem=NbSvm,
    one_vs_rest=NbSvm,
    options=("C", "loss", "interpolation", "ratio_smoothing"),
    searched=(
        ("words", "log-tfidf", 1.0), ("pairs", "binary-tfidf", 1.0), ("pairs", "binary-l2", 1.0),
        ("triples", "binary-l2", 1.0), ("characters", "binary-l2", 1.0),
    ),
)  # fmt: skip
# Its results are so near to those of NB-SVM on small subsets that features are compared with NB-SVM alone. With it in
# the race, pairs of words were given up, and 20 Newsgroups lost 0.014 of its test accuracy.
SVM = LinearModel(problem=LinearSvm, one_vs_rest=LinearSvm, is_tried_last=True)
