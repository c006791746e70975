"""Find the columns of a table by the names that the settings give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nbtext.documents.batch import format_names
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError

HEADER_HINT = (
    "name the columns with --text-field and --label-field; if the file has no header, give their numbers from 1"
)
DEFAULTS = InputSettings()


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
    names: Sequence[str],
    settings: InputSettings,
    where: str,
    *,
    has_numbers: bool = False,
    first_row: Sequence[str] | None = None,
) -> Fields:
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
    labels = [
        find(name, option, name if settings.is_label_remembered else DEFAULTS.label_field)
        for name in settings.label_names
    ]
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
        hint = "give JSON lines, a table or mails as SOURCE"
        raise SettingsError(what, where=settings.split_option, hint=hint)
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
