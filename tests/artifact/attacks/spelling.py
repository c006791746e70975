"""Helpers that write pickle operations and joblib records of the second edition, valid but for the
attacked part.
"""

import io
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import joblib

sys.path.insert(0, str(Path(__file__).parents[1]))  # for stored.py


class Attack(NamedTuple):
    """A hostile file."""

    name: str
    data: bytes
    is_live: bool = False


class Evil:
    """An object whose loading calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@cache
def honest(**options: Any) -> bytes:
    """Return a valid model."""
    from nbtext import TextClassifier

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        texts = ["red round", "green round", "yellow long", "long"]
        labels = ["apple", "apple", "banana", "banana"]
        TextClassifier(smoothing=1.0, **options).fit(texts, labels).save(path)
        return path.read_bytes()


def text(content: str) -> bytes:
    """SHORT_BINUNICODE or BINUNICODE."""
    data = content.encode("utf-8", "surrogatepass")
    return (
        b"\x8c%c%b" % (len(data), data)
        if len(data) < 256
        else b"X" + len(data).to_bytes(4, "little") + data
    )


def long_text(content: str) -> bytes:
    """BINUNICODE."""
    data = content.encode("utf-8", "surrogatepass")
    return b"X" + len(data).to_bytes(4, "little") + data


def integer(value: int) -> bytes:
    """LONG1."""
    return b"\x8a\x10" + value.to_bytes(16, "little", signed=True)


def name(module: str, attribute: str) -> bytes:
    """STACK_GLOBAL."""
    return text(module) + text(attribute) + b"\x93"


PROTOCOL = b"\x80\x04"
HEADER = text("format") + text("nbtext model") + text("version") + b"K\x02"
ALLOW_MMAP = text("allow_mmap") + b"\x88"
ALIGNMENT = text("numpy_array_alignment_bytes")
DTYPE_END = b"\x89\x88\x87"
DTYPE_STATE = b"(K\x03" + text("<") + b"NNN" + b"J\xff\xff\xff\xff" * 2 + b"K\x00t"
MUCH = (1 << 60).to_bytes(8, "little")


def model(poison: bytes) -> bytes:
    """Return a record that is a valid model except for one value."""
    return sealed(PROTOCOL + b"}(" + HEADER + text("x") + poison + b"u.")


def sealed(data: bytes) -> bytes:
    """Return the data followed by their correct checksum."""
    return data + sha256(data).digest()


def dumped(value: Any, **options: Any) -> bytes:
    """Return the bytes that joblib writes for a model with this value."""
    file = io.BytesIO()
    joblib.dump(
        {"format": "nbtext model", "version": 2, "x": value}, file, **{"protocol": 4, **options}
    )
    return file.getvalue() if "compress" in options else sealed(file.getvalue())


def array(
    shape: bytes = b"K\x03\x85",
    *,
    dtype: bytes = text("i4") + DTYPE_END,
    state: bytes = DTYPE_STATE,
    subclass: bytes = name("numpy", "ndarray"),
    order: bytes = text("C"),
    more: bytes = ALLOW_MMAP + ALIGNMENT + b"K\x10",
    data: bytes = b"\x01\xff" + bytes(12),
) -> bytes:
    """Return an array as joblib writes it: three zeros of int32, unless a part is replaced."""
    record = text("subclass") + subclass + text("shape") + shape + text("order") + order
    item_type = text("dtype") + name("numpy", "dtype") + dtype + b"R" + state + b"b"
    return (
        name("joblib.numpy_pickle", "NumpyArrayWrapper")
        + b")\x81}("
        + record
        + item_type
        + more
        + b"ub"
        + data
    )
