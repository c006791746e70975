"""From labelled rows to a discriminative model, its penalty chosen and its probabilities mended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.calibration import Calibration, fit_scaled_calibration
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.smoothing import Choice
from nbtext.linear.held_out import LINEAR_MODELS, HeldOut
from nbtext.linear.solving import Aim, Corpus, Start

USUAL = 1.0  # the penalty where there is nothing to choose by
DECADES = (-3.0, 3.0)  # of the penalties that are looked at
WORTHWHILE = 0.995  # of the loss: what is hardly better and much slower is not chosen
NEIGHBORS = (1.0, 0.5)  # steps in decades; the search goes on with the next one around the best of the one before


class Learned(NamedTuple):
    """A discriminative model, and what folds say of it."""

    scorer: LinearScorer
    choice: Choice


def learn(corpus: Corpus, lengths: NDArray[Any], settings: ModelSettings, *, jobs: int = 1) -> Learned:
    """Fit a model to all documents. The result does not depend on the number of threads.

    lengths   (n_documents,), known tokens of each document
    settings  of a `logistic` or `nbsvm` model
    """
    held_out = HeldOut(corpus, settings)
    can_judge = corpus.n_classes > 1 and len(held_out.judged) >= settings.folds
    penalty, scores = settings.C, None
    if isinstance(penalty, str):
        penalty = USUAL
        if can_judge:
            penalty, scores = _best_penalty(held_out, lengths[held_out.judged], jobs=jobs)
    fitted = LINEAR_MODELS[settings.model](corpus, Aim(penalty), settings=settings, jobs=jobs)
    choice = Choice(settings.ratio_smoothing if settings.model == "nbsvm" else 0.0, C=penalty)
    if not can_judge:
        return Learned(fitted.scorer, choice)
    if scores is None:
        scores, _ = held_out.scores(penalty, start=fitted.start, jobs=jobs)
    classes, lengths = corpus.sample.classes[held_out.judged], lengths[held_out.judged]
    if settings.calibrate:
        choice = replace(choice, calibration=fit_scaled_calibration(scores, lengths, classes))
    n_unjudged = len(corpus.sample) - len(classes)
    choice = choice.judged_by(scores, lengths, classes, n_unjudged=n_unjudged, optimize=settings.optimize)
    return Learned(fitted.scorer, choice)


def _log_loss(calibration: Calibration, scores: Floats, lengths: NDArray[Any], classes: NDArray[np.int32]) -> float:
    log_posterior = calibration.log_posterior(scores, lengths)
    return float(-log_posterior[np.arange(len(classes)), classes].mean())


def _best_penalty(held_out: HeldOut, lengths: NDArray[Any], *, jobs: int) -> tuple[float, Floats]:
    """The penalty with the least calibrated log-loss on held-out documents, and their scores under it.

    From the usual one the search goes up or down as long as it pays, in decades and then in halves of them;
    every fit goes on from that of the neighboring penalty.
    """
    classes = held_out.corpus.sample.classes[held_out.judged]
    tried: dict[float, tuple[float, Floats, list[Start]]] = {}

    def loss(exponent: float, near: float | None) -> float:
        if exponent not in tried:
            start = None if near is None else tried[near][2]
            scores, stops = held_out.scores(10.0**exponent, start=start, jobs=jobs)
            tried[exponent] = (
                _log_loss(fit_scaled_calibration(scores, lengths, classes), scores, lengths, classes), scores, stops,
            )  # fmt: skip
        return tried[exponent][0]

    best = float(np.log10(USUAL))
    loss(best, None)
    for step in NEIGHBORS:
        for direction in (-step, step):
            while DECADES[0] <= best + direction <= DECADES[1] and (
                loss(best + direction, best) < WORTHWHILE * loss(best, None)
            ):
                best += direction
    return 10.0**best, tried[best][1]
