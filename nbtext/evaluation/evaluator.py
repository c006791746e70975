"""Evaluations: all metrics of predictions for labeled documents, batch by batch; and thresholds of
`--fail-under`.

A batch has a dense matrix of probabilities. A few numbers are kept for each document, each label,
and each pair of labels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product, zip_longest
from typing import Any

import numpy as np

from nbtext.arrays import Integers
from nbtext.bayes.decision_offsets import assure_accuracy
from nbtext.bayes.diagnostics import Interval, Proportion, score_interval
from nbtext.bayes.settings import CONFIDENCE, ModelSettings
from nbtext.errors import BelowThreshold, InputError, SettingsError, suggest
from nbtext.evaluation.bootstrap import by_text
from nbtext.evaluation.curves import N_BINS, ReliabilityBin, list_bins, sum_bins
from nbtext.evaluation.metrics import (
    ALL_METRICS,
    LABEL_METRICS,
    METRICS,
    MULTILABEL_METRICS,
    Metric,
    MetricTotals,
    SetCounts,
    compute_metrics,
    mean_f1,
    sum_outcomes,
    totals_of,
)
from nbtext.evaluation.outcomes import (
    UNANSWERED,
    LabelNumbers,
    MultilabelOutcomes,
    Outcomes,
    as_counts,
    join_outcomes,
    mark_true,
    measure_outcomes,
    measure_sets,
    true_sets,
)
from nbtext.model.fitted_model import TargetDecision
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE
from nbtext.model.settings import DecisionSettings
from nbtext.numerics import ratio
from nbtext.records import Strings, frozen
from nbtext.settings import join_list, split_list

MAX_CONFUSED = 2048  # labels of a confusion matrix; with more, there is none
MAX_COUNTED_PAIRS = 1 << 20  # of labels that are counted; if there are more, the rarest are dropped
PAIRS_SHOWN = 50
DECIMALS = 6  # of a minimum probability

# the kind of the error, the wrong label, another label; see LabelPair
PairKey = tuple[str, str, str | None]


@frozen
class LabelScore:
    """Precision, recall and F1 of one label, and the number of documents that have it (the sum of
    their weights, as every number of documents here).
    """

    label: str
    precision: float
    recall: float
    f1: float
    support: float


@frozen
class ThresholdScore(LabelScore):
    """The scores of one of several labels, and the probability from which it is predicted; None: it
    is not known.
    """

    threshold: float | None


@frozen
class LabelPair:
    """Documents with an error of a label, and another label of these documents.

    Parameters
    ----------
    kind : {"added", "missed"}
        Whether `label` is predicted and not true, or true and not predicted.
    other : str or None
        For an added label, a true label of the documents; for a missed one, a predicted label.
        None: there is none.
    """

    kind: str
    label: str
    other: str | None
    documents: float


@frozen
class TargetCheck:
    """The result of a target of the model (`min_recall`, `min_precision`) on the evaluated
    documents.

    metric     `recall` or `precision`
    target     the value to reach
    value      the value that is measured
    low, high  its Clopper-Pearson interval, with the confidence of the target
    result     `met` or `missed` if all of the interval is; otherwise `undecided`
    min_probability, offset  how the model meets it, see TargetDecision; None of models of
               cross-validation
    """

    metric: str
    label: str
    target: float
    value: float
    low: float
    high: float
    result: str
    min_probability: float | None = None
    offset: float | None = None


@frozen
class TargetAccuracy:
    """The least probability from which a share of the labels is right.

    target           the share
    confidence       the probability that new documents reach it
    min_probability  None: it cannot be assured
    highest          the highest share that can be assured, of any probability
    answered         share of the documents whose label has this probability
    accuracy         share of these labels that are right
    """

    target: float
    confidence: float
    min_probability: float | None
    highest: float
    answered: float
    accuracy: float


@frozen
class GroupScore:
    """The metrics of the documents of a group, by name."""

    group: str
    documents: float
    metrics: Mapping[str, float]


@frozen
class LabelAuroc:
    """The area under the ROC curve of a label, among all documents, and of pairs of documents of
    one group only; None without a pair.
    """

    label: str
    auroc: float | None
    auroc_within_groups: float | None


@frozen
class Groups:
    """An evaluation by the groups of a field.

    per_group   the largest first
    per_label   empty if there are too many labels
    accuracy    of the most frequent label of the other documents of the group; None: a document can
                have several labels
    is_leaking  whether that is almost as good as the model
    """

    field: str
    per_group: tuple[GroupScore, ...]
    per_label: tuple[LabelAuroc, ...]
    accuracy: float | None
    is_leaking: bool


@frozen
class Evaluation:
    """The metrics of predictions for labeled documents.

    If each document has one label, one without a predicted label is incorrect, and in no column of
    the confusion matrix. Its probabilities count in log-loss, Brier score and calibration error
    like those of all others: all metrics but accuracy among answered are computed on the same
    documents, those of probabilities only where the model knows the true label.

    unanswered         Number of documents without a predicted label.
    metrics            Those that were measured, by name.
    labels             The labels of the model and of the documents, sorted.
    confusion_matrix   Rows are true labels, columns predicted ones; None if there are more than
                       2,048 labels, or a document can have several.
    reliability        Bins that have a document; None: a document can have several labels.
    unlabeled          Number of documents without a true label; None: each has one.
    unknown_label      Number of documents with a true label that the model does not know, which
                       metrics of probabilities leave out; None: there are none.
    label_pairs        The most frequent pairs of a wrong label and another one; None: a document
                       has one label.
    targets            The targets of the model; None: it has none, or they do not apply to these
                       predictions.
    duplicates         Number of documents of a cross-validation that repeat another one, and are
                       in its fold; None: there are none, or a field says which documents are in
                       one fold.
    target_accuracy    The minimum probability for an accuracy that was asked for; None: none was.
    groups             The figures by a field of the documents; None: none was named.
    accuracy_interval  The 95 % interval of the accuracy; a text is one observation, whatever its
                       weight is. None: a document can have several labels.
    """

    documents: float
    unanswered: float
    metrics: Mapping[str, float]
    labels: Strings
    per_label: tuple[LabelScore, ...]
    confusion_matrix: tuple[tuple[float, ...], ...] | None = None
    reliability: tuple[ReliabilityBin, ...] | None = None
    unlabeled: float | None = None
    unknown_label: float | None = None
    label_pairs: tuple[LabelPair, ...] | None = None
    targets: tuple[TargetCheck, ...] | None = None
    duplicates: int | None = None
    target_accuracy: TargetAccuracy | None = None
    trained_on: int | None = None
    groups: Groups | None = None
    accuracy_interval: Interval = None


def without_probabilities(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation of predictions that are labels alone: without what is computed from
    probabilities.
    """
    metrics = _without_probabilities(evaluation.metrics)
    if (groups := evaluation.groups) is not None:
        scores = (
            replace(each, metrics=_without_probabilities(each.metrics)) for each in groups.per_group
        )
        groups = replace(groups, per_group=tuple(scores), per_label=())
    return replace(evaluation, metrics=metrics, groups=groups, reliability=None, unknown_label=None)


def find_min_probability(outcomes: Outcomes, target: float) -> TargetAccuracy:
    """Find the least probability from which a share of the labels is right, also on new documents.

    It is rounded up, so that it can be typed.
    """
    is_answered = outcomes.predicted != UNANSWERED
    best = outcomes.best[is_answered]
    is_right = outcomes.is_correct[is_answered]
    assured = assure_accuracy(best, is_right, target, CONFIDENCE)
    if assured.minimum is None:
        return TargetAccuracy(target, CONFIDENCE, None, assured.bound, 0.0, 0.0)
    minimum = math.ceil(assured.minimum * 10**DECIMALS) / 10**DECIMALS
    kept = best >= minimum
    found = Proportion(int(is_right[kept].sum()), int(kept.sum()))
    answered = found.documents / len(outcomes)
    return TargetAccuracy(target, CONFIDENCE, minimum, assured.bound, answered, found.value)


def _without_probabilities(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not ALL_METRICS[name].of_probability}


class Evaluator:
    """Compares the label of each document with the true one, batch by batch; a subclass compares
    sets of labels.

    About 45 bytes are kept for each document: its outcome. All metrics are computed from these.

    Attributes
    ----------
    metrics
        The registry of its metrics.
    main : str
        The name of the metric that stands for all.
    has_accuracy : bool
        Whether each document has one true label, and one that is predicted.
    totals_of
        Returns the function that computes the totals of any of the documents of outcomes.

    Parameters
    ----------
    decisions : DecisionSettings
        Those of the predictions: the costs, and the threshold that was applied.
    targets : ModelSettings, optional
        The settings whose targets are checked.
    made : sequence of TargetDecision
        How the model meets each of them, if it is one model.
    """

    metrics: Mapping[str, Metric[Any]] = METRICS
    main = "accuracy"
    has_accuracy = True
    totals_of: Callable[..., Callable[[Integers], Any]] = staticmethod(totals_of)

    def __init__(
        self,
        decisions: DecisionSettings = MOST_PROBABLE,
        targets: ModelSettings | None = None,
        made: Sequence[TargetDecision] = (),
    ) -> None:
        self._decisions = decisions
        self._targets = targets
        self._made = made
        self._numbers = LabelNumbers()
        self._parts = list[Any]()
        self._sets = np.zeros(4)

    @property
    def labels(self) -> Strings:
        """All labels of the models and of the documents, sorted."""
        return self._numbers.sorted()

    def add(self, predictions: Predictions) -> Any:
        """Add predictions for documents whose labels are known, and return their outcomes."""
        outcomes = self._measure(predictions)
        self._parts.append(outcomes)
        if predictions.label_sets is not None:
            numbers = [
                (1, len(set(own).intersection(labels)), len(own), len(labels))
                for own, labels in zip(true_sets(predictions), predictions.label_sets, strict=True)
            ]
            weights = outcomes.weights_of()
            self._sets += (np.reshape(numbers, (-1, 4)).T * weights).sum(axis=1)
        return outcomes

    def outcomes(self, labels: Strings | None = None) -> Any:
        """Return the outcomes of all documents, InputError if there are none; the positions of
        labels are those in `labels`, by default all labels.
        """
        if not any(map(len, self._parts)):
            raise InputError("SOURCE has no documents to evaluate on")
        return join_outcomes(self._parts, self._numbers, labels or self.labels)

    def evaluation(self) -> Evaluation:
        """Compute the metrics; InputError if no document was added."""
        outcomes = self.outcomes()
        labels = self.labels
        totals = totals_of(outcomes, len(labels))(np.arange(len(outcomes)))
        counts = as_counts(totals.counts)
        costs = self._decisions.cost
        cost = None
        if costs is not None:
            cost = sum(n * costs.of(*cell) for cell, n in totals.cells(labels).items())
        totals = replace(totals, sets=self._set_counts(), cost=cost)
        columns = (totals.precision, totals.recall, totals.f1, as_counts(totals.support))
        matrix = None
        if len(labels) <= MAX_CONFUSED:
            square = np.zeros((len(labels), len(labels) + 1), counts.dtype)
            square[totals.true, totals.predicted] = counts  # last column: no predicted label
            matrix = tuple(map(tuple, square[:, :-1].tolist()))
        metrics = compute_metrics(totals, METRICS)
        return Evaluation(
            documents=totals.n_documents,
            unanswered=totals.n_documents - totals.n_answered,
            unknown_label=(totals.n_documents - totals.n_known) or None,
            metrics=metrics,
            labels=labels,
            per_label=tuple(
                LabelScore(*row) for row in zip(labels, *(c.tolist() for c in columns), strict=True)
            ),
            confusion_matrix=matrix,
            reliability=list_bins(totals.bins),
            targets=self._check_targets(totals, labels),
            accuracy_interval=score_interval(metrics["accuracy"], by_text(outcomes, len)[1]),
        )

    def _measure(self, predictions: Predictions) -> Any:
        minimum = self._decisions.min_probability or 0.0
        return measure_outcomes(predictions, self._numbers, min_probability=minimum)

    def _set_counts(self) -> SetCounts | None:
        return SetCounts(*as_counts(self._sets).tolist()) if self._sets[0] else None

    def _check_targets(
        self, totals: MetricTotals, labels: Strings
    ) -> tuple[TargetCheck, ...] | None:
        # intervals of a proportion need documents that count once
        if self._targets is None or not self._targets.targets or totals.counts.dtype.kind == "f":
            return None
        checks = []
        for (metric, label, minimum), own in zip_longest(self._targets.targets, self._made):
            whole = totals.support if metric == "recall" else totals.n_predicted
            found = Proportion(0, 0)
            if label in labels:
                k = labels.index(label)
                found = Proportion(int(totals.true_positives[k]), int(whole[k]))
            low, high = found.interval(self._targets.confidence) if found.documents else (0.0, 1.0)
            result = "met" if low >= minimum else "missed" if high < minimum else "undecided"
            check = TargetCheck(metric, label, minimum, found.value, low, high, result)
            if own is not None:
                check = replace(check, min_probability=own.min_probability, offset=own.offset)
            checks.append(check)
        return tuple(checks)


def list_pairs(true: Strings, predicted: Strings) -> list[PairKey]:
    """Return each wrong label of a document with its other labels; see LabelPair. There is none
    without an error.
    """
    if len(true) == len(predicted) and set(true) == set(predicted):
        return []
    added = (label for label in predicted if label not in true)
    missed = (label for label in true if label not in predicted)
    pairs = chain(
        product(("added",), added, true or (None,)),
        product(("missed",), missed, predicted or (None,)),
    )
    return list(pairs)


class MultilabelEvaluator(Evaluator):
    """Compares the label set of each document with the true one."""

    metrics = MULTILABEL_METRICS
    main = "micro_f1"
    has_accuracy = False
    totals_of = staticmethod(partial(partial, sum_outcomes))

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        # documents by label that have it, get it, or both
        self._counts = [defaultdict[str, float](float) for _ in range(3)]
        # by label; see `sum_bins`
        self.bins = np.zeros((3, 0, N_BINS))
        self._pairs: defaultdict[PairKey, float] = defaultdict(float)
        self._thresholds: dict[str, float] = {}

    def _measure(self, predictions: Predictions) -> MultilabelOutcomes:
        outcomes = measure_sets(predictions, self._numbers)
        true = true_sets(predictions)
        predicted = predictions.labels
        times = np.ones(len(true)) * outcomes.weights_of()
        for own, labels, weight in zip(true, predicted, times.tolist(), strict=True):
            for pair in list_pairs(own, labels):
                self._pairs[pair] += weight
            for counts, names in zip(
                self._counts, (own, labels, set(own).intersection(labels)), strict=True
            ):
                for label in names:
                    counts[label] += weight
        if len(self._pairs) > MAX_COUNTED_PAIRS:
            common = sorted(self._pairs.items(), key=lambda pair: -pair[1])
            self._pairs = defaultdict(float, common[: MAX_COUNTED_PAIRS // 2])
        if predictions.thresholds is not None:
            thresholds = zip(predictions.classes, predictions.thresholds.tolist(), strict=True)
            self._thresholds |= {label: each for label, each in thresholds if not math.isnan(each)}
        classes = self._numbers.add(predictions.classes)
        n_new = len(self._numbers) - self.bins.shape[1]
        self.bins = np.pad(self.bins, ((0, 0), (0, n_new), (0, 0)))
        is_measured = predictions.is_read & outcomes.is_known
        self.bins[:, classes] += sum_bins(
            predictions.probabilities[is_measured],
            mark_true(predictions)[is_measured],
            times[is_measured],
        )
        return outcomes

    def evaluation(self) -> Evaluation:
        """See Evaluator."""
        labels = self.labels
        support, n_predicted, n_correct = (
            np.array([counts[label] for label in labels]) for counts in self._counts
        )
        f1 = ratio(2 * n_correct, n_predicted + support)
        documents, correct, total = self.bins
        n_measured = documents.sum(axis=1)
        is_measured = n_measured > 0
        gaps = np.abs(correct - total).sum(axis=1)[is_measured] / n_measured[is_measured]
        totals = sum_outcomes(self.outcomes(), len(labels))._replace(
            macro_f1=mean_f1(f1, n_predicted + support),
            calibration=float(gaps.mean()) if len(gaps) else None,
            sets=self._set_counts(),
        )
        columns = (
            ratio(n_correct, n_predicted),
            ratio(n_correct, support),
            f1,
            as_counts(support),
        )
        thresholds = map(self._thresholds.get, labels)
        rows = zip(labels, *(column.tolist() for column in columns), thresholds, strict=True)
        common = sorted(
            self._pairs.items(), key=lambda pair: (-pair[1], pair[0][:2], pair[0][2] or "")
        )[:PAIRS_SHOWN]
        return Evaluation(
            documents=totals.n_documents,
            unlabeled=totals.n_documents - totals.n_labeled,
            unknown_label=(totals.n_documents - totals.n_known) or None,
            unanswered=totals.n_documents - totals.n_answered,
            metrics=compute_metrics(totals, MULTILABEL_METRICS),
            labels=labels,
            per_label=tuple(ThresholdScore(*row) for row in rows),
            label_pairs=tuple(
                LabelPair(*pair, as_counts(np.asarray(count)).item()) for pair, count in common
            ),
        )


def parse_thresholds(text: str) -> dict[str, float]:
    """Parse `METRIC=N,…`, where METRIC is a name of a metric, or `precision:LABEL`, `recall:LABEL`
    or `f1:LABEL`.

    Raises
    ------
    ValueError
        A metric or a number is not understood; the message says which.
    """
    thresholds = {}
    for part in split_list(text):
        name, _, number = (piece.strip() for piece in part.rpartition("="))
        name = name or part
        kind, colon, label = name.partition(":")
        is_known = name in ALL_METRICS or (kind in LABEL_METRICS and label)
        if not is_known:
            names = (*ALL_METRICS, *(f"{each}:LABEL" for each in LABEL_METRICS))
            advice = suggest(f"{kind}:LABEL" if colon else name, names)
            raise ValueError(f"{name!r} is not a metric; {advice}")
        try:
            threshold = float(number)
        except ValueError:
            threshold = math.nan
        if not math.isfinite(threshold):
            comma = "; write \\, for a comma in a label" if colon else ""
            raise ValueError(f"{part!r} has no number; write {name}=0.85{comma}")
        if threshold > 1 and not (name in ALL_METRICS and ALL_METRICS[name].is_loss):
            share = f"; write {name}={threshold / 100:g}" if 10 < threshold <= 100 else ""
            raise ValueError(f"{part!r} cannot be reached: the highest value is 1{share}")
        thresholds[name] = threshold
    return thresholds


def check_thresholds(evaluation: Evaluation, thresholds: Mapping[str, float]) -> None:
    """Check every threshold.

    Raises
    ------
    BelowThreshold
        A metric is worse than its threshold; the message names all of them.
    SettingsError
        A metric was not measured, or the label does not exist.
    """
    missed = []
    for name, threshold in thresholds.items():
        value = _find_value(evaluation, name)
        is_loss = name in ALL_METRICS and ALL_METRICS[name].is_loss
        if value > threshold if is_loss else value < threshold:
            missed.append(f"{name} is {value:.4f}, {'above' if is_loss else 'below'} {threshold:g}")
    if missed:
        raise BelowThreshold("; ".join(missed))


def _find_value(evaluation: Evaluation, name: str) -> float:
    if name in ALL_METRICS:
        if name not in evaluation.metrics:
            needed = ALL_METRICS[name].needs
            kinds = (
                "several labels for a document"
                if name in MULTILABEL_METRICS
                else "one label for each document"
            )
            hint = f"give ‹{needed}› too" if needed else f"it is a metric of {kinds}"
            if evaluation.unknown_label == evaluation.documents:
                hint = "each document has a label that the model does not know"
            raise SettingsError(f"{name} was not measured", where="fail_under", hint=hint)
        return evaluation.metrics[name]
    kind, _, label = name.partition(":")
    scores = {score.label: score for score in evaluation.per_label}
    if label not in scores:
        hint = suggest(name, [f"{kind}:{join_list([each])}" for each in scores])
        raise SettingsError(f"there is no label {label}", where="fail_under", hint=hint)
    return float(getattr(scores[label], kind))
