"""Find the columns of a table by the names that the settings give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nbtext.documents.batch import format_names
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError

TEXT_HINT = "name the column of the text with --text-field"
DEFAULTS = InputSettings()


class Fields(NamedTuple):
    """The names of the columns that are read; label, id and group are optional."""

    texts: tuple[str, ...]
    label: str | None
    id: str | None
    group: str | None

    def list_names(self) -> list[str]:
        """Return each name once."""
        names = (*self.texts, self.label, self.id, self.group)
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

    may_be_missing = settings.label_field if settings.is_label_remembered else DEFAULTS.label_field
    return Fields(
        tuple(find(name, "--text-field") or "" for name in settings.text_field),
        find(settings.label_field, "--label-field", may_be_missing),
        find(settings.id_field, "--id-field", DEFAULTS.id_field),
        find(settings.split_field, "--group-field or --order-field") if settings.split_field is not None else None,
    )
