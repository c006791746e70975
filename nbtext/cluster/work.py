"""The tasks of a worker: count a shard, add counts, or predict the documents of a shard.

Each returns a report. An error that the user can cause is a part of it, so that Dask does not
repeat the work.
"""

from __future__ import annotations

import io
import os
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace
from functools import lru_cache, reduce
from operator import add
from typing import Any

from nbtext import __version__
from nbtext.artifact.model import load_model_file
from nbtext.documents.batch import Batch, Block
from nbtext.documents.blocks import Shard
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import begin_at_line, count_lines, open_shard
from nbtext.errors import InputError, ModelError, NbtextError, OutputError, SettingsError
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import CountingTask, count_in_threads
from nbtext.model.source_prediction import predict_source
from nbtext.output import atomic_output
from nbtext.records import Strings, dataclass, frozen
from nbtext.report.predictions import predictions_result
from nbtext.report.records import write_and_flush
from nbtext.report.result import format_result

# they define a token
TOKEN_VERSIONS = (f"nbtext {__version__}", f"Unicode {unicodedata.unidata_version}")
_loading = threading.Lock()


@dataclass
class Report:
    """The progress, repairs and error of a shard, and its result.

    size     Number of bytes that were read.
    batch    Without documents: the repairs and notes of all batches.
    problem  The error that ended the work.
    result   The counts, or the records as bytes; None after a problem.
    """

    size: int = 0
    batch: Batch = field(default_factory=lambda: Batch([], (), []))
    problem: NbtextError | None = None
    result: Any = None

    def add(self, block: Block, batch: Batch) -> None:
        """Add the size of a block, and the repairs and notes of its batch."""
        self.size += block.size
        self.batch.add_notes(batch)


@contextmanager
def reporting() -> Iterator[Report]:
    """Yield a report, into which an error is put; it ends the command with the same status as in
    one thread.
    """
    report = Report()
    try:
        yield report
    except NbtextError as error:
        kind = type(error) if isinstance(error, SettingsError | OutputError) else InputError
        report.problem = kind(error.what, where=error.where, hint=error.hint)


@frozen
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
    shard: Shard, input_settings: InputSettings, task: CountingTask, token_versions: Strings
) -> Report:
    """Return the counts of a shard."""
    with reporting() as report:
        _check_versions(token_versions)
        try:
            report.result = count_in_threads(open_shard(shard, input_settings), task, 1, report.add)
        except InputError:
            if shard.byte_range is None or shard.byte_range.first_line is None:
                raise
            # read again, with the line numbers of the whole file
            return count_shard(begin_at_line(shard, None), input_settings, task, token_versions)
    return report


def without_result(report: Report) -> Report:
    """Return a report that is small."""
    return replace(report, result=None)


def add_reports(reports: Sequence[Report]) -> Report:
    """Return the sum of some counts; without a result if one of the shards had a problem."""
    parts = [report.result for report in reports]
    return Report(result=None if any(part is None for part in parts) else reduce(add, parts))


def count_shard_lines(shard: Shard, input_settings: InputSettings) -> Report:
    """Return how many lines begin in a shard."""
    with reporting() as report:
        report.result = count_lines(shard, input_settings)
    return report


def predict_shard(
    shard: Shard,
    input_settings: InputSettings,
    task: PredictionTask,
    token_versions: Strings,
    target: str | None,
) -> Report:
    """Return the records of a shard's documents as bytes, or write them to `target` completely or
    not at all.
    """
    records = io.BytesIO()
    with reporting() as report:
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
            write_and_flush(format_result(found, task.output_format), file)
        report.result = records.getvalue()
    return report


@lru_cache(maxsize=1)
def _load_model(path: str, stamp: tuple[int, int]) -> TrainedModel:
    model = load_model_file(path)
    if stamp_of(path) != stamp:
        raise ModelError(
            "is not the same file as on the machine of the command",
            where=path,
            hint="put it on a file system that all workers share",
        )
    return model


def _check_versions(token_versions: Strings) -> None:
    """Raise ModelError if tokens are defined differently on this worker."""
    if token_versions != TOKEN_VERSIONS:
        here = ", ".join(TOKEN_VERSIONS)
        there = ", ".join(token_versions)
        raise ModelError(
            f"a worker runs {here}, and the command runs {there}", hint="install the same versions"
        )
