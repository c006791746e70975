"""Decision offsets: a number for each class, added to log-probabilities so that decisions optimize a metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.newton import minimize, solve_by_conjugate_gradients
from nbtext.bayes.scorer import Floats
from nbtext.bayes.scorer import log_posterior as normalized

PARTS = 5  # folds of the documents; each evaluates the offsets that are fitted to the others
ROUNDS = 5  # at most, over all classes
MIN_DOCUMENTS = 5  # of a class whose offset is fitted
MAX_WORK = 2**33  # documents times squared classes; if there are more, the first documents are used
PRIOR_DEVIATION = 1.0  # of an offset that is fitted by log-loss


class Optimized(NamedTuple):
    """Offsets that optimize a metric, and the metric before and after.

    offsets  (n_classes,), added to the log-probabilities: for the decision only, or for log_loss before normalizing;
             None if the metric does not improve
    before   the metric without offsets
    after    the metric with offsets, cross-validated except for log_loss; equal to `before` if it does not improve
    """

    offsets: Floats | None
    before: float
    after: float


class StepMetric(NamedTuple):
    """A metric that depends only on the predicted classes. Decision offsets are fitted to maximize it.

    evaluate  evaluate(predicted, truth, n_classes) returns the metric
    gains     gains(runner_ups, truth, k, support) returns the change of the metric, up to a constant factor, after the
              first, the first two, … documents change from their runner-ups to class k; `support` is the number of
              documents of each class
    """

    evaluate: Callable[[NDArray[Any], NDArray[Any], int], float]
    gains: Callable[[NDArray[Any], NDArray[Any], int, NDArray[Any]], NDArray[Any]]


def fit_decision_offsets(
    log_posterior: Floats, classes: NDArray[Any], metric: str, missed: NDArray[Any] | None = None
) -> Optimized:
    """Return the offsets that optimize a metric on documents that the model has not seen.

    log_posterior  (n_documents, n_classes), finite, left out or held out, in random order
    classes        (n_documents,), the true class of each
    metric         a name in STEP_METRICS, or `log_loss`
    missed         (n_classes,), more documents of each class, which get no label; None: none; ignored for log_loss
    """
    if metric in STEP_METRICS:
        missed = np.zeros(log_posterior.shape[1], dtype=np.int64) if missed is None else missed
        return _maximize(STEP_METRICS[metric], log_posterior, classes, missed)
    return _minimize_log_loss(log_posterior, classes)


def _minimize_log_loss(log_posterior: Floats, classes: NDArray[Any]) -> Optimized:
    """Minimize log-loss, which is smooth and convex, with a weak prior."""
    offsets = fit_prior_adjustment(log_posterior, classes, start=np.zeros(log_posterior.shape[1]))
    own = np.arange(len(classes)), classes
    before, after = (-float(each[own].mean()) for each in (log_posterior, normalized(log_posterior + offsets)))
    return Optimized(offsets, before, after)


def _maximize(metric: StepMetric, log_posterior: Floats, classes: NDArray[Any], missed: NDArray[Any]) -> Optimized:
    """Maximize a metric that is a step function of the offsets.

    It is maximized class by class: the other offsets stay fixed, and every threshold that changes a prediction is
    evaluated. Such a search overfits, so it is cross-validated: each part of the documents is evaluated with the
    offsets that were fitted to the others. If the metric improves, the result is the mean of these offsets.
    """
    n_classes = log_posterior.shape[1]
    used = slice(max(PARTS, MAX_WORK // n_classes**2))
    missed = missed * len(classes[used]) // max(1, len(classes))
    log_posterior, classes = log_posterior[used], classes[used]
    parts = np.arange(len(classes)) % PARTS
    offsets = np.zeros((PARTS, n_classes))
    predicted = np.zeros(len(classes), dtype=np.int64)
    for part in range(PARTS if len(classes) >= PARTS else 0):
        others, own = parts != part, parts == part
        offsets[part] = _ascend(log_posterior[others], classes[others], metric, missed * others.mean())
        predicted[own] = (log_posterior[own] + offsets[part]).argmax(axis=1)
    whole = np.append(classes, np.repeat(np.arange(n_classes), missed))
    none = np.full(len(whole) - len(classes), -1)
    found = (np.append(each, none) for each in (log_posterior.argmax(axis=1), predicted))
    before, after = (metric.evaluate(each, whole, n_classes) for each in found)
    return Optimized(offsets.mean(axis=0), before, after) if after > before else Optimized(None, before, before)


def _ascend(log_posterior: Floats, classes: NDArray[Any], metric: StepMetric, missed: Floats) -> Floats:
    """Return the result of coordinate ascent from 0: each class's offset in turn is set to the best value."""
    offset = np.zeros(log_posterior.shape[1])
    support = np.bincount(classes, minlength=len(offset))
    for _ in range(ROUNDS):
        before = offset.copy()
        for k in np.flatnonzero(support >= MIN_DOCUMENTS).tolist():
            offset[k] += _best_step(log_posterior + offset, classes, k, support + missed, metric)
        if (offset == before).all():
            break
    return offset


def _best_step(scores: Floats, classes: NDArray[Any], k: int, support: NDArray[Any], metric: StepMetric) -> float:
    """Return the best change of the offset of class k, or 0 if no change improves the metric.

    As the offset increases, one document after the other is predicted as class k. The candidates are the midpoints
    between the margins of consecutive documents.
    """
    others = scores.copy()
    others[:, k] = -np.inf
    runner_ups = others.argmax(axis=1)
    margins = others[np.arange(len(classes)), runner_ups] - scores[:, k]  # with a larger offset, class k is predicted
    order = np.argsort(margins, kind="stable")
    margins, runner_ups, truth = margins[order], runner_ups[order], classes[order]
    values = np.append(0.0, metric.gains(runner_ups, truth, k, support))
    stops = np.concatenate(([margins[0] - 1.0], (margins[1:] + margins[:-1]) / 2, [margins[-1] + 1.0]))
    is_stop = np.concatenate(([True], margins[1:] > margins[:-1], [True]))
    now = int(np.searchsorted(margins, 0.0))  # documents that are predicted as class k now
    stops[now], is_stop[now] = 0.0, True
    best = values[is_stop].max()
    if not best > values[now] + 1e-12:
        return 0.0
    candidates = stops[is_stop & (values >= best - 1e-12)]
    return float(candidates[np.abs(candidates).argmin()])


def _accuracy_gains(runner_ups: NDArray[Any], truth: NDArray[Any], k: int, support: NDArray[Any]) -> NDArray[Any]:
    """Return the change of the number of correct predictions after each document that changes to class k."""
    return np.cumsum((truth == k).astype(np.int64) - (truth == runner_ups))


def _f1_gains(runner_ups: NDArray[Any], truth: NDArray[Any], k: int, support: NDArray[Any]) -> Floats:
    """Return the change of the sum of all F1 scores after each document that changes to class k."""
    own = 2 * np.cumsum(truth == k) / (np.arange(1, len(truth) + 1) + support[k])
    # F1 of each runner-up before and after it loses each of its documents
    by_runner_up = np.argsort(runner_ups, kind="stable")
    held, right = runner_ups[by_runner_up], (truth == runner_ups)[by_runner_up]
    n_held, n_right = np.bincount(held, minlength=len(support)), np.bincount(held, right, len(support))
    starts = np.cumsum(n_held) - n_held
    gone = np.arange(len(held)) - starts[held]
    running = np.cumsum(right)
    gone_right = running - right - (running - right)[starts[held]]
    before = 2 * (n_right[held] - gone_right) / np.maximum(1, n_held[held] - gone + support[held])
    after = 2 * (n_right[held] - gone_right - right) / np.maximum(1, n_held[held] - gone - 1 + support[held])
    lost = np.empty(len(held))
    lost[by_runner_up] = before - after
    return np.asarray(own - np.cumsum(lost))


def _accuracy(predicted: NDArray[Any], classes: NDArray[Any], _: int) -> float:
    return float((predicted == classes).mean())


def _macro_f1(predicted: NDArray[Any], classes: NDArray[Any], n_classes: int) -> float:
    right = np.bincount(classes[predicted == classes], minlength=n_classes)
    whole = np.bincount(predicted[predicted >= 0], minlength=n_classes) + np.bincount(classes, minlength=n_classes)
    return float((2 * right / np.maximum(1, whole)).mean())


STEP_METRICS = {"accuracy": StepMetric(_accuracy, _accuracy_gains), "macro_f1": StepMetric(_macro_f1, _f1_gains)}


def adjust_prior(log_posterior: Floats, classes: NDArray[Any]) -> Floats | None:
    """Return the offsets that minimize log-loss.

    None if offsets that are fitted to one half of the documents do not decrease the log-loss of the other half.
    """
    if len(classes) < 2:
        return None
    halves = slice(len(classes) // 2), slice(len(classes) // 2, None)
    gain, offsets = 0.0, np.zeros(log_posterior.shape[1])
    for fitted, judged in (halves, halves[::-1]):
        offsets = fit_prior_adjustment(log_posterior[fitted], classes[fitted], start=offsets)
        own = np.arange(len(classes[judged])), classes[judged]
        gain += float((normalized(log_posterior[judged] + offsets) - log_posterior[judged])[own].sum())
    return fit_prior_adjustment(log_posterior, classes, start=offsets) if gain > 0 else None


def fit_prior_adjustment(log_posterior: Floats, classes: NDArray[Any], *, start: Floats) -> Floats:
    """Return the offsets that minimize log-loss with a weak prior.

    The Hessian is diag(Σ_i p_i) − Σ_i p_i p_iᵀ plus the prior's. Conjugate gradients need only its product with a
    vector, so no array of shape (n_classes, n_classes) is allocated.
    """
    n, n_classes = log_posterior.shape
    frequencies = np.bincount(classes, minlength=n_classes)
    by_class, own = np.ascontiguousarray(log_posterior.T), (classes, np.arange(n))  # NumPy is slow at short rows

    def evaluate(offsets: Floats) -> tuple[float, Floats, Floats]:
        probabilities = by_class + offsets[:, None]
        probabilities -= probabilities.max(axis=0)
        log_own = probabilities[own]
        totals = np.exp(probabilities, out=probabilities).sum(axis=0)
        probabilities /= totals
        loss = float(offsets @ offsets / (2 * PRIOR_DEVIATION**2) - (log_own - np.log(totals)).sum()) / n
        gradient = probabilities.sum(axis=1) - frequencies + offsets / PRIOR_DEVIATION**2
        return loss, gradient / n, probabilities

    def solve(probabilities: Floats, gradient: Floats) -> Floats:
        diagonal = probabilities.sum(axis=1) + PRIOR_DEVIATION**-2
        return solve_by_conjugate_gradients(
            lambda vector: diagonal * vector - probabilities @ (vector @ probabilities),
            gradient * n,
            scale=diagonal - np.einsum("ij,ij->i", probabilities, probabilities),
        )

    offsets = minimize(evaluate, start, solve=solve)
    return np.asarray(offsets - offsets.mean())
