"""What is left of a source after some of its documents were answered before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nbtext.documents.source import Chunk, ReadChunk, Source
from nbtext.errors import InputError


class Remainder(Source):
    """A source without its first documents, which are read and passed over.

    n_done      how many these are
    check_last  is told the id of the last one; it raises where something else was answered before
    """

    def __init__(self, source: Source, n_done: int, check_last: Callable[[str], None]) -> None:
        self.__dict__.update(vars(source))
        self._source = source
        self._n_done = n_done
        self._check_last = check_last

    def chunks(self) -> Iterator[Chunk]:
        """The chunks of the other documents.

        raises  InputError: there are fewer documents than were answered
        """
        n_left = self._n_done
        for chunk in self._source.chunks():
            if n_left == 0:
                yield chunk
                continue
            batch = chunk.batch()
            if n_left <= len(batch):
                self._check_last(batch.ids[n_left - 1])
                yield ReadChunk(batch.after(n_left), chunk.size)
            n_left = max(0, n_left - len(batch))
        if n_left:
            raise InputError("there are fewer documents than were answered before", hint="write to a new file")
