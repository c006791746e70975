"""How sources are read: the options of that stage, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbtext.documents.formats import FORMAT_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSettings:
    """Which bytes are documents, and which of their fields are text, label and id."""

    input_format: str | None = field(default=None, metadata={"choices": FORMAT_NAMES})
    encoding: str = "utf-8"
    encoding_errors: str = field(default="replace", metadata={"choices": ("replace", "strict")})
    text_field: tuple[str, ...] = ("text",)
    label_field: str = "label"
    id_field: str = "id"
    separate_fields: bool = False
    split_field: str | None = None  # the column, key or header of the group or the timestamp of a document
    input_unit: str | None = None  # "file": a file of plain text is one document; else each of its lines is
    max_document_bytes: int = 100_000_000
    keeps_rows: bool = False  # batches keep the rows of the file, so that columns can be added to them
