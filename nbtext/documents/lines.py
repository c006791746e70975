"""Whole lines of a stream, and the two formats that need no more: plain lines, and fastText's `__label__a text`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nbtext.documents.batch import Batch
from nbtext.documents.blocks import Block, Span, line_blocks, pieces_of, span_blocks
from nbtext.documents.decoding import DecodedLines, Encoding, decode_lines, marked_encoding
from nbtext.documents.decompression import too_long
from nbtext.documents.files import located
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import STANDARD_INPUT, ByteStream

LABEL_MARK = "__label__"
SEVERAL_LABELS = "further label of a line"

_label_token = re.compile(rf"(?:^|(?<=\s)){LABEL_MARK}(\S*)\s?")


@dataclass(slots=True)
class LineChunk:
    """A block, and who reads it.

    origin  what comes before the number of a line in the id of a document: `path:`, nothing on standard input
    label   of every document, where the format has none
    parse   makes the batch of a block that is not too long
    """

    block: Block
    origin: str
    label: str | None
    encoding: Encoding
    settings: ReadingSettings
    parse: Callable[[LineChunk], Batch]

    @property
    def size(self) -> int:
        """The bytes of the file that were read for it."""
        return self.block.size

    def batch(self) -> Batch:
        """Decode and parse the lines; what is wrong with a line is a problem of its row."""
        if not self.block.is_too_long:
            return self.parse(self)
        identity = self.place(0)
        problem = located(too_long(self.settings.max_document_bytes), identity)
        n_columns = len(self.settings.text_field) if self.settings.separate_fields else 1
        return Batch([identity], tuple([""] for _ in range(n_columns)), [None], {0: problem})

    def place(self, line: int) -> str:
        """Where the line is, the first line of the block being 0."""
        return f"{self.origin}{self.block.first_line + line}"

    def places(self, n_lines: int) -> list[str]:
        """Where each of the first lines is."""
        origin, first = self.origin, self.block.first_line
        return [f"{origin}{line}" for line in range(first, first + n_lines)]


def line_chunks(
    stream: ByteStream,
    parse: Callable[[LineChunk], Batch],
    encoding: Encoding,
    settings: ReadingSettings,
    *,
    label: str | None = None,
    span: Span | None = None,
) -> Iterator[LineChunk]:
    """The lines of a stream, or of a span of its file, in chunks."""
    origin = origin_of(stream.path)
    encoding, mark = marked_encoding(stream.head(), encoding)
    stream.skip(mark)
    limit = settings.max_document_bytes
    if span is not None:
        blocks = span_blocks(stream.location, span, mark, encoding, limit)
    else:
        blocks = line_blocks(pieces_of(stream), encoding, limit, position=lambda: stream.position)
    for block in blocks:
        yield LineChunk(block, origin, label, encoding, settings, parse)


def origin_of(path: str) -> str:
    """What comes before the number of a line in an id."""
    return "" if path == STANDARD_INPUT else f"{path}:"


def parse_lines(chunk: LineChunk) -> Batch:
    """Each line is a document."""
    decoded = decode_lines(chunk.block.data, chunk.encoding)
    texts = [text.removesuffix("\r") for text in decoded.texts]
    return batch_of_lines(chunk, decoded, texts, [chunk.label] * len(texts))


def parse_fasttext(chunk: LineChunk) -> Batch:
    """Each line is a document; words that begin with `__label__` are its labels, of which the first counts."""
    decoded = decode_lines(chunk.block.data, chunk.encoding)
    texts: list[str] = []
    labels: list[str | None] = []
    n_several = 0
    for line in decoded.texts:
        label, text, has_several = _labelled(line.removesuffix("\r"))
        texts.append(text)
        labels.append(label or None)
        n_several += has_several
    batch = batch_of_lines(chunk, decoded, texts, labels)
    if n_several:
        batch.notes[SEVERAL_LABELS] = n_several
    return batch


def batch_of_lines(chunk: LineChunk, decoded: DecodedLines, texts: list[str], labels: list[str | None]) -> Batch:
    """A document a line, with the repairs and problems of decoding them."""
    batch = Batch(chunk.places(len(texts)), (texts,), labels)
    batch.repaired_documents, batch.repaired_bytes = len(decoded.repaired), sum(decoded.repaired.values())
    for row, problem in decoded.problems.items():
        batch.problems[row] = located(problem, chunk.place(row))
        texts[row], labels[row] = "", None
    return batch


def _labelled(line: str) -> tuple[str | None, str, bool]:
    """The first label of a line, the text without its labels, and whether there are several."""
    n_marks = line.count(LABEL_MARK)
    if n_marks == 0:
        return None, line, False
    if n_marks == 1 and line.startswith(LABEL_MARK):
        label, *text = line.split(None, 1)
        return label[len(LABEL_MARK) :], text[0] if text else "", False
    found = _label_token.findall(line)
    return (found[0] if found else None), _label_token.sub("", line), len(found) > 1
