"""Directories: they are listed, and their first files are read, while the program still imports its modules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Thread

from nbtext.documents.batch import Block
from nbtext.documents.blocks import ReadOptions
from nbtext.documents.decompression import SUFFIXES
from nbtext.documents.directory import Skipped, list_shards
from nbtext.documents.file_documents import BLOCK_BYTES, BLOCK_FILES, FileDocuments, encode_paths, read_file_documents
from nbtext.documents.files import Contents
from nbtext.documents.settings import InputSettings
from nbtext.documents.shards import Shard
from nbtext.errors import NbtextError

MAX_BYTES = 8 << 20  # that are kept until they are needed
MAX_FILES = 1 << 15
COMPRESSED = tuple(SUFFIXES)


class ReadAhead:
    """Lists directories, and reads the first files in a thread, before it is asked for them.

    It never fails: what cannot be listed or read now is listed or read again when it is needed, and reported then.

    Parameters
    ----------
    paths : sequence of str
        Sources as typed; only directories are read ahead.
    settings : InputSettings
    outputs : sequence of str
        Files that this run writes; they are skipped.
    """

    def __init__(self, paths: Sequence[str] = (), settings: InputSettings | None = None, outputs: Sequence[str] = ()):
        settings = settings or InputSettings()
        self._listed: dict[tuple[object, ...], tuple[list[Shard], Skipped]] = {}
        self._shard: Shard | None = None  # whose first files are read
        with suppress(NbtextError, ValueError):  # ValueError: a NUL in the path
            for path in filter(os.path.isdir, paths):
                self._listed[_key(path, settings, outputs)] = list_shards(path, settings, outputs)
        shard = next((shard for shards, _ in self._listed.values() for shard in shards), None)
        if shard is not None and shard.reader == "files" and Contents is not None:
            self._contents = Contents(encode_paths(shard.paths[:MAX_FILES]), settings.max_document_bytes)
            self._thread = Thread(target=self._contents.read, args=(MAX_BYTES,), daemon=True)
            with suppress(RuntimeError):  # the system allows no further thread
                self._thread.start()
                self._shard = shard

    def list_shards(self, path: str, settings: InputSettings, outputs: Sequence[str]) -> tuple[list[Shard], Skipped]:
        """Return the shards of a directory, and what is skipped; see `directory.list_shards`."""
        return self._listed.pop(_key(path, settings, outputs), None) or list_shards(path, settings, outputs)

    def read(self, shard: Shard, options: ReadOptions) -> Iterator[Block]:
        """Yield the blocks of a shard of files; those that have been read come first."""
        start = 0
        if shard is self._shard:
            self._shard = None
            self._contents.stop()
            self._thread.join()
            n_read, limit = len(self._contents), options.settings.max_document_bytes
            while start < n_read and (contents := self._take(shard, start)):
                files = slice(start, start + len(contents))
                paths, labels = list(shard.paths[files]), list(shard.labels[files])
                keeps = options.settings.keeps_skipped
                block = FileDocuments(paths, labels, options.encoding, limit, shard.root, contents, keeps)
                start = files.stop
                yield Block(block.batch, len(paths))
                del block, contents
            del self._contents
        yield from read_file_documents(shard.paths, shard.labels, options, shard.root, start)

    def _take(self, shard: Shard, start: int) -> list[bytes | int]:
        """Return the contents of one block, from file `start` on. A compressed file ends it: it may be large."""
        contents, size = self._contents.take(start, start + BLOCK_FILES), 0
        for number, content in enumerate(contents):
            if shard.paths[start + number].endswith(COMPRESSED) or size > BLOCK_BYTES:
                return contents[:number]
            size += len(content) if isinstance(content, bytes) else 0
        return contents


def _key(path: str, settings: InputSettings, outputs: Sequence[str]) -> tuple[object, ...]:
    """Return everything on which the list of the files and their contents depend."""
    return path, settings.input_format, settings.exclude, settings.max_document_bytes, tuple(outputs)
