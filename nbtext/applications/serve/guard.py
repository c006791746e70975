"""What every request passes: checks of its host, origin and token, its limits, and the log
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
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, TextIO

from prometheus_client import Counter, Gauge, Histogram
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from nbtext.applications.serve.settings import LOCAL_HOSTS, ServeSettings, read_tokens
from nbtext.errors import NbtextError, printable
from nbtext.records import dataclass
from nbtext.report.records import format_json

RETRY_AFTER = {"Retry-After": "1"}
CLIENT_CLOSED = 499  # status in the metrics and the log, as of nginx: nobody receives the answer
# two of them can mean different things to this service and to a proxy before it
SINGLE_HEADERS = bytes.split(
    b"host origin authorization content-length content-type content-encoding "
    b"transfer-encoding sec-fetch-site"
)
SAFE_METHODS = ("GET", "HEAD")
HEALTH_PATHS = ("/healthz", "/readyz")
FREE_PATHS = (*HEALTH_PATHS, "/metrics")  # answered even under overload
USAGE = "nbtext.usage"  # the key of a request's Usage in its scope
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
# of an answer that are sent at once; the time of a request begins again when they are read
SENT_BYTES = 1 << 16
MAX_WAITING_LINES = 100_000  # of the log that wait to be written
FLUSH_SECONDS = 0.1


@dataclass
class Usage:
    """What one request uses, and the time at which it is given up.

    timeout      gives it up, unless it makes progress in so many seconds
    status       of its answer; 0: it has not begun
    model        the name of its model; "" if it has none
    n_documents  documents that were predicted, explained or stored
    bytes_in, bytes_out  sizes of the bodies
    """

    seconds: float
    timeout: asyncio.Timeout
    status: int = 0
    model: str = ""
    n_documents: int = 0
    bytes_in: int = 0
    bytes_out: int = 0

    def extend(self) -> None:
        """Start the time again: the request has made progress."""
        self.timeout.reschedule(asyncio.get_running_loop().time() + self.seconds)


# The values of the labels come from the service, never from a request.
REQUESTS = Counter("nbtext_requests", "Requests.", ("route", "status"))
REQUEST_SECONDS = Histogram("nbtext_request_seconds", "Time of a request.", ("route",))
DOCUMENTS = Counter("nbtext_documents", "Documents.", ("route", "model"))
ACTIVE = Gauge("nbtext_requests_in_progress", "Requests in progress.")
RELOADS = Counter("nbtext_model_reloads", "Replaced model files.", ("model", "result"))


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
        self._lines: deque[str] = deque(maxlen=MAX_WAITING_LINES)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(file,), name="log", daemon=True)
        if file is not None:
            self._thread.start()

    def write(self, event: str, **details: Any) -> None:
        """Add a line."""
        if self._file is not None:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = json.dumps({"time": now, "event": event, **details}, ensure_ascii=False)
            self._lines.append(printable(line) + "\n")

    def stop(self) -> None:
        """Write the lines that are left."""
        self._stopped.set()
        if self._file is not None:
            self._thread.join(timeout=5)

    def _run(self, file: TextIO) -> None:
        is_stopped = False
        while not is_stopped:
            is_stopped = self._stopped.wait(FLUSH_SECONDS)
            try:
                file.writelines(self._lines.popleft() for _ in range(len(self._lines)))
                file.flush()
            except (OSError, ValueError):
                return  # its reader is gone


class Guard:
    """An ASGI application that checks requests, and passes them to routes.

    Parameters
    ----------
    open_paths
        Paths that need no token.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        settings: ServeSettings,
        *,
        open_paths: Collection[str],
        log: Log,
    ) -> None:
        self._router = Router(routes)
        self._paths: dict[Any, str] = {route.endpoint: route.path for route in routes}
        self._settings = settings
        self._open_paths = open_paths
        tokens = read_tokens(settings.token_file) if settings.token_file is not None else ()
        self._digests = [sha256(token).digest() for token in tokens]
        self._log = log
        self._hosts = frozenset(host.lower() for host in (*settings.allowed_hosts, *LOCAL_HOSTS))
        self._checks_host = settings.is_local or bool(settings.allowed_hosts)
        self._n_active = 0
        ACTIVE.set_function(lambda: self._n_active)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        timeout = asyncio.timeout(self._settings.timeout)
        usage = scope[USAGE] = Usage(self._settings.timeout, timeout)
        scope["app"] = self  # routes then raise HTTPException, in place of an answer in HTML
        is_counted = scope["path"] not in FREE_PATHS
        self._n_active += is_counted
        answer = partial(_send, usage, send)
        try:
            problem = None
            try:
                self._check(scope)
                if is_counted and self._n_active > self._settings.max_requests:
                    raise HTTPException(503, "too many requests at the same time", RETRY_AFTER)
                async with timeout:
                    await self._router(scope, receive, answer)
            except ClientDisconnect:
                usage.status = CLIENT_CLOSED
            except HTTPException as error:
                problem = error
            except NbtextError as error:
                problem = HTTPException(400, str(in_http_terms(error)))
            except TimeoutError:
                headers = {**RETRY_AFTER, "Connection": "close"}
                problem = HTTPException(503, "the request took too long", headers)
            except Exception as error:
                # without variables or the message
                (place,) = traceback.extract_tb(error.__traceback__, limit=-1)
                self._log.write(
                    "error", error=type(error).__name__, place=f"{place.filename}:{place.lineno}"
                )
                problem = HTTPException(500, "internal error")
            # Uvicorn cuts an answer that has begun, which the client can see
            if problem is not None and not usage.status:
                body = {"error": problem.detail}
                await json_response(body, problem.status_code, problem.headers)(
                    scope, receive, answer
                )
        finally:  # the client may leave, or sending may fail
            self._n_active -= is_counted
        seconds = time.perf_counter() - started
        # without the path, because anything may be written there
        route = self._paths.get(scope.get("endpoint"), "")
        REQUESTS.labels(route, str(usage.status)).inc()
        REQUEST_SECONDS.labels(route).observe(seconds)
        if usage.n_documents:
            DOCUMENTS.labels(route, usage.model).inc(usage.n_documents)
        self._log.write(
            "request",
            client=(scope["client"] or ("",))[0],
            method=scope["method"],
            route=route,
            status=usage.status,
            seconds=round(seconds, 6),
            model=usage.model,
            documents=usage.n_documents,
            bytes_in=usage.bytes_in,
            bytes_out=usage.bytes_out,
        )

    def _check(self, scope: Scope) -> None:
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
        if self._digests and scope["path"] not in self._open_paths:
            kind, _, given = headers.get(b"authorization", b"").partition(b" ")
            digest = sha256(given.strip()).digest()
            matches = [hmac.compare_digest(digest, known) for known in self._digests]
            if kind.lower() != b"bearer" or not any(matches):
                raise HTTPException(
                    401, "a valid bearer token is needed", {"WWW-Authenticate": "Bearer"}
                )
        if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
            raise HTTPException(415, "the body has a content encoding; send it as it is")


async def _send(usage: Usage, send: Send, message: Message) -> None:
    """Send a message in parts, each of which begins the time of the request again when it is read:
    a client that reads slowly slows this down.
    """
    if message["type"] == "http.response.start":
        usage.status = message["status"]
        message["headers"] = [*message["headers"], *SECURITY_HEADERS]
        await send(message)
        return
    body = message["body"]
    for start in range(0, len(body) or 1, SENT_BYTES):
        has_more = start + SENT_BYTES < len(body) or message.get("more_body", False)
        part = body[start : start + SENT_BYTES]
        await send({"type": "http.response.body", "body": part, "more_body": has_more})
        usage.bytes_out += len(part)
        if has_more:
            usage.extend()


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


def json_response(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a value as JSON."""
    return Response(dumps(value), status, headers, media_type="application/json")
