"""What travels between the machines of a cluster: numbers, texts and arrays, in dictionaries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext import errors
from nbtext.artifact.record import narrowed
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.documents.batch import Batch
from nbtext.errors import NbtextError
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import CorpusCounts

if TYPE_CHECKING:
    from nbtext.documents.batch import Block

Record = dict[str, Any]
TYPES = {  # what the arrays of a tally are here; they travel in the smallest type that holds them
    "class_documents": np.int64, "indptr": np.int64, "classes": np.int32, "documents": np.int64,
    "occurrences": np.int64, "indices": np.int32, "counts": np.int32, "hashes": np.uint64,
}  # fmt: skip


def plain_tally(tally: CorpusCounts) -> Record:
    """A tally of texts as plain data."""
    known = tally.vocabulary
    return {
        "labels": list(tally.labels),
        "vocabulary": {"blob": known.blob, "offsets": narrowed(known.offsets)} if known is not None else None,
        "statistics": _arrays(tally.statistics),
        "sample": _arrays(tally.sample),
        "sample_size": tally.sample_size,
    }


def tally_of(record: Record) -> CorpusCounts:
    """The tally that plain data say."""
    known = record["vocabulary"]
    return CorpusCounts(
        tuple(record["labels"]),
        Vocabulary(known["blob"], known["offsets"].astype(np.int64)) if known is not None else None,
        ClassStatistics(**_widened(record["statistics"])),
        DocumentCounts(**_widened(record["sample"])),
        record["sample_size"],
    )


def _arrays(holder: ClassStatistics | DocumentCounts) -> Record:
    found = {each.name: getattr(holder, each.name) for each in fields(holder) if each.name in TYPES}
    return {name: narrowed(array) for name, array in found.items()}


def _widened(arrays: Record) -> Record:
    return {name: array.astype(TYPES[name], copy=False) for name, array in arrays.items()}


@dataclass(slots=True)
class Report:
    """What was odd about the documents of a shard: a block and a batch at once, for who watches the progress.

    size     of what was read
    problem  kind, what, where and hint of the error that ended it
    """

    size: int = 0
    repaired_documents: int = 0
    repaired_bytes: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    problem: tuple[str, str, str, str] | None = None

    def add(self, block: Block, batch: Batch) -> None:
        """Note what a batch says."""
        self.size += block.size
        self.repaired_documents += batch.repaired_documents
        self.repaired_bytes += batch.repaired_bytes
        self.notes.update(batch.notes)

    def plain(self) -> Record:
        """The same as plain data."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return found | {"notes": dict(self.notes)}

    def batch(self) -> Batch:
        """A batch that stands for all of them."""
        return Batch([], (), [], {}, self.repaired_documents, self.repaired_bytes, dict(self.notes))


def report_of(record: Record) -> Report:
    """The report that plain data say."""
    return Report(**record | {"notes": Counter(record["notes"])})


def problem_of(error: NbtextError) -> tuple[str, str, str, str]:
    """An error as plain data."""
    return type(error).__name__, error.what, error.where, error.hint


def error_of(problem: tuple[str, str, str, str]) -> NbtextError:
    """The error that plain data say, one that ends the command in the same way."""
    kind, what, where, hint = problem
    if kind == errors.SettingsError.__name__:
        return errors.SettingsError(what, where=where, hint=hint)
    return errors.InputError(what, where=where, hint=hint)
