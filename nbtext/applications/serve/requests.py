"""Requests: their options, their bodies, and the documents in them, which are JSON, JSON lines or
plain text.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from nbtext.applications.serve.guard import USAGE, Closed, Usage, in_http_terms
from nbtext.applications.serve.models import ExplanationSettings, ModelSlot, ModelStore, parse_count
from nbtext.documents.batch import Batch, BatchBuilder, join_fields
from nbtext.documents.blocks import LineBlock, LineSplitter
from nbtext.documents.decoding import Encoding
from nbtext.documents.fields import name_of
from nbtext.documents.jsonl import (
    TEXT_HINT,
    TYPE_NAMES,
    add_record,
    has_more_values,
    parse_jsonl,
)
from nbtext.documents.lines import LineDocuments
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, NbtextError
from nbtext.model.settings import DecisionSettings
from nbtext.settings import list_all_settings, make_record, parse_value, part, setting

JSON = "application/json"
TEXT = "text/plain"
JSONL = "application/jsonl"
JSONL_NAMES = (JSONL, "application/x-ndjson", "application/ndjson", "application/x-jsonlines")
CONTENT_TYPES = {JSON: JSON, TEXT: TEXT, **dict.fromkeys(JSONL_NAMES, JSONL)}
UTF8_NAMES = ("utf-8", "utf8", "us-ascii", "ascii")
UTF8 = Encoding("utf-8")
# A parser of JSON lets no other thread run. At 2 microseconds for each value, the slowest body
# takes half a second.
MAX_VALUES = 250_000  # of JSON; more if the maximum number of documents is larger
VALUES_PER_DOCUMENT = 25
# what a key may hold; other documents are parsed one by one, to find what is wrong with each
Value = str | int | float | bool | msgspec.UnsetType | None


class Documents(NamedTuple):
    """The documents of a request, and how their encoded records are joined to an answer."""

    batch: Batch
    join: Callable[[Iterable[bytes]], bytes]


MODEL = "Name of the model; the first one by default."


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """The options of /v1/predict, from its query string."""

    model: str = setting("", MODEL)
    decisions: DecisionSettings = part(
        DecisionSettings, without=("cost",), explain={"parse": parse_count}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of /v1/explain, from its query string."""

    model: str = setting("", MODEL)
    explanation: ExplanationSettings = part(ExplanationSettings)


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


async def read_chunks(scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
    """Yield the parts of a body of any length as they arrive; Closed if the client has gone."""
    usage: Usage = scope[USAGE]
    has_more = True
    while has_more:
        message = await receive()
        if message["type"] != "http.request":
            raise Closed
        body = message.get("body", b"")
        usage.bytes_in += len(body)
        yield body
        has_more = message.get("more_body", False)


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Return the whole body of a request.

    Raises
    ------
    HTTPException
        413: it has more than `limit` bytes.
    Closed
        The client has gone.
    """
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    parts = []
    size = int(declared)
    async for data in read_chunks(scope, receive):
        parts.append(data)
        size = max(size, scope[USAGE].bytes_in)
        if size > limit:
            what = f"the body has more than {limit:,} bytes; send fewer documents at once, or JSON lines"
            raise HTTPException(413, what, {"Connection": "close"})  # the rest is not read
    return b"".join(parts)


async def read_blocks(scope: Scope, receive: Receive, limit: int) -> AsyncIterator[LineBlock]:
    """Yield the lines of a body of any length as they arrive, each of at most `limit` bytes."""
    splitter = LineSplitter(limit)
    async for data in read_chunks(scope, receive):
        for block in splitter.feed(data):
            yield block
    for block in splitter.finish():
        yield block


def content_type(scope: Scope) -> str:
    """Return the type of a body, one of CONTENT_TYPES.

    Raises HTTPException 415 for other types, and other character sets than UTF-8.
    """
    given = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
    name, *parameters = (each.strip() for each in given.lower().split(";"))
    kind = CONTENT_TYPES.get(name)
    if kind is None:
        expected = ", ".join((JSON, JSONL, TEXT))
        raise HTTPException(
            415, f"the content type is {name or 'not given'}; expected one of {expected}"
        )
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "charset" and value.strip(" \"'") not in UTF8_NAMES:
            raise HTTPException(415, "the character set is not UTF-8; send the body as UTF-8")
    return kind


def parse_documents(body: bytes, kind: str, settings: InputSettings, maximum: int) -> Documents:
    """Return the documents of a whole body.

    Raises
    ------
    HTTPException
        400: the body is not JSON, or one object that is not a document. 413: there are too many
        documents. 415: it is a text that is not UTF-8, or the model needs separate fields.
    """
    if kind == TEXT:
        return Documents(_parse_text(body, settings), join_object)
    if kind == JSONL:
        block = LineBlock(body, 1, len(body))
        batch = parse_lines(block, settings_of_lines(block, settings), keys_of(settings))
        _check_number(len(batch), maximum)
        return Documents(batch, join_lines)
    most = max(MAX_VALUES, VALUES_PER_DOCUMENT * maximum)
    if has_more_values(body, most):
        what = f"the JSON has more than {most:,} values; send fewer documents at once, without other keys"
        raise HTTPException(413, what)
    found = _parse_plainly(body, settings)
    if found is None:
        found = _parse_one_by_one(body, settings)
    batch, is_list = found
    if is_list:
        _check_number(len(batch), maximum)
        return Documents(batch, join_array)
    if batch.problems:
        raise HTTPException(400, without_place(batch.problems[0]))
    return Documents(batch, join_object)


def _check_number(number: int, maximum: int) -> None:
    if number > maximum:
        raise HTTPException(
            413,
            f"{number:,} documents are too many; send at most {maximum:,} at once, or JSON lines",
        )


def _parse_text(body: bytes, settings: InputSettings) -> Batch:
    if settings.separate_fields:
        raise HTTPException(
            415, f"the model needs JSON with the keys {', '.join(settings.text_field)}"
        )
    try:
        return Batch(["1"], ([body.decode("utf-8-sig")],), [None])
    except UnicodeDecodeError:
        raise HTTPException(415, "the text is not UTF-8") from None


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


def settings_of_lines(block: LineBlock, settings: InputSettings) -> InputSettings:
    """Return the settings that the first line needs; see `_settings_of`."""
    line = block.data.lstrip().split(b"\n", 1)[0]
    if has_more_values(line, MAX_VALUES):
        return settings
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return settings
    return _settings_of(first if isinstance(first, dict) else (), settings)


@lru_cache(maxsize=256)
def _decoder(*keys: str) -> msgspec.json.Decoder[Any]:
    """Return a decoder of one or several documents with these keys, in fields of the same order.

    Raises
    ------
    ValueError
        A key cannot be that of a field.
    """
    fields = [
        (f"key{place}", Value, msgspec.field(name=key, default=msgspec.UNSET))
        for place, key in enumerate(keys)
    ]
    document: Any = msgspec.defstruct("Document", fields)
    return msgspec.json.Decoder(document | list[document | str])


def _parse_plainly(body: bytes, settings: InputSettings) -> tuple[Batch, bool] | None:
    """Return the documents of JSON, and whether they are a list; None if not all of them are texts,
    or objects whose texts, ids and labels are texts or numbers.
    """
    names = (*settings.text_field, "text", settings.id_field, settings.label_field, "label")
    keys = list(dict.fromkeys(names))
    if any("." in key for key in keys):  # of nested objects, perhaps
        return None
    try:
        value = _decoder(*keys).decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    is_list = isinstance(value, list)
    documents = value if is_list else [value]
    kinds = set(map(type, documents))
    numbers = [str(number) for number in range(1, len(documents) + 1)]
    if kinds == {str} and not settings.separate_fields:
        return Batch(numbers, (documents,), [None] * len(documents)), is_list
    if len(kinds) != 1 or str in kinds:
        return None
    columns = {
        key: [getattr(each, f"key{place}") for each in documents] for place, key in enumerate(keys)
    }
    given = [key for key, column in columns.items() if column[0] is not msgspec.UNSET]
    chosen = _settings_of(given, settings)
    texts = [columns[name] for name in chosen.text_field]
    if any(set(map(type, column)) != {str} for column in texts):
        return None
    names_of_documents = map(_name_of, columns[settings.id_field])
    ids = [name or number for name, number in zip(names_of_documents, numbers, strict=True)]
    labels = list(map(_name_of, columns[chosen.label_field]))
    return Batch(ids, join_fields(texts, chosen), labels), is_list


def _name_of(value: Any) -> str | None:
    return None if value is msgspec.UNSET else name_of(value)


def _parse_one_by_one(body: bytes, settings: InputSettings) -> tuple[Batch, bool]:
    """Return any values of JSON as documents, and whether they are a list; what is wrong with one
    becomes a problem of its row.

    Raises
    ------
    HTTPException
        400: the JSON is broken or nested too deep.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"broken JSON: {error}") from None
    is_list = isinstance(value, list)
    items = value if is_list else [value]
    first = items[0] if items else ()
    keys = None if isinstance(first, str) else first if isinstance(first, dict) else ()
    chosen = _settings_of(keys, settings)
    builder = BatchBuilder(chosen)
    for number, item in enumerate(items, 1):
        record = item if type(item) in TYPE_NAMES else str(item)
        if isinstance(item, str) and len(chosen.text_field) == 1:
            record = {chosen.text_field[0]: item}
        add_record(builder, record, chosen, place=str(number))
    return _with_own_problems(builder.finish(), keys_of(settings)), is_list


def keys_of(settings: InputSettings) -> str:
    """Return a hint with the keys of the text, if they are others than `text`."""
    if settings.text_field == ("text",):
        return ""
    names = " and ".join(f"`{name}`" for name in settings.text_field)
    return (
        f"give {names}"
        if settings.separate_fields
        else f"give {names}, or `text`, alike in all documents"
    )


def _with_own_problems(batch: Batch, keys: str) -> Batch:
    """Return a batch with its problems in HTTP's terms; `keys` is the hint of a document without
    text.
    """
    for problem in batch.problems.values():
        problem.hint = keys if problem.hint == TEXT_HINT else problem.hint
        in_http_terms(problem)
    return batch


def without_place(problem: NbtextError) -> str:
    """Return the message of an error of a document, without the document's id."""
    return str(in_http_terms(InputError(problem.what, hint=problem.hint)))


def join_object(records: Iterable[bytes]) -> bytes:
    """Return the only record."""
    return next(iter(records))


def join_array(records: Iterable[bytes]) -> bytes:
    """Return the records as a JSON array."""
    return b"[" + b",".join(records) + b"]"


def join_lines(records: Iterable[bytes]) -> bytes:
    """Return each record as a line."""
    return b"".join(record + b"\n" for record in records)


def parse_lines(block: LineBlock, settings: InputSettings, keys: str = "") -> Batch:
    """Return lines of JSON as documents; an invalid line becomes a problem of its row, with `keys`
    as a hint.
    """
    if block.first_line == 1:
        block = block._replace(data=block.data.removeprefix(BOM_UTF8))
    return _with_own_problems(
        LineDocuments(block, "", None, UTF8, settings).batch(parse_jsonl), keys
    )
