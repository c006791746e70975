"""`nbtext diff`: what has changed from one model to another."""

from __future__ import annotations

import click

from nbtext.cli.files import MODEL
from nbtext.cli.options import StagedCommand, option
from nbtext.cli.running import form_or_default, print_result, screen
from nbtext.cli.shared_options import debug_option, form_option


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext diff letters.joblib bernoulli.joblib --features 5\n\nMemory holds both models.",
)
@click.argument("before", metavar="A", type=MODEL)
@click.argument("after", metavar="B", type=MODEL)
@option(
    "--features",
    "n_features",
    metavar="N",
    type=click.IntRange(min=0, max=1000),
    default=5,
    help="How many of the features that have moved most to show for each label.  [default: 5]",
)
@form_option
@debug_option
def diff(before: str, after: str, n_features: int, form: str | None) -> None:
    """Show what has changed from one model to another.

    From A to B: sizes, settings, labels, features that are new or lost, and those whose log-odds have moved most.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.difference import compare_models
    from nbtext.report.difference import format_difference

    form = form_or_default(form)
    found = compare_models(load_model(before), load_model(after), n_features=n_features)
    print_result(format_difference(found, output_format=form, screen=screen()), form)
