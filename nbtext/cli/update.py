"""`nbtext update`: a model learns more."""

from __future__ import annotations

from typing import Any

import click

from nbtext.classifier.settings import FadingSettings
from nbtext.cli.options import (
    StagedCommand,
    collected,
    fading_options,
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
    epilog="Example: nbtext update letters.joblib corpora/letters/test\n\n"
    "The result is byte for byte what training on all texts at once gives, if the model was trained with --keep-sample "
    "(and with --text-field and the like as here). Without it the smoothing and the calibration stay as they were; "
    "nbtext calibrate fits them afresh.\n\n"
    "Memory holds the model, and the counts of the new texts: it grows with words and labels, not with the corpus.",
)
@model_argument
@sources
@rewrite_option
@fading_options
@reading_options
@run_options
def update(
    model: str,
    sources: tuple[str, ...],
    output: str | None,
    jobs: int | None,
    quiet: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Learn more texts, new words and new labels included.

    With --half-life, what the model learned before weighs less, by the time that has passed since.
    MODEL is rewritten, whole or not at all, unless -o names another file.
    """
    from nbtext.classifier.growth import update_source

    settings, fading = collected(ReadingSettings, options), collected(FadingSettings, options)
    with (
        rewriting(model, output, quiet=quiet) as classifier,
        reading(sources, settings, quiet=quiet, no_progress=no_progress) as (source, on_batch),
    ):
        update_source(classifier, source, jobs=jobs_or_all(jobs), on_batch=on_batch, factor=fading.factor)
