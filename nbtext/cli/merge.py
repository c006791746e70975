"""`nbtext merge`: several models become one."""

from __future__ import annotations

import click

from nbtext.cli.files import MODEL_OUTPUT, REWRITTEN_MODEL
from nbtext.cli.options import StagedCommand
from nbtext.cli.running import jobs_or_all, model_output, save
from nbtext.cli.shared_options import run_options, written_option


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext merge north.joblib south.joblib -o both.joblib\n\n"
    "The result is byte for byte what training on all their texts at once gives, if they were trained with "
    "--keep-sample N. Without it the smoothing and the calibration are those of the largest model; nbtext calibrate "
    "fits them afresh.\n\n"
    "Memory holds all the models, and their sum.",
)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=REWRITTEN_MODEL)
@written_option(MODEL_OUTPUT)
@run_options
def merge(models: tuple[str, ...], output: str | None, jobs: int | None, quiet: bool, no_progress: bool) -> None:
    """Join models into one that has learned what each of them has.

    They must have been trained with the same options.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model import growth

    with model_output(output) as target:
        merged = growth.merge([load_model(model) for model in models], names=models, jobs=jobs_or_all(jobs))
        save(merged, target, quiet=quiet)
