"""JSON lines: an object a line, with a text, and perhaps a label and an id.

Flat objects are read by a compiled scanner, others by orjson where it is installed; the standard library's json says
what a line means wherever either has any doubt, so that the result is the same without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

from nbtext.documents.batch import Batch, as_columns, marked
from nbtext.documents.decoding import decode_lines
from nbtext.documents.files import located
from nbtext.documents.lines import LineChunk
from nbtext.errors import InputError

try:
    from nbtext.documents._lines import scan
except ImportError:  # not compiled here

    def scan(
        data: bytes, text_names: Sequence[str], other_names: Sequence[str]
    ) -> tuple[list[list[str]], list[list[str | None]]] | None:
        """All is unusual."""
        return None


DEEPEST = 500  # objects and lists within one another; the recursion of json ends above, that of orjson at 1,024
MOST_KEYS_SAID = 20
NAME_KINDS = {str, type(None), int, bool}  # what orjson reads just as json does
JSON_NAMES = {dict: "an object", list: "a list", str: "a text or a number", bool: "a truth value", type(None): "null"}
JSON_BLANKS = " \t\r"

_string = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def _spelled_whole(digits: str) -> str:
    return digits if digits != "-0" else "0"


# numbers stay as they are spelled: they are names here, and may have more digits than an int or a float can hold
_decoder = json.JSONDecoder(parse_int=_spelled_whole, parse_float=str, parse_constant=lambda _: None)


def _orjson_loads() -> Callable[[bytes], Any] | None:
    try:
        from orjson import loads  # so spelled, what another thread is about to find broken is an ImportError here too
    except ImportError:
        return None
    return loads


class _InDoubtError(Exception):
    """The fast way cannot tell: json must."""


def parse_jsonl(chunk: LineChunk) -> Batch:
    """Each line that is not blank is a document."""
    for parse in (_parse_flat, _parse_fast):
        try:
            return parse(chunk)
        except (_InDoubtError, ValueError, LookupError, TypeError):
            pass  # an unusual line: a more careful way knows which, and what to say
    return _parse_carefully(chunk)


def _parse_flat(chunk: LineChunk) -> Batch:
    """Lines that all are flat objects with texts where texts should be; raises an error on others."""
    settings = chunk.settings
    marks = (settings.mark_field,) if settings.mark_field is not None else ()
    found = scan(_utf8(chunk), settings.text_field, (settings.label_field, settings.id_field, *marks))
    if found is None:
        raise _InDoubtError
    fields, names = found
    return _batch(chunk, fields, *names)


def _batch(
    chunk: LineChunk,
    fields: list[list[str]],
    labels: list[str | None],
    ids: list[str | None],
    marks: list[str | None] | None = None,
) -> Batch:
    if marks is not None and not all(marks):
        raise _InDoubtError
    named = [identity or chunk.place(line) for line, identity in enumerate(ids)]
    batch = Batch(named, as_columns(fields, are_separate=chunk.settings.separate_fields), labels)
    batch.marks = [mark or "" for mark in marks] if marks is not None else None
    return batch


def _parse_fast(chunk: LineChunk) -> Batch:
    """Lines that all are objects with texts where texts should be; raises any of several errors on others."""
    settings, loads = chunk.settings, _orjson_loads()
    if loads is None:
        raise _InDoubtError
    lines = _utf8(chunk).split(b"\n")
    if not lines[-1]:
        lines.pop()
    records = list(map(loads, lines))
    if not {dict, list}.isdisjoint(map(type, chain.from_iterable(map(dict.values, records)))):
        _check_depths(lines)
    fields = [[record[name] for record in records] for name in settings.text_field]
    if any(set(map(type, field)) != {str} for field in fields):
        raise _InDoubtError
    labels = _spelled([record.get(settings.label_field) for record in records])
    ids = _spelled([record.get(settings.id_field) for record in records])
    if settings.mark_field is None:
        return _batch(chunk, fields, labels, ids)
    return _batch(chunk, fields, labels, ids, _spelled([record[settings.mark_field] for record in records]))


def _utf8(chunk: LineChunk) -> bytes:
    data, codec = chunk.block.data, chunk.encoding.codec
    return data if codec == "utf-8" else data.decode(codec).encode()


def _check_depths(lines: list[bytes]) -> None:
    if any(line.count(b"[") + line.count(b"{") > DEEPEST for line in lines):
        raise _InDoubtError


def _spelled(values: list[Any]) -> list[str | None]:
    """Names as text: numbers and truth values as JSON spells them, None where there is none."""
    kinds = set(map(type, values))
    if not kinds <= NAME_KINDS:
        raise _InDoubtError
    if kinds - {str, type(None)}:
        values = [value if isinstance(value, str | None) else json.dumps(value) for value in values]
    return [value or None for value in values] if "" in values else values


def _parse_carefully(chunk: LineChunk) -> Batch:
    """Any lines, one by one, by the standard library."""
    settings = chunk.settings
    decoded = decode_lines(chunk.block.data, chunk.encoding)
    rows = [n for n, line in enumerate(decoded.texts) if line.strip(JSON_BLANKS) or n in decoded.problems]
    fields: list[list[str]] = [[] for _ in settings.text_field]
    batch = Batch([], (), [], marks=[] if settings.mark_field is not None else None)
    for row, number in enumerate(rows):
        place, texts, label, identity, mark = chunk.place(number), [""] * len(fields), None, None, ""
        try:
            if number in decoded.problems:
                raise decoded.problems[number]
            record = _record(decoded.texts[number])
            identity = _name(record, settings.id_field)
            texts, label = _texts(record, settings.text_field), _name(record, settings.label_field)
            if settings.mark_field is not None:
                mark = marked(_name(record, settings.mark_field), settings.mark_field)
        except InputError as problem:
            batch.problems[row] = located(problem, place)
        batch.ids.append(identity or place)
        batch.labels.append(label or None)
        if batch.marks is not None:
            batch.marks.append(mark)
        for field, text in zip(fields, texts, strict=True):
            field.append(text)
    batch.columns = as_columns(fields, are_separate=settings.separate_fields)
    batch.repaired_documents, batch.repaired_bytes = len(decoded.repaired), sum(decoded.repaired.values())
    return batch


def _record(line: str) -> dict[str, Any]:
    """The object of a line, its numbers as they are spelled."""
    if line.count("[") + line.count("{") > DEEPEST and _depth(line) > DEEPEST:
        raise _too_deep()
    try:
        record = _decoder.decode(line)
    except json.JSONDecodeError as error:
        hint = "one object a line is wanted (jq -c makes it so)" if line.strip() in ("{", "[") else ""
        raise InputError(f"broken JSON: {error.msg.removesuffix(' at')} at column {error.colno}", hint=hint) from None
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(record, dict):
        hint = "jq -c '.[]' makes lines of a list" if isinstance(record, list) else ""
        raise InputError(f"expected an object, found {_kind(record)}", hint=hint)
    return record


def _texts(record: dict[str, Any], names: Sequence[str]) -> list[str]:
    """The text of each field; one that is null is empty, unless all are."""
    for name in names:
        if name not in record:
            found = ", ".join(list(record)[:MOST_KEYS_SAID]) or "none"
            raise InputError(f"no key `{name}`, found {found}", hint="name the key of the text with --text-field")
    texts = [_name(record, name) for name in names]
    if all(text is None for text in texts):
        raise InputError(f"`{names[0]}` is null", hint="name the key of the text with --text-field")
    return [text or "" for text in texts]


def _name(record: dict[str, Any], name: str) -> str | None:
    """A value as text: numbers and truth values as JSON spells them."""
    value = record.get(name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    raise InputError(f"`{name}` is {_kind(value)}, expected a text")


def _kind(value: Any) -> str:
    return JSON_NAMES[type(value)]


def _depth(line: str) -> int:
    """How deep objects and lists lie within one another, outside of strings."""
    steps = (1 if mark in "[{" else -1 for mark in re.findall(r"[\[\]{}]", _string.sub("", line)))
    return max(accumulate(steps), default=0)


def _too_deep() -> InputError:
    return InputError(f"lists and objects lie more than {DEEPEST} deep within one another")
