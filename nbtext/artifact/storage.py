"""Model files: a record of plain data in joblib's format, loaded by a reader that executes no code.

The file is a pickle of the record, as `joblib.dump` writes it, followed by the SHA-256 digest of its bytes. The digest
detects accidental damage. It does not detect manipulation, because anyone can compute a new digest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from nbtext.artifact.reader import ITEM_BYTES, MAX_TEXT_BYTES, Name, Reader, is_exactly
from nbtext.artifact.stream import code_error, foreign_error, open_stream
from nbtext.errors import ArtifactError

FORMAT = "nbtext model"
VERSION = 2  # increase it if the record changes

MAX_DEPTH = 16
MAX_VALUES = 300_000
ARRAY_VALUES = 16  # the cost of reading an array, in units of other values
MAX_CHARACTERS = MAX_TEXT_BYTES  # characters of all texts, with repetitions
MIN_INTEGER, MAX_INTEGER = -(1 << 63), (1 << 64) - 1


def save(record: dict[str, Any], path: str) -> None:
    """Write a record to `path`, completely or not at all; equal records give equal bytes.

    Parameters
    ----------
    record
        Plain data that begins with the keys `format` and `version`.
    path
        The file; "-" is standard output.

    Raises
    ------
    ArtifactError
        The record is larger than `load` accepts.
    OutputError
        The file cannot be written.
    TypeError, ValueError
        The record is not plain data, or lacks format or version.
    """
    from nbtext.artifact.writer import write_record
    from nbtext.output import atomic_output

    if list(record.items())[:2] != [("format", FORMAT), ("version", VERSION)]:
        raise ValueError("the record does not begin with its format and version")
    content = copy_canonically(record)
    try:
        check_plain(content)
    except ArtifactError as error:
        hint = "give fewer stop words, or other values of settings"
        raise ArtifactError(f"cannot be written: a model file never {error.what}", where=path, hint=hint) from None
    with atomic_output(path) as file:
        write_record(content, file)


def load(path: str) -> dict[str, Any]:
    """Return the record that `save` wrote to `path`, "-" for standard input; its arrays are read-only.

    The values are plain, and format, version and digest are right. The caller checks the rest with `audit`.

    Raises
    ------
    ArtifactError
        The file cannot be read, is not a model, contains code, has another version, or is damaged.
    """
    with name_errors(path), open_stream(path) as stream:
        reader = Reader(stream)
        try:
            record = reader.read()
        except ArtifactError:
            _check_version(reader.first_items())  # an error after another version number is probably due to the version
            raise
        check_plain(record)
        items = [item for pair in record.items() for item in pair] if isinstance(record, dict) else []
        if not isinstance(record, dict) or not _check_version(items):
            raise foreign_error("holds data, but no nbtext model")
        stream.check_end()
        return record


def _check_version(items: list[Any]) -> bool:
    """Return whether these keys and values begin a model; raise ArtifactError if it has another version."""
    if len(items) < 4 or not is_exactly(tuple(items[:3]), ("format", FORMAT, "version")):
        return False
    version = items[3]
    if type(version) is not int or version < 1:
        raise foreign_error("does not state the version of its format")
    if version > VERSION:
        what = f"was written in version {version} of the model format, and this nbtext reads version {VERSION}"
        raise ArtifactError(what, hint="update nbtext: pip install --upgrade nbtext")
    if version < VERSION:
        what = f"was written by an older nbtext, in version {version} of the model format; this one reads {VERSION}"
        raise ArtifactError(what, hint="train the model again")
    return True


def copy_canonically(value: Any) -> Any:
    """Return a copy of plain data in which equal texts are the same object, and each container is a separate object.

    Pickle writes an object that it has written before as a reference. Without this copy the bytes would depend on
    which parts of a record are the same object. Arrays become little-endian and C-contiguous (they are copied only
    if they are not), and NumPy scalars become Python numbers. TypeError if the value is not plain data.
    """
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, int, float):
        return value
    if kind is str:
        return sys.intern(value)
    if kind is dict and all(type(key) is str for key in value):
        return {sys.intern(key): copy_canonically(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind([copy_canonically(item) for item in value])
    if isinstance(value, np.ndarray) and (item := f"{value.dtype.kind}{value.dtype.itemsize}") in ITEM_BYTES:
        dtype = np.dtype(f"<{item}")  # NumPy's own object, if several objects are equal
        return np.asarray(value, dtype=dtype, order="C").view(dtype)
    raise TypeError(f"a model file can hold plain data with str keys, not {kind.__qualname__}")


def check_plain(record: object) -> None:
    """Raise ArtifactError unless this is plain data within the bounds of the reader."""
    n_values = n_characters = 0
    pending: list[tuple[Any, int]] = [(record, 0)]
    while pending:
        value, depth = pending.pop()
        kind = type(value)
        if kind is dict or kind is list or kind is tuple:
            n_values += len(value)
            if depth == MAX_DEPTH:
                raise foreign_error(f"is nested more than {MAX_DEPTH} deep")
            pending += [(item, depth + 1) for item in value]
            if kind is dict:
                n_values += len(value)
                pending += [(item, depth + 1) for item in value.values()]
        elif kind is str:
            n_characters += len(value)
        elif kind is np.ndarray:
            n_values += ARRAY_VALUES
        elif kind is int and not MIN_INTEGER <= value <= MAX_INTEGER:
            raise foreign_error("holds an integer of more than 64 bits")
        elif value is not None and kind not in (bool, int, float):
            raise code_error(value.name if isinstance(value, Name) else "an object that is not complete")
        if n_values > MAX_VALUES or n_characters > MAX_CHARACTERS:
            raise foreign_error(f"holds more than {MAX_VALUES:,} values or {MAX_CHARACTERS:,} characters of text")


@contextmanager
def name_errors(path: str) -> Iterator[None]:
    """Name the file in each ArtifactError that is raised inside."""
    try:
        yield
    except ArtifactError as error:
        error.where = error.where or ("standard input" if path == "-" else path or "''")
        raise
