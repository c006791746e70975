"""The matrix file: documents that are counted or weighted already.

It is an `.npz` that scipy.sparse.load_npz opens as it is. Beside SciPy's own members (data, indices, indptr, shape,
format) it has the names of the features, the ids and labels of the documents, and how they were made, all as plain
numbers: nothing in it is pickled. Names are UTF-8 bytes one after the other, with offsets. Members are stored, not
compressed, so that the size of the file bounds what they can be.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.names import packed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FORMAT = "nbtext matrix"
VERSION = 1  # raise it when an older nbtext would misread the file
EPOCH = (1980, 1, 1, 0, 0, 0)  # of zip files: the same matrix is the same bytes


@dataclass(frozen=True, eq=False)
class Matrix:
    """Documents × features, sparse by rows, with the names of both.

    data             (n_entries,) counts (int32, int64) or weights (float64)
    indices          (n_entries,) their columns, ascending within a row
    indptr           (n_documents + 1,) where each row begins
    n_features       columns
    feature_blob     uint8, the names of the features, ascending; none where they are hashed
    feature_offsets  (n_features + 1,) int64, where each begins; (1,) where they are hashed
    ids, labels      of the documents
    settings         how they were made: plain data that JSON can hold
    """

    data: NDArray[Any]
    indices: NDArray[np.int32] | NDArray[np.int64]
    indptr: NDArray[np.int32] | NDArray[np.int64]
    n_features: int
    feature_blob: NDArray[np.uint8]
    feature_offsets: NDArray[np.int64]
    ids: list[str]
    labels: list[str | None]
    settings: dict[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_features)."""
        return len(self.ids), self.n_features

    def csr(self) -> csr_array:
        """The numbers as SciPy has them."""
        from scipy.sparse import csr_array

        return csr_array((self.data, self.indices, self.indptr), shape=self.shape)


def save_matrix(matrix: Matrix, file: BinaryIO) -> None:
    """Write a matrix file, front to back; equal matrices are equal bytes."""
    id_blob, id_offsets = packed(matrix.ids)
    label_blob, label_offsets = packed([label or "" for label in matrix.labels])
    about = {"format": FORMAT, "version": VERSION, "settings": matrix.settings}
    members: dict[str, NDArray[Any]] = {
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "format": np.array(b"csr"),
        "shape": np.array(matrix.shape, dtype="<i8"),
        "data": matrix.data,
        "_is_array": np.array(True),
        "nbtext": np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8),
        "feature_names": matrix.feature_blob,
        "feature_offsets": matrix.feature_offsets,
        "document_ids": id_blob,
        "document_id_offsets": id_offsets,
        "labels": label_blob,
        "label_offsets": label_offsets,
        "has_label": np.array([label is not None for label in matrix.labels], dtype=np.bool_),
    }
    with zipfile.ZipFile(_Forward(file), "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", EPOCH), "w", force_zip64=True) as member:
                little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
                np.lib.format.write_array(member, little, allow_pickle=False)


class _Forward:
    """A file that cannot go back, so that a pipe and a file on the disk get the same bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes, /) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Left to whoever opened it."""
