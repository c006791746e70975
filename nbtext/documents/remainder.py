"""A source without the documents that an earlier run has predicted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from nbtext.documents.batch import Batch, Block, ReadBlock
from nbtext.documents.source import Source


class Records(Protocol):
    """The records that an earlier run has written."""

    def check(self, batch: Batch) -> int:
        """Compare the next records with the next documents; return the number of documents that have one."""
        ...

    def finish(self) -> None:
        """Check that no record is left."""
        ...


class Remainder(Source):
    """A source without its first documents, which have records; they are only read to compare them with these."""

    def __init__(self, source: Source, records: Records) -> None:
        self.__dict__.update(vars(source))
        self._source = source
        self._records = records

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the documents without records.

        Raises
        ------
        InputError
            The records are not those of these documents.
        """
        blocks = self._source.blocks()
        for block in blocks:
            batch = block.batch()
            n_done = self._records.check(batch)
            if n_done < len(batch):
                yield ReadBlock(batch.skip(n_done), block.size)
                yield from blocks
                return
        self._records.finish()
