"""The fields of a document: the columns of a table by the names that the settings give them, and
its labels.

A document has one label, or several in a list, in a text with a separator, or in columns of 0 and
1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from nbtext.documents.settings import Condition, InputSettings
from nbtext.errors import InputError, SettingsError, list_some
from nbtext.records import Strings, frozen

# one label; several, or none, in a list; None if the source gives no label
Label = str | Strings | None
ColumnPlaces = dict[str, tuple[int, ...]]  # of the columns of each field, from 0
WEIGHT_UNIT = 256  # how often a document counts is a whole number of 1 / WEIGHT_UNIT
MAX_WEIGHT = 10_000
SHARES_TOLERANCE = 0.01  # of the sum of shares, which may be rounded
FIELDS_HINT = (
    "--label-fields names columns that hold 1 for each label of the document, and 0 for the others"
)
INDICATOR_FIELDS_HINT = (
    f"{FIELDS_HINT}; --missing-labels names values that say that a label was not judged"
)
# labels of an error message, and keys or columns
MAX_LABELS_SHOWN = 5
MAX_NAMES_SHOWN = 20
MAX_CHARACTERS_OF_EACH = 40  # of each
HEADER_HINT = "name the columns with --text-field and --label-field; without a header in the file, give numbers from 1"
DEFAULTS = InputSettings()
LABEL_PREFIX = "__label__"  # of the labels in a line of fastText
# Python's `str` of values that stand for a missing one in tables
MISSING_VALUES = ("nan", "NaN", "NaT", "<NA>")
NESTED = (list, tuple, dict)
TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    tuple: "a list",
    str: "a string or a number",
    bool: "a boolean",
    type(None): "null",
}
MISSING_KEY = object()
HAS_LABEL = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}
BRACKETS = ("<>", "><")  # separators of labels that stand between brackets each: <a><b>
USUAL_KEYS = ("name", "label", "value", "title")  # of an object that stands for a label
MAX_HEADER = 1 << 12  # characters of a line that may be a header
MAX_JSON = 1 << 20  # characters of a cell that is read as JSON

_no_name = re.compile(r"""[^\w "'.\\\r\n-]""")  # may divide the names of columns
_whole_number = re.compile(r"^([+-]?\d+)\.0+$")
_label_token = re.compile(rf"(?:^|(?<=\s)){LABEL_PREFIX}(\S*)\s?")


class _Null(str):
    """A cell that is `\\N`, which is written so again; it has no text."""

    __slots__ = ()


NULL = _Null()


def text_of(value: Any) -> str | None:
    """Return Python's `str` of a value, which is a text already in most formats; None for null, NaN
    and their kind.
    """
    if type(value) is str:
        return value
    if value is NULL or value is MISSING_KEY:
        return None
    if isinstance(value, str):
        return str(value)  # not an object of a subclass
    text = None if value is None else str(value)
    return None if text in MISSING_VALUES else text


def name_of(value: Any) -> str | None:
    """Return the label, id or group that a value stands for, in every format and in Python; None if
    it is missing.

    It is Python's `str` of the value without white space at its ends: `1`, `0.0`, `True`. A text
    stays as it is but for that. Null, NaN and blank are missing.
    """
    text = text_of(value)
    return text.strip() or None if text is not None else None


def canonical(text: str | None) -> str | None:
    """Return a value as values are compared: 1.0 is 1, and True is true."""
    if text in ("True", "False", "TRUE", "FALSE"):
        return text.lower()
    return _whole_number.sub(r"\1", text) if text is not None else None


def holds(condition: Condition, value: Any) -> bool:
    """Return whether a value of a field fulfills a condition; a list if one of its items does."""
    values = value if isinstance(value, list | tuple) else [value]
    found = {canonical(name_of(each)) or "" for each in values} or {""}
    return (canonical(condition.value) in found) == condition.is_equal


def split_label(text: str | None, settings: InputSettings) -> Label:
    """Return the labels of a text: without a separator in the settings, the text is one label.

    With a separator, a blank text is a document without labels; None is one whose labels are not
    known.
    """
    separator = settings.label_separator
    if text is None or separator is None:
        return name_of(text)
    if separator in BRACKETS:
        return collect_labels(re.findall("<([^<>]*)>", text))
    if '"' not in text:
        return collect_labels(text.split(separator))
    end = rf"(?:{re.escape(separator)}|\Z)"
    # a part that is quoted as a whole may hold the separator
    parts = re.finditer(rf'\s*"((?:[^"]|"")*+)"\s*{end}|(.*?){end}', text, re.DOTALL)
    labels = (part[2] if part[1] is None else part[1].replace('""', '"') for part in parts)
    return collect_labels(labels)


def join_labels(labels: Sequence[str], separator: str) -> str:
    """Return the text of labels with a separator, which `split_label` divides again."""
    if separator in BRACKETS:
        return "".join(f"<{label}>" for label in labels)
    quoted = (
        '"' + label.replace('"', '""') + '"' if separator in label or '"' in label else label
        for label in labels
    )
    return separator.join(quoted)


@frozen
class SoftLabel:
    """What several annotators say of a document: the share of each label, sorted by label."""

    shares: tuple[tuple[str, float], ...]

    @property
    def label(self) -> str:
        """The label with the largest share; of equal ones the first."""
        return max(self.shares, key=lambda pair: pair[1])[0]


def read_weight(value: Any, name: str) -> int:
    """Return how often a document counts, in units of 1 / WEIGHT_UNIT.

    raises  InputError: it is missing, no number, negative, too large, or rounded to 0
    """
    text = name_of(value)
    if text is None:
        raise InputError(
            f"the document has no `{name}`", hint="--weight-field needs a number for each document"
        )
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    units = round(weight * WEIGHT_UNIT) if 0 < weight <= MAX_WEIGHT else 0
    if not units:
        raise InputError(
            f"the weight `{name}` is {text[:MAX_CHARACTERS_OF_EACH]!r}",
            hint=f"give a number from 1/{WEIGHT_UNIT} to {MAX_WEIGHT:,}",
        )
    return units


def split_shares(shares: Mapping[str, float], weight: int = WEIGHT_UNIT) -> dict[str, int]:
    """Return the weight of each label of a soft label, in units of 1 / WEIGHT_UNIT.

    They are rounded by the largest remainders, so that their sum is the weight of the document.
    Labels whose share is rounded to 0 are left out.

    shares  of the labels, which are normalized
    """
    total = sum(shares.values())
    exact = {label: share / total * weight for label, share in sorted(shares.items())}
    units = {label: int(number) for label, number in exact.items()}
    by_remainder = sorted(exact, key=lambda label: units[label] - exact[label])
    for label in by_remainder[: weight - sum(units.values())]:
        units[label] += 1
    return {label: number for label, number in units.items() if number}


def read_shares(value: Any, name: str) -> SoftLabel | None:
    """Return the soft label of an object of shares; None if it is another object. A label whose
    share is null has none, as the fields of a struct that a document lacks.

    raises  InputError: a share is negative, or they do not sum to 1
    """
    try:
        pairs = [
            (name_of(label), float(share)) for label, share in value.items() if share is not None
        ]
    except (TypeError, ValueError):
        return None
    shares = {label: share for label, share in pairs if label is not None}
    if len(shares) < len(pairs) or not shares:
        return None
    total = sum(shares.values())
    if total != 1 and all(share in (0, 1) for share in shares.values()):
        return None  # an object of 0 and 1 for each of several labels
    if not (min(shares.values()) >= 0 and abs(total - 1) <= SHARES_TOLERANCE):  # also of NaN
        raise InputError(
            f"the shares of `{name}` should be at least 0 and sum to 1, not {total:g}",
            hint="divide numbers of votes by their sum, which --weight-field can name",
        )
    return SoftLabel(tuple((label, share) for label, share in sorted(shares.items()) if share))


def read_label(value: Any, name: str, settings: InputSettings) -> Label | SoftLabel:
    """Return the labels of a value of JSON, of a database or of an Arrow table: one value, a list
    of them, or an object of the share of each.

    Raises
    ------
    InputError
        The value is another object, or a list of lists or objects.
    """
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, NESTED):
                raise InputError(
                    f"`{name}` has an item that is a list or an object",
                    hint=_hint_of_keys(item, name),
                )
        return collect_labels(value)
    if isinstance(value, dict):
        if (shares := read_shares(value, name)) is not None:
            return shares
        raise InputError(
            f"`{name}` is an object, expected a text, a number or a list",
            hint=_hint_of_keys(value, name),
        )
    return split_label(text_of(value), settings)


def _hint_of_keys(value: Any, name: str) -> str:
    """Return how to name a key of an object that stands for a label, or holds labels."""
    if not isinstance(value, dict) or not value:
        return "each item is one label: a text or a number"
    if all(str(inner).lower() in HAS_LABEL for inner in value.values()):
        names = [f"{name}.{key}" for key in value][:MAX_LABELS_SHOWN]
        return f"name the keys of all labels, as in --label-fields {','.join(names)}"
    texts = [key for key, inner in value.items() if isinstance(inner, str)]
    usual = [key for key in USUAL_KEYS if key in texts]
    key = (usual or texts or list(value))[0]
    return f"name one of its keys, as in --label-field {name}.{format_names([key])}"


def collect_labels(values: Iterable[Any]) -> Strings:
    """Return labels without missing and duplicate ones."""
    return tuple(dict.fromkeys(filter(None, map(name_of, values))))


def read_indicators(
    labels: Mapping[str, str], values: Sequence[Any], settings: InputSettings
) -> Label:
    """Return the labels whose columns hold 1 or true, the label itself if there is one; None if
    every value is missing, or one is a label that stands for a missing one.

    A key that an object does not have is 0.

    labels  by the column or key
    raises  InputError: a value is none of 0, 1, false and true
    """
    texts = [canonical(name_of(value)) for value in values]
    if not any(texts) or not set(map(canonical, settings.missing_labels)).isdisjoint(texts):
        return None
    found = []
    for (name, label), value, text in zip(labels.items(), values, texts, strict=True):
        has_label = value is not MISSING_KEY and HAS_LABEL.get((text or "").lower())
        if has_label is None:
            raise InputError(
                f"`{name}` is {(text or '')[:MAX_CHARACTERS_OF_EACH]!r}, expected 0 or 1",
                hint=INDICATOR_FIELDS_HINT if text is not None else FIELDS_HINT,
            )
        if has_label:
            found.append(label)
    return found[0] if len(found) == 1 else tuple(found)


def read_text_value(value: Any, name: str) -> str | None:
    """Return a value as text; None for null and a missing key; InputError for what is nested."""
    if isinstance(value, NESTED):
        raise InputError(f"`{name}` is {TYPE_NAMES[type(value)]}, expected a string")
    return text_of(value)


def find_value(record: Mapping[str, Any], name: str, *, is_label: bool = False) -> Any:
    """Return the value of a key of nested objects, such as `data.text`; MISSING_KEY if there is
    none.

    A key that has the whole name goes before one of an object in it.

    is_label  whether a text in place of an object is a label
    """
    if name in record:
        return record[name]
    place = name.find(".")
    while place >= 0:
        found = find_inner(record.get(name[:place]), name[place + 1 :], is_label=is_label)
        if found is not MISSING_KEY:
            return found
        place = name.find(".", place + 1)
    return MISSING_KEY


def find_inner(value: Any, name: str, *, is_label: bool = False) -> Any:
    """Return the value of a key of an object, or of each object of a list; both may be JSON in a
    text. See `find_value`.
    """
    value = parse_json(value)
    if isinstance(value, dict):
        return find_value(value, name, is_label=is_label)
    if isinstance(value, list | tuple):
        items = [find_inner(item, name, is_label=is_label) for item in value]
        found = [item for item in items if item is not MISSING_KEY]
        return found if found or not items else MISSING_KEY
    return value if is_label and isinstance(value, str) else MISSING_KEY


def find_indicator(value: Any, key: str) -> Any:
    """Return the value of a key of an object that has those of labels; one that is missing is 0."""
    found = find_inner(value, key)
    is_absent = found is None or found is MISSING_KEY
    return "0" if is_absent and isinstance(parse_json(value), dict) else found


def parse_json(value: Any) -> Any:
    """Return the list or object of a text that is JSON; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    import json

    try:
        return json.loads(value) if len(value) <= MAX_JSON else value
    except (ValueError, RecursionError):
        return value


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


def find_fields(
    names: Sequence[str],
    settings: InputSettings,
    where: str,
    *,
    has_numbers: bool = False,
    first_row: Sequence[str] | None = None,
) -> ColumnPlaces:
    """Return the places of the columns that the settings name, from 0; label, id and group are
    optional.

    Several columns may have the name of the label. `labels.name` is in the column `labels`, which
    holds structs, or JSON.

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

    def find(name: str, option: str, default: str | None = None) -> tuple[int, ...]:
        namesakes = tuple(place for place, each in enumerate(names) if each == name)
        if (n_namesakes := len(namesakes)) > 1 and option != "label_field":
            number = f"name it by its number, as in ‹{option}› {names.index(name) + 1}"
            hint = number if has_numbers else "give them different names"
            raise InputError(f"{n_namesakes} columns are called `{name}`", where=where, hint=hint)
        if namesakes:
            return namesakes
        if has_numbers and is_number(name) and 1 <= int(name) <= len(names):
            return (int(name) - 1,)
        if outer := [place for place, each in enumerate(names) if name.startswith(f"{each}.")]:
            return (outer[0],)
        if name == default:
            return ()
        shown = names
        of_row = ""
        hint = f"name the column with ‹{option}›"
        if first_row is not None:
            shown = first_row
            of_row = " of the first row"
            hint = HEADER_HINT
        delimiter = find_delimiter(",".join(shown), {name})
        if delimiter and name not in shown:
            hint = f"give {delimiter}"
        raise InputError(
            f"no column `{name}`; the columns{of_row} are: {format_names(shown)}",
            where=where,
            hint=hint,
        )

    option = "label_fields" if settings.label_fields else "label_field"
    default = None if "label_field" in settings.remembered else DEFAULTS.label_field
    labels = {name: find(name, option, default or name) for name in settings.label_names}
    places = labels if all(labels.values()) else {}
    places |= {name: find(name, "text_field") for name in settings.text_field}
    places[settings.id_field] = find(settings.id_field, "id_field", DEFAULTS.id_field)
    places |= {name: find(name, option) for name, option in settings.options_of_fields.items()}
    return {name: found for name, found in places.items() if found}


def take_columns(
    names: Sequence[str],
    places: ColumnPlaces,
    values_of: Callable[[int], Sequence[Any]],
    settings: InputSettings,
) -> dict[str, Sequence[Any]]:
    """Return the values of each field, which `find_fields` has found in these columns; lists where
    several columns have its name.
    """
    columns: dict[str, Sequence[Any]] = {}
    for name, (first, *others) in places.items():
        values = values_of(first)
        if others:
            values = list(zip(values, *map(values_of, others), strict=True))
        key = name.removeprefix(f"{names[first]}.")
        if key != name:
            find = find_indicator
            if name not in settings.label_fields:
                find = partial(find_inner, is_label=name == settings.label_field)
            values = [find(value, key) for value in values]
        columns[name] = values
    return columns


def find_delimiter(line: str, names: Collection[str]) -> str:
    """Return the option of the character that divides a line into the names of columns, of which
    some are given; "" if none does.
    """
    for mark in sorted({*_no_name.findall(line[:MAX_HEADER])}):
        cells = {cell.strip(' "\r\n') for cell in line.split(mark)}
        if cells.issuperset(names) and max(map(len, cells)) <= MAX_CHARACTERS_OF_EACH:
            return f"--delimiter {'$' * (not mark.isprintable())}{mark!r}"
    return ""


def is_number(name: str) -> bool:
    """Return whether the name of a column may be its number."""
    return name.isascii() and name.isdecimal() and len(name) < 10


def check_needed(path: str, settings: InputSettings, *, has_fields: bool = False) -> None:
    """Raise SettingsError if the settings need fields, which the documents of this file do not
    have; with fields, those of a mail, it has no column for each label.
    """
    needed: dict[str, str] = {}
    is_remembered = "label_field" in settings.remembered
    if not has_fields:
        for name, option in settings.options_of_fields.items():
            needed[option] = f"field `{name}`"
        if settings.separate_fields and len(settings.text_field) > 1:
            needed["separate_fields"] = "fields to keep separate"
        if settings.label_separator is not None and not is_remembered:
            needed["label_separator"] = "label field"
    if settings.label_fields and (has_fields or not is_remembered):
        needed["label_fields"] = "columns or keys of labels"
    for option, what in needed.items():
        raise SettingsError(
            f"{path} has no {what}", where=option, hint="give JSON lines or a table as SOURCE"
        )


def format_names(names: Sequence[str], most: int = MAX_NAMES_SHOWN) -> str:
    """Format the first names of labels, keys or columns for an error message, shortened to a
    readable length.
    """
    short = (
        name if len(name) <= MAX_CHARACTERS_OF_EACH else f"{name[:MAX_CHARACTERS_OF_EACH]}…"
        for name in names
    )
    return list_some(short, most) or "none"
