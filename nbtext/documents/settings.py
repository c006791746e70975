"""The settings of reading sources; and word lists, files with one word or feature on each line."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

from nbtext.documents.formats import FORMAT_NAMES
from nbtext.errors import InputError, reason_of
from nbtext.records import Strings, frozen
from nbtext.settings import Excludes, Settings, parse_names, setting

DEFAULT_TEXT = ("text",)
DEFAULT_LABEL = "label"
# as they are typed
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
# which the first line of a table tells
TABLE_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
DOUBLED = "doubled"
BACKSLASH = "backslash"
NO_QUOTING = "none"
DEFAULT_ENCODING = "utf-8"
HEADERS = (  # rows of a table that are left out
    "rows that repeat the header",
    "further rows of the header: questions, types or dashes",
)
# of a date, by which documents are grouped, with the number of characters of such a date
PERIODS = {"year": 4, "month": 7, "day": 10}


@frozen
class ModelInput:
    """What the documents were that a model was trained on; its other commands read their sources in
    the same way.

    unit         "file", "line", "row" or "mail"; None: not known, or not the same in all sources
    text_field   columns, keys or mail headers of the text, in sources of this unit
    label_field  column, key or mail header of the label
    separate_fields  whether each text field has its own features
    label_separator  separator of several labels in a text; None: a text is one label
    label_fields  columns or keys of 0 and 1, one for each label, instead of `label_field`
    label_level  which folder of a directory is the label; None: the first
    matrix_columns  number of columns, if they were rows of a matrix that TextClassifier was fitted
                    to
    """

    unit: str | None = None
    text_field: Strings = DEFAULT_TEXT
    label_field: str = DEFAULT_LABEL
    separate_fields: bool = False
    label_separator: str | None = None
    label_fields: Strings = ()
    label_level: int | None = None
    matrix_columns: int | None = None


UNKNOWN_INPUT = ModelInput()


def read_small_file(path: str, hint: str = "check the path") -> str:
    """Return the text of a small file of the user, such as a word list or costs, which may be a
    pipe.

    raises  InputError: it cannot be read (`hint` says what to give), or is not UTF-8
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        raise InputError(f"cannot be read: {reason_of(error)}", where=path, hint=hint) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", where=f"{path}:{line}", hint="save it as UTF-8") from None


def read_words(path: str, hint: str = "give a file with one entry per line") -> Strings:
    """Return the lines of a word list, such as a vocabulary, in order, without empty lines.

    Spaces are kept, because character n-grams may contain them.

    raises  InputError: see `read_small_file`; or it lists nothing
    """
    text = read_small_file(path, hint)
    words = tuple(line for line in text.replace("\r\n", "\n").split("\n") if line)
    if not words:
        raise InputError("the file contains no words", where=path, hint="write one word per line")
    return words


class Condition(NamedTuple):
    """Which documents are read: those of which a field has a value, or has another one."""

    field: str
    value: str
    is_equal: bool

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.is_equal else '!='}{self.value}"


def parse_condition(text: str) -> Condition:
    """Return a condition such as answer=accept or status!=rejected; ValueError if it is not one."""
    name, sign, value = text.partition("=")
    is_equal = not name.endswith("!")
    name = name.removesuffix("!").strip()
    if not name or not sign:
        raise ValueError(f"{text!r} is not NAME=VALUE or NAME!=VALUE, such as answer=accept")
    return Condition(name, value.strip(), is_equal)


class Split(NamedTuple):
    """The column, key or header of the group or the timestamp of a document.

    option      that names it
    period      of a date by which documents are grouped; "": by the value itself
    is_by_time  whether it is a time, whose value NUL and the place of the document follow
    """

    field: str
    option: str = "group_field"
    period: str = ""
    is_by_time: bool = False


# what the rows of a file are kept for
FOR_COLUMNS = "columns"
FOR_LABELS = "labels"
VALUES = "values"
# settings that name fields of rows or mails
OF_FIELDS = ("text_field", "label_field", "label_fields", "id_field", "where")


@frozen(kw_only=True)
class InputOptions(Settings):
    """How sources are divided into documents, and which fields are the text, the label and the
    id.
    """

    TITLE = "Input"
    RULES = (Excludes("label_separator", "label_fields"),)

    input_format: str | None = setting(
        None,
        "Format of SOURCE. By default it is guessed from the name and the first bytes. A .txt file holds one "
        "text per line; `files` reads each file as one text.",
        choices=FORMAT_NAMES,
        metavar="NAME",
    )
    header: bool | None = setting(
        None,
        "Whether the first row of a CSV or TSV table has the names of the columns. By default, it is read as names if one "
        "of them is that of a text or label field; a message says so where the row may be something else.",
    )
    delimiter: str | None = setting(
        None,
        "Character between the columns of a table, or its name: comma, semicolon, tab, pipe or space. By "
        "default, it is a tab in a .tsv file; in others the comma, semicolon or tab of the first line.",
        parse=lambda text: DELIMITERS.get(text, text),
        metavar="CHARACTER",
    )
    escape: str = setting(
        DOUBLED,
        "How a quote is written within a quoted column of a table. With `none`, no column is quoted: each quote is a plain "
        "character. With `backslash`, as Spark and MySQL write it, a "
        "backslash makes a plain character of the next quote, delimiter, line end or backslash; \\n, \\t and \\r are "
        "a line end, a tab and a return, and a column \\N is missing.",
        choices=(DOUBLED, BACKSLASH, NO_QUOTING),
        metavar="NAME",
    )
    encoding: str | None = setting(
        None,
        "Text encoding, by any of its usual names. A byte order mark takes precedence. Each invalid sequence of "
        "bytes is replaced by U+FFFD, and the command prints their number.",
        metavar="NAME",
        default_help=DEFAULT_ENCODING,
    )
    text_field: Strings = setting(
        DEFAULT_TEXT,
        "Column, JSON key or mail header of the text. Separate several names with commas; a comma in a "
        "name is typed as \\,. For a file without a header, give the number of the column, counted from 1.",
        parse=parse_names,
        metavar="NAME[,NAME…]",
    )
    label_field: str = setting(
        DEFAULT_LABEL,
        "Column, JSON key or mail header of the label. A list holds several labels of the document. An object of the "
        "share of each label is a soft label; commands without --weight-field take the label with the largest share.",
        metavar="NAME",
    )
    label_separator: str | None = setting(  # None: a text is one label
        None,
        "Separator between labels in the label field, such as '|'. By default, the whole field is one label.",
        metavar="TEXT",
    )
    label_fields: Strings = setting(
        (),
        "Columns or JSON keys that hold 1 for each label of the document and 0 for the other labels. Their names "
        "are the labels. If every document has exactly one, the model is one of a single label.",
        parse=parse_names,
        metavar="NAME,NAME…",
    )
    weight_field: str | None = setting(
        None,
        "Column or JSON key that says how often the document counts, such as 2 or 0.5, in steps of 1/256. By "
        "default, each counts once.",
        metavar="NAME",
    )
    skip_unlabeled: bool = setting(
        False,
        "Leave out the documents without a label, and print their number. By default, one is an error.",
    )
    skip_empty: bool = setting(
        False,
        "Leave out the documents whose text is missing, null or blank, and print their number. By default, a "
        "text that is missing or null is an error, and a blank one is a document without words.",
    )
    missing_labels: Strings = setting(
        (),
        "Labels that stand for a missing one, such as -1 or unsup; with --label-fields, values that say that a label "
        "was not judged.",
        parse=parse_names,
        metavar="LABEL,LABEL…",
    )
    where: tuple[Condition, ...] = setting(
        (),
        "Read only the documents of which a field (column, JSON key or mail header) has this value, or with != "
        "another value, and print the number of the others; may be repeated. Numbers and true and false are compared "
        "by their value; `NAME=` means that it is missing.",
        parse=parse_condition,
        metavar="NAME=VALUE",
        is_repeated=True,
    )
    label: str | None = setting(
        None, "Label of all documents of SOURCE, whose own labels are ignored.", metavar="LABEL"
    )
    label_level: int = setting(
        1,
        "Which folder below a directory is the label of its files, from 1; with 2 it is DIR/*/LABEL/**/FILE.",
        low=1,
        high=100,
        metavar="N",
    )
    exclude: Strings = setting(
        (),
        "Skip a file or folder of a directory if its name, or its path in the directory, matches a pattern such "
        "as '*.bak' or 'old/*'; may be repeated.",
        metavar="GLOB",
        is_repeated=True,
    )
    id_field: str = setting(
        "id", "Column, JSON key or mail header of the document id.", metavar="NAME"
    )
    query: str | None = setting(
        None,
        "Query whose rows are the documents of SOURCE: a SQLite file, or the URL of a database, such as "
        "postgresql://USER@HOST/NAME, which needs the extra nbtext[sql]. "
        "Nothing is written to the database.",
        metavar="SQL",
    )
    separate_fields: bool = setting(
        False,
        "Make a separate feature `field:word` for each text field. By default, the texts are joined.",
    )
    max_document_bytes: int = setting(
        100_000_000,
        "Maximum size of a document in bytes. A larger document is an error: training stops, and `predict` "
        "gives it no label.",
        low=1,
        high=2**62,
        is_option=False,
    )

    @property
    def table_options(self) -> list[str]:
        """The names of the given options that only a table of text has."""
        usual = {"header": None, "delimiter": None, "escape": DOUBLED}
        return [name for name, default in usual.items() if getattr(self, name) != default]

    @property
    def label_names(self) -> Strings:
        """The columns or keys that hold labels."""
        return self.label_fields or (self.label_field,)

    @property
    def indicator_labels(self) -> dict[str, str]:
        """The labels of the columns or keys of 0 and 1, by their names: `cats.GOOD` and `cats.BAD`
        are those of GOOD and BAD.
        """
        outer = "".join(self.label_fields[:1]).rpartition(".")[0]
        is_nested = outer and all(name.startswith(f"{outer}.") for name in self.label_fields)
        start = len(outer) + 1 if is_nested else 0
        return {name: name[start:] for name in self.label_fields}


@frozen(kw_only=True)
class InputSettings(InputOptions):
    """How sources are read: by the options of a user, and by what the program sets for one use of
    the documents.
    """

    split: Split | None = None  # the field of the group or the timestamp of a document
    # what a document was when the model was trained, with whose fields sources of other units are
    # not read; "file", "mail": a file of plain text is one document; else each of its lines is
    input_unit: str | None = None
    # the folder of a file, which is the label of rows without a column or key of the label
    folder: str | None = None
    # standard input or a pipe that seems to be lines is one text, whatever it begins with
    reads_one_mail: bool = False
    # names of settings that are those of the training documents; such a label field may be missing
    remembered: Strings = ()
    ids: frozenset[str] = frozenset()  # only the documents with these ids; empty: with any
    sample_share: float = 0.0  # of the documents, by a hash of their text; 0: all of them
    # a file of a directory that is not text is a document that cannot be read
    keeps_skipped: bool = False
    # columns or keys besides the text, whose names tell a header
    other_fields: Strings = ()
    # what batches keep the rows of the file for, "" if they do not: FOR_COLUMNS are added to them;
    # FOR_LABELS are changed, if the format has any; or VALUES of all columns or keys are read, and
    # no text is needed
    rows_for: str = ""

    @property
    def options_of_fields(self) -> dict[str, str]:
        """The setting that names each field that is neither the text, a label nor the id."""
        found = {condition.field: "where" for condition in self.where}
        if self.weight_field is not None:
            found[self.weight_field] = "weight_field"
        if self.split is not None:
            found[self.split.field] = self.split.option
        return found

    @property
    def field_names(self) -> Strings:
        """The columns or keys of all fields of a document."""
        return (*self.text_field, *self.label_names, self.id_field, *self.options_of_fields)

    def group_by(self, field: str | None, option: str = "group_field") -> InputSettings:
        """Return the settings with the field of the groups, such as `created:month`, the months of
        a date.
        """
        if field is None:
            return self
        name, _, period = field.rpartition(":")
        has_period = name and period in PERIODS
        split = Split(name, option, period) if has_period else Split(field, option)
        return replace(self, split=split)

    def of_unit(self, unit: str) -> InputSettings:
        """Return the settings for a source of a unit; fields that belong to another unit become the
        default ones.
        """
        if self.input_unit in (None, unit) or self.separate_fields:
            return self
        defaults: dict[str, Any] = {
            each.name: each.default for each in fields(self) if each.name in self.remembered
        }
        return replace(self, **defaults)


def already_counted(what: str = "a matrix") -> str:
    """Return why a setting of texts does not apply to a SOURCE that holds counts."""
    return f"SOURCE is {what}, whose documents are already counted"
