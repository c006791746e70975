"""`nbtext predict`: one record for each document."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from nbtext.cli.command import Option, command, stage, typed_options
from nbtext.cli.options import (
    CLUSTER_STAGE,
    DECISION_STAGE,
    MODEL_FILE,
    RUN_PARTS,
    SOURCES,
    UNLABELED_INPUT_STAGE,
    Parsed,
    RunSettings,
    parse_names,
    result_options,
)
from nbtext.cli.running import (
    is_watched,
    open_documents,
    open_workers,
    refuse_compression,
    result_file,
    result_format,
    warn_of_costs,
)
from nbtext.documents.formats import WRITABLE_NAMES
from nbtext.documents.streams import STANDARD_INPUT, is_regular
from nbtext.errors import SettingsError
from nbtext.output import Writer, check_output
from nbtext.report.records import FASTTEXT, HEADER, PREDICTION_FORMATS
from nbtext.report.settings import FIELDS, ColumnSettings

if TYPE_CHECKING:
    from nbtext.cluster.settings import ClusterSettings
    from nbtext.documents.settings import InputSettings
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import FittedModel
    from nbtext.model.multilabel_predictions import AnyPredictions
    from nbtext.model.settings import DecisionSettings

ONE_PASS = "it reads SOURCE twice, which standard input and a pipe do not allow"

COLUMN_STAGE = stage(
    "columns", ColumnSettings, "Columns",
    Option("--add-columns", is_flag=True, default=None,
           help="Write the rows of SOURCE as they are, in its format, with predictions as further columns. SOURCE is "
           f"{', '.join(WRITABLE_NAMES[:-1])} or {WRITABLE_NAMES[-1]}."),
    Option("--columns", type=Parsed("NAME,…", parse_names),
           help=f"Columns to add: any of {', '.join(FIELDS)}. known is the share of the tokens that are in the "
           "vocabulary. typicality, from 0 to 1, is the share of training documents whose words are at most as "
           "probable (a conformal p-value). outlier is true if the words are less probable than those of 99 % of the "
           "training documents. reason tells why a document has no label. labels and probabilities are lists, only for "
           "multi-label models."),
    Option("--column-prefix", metavar="TEXT", help="Beginning of the names of added columns, such as predicted_."),
    Option("--table", metavar="NAME", default_help="predictions",
           help="Name of the new table, if SOURCE is a database. -o is a new or existing SQLite file."),
)  # fmt: skip


@command(
    SOURCES,
    MODEL_FILE,
    *result_options(PREDICTION_FORMATS, notes="`header` is a line X-Nbtext-Label for the header of each mail, for "
                    "procmail and sieve; `fasttext` is a line __label__NAME."),
    Option("--resume", is_flag=True,
           help="Write each record as soon as it is predicted, and continue the file of an interrupted run (tsv or "
           "jsonl). The records in the file must come from the same model, documents and options. They are verified "
           "by checksums in a hidden file next to the output, which is deleted when the run ends; if it is missing, "
           "the records are predicted again and compared."),
    Option("--rank", type=click.Choice(["uncertainty"]), metavar="NAME",
           help="Order of the records. `uncertainty` puts the documents with the highest entropy of the predicted "
           "probabilities first, for active learning. Memory holds all predictions."),
    Option("--adapt-prior", is_flag=True, title="Predictions",
           help="Adapt the probabilities to the shares of the labels in SOURCE, as `nbtext prevalence` estimates them. "
           "It assumes that only these shares differ from those in training. SOURCE is read twice."),
    COLUMN_STAGE,
    DECISION_STAGE,
    UNLABELED_INPUT_STAGE,
    CLUSTER_STAGE,
    *RUN_PARTS,
    common="-m -o --to --add-columns --resume --min-probability --coverage --top-k --explain --input-format "
    "--text-field -j",
    example="nbtext predict letters/test -m letters.joblib --to jsonl",
    notes="With --cluster, -o may be a directory. Then one file is written for each shard of SOURCE.\n\n"
    "Memory does not grow with the number of documents.",
)  # fmt: skip
def predict(
    sources: tuple[str, ...],
    model: str,
    output: str,
    output_format: str | None,
    resume: bool,
    rank: str | None,
    adapt_prior: bool,
    columns: ColumnSettings,
    decisions: DecisionSettings,
    input_settings: InputSettings,
    cluster: ClusterSettings,
    run: RunSettings,
) -> None:
    """Predict the labels of documents, and print one record for each, in order.

    A document that cannot be read, has no token, or has a probability below --min-probability gets a record with an
    empty label. jsonl, json, table and header also have the reason; --columns reason adds it to other formats.
    """
    from nbtext.model.source_prediction import predict_any_source
    from nbtext.report.predictions import write_predictions

    if adapt_prior:
        _check_adaptation(sources, decisions, resume=resume, cluster=cluster)
    load = partial(_load_adapted, sources, model, input_settings, run) if adapt_prior else partial(_load, model)
    if columns.add_columns:
        _check_columns(output_format, resume=resume, rank=rank, cluster=cluster)
        _add_columns(sources, load, output, columns, decisions, input_settings, run)
        return
    chosen = result_format(output_format, output, PREDICTION_FORMATS)
    _check_format(chosen, decisions)
    if resume:
        _check_resume(output, chosen, rank)
    if cluster.cluster is not None:
        if resume or rank is not None:
            where = "--resume" if resume else "--rank"
            raise SettingsError("cannot be combined with --cluster", where=where, hint="leave out one of them")
        _predict_on_cluster(sources, model, output, chosen, decisions, input_settings, cluster, run)
        return
    fitted = load()
    warn_of_costs(fitted, decisions, quiet=run.quiet)
    run = replace(run, no_progress=run.no_progress or (is_watched(output) and rank is None))
    with (
        open_documents(sources, input_settings, run, trained_on=fitted.input) as (source, on_batch),
        _open_output(
            source, output, chosen, fitted, decisions, run=(model, sources, input_settings) if resume else None
        ) as (
            rest,
            file,
        ),
    ):
        predictions = predict_any_source(fitted, rest, jobs=run.jobs, decisions=decisions, on_batch=on_batch)
        if rank is not None:
            predictions = _rank(predictions)
        is_multilabel = fitted.multilabel is not None
        write_predictions(predictions, file, output_format=chosen, decisions=decisions, is_multilabel=is_multilabel)


def _load(model: str) -> FittedModel:
    from nbtext.artifact.model import load_model

    return load_model(model).fitted


def _load_adapted(sources: tuple[str, ...], model: str, input_settings: InputSettings, run: RunSettings) -> FittedModel:
    """Return the model with probabilities for the shares of labels that it estimates among the documents."""
    from nbtext.model.prevalence import adapt_prior, check_adaptation, check_prevalence, estimate_prevalence

    fitted = _load(model)
    check_adaptation(fitted)
    check_prevalence(fitted)
    with open_documents(sources, input_settings, replace(run, quiet=True), trained_on=fitted.input) as (source, _):
        return adapt_prior(fitted, estimate_prevalence(fitted, source, jobs=run.jobs))


def _check_adaptation(
    sources: tuple[str, ...], decisions: DecisionSettings, *, resume: bool, cluster: ClusterSettings
) -> None:
    """Raise SettingsError if an option was given that cannot be used with --adapt-prior."""
    is_pipe = any(os.path.exists(path) and not os.path.isdir(path) and not is_regular(path) for path in sources)
    if STANDARD_INPUT in sources or is_pipe:
        raise SettingsError(ONE_PASS, where="--adapt-prior", hint="save the documents to a file")
    refused = {
        "--resume": (resume, "the shares depend on all documents"),
        "--cluster": (cluster.cluster, "this option does not work on a cluster"),
        "--coverage": (decisions.coverage is not None, "prediction sets cover only documents as in training"),
    }
    _refuse_options(refused, "--adapt-prior")


def _refuse_options(refused: Mapping[str, tuple[object, str]], because_of: str) -> None:
    """Raise SettingsError for the first option with a value; each has its value and the reason."""
    for option, (value, why) in refused.items():
        if value:
            raise SettingsError(f"with {because_of}, {why}", where=option, hint=f"leave out {option}")


def _check_format(output_format: str, decisions: DecisionSettings) -> None:
    """Raise SettingsError if an output format cannot hold what the options add to a record."""
    if output_format == HEADER and (decisions.coverage is not None or decisions.top_k is not None):
        where = "--coverage" if decisions.coverage is not None else "--top-k"
        raise SettingsError(
            "cannot be combined with --to header, which holds one label",
            where=where,
            hint=f"leave out {where}, or add --to jsonl",
        )
    if output_format == FASTTEXT and decisions.coverage is not None:
        what, where = "cannot be combined with --to fasttext, which has no prediction sets", "--coverage"
        raise SettingsError(what, where=where, hint="leave out --coverage, or add --to jsonl")
    if decisions.explain is not None and output_format not in ("json", "jsonl"):
        raise SettingsError("needs the output format jsonl or json", where="--explain", hint="add --to jsonl")


def _check_resume(output: str, output_format: str, rank: str | None) -> None:
    """Raise SettingsError if the output cannot be continued."""
    if rank is not None:
        what = "cannot be combined with --rank, which writes all records at the end"
        raise SettingsError(what, where="--resume", hint="leave out one of them")
    if output_format not in ("jsonl", "tsv"):
        raise SettingsError("only jsonl and tsv can be resumed", where="--resume", hint="add --to jsonl")
    refuse_compression(output)


def _check_columns(output_format: str | None, *, resume: bool, rank: str | None, cluster: ClusterSettings) -> None:
    """Raise SettingsError if an option was given that cannot be used with --add-columns."""
    refused = {
        "--to": (output_format, "the rows keep the format of SOURCE"),
        "--resume": (resume, "the file is written completely or not at all"),
        "--rank": (rank, "the rows keep their order"),
        "--cluster": (cluster.cluster, "this option does not work on a cluster"),
        "--spreadsheet-safe": ("--spreadsheet-safe" in typed_options(), "the rows keep their cells"),
    }
    _refuse_options(refused, "--add-columns")


def _add_columns(
    sources: tuple[str, ...],
    load: Callable[[], FittedModel],
    output: str,
    columns: ColumnSettings,
    decisions: DecisionSettings,
    input_settings: InputSettings,
    run: RunSettings,
) -> None:
    """Write the rows of the sources with the predictions as further columns."""
    from nbtext.documents.rows import Target
    from nbtext.model.source_prediction import predict_any_source
    from nbtext.report.columns import write_columns

    check_output(output)
    fitted = load()
    warn_of_costs(fitted, decisions, quiet=run.quiet)
    run = replace(run, no_progress=run.no_progress or is_watched(output))
    input_settings = replace(input_settings, keeps_rows=True)
    with open_documents(sources, input_settings, run, trained_on=fitted.input) as (source, on_batch):
        predictions = predict_any_source(fitted, source, jobs=run.jobs, decisions=decisions, on_batch=on_batch)
        target = Target(output, lambda: result_file(output, "jsonl"), is_watched(output), columns.table)
        write_columns(predictions, target, columns, decisions)


def _rank(predictions: Iterator[AnyPredictions]) -> Iterator[AnyPredictions]:
    """Return all predictions as one batch, the most uncertain ones first."""
    from nbtext.model.source_prediction import rank_by_uncertainty

    ranked = rank_by_uncertainty(predictions)
    return iter(() if ranked is None else (ranked,))


@contextmanager
def _open_output(
    source: Source,
    output: str,
    output_format: str,
    fitted: FittedModel,
    decisions: DecisionSettings,
    *,
    run: tuple[str, tuple[str, ...], InputSettings] | None,
) -> Iterator[tuple[Source, Writer]]:
    """Yield the documents that have no record yet, and the file to which their records are written.

    `run` is the path of the model, the sources and their settings, to resume; None: a new file gets all records.
    """
    if run is None:
        with result_file(output, output_format) as file:
            yield source, file
        return
    from nbtext.documents.remainder import Remainder
    from nbtext.model.source_prediction import any_batch_predictor
    from nbtext.output import resumable_output
    from nbtext.report.resumption import ResumedRecords, identify_run

    with resumable_output(output) as file:
        predict_batch = any_batch_predictor(fitted, decisions)
        records = ResumedRecords(
            file,
            predict_batch,
            output_format=output_format,
            decisions=decisions,
            path=output,
            run=identify_run(*run, decisions, output_format),
        )
        yield Remainder(source, records), records
        records.remove_log()


def _predict_on_cluster(
    sources: tuple[str, ...],
    model: str,
    output: str,
    output_format: str,
    decisions: DecisionSettings,
    input_settings: InputSettings,
    cluster: ClusterSettings,
    run: RunSettings,
) -> None:
    """Write the records to a file, or to one file per shard in a directory, on the workers of a cluster."""
    from nbtext.artifact.model import load_model
    from nbtext.cluster.executor import prediction_task

    if output_format not in ("jsonl", "tsv"):
        raise SettingsError("--cluster writes only jsonl and tsv", where="--to", hint="add --to jsonl")
    refuse_compression(output)
    task = prediction_task(model, decisions, output_format)
    trained_on = load_model(model).fitted.input
    paths = (*sources, model, output) if output != "-" else (*sources, model)
    with (
        open_documents(sources, input_settings, run, trained_on=trained_on) as (source, on_batch),
        open_workers(paths, cluster, run) as workers,
    ):
        if workers is not None:
            workers.predict(source, task, output, on_batch)
