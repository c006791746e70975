"""Metrics: one record for each in `METRICS`, computed from sums over documents (`Totals`).

Reports, thresholds of `--fail-under`, bootstrap intervals, model comparison, learning curves and the model search read
the records. To add a metric, add a function and a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.diagnostics import Proportion
from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.label_curves import Ranking
from nbtext.evaluation.outcomes import UNANSWERED, LabelNumbers, measure
from nbtext.evaluation.reliability import Reliability, ReliabilityBin
from nbtext.model.predictor import Predictions
from nbtext.model.settings import Costs

MOST_CONFUSED = 2048  # labels of a confusion matrix; with more, there is none


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over documents that metrics are computed from.

    Attributes
    ----------
    n_labels : int
        Number of labels of the model and of the documents.
    true : array of int64
        Shape (n_cells,): the true label of each cell of the confusion matrix that has a document.
    predicted : array of int64
        Shape (n_cells,): the predicted label of each cell; UNANSWERED if there is none.
    counts : array of int64
        Shape (n_cells,): the number of documents of each cell.
    log_loss : float
        The sum of the log-losses, in nats.
    squared_error : float
        The sum of Σ_k (p_k - y_k)².
    reliability : Reliability
        Predictions by probability.
    sets : tuple[int, int, int], optional
        Number of prediction sets, of those with the true label, and of labels in them; None: no sets.
    cost : float, optional
        The sum of the costs; None: no costs were given.
    likelihoods : tuple of two arrays of float64, optional
        Log-likelihood per token of each document, and of foreign documents; None: there are none.
    """

    n_labels: int
    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    counts: NDArray[np.int64]
    log_loss: float
    squared_error: float
    reliability: Reliability
    sets: tuple[int, int, int] | None = None
    cost: float | None = None
    likelihoods: tuple[Floats, Floats] | None = None

    @cached_property
    def n_documents(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def support(self) -> Floats:
        """(n_labels,), documents of each label."""
        return self._by_label(self.true, self.counts)

    @cached_property
    def n_predicted(self) -> Floats:
        """(n_labels,), documents that each label was predicted for."""
        is_answered = self.predicted != UNANSWERED
        return self._by_label(self.predicted[is_answered], self.counts[is_answered])

    @cached_property
    def true_positives(self) -> Floats:
        """(n_labels,), documents of each label that it was predicted for."""
        return self._by_label(self.true, self.counts * (self.true == self.predicted))

    @cached_property
    def n_correct(self) -> int:
        return int(self.true_positives.sum())

    @cached_property
    def n_answered(self) -> int:
        return int(self.n_predicted.sum())

    @property
    def precision(self) -> Floats:
        """(n_labels,), the share of predictions of a label that are correct; 0 if there are none."""
        return _ratio(self.true_positives, self.n_predicted)

    @property
    def recall(self) -> Floats:
        """(n_labels,), the share of documents of a label that it was predicted for; 0 if there are none."""
        return _ratio(self.true_positives, self.support)

    @cached_property
    def f1(self) -> Floats:
        """(n_labels,), the harmonic mean of precision and recall; 0 if both are."""
        return _ratio(2 * self.true_positives, self.n_predicted + self.support)

    def _by_label(self, labels: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
        return np.asarray(np.bincount(labels, counts, self.n_labels), dtype=np.float64)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0))


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, with its properties for reports, thresholds and comparisons.

    Attributes
    ----------
    name : str
        The name in output and in --fail-under.
    title : str
        The name in tables for people.
    compute : Callable[[Totals], float or None]
        Computes it from at least one document; None: it was not measured.
    is_loss : bool
        Lower is better; otherwise higher is better, and 1 is the best value.
    needs : str
        The option that it is measured with.
    note : str
        Explains it on the page of an evaluation; "" leaves it out there.
    is_compared : bool
        Shown when trained models are compared.
    is_curve : bool
        Shown in learning curves.
    is_abstention : bool
        Shown on a terminal only if a document has no predicted label.
    """

    name: str
    title: str
    compute: Callable[[Totals], float | None]
    is_loss: bool = False
    needs: str = ""
    note: str = ""
    is_compared: bool = False
    is_curve: bool = False
    is_abstention: bool = False


def _per_set(totals: Totals, row: int) -> float | None:
    return totals.sets[row] / totals.sets[0] if totals.sets is not None else None


def _outlier_auroc(totals: Totals) -> float | None:
    if totals.likelihoods is None:
        return None
    own, foreign = totals.likelihoods
    is_own = np.arange(len(own) + len(foreign)) < len(own)
    return Ranking.of(np.concatenate((own, foreign)), is_own).auroc


METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy", "accuracy", lambda totals: totals.n_correct / totals.n_documents,
            note="share of documents with the right label", is_compared=True, is_curve=True,
        ),
        Metric(
            "answered", "answered", lambda totals: totals.n_answered / totals.n_documents, is_abstention=True,
        ),
        Metric(
            "accuracy_among_answered", "accuracy among answered",
            lambda totals: totals.n_correct / max(1, totals.n_answered), is_abstention=True,
        ),
        Metric(
            "macro_f1", "macro F1", lambda totals: float(totals.f1.mean()),
            note="mean F1 over the labels", is_compared=True,
        ),
        Metric("weighted_f1", "weighted F1", lambda totals: float(totals.f1 @ totals.support / totals.n_documents)),
        Metric(
            "log_loss", "log-loss", lambda totals: totals.log_loss / totals.n_documents, is_loss=True,
            note="in nats; lower is better", is_compared=True, is_curve=True,
        ),
        Metric(
            "brier_score", "Brier score", lambda totals: totals.squared_error / totals.n_documents, is_loss=True,
            note="from 0 to 2; lower is better",
        ),
        Metric(
            "expected_calibration_error", "expected calibration error", lambda totals: totals.reliability.error,
            is_loss=True, note="mean gap between probability and accuracy",
        ),
        Metric("coverage", "coverage", lambda totals: _per_set(totals, 1), needs="--coverage"),
        Metric(
            "mean_set_size", "mean set size", lambda totals: _per_set(totals, 2), is_loss=True, needs="--coverage",
        ),
        Metric(
            "mean_cost", "mean cost", lambda totals: None if totals.cost is None else totals.cost / totals.n_documents,
            is_loss=True, needs="--cost",
        ),
        Metric("outlier_auroc", "outlier AUROC", _outlier_auroc, needs="--foreign"),
    )
}  # fmt: skip
COMPARED = tuple(metric for metric in METRICS.values() if metric.is_compared)
CURVES = tuple(metric for metric in METRICS.values() if metric.is_curve)
LABEL_METRICS = ("precision", "recall", "f1")  # of one label, as `recall:spam`


def compute_metrics(totals: Totals) -> dict[str, float]:
    """Compute every metric that was measured."""
    values = ((name, metric.compute(totals)) for name, metric in METRICS.items())
    return {name: value for name, value in values if value is not None}


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Precision, recall and F1 of one label, and the number of documents that have it."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """What a target of the model (`min_recall`, `min_precision`) comes to on the evaluated documents.

    metric     `recall` or `precision`
    target     the value to reach
    value      the value that is measured
    low, high  its Clopper-Pearson interval, with the confidence of the target
    """

    metric: str
    label: str
    target: float
    value: float
    low: float
    high: float
    is_met: bool


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of predictions for labeled documents.

    A document without a predicted label is not correct, and in no column of the confusion matrix. Its probabilities
    count in log-loss, Brier score and calibration error like those of all others: all metrics but accuracy among
    answered are means over the same documents.

    Attributes
    ----------
    metrics : Mapping[str, float]
        The metrics, by name.
    labels : tuple[str, ...]
        The labels of the model and of the documents, sorted.
    confusion_matrix : tuple[tuple[int, ...], ...], optional
        Rows are true labels, columns predicted ones; None if there are more than 2,048 labels.
    reliability : tuple[ReliabilityBin, ...]
        Bins that have a document.
    foreign_documents : int, optional
        Number of foreign documents with a likelihood; None: there was no foreign source.
    targets : tuple[TargetCheck, ...], optional
        The targets of the model; None: it has none, or its labels are not what was evaluated.
    """

    documents: int
    unanswered: int
    metrics: Mapping[str, float]
    labels: tuple[str, ...]
    per_label: tuple[LabelScore, ...]
    confusion_matrix: tuple[tuple[int, ...], ...] | None
    reliability: tuple[ReliabilityBin, ...]
    foreign_documents: int | None = None
    targets: tuple[TargetCheck, ...] | None = None


class Evaluator:
    """Compares predictions with the true labels, batch by batch.

    Memory depends on the labels only; with likelihoods, there is one number for each document as well.

    Parameters
    ----------
    targets : ModelSettings, optional
        The settings whose targets are checked.
    """

    def __init__(
        self, costs: Costs | None = None, *, with_likelihoods: bool = False, targets: ModelSettings | None = None
    ) -> None:
        self._costs, self._targets = costs, targets
        self._likelihoods: tuple[list[Floats], list[Floats]] | None = ([], []) if with_likelihoods else None
        self._numbers = LabelNumbers()
        self._cells: Counter[tuple[int, int]] = Counter()
        self._log_loss = self._squared_error = 0.0
        self._reliability = Reliability()
        self._sets = np.zeros(3, dtype=np.int64)

    def add_all(self, predictions: Iterable[Predictions]) -> None:
        """Add all these predictions."""
        for batch in predictions:
            self.add(batch)

    def add(self, predictions: Predictions) -> None:
        """Add predictions; InputError if a document has no label."""
        if len(predictions) == 0:
            return
        outcomes = measure(predictions, self._numbers)
        self._cells.update(zip(outcomes.true.tolist(), outcomes.predicted.tolist(), strict=True))
        self._log_loss += float(outcomes.log_losses.sum())
        self._squared_error += float(outcomes.squared_errors.sum())
        self._reliability.add(outcomes.best, outcomes.is_chosen_right)
        if predictions.label_sets is not None:
            pairs = list(zip(predictions.true_labels, predictions.label_sets, strict=True))
            covered = sum(label in labels for label, labels in pairs)
            self._sets += (len(pairs), covered, sum(len(labels) for _, labels in pairs))
        if self._likelihoods is not None:
            self._likelihoods[0].append(_likelihoods(predictions))

    def add_foreign(self, predictions: Iterable[Predictions]) -> None:
        """Add the likelihoods of foreign documents; their labels are ignored."""
        assert self._likelihoods is not None  # asked for
        self._likelihoods[1].extend(map(_likelihoods, predictions))

    def evaluation(self) -> Evaluation:
        """Compute the metrics; InputError if no document was added."""
        if not self._cells:
            raise InputError("there is no document to evaluate on")
        labels = self._numbers.sorted()
        totals = self._totals(labels)
        columns = (totals.precision, totals.recall, totals.f1, totals.support.astype(np.int64))
        matrix = None
        if len(labels) <= MOST_CONFUSED:
            square = np.zeros((len(labels), len(labels) + 1), dtype=np.int64)
            square[totals.true, totals.predicted] = totals.counts  # the last column is of the unanswered
            matrix = tuple(map(tuple, square[:, :-1].tolist()))
        return Evaluation(
            documents=totals.n_documents,
            unanswered=totals.n_documents - totals.n_answered,
            metrics=compute_metrics(totals),
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
        for metric, label, least in self._targets.targets:
            found = Proportion(0, 0)
            if label in labels:
                whole = totals.support if metric == "recall" else totals.n_predicted
                k = labels.index(label)
                found = Proportion(int(totals.true_positives[k]), int(whole[k]))
            interval = found.interval(self._targets.confidence) if found.documents else (0.0, 1.0)
            checks.append(TargetCheck(metric, label, least, found.value, *interval, is_met=found.value >= least))
        return tuple(checks)

    def _totals(self, labels: tuple[str, ...]) -> Totals:
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
                raise InputError("no document has a token, so the AUROC of outlier detection is undefined")
            likelihoods = (own, foreign)
        n_sets, n_covered, n_labels = self._sets.tolist()
        return Totals(
            len(labels), true, predicted, counts, self._log_loss, self._squared_error, self._reliability,
            (n_sets, n_covered, n_labels) if n_sets else None, cost, likelihoods,
        )  # fmt: skip


def _likelihoods(predictions: Predictions) -> Floats:
    """Return the log-likelihoods per token of the documents that have a token."""
    if predictions.likelihoods is None:
        hint = "multinomial and bernoulli models of counts or binary counts do"
        raise SettingsError("the model has no likelihood of a document", where="--foreign", hint=hint)
    return predictions.likelihoods[~np.isnan(predictions.likelihoods)]
