"""The settings of reading sources."""

from __future__ import annotations

from dataclasses import field, replace

from nbtext.documents.formats import FORMAT_NAMES
from nbtext.records import dataclass

DEFAULT_TEXT, DEFAULT_LABEL = ("text",), "label"


@dataclass(frozen=True, slots=True)
class ModelInput:
    """What the documents were that a model was trained on; its other commands read their sources in the same way.

    unit         "file", "line", "row" or "mail"; None: not known, or not the same in all sources
    text_field   columns, keys or mail headers of the text, in sources of this unit
    label_field  column, key or mail header of the label
    separate_fields  whether each text field has its own features
    label_separator  separator of several labels in a text; None: a text is one label
    label_fields  columns or keys of 0 and 1, one for each label, instead of `label_field`
    """

    unit: str | None = None
    text_field: tuple[str, ...] = DEFAULT_TEXT
    label_field: str = DEFAULT_LABEL
    separate_fields: bool = False
    label_separator: str | None = None
    label_fields: tuple[str, ...] = ()


UNKNOWN_INPUT = ModelInput()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSettings:
    """How sources are divided into documents, and which fields are the text, the label and the id."""

    input_format: str | None = field(default=None, metadata={"choices": FORMAT_NAMES})
    encoding: str = "utf-8"
    encoding_errors: str = field(default="replace", metadata={"choices": ("replace", "strict")})
    text_field: tuple[str, ...] = DEFAULT_TEXT
    label_field: str = DEFAULT_LABEL
    id_field: str = "id"
    separate_fields: bool = False
    split_field: str | None = None  # the column, key or header of the group or the timestamp of a document
    split_option: str = "--group-field"  # the option that names it
    label: str | None = None  # of all documents; None: their own labels
    label_separator: str | None = None  # between several labels in a text; None: a text is one label
    label_fields: tuple[str, ...] = ()  # columns or keys of 0 and 1, one for each label, instead of label_field
    single_label: bool = False  # a document with several labels is an error
    exclude: tuple[str, ...] = ()  # patterns of files and folders of a directory that are skipped
    exclude_ids: frozenset[str] = frozenset()  # ids of excluded documents
    input_unit: str | None = None  # "file", "mail": a file of plain text is one document; else each of its lines is
    is_text_remembered: bool = False  # the text fields are those of the training documents
    is_label_remembered: bool = False  # the label fields are those of the training documents, and may be missing
    fields_of: str | None = None  # the fields are those of sources of this unit; others have the default ones
    query: str | None = None  # SQL whose rows are the documents of a database
    max_document_bytes: int = 100_000_000
    keeps_rows: bool = False  # batches keep the rows of the file, so that columns can be added to them
    corrects_rows: bool = False  # batches keep the rows of the file, if its format has rows with fields or labels

    @property
    def label_names(self) -> tuple[str, ...]:
        """The columns or keys that hold labels."""
        return self.label_fields or (self.label_field,)

    def of_unit(self, unit: str) -> InputSettings:
        """Return the settings for a source of a unit; fields that belong to another unit become the default ones."""
        if self.fields_of is None or self.fields_of == unit or self.separate_fields:
            return self
        settings = replace(self, text_field=DEFAULT_TEXT) if self.is_text_remembered else self
        if self.is_label_remembered:
            settings = replace(settings, label_field=DEFAULT_LABEL, label_separator=None, label_fields=())
        return replace(settings, fields_of=None)
