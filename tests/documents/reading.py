"""Documents as plain tuples."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbtext.documents.batch import Batch
from nbtext.documents.blocks import Shard
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source, open_shard, open_source

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


def opened(*paths: Path | str, byte_range: Any = None, **settings: Any) -> Source:
    """Open paths with some settings."""
    if byte_range is not None:
        return open_shard(
            Shard("file", (str(paths[0]),), (None,), byte_range), InputSettings(**settings)
        )
    return open_source([str(path) for path in paths], InputSettings(**settings))


def read(*paths: Path | str, **settings: Any) -> list[Row]:
    """Return the id, texts and label of each document; a problem is raised."""
    batches = list(opened(*paths, **settings).batches())
    for batch in batches:
        for problem in batch.problems.values():
            raise problem
    return rows_of(batches)
