"""Read JSON arrays, `[{…}, …]`. Each item is a document; items are parsed one by one, so that memory is bounded."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.documents.batch import Batch, BatchBuilder, Block
from nbtext.documents.blocks import ReadOptions, group_items, read_raw_blocks
from nbtext.documents.decompression import too_long
from nbtext.documents.jsonl import add_record, decoder, too_deep
from nbtext.documents.lines import origin_of
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream
from nbtext.errors import InputError

if TYPE_CHECKING:
    from nbtext.documents.rows import ObjectRows

ARRAY_HINT = "a JSON array is [item, item, ...]; is the file complete?"

_blanks = re.compile(r"[ \t\n\r]*")


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
        What precedes it, and its own text, if they are kept.
    """

    value: Any
    length: int
    repaired: int
    gap: str
    text: str


@dataclass(slots=True)
class ArrayDocuments:
    """Documents that are items of a JSON array."""

    items: list[Item]
    first_number: int
    origin: str
    settings: InputSettings
    rows: ObjectRows | None = None

    def batch(self) -> Batch:
        """Return the items as documents, with ids `FILE:NUMBER`. An error in an item becomes a problem of its row."""
        builder = BatchBuilder(self.settings)
        for number, item in enumerate(self.items, self.first_number):
            place = f"{self.origin}{number}"
            if isinstance(item.value, InputError):
                if self.rows is not None:  # as for a line that is too long
                    raise item.value.locate(place)
                builder.add_problem(item.value, place=place)
            else:
                add_record(builder, item.value, self.settings, place=place)
            builder.batch.repaired_documents += item.repaired > 0
            builder.batch.repaired_bytes += item.repaired
        batch = builder.finish()
        batch.rows = self.rows
        return batch


def read_json_array(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the items of a JSON array in blocks.

    Raises
    ------
    InputError
        The text is not a JSON array, or an item has more characters than a document may have.
    """
    settings, text, first_number = options.settings, _Text(stream, options), 1

    def block(items: list[Item], n_bytes: int, end: str = "") -> Block:
        nonlocal first_number
        rows = None
        if settings.keeps_rows:
            from nbtext.documents.rows import ObjectRows

            numbers = range(first_number, first_number + len(items))
            rows = ObjectRows(
                "json", stream.path, options.encoding, [item.text for item in items],
                [*(item.gap for item in items), end], numbers,
                newline="", is_start=first_number == 1, bom=stream.bom,
            )  # fmt: skip
        documents = ArrayDocuments(items, first_number, origin_of(stream.path), settings, rows)
        first_number += len(items)
        return Block(documents.batch, stream.newly_read(), n_bytes)

    yield from starmap(block, group_items(_read_items(text), lambda item: item.length))
    if settings.keeps_rows:
        yield block([], 0, text.take())


class _Text:
    """The decoded text of a stream, parsed up to `at`, and returned by `take` up to `_taken`."""

    def __init__(self, stream: ByteStream, options: ReadOptions) -> None:
        self.encoding = options.encoding
        self.path, self.limit = stream.path, options.settings.max_document_bytes
        self._keeps_text = options.settings.keeps_rows
        self._kept: list[str] = []
        self._taken = 0
        self.buffer, self.at, self.line = "", 0, 1
        self.is_ended = False
        self._raw_blocks = read_raw_blocks(stream)
        self._is_strict = self.encoding.is_strict or self._keeps_text
        is_utf8 = self.encoding.codec == "utf-8"
        errors = "surrogatepass" if not is_utf8 else "strict" if self._is_strict else "replace"
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def read_more(self) -> None:
        """Read until the rest is at least twice as long, so that a long item is parsed again only a few times."""
        self.line += self.buffer.count("\n", 0, self.at)
        if self._keeps_text:
            self._kept.append(self.buffer[self._taken : self.at])
        self._taken = 0
        self.buffer, self.at = self.buffer[self.at :], 0
        blocks, wanted = [self.buffer], max(len(self.buffer), 1)
        while wanted > 0 and not self.is_ended:
            raw = next(self._raw_blocks, b"")
            self.is_ended = not raw
            try:
                text = self._decoder.decode(raw, final=self.is_ended)
                repaired = text if self.encoding.codec == "utf-8" else self.encoding.repair(text)
                if self._is_strict and repaired != text:
                    raise ValueError
            except ValueError:
                hint = "name the --encoding, or give --encoding-errors replace"
                raise self.error(f"the bytes are not valid {self.encoding.codec}", hint) from None
            blocks.append(repaired)
            wanted -= len(repaired)
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
        """Return the parsed text since the last call; "" if text is not kept."""
        if not self._keeps_text:
            return ""
        text = "".join((*self._kept, self.buffer[self._taken : self.at]))
        self._kept, self._taken = [], self.at
        return text

    def error(self, what: str, hint: str = ARRAY_HINT) -> InputError:
        """Return an error at the current line."""
        line = self.line + self.buffer.count("\n", 0, self.at)
        return InputError(what, where=f"{origin_of(self.path)}{line}", hint=hint)


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
    while True:
        try:
            item, end = decoder.raw_decode(text.buffer, text.at)
        except RecursionError:
            raise text.error(too_deep().what, "") from None
        except JSONDecodeError as error:
            if text.is_ended:
                raise text.error(f"broken JSON: {error.msg.removesuffix(' at')}") from None
        else:
            if end < len(text.buffer) or text.is_ended:  # otherwise more digits of a number may follow
                length, repaired = end - text.at, text.buffer.count("\ufffd", text.at, end)
                text.at = end
                taken = text.take()
                value = item if length <= text.limit else too_long(text.limit)
                return Item(value, length, repaired, taken[:-length], taken[-length:])
        if len(text.buffer) - text.at > text.limit:
            raise text.error(
                too_long(text.limit).what, "raise the limit with --max-document-bytes, if the JSON is not broken"
            )
        text.read_more()
