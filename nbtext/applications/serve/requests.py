"""Requests: their options, their bodies, and the documents in them, which are JSON, JSON lines or
plain text.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from nbtext.applications.serve.guard import USAGE, Closed, Usage, in_http_terms
from nbtext.applications.serve.models import ExplanationSettings, ModelSlot, ModelStore
from nbtext.documents.batch import Batch, BatchBuilder, join_fields
from nbtext.documents.blocks import LineBlock
from nbtext.documents.decoding import Encoding
from nbtext.documents.fields import TYPE_NAMES, name_of
from nbtext.documents.jsonl import has_more_values, parse_jsonl, parse_object
from nbtext.documents.lines import LineDocuments
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError
from nbtext.model.settings import DecisionSettings
from nbtext.settings import list_all_settings, make_record, parse_value, part, setting

JSON = "application/json"
TEXT = "text/plain"
JSONL = "application/jsonl"
JSONL_NAMES = (JSONL, "application/x-ndjson", "application/ndjson", "application/x-jsonlines")
CONTENT_TYPES = {JSON: JSON, TEXT: TEXT, **dict.fromkeys(JSONL_NAMES, JSONL)}
UTF8 = Encoding("utf-8")
# A parser of JSON lets no other thread run. At 2 microseconds for each value, the slowest body
# takes half a second.
MAX_VALUES = 250_000  # of JSON; more if the maximum number of documents is larger
VALUES_PER_DOCUMENT = 25
# what ids and labels of documents are that are read together; others are read one by one
PLAIN = {str, int, float, bool, NoneType}


class Documents(NamedTuple):
    """The documents of a request, and how their encoded records are joined to an answer, which is
    JSON lines if they are.
    """

    batch: Batch
    join: Callable[[Iterable[bytes]], bytes]


MODEL = "Name of the model; the first one by default."


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """The options of /v1/predict, from its query string."""

    model: str = setting("", MODEL)
    settings: DecisionSettings = part(DecisionSettings, without=("cost",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of /v1/explain, from its query string."""

    model: str = setting("", MODEL)
    settings: ExplanationSettings = part(ExplanationSettings)


Options = TypeVar("Options", bound=PredictOptions | ExplainOptions)


@lru_cache(maxsize=256)
def parse_options(query: bytes, record: type[Options]) -> Options:
    """Return the options of a query string.

    Raises
    ------
    HTTPException
        400: an option is unknown or invalid.
    SettingsError
        The options do not fit together.
    """
    known = {field.name: (field, found) for field, found in list_all_settings(record)}
    values: dict[str, Any] = {}
    for option, text in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if option not in known:
            raise HTTPException(
                400, f"there is no option {option!r}; there are {', '.join(sorted(known))}"
            )
        try:
            value = parse_value(*known[option], text)
        except ValueError as error:
            raise HTTPException(400, f"{option}: {error}") from None
        values[option] = (*values.get(option, ()), value) if known[option][1].is_repeated else value
    return make_record(record, values)


def find_model(store: ModelStore, name: str, usage: Usage) -> ModelSlot:
    """Return the model of a name, "" the first one; HTTPException 404 if there is none."""
    slot = store.slots.get(name) if name else store.default
    if slot is None:
        raise HTTPException(404, f"there is no model {name!r}; there are {', '.join(store.slots)}")
    usage.model = slot.file.name
    return slot


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Return the whole body of a request.

    Raises
    ------
    HTTPException
        413: it has more than `limit` bytes.
    Closed
        The client has gone.
    """
    usage: Usage = scope[USAGE]
    parts = []
    size = int(dict(scope["headers"]).get(b"content-length", b"0"))
    has_more = True
    while has_more:
        if size > limit:
            what = f"the body has more than {limit:,} bytes; send fewer documents at once"
            raise HTTPException(413, what, {"Connection": "close"})  # the rest is not read
        message = await receive()
        if message["type"] != "http.request":
            raise Closed
        parts.append(message.get("body", b""))
        usage.bytes_in += len(parts[-1])
        size = max(size, usage.bytes_in)
        has_more = message.get("more_body", False) or size > limit
    return b"".join(parts)


def content_type(scope: Scope) -> str:
    """Return the type of a body, one of CONTENT_TYPES; HTTPException 415 for other types."""
    given = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
    name = given.partition(";")[0].strip().lower()
    kind = CONTENT_TYPES.get(name)
    if kind is None:
        expected = ", ".join((JSON, JSONL, TEXT))
        raise HTTPException(
            415, f"the content type is {name or 'not given'}; expected one of {expected}"
        )
    return kind


def parse_documents(body: bytes, kind: str, settings: InputSettings, maximum: int) -> Documents:
    """Return the documents of a whole body; what is wrong with one of several is a problem of its
    row.

    Raises
    ------
    HTTPException
        400: the body is not JSON, or one object that is not a document. 413: there are too many
        documents. 415: it is a text that is not UTF-8, or the model needs separate fields.
    """
    body = body.removeprefix(BOM_UTF8)
    if kind == TEXT:
        return Documents(_parse_text(body, settings), join_object)
    most = max(MAX_VALUES, VALUES_PER_DOCUMENT * maximum)
    if has_more_values(body, most):
        what = f"the JSON has more than {most:,} values; send fewer documents at once, without other keys"
        raise HTTPException(413, what)
    if kind == JSONL:
        join = join_lines
        batch = _parse_lines(body, settings)
    else:
        value = _decode(body)
        join = join_array if isinstance(value, list) else join_object
        batch = _read_items(value if isinstance(value, list) else [value], settings)
    if len(batch) > maximum:
        what = f"{len(batch):,} documents are too many; send at most {maximum:,} at once"
        raise HTTPException(413, what)
    for problem in batch.problems.values():
        in_http_terms(problem)
    if join is join_object and batch.problems:
        raise InputError(batch.problems[0].what, hint=batch.problems[0].hint)
    return Documents(batch, join)


def _parse_text(body: bytes, settings: InputSettings) -> Batch:
    if settings.separate_fields:
        raise HTTPException(
            415, f"the model needs JSON with the keys {', '.join(settings.text_field)}"
        )
    try:
        return Batch(["1"], ([body.decode()],), [None])
    except UnicodeDecodeError:
        raise HTTPException(415, "the text is not UTF-8") from None


def _parse_lines(body: bytes, settings: InputSettings) -> Batch:
    """Return each line that is not blank as a document, with its number as its id."""
    chosen = _settings_of(parse_object(body.lstrip().partition(b"\n")[0]) or (), settings)
    lines = LineDocuments(LineBlock(body, 1, len(body)), "", None, UTF8, chosen)
    return parse_jsonl(lines)


def _decode(body: bytes) -> Any:
    """Return the value of JSON; HTTPException 400 if it is broken or nested too deep."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # json accepts lone surrogates, and says where JSON is broken
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"broken JSON: {error}") from None


def _settings_of(keys: Collection[str] | None, settings: InputSettings) -> InputSettings:
    """Return the settings with the text field `text` and the label field `label`, if the first
    document, which has these keys, needs them; None: it is a text.

    It does if it is a text, or an object with that key but none of the training data. So clients
    can send `text` to any model without separate fields, and `label` to any model.
    """
    is_whole = keys is None or ("text" in keys and not {*keys} & {*settings.text_field})
    if is_whole and not settings.separate_fields:
        settings = replace(settings, text_field=("text",))
    if keys and "label" in keys and settings.label_field not in keys:
        settings = replace(settings, label_field="label")
    return settings


def _read_items(items: list[Any], settings: InputSettings) -> Batch:
    """Return values of JSON as documents, numbered from 1 where they have no ids."""
    first = items[0] if items else ()
    keys = None if isinstance(first, str) else first if isinstance(first, dict) else ()
    chosen = _settings_of(keys, settings)
    if len(chosen.text_field) == 1:
        name = chosen.text_field[0]
        items = [{name: item} if isinstance(item, str) else item for item in items]
    numbers = list(map(str, range(1, len(items) + 1)))
    if set(map(type, items)) == {dict}:
        names = (*chosen.text_field, chosen.id_field, chosen.label_field)
        columns = [[item.get(name) for item in items] for name in names]
        *texts, ids, labels = columns
        are_texts = all(set(map(type, column)) == {str} for column in texts)
        has_nested = any("." in name for name in names)  # keys of objects in objects, perhaps
        if are_texts and not has_nested and set(map(type, [*ids, *labels])) <= PLAIN:
            named = [name_of(id) or number for id, number in zip(ids, numbers, strict=True)]
            return Batch(named, join_fields(texts, chosen), list(map(name_of, labels)))
    builder = BatchBuilder(chosen)
    for number, item in zip(numbers, items, strict=True):
        builder.add_record(item if type(item) in TYPE_NAMES else str(item), place=number)
    return builder.finish()


def join_object(records: Iterable[bytes]) -> bytes:
    """Return the only record."""
    return next(iter(records))


def join_array(records: Iterable[bytes]) -> bytes:
    """Return the records as a JSON array."""
    return b"[" + b",".join(records) + b"]"


def join_lines(records: Iterable[bytes]) -> bytes:
    """Return each record as a line."""
    return b"".join(record + b"\n" for record in records)
