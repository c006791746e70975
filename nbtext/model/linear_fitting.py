"""Training of linear models: from the weighted counts of documents to a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, count_classes, log_prior
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.targets import find_goals
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts, count_copies
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.task import OneLabel


def fit_linear_model(
    counts: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    *,
    n_hapax: NDArray[np.float64] | None,
    jobs: int,
    check: Callable[[], None] | None = None,
) -> FittedModel:
    """Fit a discriminative model to all documents.

    n_hapax  (n_documents,), tokens of each document whose features occur in no other document; None: no such tokens
    check    called often; an error that it raises ends the fit
    """
    from nbtext.linear.data import TrainingData
    from nbtext.linear.lbfgs import do_nothing
    from nbtext.linear.learning import learn

    statistics = counts.statistics
    counts, weighting = weigh_documents(counts, features)
    sample = counts.sample
    lengths = count_known(sample, n_hapax, model_settings)
    class_weights = model_settings.class_weights_of(counts.labels, statistics.class_documents.tolist())
    data = TrainingData(
        sample.indptr, sample.indices, np.asarray(sample.counts, dtype=np.float64), sample.classes,
        statistics.n_features, statistics.n_classes, sample.hashes,
        None if class_weights is None else np.array(class_weights),
    )  # fmt: skip
    goals = find_goals(model_settings, counts.labels)
    log_priors = log_prior(statistics.class_documents, model_settings.prior_of(counts.labels))
    learned = learn(
        data, lengths, model_settings, goals=goals, log_prior=log_priors, jobs=jobs, check=check or do_nothing
    )
    hyperparameters, calibration, estimate = learned.selection
    task = OneLabel.of(counts.labels, log_priors, statistics.class_documents, model_settings, calibration, estimate)
    found = counts.vocabulary, None, weighting, learned.scorer, hyperparameters
    return FittedModel(task, features, model_settings, *found)


def count_known(
    sample: DocumentCounts, n_hapax: NDArray[np.float64] | None, settings: ModelSettings
) -> NDArray[np.float64]:
    """Return the tokens of each document that models of other folds know, (n_documents,); see `LeaveOneOut.n_known`."""
    if n_hapax is None:
        return sample.lengths
    is_alone = ~np.logical_and(settings.is_separate, count_copies(sample) > 1)
    return np.asarray(sample.lengths - n_hapax * is_alone)


def weigh_documents(counts: CorpusCounts, features: FeatureSettings) -> tuple[CorpusCounts, Weighting]:
    """Return counts whose retained documents, which must be all, are weighted, and the weighting."""
    check_complete(counts.statistics, counts.sample)
    weighting = counts.weighting or fit_weighting(counts.statistics, features)
    if counts.weighting is None:
        sample = counts.sample
        weights = weighting.weights(sample.indptr, sample.indices, sample.counts)
        counts = replace(counts, sample=sample.weigh(np.asarray(weights, dtype=np.float64)))
    return counts, weighting


def fit_weighting(statistics: ClassStatistics, features: FeatureSettings) -> Weighting:
    n_documents, mean_length = statistics.n_documents, statistics.n_occurrences / statistics.n_documents
    return Weighting.fitted(features, statistics.document_frequencies, n_documents=n_documents, mean_length=mean_length)


def check_complete(statistics: ClassStatistics, sample: DocumentCounts) -> None:
    """Raise ModelError unless every document is in the sample."""
    if len(sample) != statistics.n_documents:
        what = "this model needs the counts of each document, which SOURCE does not hold"
        raise ModelError(what, hint="train it on the texts")


def weight_counts(
    statistics: ClassStatistics, sample: DocumentCounts, weighting: Weighting
) -> tuple[ClassStatistics, DocumentCounts]:
    """Return the class statistics and the sample of the weighted counts."""
    if weighting.is_counting:
        return (statistics.binarize(), sample.binarize()) if weighting.tf == "binary" else (statistics, sample)
    weights: NDArray[np.float64] = weighting.weights(sample.indptr, sample.indices, sample.counts)
    weighted = sample.weigh(weights)
    if weighting.is_linear and weighting.idf is not None:
        counted = statistics.binarize() if weighting.tf == "binary" else statistics
        return counted.scale(weighting.idf), weighted
    check_complete(statistics, sample)
    return count_classes(weighted, statistics.n_features, statistics.n_classes), weighted
