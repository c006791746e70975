"""`nbtext diff`: what changed from one model to another."""

from __future__ import annotations

import click

from nbtext.cli.command import Option, command
from nbtext.cli.files import MODEL
from nbtext.cli.options import DEBUG, result_options
from nbtext.cli.running import result_format, screen, write_result
from nbtext.report.records import OUTPUT_FORMATS


@command(
    click.Argument(["before"], metavar="A", type=MODEL),
    click.Argument(["after"], metavar="B", type=MODEL),
    Option("--features", "n_features", metavar="N", type=click.IntRange(min=0, max=1000), default=5, default_help="5",
           help="Number of features to show for each label: those whose log-odds changed most."),
    *result_options(OUTPUT_FORMATS),
    DEBUG,
    common="--features -o --to",
    example="nbtext diff letters.joblib bernoulli.joblib --features 5",
    notes="Memory holds both models.",
)  # fmt: skip
def diff(before: str, after: str, n_features: int, output: str, output_format: str | None) -> None:
    """Show what changed from one model to another.

    From model A to model B, these are the sizes, the settings, the labels, the features that were added or removed, and
    the features whose log-odds changed most.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.difference import compare_models
    from nbtext.report.training import format_difference

    chosen = result_format(output_format, output, OUTPUT_FORMATS)
    found = compare_models(load_model(before), load_model(after), n_features=n_features)
    write_result(format_difference(found, output_format=chosen, screen=screen(output)), output, chosen)
