"""NB-SVM: a support vector machine that sees each feature as large as Naive Bayes finds it telling."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums
from nbtext.features.document_counts import DocumentCounts
from nbtext.linear.ratios import log_count_ratios
from nbtext.linear.solving import Aim, Corpus, Fit, Start, approach, divide, in_threads, square_lengths

LEAST_PULL = 1e-8  # where logistic pulls begin: it is LIBLINEAR's


class Plane(NamedTuple):
    """What divides a class from the rest: weights of the features that have one, and where the solver stopped."""

    features: NDArray[np.int32]
    weights: Floats
    pulls: Floats  # (n_documents,)


def nbsvm(corpus: Corpus, aim: Aim, *, settings: LinearSettings, start: Start | None = None, jobs: int = 1) -> Fit:
    """Fit a plane between each class and the rest (one plane for two classes), over features times their ratios.

    For each class, the log-count ratios r and then w minimising ½|w|² + C Σ loss(± w·(x ∘ r)), without an intercept;
    of features that r has scaled, none is needed, and with interpolation it does harm. The class's weights are
    r ∘ ((1 - β) · mean|w| + β w).

    corpus   presence, or the weights of TF-IDF, with which it is at its best
    start    from where to go on
    jobs     threads; each takes a class at a time
    returns  a scorer: of two classes, the second one's score is the plane's and the first one's is 0
    source   Wang, Manning 2012, section 2.3; with the logistic loss: Mesnil, Mikolov, Ranzato, Bengio, Ensemble of
             Generative and Discriminative Techniques for Sentiment Analysis of Movie Reviews, 2015
    """
    n_classes = corpus.n_classes
    classes = list(range(n_classes)) if n_classes > 2 else list(range(1, n_classes))
    statistics = count_classes(corpus.sample, corpus.n_features, n_classes)
    corpus = corpus._replace(sample=replace(corpus.sample, counts=corpus.sample.counts.astype(np.float64)))

    def fitted(column: int) -> Plane:
        ratios = log_count_ratios(statistics, classes[column], smoothing=settings.ratio_smoothing)
        signs = np.where(corpus.sample.classes == classes[column], 1.0, -1.0)
        pulls = start.pulls[:, column] if start is not None else None
        return _plane(corpus.sample, aim, signs, ratios, settings=settings, pulls=pulls)

    planes = in_threads(fitted, range(len(classes)), jobs=jobs)
    pulls = np.stack([plane.pulls for plane in planes], axis=1) if planes else np.zeros((len(corpus.sample), 0))
    return Fit(_scorer(planes, classes, corpus.n_features, n_classes), Start(pulls, np.zeros(len(planes))))


def _plane(
    sample: DocumentCounts, aim: Aim, signs: Floats, ratios: Floats, *, settings: LinearSettings, pulls: Floats | None
) -> Plane:
    """The plane between the documents of either sign."""
    is_logistic = settings.loss == "logistic"
    way = [aim] if pulls is not None else approach(aim, square_lengths(sample, ratios))
    pulls = np.full(len(signs), LEAST_PULL if is_logistic else 0.0) if pulls is None else np.array(pulls, order="C")
    weights = np.zeros(len(ratios))
    for step in way:
        weights, _, _, _ = divide(
            sample.indptr, sample.indices, sample.counts, signs, ratios * ratios, pulls,
            is_logistic=is_logistic, penalty=step.penalty, constant=0.0, tolerance=step.tolerance, rounds=step.rounds,
            seed=settings.seed,
        )  # fmt: skip
    weights = _interpolated(weights, ratios, settings.interpolation)
    features = np.flatnonzero(weights).astype(np.int32)
    return Plane(features, weights[features], pulls)


def _interpolated(weights: Floats, ratios: Floats, interpolation: float) -> Floats:
    """r ∘ ((1 - β) · mean|w| + β w), where `weights` is r ∘ w."""
    if interpolation == 1:
        return weights
    magnitudes = np.abs(np.divide(weights, ratios, out=np.zeros_like(weights), where=ratios != 0))
    return np.asarray((1 - interpolation) * magnitudes.mean() * ratios + interpolation * weights)


def _scorer(planes: list[Plane], classes: list[int], n_features: int, n_classes: int) -> LinearScorer:
    """The planes as one scorer, feature by feature."""
    entry_classes = np.repeat(np.array(classes, dtype=np.int32), [len(plane.features) for plane in planes])
    features = np.concatenate([np.zeros(0, dtype=np.int32), *(plane.features for plane in planes)])
    weights = np.concatenate([np.zeros(0), *(plane.weights for plane in planes)])
    order = np.argsort(features, kind="stable")
    indptr = running_sums(np.bincount(features, minlength=n_features))
    return LinearScorer(np.zeros(n_classes), np.zeros(n_classes), indptr, entry_classes[order], weights[order])
