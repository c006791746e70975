"""The kernel's free functions in plain Python and NumPy; `counting` picks the one or the other."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.features.rows import Rows
from nbtext.features.vocabulary import Vocabulary

Floats = NDArray[np.float64]


def arrange(rows: Rows, columns: NDArray[np.int32]) -> Rows:
    """Renumber each feature j as columns[j], leave out those below 0, and sort within each row."""
    return rows.renumbered(columns).known().ordered()


def merge_sorted(
    blob_a: NDArray[np.uint8], offsets_a: NDArray[np.int64], blob_b: NDArray[np.uint8], offsets_b: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The union of two sorted vocabularies (blob, offsets), and where each feature of either is in it."""
    terms_a, terms_b = Vocabulary(blob_a, offsets_a).terms, Vocabulary(blob_b, offsets_b).terms
    union = Vocabulary.from_terms(terms_a + terms_b)
    return union.blob, union.offsets, union.columns_of(terms_a), union.columns_of(terms_b)


def score_rows(  # noqa: PLR0913, PLR0917  plain arrays, for the kernel's sake
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64] | NDArray[np.int32],
    bias: Floats,
    default: Floats,
    base: Floats | None,
    base_scale: Floats | None,
    w_indptr: NDArray[np.int64],
    w_classes: NDArray[np.int32],
    w_deltas: Floats,
) -> Floats:
    """Scores (n_documents, n_classes) of rows by the sparse linear scorer.

    The weight of feature j for class k is default[k] + base_scale[k] * base[j] + delta, where the deltas of feature j
    are w_deltas[w_indptr[j]:w_indptr[j + 1]], for the classes that w_classes names.
    """
    from scipy.sparse import csr_array

    n_features = len(w_indptr) - 1
    rows = csr_array((values.astype(np.float64), indices, indptr), shape=(len(indptr) - 1, n_features))
    deltas = csr_array((w_deltas, w_classes, w_indptr), shape=(n_features, len(bias)))
    scores: Floats = (rows @ deltas).toarray() + np.outer(rows @ np.ones(n_features), default) + bias
    if base is not None and base_scale is not None:
        scores += np.outer(rows @ base, base_scale)
    return scores


def read_files(paths: list[bytes], limit: int) -> list[bytes | int]:
    """The content of each file, or an error's number: EISDIR or EINVAL for no regular file, EFBIG above limit."""
    return [errno.EINVAL if b"\0" in path else _content(path, limit) for path in paths]


def _content(path: bytes, limit: int) -> bytes | int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)  # a pipe must not make us wait
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
            if status.st_size > limit:
                return errno.EFBIG
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                content = file.readall()
        finally:
            os.close(descriptor)
    except OSError as error:
        return error.errno or errno.EIO
    return content if len(content) <= limit else errno.EFBIG


def take_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], counts: NDArray[Any], picked: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """The rows of these numbers, in this order: (indptr, indices, counts)."""
    lengths = np.diff(indptr)[picked]
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    entries = np.repeat(indptr[picked] - ends[:-1], lengths) + np.arange(ends[-1])
    return ends, indices[entries], counts[entries]


def entry_positions(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    row_classes: NDArray[np.int32],
    w_indptr: NDArray[np.int64],
    w_classes: NDArray[np.int32],
) -> NDArray[np.int64]:
    """For each entry of the rows, where (its feature, its row's class) stands among a feature-major list of entries.

    raises  ValueError: it is not there
    """
    features = np.repeat(np.arange(len(w_indptr) - 1), np.diff(w_indptr))
    n_classes = max(row_classes.max(initial=0), w_classes.max(initial=0)) + 1
    listed = features * n_classes + w_classes
    wanted = indices.astype(np.int64) * n_classes + np.repeat(row_classes, np.diff(indptr))
    positions: NDArray[np.int64] = np.searchsorted(listed, wanted)
    if not np.array_equal(np.append(listed, -1)[positions], wanted):
        raise ValueError("the rows are no part of these entries")
    return positions
