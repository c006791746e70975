"""Matrix files of sources, and models of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.documents.fields import Label
from nbtext.documents.matrix import Matrix
from nbtext.documents.settings import ModelInput
from nbtext.errors import InputError, ModelError
from nbtext.features.matrix_counter import (
    check_width,
    matrix_features,
    matrix_vocabulary,
    matrix_weighting,
    name_numbered,
    require_counts,
)
from nbtext.features.selection import is_selective
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import align_documents
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.fitting import select_features
from nbtext.model.source_counting import (
    CountingTask,
    OnBatch,
    ThreadExecutor,
    check_fields,
    label_numbered,
    source_features,
)
from nbtext.model.training import check_hashing, sample_size, train_on_counts

if TYPE_CHECKING:
    from nbtext.documents.source import Source

MAX_ROWS = 1 << 32  # documents of a block


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a matrix that is to be like a model, or like another matrix.

    settings    of the features
    vocabulary  the feature of each column; None if features are hashed
    weighting   how counts are weighted
    labels      the names of the labels 0, 1, … of svmlight; None: those of the documents
    input       what the documents were, and are
    """

    settings: FeatureSettings
    vocabulary: Vocabulary | None
    weighting: Weighting
    labels: Sequence[str] | None
    input: ModelInput

    @classmethod
    def of_model(cls, model: FittedModel) -> Columns:
        """Return the features of a model. Weights are counts if the model makes its weights of
        counts.

        raises  ModelError: the model has no features of texts
        """
        model.check_takes_texts()
        features, _ = model.requested_settings
        weighting = model.weighting
        if weighting.is_counting and not features.is_counting:
            if features.view:
                what = "the model has views with weights, and is fitted to counts"
                raise ModelError(
                    what, where="--like", hint="train it without the weights of its views"
                )
            features = replace(features, tf="count", idf="none", norm="none")
        features = replace(
            features, min_df=1, max_df=1.0, max_features=None, select=None, vocabulary=None
        )  # the columns are known
        if weighting.is_counting and all(each.tf == "count" for each in features.of_views):
            weighting = Weighting()
        return cls(features, model.vocabulary, weighting, model.labels, model.input)

    @classmethod
    def of_matrix(cls, matrix: Matrix) -> Columns:
        """Return the features of a matrix.

        raises  InputError: it does not have the document frequencies of its weights
        """
        vocabulary = matrix_vocabulary(matrix)
        features = replace(
            matrix_features(matrix), min_df=1, max_df=1.0, max_features=None, select=None
        )
        weighting = matrix_weighting(matrix)
        if weighting is None:
            if not matrix.is_whole:
                what = "the matrix is of an older nbtext, which did not store the document frequencies of its weights"
                raise InputError(what, where="--like", hint="make it again")
            none = np.zeros(matrix.n_features, dtype=np.int64)
            weighting = Weighting.of_counts(features, vocabulary, none, lambda: none, n_documents=1)
        features = replace(features, vocabulary=None)
        labels = {
            label
            for given in matrix.labels
            for label in ((given,) if isinstance(given, str) else given or ())
        }
        return cls(features, vocabulary, weighting, sorted(labels) or None, matrix.input)


def vectorize_source(
    source: Source,
    features: FeatureSettings,
    *,
    like: Columns | None = None,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> Matrix:
    """Return a sparse matrix with one row for each document of a source, in order. It is held in
    memory.

    Parameters
    ----------
    like
        The columns of the matrix and their weights, instead of those of `features`.

    Raises
    ------
    InputError
        A document cannot be read, or there is none.
    ModelError
        There is no feature.
    """
    if like is None:
        features = source_features(source, features)
    else:
        features = like.settings
        check_fields(features.fields, source.field_names)
    features.check_hash_bits()
    read: dict[int, tuple[Sequence[str], list[Label]]] = {}

    def keep(number: int, batch: Batch) -> Batch:
        """Keep the ids and labels of a block, and number its documents."""
        if batch.problems:
            raise batch.refusal(min(batch.problems))
        if batch.matrix is not None:
            require_counts(batch.features, "vectorize")
            batch = _name_columns(batch, like)
        read[number] = batch.ids, list(batch.labels)
        return replace(batch, groups=[str(number * MAX_ROWS + row) for row in range(len(batch))])

    blocks = (block.map(partial(keep, number)) for number, block in enumerate(source.blocks()))
    task = CountingTask(features, None, is_labeled=features.select is not None)
    counts = ThreadExecutor(jobs if source.first_matrix() is None else 1).count_blocks(
        blocks, task, on_batch
    )
    if not counts.statistics.n_documents:
        raise InputError(
            "no documents to train on" if like is None else "no documents to vectorize"
        )
    sample = counts.sample
    assert sample.groups is not None  # `keep` makes them
    order = np.argsort(sample.groups.astype(np.int64))
    counts = replace(counts, sample=replace(sample.take(order), groups=None))
    ids = [identity for number in sorted(read) for identity in read[number][0]]
    labels = [label for number in sorted(read) for label in read[number][1]]
    everything = counts.sample, counts.vocabulary
    if like is None:
        selected, _ = select_features(counts, features)
        rows = selected.sample
        vocabulary = selected.vocabulary
        weighting = selected.fit_weighting(features)
    else:
        rows = align_documents(*everything, like.vocabulary)
        vocabulary = like.vocabulary
        weighting = like.weighting
    is_given = vocabulary is not None and (like is not None or features.vocabulary is not None)
    columns = _Columns(vocabulary, 1 << (features.hash_bits or 0))
    # the names of the columns are its words
    listed: tuple[str, ...] | None = () if is_given else None
    listed = features.vocabulary if is_given and is_selective(features) else listed
    data = weighting.weights(rows.indptr, rows.indices, rows.counts)
    matrix = Matrix(
        data,
        rows.indices,
        rows.indptr,
        *columns.named,
        ids,
        labels,
        asdict(replace(features, vocabulary=listed)),
        input=source.model_input if like is None else like.input,
    )
    if not weighting.is_counting:
        views = getattr(weighting, "views", ()) or (weighting,)
        parameters = [dict(each.parameters) for each in views]
        matrix = replace(matrix, idf=weighting.list_idf(matrix.n_features), parameters=parameters)
    if data is rows.counts and not is_given and not is_selective(features):
        return matrix
    rows, vocabulary = everything
    columns = _Columns(vocabulary, matrix.n_features)
    return replace(
        matrix,
        counted=Matrix(
            rows.counts, rows.indices, rows.indptr, *columns.named, ids, labels, matrix.settings
        ),
    )


def _name_columns(batch: Batch, like: Columns | None) -> Batch:
    """Return rows of a matrix; those without names get the names of the columns and labels that
    they are like.
    """
    matrix = batch.features
    if not matrix.is_numbered:
        return batch
    if like is None:
        raise InputError(
            "the matrix has no names of features", hint="give --like MODEL, which has them"
        )
    if like.vocabulary is None:
        check_width(matrix, 1 << (like.settings.hash_bits or 0))
    else:
        matrix = name_numbered(matrix, like.vocabulary)
    return label_numbered(replace(batch, matrix=matrix), like.labels or ())


@dataclass(frozen=True, eq=False)
class _Columns:
    """The features of columns; None if they are hashed, into n_hashed columns."""

    vocabulary: Vocabulary | None
    n_hashed: int

    @property
    def named(self) -> tuple[int, NDArray[np.uint8], NDArray[np.int64]]:
        """The number of columns, and their names."""
        if self.vocabulary is None:
            return self.n_hashed, np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        return len(self.vocabulary), self.vocabulary.blob, self.vocabulary.offsets


def train_on_matrix(matrix: Matrix, model_settings: ModelSettings) -> TrainedModel:
    """Train on a matrix of documents; its settings make features of the texts to predict."""
    features = matrix_features(matrix)
    check_hashing(features, model_settings)
    task = CountingTask(features, sample_size(features, model_settings))
    counts = task.count(matrix.blocks(), lambda _block, _batch: None)
    model = train_on_counts(counts, features, model_settings)
    return replace(model, fitted=replace(model.fitted, input=matrix.input))
