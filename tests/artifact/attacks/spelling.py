"""What the modules of attacks share."""

import io
import sys
from collections.abc import Callable
from functools import cache
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


def long_text(content: str) -> bytes:
    """BINUNICODE."""
    data = content.encode("utf-8", "surrogatepass")
    return b"X" + len(data).to_bytes(4, "little") + data


def dumped(value: Any, **options: Any) -> bytes:
    """Return the bytes that joblib writes for a model with this value."""
    file = io.BytesIO()
    joblib.dump(
        {"format": "nbtext model", "version": 2, "x": value}, file, **{"protocol": 4, **options}
    )
    return file.getvalue()
