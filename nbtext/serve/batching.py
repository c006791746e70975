"""Predictions outside the event loop, for the documents of several requests together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.model.settings import DecisionSettings
from nbtext.report.predictions import prediction_records
from nbtext.serve.bodies import Documents
from nbtext.serve.models import ServedModel

MAX_WAIT = 0.002  # seconds that documents wait for those of other requests while all threads are busy
MAX_DOCUMENTS = 512  # predicted together; a larger request is split, so that others get their turn
MAX_CHARACTERS = 1 << 21  # of documents that are predicted together
Result = TypeVar("Result")
Group = tuple[ServedModel, DecisionSettings]


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """Documents of one request, and the future of their encoded records."""

    documents: Documents
    future: asyncio.Future[Any]


class Batcher:
    """Predicts in threads. Documents that arrive while all threads are busy are predicted together.

    An idle thread starts at once with all documents that the event loop has read. Otherwise documents wait until a
    thread is free, and at most 2 ms before they are queued for the threads.

    Parameters
    ----------
    threads : int
    on_batch : callable
        Is called with the number of documents of each batch.
    """

    def __init__(self, threads: int, on_batch: Callable[[int], None] = lambda n_documents: None) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="predict")
        self._n_threads, self._n_running = threads, 0
        self._waiting: dict[Group, list[_Job]] = {}
        self._handle: asyncio.Handle | None = None
        self._on_batch = on_batch

    async def predict(self, model: ServedModel, documents: Documents, decisions: DecisionSettings) -> bytes:
        """Return the encoded records of the predictions.

        Raises
        ------
        SettingsError
            The model does not support the decisions.
        """
        batch, encode = documents
        if len(batch) > MAX_DOCUMENTS:
            parts = [Documents(part, list) for part in batch.split(MAX_DOCUMENTS)]
            lists = await asyncio.gather(*(self._submit(model, part, decisions) for part in parts))
            return await self.run(lambda: bytes(encode(chain.from_iterable(lists))))
        return bytes(await self._submit(model, documents, decisions))

    async def run(self, function: Callable[[], Result]) -> Result:
        """Return what a function returns in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function)

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, model: ServedModel, documents: Documents, decisions: DecisionSettings) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        job = _Job(documents, loop.create_future())
        self._waiting.setdefault((model, decisions), []).append(job)
        if self._handle is None:
            is_idle = self._n_running < self._n_threads
            self._handle = loop.call_soon(self._start) if is_idle else loop.call_later(MAX_WAIT, self._start)
        return job.future

    def _start(self) -> None:
        """Hand all waiting documents to the threads."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        waiting, self._waiting = self._waiting, {}
        for (model, decisions), jobs in waiting.items():
            for together in _split_jobs(jobs):
                self._n_running += 1
                running = asyncio.get_running_loop().run_in_executor(
                    self._pool, _predict_jobs, model, decisions, together
                )
                running.add_done_callback(partial(self._finish, together))

    def _finish(self, jobs: list[_Job], done: asyncio.Future[list[Any]]) -> None:
        self._n_running -= 1
        if self._waiting:
            self._start()
        results: list[Any] = []
        if not done.cancelled():
            error = done.exception()
            results = done.result() if error is None else [RuntimeError(repr(error))] * len(jobs)
            self._on_batch(sum(len(job.documents.batch) for job in jobs))
        for job, result in zip(jobs, results, strict=False):
            if job.future.done():
                continue  # the request was given up
            if isinstance(result, Exception):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)


def _split_jobs(jobs: list[_Job]) -> list[list[_Job]]:
    """Return the jobs in groups that are not too large."""
    groups: list[list[_Job]] = [[]]
    n_documents = n_characters = 0
    for job in jobs:
        batch = job.documents.batch
        size = sum(len(text) for column in batch.columns for text in column)
        if groups[-1] and (n_documents + len(batch) > MAX_DOCUMENTS or n_characters + size > MAX_CHARACTERS):
            groups.append([])
            n_documents = n_characters = 0
        groups[-1].append(job)
        n_documents += len(batch)
        n_characters += size
    return groups


def _predict_jobs(model: ServedModel, decisions: DecisionSettings, jobs: list[_Job]) -> list[Any]:
    """Return the encoded records of each job, or its error, which does not affect other jobs."""
    if len(jobs) > 1:
        try:
            batch = _join([job.documents.batch for job in jobs])
            records = iter(prediction_records(model.engine.predict(batch, decisions), decisions.top_k))
            return [
                job.documents.encode([next(records) for _ in range(len(job.documents.batch))])
                for job in jobs
            ]  # fmt: skip
        except Exception:  # predicted one by one below, to find the job that fails
            return [result for job in jobs for result in _predict_jobs(model, decisions, [job])]
    documents = jobs[0].documents
    try:
        return [documents.encode(prediction_records(model.engine.predict(documents.batch, decisions), decisions.top_k))]
    except Exception as error:
        return [error]


def _join(batches: list[Batch]) -> Batch:
    """Return the documents of several batches as one."""
    ids = [identity for batch in batches for identity in batch.ids]
    labels = [label for batch in batches for label in batch.labels]
    columns = tuple([text for batch in batches for text in batch.columns[k]] for k in range(len(batches[0].columns)))
    problems: dict[int, InputError] = {}
    start = 0
    for batch in batches:
        problems |= {start + row: problem for row, problem in batch.problems.items()}
        start += len(batch)
    return replace(Batch(ids, columns, labels), problems=problems)
