"""Checks of every request: its host, origin, token and size; and the log and the metrics of requests."""

from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nbtext.serve.bodies import dumps
from nbtext.serve.monitoring import Log, Metrics, Usage
from nbtext.serve.settings import LOCAL_HOSTS, ServeSettings

RETRY_AFTER = {"Retry-After": "1"}
CLIENT_CLOSED = 499  # status in the metrics and the log, as of nginx: nobody receives the answer
SAFE_METHODS = ("GET", "HEAD")
USAGE = "nbtext.usage"  # the key of a request's Usage in its scope
DEADLINE = "nbtext.deadline"  # the key of its Deadline
LEASE = "nbtext.lease"  # the key of its Lease
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
SECONDS_BETWEEN_SWEEPS = 0.25
SECONDS_BETWEEN_TRIES = 0.01  # of a stream that waits for memory
SENT_BYTES = 1 << 16  # of an answer that are sent at once; the time of a request begins again when they are read


class Closed(Exception):
    """The client has closed the connection."""


class Deadline:
    """The time at which a request is given up, and its task."""

    __slots__ = ("at", "is_over", "seconds", "task")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at = time.monotonic() + seconds
        self.task = asyncio.current_task()
        self.is_over = False

    def extend(self) -> None:
        """Start again: the request has made progress."""
        self.at = time.monotonic() + self.seconds


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

    A client that announces a large body and sends nothing takes no memory from others. The bytes count until the
    request and every thread that works for it have ended, also if the request was given up before.
    """

    __slots__ = ("_memory", "_n_users", "_size")

    def __init__(self, memory: BodyMemory) -> None:
        self._memory, self._size, self._n_users = memory, 0, 1

    def begin(self) -> None:
        """Record that a thread begins to work for the request."""
        with self._memory.lock:
            self._n_users += 1

    def end(self) -> None:
        """Record that the request, or a thread that works for it, has ended; any thread may call this."""
        with self._memory.lock:
            self._n_users -= 1
            if not self._n_users:
                self._memory.used -= self._size
                self._size = 0

    def hold(self, size: int) -> None:
        """Reserve `size` bytes; HTTPException 503 if the memory is used up."""
        if size > self._size and self._memory.used - self._size + size > self._memory.limit:
            what = "the requests in progress use up the memory for bodies; try again, or send less at once"
            raise HTTPException(503, what, RETRY_AFTER)  # the rest is read and dropped, so that the client sees it
        self._set(size)

    def add(self, size: int) -> None:
        """Reserve `size` more bytes; HTTPException 503 if the memory is used up."""
        self.hold(self._size + size)

    async def wait_and_add(self, size: int) -> None:
        """Reserve `size` more bytes, which have arrived already; wait until there is memory for them."""
        while self._memory.used - self._size >= self._memory.limit:
            await asyncio.sleep(SECONDS_BETWEEN_TRIES)
        self._set(self._size + size)

    def release(self, size: int) -> None:
        """Release `size` bytes."""
        self._set(self._size - size)

    def keep(self, size: int) -> None:
        """Release all bytes except `size`."""
        self._set(size)

    def _set(self, size: int) -> None:
        with self._memory.lock:
            self._memory.used += size - self._size
            self._size = size


@dataclass(frozen=True)
class Paths:
    """The properties of the application's paths.

    direct  applications of the paths that are called most: they are found without the routing of the application
    routes  the path of each endpoint of the application
    open    paths that need no token
    free    paths that are answered even under overload
    """

    direct: Mapping[str, ASGIApp]
    routes: Mapping[Any, str]
    open: frozenset[str]
    free: frozenset[str]


class Guard:
    """An ASGI application that checks the requests of another one.

    Parameters
    ----------
    app
        The application that answers.
    tokens
        The bearer tokens; empty: requests need none.

    Attributes
    ----------
    memory : BodyMemory
    """

    def __init__(
        self,
        app: ASGIApp,
        paths: Paths,
        settings: ServeSettings,
        *,
        tokens: Sequence[bytes],
        metrics: Metrics,
        log: Log,
    ) -> None:
        self._app, self._paths, self._settings = app, paths, settings
        self._digests = [sha256(token).digest() for token in tokens]
        self._metrics, self._log = metrics, log
        self._hosts = frozenset(host.lower() for host in (*settings.allowed_hosts, *LOCAL_HOSTS))
        self._checks_host = settings.is_local or bool(settings.allowed_hosts)
        self._active: set[Deadline] = set()
        self.memory = BodyMemory(settings.max_total_body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started, status, usage = time.perf_counter(), 500, Usage()
        is_started = False

        async def count_and_send(message: Message) -> None:
            nonlocal status, is_started
            if message["type"] == "http.response.start":
                is_started, status = True, message["status"]
                message["headers"] = [*message["headers"], *SECURITY_HEADERS]
                await send(message)
                return
            body = message.get("body", b"")
            for start in range(0, len(body) or 1, SENT_BYTES):  # a client that reads slowly slows this down
                part, has_more = body[start : start + SENT_BYTES], start + SENT_BYTES < len(body)
                await send({**message, "body": part, "more_body": has_more or message.get("more_body", False)})
                usage.bytes_out += len(part)
                deadline.extend()

        scope[USAGE], path = usage, scope["path"]
        deadline = scope[DEADLINE] = Deadline(self._settings.timeout)
        lease = scope[LEASE] = Lease(self.memory)
        is_free = path in self._paths.free
        try:
            self._check(scope, path)
            if not is_free:
                if len(self._active) >= self._settings.max_requests:
                    raise HTTPException(503, "too many requests at the same time", RETRY_AFTER)
                self._active.add(deadline)
            await self._paths.direct.get(path, self._app)(scope, receive, count_and_send)
        except Closed:
            status = CLIENT_CLOSED
        except HTTPException as error:
            await self._refuse(error, is_started, scope, receive, count_and_send)
        except asyncio.CancelledError:
            if not deadline.is_over:
                raise
            late = HTTPException(503, "the request took too long", {**RETRY_AFTER, "Connection": "close"})
            await self._refuse(late, is_started, scope, receive, count_and_send)
        except Exception as error:
            self._log.write("error", error=type(error).__name__, place=_place(error))
            if not is_started:
                await error_response(500, "internal error")(scope, receive, count_and_send)
        finally:
            self._active.discard(deadline)
            lease.end()
            usage.route = path if path in self._paths.direct else self._paths.routes.get(scope.get("endpoint"), "")
            seconds = time.perf_counter() - started
            self._metrics.count_request(usage, status, seconds)
            client = scope.get("client") or ("",)
            self._log.write_request(client[0], scope["method"], status, seconds, usage)

    async def sweep(self) -> None:
        """Give up requests whose time is over, until this is cancelled."""
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_SWEEPS)
            now = time.monotonic()
            for deadline in [each for each in self._active if each.at < now]:
                deadline.is_over = True
                if deadline.task is not None:
                    deadline.task.cancel()

    @property
    def n_active(self) -> int:
        """The number of requests in progress."""
        return len(self._active)

    async def _refuse(self, error: HTTPException, is_started: bool, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with an error; a response that has begun is cut, which the client can see."""
        if is_started:
            raise ConnectionAbortedError(error.detail)
        await error_response(error.status_code, error.detail, error.headers)(scope, receive, send)

    def _check(self, scope: Scope, path: str) -> None:
        """Raise HTTPException unless the request may be answered.

        A page of another site can make a browser on this machine send requests, under a name that leads here (DNS
        rebinding) or across origins. `Host` shows the first, and `Origin` the second.
        """
        host = origin = token = site = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"authorization":
                token = value
            elif name == b"sec-fetch-site":
                site = value
        if self._checks_host and _without_port(host.decode("latin-1").lower()) not in self._hosts:
            raise HTTPException(
                403, "the Host header names none of the hosts that this service is allowed to answer for"
            )
        is_foreign = origin and origin.partition(b"://")[2].lower() != host.lower()
        if (is_foreign or site == b"cross-site") and scope["method"] not in SAFE_METHODS:
            raise HTTPException(403, "the request comes from a page of another origin")
        if self._digests and path not in self._paths.open:
            kind, _, given = token.partition(b" ")
            digest = sha256(given.strip()).digest()
            matches = [hmac.compare_digest(digest, known) for known in self._digests]
            if kind.lower() != b"bearer" or not any(matches):
                raise HTTPException(401, "a valid bearer token is needed", {"WWW-Authenticate": "Bearer"})


def _without_port(host: str) -> str:
    name, separator, port = host.rpartition(":")
    return name if separator and port.isdecimal() else host


def _place(error: BaseException) -> str:
    """Return where an error was raised: file and line, without variables or the message."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON object with one line about the error."""
    return json_response({"error": message}, status, headers)


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON."""
    return Response(dumps(value), status, headers, media_type="application/json")
