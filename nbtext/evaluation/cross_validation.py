"""Cross-validation: stratified or grouped folds, or a time-series split.

The text is read once. The counts of each fold are subtracted from those of the corpus. A model
search is cross-validated by a search for each fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Array, Integers, Mask
from nbtext.bayes.settings import ModelSettings, check_label_count
from nbtext.documents.batch import Batch, join_batches, number_rows
from nbtext.documents.source import Source
from nbtext.documents.times import sort_keys
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.outcomes import PredictedBatch
from nbtext.evaluation.settings import TIME_STEPS, FoldSettings
from nbtext.features.counting import align_documents
from nbtext.features.document_table import DocumentTable, number_contents
from nbtext.features.folds import stratified_folds
from nbtext.features.matrix_counter import known_tokens, require_counts
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import align_to_vocabulary, fit_model
from nbtext.model.predictions import Labels, Predictions
from nbtext.model.predictor import MOST_PROBABLE, Predictor, predict_counts
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import (
    CountingTask,
    OnBatch,
    count_blocks,
    read_batches,
    source_features,
)
from nbtext.model.source_prediction import MAX_BATCH_PROBABILITIES
from nbtext.model.tasks import TASKS
from nbtext.model.training import check_features, sample_size
from nbtext.model.view_selection import count_for_model
from nbtext.model.word_pieces import take_part
from nbtext.model.word_vectors import check_table
from nbtext.output import note_phase
from nbtext.parallel import parallel_map

CountFeatures = Callable[[FeatureSettings], CorpusCounts]  # of the documents of a search
FoldSearch = Callable[[CountFeatures], TrainedModel]

DOCUMENTS_SEARCHED_AT_ONCE = 512  # documents that a search counts, or predicts, at once
MAX_EXCERPT = 200  # characters of a text that are kept beside its id
N_CALIBRATED = 4096  # training documents that the calibration of a fold's model is fitted to


def cross_validate(
    corpus: CorpusCounts,
    folds: Integers,
    *,
    features: FeatureSettings,
    model_settings: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
    is_forward: bool = False,
    jobs: int = 1,
) -> Iterator[Predictions]:
    """Predict each fold with a model of the other folds.

    Vocabulary, selection, weights, smoothing and calibration come from the other folds alone. The
    calibration is fitted to at most 4,096 documents; all else is as in training.

    Parameters
    ----------
    corpus : CorpusCounts
        The counted corpus, with every document in its sample.
    folds : array of int64, shape (n_documents,)
        The fold of each document.
    is_forward : bool
        Predict each fold with a model of the earlier folds; the first fold is not predicted.
    jobs : int
        Number of threads.

    Yields
    ------
    Predictions
        Fold by fold, in the order of the documents of a fold.
    """
    check_label_count(len(corpus.labels), "cross-validation", "folds")
    if model_settings.vectors:
        check_table(corpus, features, model_settings)
    everything = align_to_vocabulary(corpus, features)
    size = sample_size(features, model_settings)
    needs_all = (
        model_settings.optimize is not None
        or model_settings.targets
        or decisions.coverage is not None
    )
    if size is not None and not needs_all:
        size = min(size, N_CALIBRATED)

    def predict_fold(split: tuple[Mask, Mask]) -> Iterator[Predictions]:
        is_training, is_held_out = split
        return predict_documents(
            everything.without(~is_training, sample_size=size),
            everything.sample.take(np.flatnonzero(is_held_out)),
            corpus.sets,
            features=features,
            model_settings=model_settings,
            decisions=decisions,
        )

    splits = split_folds(folds, is_forward=is_forward)
    # to use little memory
    if len(folds) * len(corpus.labels) > 4 * MAX_BATCH_PROBABILITIES or jobs == 1:
        yield from chain.from_iterable(map(predict_fold, splits))
    else:
        yield from chain.from_iterable(
            parallel_map(lambda split: list(predict_fold(split)), splits, jobs=jobs)
        )


def predict_documents(
    training: CorpusCounts,
    held_out: DocumentTable,
    labels: Sequence[Labels],
    *,
    features: FeatureSettings,
    model_settings: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
) -> Iterator[Predictions]:
    """Train a model on a counted corpus, and predict other documents over the same features.

    Features that no training document has are dropped first, unless the settings give the
    vocabulary.

    Parameters
    ----------
    training : CorpusCounts
    held_out : DocumentTable
        The documents to predict.
    labels : sequence of tuple of str
        The labels of each class of the documents to predict.
    """
    n_tokens = known_tokens(held_out)
    vocabulary = training.vocabulary
    if vocabulary is not None and features.vocabulary is None:
        columns = training.statistics.used_features
        if not model_settings.vectors:
            held_out = held_out.restrict(columns, training.statistics.n_features)
        training = training.restrict(columns)
    model = fit_model(training, features, model_settings)
    if model_settings.vectors:  # the model has further words, and pieces of words
        assert vocabulary is not None  # it has words
        model = take_part(model, vocabulary)
        held_out = align_documents(held_out, vocabulary, model.vocabulary)
    elif model.columns is not None:
        held_out = held_out.restrict(model.columns, training.statistics.n_features)
    first = 0
    for part in held_out.split(max(1, MAX_BATCH_PROBABILITIES // len(model.labels))):
        own = n_tokens[first : first + len(part)]
        yield predict_counts(model, part, own, [labels[k] for k in part.classes], decisions)
        first += len(part)


class CrossValidation(NamedTuple):
    """The counts of all documents, and the predictions of those that are held out, block by
    block.
    """

    corpus: CorpusCounts
    predictions: Iterator[PredictedBatch]


def cross_validate_source(  # noqa: PLR0913 - settings, and what to call meanwhile
    source: Source,
    settings: FoldSettings,
    *,
    features: FeatureSettings,
    model_settings: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
    has_ids: bool = False,
    may_select: bool = True,
) -> CrossValidation:
    """Read a source once, split its documents into folds, and predict each fold with a model of the
    others.

    has_ids      whether the predictions have the ids and the places of the documents
    may_select   whether views may be selected if the settings leave them open
    """
    features = source_features(source, features)
    check_features(features, model_settings, source.first_matrix() is not None)
    known: dict[int, tuple[str, str]] = {}  # the id and the excerpt of each document, by its row

    def mark(batch: Batch, number: int) -> Batch:
        batch = number_rows(batch, number)
        if has_ids:
            pairs = zip(batch.ids, _list_excerpts(batch), strict=True)
            known.update(zip(batch.row_numbers or (), pairs, strict=True))
        if batch.matrix is not None:  # features must not depend on other folds
            require_counts(
                batch.features,
                "cross-validation, which selects and weights features in each fold,",
            )
        return batch

    def count(each: FeatureSettings, on_batch: OnBatch | None) -> CorpusCounts:
        blocks = (
            block.map(partial(mark, number=number)) for number, block in enumerate(source.blocks())
        )
        return count_blocks(blocks, CountingTask(each, None), jobs, on_batch)

    if source.first_matrix() is None:
        features, model_settings, corpus, _ = count_for_model(
            count, source, features, model_settings, on_batch, jobs=jobs, may_select=may_select
        )
    else:
        corpus = count(features, on_batch)
    TASKS[corpus.task].check_decisions(decisions, corpus.labels)
    marks = corpus.sample.rows if has_ids else None
    is_forward = settings.order_field is not None
    groups = corpus.sample.groups
    folds = assign_folds(corpus.sample, settings)

    def predict() -> Iterator[PredictedBatch]:
        order = np.argsort(folds, kind="stable")
        if is_forward:  # the first fold is not predicted
            order = order[np.count_nonzero(folds == folds.min()) :]
        n_predicted = 0
        for part in cross_validate(
            corpus,
            folds,
            features=features,
            model_settings=model_settings,
            decisions=decisions,
            is_forward=is_forward,
            jobs=jobs,
        ):
            rows = order[n_predicted : n_predicted + len(part)]
            n_predicted += len(part)
            found = PredictedBatch(part, folds=folds[rows] + (not is_forward))
            if marks is not None:
                own = marks[rows].tolist()
                ids, excerpts = zip(*(known[row] for row in own), strict=True)
                found = found._replace(
                    predictions=replace(part, ids=ids),
                    places=own,
                    groups=None if groups is None else groups[rows].tolist(),
                    excerpts=excerpts,
                )
            yield found

    return CrossValidation(corpus, predict())


def cross_validate_search(
    source: Source,
    settings: FoldSettings,
    features: FeatureSettings,
    search: FoldSearch,
    *,
    decisions: DecisionSettings = MOST_PROBABLE,
    jobs: int,
    on_batch: OnBatch | None = None,
) -> CrossValidation:
    """Read a source once, search a model for each fold among the other folds, and predict the fold
    with it.

    This is nested cross-validation: the documents of a fold influence neither the features nor the
    choice of the model that predicts them. The texts of all documents are kept in memory.

    Parameters
    ----------
    features : FeatureSettings
        Documents with equal counts of these features are duplicates.
    search : callable
        Returns a model that is trained on some documents. It gets a function that counts their
        features.
    """
    batches = list[Batch]()
    counter = CorpusCounter(features, sample_size=None)
    for number, each in enumerate(read_batches(source, on_batch)):
        batch = number_rows(each, number)
        counter.add(batch)
        batches.append(replace(batch, labels=list(batch.single_labels())))
    documents = join_batches(batches)
    corpus = counter.finish()
    del batches
    assert corpus.sample.rows is not None  # of the marks
    # of the documents as they were read; the sample has them in another order
    _, firsts = np.unique(corpus.sample.rows, return_index=True)
    folds = assign_folds(corpus.sample, settings)[firsts]
    check_label_count(len(corpus.labels), "cross-validation", "folds")
    TASKS[corpus.task].check_decisions(decisions, corpus.labels)
    is_forward = settings.order_field is not None

    def predict() -> Iterator[PredictedBatch]:
        splits = split_folds(folds, is_forward=is_forward)
        for fold, (is_training, is_held_out) in enumerate(splits, 1):
            training = documents.take(np.flatnonzero(is_training).tolist()).split(
                DOCUMENTS_SEARCHED_AT_ONCE
            )

            def count(features: FeatureSettings, batches: list[Batch] = training) -> CorpusCounts:
                return count_blocks(map(Batch.block, batches), CountingTask(features, None), jobs)

            predictor = Predictor(search(count).fitted)
            held_out = documents.take(np.flatnonzero(is_held_out).tolist())
            for batch in held_out.split(DOCUMENTS_SEARCHED_AT_ONCE):
                found = PredictedBatch.of(predictor.predict_batch(batch, decisions), batch)
                spread = batch.spread()
                yield found._replace(
                    folds=np.full(len(spread), fold),
                    places=spread.row_numbers,
                    excerpts=_list_excerpts(spread),
                )

    return CrossValidation(corpus, predict())


def _list_excerpts(batch: Batch) -> list[str]:
    """Return the beginnings of the texts, or why there are none."""
    if batch.matrix is not None:
        return ["(a row of a matrix)"] * len(batch)
    return [" ".join(texts)[:MAX_EXCERPT] for texts in zip(*batch.columns, strict=True)]


def assign_folds(documents: DocumentTable, settings: FoldSettings) -> Integers:
    """Return the fold of each document, 0 to n_folds - 1; in a time-series split fold 0 is only
    trained on.

    Without groups or timestamps, documents of equal content are in the same fold.

    Parameters
    ----------
    documents : DocumentTable
        With the group or timestamp of each document if the settings ask for it.

    Raises
    ------
    SettingsError
        There are too few documents, groups or timestamps.
    """
    if not len(documents):
        raise InputError("SOURCE has no documents to evaluate on")
    groups = documents.groups
    if settings.group_field is not None and groups is not None:
        return grouped_folds(groups, settings.folds, seed=settings.seed)
    if settings.order_field is not None and groups is not None:
        return time_series_folds(groups, settings.folds or TIME_STEPS, name=settings.order_field)
    n_folds = settings.folds or 0
    n_documents = len(documents)
    if not 2 <= n_folds <= n_documents:
        possible = "use 2" if n_documents == 2 else f"use 2 to {n_documents}"
        usual = "10 is usual" if n_documents >= 10 else possible
        raise SettingsError(
            f"{n_folds} folds need at least as many documents; found {n_documents}",
            where="folds",
            hint=usual if n_documents > 1 else "give at least 2 documents",
        )
    contents = number_contents(documents)
    folds = stratified_folds(documents.classes, n_folds, seed=settings.seed, contents=contents)
    if folds.min() == folds.max():
        raise SettingsError(
            "all documents have the same content, so they cannot be split into folds",
            where="folds",
        )
    return folds


def split_folds(folds: Integers, *, is_forward: bool) -> Iterator[tuple[Mask, Mask]]:
    """Yield for each fold which documents a model is trained on, and which it predicts; both
    (n_documents,).

    The training documents are those of all other folds, or with `is_forward` those of earlier
    folds; then the first fold is not predicted.
    """
    held_out = np.unique(folds).tolist()[is_forward:]
    for number, fold in enumerate(held_out, 1):
        note_phase("fold %d of %d", number, len(held_out))
        is_held_out = folds == fold
        yield folds < fold if is_forward else ~is_held_out, is_held_out


def grouped_folds(groups: Array, n_folds: int | None, *, seed: int) -> Integers:
    """Split into folds without splitting a group: a fold for each group, or n_folds of about the
    same size.
    """
    names, numbers = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise SettingsError(
            "all documents have the same group", where="group_field", hint="name another field"
        )
    if n_folds is None:
        return np.asarray(numbers, np.int64)
    if n_folds > len(names):
        raise SettingsError(
            f"{n_folds} folds need {n_folds} groups; found {len(names)}",
            where="folds",
            hint="use fewer",
        )
    sizes = np.bincount(numbers)
    shuffled = np.random.default_rng(seed).permutation(len(names))
    folds = np.zeros(len(names), np.int64)
    filled = np.zeros(n_folds, np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")].tolist():
        folds[group] = filled.argmin()
        filled[folds[group]] += sizes[group]
    return folds[numbers]


def time_series_folds(times: Array, n_steps: int, name: str = "time") -> Integers:
    """Split into n_steps + 1 consecutive parts of about the same size; equal timestamps stay
    together.

    times  each with the place of its document after NUL, for errors
    name   the field that holds them
    """
    texts, _, places = zip(*(time.partition("\0") for time in times.tolist()), strict=True)
    found, moments = np.unique(sort_keys(texts, places, name), return_inverse=True)
    if len(found) < 2:
        raise SettingsError(
            "all documents have the same timestamp",
            where="order_field",
            hint="name another field",
        )
    before = np.searchsorted(np.sort(moments), moments)  # number of earlier documents
    _, steps = np.unique(before * (n_steps + 1) // len(moments), return_inverse=True)
    if steps.max() == 0:  # nearly all documents have the last timestamp
        steps = moments == moments.max()
    return np.asarray(steps, np.int64)
