"""Find the columns of a table by the names that the settings give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nbtext.documents.batch import format_names
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, SettingsError

TEXT_HINT = "name the column of the text with --text-field"
DEFAULTS = InputSettings()


class Fields(NamedTuple):
    """The names of the columns that are read; labels, id and group are optional."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    id: str | None
    group: str | None

    def list_names(self) -> list[str]:
        """Return each name once."""
        names = (*self.texts, *self.labels, self.id, self.group)
        return list(dict.fromkeys(name for name in names if name is not None))


def find_fields(names: Sequence[str], settings: InputSettings, path: str) -> Fields:
    """Return the columns that the settings name.

    Raises
    ------
    InputError
        A column is missing, or there are several of this name.
    """

    def find(name: str, option: str, default: str | None = None) -> str | None:
        if (n_namesakes := list(names).count(name)) > 1:
            raise InputError(f"{n_namesakes} columns are called `{name}`", where=path, hint="give them different names")
        if name in names:
            return name
        if name == default:
            return None
        what = f"no column `{name}`; the columns are: {format_names(names)}"
        raise InputError(what, where=path, hint=f"name the column with {option}")

    option = "--label-fields" if settings.label_fields else "--label-field"
    labels = [
        find(name, option, name if settings.is_label_remembered else DEFAULTS.label_field)
        for name in settings.label_names
    ]
    return Fields(
        tuple(find(name, "--text-field") or "" for name in settings.text_field),
        () if None in labels else tuple(name for name in labels if name is not None),
        find(settings.id_field, "--id-field", DEFAULTS.id_field),
        find(settings.split_field, "--group-field or --order-field") if settings.split_field is not None else None,
    )


def check_joined(path: str, settings: InputSettings) -> None:
    """Raise SettingsError if the settings need fields, which this file does not have."""
    if settings.split_field is not None:
        what = f"{path} has no field `{settings.split_field}`"
        hint = "give JSON lines, a table or mails as SOURCE"
        raise SettingsError(what, where="--group-field or --order-field", hint=hint)
    if settings.separate_fields and len(settings.text_field) > 1:
        what = f"{path} has no fields to keep separate"
        raise SettingsError(what, where="--separate-fields", hint="name one --text-field only")
    if not settings.is_label_remembered and settings.label_separator is not None:
        hint = "give JSON lines, a table or mails as SOURCE"
        raise SettingsError(f"{path} has no field whose text is divided", where="--label-separator", hint=hint)
    if not settings.is_label_remembered:
        check_label_columns(path, settings)


def check_label_columns(path: str, settings: InputSettings) -> None:
    """Raise SettingsError if the settings need a column for each label, which this file does not have."""
    if settings.label_fields:
        hint = "give JSON lines or a table as SOURCE"
        raise SettingsError(f"{path} has no column for each label", where="--label-fields", hint=hint)
