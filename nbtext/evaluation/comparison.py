"""Comparison of trained models on the same documents: metrics with intervals, and paired tests.

Source: Dietterich, Approximate Statistical Tests for Comparing Supervised Classification Learning Algorithms, 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Batch
from nbtext.documents.source import Source
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.bootstrap import Estimate, TotalsOf, bias_corrected_interval, metric_values, resample
from nbtext.evaluation.metrics import COMPARED
from nbtext.evaluation.outcomes import LabelNumbers, Outcomes, join_outcomes, measure
from nbtext.features.analyzer import has_own_pattern
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.predictor import Predictions, Predictor
from nbtext.model.source_counting import OnBatch, check_fields
from nbtext.model.source_prediction import map_batches


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
    metrics    Those of `COMPARED`, by name.
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
    """Trained models on the same documents; `labels` are those of the documents and of all models."""

    documents: int
    labels: tuple[str, ...]
    results: tuple[Result, ...]
    tests: tuple[PairedTest, ...]


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
    SettingsError : there is only one model, or a model has other text fields
    """
    if len(candidates) < 2:
        raise SettingsError("a comparison needs at least two models", where="-m", hint="repeat -m")
    models = [candidate.model.fitted for candidate in candidates]
    for model in models:
        check_fields(model.feature_settings.fields, source.field_names)
    predictors = list(map(Predictor, models))

    def predict(batch: Batch) -> list[tuple[Predictions, float]]:
        found = []
        for predictor in predictors:
            before = clock()
            found.append((predictor.predict_batch(batch), clock() - before))
        return found

    jobs = 1 if any(has_own_pattern(model.feature_settings) for model in models) else jobs
    largest = max(models, key=lambda model: len(model.labels))
    numbers, parts, seconds = LabelNumbers(), [list[Outcomes]() for _ in candidates], np.zeros(len(candidates))
    for batches in map_batches(predict, largest, source, jobs=jobs, on_batch=on_batch):
        for k, (predictions, elapsed) in enumerate(batches):
            seconds[k] += elapsed
            if len(predictions):
                parts[k].append(measure(predictions, numbers))
    if not parts[0]:
        raise InputError("there is no document to compare on")
    labels = numbers.sorted()  # of all models: each macro F1 is a mean over the same labels
    outcomes = [join_outcomes(each, numbers, labels) for each in parts]
    values, replicates = _bootstrap(outcomes, seed)
    results = []
    for k, (name, trained, size) in enumerate(candidates):
        documents, n_features = trained.counts.statistics.n_documents, trained.fitted.scorer.n_features
        name_of_model, estimates = trained.fitted.model_settings.model, _estimates(values[k], replicates[:, k])
        results.append(Result(name, name_of_model, documents, n_features, size, float(seconds[k]), estimates))
    names = [candidate.name for candidate in candidates]
    return Comparison(len(outcomes[0]), labels, tuple(results), _test_pairs(names, outcomes, values, replicates))


def _test_pairs(
    names: list[str], outcomes: Sequence[Outcomes], values: Floats, replicates: Floats
) -> tuple[PairedTest, ...]:
    """Compare each pair of models."""
    tests = []
    for a, b in combinations(range(len(names)), 2):
        only_first = int((outcomes[a].is_correct & ~outcomes[b].is_correct).sum())
        only_second = int((outcomes[b].is_correct & ~outcomes[a].is_correct).sum())
        differences = _estimates(values[b] - values[a], replicates[:, b] - replicates[:, a])
        p_value = mcnemar(only_first, only_second)
        tests.append(PairedTest(names[a], names[b], differences, only_first, only_second, p_value))
    return tuple(tests)


def _bootstrap(outcomes: Sequence[Outcomes], seed: int) -> tuple[Floats, Floats]:
    """Compute the compared metrics of each model, shape (n_models, n_metrics), and of resamples of the documents, which
    are the same for all models, shape (n_resamples, n_models, n_metrics).
    """
    totals = list(map(TotalsOf, outcomes))

    def statistic(documents: NDArray[np.int64]) -> list[float]:
        return [value for totals_of in totals for value in metric_values(COMPARED, totals_of(documents))]

    n = len(outcomes[0])
    values = np.reshape(statistic(np.arange(n)), (len(outcomes), len(COMPARED)))
    return values, resample(n, statistic, np.random.default_rng(seed)).reshape(-1, *values.shape)


def _estimates(values: Floats, replicates: Floats) -> dict[str, Estimate]:
    triples = zip(COMPARED, values.tolist(), replicates.T, strict=True)
    return {metric.name: bias_corrected_interval(value, found) for metric, value, found in triples}


def mcnemar(only_first: int, only_second: int) -> float:
    """Compute the p-value of McNemar's test: exact by the binomial distribution, and two-sided.

    Source: McNemar, Note on the sampling error of the difference between correlated proportions, 1947.
    """
    from scipy.special import bdtr

    n = only_first + only_second
    return float(min(1.0, 2 * bdtr(min(only_first, only_second), n, 0.5))) if n else 1.0
