"""Matrix files from sources, and counted corpora from matrix files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.bayes.class_statistics import MAX_COUNTED, count_classes
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch, check_label
from nbtext.documents.matrix import Matrix
from nbtext.errors import InputError, NbtextError
from nbtext.features.analyzer import TOO_LONG
from nbtext.features.hashing import bucket_hashes, count_matrix, vocabulary_hashes
from nbtext.features.selection import is_selective
from nbtext.features.settings import FeatureSettings, find_invalid_field
from nbtext.features.vectorizer import Vectorizer
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting, document_frequencies
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.source_counting import OnBatch, read_batches
from nbtext.model.training import check_hashing, sample_size, train_on_counts

if TYPE_CHECKING:
    from nbtext.documents.source import Source

LARGEST_COUNT = np.iinfo(np.int32).max


def vectorize_source(source: Source, features: FeatureSettings, *, on_batch: OnBatch | None = None) -> Matrix:
    """Return a sparse matrix with one row for each document of a source, in order. It is held in memory.

    raises  InputError: a document cannot be read; ModelError: there is no feature
    """
    ids: list[str] = []
    labels: list[str | None] = []

    def batches() -> Iterator[Batch]:
        for batch in read_batches(source, on_batch):
            ids.extend(batch.ids)
            labels.extend(batch.single_labels())
            yield batch

    features = replace(features, fields=source.field_names)
    vectorizer = Vectorizer(features)
    matrix = vectorizer.fit_transform(batches())
    if vectorizer.n_too_long_:
        source.skipped[TOO_LONG] += vectorizer.n_too_long_
    names = vectorizer.features_ if vectorizer.features_ is not None else Vocabulary.from_terms(())
    given = () if features.vocabulary is not None else None  # the names of the columns are its words
    return Matrix(
        matrix.data, matrix.indices, matrix.indptr, matrix.shape[1], names.blob, names.offsets, ids, labels,
        asdict(replace(features, vocabulary=given)),
    )  # fmt: skip


def matrix_features(matrix: Matrix) -> FeatureSettings:
    """Return the settings that turn texts into rows of a matrix.

    The features are already selected: if only some features of the documents are columns of the matrix, these columns
    become the vocabulary.

    raises  InputError: the matrix does not hold its settings
    """
    settings = matrix_settings(matrix)
    known = {field.name for field in fields(FeatureSettings)}
    if unknown := sorted(settings.keys() - known):
        what = f"the matrix file was written by a newer nbtext: this one does not know its setting {unknown[0]!r}"
        raise InputError(what, hint="update nbtext: pip install --upgrade nbtext")
    try:
        if find_invalid_field(FeatureSettings, settings) is not None:
            raise TypeError
        features = FeatureSettings(**settings)
        names = Vocabulary(matrix.feature_blob, matrix.feature_offsets)
        if matrix.n_features != (len(names) if features.hash_bits is None else 1 << features.hash_bits):
            raise ValueError
        only = tuple(names.terms) if features.vocabulary is not None or is_selective(features) else None
        only = only if features.hash_bits is None else None
        return replace(features, min_df=1, max_df=1.0, max_features=None, select=None, vocabulary=only)
    except (NbtextError, TypeError, ValueError):
        what = "the matrix file does not contain valid feature settings"
        raise InputError(what, hint="make it with nbtext vectorize") from None


def matrix_settings(matrix: Matrix) -> dict[str, Any]:
    """Return the settings of features that a matrix was made with; a given vocabulary is that of its columns."""
    # a matrix file that is older than a setting lacks it
    defaults: dict[str, Any] = {field.name: field.default for field in fields(FeatureSettings)}
    settings = defaults | {name: _freeze(value) for name, value in matrix.settings.items()}
    if settings["vocabulary"] is not None:
        settings["vocabulary"] = tuple(Vocabulary(matrix.feature_blob, matrix.feature_offsets).terms)
    return settings


def train_on_matrix(matrix: Matrix, model_settings: ModelSettings) -> TrainedModel:
    """Train on a matrix of documents; its settings make features of the texts to predict."""
    features = matrix_features(matrix)
    check_hashing(features, model_settings)
    counts = matrix_counts(matrix, features, keep_sample=model_settings.keep_sample)
    size = None if counts.weighting is not None else sample_size(features, model_settings)
    if size is not None:  # the documents that training on the texts retains, for any order of the rows
        counts = replace(counts, sample=counts.sample.slice(0, min(size, len(counts.sample))))
    return train_on_counts(counts, features, model_settings)


def matrix_counts(matrix: Matrix, features: FeatureSettings, *, keep_sample: int | None = None) -> CorpusCounts:
    """Return the counts of a matrix, with all of its documents retained.

    keep_sample  number of documents that the model retains; None: all, but documents of another model cannot be added
                 to them
    raises       InputError: a document has no label, or the matrix does not hold the counts of its documents
    """
    if None in matrix.labels:
        raise InputError("the document has no label", where=matrix.ids[matrix.labels.index(None)])
    for label, identity in zip(matrix.labels, matrix.ids, strict=True):
        check_label(label or "", where=identity)
    labels, classes = np.unique(np.array(matrix.labels, dtype=object), return_inverse=True)
    if matrix.data.min(initial=0) < 0:
        hint = "train on the texts, or weight with another --idf"
        raise InputError("the matrix contains negative numbers", hint=hint)
    n_documents, n_features = matrix.shape
    is_counted = matrix.data.dtype.kind in "iu"
    if is_counted and matrix.data.max(initial=0) > LARGEST_COUNT:
        raise InputError(f"the matrix contains a count above {LARGEST_COUNT:,}, the largest that is allowed")
    maximum = MAX_COUNTED / max(1, len(matrix.data))
    if not is_counted and matrix.data.max(initial=0) > maximum:
        raise InputError(f"the matrix contains a weight above {maximum:g}, so that sums could overflow")
    if keep_sample is not None and (not is_counted or features.tf == "binary" or features.vocabulary is not None):
        what = "--keep-sample needs the counts of all features, and this matrix contains weights or selected features"
        raise InputError(what, hint="train on the texts, or on a matrix of the counts of all features")
    vocabulary = Vocabulary(matrix.feature_blob, matrix.feature_offsets) if features.hash_bits is None else None
    buckets = np.arange(n_features, dtype=np.int32)
    hashes = vocabulary_hashes(vocabulary) if vocabulary is not None else bucket_hashes(buckets)
    sample = count_matrix(matrix.indptr, matrix.indices, matrix.data, classes, hashes).with_empty_last().smallest(None)
    frequencies = document_frequencies(sample.indices, n_features=n_features)
    statistics = count_classes(sample, n_features, len(labels))
    if keep_sample is not None:
        sample = sample.slice(0, min(keep_sample, len(sample)))
    weighting = None if is_counted else Weighting.fitted(features, frequencies, n_documents=n_documents)
    return CorpusCounts(tuple(labels.tolist()), vocabulary, statistics, sample, keep_sample or 0, weighting)


def _freeze(value: Any) -> Any:
    """Return a value of settings, with tuples for the lists that JSON made of them."""
    return tuple(map(_freeze, value)) if isinstance(value, list) else value
