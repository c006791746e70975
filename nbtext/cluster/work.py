"""What a worker does: it counts a shard, adds counts up, or answers a shard's documents.

Only what these functions are called with and give back goes over the network; the functions are the worker's own.
What the user has to mend comes back as data, too: to Dask it is no failure, and is not tried again.
"""

from __future__ import annotations

import io
import os
import threading
import unicodedata
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add

from nbtext import __version__
from nbtext.artifact.model import load_model
from nbtext.cluster.plain import Record, Report, plain_tally, problem_of, tally_of
from nbtext.documents.decoding import encoding_of
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.shards import Shard, count_lines, forget_line_numbers
from nbtext.documents.source import open_shard
from nbtext.errors import InputError, ModelError, NbtextError
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import CountingTask
from nbtext.model.source_prediction import predict_source
from nbtext.output import atomic_output
from nbtext.report.records import write_predictions

TOKENS_BY = (f"nbtext {__version__}", f"Unicode {unicodedata.unidata_version}")  # what decides what a token is
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Answering:
    """How documents are answered.

    model    its path
    stamp    size and time of that file, so that a worker that has it in memory knows whether it is the same
    """

    model: str
    stamp: tuple[int, int]
    decisions: DecisionSettings
    form: str


def stamp_of(path: str) -> tuple[int, int]:
    """The size of a file and when it was written."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def count_shard(shard: Shard, reading: ReadingSettings, task: CountingTask, tokens_by: tuple[str, ...]) -> Record:
    """The tally of a shard (None after a problem), and a report."""
    report = Report()
    try:
        _check_alike(tokens_by)
        try:
            tally = task.count(open_shard(shard, reading).blocks(), report.add)
        except InputError:
            if shard.byte_range is None:
                raise
            report = Report()  # once more, with the true numbers of its lines
            tally = task.count(open_shard(forget_line_numbers(shard), reading).blocks(), report.add)
    except NbtextError as error:
        report.problem = problem_of(error)
        return {"tally": None, "report": report.plain()}
    return {"tally": plain_tally(tally), "report": report.plain()}


def report_of_work(record: Record) -> Record:
    """Of what a shard has come to, the part that is small."""
    report: Record = record["report"]
    return report


def add_up(records: Sequence[Record]) -> Record:
    """The tally of several shards; None where one of them had a problem."""
    corpora = [record["tally"] for record in records]
    if any(tally is None for tally in corpora):
        return {"tally": None}
    return {"tally": plain_tally(reduce(add, map(tally_of, corpora)))}


def count_shard_lines(shard: Shard, reading: ReadingSettings) -> int | Record:
    """How many lines begin in a shard, or a report of why nobody knows."""
    try:
        return count_lines(shard, encoding_of(reading))
    except NbtextError as error:
        return Report(problem=problem_of(error)).plain()


def answer_shard(
    shard: Shard, reading: ReadingSettings, answering: Answering, tokens_by: tuple[str, ...], target: str | None
) -> Record:
    """The records of a shard's documents, as bytes, or as a file that is written whole or not at all; and a report."""
    report, answers = Report(), io.BytesIO()
    try:
        _check_alike(tokens_by)
        model = _model(answering.model, answering.stamp)
        predictions = predict_source(
            model.fitted, open_shard(shard, reading), jobs=1, decisions=answering.decisions, on_batch=report.add
        )
        with_sets = answering.decisions.coverage is not None
        with nullcontext(answers) if target is None else atomic_output(target) as file:
            write_predictions(predictions, file, output_format=answering.form, with_sets=with_sets)
    except NbtextError as error:
        report.problem = problem_of(error)
    return {"report": report.plain(), "answers": answers.getvalue()}


def _model(path: str, stamp: tuple[int, int]) -> TrainedModel:
    with _loading:  # of several threads one loads it
        return _loaded(path, stamp)


@lru_cache(maxsize=1)
def _loaded(path: str, stamp: tuple[int, int]) -> TrainedModel:
    model = load_model(path)
    if stamp_of(path) != stamp:
        raise ModelError("is another file here than where the work was ordered", where=path, hint="share one file")
    return model


def _check_alike(tokens_by: tuple[str, ...]) -> None:
    """Raise ModelError where tokens are other ones here."""
    if tokens_by != TOKENS_BY:
        here, there = ", ".join(TOKENS_BY), ", ".join(tokens_by)
        raise ModelError(f"a worker counts by {here}, and the command by {there}", hint="install the same versions")
