"""Metrics: one record for each in `METRICS`, computed from sums over documents (`MetricTotals`).

Reports, thresholds of `--fail-under`, bootstrap intervals, model comparison, learning curves and
the model search read the records. To add a metric, add a function and a record. Metrics of several
labels are those of Tsoumakas, Katakis, Vlahavas, Mining Multi-label Data, 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from nbtext.arrays import Array, Floats, Integers
from nbtext.evaluation.curves import calibration_error, sum_bins
from nbtext.evaluation.outcomes import (
    RANKS,
    UNANSWERED,
    MultilabelOutcomes,
    Outcomes,
    as_counts,
)
from nbtext.numerics import dot, ratio
from nbtext.records import Strings, frozen, frozen_object

T = TypeVar("T")
SOFT = "soft labels"  # what the expected accuracy needs


class SetCounts(NamedTuple):
    """Numbers of prediction sets, of true labels in them, of true labels, and of labels in them."""

    sets: float
    covered: float
    true: float
    labels: float


@frozen_object
class MetricTotals:
    """Sums over documents that metrics are computed from. A number of documents is a sum of their
    weights.

    n_labels       Number of labels of the model and of the documents.
    true           Shape (n_cells,): the true label of each cell of the confusion matrix that has a
                   document.
    predicted      Shape (n_cells,): the predicted label of each cell; UNANSWERED if there is none.
    counts         Shape (n_cells,): the number of documents of each cell.
    agreement      The sum over texts of the weight of their most frequent label; None: no text has
                   several.
    n_known        Number of documents whose true label the model knows. Of these are:
    log_loss       The sum of the log-losses, in nats.
    squared_error  The sum of Σ_k (p_k - y_k)².
    bins           Predictions by probability; see `sum_bins`.
    sets           Of prediction sets; None: there are none.
    cost           The sum of the costs; None: no costs were given.
    """

    n_labels: int
    true: Integers
    predicted: Integers
    counts: Array
    n_known: float
    log_loss: float
    squared_error: float
    bins: Floats
    agreement: float | None = None
    sets: SetCounts | None = None
    cost: float | None = None

    @cached_property
    def n_documents(self) -> float:
        return _number(self.counts.sum())

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
    def n_correct(self) -> float:
        return _number(self.true_positives.sum())

    @cached_property
    def n_answered(self) -> float:
        return _number(self.n_predicted.sum())

    @property
    def precision(self) -> Floats:
        """(n_labels,), the share of predictions of a label that are correct; 0 if there are
        none.
        """
        return ratio(self.true_positives, self.n_predicted)

    @property
    def recall(self) -> Floats:
        """(n_labels,), the share of documents of a label that it was predicted for; 0 if there are
        none.
        """
        return ratio(self.true_positives, self.support)

    @cached_property
    def f1(self) -> Floats:
        """(n_labels,), the harmonic mean of precision and recall; 0 if both are."""
        return ratio(2 * self.true_positives, self.n_predicted + self.support)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels that occur among the true or the predicted ones."""
        return mean_f1(self.f1, self.n_predicted + self.support)

    def cells(self, labels: Strings) -> dict[tuple[str, str | None], float]:
        """Return the number of documents with each true and predicted label; None in place of a
        predicted one.
        """
        names = (*labels, None)  # the last one is that of UNANSWERED
        columns = (self.true, self.predicted, as_counts(self.counts))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {(labels[true], names[predicted]): count for true, predicted, count in rows}

    def _by_label(self, labels: Integers, counts: Array) -> Floats:
        return np.asarray(np.bincount(labels, counts, self.n_labels), np.float64)


def totals_of(outcomes: Outcomes, n_labels: int) -> Callable[[Integers], MetricTotals]:
    """Return the function that computes the totals of any of the documents; the same one may be
    drawn several times.
    """
    keys = outcomes.true.astype(np.int64) * (n_labels + 1) + outcomes.predicted + 1
    times = outcomes.weights_of()
    log_losses = outcomes.log_losses * times
    squared_errors = outcomes.squared_errors * times
    agreement = outcomes.agreement
    found, cells = np.unique(keys, return_inverse=True)
    true = found // (n_labels + 1)
    predicted = found % (n_labels + 1) - 1

    def add_up(documents: Integers) -> MetricTotals:
        measured = documents[outcomes.is_known[documents]]
        weights = outcomes.weights_of(measured)
        best = outcomes.best[measured, None]
        bins = sum_bins(best, outcomes.is_chosen_right[measured, None], weights)[:, 0]
        own = None if outcomes.weights is None else outcomes.weights[documents]
        return MetricTotals(
            n_labels,
            true,
            predicted,
            np.bincount(cells[documents], own, len(true)),
            len(measured) if outcomes.weights is None else _number(weights.sum()),
            float(log_losses[measured].sum()),
            float(squared_errors[measured].sum()),
            bins,
            None if agreement is None else float(agreement[documents].sum()),
        )

    return add_up


class MultilabelTotals(NamedTuple):
    """Sums over documents that metrics of several labels are computed from, and after them figures
    that do not add up.

    n_answered   Number of documents with a predicted label.
    n_labeled    Number of documents with a label.
    n_exact      Number of documents with exactly the true labels.
    n_known      Number of documents whose true labels the model knows.
    example_f1   The sum of the F1 of documents; 1 without true and predicted labels.
    precision    Shape (3,): the sum over documents with a label of the precision at 1, 3 and 5.
    n_labels     Number of labels of the model and of the documents.
    macro_f1     The mean F1 of the labels that occur among the true or the predicted ones; None: it
                 was not counted.
    calibration  The classwise calibration error; None: it was not measured.
    sets         Of prediction sets; None: there are none.
    """

    n_documents: float
    n_answered: float
    n_labeled: float
    n_true: float
    n_predicted: float
    n_correct: float
    n_exact: float
    n_known: float
    example_f1: float
    precision: Floats
    n_labels: int
    macro_f1: float | None = None
    calibration: float | None = None
    sets: SetCounts | None = None


def sum_outcomes(
    outcomes: MultilabelOutcomes, n_labels: int, rows: Integers | slice = slice(None)
) -> MultilabelTotals:
    """Return the totals of some documents, without what depends on single labels."""
    true = outcomes.n_true[rows]
    predicted = outcomes.n_predicted[rows]
    correct = outcomes.n_correct[rows]
    is_known = outcomes.is_known[rows]
    f1 = np.where(true + predicted == 0, 1.0, 2 * correct / np.maximum(true + predicted, 1))
    weights = outcomes.weights_of(rows)

    def add(numbers: Array) -> float:
        return _number((numbers * weights).sum())

    return MultilabelTotals(
        add(np.ones(len(true))),
        add(predicted > 0),
        add(true > 0),
        add(true),
        add(predicted),
        add(correct),
        add(outcomes.is_correct[rows]),
        add(is_known),
        float((f1 * weights).sum()),
        (outcomes.hits[rows].T * weights).sum(axis=1) / np.array(RANKS),
        n_labels,
    )


def _number(total: Any) -> float:
    """Return a sum of weights as a number, a whole one if it is."""
    number: float = as_counts(total).item()
    return number


def mean_f1(f1: Floats, occurrences: Floats) -> float:
    """Return the mean F1 of the labels that occur at all, as scikit-learn's `f1_score` does; 0 if
    none does.
    """
    found = f1[occurrences > 0]
    return float(found.mean()) if len(found) else 0.0


@frozen
class Metric(Generic[T]):
    """A metric of totals of type T, with its properties for reports, thresholds and comparisons.

    name           The name in output and in --fail-under.
    title          The name in tables for people.
    compute        Computes it from at least one document; None: it was not measured.
    is_loss        Lower is better; otherwise higher is better, and 1 is the best value.
    needs          The setting that it is measured with.
    note           Explains it on the page of an evaluation; "" leaves it out there.
    is_compared    Shown when trained models are compared.
    is_curve       Shown in learning curves.
    is_abstention  Shown on a terminal only if a document has no predicted label.
    of_probability Computed from probabilities, so that labels alone do not give it.
    """

    name: str
    title: str
    compute: Callable[[T], float | None]
    is_loss: bool = False
    needs: str = ""
    note: str = ""
    is_compared: bool = False
    is_curve: bool = False
    is_abstention: bool = False
    of_probability: bool = False


def _precision_at(place: int, totals: MultilabelTotals) -> float:
    return float(totals.precision[place] / max(1, totals.n_labeled))


def _by_name(*metrics: Metric[T]) -> dict[str, Metric[T]]:
    return {metric.name: metric for metric in metrics}


SET_METRICS = (
    Metric[Any](
        "coverage",
        "coverage",
        lambda totals: totals.sets and totals.sets.covered / max(1, totals.sets.true),
        needs="coverage",
    ),
    Metric[Any](
        "mean_set_size",
        "mean set size",
        lambda totals: totals.sets and totals.sets.labels / totals.sets.sets,
        is_loss=True,
        needs="coverage",
    ),
)
METRICS: dict[str, Metric[MetricTotals]] = _by_name(
    Metric(
        "accuracy",
        "accuracy",
        lambda totals: totals.n_correct / totals.n_documents,
        note="share of documents with the right label",
        is_compared=True,
        is_curve=True,
    ),
    Metric(
        "expected_accuracy",
        "expected accuracy",
        lambda totals: totals.agreement and totals.n_correct / totals.n_documents,
        needs=SOFT,
        note="mean share of annotators who give the predicted label",
    ),
    Metric(
        "highest_possible_accuracy",
        "highest possible accuracy",
        lambda totals: totals.agreement and totals.agreement / totals.n_documents,
        needs=SOFT,
        note="mean share of the most frequent label of a text: no predictions can have a higher expected accuracy",
    ),
    Metric(
        "answered",
        "answered",
        lambda totals: totals.n_answered / totals.n_documents,
        is_abstention=True,
    ),
    Metric(
        "accuracy_among_answered",
        "accuracy among answered",
        lambda totals: totals.n_correct / max(1, totals.n_answered),
        is_abstention=True,
    ),
    Metric(
        "macro_f1",
        "macro F1",
        lambda totals: totals.macro_f1,
        note="mean F1 over the labels that occur",
        is_compared=True,
    ),
    Metric(
        "weighted_f1",
        "weighted F1",
        lambda totals: dot(totals.f1, totals.support) / totals.n_documents,
    ),
    Metric(
        "log_loss",
        "log-loss",
        lambda totals: totals.log_loss / totals.n_known if totals.n_known else None,
        is_loss=True,
        note="in nats; lower is better",
        is_compared=True,
        is_curve=True,
        of_probability=True,
    ),
    Metric(
        "brier_score",
        "Brier score",
        lambda totals: totals.squared_error / totals.n_known if totals.n_known else None,
        is_loss=True,
        note="from 0 to 2; lower is better",
        of_probability=True,
    ),
    Metric(
        "expected_calibration_error",
        "expected calibration error",
        lambda totals: calibration_error(totals.bins),
        is_loss=True,
        note="mean gap between probability and accuracy",
        of_probability=True,
    ),
    *SET_METRICS,
    Metric(
        "mean_cost",
        "mean cost",
        lambda totals: None if totals.cost is None else totals.cost / totals.n_documents,
        is_loss=True,
        needs="cost",
    ),
)
MULTILABEL_METRICS: dict[str, Metric[MultilabelTotals]] = _by_name(
    Metric(
        "micro_f1",
        "micro F1",
        lambda totals: 2 * totals.n_correct / max(1, totals.n_true + totals.n_predicted),
        note="F1 of all pairs of a document and a label",
        is_compared=True,
        is_curve=True,
    ),
    Metric(
        "micro_precision",
        "micro precision",
        lambda totals: totals.n_correct / max(1, totals.n_predicted),
    ),
    Metric("micro_recall", "micro recall", lambda totals: totals.n_correct / max(1, totals.n_true)),
    Metric(
        "macro_f1",
        "macro F1",
        lambda totals: totals.macro_f1,
        note="mean F1 over the labels that occur",
    ),
    Metric(
        "example_f1",
        "example F1",
        lambda totals: totals.example_f1 / totals.n_documents,
        note="mean F1 of a document's labels",
    ),
    Metric(
        "subset_accuracy",
        "subset accuracy",
        lambda totals: totals.n_exact / totals.n_documents,
        note="share of documents with exactly the right labels",
        is_compared=True,
    ),
    *(
        Metric[MultilabelTotals](
            f"precision_at_{k}",
            f"precision at {k}",
            partial(_precision_at, place),
            is_compared=k == 1,
            of_probability=True,
        )
        for place, k in enumerate(RANKS)
    ),
    Metric(
        "classwise_calibration_error",
        "classwise calibration error",
        lambda totals: totals.calibration,
        is_loss=True,
        note="mean over labels of the gap between probability and frequency",
        of_probability=True,
    ),
    *SET_METRICS,
)
ALL_METRICS: dict[str, Metric[Any]] = METRICS | MULTILABEL_METRICS
CURVES = tuple(metric for metric in METRICS.values() if metric.is_curve)
LABEL_METRICS = ("precision", "recall", "f1")  # of one label, as `recall:spam`


def compute_metrics(totals: T, metrics: Mapping[str, Metric[T]]) -> dict[str, float]:
    """Compute every metric that was measured."""
    values = ((name, metric.compute(totals)) for name, metric in metrics.items())
    return {name: value for name, value in values if value is not None}
