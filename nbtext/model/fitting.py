"""Fitting: from a corpus's counts to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Mask
from nbtext.bayes.calibration import center
from nbtext.bayes.class_statistics import ClassStatistics, LabelSets, log_prior
from nbtext.bayes.combination import combine, fit_parts, list_parts
from nbtext.bayes.corrections import Correction, fit_correction
from nbtext.bayes.decision_offsets import Goals, find_goals
from nbtext.bayes.diagnostics import Corrections, Hyperparameters, Part
from nbtext.bayes.event_model import EventModel
from nbtext.bayes.few_documents import TRIED_SMOOTHINGS, find_better, is_few
from nbtext.bayes.leave_one_out import LeaveOneOut, ScoredCorpus, count_hapaxes
from nbtext.bayes.scorer import LinearScorer, round_to_float32
from nbtext.bayes.settings import (
    AUTO,
    COMBINED,
    COMPARED_MODELS,
    DECISION_METRICS,
    FEW_DOCUMENTS_MODEL,
    MAX_WITH_LENGTHS,
    STACKED,
    ModelSettings,
)
from nbtext.bayes.smoothing import (
    Selection,
    choose_documents,
    compare_event_models,
    is_clearly_better,
    search_smoothing,
    select_smoothing,
)
from nbtext.errors import ModelError
from nbtext.features.counting import find_known_columns
from nbtext.features.document_table import DocumentTable
from nbtext.features.selection import is_selective, no_token, select_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import WORDS, Vocabulary, find_views, find_words
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CALIBRATION_SIZE, CorpusCounts
from nbtext.model.fitted_model import (
    DocumentNumbers,
    FittedModel,
    TrainedModel,
)
from nbtext.model.task import Task
from nbtext.model.tasks import TASKS, TaskKind
from nbtext.numerics import exp
from nbtext.records import frozen_object

# a scorer, its hyperparameters and the task
Learned = tuple[LinearScorer, Hyperparameters, Task]

# Weights of a model with word vectors, most of which are not 0. More of them are in 8 bits: of 77
# labels and 92,000 words, the file has 16 MB, not 37 MB, and the accuracy is the same.
MAX_EXACT_WEIGHTS = 1 << 20


@frozen_object
class Fitting:
    """What a model is fitted to, and how.

    counts             of the selected features
    columns            (n_features,), their columns in all counts; None: all columns
    is_new             (n_sampled,), which documents of the sample are not in the counts; None: none
    is_model_selected  whether leave-one-out selects the event model, or has selected it
    """

    counts: CorpusCounts
    columns: Integers | None
    features: FeatureSettings
    settings: ModelSettings
    jobs: int
    is_new: Mask | None = None
    is_model_selected: bool = False

    @property
    def is_sampled(self) -> bool:
        """Whether documents that calibrate are enough to estimate, too."""
        return self.is_model_selected or self.settings.model == COMBINED

    @cached_property
    def unseen(self) -> Floats | None:
        """How many tokens of each retained document are out of vocabulary without it, (n_sampled,).

        Duplicates are left out together with a document. None if the vocabulary does not depend on
        the documents: it is hashed, given, or of a matrix.
        """
        counts = self.counts
        is_fixed = counts.vocabulary is None or self.features.vocabulary is not None
        if is_fixed or counts.weighting is not None:
            return None
        return count_hapaxes(counts.statistics, counts.sample, self.is_new)

    @cached_property
    def goals(self) -> Goals:
        """What the decisions have to achieve."""
        settings = self.settings
        goals = find_goals(settings, self.counts.labels)
        # a prior that is given, or that --optimize adjusts, is not adjusted again
        is_adjusted = goals.optimize in (None, *DECISION_METRICS) and settings.calibrate
        is_given = settings.prior is not None or settings.class_weight is not None
        adjusts_prior = self.is_sampled or settings.model == STACKED
        adjusts_prior = adjusts_prior and is_adjusted and not is_given
        has_scales = adjusts_prior and settings.model == COMBINED
        return replace(goals, adjusts_prior=adjusts_prior, has_scales=has_scales)

    @property
    def bounds(self) -> Integers | None:
        """The bounds of the columns of the views; None if there is only one view."""
        if not self.features.view:
            return None
        assert self.counts.vocabulary is not None  # for the types: views are not hashed
        return find_views(self.counts.vocabulary, self.features.view)

    @cached_property
    def weighting(self) -> Weighting:
        """The weighting of the settings, restricted to binary or whole counts if the event model
        needs these.

        raises  ModelError: it needs other numbers than those of the counts or the settings
        """
        counts = self.counts
        event_model = self.settings.event_model
        if event_model.is_binary:
            if not counts.statistics.knows_documents:
                raise ModelError(
                    "the model file lacks the document frequencies that this model needs",
                    hint="train on the texts",
                )
            return Weighting("binary")
        if event_model.cells == "values" and counts.weighting is not None:
            raise ModelError(
                "this model needs counts, and the matrix contains weights",
                hint="make the matrix with nbtext vectorize --weighting counts",
            )
        if event_model.cells == "values" and not self.features.is_counting:
            return Weighting("count")
        weighting = counts.fit_weighting(self.features)
        idf = weighting.idf if counts.weighting is None else None
        is_negative = idf is not None and idf.min(initial=0) < 0
        if is_negative and event_model.cells != "numbers":
            raise ModelError(
                f"{self.settings.model} needs weights >= 0, and inverse document frequencies are negative",
                hint="use smooth or plain ones, or a linear model such as ‹model=nbsvm›",
            )
        return weighting

    @cached_property
    def weighted(self) -> tuple[ClassStatistics, DocumentTable]:
        """The sufficient statistics of the weighted counts for the event model, and the weighted
        sample.

        raises  ModelError: the model needs all documents, and some are not in the sample
        """
        counts = self.counts
        statistics = counts.statistics
        sample = counts.sample
        if self.weighting is not counts.weighting:
            statistics, sample = counts.weigh(self.weighting)
        summarize = self.settings.event_model.sufficient_statistics
        if summarize is not None:
            counts.check_complete()
            statistics = summarize(statistics, sample, n_values=self.settings.values)
        return statistics, sample

    def leave_out(self, settings: ModelSettings) -> LeaveOneOut:
        """Return the documents that an event model of the same weighted counts leaves out."""
        counts = self.counts
        event_model = settings.event_model
        _, sample = self.weighted
        hapax_sums = None
        if event_model.cells == "values":
            sample = sample.binarize()  # for hapaxes, each value of a feature counts once
        if (
            event_model.out_of_vocabulary
            and self.unseen is not None
            and sample is not counts.sample
        ):
            hapax_sums = count_hapaxes(counts.statistics, sample, self.is_new)
        empty = counts.empty
        return LeaveOneOut(
            *self.weighted,
            self.unseen,
            event_model,
            settings.prior_of(counts.labels),
            self.jobs,
            self.is_new,
            None if empty is None else np.array([empty.get(each, 0) for each in counts.sets]),
            hapax_sums,
        )

    def choose_documents(self) -> ScoredCorpus:
        """Return the documents that select the smoothing and the calibration."""
        size = CALIBRATION_SIZE if self.is_sampled else None
        return choose_documents(self.leave_out(self.settings), self.goals, size)

    def event_model(self, hyperparameters: Hyperparameters) -> EventModel:
        """Return the event model of the settings; a combination has the parts of the
        hyperparameters.
        """
        parts = hyperparameters.parts
        if not parts:
            return self.settings.event_model
        vocabulary = self.counts.vocabulary
        corrections = hyperparameters.corrections
        correction = None
        # a part of the corpus may lack a label
        is_alike = corrections is not None and corrections.weights.shape[1] == len(
            self.counts.labels
        )
        if corrections is not None and vocabulary is not None and is_alike:
            columns = find_known_columns(corrections.features, vocabulary).astype(np.int64)
            is_known = columns >= 0
            correction = Correction(columns[is_known], corrections.weights[is_known])
        return combine(parts, self.features.view, self.bounds, correction)

    def select_smoothing(self, corpus: ScoredCorpus, smoothing: float | None) -> Selection:
        """Return the smoothing and the calibration, selected on these documents."""
        return select_smoothing(
            corpus, smoothing, calibrate=self.settings.calibrate, goals=self.goals
        )

    @property
    def kind(self) -> TaskKind:
        """The record of the task of the model."""
        return TASKS[self.counts.task]

    def make_task(self, selection: Selection) -> Task:
        """Return the task of a model of labels that exclude each other."""
        labels = self.counts.labels
        n_documents = self.counts.statistics.class_documents
        log_priors = log_prior(n_documents, self.settings.prior_of(labels))
        task: Task = self.kind.load("task")(
            labels, log_priors, selection.calibration, selection.estimate
        )
        return task

    def make_model(
        self,
        task: Task,
        weighting: Weighting,
        scorer: LinearScorer,
        hyperparameters: Hyperparameters,
    ) -> FittedModel:
        """Return the model of what was fitted."""
        return FittedModel(
            task,
            self.features,
            self.settings,
            self.counts.vocabulary,
            self.columns,
            weighting,
            scorer,
            hyperparameters,
        )


def fit_model(
    counts: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    *,
    jobs: int = 1,
    selection: Any = None,
) -> FittedModel:
    """Fit a model to counts.

    jobs       number of threads
    selection  what `Task.transfer` returns: the smoothing and calibration; None: they are selected

    raises     ModelError: no documents or features are left; SettingsError: the settings do not fit
               the model
    """
    return fit(prepare(counts, features, model_settings, jobs=jobs), selection)


def prepare(
    counts: CorpusCounts, features: FeatureSettings, model_settings: ModelSettings, *, jobs: int = 1
) -> Fitting:
    """Return what `fit` needs; see `fit_model`."""
    if counts.statistics.n_documents == 0:
        raise ModelError("the counts contain no documents to train on")
    TASKS[counts.task].load("task").check_settings(features, model_settings)
    counts, columns = select_features(replace(counts, empty=counts.empty_documents), features)
    if model_settings.vectors:
        if model_settings.model == AUTO:
            model_settings = replace(model_settings, model=STACKED)
        if features.is_counting and features.tf == "count":
            has_lengths = counts.statistics.n_documents <= MAX_WITH_LENGTHS
            features = replace(features, tf="log", norm=features.norm if has_lengths else "l2")
    is_selected = model_settings.model == AUTO
    return Fitting(counts, columns, features, model_settings, jobs, None, is_selected)


def fit(given: Fitting, selection: Any = None) -> FittedModel:
    """Fit a model; see `fit_model`."""
    model: FittedModel = given.kind.load("fit")(given, selection)
    return model


def fit_one_label(given: Fitting, selection: Selection | None) -> FittedModel:
    """Fit a model of documents that have one label each; see `fit_model`."""
    counts = given.counts
    features = given.features
    model_settings = given.settings
    _check_negative(given)
    if model_settings.is_linear:
        return fit_linear_model(given, _learn_one_label)
    is_cut = given.is_sampled and given.is_new is None and not model_settings.targets
    if is_cut and features.is_counting and not is_few(counts.statistics):
        # one document more than needed, because the last of a sample may lack some of its
        # duplicates
        sample = counts.sample.first(CALIBRATION_SIZE + 1)
        given = replace(given, counts=replace(counts, sample=sample))
    if model_settings.model == COMBINED:
        return _fit_combination(given, selection)
    if model_settings.model == AUTO:
        return _fit_selected_model(given)
    return _compile(
        given,
        selection or given.select_smoothing(given.choose_documents(), model_settings.smoothing),
    )


def _compile(given: Fitting, selection: Selection) -> FittedModel:
    """Return the event model of the settings, with what was selected for it."""
    hyperparameters = selection.hyperparameters
    statistics, _ = given.weighted
    event_model = given.event_model(hyperparameters)
    scorer = event_model.compile(statistics, smoothing=hyperparameters.smoothing)
    task = given.make_task(selection)
    scorer = scorer.with_prior(task.log_prior)
    return given.make_model(task, given.weighting, scorer, hyperparameters)


def _fit_combination(given: Fitting, selection: Selection | None) -> FittedModel:
    """Fit a weighted sum of event models, one for each of its parts."""
    tf = given.features.tf
    view = given.features.view
    parts = list_parts(view, len(given.counts.labels))  # of equal weight
    corrected: dict[str, Any] = {}
    # a fit that is known has counts or binary counts
    if _has_binary(given) and not (selection and selection.hyperparameters.parts):
        binary = replace(given, features=replace(given.features, tf="binary"))
        if not _need_counts(given, binary, parts):
            given = binary
    if selection is None:
        smoothing = given.settings.smoothing
        documents = given.choose_documents()
        vocabulary = given.counts.vocabulary
        parts, correction, corpus = fit_parts(
            documents,
            parts,
            view,
            given.bounds,
            smoothing,
            has_scales=given.goals.has_scales,
            has_correction=vocabulary is not None,  # whose features have names
        )
        selection = given.select_smoothing(corpus, smoothing)
        if correction is not None and vocabulary is not None:
            names = vocabulary.restrict(correction.columns)
            corrected = {
                "n_corrected": len(names),
                "corrections": Corrections(names, correction.weights),
            }
    hyperparameters = selection.hyperparameters
    if not hyperparameters.parts:
        hyperparameters = replace(hyperparameters, parts=parts, **corrected)
    corrections = hyperparameters.corrections
    if corrections is not None and given.counts.vocabulary is not None and not corrected:
        # of earlier counts: what was forgotten must not stay in the file by its name
        known = find_known_columns(corrections.features, given.counts.vocabulary)
        rows = np.flatnonzero(known >= 0)
        kept = Corrections(corrections.features.restrict(rows), corrections.weights[rows])
        hyperparameters = replace(hyperparameters, n_corrected=len(rows), corrections=kept)
    model = _compile(given, selection._replace(hyperparameters=hyperparameters))
    return replace(model, is_binary_selected=given.features.tf != tf)


def _need_counts(given: Fitting, binary: Fitting, parts: Sequence[Part]) -> bool:
    """Return whether counts tell labels apart clearly better than binary counts, by the log-loss of
    the first part of words.

    Binary counts are better on most corpora, also where counts are by chance on these documents.
    """
    words = [part for part in parts if part.view in ("", WORDS)] or list(parts)
    model = combine(words[:1], given.features.view, given.bounds)
    counted, other = (
        replace(each.leave_out(each.settings), model=model) for each in (given, binary)
    )
    return is_clearly_better(counted, other)


def _check_negative(given: Fitting) -> None:
    """Raise ModelError if there are negative numbers, and the model allows none."""
    settings = given.settings
    allows_negative = (
        settings.model not in ("nbsvm", STACKED)
        if settings.is_linear
        else settings.event_model.cells == "numbers"
    )
    if not allows_negative and given.counts.sample.counts.min(initial=0) < 0:
        raise ModelError(
            f"{settings.model} needs numbers >= 0, and the matrix has negative ones",
            hint="use a model of any numbers, such as gaussian or svm",
        )


def _has_binary(given: Fitting) -> bool:
    """Return whether binary counts can be used in place of counts, because the settings ask for
    nothing else.
    """
    features = given.features
    is_plain = features.is_counting and features.tf == "count" and given.counts.weighting is None
    return is_plain and given.counts.statistics.knows_documents


def _learn_one_label(given: Fitting, data: Any, n_known: Array) -> Learned:
    from nbtext.linear.learning import learn

    scorer, selection = learn(data, n_known, given.settings, goals=given.goals, jobs=given.jobs)
    return scorer, selection.hyperparameters, given.make_task(selection)


def fit_linear_model(
    given: Fitting, learn: Callable[[Fitting, Any, Array], Learned]
) -> FittedModel:
    """Fit a discriminative model to all documents.

    learn  gets the documents, and how many tokens of each models of other folds know
    """
    from nbtext.linear.data import TrainingData

    counts = given.counts
    settings = given.settings
    labels = counts.labels
    statistics = counts.statistics
    words = vectors = None
    vocabulary = counts.vocabulary
    if settings.model == STACKED:
        words = find_words(counts.vocabulary, given.features)
    if settings.vectors:
        from nbtext.model.word_vectors import add_words

        vocabulary, vectors = add_words(counts.vocabulary, given.features, settings, labels)
    sample, weighting = counts.weigh_documents(given.features)
    n_hapax = given.unseen
    # tokens that models of other folds know; see `LeaveOneOut.n_known`
    n_known = sample.lengths if n_hapax is None else sample.lengths - n_hapax
    weights = settings.class_weights_of(labels, statistics.class_documents.tolist())
    class_weights = None if weights is None else np.array(weights)
    bounds = given.bounds
    data = TrainingData(
        counts.stored or sample,
        statistics.n_features,
        len(labels),
        class_weights,
        None if counts.label_sets is None else LabelSets.of(counts.label_sets, labels),
        given.features.view,
        None if bounds is None else tuple(bounds.tolist()),
        words,
        vectors=vectors,
        weighting=None if counts.stored is None else weighting,
    )
    scorer, hyperparameters, task = learn(given, data, n_known)
    if weighting.idf is not None:
        weighting = replace(weighting, idf=round_to_float32(weighting.idf))
    if scorer.n_features == statistics.n_features:
        vectors = None  # the stack does without
    if vectors is not None:
        counts = replace(counts, vocabulary=vocabulary)
        given = replace(given, counts=counts, columns=None)
    is_large = vectors is not None and len(scorer.deltas) > MAX_EXACT_WEIGHTS
    scorer = scorer.quantize() if is_large else scorer.round().share_rows()
    model = given.make_model(task, weighting, scorer, hyperparameters)
    if vectors is not None:
        is_trained = np.zeros(scorer.n_features, bool)
        is_trained[vectors.places[statistics.used_features]] = True
        model = replace(
            model,
            untrained=np.packbits(~is_trained),
            longest_piece=vectors.longest_piece,
            piece_ranks=vectors.ranks,
        )
    return replace(model, documents=DocumentNumbers.of(statistics))


def _fit_selected_model(given: Fitting) -> FittedModel:
    """Select the event model, and counts or binary counts, with the highest leave-one-out accuracy
    (see `compare_event_models`), its smoothing and its calibration, and compile it. With few
    documents, Dirichlet smoothing is tried, too; see `few_documents`.

    All candidates are fitted to the same statistics, so the text is read once. With two labels,
    complement Naive Bayes is the multinomial model with another prior. Binary counts are tried if
    the settings ask for plain counts. If no document can be left out, it is the multinomial model.
    """
    features = given.features
    statistics = given.counts.statistics
    smoothing = given.settings.smoothing
    tfs = (features.tf, "binary") if _has_binary(given) else (features.tf,)

    def list_candidates(names: Sequence[str]) -> list[tuple[Fitting, LeaveOneOut]]:
        found = []
        for tf in tfs:
            of_tf = [
                replace(
                    given,
                    features=replace(features, tf=tf),
                    settings=replace(given.settings, model=name),
                )
                for name in names
            ]
            # the weighted counts are the same for all of these models
            first = of_tf[0].leave_out(of_tf[0].settings)
            for each in of_tf:
                prior = each.settings.prior_of(given.counts.labels)
                found.append((each, replace(first, model=each.settings.event_model, prior=prior)))
        return found

    candidates = list_candidates(
        COMPARED_MODELS[:1] if statistics.n_classes < 3 else COMPARED_MODELS
    )
    corpora = [choose_documents(each, given.goals, CALIBRATION_SIZE) for _, each in candidates]
    best = compare_event_models(corpora, smoothing)
    chosen, current = candidates[best]
    corpus = corpora[best]
    if len(current.documents) == statistics.n_documents and len(corpus) and is_few(statistics):
        others = list_candidates([FEW_DOCUMENTS_MODEL])
        first, smoothings = (
            (search_smoothing(corpus)[0], TRIED_SMOOTHINGS)
            if smoothing is None
            else (smoothing, (smoothing,))
        )
        better = find_better(current, first, [each for _, each in others], smoothings)
        if better is not None:
            number, smoothing = better
            chosen, current = others[number]
            corpus = choose_documents(current, given.goals, CALIBRATION_SIZE)
    # the goals are those of the given settings, which select the event model
    model = _compile(chosen, given.select_smoothing(corpus, smoothing))
    is_binary_selected = chosen.features.tf != features.tf
    return replace(model, is_model_selected=True, is_binary_selected=is_binary_selected)


def select_features(
    counts: CorpusCounts, features: FeatureSettings
) -> tuple[CorpusCounts, Integers | None]:
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
    goals = find_known_columns(counts.vocabulary, given)
    columns = np.flatnonzero(goals >= 0)
    goals = goals[columns]
    known = counts.restrict(columns)
    return replace(
        known,
        vocabulary=given,
        statistics=known.statistics.align(goals, len(given)),
        sample=known.sample.renumber(goals, np.arange(len(counts.sets), dtype=np.int32)),
        stored=known.stored and known.stored.map_features(goals),
    )


def leave_one_out_probabilities(model: TrainedModel) -> tuple[Integers, Floats]:
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
        raise ModelError(
            f"leave-one-out needs a Naive Bayes model of labeled documents, not {settings.model}",
            hint="use cross-validation",
        )
    counts = model.counts
    counts = replace(counts, sample=replace(counts.sample, rows=np.arange(len(counts.sample))))
    counts, columns = select_features(counts, fitted.feature_settings)
    given = Fitting(counts, columns, fitted.feature_settings, settings, 1)
    # corrections know the documents that they were fitted to, so each half has those of the other
    plain = replace(fitted.hyperparameters, corrections=None)
    corpus = replace(given.leave_out(settings), model=given.event_model(plain))
    judged = corpus.complete().drop_single_documents()
    smoothing = plain.smoothing
    if not len(judged.documents):
        return np.zeros(0, np.int64), np.zeros((0, len(counts.labels)))
    (scores,) = judged.scores(smoothing)
    if fitted.hyperparameters.corrections is not None:
        _, scores = fit_correction(judged, center(scores), smoothing)
    log_posterior = fitted.calibration.log_posterior(
        judged.ignore_hapaxes(scores, smoothing), judged.lengths
    )
    assert judged.documents.rows is not None  # set above
    return judged.documents.rows, exp(log_posterior)
