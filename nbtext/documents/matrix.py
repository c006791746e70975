"""Matrix files: counted or weighted documents.

A matrix file is an `.npz` file, which scipy.sparse.load_npz can open. Besides SciPy's own members
(data, indices, indptr, shape, format) it has the names of the features, the ids and labels of the
documents, and the feature settings, all as plain numbers: nothing in it is pickled. A matrix of
weights, or of some features only, has the counts of all features beside it, which commands use, so
that their results are those of the texts. Names are UTF-8 bytes one after the other, with offsets.
Members are stored, not compressed, so that the size of the file bounds their size in memory.

Files of svmlight and Matrix Market hold numbers only: their columns have numbers instead of names.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.batch import Batch, Block
from nbtext.documents.blocks import ReadOptions, read_line_blocks, read_raw_blocks
from nbtext.documents.fields import Label, name_of
from nbtext.documents.formats import INPUT_UNITS
from nbtext.documents.names import (
    are_ascending,
    are_offsets,
    are_utf8,
    find_row_error,
    pack_names,
    unpack_names,
)
from nbtext.documents.recognition import BROKEN_ZIP, MATRIX, recognize
from nbtext.documents.settings import UNKNOWN_INPUT, ModelInput
from nbtext.documents.streams import STANDARD_INPUT, ByteStream, open_stream
from nbtext.errors import InputError, NbtextWarning, number_of
from nbtext.output import Sink

if TYPE_CHECKING:
    import zipfile

    from scipy.sparse import csr_array

FORMAT = "nbtext matrix"
VERSION = 2  # raise it when an older nbtext would misread the file
EPOCH = (1980, 1, 1, 0, 0, 0)  # of zip members: equal matrices make equal files


# bytes of a matrix from a pipe that are kept in memory; a larger one goes to a temporary file
MEMORY_BYTES = 64 << 20
UNPACKED_RATIO = 10  # a compressed file of more than this ratio is refused as a bomb,
UNPACKED_ALLOWANCE = 8 << 20  # unless it decompresses to at most this size
MAX_HASHED_FEATURES = 2**30
MAX_COLUMNS = 1 << 22  # of a matrix without names of features
MAX_EMPTY_ROWS = 1_000_000  # that a header may claim
# at most so many together, unless one document has more
BLOCK_DOCUMENTS = 4096
BLOCK_ENTRIES = 1 << 20
INTEGERS = ("<i4", "<i8")
REALS = ("<f4", "<f8")
BYTES = ("|u1",)
MEMBERS = {  # the allowed kinds of numbers of each member, and its number of dimensions
    "indices": (INTEGERS, 1),
    "indptr": (INTEGERS, 1),
    "format": (("|S3",), 0),
    "shape": (("<i8",), 1),
    "data": (INTEGERS + REALS, 1),
    "nbtext": (BYTES, 1),
    "feature_names": (BYTES, 1),
    "feature_offsets": (("<i8",), 1),
    "document_ids": (BYTES, 1),
    "document_id_offsets": (("<i8",), 1),
    "labels": (BYTES, 1),
    "label_offsets": (("<i8",), 1),
    "has_label": (("|b1",), 1),
}
OPTIONAL = {  # of files that version 1 did not have
    "label_numbers": (("<i8",), 1),
    "idf": (("<f8",), 1),
}
COUNTED = {  # of the counts of all features
    "counted_data": (INTEGERS, 1),
    "counted_indices": (INTEGERS, 1),
    "counted_indptr": (INTEGERS, 1),
    "counted_names": (BYTES, 1),
    "counted_offsets": (("<i8",), 1),
}
NOTHING = np.zeros(0, dtype=np.uint8)
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
        Shape (n_features + 1,): the position of each name; shape (1,) if the features are hashed or
        numbered.
    ids : list[str]
    labels : list of str, tuple of str or None
        The label of each document, or its distinct labels; None: not known.
    settings : dict[str, Any], optional
        The feature settings of the matrix, as plain data for JSON. None: the columns have numbers
        instead of names.
    counted : Matrix, optional
        The counts of all features of the documents, if the matrix has weights or some features
        only.
    is_partial : bool
        Whether the matrix may have weights or some features only, and nothing else is known, as of
        older files.
    idf : array of float64, optional
        Shape (n_features,): the inverse document frequencies of weights; 1 without them.
    parameters : list of dict
        The numbers in the formula of the term frequency, of each view.
    input : ModelInput
        What the documents were in the source that was vectorized.
    is_width_declared : bool
        Whether the file says how many columns it has, which have no names; else they are those up
        to the last entry.
    """

    data: NDArray[Any]
    indices: NDArray[np.int32] | NDArray[np.int64]
    indptr: NDArray[np.int32] | NDArray[np.int64]
    n_features: int
    feature_blob: NDArray[np.uint8]
    feature_offsets: NDArray[np.int64]
    ids: list[str]
    labels: list[Label]
    settings: dict[str, Any] | None
    counted: Matrix | None = None
    is_partial: bool = False
    idf: NDArray[np.float64] | None = None
    parameters: list[dict[str, float]] = field(default_factory=list)
    input: ModelInput = UNKNOWN_INPUT
    is_width_declared: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_features)."""
        return len(self.ids), self.n_features

    @property
    def is_numbered(self) -> bool:
        """Whether the columns and the labels have numbers instead of names."""
        return self.settings is None

    @property
    def is_whole(self) -> bool:
        """Whether the entries are whole numbers: counts, or binary counts."""
        return self.data.dtype.kind in "iu"

    def csr(self) -> csr_array:
        """Return the matrix as a SciPy array."""
        from scipy.sparse import csr_array

        return csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def take(self, rows: Sequence[int]) -> Matrix:
        """Return the matrix of these documents, ascending."""
        numbers = np.array(rows, dtype=np.int64)
        starts = self.indptr[numbers]
        sizes = np.diff(self.indptr)[numbers]
        indptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
        if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1:
            entries: Any = slice(int(starts[0]), int(starts[0] + indptr[-1]))
        else:
            entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
        return replace(
            self,
            data=self.data[entries],
            indices=self.indices[entries],
            indptr=indptr,
            ids=[self.ids[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            counted=None if self.counted is None else self.counted.take(rows),
        )

    def content(self, row: int) -> bytes:
        """Return bytes that are equal for documents with equal counts, of the same file."""
        counts = self.counted or self
        entries = slice(counts.indptr[row], counts.indptr[row + 1])
        return (
            counts.indices[entries].astype("<i8").tobytes()
            + counts.data[entries].astype("<f8").tobytes()
        )

    def batch(self) -> Batch:
        """Return the documents as a batch, whose texts are empty, with labels as other formats give
        them: trimmed.
        """
        labels: list[Label] = [
            tuple(dict.fromkeys(filter(None, map(name_of, label))))
            if isinstance(label, tuple)
            else name_of(label)
            for label in self.labels
        ]
        return Batch(self.ids, ([""] * len(self.ids),), labels, matrix=self)

    def blocks(self, size: int = 0) -> Iterator[Block]:
        """Yield the documents in blocks, at least one; `size` is the number of bytes that were read
        for all.
        """
        start = 0
        bounds = self.indptr
        while start < len(self.ids) or start == 0:
            last = int(np.searchsorted(bounds, bounds[start] + BLOCK_ENTRIES, side="right")) - 1
            stop = min(max(start + 1, last), start + BLOCK_DOCUMENTS, len(self.ids))
            yield Block(self.take(range(start, stop)).batch, size if start == 0 else 0)
            start = max(stop, 1)


def save_matrix(matrix: Matrix, file: BinaryIO) -> None:
    """Write a matrix file, from start to end; equal matrices make equal files."""
    import zipfile  # by matrix files only

    id_blob, id_offsets = pack_names(matrix.ids)
    lists = [[label] if isinstance(label, str) else label or [] for label in matrix.labels]
    label_blob, label_offsets = pack_names([label for labels in lists for label in labels])
    about = {
        "format": FORMAT,
        "version": VERSION,
        "settings": matrix.settings,
        "parameters": matrix.parameters,
        "input": asdict(matrix.input),
    }
    members: dict[str, NDArray[Any] | None] = {
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
        "label_numbers": np.array(
            [len(label or ()) if not isinstance(label, str) else -1 for label in matrix.labels],
            dtype=np.int64,
        ),
        "idf": matrix.idf,
    }
    if matrix.counted is not None:
        counted = matrix.counted
        values = (
            counted.data,
            counted.indices,
            counted.indptr,
            counted.feature_blob,
            counted.feature_offsets,
        )
        members |= dict(zip(COUNTED, values, strict=True))
    # a pipe and a file on the disk get the same bytes, because a sink has no `seek`
    with zipfile.ZipFile(Sink(file), "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            if array is None:
                continue
            with archive.open(
                zipfile.ZipInfo(f"{name}.npy", EPOCH), "w", force_zip64=True
            ) as member:
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
        return _load_npz(stream)


def read_npz(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of a matrix file."""
    matrix = _load_npz(stream)
    if matrix.is_partial:
        what = "the file is of an older nbtext, without the counts of all words: those that it lacks are not known"
        warnings.warn(f"{stream.path}: {what}", NbtextWarning, stacklevel=2)
    return matrix.blocks(stream.size or 0)


def _load_npz(stream: ByteStream) -> Matrix:
    with _named_errors(stream.path, "write one with nbtext vectorize"):
        kind = recognize(stream.head())
        if kind not in (None, MATRIX, BROKEN_ZIP):
            raise kind.refuse(stream.path)
        with _seekable(stream) as file:
            return _check_arrays(_read_members(file))


@contextmanager
def _named_errors(path: str, hint: str) -> Iterator[None]:
    """Turn an error in a matrix file into one that names the file."""
    try:
        yield
    except _UnfitError as error:
        raise InputError(f"is not a valid matrix file: {error}", where=path, hint=hint) from None


@contextmanager
def _seekable(stream: ByteStream) -> Iterator[IO[bytes]]:
    """Return the stream as a file with `seek`; a pipe is stored first."""
    if stream.size is not None and stream.compression is None and stream.path != "-":
        with open(stream.path, "rb") as file:
            yield file
        return
    import tempfile

    with tempfile.SpooledTemporaryFile(MEMORY_BYTES) as copy:
        for raw in _read_bounded(stream):
            copy.write(raw)
        yield copy


def _read_bounded(stream: ByteStream) -> Iterator[bytes]:
    """Yield the bytes of a stream, unless they are those of a bomb."""
    n_bytes = 0
    for raw in read_raw_blocks(stream):
        n_bytes += len(raw)
        if stream.compression and n_bytes > UNPACKED_ALLOWANCE + UNPACKED_RATIO * stream.position:
            raise _UnfitError(f"it unpacks to more than {UNPACKED_RATIO} times its size")
        yield raw


def _read_members(file: IO[bytes]) -> Arrays:
    """Return the arrays of the file, of which each has a valid type and shape."""
    import zipfile  # by matrix files only

    length = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            known = {info.filename: info for info in archive.infolist()}
            extra = OPTIONAL | (COUNTED if "counted_data.npy" in known else {})
            found = [
                *MEMBERS,
                *(name for name in extra if name in COUNTED or f"{name}.npy" in known),
            ]
            for name in found:
                _check_member(archive, known.get(f"{name}.npy"), name, length)
        file.seek(0)
        with np.load(file, allow_pickle=False) as loaded:
            return {name: loaded[name] for name in found}
    except (
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,
        ValueError,
        OSError,
        RuntimeError,
    ) as error:
        raise _UnfitError(f"its zip file is broken ({error})") from None


def _check_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo | None, name: str, length: int
) -> None:
    """Raise _UnfitError unless a member holds an array of an allowed type, as long as its header
    says.

    length  size of the file
    """
    import zipfile  # by matrix files only
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
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, is_fortran, kind = read(member)
            if (
                is_fortran
                or kind.hasobject
                or len(shape) > 1
                or any(not 0 <= size < 1 << 60 for size in shape)
            ):
                raise ValueError
        except (ValueError, SyntaxError, TokenError, MemoryError, RecursionError):
            raise _UnfitError(f"{name} is not an array of numbers in the format of NumPy") from None
        n_bytes = member.tell() + math.prod(shape) * kind.itemsize
    kinds, dimensions = (MEMBERS | OPTIONAL | COUNTED)[name]
    if kind.str not in kinds or len(shape) != dimensions:
        raise _UnfitError(
            f"{name} is not an array of the type {' or '.join(kinds)} with {dimensions} dimensions"
        )
    if n_bytes != info.file_size:
        raise _UnfitError(f"{name} is not as long as its header says")


def _check_arrays(arrays: Arrays) -> Matrix:
    """Return the matrix of the arrays, if they are consistent."""
    try:
        about = json.loads(arrays["nbtext"].tobytes())
    except (ValueError, RecursionError):
        raise _UnfitError("it lacks valid settings") from None
    if (
        not isinstance(about, dict)
        or about.get("format") != FORMAT
        or type(about.get("version")) is not int
    ):
        raise _UnfitError("it was not written by nbtext")
    if about["version"] > VERSION:
        raise _UnfitError(
            f"it has version {about['version']}, this nbtext reads up to {VERSION}; upgrade nbtext"
        )
    if not isinstance(about.get("settings"), dict):
        raise _UnfitError("it lacks valid settings")
    settings: dict[str, Any] = about["settings"]
    if arrays["format"].tobytes() != b"csr" or len(arrays["shape"]) != 2:
        raise _UnfitError("it is not sparse by rows")
    n_documents, n_features = arrays["shape"].tolist()
    if n_documents != len(arrays["indptr"]) - 1 or not 0 <= n_features <= np.iinfo(np.int32).max:
        raise _UnfitError("the numbers of rows or columns in `shape` are wrong")
    ids = _names(arrays["document_ids"], arrays["document_id_offsets"], n_documents, "document ids")
    labels = _read_labels(arrays, n_documents)
    source = _check_input(about.get("input"))
    names = arrays["feature_names"], arrays["feature_offsets"]
    matrix = Matrix(
        arrays["data"],
        arrays["indices"],
        arrays["indptr"],
        n_features,
        *names,
        ids,
        labels,
        settings,
        is_partial=about["version"] == 1,
        idf=arrays.get("idf"),
        parameters=_check_parameters(about.get("parameters", [])),
        input=source,
    )
    _check_rows(matrix)
    if matrix.idf is not None and (
        len(matrix.idf) != n_features or not np.isfinite(matrix.idf).all()
    ):
        raise _UnfitError("`idf` is not a finite number for each feature")
    if "counted_data" not in arrays:
        return matrix
    data, indices, indptr, blob, offsets = (arrays[name] for name in COUNTED)
    # hashed features have the same columns
    width = n_features if len(offsets) == 1 else len(offsets) - 1
    counted = Matrix(data, indices, indptr, width, blob, offsets, ids, labels, settings)
    _check_rows(counted)
    return replace(matrix, counted=counted)


def _check_rows(matrix: Matrix) -> None:
    """Raise _UnfitError unless the rows, columns and names of a matrix fit together."""
    blob = matrix.feature_blob
    offsets = matrix.feature_offsets
    n_features = matrix.n_features
    if len(matrix.data) != len(matrix.indices) or len(matrix.indptr) != len(matrix.ids) + 1:
        raise _UnfitError("`indices` and `data` are not equally long")
    if not np.isfinite(matrix.data).all():
        raise _UnfitError("it contains a number that is not finite")
    if (wrong := find_row_error(matrix.indptr, matrix.indices, n_features)) is not None:
        raise _UnfitError(wrong)
    _check_offsets(blob, offsets, "feature names")
    if len(offsets) > 1 or n_features > MAX_HASHED_FEATURES:
        if len(offsets) != n_features + 1:
            raise _UnfitError("it does not have a name for each column")
        if not are_utf8(blob, offsets) or not are_ascending(blob, offsets):
            raise _UnfitError("its feature names are not valid, distinct and sorted")


def _read_labels(arrays: Arrays, n_documents: int) -> list[Label]:
    """Return the labels of the documents."""
    has_label = arrays["has_label"]
    numbers = arrays.get("label_numbers")
    if len(has_label) != n_documents or (has_label.view(np.uint8) > 1).any():
        raise _UnfitError("`has_label` does not have one value for each document")
    if numbers is None:  # version 1: a name for each document, empty without a label
        names = _names(arrays["labels"], arrays["label_offsets"], n_documents, "labels")
        return [name if has else None for name, has in zip(names, has_label.tolist(), strict=True)]
    n_names = len(arrays["label_offsets"]) - 1
    if (
        len(numbers) != n_documents
        or numbers.min(initial=0) < -1
        or numbers.max(initial=0) > n_names
    ):
        raise _UnfitError("`label_numbers` does not have one number for each document")
    if int(np.abs(numbers).sum()) != n_names:
        raise _UnfitError(f"it has {n_names:,} labels for {number_of(n_documents, 'document')}")
    names = _names(arrays["labels"], arrays["label_offsets"], n_names, "labels")
    labels = list[Label]()
    start = 0
    for has, number in zip(has_label.tolist(), numbers.tolist(), strict=True):
        own = tuple(dict.fromkeys(names[start : start + abs(number)]))
        labels.append(None if not has else names[start] if number < 0 else own)
        start += abs(number)
    return labels


def _check_parameters(given: Any) -> list[dict[str, float]]:
    """Return the parameters of term frequencies, if they are finite numbers by name."""
    for each in given if isinstance(given, list) else [None]:
        if not isinstance(each, dict) or not all(
            type(value) is float and math.isfinite(value) for value in each.values()
        ):
            raise _UnfitError("it lacks valid parameters of term frequencies")
    return list(given)


def _check_input(given: Any) -> ModelInput:
    """Return what the documents were, if it is described in valid types."""
    if given is None:
        return UNKNOWN_INPUT
    plain: dict[str, Any] = asdict(UNKNOWN_INPUT)
    if not isinstance(given, dict) or not given.keys() <= plain.keys():
        raise _UnfitError("it lacks a valid description of its source")
    plain |= {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    found = ModelInput(**plain)
    is_valid = (
        plain["unit"] in (None, *INPUT_UNITS)
        and plain["matrix_columns"] is None
        and plain["text_field"] != ()
    )
    is_valid &= plain["label_separator"] is None or isinstance(plain["label_separator"], str)
    for name in ("text_field", "label_field", "separate_fields", "label_fields"):
        is_valid &= type(plain[name]) is type(getattr(UNKNOWN_INPUT, name))
    if is_valid:
        names: tuple[object, ...] = (*found.text_field, *found.label_fields)
        is_valid = all(isinstance(name, str) and name != "" for name in names)
    if not is_valid:
        raise _UnfitError("it lacks a valid description of its source")
    return found


def _check_offsets(blob: NDArray[np.uint8], offsets: NDArray[np.int64], what: str) -> None:
    if not are_offsets(offsets, len(blob)):
        raise _UnfitError(f"the offsets of its {what} are wrong")


def _names(
    blob: NDArray[np.uint8], offsets: NDArray[np.int64], n_names: int, what: str
) -> list[str]:
    _check_offsets(blob, offsets, what)
    if len(offsets) != n_names + 1:
        raise _UnfitError(
            f"it has {len(offsets) - 1:,} {what} for {number_of(n_names, 'document')}"
        )
    try:
        return unpack_names(blob, offsets)
    except UnicodeDecodeError:
        raise _UnfitError(f"its {what} are not valid UTF-8") from None


def read_svmlight(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of a file in the format of svmlight: labels, then COLUMN:NUMBER from
    column 1 on.
    """
    labels = list[Label]()
    ends = array("q", [0])
    columns = array("q")
    numbers = array("d")

    def read(line: str) -> None:
        first, *entries = (
            line.partition("#")[0].split(" ") if line[:1] == " " else line.partition("#")[0].split()
        )
        given = tuple(map(_label_text, first.split(","))) if first else ()
        labels.append(None if given == ("-1",) else given[0] if len(given) == 1 else given)
        for entry in filter(None, entries):
            column, _, number = entry.partition(":")
            columns.append(int(column) - 1)
            numbers.append(float(number))
        ends.append(len(columns))

    _parse_lines(stream, options, read, is_blank_skipped=False)
    return _numbered_blocks(stream, labels, np.frombuffer(ends, "q"), columns, numbers, None)


def _label_text(text: str) -> str:
    """Return the label of svmlight as the text of a whole number, if it is one: `+1` and `1.0` are
    1.
    """
    number = float(text)
    return str(int(number)) if number.is_integer() else text


def read_mtx(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of a file in the coordinate format of Matrix Market, the rows of a matrix
    without labels.
    """
    rows = array("q")
    columns = array("q")
    numbers = array("d")
    sizes = list[int]()

    def read(line: str) -> None:
        if line.startswith("%"):
            kinds = line.lower().split()
            if line.startswith("%%") and (
                kinds[1:3] != ["matrix", "coordinate"] or kinds[-1] != "general"
            ):
                raise _UnfitError("it is not a general matrix of coordinates")
        elif not sizes:
            sizes.extend(map(int, line.split()))
        else:
            row, column, *number = line.split()
            rows.append(int(row) - 1)
            columns.append(int(column) - 1)
            numbers.append(float(number[0]) if number else 1.0)

    _parse_lines(stream, options, read, is_blank_skipped=True)
    with _named_errors(stream.path, "write one with nbtext vectorize --to mtx"):
        if len(sizes) != 3 or min(sizes) < 0 or sizes[2] != len(rows):
            raise _UnfitError("its numbers of rows, columns and entries are wrong")
        if sizes[0] > len(rows) + MAX_EMPTY_ROWS:
            raise _UnfitError(f"more than {MAX_EMPTY_ROWS:,} of its rows are empty")
        of_row = np.frombuffer(rows, "q")
        if len(of_row) and not 0 <= of_row.min() <= of_row.max() < sizes[0]:
            raise _UnfitError(f"the number of a row is not from 1 to {sizes[0]:,}")
        order = np.argsort(of_row, kind="stable")
        ends = np.concatenate(
            (np.zeros(1, np.int64), np.cumsum(np.bincount(of_row, minlength=sizes[0])))
        )
    ordered = array("q", np.frombuffer(columns, "q")[order].tobytes())
    values = array("d", np.frombuffer(numbers, "d")[order].tobytes())
    return _numbered_blocks(stream, [None] * sizes[0], ends, ordered, values, sizes[1])


def _parse_lines(
    stream: ByteStream, options: ReadOptions, read: Callable[[str], None], *, is_blank_skipped: bool
) -> None:
    """Call a function for each line of a file of numbers; InputError names the line that it cannot
    read.
    """
    hint = "write one with nbtext vectorize"
    with _named_errors(stream.path, hint):
        for block in read_line_blocks(_read_bounded(stream), options.settings.max_document_bytes):
            lines = block.data.decode("utf-8", "replace").split("\n")
            for number, line in enumerate(
                lines[: -1 if block.data.endswith(b"\n") else None], block.first_line
            ):
                if is_blank_skipped and not line.strip():
                    continue
                try:
                    read(line.rstrip("\r"))
                except (ValueError, IndexError, OverflowError):
                    where = f"{stream.path}:{number}"
                    raise InputError(
                        "is not a line of a matrix of numbers", where=where, hint=hint
                    ) from None


def _numbered_blocks(
    stream: ByteStream,
    labels: list[Label],
    ends: NDArray[np.int64],
    columns: array[int],
    numbers: array[float],
    n_columns: int | None,
) -> Iterator[Block]:
    """Return the blocks of a matrix whose columns have numbers.

    n_columns  None: as many as the largest number
    """
    from scipy.sparse import csr_array

    with _named_errors(stream.path, "write one with nbtext vectorize"):
        of_column = np.frombuffer(columns, "q")
        data = np.frombuffer(numbers, "d")
        width = int(of_column.max(initial=-1)) + 1 if n_columns is None else n_columns
        if width > MAX_COLUMNS:
            raise _UnfitError(
                f"it has {width:,} columns; at most {MAX_COLUMNS:,} may have no names"
            )
        if len(of_column) and not 0 <= of_column.min() <= of_column.max() < width:
            raise _UnfitError(f"the number of a column is not from 1 to {width:,}")
        if not np.isfinite(data).all():
            raise _UnfitError("it contains a number that is not finite")
        rows = csr_array((data, of_column, ends), shape=(len(labels), width))
        rows.sum_duplicates()
        rows.eliminate_zeros()
    is_counted = bool((rows.data >= 0).all() and (rows.data == np.floor(rows.data)).all())
    is_counted &= bool(rows.data.max(initial=0) < 2**31)
    what = "columns are matched by their numbers, as vectorize --like writes them; words that are in no column, ids"
    warnings.warn(
        f"{stream.path}: {what} and the lengths of weighted documents are not known",
        NbtextWarning,
        stacklevel=2,
    )
    origin = "" if stream.path == STANDARD_INPUT else f"{stream.path}:"
    ids = [f"{origin}{number}" for number in range(1, len(labels) + 1)]
    matrix = Matrix(
        rows.data.astype(np.int32) if is_counted else rows.data,
        rows.indices,
        rows.indptr,
        width,
        NOTHING,
        np.zeros(1, dtype=np.int64),
        ids,
        labels,
        None,
        input=ModelInput(matrix_columns=width),
        is_width_declared=n_columns is not None,
    )
    return matrix.blocks(stream.size or 0)


def write_matrix(
    matrix: Matrix, file: BinaryIO, *, output_format: str, labels: Sequence[str] | None = None
) -> None:
    """Write a matrix as npz (a matrix file), svmlight or mtx (Matrix Market).

    labels  the names of the labels 0, 1, … of svmlight; None: those of the documents, sorted
    raises  InputError: a document has another label
    """
    if output_format == "npz":
        save_matrix(matrix, file)
    elif output_format == "svmlight":
        lists = [(label,) if isinstance(label, str) else label for label in matrix.labels]
        known = (
            sorted({label for each in lists for label in each or ()}) if labels is None else labels
        )
        codes = {label: str(code) for code, label in enumerate(known)}
        bounds = matrix.indptr.tolist()
        for row, own in enumerate(lists):
            entries = slice(bounds[row], bounds[row + 1])
            pairs = zip(
                (matrix.indices[entries] + np.int64(1)).tolist(),
                matrix.data[entries].tolist(),
                strict=True,
            )
            if unknown := [label for label in own or () if label not in codes]:
                what = f"the label {unknown[0]!r} is none of --like, and svmlight holds only the numbers of labels"
                raise InputError(what, where=matrix.ids[row], hint="write .npz")
            code = "-1" if own is None else ",".join(codes[label] for label in own)
            file.write(
                " ".join([code, *(f"{column}:{weight!r}" for column, weight in pairs)]).encode()
                + b"\n"
            )
    else:
        from scipy.io import mmwrite

        mmwrite(file, matrix.csr(), comment=" documents x features, by nbtext", symmetry="general")
