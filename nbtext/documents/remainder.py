"""A source without the documents for which an earlier run has written records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from nbtext.documents.batch import Batch
from nbtext.documents.source import Chunk, ReadChunk, Source


class Records(Protocol):
    """The records that an earlier run has written."""

    def check(self, batch: Batch) -> int:
        """Compare the next records with the next documents; the number of documents that have one."""
        ...

    def finish(self) -> None:
        """Check that there are no further records."""
        ...


class Remainder(Source):
    """A source without its first documents: those that have records. They are read, and compared with the records."""

    def __init__(self, source: Source, records: Records) -> None:
        self.__dict__.update(vars(source))
        self._source = source
        self._records = records

    def chunks(self) -> Iterator[Chunk]:
        """The chunks of the documents without records.

        raises  InputError: the records are not those of these documents
        """
        chunks = self._source.chunks()
        for chunk in chunks:
            batch = chunk.batch()
            n_done = self._records.check(batch)
            if n_done < len(batch):
                yield ReadChunk(batch.after(n_done), chunk.size)
                yield from chunks
                return
        self._records.finish()
