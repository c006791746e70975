"""What an evaluation of each task needs: its metrics, and how predictions are measured and errors
recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from nbtext.documents.batch import Batch
from nbtext.evaluation.bootstrap import totals_of
from nbtext.evaluation.diagnosis import ErrorLog, SetLog
from nbtext.evaluation.evaluator import Evaluator, MultilabelEvaluator
from nbtext.evaluation.metrics import METRICS, MULTILABEL_METRICS, Metric, sum_outcomes
from nbtext.evaluation.outcomes import join_columns, join_outcomes, measure, measure_sets
from nbtext.model.several_labels import SeveralLabels
from nbtext.model.task import OneLabel


@dataclass(frozen=True)
class EvaluatedTask:
    """What an evaluation of a task needs.

    task         The task.
    metrics      The registry of its metrics.
    main         The name of the metric that stands for all.
    correct      The name of the metric that is the share of correct documents.
    check        Raises InputError if a document of a batch cannot be evaluated.
    measure      Returns the outcomes of a batch of predictions; numbers all labels.
    join         Returns the outcomes of several batches; the labels are all labels, sorted.
    totals_of    Returns the function that computes the totals of any of the documents of outcomes.
    evaluator    Makes what computes all metrics from batches of predictions.
    log          Makes what collects the details of a page from batches of predictions.
    """

    task: type[OneLabel | SeveralLabels]
    metrics: Mapping[str, Metric[Any]]
    main: str
    correct: str
    check: Callable[[Batch], object]
    measure: Callable[..., Any]
    join: Callable[..., Any]
    totals_of: Callable[..., Any]
    evaluator: Callable[..., Any]
    log: Callable[..., Any]


def _check_one_label(batch: Batch) -> None:
    batch.known_labels()
    batch.single_labels()


TASKS = {
    "one": EvaluatedTask(
        OneLabel,
        METRICS,
        "accuracy",
        "accuracy",
        _check_one_label,
        measure,
        join_outcomes,
        totals_of,
        Evaluator,
        ErrorLog,
    ),
    "several": EvaluatedTask(
        SeveralLabels,
        MULTILABEL_METRICS,
        "micro_f1",
        "subset_accuracy",
        Batch.known_labels,
        measure_sets,
        lambda parts, numbers, labels: join_columns(parts),
        partial(partial, sum_outcomes),
        MultilabelEvaluator,
        SetLog,
    ),
}
