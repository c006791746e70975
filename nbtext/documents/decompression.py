"""Decompress gzip, bzip2, xz and zstd, block by block; and compress a file that is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, BinaryIO

from nbtext.errors import InputError, MissingExtra

# zstd's second one is of a frame that is skipped, with which pzstd begins a file
MAGIC = {
    b"\x1f\x8b\x08": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"P*M\x18": "zstd",
}
MAGICS = tuple(MAGIC)
# follow "BZh" and a digit: a block, or the end of the data
BZIP2_BLOCKS = b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"
COMPRESSION_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
MAGIC_BYTES = 10  # enough to recognize every compression
DECOMPRESSED_BLOCK_BYTES = 1 << 20  # decompressed bytes that are yielded at a time, at least
# compressed bytes at a time, because what follows the end of a stream is copied; those of gzip and
# zstd decompress to at most 32 MiB
COMPRESSED_PIECE_BYTES = 1 << 10
# whose decompressors return DECOMPRESSED_BLOCK_BYTES at most, and the rest later
LIMITED = ("bzip2", "xz")
XZ_MEMORY = 256 << 20  # memory for decompression; data that xz -9 wrote needs 65 MiB


def compression_of(head: bytes) -> str | None:
    """Return the name of the compression of data, by its first bytes; None if it is not
    compressed.
    """
    for magic, name in MAGIC.items():
        if head.startswith(magic) and (name != "bzip2" or head[4:10] in BZIP2_BLOCKS):
            return name
    return None


def suffix_compression(path: str) -> tuple[str, str | None]:
    """Return the path without the suffix of a compression, and the name of that compression."""
    stem, dot, end = path.rpartition(".")
    name = COMPRESSION_SUFFIXES.get(dot + end.lower())
    return (stem, name) if name else (path, None)


def unpack_blocks(packed: Iterator[bytes], compression: str, *, where: str) -> Iterator[bytes]:
    """Decompress a stream, or several one after the other, in bounded memory.

    Parameters
    ----------
    packed : Iterator[bytes]
        Non-empty blocks of compressed bytes.
    compression : str
        One of gzip, bzip2, xz and zstd.

    Raises
    ------
    InputError
        The data is broken or truncated; the message names `where`.
    MissingExtra
        No library for zstd is installed.
    """
    unpacker: Any = None  # of the current stream; None between two of them
    limits = [DECOMPRESSED_BLOCK_BYTES] if compression in LIMITED else []
    for raw in packed:
        unpacked: list[bytes] = []
        size = 0
        for start in range(0, len(raw), COMPRESSED_PIECE_BYTES):
            data = raw[start : start + COMPRESSED_PIECE_BYTES]
            while data or not getattr(unpacker, "needs_input", True):
                if unpacker is None:
                    data = data.lstrip(b"\0")  # zeros that pad the file
                    if not data:
                        break
                    unpacker = UNPACKERS[compression]()
                try:
                    block = unpacker.decompress(data, *limits)
                except MemoryError:
                    raise
                except Exception as error:
                    # each library has its own: OSError, EOFError, LZMAError, zlib.error, ZstdError
                    raise InputError(f"broken {compression} data ({error})", where=where) from None
                data = b""
                unpacked.append(block)
                size += len(block)
                if unpacker.eof:
                    data = unpacker.unused_data
                    unpacker = None
                if size >= DECOMPRESSED_BLOCK_BYTES:
                    yield b"".join(unpacked)
                    unpacked.clear()
                    size = 0
        if size:
            yield b"".join(unpacked)
    if unpacker is not None:
        raise InputError(
            f"the {compression} data is truncated",
            where=where,
            hint="copy or download the file again",
        )


def unpack(content: bytes, compression: str, *, limit: int) -> bytes:
    """Decompress all of some bytes.

    Raises
    ------
    InputError
        The data is broken, or decompresses to more than `limit` bytes.
    """
    blocks = []
    size = 0
    for block in unpack_blocks(iter((content,)), compression, where=""):
        blocks.append(block)
        size += len(block)
        if size > limit:
            raise too_long(limit)
    return b"".join(blocks)


def compress(file: BinaryIO, compression: str | None) -> AbstractContextManager[BinaryIO]:
    """Return a file that compresses what is written to it, and writes that to another file, which
    remains open.

    The bytes do not depend on the time. A compression of None returns the file as it is.

    Raises
    ------
    MissingExtra
        No library for zstd is installed.
    """
    return nullcontext(file) if compression is None else PACKERS[compression](file)


def too_long(limit: int) -> InputError:
    """Return the error for a document with more than `limit` bytes."""
    return InputError(
        f"the document has more than {limit:,} bytes",
        hint="divide it",
    )


def check_compression(path: str, head: bytes, *, where: str = "") -> str | None:
    """Return the compression of a file, by its first bytes; InputError if its name says that there
    is one.
    """
    compression = compression_of(head)
    suffix = suffix_compression(path)[1]
    if compression is None and suffix is not None:
        raise InputError(
            f"the suffix is that of {suffix}, but the content is not {suffix}",
            where=where,
            hint="rename it",
        )
    return compression


def _zstd(role: str) -> Any:
    try:
        return import_module("zstandard")
    except ImportError:
        raise MissingExtra(f"{role} .zst", library="zstandard", extra="zstd") from None


# Each reads one compressed stream, and has the attributes `eof` and `unused_data` and the method
# `decompress(data)` of the standard library's bz2.
UNPACKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: import_module("zlib").decompressobj(wbits=31),
    "bzip2": lambda: import_module("bz2").BZ2Decompressor(),
    "xz": lambda: import_module("lzma").LZMADecompressor(memlimit=XZ_MEMORY),
    "zstd": lambda: _zstd("reading").ZstdDecompressor().decompressobj(),
}
PACKERS: dict[str, Callable[[BinaryIO], AbstractContextManager[BinaryIO]]] = {
    "gzip": lambda file: import_module("gzip").GzipFile("", "wb", 6, file, mtime=0),
    "bzip2": lambda file: import_module("bz2").BZ2File(file, "wb"),
    "xz": lambda file: import_module("lzma").open(file, "wb"),
    "zstd": lambda file: _zstd("writing").ZstdCompressor().stream_writer(file, closefd=False),
}
