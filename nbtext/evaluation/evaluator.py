"""Evaluations: all metrics of predictions for labeled documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from nbtext.bayes.diagnostics import Proportion, RepeatedTexts
from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.metrics import METRICS, SetCounts, Totals, compute_metrics
from nbtext.evaluation.outcomes import UNANSWERED, LabelNumbers, measure, true_sets
from nbtext.evaluation.reliability import Reliability, ReliabilityBin
from nbtext.model.predictions import Predictions
from nbtext.model.settings import Costs

MAX_CONFUSED = 2048  # labels of a confusion matrix; with more, there is none


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Precision, recall and F1 of one label, and the number of documents that have it."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True)
class ThresholdScore(LabelScore):
    """The scores of one of several labels, and the probability from which it is predicted; None: it is not known."""

    threshold: float | None


@dataclass(frozen=True, slots=True)
class LabelPair:
    """Documents with an error of a label, and another label of these documents.

    Parameters
    ----------
    kind : {"added", "missed"}
        Whether `label` is predicted and not true, or true and not predicted.
    other : str or None
        For an added label, a true label of the documents; for a missed one, a predicted label. None: there is none.
    """

    kind: str
    label: str
    other: str | None
    documents: int


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """The result of a target of the model (`min_recall`, `min_precision`) on the evaluated documents.

    metric     `recall` or `precision`
    target     the value to reach
    value      the value that is measured
    low, high  its Clopper-Pearson interval, with the confidence of the target
    result     `met` or `missed` if all of the interval is; otherwise `undecided`
    """

    metric: str
    label: str
    target: float
    value: float
    low: float
    high: float
    result: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of predictions for labeled documents.

    If each document has one label, one without a predicted label is incorrect, and in no column of the confusion
    matrix. Its probabilities count in log-loss, Brier score and calibration error like those of all others: all metrics
    but accuracy among answered are computed on the same documents.

    unanswered         Number of documents without a predicted label.
    metrics            Those that were measured, by name.
    labels             The labels of the model and of the documents, sorted.
    confusion_matrix   Rows are true labels, columns predicted ones; None if there are more than 2,048 labels, or a
                       document can have several.
    reliability        Bins that have a document; None: a document can have several labels.
    unlabeled          Number of documents without a true label; None: each has one.
    label_pairs        The most frequent pairs of a wrong label and another one; None: a document has one label.
    foreign_documents  Number of foreign documents with a likelihood; None: there was no foreign source.
    targets            The targets of the model; None: it has none, or they do not apply to these predictions.
    repeated           The texts that repeat in a cross-validation; None: there are none.
    """

    documents: int
    unanswered: int
    metrics: Mapping[str, float]
    labels: tuple[str, ...]
    per_label: tuple[LabelScore, ...]
    confusion_matrix: tuple[tuple[int, ...], ...] | None = None
    reliability: tuple[ReliabilityBin, ...] | None = None
    unlabeled: int | None = None
    label_pairs: tuple[LabelPair, ...] | None = None
    foreign_documents: int | None = None
    targets: tuple[TargetCheck, ...] | None = None
    repeated: RepeatedTexts | None = None


class BatchEvaluator:
    """Compares predictions with the true labels, batch by batch."""

    def __init__(self) -> None:
        self._numbers, self._n_documents = LabelNumbers(), 0
        self._sets = np.zeros(4, dtype=np.int64)

    def add_all(self, predictions: Iterable[Predictions]) -> None:
        """Add all these predictions."""
        for batch in predictions:
            self.add(batch)

    def add(self, predictions: Predictions) -> None:
        """Add predictions; InputError if the labels of a document are not known."""
        if len(predictions) == 0:
            return
        true = true_sets(predictions)
        self._n_documents += len(true)
        self._add(predictions, true)
        if predictions.label_sets is not None:
            pairs = zip(true, predictions.label_sets, strict=True)
            n_covered = sum(len(set(own).intersection(labels)) for own, labels in pairs)
            self._sets += (len(true), n_covered, sum(map(len, true)), sum(map(len, predictions.label_sets)))

    def _add(self, predictions: Predictions, true: list[tuple[str, ...]]) -> None:
        raise NotImplementedError

    def evaluation(self) -> Evaluation:
        """Compute the metrics; InputError if no document was added."""
        if not self._n_documents:
            raise InputError("SOURCE has no documents to evaluate on")
        return self._evaluate(SetCounts(*self._sets.tolist()) if self._sets[0] else None)

    def _evaluate(self, sets: SetCounts | None) -> Evaluation:
        raise NotImplementedError


class Evaluator(BatchEvaluator):
    """Compares the label of each document with the true one.

    Memory depends on the labels only; with likelihoods, there is one number for each document as well.

    Parameters
    ----------
    targets : ModelSettings, optional
        The settings whose targets are checked.
    """

    def __init__(
        self, costs: Costs | None = None, *, with_likelihoods: bool = False, targets: ModelSettings | None = None
    ) -> None:
        super().__init__()
        self._costs, self._targets = costs, targets
        self._likelihoods: tuple[list[Floats], list[Floats]] | None = ([], []) if with_likelihoods else None
        self._cells: Counter[tuple[int, int]] = Counter()
        self._log_loss = self._squared_error = 0.0
        self._reliability = Reliability()

    def _add(self, predictions: Predictions, true: list[tuple[str, ...]]) -> None:
        outcomes = measure(predictions, self._numbers)
        self._cells.update(zip(outcomes.true.tolist(), outcomes.predicted.tolist(), strict=True))
        self._log_loss += float(outcomes.log_losses.sum())
        self._squared_error += float(outcomes.squared_errors.sum())
        self._reliability.add(outcomes.best, outcomes.is_chosen_right)
        if self._likelihoods is not None:
            self._likelihoods[0].append(_likelihoods(predictions))

    def add_foreign(self, predictions: Iterable[Predictions]) -> None:
        """Add the likelihoods of foreign documents; their labels are ignored."""
        assert self._likelihoods is not None  # asked for
        self._likelihoods[1].extend(map(_likelihoods, predictions))

    def _evaluate(self, sets: SetCounts | None) -> Evaluation:
        labels = self._numbers.sorted()
        totals = self._totals(labels, sets)
        columns = (totals.precision, totals.recall, totals.f1, totals.support.astype(np.int64))
        matrix = None
        if len(labels) <= MAX_CONFUSED:
            square = np.zeros((len(labels), len(labels) + 1), dtype=np.int64)
            square[totals.true, totals.predicted] = totals.counts  # last column: no predicted label
            matrix = tuple(map(tuple, square[:, :-1].tolist()))
        return Evaluation(
            documents=totals.n_documents,
            unanswered=totals.n_documents - totals.n_answered,
            metrics=compute_metrics(totals, METRICS),
            labels=labels,
            per_label=tuple(LabelScore(*row) for row in zip(labels, *(c.tolist() for c in columns), strict=True)),
            confusion_matrix=matrix,
            reliability=self._reliability.bins(),
            foreign_documents=len(totals.likelihoods[1]) if totals.likelihoods is not None else None,
            targets=self._check_targets(totals, labels),
        )

    def _check_targets(self, totals: Totals, labels: tuple[str, ...]) -> tuple[TargetCheck, ...] | None:
        if self._targets is None or not self._targets.has_targets:
            return None
        checks = []
        for metric, label, minimum in self._targets.targets:
            found = Proportion(0, 0)
            if label in labels:
                whole = totals.support if metric == "recall" else totals.n_predicted
                k = labels.index(label)
                found = Proportion(int(totals.true_positives[k]), int(whole[k]))
            low, high = found.interval(self._targets.confidence) if found.documents else (0.0, 1.0)
            result = "met" if low >= minimum else "missed" if high < minimum else "undecided"
            checks.append(TargetCheck(metric, label, minimum, found.value, low, high, result))
        return tuple(checks)

    def _totals(self, labels: tuple[str, ...], sets: SetCounts | None) -> Totals:
        positions = np.append(self._numbers.positions(labels), UNANSWERED)
        cells = np.array(sorted(self._cells), dtype=np.int64)
        counts = np.array([self._cells[true, predicted] for true, predicted in cells.tolist()], dtype=np.int64)
        true, predicted = positions[cells[:, 0]], positions[cells[:, 1]]
        cost = None
        if self._costs is not None:
            triples = sorted(zip(true.tolist(), predicted.tolist(), counts.tolist(), strict=True))
            cost = sum(n * self._costs.of(labels[t], labels[p] if p != UNANSWERED else None) for t, p, n in triples)
        likelihoods = None
        if self._likelihoods is not None:
            own, foreign = (np.concatenate([*parts, np.zeros(0)]) for parts in self._likelihoods)
            if not len(own) or not len(foreign):
                where = "--foreign" if len(own) else "SOURCE"
                raise InputError(f"no document of {where} has a token, so the AUROC of --foreign is undefined")
            likelihoods = (own, foreign)
        return Totals(
            len(labels), true, predicted, counts, self._log_loss, self._squared_error, self._reliability,
            sets, cost, likelihoods,
        )  # fmt: skip


def _likelihoods(predictions: Predictions) -> Floats:
    """Return the log-likelihoods per token of the documents that have a token."""
    if predictions.likelihoods is None:
        hint = "give a multinomial or bernoulli model of counts or binary counts"
        raise SettingsError("needs a model that gives the likelihood of documents", where="--foreign", hint=hint)
    return predictions.likelihoods[~np.isnan(predictions.likelihoods)]
