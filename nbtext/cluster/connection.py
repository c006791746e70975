"""Connect to a Dask cluster, or start local worker processes for one command."""

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
from nbtext.errors import ClusterError, MissingExtra, NbtextError, OutputError, SettingsError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

TIMEOUT = "10s"  # for the scheduler to answer, and to have a worker; `nbtext.timeout` in Dask's configuration

# reuse memory from batch to batch; with Dask's settings, malloc returns each large allocation to the system
MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(64 << 20)}
# with Dask's settings, monitoring, whose results are unused here, takes 3 % of the time of each process
LESS_MONITORING = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.profile.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.limit": "60s",
}
NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # any port, so that two commands can run


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
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it logs each worker that starts or ends
    with cluster_errors(settings.cluster or ""):
        if not settings.is_local:
            with distributed.Client(settings.cluster, timeout=_timeout()) as client:
                yield _with_workers(client, settings)
            return
        with _processes(jobs) as cluster, distributed.Client(cluster) as client:
            client.run(gc.set_threshold, 100_000, 50, 50)  # as in the commands themselves; see nbtext.cli.main
            yield _with_workers(client, settings)


@contextmanager
def _processes(number: int) -> Iterator[LocalCluster]:
    """Yield a cluster of processes of this machine, with one thread each."""
    import dask
    from distributed import LocalCluster

    started_with = dask.config.get("distributed.nanny.pre-spawn-environ", {}) | MEMORY
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": started_with} | LESS_MONITORING),
        _block_interrupts() as unblock,
        LocalCluster(
            n_workers=number, threads_per_worker=1, silence_logs=logging.CRITICAL, scheduler_kwargs=NO_DASHBOARD
        ) as cluster,
    ):
        unblock()
        yield cluster


@contextmanager
def _block_interrupts() -> Iterator[Callable[[], None]]:
    """Block SIGINT until this thread calls the yielded function; threads and processes started before never receive it.

    A terminal sends SIGINT to every process. Each worker would print a traceback, and the command ends them anyway.
    """
    from multiprocessing import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield lambda: None
        return
    resource_tracker.ensure_running()  # started later, it would unblock SIGINT in the thread that starts it
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
            raise SettingsError("workers cannot read it", where="standard input", hint="name a file that all can read")
        if not settings.is_local and "://" not in path and not os.path.isabs(path):
            hint = "give the absolute path"
            raise SettingsError("a relative path may be a different file on each worker", where=path, hint=hint)


def _timeout() -> float:
    """Return the timeout in seconds."""
    import dask
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get("nbtext.timeout", TIMEOUT)))


def _with_workers(client: Client, settings: ClusterSettings) -> Workers:
    client.wait_for_workers(1, timeout=_timeout())
    return Workers(client, settings.shard_bytes)


@contextmanager
def cluster_errors(address: str) -> Iterator[None]:
    """Turn an exception of Dask into an error of one line."""
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (NbtextError, MemoryError, BrokenPipeError):
        raise
    except KilledWorker as error:
        hint = "they may have too little memory: try a smaller --shard-bytes"
        raise ClusterError(
            "several workers stopped while they processed the same shard", where=address, hint=hint
        ) from error
    except ImportError as error:
        raise ClusterError(
            f"nbtext is not installed on the workers ({error})", where=address, hint="install it there"
        ) from error
    except (OSError, TimeoutError) as error:
        if error.filename is not None:  # an error of a file, not of the connection
            raise OutputError(f"cannot be written: {error.strerror}", where=str(error.filename)) from error
        hint = "check that the scheduler is running and has workers"
        raise ClusterError(f"does not answer ({type(error).__name__})", where=address, hint=hint) from error
    except Exception as error:
        message = str(error).partition("\n")[0]
        raise ClusterError(f"the work failed ({type(error).__name__}: {message})", where=address) from error
