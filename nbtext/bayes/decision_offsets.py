"""Decision offsets: a number for each class, added to log-probabilities so that decisions optimize
a metric.

Targets of recall are met by decision offsets, too, and targets of precision by minimum
probabilities, below which a label is withheld, on new documents with a stated confidence. With two
labels an offset is a threshold of the probability. Each is chosen on scores of documents that the
model has not seen. The bounds of targets hold for any number of documents and any distribution of
the scores.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats
from nbtext.bayes.diagnostics import Proportion
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.newton import minimize, solve_by_conjugate_gradients
from nbtext.bayes.scorer import log_posterior as normalized
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import SettingsError, number_of, require_label
from nbtext.numerics import dot, exp, log, ratio
from nbtext.records import frozen

PARTS = 5  # folds of the documents; each evaluates the offsets that are fitted to the others
MAX_OFFSET_ROUNDS = 5  # at most, over all classes
MIN_OFFSET_DOCUMENTS = 5  # of a class whose offset is fitted
# documents times squared classes; if there are more, the first documents are used
MAX_OFFSET_WORK = 2**33
OFFSET_DEVIATION = 1.0  # of an offset that is fitted by log-loss
# Of the scale of a label, around 1. With 0.7, 0.2 and 0.13, the mean accuracy of combinations on
# other training documents (nine corpora of three to 77 labels, 100 to 10,000 documents) differs by
# less than 0.001 and the log-loss by less than 1 %; 77 labels of a document or two each lose 0.05
# with 0.7.
SCALE_DEVIATION = 0.2
MIN_LABEL_SCALE = 0.01
MAX_LABEL_SCALE = 100.0
LINE_TOLERANCE = 1e-5  # of the loss, in nats
# Of one of a linear model, whose scores are of documents in folds: with 70 labels or more, most
# have few of these. The log-loss of other training documents is 0.312 on banking77, 0.342 on
# Reuters and 0.205 on 20 Newsgroups, with 1.0 0.316, 0.344 and 0.206, and without offsets 0.312,
# 0.347 and 0.207; with few labels, it does not matter.
LINEAR_DEVIATION = 0.35


class Optimized(NamedTuple):
    """Offsets that optimize a metric, and the metric before and after.

    offsets  (n_classes,), added to the log-probabilities: for the decision only, or for log_loss
             before normalizing; None if the metric does not improve
    before   the metric without offsets
    after    the metric with offsets, cross-validated except for log_loss; equal to `before` if it
             does not improve
    """

    offsets: Floats | None
    before: float
    after: float


class StepMetric(NamedTuple):
    """A metric that depends only on the predicted classes. Decision offsets are fitted to maximize
    it.

    evaluate  evaluate(predicted, judged) returns the metric
    gains     gains(runner_ups, truth, k, weights) returns the change of the metric, up to a
              constant factor, after the first, the first two, … documents change from their
              runner-ups to class k
    """

    evaluate: Callable[[Array, JudgedDocuments], float]
    gains: Callable[[Array, Array, int, Array], Array]


def fit_decision_offsets(judged: JudgedDocuments, metric: str) -> Optimized:
    """Return the offsets that optimize a metric on documents that the model has not seen.

    judged  with finite log-probabilities
    metric  a name in STEP_METRICS, or `log_loss`
    """
    if metric in STEP_METRICS:
        return _maximize(STEP_METRICS[metric], judged)
    # log-loss is smooth and convex
    offsets = fit_prior_adjustment(judged)
    adjusted = judged.with_scores(normalized(judged.scores + offsets))
    return Optimized(offsets, -judged.mean(judged.own), -judged.mean(adjusted.own))


def _maximize(metric: StepMetric, judged: JudgedDocuments) -> Optimized:
    """Maximize a metric that is a step function of the offsets.

    It is maximized class by class: the other offsets stay fixed, and every threshold that changes a
    prediction is evaluated. Such a search overfits, so it is cross-validated: each part of the
    documents is evaluated with the offsets that were fitted to the others. If the metric improves,
    the result is the mean of these offsets.
    """
    judged = judged.take(slice(max(PARTS, MAX_OFFSET_WORK // judged.n_classes**2)))
    parts = np.arange(len(judged)) % PARTS
    offsets = np.zeros((PARTS, judged.n_classes))
    for part in range(PARTS if len(judged) >= PARTS else 0):
        offsets[part] = _ascend(judged.take(parts != part), metric)
    before, after = (
        metric.evaluate(scores.argmax(axis=1), judged)
        for scores in (judged.scores, judged.scores + offsets[parts])
    )
    if after > before:
        return Optimized(offsets.mean(axis=0), before, after)
    return Optimized(None, before, before)


def _ascend(judged: JudgedDocuments, metric: StepMetric) -> Floats:
    """Return the result of coordinate ascent from 0: each class's offset in turn is set to the best
    value.
    """
    offset = np.zeros(judged.n_classes)
    n_documents = np.bincount(judged.classes, minlength=len(offset))
    for _ in range(MAX_OFFSET_ROUNDS):
        before = offset.copy()
        for k in np.flatnonzero(n_documents >= MIN_OFFSET_DOCUMENTS).tolist():
            offset[k] += _best_step(judged.with_scores(judged.scores + offset), k, metric)
        if (offset == before).all():
            break
    return offset


def _best_step(judged: JudgedDocuments, k: int, metric: StepMetric) -> float:
    """Return the best change of the offset of class k, or 0 if no change improves the metric.

    As the offset increases, one document after the other is predicted as class k. The candidates
    are the midpoints between the margins of consecutive documents.
    """
    runner_ups, leads = _lead(judged.scores, k)
    margins = -leads  # with a larger offset, class k is predicted
    order = np.argsort(margins, kind="stable")
    margins = margins[order]
    truth = judged.classes[order]
    weights = judged.weigh(np.ones(len(judged)))[order]
    values = np.append(0.0, metric.gains(runner_ups[order], truth, k, weights))
    stops = np.concatenate(
        ([margins[0] - 1.0], (margins[1:] + margins[:-1]) / 2, [margins[-1] + 1.0])
    )
    is_stop = np.concatenate(([True], margins[1:] > margins[:-1], [True]))
    now = int(np.searchsorted(margins, 0.0))  # documents that are predicted as class k now
    stops[now] = 0.0
    is_stop[now] = True
    best = values[is_stop].max()
    if not best > values[now] + 1e-12:
        return 0.0
    candidates = stops[is_stop & (values >= best - 1e-12)]
    return float(candidates[np.abs(candidates).argmin()])


def _f1_gains(runner_ups: Array, truth: Array, k: int, weights: Array) -> Floats:
    """Return the change of the sum of all F1 scores after each document that changes to class k."""
    support = np.bincount(truth, weights, max(k, int(runner_ups.max())) + 1)
    own = 2 * np.cumsum((truth == k) * weights) / (np.cumsum(weights) + support[k])
    lost = np.empty(len(truth))
    for runner_up in np.unique(runner_ups).tolist():
        # its F1 before and after it loses each of its documents
        held = np.flatnonzero(runner_ups == runner_up)
        times = weights[held][::-1]
        n_left = np.append(0, np.cumsum(times))[::-1]
        n_right = np.append(0, np.cumsum((truth[held] == runner_up)[::-1] * times))[::-1]
        f1 = ratio(2 * n_right, n_left + support[runner_up])
        lost[held] = f1[:-1] - f1[1:]
    return np.asarray(own - np.cumsum(lost))


def _macro_f1(predicted: Array, judged: JudgedDocuments) -> float:
    right = judged.take(predicted == judged.classes).count()
    whole = replace(judged, classes=predicted).count() + judged.count()
    return float((2 * right[whole > 0] / whole[whole > 0]).mean())


STEP_METRICS = {
    "accuracy": StepMetric(
        lambda found, judged: judged.mean(found == judged.classes),
        lambda runner_ups, truth, k, weights: np.cumsum(
            ((truth == k).astype(np.int64) - (truth == runner_ups)) * weights
        ),
    ),
    "macro_f1": StepMetric(_macro_f1, _f1_gains),
}


def adjust_prior(judged: JudgedDocuments, *, is_linear: bool = False) -> Floats | None:
    """Return the offsets that minimize log-loss.

    None if offsets that are fitted to one half of the documents do not decrease the log-loss of the
    other half.
    """
    if len(judged) < 2:
        return None
    deviation = LINEAR_DEVIATION if is_linear else OFFSET_DEVIATION
    middle = len(judged) // 2
    halves = judged.take(slice(middle)), judged.take(slice(middle, None))
    gain = 0.0
    offsets = None
    for half, other in (halves, halves[::-1]):
        offsets = fit_prior_adjustment(half, start=offsets, deviation=deviation)
        gains = other.with_scores(normalized(other.scores + offsets) - other.scores)
        gain += float(other.weigh(gains.own).sum())
    return fit_prior_adjustment(judged, start=offsets, deviation=deviation) if gain > 0 else None


def fit_prior_adjustment(
    judged: JudgedDocuments, *, start: Floats | None = None, deviation: float = OFFSET_DEVIATION
) -> Floats:
    """Return the offsets that minimize log-loss with a prior of this standard deviation.

    start  offsets from which the search starts; None: 0

    The Hessian is diag(Σ_i p_i) − Σ_i p_i p_iᵀ plus the prior's. Conjugate gradients need only its
    product with a vector, so no array of shape (n_classes, n_classes) is allocated.
    """
    n = judged.n_documents
    frequencies = judged.count()
    # NumPy is slow at short rows
    by_class = np.ascontiguousarray(judged.scores.T)
    own = (judged.classes, np.arange(len(judged)))

    def evaluate(offsets: Floats) -> tuple[float, Floats, Floats]:
        probabilities = by_class + offsets[:, None]
        probabilities -= probabilities.max(axis=0)
        log_own = probabilities[own]
        probabilities = exp(probabilities)
        totals = probabilities.sum(axis=0)
        probabilities /= totals
        gains = judged.weigh(log_own - log(totals))
        loss = float(dot(offsets, offsets) / (2 * deviation**2) - gains.sum()) / n
        sums = judged.weigh(probabilities).sum(axis=1)
        gradient = sums - frequencies + offsets / deviation**2
        return loss, gradient / n, probabilities

    def solve(probabilities: Floats, gradient: Floats) -> Floats:
        weighed = judged.weigh(probabilities)
        diagonal = weighed.sum(axis=1) + 1 / deviation**2
        scale = diagonal - np.einsum("ij,ij->i", weighed, probabilities)

        def multiply_hessian(vector: Floats) -> Floats:
            means = np.einsum("i,ij->j", vector, probabilities)
            image: Floats = diagonal * vector - np.einsum("ij,j->i", weighed, means)
            return image

        return solve_by_conjugate_gradients(multiply_hessian, gradient * n, scale=scale)

    start = np.zeros(judged.n_classes) if start is None else start
    offsets, _ = minimize(evaluate, start, solve=solve)
    return np.asarray(offsets - offsets.mean())


class LabelLines(NamedTuple):
    """A line for each label, by which scores become probabilities: softmax(scales · scores +
    offsets).

    offsets, scales  (n_classes,)
    """

    offsets: Floats
    scales: Floats


def need_scales(judged: JudgedDocuments, offsets: Floats | None) -> bool:
    """Return whether the labels need different scales: whether the sum of the score statistics of
    all labels is larger than its expectation if they do not.

    See `fit_label_lines`. The offsets would be fitted again with the scales, so each statistic is
    that of a scale with the offset of its label.

    judged   with centered scores in nats, (n_documents, n_classes); with two labels, it is False
    offsets  (n_classes,), added to the scores; None: 0

    Source: Rao, Large sample tests of statistical hypotheses concerning several parameters, 1948.
    """
    if judged.n_classes == 2:
        return False
    scores = judged.scores
    residuals = exp(normalized(scores if offsets is None else scores + offsets))
    curvatures = judged.weigh((residuals * (1 - residuals)).T)
    residuals[np.arange(len(judged)), judged.classes] -= 1
    slopes = np.einsum("ki,ik->k", judged.weigh(residuals.T), scores)
    crossed = np.einsum("ki,ik->k", curvatures, scores)
    squares = np.einsum("ki,ik,ik->k", curvatures, scores, scores)
    of_offsets = np.einsum("ki->k", curvatures) + 1 / OFFSET_DEVIATION**2
    information = squares - crossed**2 / of_offsets + 1 / SCALE_DEVIATION**2
    return bool((slopes**2 / information).sum() > judged.n_classes)


def fit_label_lines(judged: JudgedDocuments, start: LabelLines) -> LabelLines:
    """Return the offset and the scale of each label that minimize log-loss.

    The prior of an offset is around 0, that of a scale around 1. Newton's method needs products of
    the Hessian and a vector only, as in `fit_prior_adjustment`.

    judged  with scores in nats, whose mean over the labels is 0; of more than two labels: with two,
            an offset and a temperature do the same
    start   from which the search starts

    Source: Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, 2017, section
    4.2 (vector scaling).
    """
    by_class = np.ascontiguousarray(judged.scores.T)
    own = judged.classes, np.arange(len(judged))
    precisions = 1 / np.square([[OFFSET_DEVIATION], [SCALE_DEVIATION]])
    n = judged.n_documents

    def slopes(changes: Floats) -> Floats:
        """Return the sums of changes of all documents by the offsets and the scales."""
        return np.stack((np.einsum("ki->k", changes), np.einsum("ki,ki->k", changes, by_class)))

    def evaluate(at: Floats) -> tuple[float, Floats, Floats]:
        lines = at.reshape(2, -1)
        probabilities = by_class * (1 + lines[1])[:, None] + lines[0][:, None]
        probabilities -= probabilities.max(axis=0)
        log_own = probabilities[own]
        probabilities = exp(probabilities)
        totals = probabilities.sum(axis=0)
        probabilities /= totals
        prior = lines * precisions
        loss = float((lines * prior).sum() / 2 - judged.weigh(log_own - log(totals)).sum())
        residuals = probabilities.copy()
        residuals[own] -= 1
        gradient = slopes(judged.weigh(residuals)) + prior
        return loss / n, gradient.ravel() / n, probabilities

    def solve(probabilities: Floats, gradient: Floats) -> Floats:
        weighed = judged.weigh(probabilities)

        def multiply_hessian(vector: Floats) -> Floats:
            lines = vector.reshape(2, -1)
            changes = by_class * lines[1][:, None] + lines[0][:, None]
            changes -= np.einsum("ki,ki->i", probabilities, changes)
            return np.ravel(slopes(weighed * changes) + lines * precisions)

        curvatures = weighed * (1 - probabilities)
        squares = np.einsum("ki,ki,ki->k", curvatures, by_class, by_class)
        scale = np.stack((np.einsum("ki->k", curvatures), squares)) + precisions
        return solve_by_conjugate_gradients(multiply_hessian, gradient * n, scale=scale.ravel())

    known = np.append(start.offsets, start.scales - 1)
    at, _ = minimize(evaluate, known, solve=solve, tolerance=LINE_TOLERANCE)
    offsets, changes = at.reshape(2, -1)
    return LabelLines(
        offsets - offsets.mean(), np.clip(1 + changes, MIN_LABEL_SCALE, MAX_LABEL_SCALE)
    )


WITHHELD = -1  # in the place of a class, where a target of precision leaves no label
RECALL = "recall"  # the other metric is precision
GROWTH = 1.02  # from one number of predictions to the next that is tested for precision
# By what the error of a target of a stack is divided. The models of its parts and their weights
# differ from fold to fold, so that the scores of documents depend on one another: bounds by them
# fail up to twice as often as those of independent documents (Barber, Candès, Ramdas, Tibshirani,
# Predictive inference with the jackknife+, 2021, theorem 4).
ERRORS_OF_STACKS = 2
MARGIN = 1e-9  # nats by which a document on the threshold exceeds it


@frozen
class Target:
    """A minimum recall or precision of one label.

    metric       `recall` or `precision`
    label        the name of the label, for messages
    number       the class of the label
    minimum      the recall or precision to reach, above 0 and below 1
    confidence   the probability that new documents reach it, above 0 and below 1
    asked        the confidence that the settings name; None: the same
    """

    metric: str
    label: str
    number: int
    minimum: float
    confidence: float
    asked: float | None = None

    @property
    def stated_confidence(self) -> str:
        """The confidence for messages."""
        return f"{self.asked or self.confidence:.4g} confidence"


@frozen
class Goals:
    """What decisions have to achieve on documents that the model has not seen.

    optimize  the metric that decision offsets optimize, or a prior adjustment if it is `log_loss`;
              None: no metric
    targets   the minimum recalls and precisions of labels: the recalls first
    adjusts_prior  whether the calibration has a prior adjustment, regardless of what decisions
                   optimize
    has_scales     whether it comes with scales of the labels and another temperature, as far as
                   they pay
    """

    optimize: str | None = None
    targets: tuple[Target, ...] = ()
    adjusts_prior: bool = False
    has_scales: bool = False


def find_goals(settings: ModelSettings, labels: Sequence[str]) -> Goals:
    """Return the goals of some settings, for a model of these labels.

    Raises
    ------
    SettingsError : the model does not have the label of a target
    """
    targets = []
    confidence = settings.confidence
    if settings.is_linear and settings.linear_model.is_stacked:
        confidence = 1 - (1 - confidence) / ERRORS_OF_STACKS
    for metric, label, minimum in settings.targets:
        require_label(label, labels, f"min_{metric}")
        asked = settings.confidence
        targets.append(Target(metric, label, labels.index(label), minimum, confidence, asked))
    return Goals(settings.optimize, tuple(targets))


def refuse_targets(targets: Sequence[Target]) -> None:
    """Raise SettingsError if targets are set: decision offsets are chosen on left-out documents,
    and there are none.
    """
    for target in targets:
        raise SettingsError(
            "no threshold can be chosen, because no training document can be left out",
            where=f"min_{target.metric}",
            hint="train on more documents of at least two labels",
        )


def fit_targets(
    judged: JudgedDocuments, targets: Sequence[Target]
) -> tuple[Floats | None, Floats | None, tuple[Proportion, ...]]:
    """Return the decision offsets that meet the targets of recall, the minimum probabilities that
    meet those of precision, and what each target's metric is on these documents.

    An offset, and a minimum, is as near to 0 as its target permits, so decisions change no more
    than needed. They are None if the most probable labels meet all targets. With one target, its
    confidence is exact for independent documents. With several targets, one after the other is met,
    and at the end the bounds of all are tested on the joint decisions.

    Raises
    ------
    SettingsError : a target cannot be met
    """
    judged = _take_one_of_each(judged)
    log_posterior = judged.scores
    classes = judged.classes
    offsets = np.zeros(judged.n_classes)
    recalls = [target for target in targets if target.metric == RECALL]
    for _ in range(MAX_OFFSET_ROUNDS):
        before = offsets.copy()
        for target in recalls:
            offsets[target.number] += _find_recall_step(log_posterior + offsets, classes, target)
        if (offsets == before).all():
            break
    predicted = (log_posterior + offsets).argmax(axis=1)
    own = exp(log_posterior[np.arange(len(predicted)), predicted])
    minimums = np.zeros(len(offsets))
    for target in targets:
        if target.metric != RECALL:
            minimums[target.number] = _find_minimum(own, predicted, classes, target)
    predicted = np.where(own < minimums[predicted], WITHHELD, predicted)
    found = tuple(measure_target(predicted, classes, target) for target in targets)
    for target, proportion in zip(targets, found, strict=True):
        if len(targets) > 1 and proportion.lower_bound(target.confidence) < target.minimum:
            what = f"{target.metric} {target.minimum:g} of {target.label} cannot be reached"
            raise SettingsError(
                f"{what} together with the other targets",
                where=f"min_{target.metric}",
                hint=f"together it is {proportion.value:.4f}; lower one of the targets",
            )
    return offsets if offsets.any() else None, minimums if minimums.any() else None, found


def _take_one_of_each(judged: JudgedDocuments) -> JudgedDocuments:
    """Return the first document of each content and class.

    If documents have weights, a content is there once at most: with the label that most of its
    weight has.
    """
    contents = judged.contents
    if contents is None:
        return judged
    pairs = np.stack((contents, judged.classes.astype(contents.dtype)))
    _, rows, numbers = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
    if judged.weights is not None:
        of_pairs = np.bincount(numbers.reshape(-1), judged.weights)
        _, owners = np.unique(contents[rows], return_inverse=True)
        rows = rows[2 * of_pairs > np.bincount(owners, of_pairs)[owners]]
    return judged.take(rows)


def measure_target(predicted: Array, classes: Array, target: Target) -> Proportion:
    """Return the recall or the precision of a target's label."""
    whole = (classes if target.metric == RECALL else predicted) == target.number
    return Proportion(int((whole & (predicted == classes)).sum()), int(whole.sum()))


def _find_recall_step(scores: Floats, classes: Array, target: Target) -> float:
    """Return the smallest increase of a label's offset that meets a recall.

    The margin of a document is the lead of the label over the best other one. The threshold of the
    margin is the k-th smallest of the label's n documents. The share of new documents of the label
    above it has the distribution Beta(n − k + 1, k) for any distribution of the scores. k is the
    largest number for which this share reaches the target with the confidence.

    Source: Tong, Feng and Li, Neyman-Pearson classification algorithms and NP receiver operating
    characteristics, 2018, proposition 1; Wilks, Determination of Sample Sizes for Setting Tolerance
    Limits, 1941.
    """
    _, margins = _lead(scores, target.number)
    margins = np.sort(margins[classes == target.number])
    n = len(margins)
    least = _least_documents(target.minimum, 1 - target.confidence)
    if n < least:
        what = f"recall {target.minimum:g} of {target.label} with {target.stated_confidence}"
        what += f" needs at least {number_of(least, 'document')} of {target.label}; there are {n:,}"
        raise SettingsError(what, where="min_recall", hint="lower the target or the confidence")

    def is_missed(n_errors: int) -> bool:
        return Proportion(n - n_errors, n).lower_bound(target.confidence) < target.minimum

    n_missed = bisect(range(1, n), False, key=is_missed)  # 0 errors assure it, n errors do not
    return max(0.0, MARGIN - float(margins[n_missed]))


def _find_minimum(own: Floats, predicted: Array, classes: Array, target: Target) -> float:
    """Return the least probability of a label that meets a precision; 0 if all its predictions do.

    own  (n_documents,), the probability of the predicted class
    """
    rows = np.flatnonzero(predicted == target.number)
    is_correct = classes[rows] == target.number
    assured = assure_accuracy(own[rows], is_correct, target.minimum, target.confidence)
    if assured.minimum is None:
        raise SettingsError(
            f"precision {target.minimum:g} of {target.label} cannot be assured with "
            f"{target.stated_confidence}: of {number_of(len(rows), 'prediction')} of it, "
            f"{int(is_correct.sum()):,} are correct, so that at most {assured.bound:.4f} can be",
            where="min_precision",
            hint="lower the target or the confidence, or train on more documents",
        )
    return assured.minimum


class Assured(NamedTuple):
    """The least probability from which predictions are right as often as they should be.

    minimum  0 if all predictions are; None: of no probability it can be assured
    bound    the highest lower bound of the share of right predictions that was found
    """

    minimum: float | None
    bound: float


def assure_accuracy(
    probabilities: Floats, is_correct: Array, minimum: float, confidence: float
) -> Assured:
    """Find the least probability from which a share `minimum` of new predictions is right, with
    this confidence.

    The predictions are tested from the most certain ones to all of them. Tests in a fixed order
    control the error of all tests: if one succeeds, its error level passes to the next. Half of the
    level is given to the first test, and half to tests that start again after a failure, so that
    one wrong document among the most certain ones does not end the search.

    Parameters
    ----------
    probabilities, is_correct : (n_predictions,)

    Source: Wiens, A fixed sequence Bonferroni procedure for testing multiple endpoints, 2003;
    Angelopoulos, Bates, Candès, Jordan and Lei, Learn then Test: Calibrating Predictive Algorithms
    to Achieve Risk Control, 2021, section 3.
    """
    order = np.argsort(-probabilities, kind="stable")
    n_correct = np.cumsum(is_correct[order])
    ordered = probabilities[order]
    best = 0.0
    found = 0
    level = 0.0
    share = (1 - confidence) / 2
    next_start = _least_documents(minimum, share)
    for size in sizes_of_test(ordered, next_start):
        if size >= next_start:
            level += share
            share /= 2
            next_start = 2 * size
        if level == 0:
            continue
        bound = Proportion(int(n_correct[size - 1]), size).lower_bound(1 - level)
        best = max(best, bound)
        if bound >= minimum:
            found = size
        else:
            level = 0.0
    if not found:
        return Assured(None, best)
    if found == len(order):
        return Assured(0.0, best)
    middle = float(ordered[found - 1] + ordered[found]) / 2
    return Assured(middle if middle > ordered[found] else float(ordered[found - 1]), best)


def sizes_of_test(margins: Floats, first: int) -> list[int]:
    """Return the numbers of predictions to test, ascending: about 2 % apart, and never between
    equal margins.
    """
    n = len(margins)
    if n < first:
        return []
    # sizes that end where the margin changes
    ends = np.append(np.flatnonzero(margins[1:] < margins[:-1]) + 1, n)
    n_steps = int(math.log(n / first) / math.log(GROWTH)) + 1
    wanted = np.minimum(n, np.ceil(first * exp(log(GROWTH) * np.arange(n_steps + 1))))
    return sorted(set(ends[np.searchsorted(ends, wanted)].tolist()) | {n})


def _lead(scores: Floats, number: int) -> tuple[Array, Floats]:
    """Return the best other class of each document, and the lead of a class over it, shape
    (n_documents,).
    """
    others = scores.copy()
    others[:, number] = -np.inf
    runner_ups = others.argmax(axis=1)
    return runner_ups, scores[:, number] - others[np.arange(len(scores)), runner_ups]


def _least_documents(minimum: float, level: float) -> int:
    """Return how many documents, all of them correct, assure a share with an error of at most
    `level`.
    """
    return math.ceil(math.log(level) / math.log(minimum) - 1e-9)
