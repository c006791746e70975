"""Comparison of trained models on the same documents: metrics with intervals, and paired tests.

Source: Dietterich, Approximate Statistical Tests for Comparing Supervised Classification Learning
Algorithms, 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.documents.batch import Batch
from nbtext.documents.source import Source
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.bootstrap import Estimate, bias_corrected_interval, resample
from nbtext.evaluation.metrics import Metric, compute_metrics
from nbtext.evaluation.overlap import Overlap
from nbtext.features.analyzer import has_own_pattern
from nbtext.model.fitted_model import TrainedModel, check_kinds
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE
from nbtext.model.source_counting import OnBatch, check_fields
from nbtext.model.source_prediction import batch_predictor, map_batches
from nbtext.model.tasks import TASKS
from nbtext.records import Strings


class NamedModel(NamedTuple):
    """A trained model to compare; `size` is that of its file in bytes."""

    name: str
    model: TrainedModel
    size: int | None = None


class ComparedModel(NamedTuple):
    """The metrics of one model.

    model      The event model or linear model.
    documents  Number of training documents.
    trained_on  Number of the compared documents that the model was trained on, also if it is
                estimated; None: not known.
    seconds    CPU time of all predictions, in seconds.
    metrics    The compared metrics, by name.
    """

    name: str
    model: str
    documents: int
    n_features: int
    size: int | None
    seconds: float
    trained_on: int | None
    metrics: dict[str, Estimate]


class PairedTest(NamedTuple):
    """Two models on the same documents.

    only_first   Documents that only the first model predicts correctly.
    only_second  Documents that only the second model predicts correctly.
    p_value      The p-value of McNemar's test; None: a model was trained on many of the documents,
                 so that the test tells nothing of new ones.
    differences  Metrics of the second model minus those of the first, by name.
    """

    first: str
    second: str
    only_first: int
    only_second: int
    p_value: float | None
    differences: dict[str, Estimate]


class Comparison(NamedTuple):
    """Trained models on the same documents.

    labels         Those of the documents and of all models.
    unknown_label  Number of documents with a true label that one of the models does not know.
                   Metrics of probabilities leave them out.
    metrics        The compared metrics, those that are measured.
    notes          Which models were trained on how many of the documents.
    """

    documents: int
    labels: Strings
    unknown_label: int
    results: tuple[ComparedModel, ...]
    tests: tuple[PairedTest, ...]
    metrics: tuple[Metric[Any], ...]
    notes: Strings = ()


def compare_models(
    candidates: Sequence[NamedModel],
    source: Source,
    *,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> Comparison:
    """Predict every document of a source, which is read once, with each model.

    Memory holds the models, and a few numbers for each document and model.

    Raises
    ------
    InputError : a document has no label, or there is none, or a matrix has only the numbers of
    columns and labels, and these differ among models
    SettingsError : there is only one model, or a model has other text fields, or only some predict
    several labels
    """
    if len(candidates) < 2:
        raise SettingsError("a comparison needs at least two models", where="-m", hint="repeat -m")
    models = [candidate.model.fitted for candidate in candidates]
    for candidate, model in zip(candidates, models, strict=True):
        check_kinds(candidates[0].model, candidate.model)
        check_fields(model.feature_settings.fields, source.field_names)
    matrix = source.first_matrix()
    if matrix is not None and matrix.is_numbered:
        first = models[0]
        if any(
            model.vocabulary != first.vocabulary or model.labels != first.labels for model in models
        ):
            what = "the models have different features or labels, and the matrix has only the numbers of columns"
            raise InputError(what, hint="give the texts, or an .npz file of nbtext vectorize")
    predictors = [batch_predictor(model, MOST_PROBABLE) for model in models]
    task = TASKS[models[0].task.name]
    kind = task.load("evaluator")
    evaluators = [kind() for _ in models]

    overlaps = [Overlap(candidate.model) for candidate in candidates]

    def predict(batch: Batch) -> list[tuple[Predictions, float]]:
        task.check(batch)
        found = []
        for predict_batch, overlap in zip(predictors, overlaps, strict=True):
            before = thread_time()
            predictions = predict_batch(batch)
            found.append((predictions, thread_time() - before))
            overlap.count(batch, predictions.known)
        return found

    jobs = 1 if any(has_own_pattern(model.feature_settings) for model in models) else jobs
    largest = max(models, key=lambda model: len(model.labels))
    seconds = np.zeros(len(candidates))
    for batches in map_batches(predict, largest, source, jobs=jobs, on_batch=on_batch):
        for k, (predictions, elapsed) in enumerate(batches):
            seconds[k] += elapsed
            evaluators[k].add(predictions)
    labels = tuple(sorted({label for each in evaluators for label in each.labels}))
    outcomes = [each.outcomes(labels) for each in evaluators]
    is_known = np.logical_and.reduce([each.is_known for each in outcomes])
    outcomes = [replace(each, is_known=is_known) for each in outcomes]
    add_up = [kind.totals_of(each, len(labels)) for each in outcomes]
    n_documents = len(outcomes[0])
    measured = compute_metrics(add_up[0](np.arange(n_documents)), kind.metrics)
    metrics = {name: kind.metrics[name] for name in measured if kind.metrics[name].is_compared}

    def statistic(documents: Integers) -> list[float]:
        found = [compute_metrics(each(documents), metrics) for each in add_up]
        return [each.get(name, np.nan) for each in found for name in metrics]

    def estimate(values: Floats, replicates: Floats) -> dict[str, Estimate]:
        triples = zip(metrics, values.tolist(), replicates.T, strict=True)
        return {name: bias_corrected_interval(value, found) for name, value, found in triples}

    values = np.reshape(statistic(np.arange(n_documents)), (len(models), len(metrics)))
    # (n_resamples, n_models, n_metrics): the resamples are the same for all models
    replicates = resample(n_documents, statistic, np.random.default_rng(1)).reshape(
        -1, *values.shape
    )
    results = []
    for k, (name, trained, size) in enumerate(candidates):
        results.append(
            ComparedModel(
                name,
                models[k].model_settings.model,
                trained.statistics.n_documents,
                models[k].scorer.n_features,
                size,
                float(seconds[k]),
                round(overlaps[k].share * n_documents) if overlaps[k].documents else None,
                estimate(values[k], replicates[:, k]),
            )
        )
    tests = []
    for a, b in combinations(range(len(models)), 2):
        one = outcomes[a].is_correct
        other = outcomes[b].is_correct
        only = int((one & ~other).sum()), int((other & ~one).sum())
        differences = estimate(values[b] - values[a], replicates[:, b] - replicates[:, a])
        p_value = None if overlaps[a].is_large or overlaps[b].is_large else mcnemar(*only)
        tests.append(
            PairedTest(candidates[a].name, candidates[b].name, *only, p_value, differences)
        )
    n_unknown = n_documents - int(is_known.sum())
    notes = tuple(
        f"{candidate.name} was trained on {overlap.describe(n_documents)}."
        for candidate, overlap in zip(candidates, overlaps, strict=True)
        if overlap.trained
    )
    return Comparison(
        n_documents,
        labels,
        n_unknown,
        tuple(results),
        tuple(tests),
        tuple(metrics.values()),
        notes,
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """Compute the p-value of McNemar's test: exact by the binomial distribution, and two-sided.

    Source: McNemar, Note on the sampling error of the difference between correlated proportions,
    1947.
    """
    from scipy.special import bdtr

    n = only_first + only_second
    return float(min(1.0, 2 * bdtr(min(only_first, only_second), n, 0.5))) if n else 1.0
