"""Requests: their options, their bodies, and the documents in them, which are JSON, JSON lines or
plain text.
"""

from __future__ import annotations

import codecs
import encodings.aliases
import json
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from nbtext.applications.serve.guard import USAGE, Closed, Usage, in_http_terms
from nbtext.applications.serve.models import ExplanationSettings, ModelSlot, ModelStore, parse_count
from nbtext.documents.batch import Batch, BatchBuilder, join_fields
from nbtext.documents.blocks import LineBlock
from nbtext.documents.charsets import text_codec
from nbtext.documents.decoding import BOMS, CODECS_WITHOUT_BOM, Encoding, detect_bom
from nbtext.documents.fields import name_of
from nbtext.documents.jsonl import TEXT_HINT, add_record, has_more_values, parse_jsonl, spell_float
from nbtext.documents.lines import LineDocuments
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, NbtextError
from nbtext.model.settings import DecisionSettings
from nbtext.settings import list_all_settings, make_record, parse_value, part, setting

MAX_QUERY_BYTES = 4096
JSON = "application/json"
TEXT = "text/plain"
JSONL = "application/jsonl"
JSONL_NAMES = (JSONL, "application/x-ndjson", "application/ndjson", "application/x-jsonlines")
CONTENT_TYPES = {JSON: JSON, TEXT: TEXT, **dict.fromkeys(JSONL_NAMES, JSONL)}
UTF8 = Encoding("utf-8")


class _Number(str):
    """A number of JSON, as it was sent: ids and labels may have more digits than a float can
    hold.
    """


decoder = json.JSONDecoder(
    parse_int=lambda digits: _Number(digits if digits != "-0" else "0"),
    parse_float=lambda digits: _Number(spell_float(digits)),
    parse_constant=spell_float,
)
PLAIN_NAMES = {str, _Number, type(None)}
# A parser of JSON lets no other thread run. At 2 microseconds for each value, the slowest body
# takes half a second.
MAX_VALUES = 250_000  # of JSON; more if the maximum number of documents is larger
VALUES_PER_DOCUMENT = 25
DECODED_BYTES = 1 << 15  # of a text that are decoded at once, for the same reason
# Python would try to import a module for any other name, and remember the name for ever.
CHARSETS = frozenset(encodings.aliases.aliases) | {
    module.name for module in pkgutil.iter_modules(encodings.__path__)
}
# a byte order mark tells which one
JSON_CHARSETS = ("utf_8", "utf8", "utf_16", "utf_32", "us_ascii", "ascii")


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
    if not query:
        return make_record(record, {})
    if len(query) > MAX_QUERY_BYTES:
        raise HTTPException(400, "the query string is too long")
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict"
        )
    except ValueError:
        raise HTTPException(
            400, "the query string is broken; write NAME=VALUE&NAME=VALUE"
        ) from None
    known = {field.name: (field, found) for field, found in list_all_settings(record)}
    values: dict[str, Any] = {}
    for option, text in pairs:
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
    declared = header(scope, b"content-length")
    is_too_large = declared.isdigit() and int(declared) > limit
    body = bytearray()
    async for data in read_chunks(scope, receive):
        body += data
        if is_too_large or len(body) > limit:
            what = f"the body has more than {limit:,} bytes; send fewer documents at once, or JSON lines"
            raise HTTPException(413, what, {"Connection": "close"})  # the rest is not read
        usage.lease.add(len(data))
    return bytes(body)


async def read_chunks(scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
    """Yield the parts of a body of any length as they arrive; Closed if the client has gone."""
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


def content_type(scope: Scope) -> tuple[str, str]:
    """Return the type of a body, one of CONTENT_TYPES, and its character set.

    Raises HTTPException 415 for other types.
    """
    name, *parameters = header(scope, b"content-type").decode("latin-1").split(";")
    kind = CONTENT_TYPES.get(name.strip().lower())
    if kind is None:
        expected = ", ".join((JSON, JSONL, TEXT))
        raise HTTPException(
            415, f"the content type is {name.strip() or 'not given'}; expected one of {expected}"
        )
    pairs = (each.strip().lower().partition("=") for each in parameters)
    charsets = {value.strip(" \"'") for name, _, value in pairs if name.rstrip() == "charset"}
    charset = charsets.pop() if charsets else "utf-8"
    if charsets:
        raise HTTPException(415, "the content type has two character sets")
    if kind != TEXT and encodings.normalize_encoding(charset) not in JSON_CHARSETS:
        raise HTTPException(415, "JSON is UTF-8; send it without another character set")
    return kind, charset


def parse_documents(
    body: bytes, kind: str, charset: str, settings: InputSettings, maximum: int
) -> Documents:
    """Return the documents of a whole body.

    Raises
    ------
    HTTPException
        400: the body is not JSON, or one object that is not a document. 413: there are too many
        documents.
    """
    if kind == TEXT:
        return Documents(_parse_text(body, charset, settings), join_object)
    body = MarkReader().feed(body, is_last=True)
    most = max(MAX_VALUES, VALUES_PER_DOCUMENT * maximum)
    if kind == JSONL:
        _check_values(body, most)
        block = LineBlock(body, 1, len(body))
        batch = parse_lines(block, settings_of_lines(block, settings), keys_of(settings))
        _check_number(len(batch), maximum)
        return Documents(batch, join_lines)
    value = loads(body, most)
    if not isinstance(value, list):
        batch = _parse_items([value], settings)
        if batch.problems:
            raise HTTPException(400, without_place(batch.problems[0]))
        return Documents(batch, join_object)
    _check_number(len(value), maximum)
    return Documents(_parse_items(value, settings), join_array)


def _check_number(number: int, maximum: int) -> None:
    if number > maximum:
        raise HTTPException(
            413,
            f"{number:,} documents are too many; send at most {maximum:,} at once, or JSON lines",
        )


def _parse_text(body: bytes, charset: str, settings: InputSettings) -> Batch:
    if settings.separate_fields:
        raise HTTPException(
            415, f"the model needs JSON with the keys {', '.join(settings.text_field)}"
        )
    name = encodings.normalize_encoding(charset)
    codec = text_codec(name) if name in CHARSETS else None
    if codec is None:
        raise HTTPException(415, "the character set is not known")
    encoding, size = detect_bom(body, Encoding(CODECS_WITHOUT_BOM.get(codec, codec)))
    decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
    parts = [
        decoder.decode(body[start : start + DECODED_BYTES])
        for start in range(size, len(body), DECODED_BYTES)
    ]
    return Batch(["1"], (["".join((*parts, decoder.decode(b"", final=True)))],), [None])


def _settings_of(items: list[Any], settings: InputSettings) -> InputSettings:
    """Return the settings with the text field `text` and the label field `label`, if the first item
    needs them.

    It does if it is a text, or an object with that key but none of the training data. So clients
    can send `text` to any model without separate fields, and `label` to any model.
    """
    first = items[0] if items else None
    keys = first if isinstance(first, dict) else {}
    is_whole = isinstance(first, str) or (
        "text" in keys and keys.keys().isdisjoint(settings.text_field)
    )
    if is_whole and not settings.separate_fields:
        settings = replace(settings, text_field=("text",))
    return (
        replace(settings, label_field="label")
        if "label" in keys and settings.label_field not in keys
        else settings
    )


def settings_of_lines(block: LineBlock, settings: InputSettings) -> InputSettings:
    """Return the settings that the first line needs; see `_settings_of`."""
    if settings.text_field == ("text",) and settings.label_field == "label":
        return settings
    try:
        return _settings_of([loads(block.data.lstrip().split(b"\n", 1)[0])], settings)
    except HTTPException:
        return settings


def _parse_items(items: list[Any], settings: InputSettings) -> Batch:
    """Return JSON values as documents, each an object or (if the model has one text field) a
    text.
    """
    keys = keys_of(settings)
    settings = _settings_of(items, settings)
    fast = _parse_plain_objects(items, settings)
    if fast is not None:
        return fast
    builder = BatchBuilder(settings)
    for number, item in enumerate(items, 1):
        record = str(item) if isinstance(item, str) else item
        if type(item) is str and len(settings.text_field) == 1:
            record = {settings.text_field[0]: item}
        add_record(builder, record, settings, place=str(number))
    return _with_own_problems(builder.finish(), keys)


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


def _parse_plain_objects(items: list[Any], settings: InputSettings) -> Batch | None:
    """Return objects whose texts and ids are all texts as documents; None if there are others."""
    names = (*settings.text_field, settings.id_field, settings.label_field)
    # of nested objects, perhaps
    if set(map(type, items)) != {dict} or any("." in name for name in names):
        return None
    try:
        columns = [[item[name] for item in items] for name in settings.text_field]
    except KeyError:
        return None
    ids = [item.get(settings.id_field) for item in items]
    labels = [item.get(settings.label_field) for item in items]
    is_plain = PLAIN_NAMES.issuperset(map(type, [*ids, *labels]))
    if not is_plain or any(set(map(type, column)) != {str} for column in columns):
        return None
    given_ids = [name_of(identity) or str(number) for number, identity in enumerate(ids, 1)]
    return Batch(given_ids, join_fields(columns, settings), list(map(name_of, labels)))


class MarkReader:
    """Turns bytes that may begin with a byte order mark into UTF-8 without it; the mark decides, as
    in files.
    """

    def __init__(self) -> None:
        self._head = b""
        self._decode: Callable[[bytes, bool], bytes] | None = None

    def feed(self, data: bytes, *, is_last: bool = False) -> bytes:
        """Return the next bytes; they wait while they can be the beginning of a mark."""
        if self._decode is None:
            self._head += data
            if not is_last and any(mark.startswith(self._head) for mark in BOMS):
                return b""
            encoding, size = detect_bom(self._head, UTF8)
            data = self._head[size:]
            decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
            is_utf8 = encoding == UTF8
            self._decode = lambda part, final: (
                part if is_utf8 else decoder.decode(part, final).encode()
            )
        return self._decode(data, is_last)


def _check_values(data: bytes, maximum: int) -> None:
    if has_more_values(data, maximum):
        what = f"the JSON has more than {maximum:,} values; send fewer documents at once, without other keys"
        raise HTTPException(413, what)


def loads(body: bytes, max_values: int = MAX_VALUES) -> Any:
    """Return the value of JSON in UTF-8.

    Raises
    ------
    HTTPException
        400: it is broken or nested too deep. 413: it has too many values.
    """
    _check_values(body, max_values)
    try:
        return decoder.decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise HTTPException(
            400, f"broken JSON: {error.msg.removesuffix(' at')} at {where}"
        ) from None
    except RecursionError:
        raise HTTPException(400, "the JSON is nested too deep") from None


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
    refused: set[int] = set()
    if has_more_values(block.data, MAX_VALUES):
        lines = block.data.split(b"\n")
        refused = {
            block.first_line + n
            for n, line in enumerate(lines)
            if has_more_values(line, MAX_VALUES)
        }
        kept = [
            b"0" if number in refused else line
            for number, line in enumerate(lines, block.first_line)
        ]
        block = block._replace(data=b"\n".join(kept))
    batch = LineDocuments(block, "", None, UTF8, settings).batch(parse_jsonl)
    for row, number in enumerate(batch.line_numbers or ()) if refused else ():
        if number in refused:
            batch.problems[row] = InputError(
                f"the JSON has more than {MAX_VALUES:,} values", where=str(number)
            )
    return _with_own_problems(batch, keys)
