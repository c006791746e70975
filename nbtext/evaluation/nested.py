"""Nested cross-validation of a model search: each fold is predicted by the model that a search of the others finds.

The texts of all documents are kept in memory, and each search counts those of its training documents only. So the
documents of a fold influence neither the features nor the choice of the model that predicts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.batch import Batch, ReadBlock
from nbtext.evaluation.settings import FoldSettings
from nbtext.evaluation.splits import assign_folds
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.predictor import MOST_PROBABLE, Predictions, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch, count_blocks

if TYPE_CHECKING:
    from nbtext.documents.source import Source

Search = Callable[[Callable[[FeatureSettings], CorpusCounts]], TrainedModel]

BLOCK_SIZE = 512  # documents that are counted, or predicted, at once


def cross_validate_search(
    source: Source,
    settings: FoldSettings,
    features: FeatureSettings,
    search: Search,
    *,
    decisions: DecisionSettings = MOST_PROBABLE,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> Iterator[tuple[Predictions, tuple[list[str], ...]]]:
    """Read a source once, search a model for each fold among the other folds, and predict the fold with it.

    Parameters
    ----------
    features : FeatureSettings
        Documents with equal counts of these features are duplicates, which are in one fold.
    search : callable
        Returns a model that is trained on some documents. It gets a function that counts their features.

    Yields
    ------
    tuple of Predictions and texts
        Block by block.
    """
    documents, sample = _read_documents(source, features, on_batch)
    folds = _assign_folds(documents, sample, settings)
    decisions.check(tuple(sorted({label for label in documents.labels if label is not None})))
    is_forward = settings.order_field is not None
    for fold in np.unique(folds).tolist()[is_forward:]:
        training = _cut(documents, np.flatnonzero(folds < fold if is_forward else folds != fold))

        def count(features: FeatureSettings, blocks: list[ReadBlock] = training) -> CorpusCounts:
            return count_blocks(iter(blocks), features, jobs=jobs, sample_size=None)

        predictor = Predictor(search(count).fitted)
        for block in _cut(documents, np.flatnonzero(folds == fold)):
            yield predictor.predict_batch(block.read, decisions), block.read.columns


def _read_documents(
    source: Source, features: FeatureSettings, on_batch: OnBatch | None
) -> tuple[Batch, DocumentCounts]:
    """Return all documents of a source as one batch, and their counts, whose groups are the rows of the batch.

    raises  InputError: a document has no label, or several, or could not be read
    """
    documents = Batch([], tuple([] for _ in source.field_names or ("",)), [])
    groups: list[str] = []
    counter = CorpusCounter(features, sample_size=None)
    for block in source.blocks():
        batch = block.batch()
        first = len(documents.ids)
        counter.add(replace(batch, groups=[str(first + row) for row in range(len(batch))]))
        for column, more in zip(documents.columns, batch.columns, strict=True):
            column.extend(more)
        documents.ids.extend(batch.ids)
        documents.labels.extend(batch.single_labels())
        groups.extend(batch.groups or ())
        if on_batch is not None:
            on_batch(block, batch)
    return replace(documents, groups=groups or None), counter.finish().sample


def _assign_folds(documents: Batch, sample: DocumentCounts, settings: FoldSettings) -> NDArray[np.int64]:
    """Return the fold of each document of a batch."""
    rows = np.array([] if sample.groups is None else sample.groups.tolist(), dtype=np.int64)
    groups = None if documents.groups is None else np.array(documents.groups, dtype=object)[rows]
    folds = np.empty(len(rows), dtype=np.int64)
    folds[rows] = assign_folds(replace(sample, groups=groups), settings)
    return folds


def _cut(documents: Batch, rows: NDArray[np.int64]) -> list[ReadBlock]:
    """Return some of the documents in blocks."""
    blocks = []
    for start in range(0, len(rows), BLOCK_SIZE):
        own = rows[start : start + BLOCK_SIZE].tolist()
        columns = tuple([column[row] for row in own] for column in documents.columns)
        batch = Batch([documents.ids[row] for row in own], columns, [documents.labels[row] for row in own])
        blocks.append(ReadBlock(batch, len(own)))
    return blocks
