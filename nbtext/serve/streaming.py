"""Predictions for a stream of JSON lines: records go out while documents come in."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.types import Receive, Scope, Send

from nbtext.documents.batch import Batch
from nbtext.documents.blocks import LineBlock, LineSplitter
from nbtext.documents.settings import InputSettings
from nbtext.model.settings import DecisionSettings
from nbtext.serve.batching import Batcher, characters_of, limits_of
from nbtext.serve.bodies import JSONL, Documents, MarkReader, join_lines, keys_of, parse_lines, settings_of_lines
from nbtext.serve.guard import DEADLINE, LEASE, USAGE, Deadline, Lease
from nbtext.serve.models import ServedModel
from nbtext.serve.monitoring import Usage
from nbtext.serve.requests import read_chunks

AHEAD = 2  # answers that wait until the client has read the one before
RECORD_BYTES, LABEL_BYTES, FEATURE_BYTES = 200, 30, 60  # of a record, of each of its scores, and of an explanation


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
    """Answer each line of the body with a line, in order.

    A client that does not read its answers is not read, either. The time of the request begins again when a document is
    complete, and when answers have been read (see Guard): so a client that does neither is ended.
    """
    usage: Usage = scope[USAGE]
    deadline: Deadline = scope[DEADLINE]
    lease: Lease = scope[LEASE]
    settings = model.input_settings(max_line_bytes)
    is_first, keys = True, keys_of(settings)
    marks, splitter = MarkReader(), LineSplitter(max_line_bytes)
    running: asyncio.Queue[tuple[asyncio.Task[bytes], int] | None] = asyncio.Queue(AHEAD)
    n_reserved = 0  # bytes of documents and of answers that are not sent

    def parse(block: LineBlock) -> tuple[Batch, InputSettings]:
        chosen = settings_of_lines(block, settings) if is_first else settings
        return parse_lines(block, chosen, keys), chosen

    async def predict(block: LineBlock, tasks: asyncio.TaskGroup) -> None:
        nonlocal settings, is_first, n_reserved
        batch, chosen = await batcher.parse(partial(parse, block), lease)
        if not len(batch):
            return  # blank lines are not documents
        is_first, settings = False, chosen
        usage.n_documents += len(batch)
        deadline.extend()
        for part in batch.split(*limits_of(decisions)):
            size = characters_of(part) + len(part) * _record_bytes(model, decisions)
            await lease.wait_and_add(size)
            n_reserved += size
            documents = Documents(part, join_lines)
            await running.put((tasks.create_task(batcher.predict(model, documents, decisions, lease)), size))

    async def read(tasks: asyncio.TaskGroup) -> None:
        async for data in read_chunks(scope, receive):
            lease.keep(n_reserved + splitter.n_pending)  # not blank lines, nor those above the limit
            await lease.wait_and_add(len(data))
            for block in splitter.feed(marks.feed(data)):
                await predict(block, tasks)
        for block in (*splitter.feed(marks.feed(b"", is_last=True)), *splitter.finish()):
            await predict(block, tasks)
        await running.put(None)

    async def write() -> None:
        nonlocal n_reserved
        item = await running.get()
        data = await item[0] if item is not None else b""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", JSONL.encode())]})
        while item is not None:
            await send({"type": "http.response.body", "body": data, "more_body": True})
            n_reserved -= item[1]
            lease.release(item[1])
            item = await running.get()
            data = await item[0] if item is not None else b""
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(write())
            tasks.create_task(read(tasks))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None  # it cancelled the other tasks


def _record_bytes(model: ServedModel, decisions: DecisionSettings) -> int:
    """Return about how many bytes the record of a document has."""
    n_labels = len(model.fitted.labels)
    n_labels = min(decisions.top_k or n_labels, n_labels)
    return RECORD_BYTES + LABEL_BYTES * n_labels + FEATURE_BYTES * (decisions.explain or 0)
