"""Cross-validation: the text is read once. The counts of each fold are subtracted from those of the corpus.

A model search is cross-validated by a search for each fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.diagnostics import RepeatedTexts, error_of
from nbtext.bayes.settings import SEPARATE, TOGETHER, ModelSettings
from nbtext.documents.batch import Batch
from nbtext.evaluation.settings import FoldSettings
from nbtext.evaluation.splits import assign_folds, split_folds
from nbtext.evaluation.tasks import TASKS
from nbtext.features.document_counts import DocumentCounts, count_repeated
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import align_to_vocabulary, fit_model
from nbtext.model.predictions import Labels, Predictions
from nbtext.model.predictor import MOST_PROBABLE, Predictor, predict_counts
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch, count_blocks, count_source
from nbtext.model.source_prediction import MAX_PROBABILITIES
from nbtext.model.training import check_hashing, sample_size
from nbtext.parallel import parallel_map

if TYPE_CHECKING:
    from nbtext.documents.source import Source

Search = Callable[[Callable[[FeatureSettings], CorpusCounts]], TrainedModel]

BLOCK_SIZE = 512  # documents that a search counts, or predicts, at once
N_CALIBRATED = 4096  # training documents that the calibration of a fold's model is fitted to


def cross_validate(
    corpus: CorpusCounts,
    folds: NDArray[np.int64],
    *,
    features: FeatureSettings,
    model_settings: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
    is_forward: bool = False,
    jobs: int = 1,
) -> Iterator[Predictions]:
    """Predict each fold with a model of the other folds.

    Vocabulary, selection, weights, smoothing and calibration come from the other folds alone. The calibration is
    fitted to at most 4,096 documents; all else is as in training.

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
    everything = align_to_vocabulary(corpus, features)
    size = sample_size(features, model_settings)
    needs_all = model_settings.optimize is not None or model_settings.has_targets or decisions.coverage is not None
    if size is not None and not needs_all:
        size = min(size, N_CALIBRATED)
    has_own_vocabulary = corpus.vocabulary is not None and features.vocabulary is None

    def predict_fold(split: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> Iterator[Predictions]:
        is_training, is_held_out = split
        training = everything.without(~is_training, sample_size=size)
        held_out = everything.sample.take(np.flatnonzero(is_held_out))
        if has_own_vocabulary:
            columns = training.statistics.used_features  # features that the training documents have
            training = training.restrict(columns)
            held_out = held_out.restrict(columns, everything.statistics.n_features)
        return predict_documents(
            training, held_out, corpus.sets, features=features, model_settings=model_settings, decisions=decisions
        )

    splits = split_folds(folds, is_forward=is_forward)
    if len(folds) * len(corpus.labels) > 4 * MAX_PROBABILITIES or jobs == 1:  # to use little memory
        yield from chain.from_iterable(map(predict_fold, splits))
    else:
        yield from chain.from_iterable(parallel_map(lambda split: list(predict_fold(split)), splits, jobs=jobs))


def predict_documents(
    training: CorpusCounts,
    held_out: DocumentCounts,
    labels: Sequence[Labels],
    *,
    features: FeatureSettings,
    model_settings: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
) -> Iterator[Predictions]:
    """Train a model on a counted corpus, and predict other documents over the same features.

    Parameters
    ----------
    training : CorpusCounts
    held_out : DocumentCounts
        The documents to predict.
    labels : sequence of tuple of str
        The labels of each class of the documents to predict.
    """
    model = fit_model(training, features, model_settings)
    if model.columns is not None:
        held_out = held_out.restrict(model.columns, training.statistics.n_features)
    for part in held_out.split(max(1, MAX_PROBABILITIES // len(model.labels))):
        yield predict_counts(model, part, [labels[k] for k in part.classes], decisions)


def cross_validate_source(  # noqa: PLR0913 - settings, and what to call meanwhile
    source: Source,
    settings: FoldSettings,
    *,
    features: FeatureSettings,
    model_settings: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
    on_corpus: Callable[[CorpusCounts], None] | None = None,
    on_repeated: Callable[[RepeatedTexts], None] | None = None,
) -> Iterator[Predictions]:
    """Read a source once, split its documents into folds, and predict each fold with a model of the others.

    on_corpus    is called with the counts of all documents
    on_repeated  is called at the end if documents have equal content, and no field says which of them are in one fold;
                 if they are so many that the result depends on them, other folds are predicted, too
    """
    check_hashing(features, model_settings)
    features = replace(features, fields=source.field_names)
    corpus = count_source(source, features, jobs=jobs, sample_size=None, on_batch=on_batch, allows_several=True)
    task = TASKS[corpus.task]
    task.check_decisions(decisions, corpus.labels)
    if on_corpus is not None:
        on_corpus(corpus)
    folds = assign_folds(corpus.sample, settings, is_separate=model_settings.is_separate)
    validate = partial(
        cross_validate, corpus, features=features, decisions=decisions, is_forward=settings.order_field is not None,
        jobs=jobs,
    )  # fmt: skip
    right = np.zeros(2)
    for part in validate(folds, model_settings=model_settings):
        right += task.count_right(part)
        yield part
    (n_duplicates, n_repeated), n_documents = count_repeated(corpus.sample), len(corpus.sample)
    if on_repeated is None or settings.split_field is not None or not n_repeated:
        return
    found, other = float(right[0] / right[1]), None
    error = error_of(found, n_documents)
    if n_repeated > error * n_documents and n_duplicates < n_documents - 1:
        swapped = model_settings.swap_duplicates()
        others = assign_folds(corpus.sample, settings, is_separate=swapped.is_separate)
        right = np.sum([task.count_right(part) for part in validate(others, model_settings=swapped)], axis=0)
        other = float(right[0] / right[1])
        other = other if abs(other - found) > error else None
    figures = (None, None) if other is None else (other, found) if model_settings.is_separate else (found, other)
    on_repeated(RepeatedTexts(n_duplicates, model_settings.duplicates, task.main, *figures))


def cross_validate_search(  # noqa: PLR0913 - see cross_validate_source
    source: Source,
    settings: FoldSettings,
    features: FeatureSettings,
    search: Search,
    *,
    decisions: DecisionSettings = MOST_PROBABLE,
    duplicates: str = TOGETHER,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
    on_corpus: Callable[[CorpusCounts], None] | None = None,
    on_repeated: Callable[[RepeatedTexts], None] | None = None,
) -> Iterator[tuple[Predictions, tuple[Sequence[str], ...]]]:
    """Read a source once, search a model for each fold among the other folds, and predict the fold with it.

    This is nested cross-validation: the documents of a fold influence neither the features nor the choice of the model
    that predicts them. The texts of all documents are kept in memory.

    Parameters
    ----------
    features : FeatureSettings
        Documents with equal counts of these features are duplicates.
    duplicates : str
        Whether duplicates are in one fold (`together`), or in any (`separate`).
    search : callable
        Returns a model that is trained on some documents. It gets a function that counts their features.
    on_corpus : callable, optional
        Is called with the counts of all documents.
    on_repeated : callable, optional
        Is called at the end if documents have equal content. Searches for other folds would take too long.

    Yields
    ------
    tuple of Predictions and texts
        Block by block.
    """
    documents, corpus = _read_documents(source, features, on_batch)
    if on_corpus is not None:
        on_corpus(corpus)
    sample = corpus.sample
    folds = _assign_folds_in_order(documents, sample, settings, is_separate=duplicates == SEPARATE)
    decisions.check(tuple(sorted({label for label in documents.labels if label is not None})))
    for is_training, is_held_out in split_folds(folds, is_forward=settings.order_field is not None):
        training = _cut_documents(documents, np.flatnonzero(is_training))

        def count(features: FeatureSettings, batches: list[Batch] = training) -> CorpusCounts:
            return count_blocks(map(Batch.block, batches), features, jobs=jobs, sample_size=None)

        predictor = Predictor(search(count).fitted)
        for batch in _cut_documents(documents, np.flatnonzero(is_held_out)):
            yield predictor.predict_batch(batch, decisions), batch.columns
    n_duplicates, _ = count_repeated(sample)
    if on_repeated is not None and n_duplicates and settings.split_field is None:
        on_repeated(RepeatedTexts(n_duplicates, duplicates, "accuracy", None, None))


def _read_documents(source: Source, features: FeatureSettings, on_batch: OnBatch | None) -> tuple[Batch, CorpusCounts]:
    """Return all documents of a source as one batch, and their counts, whose groups are the rows of the batch.

    raises  InputError: a document has no label, or several, or could not be read
    """
    ids: list[str] = []
    columns: tuple[list[str], ...] = tuple([] for _ in source.field_names or ("",))
    documents = Batch(ids, columns, [])
    groups: list[str] = []
    counter = CorpusCounter(features, sample_size=None)
    for block in source.blocks():
        batch = block.batch()
        first = len(ids)
        counter.add(replace(batch, groups=[str(first + row) for row in range(len(batch))]))
        for column, more in zip(columns, batch.columns, strict=True):
            column.extend(more)
        ids.extend(batch.ids)
        documents.labels.extend(batch.single_labels())
        groups.extend(batch.groups or ())
        if on_batch is not None:
            on_batch(block, batch)
    return replace(documents, groups=groups or None), counter.finish()


def _assign_folds_in_order(
    documents: Batch, sample: DocumentCounts, settings: FoldSettings, *, is_separate: bool
) -> NDArray[np.int64]:
    """Return the fold of each document of a batch."""
    rows = np.array([] if sample.groups is None else sample.groups.tolist(), dtype=np.int64)
    groups = None if documents.groups is None else np.array(documents.groups, dtype=object)[rows]
    folds = np.empty(len(rows), dtype=np.int64)
    folds[rows] = assign_folds(replace(sample, groups=groups), settings, is_separate=is_separate)
    return folds


def _cut_documents(documents: Batch, rows: NDArray[np.int64]) -> list[Batch]:
    """Return some of the documents in batches."""
    batches = []
    for start in range(0, len(rows), BLOCK_SIZE):
        own = rows[start : start + BLOCK_SIZE].tolist()
        columns = tuple([column[row] for row in own] for column in documents.columns)
        batches.append(Batch([documents.ids[row] for row in own], columns, [documents.labels[row] for row in own]))
    return batches
