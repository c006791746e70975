"""Read JSON lines, an object on each line, and JSON arrays, `[{…}, …]`: a text, and optionally a
label and an id.

A compiled scanner parses flat objects, and lists of texts in them. It rejects other lines, which
the standard library's json then parses, so that the result is the same without it. The items of an
array are parsed one by one, so that memory is bounded.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import starmap
from typing import Any, NamedTuple

from nbtext.documents.batch import Batch, Block, make_batch, make_batch_of_objects
from nbtext.documents.blocks import ReadOptions, Row, group_items, read_raw_blocks
from nbtext.documents.decoding import BOM, decode_lines
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import text_of
from nbtext.documents.lines import LineDocuments, keep_lines, read_line_documents
from nbtext.documents.streams import ByteStream, origin_of
from nbtext.errors import InputError
from nbtext.kernel import choose_version

LARGE_CHARACTERS = 4 << 20  # of JSON, whose values are counted before they are parsed
MAX_JSON_VALUES = 2_000_000  # of such JSON; each takes 50 to 200 bytes
# by which an item of an array may exceed the limit of a document: it is read to its end, and is a
# problem of its own; a longer item ends the reading, because the rest of a broken file looks so
MAX_EXCESS = 1 << 20  # characters
TOO_DEEP = "lists and objects are nested too deep"
JSON_LINE_BLANKS = " \t\r"
ARRAY_HINT = "a JSON array is [item, item, ...]; is the file complete?"


def scan(
    data: bytes, text_names: Sequence[str], other_names: Sequence[str]
) -> tuple[Sequence[Sequence[str]], Sequence[list[str | bytes | None]]] | None:
    """Return None: the lines need a slower parser."""
    return None


scan = choose_version(scan)
_blanks = re.compile(r"[ \t\n\r]*")


def spell_float(digits: str) -> str | None:
    """Return a number of JSON with a point, an exponent or no digits as Python spells it; None for
    NaN.
    """
    return text_of(float(digits))


# numbers are kept as text: ids and labels may have more digits than a float can hold
decoder = json.JSONDecoder(
    parse_int=lambda digits: digits if digits != "-0" else "0",
    parse_float=spell_float,
    parse_constant=spell_float,
)


def parse_jsonl(lines: LineDocuments) -> Batch:
    """Return a batch in which each line that is not blank is a document."""
    batch = None
    with suppress(UnicodeError):
        batch = _parse_flat(lines)
    if batch is None:
        decoded = decode_lines(lines.block.data, lines.encoding)
        values: list[Any] = []
        numbers = []
        for line, text in enumerate(decoded.texts):
            if not text.strip(JSON_LINE_BLANKS):
                continue
            numbers.append(lines.block.first_line + line)
            try:
                values.append(_parse_line(text))
            except InputError as problem:
                values.append(problem)
        batch = make_batch_of_objects(values, lines.settings, origin=lines.origin, numbers=numbers)
        batch.count_repairs(decoded.repaired.values())
    if lines.settings.rows_for:
        batch.rows = keep_lines(
            lines,
            [int(line) - lines.block.first_line for line in batch.line_numbers or ()],
            "jsonl",
        )
    return batch


read_jsonl = partial(read_line_documents, parse=parse_jsonl)


def _parse_flat(lines: LineDocuments) -> Batch | None:
    """Parse lines that are all flat objects with texts in the text fields; return None for others.

    raises  UnicodeError: a text is not valid UTF-8
    """
    settings = lines.settings
    if not settings.text_field or settings.where:
        return None
    data = lines.block.data
    first = lines.block.first_line
    names = [*settings.label_names, *settings.options_of_fields, settings.id_field]
    found = scan(data, settings.text_field, names)
    if found is None:
        return None
    texts, others = found
    has_rule = settings.folder is not None or settings.label_separator is not None
    if has_rule and None in others[0]:
        # a missing key is the label of the folder; with a separator, an empty text has none
        return None

    def names_of(row: int) -> tuple[str, ...]:
        is_large = len(data) > LARGE_CHARACTERS
        return () if is_large else tuple(decoder.decode(data.split(b"\n", row + 1)[row].decode()))

    columns = dict(zip(names, others, strict=True))
    for name, values in columns.items():
        if bytes in set(map(type, values)):  # a list is the bytes of its JSON
            columns[name] = [
                decoder.decode(each.decode()) if isinstance(each, bytes) else each
                for each in values
            ]
    batch = make_batch(
        columns,
        settings,
        origin=lines.origin,
        numbers=range(first, first + len(texts[0])),
        problems={},
        names_of=names_of,
        scanned=texts,
    )
    return None if batch.problems else batch


def parse_object(line: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line; None if the line is something else."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _parse_line(line: str) -> Any:
    """Return the JSON value of a line, with its numbers as text."""
    check_values(line)
    try:
        return decoder.decode(line.removeprefix(BOM))
    except json.JSONDecodeError as error:
        is_continued = line.rstrip().endswith(("{", "[", ":", ","))
        hint = "each line must be one object (jq -c . FILE writes them so)" if is_continued else ""
        raise InputError(
            f"broken JSON: {error.msg.removesuffix(' at')} at column {error.colno}", hint=hint
        ) from None
    except RecursionError:
        raise InputError(TOO_DEEP) from None


def check_values(text: str) -> None:
    """Raise InputError if JSON has so many values that they would fill the memory."""
    if len(text) > LARGE_CHARACTERS and has_more_values(
        text.encode("utf-8", "surrogatepass"), MAX_JSON_VALUES
    ):
        raise InputError(
            f"the JSON has more than {MAX_JSON_VALUES:,} values",
            hint="leave out other keys, or split the document",
        )


def has_more_values(data: bytes, maximum: int) -> bool:
    """Return whether JSON has more values than `maximum`, by its commas and opening brackets
    outside of strings.
    """

    def count(start: int, stop: int) -> int:
        return sum(data.count(each, start, stop) for each in (b",", b"[", b"{"))

    if len(data) <= maximum or count(0, len(data)) <= maximum:
        return False
    data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    number = place = 0
    while number <= maximum and (start := data.find(b'"', place)) >= 0:
        number += count(place, start)
        place = data.find(b'"', start + 1) + 1 or len(data)
    return number + count(place, len(data)) > maximum


class Item(NamedTuple):
    """An item of a JSON array, or the error of one that is too long.

    Attributes
    ----------
    value : object
    length : int
        Its number of characters.
    repaired : int
        Its number of replacement characters for invalid bytes.
    gap, text : str
        What precedes it, and its own text, if rows are kept.
    """

    value: Any
    length: int
    repaired: int
    gap: str
    text: str


def read_json_array(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the items of a JSON array in blocks.

    Raises
    ------
    InputError
        The text is not a JSON array, or an item has more characters than a document may have.
    """
    settings = options.settings
    text = _Text(stream, options)
    origin = origin_of(stream.path)
    first_number = 1

    def block(items: list[Item], n_bytes: int, end: str = "") -> Block:
        nonlocal first_number
        numbers = range(first_number, first_number + len(items))
        rows = None
        if settings.rows_for:
            from nbtext.documents.rows import ObjectRows

            rows = ObjectRows(
                "json",
                stream.path,
                options.encoding,
                [
                    Row(number, item.gap, item.text)
                    for number, item in enumerate(items, first_number)
                ],
                end,
                newline="",
                is_start=first_number == 1,
                bom=stream.bom,
            )
        first_number = numbers.stop

        def parse() -> Batch:
            values = [item.value for item in items]
            batch = make_batch_of_objects(values, settings, origin=origin, numbers=numbers)
            batch.rows = rows
            return batch.count_repairs(item.repaired for item in items)

        return Block(parse, stream.newly_read(), n_bytes)

    yield from starmap(block, group_items(_read_items(text), lambda item: item.length))
    if settings.rows_for:
        yield block([], 0, text.take())


class _Text:
    """The decoded text of a stream, parsed up to `at`, and returned by `take` up to `taken`."""

    def __init__(self, stream: ByteStream, options: ReadOptions) -> None:
        self.encoding = options.encoding
        self.limit = options.settings.max_document_bytes
        self.buffer = ""
        self.at = self.taken = 0
        self.line = 1
        self.is_ended = False
        self.is_repaired = False
        self.keeps_rows = bool(options.settings.rows_for)
        self._origin = origin_of(stream.path)
        self._raw_blocks = read_raw_blocks(stream)
        # invalid bytes are lone surrogates, until an item is complete
        is_utf8 = self.encoding.codec == "utf-8"
        errors = "surrogateescape" if is_utf8 else "surrogatepass"
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def read_more(self) -> None:
        """Read until the rest is at least twice as long, so that a long item is parsed again only a
        few times.
        """
        if not self.keeps_rows:
            self.taken = self.at
        self.line += self.buffer.count("\n", 0, self.taken)
        self.buffer = self.buffer[self.taken :]
        self.at -= self.taken
        self.taken = 0
        blocks = [self.buffer]
        wanted = max(len(self.buffer), 1)
        while wanted > 0 and not self.is_ended:
            raw = next(self._raw_blocks, b"")
            self.is_ended = not raw
            text = self._decoder.decode(raw, final=self.is_ended)
            self.is_repaired |= self.encoding.repair(text) != text
            blocks.append(text)
            wanted -= len(text)
        self.buffer = "".join(blocks)

    def skip_blanks(self) -> str:
        """Return the next character that is not blank, "" at the end."""
        while True:
            blanks = _blanks.match(self.buffer, self.at)
            self.at = blanks.end() if blanks else self.at
            if self.at < len(self.buffer) or self.is_ended:
                return self.buffer[self.at : self.at + 1]
            self.read_more()

    def take(self) -> str:
        """Return the parsed text since the last call."""
        text = self.buffer[self.taken : self.at]
        self.taken = self.at
        return text

    def error(self, what: str, hint: str = ARRAY_HINT) -> InputError:
        """Return an error at the current line."""
        line = self.line + self.buffer.count("\n", 0, self.at)
        return InputError(what, where=f"{self._origin}{line}", hint=hint)


def _read_items(text: _Text) -> Iterator[Item]:
    """Yield each item."""
    if text.skip_blanks() != "[":
        raise text.error("is not a JSON array")
    separator = text.buffer[text.at]
    while separator != "]":
        text.at += 1
        if text.skip_blanks() == "]" and separator == "[":
            break
        yield _read_item(text)
        separator = text.skip_blanks()
        if separator not in (",", "]") or not separator:
            raise text.error("broken JSON: expected a comma or a closing bracket after an item")
    text.at += 1
    if text.skip_blanks():
        raise text.error("broken JSON: there is text after the array")


def _read_item(text: _Text) -> Item:
    gap = text.take()
    most = text.limit + MAX_EXCESS
    while True:
        broken = "the item has no end"
        try:
            value, end = decoder.raw_decode(text.buffer, text.at)
            # otherwise more digits of a number may follow
            is_whole = end < len(text.buffer) or text.is_ended
        except RecursionError:
            raise text.error(TOO_DEEP, "") from None
        except json.JSONDecodeError as error:
            broken = error.msg.removesuffix(" at")
            is_whole = False
        if is_whole and end - text.at <= most:
            text.at = end
            exact = text.take()
            repaired = 0
            if text.is_repaired:
                found = text.encoding.repair(exact)
                repaired = found.count("\ufffd") - exact.count("\ufffd")
                value = decoder.decode(found) if repaired else value
            if len(exact) > text.limit:
                value = too_long(text.limit)
            return Item(value, len(exact), repaired, gap, exact if text.keeps_rows else "")
        if len(text.buffer) - text.at > most:
            raise text.error(too_long(text.limit).what, "divide it, if the JSON is not broken")
        if text.is_ended:
            raise text.error(f"broken JSON: {broken}")
        text.read_more()
        try:
            check_values(text.buffer)
        except InputError as error:
            raise text.error(error.what, error.hint) from None
