"""Runs the service with Uvicorn, until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence

import httptools  # noqa: F401  declared with the extra: without it Uvicorn parses requests three times as slowly
import uvicorn

from nbtext.applications.serve.app import Service
from nbtext.applications.serve.batching import Batcher
from nbtext.applications.serve.feedback import open_feedback
from nbtext.applications.serve.guard import RELOADS, SENT_BYTES, Log
from nbtext.applications.serve.models import ModelSlot, watch
from nbtext.applications.serve.settings import ModelFile, ServeSettings
from nbtext.cli.options import RunSettings
from nbtext.errors import OutputError, reason_of
from nbtext.interrupts import interrupts_raise
from nbtext.parallel import share_heap

KEEP_ALIVE_SECONDS = 75
MAX_CONNECTIONS = 10_000  # above it, requests are refused with status 503
# glibc: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD in bytes, which glibc raises while modules are
# imported
MALLOPT = ((-3, 131_072), (-1, 65_536))
# after which a thread lets another one run; five times as often as by default
SWITCH_SECONDS = 0.001


def serve_models(
    files: Sequence[ModelFile], settings: ServeSettings, run_settings: RunSettings
) -> None:
    """Answer requests until SIGTERM (returns) or Ctrl-C (raises KeyboardInterrupt); requests in
    progress are finished.

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
    log = Log(None if run_settings.quiet else sys.stderr)

    def on_reload(slot: ModelSlot) -> None:
        RELOADS.labels(slot.file.name, "failed" if slot.error else "loaded").inc()
        log.write("reload", model=slot.file.name, error=slot.error)

    slots = {file.name: ModelSlot(file) for file in files}
    batcher = Batcher(run_settings.jobs)
    folder = settings.feedback_dir
    feedback = {}
    if folder is not None:
        feedback = {name: open_feedback(os.path.join(folder, f"{name}.jsonl")) for name in slots}
    service = Service(slots, settings, batcher, feedback)
    guard = service.guard(log)
    listener = _listen(settings)
    config = uvicorn.Config(
        guard,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,  # the service has a log of its own
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(settings.timeout) + 1,
    )

    async def run() -> None:
        watching = asyncio.create_task(watch(slots.values(), on_reload))
        try:
            await uvicorn.Server(config).serve(sockets=[listener])
        finally:
            watching.cancel()

    # Uvicorn handles it, and raises it again when the requests in progress are answered
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    sys.setswitchinterval(SWITCH_SECONDS)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{listener.getsockname()[1]}"
    run_settings.say(f"serving {', '.join(slots)} on {address}; press Ctrl-C to stop")
    try:
        with interrupts_raise():
            asyncio.run(run())
    finally:
        service.writer.shutdown()
        for file in feedback.values():
            file.close()
        batcher.stop()
        log.stop()
        listener.close()


def _listen(settings: ServeSettings) -> socket.socket:
    """Return a socket that listens on the address of the settings."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
    except (OSError, UnicodeError) as error:
        what = f"cannot listen: {reason_of(error).partition(' (')[0]}"
        where = f"{settings.host}:{settings.port}"
        raise OutputError(what, where=where, hint="choose another --port or --host") from None
    # asyncio sets it only where the protocol is named
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # ends the connection of a client that does not read
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * settings.timeout)
        )
    # otherwise Linux takes megabytes, and waits until 0.8 MB are read
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, SENT_BYTES)
    return listener
