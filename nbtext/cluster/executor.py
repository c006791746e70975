"""The workers of a Dask cluster, or of one that is started for a command: they count and predict
shards of a source.

Counts are added in a tree. Dask's scheduler assigns the work, and repeats the work of a worker that
is lost. The result has the same bytes in any order, because counts add exactly.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from nbtext.cluster import work
from nbtext.cluster.settings import ClusterSettings
from nbtext.cluster.work import PredictionTask, Report
from nbtext.documents.blocks import Shard
from nbtext.documents.source import Source, number_lines
from nbtext.documents.streams import STANDARD_INPUT, unreadable_file
from nbtext.errors import (
    ClusterError,
    MissingExtra,
    NbtextError,
    OutputError,
    SettingsError,
    reason_of,
)
from nbtext.features.analyzer import has_own_pattern
from nbtext.interrupts import interrupts_raise
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import CountingTask, OnBatch
from nbtext.output import atomic_output
from nbtext.records import frozen

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster


N_ADDED = 4  # counts of shards, which a worker holds in memory
# shards for each thread of the cluster that may be predicted before an earlier one is written
SHARDS_AHEAD = 4
PART = "part-{:05}.{}"  # the file of a shard's records
# for the scheduler to answer, and to have a worker; `nbtext.timeout` in Dask's configuration
TIMEOUT = "10s"

# reuse memory from batch to batch; with Dask's settings, malloc returns each large allocation to
# the system
MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(64 << 20)}
# with Dask's settings, monitoring, whose results are unused here, takes 3 % of the time of each
# process
LESS_MONITORING = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.profile.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.limit": "60s",
}
# any port, so that two commands can run
NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


@frozen
class Workers:
    """Executes work on the workers of a Dask cluster; `count` is an Executor of
    nbtext.model.training.

    client  A connection to the scheduler.
    """

    client: Client

    def count(
        self, source: Source, task: CountingTask, on_batch: OnBatch | None = None
    ) -> CorpusCounts:
        """Return the counts of all documents of a source; see
        nbtext.model.source_counting.count_blocks.
        """
        if has_own_pattern(task.settings):
            raise SettingsError(
                "a custom pattern cannot be used with --cluster, because workers cannot limit its running time",
                where="--token-pattern",
                hint="leave out --token-pattern or --cluster",
            )
        counted = [
            self._submit(work.count_shard, each, source.settings, task, work.TOKEN_VERSIONS)
            for each in source.shards(n_readers=self._n_threads())
        ]
        reports = [self._submit(work.without_result, each, priority=1) for each in counted]
        # Counts are added in a tree; additions near the root have priority, so that few wait. Each
        # is freed as soon as it is added.
        priority = 0
        while len(counted) > 1:
            priority += 1
            counted = [
                self._submit(work.add_reports, counted[start : start + N_ADDED], priority=priority)
                for start in range(0, len(counted), N_ADDED)
            ]
        self._watch(reports, on_batch)
        counts: CorpusCounts = counted[0].result().result
        return counts

    def _watch(self, reports: Sequence[Future], on_batch: OnBatch | None) -> None:
        """Wait for all shards; raise the first problem in the order of the documents, as one thread
        would.
        """
        from distributed import as_completed

        places = {report.key: place for place, report in enumerate(reports)}
        first: tuple[int, Report] | None = None
        for done in as_completed(reports):
            if done.status == "cancelled":
                continue
            report: Report = done.result()
            if report.problem is None:
                _finish(report, on_batch)
            elif first is None or places[done.key] < first[0]:
                first = places[done.key], report
                self.client.cancel(list(reports[first[0] + 1 :]))
        if first is not None:
            _finish(first[1])

    def predict(
        self, source: Source, task: PredictionTask, output: str, on_batch: OnBatch | None = None
    ) -> None:
        """Write the records of all documents of a source, in order.

        Parameters
        ----------
        output : str
            A file; or a folder (an existing one, or a name that ends with /), into which the
            workers write one file for each shard. Each file is written completely or not at all.

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
                raise OutputError(
                    f"the folder cannot be created: {reason_of(error)}",
                    where=output,
                    hint="give a folder in which you can write",
                ) from None
            if any(name.startswith("part-") for name in names):
                raise OutputError(
                    "contains the records of another run", where=output, hint="name a new folder"
                )
            for _ in self._predict_shards(source, task, on_batch, folder=output):
                pass
            return
        with atomic_output(output) as file:
            for records in self._predict_shards(source, task, on_batch):
                file.write(records)

    def _predict_shards(
        self,
        source: Source,
        task: PredictionTask,
        on_batch: OnBatch | None,
        *,
        folder: str | None = None,
    ) -> Iterator[bytes]:
        """Yield the records of each shard, in order; nothing if they are written to a folder."""

        def list_calls() -> Iterator[tuple[Any, ...]]:
            for place, shard in enumerate(self._number_shards(source)):
                part = PART.format(place, task.output_format)
                target = os.path.join(folder, part) if folder is not None else None
                yield work.predict_shard, shard, source.settings, task, work.TOKEN_VERSIONS, target

        for report in self._in_order(list_calls()):
            _finish(report, on_batch)
            yield report.result

    def _number_shards(self, source: Source) -> list[Shard]:
        """Return the shards of a source, with the numbers of their first lines."""
        shards = source.shards(n_readers=self._n_threads())
        if all(shard.byte_range is None for shard in shards):
            return shards
        n_lines = []
        for report in self._in_order(
            (work.count_shard_lines, shard, source.settings) for shard in shards
        ):
            _finish(report)
            n_lines.append(report.result)
        return number_lines(shards, n_lines)

    def _in_order(self, calls: Iterable[tuple[Any, ...]]) -> Iterator[Report]:
        """Yield the result of each call, in order; only a few are submitted ahead."""
        n_ahead = SHARDS_AHEAD * self._n_threads()
        begun: deque[Future] = deque()
        for each in calls:
            begun.append(self._submit(*each))
            if len(begun) > n_ahead:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()

    def _n_threads(self) -> int:
        return max(1, sum(map(int, self.client.nthreads().values())))

    def _submit(self, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Future:
        return self.client.submit(function, *arguments, pure=False, priority=priority)


@contextmanager
def workers(settings: ClusterSettings, *, jobs: int) -> Iterator[Workers]:
    """Yield the workers of the cluster that the settings name.

    Parameters
    ----------
    jobs : int
        Number of processes of a local cluster.

    Raises
    ------
    MissingExtra
        Dask is not installed.
    ClusterError
        The scheduler does not answer, has no worker, or the workers fail.
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtra("--cluster", library="distributed", extra="dask") from None
    # it logs each worker that starts or ends
    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    with (
        cluster_errors(settings.cluster or ""),
        ExitStack() as stack,
    ):
        if settings.is_local:
            client = stack.enter_context(distributed.Client(stack.enter_context(_processes(jobs))))
            # as in the commands themselves; see nbtext.cli.main
            client.run(gc.set_threshold, 100_000, 50, 50)
        else:
            client = stack.enter_context(distributed.Client(settings.cluster, timeout=_timeout()))
        client.wait_for_workers(1, timeout=_timeout())
        yield Workers(client)


@contextmanager
def _processes(number: int) -> Iterator[LocalCluster]:
    """Yield a cluster of processes of this machine, with one thread each."""
    import dask
    from distributed import LocalCluster

    started_with = dask.config.get("distributed.nanny.pre-spawn-environ", {}) | MALLOC
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": started_with} | LESS_MONITORING),
        interrupts_raise(),  # the context of the cluster ends its processes
        _block_interrupts() as unblock,
        LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs=NO_DASHBOARD,
        ) as cluster,
    ):
        unblock()
        yield cluster


@contextmanager
def _block_interrupts() -> Iterator[Callable[[], None]]:
    """Block SIGINT until this thread calls the yielded function; threads and processes started
    before never receive it.

    A terminal sends SIGINT to every process. Each worker would print a traceback, and the command
    ends them anyway.
    """
    from multiprocessing import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield lambda: None
        return
    # started later, it would unblock SIGINT in the thread that starts it
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        yield unblock
    finally:
        unblock()


def check_paths(paths: Sequence[str], settings: ClusterSettings) -> None:
    """Raise SettingsError unless these paths name the same files on every worker."""
    for path in paths:
        if path == STANDARD_INPUT:
            raise SettingsError(
                "workers cannot read it",
                where="standard input",
                hint="name a file that all can read",
            )
        if not settings.is_local and "://" not in path and not os.path.isabs(path):
            raise SettingsError(
                "a relative path may be a different file on each worker",
                where=path,
                hint="give the absolute path",
            )


def _timeout() -> float:
    """Return the timeout in seconds."""
    import dask
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get("nbtext.timeout", TIMEOUT)))


@contextmanager
def cluster_errors(address: str) -> Iterator[None]:
    """Turn an exception of Dask into an error of one line."""
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (NbtextError, MemoryError, BrokenPipeError):
        raise
    except KilledWorker as error:
        raise ClusterError(
            "several workers stopped while they processed the same shard",
            where=address,
            hint="give them more memory, or fewer threads",
        ) from error
    except ImportError as error:
        raise ClusterError(
            f"nbtext is not installed on the workers ({error})",
            where=address,
            hint="install it there",
        ) from error
    except (OSError, TimeoutError) as error:
        if error.filename is not None:  # an error of a file, not of the connection
            raise OutputError(
                f"cannot be written: {reason_of(error)}", where=str(error.filename)
            ) from error
        raise ClusterError(
            f"does not answer ({type(error).__name__})",
            where=address,
            hint="check that the scheduler is running and has workers",
        ) from error
    except Exception as error:
        message = str(error).partition("\n")[0]
        raise ClusterError(
            f"the work failed ({type(error).__name__}: {message})", where=address
        ) from error


def prediction_task(model: str, decisions: DecisionSettings, output_format: str) -> PredictionTask:
    """Return the task of predicting with the model at this path; InputError if it cannot be
    read.
    """
    try:
        return PredictionTask(model, work.stamp_of(model), decisions, output_format)
    except OSError as error:
        raise unreadable_file(model, error) from None


def _finish(report: Report, on_batch: OnBatch | None = None) -> None:
    """Tell of the work of a shard; raise the error that a worker reports, if any."""
    if report.problem is not None:
        raise report.problem
    if on_batch is not None:
        on_batch(report.batch.block(report.size), report.batch)
