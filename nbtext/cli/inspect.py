"""`nbtext inspect`: what a model has learned, or a matrix file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import completion
from nbtext.cli.files import MODEL, SOURCE
from nbtext.cli.options import StagedCommand, collected, option
from nbtext.cli.running import form_or_default, print_result, reading, screen
from nbtext.cli.shared_options import form_option, progress_options, reading_options
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import is_matrix
from nbtext.errors import SettingsError

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.inspector import Names

CRITERIA = ("log-odds", "z", "mi", "chi2", "frequency")


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext inspect letters.joblib --features 10 --word parking\n\n"
    "Memory holds the model, and a number for each feature; with --words-from the words of SOURCE too.",
)
@click.argument("model", metavar="MODEL", type=MODEL)
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
@option(
    "--words-from",
    type=SOURCE,
    help="Show hashed features with their words in these texts; a model does not keep them.",
)
@form_option
@reading_options
@progress_options
def inspect(model: str, form: str | None, **options: Any) -> None:
    """Show what a model has learned.

    MODEL is a model file, of which it shows how it was made, what to expect of it, the labels that it confuses most,
    and the features that tell its labels apart; or a matrix file.
    """
    from nbtext.report.inspection import format_inspection, format_matrix

    form = form_or_default(form)
    if is_matrix(model):
        for name in ("by", "labels", "words", "words_from"):
            if options[name]:
                where = "--" + name.replace("_", "-").removesuffix("s")
                raise SettingsError("a matrix has learned nothing", where=where, hint="give a model, or leave it out")
        from nbtext.documents.matrix import load_matrix
        from nbtext.model.inspection import inspect_matrix

        matrix = inspect_matrix(load_matrix(model))
        print_result(format_matrix(matrix, output_format=form, screen=screen()), form)
        return
    from nbtext.artifact.model import load_model
    from nbtext.model.inspection import inspect as looked_into

    trained = load_model(model)
    asked = {name: options[name] for name in ("n_features", "by", "labels", "words")}
    found = looked_into(trained, **asked, names=_names(trained, options))
    print_result(format_inspection(found, output_format=form, screen=screen()), form)


def _names(trained: TrainedModel, options: dict[str, Any]) -> Names | None:
    """The words behind hashed features, if they are asked for."""
    if options["words_from"] is None:
        return None
    from nbtext.model.inspector import words_behind

    settings, progress = collected(ReadingSettings, options), {name: options[name] for name in ("quiet", "no_progress")}
    with reading((options["words_from"],), settings, **progress) as (source, on_batch):
        return words_behind(trained, source, on_batch=on_batch)
