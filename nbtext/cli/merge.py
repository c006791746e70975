"""`nbtext merge`: several models become one."""

from __future__ import annotations

import click

from nbtext.cli.command import command
from nbtext.cli.files import REWRITTEN_MODEL
from nbtext.cli.options import DEBUG, NEW_MODEL, RUN_STAGE, VERBOSE, RunSettings
from nbtext.cli.running import model_output, save


@command(
    click.Argument(["models"], metavar="MODEL...", nargs=-1, required=True, type=REWRITTEN_MODEL),
    NEW_MODEL,
    RUN_STAGE,
    VERBOSE,
    DEBUG,
    common="-o -j -q",
    example="nbtext merge north.joblib south.joblib -o both.joblib",
    notes="The result has the same bytes as a model that is trained on all their documents at once, if the models were "
    "trained with --keep-sample N. Otherwise it has the smoothing and calibration of the largest model; `nbtext "
    "calibrate` fits them again.\n\n"
    "Memory holds all the models and their sum.",
)
def merge(models: tuple[str, ...], output: str | None, run: RunSettings) -> None:
    """Merge models into one that has learned the documents of all.

    The models must have been trained with the same options. The output may replace one of them.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model import growth

    with model_output(output) as target:
        merged = growth.merge([load_model(model) for model in models], names=models, jobs=run.jobs)
        save(merged, target, quiet=run.quiet)
