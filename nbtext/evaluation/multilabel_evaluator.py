"""Evaluations of predictions for documents with several labels, batch by batch.

A batch has a dense matrix of probabilities. A few numbers are kept for each label and each pair of labels.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import chain, product

import numpy as np

from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import SettingsError
from nbtext.evaluation.evaluator import BatchEvaluator, Evaluation, LabelPair, ThresholdScore
from nbtext.evaluation.metrics import SetCounts, compute_metrics, ratio
from nbtext.evaluation.multilabel import (
    MULTILABEL_METRICS,
    RANKS,
    Integers,
    MultilabelOutcomes,
    MultilabelTotals,
    sum_outcomes,
)
from nbtext.evaluation.outcomes import LabelNumbers, mark_true, true_sets
from nbtext.evaluation.reliability import N_BINS
from nbtext.model.predictions import Predictions
from nbtext.model.settings import Costs

MAX_CELLS = 1 << 22  # probabilities that are compared at once
MAX_PAIRS = 1 << 20  # of labels that are counted; if there are more, the rarest are dropped
PAIRS_SHOWN = 50

Sets = list[tuple[str, ...]]
PairKey = tuple[str, str, str | None]  # the kind of the error, the wrong label, another label; see LabelPair


def measure_sets(predictions: Predictions, numbers: LabelNumbers) -> MultilabelOutcomes:
    """Compare a batch of predictions with the true labels of its documents, and number all labels.

    A document that could not be read has the probability 0 for every label.

    Raises
    ------
    InputError
        A document has no list of labels.
    """
    true, predicted = true_sets(predictions), predictions.labels
    numbers.add(chain(predictions.classes, chain.from_iterable(true)))
    places = {label: place for place, label in enumerate(predictions.classes)}
    rows = np.repeat(np.arange(len(true)), list(map(len, true)))
    columns = np.array([places.get(label, -1) for label in chain.from_iterable(true)], dtype=np.int64)
    is_known = columns >= 0
    probabilities = np.nan_to_num(predictions.probabilities, nan=0.0)
    own = [set(labels) for labels in true]
    hits = np.zeros((len(true), len(RANKS)), dtype=np.int64)
    for row, best in enumerate(predictions.most_probable(RANKS[-1])):
        is_hit = [predictions.classes[k] in own[row] for k in best]
        hits[row] = [sum(is_hit[:k]) for k in RANKS]
    n_true = np.array(list(map(len, true)), dtype=np.int64)
    ranking = _ranking_precision(probabilities, rows[is_known], columns[is_known]) / np.maximum(n_true, 1)
    return MultilabelOutcomes(
        n_true=n_true,
        n_predicted=np.array(list(map(len, predicted)), dtype=np.int64),
        n_correct=np.array(
            [len(own[row].intersection(labels)) for row, labels in enumerate(predicted)], dtype=np.int64
        ),
        n_unknown=np.bincount(rows[~is_known], minlength=len(true)),
        hits=hits,
        ranking=ranking,
    )


def _ranking_precision(probabilities: Floats, rows: Integers, columns: Integers) -> Floats:
    """Return for each document the sum, over its labels, of the precision at the label's rank.

    This is the share of true labels among the labels that are at least as probable.

    Parameters
    ----------
    probabilities : array of float64
        Shape (n_documents, n_classes).
    rows, columns : arrays of int64
        Shape (n_pairs,): the documents, ascending, and their labels.
    """
    n_documents, n_classes = probabilities.shape
    own = probabilities[rows, columns]
    ranks = np.zeros(len(rows), dtype=np.int64)
    step = max(1, MAX_CELLS // max(1, n_classes))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        ranks[part] = (probabilities[rows[part]] >= own[part, None]).sum(axis=1)
    order = np.lexsort((-own, rows))
    starts = np.searchsorted(rows, np.arange(n_documents))
    is_last = np.append((np.diff(own[order]) != 0) | (np.diff(rows[order]) != 0), True)[: len(order)]
    ends = np.flatnonzero(is_last)
    last = ends[np.searchsorted(ends, np.arange(len(order)))]  # the last pair that is as probable
    n_own = last + 1 - starts[rows[order]]
    return np.asarray(np.bincount(rows[order], n_own / ranks[order], n_documents), dtype=np.float64)


def list_pairs(true: tuple[str, ...], predicted: tuple[str, ...]) -> list[PairKey]:
    """Return each wrong label of a document with its other labels; see LabelPair. There is none without an error."""
    if len(true) == len(predicted) and set(true) == set(predicted):
        return []
    added = (label for label in predicted if label not in true)
    missed = (label for label in true if label not in predicted)
    pairs = chain(product(("added",), added, true or (None,)), product(("missed",), missed, predicted or (None,)))
    return list(pairs)


class MultilabelEvaluator(BatchEvaluator):
    """Compares the label set of each document with the true one."""

    def __init__(
        self, costs: Costs | None = None, *, with_likelihoods: bool = False, targets: ModelSettings | None = None
    ) -> None:
        if with_likelihoods:
            what = "needs a model that gives the likelihood of documents, and a multi-label model does not"
            raise SettingsError(what, where="--foreign", hint="leave out --foreign")
        super().__init__()
        self._parts: list[MultilabelTotals] = []
        self._n_unknown = self._n_unanswered = 0
        self._counts = np.zeros((3, 0), dtype=np.int64)  # true, predicted and correct, by label number
        self._bins = np.zeros((3, 0, N_BINS))  # documents, those with the label, sum of probabilities
        self._pairs: Counter[PairKey] = Counter()
        self._thresholds: dict[str, float] = {}

    def _add(self, predictions: Predictions, true: Sets) -> None:
        outcomes = measure_sets(predictions, self._numbers)
        known = outcomes if not outcomes.n_unknown.any() else replace(outcomes, n_unknown=outcomes.n_unknown * 0)
        self._parts.append(sum_outcomes(known, 0))
        self._n_unknown += int(outcomes.n_unknown.sum())
        self._n_unanswered += int((outcomes.n_predicted == 0).sum())
        self._count_labels(predictions, true)
        self._count_pairs(true, predictions.labels)
        if predictions.thresholds is not None:
            self._thresholds |= dict(zip(predictions.classes, predictions.thresholds.tolist(), strict=True))

    def _count_labels(self, predictions: Predictions, true: Sets) -> None:
        predicted = predictions.labels
        classes = self._numbers.add(predictions.classes)
        numbers = [self._numbers.add(chain.from_iterable(sets)) for sets in (true, predicted)]
        correct = [set(own).intersection(labels) for own, labels in zip(true, predicted, strict=True)]
        numbers.append(self._numbers.add(chain.from_iterable(correct)))
        n_labels = len(self._numbers)
        n_new = n_labels - self._counts.shape[1]
        self._counts = np.pad(self._counts, ((0, 0), (0, n_new)))
        self._bins = np.pad(self._bins, ((0, 0), (0, n_new), (0, 0)))
        self._counts += [np.bincount(each, minlength=n_labels) for each in numbers]
        is_read = predictions.is_read if len(classes) else np.zeros(len(true), dtype=np.bool_)
        probabilities, is_true = predictions.probabilities[is_read], mark_true(predictions)[is_read]
        bins = np.minimum((probabilities * N_BINS).astype(np.int64), N_BINS - 1)
        cells = (bins + np.arange(len(classes)) * N_BINS).ravel()
        for total, weights in zip(self._bins, (None, is_true.ravel(), probabilities.ravel()), strict=True):
            total[classes] += np.bincount(cells, weights, len(classes) * N_BINS).reshape(len(classes), N_BINS)

    def _count_pairs(self, true: Sets, predicted: Sets) -> None:
        for own, labels in zip(true, predicted, strict=True):
            self._pairs.update(list_pairs(own, labels))
        if len(self._pairs) > MAX_PAIRS:
            self._pairs = Counter(dict(self._pairs.most_common(MAX_PAIRS // 2)))

    def _evaluate(self, sets: SetCounts | None) -> Evaluation:
        labels = self._numbers.sorted()
        order = np.argsort(self._numbers.positions(labels))
        support, n_predicted, n_correct = self._counts[:, order].astype(np.float64)
        f1 = ratio(2 * n_correct, n_predicted + support)
        totals = self._totals(f1, support, sets)
        columns = (ratio(n_correct, n_predicted), ratio(n_correct, support), f1, support.astype(np.int64))
        found = (self._thresholds.get(label, math.nan) for label in labels)
        thresholds = [None if math.isnan(threshold) else threshold for threshold in found]
        rows = zip(labels, *(column.tolist() for column in columns), thresholds, strict=True)
        common = sorted(self._pairs.items(), key=lambda pair: (-pair[1], pair[0][:2], pair[0][2] or ""))[:PAIRS_SHOWN]
        return Evaluation(
            documents=totals.n_documents,
            unlabeled=totals.n_documents - totals.n_labeled,
            unanswered=self._n_unanswered,
            metrics=compute_metrics(totals, MULTILABEL_METRICS),
            labels=labels,
            per_label=tuple(ThresholdScore(*row) for row in rows),
            label_pairs=tuple(LabelPair(*pair, count) for pair, count in common),
        )

    def _totals(self, f1: Floats, support: Floats, sets: SetCounts | None) -> MultilabelTotals:
        documents, correct, total = self._bins
        gaps = np.abs(correct - total).sum(axis=1)
        n_measured = documents.sum(axis=1)
        is_measured = n_measured > 0
        parts, n_labels = self._parts, len(support)
        return MultilabelTotals(
            n_labels,
            sum(part.n_documents for part in parts),
            sum(part.n_labeled for part in parts),
            sum(part.n_true for part in parts),
            sum(part.n_predicted for part in parts),
            sum(part.n_correct for part in parts),
            sum(part.n_exact for part in parts),
            sum(part.example_f1 for part in parts),
            np.sum([part.precision for part in parts], axis=0),
            sum(part.ranking for part in parts) + self._n_unknown / n_labels,
            f1,
            support,
            float((gaps[is_measured] / n_measured[is_measured]).mean()) if is_measured.any() else None,
            sets,
        )
