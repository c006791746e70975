"""The labels of a document: one, or several in a list, in a text with a separator, or in columns of 0 and 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError, list_some, named, number_of

Label = str | tuple[str, ...] | None  # one label; several, or none, in a list; None if the source gives no label
SINGLE_HINT = "leave out --single-label, or keep one label for each document"
FIELDS_HINT = "--label-fields names columns that hold 1 for each label of the document, and 0 for the others"
MAX_SHOWN, MAX_CHARACTERS = 5, 40  # labels of an error message, and characters of each
LABEL_PREFIX = "__label__"  # of the labels in a line of fastText
HAS_LABEL = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}

_label_token = re.compile(rf"(?:^|(?<=\s)){LABEL_PREFIX}(\S*)\s?")


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
    if not cells:
        return None
    return (
        read_indicators(settings.label_fields, cells, settings)
        if settings.label_fields
        else split_label(cells[0], settings)
    )


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
    shown = (label if len(label) <= MAX_CHARACTERS else f"{label[:MAX_CHARACTERS]}…" for label in labels)
    names = f" ({list_some(map(named, shown), MAX_SHOWN)})" if labels else ""
    what = f"the document has {number_of(len(labels), 'label')}{names}, but exactly one is expected"
    return InputError(what, hint=hint)


def check_label_settings(settings: InputSettings) -> None:
    """Raise SettingsError if the settings of labels are invalid."""
    if settings.label_separator == "":
        raise SettingsError("the separator is empty", where="--label-separator", hint="write '|', for example")
    if "" in settings.label_fields:
        raise SettingsError("the name of a field is empty", where="--label-fields", hint="name columns or keys")
    if len(set(settings.label_fields)) < len(settings.label_fields):
        raise SettingsError("a field is named twice", where="--label-fields", hint="name each column once")
    if settings.label_fields and settings.label_separator is not None:
        what = "cannot be combined with --label-fields"
        raise SettingsError(what, where="--label-separator", hint="leave out one of the options")


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
    labels = _label_token.findall(line)
    return list(dict.fromkeys(filter(None, labels))), remove_labels(line)
