"""Predictions and explanations outside the event loop, for the documents of several requests
together.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from nbtext.applications.serve.models import Answers, ServedModel
from nbtext.documents.batch import Batch, join_batches
from nbtext.model.settings import DecisionSettings
from nbtext.records import frozen_object

# predicted together; a larger request is split, so that others get their turn
MAX_BATCH_DOCUMENTS = 512
MAX_BATCH_CHARACTERS = 1 << 21  # of documents that are predicted together
# documents and characters that are explained together, which takes up to 0.2 s
MAX_EXPLAINED_TOGETHER = (16, 100_000)
SMALL_BODY = 1 << 16  # bytes that are parsed in a few milliseconds, and so in the event loop
Result = TypeVar("Result")
_Group = tuple[ServedModel, Answers]  # whose jobs can be computed together


@frozen_object
class _Job:
    """Documents of one request, their share of what is computed together, and the future of their
    encoded records.
    """

    batch: Batch
    share: float
    future: asyncio.Future[list[bytes]]


class Batcher:
    """Computes in threads. Documents that arrive while all threads are busy are computed together.

    An idle thread starts at once with all documents that the event loop has read.
    """

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="predict")
        self._n_threads = threads
        self._n_running = Counter[ThreadPoolExecutor]()
        self._waiting: dict[_Group, deque[_Job]] = {}

    async def records(self, model: ServedModel, batch: Batch, settings: Answers) -> list[bytes]:
        """Return the encoded records of predictions or explanations.

        The parts of a large request take turns with those of other requests, and the rest of a
        request that is given up is not computed.

        Raises
        ------
        SettingsError
            The model does not support the settings.
        """
        parts = batch.split(*limits_of(settings))
        if len(parts) == 1:
            return await self._submit(model, batch, settings)
        found: list[bytes] = []
        for start in range(0, len(parts), self._n_threads):
            together = parts[start : start + self._n_threads]
            jobs = [self._submit(model, part, settings) for part in together]
            for records in await asyncio.gather(*jobs):
                found += records
        return found

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(
        self, model: ServedModel, batch: Batch, settings: Answers
    ) -> asyncio.Future[list[bytes]]:
        loop = asyncio.get_running_loop()
        max_documents, max_characters = limits_of(settings)
        n_characters = sum(len(text) for column in batch.columns for text in column)
        share = max(len(batch) / max_documents, n_characters / max_characters)
        job = _Job(batch, share, loop.create_future())
        self._waiting.setdefault((model, settings), deque()).append(job)
        loop.call_soon(self._start)
        return job.future

    def _start(self) -> None:
        """Hand waiting documents to idle threads, those of each group in turn."""
        for group in list(self._waiting):
            pool = group[0].engine.pool or self._pool
            n_threads = self._n_threads if pool is self._pool else 1
            if self._n_running[pool] == n_threads:
                continue
            jobs = self._take(group)
            if not jobs:
                continue
            self._n_running[pool] += 1
            batches = [job.batch for job in jobs]
            running = asyncio.get_running_loop().run_in_executor(pool, _compute, *group, batches)
            running.add_done_callback(partial(self._finish, pool, jobs))

    def _finish(
        self, pool: ThreadPoolExecutor, jobs: list[_Job], done: asyncio.Future[Any]
    ) -> None:
        """Set the results of jobs."""
        self._n_running[pool] -= 1
        self._start()
        for job, result in zip(jobs, done.result(), strict=True):
            if job.future.done():
                continue  # the request was given up
            if isinstance(result, Exception):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)

    def _take(self, group: _Group) -> list[_Job]:
        """Return the next jobs of a group that are not given up, as many as fit together."""
        waiting = self._waiting.pop(group)
        jobs: list[_Job] = []
        share = 0.0
        while waiting and (not jobs or share + waiting[0].share <= 1):
            job = waiting.popleft()
            if not job.future.done():
                jobs.append(job)
                share += job.share
        if waiting:
            self._waiting[group] = waiting
        return jobs


async def run_parser(function: Callable[[], Result], size: int) -> Result:
    """Return what a function returns that parses so many bytes, if they are many in a thread."""
    return function() if size <= SMALL_BODY else await asyncio.to_thread(function)


def limits_of(settings: Answers) -> tuple[int, int]:
    """Return the numbers of documents and of characters that are computed together."""
    is_prediction = isinstance(settings, DecisionSettings) and settings.explain is None
    return (MAX_BATCH_DOCUMENTS, MAX_BATCH_CHARACTERS) if is_prediction else MAX_EXPLAINED_TOGETHER


def _compute(
    model: ServedModel, settings: Answers, batches: list[Batch]
) -> list[list[bytes] | Exception]:
    """Return the encoded records of each batch, or its error, which does not affect others."""
    try:
        records = iter(model.engine.answer(join_batches(batches), settings))
        return [list(islice(records, len(batch))) for batch in batches]
    except Exception as error:
        if len(batches) == 1:
            return [error]
        # computed one by one, to find the one that fails
        return [found for batch in batches for found in _compute(model, settings, [batch])]
