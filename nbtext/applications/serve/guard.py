"""What every request passes: checks of its host, origin, token and size, its limits, and the log
and the metrics.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any, TextIO

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nbtext.applications.serve.settings import LOCAL_HOSTS, ServeSettings
from nbtext.errors import NbtextError, printable
from nbtext.report.records import format_json

RETRY_AFTER = {"Retry-After": "1"}
CLIENT_CLOSED = 499  # status in the metrics and the log, as of nginx: nobody receives the answer
PLAIN_BODIES = {"Accept-Encoding": "identity"}
# two of them can mean different things to this service and to a proxy before it
SINGLE_HEADERS = (
    b"host",
    b"origin",
    b"authorization",
    b"content-length",
    b"content-type",
    b"content-encoding",
    b"transfer-encoding",
    b"sec-fetch-site",
)
SAFE_METHODS = ("GET", "HEAD")
USAGE = "nbtext.usage"  # the key of a request's Usage in its scope
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
SECONDS_BETWEEN_SWEEPS = 0.25
SECONDS_BETWEEN_TRIES = 0.01  # of a stream that waits for memory
# of an answer that are sent at once; the time of a request begins again when they are read
SENT_BYTES = 1 << 16
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MAX_LINES = 100_000  # of the log that wait to be written
FLUSH_SECONDS = 0.1


class Closed(Exception):
    """The client has closed the connection."""


class BodyMemory:
    """The memory for the bodies and answers of all requests in progress.

    limit, used  bytes
    """

    __slots__ = ("limit", "lock", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.lock = threading.Lock()


class Lease:
    """The part of the memory that one request uses. Bytes of its body count when they arrive.

    A client that announces a large body and sends nothing takes no memory from others. The bytes
    count until the request and every thread that works for it have ended, also if the request was
    given up before.
    """

    __slots__ = ("_memory", "_n_users", "_size")

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._size = 0
        self._n_users = 1

    def begin(self) -> None:
        """Record that a thread begins to work for the request."""
        with self._memory.lock:
            self._n_users += 1

    def end(self) -> None:
        """Record that the request, or a thread that works for it, has ended; any thread may call
        this.
        """
        with self._memory.lock:
            self._n_users -= 1
            if not self._n_users:
                self._memory.used -= self._size
                self._size = 0

    def add(self, size: int) -> None:
        """Reserve `size` more bytes; HTTPException 503 if the memory is used up."""
        if size and self._memory.used + size > self._memory.limit:
            what = "the requests in progress use up the memory for bodies; try again, or send less at once"
            # the rest is read and dropped, so that the client sees it
            raise HTTPException(503, what, RETRY_AFTER)
        self.keep(self._size + size)

    async def wait_and_add(self, size: int) -> None:
        """Reserve `size` more bytes, which have arrived already; wait until there is memory for
        them.
        """
        while self._memory.used - self._size >= self._memory.limit:
            await asyncio.sleep(SECONDS_BETWEEN_TRIES)
        self.keep(self._size + size)

    def release(self, size: int) -> None:
        """Release `size` bytes."""
        self.keep(self._size - size)

    def keep(self, size: int) -> None:
        """Reserve `size` bytes in all."""
        with self._memory.lock:
            self._memory.used += size - self._size
            self._size = size


@dataclass(slots=True, eq=False)
class Usage:
    """What one request uses, and the time at which it is given up.

    seconds      in which it is given up, unless it makes progress
    task         which is cancelled then
    is_late      it is given up
    route        the path of its endpoint; "" if there is none
    model        the name of its model; "" if it has none
    n_documents  documents that were predicted, explained or stored
    bytes_in, bytes_out  sizes of the bodies
    """

    lease: Lease
    seconds: float
    end: float
    task: Any
    is_late: bool = False
    route: str = ""
    model: str = ""
    n_documents: int = 0
    bytes_in: int = 0
    bytes_out: int = 0

    def extend(self) -> None:
        """Start the time again: the request has made progress."""
        self.end = time.monotonic() + self.seconds


class Metrics:
    """Counts requests and documents. The values of Prometheus labels come from the service, never
    from a request.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "nbtext_requests", "Requests.", ("route", "status"), registry=registry
        )
        self.seconds = Histogram(
            "nbtext_request_seconds",
            "Time of a request.",
            ("route",),
            buckets=SECONDS,
            registry=registry,
        )
        self.documents = Counter(
            "nbtext_documents", "Documents.", ("route", "model"), registry=registry
        )
        self.batches = Histogram(
            "nbtext_batch_documents",
            "Documents that were predicted together.",
            buckets=BATCH_SIZES,
            registry=registry,
        )
        self.active = Gauge(
            "nbtext_requests_in_progress", "Requests in progress.", registry=registry
        )
        self.body_bytes = Gauge(
            "nbtext_body_bytes_in_progress",
            "Memory that the bodies of requests in progress use.",
            registry=registry,
        )
        self.loaded = Gauge(
            "nbtext_model_loaded_timestamp_seconds",
            "When the model was loaded.",
            ("model",),
            registry=registry,
        )
        self.reloads = Counter(
            "nbtext_model_reloads", "Replaced model files.", ("model", "result"), registry=registry
        )
        # finding a metric by its labels takes as long as counting in it
        self._of_route = cache(
            lambda route, status: (self.requests.labels(route, status), self.seconds.labels(route))
        )
        self._of_model = cache(self.documents.labels)

    def count_request(self, usage: Usage, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        requests, times = self._of_route(usage.route, str(status))
        requests.inc()
        times.observe(seconds)
        if usage.n_documents:
            self._of_model(usage.route, usage.model).inc(usage.n_documents)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return bytes(generate_latest(self._registry))


class Log:
    """Writes a JSON object on a line for each event, in a thread, so that a slow reader delays no
    request.

    Parameters
    ----------
    file
        Where the lines go; None: nowhere.
    """

    def __init__(self, file: TextIO | None = sys.stderr) -> None:
        self._file = file
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        if file is not None:
            self._thread.start()

    def write(self, event: str, **details: Any) -> None:
        """Add a line."""
        if self._file is not None:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._lines.append(
                json.dumps({"time": now, "event": event, **details}, ensure_ascii=False)
            )

    def write_request(self, scope: Scope, status: int, seconds: float, usage: Usage) -> None:
        """Add the line of a request; it has no path, because anything may be written there."""
        client = (scope.get("client") or ("",))[0]
        self.write(
            "request",
            client=client,
            method=scope["method"],
            route=usage.route,
            status=status,
            seconds=round(seconds, 6),
            model=usage.model,
            documents=usage.n_documents,
            bytes_in=usage.bytes_in,
            bytes_out=usage.bytes_out,
        )

    def stop(self) -> None:
        """Write the lines that are left."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        is_stopped = False
        while not is_stopped:
            is_stopped = self._stopped.wait(FLUSH_SECONDS)
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            if lines and self._file is not None:
                try:
                    self._file.write("".join(printable(line) + "\n" for line in lines))
                    self._file.flush()
                except (OSError, ValueError):  # its reader is gone
                    self._file = None


class Guard:
    """An ASGI application that checks the requests of another one.

    Parameters
    ----------
    app
        The application that answers.
    direct
        Applications of the paths that are called most: they are found without the routing of `app`.
    routes
        The path of each endpoint of `app`.
    open_paths, free_paths
        Paths that need no token, and those that are answered even under overload.
    tokens
        The bearer tokens; empty: requests need none.

    Attributes
    ----------
    memory : BodyMemory
    active : set of Usage
        The requests in progress.
    """

    def __init__(  # noqa: PLR0913 - what differs between paths, and what all requests share
        self,
        app: ASGIApp,
        settings: ServeSettings,
        *,
        direct: Mapping[str, ASGIApp],
        routes: Mapping[Any, str],
        open_paths: frozenset[str],
        free_paths: frozenset[str],
        tokens: Sequence[bytes],
        metrics: Metrics,
        log: Log,
    ) -> None:
        self._app = app
        self._settings = settings
        self._direct = direct
        self._routes = routes
        self._open_paths = open_paths
        self._free_paths = free_paths
        self._digests = [sha256(token).digest() for token in tokens]
        self._metrics = metrics
        self._log = log
        self._hosts = frozenset(host.lower() for host in (*settings.allowed_hosts, *LOCAL_HOSTS))
        self._checks_host = settings.is_local or bool(settings.allowed_hosts)
        self.memory = BodyMemory(settings.max_total_body_bytes)
        self.active = set[Usage]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        status = 500
        is_started = False
        path = scope["path"]
        timeout = self._settings.timeout
        usage = scope[USAGE] = Usage(
            Lease(self.memory), timeout, time.monotonic() + timeout, asyncio.current_task()
        )

        async def count_and_send(message: Message) -> None:
            nonlocal status, is_started
            if message["type"] == "http.response.start":
                is_started = True
                status = message["status"]
                message["headers"] = [*message["headers"], *SECURITY_HEADERS]
                await send(message)
                return
            body = message.get("body", b"")
            # a client that reads slowly slows this down
            for start in range(0, len(body) or 1, SENT_BYTES):
                part = body[start : start + SENT_BYTES]
                has_more = start + SENT_BYTES < len(body)
                await send(
                    {
                        **message,
                        "body": part,
                        "more_body": has_more or message.get("more_body", False),
                    }
                )
                usage.bytes_out += len(part)
                usage.extend()

        async def refuse(error: HTTPException) -> None:
            """Answer with an error; a response that has begun is cut, which the client can see."""
            if is_started:
                raise ConnectionAbortedError(error.detail)
            await error_response(error.status_code, error.detail, error.headers)(
                scope, receive, count_and_send
            )

        try:
            self._check(scope, path)
            if path not in self._free_paths:
                if len(self.active) >= self._settings.max_requests:
                    raise HTTPException(503, "too many requests at the same time", RETRY_AFTER)
                self.active.add(usage)
            await self._direct.get(path, self._app)(scope, receive, count_and_send)
        except Closed:
            status = CLIENT_CLOSED
        except HTTPException as error:
            await refuse(error)
        except NbtextError as error:
            await refuse(HTTPException(400, str(in_http_terms(error))))
        except asyncio.CancelledError:
            if not usage.is_late:
                raise
            await refuse(
                HTTPException(
                    503, "the request took too long", {**RETRY_AFTER, "Connection": "close"}
                )
            )
        except Exception as error:
            self._log.write("error", error=type(error).__name__, place=_place(error))
            if not is_started:
                await refuse(HTTPException(500, "internal error"))
        finally:
            self.active.discard(usage)
            usage.lease.end()
            usage.route = (
                path if path in self._direct else self._routes.get(scope.get("endpoint"), "")
            )
            elapsed = time.perf_counter() - started
            self._metrics.count_request(usage, status, elapsed)
            self._log.write_request(scope, status, elapsed, usage)

    async def sweep(self) -> None:
        """Give up requests whose time is over, until this is cancelled. A timer for each would cost
        each 10 µs.
        """
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_SWEEPS)
            now = time.monotonic()
            for usage in [each for each in self.active if each.end < now]:
                usage.is_late = True
                usage.task.cancel()

    def _check(self, scope: Scope, path: str) -> None:
        """Raise HTTPException unless the request may be answered.

        A page of another site can make a browser on this machine send requests, under a name that
        leads here (DNS rebinding) or across origins. `Host` shows the first, and `Origin` the
        second.
        """
        names = [name for name, _ in scope["headers"]]
        if any(names.count(name) > 1 for name in SINGLE_HEADERS):
            raise HTTPException(400, "a header that may be given once is given twice")
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"")
        origin = headers.get(b"origin", b"")
        # without the port
        if (
            self._checks_host
            and re.sub(r":\d+\Z", "", host.decode("latin-1").lower()) not in self._hosts
        ):
            raise HTTPException(
                403, "the Host header names none of the hosts that this service answers for"
            )
        is_foreign = origin and origin.partition(b"://")[2].lower() != host.lower()
        if (is_foreign or headers.get(b"sec-fetch-site") == b"cross-site") and scope[
            "method"
        ] not in SAFE_METHODS:
            raise HTTPException(403, "the request comes from a page of another origin")
        if self._digests and path not in self._open_paths:
            kind, _, given = headers.get(b"authorization", b"").partition(b" ")
            digest = sha256(given.strip()).digest()
            matches = [hmac.compare_digest(digest, known) for known in self._digests]
            if kind.lower() != b"bearer" or not any(matches):
                raise HTTPException(
                    401, "a valid bearer token is needed", {"WWW-Authenticate": "Bearer"}
                )
        if headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
            raise HTTPException(501, "the body has a transfer encoding other than chunked")
        if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
            raise HTTPException(
                415, "the body has a content encoding; send it as it is", PLAIN_BODIES
            )


def _place(error: BaseException) -> str:
    """Return where an error was raised: file and line, without variables or the message."""
    last = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{last[0].filename}:{last[0].lineno}" if last else ""


def dumps(value: Any) -> bytes:
    """Return a value as JSON on one line. NaN and infinity are null, lone surrogates are
    escapes.
    """
    return format_json(value, separators=(",", ":")).encode("utf-8", "backslashreplace")


def in_http_terms(error: NbtextError) -> NbtextError:
    """Return an error without a hint that names options of the command line; a client cannot give
    them.
    """
    error.hint = "" if "--" in error.hint else error.hint
    return error


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON object with one line about the error."""
    return json_response({"error": message}, status, headers)


def json_response(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a value as JSON."""
    return Response(dumps(value), status, headers, media_type="application/json")
