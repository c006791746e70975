"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import click

from nbtext.bayes.settings import ModelSettings
from nbtext.cli.files import MODEL, MODEL_OUTPUT, REWRITTEN_MODEL, SOURCE, FileType
from nbtext.cli.options import Command, option, settings_options
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.settings import ReadingSettings
from nbtext.evaluation.settings import SEARCHES, SearchSettings
from nbtext.features.formulas import WEIGHTINGS
from nbtext.features.settings import FeatureSettings
from nbtext.model.settings import DecisionSettings, FadingSettings
from nbtext.report.records import OUTPUT_FORMATS

MOST_JOBS = 4096


def reading_options(command: Command) -> Command:
    """How sources are read."""
    return settings_options(ReadingSettings, "FittedModel")(command)


def feature_options(command: Command) -> Command:
    """How text becomes features."""
    command = settings_options(FeatureSettings, "Features")(command)
    return option(
        "--weighting",
        type=click.Choice(list(WEIGHTINGS)),
        stage="Features",
        help="Counts, presence, or TF-IDF: short for --tf, --idf and --norm.  [default: counts]",
    )(command)


def searching_options(command: Command) -> Command:
    """How counts become a model, which may be looked for."""
    command = settings_options(SearchSettings, "Model")(command)
    command = settings_options(ModelSettings, "Model", without=("model",))(command)
    (model,) = (each for each in fields(ModelSettings) if each.name == "model")
    return option(
        "--model",
        type=click.Choice([*model.metadata["choices"], *SEARCHES]),
        stage="Model",
        help=f"{model.metadata['help']} `auto` looks for the most accurate counting model, weighting and n-grams, "
        f"`best` among all.  [default: {model.default}]",
    )(command)


def fading_options(command: Command) -> Command:
    """How much less older documents weigh."""
    return settings_options(FadingSettings, "Fading")(command)


def decision_options(command: Command) -> Command:
    """How probabilities become answers."""
    return settings_options(DecisionSettings, "Answers")(command)


def cluster_options(command: Command) -> Command:
    """Who does the work."""
    return settings_options(ClusterSettings, "Running")(command)


debug_option = option(
    "--debug", is_flag=True, expose_value=False, stage="Running", help="Show the traceback of an error."
)


def _listen(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    """Have what the library logs printed on standard error."""
    if not is_wanted:
        return
    import logging

    from nbtext.features.kernel import kernel_name

    logging.basicConfig(level=logging.INFO, format="nbtext: %(message)s")
    logging.getLogger("nbtext").info("kernel: %s", kernel_name())


def progress_options(command: Command) -> Command:
    """How much a command says of what it does."""
    for decorate in (
        debug_option,
        option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_listen,
            stage="Running",
            help="Say which way the work goes: by the compiled kernel, or why not.",
        ),
        option("--no-progress", is_flag=True, stage="Running", help="Show no progress bar."),
        option("-q", "--quiet", is_flag=True, stage="Running", help="Say nothing but errors and results."),
    ):
        command = decorate(command)
    return command


def run_options(command: Command) -> Command:
    """How the command goes about it."""
    number = click.IntRange(1, MOST_JOBS)
    jobs = option("-j", "--jobs", type=number, stage="Running", help="Threads.  [default: all cores]")
    return jobs(progress_options(command))


def form_option_or(piped: str) -> Callable[[Command], Command]:
    """The form of a result, with what it is by default where no person looks at it."""
    return option(
        "--to",
        "form",
        type=click.Choice(OUTPUT_FORMATS),
        help=f"The form of the result.  [default: a table on a terminal, else {piped}]",
    )


form_option = form_option_or("tsv")
rewrite_option = option("-o", "--output", type=MODEL_OUTPUT, help="Write another file; - is standard output.")


def written_option(kind: FileType) -> Callable[[Command], Command]:
    """Where a binary result goes, which is no terminal."""
    return option(
        "-o",
        "--output",
        type=kind,
        help="The file to write; - is standard output.  [default: standard output, unless it is a terminal]",
    )


rewritten_model_argument = click.argument("model", metavar="MODEL", type=REWRITTEN_MODEL)
sources = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=SOURCE)
model_option = option(
    "-m",
    "--model-file",
    "model",
    type=MODEL,
    required=True,
    help="The model file to ask; - is standard input.",
)
