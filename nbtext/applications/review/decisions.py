"""Decisions of a review: which documents get another label, and which are removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nbtext.applications.review.findings import describe_document
from nbtext.documents.batch import Batch, check_label
from nbtext.documents.fields import name_of
from nbtext.documents.jsonl import parse_object
from nbtext.documents.rows import NewLabel, name_labels, read_fields
from nbtext.documents.streams import unreadable
from nbtext.errors import InputError
from nbtext.model.source_counting import OnBatch, read_batches
from nbtext.records import frozen

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings
    from nbtext.documents.source import Source

KEEP, RELABEL, REMOVE = DECISIONS = ("keep", "relabel", "remove")
HINT = 'a line is, for example, {"id": "42", "file": "x.csv", "line": 43, "decision": "relabel", "label": "ham"}'

# id, file, line; file and line are None if the decision does not name them
Place = tuple[str, str | None, int | None]


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

    def agrees(self, other: Decision) -> bool:
        """Return whether both have the same result; the order of labels has no meaning."""
        own, others = (
            [each.label] if isinstance(each.label, str) else each.label or []
            for each in (self, other)
        )
        return self.decision == other.decision and set(own) == set(others)


def read_decisions(path: str) -> dict[Place, Decision]:
    """Read decisions: JSON lines with an id, a decision, and optionally the file and the line of
    the document.

    raises  InputError: the file cannot be read, or a line is not a decision
    """
    decisions: dict[Place, Decision] = {}
    try:
        with open(path, encoding="utf-8") as file:
            # not splitlines: an id or a label can have another character that ends a line; the mark
            # may be repeated
            lines = [line.removeprefix("\ufeff") for line in file.read().split("\n")]
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", where=path, hint="save it as UTF-8") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            place, decision = _read_decision(line, f"{path}:{number}")
            if place in decisions and not decisions[place].agrees(decision):
                what = "an earlier line has another decision for this document"
                raise InputError(what, where=decision.where, hint="keep one of them")
            decisions[place] = decision
    return decisions


def _read_decision(line: str, where: str) -> tuple[Place, Decision]:
    record = parse_object(line)
    identity = name_of(record.get("id")) if record is not None else None
    if record is None or identity is None:
        raise InputError("is not a JSON object with the id of a document", where=where, hint=HINT)
    file, number, decision, label = (
        record.get(name) for name in ("file", "line", "decision", "label")
    )
    if decision not in DECISIONS:
        raise InputError(
            f"the decision is not one of {', '.join(DECISIONS)}", where=where, hint=HINT
        )
    if not isinstance(file, str | None) or not isinstance(number, int | None):
        raise InputError(
            "`file` is not a string, or `line` is not a whole number", where=where, hint=HINT
        )
    if decision != RELABEL:
        return (identity, file, number), Decision(decision, None, where)
    labels: list[str] = []
    for each in label if isinstance(label, list) else [label]:
        name = name_of(each)
        if name is None:
            raise InputError("`relabel` needs a label", where=where, hint=HINT)
        check_label(name, where=where)
        labels.append(name)
    return (identity, file, number), Decision(
        decision, labels if isinstance(label, list) else labels[0], where
    )


def apply_decisions(
    source: Source, decisions: dict[Place, Decision], on_batch: OnBatch | None = None
) -> Iterator[tuple[Batch, dict[int, NewLabel | None]]]:
    """Yield each batch, with the new labels of some of its rows; None: the row is removed.

    raises  InputError: a decision is about no document or about several ones, or a document cannot
            be read and is not removed
    """
    found: dict[Place, str] = {}
    for batch in read_batches(source, on_batch):
        labels: dict[int, NewLabel | None] = {}
        for row in range(len(batch)):
            document = describe_document(batch, row)
            file = document.file
            line = document.line
            names: tuple[Place, ...] = (
                (document.id, file, line),
                (document.id, file, None),
                (document.id, None, None),
            )
            place = next((name for name in names if name in decisions), None)
            decision = decisions[place] if place is not None else None
            if place is not None and decision is not None:
                if place in found:
                    what = f"several documents have this id: {found[place]} and {batch.place(row)}"
                    raise InputError(
                        what, where=decision.where, hint="add the file and the line of the document"
                    )
                found[place] = batch.place(row)
                if decision.decision != KEEP:
                    labels[row] = decision.label
            if row in batch.problems and labels.get(row, "") is not None:
                raise batch.problems[row]
        yield batch, labels
    for place, decision in decisions.items():
        if place not in found:
            hint = "name the documents with which the review was made"
            raise InputError("SOURCE has no such document", where=decision.where, hint=hint)


def list_records(
    batch: Batch,
    labels: dict[int, NewLabel | None],
    field_names: tuple[str, ...],
    settings: InputSettings,
) -> Iterator[dict[str, Any]]:
    """Yield the id, the texts and the label of each document that is not removed; of a table or
    JSON, all fields.
    """
    names = field_names or ("text",)
    has_lists = batch.has_lists
    for row in range(len(batch)):
        if labels.get(row, "") is None:
            continue
        given = batch.labels[row]
        label: Any = list(given) if isinstance(given, tuple) else given
        label = labels.get(row, label)
        record: dict[str, Any] = {"id": batch.ids[row]}
        fields = read_fields(batch.rows, row)
        if fields is None:
            label = [label] if has_lists and isinstance(label, str) else label
            texts = {name: column[row] for name, column in zip(names, batch.columns, strict=True)}
            yield {**record, **texts, **({"label": label} if label is not None else {})}
        else:
            is_list = isinstance(fields.get(settings.label_field), list)
            new = name_labels(label, settings, is_list=is_list) if row in labels else {}
            yield {**({} if settings.id_field in fields else record), **fields, **new}
