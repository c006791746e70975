"""`nbtext inspect` and `nbtext diff`: summaries of models and matrix files, and differences between models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nbtext.cli import completion
from nbtext.cli.command import Option, command
from nbtext.cli.files import MODEL, SOURCE
from nbtext.cli.options import (
    DEBUG,
    MODEL_PARTS,
    RUN_STAGE,
    UNLABELED_INPUT_STAGE,
    VERBOSE,
    RunSettings,
    result_options,
)
from nbtext.cli.running import open_documents, result_format, screen, write_result
from nbtext.documents.streams import is_matrix
from nbtext.errors import SettingsError
from nbtext.model.settings import CRITERIA
from nbtext.report.records import OUTPUT_FORMATS

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings
    from nbtext.model.inspector import Names


@command(
    *MODEL_PARTS,
    Option("--features", "n_features", metavar="N", type=click.IntRange(min=0), default=20, default_help="20",
           help="Number of features to show for each label."),
    Option("--by", "criterion", type=click.Choice(list(CRITERIA)), metavar="NAME",
           default_help="z; log-odds for linear models",
           help="Ranking criterion of features. log-odds is the weight of the feature minus the mean of its weights "
           "for the other labels; z is the log-odds ratio of its counts, divided by the standard deviation; mi is "
           "mutual information; chi2 is the chi-squared statistic."),
    Option("--label", "labels", shell_complete=completion.labels, metavar="LABEL", multiple=True,
           help="Show only this label; may be repeated."),
    Option("--word", "words", metavar="WORD", multiple=True,
           help="Show the counts and weights of this feature; may be repeated."),
    Option("--words-from", type=SOURCE,
           help="Documents in which to look up the words of hashed features, because the model does not store words. "
           "The options of the group Input are for these documents."),
    *result_options(OUTPUT_FORMATS),
    UNLABELED_INPUT_STAGE,
    RUN_STAGE.without("jobs"),
    VERBOSE,
    DEBUG,
    common="-m --features --by --label --word -o --to",
    example="nbtext inspect letters.joblib --features 10 --word parking",
    notes="Memory holds the model and one number for each feature; with --words-from, also the words of SOURCE.",
)  # fmt: skip
def inspect(
    model: str,
    n_features: int,
    criterion: str | None,
    labels: tuple[str, ...],
    words: tuple[str, ...],
    words_from: str | None,
    output: str,
    output_format: str | None,
    input_settings: InputSettings,
    run: RunSettings,
) -> None:
    """Show the settings and the most important features of a model.

    For a model file, the result is the settings, the leave-one-out estimate, the confusions of labels, and for each
    label the features with the highest score of --by. MODEL may also be a matrix file of `nbtext vectorize`.
    """
    from nbtext.report.inspection import format_inspection, format_matrix

    chosen = result_format(output_format, output, OUTPUT_FORMATS)
    if is_matrix(model):
        given = {"--by": criterion, "--label": labels, "--word": words, "--words-from": words_from}
        for flag in (flag for flag, value in given.items() if value):
            raise SettingsError(
                "this option needs a model, and the file is a matrix",
                where=flag,
                hint=f"give a model, or leave out {flag}",
            )
        from nbtext.documents.matrix import load_matrix
        from nbtext.model.inspection import inspect_matrix

        matrix = inspect_matrix(load_matrix(model))
        write_result(format_matrix(matrix, output_format=chosen, screen=screen(output)), output, chosen)
        return
    from nbtext.artifact.model import load_model
    from nbtext.model.inspection import inspect as inspect_model
    from nbtext.model.inspector import invert_hashes

    trained = load_model(model)
    names: Names | None = None
    if words_from is not None:
        with open_documents((words_from,), input_settings, run, trained_on=trained.fitted.input) as (source, on_batch):
            names = invert_hashes(trained, source, on_batch=on_batch)
    found = inspect_model(trained, n_features=n_features, by=criterion, labels=labels, words=words, names=names)
    write_result(format_inspection(found, output_format=chosen, screen=screen(output)), output, chosen)


@command(
    click.Argument(["before"], metavar="A", type=MODEL),
    click.Argument(["after"], metavar="B", type=MODEL),
    Option("--features", "n_features", metavar="N", type=click.IntRange(min=0, max=1000), default=5, default_help="5",
           help="Number of features to show for each label: those whose log-odds changed most."),
    *result_options(OUTPUT_FORMATS),
    DEBUG,
    common="--features -o --to",
    example="nbtext diff letters.joblib bernoulli.joblib --features 5",
    notes="For the second model: nbtext train letters.joblib --model bernoulli -o bernoulli.joblib\n\n"
    "Memory holds both models.",
)  # fmt: skip
def diff(before: str, after: str, n_features: int, output: str, output_format: str | None) -> None:
    """Show the differences between two models.

    The result is what changed from model A to model B: sizes, settings, labels, features that were added or removed,
    and the features whose log-odds changed most.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.difference import compare_models
    from nbtext.report.training import format_difference

    chosen = result_format(output_format, output, OUTPUT_FORMATS)
    found = compare_models(load_model(before), load_model(after), n_features=n_features)
    write_result(format_difference(found, output_format=chosen, screen=screen(output)), output, chosen)
