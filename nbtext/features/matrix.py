"""Matrix files: counted or weighted documents.

A matrix file is an `.npz` file, which scipy.sparse.load_npz can open. Besides SciPy's own members
(data, indices, indptr, shape, format) it has the names of the features, the ids and labels of the
documents, and the feature settings, all as plain numbers: nothing in it is pickled. A matrix of
weights, or of some features only, has the counts of all features beside it. Only these are read,
so that the results of every command are those of the texts. Names are UTF-8 bytes one after the
other, with offsets. Members are stored, not compressed, so that the size of the file bounds their
size in memory.

Files of svmlight and Matrix Market hold numbers only: their columns have numbers instead of names.
"""

from __future__ import annotations

import json
import os
import warnings
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np

from nbtext.arrays import Array, Bytes, Integers
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
from nbtext.documents.streams import (
    STANDARD_INPUT,
    ByteStream,
    is_url,
    open_stream,
    origin_of,
    warn,
)
from nbtext.errors import InputError, ModelError, NbtextError, NbtextWarning
from nbtext.features.counting import align_documents
from nbtext.features.document_table import DocumentTable
from nbtext.features.selection import is_selective
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views
from nbtext.features.weighting import Weighting
from nbtext.output import Sink
from nbtext.records import Strings, frozen_object
from nbtext.settings import ParameterError, convert_parameters

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MATRIX_FORMAT = "nbtext matrix"
MATRIX_VERSION = 2
EPOCH = (1980, 1, 1, 0, 0, 0)  # of zip members: equal matrices make equal files
VECTORIZE = "write one with nbtext vectorize"
# of scikit-learn's dump_svmlight_file; a file without column 0 does not tell from where it counts
FROM_ONE = "in all files of this set, add 1 to each: perl -pe 's/\\s\\K\\d+(?=:)/$&+1/ge' FILE > NEW, or write them with zero_based=False"
NO_LABEL = "# -1 is a missing label"  # the first line of a file whose only other label is 1

# bytes of a matrix from a pipe that are kept in memory; a larger one goes to a temporary file
MEMORY_BYTES = 64 << 20
UNPACKED_RATIO = 10  # a compressed file of more than this ratio is refused as a bomb,
UNPACKED_ALLOWANCE = 8 << 20  # unless it decompresses to at most this size
MAX_UNNAMED_COLUMNS = 1 << 22  # of a matrix without names of features
MAX_EMPTY_ROWS = 1 << 16  # that a header may claim: each costs memory and time
# at most so many together, unless one document has more
BLOCK_DOCUMENTS = 4096
BLOCK_ENTRIES = 1 << 20
INTEGERS = ("<i4", "<i8")
REALS = ("<f4", "<f8")
BYTES = ("|u1",)
ROW_ARRAYS = ("data", "indices", "indptr", "feature_names", "feature_offsets")
COUNTED = ("counted_data", "counted_indices", "counted_indptr", "counted_names", "counted_offsets")
MEMBERS = {  # the allowed kinds of numbers of each member
    **dict(zip(ROW_ARRAYS, (INTEGERS + REALS, INTEGERS, INTEGERS, BYTES, ("<i8",)), strict=True)),
    **dict(zip(COUNTED, (INTEGERS, INTEGERS, INTEGERS, BYTES, ("<i8",)), strict=True)),
    "nbtext": BYTES,
    "document_ids": BYTES,
    "document_id_offsets": ("<i8",),
    "labels": BYTES,
    "label_offsets": ("<i8",),
    "has_label": ("|b1",),
    "label_numbers": ("<i8",),
    "idf": ("<f8",),
}
NO_NAMES = Vocabulary(np.zeros(0, np.uint8), np.zeros(1, np.int64))
Arrays = dict[str, Array]


@frozen_object
class Columns:
    """What the columns of a matrix are, and how their weights are made of counts.

    settings    of the features
    vocabulary  the feature of each column; None if features are hashed
    weighting   how counts are weighted
    is_given    whether the columns are those of another model or matrix, or of a given vocabulary:
                they become the vocabulary of what is trained on the matrix
    """

    settings: FeatureSettings
    vocabulary: Vocabulary | None
    weighting: Weighting
    is_given: bool = False

    @property
    def n_columns(self) -> int:
        if self.vocabulary is None:
            return 1 << (self.settings.hash_bits or 0)
        return len(self.vocabulary)

    @cached_property
    def features(self) -> FeatureSettings:
        """The settings of features that make these columns of texts."""
        if not self.is_given or self.vocabulary is None or is_selective(self.settings):
            return self.settings
        return replace(self.settings, vocabulary=tuple(self.vocabulary.terms))


@frozen_object
class Matrix:
    """Documents × features, sparse by rows, with the names of both.

    Attributes
    ----------
    rows : DocumentTable
        The counts of the documents, int32 or int64; of numbered columns, counts or weights.
    vocabulary : Vocabulary, optional
        The names of all features of the documents; None if they are hashed or numbered.
    n_features : int
    ids : list[str]
    labels : list of str, tuple of str or None
        The label of each document, or its distinct labels; None: not known.
    columns : Columns, optional
        The features that are columns of the matrix, and their weights. None: the features have
        numbers instead of names, and so have the labels.
    input : ModelInput
        What the documents were in the source that was vectorized.
    is_width_declared : bool
        Whether the file says how many features it has, which have no names; else they are those up
        to the last entry.
    """

    rows: DocumentTable
    vocabulary: Vocabulary | None
    n_features: int
    ids: list[str]
    labels: list[Label]
    columns: Columns | None
    input: ModelInput = UNKNOWN_INPUT
    is_width_declared: bool = False

    @property
    def is_numbered(self) -> bool:
        """Whether the columns and the labels have numbers instead of names."""
        return self.columns is None

    @property
    def features(self) -> FeatureSettings:
        """The settings that turn texts into rows of the matrix."""
        return FeatureSettings() if self.columns is None else self.columns.features

    @cached_property
    def names(self) -> Vocabulary | None:
        """The names of the features, which are their numbers if they have no names; None if they
        are hashed.
        """
        if self.vocabulary is None and self.is_numbered:
            return Vocabulary.of_numbers(self.n_features)
        return self.vocabulary

    def weigh(self) -> DocumentTable:
        """Return the weights of the columns."""
        rows = self.rows
        columns = self.columns
        if columns is None:
            return rows
        if self.vocabulary is not columns.vocabulary:
            rows = align_documents(rows, self.vocabulary, columns.vocabulary)
        weights = columns.weighting.weights(rows.indptr, rows.indices, rows.counts)
        return replace(rows, counts=weights)

    def csr(self) -> csr_array:
        """Return the weights of the columns as a SciPy array, (n_documents, n_columns)."""
        return self.weigh().matrix(self.columns.n_columns if self.columns else self.n_features)

    def take(self, rows: Sequence[int]) -> Matrix:
        """Return the matrix of these documents, ascending."""
        return replace(
            self,
            rows=self.rows.take(np.array(rows, np.int64)),
            ids=[self.ids[row] for row in rows],
            labels=[self.labels[row] for row in rows],
        )

    def content(self, row: int) -> bytes:
        """Return bytes that are equal for documents with equal counts, of the same file."""
        own = self.rows.slice(row, row + 1)
        return own.indices.astype("<i8").tobytes() + own.counts.astype("<f8").tobytes()

    def batch(self) -> Batch:
        """Return the documents as a batch, whose texts are empty, with labels as other formats give
        them: trimmed.
        """
        labels = [
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
        bounds = self.rows.indptr
        while start < len(self.ids) or start == 0:
            last = int(np.searchsorted(bounds, bounds[start] + BLOCK_ENTRIES, "right")) - 1
            stop = min(max(start + 1, last), start + BLOCK_DOCUMENTS, len(self.ids))
            yield Block(self.take(range(start, stop)).batch, size if start == 0 else 0)
            start = max(stop, 1)


def save_matrix(matrix: Matrix, file: BinaryIO) -> None:
    """Write a matrix file, from start to end; equal matrices make equal files."""
    import zipfile  # by matrix files only

    columns = matrix.columns
    assert columns is not None  # numbered columns are not written
    weights = matrix.weigh()
    weighting = columns.weighting
    id_blob, id_offsets = pack_names(matrix.ids)
    lists = [[label] if isinstance(label, str) else label or [] for label in matrix.labels]
    label_blob, label_offsets = pack_names([label for labels in lists for label in labels])
    is_listed = columns.is_given and not is_selective(columns.settings)
    settings = replace(columns.settings, vocabulary=()) if is_listed else columns.settings
    about = {
        "format": MATRIX_FORMAT,
        "version": MATRIX_VERSION,
        "settings": asdict(settings),  # whose vocabulary () is the columns
        "input": asdict(matrix.input),
    }
    names = columns.vocabulary or NO_NAMES
    members: dict[str, Array] = {
        "indices": weights.indices,
        "indptr": weights.indptr,
        "format": np.array(b"csr"),
        "shape": np.array((len(weights), columns.n_columns), "<i8"),
        "data": weights.counts,
        "_is_array": np.array(True),
        "nbtext": np.frombuffer(json.dumps(about, sort_keys=True).encode(), np.uint8),
        "feature_names": names.blob,
        "feature_offsets": names.offsets,
        "document_ids": id_blob,
        "document_id_offsets": id_offsets,
        "labels": label_blob,
        "label_offsets": label_offsets,
        "has_label": np.array([label is not None for label in matrix.labels], np.bool_),
        "label_numbers": np.array(
            [len(label or ()) if not isinstance(label, str) else -1 for label in matrix.labels],
            np.int64,
        ),
    }
    if not weighting.is_counting:
        members["idf"] = weighting.list_idf(columns.n_columns)
    rows = matrix.rows
    if weights.counts is not rows.counts or matrix.vocabulary is not columns.vocabulary:
        all_names = matrix.vocabulary or NO_NAMES
        counted = (rows.counts, rows.indices, rows.indptr, all_names.blob, all_names.offsets)
        members |= dict(zip(COUNTED, counted, strict=True))
    # a pipe and a file on the disk get the same bytes, because a sink has no `seek`
    with zipfile.ZipFile(Sink(file), "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            with archive.open(
                zipfile.ZipInfo(f"{name}.npy", EPOCH), "w", force_zip64=True
            ) as member:
                little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
                np.lib.format.write_array(member, little, allow_pickle=False)


class _UnfitError(InputError):
    """An error in a matrix file."""


def load_matrix(path: str) -> Matrix:
    """Read a matrix file, or standard input for `-`, compressed or not.

    Raises
    ------
    InputError
        The file is not a matrix, is broken or inconsistent, or was written by another nbtext.
    """
    with open_stream(path) as stream:
        return _load_npz(stream)


def read_npz(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of a matrix file."""
    return _load_npz(stream).blocks(stream.size or 0)


def _load_npz(stream: ByteStream) -> Matrix:
    with _named_errors(stream.path):
        kind = recognize(stream.head())
        if kind not in (None, MATRIX, BROKEN_ZIP):
            raise kind.refuse(stream.path)
        with _seekable(stream) as file:
            return _check_arrays(_read_members(file))


@contextmanager
def _named_errors(path: str) -> Iterator[None]:
    """Turn an error in a matrix file into one that names the file."""
    try:
        yield
    except _UnfitError as error:
        raise InputError(
            f"is not a valid matrix file: {error}", where=path, hint=VECTORIZE
        ) from None


@contextmanager
def _seekable(stream: ByteStream) -> Iterator[IO[bytes]]:
    """Return the stream as a file with `seek`; a pipe is stored first."""
    is_local = stream.path != STANDARD_INPUT and not is_url(stream.path)
    if stream.size is not None and stream.compression is None and is_local:
        with open(stream.path, "rb") as file:
            yield file
        return
    import tempfile

    with tempfile.SpooledTemporaryFile(MEMORY_BYTES) as copy:
        for raw in _read_bounded(stream):
            copy.write(raw)
        copy.seek(0)
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
    """Return the arrays of the file, of which each has a valid type."""
    import zipfile  # by matrix files only
    from tokenize import TokenError  # NumPy parses headers as Python

    length = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if info.compress_type != zipfile.ZIP_STORED or info.file_size > length:
                    raise _UnfitError(f"{info.filename} is compressed")
        file.seek(0)
        with np.load(file, allow_pickle=False) as loaded:
            # counts are read instead of weights
            unread = ROW_ARRAYS[:3] if COUNTED[0] in loaded else COUNTED
            read = [name for name in MEMBERS if name not in unread]
            arrays = {name: np.asarray(loaded[name]) for name in read if name in loaded}
    except (
        zipfile.BadZipFile,
        EOFError,
        MemoryError,
        OSError,
        OverflowError,
        RuntimeError,
        SyntaxError,
        TokenError,
        ValueError,
    ) as error:
        raise _UnfitError(f"its arrays cannot be read ({error})") from None
    for name in read:
        kinds = MEMBERS[name]
        if name not in arrays and name != "idf":
            raise _UnfitError(f"it has no {name}")
        if name in arrays and (arrays[name].ndim != 1 or arrays[name].dtype.str not in kinds):
            raise _UnfitError(f"{name} is not a list of numbers of the type {' or '.join(kinds)}")
    return arrays


def _check_arrays(arrays: Arrays) -> Matrix:
    """Return the matrix of the arrays, if they are consistent."""
    try:
        about = json.loads(arrays["nbtext"].tobytes())
    except (ValueError, RecursionError):
        raise _UnfitError("it lacks valid settings") from None
    if not isinstance(about, dict) or about.get("format") != MATRIX_FORMAT:
        raise _UnfitError("it was not written by nbtext")
    if about.get("version") != MATRIX_VERSION:
        raise _UnfitError(f"it is of another nbtext, and this one reads version {MATRIX_VERSION}")
    n_documents = len(arrays["document_id_offsets"]) - 1
    settings = _read_record(FeatureSettings(), about.get("settings"))
    vocabulary = None
    if settings.hash_bits is None:
        vocabulary = _read_vocabulary(arrays["feature_names"], arrays["feature_offsets"])
    is_listed = settings.vocabulary == ()
    if is_listed:
        settings = replace(settings, vocabulary=None)
    columns = Columns(settings, vocabulary, Weighting(), is_listed)
    idf = arrays.get("idf")
    if idf is None and not settings.is_counting:
        raise _UnfitError("it has no idf")
    if idf is not None and (len(idf) != columns.n_columns or not np.isfinite(idf).all()):
        raise _UnfitError("`idf` is not a finite number for each feature")
    bounds = [0, columns.n_columns]
    if settings.view and vocabulary is not None:
        try:
            bounds = find_views(vocabulary, settings.view).tolist()
        except ModelError as error:
            raise _UnfitError(str(error)) from None
    found = [
        Weighting(
            each.tf, each.norm, None if idf is None or each.idf == "none" else idf[start:stop]
        )
        for each, (start, stop) in zip(settings.of_views, pairwise(bounds), strict=True)
    ]
    columns = replace(columns, weighting=Weighting.join_views(found, bounds))
    is_counted = COUNTED[0] in arrays
    data, indices, indptr, blob, offsets = (
        arrays[name] for name in (COUNTED if is_counted else ROW_ARRAYS)
    )
    if is_counted and vocabulary is not None:
        vocabulary = _read_vocabulary(blob, offsets)
    if len(data) != len(indices) or len(indptr) != n_documents + 1:
        raise _UnfitError("its rows, columns and numbers are not equally long")
    if not is_counted and not (columns.weighting.is_counting and data.dtype.kind == "i"):
        raise _UnfitError("it lacks the counts that its weights are made of")
    n_features = columns.n_columns if vocabulary is None else len(vocabulary)
    if (wrong := find_row_error(indptr, indices, n_features)) is not None:
        raise _UnfitError(wrong)
    return Matrix(
        _documents(indptr, indices, data),
        vocabulary,
        n_features,
        _names(arrays, "document_ids", "document_id_offsets"),
        _read_labels(arrays, n_documents),
        columns,
        _read_input(about.get("input")),
    )


def _documents(indptr: Array, indices: Array, data: Array) -> DocumentTable:
    """Return the rows of a matrix."""
    indptr = indptr.astype(np.int64, copy=False)
    indices = indices.astype(np.int32, copy=False)
    return DocumentTable.from_texts(indptr, indices, data, np.zeros(len(indptr) - 1, np.int64))


def _read_record(defaults: Any, given: Any) -> Any:
    """Return a settings record of plain data, if all its values are valid."""
    if not isinstance(given, dict):
        raise _UnfitError("it lacks valid settings")
    values = asdict(defaults)
    if unknown := sorted(given.keys() - values.keys()):
        raise _UnfitError(
            f"it is of a newer nbtext: this one does not know its setting {unknown[0]!r}"
        )
    values |= {name: _freeze(value) for name, value in given.items()}
    kind = type(defaults)
    try:
        return kind(**convert_parameters(kind, values))
    except ParameterError as error:
        raise _UnfitError(f"its setting {error}") from None
    except NbtextError as error:
        raise _UnfitError(f"its settings are not valid: {error}") from None


def _read_vocabulary(blob: Bytes, offsets: Integers) -> Vocabulary:
    if (
        not are_offsets(offsets, len(blob))
        or not are_utf8(blob, offsets)
        or not are_ascending(blob, offsets)
    ):
        raise _UnfitError("its feature names are not valid, distinct and sorted")
    return Vocabulary(blob, offsets)


def _read_labels(arrays: Arrays, n_documents: int) -> list[Label]:
    """Return the labels of the documents."""
    has_label = arrays["has_label"].view(np.uint8)
    numbers = arrays["label_numbers"]
    n_names = len(arrays["label_offsets"]) - 1
    is_valid = len(has_label) == len(numbers) == n_documents and has_label.max(initial=0) <= 1
    is_valid = is_valid and numbers.min(initial=0) >= -1 and numbers.max(initial=0) <= n_names
    if not is_valid or int(np.abs(numbers).sum()) != n_names:
        raise _UnfitError("`label_numbers` does not have one number of labels for each document")
    names = _names(arrays, "labels", "label_offsets")
    labels = list[Label]()
    start = 0
    for has, number in zip(has_label.tolist(), numbers.tolist(), strict=True):
        own = tuple(dict.fromkeys(names[start : start + abs(number)]))
        labels.append(None if not has else names[start] if number < 0 else own)
        start += abs(number)
    return labels


def _read_input(given: Any) -> ModelInput:
    """Return what the documents were."""
    found: ModelInput = _read_record(UNKNOWN_INPUT, given)
    is_valid = found.unit in (None, *INPUT_UNITS) and found.matrix_columns is None
    if not is_valid or not found.text_field or "" in (*found.text_field, *found.label_fields):
        raise _UnfitError("it lacks a valid description of its source")
    return found


def _freeze(value: Any) -> Any:
    """Return a value of settings, with tuples for the lists that JSON made of them."""
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _names(arrays: Arrays, blob: str, offsets: str) -> list[str]:
    if not are_offsets(arrays[offsets], len(arrays[blob])):
        raise _UnfitError(f"`{offsets}` do not fit `{blob}`")
    try:
        return unpack_names(arrays[blob], arrays[offsets])
    except UnicodeDecodeError:
        raise _UnfitError(f"`{blob}` are not valid UTF-8") from None


def read_svmlight(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of a file in the format of svmlight: labels, then COLUMN:NUMBER from
    column 1 on.
    """
    from scipy.sparse import csr_array

    lists = list[Strings]()  # of labels as they are written
    known = dict[str, str]()  # each of them, and the label
    is_missing = False  # whether a comment says what -1 is
    ends = array("q", [0])
    columns = array("q")
    numbers = array("d")

    places = list[int]()  # the line of each document

    def read(line: str, place: int) -> None:
        nonlocal is_missing
        text, mark, _ = line.partition("#")
        is_missing |= line == NO_LABEL
        if not text.strip() and (mark or not text):  # a comment, or a blank line
            return
        first, *entries = text.split(" ") if text[:1] == " " else text.split()
        lists.append(tuple(first.split(",")) if first else ())
        known.update((text, _label_text(text)) for text in lists[-1] if text not in known)
        places.append(place)
        for entry in filter(None, entries):
            column, _, number = entry.partition(":")
            if column == "qid":  # the query of a document that is ranked
                continue
            if int(column) < 1:
                raise _UnfitError(
                    f"the column {column}, and columns are counted from 1; {FROM_ONE}"
                )
            columns.append(int(column) - 1)
            numbers.append(float(number))
        ends.append(len(columns))

    with _named_errors(stream.path):
        for block in read_line_blocks(_read_bounded(stream), options.settings.max_document_bytes):
            lines = block.data.decode("utf-8", "replace").removesuffix("\n").split("\n")
            for number, line in enumerate(lines, block.first_line):
                try:
                    read(line.rstrip("\r"), number)
                except _UnfitError as error:
                    raise InputError(f"has {error}", where=f"{stream.path}:{number}") from None
                except (ValueError, IndexError, OverflowError):
                    raise InputError(
                        "is not a line of a matrix of numbers",
                        where=f"{stream.path}:{number}",
                        hint=VECTORIZE,
                    ) from None
        of_column = np.frombuffer(columns, "q")
        width = int(of_column.max(initial=-1)) + 1
        _check_width(width)
        # -1 is a missing label, as nbtext writes it, unless the labels are -1 and 1; then 0 is
        # missing, as SVMlight writes it, if 1 is written as +1
        found = {*known.values()}
        has_sign = any(text.startswith("+") for text in known)
        is_binary = not is_missing and {"-1", "1"} <= found <= {"-1", "0", "1"}
        if is_binary and "0" in found:
            is_binary = has_sign
            missing = "0" if has_sign else "-1"
            what = f"because the labels are -1, 0 and {'+' * has_sign}1"
            warn(stream.path, f"{missing} is read as no label, {what}")
        none = ("0" if is_binary else "-1",) if "0" in found or not is_binary else None
        labels = list[Label]()
        for own in lists:
            given = tuple(known[text] for text in own)
            labels.append(None if given == none else given[0] if len(given) == 1 else given)
        entries = np.frombuffer(numbers, "d"), of_column, np.frombuffer(ends, "q")
        rows = csr_array(entries, shape=(len(labels), width))
    return _numbered_blocks(stream, labels, rows, places)


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
    from scipy.sparse import coo_array

    with _named_errors(stream.path), _seekable(stream) as file:
        kinds = file.readline().lower().split()[1:]
        if kinds[:2] != [b"matrix", b"coordinate"] or kinds[-1] != b"general":
            raise _UnfitError("it is not a general matrix of coordinates")
        while (text := file.readline()).startswith(b"%") or text.isspace():
            pass
        columns = [("row", np.int64), ("column", np.int64), ("value", np.float64)]
        try:
            n_rows, n_columns, n_entries = map(int, text.split())
            if n_rows > n_entries + MAX_EMPTY_ROWS:
                raise _UnfitError(f"more than {MAX_EMPTY_ROWS:,} of its rows are empty")
            _check_width(n_columns)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # there is no entry
                is_pattern = kinds[2] == b"pattern"
                found = np.loadtxt(file, columns[:2] if is_pattern else columns, None, ndmin=1)
            if len(found) != n_entries:
                raise _UnfitError(f"it has {len(found):,} entries, and says {n_entries:,}")
            values = np.ones(n_entries) if is_pattern else found["value"]
            places = found["row"] - 1, found["column"] - 1
            rows = coo_array((values, places), shape=(n_rows, n_columns)).tocsr()
        except (ValueError, OverflowError) as error:
            raise _UnfitError(f"{error}") from None
    return _numbered_blocks(stream, [None] * n_rows, rows)


def _check_width(n_columns: int) -> None:
    if n_columns > MAX_UNNAMED_COLUMNS:
        raise _UnfitError(
            f"it has {n_columns:,} columns; at most {MAX_UNNAMED_COLUMNS:,} may have no names"
        )


def _numbered_blocks(
    stream: ByteStream,
    labels: list[Label],
    rows: csr_array,
    places: Sequence[int] | None = None,
) -> Iterator[Block]:
    """Return the blocks of a matrix whose columns have numbers.

    places  the line of each document; None: they have none, and the file says its width
    """
    origin = origin_of(stream.path)
    ids = [f"{origin}{place}" for place in places or range(1, len(labels) + 1)]
    with _named_errors(stream.path):
        matrix = number_columns(rows, ids, labels)
    what = "columns are matched by their numbers, as vectorize --like writes them; words that are in no column, ids"
    warnings.warn(
        f"{stream.path}: {what} and the lengths of weighted documents are not known",
        NbtextWarning,
        stacklevel=2,
    )
    return replace(matrix, is_width_declared=places is None).blocks(stream.size or 0)


def number_columns(rows: csr_array, ids: list[str], labels: list[Label]) -> Matrix:
    """Return rows of numbers as a matrix whose columns have numbers. Numbers are counts if all are
    whole and not negative, else weights. `rows` changes: equal places are added, zeros removed.

    raises  InputError: a number is not finite
    """
    rows.sum_duplicates()
    rows.eliminate_zeros()
    data = rows.data.astype(np.float64)
    if not np.isfinite(data).all():
        raise _UnfitError("a number of the matrix is not finite")
    is_counted = bool((data >= 0).all() and (data == np.floor(data)).all())
    is_counted &= bool(data.max(initial=0) < 2**31)
    counts = _documents(rows.indptr, rows.indices, data.astype(np.int32) if is_counted else data)
    width = rows.shape[1]
    return Matrix(counts, None, width, ids, labels, None, ModelInput(matrix_columns=width))


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
        weights = matrix.weigh()
        bounds = weights.indptr.tolist()
        if None in lists and {codes.get(label) for each in lists for label in each or ()} == {"1"}:
            file.write(f"{NO_LABEL}\n".encode())
        for row, own in enumerate(lists):
            entries = slice(bounds[row], bounds[row + 1])
            pairs = zip(
                (weights.indices[entries] + np.int64(1)).tolist(),
                weights.counts[entries].tolist(),
                strict=True,
            )
            if unknown := [label for label in own or () if label not in codes]:
                raise InputError(
                    f"the label {unknown[0]!r} is none of --like, and svmlight holds only the numbers of labels",
                    where=matrix.ids[row],
                    hint="write .npz",
                )
            code = "-1" if own is None else ",".join(codes[label] for label in own)
            line = " ".join([code, *(f"{column}:{weight!r}" for column, weight in pairs)])
            file.write(f"{line or ' '}\n".encode())
    else:
        from scipy.io import mmwrite

        mmwrite(file, matrix.csr(), comment=" documents x features, by nbtext", symmetry="general")
