"""Comparison of trained models on the same documents: metrics with intervals, and paired tests.

Source: Dietterich, Approximate Statistical Tests for Comparing Supervised Classification Learning Algorithms, 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Batch
from nbtext.documents.source import Source
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.bootstrap import Estimate, TotalsOf, bias_corrected_interval, metric_values, resample
from nbtext.evaluation.error_log import check_labels
from nbtext.evaluation.metrics import COMPARED, Metric
from nbtext.evaluation.multilabel import MULTILABEL_METRICS, MultilabelOutcomes, join_set_outcomes, sum_outcomes
from nbtext.evaluation.multilabel_evaluator import measure_sets
from nbtext.evaluation.outcomes import LabelNumbers, Outcomes, join_outcomes, measure, true_sets
from nbtext.features.analyzer import has_own_pattern
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE
from nbtext.model.source_counting import OnBatch, check_fields
from nbtext.model.source_prediction import batch_predictor, map_batches
from nbtext.model.task import OneLabel


class Candidate(NamedTuple):
    """A trained model to compare; `size` is that of its file in bytes."""

    name: str
    model: TrainedModel
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The metrics of one model.

    model      The event model or linear model.
    documents  Number of training documents.
    seconds    CPU time of all predictions, in seconds.
    metrics    The compared metrics, by name.
    """

    name: str
    model: str
    documents: int
    n_features: int
    size: int | None
    seconds: float
    metrics: dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two models on the same documents.

    differences  Metrics of the second model minus those of the first, by name.
    only_first   Documents that only the first model predicts correctly.
    only_second  Documents that only the second model predicts correctly.
    p_value      The p-value of McNemar's test.
    """

    first: str
    second: str
    differences: dict[str, Estimate]
    only_first: int
    only_second: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Trained models on the same documents.

    labels   Those of the documents and of all models.
    metrics  The compared metrics.
    correct  The name of the metric whose correct documents McNemar's test compares.
    """

    documents: int
    labels: tuple[str, ...]
    results: tuple[Result, ...]
    tests: tuple[PairedTest, ...]
    metrics: tuple[Metric[Any], ...]
    correct: str


def compare_models(
    candidates: Sequence[Candidate],
    source: Source,
    *,
    clock: Callable[[], float],
    jobs: int = 1,
    seed: int = 1,
    on_batch: OnBatch | None = None,
) -> Comparison:
    """Predict every document of a source, which is read once, with each model.

    Memory holds the models, and a few numbers for each document and model.

    Parameters
    ----------
    clock : returns the seconds that the thread has run
    seed : of the bootstrap

    Raises
    ------
    InputError : a document has no label, or there is none
    SettingsError : there is only one model, or a model has other text fields, or only some predict several labels
    """
    if len(candidates) < 2:
        raise SettingsError("a comparison needs at least two models", where="-m", hint="repeat -m")
    models = [candidate.model.fitted for candidate in candidates]
    is_multilabel = not isinstance(models[0].task, OneLabel)
    if len({model.task.name for model in models}) > 1:
        hint = "compare models of one kind"
        raise SettingsError("some models predict one label for a document, others several", where="-m", hint=hint)
    for model in models:
        check_fields(model.feature_settings.fields, source.field_names)
    predictors = [batch_predictor(model, MOST_PROBABLE) for model in models]

    def predict(batch: Batch) -> list[tuple[Predictions, float]]:
        check_labels(batch, models[0].task.name)
        found = []
        for predict_batch in predictors:
            before = clock()
            found.append((predict_batch(batch), clock() - before))
        return found

    jobs = 1 if any(has_own_pattern(model.feature_settings) for model in models) else jobs
    largest = max(models, key=lambda model: len(model.labels))
    outcomes = _SetOutcomes(len(models)) if is_multilabel else _SingleOutcomes(len(models))
    seconds = np.zeros(len(candidates))
    for batches in map_batches(predict, largest, source, jobs=jobs, on_batch=on_batch):
        for k, (predictions, elapsed) in enumerate(batches):
            seconds[k] += elapsed
            if len(predictions):
                outcomes.add(k, predictions)
    measured = outcomes.join()
    if measured is None:
        raise InputError("SOURCE has no documents to compare the models on")
    values, replicates = _bootstrap(measured, seed)
    results = _list_results(candidates, measured, seconds, values, replicates)
    names = [candidate.name for candidate in candidates]
    tests = _test_pairs(names, measured, values, replicates)
    return Comparison(measured.n_documents, measured.labels, results, tests, measured.metrics, measured.correct)


@dataclass(frozen=True, eq=False)
class _Measured:
    """The outcomes of all models on the same documents.

    metrics     The compared metrics.
    correct     The metric that is the share of correct documents.
    totals_of   For each model: computes the totals of any of the documents.
    is_correct  Shape (n_models, n_documents).
    """

    labels: tuple[str, ...]
    metrics: tuple[Metric[Any], ...]
    correct: str
    totals_of: Sequence[Callable[[NDArray[np.int64]], Any]]
    is_correct: NDArray[np.bool_]

    @property
    def n_documents(self) -> int:
        return len(self.is_correct[0])


class _SingleOutcomes:
    """Collects the outcomes of models that predict one label for a document."""

    def __init__(self, n_models: int) -> None:
        self._numbers, self._parts = LabelNumbers(), [list[Outcomes]() for _ in range(n_models)]

    def add(self, model: int, predictions: Predictions) -> None:
        """Add a batch of predictions of a model."""
        self._parts[model].append(measure(predictions, self._numbers))

    def join(self) -> _Measured | None:
        """Return the outcomes of all documents; None if there is none."""
        if not self._parts[0]:
            return None
        labels = self._numbers.sorted()  # of all models: each macro F1 is a mean over the same labels
        outcomes = [join_outcomes(each, self._numbers, labels) for each in self._parts]
        is_correct = np.array([each.is_correct for each in outcomes])
        return _Measured(labels, COMPARED, "accuracy", list(map(TotalsOf, outcomes)), is_correct)


class _SetOutcomes:
    """Collects the outcomes of models that predict several labels; a document is correct if all its labels are."""

    def __init__(self, n_models: int) -> None:
        self._labels, self._parts = set[str](), [list[MultilabelOutcomes]() for _ in range(n_models)]

    def add(self, model: int, predictions: Predictions) -> None:
        """Add a batch of predictions of a model."""
        self._labels.update(predictions.classes, *true_sets(predictions))
        self._parts[model].append(measure_sets(predictions))

    def join(self) -> _Measured | None:
        """Return the outcomes of all documents; None if there is none."""
        if not self._parts[0]:
            return None
        outcomes, n_labels = list(map(join_set_outcomes, self._parts)), len(self._labels)
        metrics = tuple(metric for metric in MULTILABEL_METRICS.values() if metric.is_compared)
        totals_of = [partial(sum_outcomes, each, n_labels) for each in outcomes]
        is_correct = np.array([each.is_exact for each in outcomes])
        return _Measured(tuple(sorted(self._labels)), metrics, "subset_accuracy", totals_of, is_correct)


def _list_results(
    candidates: Sequence[Candidate], measured: _Measured, seconds: Floats, values: Floats, replicates: Floats
) -> tuple[Result, ...]:
    """Return the metrics of each model."""
    results = []
    for k, (name, trained, size) in enumerate(candidates):
        fitted, n_documents = trained.fitted, trained.counts.statistics.n_documents
        is_named = isinstance(fitted.task, OneLabel) or fitted.model_settings.is_linear
        kind = fitted.model_settings.model if is_named else "multi-label"
        estimates = _estimates(measured.metrics, values[k], replicates[:, k])
        results.append(Result(name, kind, n_documents, fitted.scorer.n_features, size, float(seconds[k]), estimates))
    return tuple(results)


def _test_pairs(names: list[str], measured: _Measured, values: Floats, replicates: Floats) -> tuple[PairedTest, ...]:
    """Compare each pair of models."""
    tests, is_correct = [], measured.is_correct
    for a, b in combinations(range(len(names)), 2):
        only_first = int((is_correct[a] & ~is_correct[b]).sum())
        only_second = int((is_correct[b] & ~is_correct[a]).sum())
        differences = _estimates(measured.metrics, values[b] - values[a], replicates[:, b] - replicates[:, a])
        p_value = mcnemar(only_first, only_second)
        tests.append(PairedTest(names[a], names[b], differences, only_first, only_second, p_value))
    return tuple(tests)


def _bootstrap(measured: _Measured, seed: int) -> tuple[Floats, Floats]:
    """Compute the compared metrics of each model, shape (n_models, n_metrics), and of resamples of the documents, which
    are the same for all models, shape (n_resamples, n_models, n_metrics).
    """

    def statistic(documents: NDArray[np.int64]) -> list[float]:
        totals = (totals_of(documents) for totals_of in measured.totals_of)
        return [value for each in totals for value in metric_values(measured.metrics, each)]

    n = measured.n_documents
    values = np.reshape(statistic(np.arange(n)), (len(measured.totals_of), len(measured.metrics)))
    return values, resample(n, statistic, np.random.default_rng(seed)).reshape(-1, *values.shape)


def _estimates(metrics: tuple[Metric[Any], ...], values: Floats, replicates: Floats) -> dict[str, Estimate]:
    triples = zip(metrics, values.tolist(), replicates.T, strict=True)
    return {metric.name: bias_corrected_interval(value, found) for metric, value, found in triples}


def mcnemar(only_first: int, only_second: int) -> float:
    """Compute the p-value of McNemar's test: exact by the binomial distribution, and two-sided.

    Source: McNemar, Note on the sampling error of the difference between correlated proportions, 1947.
    """
    from scipy.special import bdtr

    n = only_first + only_second
    return float(min(1.0, 2 * bdtr(min(only_first, only_second), n, 0.5))) if n else 1.0
