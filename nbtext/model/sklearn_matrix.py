"""Rows of a matrix in place of texts: a classifier is the last step of a scikit-learn pipeline.

The columns are the features; their names in a model are their numbers, with zeros in front, so that their order is that
of the columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import MAX_COUNTED, count_classes
from nbtext.bayes.scorer import Floats
from nbtext.errors import InputError
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.hashing import count_matrix, vocabulary_hashes
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.sklearn_compat import check_paired, label_texts
from nbtext.model.sklearn_multilabel import has_several_labels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_COUNT = np.iinfo(np.int32).max


def is_matrix(X: Any) -> TypeGuard[Any]:
    """Return whether documents are a sparse matrix, or an array of rows and columns of numbers."""
    return hasattr(X, "tocsr") or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biufc")


def count_rows(
    X: Any, y: Any, settings: FeatureSettings, *, sample_size: int | None, fitted: FittedModel | None = None
) -> tuple[CorpusCounts, str, NDArray[np.int64]]:
    """Return the counts of rows and labels, the type of the labels, and the index of the row of each retained document.

    Parameters
    ----------
    X : matrix (n_documents, n_columns), sparse or dense
        Whole numbers that are not negative are counts, which the settings weight; other numbers are weights.
    y : sequence of (n_documents,) labels
    sample_size : int, optional
        How many documents the counts retain; None: all. All are retained if the numbers are weights.
    fitted : FittedModel, optional
        A model to which the rows will be added; it has one column for each of theirs.

    Raises
    ------
    InputError
        A number is not finite or too large, labels and rows differ in number, or the rows do not fit the settings or
        the model.
    """
    for name in ("hash_bits", "vocabulary"):
        if getattr(settings, name) is not None:
            raise InputError("does not apply: X is a matrix, whose columns are the features", where=name)
    if has_several_labels(y):
        hint = "fit it to the texts, or fit one classifier for each label"
        raise InputError("texts with several labels are counted by nbtext, not as a matrix", hint=hint)
    rows = _read_rows(X)
    labels, label_type = label_texts(y)
    check_paired(rows.shape[0], len(labels))
    if fitted is None and not rows.nnz:
        raise InputError("the matrix has no number other than 0")
    if fitted is not None:
        _check_columns(rows, fitted)
        if label_type != fitted.label_type:
            raise InputError(f"the labels are {label_type}, and those of the model are {fitted.label_type}")
    n_columns = rows.shape[1]
    vocabulary = Vocabulary.from_terms(_name_columns(n_columns))
    names, classes = np.unique(np.array(labels, dtype=object), return_inverse=True)
    sample = count_matrix(rows.indptr, rows.indices, rows.data, classes, vocabulary_hashes(vocabulary))
    places = np.array(list(map(str, range(len(labels)))), dtype=object)
    sample = replace(sample, groups=places).with_empty_last()
    statistics = count_classes(sample, n_columns, len(names))
    weighting = None if sample.counts.dtype.kind == "i" else Weighting("count")
    sample = sample.smallest(sample_size if weighting is None else None)
    retained = np.array(sample.groups, dtype=np.int64)
    size = sample_size if weighting is None else 0
    counts = CorpusCounts(
        tuple(names.tolist()), vocabulary, statistics, replace(sample, groups=None), size, weighting,
    )  # fmt: skip
    return counts, label_type, retained


def row_log_posterior(model: FittedModel, X: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the log-probabilities of rows, (n_documents, n_classes), and whether each has a known column.

    Raises
    ------
    InputError
        The matrix has other columns than the model, or a number is not finite.
    """
    rows = _read_rows(X)
    _check_columns(rows, model)
    documents = DocumentCounts(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        rows.data,
        np.zeros(rows.shape[0], dtype=np.int32),
        np.zeros(rows.shape[0], dtype=np.uint64),
    )
    if model.vocabulary is not None and len(model.vocabulary) < rows.shape[1]:
        columns = np.array(list(map(int, model.vocabulary.terms)), dtype=np.int64)
        documents = documents.restrict(columns, rows.shape[1])
    evidence = model.evidence(documents)
    return model.task.log_probabilities(*evidence), evidence[-1]


def _read_rows(X: Any) -> csr_array:
    """Return a matrix as compressed sparse rows without stored zeros: int32 if all numbers are counts, else float64."""
    from scipy.sparse import csr_array

    if X.dtype.kind == "c":
        raise InputError("the matrix has complex numbers")
    rows = csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all():
        what = "a missing number" if np.isnan(rows.data).any() else "an infinite number"
        raise InputError(f"the matrix has {what}")
    largest = np.abs(rows.data).max(initial=0)
    if largest > MAX_COUNTED / max(1, rows.nnz):
        raise InputError("the matrix has a number so large that sums could overflow")
    if largest <= LARGEST_COUNT and (rows.data >= 0).all() and (rows.data == np.floor(rows.data)).all():
        rows.data = rows.data.astype(np.int32)
    return rows


def _check_columns(rows: csr_array, model: FittedModel) -> None:
    n_columns = model.input.matrix_columns
    if n_columns is None:
        raise InputError("X is a matrix, and the model was trained on texts", hint="give a list of texts")
    if rows.shape[1] != n_columns:
        raise InputError(f"the matrix has {rows.shape[1]:,} columns, and that of the model had {n_columns:,}")


def _name_columns(n_columns: int) -> list[str]:
    width = len(str(max(0, n_columns - 1)))
    return [f"{column:0{width}d}" for column in range(n_columns)]
