"""The figures of an evaluation by a group of the documents, such as their source, and what the
group alone tells about the label.

If the documents of each source have mostly one label, a model may tell sources apart in the place
of labels. Then it ranks the documents of one source no better than chance, and the most frequent
label of the source is right about as often as the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Mask
from nbtext.evaluation.evaluator import Evaluation, Evaluator, Groups, GroupScore, LabelAuroc
from nbtext.evaluation.metrics import compute_metrics
from nbtext.evaluation.outcomes import PredictedBatch, mark_true
from nbtext.features.csr import run_starts

MAX_RANKED = 64  # labels with an AUROC; with more, there is none: each needs 9 bytes a document
# The group alone predicts a label almost as well as the model if it has this share of the model's
# gain over the most frequent label, and gains itself as much.
SHARE_OF_GAIN = 0.75
MIN_GROUP_GAIN = 0.05


class GroupLog:
    """Collects what figures by group need; the documents are those of an evaluator, in order."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._groups: list[str] = []
        self._probabilities: list[tuple[Sequence[str], Floats, Mask]] = []

    def record(self, batch: PredictedBatch) -> None:
        """Remember the groups of a batch, and the probabilities of its documents."""
        found = batch.predictions
        self._groups += [
            group.partition("\0")[0] for group in batch.groups or [""] * len(found)
        ]  # without the place after a time
        if len(found.classes) <= MAX_RANKED:
            self._probabilities.append((found.classes, found.probabilities, mark_true(found)))

    def add_to(self, evaluation: Evaluation, evaluator: Evaluator) -> Evaluation:
        """Return an evaluation with its figures by group."""
        outcomes = evaluator.outcomes()
        names, numbers = np.unique(np.array(self._groups, object), return_inverse=True)
        totals = evaluator.totals_of(outcomes, len(evaluation.labels))
        scores = []
        for number, name in enumerate(names.tolist()):
            found = totals(np.flatnonzero(numbers == number))
            metrics = compute_metrics(found, evaluator.metrics)
            scores.append(GroupScore(name, found.n_documents, metrics))
        scores.sort(key=lambda score: -score.documents)
        accuracy = None
        is_leaking = False
        if evaluator.has_accuracy:
            accuracy = group_accuracy(outcomes.true, numbers, outcomes.weights)
            largest = np.bincount(outcomes.true, outcomes.weights).max() / evaluation.documents
            gain = accuracy - largest
            of_model = evaluation.metrics["accuracy"] - largest
            is_leaking = bool(gain >= max(MIN_GROUP_GAIN, SHARE_OF_GAIN * of_model))
        ranks = []
        known = self._probabilities
        # otherwise, some models have too many labels
        is_ranked = sum(len(shares) for _, shares, _ in known) == len(numbers)
        labels = {label for classes, _, _ in known for label in classes} if is_ranked else ()
        for label in sorted(labels):
            columns = [
                (shares[:, classes.index(label)], is_true[:, classes.index(label)])
                if label in classes
                else (np.zeros(len(shares)), np.zeros(len(shares), np.bool_))
                for classes, shares, is_true in known
            ]
            probabilities, is_label = map(np.concatenate, zip(*columns, strict=True))
            is_read = np.isfinite(probabilities)
            given = probabilities[is_read], is_label[is_read]
            own = None if outcomes.weights is None else outcomes.weights[is_read]
            whole = auroc(*given, np.zeros(int(is_read.sum()), np.int64), own)
            ranks.append(LabelAuroc(label, whole, auroc(*given, numbers[is_read], own)))
        groups = Groups(self._field, tuple(scores), tuple(ranks), accuracy, is_leaking)
        return replace(evaluation, groups=groups)


def group_accuracy(true: Array, groups: Integers, weights: Floats | None = None) -> float:
    """Return how often the most frequent label of the other documents of its group is that of a
    document; of a group of one, that of all documents.

    true, groups  (n_documents,)
    weights       (n_documents,), how often each document counts; None: once. Then the other
                  documents are those of the group without the weight of a mean one.
    """
    times = np.ones(len(true)) if weights is None else weights
    whole = np.bincount(true, times)
    order = np.argsort(groups, kind="stable")
    right = 0.0
    mean = times.mean()
    for rows in np.split(order, run_starts(groups[order])[1:]):
        own = np.bincount(true[rows], times[rows], len(whole))
        for k in np.flatnonzero(own):
            others = own.copy()
            others[k] = max(0, own[k] - mean)
            best = (others if others.any() else whole).argmax()
            right += own[k] * (best == k)
    return right / float(whole.sum())


def auroc(
    scores: Floats, is_label: Mask, groups: Integers, weights: Floats | None = None
) -> float | None:
    """Return the share of pairs of a document with the label and one without it, both of one group,
    in which the first has the higher score; equal scores count one half. None without a pair.

    scores, is_label, groups  (n_documents,)
    weights                   (n_documents,), how often each document counts; None: once
    """
    order = np.lexsort((scores, groups))
    times = 1 if weights is None else weights[order]
    scores = scores[order]
    groups = groups[order]
    has = is_label[order]
    is_first = np.ones(len(scores), np.bool_)
    is_first[1:] = (scores[1:] != scores[:-1]) | (groups[1:] != groups[:-1])
    ties = np.cumsum(is_first) - 1
    n_with = np.bincount(ties, has * times)
    n_without = np.bincount(ties, ~has * times)
    starts = run_starts(groups[is_first])
    below = np.cumsum(n_without) - n_without
    below -= np.repeat(below[starts], np.diff([*starts, len(below)]))
    won = float((n_with * (below + n_without / 2)).sum())
    pairs = float((np.add.reduceat(n_with, starts) * np.add.reduceat(n_without, starts)).sum())
    return won / pairs if pairs else None


def describe_leak(groups: Groups | None, metrics: Mapping[str, Any]) -> list[str]:
    """Say that the group alone predicts the label almost as well as the model; nothing if not."""
    if groups is None or not groups.is_leaking:
        return []
    what = f"the most frequent label of each {groups.field} is right in {groups.accuracy:.4f} of the documents"
    return [
        f"{what}, the model in {metrics['accuracy']:.4f}: it may tell {groups.field} apart, and not labels; see the AUROC within groups"
    ]
