"""Reads requests: their options, their bodies, and the documents in them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from nbtext.errors import PARAMETERS, SettingsError
from nbtext.model.settings import DecisionSettings
from nbtext.serve.bodies import in_http_terms
from nbtext.serve.engine import ExplanationSettings, parse_count
from nbtext.serve.guard import LEASE, USAGE, Closed, Lease
from nbtext.serve.models import ModelSlot, ModelStore
from nbtext.serve.monitoring import Usage
from nbtext.settings import list_all_settings, make_record, parse_value, part, setting

MAX_QUERY_BYTES = 4096
MODEL = "Name of the model; the first one by default."


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """The options of /v1/predict, from its query string."""

    model: str = setting("", MODEL)
    decisions: DecisionSettings = part(DecisionSettings, without=("cost",), explain={"parse": parse_count})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of /v1/explain, from its query string."""

    model: str = setting("", MODEL)
    explanation: ExplanationSettings = part(ExplanationSettings)


Options = TypeVar("Options", bound=PredictOptions | ExplainOptions)
PARAMETERS.update(field.name for record in (PredictOptions, ExplainOptions) for field, _ in list_all_settings(record))


@lru_cache(maxsize=256)
def parse_options(query: bytes, record: type[Options]) -> Options:
    """Return the options of a query string; HTTPException 400 if an option is unknown or invalid."""
    if not query:
        return make_record(record, {})
    if len(query) > MAX_QUERY_BYTES:
        raise HTTPException(400, "the query string is too long")
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        raise HTTPException(400, "the query string is broken; write NAME=VALUE&NAME=VALUE") from None
    known = {field.name: (field, found) for field, found in list_all_settings(record)}
    values: dict[str, Any] = {}
    for option, text in pairs:
        if option not in known:
            raise HTTPException(400, f"there is no option {option!r}; there are {', '.join(sorted(known))}")
        try:
            value = parse_value(*known[option], text)
        except ValueError as error:
            raise HTTPException(400, f"{option}: {error}") from None
        values[option] = (*values.get(option, ()), value) if known[option][1].is_repeated else value
    try:
        return make_record(record, values)
    except SettingsError as error:
        raise HTTPException(400, str(in_http_terms(error))) from None


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
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Closed
        body = message.get("body", b"")
        usage.bytes_in += len(body)
        yield body
        if not message.get("more_body"):
            return


def too_large(limit: int) -> HTTPException:
    """Return the error of a body that is too large; the connection is closed, because the rest is not read."""
    what = f"the body has more than {limit:,} bytes; send fewer documents at once, or JSON lines"
    return HTTPException(413, what, {"Connection": "close"})
