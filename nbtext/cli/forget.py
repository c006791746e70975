"""`nbtext forget`: a model unlearns texts."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli.options import (
    StagedCommand,
    collected,
    model_argument,
    reading_options,
    rewrite_option,
    run_options,
    sources,
)
from nbtext.cli.running import jobs_or_all, reading, rewriting
from nbtext.documents.settings import ReadingSettings


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext forget letters.joblib withdrawn.jsonl\n\n"
    "The result is byte for byte what training on the other texts gives, if the model was trained with --keep-sample "
    "N and N documents or fewer are in it. Else the smoothing and the calibration are approximate; nbtext calibrate "
    "fits them afresh.\n\n"
    "Memory holds the model, and the counts of the texts; of a model with a sample, those of each text.",
)
@model_argument
@sources
@rewrite_option
@reading_options
@run_options
def forget(
    model: str,
    sources: tuple[str, ...],
    output: str | None,
    jobs: int | None,
    quiet: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Take texts out of a model, as if it had never learned them.

    They must be the texts that were learned, with the same labels; where counts show that one was not, the model
    stays as it is. Words and labels that no other text has vanish.
    MODEL is rewritten, whole or not at all, unless -o names another file.
    """
    from nbtext.classifier.growth import forget_source

    settings = collected(ReadingSettings, options)
    with (
        rewriting(model, output, quiet=quiet) as classifier,
        reading(sources, settings, quiet=quiet, no_progress=no_progress) as (source, on_batch),
    ):
        forget_source(classifier, source, jobs=jobs_or_all(jobs), on_batch=on_batch)
