"""The bodies of requests and responses: JSON, JSON lines and plain text to documents, and records to JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from nbtext.documents.batch import Batch, BatchBuilder, join_fields
from nbtext.documents.blocks import LineBlock
from nbtext.documents.decoding import Encoding
from nbtext.documents.jsonl import add_record, decoder, parse_jsonl
from nbtext.documents.lines import LineDocuments
from nbtext.documents.settings import InputSettings
from nbtext.errors import NbtextError

_fast_dumps: Callable[[Any], bytes] | None
_fast_loads: Callable[[bytes], Any] | None
try:
    from orjson import dumps as _fast_dumps
    from orjson import loads as _fast_loads
except ImportError:
    _fast_dumps = _fast_loads = None

JSON, TEXT, JSONL = "application/json", "text/plain", "application/jsonl"
CONTENT_TYPES = {
    JSON: JSON,
    TEXT: TEXT,
    JSONL: JSONL,
    "application/x-ndjson": JSONL,
    "application/ndjson": JSONL,
    "application/x-jsonlines": JSONL,
}
UTF8 = Encoding("utf-8")
PLAIN_NAMES = {str, type(None)}
Records = Iterable[dict[str, Any]]


class Documents(NamedTuple):
    """The documents of a request, and how their records are written."""

    batch: Batch
    encode: Callable[[Records], Any]


def in_http_terms(error: NbtextError) -> NbtextError:
    """Return an error without a hint that names options of the command line; a client cannot give them."""
    error.hint = "" if "--" in error.hint else error.hint
    error.names_parameters = True
    return error


def content_type(header: bytes) -> tuple[str, str]:
    """Return the type of a body, one of CONTENT_TYPES, and its character set.

    Raises HTTPException 415 for other types.
    """
    name, *parameters = header.decode("latin-1").split(";")
    kind = CONTENT_TYPES.get(name.strip().lower())
    if kind is None:
        expected = ", ".join((JSON, JSONL, TEXT))
        raise HTTPException(415, f"the content type is {name.strip() or 'not given'}; expected one of {expected}")
    charset = next((each for each in parameters if each.strip().lower().startswith("charset=")), "charset=utf-8")
    return kind, charset.partition("=")[2].strip(" \"'").lower()


def parse_documents(body: bytes, kind: str, charset: str, settings: InputSettings, maximum: int) -> Documents:
    """Return the documents of a whole body.

    Raises
    ------
    HTTPException
        400: the body is not JSON, or one object that is not a document. 413: there are too many documents.
    """
    if kind == TEXT:
        return Documents(_parse_text(body, charset, settings), encode_object)
    if kind == JSONL:
        block = LineBlock(body, 1, len(body))
        batch = parse_lines(block, settings_of_lines(block, settings))
        _check_number(len(batch), maximum)
        return Documents(batch, encode_lines)
    value = loads(body)
    if not isinstance(value, list):
        batch = _parse_items([value], _settings_of([value], settings))
        if batch.problems:
            raise HTTPException(400, batch.problems[0].what)
        return Documents(batch, encode_object)
    _check_number(len(value), maximum)
    return Documents(_parse_items(value, _settings_of(value, settings)), encode_array)


def _check_number(number: int, maximum: int) -> None:
    if number > maximum:
        raise HTTPException(413, f"{number:,} documents are too many; send at most {maximum:,} at once, or JSON lines")


def _parse_text(body: bytes, charset: str, settings: InputSettings) -> Batch:
    if settings.separate_fields:
        raise HTTPException(415, f"the model needs JSON with the keys {', '.join(settings.text_field)}")
    try:
        text = body.decode(charset, "replace")
    except (LookupError, ValueError):
        raise HTTPException(415, "the character set is not known") from None
    return Batch(["1"], ([text],), [None])


def _settings_of(items: list[Any], settings: InputSettings) -> InputSettings:
    """Return the settings with the text field `text`, if the first item needs it.

    It does if it is a text, or an object with the key `text` but none of the text fields. So clients can send `text`
    to any model without separate fields.
    """
    first = items[0] if items else None
    is_whole = isinstance(first, str) or (
        isinstance(first, dict) and "text" in first and not any(name in first for name in settings.text_field)
    )
    return replace(settings, text_field=("text",)) if is_whole and not settings.separate_fields else settings


def settings_of_lines(block: LineBlock, settings: InputSettings) -> InputSettings:
    """Return the settings with the text field `text`, if the first line needs it; see `_settings_of`."""
    if settings.text_field == ("text",) or settings.separate_fields:
        return settings
    try:
        return _settings_of([loads(block.data.lstrip().split(b"\n", 1)[0])], settings)
    except HTTPException:
        return settings


def _parse_items(items: list[Any], settings: InputSettings) -> Batch:
    """Return JSON values as documents, each an object or (if the model has one text field) a text."""
    fast = _parse_plain_objects(items, settings)
    if fast is not None:
        return fast
    builder = BatchBuilder(settings)
    for number, item in enumerate(items, 1):
        is_text = isinstance(item, str) and len(settings.text_field) == 1
        add_record(
            builder, {settings.text_field[0]: item} if is_text else _with_numbers_as_text(item), settings,
            place=str(number),
        )  # fmt: skip
    return _with_own_problems(builder.finish())


def _with_own_problems(batch: Batch) -> Batch:
    """Return a batch with its problems in HTTP's terms."""
    for problem in batch.problems.values():
        in_http_terms(problem)
    return batch


def _parse_plain_objects(items: list[Any], settings: InputSettings) -> Batch | None:
    """Return objects whose texts and ids are all texts as documents; None if there are others."""
    if set(map(type, items)) != {dict}:
        return None
    try:
        columns = [[item[name] for item in items] for name in settings.text_field]
    except KeyError:
        return None
    ids = [item.get(settings.id_field) for item in items]
    labels = [item.get(settings.label_field) for item in items]
    if any(set(map(type, column)) != {str} for column in columns) or not PLAIN_NAMES.issuperset(map(type, ids)):
        return None
    if not PLAIN_NAMES.issuperset(map(type, labels)):
        return None
    names = [identity or str(number) for number, identity in enumerate(ids, 1)]
    return Batch(names, join_fields(columns, settings), labels)


def _with_numbers_as_text(item: Any) -> Any:
    """Return an object with its numbers as text, as the reader of JSON lines has them."""
    if not isinstance(item, dict):
        return str(item) if type(item) in (int, float) else item
    return {key: json.dumps(value) if type(value) in (int, float) else value for key, value in item.items()}


def loads(body: bytes) -> Any:
    """Return the value of JSON in UTF-8; HTTPException 400 if it is broken or nested too deep."""
    if _fast_loads is not None:
        try:
            return _fast_loads(body)
        except ValueError:
            pass  # the standard library accepts more, or says what is wrong
    try:
        return decoder.decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise HTTPException(400, f"broken JSON: {error.msg.removesuffix(' at')} at {where}") from None
    except RecursionError:
        raise HTTPException(400, "the JSON is nested too deep") from None


def dumps(value: Any) -> bytes:
    """Return a value as JSON on one line. NaN and infinity are null, lone surrogates are escapes."""
    if _fast_dumps is not None:
        try:
            return _fast_dumps(value)
        except TypeError:
            pass  # a text with a lone surrogate
    from nbtext.report.records import format_json

    text = format_json({"": value}, output_format="jsonl")[5:-2]
    return text.encode("utf-8", "backslashreplace")


def encode_object(records: Records) -> bytes:
    """Return the only record as a JSON object."""
    return dumps(next(iter(records)))


def encode_array(records: Records) -> bytes:
    """Return the records as a JSON array."""
    return dumps(list(records))


def encode_lines(records: Records) -> bytes:
    """Return each record as a line."""
    return b"".join(dumps(record) + b"\n" for record in records)


def parse_lines(block: LineBlock, settings: InputSettings) -> Batch:
    """Return lines of JSON as documents; an invalid line becomes a problem of its row."""
    return _with_own_problems(LineDocuments(block, "", None, UTF8, settings, parse_jsonl).batch())
