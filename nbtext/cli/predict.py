"""`nbtext predict`: a reliable filter, one record for each document."""

from __future__ import annotations

from typing import Any

import click

from nbtext.classifier.settings import DecisionSettings
from nbtext.cli.options import (
    StagedCommand,
    collected,
    decision_options,
    form_option,
    model_option,
    option,
    reading_options,
    run_options,
    sources,
)
from nbtext.cli.running import form_or_default, jobs_or_all, reading
from nbtext.documents.settings import ReadingSettings
from nbtext.errors import SettingsError


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext predict corpora/letters/test -m letters.joblib --to jsonl\n\n"
    "Streams: memory holds the model and a few batches of documents.",
)
@sources
@model_option
@option("-o", "--output", default="-", metavar="FILE", help="The file to write; - is standard output.  [default: -]")
@form_option
@decision_options
@reading_options
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
    from nbtext.classifier.folding import predict_source
    from nbtext.output import atomic_output
    from nbtext.report.records import write_predictions

    classifier = load_model(model)
    settings, decisions = collected(ReadingSettings, options), collected(DecisionSettings, options)
    with reading(sources, settings, quiet=quiet, no_progress=no_progress) as (source, on_batch):
        form = form_or_default(form, output)
        if decisions.explain is not None and form not in ("json", "jsonl"):
            raise SettingsError("words are shown in jsonl and json only", where="--explain", hint="give --to jsonl")
        predictions = predict_source(classifier, source, jobs=jobs_or_all(jobs), decisions=decisions, on_batch=on_batch)
        with atomic_output(output) as file:
            with_sets = decisions.coverage is not None
            write_predictions(predictions, file, form=form, with_sets=with_sets)
