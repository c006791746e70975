"""The fields of a document: the columns of a table by the names that the settings give them, and its labels.

A document has one label, or several in a list, in a text with a separator, or in columns of 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError, list_some, named, number_of

Label = str | tuple[str, ...] | None  # one label; several, or none, in a list; None if the source gives no label
SINGLE_HINT = "leave out --single-label, or keep one label for each document"
FIELDS_HINT = "--label-fields names columns that hold 1 for each label of the document, and 0 for the others"
MAX_SHOWN, MAX_NAMES_SHOWN = 5, 20  # labels of an error message, and keys or columns
MAX_CHARACTERS = 40  # of each
HEADER_HINT = "name the columns with --text-field and --label-field; without a header in the file, give numbers from 1"
DEFAULTS = InputSettings()
LABEL_PREFIX = "__label__"  # of the labels in a line of fastText
HAS_LABEL = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}

_label_token = re.compile(rf"(?:^|(?<=\s)){LABEL_PREFIX}(\S*)\s?")


class _Null(str):
    """A cell that is `\\N`, which is written so again; it has no text."""

    __slots__ = ()


NULL = _Null()


def split_label(text: str | None, settings: InputSettings) -> Label:
    """Return the labels of a text: without a separator in the settings, the text is one label.

    Raises
    ------
    InputError
        There are several labels, and the settings want one.
    """
    if text is None or settings.label_separator is None:
        return text or None
    return collect_labels(map(str.strip, text.split(settings.label_separator)), settings)


def read_label(value: Any, name: str, settings: InputSettings) -> Label:
    """Return the labels of a value of JSON, of a database or of an Arrow table: a text, or a list of texts.

    Raises
    ------
    InputError
        The value is neither, or there are several labels, and the settings want one.
    """
    if value is None or isinstance(value, str):
        return split_label(value, settings)
    if isinstance(value, int):
        return _text_of(value, name)
    if not isinstance(value, list | tuple):
        raise InputError(f"`{name}` is an object, expected a string or a list of strings")
    return collect_labels([_text_of(item, name) for item in value], settings)


def _text_of(value: Any, name: str) -> str:
    """Return a text, a whole number or a boolean as in JSON; InputError for other values, and for an empty text."""
    if isinstance(value, int):
        return str(value).lower()
    if not isinstance(value, str) or not value:
        raise InputError(f"`{name}` has an empty item, or one that is not a string", hint="each item is one label")
    return value


def collect_labels(labels: Iterable[str], settings: InputSettings) -> Label:
    """Return labels without empty and duplicate ones; the label itself if the settings want one for each document.

    Raises
    ------
    InputError
        There are several labels, and the settings want one.
    """
    found = tuple(dict.fromkeys(label for label in labels if label))
    if not settings.single_label:
        return found
    if len(found) > 1:
        raise several_labels(found, SINGLE_HINT)
    return found[0] if found else None


def read_indicators(names: Sequence[str], values: Sequence[str | None], settings: InputSettings) -> Label:
    """Return the names of the columns that hold 1 or true, or None if every column is empty.

    Raises
    ------
    InputError
        A value is none of 0, 1, false and true, or there are several labels, and the settings want one.
    """
    if all(value is None for value in values):
        return None
    found = []
    for name, value in zip(names, values, strict=True):
        has_label = HAS_LABEL.get((value or "").strip().lower())
        if has_label is None:
            raise InputError(f"`{name}` is {(value or '')[:MAX_CHARACTERS]!r}, expected 0 or 1", hint=FIELDS_HINT)
        if has_label:
            found.append(name)
    return collect_labels(found, settings)


def read_cells(cells: Sequence[str | None], settings: InputSettings) -> Label:
    """Return the labels of the columns that hold them: none, the column of labels, or the columns of `label_fields`.

    Raises
    ------
    InputError
        A value is not a label.
    """
    if cells and settings.label_fields:
        return read_indicators(settings.label_fields, cells, settings)
    return split_label(cells[0], settings) if cells else None


def or_error(read: Callable[..., Label], *values: Any) -> Label | InputError:
    """Return what a function returns, or the InputError that it raises."""
    try:
        return read(*values)
    except InputError as problem:
        return problem


def read_record_label(record: Mapping[str, Any], settings: InputSettings) -> Label:
    """Return the labels of a JSON object: of its key, or of the keys of `label_fields`.

    Raises
    ------
    InputError
        A value is not a label.
    """
    if not settings.label_fields:
        return read_label(record.get(settings.label_field), settings.label_field, settings)
    names = settings.label_fields
    values = [record.get(name) for name in names]
    texts = [None if value is None else _text_of(value, name) for name, value in zip(names, values, strict=True)]
    return read_indicators(names, texts, settings)


def several_labels(labels: Sequence[str], hint: str) -> InputError:
    """Return the error for a document with another number of labels than one."""
    names = f" ({format_names(labels, MAX_SHOWN)})" if labels else ""
    what = f"the document has {number_of(len(labels), 'label')}{names}, but exactly one is expected"
    return InputError(what, hint=hint)


def remove_labels(line: str) -> str:
    """Return a line of fastText without its labels, each with the blank after it."""
    return _label_token.sub("", line)


def split_fasttext(line: str) -> tuple[list[str], str]:
    """Return the labels of a line of fastText, and the text without them."""
    n_prefixes = line.count(LABEL_PREFIX)
    if n_prefixes == 0:
        return [], line
    if n_prefixes == 1 and line.startswith(LABEL_PREFIX):
        label, *text = line.split(None, 1)
        return list(filter(None, (label[len(LABEL_PREFIX) :],))), text[0] if text else ""
    return list(dict.fromkeys(filter(None, _label_token.findall(line)))), remove_labels(line)


class Fields(NamedTuple):
    """The columns of a table, and the places from 0 of those that are read; labels, id and group are optional."""

    names: tuple[str, ...]
    texts: tuple[int, ...]
    labels: tuple[int, ...]
    id: int | None
    group: int | None

    def places(self) -> set[int]:
        """Return the places of the columns that are read."""
        return {place for place in (*self.texts, *self.labels, self.id, self.group) if place is not None}


def find_fields(
    names: Sequence[str], settings: InputSettings, where: str, *, has_numbers: bool = False,
    first_row: Sequence[str] | None = None,
) -> Fields:  # fmt: skip
    """Return the columns that the settings name.

    Parameters
    ----------
    names : sequence of str
        The names of all columns.
    where : str
        The place of the names, for errors.
    has_numbers : bool
        Whether a column may be named by its number, from 1.
    first_row : sequence of str, optional
        The first row of a table without a header, whose columns only have numbers.

    Raises
    ------
    InputError
        A column is missing, or there are several of this name.
    """

    def find(name: str, option: str, default: str | None = None) -> int | None:
        if (n_namesakes := list(names).count(name)) > 1:
            number = f"name it by its number, as in {option} {names.index(name) + 1}"
            hint = number if has_numbers else "give them different names"
            raise InputError(f"{n_namesakes} columns are called `{name}`", where=where, hint=hint)
        if n_namesakes:
            return names.index(name)
        if has_numbers and is_number(name) and 1 <= int(name) <= len(names):
            return int(name) - 1
        if name == default:
            return None
        what, hint = f"no column `{name}`; the columns are: {format_names(names)}", f"name the column with {option}"
        if first_row is not None:
            what, hint = f"no column `{name}`; the columns of the first row are: {format_names(first_row)}", HEADER_HINT
        raise InputError(what, where=where, hint=hint)

    option = "--label-fields" if settings.label_fields else "--label-field"
    default = None if settings.is_label_remembered else DEFAULTS.label_field
    labels = [find(name, option, default or name) for name in settings.label_names]
    return Fields(
        tuple(names),
        tuple(find(name, "--text-field") or 0 for name in settings.text_field),
        () if None in labels else tuple(place for place in labels if place is not None),
        find(settings.id_field, "--id-field", DEFAULTS.id_field),
        find(settings.split_field, settings.split_option) if settings.split_field is not None else None,
    )


def is_number(name: str) -> bool:
    """Return whether the name of a column may be its number."""
    return name.isascii() and name.isdecimal() and len(name) < 10


def check_joined(path: str, settings: InputSettings) -> None:
    """Raise SettingsError if the settings need fields, which this file does not have."""
    if settings.split_field is not None:
        what = f"{path} has no field `{settings.split_field}`"
        raise SettingsError(what, where=settings.split_option, hint="give JSON lines, a table or mails as SOURCE")
    if settings.separate_fields and len(settings.text_field) > 1:
        what = f"{path} has no fields to keep separate"
        raise SettingsError(what, where="--separate-fields", hint="name one --text-field only")
    if not settings.is_label_remembered and settings.label_separator is not None:
        hint = "give JSON lines, a table or mails as SOURCE"
        raise SettingsError(f"{path} has no label field", where="--label-separator", hint=hint)
    if not settings.is_label_remembered:
        check_label_columns(path, settings)


def check_label_columns(path: str, settings: InputSettings) -> None:
    """Raise SettingsError if the settings need a column for each label, which this file does not have."""
    if settings.label_fields:
        hint = "give JSON lines or a table as SOURCE"
        raise SettingsError(f"{path} has no columns or keys of labels", where="--label-fields", hint=hint)


def format_names(names: Sequence[str], most: int = MAX_NAMES_SHOWN) -> str:
    """Format the first names of labels, keys or columns for an error message, shortened to a readable length."""
    short = (name if len(name) <= MAX_CHARACTERS else f"{name[:MAX_CHARACTERS]}…" for name in names)
    return list_some(map(named, short), most) or "none"
