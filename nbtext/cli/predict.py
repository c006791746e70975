"""`nbtext predict`: one record for each document."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtext.cli import options, running
from nbtext.cli.command import command
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.decompression import suffix_compression
from nbtext.documents.formats import check_suffix
from nbtext.documents.settings import FOR_COLUMNS, HEADERS, InputSettings
from nbtext.errors import InputError, SettingsError, number_of, require_label
from nbtext.model.settings import DecisionSettings
from nbtext.output import check_output
from nbtext.parallel import use_twice
from nbtext.records import Strings, frozen
from nbtext.report.records import FASTTEXT, HEADER_FORMAT, PREDICTION_FORMATS
from nbtext.report.settings import ColumnSettings
from nbtext.settings import Excludes, Needs, part, refuse, setting

if TYPE_CHECKING:
    from nbtext.arrays import Mask
    from nbtext.model.fitted_model import FittedModel
    from nbtext.model.predictions import Predictions

ROW_FORMATS = ("jsonl", "json", "csv", "tsv")  # of --add-columns
COLUMN_FORMATS = ("parquet", "arrow")  # only of --add-columns
NOT_EACH = 1  # the exit status if a document does not have the label of --exit-status


OPERATORS: dict[str, Callable[[Any, float], Mask]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@frozen
class ProbabilityBound:
    """A bound of the probability of a label, such as `spam>=0.9`."""

    label: str
    operator: str
    bound: float

    def holds(self, predictions: Predictions) -> Mask:
        """Return whether each document holds it, (n_documents,); one that could not be read does
        not.
        """
        column = predictions.probabilities[:, predictions.classes.index(self.label)]
        return OPERATORS[self.operator](column, self.bound)


def parse_probability_bound(text: str) -> ProbabilityBound:
    """Parse `LABEL>=P`, with any of OPERATORS; ValueError if it is something else."""
    found = re.fullmatch(r"\s*(.*?\S)\s*(>=|<=|>|<)\s*([0-9.eE+-]+)\s*", text, re.DOTALL)
    try:
        bound = float(found[3]) if found is not None else math.nan
    except ValueError:
        bound = math.nan
    if found is None or not 0 <= bound <= 1:
        raise ValueError(f"{text!r} is not LABEL>=P, with a probability P from 0 to 1")
    return ProbabilityBound(found[1], found[2], bound)


@frozen(kw_only=True)
class Predict:
    """The settings of `nbtext predict`."""

    sources: Strings = options.sources()
    model: str = options.model_file()
    result: options.ResultSettings = options.result(
        (*PREDICTION_FORMATS, *COLUMN_FORMATS),
        notes="`header` is a line X-Nbtext-Label for the header of each mail, for procmail and "
        "sieve; `fasttext` is a line __label__NAME. With --add-columns: jsonl, json, csv, tsv, parquet or arrow.",
    )
    exit_status: str | None = setting(
        None,
        "Exit with status 0 if each document has this label, otherwise with 1. Errors, documents that cannot be "
        "read, a SOURCE without documents, and several documents in a pipe without --input-format have the status 2 "
        "or more.",
        metavar="LABEL",
        title="Predictions",
    )
    keep: ProbabilityBound | None = setting(
        None,
        "Write only the documents for which this is true, such as 'spam>=0.9': the probability of a label is at "
        "least P. Also with >, <= and <.",
        parse=parse_probability_bound,
        metavar="'LABEL>=P'",
        title="Predictions",
    )
    rejected: str | None = setting(
        None,
        "File for the documents that --keep leaves out, in the format of the others.",
        file="output",
        title="Predictions",
    )
    summary: bool = setting(
        False,
        "Instead of the predictions, write the number of documents of each label, and their share.",
        title="Predictions",
    )
    columns: ColumnSettings = part(ColumnSettings)
    decisions: DecisionSettings = part(DecisionSettings)
    input: InputSettings = options.unlabeled_input(*options.NOT_WEIGHED)
    cluster: ClusterSettings = part(ClusterSettings)
    run: options.RunSettings = options.run()


@command(
    Predict,
    common="-m -o --to --add-columns --min-probability --coverage --top-k --explain --input-format --text-field -j",
    example="nbtext predict letters/test -m letters.joblib --to jsonl",
    notes="If SOURCE is a directory of tables, and -o is a directory (or ends with /), a file is written for each table, with its "
    "name. Files that are there are left alone, so that a run can be continued.\n\n"
    "With --cluster, -o may be a directory. Then one file is written for each shard of SOURCE.\n\n"
    "Memory does not grow with the number of documents.",
    rules=[
        Excludes("exit_status", "cluster"),
        *(Excludes("cluster", name) for name in ("add_columns", "score", "keep", "summary")),
        *(
            Excludes("summary", name, "it replaces the predictions")
            for name in ("add_columns", "score", "rejected", "coverage", "top_k", "explain")
        ),
        Needs("rejected", "keep"),
        Excludes("where", "add_columns", because="all rows are written"),
        Excludes("spreadsheet_safe", "add_columns", because="the rows keep their cells"),
    ],
)
def predict(given: Predict) -> int:
    """Predict the labels of documents, and print one record for each, in order.

    A document that cannot be read, or has less than --min-probability or --min-known ask for, gets
    a record with an empty label. jsonl, json, table and header also have the reason; with
    --add-columns, --columns label,reason adds it to others.
    """
    output = given.result.output
    is_folder = output.endswith(os.sep) or os.path.isdir(output)
    is_single = given.cluster.cluster is None and len(given.sources) == 1
    if is_folder and is_single and os.path.isdir(given.sources[0]):
        _predict_tables(given)
        return 0
    return _predict_sources(given)


def _predict_tables(given: Predict) -> None:
    """Write a file for each table of a directory, with its name, to another directory. A file that
    is there is finished, because outputs are written completely or not at all, and is left alone.
    """
    from nbtext.documents.files import list_shards

    (root,) = given.sources
    folder = given.result.output
    for name in ("rejected", "exit_status", "summary"):
        if getattr(given, name):
            raise refuse(name, "-o is a directory")
    if os.path.realpath(folder).startswith(os.path.join(os.path.realpath(root), "")):
        raise SettingsError(
            f"{folder} lies within SOURCE", where="-o", hint="name a directory beside it"
        )
    shards, _ = list_shards(root, given.input, ())
    sources: dict[str, str] = {}
    for shard in shards:
        if shard.reader != "file":
            raise InputError(
                "holds other files than tables, which a directory as output needs",
                where=root,
                hint="name a file with -o",
            )
        for path in shard.paths:
            target = os.path.join(folder, _name_table(os.path.relpath(path, root), given.result.to))
            if (other := sources.setdefault(target, path)) != path:
                raise SettingsError(
                    f"{other} and {path} would both be written to {target}",
                    where="to",
                    hint="give one of them another name",
                )
    n_left = 0
    for target, path in sources.items():
        if os.path.lexists(target):
            n_left += 1
            continue
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        result = replace(given.result, output=target)
        _predict_sources(replace(given, sources=(path,), result=result))
    left = f"; left {n_left:,} that were there" if n_left else ""
    given.run.say(f"wrote {number_of(len(sources) - n_left, 'file')} to {folder}{left}")


def _name_table(name: str, output_format: str | None) -> str:
    """Return the name of a table with the suffix of a format; None: with its own."""
    plain, _ = suffix_compression(name)
    if output_format is None:
        return name
    return f"{os.path.splitext(plain)[0]}.{output_format}{name[len(plain) :]}"


def _predict_sources(given: Predict) -> int:
    """Predict the documents of all sources, and return the exit status."""
    from nbtext.artifact.model import load_model_file
    from nbtext.model.source_prediction import predict_source

    decisions = given.decisions
    output = given.result.output
    is_adding = given.columns.add_columns
    chosen = ""  # the format of SOURCE
    if is_adding:
        check_output(output)
        if given.result.to in set(PREDICTION_FORMATS) - set(ROW_FORMATS):
            raise SettingsError(
                f"rows of SOURCE cannot be written as {given.result.to}",
                where="to",
                hint=f"choose from {', '.join((*ROW_FORMATS, *COLUMN_FORMATS))}",
            )
        read = replace(given.input, rows_for=FOR_COLUMNS)
    else:
        may_be_folder = given.cluster.cluster is not None
        chosen = running.result_format(
            given.result, PREDICTION_FORMATS, may_be_folder=may_be_folder
        )
        if chosen in COLUMN_FORMATS:
            raise SettingsError(f"{chosen} is for rows", where="to", hint="add --add-columns")
        _check_format(chosen, given)
        read = replace(given.input, reads_one_mail=chosen == HEADER_FORMAT, keeps_skipped=True)
        if may_be_folder:
            _predict_on_cluster(replace(given, input=read), chosen)
            return 0
    fitted = load_model_file(given.model).fitted
    answer = AnswerStatus(given, fitted.labels) if given.exit_status is not None else None
    given.columns.find_scores(fitted.labels)
    filter = None if given.keep is None else Filter(given.keep, fitted.labels)
    blank = [
        name for name in ("outlier", "typicality") if is_adding and name in given.columns.columns
    ]
    if blank and fitted.calibration.likelihoods is None:
        what = f"this model has no distribution of likelihoods, so that {' and '.join(blank)}"
        given.run.say(f"{what} {'stays' if len(blank) == 1 else 'stay'} empty")
    has_bar = not running.is_watched(output)
    if filter or given.summary:  # not all documents go there
        output = "-"
    with running.open_documents(
        given.sources, read, given.run, trained_on=fitted.input, output=output, has_bar=has_bar
    ) as (source, on_batch):
        predictions = predict_source(
            fitted, source, jobs=given.run.jobs, decisions=decisions, on_batch=on_batch
        )
        if answer is not None:
            predictions = answer.watch(predictions)
        if filter is None:
            _write(predictions, given, fitted, chosen)
        else:
            filter.write(predictions, given, fitted, chosen)
    if filter is not None:
        given.run.say(filter.describe(given.rejected))
    return answer.status() if answer is not None else 0


def _write(
    predictions: Iterator[Predictions],
    given: Predict,
    fitted: FittedModel,
    output_format: str,
    is_written: Callable[[Predictions], Mask] | None = None,
) -> None:
    """Write predictions, or the rows of SOURCE with them, to the output; `is_written` returns which
    documents of a batch, all by default.
    """
    columns = given.columns
    if columns.add_columns:
        from nbtext.documents.rows import OutputTarget
        from nbtext.report.columns import write_columns

        target = OutputTarget(
            given.result.output,
            lambda: running.result_file(given.result, "jsonl"),
            running.is_watched(given.result.output),
            columns.table,
        )
        write_columns(predictions, target, columns, given.decisions, is_written, given.result.to)
        return
    from nbtext.report.predictions import predictions_result, summary_result

    if is_written is not None:
        predictions = (batch.take(is_written(batch)) for batch in predictions)
    found = (
        summary_result(predictions, fitted.labels)
        if given.summary
        else predictions_result(
            predictions,
            task=fitted.task.name,
            decisions=given.decisions,
            scores=columns.find_scores(fitted.labels),
        )
    )
    running.write_result(found, given.result, output_format)


class Filter:
    """Writes the documents that hold a condition, and the others to a file of their own.

    Raises SettingsError if the model does not have the label.
    """

    def __init__(self, condition: ProbabilityBound, labels: Sequence[str]) -> None:
        require_label(condition.label, labels, "keep")
        self._condition = condition
        self._n_documents = self._n_kept = 0

    def write(
        self,
        predictions: Iterator[Predictions],
        given: Predict,
        fitted: FittedModel,
        output_format: str,
    ) -> None:
        """Write predictions to the outputs of the command; see `_write`."""
        kept = self._condition.holds

        def write_kept(batches: Iterator[Predictions]) -> None:
            _write(map(self._count, batches), given, fitted, output_format, kept)

        if given.rejected is None:
            write_kept(predictions)
            return
        result = replace(given.result, output=given.rejected)
        check_output(given.rejected)
        if not given.columns.add_columns:
            suffixes = running.OUTPUT_SUFFIXES.items()
            own = [suffix for suffix, name in suffixes if name == output_format]
            check_suffix(given.rejected, own, f"the format is {output_format}", "--rejected")
        others = replace(given, result=result)
        use_twice(
            predictions,
            write_kept,
            lambda batches: _write(
                batches, others, fitted, output_format, lambda each: ~kept(each)
            ),
        )

    def _count(self, batch: Predictions) -> Predictions:
        self._n_documents += sum(reason not in HEADERS for reason in batch.reasons)
        self._n_kept += int(self._condition.holds(batch).sum())
        return batch

    def describe(self, rejected: str | None) -> str:
        """Say how many documents were kept, and where the others are."""
        n_others = self._n_documents - self._n_kept
        place = f"written to {rejected}" if rejected is not None else "left out"
        return f"kept {self._n_kept:,} of {number_of(self._n_documents, 'document')}; {n_others:,} {place}"


class AnswerStatus:
    """Whether each document has a label, as an exit status.

    Raises SettingsError if the model does not have the label.
    """

    def __init__(self, given: Predict, labels: Sequence[str]) -> None:
        from nbtext.documents.streams import is_pipe

        label = given.exit_status
        assert label is not None  # else there is no answer
        require_label(label, labels, "exit_status")
        self._label = label
        is_guessed = given.input.input_format is None and any(map(is_pipe, given.sources))
        self._most = len(given.sources) if is_guessed else math.inf
        self._n_documents = self._n_with = self._n_unread = 0

    def watch(self, batches: Iterable[Predictions]) -> Iterator[Predictions]:
        """Yield the predictions, and count the documents with the label; raise InputError if a pipe
        whose format was not typed has several.
        """
        for batch in batches:
            self._n_documents += len(batch)
            if self._n_documents > self._most:
                raise InputError(
                    "a pipe holds several documents, and it may be one",
                    where="--exit-status",
                    hint="give --input-format mbox for a mail, files for a text, or lines or another format",
                )
            self._n_with += sum(self._label in labels for labels in batch.labels)
            self._n_unread += len(batch) - int(batch.is_read.sum())
            yield batch

    def status(self) -> int:
        """Return 0 if all documents have the label, else 1; raise InputError where that is not
        known.
        """
        if not self._n_documents:
            raise InputError("SOURCE has no documents", where="--exit-status")
        if self._n_unread:
            raise InputError(
                f"{number_of(self._n_unread, 'document')} could not be read",
                where="--exit-status",
                hint="leave it out to see the reasons",
            )
        return 0 if self._n_with == self._n_documents else NOT_EACH


def _check_format(output_format: str, given: Predict) -> None:
    """Raise SettingsError if an output format cannot hold what the options add to a record."""
    decisions = given.decisions
    asked = {
        "coverage": decisions.coverage,
        "top_k": decisions.top_k if output_format == HEADER_FORMAT else None,
        "score": given.columns.score,
        "summary": given.summary,
    }
    reasons = {
        HEADER_FORMAT: "holds one label",
        FASTTEXT: "has no prediction sets, and no columns",
    }
    for name, value in asked.items() if output_format in reasons else ():
        if value:
            raise SettingsError(
                f"cannot be combined with --to {output_format}, which {reasons[output_format]}",
                where=name,
                hint="leave out this option, or add --to jsonl",
            )
    if decisions.explain is not None and output_format not in ("json", "jsonl"):
        raise SettingsError(
            "needs the output format jsonl or json", where="explain", hint="add --to jsonl"
        )


def _predict_on_cluster(given: Predict, output_format: str) -> None:
    """Write the records to a file, or to one file per shard in a directory, on the workers of a
    cluster.
    """
    from nbtext.artifact.model import load_model_file
    from nbtext.cluster.executor import prediction_task

    output = given.result.output
    if output_format not in ("jsonl", "tsv"):
        raise SettingsError(
            "--cluster writes only jsonl and tsv", where="--to", hint="add --to jsonl"
        )
    running.refuse_compression(output)
    task = prediction_task(given.model, given.decisions, output_format)
    trained_on = load_model_file(given.model).fitted.input
    paths = (*given.sources, given.model, *((output,) if output != "-" else ()))
    with (
        running.open_documents(given.sources, given.input, given.run, trained_on=trained_on) as (
            source,
            on_batch,
        ),
        running.open_workers(paths, given.cluster, given.run) as workers,
    ):
        if workers is not None:
            workers.predict(source, task, output, on_batch)
