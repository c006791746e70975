"""Logistic regression: the weights that make the labels of the documents most probable, kept short."""

from __future__ import annotations

import numpy as np

from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.document_counts import DocumentCounts
from nbtext.linear.solving import Aim, Corpus, Fit, Start, approach, regress, square_lengths

DOUBT = 0.1  # that a document's belief begins with, shared by all classes
SPRING = 0.1  # of the intercepts, beside the mean square length of a document


def logistic(corpus: Corpus, aim: Aim, *, settings: LinearSettings, start: Start | None = None, jobs: int = 1) -> Fit:
    """Fit softmax regression: minimise ½ Σ w² - C Σ log P(label | document), the intercepts free.
    For two classes it is ½|w|² - C Σ log P of the one w that divides them.

    start    from where to go on
    jobs     is not used: the classes are fitted together
    returns  a scorer of log P(label | document), but for a constant a document
    source   the objective: scikit-learn 1.9, LogisticRegression; the method: Keerthi, Sundararajan, Chang, Hsieh, Lin
             2008, and Yu, Huang, Lin 2011, section 4
    """
    sample, n_features, n_classes = corpus
    pulls, intercepts = start if start is not None else _doubtful(sample, n_classes)
    beliefs, weights = np.array(pulls, order="C"), np.zeros((n_features, n_classes))
    values, squares = sample.counts.astype(np.float64), square_lengths(sample)
    if n_classes == 2:  # one vector that weighs ½|w|² is two of ±w/2 that together weigh half as much
        aim = aim._replace(penalty=aim.penalty / 2)
    for step in [aim] if start is not None else approach(aim, squares):
        weights, intercepts, _, _ = regress(
            sample.indptr, sample.indices, values, sample.classes, beliefs, intercepts,
            n_features=n_features, penalty=step.penalty, spring=SPRING * max(float(squares.mean()), 1e-6),
            tolerance=step.tolerance, rounds=step.rounds, seed=settings.seed,
        )  # fmt: skip
    return Fit(_scorer(weights, intercepts), Start(beliefs, intercepts))


def _doubtful(sample: DocumentCounts, n_classes: int) -> Start:
    """Every document all but certain of its label."""
    beliefs = np.full((len(sample), n_classes), DOUBT / max(1, n_classes))
    beliefs[np.arange(len(sample)), sample.classes] += 1 - DOUBT
    return Start(beliefs, np.zeros(n_classes))


def _scorer(weights: Floats, intercepts: Floats) -> LinearScorer:
    """Weights (n_features, n_classes) and intercepts as a scorer; of two classes, the first one's scores are 0."""
    if len(intercepts) == 2:
        weights, intercepts = weights - weights[:, :1], intercepts - intercepts[0]
    else:
        intercepts = intercepts - intercepts.mean()
    features, classes = weights.nonzero()
    indptr = np.searchsorted(features, np.arange(len(weights) + 1)).astype(np.int64)
    return LinearScorer(
        intercepts, np.zeros(len(intercepts)), indptr, classes.astype(np.int32), weights[features, classes]
    )
