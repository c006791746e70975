"""Bound the memory of Arrow files with compressed buffers: what they unpack to is known before they are unpacked.

The header of each message is a FlatBuffers table, which names the buffers of its body. A compressed buffer begins with
its size after decompression. https://arrow.apache.org/docs/format/Columnar.html, format/Message.fbs, format/File.fbs
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from nbtext.errors import InputError

ALLOWANCE = 256 << 20  # bytes that a record batch, or all dictionaries, may unpack to, whatever the size of the file
RATIO = 200  # more than the allowance is refused if it is over so many times the compressed size
DICTIONARY, RECORD_BATCH = 2, 3  # kinds of messages
CONTINUATION = b"\xff\xff\xff\xff"  # precedes the size of the header of a message
FOOTER_END = b"ARROW1"
WRITE_HINT = "write it again with smaller record batches, or without compression"


class _Table(NamedTuple):
    """A table of FlatBuffers, whose fields are found by their numbers; struct.error if a place is outside of it."""

    data: bytes
    place: int

    def find(self, field: int) -> int:
        """Return the place of a field; 0 if it is not there."""
        fields = self.place - self.number(self.place, "<i")
        place = 4 + 2 * field
        offset = self.number(fields + place, "<H") if place < self.number(fields, "<H") else 0
        return self.place + offset if offset else 0

    def number(self, place: int, kind: str) -> int:
        """Return a number of a kind of `struct`."""
        if place < 0:
            raise struct.error
        return int(struct.unpack_from(kind, self.data, place)[0])

    def table(self, field: int) -> _Table | None:
        """Return the table in a field."""
        place = self.find(field)
        return _Table(self.data, place + self.number(place, "<I")) if place else None

    def structs(self, field: int, kind: str) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of each item of a list."""
        place = self.find(field)
        if place:
            start = place + self.number(place, "<I")
            for item in range(self.number(start, "<I")):
                yield struct.unpack_from(kind, self.data, start + 4 + item * struct.calcsize(kind))


class SizeGuard:
    """Refuses messages of a file that unpack to too much.

    Parameters
    ----------
    path : str
        The file, for errors.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._dictionaries = [0, 0]  # bytes when unpacked, and in the file

    def check(self, header: bytes, n_bytes: int, read_size: Callable[[int], bytes]) -> None:
        """Raise InputError if the body of a message unpacks to too much.

        Parameters
        ----------
        header : bytes
        n_bytes : int
            The size of the body in the file.
        read_size : callable
            Returns the 8 bytes at a place of the body.
        """
        try:
            message = _Table(header, struct.unpack_from("<I", header)[0])
            place = message.find(1)
            kind = message.number(place, "<B") if place else 0
            batch = message.table(2)
            if kind == DICTIONARY and batch is not None:
                batch = batch.table(1)
            if kind not in (DICTIONARY, RECORD_BATCH) or batch is None or batch.table(3) is None:
                return  # its buffers are not compressed
            n_unpacked = 0
            for offset, length in batch.structs(2, "<qq"):
                if length > 0:
                    size = struct.unpack("<q", read_size(offset))[0]
                    n_unpacked += length if size == -1 else size
        except (struct.error, ValueError):
            raise InputError(
                "is broken: the header of a message", where=self._path, hint="write the file again"
            ) from None
        what = "a record batch"
        if kind == DICTIONARY:
            self._dictionaries = [self._dictionaries[0] + n_unpacked, self._dictionaries[1] + n_bytes]
            what, (n_unpacked, n_bytes) = "its dictionaries", self._dictionaries
        if n_unpacked > max(ALLOWANCE, RATIO * n_bytes):
            problem = f"{what} of {n_bytes:,} bytes would unpack to {n_unpacked:,} bytes"
            raise InputError(problem, where=self._path, hint=WRITE_HINT)


class CheckedFile:
    """The record batches of an Arrow file, each of which is checked before it is unpacked.

    Parameters
    ----------
    file : file object
    table : pyarrow.ipc.RecordBatchFileReader
        The same file.
    path : str
        The file, for errors.
    """

    def __init__(self, file: IO[bytes], table: Any, path: str) -> None:
        self._file, self._table, self._guard = file, table, SizeGuard(path)
        try:
            end = file.seek(-len(FOOTER_END) - 4, os.SEEK_END)
            size = struct.unpack("<I", file.read(4))[0]
            file.seek(end - size)
            footer = file.read(size)
            blocks = _Table(footer, struct.unpack_from("<I", footer)[0])
            self._dictionaries, self._batches = (list(blocks.structs(field, "<qi4xq")) for field in (2, 3))
        except (struct.error, OSError, ValueError):
            raise InputError("is broken: the footer", where=path, hint="write the file again") from None

    def batch(self, number: int) -> Any:
        """Return a record batch."""
        dictionaries, self._dictionaries = self._dictionaries, []  # pyarrow reads all with the first record batch
        for block in (*dictionaries, self._batches[number]):
            self._check(*block)
        return self._table.get_batch(number)

    def _check(self, start: int, n_header: int, n_body: int) -> None:
        def read_size(place: int) -> bytes:
            self._file.seek(start + n_header + place)
            return self._file.read(8)

        self._file.seek(max(start, 0))
        header = self._file.read(max(n_header, 0))
        self._guard.check(header[8 if header.startswith(CONTINUATION) else 4 :], n_body, read_size)


def check_messages(messages: Any, path: str) -> Iterator[bytes]:
    """Yield the bytes of each message of an Arrow stream, which is checked before pyarrow gets it.

    Parameters
    ----------
    messages : pyarrow.ipc.MessageReader
    path : str
        The stream, for errors.
    """
    guard = SizeGuard(path)
    for message in messages:
        body = message.body
        n_bytes = body.size if body is not None else 0
        guard.check(message.metadata.to_pybytes(), n_bytes, lambda place, body=body: bytes(body[place : place + 8]))  # type: ignore[misc]
        yield message.serialize().to_pybytes()
