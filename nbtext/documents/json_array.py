"""Read JSON arrays, `[{…}, …]`. Each item is a document; items are parsed one by one, so that memory is bounded."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

from nbtext.documents.batch import Batch, BatchBuilder
from nbtext.documents.blocks import ReadOptions, read_raw_blocks
from nbtext.documents.decompression import too_long
from nbtext.documents.jsonl import add_record, decoder, too_deep
from nbtext.documents.lines import origin_of
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream
from nbtext.errors import InputError

if TYPE_CHECKING:
    from nbtext.documents.rows import ObjectRows

BLOCK_ITEMS = 1 << 12
BLOCK_CHARACTERS = 1 << 20
ARRAY_HINT = "a JSON array is [item, item, ...]; is the file complete?"

_blanks = re.compile(r"[ \t\n\r]*")


@dataclass(slots=True)
class ArrayDocuments:
    """Documents that are items of a JSON array: the value and the number of replacement characters of each."""

    items: list[tuple[Any, int]]
    first_number: int
    origin: str
    settings: InputSettings
    size: int
    rows: ObjectRows | None = None

    def batch(self) -> Batch:
        """Return the items as documents, with ids `FILE:NUMBER`. An error in an item becomes a problem of its row."""
        builder = BatchBuilder(self.settings)
        for number, (item, repaired) in enumerate(self.items, self.first_number):
            place = f"{self.origin}{number}"
            if isinstance(item, InputError):
                if self.rows is not None:  # as for a line that is too long
                    raise item.locate(place)
                builder.add_problem(item, place=place)
            else:
                add_record(builder, item, self.settings, place=place)
            builder.batch.repaired_documents += repaired > 0
            builder.batch.repaired_bytes += repaired
        batch = builder.finish()
        batch.rows = self.rows
        return batch


def read_json_array(stream: ByteStream, options: ReadOptions) -> Iterator[ArrayDocuments]:
    """Yield the items of a JSON array in blocks.

    Raises
    ------
    InputError
        The text is not a JSON array, or an item has more characters than a document may have.
    """
    settings, origin = options.settings, origin_of(stream.path)
    text = _Text(stream, options)
    items: list[tuple[Any, int]] = []
    texts: list[str] = []
    gaps: list[str] = []
    first_number, n_characters, position = 1, 0, 0

    def block() -> ArrayDocuments:
        rows = text.keep_rows(texts, gaps, first_number) if settings.keeps_rows else None
        return ArrayDocuments(items, first_number, origin, settings, stream.position - position, rows)

    for item, length, repaired in _read_items(text):
        items.append((item, repaired))
        n_characters += length
        if settings.keeps_rows:
            piece = text.take()
            gaps.append(piece[:-length])
            texts.append(piece[-length:])
        if len(items) == BLOCK_ITEMS or n_characters >= BLOCK_CHARACTERS:
            gaps.append("")
            yield block()
            n_items, items, texts, gaps = len(items), [], [], []
            first_number, n_characters, position = first_number + n_items, 0, stream.position
    gaps.append(text.take())
    if items or settings.keeps_rows:
        yield block()


class _Text:
    """The decoded text of a stream, parsed up to `at`, and returned by `take` up to `_taken`."""

    def __init__(self, stream: ByteStream, options: ReadOptions) -> None:
        self.encoding, self.bom = options.encoding, stream.bom
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
        """Return the parsed text since the last call, if text is kept."""
        text = "".join((*self._kept, self.buffer[self._taken : self.at]))
        self._kept, self._taken = [], self.at
        return text

    def keep_rows(self, texts: list[str], gaps: list[str], first_number: int) -> ObjectRows:
        """Return the text of the items of a block, and what is between them."""
        from nbtext.documents.rows import ObjectRows

        numbers = range(first_number, first_number + len(texts))
        is_start = first_number == 1
        return ObjectRows(
            "json", self.path, self.encoding, texts, gaps, numbers, newline="", is_start=is_start, bom=self.bom
        )

    def error(self, what: str, hint: str = ARRAY_HINT) -> InputError:
        """Return an error at the current line."""
        line = self.line + self.buffer.count("\n", 0, self.at)
        return InputError(what, where=f"{origin_of(self.path)}{line}", hint=hint)


def _read_items(text: _Text) -> Iterator[tuple[Any, int, int]]:
    """Yield each item, its length in characters, and its number of replacement characters for invalid bytes."""
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


def _read_item(text: _Text) -> tuple[Any, int, int]:
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
                return (item if length <= text.limit else too_long(text.limit)), length, repaired
        if len(text.buffer) - text.at > text.limit:
            raise text.error(
                too_long(text.limit).what, "raise the limit with --max-document-bytes, if the JSON is not broken"
            )
        text.read_more()
