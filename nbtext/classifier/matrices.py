"""Matrix files made of sources, and tallies made of matrix files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.bayes.sample import Sample
from nbtext.classifier.tally import Tally
from nbtext.documents.batch import Batch
from nbtext.documents.matrix import Matrix
from nbtext.errors import InputError, NbtextError
from nbtext.features.analyzer import TOO_LONG
from nbtext.features.plain_settings import misfit
from nbtext.features.settings import FeatureSettings
from nbtext.features.vectorizer import Vectorizer
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting, document_frequencies

if TYPE_CHECKING:
    from nbtext.classifier.folding import OnBatch
    from nbtext.documents.source import Source

LARGEST_COUNT = np.iinfo(np.int32).max


def vectorized(source: Source, features: FeatureSettings, *, on_batch: OnBatch | None = None) -> Matrix:
    """All documents of a source as rows of a sparse matrix, in their order. It is held in memory.

    raises  InputError: a document cannot be read; ModelError: there is no feature
    """
    ids: list[str] = []
    labels: list[str | None] = []

    def batches() -> Iterator[Batch]:
        for chunk in source.chunks():
            batch = chunk.batch()
            ids.extend(batch.ids)
            labels.extend(batch.labels)
            yield batch
            if on_batch is not None:
                on_batch(chunk, batch)

    features = replace(features, fields=source.field_names)
    vectorizer = Vectorizer(features)
    matrix = vectorizer.fit_transform(batches())
    if vectorizer.n_too_long_:
        source.skipped[TOO_LONG] += vectorizer.n_too_long_
    names = vectorizer.features_ if vectorizer.features_ is not None else Vocabulary.from_terms(())
    return Matrix(
        matrix.data, matrix.indices, matrix.indptr, matrix.shape[1], names.blob, names.offsets, ids, labels,
        asdict(replace(features, vocabulary=None)),
    )  # fmt: skip


def features_of(matrix: Matrix) -> FeatureSettings:
    """How the matrix was made, so that text can be turned into more of its rows: its choice of features is made.

    raises  InputError: it does not say
    """
    known = {field.name for field in fields(FeatureSettings)}
    settings = {name: _frozen(value) for name, value in matrix.settings.items()}
    try:
        if settings.keys() != known or misfit(FeatureSettings, settings) is not None:
            raise TypeError
        made = FeatureSettings(**settings)
        return replace(made, min_df=1, max_df=1.0, max_features=None, select=None)
    except (NbtextError, TypeError, ValueError):
        raise InputError("the matrix does not say how it was made", hint="make it with nbtext vectorize") from None


def tally_of(matrix: Matrix, features: FeatureSettings) -> Tally:
    """The tally of a matrix's documents, all of them in its sample.

    raises  InputError: a document has no label
    """
    if None in matrix.labels:
        raise InputError("the document has no label", where=matrix.ids[matrix.labels.index(None)])
    labels, classes = np.unique(np.array(matrix.labels, dtype=object), return_inverse=True)
    if matrix.data.min(initial=0) < 0:
        raise InputError("the matrix holds negative numbers, which no count or weight is")
    n_documents, n_features = matrix.shape
    is_counted = matrix.data.dtype.kind in "iu"
    if is_counted and matrix.data.max(initial=0) > LARGEST_COUNT:
        raise InputError(f"the matrix holds a count above {LARGEST_COUNT:,}, which no document has")
    sample = Sample(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.int32 if is_counted else np.float64),
        classes.astype(np.int32),
        np.arange(n_documents, dtype=np.uint64),
    )
    frequencies = document_frequencies(sample.indices, n_features=n_features)
    return Tally(
        tuple(labels.tolist()),
        Vocabulary(matrix.feature_blob, matrix.feature_offsets) if features.hash_bits is None else None,
        sample.statistics(n_features, len(labels)),
        sample,
        None,
        None if is_counted else Weighting.fitted(features, frequencies, n_documents=n_documents),
    )


def _frozen(value: Any) -> Any:
    """Settings as they were before JSON made lists of their tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
