"""Models as files: a record of plain data is saved by joblib, and loaded by nothing that could run it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO

from nbtext.artifact import refusals
from nbtext.artifact.interpreter import run
from nbtext.artifact.machine import Machine
from nbtext.artifact.record import canonical, check_plain, checksum
from nbtext.artifact.stream import open_stream
from nbtext.artifact.tokens import is_exactly
from nbtext.errors import ArtifactError

FORMAT = "nbtext model"
VERSION = 1  # raise it when an older nbtext would misread the record, and keep the reader of each version before it
PICKLE_PROTOCOL = 4  # the oldest with frames; Python 3.4 reads it


def save(record: dict[str, Any], path: str) -> None:
    """Write a record to `path`, "-" being standard output: whole or not at all, equal records as equal bytes.

    record  begins with the keys `format` and `version`; a `checksum` is added
    raises  ArtifactError: the record is larger than `load` would read; OutputError: it cannot be written;
            TypeError, ValueError: it is no plain data, or does not say what it is
    """
    import joblib

    from nbtext.output import atomic_output

    if list(record.items())[:2] != [("format", FORMAT), ("version", VERSION)] or "checksum" in record:
        raise ValueError("a record begins with format and version, and has no checksum yet")
    content = canonical(record)
    check_plain(content)
    content["checksum"] = checksum(content)
    with atomic_output(path) as file:
        joblib.dump(content, _Positioned(file), compress=0, protocol=PICKLE_PROTOCOL)


def load(path: str) -> dict[str, Any]:
    """The record in the file at `path`, "-" being standard input, as it was given to `save`; arrays are read-only.

    It is read by an interpreter that knows plain data only, and audited: plain values, format and version, checksum.
    What the record must hold beyond that is for its reader to check, with `audit`. A compressed file is unpacked,
    within the bounds of `compression`.

    raises  ArtifactError, which names the file: it cannot be read, is something else, holds more than plain data, was
            written by a newer nbtext, or is damaged
    """
    with naming(path):
        record = _read(path)
        check_plain(record)
        items = list(chain.from_iterable(record.items())) if isinstance(record, dict) else []
        if not isinstance(record, dict) or not _is_model(items):
            raise refusals.foreign("holds data, but no nbtext model")
        _check_version(items[3])
        found = record.pop("checksum", None)
        if not is_exactly((found,), (checksum(record),)):
            raise refusals.damaged("its checksum does not match")
        return record


def _read(path: str) -> object:
    """The value in a file; where it cannot be read because a newer nbtext wrote it, the error says that instead."""
    with open_stream(path) as stream:
        machine = Machine(stream)
        try:
            return run(machine)
        except ArtifactError as error:
            if _is_model(machine.begun()):
                _check_version(machine.begun()[3])
            if isinstance(error, refusals.Damage) and stream.position > 0 and not machine.is_announced:
                raise refusals.foreign("is no model: it does not begin as one") from error
            raise


def _is_model(items: list[Any]) -> bool:
    """Whether the keys and values of a record, one after the other, begin as those of a model."""
    return is_exactly(tuple(items[:3]), ("format", FORMAT, "version")) and len(items) > 3


def _check_version(version: object) -> None:
    if type(version) is not int or version < 1:
        raise ArtifactError("does not say which version of the model format it has", hint="train the model again")
    if version > VERSION:
        raise ArtifactError(
            f"was written in version {version} of the model format, and this nbtext reads no newer one than {VERSION}",
            hint="update nbtext: pip install --upgrade nbtext",
        )


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the file in each ArtifactError that is raised inside."""
    try:
        yield
    except ArtifactError as error:
        error.where = error.where or ("standard input" if path == "-" else path or "''")
        raise


class _Positioned:
    """A file that knows how far it has been written, even where it is a pipe: joblib aligns arrays by it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._position = 0

    def write(self, data: bytes) -> int:
        self._position += len(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._position
