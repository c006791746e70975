"""The tasks of a worker: count a shard, add counts, or predict the documents of a shard.

Only the arguments and results of these functions are sent between machines: numbers, texts and
arrays, in dictionaries. An error that the user can cause is also a result, so that Dask does not
repeat the work.
"""

from __future__ import annotations

import io
import os
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from functools import lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any

from nbtext import __version__
from nbtext.artifact.model import load_model, read_counts, write_counts
from nbtext.documents.batch import Batch
from nbtext.documents.blocks import Shard
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import count_lines, forget_line_numbers, open_shard
from nbtext.errors import InputError, ModelError, NbtextError, OutputError, SettingsError
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import CountingTask
from nbtext.model.source_prediction import predict_source
from nbtext.output import atomic_output
from nbtext.report.predictions import predictions_result
from nbtext.report.records import write_text
from nbtext.report.result import format_result

if TYPE_CHECKING:
    from nbtext.documents.batch import Block

# they define a token
TOKEN_VERSIONS = (f"nbtext {__version__}", f"Unicode {unicodedata.unidata_version}")
_loading = threading.Lock()


Record = dict[str, Any]


@dataclass(slots=True)
class Report:
    """The progress, repairs and error of a shard.

    size     Number of bytes that were read.
    problem  The class, what, where and hint of the error that ended the work.
    """

    size: int = 0
    repaired_documents: int = 0
    repaired_bytes: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    unknown_encodings: Counter[str] = field(default_factory=Counter)
    problem: tuple[str, str, str, str] | None = None

    def add(self, block: Block, batch: Batch) -> None:
        """Add the size of a block, and the repairs and notes of its batch."""
        self.size += block.size
        self.repaired_documents += batch.repaired_documents
        self.repaired_bytes += batch.repaired_bytes
        self.notes.update(batch.notes)
        self.unknown_encodings.update(batch.unknown_encodings)

    def plain(self) -> Record:
        """Return the report as plain data."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return found | {
            "notes": dict(self.notes),
            "unknown_encodings": dict(self.unknown_encodings),
        }

    def batch(self) -> Batch:
        """Return a batch without documents that has the repairs and notes of all batches of the
        shard.
        """
        batch = Batch(
            [], (), [], {}, self.repaired_documents, self.repaired_bytes, dict(self.notes)
        )
        batch.unknown_encodings = dict(self.unknown_encodings)
        return batch


def report_of(record: Record) -> Report:
    """Return the report that plain data hold."""
    counters: Record = {name: Counter(record[name]) for name in ("notes", "unknown_encodings")}
    return Report(**record | counters)


def problem_of(error: NbtextError) -> tuple[str, str, str, str]:
    """Return an error as plain data."""
    return type(error).__name__, error.what, error.where, error.hint


def error_of(problem: tuple[str, str, str, str]) -> NbtextError:
    """Return the error that plain data hold; it ends the command with the same status as in one
    thread.
    """
    kind, what, where, hint = problem
    error_class = {each.__name__: each for each in (SettingsError, OutputError)}.get(
        kind, InputError
    )
    return error_class(what, where=where, hint=hint)


@dataclass(frozen=True, slots=True)
class PredictionTask:
    """The model and the settings of a prediction.

    model  The path of the model file.
    stamp  Size and modification time of the file, by which a worker checks that it loads the same
           file.
    """

    model: str
    stamp: tuple[int, int]
    decisions: DecisionSettings
    output_format: str


def stamp_of(path: str) -> tuple[int, int]:
    """Return the size and the modification time of a file."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def count_shard(
    shard: Shard, input_settings: InputSettings, task: CountingTask, token_versions: tuple[str, ...]
) -> Record:
    """Return the counts of a shard (None after a problem), and a report."""
    report = Report()
    try:
        _check_versions(token_versions)
        try:
            counts = task.count(open_shard(shard, input_settings).blocks(), report.add)
        except InputError:
            if shard.byte_range is None:
                raise
            report = Report()  # read again, with the line numbers of the whole file
            counts = task.count(
                open_shard(forget_line_numbers(shard), input_settings).blocks(), report.add
            )
    except NbtextError as error:
        report.problem = problem_of(error)
        return {"counts": None, "report": report.plain()}
    return {"counts": write_counts(counts), "report": report.plain()}


def add_counts(records: Sequence[Record]) -> Record:
    """Return the sum of some counts; None if one of the shards had a problem."""
    parts = [record["counts"] for record in records]
    if any(counts is None for counts in parts):
        return {"counts": None}
    return {"counts": write_counts(reduce(add, map(read_counts, parts)))}


def count_shard_lines(shard: Shard, input_settings: InputSettings) -> int | Record:
    """Return how many lines begin in a shard, or a report of the problem."""
    try:
        return count_lines(shard, input_settings)
    except NbtextError as error:
        return Report(problem=problem_of(error)).plain()


def predict_shard(
    shard: Shard,
    input_settings: InputSettings,
    task: PredictionTask,
    token_versions: tuple[str, ...],
    target: str | None,
) -> Record:
    """Return the records of a shard's documents as bytes, or write them to `target` completely or
    not at all.
    """
    report = Report()
    records = io.BytesIO()
    try:
        _check_versions(token_versions)
        with _loading:  # only one of several threads loads it
            model = _load_model(task.model, task.stamp)
        predictions = predict_source(
            model.fitted,
            open_shard(shard, input_settings),
            jobs=1,
            decisions=task.decisions,
            on_batch=report.add,
        )
        with nullcontext(records) if target is None else atomic_output(target) as file:
            found = predictions_result(
                predictions, task=model.fitted.task.name, decisions=task.decisions
            )
            write_text(format_result(found, task.output_format), file)
    except NbtextError as error:
        report.problem = problem_of(error)
    return {"report": report.plain(), "records": records.getvalue()}


@lru_cache(maxsize=1)
def _load_model(path: str, stamp: tuple[int, int]) -> TrainedModel:
    model = load_model(path)
    if stamp_of(path) != stamp:
        what = "is not the same file as on the machine of the command"
        raise ModelError(what, where=path, hint="put it on a file system that all workers share")
    return model


def _check_versions(token_versions: tuple[str, ...]) -> None:
    """Raise ModelError if tokens are defined differently on this worker."""
    if token_versions != TOKEN_VERSIONS:
        here = ", ".join(TOKEN_VERSIONS)
        there = ", ".join(token_versions)
        raise ModelError(
            f"a worker runs {here}, and the command runs {there}", hint="install the same versions"
        )
