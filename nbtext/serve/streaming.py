"""Predictions for a stream of JSON lines: records go out while documents come in."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from typing import BinaryIO

from starlette.types import Receive, Scope, Send

from nbtext.documents.blocks import LineBlock, LineSplitter
from nbtext.model.settings import DecisionSettings
from nbtext.serve.batching import Batcher
from nbtext.serve.bodies import JSONL, UTF8, Documents, encode_lines, parse_lines, settings_of_lines
from nbtext.serve.guard import DEADLINE, LEASE, USAGE, Deadline, Lease
from nbtext.serve.models import ServedModel
from nbtext.serve.monitoring import Usage
from nbtext.serve.requests import read_chunks

AHEAD = 4  # blocks of lines that are predicted at the same time
MEMORY = 1 << 20  # bytes of records that wait for the client in memory; more wait in a file


class Outbox:
    """Records that wait until the client reads them.

    Many clients read nothing before they have sent everything. If the service waited for them, both would wait
    forever, so records beyond the first megabyte wait in a temporary file without a name.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._file: BinaryIO | None = None
        self._start = self._end = 0  # of what waits in the file
        self._changed = asyncio.Event()
        self._is_complete = False

    def put(self, data: bytes) -> None:
        """Add records."""
        if self._end > self._start or self._size + len(data) > MEMORY:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  for as long as the request runs
            self._file.seek(self._end)
            self._file.write(data)
            self._end += len(data)
        else:
            self._parts.append(data)
            self._size += len(data)
        self._changed.set()

    def complete(self) -> None:
        """Record that no more records follow."""
        self._is_complete = True
        self._changed.set()

    async def take(self) -> bytes:
        """Return the records that wait, at most a megabyte of them; empty after the last one."""
        while not self._parts and self._start == self._end:
            if self._is_complete:
                return b""
            self._changed.clear()
            await self._changed.wait()
        if self._parts:
            data = b"".join(self._parts)
            self._parts, self._size = [], 0
            return data
        assert self._file is not None
        self._file.seek(self._start)
        data = self._file.read(min(MEMORY, self._end - self._start))
        self._start += len(data)
        if self._start == self._end:
            self._start = self._end = 0
            self._file.truncate(0)
        return data

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


async def predict_stream(
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    model: ServedModel,
    decisions: DecisionSettings,
    batcher: Batcher,
    max_line_bytes: int,
) -> None:
    """Answer each line of the body with a line, in order."""
    usage: Usage = scope[USAGE]
    deadline: Deadline = scope[DEADLINE]
    lease: Lease = scope[LEASE]
    settings, outbox = model.input_settings(max_line_bytes), Outbox()
    splitter = LineSplitter(UTF8, max_line_bytes)
    running: asyncio.Queue[tuple[asyncio.Task[bytes], int] | None] = asyncio.Queue(AHEAD)
    n_queued = 0  # bytes of blocks that are not answered

    async def read_blocks() -> AsyncIterator[LineBlock]:
        async for data in read_chunks(scope, receive):
            lease.keep(n_queued + splitter.n_pending)  # not blank lines, nor those above the limit
            await lease.wait_and_add(len(data))
            for block in splitter.feed(data):
                yield block
        for block in splitter.finish():
            yield block

    async def read(tasks: asyncio.TaskGroup) -> None:
        nonlocal settings, n_queued
        is_first = True
        async for block in read_blocks():
            settings = settings_of_lines(block, settings) if is_first else settings
            is_first = is_first and not block.data.strip()  # blank lines are not documents
            batch = await batcher.run(partial(parse_lines, block, settings))
            usage.n_documents += len(batch)
            if len(batch):
                n_queued += len(block.data)
                task = tasks.create_task(batcher.predict(model, Documents(batch, encode_lines), decisions))
                await running.put((task, len(block.data)))
        await running.put(None)

    async def collect() -> None:
        nonlocal n_queued
        while (item := await running.get()) is not None:
            outbox.put(await item[0])
            n_queued -= item[1]
            lease.release(item[1])
        outbox.complete()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(collect())
            tasks.create_task(_write(send, outbox, deadline))
            tasks.create_task(read(tasks))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None  # it cancelled the other tasks
    finally:
        outbox.close()


async def _write(send: Send, outbox: Outbox, deadline: Deadline) -> None:
    """Send the records of an outbox until it is complete."""
    data = await outbox.take()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", JSONL.encode())]})
    while data:
        await send({"type": "http.response.body", "body": data, "more_body": True})
        deadline.extend()
        data = await outbox.take()
    await send({"type": "http.response.body", "body": b"", "more_body": False})
