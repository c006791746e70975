"""The workers of a Dask cluster: they count and predict the shards of a source.

Counts are added in a tree. Dask's scheduler assigns the work, and repeats the work of a worker that is lost. The
result has the same bytes in any order, because counts add exactly.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtext.artifact.model import read_counts
from nbtext.cluster.work import (
    TOKEN_VERSIONS,
    PredictionTask,
    Report,
    add_counts,
    count_shard,
    count_shard_lines,
    error_of,
    predict_shard,
    report_of,
    report_of_work,
    stamp_of,
)
from nbtext.documents.shards import Shard, number_lines
from nbtext.documents.streams import unreadable
from nbtext.errors import OutputError, SettingsError
from nbtext.features.analyzer import has_own_pattern
from nbtext.output import atomic_output

if TYPE_CHECKING:
    from distributed import Client, Future

    from nbtext.documents.source import Source
    from nbtext.model.corpus_counts import CorpusCounts
    from nbtext.model.settings import DecisionSettings
    from nbtext.model.source_counting import CountingTask, OnBatch

N_ADDED = 4  # counts of shards, which a worker holds in memory
AHEAD = 4  # shards for each thread of the cluster that may be predicted before an earlier one is written
PART = "part-{:05}.{}"  # the file of a shard's records


@dataclass(frozen=True, slots=True)
class Workers:
    """Executes work on the workers of a Dask cluster; an Executor of nbtext.model.source_counting.

    client       A connection to the scheduler.
    shard_bytes  Size of a shard in bytes; None: chosen by the number of workers.
    """

    client: Client
    shard_bytes: int | None

    def count(self, source: Source, task: CountingTask, on_batch: OnBatch | None = None) -> CorpusCounts:
        """Return the counts of all documents of a source; see nbtext.model.source_counting.Executor."""
        if has_own_pattern(task.settings):
            hint = "leave out --token-pattern or --cluster"
            what = "a custom pattern cannot be used with --cluster, because workers cannot limit its running time"
            raise SettingsError(what, where="--token-pattern", hint=hint)
        shards = source.shards(self.shard_bytes, n_readers=self._n_threads())
        counted = [self._submit(count_shard, shard, source.settings, task, TOKEN_VERSIONS) for shard in shards]
        reports = [self._submit(report_of_work, each, priority=1) for each in counted]
        parts, priority = counted, 0
        while len(parts) > 1:  # a tree of additions; those near the root have priority, so that few wait
            priority += 1
            groups = [parts[start : start + N_ADDED] for start in range(0, len(parts), N_ADDED)]
            parts = [self._submit(add_counts, list(group), priority=priority) for group in groups]
        (total,) = parts
        del counted, parts  # each is freed as soon as it is added
        self._watch(reports, on_batch)
        return read_counts(total.result()["counts"])

    def _watch(self, reports: Sequence[Future], on_batch: OnBatch | None) -> None:
        """Wait for all shards; raise the first problem in the order of the documents, as one thread would."""
        from distributed import as_completed

        places = {report.key: place for place, report in enumerate(reports)}
        first: tuple[int, Report] | None = None
        for done in as_completed(reports):
            if done.status == "cancelled":
                continue
            report = report_of(done.result())
            if report.problem is None:
                _call(on_batch, report)
            elif first is None or places[done.key] < first[0]:
                first = places[done.key], report
                self.client.cancel(list(reports[first[0] + 1 :]))
        if first is not None:
            _check(first[1])

    def predict(self, source: Source, task: PredictionTask, output: str, on_batch: OnBatch | None = None) -> None:
        """Write the records of all documents of a source, in order.

        Parameters
        ----------
        output : str
            A file; or a folder (an existing one, or a name that ends with /), into which the workers write one file
            for each shard. Each file is written completely or not at all.

        Raises
        ------
        InputError
            A source file cannot be read.
        OutputError
            The output cannot be written.
        """
        if output.endswith(os.sep) or os.path.isdir(output):
            try:
                os.makedirs(output, exist_ok=True)
                names = os.listdir(output)
            except OSError as error:
                hint = "give a folder in which you can write"
                raise OutputError(
                    f"the folder cannot be created: {(error.strerror or str(error)).lower()}", where=output, hint=hint
                ) from None
            if any(name.startswith("part-") for name in names):
                raise OutputError("contains the records of another run", where=output, hint="name a new folder")
            for _ in self._predict_shards(source, task, on_batch, folder=output):
                pass
            return
        with atomic_output(output) as file:
            for records in self._predict_shards(source, task, on_batch):
                file.write(records)

    def _predict_shards(
        self, source: Source, task: PredictionTask, on_batch: OnBatch | None, *, folder: str | None = None
    ) -> Iterator[bytes]:
        """Yield the records of each shard, in order; nothing if they are written to a folder."""
        work = (
            (
                predict_shard,
                shard,
                source.settings,
                task,
                TOKEN_VERSIONS,
                os.path.join(folder, PART.format(place, task.output_format)) if folder is not None else None,
            )
            for place, shard in enumerate(self._number_shards(source))
        )
        for record in self._in_order(work):
            report = report_of(record["report"])
            _check(report)
            _call(on_batch, report)
            yield record["records"]

    def _number_shards(self, source: Source) -> list[Shard]:
        """Return the shards of a source, with the numbers of their first lines."""
        shards = source.shards(self.shard_bytes, n_readers=self._n_threads())
        if all(shard.byte_range is None for shard in shards):
            return shards
        n_lines = []
        for result in self._in_order((count_shard_lines, shard, source.settings) for shard in shards):
            if not isinstance(result, int):
                _check(report_of(result))
            n_lines.append(result)
        return number_lines(shards, n_lines)

    def _in_order(self, work: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the result of each piece of work, in order; only a few are submitted ahead."""
        n_ahead = AHEAD * self._n_threads()
        begun: deque[Future] = deque()
        for each in work:
            begun.append(self._submit(*each))
            if len(begun) > n_ahead:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()

    def _n_threads(self) -> int:
        return max(1, sum(map(int, self.client.nthreads().values())))

    def _submit(self, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Future:
        return self.client.submit(function, *arguments, pure=False, priority=priority)


def prediction_task(model: str, decisions: DecisionSettings, output_format: str) -> PredictionTask:
    """Return the task of predicting with the model at this path; InputError if it cannot be read."""
    try:
        return PredictionTask(model, stamp_of(model), decisions, output_format)
    except OSError as error:
        raise unreadable(model, error) from None


def _call(on_batch: OnBatch | None, report: Report) -> None:
    if on_batch is not None:
        batch = report.batch()
        on_batch(batch.block(report.size), batch)


def _check(report: Report) -> None:
    """Raise the error that a worker reports, if any."""
    if report.problem is not None:
        raise error_of(report.problem)
