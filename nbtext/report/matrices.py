"""Matrices in file formats of other programs."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from nbtext.documents.matrix import Matrix, save_matrix


def write_matrix(matrix: Matrix, file: BinaryIO, *, output_format: str) -> None:
    """Write a matrix as npz (a matrix file), svmlight or mtx (Matrix Market)."""
    if output_format == "npz":
        save_matrix(matrix, file)
    elif output_format == "svmlight":
        _write_svmlight(matrix, file)
    else:
        from scipy.io import mmwrite

        mmwrite(file, matrix.csr(), comment=" documents x features, by nbtext", symmetry="general")


def _write_svmlight(matrix: Matrix, file: BinaryIO) -> None:
    """Write a line for each document: the position of its label among the sorted labels (-1: none), then column:weight.

    Columns are numbered from 1.
    """
    labels = sorted({label for label in matrix.labels if label is not None})
    codes = {label: code for code, label in enumerate(labels)}
    bounds = matrix.indptr.tolist()
    for row, label in enumerate(matrix.labels):
        entries = slice(bounds[row], bounds[row + 1])
        pairs = zip((matrix.indices[entries] + np.int64(1)).tolist(), matrix.data[entries].tolist(), strict=True)
        code = codes[label] if label is not None else -1
        file.write(" ".join([str(code), *(f"{column}:{weight!r}" for column, weight in pairs)]).encode() + b"\n")
