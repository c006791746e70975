"""Predictions outside the event loop, for the documents of several requests together, and of
streams.

The records of a stream of JSON lines go out while documents come in.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from starlette.types import Receive, Scope, Send

from nbtext.applications.serve import requests
from nbtext.applications.serve.guard import USAGE, Lease, Usage, dumps
from nbtext.applications.serve.models import ExplanationSettings, ServedModel
from nbtext.applications.serve.requests import JSONL, Documents
from nbtext.documents.batch import Batch, join_batches
from nbtext.documents.blocks import LineBlock, LineSplitter
from nbtext.documents.settings import InputSettings
from nbtext.model.settings import DecisionSettings
from nbtext.report.predictions import prediction_records

# seconds that documents wait for those of other requests while all threads are busy
MAX_WAIT = 0.002
MAX_DOCUMENTS = 512  # predicted together; a larger request is split, so that others get their turn
MAX_CHARACTERS = 1 << 21  # of documents that are predicted together
# documents and characters that are explained together, which takes up to 0.2 s
MAX_EXPLAINED = (16, 100_000)
PAUSE = 0.05  # seconds without parsing after so many seconds of it
AHEAD = 2  # answers of a stream that wait until the client has read the one before
# of a record, of each of its scores, and of an explanation
RECORD_BYTES = 200
LABEL_BYTES = 30
FEATURE_BYTES = 60
Result = TypeVar("Result")
Group = tuple[ServedModel, DecisionSettings]


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """Documents of one request, and the future of their encoded records."""

    batch: Batch
    future: asyncio.Future[list[bytes]]
    lease: Lease


class Batcher:
    """Predicts in threads. Documents that arrive while all threads are busy are predicted together.

    An idle thread starts at once with all documents that the event loop has read. Otherwise
    documents wait until a thread is free, and at most 2 ms before they are queued for the threads.

    Parameters
    ----------
    threads : int
    on_batch : callable
        Is called with the number of documents of each batch.
    """

    def __init__(
        self, threads: int, on_batch: Callable[[int], None] = lambda n_documents: None
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="predict")
        self._parser = ThreadPoolExecutor(1, thread_name_prefix="parse")
        self._parse_at = 0.0
        self._n_threads = threads
        self._n_running = 0
        self._waiting: dict[Group, list[_Job]] = {}
        self._handle: asyncio.Handle | None = None
        self._on_batch = on_batch

    async def predict(
        self, model: ServedModel, documents: Documents, decisions: DecisionSettings, lease: Lease
    ) -> bytes:
        """Return the encoded records of the predictions.

        The parts of a large request take turns with those of other requests, and the rest of a
        request that is given up is not predicted.

        Raises
        ------
        HTTPException
            503: the answers use up the memory.
        SettingsError
            The model does not support the decisions.
        """
        batch, join = documents
        parts = batch.split(*limits_of(decisions))
        if len(parts) == 1:
            return join(await self._submit(model, batch, decisions, lease))
        records: list[bytes] = []
        for start in range(0, len(parts), self._n_threads):
            together = parts[start : start + self._n_threads]
            for found in await asyncio.gather(
                *(self._submit(model, part, decisions, lease) for part in together)
            ):
                records += found
                lease.add(sum(map(len, found)))
        return join(records)

    async def explain(
        self, model: ServedModel, documents: Documents, settings: ExplanationSettings, lease: Lease
    ) -> bytes:
        """Return the encoded explanations, computed in parts; see `predict`."""
        records: list[bytes] = []
        for part in documents.batch.split(*MAX_EXPLAINED):
            found = await _run(
                model.engine.pool or self._pool, partial(_explain, model, part, settings), lease
            )
            records += found
            lease.add(sum(map(len, found)))
        return documents.join(records)

    async def parse(self, function: Callable[[], Result], lease: Lease) -> Result:
        """Return what a function returns in the thread for parsing.

        A parser lets no other thread run. So this is one thread, and it pauses after a long time,
        in which the event loop can answer what has arrived.
        """

        def run() -> Result:
            time.sleep(max(0.0, self._parse_at - time.monotonic()))
            started = time.monotonic()
            try:
                return function()
            finally:
                now = time.monotonic()
                self._parse_at = now + (PAUSE if now - started > PAUSE else 0)

        return await _run(self._parser, run, lease)

    def stop(self) -> None:
        for pool in (self._pool, self._parser):
            pool.shutdown(wait=False, cancel_futures=True)

    def _submit(
        self, model: ServedModel, batch: Batch, decisions: DecisionSettings, lease: Lease
    ) -> asyncio.Future[list[bytes]]:
        loop = asyncio.get_running_loop()
        lease.begin()
        job = _Job(batch, loop.create_future(), lease)
        self._waiting.setdefault((model, decisions), []).append(job)
        if self._handle is None:
            is_idle = self._n_running < self._n_threads
            self._handle = (
                loop.call_soon(self._start) if is_idle else loop.call_later(MAX_WAIT, self._start)
            )
        return job.future

    def _start(self) -> None:
        """Hand all waiting documents to the threads."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        waiting = self._waiting
        self._waiting = {}
        for (model, decisions), jobs in waiting.items():
            for together in _split_jobs(jobs, *limits_of(decisions)):
                self._n_running += 1
                running = asyncio.get_running_loop().run_in_executor(
                    model.engine.pool or self._pool, _predict_jobs, model, decisions, together
                )
                running.add_done_callback(partial(self._finish, together))

    def _finish(self, jobs: list[_Job], done: asyncio.Future[list[tuple[_Job, Any]]]) -> None:
        self._n_running -= 1
        if self._waiting:
            self._start()
        results: list[tuple[_Job, Any]] = []
        if not done.cancelled():
            error = done.exception()
            results = (
                done.result()
                if error is None
                else [(job, RuntimeError(repr(error))) for job in jobs]
            )
            self._on_batch(sum(len(job.batch) for job in jobs))
        for job in jobs:
            job.lease.end()
        for job, result in results:
            if job.future.done():
                continue  # the request was given up
            if isinstance(result, Exception):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)


async def _run(pool: ThreadPoolExecutor, function: Callable[[], Result], lease: Lease) -> Result:
    """Return what a function returns in a thread; the memory of the request counts until the thread
    has ended.
    """
    work = [function]
    lease.begin()

    def run() -> Result:
        return work.pop()()

    def end(_: object) -> None:
        work.clear()  # the queue of the threads keeps a function that is canceled before it begins
        lease.end()

    running = pool.submit(run)
    running.add_done_callback(end)
    try:
        return await asyncio.wrap_future(running)
    finally:
        del running  # an error would be in a cycle with it, and keep the memory of the function


def limits_of(decisions: DecisionSettings) -> tuple[int, int]:
    """Return the numbers of documents and of characters that are predicted together."""
    return (MAX_DOCUMENTS, MAX_CHARACTERS) if decisions.explain is None else MAX_EXPLAINED


def _split_jobs(jobs: list[_Job], max_documents: int, max_characters: int) -> list[list[_Job]]:
    """Return the jobs in groups that are not too large."""
    groups: list[list[_Job]] = [[]]
    n_documents = n_characters = 0
    for job in jobs:
        size = characters_of(job.batch)
        if groups[-1] and (
            n_documents + len(job.batch) > max_documents or n_characters + size > max_characters
        ):
            groups.append([])
            n_documents = n_characters = 0
        groups[-1].append(job)
        n_documents += len(job.batch)
        n_characters += size
    return groups


def characters_of(batch: Batch) -> int:
    """Return the number of characters of all texts."""
    return sum(len(text) for column in batch.columns for text in column)


def _explain(model: ServedModel, batch: Batch, settings: ExplanationSettings) -> list[bytes]:
    return [dumps(record) for record in model.engine.explain(batch, settings)]


def _predict_jobs(
    model: ServedModel, decisions: DecisionSettings, jobs: list[_Job]
) -> list[tuple[_Job, Any]]:
    """Return each job that is not given up with its encoded records, or its error, which does not
    affect other jobs.
    """
    jobs = [job for job in jobs if not job.future.done()]
    if not jobs:
        return []
    try:
        batch = join_batches([job.batch for job in jobs]) if len(jobs) > 1 else jobs[0].batch
        found = prediction_records(model.engine.predict(batch, decisions), decisions.top_k)
        records = iter([dumps(record) for record in found])
        return [(job, [next(records) for _ in range(len(job.batch))]) for job in jobs]
    except Exception as error:
        if len(jobs) == 1:
            return [(jobs[0], error)]
        # predicted one by one, to find the job that fails
        return [found for job in jobs for found in _predict_jobs(model, decisions, [job])]


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

    A client that does not read its answers is not read, either. The time of the request begins
    again when a document is complete, and when answers have been read (see Guard): so a client that
    does neither is ended.
    """
    usage: Usage = scope[USAGE]
    lease = usage.lease
    settings = model.input_settings(max_line_bytes)
    is_first = True
    keys = requests.keys_of(settings)
    marks = requests.MarkReader()
    splitter = LineSplitter(max_line_bytes)
    running: asyncio.Queue[tuple[asyncio.Task[bytes], int] | None] = asyncio.Queue(AHEAD)
    n_reserved = 0  # bytes of documents and of answers that are not sent
    n_labels = len(model.fitted.labels)
    n_scores = min(decisions.top_k or n_labels, n_labels)
    # about
    record_bytes = RECORD_BYTES + LABEL_BYTES * n_scores + FEATURE_BYTES * (decisions.explain or 0)

    def parse(block: LineBlock) -> tuple[Batch, InputSettings]:
        chosen = requests.settings_of_lines(block, settings) if is_first else settings
        return requests.parse_lines(block, chosen, keys), chosen

    async def predict(block: LineBlock, tasks: asyncio.TaskGroup) -> None:
        nonlocal settings, is_first, n_reserved
        batch, chosen = await batcher.parse(partial(parse, block), lease)
        if not len(batch):
            return  # blank lines are not documents
        is_first = False
        settings = chosen
        usage.n_documents += len(batch)
        usage.extend()
        for part in batch.split(*limits_of(decisions)):
            size = characters_of(part) + len(part) * record_bytes
            await lease.wait_and_add(size)
            n_reserved += size
            documents = Documents(part, requests.join_lines)
            await running.put(
                (tasks.create_task(batcher.predict(model, documents, decisions, lease)), size)
            )

    async def read(tasks: asyncio.TaskGroup) -> None:
        async for data in requests.read_chunks(scope, receive):
            # not blank lines, nor those above the limit
            lease.keep(n_reserved + splitter.n_pending)
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
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", JSONL.encode())],
            }
        )
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
