"""`nbtext calibrate`: smoothing and probabilities fitted afresh."""

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
    epilog="Example: nbtext calibrate letters.joblib corpora/letters/test\n\n"
    "What was set by --smoothing or --no-calibrate stays as it was set.\n\n"
    "Memory holds the model, and the counts of 16,384 texts at most, by which it is fitted.",
)
@model_argument
@sources
@rewrite_option
@reading_options
@run_options
def calibrate(
    model: str,
    sources: tuple[str, ...],
    output: str | None,
    jobs: int | None,
    quiet: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Fit a model's smoothing and calibration to labelled texts, of which it learns nothing else.

    They may be texts that it has learned, which are left out of its counts one by one, or others.
    MODEL is rewritten, whole or not at all, unless -o names another file.
    """
    from nbtext.classifier.growth import calibrate_source

    settings = collected(ReadingSettings, options)
    with (
        rewriting(model, output, quiet=quiet) as classifier,
        reading(sources, settings, quiet=quiet, no_progress=no_progress) as (source, on_batch),
    ):
        calibrate_source(classifier, source, jobs=jobs_or_all(jobs), on_batch=on_batch)
