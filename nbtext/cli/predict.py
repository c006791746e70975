"""`nbtext predict`: a reliable filter, one record for each document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from nbtext.cli.clustering import answer_by_workers
from nbtext.cli.files import OUTPUT
from nbtext.cli.options import StagedCommand, collected, option
from nbtext.cli.running import form_or_default, is_watched, jobs_or_all, reading, result_file
from nbtext.cli.shared_options import (
    cluster_options,
    decision_options,
    form_option,
    model_option,
    reading_options,
    run_options,
    sources,
)
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.settings import ReadingSettings
from nbtext.errors import SettingsError
from nbtext.model.settings import DecisionSettings

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.predictor import Predictions


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext predict corpora/letters/test -m letters.joblib --to jsonl\n\n"
    "Streams: memory holds the model and a few batches of documents.",
)
@sources
@model_option
@option(
    "-o",
    "--output",
    default="-",
    type=OUTPUT,
    help="The file to write; - is standard output; with --cluster also a folder, for a file from each piece of SOURCE."
    "  [default: -]",
)
@option("--resume", is_flag=True, help="Go on after the last whole record of FILE (jsonl or tsv), if there is any.")
@option(
    "--rank",
    type=click.Choice(["uncertainty"]),
    help="Put the documents first whose label would teach most: those of which the model is least sure, "
    "by the entropy of all labels' probabilities. "
    "Memory holds all answers.",
)
@form_option
@decision_options
@reading_options
@cluster_options
@run_options
def predict(
    sources: tuple[str, ...],
    model: str,
    output: str,
    form: str | None,
    jobs: int | None,
    quiet: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Label texts with a model: one record for each document, in their order.

    A document that cannot be read, or holds no token, gets its record too: an empty label, and the reason;
    so does one about which the model is less sure than --min-probability asks for.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.source_prediction import predict_source
    from nbtext.report.records import write_predictions

    settings, decisions = collected(ReadingSettings, options), collected(DecisionSettings, options)
    if decisions.explain is not None and form not in ("json", "jsonl"):
        raise SettingsError("words are shown in jsonl and json only", where="--explain", hint="give --to jsonl")
    if collected(ClusterSettings, options).cluster is not None:
        running = {"form": form, "jobs": jobs, "quiet": quiet, "no_progress": no_progress}
        answer_by_workers(sources, model, output, options | running)
        return
    trained = load_model(model)
    no_progress |= is_watched(output) and options["rank"] is None
    with reading(sources, settings, quiet=quiet, no_progress=no_progress, input_unit=trained.fitted.input_unit) as (
        source,
        on_batch,
    ):
        form = form_or_default(form, output)
        if options["resume"] and options["rank"] is not None:
            raise SettingsError("what is ranked comes at the end, all at once", where="--resume", hint="leave it out")
        with (
            _resumed(source, output, form, trained, decisions)
            if options["resume"]
            else _begun(source, output, form) as (rest, file)
        ):
            predictions = predict_source(
                trained.fitted, rest, jobs=jobs_or_all(jobs), decisions=decisions, on_batch=on_batch
            )
            if options["rank"] is not None:
                predictions = _ranked(predictions)
            write_predictions(predictions, file, output_format=form, with_sets=decisions.coverage is not None)


def _ranked(predictions: Iterator[Predictions]) -> Iterator[Predictions]:
    """All of them at the end, those of which the model is least sure first."""
    from nbtext.model.source_prediction import rank_by_uncertainty

    ranked = rank_by_uncertainty(predictions)
    return iter(() if ranked is None else (ranked,))


@contextmanager
def _begun(source: Source, output: str, form: str) -> Iterator[tuple[Source, BinaryIO]]:
    """All documents, and a file that is written whole or not at all."""
    with result_file(output, form) as file:
        yield source, file


@contextmanager
def _resumed(
    source: Source, output: str, form: str, trained: TrainedModel, decisions: DecisionSettings
) -> Iterator[tuple[Source, BinaryIO]]:
    """The documents that have no record in the file yet, and the file."""
    from nbtext.documents.source import Remainder
    from nbtext.model.source_prediction import batch_predictor
    from nbtext.output import resumed_output
    from nbtext.report.resumption import WrittenRecords

    if form not in ("jsonl", "tsv"):
        raise SettingsError("only jsonl and tsv can be resumed", where="--resume", hint="give --to jsonl")

    predict = batch_predictor(trained.fitted, decisions)
    with resumed_output(output) as file:
        with_sets = decisions.coverage is not None
        yield Remainder(source, WrittenRecords(file, predict, form=form, with_sets=with_sets, path=output)), file
