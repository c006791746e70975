"""Drawn documents as records that can be learned from: a label and a text, or a text for each field."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from nbtext.errors import printable
from nbtext.model.generation import DrawnDocument
from nbtext.report.fields import FORMS, json_list, markdown_field, tsv_field

Header = tuple[str, ...]


def write_samples(documents: Iterable[DrawnDocument], file: BinaryIO, *, form: str, fields: tuple[str, ...]) -> None:
    """Write a record for each document to a file, in UTF-8, as they come.

    fields  the names of the texts; () where there is only one
    """
    for text in _WRITERS[form](documents, ("label", *(fields or ("text",)))):
        file.write(text.encode("utf-8", "backslashreplace"))


def _tsv(documents: Iterable[DrawnDocument], header: Header) -> Iterator[str]:
    for row in (header, *((label, *texts) for label, texts in documents)):
        yield "\t".join(map(tsv_field, row)) + "\n"


def _csv(documents: Iterable[DrawnDocument], header: Header) -> Iterator[str]:
    for row in (header, *((label, *texts) for label, texts in documents)):
        line = io.StringIO()
        csv.writer(line).writerow(row)
        yield line.getvalue()


def _markdown(documents: Iterable[DrawnDocument], header: Header) -> Iterator[str]:
    yield f"| {' | '.join(map(markdown_field, header))} |\n{'|---' * len(header)}|\n"
    for label, texts in documents:
        yield f"| {' | '.join(map(markdown_field, (label, *texts)))} |\n"


def _table(documents: Iterable[DrawnDocument], _: Header) -> Iterator[str]:
    """Lines for a terminal: the label, and the words."""
    for label, texts in documents:
        yield f"{printable(label)}  {'  |  '.join(map(printable, texts))}\n"


def _jsonl(documents: Iterable[DrawnDocument], header: Header) -> Iterator[str]:
    for record in _encoded(documents, header):
        yield record + "\n"


def _json(documents: Iterable[DrawnDocument], header: Header) -> Iterator[str]:
    return json_list(_encoded(documents, header))


def _encoded(documents: Iterable[DrawnDocument], header: Header) -> Iterator[str]:
    for label, texts in documents:
        yield json.dumps(dict(zip(header, (label, *texts), strict=True)), ensure_ascii=False)


_WRITERS: dict[str, Callable[[Iterable[DrawnDocument], Header], Iterator[str]]] = dict(
    zip(FORMS, (_table, _tsv, _csv, _jsonl, _json, _markdown), strict=True)
)
