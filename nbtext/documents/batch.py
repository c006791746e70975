"""What every reader gives: documents, many at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nbtext.errors import InputError

MAX_LABEL_CHARACTERS = 1000


class Document(NamedTuple):
    """One text with its name and, where it is known, its label."""

    id: str
    text: str
    label: str | None = None


@dataclass(slots=True)
class Batch:
    """Documents as columns, all of the same length: what flows through nbtext.

    A document that cannot be read keeps its place, with empty text, so that each input has its answer.
    """

    ids: list[str]
    columns: tuple[list[str], ...]  # the texts, a list for each separate field; one list where they are joined
    labels: list[str | None]
    problems: dict[int, InputError] = field(default_factory=dict)  # row: why it could not be read
    repaired_documents: int = 0  # documents in which invalid bytes were replaced
    repaired_bytes: int = 0  # replacement characters (U+FFFD) that stand for them
    notes: dict[str, int] = field(default_factory=dict)  # what was passed over inside these documents: how often
    marks: list[str] | None = None  # the group or time of each document, where it was asked for

    def __len__(self) -> int:
        return len(self.ids)

    def parts(self, size: int) -> list[Batch]:
        """The batch cut into batches of at most `size` documents; what was repaired or passed over is the first one's.

        size  >= 1
        """
        if len(self) <= size:
            return [self]
        parts = [self._part(start, start + size) for start in range(0, len(self), size)]
        parts[0].repaired_documents, parts[0].repaired_bytes = self.repaired_documents, self.repaired_bytes
        parts[0].notes = self.notes
        return parts

    def after(self, start: int) -> Batch:
        """The documents from the one of this number on, counted from 0."""
        return self._part(start, len(self))

    def without(self, rows: Collection[int]) -> Batch:
        """Return the batch without some of its documents; its notes and repairs stay."""
        kept = [row for row in range(len(self)) if row not in rows]
        places = {row: place for place, row in enumerate(kept)}
        return replace(
            self,
            ids=[self.ids[row] for row in kept],
            columns=tuple([texts[row] for row in kept] for texts in self.columns),
            labels=[self.labels[row] for row in kept],
            problems={places[row]: problem for row, problem in self.problems.items() if row in places},
            marks=[self.marks[row] for row in kept] if self.marks is not None else None,
        )

    def _part(self, start: int, stop: int) -> Batch:
        rows = slice(start, stop)
        problems = {row - start: problem for row, problem in self.problems.items() if start <= row < stop}
        part = Batch(self.ids[rows], tuple(texts[rows] for texts in self.columns), self.labels[rows], problems)
        part.marks = self.marks[rows] if self.marks is not None else None
        return part

    def documents(self) -> Iterator[Document]:
        """Each document by itself, the texts of its fields on a line each."""
        for identity, *texts, label in zip(self.ids, *self.columns, self.labels, strict=True):
            yield Document(identity, "\n".join(texts), label)


def marked(value: str | None, name: str) -> str:
    """The group or time of a document; InputError where it has none."""
    if not value:
        raise unmarked(name)
    return value


def unmarked(name: str) -> InputError:
    """The error of a document whose group or time is missing."""
    return InputError(f"the document has no `{name}`", hint="--group-field and --order-field need one for each")


def unlabeled(identity: str) -> InputError:
    """The error of a document without a label; one that is a line of a file is named as FILE:LINE."""
    hint = "put texts in folders named after their labels, or name the label's column with --label-field"
    if identity.rpartition(":")[2].isdecimal():
        hint = (
            "--label-field names the label's column or key, --input-format csv, tsv or jsonl says what the file is "
            "where its name does not; take lines out that have none"
        )
    return InputError("the document has no label", where=identity, hint=hint)


def check_label(label: str, *, where: str = "") -> None:
    """Raise InputError, located at `where`, if a label has more than `MAX_LABEL_CHARACTERS` characters."""
    if len(label) > MAX_LABEL_CHARACTERS:
        what = f"the label {label[:20]}... has {len(label):,} characters; {MAX_LABEL_CHARACTERS:,} are the most"
        raise InputError(what, where=where, hint="check which column or key holds the labels: --label-field")


def as_columns(fields: Sequence[list[str]], *, are_separate: bool) -> tuple[list[str], ...]:
    """The texts of some fields as a batch has them: a column each, or one in which they are on a line each."""
    if are_separate or len(fields) == 1:
        return tuple(fields)
    return (list(map("\n".join, zip(*fields, strict=True))),)
