"""Helpers for the tests of the readers: documents as plain tuples."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtext.documents.streams import ByteStream

sys.path.insert(0, str(Path(__file__).parent))
from reading import opened, read, rows_of


@pytest.fixture(scope="session", name="opened")
def opened_() -> Any:
    """Opens paths with some settings."""
    return opened


@pytest.fixture(scope="session", name="read")
def read_() -> Any:
    """Reads paths with some settings: (id, texts, label) of each document; a problem is raised."""
    return read


@pytest.fixture(scope="session")
def problems() -> Any:
    """Reads paths with some settings: what is said of the documents that cannot be read."""

    def problems(*paths: Path | str, **settings: Any) -> list[str]:
        return [
            str(batch.problems[row])
            for batch in opened(*paths, **settings).batches()
            for row in sorted(batch.problems)
        ]

    return problems


@pytest.fixture(scope="session")
def stream_of() -> Any:
    """A stream that gives its content in pieces of a size."""

    def stream_of(content: bytes, size: int, path: str = "x") -> ByteStream:
        pieces: Iterator[bytes] = (
            content[start : start + size] for start in range(0, len(content), size)
        )
        return ByteStream(path, lambda: next(pieces, b""), size=None, close=lambda: None)

    return stream_of


@pytest.fixture(scope="session")
def rows() -> Any:
    """Batches as rows."""
    return rows_of
