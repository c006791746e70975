"""`nbtext inspect`: what a model has learned, or a matrix file holds."""

from __future__ import annotations

import click

from nbtext.cli import completion
from nbtext.cli.options import StagedCommand, debug_option, form_option, option
from nbtext.cli.running import form_or_default, print_result, screen
from nbtext.documents.streams import is_matrix

CRITERIA = ("log-odds", "z", "mi", "chi2", "frequency")


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext inspect letters.joblib --features 10 --word parking\n\n"
    "Memory holds the model, and a number for each feature.",
)
@click.argument("model", metavar="MODEL", shell_complete=completion.files)
@option(
    "--features",
    "n_features",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    help="How many of the most telling features of each label to show.  [default: 20]",
)
@option(
    "--by",
    type=click.Choice(CRITERIA),
    help="What makes a feature telling: its weight (log-odds), its counts' log-odds in standard deviations (z), mutual "
    "information, chi-squared, or how frequent it is.  [default: z; log-odds for linear models]",
)
@option(
    "--label",
    "labels",
    shell_complete=completion.labels,
    metavar="LABEL",
    multiple=True,
    help="Look at this label only; may be repeated.",
)
@option(
    "--word",
    "words",
    metavar="WORD",
    multiple=True,
    help="Show what is known of this word in each label; may be repeated.",
)
@form_option
@debug_option
def inspect(
    model: str, n_features: int, by: str | None, labels: tuple[str, ...], words: tuple[str, ...], form: str | None
) -> None:
    """Show what a model has learned.

    MODEL is a model file, of which it shows how it was made, what to expect of it, and the features that tell its
    labels apart; or a matrix file.
    """
    from nbtext.report.inspection import rendered_inspection, rendered_matrix

    if is_matrix(model):
        from nbtext.classifier.inspection import inspect_matrix
        from nbtext.documents.matrix_reading import load_matrix

        matrix = inspect_matrix(load_matrix(model))
        print_result(rendered_matrix(matrix, form=form_or_default(form), screen=screen()))
        return
    from nbtext.artifact.model import load_model
    from nbtext.classifier.inspection import inspect as looked_into

    found = looked_into(load_model(model), n_features=n_features, by=by, labels=labels, words=words)
    print_result(rendered_inspection(found, form=form_or_default(form), screen=screen()))
