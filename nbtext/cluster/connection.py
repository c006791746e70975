"""A connection to a Dask cluster, or to one of processes that are started for one command."""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nbtext.cluster.executor import Workers
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.streams import STANDARD_INPUT
from nbtext.errors import ClusterError, MissingExtra, NbtextError, SettingsError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

PATIENCE = "10s"  # until a scheduler answers, and until it has a worker; Dask's configuration can say `nbtext.timeout`

# the memory of one batch is kept for the next; by Dask's own settings the system gives and takes every large piece
MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(64 << 20)}
# nobody looks on, and each look takes time: three seconds of a hundred from every process, by Dask's own settings
UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.profile.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.limit": "60s",
}
NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # any port, so that two commands may run


@contextmanager
def workers(settings: ClusterSettings, *, jobs: int) -> Iterator[Workers]:
    """Those of the cluster that the settings name, until the end of the block.

    jobs    processes, where they are started here
    raises  MissingExtra: Dask is not installed; ClusterError: the scheduler does not answer, has no worker, or the
            workers fail
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtra("--cluster", library="distributed", extra="dask") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it would tell of each worker that comes and goes
    with explained(settings.cluster or ""):
        if not settings.is_local:
            with distributed.Client(settings.cluster, timeout=_patience()) as client:
                yield _with_workers(client, settings)
            return
        with _processes(jobs) as cluster, distributed.Client(cluster) as client:
            client.run(gc.set_threshold, 100_000, 50, 50)  # as in the commands themselves; see nbtext.cli.main
            yield _with_workers(client, settings)


@contextmanager
def _processes(number: int) -> Iterator[LocalCluster]:
    """A cluster of so many processes of this machine, with a thread each."""
    import dask
    from distributed import LocalCluster

    started_with = dask.config.get("distributed.nanny.pre-spawn-environ", {}) | MEMORY
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": started_with} | UNWATCHED),
        _uninterrupted() as listen,
        LocalCluster(
            n_workers=number, threads_per_worker=1, silence_logs=logging.CRITICAL, scheduler_kwargs=NO_DASHBOARD
        ) as cluster,
    ):
        listen()
        yield cluster


@contextmanager
def _uninterrupted() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C wait until this thread calls what is given; threads and processes started before never hear of it.

    A terminal sends it to every process: workers would each print a traceback, while the command ends them anyway.
    """
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # started later, it would let the thread that starts it be interrupted
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    def listen() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        yield listen
    finally:
        listen()


def check_paths(paths: Sequence[str], settings: ClusterSettings) -> None:
    """Raise SettingsError unless these paths are the same files for every worker."""
    for path in paths:
        if path == STANDARD_INPUT:
            raise SettingsError("workers cannot read it", where="standard input", hint="name a file that all can read")
        if not settings.is_local and "://" not in path and not os.path.isabs(path):
            raise SettingsError("a relative path means another file to each worker", where=path, hint="give all of it")


def _patience() -> float:
    """Seconds."""
    import dask
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get("nbtext.timeout", PATIENCE)))


def _with_workers(client: Client, settings: ClusterSettings) -> Workers:
    client.wait_for_workers(1, timeout=_patience())
    return Workers(client, settings.shard_bytes)


@contextmanager
def explained(address: str) -> Iterator[None]:
    """Turn what Dask raises into an error of one line."""
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (NbtextError, MemoryError, BrokenPipeError):
        raise
    except KilledWorker as error:
        hint = "had they too little memory? try a smaller --shard-bytes"
        raise ClusterError("worker after worker ended at the same piece", where=address, hint=hint) from error
    except ImportError as error:
        raise ClusterError(f"the workers lack nbtext ({error})", where=address, hint="install it there") from error
    except (OSError, TimeoutError) as error:
        hint = "is the scheduler running, and has it workers?"
        raise ClusterError(f"does not answer ({type(error).__name__})", where=address, hint=hint) from error
    except Exception as error:
        said = str(error).partition("\n")[0]
        raise ClusterError(f"the work failed ({type(error).__name__}: {said})", where=address) from error
