"""What a file is by its first bytes: something that may be a model, or something else that has a name."""

from __future__ import annotations

import re

from nbtext.artifact import refusals
from nbtext.errors import ArtifactError

HEAD_BYTES = 64

COMPRESSIONS = (  # first bytes, name; those that joblib writes
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x5d\x00\x00", "lzma"),
    (b"\x78\x01", "zlib"),
    (b"\x78\x5e", "zlib"),
    (b"\x78\x9c", "zlib"),
    (b"\x78\xda", "zlib"),
)

FOREIGN = (  # first bytes, what they show, what would help
    (
        b"PK\x03\x04",
        "looks like a matrix file (.npz) or another zip archive, not a model",
        "train a model from it first",
    ),
    (b"\x93NUMPY", "looks like a NumPy array (.npy), not a model", ""),
    (b"\x89HDF", "looks like an HDF5 file, not a model", ""),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd, which models are not", "unpack it with zstd -d"),
    (b"\x04\x22\x4d\x18", "is compressed by lz4, which models are not", "unpack it with lz4 -d"),
    (b"ZF0x", "was written by a joblib older than 0.10", "train the model again"),
    (b"version https://git-lfs", "is a pointer of Git LFS, not the model itself", "fetch it with git lfs pull"),
    (b"\x89PNG", "looks like a picture, not a model", ""),
    (b"\xff\xd8\xff", "looks like a picture, not a model", ""),
    (b"%PDF", "looks like a PDF, not a model", ""),
    (b"\x7fELF", "looks like a program, not a model", ""),
    (b"<", "looks like a web page or XML, not a model", "was it downloaded whole, without a log-in page?"),
    (b"{", "looks like JSON, not a model", "give the file that nbtext train wrote"),
)

# the oldest pickle protocol is written in printable characters
_TEXTUAL_PICKLE = re.compile(rb"\((?:d|l|t|c|i)|c[\w.]+\n[\w.]+\n[(\])}VSINp]|[(\]})]q|[IFLVSNl]*\.\Z")
_TEXT = re.compile(rb"[^\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]*\Z")


def compression_of(head: bytes) -> str:
    """The name of the compression that these first bytes announce, "" where they announce none."""
    return next((name for magic, name in COMPRESSIONS if head.startswith(magic)), "")


def refuse_foreign(head: bytes) -> None:
    """Raise ArtifactError, saying what it is, where the first bytes are those of something other than a pickle."""
    if not head:
        raise ArtifactError("is empty", hint="what should have written it may have failed; train again")
    for magic, what, hint in FOREIGN:
        if head.startswith(magic):
            raise ArtifactError(what, hint=hint)
    if is_text(head) and not _TEXTUAL_PICKLE.match(head):
        raise refusals.foreign("looks like text, not a model")


def is_text(head: bytes) -> bool:
    """Whether these first bytes are UTF-8 without control characters; the last character may be cut off."""
    if not _TEXT.match(head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4 and len(head) == HEAD_BYTES
    return True
