"""Documents that are lines of a stream, and two of their formats: plain lines, and fastText's
lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from nbtext.documents.batch import Batch, Block, make_unreadable_batch
from nbtext.documents.blocks import (
    LineBlock,
    ReadOptions,
    Row,
    read_line_blocks,
    read_range,
    read_raw_blocks,
)
from nbtext.documents.decoding import BOM, Encoding, decode_lines
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import collect_labels, split_fasttext
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import STANDARD_INPUT, ByteStream, origin_of
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.documents.rows import TextRows


@dataclass
class LineDocuments:
    """Documents that are the lines of a block.

    Attributes
    ----------
    block : LineBlock
    origin : str
        The prefix of line numbers in ids: `FILE:`, or "" for standard input.
    encoding : Encoding
    settings : InputSettings
    bom : bytes
        The byte order mark of the file.
    """

    block: LineBlock
    origin: str
    encoding: Encoding
    settings: InputSettings
    bom: bytes = b""

    def place(self, line: int) -> str:
        """Return the place of a line; the first line of the block is line 0."""
        return f"{self.origin}{self.block.first_line + line}"


def read_line_documents(
    stream: ByteStream, options: ReadOptions, parse: Callable[[LineDocuments], Batch]
) -> Iterator[Block]:
    """Yield the lines of a stream, or of a range of its file, in blocks, which `parse` makes
    documents of. A line that is too long is a document that cannot be read.
    """
    origin = origin_of(stream.path)
    encoding = options.encoding
    limit = options.settings.max_document_bytes
    if options.byte_range is not None:
        blocks = read_range(stream.location, options.byte_range, len(stream.bom), encoding, limit)
    else:
        blocks = read_line_blocks(read_raw_blocks(stream), limit, newly_read=stream.newly_read)

    def parse_block(lines: LineDocuments) -> Batch:
        if not lines.block.is_too_long:
            return parse(lines)
        problem = too_long(limit).locate(lines.place(0))
        if lines.settings.rows_for:  # the block has no bytes
            raise problem
        return make_unreadable_batch(problem.where, problem, lines.settings)

    def wrap(block: LineBlock) -> Block:
        lines = LineDocuments(block, origin, encoding, options.settings, stream.bom)
        return Block(partial(parse_block, lines), block.size, len(block.data))

    return map(wrap, blocks)  # which keeps no block, as a generator would


def parse_lines(lines: LineDocuments) -> Batch:
    """Return a batch in which each line is a document."""
    decoded = decode_lines(lines.block.data, lines.encoding)
    texts = [text.removesuffix("\r") for text in decoded.texts]
    labels = [lines.settings.folder] * len(texts)
    batch = Batch(list(map(lines.place, range(len(texts)))), (texts,), labels)
    return batch.count_repairs(decoded.repaired.values())


def parse_fasttext(lines: LineDocuments) -> Batch:
    """Return a batch in which each line of fastText's format is a document, with its labels as
    words `__label__NAME`.

    Blank lines are skipped.
    """
    batch = parse_lines(lines)
    kept = [row for row, text in enumerate(batch.columns[0]) if text.strip()]
    if len(kept) < len(batch):
        batch = batch.take(kept)
    parts = [split_fasttext(line.removeprefix(BOM)) for line in batch.columns[0]]
    batch.columns = ([text for _, text in parts],)
    batch.labels = [
        collect_labels(labels) if len(labels) > 1 else "".join(labels) or None
        for labels, _ in parts
    ]
    if lines.settings.rows_for:
        batch.rows = keep_lines(lines, kept, "fasttext")
    return batch


def keep_lines(lines: LineDocuments, places: list[int], name: str) -> TextRows:
    """Return the rows of a block, each of which is a line.

    places  the place in the block of the line of each document
    name    of the format
    """
    from nbtext.documents.rows import ObjectRows, TextRows

    block = lines.block
    encoding = lines.encoding
    texts = re.findall(r"[^\n]*\n|[^\n]+", encoding.decode_exactly(block.data))
    kind = TextRows if name == "fasttext" else ObjectRows
    rows = [
        Row(block.first_line + place, "".join(texts[last + 1 : place]), texts[place])
        for last, place in pairwise([-1, *places])
    ]
    return kind(
        name,
        lines.origin.removesuffix(":") or STANDARD_INPUT,
        encoding,
        rows,
        "".join(texts[places[-1] + 1 :] if places else texts),
        is_start=block.first_line == 1,
        bom=lines.bom,
    )


read_lines = partial(read_line_documents, parse=parse_lines)
read_fasttext = partial(read_line_documents, parse=parse_fasttext)
