"""Matrix files: counted or weighted documents.

A matrix file is an `.npz` file, which scipy.sparse.load_npz can open. Besides SciPy's own members (data, indices,
indptr, shape, format) it has the names of the features, the ids and labels of the documents, and the feature settings,
all as plain numbers: nothing in it is pickled. Names are UTF-8 bytes one after the other, with offsets. Members are
stored, not compressed, so that the size of the file bounds their size in memory.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.names import are_ascending, are_offsets, are_utf8, find_row_error, pack_names, unpack_names
from nbtext.documents.recognition import BROKEN_ZIP, MATRIX, recognize
from nbtext.documents.streams import ByteStream, open_stream
from nbtext.errors import InputError, number_of
from nbtext.output import Sink

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FORMAT = "nbtext matrix"
VERSION = 1  # raise it when an older nbtext would misread the file
EPOCH = (1980, 1, 1, 0, 0, 0)  # of zip members: equal matrices make equal files


MEMORY_BYTES = 64 << 20  # bytes of a matrix from a pipe that are kept in memory; a larger one goes to a temporary file
UNPACKED_RATIO = 200  # a compressed file of more than this ratio is refused as a bomb,
UNPACKED_ALLOWANCE = 64 << 20  # unless it decompresses to at most this size
MAX_HASHED_FEATURES = 2**30
INTEGERS, REALS, BYTES = ("<i4", "<i8"), ("<f4", "<f8"), ("|u1",)
MEMBERS = {  # the allowed kinds of numbers of each member, and its number of dimensions
    "indices": (INTEGERS, 1), "indptr": (INTEGERS, 1), "format": (("|S3",), 0), "shape": (("<i8",), 1),
    "data": (INTEGERS + REALS, 1), "nbtext": (BYTES, 1), "feature_names": (BYTES, 1), "feature_offsets": (("<i8",), 1),
    "document_ids": (BYTES, 1), "document_id_offsets": (("<i8",), 1), "labels": (BYTES, 1),
    "label_offsets": (("<i8",), 1), "has_label": (("|b1",), 1),
}  # fmt: skip
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Documents × features, sparse by rows, with the names of both.

    Attributes
    ----------
    data : array
        Shape (n_entries,): counts (int32, int64) or weights (float64).
    indices : array of int32 or array of int64
        Shape (n_entries,): the column of each entry, ascending within a row.
    indptr : array of int32 or array of int64
        Shape (n_documents + 1,): the position of the first entry of each row.
    n_features : int
        Number of columns.
    feature_blob : array of uint8
        The names of the features in UTF-8, ascending; empty if the features are hashed.
    feature_offsets : array of int64
        Shape (n_features + 1,): the position of each name; shape (1,) if the features are hashed.
    ids, labels : list[str]
        The ids and labels of the documents; a label may be None.
    settings : dict[str, Any]
        The feature settings of the matrix, as plain data for JSON.
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
        """Return the matrix as a SciPy array."""
        from scipy.sparse import csr_array

        return csr_array((self.data, self.indices, self.indptr), shape=self.shape)


def save_matrix(matrix: Matrix, file: BinaryIO) -> None:
    """Write a matrix file, from start to end; equal matrices make equal files."""
    id_blob, id_offsets = pack_names(matrix.ids)
    label_blob, label_offsets = pack_names([label or "" for label in matrix.labels])
    about = {"format": FORMAT, "version": VERSION, "settings": matrix.settings}
    members: dict[str, NDArray[Any]] = {
        "indices": matrix.indices, "indptr": matrix.indptr, "format": np.array(b"csr"),
        "shape": np.array(matrix.shape, dtype="<i8"), "data": matrix.data, "_is_array": np.array(True),
        "nbtext": np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8),
        "feature_names": matrix.feature_blob, "feature_offsets": matrix.feature_offsets, "document_ids": id_blob,
        "document_id_offsets": id_offsets, "labels": label_blob, "label_offsets": label_offsets,
        "has_label": np.array([label is not None for label in matrix.labels], dtype=np.bool_),
    }  # fmt: skip
    # a pipe and a file on the disk get the same bytes, because a sink has no `seek`
    with zipfile.ZipFile(Sink(file), "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", EPOCH), "w", force_zip64=True) as member:
                little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
                np.lib.format.write_array(member, little, allow_pickle=False)


class _UnfitError(Exception):
    """An error in a matrix file."""


def load_matrix(path: str) -> Matrix:
    """Read a matrix file, or standard input for `-`, compressed or not.

    Raises
    ------
    InputError
        The file is not a matrix, is broken or inconsistent, or was written by a newer nbtext.
    """
    with closing(open_stream(path)) as stream:
        try:
            kind = recognize(stream.head())
            if kind not in (None, MATRIX, BROKEN_ZIP):
                raise kind.refuse(stream.path)
            with _seekable(stream) as file:
                return _check_arrays(_read_members(file))
        except _UnfitError as error:
            what = f"is not a valid matrix file: {error}"
            raise InputError(what, where=path, hint="write one with nbtext vectorize") from None


@contextmanager
def _seekable(stream: ByteStream) -> Iterator[IO[bytes]]:
    """Return the stream as a file with `seek`; a pipe is stored first."""
    if stream.size is not None and stream.compression is None and stream.path != "-":
        with open(stream.path, "rb") as file:
            yield file
        return
    import tempfile

    with tempfile.SpooledTemporaryFile(MEMORY_BYTES) as copy:
        n_bytes = 0
        while raw := stream.read():
            n_bytes += len(raw)
            if stream.compression and n_bytes > UNPACKED_ALLOWANCE + UNPACKED_RATIO * stream.position:
                raise _UnfitError(f"it unpacks to more than {UNPACKED_RATIO} times its size")
            copy.write(raw)
        yield copy


def _read_members(file: IO[bytes]) -> Arrays:
    """Return the arrays of the file, of which each has a valid type and shape."""
    length = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            known = {info.filename: info for info in archive.infolist()}
            for name in MEMBERS:
                _check_member(archive, known.get(f"{name}.npy"), name, length)
        file.seek(0)
        with np.load(file, allow_pickle=False) as loaded:
            return {name: loaded[name] for name in MEMBERS}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, OSError, RuntimeError) as error:
        raise _UnfitError(f"its zip file is broken ({error})") from None


def _check_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None, name: str, length: int) -> None:
    """Raise _UnfitError unless a member holds an array of an allowed type, as long as its header says.

    length  size of the file
    """
    from tokenize import TokenError  # NumPy parses headers as Python

    if info is None:
        raise _UnfitError(f"it has no {name}")
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise _UnfitError(f"{name} is compressed")
    if info.file_size > length:
        raise _UnfitError(f"{name} claims to be longer than the file")
    with archive.open(info) as member:
        try:
            version = np.lib.format.read_magic(member)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, is_fortran, kind = read(member)
            if is_fortran or kind.hasobject or len(shape) > 1 or any(not 0 <= size < 1 << 60 for size in shape):
                raise ValueError
        except (ValueError, SyntaxError, TokenError, MemoryError, RecursionError):
            raise _UnfitError(f"{name} is not an array of numbers in the format of NumPy") from None
        n_bytes = member.tell() + math.prod(shape) * kind.itemsize
    kinds, dimensions = MEMBERS[name]
    if kind.str not in kinds or len(shape) != dimensions:
        raise _UnfitError(f"{name} is not an array of the type {' or '.join(kinds)} with {dimensions} dimensions")
    if n_bytes != info.file_size:
        raise _UnfitError(f"{name} is not as long as its header says")


def _check_arrays(arrays: Arrays) -> Matrix:
    """Return the matrix of the arrays, if they are consistent."""
    try:
        about = json.loads(arrays["nbtext"].tobytes())
    except (ValueError, RecursionError):
        raise _UnfitError("it lacks valid settings") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT or type(about.get("version")) is not int:
        raise _UnfitError("it was not written by nbtext")
    if about["version"] > VERSION:
        raise _UnfitError(f"it has version {about['version']}, this nbtext reads up to {VERSION}; upgrade nbtext")
    if not isinstance(about.get("settings"), dict):
        raise _UnfitError("it lacks valid settings")
    settings: dict[str, Any] = about["settings"]
    if arrays["format"].tobytes() != b"csr" or len(arrays["shape"]) != 2:
        raise _UnfitError("it is not sparse by rows")
    n_documents, n_features = arrays["shape"].tolist()
    if n_documents != len(arrays["indptr"]) - 1 or not 0 <= n_features <= np.iinfo(np.int32).max:
        raise _UnfitError("the numbers of rows or columns in `shape` are wrong")
    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr"]
    if len(data) != len(indices):
        raise _UnfitError("`indices` and `data` are not equally long")
    if not np.isfinite(data).all():
        raise _UnfitError("it contains a number that is not finite")
    if (wrong := find_row_error(indptr, indices, n_features)) is not None:
        raise _UnfitError(wrong)
    blob, offsets = arrays["feature_names"], arrays["feature_offsets"]
    _check_offsets(blob, offsets, "feature names")
    if len(offsets) > 1 or n_features > MAX_HASHED_FEATURES:
        if len(offsets) != n_features + 1:
            raise _UnfitError("it does not have a name for each column")
        if not are_utf8(blob, offsets) or not are_ascending(blob, offsets):
            raise _UnfitError("its feature names are not valid, distinct and sorted")
    ids = _names(arrays["document_ids"], arrays["document_id_offsets"], n_documents, "document ids")
    names = _names(arrays["labels"], arrays["label_offsets"], n_documents, "labels")
    has_label = arrays["has_label"]
    if len(has_label) != n_documents or (has_label.view(np.uint8) > 1).any():
        raise _UnfitError("`has_label` does not have one value for each document")
    labels = [name if has else None for name, has in zip(names, has_label.tolist(), strict=True)]
    return Matrix(data, indices, indptr, n_features, blob, offsets, ids, labels, settings)


def _check_offsets(blob: NDArray[np.uint8], offsets: NDArray[np.int64], what: str) -> None:
    if not are_offsets(offsets, len(blob)):
        raise _UnfitError(f"the offsets of its {what} are wrong")


def _names(blob: NDArray[np.uint8], offsets: NDArray[np.int64], n_names: int, what: str) -> list[str]:
    _check_offsets(blob, offsets, what)
    if len(offsets) != n_names + 1:
        raise _UnfitError(f"it has {len(offsets) - 1:,} {what} for {number_of(n_names, 'document')}")
    try:
        return unpack_names(blob, offsets)
    except UnicodeDecodeError:
        raise _UnfitError(f"its {what} are not valid UTF-8") from None


def write_matrix(matrix: Matrix, file: BinaryIO, *, output_format: str) -> None:
    """Write a matrix as npz (a matrix file), svmlight or mtx (Matrix Market)."""
    if output_format == "npz":
        save_matrix(matrix, file)
    elif output_format == "svmlight":
        labels = sorted({label for label in matrix.labels if label is not None})
        codes = {label: code for code, label in enumerate(labels)}
        bounds = matrix.indptr.tolist()
        for row, label in enumerate(matrix.labels):
            entries = slice(bounds[row], bounds[row + 1])
            pairs = zip((matrix.indices[entries] + np.int64(1)).tolist(), matrix.data[entries].tolist(), strict=True)
            code = codes[label] if label is not None else -1
            file.write(" ".join([str(code), *(f"{column}:{weight!r}" for column, weight in pairs)]).encode() + b"\n")
    else:
        from scipy.io import mmwrite

        mmwrite(file, matrix.csr(), comment=" documents x features, by nbtext", symmetry="general")
