"""Matrix files of sources, and models of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch, number_rows
from nbtext.documents.fields import Label
from nbtext.documents.settings import ModelInput
from nbtext.documents.source import Source
from nbtext.errors import InputError, ModelError
from nbtext.features.matrix import Columns, Matrix
from nbtext.features.matrix_counter import check_matrix_width, name_numbered, require_counts
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.fitting import select_features
from nbtext.model.source_counting import (
    CountingTask,
    OnBatch,
    check_fields,
    count_blocks,
    label_numbered,
    source_features,
)
from nbtext.model.training import check_features, sample_size, train_on_counts
from nbtext.model.word_pieces import warn_of_pieces
from nbtext.records import frozen_object


@frozen_object
class Like:
    """What a matrix is to be like: a model, or another matrix.

    columns  of the matrix
    labels   the names of the labels 0, 1, … of svmlight; None: those of the documents
    input    what the documents were, and are
    """

    columns: Columns
    labels: Sequence[str] | None
    input: ModelInput

    @classmethod
    def of_model(cls, model: FittedModel) -> Like:
        """Return the features of a model. Weights are counts if the model makes its weights of
        counts.

        raises  ModelError: the model has no features of texts
        """
        model.check_takes_texts()
        warn_of_pieces(model, "a matrix has no columns for them")
        features, _ = model.requested_settings
        weighting = model.weighting
        if weighting.is_counting and not features.is_counting:
            if features.view:
                raise ModelError(
                    "the model has views with weights, and is fitted to counts",
                    where="‹like›",
                    hint="train it without the weights of its views",
                )
            features = replace(features, tf="count", idf="none", norm="none")
        if weighting.is_counting and all(each.tf == "count" for each in features.of_views):
            weighting = Weighting()
        columns = Columns(
            _without_selection(features), model.vocabulary, weighting, model.vocabulary is not None
        )
        return cls(columns, model.labels, model.input)

    @classmethod
    def of_matrix(cls, matrix: Matrix) -> Like:
        """Return the features of a matrix file."""
        columns = matrix.columns
        assert columns is not None  # of a file with names
        columns = replace(
            columns,
            settings=_without_selection(columns.settings),
            is_given=columns.vocabulary is not None,
        )
        labels = {
            label
            for given in matrix.labels
            for label in ((given,) if isinstance(given, str) else given or ())
        }
        return cls(columns, sorted(labels) or None, matrix.input)


def _without_selection(features: FeatureSettings) -> FeatureSettings:
    """Return settings of features whose columns are known."""
    return replace(features, min_df=1, max_df=1.0, max_features=None, select=None, vocabulary=None)


def vectorize_source(
    source: Source,
    features: FeatureSettings,
    *,
    like: Like | None = None,
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
        features = like.columns.settings
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
        return number_rows(batch.without_shares(), number)

    blocks = (block.map(partial(keep, number)) for number, block in enumerate(source.blocks()))
    task = CountingTask(features, None, is_labeled=features.select is not None)
    jobs = jobs if source.first_matrix() is None else 1
    counts = count_blocks(blocks, task, jobs, on_batch)
    if not counts.statistics.n_documents:
        raise InputError(
            "no documents to train on" if like is None else "no documents to vectorize"
        )
    counts = replace(counts, sample=counts.sample.in_source_order())
    ids = [identity for number in sorted(read) for identity in read[number][0]]
    labels = [label for number in sorted(read) for label in read[number][1]]
    if like is None:
        selected, _ = select_features(counts, features)
        weighting = selected.fit_weighting(features)
        columns = Columns(features, selected.vocabulary, weighting, features.vocabulary is not None)
    else:
        columns = like.columns
    return Matrix(
        counts.sample,
        counts.vocabulary,
        counts.statistics.n_features,
        ids,
        labels,
        columns,
        source.model_input if like is None else like.input,
    )


def _name_columns(batch: Batch, like: Like | None) -> Batch:
    """Return rows of a matrix; those without names get the names of the columns and labels that
    they are like.
    """
    matrix = batch.features
    if not matrix.is_numbered:
        return batch
    if like is None:
        raise InputError(
            "the matrix has no names of features", hint="give ‹like› MODEL, which has them"
        )
    if like.columns.vocabulary is None:
        check_matrix_width(matrix, like.columns.n_columns)
    else:
        matrix = name_numbered(matrix, like.columns.vocabulary)
    return label_numbered(replace(batch, matrix=matrix), like.labels or ())


def train_on_matrix(matrix: Matrix, model_settings: ModelSettings) -> TrainedModel:
    """Train on a matrix of documents; its settings make features of the texts to predict."""
    features = matrix.features
    check_features(features, model_settings, is_counted=True)
    task = CountingTask(features, sample_size(features, model_settings))
    model = train_on_counts(count_blocks(matrix.blocks(), task, 1), features, model_settings)
    return replace(model, fitted=replace(model.fitted, input=matrix.input))
