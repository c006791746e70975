"""All SOURCE arguments of a command, read as one stream of documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from nbtext.documents.batch import Batch, Document
from nbtext.documents.blocks import Span
from nbtext.documents.decoding import encoding_of
from nbtext.documents.parts import Opener, Part
from nbtext.documents.settings import FORMATS, ReadingSettings
from nbtext.documents.shards import FILE_BYTES, Shard, cut, suitable_bytes
from nbtext.errors import InputError, SettingsError

MOST_BYTES = 2**62  # that any reader can count


class Chunk(Protocol):
    """Some documents, not read yet: `batch` does the work, in whichever thread asks.

    size  its share of Source.size
    """

    @property
    def size(self) -> int: ...

    def batch(self) -> Batch: ...


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """Documents of a chunk that was read already."""

    read: Batch
    size: int

    def batch(self) -> Batch:
        return self.read


class Source:
    """All SOURCE arguments of a command, read as one stream of documents.

    size         of the chunks together, None where it cannot be known beforehand
    unit         what sizes count: "bytes" or "files"
    skipped      why something was passed over: how often. What lies inside of documents is counted while they are read,
                 by `batches` here, or by who reads the chunks: it is in the notes of each batch
    field_names  of the columns of a batch, where text fields are kept apart
    is_live      text comes from a pipe or terminal, whole lines as soon as they are there
    settings     how it is read
    """

    def __init__(self, parts: Sequence[Part], skipped: Counter[str], settings: ReadingSettings) -> None:
        self._parts = parts
        self.settings = settings
        sizes = [part.size for part in parts]
        units = {part.unit for part in parts}
        self.unit = "bytes" if "bytes" in units else "files"
        self.size = sum(size or 0 for size in sizes) if len(units) == 1 and None not in sizes else None
        self.skipped = skipped
        self.field_names = settings.text_field if settings.separate_fields else ()
        self.is_live = any(part.is_live for part in parts)

    def chunks(self) -> Iterator[Chunk]:
        """What to read, a piece at a time, in order.

        raises  InputError: a whole file cannot be used
        """
        for part in self._parts:
            yield from part.chunks()

    def shards(self, n_bytes: int | None = None, *, n_readers: int = 1) -> list[Shard]:
        """The same documents in pieces of about so many bytes, in order, for others to read; see `open_shard`.

        n_bytes  None: what suits so many readers
        raises   InputError: something can be read here only
        """
        encoding = encoding_of(self.settings)
        if n_bytes is None:
            size = self.size * FILE_BYTES if self.size is not None and self.unit == "files" else self.size
            n_bytes = suitable_bytes(size, n_readers)
        return [
            shard
            for part in self._parts
            for shard in cut(part.whole, n_bytes, encoding=encoding, settings=self.settings)
        ]

    def batches(self) -> Iterator[Batch]:
        """All documents, some at a time, in order; problems are left in the batches."""
        for chunk in self.chunks():
            batch = chunk.batch()
            self.skipped.update(batch.notes)
            yield batch

    def documents(self) -> Iterator[Document]:
        """All documents, in order.

        raises  InputError: one cannot be read
        """
        for batch in self.batches():
            for row, document in enumerate(batch.documents()):
                if row in batch.problems:
                    raise batch.problems[row]
                yield document


def open_source(
    paths: Sequence[str], settings: ReadingSettings, *, span: Span | None = None, outputs: Sequence[str] = ()
) -> Source:
    """The documents of some paths (`-` is standard input), each read as its name, first bytes or the settings say.

    span     reads only the lines that begin in this part of the one path
    outputs  files that this run writes, which are no documents of a directory; "-" is standard output
    raises  InputError: a path is missing, cannot be read, or is a directory without files; SettingsError
    """
    if not paths:
        raise InputError("there is nothing to read", hint="name a directory or a file, or - for standard input")
    opener = Opener(settings, encoding_of(_checked(settings)), span, outputs)
    parts = [part for path in paths for part in opener.parts(path)]
    return Source(parts, opener.skipped, settings)


def open_shard(shard: Shard, settings: ReadingSettings) -> Source:
    """The documents of a shard of a source that was opened with these settings, in whichever process."""
    opener = Opener(settings, encoding_of(settings), shard.span)
    return Source([opener.part_of(shard)], opener.skipped, settings)


def _checked(settings: ReadingSettings) -> ReadingSettings:
    if settings.input_format not in (None, *FORMATS):
        hint = f"choose one of {', '.join(FORMATS)}"
        raise SettingsError(f"there is no format {settings.input_format!r}", where="--input-format", hint=hint)
    if settings.encoding_errors not in ("replace", "strict"):
        hint = "choose replace or strict"
        raise SettingsError(f"{settings.encoding_errors!r} is no policy", where="--encoding-errors", hint=hint)
    if not settings.text_field or "" in settings.text_field:
        raise SettingsError("a field needs a name", where="--text-field")
    if not 1 <= settings.max_document_bytes <= MOST_BYTES:
        raise SettingsError(f"is not from 1 to {MOST_BYTES:,}", where="--max-document-bytes")
    return settings
