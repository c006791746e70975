"""Labels that are almost certainly mistakes: one line for each kind, with what to do. A label is
untrusted.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from nbtext.errors import list_some, number_of, printable

MAX_NAMED_LABELS = 5  # labels, or groups of them, of a line
MAX_NAME_CHARACTERS = 40  # of each
LABEL_SEPARATORS = (",", ";", "|")
MIN_LISTS = 8  # labels with a separator; fewer may be names such as `Books, Music`
MIN_USES = 3  # of a part of them, on average; parts of names are rarely used again

# what to do, by what a label looks like
ADVICE = {
    "an object": "write JSON lines, and name a key of the object, as in --label-field label.KEY",
    "a list": "write them as lists in JSON lines, or as texts such as a|b with --label-separator '|'",
    "several labels of fastText": "spaces separate the labels in a line of fastText; in a column, --label-separator "
    "',__label__' does",
}

_number = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)
_object = re.compile(r"""\{\s*(['"]).*\1\s*:.*\}""", re.DOTALL)
_list = re.compile(r"""\[\s*(['"]).*\1\s*,?\s*\]""", re.DOTALL)


def find_mistakes(labels: Mapping[str, int], *, has_one_label: bool) -> Iterator[str]:
    """Yield a line for each kind of mistake.

    labels        the number of documents of each label
    has_one_label  whether each document has one label
    """
    groups = [sorted(group) for group in _group_alike(labels).values() if len(group) > 1]
    if groups:
        named = (
            " and ".join(
                f"{shorten(label)} ({labels[label]:,})" for label in group[:MAX_NAMED_LABELS]
            )
            for group in groups
        )
        what = "labels that differ only in case, spaces, Unicode form or the form of a number"
        yield f"{what}: {list_some(named, MAX_NAMED_LABELS, '; ')}; make them equal in SOURCE"
    kinds = {label: _find_kind(label) for label in sorted(labels)}
    for kind, advice in ADVICE.items():
        own = [label for label in kinds if kinds[label] == kind]
        if own:
            look = "looks" if len(own) == 1 else "look"
            yield f"{number_of(len(own), 'label')} {look} like {kind}: {_name(own)}; {advice}"
    if has_one_label:
        for separator in LABEL_SEPARATORS:
            joined = sorted(label for label in labels if separator in label)
            parts = [part.strip() for label in joined for part in label.split(separator)]
            if len(joined) >= MIN_LISTS and len(parts) >= MIN_USES * len(set(parts)):
                what = f"{len(joined):,} of {number_of(len(labels), 'label')} look like lists of labels"
                yield f"{what}: {_name(joined)}; --label-separator '{separator}' reads several labels of a document"
                break


def name_unknown(
    labels: Collection[str], known: Collection[str], *, is_model: bool
) -> Iterator[str]:
    """Yield a line that names the labels of documents which a model does not know, if there are
    any.

    is_model  False: `known` are the labels that were predicted, so that one which none of them is
              like may be rare
    """
    unknown = sorted(set(labels) - set(known))
    alike = _group_alike(known)
    is_none = len(unknown) == len(labels)
    if not unknown or not (
        is_model or is_none or any(_canonical(label) in alike for label in unknown)
    ):
        return
    part = f"{len(unknown):,} of {number_of(len(labels), 'label')} of the documents"
    what = f"the model does not know {part}"
    knows = "it knows"
    if not is_model:
        what = f"the predictions lack {part}"
        knows = "they have"
    if is_none:
        who = "the model knows" if is_model else "the predictions have"
        what = f"{who} none of the labels of the documents"
    yield f"{what}: {name_new(unknown, known)}; {knows} {_name(sorted(known))}"


def name_new(new: Sequence[str], known: Collection[str]) -> str:
    """Return the names of labels that a model does not know, each with one that it knows and that
    differs little.
    """
    alike = _group_alike(known)
    shown = []
    for label in new[: MAX_NAMED_LABELS + 1]:
        like = alike.get(_canonical(label))
        shown.append(f"{shorten(label)} (like {shorten(like[0])})" if like else shorten(label))
    return list_some(shown, MAX_NAMED_LABELS, "; ")


def shorten(label: str) -> str:
    """Return a label for a line of a terminal."""
    return printable(
        label if len(label) <= MAX_NAME_CHARACTERS else f"{label[:MAX_NAME_CHARACTERS]}…"
    )


def _group_alike(labels: Iterable[str]) -> dict[str | Decimal, list[str]]:
    """Return the labels by what they have in common; see `_canonical`."""
    groups: dict[str | Decimal, list[str]] = {}
    for label in labels:
        groups.setdefault(_canonical(label), []).append(label)
    return groups


def _canonical(label: str) -> str | Decimal:
    """Return a label without case, runs of white space, invisible characters and zeros that do not
    change a number.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    text = " ".join(
        "".join(character for character in text if unicodedata.category(character) != "Cf").split()
    )
    return Decimal(text) if _number.fullmatch(text) else text


def _find_kind(label: str) -> str | None:
    """Return what a label looks like, a key of ADVICE; None: a label."""
    if "__label__" in label:
        return "several labels of fastText"
    if _list.fullmatch(label) or _is_list(label):
        return "a list"
    return "an object" if _object.fullmatch(label) else None


def _is_list(label: str) -> bool:
    """Return whether a label is a list in JSON."""
    try:
        return label[:1] == "[" and isinstance(json.loads(label), list)
    except (ValueError, RecursionError):
        return False


def _name(labels: Sequence[str]) -> str:
    return list_some(map(shorten, labels), MAX_NAMED_LABELS, "; ")
