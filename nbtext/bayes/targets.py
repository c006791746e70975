"""Targets of recall and precision: decision offsets that meet them on new documents with a stated confidence.

A decision offset is added to the log-probability of a label. With two labels that is a threshold of the probability.
Every offset here is chosen on scores of documents that the model has not seen, by bounds that hold for any number of
documents and any distribution of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.diagnostics import Proportion
from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import SettingsError, named, number_of, suggest
from nbtext.records import dataclass

RECALL = "recall"  # the other metric is precision
ROUNDS = 5  # maximum passes over all targets: the offset of one label changes the metrics of the others
GROWTH = 1.02  # from one number of predictions to the next that is tested for precision
MARGIN = 1e-9  # nats by which a document on the threshold exceeds it


@dataclass(frozen=True, slots=True)
class Target:
    """A minimum recall or precision of one label.

    metric       `recall` or `precision`
    label        the name of the label, for messages
    number       the class of the label
    minimum      the recall or precision to reach, above 0 and below 1
    confidence   the probability that new documents reach it, above 0 and below 1
    """

    metric: str
    label: str
    number: int
    minimum: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Goals:
    """What decisions have to achieve on documents that the model has not seen.

    optimize  the metric that decision offsets optimize, or a prior adjustment if it is `log_loss`; None: no metric
    targets   the minimum recalls and precisions of labels: the recalls first
    adjusts_prior  whether the calibration has a prior adjustment, regardless of what decisions optimize
    """

    optimize: str | None = None
    targets: tuple[Target, ...] = ()
    adjusts_prior: bool = False


def find_goals(settings: ModelSettings, labels: Sequence[str]) -> Goals:
    """Return the goals of some settings, for a model of these labels.

    Raises
    ------
    SettingsError : the model does not have the label of a target
    """
    targets = []
    for metric, label, minimum in settings.targets:
        if label not in labels:
            raise SettingsError(f"there is no label {named(label)}", where=f"min_{metric}", hint=suggest(label, labels))
        targets.append(Target(metric, label, labels.index(label), minimum, settings.confidence))
    return Goals(settings.optimize, tuple(targets))


def refuse_targets(targets: Sequence[Target]) -> None:
    """Raise SettingsError if targets are set: decision offsets are chosen on left-out documents, and there are none."""
    for target in targets:
        hint = "train on more documents of at least two labels"
        raise SettingsError(
            "no threshold can be chosen, because no training document can be left out",
            where=f"min_{target.metric}",
            hint=hint,
        )


def fit_targets(
    log_posterior: Floats, classes: NDArray[Any], targets: Sequence[Target], missed: NDArray[Any] | None = None
) -> tuple[Floats | None, tuple[Proportion, ...]]:
    """Return the decision offsets that meet all targets, and what each target's metric is on these documents.

    An offset is as near to 0 as its target permits, so decisions change no more than needed. The offsets are None if
    the most probable labels meet all targets. With one target, its confidence is exact for independent documents. With
    several targets, one after the other is met, and at the end the bounds of all are tested on the joint decisions.

    Parameters
    ----------
    log_posterior : (n_documents, n_classes), left out or held out
    classes : (n_documents,), the true class of each
    missed : (n_classes,), more documents of each class, which get no label; None: none

    Raises
    ------
    SettingsError : a target cannot be met
    """
    missed = np.zeros(log_posterior.shape[1], dtype=np.int64) if missed is None else missed
    offsets = np.zeros(log_posterior.shape[1])
    for _ in range(ROUNDS):
        before = offsets.copy()
        for target in targets:
            scores = log_posterior + offsets
            offsets[target.number] += (
                _find_recall_step(scores, classes, target, int(missed[target.number]))
                if target.metric == RECALL
                else _find_precision_step(scores, classes, target)
            )
        if (offsets == before).all():
            break
    predicted = (log_posterior + offsets).argmax(axis=1)
    found = tuple(measure(predicted, classes, target, int(missed[target.number])) for target in targets)
    for target, proportion in zip(targets, found, strict=True):
        if len(targets) > 1 and proportion.lower_bound(target.confidence) < target.minimum:
            what = f"{target.metric} {target.minimum:g} of {named(target.label)} cannot be reached"
            raise SettingsError(
                f"{what} together with the other targets",
                where=f"min_{target.metric}",
                hint=f"together it is {proportion.value:.4f}; lower one of the targets",
            )
    return offsets if offsets.any() else None, found


def measure(predicted: NDArray[Any], classes: NDArray[Any], target: Target, n_missed: int = 0) -> Proportion:
    """Return the recall or the precision of a target's label, of which `n_missed` more documents get no label."""
    whole = (classes if target.metric == RECALL else predicted) == target.number
    n_missed = n_missed if target.metric == RECALL else 0
    return Proportion(int((whole & (predicted == classes)).sum()), int(whole.sum()) + n_missed)


def _find_recall_step(scores: Floats, classes: NDArray[Any], target: Target, n_unanswered: int) -> float:
    """Return the smallest increase of a label's offset that meets a recall.

    `n_unanswered` more documents of the label get no label, whatever the offset is.

    The margin of a document is the lead of the label over the best other one. The threshold of the margin is the k-th
    smallest of the label's n documents. The share of new documents of the label above it has the distribution
    Beta(n − k + 1, k) for any distribution of the scores. k is the largest number for which this share reaches the
    target with the confidence.

    Source: Tong, Feng and Li, Neyman-Pearson classification algorithms and NP receiver operating characteristics, 2018,
    proposition 1; Wilks, Determination of Sample Sizes for Setting Tolerance Limits, 1941.
    """
    margins = np.sort(_margins(scores, target.number)[classes == target.number])
    margins = np.append(np.full(n_unanswered, -np.inf), margins)
    n, label = len(margins), named(target.label)
    n_missed = _max_errors(n, target)
    if n_missed < 0:
        raise SettingsError(
            f"recall {target.minimum:g} of {label} with {target.confidence:.4g} confidence needs at least "
            f"{number_of(_least_documents(target), 'document')} of {label}; there are {n:,}",
            where="min_recall",
            hint=f"{n:,} documents can assure at most {Proportion(n, n).lower_bound(target.confidence):.4f}; "
            "lower the target or the confidence",
        )
    if n_missed < n_unanswered:
        raise SettingsError(
            f"recall {target.minimum:g} of {label} with {target.confidence:.4g} confidence cannot be assured: "
            f"{n_unanswered:,} of {number_of(n, 'document')} get no label, because no other document has their words",
            where="min_recall",
            hint=f"{n_missed:,} of them may be missed; lower the target or the confidence, or leave out empty texts",
        )
    return max(0.0, MARGIN - float(margins[n_missed]))


def _find_precision_step(scores: Floats, classes: NDArray[Any], target: Target) -> float:
    """Return the smallest decrease (negative) of a label's offset that meets a precision.

    The predictions of the label are tested from the most certain ones to all of them. Tests in a fixed order control
    the error of all tests: if one succeeds, its error level passes to the next. Half of the level is given to the first
    test, and half to tests that start again after a failure, so that one wrong document among the most certain ones
    does not end the search.

    Source: Wiens, A fixed sequence Bonferroni procedure for testing multiple endpoints, 2003; Angelopoulos, Bates,
    Candès, Jordan and Lei, Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control, 2021, section 3.
    """
    margins = _margins(scores, target.number)
    predicted = np.flatnonzero(margins >= 0)
    order = predicted[np.argsort(-margins[predicted], kind="stable")]
    n_correct = np.cumsum(classes[order] == target.number)
    margins, best, found, level, share = margins[order], 0.0, 0, 0.0, (1 - target.confidence) / 2
    next_start = _least_documents(target, share)
    for size in _test_sizes(margins, next_start):
        if size >= next_start:
            level, share, next_start = level + share, share / 2, 2 * size
        if level == 0:
            continue
        bound = Proportion(int(n_correct[size - 1]), size).lower_bound(1 - level)
        best = max(best, bound)
        found, level = (size, level) if bound >= target.minimum else (found, 0.0)
    if not found:
        first = _least_documents(target, (1 - target.confidence) / 2)
        what = f"it needs at least {first:,} predictions of {named(target.label)}, and there are {len(order):,}"
        if len(order) >= first:
            n = len(order)
            what = f"{n_correct[-1]:,} of {n:,} predictions are correct, and at most {best:.4f} can be assured"
        raise SettingsError(
            f"precision {target.minimum:g} of {named(target.label)} cannot be assured "
            f"with {target.confidence:.4g} confidence: {what}",
            where="min_precision",
            hint="lower the target or the confidence, or train on more documents",
        )
    return 0.0 if found == len(order) else -float(margins[found - 1] + margins[found]) / 2


def _test_sizes(margins: Floats, first: int) -> list[int]:
    """Return the numbers of predictions to test, ascending: about 2 % apart, and never between equal margins."""
    n = len(margins)
    if n < first:
        return []
    ends = np.append(np.flatnonzero(margins[1:] < margins[:-1]) + 1, n)  # sizes that end where the margin changes
    n_steps = int(math.log(n / first) / math.log(GROWTH)) + 1
    wanted = np.minimum(n, np.ceil(first * GROWTH ** np.arange(n_steps + 1)))
    return sorted(set(ends[np.searchsorted(ends, wanted)].tolist()) | {n})


def _margins(scores: Floats, number: int) -> Floats:
    """Return the score of a class minus the highest score of the other classes, shape (n_documents,)."""
    others = scores.copy()
    others[:, number] = -np.inf
    return np.asarray(scores[:, number] - others.max(axis=1))


def _least_documents(target: Target, level: float | None = None) -> int:
    """Return how many documents, all of them correct, assure a target with an error of at most `level`."""
    level = 1 - target.confidence if level is None else level
    return math.ceil(math.log(level) / math.log(target.minimum) - 1e-9)


def _max_errors(n: int, target: Target) -> int:
    """Return the largest number of errors among n documents that assures a target; -1 if 0 is too many."""
    if n < _least_documents(target):
        return -1
    low, high = 0, n  # 0 errors assure it, n errors do not
    while high - low > 1:
        middle = (low + high) // 2
        is_assured = Proportion(n - middle, n).lower_bound(target.confidence) >= target.minimum
        low, high = (middle, high) if is_assured else (low, middle)
    return low
