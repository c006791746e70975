"""Models of documents with several labels: which settings they take, and how they are fitted to counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.binary_relevance import compile_relevance
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.label_selection import DEFAULT, MACRO_F1, MultilabelFit, select_multilabel
from nbtext.bayes.label_sets import LabelSets
from nbtext.bayes.relevance_leave_one_out import LabelCounts, RelevanceLeaveOneOut
from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.errors import ModelError, SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.linear_fitting import count_known, weigh_documents, weight_counts
from nbtext.model.several_labels import SeveralLabels

SINGLE_HINT = "leave out this option, or train on documents with one label each"


def check_multilabel_settings(features: FeatureSettings, model_settings: ModelSettings) -> None:
    """Raise SettingsError if a setting does not apply to documents with several labels."""
    several, is_linear = "documents with several labels", model_settings.is_linear
    if model_settings.model != AUTO and not is_linear:
        hint = "leave out --model for Naive Bayes, or use --model svm or nbsvm"
        raise SettingsError(f"{model_settings.model} cannot be trained on {several}", where="model", hint=hint)
    if not is_linear and (not features.is_counting or features.idf != "none"):
        what, hint = f"Naive Bayes of {several} needs counts without weights", "use a linear model, such as --model svm"
        raise SettingsError(what, where="weighting", hint=hint)
    if features.select is not None:
        hint = "use --min-df, --max-df or --max-features"
        raise SettingsError(f"cannot be used with {several}", where="select", hint=hint)
    if model_settings.optimize not in (None, MACRO_F1):
        hint = "leave it out to maximize micro-F1, or give macro_f1"
        what = f"{model_settings.optimize} can be optimized only for documents with one label each"
        raise SettingsError(what, where="optimize", hint=hint)
    default = ModelSettings()
    for name in ("smoothing", "prior", "class_weight", "calibrate", "min_recall", "min_precision"):
        if getattr(model_settings, name) != getattr(default, name):
            raise SettingsError(f"cannot be used with {several}", where=name, hint=SINGLE_HINT)


def fit_several_labels(
    counts: CorpusCounts,
    columns: NDArray[np.int64] | None,
    n_hapax: NDArray[np.float64] | None,
    features: FeatureSettings,
    model_settings: ModelSettings,
    fit: MultilabelFit | None = None,
    *,
    jobs: int = 1,
) -> FittedModel:
    """Fit a model to the counts of documents with several labels, over its features: Naive Bayes, or a linear model.

    columns  which features of the corpus these are; None: all
    n_hapax  (n_sampled,), tokens of each retained document that are out of vocabulary without it; None: none are
    fit      of Naive Bayes: the smoothing, the calibration and the thresholds; None: they are selected by leave-one-out
    jobs     number of threads
    raises   ModelError: no document has a label, or the counts are of a matrix
    """
    label_sets, labels = counts.label_sets, counts.labels
    if label_sets is None or counts.weighting is not None:
        what = "a matrix of documents with several labels cannot be used for training"
        raise ModelError(what, hint="train on the texts")
    if not labels:
        raise ModelError("no document has a label", hint="add documents with labels")
    sets, log_prior = (
        LabelSets.of(label_sets, counts.labels),
        log_shares(counts.statistics.class_documents, counts.statistics.n_documents),
    )
    if model_settings.is_linear:
        from nbtext.linear.data import TrainingData
        from nbtext.linear.label_learning import learn_labels

        counts, weighting = weigh_documents(counts, features)
        sample = counts.sample
        data = TrainingData(
            sample.indptr, sample.indices, np.asarray(sample.counts, dtype=np.float64), sample.classes,
            counts.statistics.n_features, len(labels), sample.hashes, sets=sets,
        )  # fmt: skip
        n_known = count_known(sample, n_hapax, model_settings) * (np.diff(sample.indptr) > 0)
        scorer, hyperparameters, fit = learn_labels(data, model_settings, lengths=n_known, jobs=jobs)
    else:
        weighting = Weighting("binary" if features.tf == "binary" else "count")
        if fit is None:
            corpus = leave_out_labels(counts, weighting, n_hapax, is_separate=model_settings.is_separate)
            corpus = corpus if counts.has_all_documents else corpus.drop_last_content()
            fit = select_multilabel(corpus, optimize=model_settings.optimize, jobs=jobs)
        smoothing, (statistics, _) = (
            fit.smoothing or DEFAULT,
            weight_counts(counts.statistics, counts.sample, weighting),
        )
        scorer, hyperparameters = compile_relevance(statistics, smoothing), Hyperparameters(smoothing.alpha or 0.0)
    task = SeveralLabels(labels, log_prior, scorer.bias[: len(labels)], fit)
    return FittedModel(task, features, model_settings, counts.vocabulary, columns, weighting, scorer, hyperparameters)


def leave_out_labels(
    counts: CorpusCounts, weighting: Weighting, n_hapax: NDArray[np.float64] | None, *, is_separate: bool = False
) -> RelevanceLeaveOneOut:
    """Return the retained documents of counts over the features of a model, to be left out; see fit_several_labels."""
    statistics, sample = weight_counts(counts.statistics, counts.sample, weighting)
    sets = LabelSets.of(counts.sets, counts.labels)
    return RelevanceLeaveOneOut(LabelCounts.of(statistics), sample, sets, n_hapax, is_separate)


def log_shares(class_documents: NDArray[Any], n_documents: int) -> Floats:
    """Return the logarithm of the share of the documents that have each label, (n_labels,); half a document is added.

    class_documents  (n_labels,), documents with each label, of all `n_documents`
    """
    return np.asarray(np.log(class_documents + 0.5) - np.log(n_documents + 1))


def keep_multilabel(earlier: FittedModel, settings: ModelSettings) -> MultilabelFit:
    """Return the fit of an earlier model; ModelError if other settings need other thresholds than the fit has."""
    check_multilabel_settings(earlier.feature_settings, settings)
    if settings != earlier.model_settings:
        raise ModelError(
            "selecting thresholds needs retained documents, and the model has none", hint="train with --keep-sample"
        )
    return earlier.several_labels.fit
