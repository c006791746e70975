"""Fitting: from a corpus's counts to a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, log_prior
from nbtext.bayes.event_model import EventModel
from nbtext.bayes.leave_one_out import LeaveOneOut, count_hapaxes
from nbtext.bayes.scored_corpus import ScoredCorpus
from nbtext.bayes.settings import AUTO, DECISION_METRICS, SELECTABLE_MODELS, ModelSettings
from nbtext.bayes.smoothing import Selection, choose_documents, compare_event_models, select_smoothing
from nbtext.bayes.targets import Goals, find_goals
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.selection import is_selective, no_token, select_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CALIBRATION_SIZE, CorpusCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.linear_fitting import check_complete, fit_linear_model, fit_weighting, weight_counts
from nbtext.model.task import OneLabel

if TYPE_CHECKING:
    from nbtext.bayes.label_selection import MultilabelFit

Unseen = tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]  # see count_unseen


def fit_model(  # noqa: PLR0913 - what is fitted, what is known of it, and how to compute
    counts: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    *,
    jobs: int = 1,
    selection: Selection | MultilabelFit | None = None,
    is_new: NDArray[np.bool_] | None = None,
    is_model_selected: bool = False,
    check: Callable[[], None] | None = None,
) -> FittedModel:
    """Fit a model to counts.

    jobs       number of threads
    selection  the smoothing and calibration; None: they are selected
    is_new     (n_sampled,), which documents of the sample are not in the counts; None: none
    is_model_selected  whether an earlier selection chose the event model; the model is calibrated as after one
    check      called often by a linear model; an error that it raises ends the fit
    raises     ModelError: no documents or features are left; SettingsError: the settings do not fit the model
    """
    if counts.statistics.n_documents == 0:
        raise ModelError("the counts contain no documents to train on")
    if counts.task == "several":
        from nbtext.model.multilabel import check_multilabel_settings, fit_several_labels

        check_multilabel_settings(features, model_settings)
        counts, columns = select_features(align_to_vocabulary(counts, features), features)
        n_hapax, known = count_unseen(counts, features)[0], selection if not isinstance(selection, Selection) else None
        return fit_several_labels(counts, columns, n_hapax, features, model_settings, known, jobs=jobs)
    counts = replace(counts, empty=counts.empty_documents)
    counts, columns = select_features(align_to_vocabulary(counts, features), features)
    is_model_selected = is_model_selected or model_settings.model == AUTO
    if is_model_selected and is_new is None and not model_settings.has_targets:
        counts = _drop_unused_documents(counts, features)
    unseen = count_unseen(counts, features, is_new)
    goals = _find_goals(model_settings, counts.labels, adjusts_prior=is_model_selected)
    tf, corpus, empty = features.tf, None, _count_empty(counts)
    if model_settings.model == AUTO:
        selected = _select_event_model(counts, unseen, features, model_settings, goals, jobs)
        features, model_settings, corpus = selected
    _refuse_negative(counts.sample, model_settings)
    if model_settings.is_linear:
        fitted = fit_linear_model(counts, features, model_settings, n_hapax=unseen[0], jobs=jobs, check=check)
        return replace(fitted, columns=columns)
    event_model = model_settings.event_model
    weighting = _weighting(counts, features, event_model)
    if weighting is not counts.weighting:
        _check_signs(event_model, model_settings, weighting)
    statistics, sample = compute_sufficient_statistics(counts, weighting, model_settings)
    prior = model_settings.prior_of(counts.labels)
    if not isinstance(selection, Selection):
        if corpus is None or is_new is not None:
            left_out = LeaveOneOut(
                statistics, sample, unseen[0], event_model, prior, jobs, is_new, unseen[1], empty,
                model_settings.is_separate,
            )  # fmt: skip
            size = CALIBRATION_SIZE if is_model_selected else None
            corpus = choose_documents(left_out, goals, size)
        selection = select_smoothing(corpus, model_settings.smoothing, calibrate=model_settings.calibrate, goals=goals)
    scorer = event_model.compile(statistics, smoothing=selection.hyperparameters.smoothing)
    log_priors = log_prior(statistics.class_documents, prior)
    hyperparameters, calibration, estimate = selection
    task = OneLabel.of(counts.labels, log_priors, statistics.class_documents, model_settings, calibration, estimate)
    return FittedModel(
        task, features, model_settings, counts.vocabulary, columns, weighting, scorer.with_prior(log_priors),
        hyperparameters, is_model_selected=is_model_selected, is_binary_selected=features.tf != tf,
    )  # fmt: skip


def _count_empty(counts: CorpusCounts) -> NDArray[np.int64] | None:
    """Return the number of documents of each class without a token, (n_classes,); None: not known."""
    found = counts.empty
    return None if found is None else np.array([found.get(each, 0) for each in counts.sets], dtype=np.int64)


def _drop_unused_documents(counts: CorpusCounts, features: FeatureSettings) -> CorpusCounts:
    """Return the counts with only those retained documents by which an event model is selected and calibrated.

    There is one more, because the last of a sample may lack some of its duplicates.
    """
    if not features.is_counting:  # with weights, all documents may be needed for the statistics
        return counts
    return replace(counts, sample=counts.sample.first(CALIBRATION_SIZE + 1))


def _find_goals(model_settings: ModelSettings, labels: tuple[str, ...], *, adjusts_prior: bool) -> Goals:
    """Return the goals of some settings. A prior that is given, or that --optimize adjusts, is not adjusted again."""
    goals, has_prior = find_goals(model_settings, labels), model_settings.prior is not None
    adjusts_prior &= model_settings.calibrate and not has_prior and model_settings.class_weight is None
    return replace(goals, adjusts_prior=adjusts_prior and goals.optimize in (None, *DECISION_METRICS))


def _select_event_model(
    counts: CorpusCounts,
    unseen: Unseen,
    features: FeatureSettings,
    model_settings: ModelSettings,
    goals: Goals,
    jobs: int,
) -> tuple[FeatureSettings, ModelSettings, ScoredCorpus]:
    """Select the event model, and counts or binary counts, with the highest leave-one-out accuracy; see
    `compare_event_models`.

    All candidates are fitted to the same statistics, so the text is read once. With two labels, complement Naive Bayes
    is the multinomial model with another prior. Binary counts are tried if the settings ask for plain counts.

    Returns
    -------
    The settings of the best candidate, and its leave-one-out scores so far. If no document can be left out, it is the
    multinomial model.
    """
    statistics, empty = counts.statistics, _count_empty(counts)
    names = SELECTABLE_MODELS[:1] if statistics.n_classes < 3 else SELECTABLE_MODELS
    has_binary = features.is_counting and features.tf == "count" and counts.weighting is None
    tfs = (features.tf, "binary") if has_binary and statistics.knows_documents else (features.tf,)
    candidates, corpora = [], []
    for tf in tfs:
        tf_features = replace(features, tf=tf)
        of_tf = [(tf_features, replace(model_settings, model=name)) for name in names]
        weighting = _weighting(counts, tf_features, of_tf[0][1].event_model)
        weighted = compute_sufficient_statistics(counts, weighting, of_tf[0][1])  # the same for all of these models
        for candidate in of_tf:
            settings = candidate[1]
            _check_signs(settings.event_model, settings, weighting)
            candidates.append(candidate)
            prior = settings.prior_of(counts.labels)
            corpus = LeaveOneOut(
                *weighted, unseen[0], settings.event_model, prior, jobs, None, unseen[1], empty, settings.is_separate
            )
            corpora.append(choose_documents(corpus, goals, CALIBRATION_SIZE))
    best = compare_event_models(corpora, model_settings.smoothing)
    return *candidates[best], corpora[best]


def select_features(counts: CorpusCounts, features: FeatureSettings) -> tuple[CorpusCounts, NDArray[np.int64] | None]:
    """Return the counts of the selected features only, and their columns (None: all of them)."""
    if counts.vocabulary is None or not is_selective(features):
        if counts.statistics.n_features == 0:
            raise no_token()
        return counts, None
    statistics = counts.statistics if counts.statistics.totals is None else counts.statistics.pooled
    columns = select_columns(statistics, statistics.class_documents, features)
    return counts.restrict(columns), columns


def align_to_vocabulary(counts: CorpusCounts, features: FeatureSettings) -> CorpusCounts:
    """Return the counts over the vocabulary of the settings; some of its features may occur in no document."""
    if counts.vocabulary is None or features.vocabulary is None:
        return counts
    given = Vocabulary.from_terms(features.vocabulary)
    places = {term: column for column, term in enumerate(given.terms)}
    columns = np.array([j for j, term in enumerate(counts.vocabulary.terms) if term in places], dtype=np.int64)
    known = counts.restrict(columns)
    goals = np.array([places[term] for term in known.vocabulary or ()], dtype=np.int32)
    classes, sets = np.arange(len(counts.labels)), np.arange(len(counts.sets), dtype=np.int32)
    return replace(
        known,
        vocabulary=given,
        statistics=known.statistics.align(goals, len(given), classes=classes, n_classes=len(classes)),
        sample=known.sample.renumber(goals, sets),
    )


def _weighting(counts: CorpusCounts, features: FeatureSettings, event_model: EventModel) -> Weighting:
    """Return the weighting of the settings, restricted to binary or whole counts if the event model needs these."""
    if event_model.is_binary:
        if not counts.statistics.knows_documents:
            what = "the model file lacks the document frequencies that this model needs"
            raise ModelError(what, hint="train on the texts")
        return Weighting("binary")
    if event_model.is_of_counts and counts.weighting is not None:
        hint = "make the matrix with nbtext vectorize --weighting counts"
        raise ModelError("this model needs counts, and the matrix contains weights", hint=hint)
    if event_model.is_of_counts and not features.is_counting:
        return Weighting("count")
    return counts.weighting or fit_weighting(counts.statistics, features)


def _refuse_negative(documents: DocumentCounts, settings: ModelSettings) -> None:
    """Raise ModelError if a matrix has negative numbers and the model needs counts or weights >= 0."""
    allows_negative = settings.model != "nbsvm" if settings.is_linear else settings.event_model.allows_negative
    if not allows_negative and documents.counts.min(initial=0) < 0:
        hint = "use a model of any numbers, such as gaussian or svm"
        raise ModelError(f"{settings.model} needs numbers >= 0, and the matrix has negative ones", hint=hint)


def _check_signs(event_model: EventModel, model_settings: ModelSettings, weighting: Weighting) -> None:
    """Raise ModelError if features have negative weights and the event model needs counts or weights >= 0."""
    if weighting.idf is not None and weighting.idf.min(initial=0) < 0 and not event_model.allows_negative:
        hint = "use --idf smooth or plain, or a linear model such as --model nbsvm"
        raise ModelError(f"{model_settings.model} needs weights >= 0, and --idf gives negative ones", hint=hint)


def count_unseen(counts: CorpusCounts, features: FeatureSettings, is_new: NDArray[np.bool_] | None = None) -> Unseen:
    """Return how many tokens, and features, of each retained document are out of vocabulary without it.

    Both have the shape (n_sampled,). Duplicates are left out together with a document. The tokens are None if the
    vocabulary does not depend on the documents: it is hashed, given, or of a matrix.

    is_new  (n_sampled,), which documents are not in the counts; None: none
    """
    if counts.vocabulary is None or counts.weighting is not None or features.vocabulary is not None:
        return None, None
    return count_hapaxes(counts.statistics, counts.sample, is_new)


def compute_sufficient_statistics(
    counts: CorpusCounts, weighting: Weighting, model_settings: ModelSettings
) -> tuple[ClassStatistics, DocumentCounts]:
    """Return the sufficient statistics of weighted counts for an event model, and the weighted sample.

    raises  ModelError: the model needs all documents, and some are not in the sample
    """
    statistics, sample = counts.statistics, counts.sample
    if weighting is not counts.weighting:
        statistics, sample = weight_counts(statistics, sample, weighting)
    sufficient_statistics = model_settings.event_model.sufficient_statistics
    if sufficient_statistics is not None:
        check_complete(statistics, sample)
        statistics = sufficient_statistics(statistics, sample, n_values=model_settings.values)
    return statistics, sample
