"""Fitting: from a corpus's counts to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, LabelSets, log_prior
from nbtext.bayes.combination import combine, fit_parts, list_parts
from nbtext.bayes.decision_offsets import Goals, find_goals
from nbtext.bayes.diagnostics import Hyperparameters, Part
from nbtext.bayes.event_model import EventModel
from nbtext.bayes.few_documents import SMOOTHINGS, find_better, is_few
from nbtext.bayes.leave_one_out import LeaveOneOut, ScoredCorpus, count_hapaxes
from nbtext.bayes.scorer import Floats, round_to_float32
from nbtext.bayes.settings import (
    AUTO,
    COMBINED,
    COMPARED_MODELS,
    DECISION_METRICS,
    FEW_DOCUMENTS_MODEL,
    STACKED,
    ModelSettings,
)
from nbtext.bayes.smoothing import (
    NO_GOALS,
    Selection,
    choose_documents,
    compare_event_models,
    search_smoothing,
    select_smoothing,
)
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.selection import is_selective, no_token, select_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views, find_words
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CALIBRATION_SIZE, CorpusCounts
from nbtext.model.fitted_model import DocumentNumbers, FittedModel, TrainedModel
from nbtext.model.task import OneLabel, Task

if TYPE_CHECKING:
    from nbtext.bayes.label_calibration import MultilabelFit

Unseen = tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]  # see count_unseen


def fit_model(
    counts: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    *,
    jobs: int = 1,
    selection: Selection | MultilabelFit | None = None,
    is_new: NDArray[np.bool_] | None = None,
    is_model_selected: bool = False,
) -> FittedModel:
    """Fit a model to counts.

    jobs       number of threads
    selection  the smoothing and calibration; None: they are selected
    is_new     (n_sampled,), which documents of the sample are not in the counts; None: none
    is_model_selected  whether an earlier selection chose the event model; the model is calibrated
                       as after one
    raises     ModelError: no documents or features are left; SettingsError: the settings do not fit
               the model
    """
    if counts.statistics.n_documents == 0:
        raise ModelError("the counts contain no documents to train on")
    if counts.label_sets is not None:
        known = None if isinstance(selection, Selection) else selection
        return _fit_several_labels(counts, features, model_settings, known, jobs)
    counts, columns = select_features(replace(counts, empty=counts.empty_documents), features)
    labels = counts.labels
    has_prior = model_settings.prior is not None
    is_model_selected = is_model_selected or model_settings.model == AUTO
    is_combined = model_settings.model == COMBINED
    # documents that calibrate are enough to estimate, too
    is_sampled = is_model_selected or is_combined
    is_cut = (
        is_sampled and is_new is None and not model_settings.has_targets and features.is_counting
    )
    if is_cut and not is_few(counts.statistics):
        # one document more than needed, because the last of a sample may lack some of its
        # duplicates
        counts = replace(counts, sample=counts.sample.first(CALIBRATION_SIZE + 1))
    n_hapax, n_features_hapax = count_unseen(counts, features, is_new)
    goals = find_goals(model_settings, labels)
    # a prior that is given, or that --optimize adjusts, is not adjusted again
    adjusts_prior = is_sampled or model_settings.model == STACKED
    adjusts_prior = adjusts_prior and model_settings.calibrate and not has_prior
    adjusts_prior = adjusts_prior and model_settings.class_weight is None
    goals = replace(
        goals, adjusts_prior=adjusts_prior and goals.optimize in (None, *DECISION_METRICS)
    )
    n_empty = None
    empty = counts.empty
    if empty is not None:
        n_empty = np.array([empty.get(each, 0) for each in counts.sets], dtype=np.int64)

    def leave_out(
        statistics: ClassStatistics, sample: DocumentCounts, settings: ModelSettings
    ) -> LeaveOneOut:
        return LeaveOneOut(
            statistics,
            sample,
            n_hapax,
            settings.event_model,
            settings.prior_of(labels),
            jobs,
            is_new,
            n_features_hapax,
            n_empty,
        )

    is_linear = model_settings.is_linear
    model = model_settings.model
    allows_negative = (
        model not in ("nbsvm", STACKED) if is_linear else model_settings.event_model.allows_negative
    )
    if not allows_negative and counts.sample.counts.min(initial=0) < 0:
        what = f"{model_settings.model} needs numbers >= 0, and the matrix has negative ones"
        raise ModelError(what, hint="use a model of any numbers, such as gaussian or svm")
    tf = features.tf
    corpus = None
    smoothing = model_settings.smoothing
    if model_settings.model == AUTO:
        selected = _select_event_model(counts, features, model_settings, goals, leave_out)
        features, model_settings, corpus, smoothing = selected
    if is_linear:
        return _fit_linear_model(counts, columns, features, model_settings, n_hapax, jobs, goals)
    if is_combined and _has_binary(counts, features):  # it is at least as accurate as counts
        features = replace(features, tf="binary")
    weighting = _weighting(counts, features, model_settings)
    statistics, sample = compute_sufficient_statistics(counts, weighting, model_settings)
    if not isinstance(selection, Selection):
        if corpus is None or is_new is not None:
            size = CALIBRATION_SIZE if is_sampled else None
            corpus = choose_documents(leave_out(statistics, sample, model_settings), goals, size)
        parts: tuple[Part, ...] = ()
        if is_combined:
            parts = list_parts(features.view, len(labels))
            parts, corpus = fit_parts(
                corpus, parts, features.view, _bounds(features, counts), smoothing
            )
        selection = select_smoothing(
            corpus, smoothing, calibrate=model_settings.calibrate, goals=goals
        )
        selection = selection._replace(
            hyperparameters=replace(selection.hyperparameters, parts=parts)
        )
    hyperparameters, calibration, estimate = selection
    del corpus  # frees its memory
    if is_combined and not hyperparameters.parts:  # of equal weight
        hyperparameters = replace(hyperparameters, parts=list_parts(features.view, len(labels)))
    event_model = _event_model(features, model_settings, hyperparameters, counts)
    scorer = event_model.compile(statistics, smoothing=hyperparameters.smoothing)
    log_priors = log_prior(statistics.class_documents, model_settings.prior_of(labels))
    task = OneLabel(labels, log_priors, calibration, estimate)
    return FittedModel(
        task,
        features,
        model_settings,
        counts.vocabulary,
        columns,
        weighting,
        scorer.with_prior(log_priors),
        hyperparameters,
        is_model_selected=is_model_selected,
        is_binary_selected=features.tf != tf,
    )


def _has_binary(counts: CorpusCounts, features: FeatureSettings) -> bool:
    """Return whether binary counts can be used in place of counts, because the settings ask for
    nothing else.
    """
    is_plain = features.is_counting and features.tf == "count" and counts.weighting is None
    return is_plain and counts.statistics.knows_documents


def _bounds(features: FeatureSettings, counts: CorpusCounts) -> NDArray[np.int64] | None:
    """Return the bounds of the columns of the views; None if there is only one view."""
    if not features.view:
        return None
    assert counts.vocabulary is not None  # for the types: views are not hashed
    return find_views(counts.vocabulary, features.view)


def _event_model(
    features: FeatureSettings,
    settings: ModelSettings,
    hyperparameters: Hyperparameters,
    counts: CorpusCounts,
) -> EventModel:
    """Return the event model of the settings; a combination has the parts of the
    hyperparameters.
    """
    if settings.model != COMBINED:
        return settings.event_model
    return combine(hyperparameters.parts, features.view, _bounds(features, counts))


def _fit_several_labels(
    counts: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    fit: MultilabelFit | None,
    jobs: int,
) -> FittedModel:
    """Fit a model to the counts of documents with several labels: Naive Bayes, or a linear model.

    fit     of Naive Bayes: the smoothing, the calibration and the thresholds; None: they are
            selected by leave-one-out
    raises  ModelError: no document has a label, or the counts are of a matrix
    """
    from nbtext.bayes.binary_relevance import LabelCounts, RelevanceLeaveOneOut, compile_relevance
    from nbtext.bayes.label_calibration import DEFAULT, select_multilabel
    from nbtext.model.several_labels import SeveralLabels

    SeveralLabels.check_training(features, model_settings)
    counts, columns = select_features(counts, features)
    if counts.weighting is not None:
        what = "a matrix of documents with several labels cannot be used for training"
        raise ModelError(what, hint="train on the texts")
    if not counts.labels:
        raise ModelError("no document has a label", hint="add documents with labels")
    n_hapax, _ = count_unseen(counts, features)
    if model_settings.is_linear:
        return _fit_linear_model(counts, columns, features, model_settings, n_hapax, jobs)
    weighting = Weighting("binary" if features.tf == "binary" else "count")
    if fit is None:
        weighted = counts.weigh(weighting)
        sets = LabelSets.of(counts.sets, counts.labels)
        corpus = RelevanceLeaveOneOut(LabelCounts.of(weighted[0]), weighted[1], sets, n_hapax)
        corpus = corpus if counts.has_all_documents else corpus.drop_last_content()
        fit = select_multilabel(corpus, optimize=model_settings.optimize, jobs=jobs)
    smoothing = fit.smoothing or DEFAULT
    statistics, _ = counts.weigh(weighting)
    scorer = compile_relevance(statistics, smoothing)
    hyperparameters = Hyperparameters(smoothing.alpha or 0.0)
    task = SeveralLabels.of(counts.labels, counts.statistics, scorer, fit)
    return FittedModel(
        task,
        features,
        model_settings,
        counts.vocabulary,
        columns,
        weighting,
        scorer,
        hyperparameters,
    )


def _fit_linear_model(
    counts: CorpusCounts,
    columns: NDArray[np.int64] | None,
    features: FeatureSettings,
    model_settings: ModelSettings,
    n_hapax: NDArray[np.float64] | None,
    jobs: int,
    goals: Goals = NO_GOALS,
) -> FittedModel:
    """Fit a discriminative model to all documents.

    n_hapax  (n_sampled,), tokens of each retained document that no other document has; None: no
             such tokens
    goals    what the decisions have to achieve, if a document has one label
    """
    from nbtext.linear.blocks import BlockedData
    from nbtext.linear.data import TrainingData

    labels = counts.labels
    statistics = counts.statistics
    sample, weighting = counts.weigh_documents(features)

    # tokens that models of other folds know; see `LeaveOneOut.n_known`
    n_known = sample.lengths if n_hapax is None else sample.lengths - n_hapax
    weights = model_settings.class_weights_of(labels, statistics.class_documents.tolist())
    class_weights = None if weights is None else np.array(weights)
    data: TrainingData | BlockedData
    if counts.stored is not None:
        data = BlockedData(
            counts.stored, weighting, statistics.document_frequencies, len(labels), class_weights
        )
    else:
        data = TrainingData(
            sample.indptr,
            sample.indices,
            np.asarray(sample.counts, dtype=np.float64),
            sample.classes,
            statistics.n_features,
            len(labels),
            sample.hashes,
            class_weights,
            None if counts.label_sets is None else LabelSets.of(counts.label_sets, labels),
            features.view,
            None if (bounds := _bounds(features, counts)) is None else tuple(bounds.tolist()),
            find_words(counts.vocabulary, features) if model_settings.model == STACKED else None,
        )
    task: Task
    if isinstance(data, BlockedData) or data.sets is None:
        from nbtext.linear.learning import learn

        log_priors = log_prior(statistics.class_documents, model_settings.prior_of(labels))
        scorer, (hyperparameters, calibration, estimate) = learn(
            data,
            n_known,
            model_settings,
            goals=goals,
            jobs=jobs,
        )
        task = OneLabel(labels, log_priors, calibration, estimate)
    else:
        from nbtext.linear.learning import learn_labels
        from nbtext.model.several_labels import SeveralLabels

        scorer, hyperparameters, fit = learn_labels(
            data, model_settings, lengths=n_known, jobs=jobs
        )
        task = SeveralLabels.of(labels, statistics, scorer, fit)
    if weighting.idf is not None:
        weighting = replace(weighting, idf=round_to_float32(weighting.idf))
    return FittedModel(
        task,
        features,
        model_settings,
        counts.vocabulary,
        columns,
        weighting,
        scorer.round().share_rows(),
        hyperparameters,
        documents=DocumentNumbers.of(statistics),
    )


def _select_event_model(
    counts: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    goals: Goals,
    leave_out: Callable[[ClassStatistics, DocumentCounts, ModelSettings], LeaveOneOut],
) -> tuple[FeatureSettings, ModelSettings, ScoredCorpus, float | None]:
    """Select the event model, and counts or binary counts, with the highest leave-one-out accuracy;
    see `compare_event_models`. With few documents, Dirichlet smoothing is tried, too; see
    `few_documents`.

    All candidates are fitted to the same statistics, so the text is read once. With two labels,
    complement Naive Bayes is the multinomial model with another prior. Binary counts are tried if
    the settings ask for plain counts.

    Returns
    -------
    The settings of the best candidate, its leave-one-out scores so far, and its smoothing if it is
    known. If no document can be left out, it is the multinomial model.
    """
    statistics = counts.statistics
    given = model_settings.smoothing
    tfs = (features.tf, "binary") if _has_binary(counts, features) else (features.tf,)

    def list_candidates(
        names: Sequence[str],
    ) -> list[tuple[FeatureSettings, ModelSettings, LeaveOneOut]]:
        found = []
        for tf in tfs:
            tf_features = replace(features, tf=tf)
            of_tf = [replace(model_settings, model=name) for name in names]
            # the same for all of these models
            weighted = compute_sufficient_statistics(
                counts, _weighting(counts, tf_features, of_tf[0]), of_tf[0]
            )
            found += [(tf_features, settings, leave_out(*weighted, settings)) for settings in of_tf]
        return found

    candidates = list_candidates(
        COMPARED_MODELS[:1] if statistics.n_classes < 3 else COMPARED_MODELS
    )
    corpora = [choose_documents(each, goals, CALIBRATION_SIZE) for _, _, each in candidates]
    best = compare_event_models(corpora, given)
    tf_features, settings, current = candidates[best]
    corpus = corpora[best]
    has_all = len(current.documents) == statistics.n_documents and current.is_new is None
    if has_all and len(corpus) and is_few(statistics):
        others = list_candidates([FEW_DOCUMENTS_MODEL])
        smoothing, smoothings = (
            (search_smoothing(corpus)[0], SMOOTHINGS) if given is None else (given, (given,))
        )
        better = find_better(current, smoothing, [each for _, _, each in others], smoothings)
        if better is not None:
            tf_features, settings, current = others[better[0]]
            given = better[1]
            corpus = choose_documents(current, goals, CALIBRATION_SIZE)
    return tf_features, settings, corpus, given


def select_features(
    counts: CorpusCounts, features: FeatureSettings
) -> tuple[CorpusCounts, NDArray[np.int64] | None]:
    """Return the counts of the selected features of the vocabulary only, and their columns (None:
    all of them).
    """
    counts = align_to_vocabulary(counts, features)
    if counts.vocabulary is None or not is_selective(features):
        if counts.statistics.n_features == 0:
            raise no_token(features)
        return counts, None
    statistics = counts.statistics if counts.statistics.totals is None else counts.statistics.pooled
    columns = select_columns(statistics.entries, statistics.class_documents, features)
    return counts.restrict(columns), columns


def align_to_vocabulary(counts: CorpusCounts, features: FeatureSettings) -> CorpusCounts:
    """Return the counts over the vocabulary of the settings; some of its features may occur in no
    document.
    """
    if counts.vocabulary is None or features.vocabulary is None:
        return counts
    given = Vocabulary.from_terms(features.vocabulary)
    places = {term: column for column, term in enumerate(given.terms)}
    columns = np.array(
        [j for j, term in enumerate(counts.vocabulary.terms) if term in places], dtype=np.int64
    )
    known = counts.restrict(columns)
    goals = np.array([places[term] for term in known.vocabulary or ()], dtype=np.int32)
    classes = np.arange(len(counts.labels))
    sets = np.arange(len(counts.sets), dtype=np.int32)
    statistics = known.statistics.align(goals, len(given), classes=classes, n_classes=len(classes))
    stored = None if known.stored is None else known.stored.renumber(goals, sets)
    return replace(
        known,
        vocabulary=given,
        statistics=statistics,
        sample=known.sample.renumber(goals, sets),
        stored=stored,
    )


def _weighting(
    counts: CorpusCounts, features: FeatureSettings, model_settings: ModelSettings
) -> Weighting:
    """Return the weighting of the settings, restricted to binary or whole counts if the event model
    needs these.

    raises  ModelError: the event model needs other numbers than those of the counts or the settings
    """
    event_model = model_settings.event_model
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
    weighting = counts.fit_weighting(features)
    is_negative = (
        counts.weighting is None and weighting.idf is not None and weighting.idf.min(initial=0) < 0
    )
    if is_negative and not event_model.allows_negative:
        hint = "use --idf smooth or plain, or a linear model such as --model nbsvm"
        raise ModelError(
            f"{model_settings.model} needs weights >= 0, and --idf gives negative ones", hint=hint
        )
    return weighting


def count_unseen(
    counts: CorpusCounts, features: FeatureSettings, is_new: NDArray[np.bool_] | None = None
) -> Unseen:
    """Return how many tokens, and features, of each retained document are out of vocabulary without
    it.

    Both have the shape (n_sampled,). Duplicates are left out together with a document. The tokens
    are None if the vocabulary does not depend on the documents: it is hashed, given, or of a
    matrix.

    is_new  (n_sampled,), which documents are not in the counts; None: none
    """
    if counts.vocabulary is None or counts.weighting is not None or features.vocabulary is not None:
        return None, None
    return count_hapaxes(counts.statistics, counts.sample, is_new)


def compute_sufficient_statistics(
    counts: CorpusCounts, weighting: Weighting, model_settings: ModelSettings
) -> tuple[ClassStatistics, DocumentCounts]:
    """Return the sufficient statistics of weighted counts for an event model, and the weighted
    sample.

    raises  ModelError: the model needs all documents, and some are not in the sample
    """
    is_weighted = weighting is counts.weighting
    statistics, sample = (
        (counts.statistics, counts.sample) if is_weighted else counts.weigh(weighting)
    )
    sufficient_statistics = model_settings.event_model.sufficient_statistics
    if sufficient_statistics is not None:
        counts.check_complete()
        statistics = sufficient_statistics(statistics, sample, n_values=model_settings.values)
    return statistics, sample


def leave_one_out_probabilities(model: TrainedModel) -> tuple[NDArray[np.int64], Floats]:
    """Return the rows of retained documents that can be left out, and their probabilities, (n_rows,
    n_classes).

    A document is scored by a model of all others; duplicates are left out together. The
    smoothing and the calibration are those of the model. A document that is the only one of its
    label cannot be left out.

    Raises
    ------
    ModelError : the model is not an event model
    """
    fitted = model.fitted
    fitted.check_one_label("give leave-one-out probabilities of one label")
    settings = fitted.model_settings
    if settings.is_linear or fitted.unlabeled is not None:
        what = f"leave-one-out needs a Naive Bayes model of labeled documents, not {settings.model}"
        raise ModelError(what, hint="use cross-validation")
    counts = model.counts
    rows = np.arange(len(counts.sample)).astype(object)
    counts = replace(counts, sample=replace(counts.sample, groups=rows))
    features = fitted.feature_settings
    counts, _ = select_features(counts, features)
    weighted = compute_sufficient_statistics(counts, fitted.weighting, settings)
    n_hapax, _ = count_unseen(counts, features)
    prior = settings.prior_of(counts.labels)
    event_model = _event_model(features, settings, fitted.hyperparameters, counts)
    corpus = LeaveOneOut(*weighted, n_hapax, event_model, prior)
    judged = corpus.complete().drop_single_documents()
    smoothing = fitted.hyperparameters.smoothing
    if not len(judged.documents):
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(counts.labels)))
    (scores,) = judged.scores(smoothing)
    log_posterior = fitted.calibration.log_posterior(
        judged.ignore_hapaxes(scores, smoothing), judged.lengths
    )
    groups = judged.documents.groups
    assert groups is not None  # set above
    return groups.astype(np.int64), np.exp(log_posterior)
