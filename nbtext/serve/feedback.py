"""Feedback: labeled texts that clients send. They are appended to a file, and are on the disk before the answer."""

from __future__ import annotations

import asyncio
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException

from nbtext.documents.batch import Batch, check_label
from nbtext.documents.settings import InputSettings
from nbtext.errors import NbtextError, OutputError
from nbtext.output import BINARY, lock_descriptor
from nbtext.serve.bodies import dumps, in_http_terms, loads
from nbtext.serve.models import ServedModel

TAIL = 1 << 16  # bytes that are read at once to find the last line


def feedback_lines(batch: Batch, model: ServedModel, settings: InputSettings, *, new_labels: bool) -> bytes:
    """Return labeled documents as JSON lines that `nbtext update` reads: with the keys of the model's rows.

    The first of several fields that are joined has the whole text.

    Raises
    ------
    HTTPException
        400: a document has no text or no label, or the model does not know the label.
    """
    time = datetime.now(UTC).isoformat(timespec="seconds")
    first, lines = settings.text_field[0], []
    empty = dict.fromkeys(settings.text_field, "")
    has_several = model.fitted.multilabel is not None
    try:
        lists = batch.list_labels() if has_several else [label and (label,) for label in batch.single_labels()]
    except NbtextError as error:
        raise HTTPException(400, f"document {error}") from None
    for row, labels in enumerate(lists):
        where = f"document {row + 1}: " if len(batch) > 1 else ""
        if (problem := batch.problems.get(row)) is not None:
            raise HTTPException(400, f"{where}{problem.what}")
        if labels is None:
            raise HTTPException(400, f"{where}there is no label")
        try:
            for label in labels:
                check_label(label)
                if not new_labels:
                    model.fitted.class_of(label)
        except NbtextError as error:
            raise HTTPException(400, f"{where}{in_http_terms(error)}") from None
        texts = [column[row] for column in batch.columns]
        fields = dict(zip(settings.text_field, texts, strict=True)) if settings.separate_fields else {first: texts[0]}
        given = labels if has_several else labels[0]
        lines.append(
            dumps({"id": batch.ids[row], **empty, **fields, settings.label_field: given, "time": time}) + b"\n"
        )
    return b"".join(lines)


class FeedbackFile:
    """A file of JSON lines to which one service at a time appends.

    Lines of several requests are written and flushed to the disk together. A line that the last process did not
    complete was not confirmed to any client, and is removed when the file is opened. If another program moves the file
    away, a new one is made.

    Raises
    ------
    OutputError
        The file cannot be opened, or another service appends to it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="feedback")
        self._pending: list[tuple[bytes, asyncio.Future[None]]] = []
        self._is_writing = False
        self._open()

    async def append(self, lines: bytes) -> None:
        """Append lines, and return when they are on the disk; OutputError if they cannot be written."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending.append((lines, done))
        if not self._is_writing:
            self._is_writing = True
            self._writer = asyncio.create_task(self._write_pending())  # kept, or it could be collected
        await done

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    async def _write_pending(self) -> None:
        while self._pending:
            pending, self._pending = self._pending, []
            data, error = b"".join(lines for lines, _ in pending), None
            try:
                await asyncio.get_running_loop().run_in_executor(self._pool, self._write, data)
            except OSError as problem:
                error = OutputError(f"cannot be written: {(problem.strerror or str(problem)).lower()}")
            except OutputError as problem:
                error = problem
            for _, done in pending:
                if not done.done():
                    done.set_result(None) if error is None else done.set_exception(error)
        self._is_writing = False

    def _write(self, data: bytes) -> None:
        """Write all of the data, or nothing."""
        if self._is_moved():
            self._open()
        size = os.fstat(self._descriptor).st_size
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise

    def _is_moved(self) -> bool:
        if self._descriptor < 0:  # the last attempt to open a new file failed
            return True
        try:
            return not os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))
        except FileNotFoundError:
            return True

    def _open(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        try:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            what = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise OutputError(what, where=self.path, hint="name another --feedback-dir") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputError("is not a regular file", where=self.path, hint="name another --feedback-dir")
            lock_descriptor(descriptor, self.path)
            _complete_last_line(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor


def _complete_last_line(descriptor: int) -> None:
    """Remove what follows the last line feed of a file, or end it by one if it is a whole JSON object."""
    size = os.fstat(descriptor).st_size
    tail, start = b"", size
    while start > 0 and b"\n" not in tail:
        length = min(TAIL, start)
        start -= length
        tail = os.pread(descriptor, length, start) + tail
    rest = tail.rpartition(b"\n")[2]
    if not rest:
        return
    value: Any = None
    with suppress(HTTPException):
        value = loads(rest)
    if isinstance(value, dict):
        os.write(descriptor, b"\n")
    else:
        os.ftruncate(descriptor, size - len(rest))
