"""How sources are read: the options of that stage, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbtext.documents.formats import FORMAT_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSettings:
    """Which bytes are documents, and which of their fields are text, label and id."""

    input_format: str | None = field(
        default=None,
        metadata={
            "choices": FORMAT_NAMES,
            "help": "What SOURCE holds, where the guess by its name is wrong: of a .txt, `lines` makes each line a "
            "text, `files` the whole.",
        },
    )
    encoding: str = field(
        default="utf-8",
        metadata={"help": "How the bytes spell text. A byte order mark (UTF-8, 16 or 32) wins over it."},
    )
    encoding_errors: str = field(
        default="replace",
        metadata={
            "choices": ("replace", "strict"),
            "help": "Invalid bytes: replace them (and say how many), or refuse the document.",
        },
    )
    text_field: tuple[str, ...] = field(
        default=("text",),
        metadata={
            "help": "The column, JSON key or mail header that holds text; several are separated by commas. "
            "A number counts the columns of a file without a header, from 1."
        },
    )
    label_field: str = field(default="label", metadata={"help": "The column, JSON key or mail header of the label."})
    id_field: str = field(default="id", metadata={"help": "The column, JSON key or mail header of the id."})
    separate_fields: bool = field(
        default=False,
        metadata={"help": "Keep the text fields apart, as features `field:word`, instead of joining them."},
    )
    mark_field: str | None = None  # the column, key or header of the group or the timestamp of a document
    input_unit: str | None = None  # "file": a file of plain text is one document; else each of its lines is
    max_document_bytes: int = field(
        default=100_000_000, metadata={"help": "A longer document is refused, so that memory stays bounded."}
    )
