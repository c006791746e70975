"""Requests: their options, their bodies, and the documents in them, which are JSON, JSON lines or
plain text.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request

from nbtext.applications.serve.guard import USAGE, Usage, dumps, in_http_terms
from nbtext.applications.serve.models import ExplanationSettings, ModelSlot
from nbtext.documents.batch import Batch, ReadCount
from nbtext.documents.blocks import LineBlock
from nbtext.documents.decoding import Encoding
from nbtext.documents.jsonl import has_more_values, parse_jsonl, parse_object
from nbtext.documents.lines import LineDocuments
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError
from nbtext.model.settings import DecisionSettings
from nbtext.records import frozen
from nbtext.settings import list_all_settings, make_record, parse_value, part, setting

JSON = "application/json"
PLAIN_TEXT = "text/plain"
JSONL = "application/jsonl"
JSONL_NAMES = (JSONL, "application/x-ndjson", "application/ndjson", "application/x-jsonlines")
CONTENT_TYPES = {JSON: JSON, PLAIN_TEXT: PLAIN_TEXT, **dict.fromkeys(JSONL_NAMES, JSONL)}
UTF8 = Encoding("utf-8")
# A parser of JSON lets no other thread run. At 2 microseconds for each value, the slowest body
# takes half a second.
MAX_REQUEST_VALUES = 250_000  # of JSON
MAX_DOCUMENTS = 10_000


OBJECT, ARRAY, LINES = ("object", "array", "lines")  # of documents, and of their records


class Documents(NamedTuple):
    """The documents of a request, and the form in which it has them; its answer has the same."""

    batch: Batch
    form: str

    def join(self, records: Sequence[bytes]) -> bytes:
        """Return encoded records as an answer."""
        if self.form == LINES:
            return b"".join(record + b"\n" for record in records)
        return b"[" + b",".join(records) + b"]" if self.form == ARRAY else records[0]


MODEL_DESCRIPTION = "Name of the model; the first one by default."


@frozen(kw_only=True)
class PredictOptions:
    """The options of /v1/predict, from its query string."""

    model: str = setting("", MODEL_DESCRIPTION)
    settings: DecisionSettings = part(DecisionSettings, without=("cost",))


@frozen(kw_only=True)
class ExplainOptions:
    """The options of /v1/explain, from its query string."""

    model: str = setting("", MODEL_DESCRIPTION)
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
    known = {each[1].name: each for each in list_all_settings(record)}
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
        values[option] = (*values.get(option, ()), value) if known[option][2].is_repeated else value
    return make_record(record, values)


def find_model(slots: Mapping[str, ModelSlot], name: str, usage: Usage) -> ModelSlot:
    """Return the model of a name, "" the first one; HTTPException 404 if there is none."""
    slot = slots.get(name or next(iter(slots)))
    if slot is None:
        raise HTTPException(404, f"there is no model {name!r}; there are {', '.join(slots)}")
    usage.model = slot.file.name
    return slot


async def read_body(request: Request, limit: int) -> bytes:
    """Return the whole body of a request.

    Raises
    ------
    HTTPException
        413: it has more than `limit` bytes.
    ClientDisconnect
        The client has gone.
    """
    usage: Usage = request.scope[USAGE]
    chunks = []
    async for chunk in request.stream():
        usage.bytes_in += len(chunk)
        if usage.bytes_in > limit:
            what = f"the body has more than {limit:,} bytes; send fewer documents at once"
            raise HTTPException(413, what, {"Connection": "close"})  # the rest is not read
        chunks.append(chunk)
    return b"".join(chunks)


def content_type(request: Request) -> str:
    """Return the type of a body: JSON, JSONL or PLAIN_TEXT; HTTPException 415 for other types."""
    name = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    kind = CONTENT_TYPES.get(name)
    if kind is None:
        expected = ", ".join((JSON, JSONL, PLAIN_TEXT))
        raise HTTPException(
            415,
            f"the content type is {name or 'not given'}; expected one of {expected}, such as by "
            """curl -H 'Content-Type: text/plain' -d 'TEXT' or curl --json '{"text": "TEXT"}'""",
        )
    return kind


def parse_documents(body: bytes, kind: str, settings: InputSettings) -> Documents:
    """Return the documents of a whole body; what is wrong with one of several is a problem of its
    row.

    Raises
    ------
    HTTPException
        400: the body is not JSON, or one object that is not a document. 413: there are too many
        documents. 415: it is a text that is not UTF-8, or the model needs separate fields.
    """
    body = body.removeprefix(BOM_UTF8)
    if kind == PLAIN_TEXT:
        if settings.separate_fields:
            raise HTTPException(
                415, f"the model needs JSON with the keys {', '.join(settings.text_field)}"
            )
        try:
            return Documents(Batch(["1"], ([body.decode()],), [None]), OBJECT)
        except UnicodeDecodeError:
            raise HTTPException(415, "the text is not UTF-8") from None
    if has_more_values(body, MAX_REQUEST_VALUES):
        what = f"the JSON has more than {MAX_REQUEST_VALUES:,} values; send fewer documents at once, without other keys"
        raise HTTPException(413, what)
    if kind == JSONL:
        form = LINES
        first = body.lstrip().partition(b"\n")[0]
        settings = _choose_settings(parse_object(first) or (), settings)
    else:
        form = ARRAY if body.lstrip()[:1] == b"[" else OBJECT
        items = _split(body, is_array=form == ARRAY)
        first = items[0] if items else b"{}"
        settings = _choose_settings(
            None if first[:1] == b'"' else parse_object(first) or (), settings
        )
        if len(settings.text_field) == 1:
            start = b"{" + dumps(settings.text_field[0]) + b":"
            items = [start + item + b"}" if item[:1] == b'"' else item for item in items]
        body = b"\n".join(items)
    batch = parse_jsonl(LineDocuments(LineBlock(body, 1, len(body)), "", UTF8, settings))
    if len(batch) > MAX_DOCUMENTS:
        what = f"{len(batch):,} documents are too many; send at most {MAX_DOCUMENTS:,} at once"
        raise HTTPException(413, what)
    for problem in batch.problems.values():
        in_http_terms(problem)
    if form == OBJECT and batch.problems:
        raise InputError(batch.problems[0].what, hint=batch.problems[0].hint)
    counted = ReadCount()
    counted.add(batch)
    counted.check()
    return Documents(batch, form)


def _split(body: bytes, *, is_array: bool) -> list[bytes]:
    """Return the items of a JSON array, or the only value, each on one line; HTTPException 400 if
    the JSON is broken or nested too deep.
    """
    try:
        raw: Any = msgspec.json.decode(body, type=list[msgspec.Raw] if is_array else msgspec.Raw)
        return [bytes(item).replace(b"\n", b" ") for item in (raw if is_array else [raw])]
    except (msgspec.MsgspecError, RecursionError):
        pass  # json accepts lone surrogates, as of a cut emoji, and says where JSON is broken
    try:
        value = json.loads(body)
        return [json.dumps(item).encode() for item in (value if is_array else [value])]
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"broken JSON: {error}") from None


def _choose_settings(keys: Collection[str] | None, settings: InputSettings) -> InputSettings:
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
