"""Helpers for the tests of the readers: documents as plain tuples."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtext.documents.batch import Batch
from nbtext.documents.blocks import Shard
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source, open_shard, open_source
from nbtext.documents.streams import ByteStream

Row = tuple[str, tuple[str, ...], str | None]  # id, texts, label


def rows_of(batches: Iterable[Batch]) -> list[Row]:
    """Each document, of whichever batch."""
    return [
        (identity, texts, label)
        for batch in batches
        for identity, texts, label in zip(
            batch.ids, zip(*batch.columns, strict=True), batch.labels, strict=True
        )
    ]


@pytest.fixture(scope="session")
def opened() -> Callable[..., Source]:
    """Opens paths with some settings."""

    def opened(*paths: Path | str, byte_range: Any = None, **settings: Any) -> Source:
        if byte_range is not None:
            return open_shard(
                Shard("file", (str(paths[0]),), (None,), byte_range), InputSettings(**settings)
            )
        return open_source([str(path) for path in paths], InputSettings(**settings))

    return opened


@pytest.fixture(scope="session")
def read(opened: Callable[..., Source]) -> Callable[..., list[Row]]:
    """Reads paths with some settings: (id, texts, label) of each document; a problem is raised."""

    def read(*paths: Path | str, **settings: Any) -> list[Row]:
        batches = list(opened(*paths, **settings).batches())
        for batch in batches:
            for problem in batch.problems.values():
                raise problem
        return rows_of(batches)

    return read


@pytest.fixture(scope="session")
def problems(opened: Callable[..., Source]) -> Callable[..., list[str]]:
    """Reads paths with some settings: what is said of the documents that cannot be read."""

    def problems(*paths: Path | str, **settings: Any) -> list[str]:
        return [
            str(batch.problems[row])
            for batch in opened(*paths, **settings).batches()
            for row in sorted(batch.problems)
        ]

    return problems


@pytest.fixture(scope="session")
def stream_of() -> Callable[..., ByteStream]:
    """A stream that gives its content in pieces of a size."""

    def stream_of(content: bytes, size: int, path: str = "x") -> ByteStream:
        pieces: Iterator[bytes] = (
            content[start : start + size] for start in range(0, len(content), size)
        )
        return ByteStream(path, lambda: next(pieces, b""), size=None, close=lambda: None)

    return stream_of


@pytest.fixture(scope="session")
def rows() -> Callable[[Iterable[Batch]], list[Row]]:
    """Batches as rows."""
    return rows_of
