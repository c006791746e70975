"""Training of linear models: from the weighted counts of documents to a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, log_prior
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
    lengths = _count_known(sample, n_hapax, model_settings)
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
    return FittedModel(
        task, features, model_settings, counts.vocabulary, None, weighting, learned.scorer, hyperparameters
    )


def fit_linear_multilabel_model(
    counts: CorpusCounts,
    columns: NDArray[np.int64] | None,
    n_hapax: NDArray[np.float64] | None,
    features: FeatureSettings,
    settings: ModelSettings,
    jobs: int,
) -> FittedModel:
    """Fit a discriminative model to all documents with several labels, over its features.

    columns  which features of the corpus these are; None: all
    n_hapax  (n_documents,), tokens of each document whose features occur in no other document; None: no such tokens
    """
    from nbtext.bayes.label_sets import LabelSets
    from nbtext.linear.data import TrainingData
    from nbtext.linear.label_learning import learn_labels
    from nbtext.model.multilabel import check_labels, log_shares
    from nbtext.model.several_labels import SeveralLabels

    labels, label_sets = check_labels(counts)
    counts, weighting = weigh_documents(counts, features)
    sets, sample = LabelSets.of(label_sets, counts.labels), counts.sample
    data = TrainingData(
        sample.indptr, sample.indices, np.asarray(sample.counts, dtype=np.float64), sample.classes,
        counts.statistics.n_features, len(labels), sample.hashes, sets=replace(sets, classes=sets.classes - 1),
    )  # fmt: skip
    n_known = _count_known(sample, n_hapax, settings)
    learned = learn_labels(data, settings, lengths=n_known * (np.diff(sample.indptr) > 0), jobs=jobs)
    priors = learned.scorer.bias[: len(labels)]
    task = SeveralLabels(labels, log_shares(counts.statistics.class_documents), priors, learned.fit)
    return FittedModel(
        task, features, settings, counts.vocabulary, columns, weighting, learned.scorer, learned.hyperparameters
    )


def _count_known(
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
    n_documents, n_occurrences = statistics.n_documents, statistics.n_occurrences
    return Weighting.fitted(
        features,
        statistics.document_frequencies,
        n_documents=n_documents,
        mean_length=n_occurrences / n_documents,
    )


def check_complete(statistics: ClassStatistics, sample: DocumentCounts) -> None:
    """Raise ModelError unless every document is in the sample."""
    if len(sample) != statistics.n_documents:
        raise ModelError(
            "this model needs the counts of each document, which SOURCE does not hold",
            hint="train it on the texts",
        )
