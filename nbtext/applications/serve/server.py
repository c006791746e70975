"""Runs the service with Uvicorn, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import httptools  # noqa: F401  declared with the extra: without it Uvicorn parses requests three times as slowly
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nbtext.applications.serve.app import Service
from nbtext.applications.serve.batching import Batcher
from nbtext.applications.serve.feedback import FeedbackFile
from nbtext.applications.serve.guard import SECONDS_BETWEEN_SWEEPS, SENT_BYTES, Log, Metrics
from nbtext.applications.serve.models import ModelSlot, ModelStore
from nbtext.applications.serve.settings import ModelFile, ServeSettings, read_tokens
from nbtext.errors import OutputError
from nbtext.parallel import available_cpus, share_heap

HEAD_SECONDS = 10.0  # in which a client sends the head of a request
MAX_HEAD_BYTES = 65_536
KEEP_ALIVE_SECONDS = 75
BACKLOG = 2048  # connections that wait to be accepted
SPARE_FILES = 64  # descriptors for other things than connections
# glibc: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD in bytes, which glibc raises while modules are
# imported
MALLOPT = ((-3, 131_072), (-1, 65_536))
# after which a thread lets another one run; five times as often as by default
SWITCH_SECONDS = 0.001


class Protocol(HttpToolsProtocol):
    """A connection that is closed if the head of a request takes too long, or is too large."""

    max_connections = 1000

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head_end = self.loop.time() + HEAD_SECONDS
        self._head_size = 0
        if len(self.connections) > self.max_connections:
            transport.abort()
        else:
            self._wait_for_head()

    def on_headers_complete(self) -> None:
        """Keep the trailers of a body apart from the headers, which were or will be checked."""
        super().on_headers_complete()
        self.headers = []

    def data_received(self, data: bytes) -> None:
        cycle: Any = self.cycle  # None before the first request
        # of a body that was refused
        is_rest = cycle is not None and cycle.response_complete and cycle.more_body
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._head_size = 0
            return
        if not self._head_size:
            self._head_end = self.loop.time() + HEAD_SECONDS
        self._head_size += 1 if is_rest else len(data)
        if self._head_size > MAX_HEAD_BYTES:
            self.transport.abort()
        elif not self.transport.is_closing():
            self._wait_for_head()

    def on_message_complete(self) -> None:
        """Record the end of a body, even of a refused one: a closed connection could hide the
        refusal.
        """
        super().on_message_complete()
        if self.cycle is not None:
            self.cycle.more_body = False

    def _wait_for_head(self) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_at(
            self._head_end, self.timeout_keep_alive_handler
        )


class Server(uvicorn.Server):
    """Uvicorn's server; `is_interrupted` tells whether SIGINT ended it."""

    is_interrupted = False

    def __init__(
        self, config: uvicorn.Config, on_start: Callable[[], None], on_exit: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_start = on_start
        self._on_exit = on_exit

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, then call `on_start`."""
        await super().startup(sockets)
        self._on_start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGTERM and SIGINT within the context."""
        handlers = {
            each: signal.signal(each, self.handle_exit) for each in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for each, handler in handlers.items():
                signal.signal(each, handler)

    async def abort_unread(self, seconds: float) -> None:
        """Abort connections that have been closing for so long, because the client does not read,
        until cancelled.
        """
        closing: dict[Any, float] = {}
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_SWEEPS)
            now = time.monotonic()
            connections: list[Any] = list(self.server_state.connections)
            closing = {
                each: closing.get(each, now) for each in connections if each.transport.is_closing()
            }
            for each, since in closing.items():
                if now - since > seconds:
                    each.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish the requests in progress; a second Ctrl-C ends them."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self.is_interrupted |= sig == signal.SIGINT
        self._on_exit()


def serve(
    files: Sequence[ModelFile],
    settings: ServeSettings,
    *,
    threads: int = 0,
    on_start: Callable[[str, ModelStore], None] = lambda address, store: None,
    log_requests: bool = True,
) -> None:
    """Answer requests until SIGTERM (returns) or Ctrl-C (raises KeyboardInterrupt); requests in
    progress are finished.

    Parameters
    ----------
    threads
        Number of threads that predict; 0: the number of CPUs.
    on_start
        Is called with the address, when requests are accepted.

    Raises
    ------
    ArtifactError
        A model cannot be loaded.
    OutputError
        The address, or a file of feedback, cannot be used.
    """
    # otherwise the memory grows with the number of requests, by fragments in the heap of each
    # thread
    share_heap(MALLOPT)
    tokens = read_tokens(settings.token_file) if settings.token_file is not None else ()
    metrics = Metrics()
    log = Log(sys.stderr if log_requests else None)

    def on_reload(slot: ModelSlot) -> None:
        metrics.reloads.labels(slot.file.name, "failed" if slot.error else "loaded").inc()
        log.write("reload", model=slot.file.name, error=slot.error)

    store = ModelStore(files, on_reload)
    batcher = Batcher(threads or available_cpus(), metrics.batches.observe)
    folder = settings.feedback_dir
    paths = (
        {}
        if folder is None
        else {model.name: os.path.join(folder, f"{model.name}.jsonl") for model in files}
    )
    feedback = {name: FeedbackFile(path) for name, path in paths.items()}
    service = Service(
        store, settings, batcher=batcher, metrics=metrics, log=log, tokens=tokens, feedback=feedback
    )
    listener = _listen(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    # the service has a log of its own
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    logging.getLogger("uvicorn").propagate = False
    limited = type("LimitedProtocol", (Protocol,), {"max_connections": _count_connections()})
    config = uvicorn.Config(
        service.app,
        http=limited,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(settings.timeout) + 1,
    )
    server = Server(
        config,
        lambda: on_start(f"http://{host}:{listener.getsockname()[1]}", store),
        lambda: setattr(service, "is_draining", True),
    )

    async def run() -> None:
        tasks = list(
            map(asyncio.create_task, (service.app.sweep(), server.abort_unread(settings.timeout)))
        )
        await server.serve(sockets=[listener])
        for task in tasks:
            task.cancel()

    sys.setswitchinterval(SWITCH_SECONDS)
    store.start()
    try:
        asyncio.run(run())
    finally:
        for each in feedback.values():
            each.close()
        store.stop()
        batcher.stop()
        log.stop()
        listener.close()
    if server.is_interrupted:
        raise KeyboardInterrupt


def _count_connections() -> int:
    """Return how many connections this process can have, at most 10,000, after raising its limit of
    open files.
    """
    try:
        import resource
    except ImportError:  # on Windows, sockets are not counted as files
        return 10_000
    files, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
        files = maximum
    return 10_000 if files == resource.RLIM_INFINITY else max(8, min(10_000, files - SPARE_FILES))


def _listen(settings: ServeSettings) -> socket.socket:
    """Return a socket that listens on the address of the settings."""
    with contextlib.ExitStack() as on_error:
        try:
            found = socket.getaddrinfo(
                settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            family, kind, protocol, _, address = found[0]
            listener = on_error.enter_context(socket.socket(family, kind, protocol))
            if os.name == "posix":  # on Windows, another process could then listen on the same port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # otherwise Linux takes megabytes, and waits until 0.8 MB are read
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, SENT_BYTES)
            listener.bind(address)
            listener.listen(BACKLOG)
        except (OSError, UnicodeError) as error:
            what = f"cannot listen: {str(getattr(error, 'strerror', None) or error).lower()}"
            where = f"{settings.host}:{settings.port}"
            raise OutputError(what, where=where, hint="choose another --port or --host") from None
        on_error.pop_all()
    return listener
