"""Read JSON lines: an object on each line, with a text, and optionally a label and an id.

A compiled scanner parses flat objects, and lists of texts in them. It rejects other lines, which the standard library's
json then parses, so that the result is the same without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, cast

from nbtext.documents.batch import Batch, BatchBuilder, Block, format_names, join_fields
from nbtext.documents.blocks import ReadOptions
from nbtext.documents.decoding import decode_lines
from nbtext.documents.labels import Label, read_indicators, read_label, read_record_label, split_label
from nbtext.documents.lines import LineDocuments, keep_lines, read_line_documents
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream
from nbtext.errors import InputError
from nbtext.kernel import choose_version

MAX_DEPTH = 500  # of nested objects and lists; less than the limit of json (recursion)
JSON_TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a string or a number",
    bool: "a boolean",
    type(None): "null",
}
JSON_BLANKS = " \t\r"
TEXT_HINT = "name the key of the text with --text-field"


def scan(
    data: bytes, text_names: Sequence[str], id_name: str, other_names: Sequence[str], origin: str, first_line: int
) -> tuple[Sequence[Sequence[str]], Sequence[str], Sequence[list[str | bytes | None]]] | None:
    """Return None: the lines need a slower parser."""
    return None


scan = choose_version(scan)
_string = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)

# numbers are kept as text: ids and labels may have more digits than a float can hold
decoder = json.JSONDecoder(
    parse_int=lambda digits: digits if digits != "-0" else "0", parse_float=str, parse_constant=lambda _: None
)


class _UnusualLineError(Exception):
    """The scanner rejects a line, which json must parse."""


def read_jsonl(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the documents of JSON lines: each line that is not blank is one."""
    return read_line_documents(stream, options, parse_jsonl)


def parse_jsonl(lines: LineDocuments) -> Batch:
    """Return a batch in which each line that is not blank is a document."""
    try:
        batch = _parse_flat(lines)
    except (_UnusualLineError, InputError, json.JSONDecodeError, UnicodeError):
        batch = _parse_with_json(lines)  # or reports an error
    if lines.settings.keeps_rows:
        places = [line - lines.block.first_line for line in batch.line_numbers or ()]
        batch.rows = keep_lines(lines, places, "jsonl")
    return batch


def _parse_flat(lines: LineDocuments) -> Batch:
    """Parse lines that are all flat objects with texts in the text fields; raise an error for others."""
    settings = lines.settings
    groups = (settings.split_field,) if settings.split_field is not None else ()
    label_fields = settings.label_fields or (settings.label_field,)
    origin, first = lines.origin, lines.block.first_line
    columns = scan(lines.block.data, settings.text_field, settings.id_field, (*groups, *label_fields), origin, first)
    if columns is None:
        raise _UnusualLineError
    texts, ids, others = columns
    split = _require_texts(others[0]) if groups else None
    if settings.label_fields:
        rows = zip(*map(_require_texts, others[len(groups) :]), strict=True)
        labels = [read_indicators(settings.label_fields, row, settings) for row in rows]
    else:
        if settings.label_separator is not None and None in others[-1]:
            raise _UnusualLineError  # an empty text is a list without labels, but a missing key is not
        read = {value: _read_scanned(value, settings) for value in set(others[-1])}
        labels = [read[value] for value in others[-1]]
    if split is not None and not all(split):
        raise _UnusualLineError
    batch = Batch(ids, join_fields(texts, settings), [], origin=origin)
    batch.set_labels(labels)
    batch.line_numbers = range(first, first + len(ids))
    batch.groups = [group or "" for group in split] if split is not None else None
    if None in labels:
        row = labels.index(None)
        batch.names = tuple(decoder.decode(lines.block.data.split(b"\n", row + 1)[row].decode()))
    return batch


def _require_texts(values: list[str | bytes | None]) -> list[str | None]:
    """Return scanned values, which must not be lists."""
    if bytes in set(map(type, values)):
        raise _UnusualLineError
    return cast("list[str | None]", values)


def _read_scanned(value: str | bytes | None, settings: InputSettings) -> Label:
    """Return the labels of a text, or of the JSON of a list."""
    if isinstance(value, bytes):
        return read_label(decoder.decode(value.decode()), settings.label_field, settings)
    return split_label(value, settings)


def _parse_with_json(lines: LineDocuments) -> Batch:
    """Parse any lines, one by one, with the standard library."""
    decoded = decode_lines(lines.block.data, lines.encoding)
    builder = BatchBuilder(lines.settings, lines.origin)
    for number, line in enumerate(decoded.texts):
        if not line.strip(JSON_BLANKS) and number not in decoded.problems:
            continue
        place, line_number = lines.place(number), lines.block.first_line + number
        try:
            if number in decoded.problems:
                raise decoded.problems[number]
            record = _parse_line(line)
        except InputError as problem:
            if lines.settings.keeps_rows and not lines.settings.corrects_rows:  # no key can be added to the line
                raise problem.locate(place) from None
            builder.add_problem(problem, place=place, line=line_number)
        else:
            add_record(builder, record, lines.settings, place=place, line=line_number)
    batch = builder.finish()
    batch.repaired_documents, batch.repaired_bytes = len(decoded.repaired), sum(decoded.repaired.values())
    return batch


def add_record(
    builder: BatchBuilder, record: Any, settings: InputSettings, *, place: str, line: int | None = None
) -> None:
    """Add a JSON value, which should be an object, as a document. An error in it becomes a problem of its row."""
    identity = None
    try:
        if not isinstance(record, dict):
            hint = "jq -c '.[]' writes the items of a list as lines" if isinstance(record, list) else ""
            raise InputError(f"expected an object, found {JSON_TYPE_NAMES[type(record)]}", hint=hint)
        identity = _name(record, settings.id_field)
        texts, label = _texts(record, settings.text_field), read_record_label(record, settings)
        group = _name(record, settings.split_field) if settings.split_field is not None else None
    except InputError as problem:
        builder.add_problem(problem, place=place, identity=identity, line=line)
        return
    if label is None and not builder.batch.names:
        builder.batch.names = tuple(record)
    builder.add(texts, place=place, identity=identity, label=label, group=group, line=line)


def _parse_line(line: str) -> Any:
    """Return the JSON value of a line, with its numbers as text."""
    if line.count("[") + line.count("{") > MAX_DEPTH and _depth(line) > MAX_DEPTH:
        raise too_deep()
    try:
        return decoder.decode(line)
    except json.JSONDecodeError as error:
        hint = "each line must be one object (jq -c converts the file)" if line.strip() in ("{", "[") else ""
        raise InputError(f"broken JSON: {error.msg.removesuffix(' at')} at column {error.colno}", hint=hint) from None
    except RecursionError:
        raise too_deep() from None


def _texts(record: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return the text of each field; null is an empty text, but an error if all fields are null."""
    for name in names:
        if name not in record:
            raise InputError(f"no key `{name}`, found {format_names(list(record))}", hint=TEXT_HINT)
    texts = [_name(record, name) for name in names]
    if all(text is None for text in texts):
        raise InputError(f"`{names[0]}` is null", hint=TEXT_HINT)
    return [text or "" for text in texts]


def _name(record: dict[str, Any], name: str) -> str | None:
    """Return a value as text, numbers and booleans as in JSON."""
    value = record.get(name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    raise InputError(f"`{name}` is {JSON_TYPE_NAMES[type(value)]}, expected a string")


def _depth(line: str) -> int:
    """Return the nesting depth of objects and lists, without brackets in strings."""
    steps = (1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", _string.sub("", line)))
    return max(accumulate(steps), default=0)


def too_deep() -> InputError:
    """Return the error for JSON that is nested too deep."""
    return InputError(f"lists and objects are nested more than {MAX_DEPTH} deep")
