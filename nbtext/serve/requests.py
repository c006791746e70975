"""Reads requests: their options, their bodies, and the documents in them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from nbtext.errors import SettingsError
from nbtext.model.predictor import MOST_PROBABLE
from nbtext.model.settings import DecisionSettings
from nbtext.serve.bodies import in_http_terms
from nbtext.serve.engine import ExplanationSettings
from nbtext.serve.guard import DEADLINE, LEASE, USAGE, Closed, Deadline, Lease
from nbtext.serve.models import ModelSlot, ModelStore
from nbtext.serve.monitoring import Usage

MAX_QUERY_BYTES = 4096
PREDICTED_LABEL = ExplanationSettings()
MAX_EXPLAINED = 1000  # features


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a request, from its query string.

    model  name of the model; "" is the first one
    """

    model: str = ""
    decisions: DecisionSettings = MOST_PROBABLE
    explanation: ExplanationSettings = PREDICTED_LABEL


DEFAULT = Options()
PREDICT = frozenset({"model", "min_probability", "coverage", "explain", "top_k", "threshold", "at_least_one"})
EXPLAIN = frozenset({"model", "label", "against", "features", "marks"})


@lru_cache(maxsize=256)
def parse_options(query: bytes, known: frozenset[str]) -> Options:
    """Return the options of a query string; HTTPException 400 if an option is unknown or invalid."""
    if not query:
        return DEFAULT
    if len(query) > MAX_QUERY_BYTES:
        raise HTTPException(400, "the query string is too long")
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        raise HTTPException(400, "the query string is broken; write NAME=VALUE&NAME=VALUE") from None
    values = dict(pairs)
    for name, _ in pairs:
        if name not in known:
            raise HTTPException(400, f"there is no option {name!r}; there are {', '.join(sorted(known))}")
    try:
        decisions = DecisionSettings(
            min_probability=_number(values, "min_probability"),
            coverage=_number(values, "coverage"),
            explain=_count(values, "explain", MAX_EXPLAINED),
            top_k=_count(values, "top_k"),
            label_threshold=_number(values, "threshold"),
            at_least_one=_flag(values, "at_least_one"),
        )
    except SettingsError as error:
        raise HTTPException(400, str(in_http_terms(error))) from None
    return Options(
        values.get("model", ""),
        decisions,
        ExplanationSettings(
            values.get("label"),
            values.get("against"),
            _count(values, "features", MAX_EXPLAINED),
            _flag(values, "marks"),
        ),
    )


def _number(values: dict[str, str], name: str) -> float | None:
    try:
        return float(values[name]) if name in values else None
    except ValueError:
        raise HTTPException(400, f"{name} is {values[name]!r}, expected a number") from None


def _count(values: dict[str, str], name: str, maximum: int | None = None) -> int | None:
    """Return a whole number, or `maximum` if it is larger; None if the option is not given."""
    if name not in values:
        return None
    if not values[name].isdecimal() or len(values[name]) > 9:
        raise HTTPException(400, f"{name} is {values[name]!r}, expected a whole number")
    number = int(values[name])
    return number if maximum is None else min(number, maximum)


def _flag(values: dict[str, str], name: str) -> bool:
    value = values.get(name, "false")
    if value not in ("true", "false"):
        raise HTTPException(400, f"{name} is {value!r}, expected true or false")
    return value == "true"


def find_model(store: ModelStore, name: str, usage: Usage) -> ModelSlot:
    """Return the model of a name, "" the first one; HTTPException 404 if there is none."""
    slot = store.slots.get(name) if name else store.default
    if slot is None:
        raise HTTPException(404, f"there is no model {name!r}; there are {', '.join(store.slots)}")
    usage.model = slot.file.name
    return slot


def header(scope: Scope, wanted: bytes) -> bytes:
    """Return the first value of a header; empty if there is none."""
    return next((bytes(value) for name, value in scope["headers"] if name == wanted), b"")


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Return the whole body of a request.

    Raises
    ------
    HTTPException
        413: it has more than `limit` bytes. 503: other bodies use up the memory.
    Closed
        The client has gone.
    """
    usage: Usage = scope[USAGE]
    lease: Lease = scope[LEASE]
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        usage.bytes_in = len(body)
        if len(body) > limit:
            raise too_large(limit)
        lease.hold(len(body))
        return body
    declared = header(scope, b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise too_large(limit)
    parts = bytearray()
    while message["type"] == "http.request":
        parts += message.get("body", b"")
        usage.bytes_in = len(parts)
        if len(parts) > limit:
            raise too_large(limit)
        lease.hold(len(parts))
        if not message.get("more_body"):
            return bytes(parts)
        message = await receive()
    raise Closed


async def read_chunks(scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
    """Yield the parts of a body of any length as they arrive."""
    usage: Usage = scope[USAGE]
    deadline: Deadline = scope[DEADLINE]
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Closed
        deadline.extend()
        body = message.get("body", b"")
        usage.bytes_in += len(body)
        yield body
        if not message.get("more_body"):
            return


def too_large(limit: int) -> HTTPException:
    """Return the error of a body that is too large; the connection is closed, because the rest is not read."""
    what = f"the body has more than {limit:,} bytes; send fewer documents at once, or JSON lines"
    return HTTPException(413, what, {"Connection": "close"})
