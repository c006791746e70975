"""Decisions of a review: which documents get another label, and which are removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtext.documents.batch import Batch, check_label
from nbtext.documents.fields import name_of
from nbtext.documents.jsonl import parse_object
from nbtext.documents.rows import NewLabel, name_labels, read_fields
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source
from nbtext.documents.streams import unreadable_file
from nbtext.errors import InputError
from nbtext.model.source_counting import OnBatch, read_batches
from nbtext.records import frozen

KEEP, RELABEL, REMOVE = DECISIONS = ("keep", "relabel", "remove")
DECISION_HINT = 'a line is, for example, {"id": "42", "place": "x.csv:43", "decision": "relabel", "label": "ham"}'

# of a document: its id and its place, or its id and None
DocumentName = tuple[str, str | None]


@frozen
class Decision:
    """What a person decided about a document.

    decision  one of DECISIONS
    label     of `relabel`: the new label, or the new list of labels
    where     line of the file of decisions
    """

    decision: str
    label: str | list[str] | None
    where: str


def read_decisions(path: str) -> dict[DocumentName, Decision]:
    """Read decisions: JSON lines with an id, a decision, and optionally the place of the document.

    raises  InputError: the file cannot be read, or a line is not a decision
    """
    decisions: dict[DocumentName, Decision] = {}
    try:
        with open(path, encoding="utf-8") as file:
            # not splitlines: an id or a label can have another character that ends a line; the mark
            # may be repeated
            lines = [line.removeprefix("\ufeff") for line in file.read().split("\n")]
    except OSError as error:
        raise unreadable_file(path, error) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", where=path, hint="save it as UTF-8") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            name, decision = _read_decision(line, f"{path}:{number}")
            if name in decisions:
                what = "an earlier line has a decision for this document"
                raise InputError(what, where=decision.where, hint="keep one of them")
            decisions[name] = decision
    return decisions


def _read_decision(line: str, where: str) -> tuple[DocumentName, Decision]:
    record = parse_object(line) or {}
    identity = name_of(record.get("id"))
    place = record.get("place")
    decision: Any = record.get("decision")
    given = record.get("label")
    labels = [name_of(each) or "" for each in (given if isinstance(given, list) else [given])]
    what = ""
    if identity is None:
        what = "is not a JSON object with the id of a document"
    elif not isinstance(place, str | None):
        what = "`place` is not a string"
    elif decision not in DECISIONS:
        what = f"the decision is not one of {', '.join(DECISIONS)}"
    elif decision == RELABEL and "" in labels:
        what = "`relabel` needs a label"
    if what or identity is None:
        raise InputError(what, where=where, hint=DECISION_HINT)
    label: Any = None
    if decision == RELABEL:
        for each in labels:
            check_label(each, where=where)
        label = labels if isinstance(given, list) else labels[0]
    return (identity, place), Decision(decision, label, where)


def apply_decisions(
    source: Source, decisions: dict[DocumentName, Decision], on_batch: OnBatch | None = None
) -> Iterator[tuple[Batch, dict[int, NewLabel | None]]]:
    """Yield each batch, with the new labels of some of its rows; None: the row is removed.

    raises  InputError: a decision is about no document or about several ones, or a document cannot
            be read and is not removed
    """
    found: dict[DocumentName, str] = {}
    for batch in read_batches(source, on_batch):
        labels: dict[int, NewLabel | None] = dict.fromkeys(batch.left_out)
        for row in range(len(batch)):
            place = batch.place(row)
            names: tuple[DocumentName, ...] = ((batch.ids[row], place), (batch.ids[row], None))
            for name in names:
                if name not in decisions:
                    continue
                decision = decisions[name]
                if name in found:
                    what = f"several documents have this id: {found[name]} and {place}"
                    raise InputError(
                        what, where=decision.where, hint="add the place of the document"
                    )
                found[name] = place
                if decision.decision != KEEP:
                    labels[row] = decision.label
                break
            if row in batch.problems and labels.get(row, "") is not None:
                raise batch.problems[row]
        yield batch, labels
    for name, decision in decisions.items():
        if name not in found:
            hint = "name the documents with which the review was made"
            raise InputError("SOURCE has no such document", where=decision.where, hint=hint)


def list_records(
    batch: Batch, labels: dict[int, NewLabel | None], settings: InputSettings
) -> Iterator[dict[str, Any]]:
    """Yield the id, the text and the label of each document that is not removed; of a table or
    JSON, all fields.
    """
    for row, given in enumerate(batch.labels):
        label: Any = labels.get(row, list(given) if isinstance(given, tuple) else given)
        if row in labels and label is None:
            continue
        record = {"id": batch.ids[row]}
        fields = read_fields(batch.rows, row)
        if fields is None:
            is_one = batch.has_lists and isinstance(label, str)
            yield record | {"text": batch.columns[0][row], "label": [label] if is_one else label}
        else:
            is_list = isinstance(fields.get(settings.label_field), list)
            new = name_labels(label, settings, is_list=is_list) if row in labels else {}
            yield record | fields | new
