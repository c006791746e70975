"""Model files: a header of JSON and the bytes of all arrays. joblib opens them; nbtext reads them
without a pickle.

    joblib.dump({"header": text, "data": bytes as an array of uint8}, file, protocol=3)

writes the same bytes, wherever it runs: three constants around the text and the bytes, and two
lengths; but for CALL. This names the function of nbtext that `joblib.load` calls with the two
entries, `restore`, and older files lack it. So the reader compares the constants, and never
interprets them. The header is a record of plain data. In the place of each array, it has the
array's dtype, shape, offset in the data, and checksum:

    {"checksum": "…", "format": "nbtext model", "version": 3, …,
     "scorer": {"bias": {"dtype": "<f8", "shape": [20], "offset": 0, "checksum": 1234}, …}, …}

Arrays follow each other without gaps, in the order in which the header names them first, each with
zeros up to a multiple of 16 bytes. Equal arrays are stored once. An array is read, and its checksum
compared, when it is first used. Checksums detect accidental damage, and no manipulation: anyone can
compute a new one.

Small models have compressed arrays. `zlib` is the number of compressed bytes; if `differences` is
true, these hold the first number of an ascending array, and the differences between neighbors, and
dtype and shape are of these.

Source: joblib.numpy_pickle (joblib 1.1 and later write and read these bytes).
"""

from __future__ import annotations

import json
import os
import pickle
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from threading import Lock
from typing import Any
from zlib import compress, crc32, decompressobj
from zlib import error as zlib_error

import numpy as np

from nbtext.arrays import Array, Bytes
from nbtext.documents.streams import (
    READ,
    READ_NOW,
    is_url,
    name_source,
    open_url,
    similar_path,
    take_opened,
)
from nbtext.errors import ArtifactError, reason_of
from nbtext.records import frozen

# increase the version if a program of this version would misread what is written
MODEL_FILE_FORMAT = "nbtext model"
MODEL_VERSION = 3
UPDATE_HINT = "update nbtext: pip install --upgrade nbtext"
TRAIN_HINT = "give the file that nbtext train wrote"

PROTOCOL = b"\x80\x03"
CALL = b"cnbtext.text_classifier\nrestore\n"  # as many bytes as two rows of 16
ENTRIES = b"}q\x00(X\x06\x00\x00\x00headerq\x01X"
START = PROTOCOL + CALL + ENTRIES  # the length of the header in 4 bytes and the header follow
END = b"u\x85R."
OLD_START = PROTOCOL + ENTRIES
OLD_END = b"u."
BEFORE_LENGTH = (
    b"q\x02X\x04\x00\x00\x00dataq\x03cjoblib.numpy_pickle\nNumpyArrayWrapper\nq\x04)\x81q\x05}q\x06(X\x08\x00\x00\x00"
    b"subclassq\x07cnumpy\nndarray\nq\x08X\x05\x00\x00\x00shapeq\t"
)
AFTER_LENGTH = (  # its last byte but one is the length of the padding
    b"\x85q\nX\x05\x00\x00\x00orderq\x0bX\x01\x00\x00\x00Cq\x0cX\x05\x00\x00\x00dtypeq\rcnumpy\ndtype\nq\x0eX\x02\x00\x00\x00u1"
    b"q\x0f\x89\x88\x87q\x10Rq\x11(K\x03X\x01\x00\x00\x00|q\x12NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x13bX\n\x00\x00\x00"
    b"allow_mmapq\x14\x88X\x1b\x00\x00\x00numpy_array_alignment_bytesq\x15K\x10ub\x01\xff"
)
CHECKSUM = b'{"checksum":"%08x",'  # the header begins with it; it is that of the rest of the header
LENGTH_BYTES = 4
ALIGNMENT_BYTES = 16
MAX_ERROR_CHARACTERS = 250
MODEL_HEAD_BYTES = 128  # first bytes of a file, by which its kind is recognized
MAX_MODEL_HEADER_BYTES = 1 << 26
MAX_HEADER_VALUES = 300_000  # of the header: each takes up to a hundred bytes of memory
MAX_PIPE_BYTES = 4 << 30  # the length of a pipe is not known
PIPE_PIECE_BYTES = 1 << 20  # of a pipe that are read at once
MAX_ARRAY_DIMENSIONS = 8
MAX_ITEMS = 1 << 48
ITEM_TYPES = str.split("|i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f4 <f8")
PLACE = ("dtype", "shape", "offset", "checksum")  # the keys in the place of an array
PACKED = ("zlib", "differences")  # more keys, of a compressed one
# A compressed array takes at most as much memory as a file of so many times its bytes, or
# MAX_UNPACKED bytes.
MAX_RATIO = 64
MAX_UNPACKED = 1 << 22
COMPRESSION_LEVEL = 9  # of compression: 1 % smaller than 6 on weights of 8 bits, in twice the time
Record = dict[str, Any]


def foreign_error(what: str) -> ArtifactError:
    """Return the error for content that `save_model` does not write."""
    return ArtifactError(what, hint=TRAIN_HINT)


def damaged_error(what: str) -> ArtifactError:
    """Return the error for a file that was damaged after it was written."""
    return ArtifactError(f"is damaged: {what}", hint="copy it again, or train the model again")


def newer_error(what: str) -> ArtifactError:
    """Return the error for content that a later program may read."""
    return ArtifactError(f"was written by a newer nbtext: {what}", hint=UPDATE_HINT)


@frozen
class StoredArray:
    """An array in a model file, which is read when it is used; `offset` is its place in the data.

    n_packed        the number of its compressed bytes; None: it is not compressed
    is_differences  whether they are differences, see the module
    """

    content: Content
    dtype: str
    shape: tuple[int, ...]
    offset: int
    checksum: int
    n_packed: int | None = None
    is_differences: bool = False

    @property
    def n_bytes(self) -> int:
        """The number of its bytes."""
        return prod(self.shape) * int(self.dtype[2])

    @property
    def n_stored(self) -> int:
        """The number of its bytes in the file, without the zeros that follow."""
        return self.n_bytes if self.n_packed is None else self.n_packed

    def read(self) -> Array:
        """Return the array, read-only; ArtifactError if its checksum does not match."""
        start = self.content.data_start + self.offset
        stored = self.content.take(start, start + _align(self.n_stored))
        if crc32(stored.data) != self.checksum:
            raise damaged_error("the checksum of an array does not match")
        stored = stored[: self.n_stored]
        if self.n_packed is not None:
            decompressor = decompressobj()
            try:
                found = decompressor.decompress(stored.data, self.n_bytes + 1)
            except zlib_error:
                found = b""
            is_whole = len(found) == self.n_bytes and decompressor.eof
            if not is_whole or decompressor.unused_data:
                raise damaged_error("an array cannot be decompressed")
            stored = np.frombuffer(found, np.uint8)
        array = stored.view(self.dtype).reshape(self.shape)
        if self.is_differences:
            array = np.cumsum(array, dtype=np.int64)
        array.flags.writeable = False
        return array


class Content:
    """The bytes of a model file, which stays open, or of a pipe or a URL. Memory is allocated only
    for bytes that there are.

    They are read, not memory-mapped: what was audited does not change, and a file that is cut while
    it is used is an error, and does not kill the process.

    n_bytes     the size of the file; None: of a pipe, it is not known
    data_start  where the bytes of the arrays begin
    """

    data_start = 0

    def __init__(self, path: str, *, is_file: bool) -> None:
        self._descriptor = -1
        self._held = bytearray()
        self._lock = Lock()
        if (opened := take_opened(path)) is not None:
            self._file: Any = opened
        elif is_url(path) and not is_file:
            self._file = open_url(path)
        elif path != "-":
            self._descriptor = os.open(path, READ_NOW if is_file else READ)
            self._file = open(self._descriptor, "rb", closefd=False)  # noqa: SIM115 - it need not be closed
        elif sys.stdin is None:
            raise ArtifactError("is closed", hint="name the model's file instead of -")
        else:
            self._file = sys.stdin.buffer
            # standard input may be replaced by an object without a descriptor
            with suppress(OSError):
                self._descriptor = os.dup(self._file.fileno())
        status = os.fstat(self._descriptor) if self._descriptor >= 0 else None
        is_regular = status is not None and stat.S_ISREG(status.st_mode)
        if is_file and not is_regular:
            raise ArtifactError("is not a regular file", hint="copy the model there")
        self._start = self._file.tell() if is_regular else 0
        self.n_bytes = status.st_size - self._start if status is not None and is_regular else None

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def require(self, n_bytes: int) -> None:
        """Raise ArtifactError unless there can be so many bytes."""
        if self.n_bytes is None and n_bytes > MAX_PIPE_BYTES:
            raise ArtifactError(
                f"is larger than {MAX_PIPE_BYTES >> 30} GiB, the maximum for a pipe",
                hint="give the model as a file, not through a pipe",
            )
        if self.n_bytes is not None and n_bytes > self.n_bytes:
            raise damaged_error(f"it should have {n_bytes:,} bytes, and has {self.n_bytes:,}")

    def take(self, start: int, stop: int) -> Bytes:
        """Return these bytes; ArtifactError if there are fewer."""
        self.require(stop)
        found = self.peek(start, stop)
        if len(found) < stop - start:
            raise damaged_error(f"it ends early, before byte {stop:,}")
        return found

    def peek(self, start: int, stop: int) -> Bytes:
        """Return these bytes, or those of them that there are."""
        if self.n_bytes is None:
            while len(self._held) < stop and (
                piece := self._file.read(min(PIPE_PIECE_BYTES, stop - len(self._held)))
            ):
                self._held += piece
            return np.frombuffer(bytes(memoryview(self._held)[start:stop]), np.uint8)
        found = np.empty(stop - start, np.uint8)
        n_read = 0
        if not hasattr(os, "preadv"):  # Windows; no other process reads from this place of the file
            with self._lock:
                self._file.seek(self._start + start)
                return found[: self._file.readinto(found.data)]
        while n_more := os.preadv(
            self._descriptor, [found[n_read:].data], self._start + start + n_read
        ):
            n_read += n_more
        return found[:n_read]


class _Bytes(Content):
    """The bytes of all arrays, in memory."""

    def __init__(self, data: Bytes) -> None:
        self._descriptor = -1
        self._data = data
        self.n_bytes = len(data)

    def peek(self, start: int, stop: int) -> Bytes:
        return self._data[start:stop].copy()


def save(record: Record, path: str, *, is_packed: bool = False) -> None:
    """Write a record to `path`, completely or not at all; equal records give equal bytes.

    Parameters
    ----------
    record
        Plain data with arrays of numbers, StoredArray included. Tuples become lists.
    path
        The file; "-" is standard output.
    is_packed
        Whether to compress the arrays that become smaller by it.

    Raises
    ------
    ArtifactError
        The record is larger than `load` accepts.
    OutputError
        The file cannot be written.
    TypeError
        The record is not plain data.
    """
    from nbtext.output import atomic_output

    try:
        parts = assemble(record, is_packed=is_packed)
    except ArtifactError as error:
        raise ArtifactError(
            f"cannot be written: a model file never {error.what}",
            where=path,
            hint="give fewer stop words, or other values of settings",
        ) from None
    with atomic_output(path) as file:
        for part in parts:
            file.write(part)


def assemble(record: Record, *, is_packed: bool) -> list[Any]:
    """Return the bytes of the file of a record, in parts; see `save`. ArtifactError if `load` would
    not accept it.
    """
    # places of arrays by dtype, shape and checksum
    known: dict[tuple[Any, ...], list[tuple[int, Array]]] = {}
    arrays: list[Array] = []
    n_data = 0

    def place(value: Any) -> Any:
        nonlocal n_data
        if isinstance(value, np.generic):
            return value.item()
        if not isinstance(value, np.ndarray | StoredArray):
            raise TypeError(f"a model file can hold plain data, not {type(value).__qualname__}")
        array = value.read() if isinstance(value, StoredArray) else value
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in ITEM_TYPES:
            raise TypeError(f"a model file cannot hold an array of {array.dtype.name}")
        array = np.asarray(array, dtype, order="C")
        stored, packing = _pack(array) if is_packed else (array, {})
        dtype = packing.pop("dtype", dtype)
        checksum = crc32(_zeros(stored.nbytes), crc32(_flatten(stored).data))
        equal = known.setdefault((dtype, array.shape, checksum, *packing.items()), [])
        offset = next(
            (
                offset
                for offset, other in equal
                if np.array_equal(_flatten(stored), _flatten(other))
            ),
            n_data,
        )
        if offset == n_data:
            equal.append((offset, stored))
            arrays.append(stored)
            n_data += _align(stored.nbytes)
        return dict(zip(PLACE, (dtype, array.shape, offset, checksum), strict=True)) | packing

    record = {"format": MODEL_FILE_FORMAT, "version": MODEL_VERSION, **record}
    rest = json.dumps(record, default=place, separators=(",", ":"))[1:].encode("ascii")
    middle = _middle(n_data)
    n_before = len(START) + LENGTH_BYTES + len(CHECKSUM % 0) + len(rest) + len(middle)
    rest += b" " * (-n_before % ALIGNMENT_BYTES)
    header = CHECKSUM % crc32(rest) + rest
    _check_size(header)
    parts: list[Any] = [START + len(header).to_bytes(LENGTH_BYTES, "little") + header + middle]
    for array in arrays:
        parts += [_flatten(array).data, _zeros(array.nbytes)]
    return [*parts, END]


def _pack(array: Array) -> tuple[Array, dict[str, Any]]:
    """Return the compressed bytes of an array, and what the header says of them; the array, if it
    stays as it is.
    """
    plain = array
    packing = dict[str, Any]()
    is_row = array.ndim == 1 and array.dtype.kind == "u" and len(array) > 1
    if is_row and array.dtype.itemsize <= 4 and (array[1:] >= array[:-1]).all():
        plain = np.diff(array, prepend=array.dtype.type(0))
        plain = plain.astype(np.min_scalar_type(int(plain.max())))
        packing = {"dtype": plain.dtype.newbyteorder("<").str, "differences": True}
    packed = np.frombuffer(compress(_flatten(plain).data, COMPRESSION_LEVEL), np.uint8)
    is_small = packed.nbytes < array.nbytes and plain.nbytes <= max(
        MAX_UNPACKED, MAX_RATIO * packed.nbytes
    )
    return (packed, packing | {"zlib": packed.nbytes}) if is_small else (array, {})


def load(path: str, *, is_file: bool = False) -> Record:
    """Return the record that `save` wrote to `path`, "-" for standard input, with StoredArrays in
    the place of arrays.

    Its form is right, it has this version, and its arrays lie where they should. The caller checks
    the values. With `is_file`, anything but a regular file is refused, and no writer of a FIFO is
    waited for.

    Raises
    ------
    ArtifactError
        The file cannot be read, is not a model, has another version, or is damaged.
    """
    with name_errors(path):
        content = Content(path, is_file=is_file)
        head = content.peek(0, MODEL_HEAD_BYTES).tobytes()
        _check_start(head)
        start, end = (START, END) if head.startswith(START) else (OLD_START, OLD_END)
        n_before = len(start) + LENGTH_BYTES
        n_header = int.from_bytes(content.take(len(start), n_before).tobytes(), "little")
        if n_header > MAX_MODEL_HEADER_BYTES:
            raise foreign_error(f"has a header of more than {MAX_MODEL_HEADER_BYTES:,} bytes")
        record, n_data = _parse(content.take(n_before, n_before + n_header).tobytes(), content)
        middle = _middle(n_data)
        content.data_start = n_before + n_header + len(middle)
        stop = content.data_start + n_data
        content.require(stop + len(end))
        if len(content.peek(stop + len(end), stop + len(end) + 1)):
            raise damaged_error("bytes follow its end")
        parts = (
            content.take(n_before + n_header, content.data_start),
            content.take(stop, stop + len(end)),
        )
        if content.data_start % ALIGNMENT_BYTES or [part.tobytes() for part in parts] != [
            middle,
            end,
        ]:
            raise damaged_error("its parts do not fit together")
        return record


def open_entries(header: Any, data: Any) -> Record:
    """Return the record of the two entries of a model file, which joblib has read; see `load`."""
    if not isinstance(header, str) or not isinstance(data, np.ndarray) or data.dtype != np.uint8:
        raise foreign_error("has other entries than a header and bytes")
    content = _Bytes(np.asarray(data).reshape(-1))
    record, n_data = _parse(header.encode("ascii", "replace"), content)
    if n_data != content.n_bytes:
        raise damaged_error("its parts do not fit together")
    return record


def _check_start(head: bytes) -> None:
    """Raise ArtifactError, which names the kind of file, unless a file with these first bytes can
    be a model.
    """
    if head.startswith((START, OLD_START)):
        return
    if not head:
        raise ArtifactError("the file is empty", hint=TRAIN_HINT)
    if head.startswith(b"\x80\x04") and MODEL_FILE_FORMAT.encode("ascii") in head:
        raise ArtifactError(
            f"was written by an older nbtext; this one reads version {MODEL_VERSION} of the model format",
            hint="train the model again: nbtext train SOURCE -o MODEL",
        )
    if head[0] == 0x80 and head[1:2] <= b"\x05":
        raise foreign_error("is a pickle, but no nbtext model; nbtext never runs what it loads")
    is_text = not any((byte < 32 and byte not in b"\t\n\r") or byte == 127 for byte in head)
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        is_text = is_text and error.start > len(head) - 4  # the last character may be cut
    raise foreign_error("looks like text, not a model" if is_text else "is not a model")


def _check_size(header: bytes) -> None:
    """Raise ArtifactError if a header would take too much memory as values."""
    # also in texts, which may have some
    n_values = header.count(b",") + header.count(b"[") + header.count(b"{")
    if len(header) > MAX_MODEL_HEADER_BYTES or n_values > MAX_HEADER_VALUES:
        raise foreign_error(
            f"has a header of more than {MAX_HEADER_VALUES:,} values or {MAX_MODEL_HEADER_BYTES:,} bytes"
        )


def _parse(header: bytes, content: Content) -> tuple[Record, int]:
    """Return the record of a header, and the number of bytes of all arrays."""
    n_start = len(CHECKSUM % 0)
    if header[:n_start] != CHECKSUM % crc32(header[n_start:]):
        raise damaged_error("the checksum of its header does not match")
    _check_size(header)
    places: dict[int, StoredArray] = {}
    n_data = 0

    def build(pairs: list[tuple[str, Any]]) -> Any:
        nonlocal n_data
        found = dict(pairs)
        if len(found) < len(pairs):
            raise foreign_error("has a header in which a key occurs twice")
        if "dtype" not in found:
            return found
        array = _read_place(found, content)
        if array.offset == n_data:
            places[array.offset] = array
            n_data += _align(array.n_stored)
        elif places.get(array.offset) != array:
            raise foreign_error("has arrays that are not where they should be")
        return array

    try:
        record = json.loads(header.decode("ascii"), object_pairs_hook=build)
    except (ValueError, RecursionError):  # numbers of thousands of digits, too
        raise foreign_error("has a header that is not JSON as nbtext writes it") from None
    if not isinstance(record, dict) or record.get("format") != MODEL_FILE_FORMAT:
        raise foreign_error("holds data, but no nbtext model")
    version = record.get("version")
    if type(version) is not int or version < MODEL_VERSION:
        raise foreign_error("does not state the version of its format")
    if version > MODEL_VERSION:
        raise newer_error(
            f"it has version {version} of the model format, and this one reads version {MODEL_VERSION}"
        )
    return record, n_data


def _read_place(found: dict[str, Any], content: Content) -> StoredArray:
    """Return the array that the header describes."""
    if unknown := found.keys() - {*PLACE, *PACKED}:
        raise newer_error(f'this one does not know "{min(unknown)[:40]}" of an array')
    dtype, shape, offset, checksum = (found.get(name) for name in PLACE)
    if (
        not isinstance(dtype, str)
        or type(offset) is not int
        or type(checksum) is not int
        or type(shape) is not list
    ):
        raise foreign_error("has an array without type, shape, place or checksum")
    if dtype not in ITEM_TYPES:
        raise newer_error(f"this one does not read arrays of the type {dtype[:40]!r}")
    is_length = all(type(length) is int and length >= 0 for length in shape)
    if (
        not is_length
        or len(shape) > MAX_ARRAY_DIMENSIONS
        or prod(length or 1 for length in shape) > MAX_ITEMS
    ):
        raise foreign_error("has an array of an impossible shape")
    n_packed = found.get("zlib")
    is_differences = "differences" in found
    array = StoredArray(content, dtype, tuple(shape), offset, checksum, n_packed, is_differences)
    if "zlib" in found and (
        type(n_packed) is not int
        or n_packed < 1
        or array.n_bytes > max(MAX_UNPACKED, MAX_RATIO * n_packed)
    ):
        raise foreign_error("has a compressed array of an impossible size")
    is_row = len(shape) == 1 and dtype[1] == "u" and dtype[2] != "8"
    if is_differences and not (found["differences"] is True and n_packed is not None and is_row):
        raise foreign_error("has differences that are not those of a row of numbers")
    return array


def _flatten(array: Array) -> Bytes:
    """Return the bytes of an array."""
    return array.reshape(-1).view(np.uint8)


def _zeros(n_bytes: int) -> bytes:
    """Return what follows an array of so many bytes in a file."""
    return bytes(_align(n_bytes) - n_bytes)


def _align(n_bytes: int) -> int:
    """Return the number of bytes that an array takes in a file; each takes some, so that it has a
    place of its own.
    """
    return max(n_bytes + -n_bytes % ALIGNMENT_BYTES, ALIGNMENT_BYTES)


def _middle(n_bytes: int) -> bytes:
    """Return the bytes between the header and an array of so many bytes."""
    return BEFORE_LENGTH + pickle.dumps(n_bytes, protocol=3)[2:-1] + AFTER_LENGTH


@contextmanager
def name_errors(path: str) -> Iterator[None]:
    """Name the file in each ArtifactError that is raised inside, also where it cannot be read;
    shorten long ones.
    """
    try:
        try:
            yield
        except OSError as error:
            raise _unreadable(path, error) from error
        except MemoryError:
            raise ArtifactError("needs more memory than is available") from None
    except ArtifactError as error:
        if len(error.what) > MAX_ERROR_CHARACTERS:  # it holds a name or a value of the file
            error.what = f"{error.what[:MAX_ERROR_CHARACTERS]}..."
        error.where = error.where or name_source(path) or "''"
        raise


def _unreadable(path: str, error: OSError) -> ArtifactError:
    match error:
        case FileNotFoundError():
            if os.path.islink(path):
                return ArtifactError(
                    "is a symbolic link to a file that does not exist",
                    hint="correct its target (ls -l shows it)",
                )
            similar = similar_path(path) if path else None
            hint = (
                f"did you mean {similar}?"
                if similar is not None
                else "nbtext train SOURCE -o MODEL writes a model"
            )
            return ArtifactError("does not exist", hint=hint)
        case IsADirectoryError():
            return foreign_error("is a directory, not a model")
        case PermissionError():
            return ArtifactError("cannot be read: permission denied")
    return ArtifactError(f"cannot be read: {reason_of(error)}")
