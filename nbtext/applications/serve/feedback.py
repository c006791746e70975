"""Feedback: labeled texts that clients send. They are appended to a file, and are on the disk
before the answer.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from nbtext.appended_file import AppendedFile
from nbtext.applications.serve.guard import dumps
from nbtext.applications.serve.models import ServedModel
from nbtext.documents.batch import Batch, check_label
from nbtext.documents.jsonl import parse_object
from nbtext.documents.rows import name_labels
from nbtext.errors import InputError, NbtextError, OutputError

# keys of each line
FEEDBACK_ID = "id"
TIME = "time"
FEEDBACK_HINT = "name another --feedback-dir"


def feedback_lines(batch: Batch, model: ServedModel, *, new_labels: bool) -> bytes:
    """Return labeled documents as JSON lines that `nbtext update` reads: with the keys of the
    model's rows.

    The first of several fields that are joined has the whole text.

    Raises
    ------
    NbtextError
        A document has no text or no label, or the model does not know the label.
    """
    settings = model.input_settings
    stored = replace(settings, label_fields=model.input.label_fields)
    time = datetime.now(UTC).isoformat(timespec="seconds")
    has_several = not model.fitted.kind.has_one_label
    lines = []
    for row, labels in enumerate(batch.list_labels()):
        try:
            if labels is None or row in batch.problems:
                raise batch.refusal(row)
            if len(labels) != 1 and not has_several:
                raise InputError(f"there are {len(labels)} labels, and the model gives one")
            for label in labels:
                check_label(label)
                if not new_labels:
                    model.fitted.class_of(label)
            named = name_labels(list(labels) if has_several else labels[0], stored, is_list=False)
        except NbtextError as error:
            raise error.locate(batch.place(row)) from None
        texts = dict.fromkeys(settings.text_field, "")
        texts.update(zip(texts, [column[row] for column in batch.columns], strict=False))
        record = {FEEDBACK_ID: batch.ids[row], **texts, **named}
        record.setdefault(TIME, time)  # unless the model has a key of this name
        lines.append(dumps(record) + b"\n")
    return b"".join(lines)


def check_line(line: bytes, where: str) -> None:
    """Raise OutputError unless this is a line of `feedback_lines`, by two of its keys."""
    record = parse_object(line)
    if record is None or not record.keys() >= {FEEDBACK_ID, TIME}:
        raise OutputError(
            "has a line that nbtext serve did not store", where=where, hint=FEEDBACK_HINT
        )


def open_feedback(path: str) -> AppendedFile:
    """Return a file of JSON lines to which one service at a time appends.

    If another program moves the file away, a new one is made.

    Raises
    ------
    OutputError
        The file cannot be opened, or another service appends to it.
    """
    return AppendedFile(path, check_line, hint=FEEDBACK_HINT)
