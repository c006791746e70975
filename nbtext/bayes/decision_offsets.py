"""A number for each class, added to its log-probabilities so that decisions serve what they are judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.newton import minimize
from nbtext.bayes.scorer import Floats
from nbtext.bayes.scorer import log_posterior as normalized

PARTS = 5  # of the documents, each of which judges the shift that the others ask for
ROUNDS = 5  # over all classes; where one changes nothing there is no next
FEWEST = 5  # documents of a class whose shift can be told from chance
MOST_WORK = 2**33  # documents times squared classes: of more documents a part is looked at
PRIOR_DEVIATION = 1.0  # of an offset that is fitted by log-loss


def fit_decision_offsets(log_posterior: Floats, classes: NDArray[Any], metric: str) -> Floats | None:
    """The shift that serves a metric best on documents that the model has not seen; None where there is no gain.

    Of accuracy and macro F1, which jump, the maximum is looked for class by class: with all other classes held fixed,
    every threshold that changes an answer is tried. Such a search finds gains in any noise. So the documents are cut
    into parts, each part is judged by the shift that the others ask for, and where that is no gain there is no shift;
    where it is, the mean of these shifts is taken. Log-loss is smooth and convex: its minimum is taken, with a weak
    prior.

    log_posterior  (n_documents, n_classes), finite, left out or held out, in an order that means nothing
    classes        (n_documents,), the true class of each
    metric         `accuracy`, `macro_f1` or `log_loss`
    returns        (n_classes,), to be added before the largest is taken; for log_loss, before normalising as well
    """
    if metric == "log_loss":
        return _fit_prior_adjustment(log_posterior, classes)
    n_classes = log_posterior.shape[1]
    looked_at = slice(max(PARTS, MOST_WORK // n_classes**2))
    log_posterior, classes = log_posterior[looked_at], classes[looked_at]
    parts = np.arange(len(classes)) % PARTS
    shifts = np.zeros((PARTS, n_classes))
    answers = np.zeros(len(classes), dtype=np.int64)
    for part in range(PARTS if len(classes) >= PARTS else 0):
        others, own = parts != part, parts == part
        shifts[part] = _ascended(log_posterior[others], classes[others], metric)
        answers[own] = (log_posterior[own] + shifts[part]).argmax(axis=1)
    judged = {"accuracy": _accuracy, "macro_f1": _macro_f1}[metric]
    plain = judged(log_posterior.argmax(axis=1), classes, n_classes)
    return shifts.mean(axis=0) if judged(answers, classes, n_classes) > plain else None


def _ascended(log_posterior: Floats, classes: NDArray[Any], metric: str) -> Floats:
    """Coordinate ascent from no shift: each class in turn is shifted to where the metric is best."""
    shift = np.zeros(log_posterior.shape[1])
    support = np.bincount(classes, minlength=len(shift))
    for _ in range(ROUNDS):
        before = shift.copy()
        for k in np.flatnonzero(support >= FEWEST).tolist():
            shift[k] += _best_step(log_posterior + shift, classes, k, support, metric)
        if (shift == before).all():
            break
    return shift


def _best_step(scores: Floats, classes: NDArray[Any], k: int, support: NDArray[Any], metric: str) -> float:
    """How far to shift class k, 0 where nothing is better: in the middle between the documents on either side.

    As the shift rises, documents go over to class k one after the other, each from the class that had it; behind each
    of them is a place to stop at.
    """
    others = scores.copy()
    others[:, k] = -np.inf
    rivals = others.argmax(axis=1)
    margins = others[np.arange(len(classes)), rivals] - scores[:, k]  # shifted by more, the document is class k's
    order = np.argsort(margins, kind="stable")
    margins, rivals, truth = margins[order], rivals[order], classes[order]
    if metric == "accuracy":
        gains = np.cumsum((truth == k).astype(np.int64) - (truth == rivals))
    else:
        gains = _f1_gains(rivals, truth, k, support)
    values = np.append(0.0, gains)
    stops = np.concatenate(([margins[0] - 1.0], (margins[1:] + margins[:-1]) / 2, [margins[-1] + 1.0]))
    is_stop = np.concatenate(([True], margins[1:] > margins[:-1], [True]))
    now = int(np.searchsorted(margins, 0.0))  # documents that are class k's as it is
    stops[now], is_stop[now] = 0.0, True
    best = values[is_stop].max()
    if not best > values[now] + 1e-12:
        return 0.0
    candidates = stops[is_stop & (values >= best - 1e-12)]
    return float(candidates[np.abs(candidates).argmin()])


def _f1_gains(rivals: NDArray[Any], truth: NDArray[Any], k: int, support: NDArray[Any]) -> Floats:
    """The sum of all classes' F1 after each of the documents has gone over to class k, less what it was before."""
    own = 2 * np.cumsum(truth == k) / (np.arange(1, len(truth) + 1) + support[k])
    # of each rival, F1 with all documents that it has, then without the first of them that leaves, and so on
    by_rival = np.argsort(rivals, kind="stable")
    held, right = rivals[by_rival], (truth == rivals)[by_rival]
    n_held, n_right = np.bincount(held, minlength=len(support)), np.bincount(held, right, len(support))
    starts = np.cumsum(n_held) - n_held
    gone = np.arange(len(held)) - starts[held]
    running = np.cumsum(right)
    gone_right = running - right - (running - right)[starts[held]]
    before = 2 * (n_right[held] - gone_right) / np.maximum(1, n_held[held] - gone + support[held])
    after = 2 * (n_right[held] - gone_right - right) / np.maximum(1, n_held[held] - gone - 1 + support[held])
    lost = np.empty(len(held))
    lost[by_rival] = before - after
    return np.asarray(own - np.cumsum(lost))


def _accuracy(answers: NDArray[Any], classes: NDArray[Any], _: int) -> float:
    return float((answers == classes).mean())


def _macro_f1(answers: NDArray[Any], classes: NDArray[Any], n_classes: int) -> float:
    right = np.bincount(classes[answers == classes], minlength=n_classes)
    whole = np.bincount(answers, minlength=n_classes) + np.bincount(classes, minlength=n_classes)
    return float((2 * right / np.maximum(1, whole)).mean())


def _fit_prior_adjustment(log_posterior: Floats, classes: NDArray[Any]) -> Floats:
    """The offsets with the least log-loss, with a weak prior."""
    n, n_classes = log_posterior.shape
    frequencies = np.bincount(classes, minlength=n_classes)
    own = np.arange(n), classes

    def evaluate(offsets: Floats) -> tuple[float, Floats, Floats]:
        adjusted = normalized(log_posterior + offsets)
        probabilities = np.exp(adjusted)
        expected = probabilities.sum(axis=0)
        loss = float(offsets @ offsets / (2 * PRIOR_DEVIATION**2) - adjusted[own].sum()) / n
        gradient = expected - frequencies + offsets / PRIOR_DEVIATION**2
        hessian = np.diag(expected + PRIOR_DEVIATION**-2) - probabilities.T @ probabilities
        return loss, gradient / n, hessian / n

    offsets = minimize(evaluate, np.zeros(n_classes))
    return np.asarray(offsets - offsets.mean())
