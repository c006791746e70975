"""Compressed artifacts: unpacked as they are read, and never much further than an honest one would go."""

from __future__ import annotations

import io
from typing import Any, Protocol

from nbtext.artifact import refusals
from nbtext.errors import ArtifactError

UNPACKED_ALLOWANCE = 32 << 20  # any artifact may unpack to so many bytes,
UNPACKED_RATIO = 25  # and to so many more for each byte of its own: models were seen to unpack to 3 to 15 times theirs
UNPACKED_BYTES = 4 << 30  # and no further than this
PIECE_BYTES = 1 << 14
UNPACKED_PIECE_BYTES = 1 << 20
LZMA_MEMORY = 128 << 20  # bytes that unpacking may use; what xz -9 writes needs 65 MB


class PackedFile(Protocol):
    """What is needed of the compressed file."""

    def read(self, n_bytes: int, /) -> bytes | None: ...


def unpacked_limit(n_packed: int) -> int:
    """How many bytes an artifact of `n_packed` bytes may unpack to."""
    return min(UNPACKED_ALLOWANCE + UNPACKED_RATIO * n_packed, UNPACKED_BYTES)


def unpacks_too_far() -> ArtifactError:
    """The error of an artifact that unpacks to more than that."""
    bounds = f"{UNPACKED_ALLOWANCE >> 20} MiB and {UNPACKED_RATIO} times its size, or {UNPACKED_BYTES >> 30} GiB"
    return ArtifactError(f"unpacks to more than {bounds}", hint="give it unpacked, if you trust who made it")


def unpacked(packed: PackedFile, compression: str) -> io.BufferedReader:
    """The bytes that a file packed by gzip, zlib, bz2, xz or lzma unpacks to, as a file.

    raises  ArtifactError, when it is read: it does not unpack, ends early, goes on after its end, or unpacks too far
    """
    return io.BufferedReader(_Unpacked(packed, compression))


class _Unpacked(io.RawIOBase):
    def __init__(self, packed: PackedFile, compression: str) -> None:
        super().__init__()
        self._packed = packed
        self._compression = compression
        self._unpacker = _unpacker(compression)
        self._n_packed = self._n_unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        data = b""
        while not data and not self._unpacker.eof:
            data = self._unpack(min(len(memory), UNPACKED_PIECE_BYTES))
        self._n_unpacked += len(data)
        if self._n_unpacked > unpacked_limit(self._n_packed):
            raise unpacks_too_far()
        memory[: len(data)] = data
        return len(data)

    def _unpack(self, n_bytes: int) -> bytes:
        import lzma
        import zlib

        try:
            data: bytes = self._unpacker.decompress(self._next_piece(), n_bytes)
        except (zlib.error, lzma.LZMAError, OSError, ValueError) as error:
            raise refusals.damaged(f"it does not unpack as {self._compression}") from error
        if self._unpacker.eof and (self._unpacker.unused_data or self._packed.read(1)):
            raise refusals.damaged(f"it goes on after the end of what is packed by {self._compression}")
        return data

    def _next_piece(self) -> bytes:
        """What the unpacker wants: what zlib handed back, nothing while bz2 or lzma hold some, or more of the file."""
        handed_back: bytes = getattr(self._unpacker, "unconsumed_tail", b"")
        if handed_back or not getattr(self._unpacker, "needs_input", True):
            return handed_back
        piece = self._packed.read(PIECE_BYTES) or b""
        self._n_packed += len(piece)
        if not piece:
            raise refusals.damaged(f"it ends in the middle of what is packed by {self._compression}")
        return piece


def _unpacker(compression: str) -> Any:
    """The standard library's incremental unpacker."""
    if compression in ("gzip", "zlib"):
        import zlib

        return zlib.decompressobj(31 if compression == "gzip" else 15)
    if compression == "bz2":
        import bz2

        return bz2.BZ2Decompressor()
    import lzma

    return lzma.LZMADecompressor(memlimit=LZMA_MEMORY)
