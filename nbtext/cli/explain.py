"""`nbtext explain`: why documents get their labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from nbtext.cli import completion
from nbtext.cli.command import Option, command
from nbtext.cli.files import OUTPUT
from nbtext.cli.options import MODEL_FILE, RUN_PARTS, SOURCES, UNLABELED_INPUT_STAGE, RunSettings, result_options
from nbtext.cli.running import is_watched, open_documents, refuse_compression, result_file, result_format, screen
from nbtext.errors import SettingsError
from nbtext.report.records import OUTPUT_FORMATS

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings


@command(
    SOURCES,
    MODEL_FILE,
    Option("--label", shell_complete=completion.labels, metavar="LABEL", default_help="the predicted label",
           help="Label to explain."),
    Option("--against", shell_complete=completion.labels, metavar="LABEL", default_help="the most probable other label",
           help="Label to compare with. Log-odds are those of --label against this label."),
    Option("--features", "n_features", metavar="N", type=click.IntRange(min=0),
           default_help="10 in a table, 25 on a page, else all", help="Number of features to show."),
    *result_options((*OUTPUT_FORMATS, "html")),
    Option("--html", type=OUTPUT, help="Write an HTML page of the first 200 documents, like -o FILE.html. Needs the "
           "extra nbtext[report]."),
    UNLABELED_INPUT_STAGE,
    *RUN_PARTS,
    common="-m --label --against --features -o --to --html --input-format --text-field",
    example="nbtext explain letters/test/trash -m letters.joblib --features 3",
    notes="Memory does not grow with the number of documents.",
)  # fmt: skip
def explain(
    sources: tuple[str, ...],
    model: str,
    label: str | None,
    against: str | None,
    n_features: int | None,
    output: str,
    output_format: str | None,
    html: str | None,
    input_settings: InputSettings,
    run: RunSettings,
) -> None:
    """Explain why documents get their labels, feature by feature.

    The log-odds of the label against the other label are the sum of the contributions of the features and of a few
    terms: the prior, the absent features, and the changes by calibration and by the prior adjustment. A multi-label
    model explains each predicted label against its absence. On a terminal and on a page, the words of the text are
    colored: blue words support the label, and yellow and orange words support the other label.
    """
    from nbtext.artifact.model import load_model
    from nbtext.features.occurrences import Locator
    from nbtext.model.source_prediction import explain_source
    from nbtext.report.explanation import write_explanations

    if html is not None and (output != "-" or output_format is not None):
        raise SettingsError(
            "cannot be combined with -o or --to, because the page replaces the result",
            where="--html",
            hint="leave out -o and --to",
        )
    chosen = "html" if html is not None else result_format(output_format, output, (*OUTPUT_FORMATS, "html"))
    output = html or output
    if chosen == "html":
        from nbtext.report.page.rendering import check_page

        refuse_compression(output, "-o" if html is None else "--html")
        check_page("--html", output)
    fitted = load_model(model).fitted
    run = replace(run, no_progress=run.no_progress or is_watched(output))
    with open_documents(sources, input_settings, run, trained_on=fitted.input) as (source, on_batch):
        explanations = explain_source(fitted, source, label=label, against=against, jobs=run.jobs, on_batch=on_batch)
        locate = Locator(fitted.feature_settings)
        if chosen == "html":
            from nbtext.report.explanation import render_explanation_page
            from nbtext.report.page.rendering import write_page

            names = ", ".join(sources)
            write_page(
                output, render_explanation_page(explanations, subject=names, locate=locate, n_features=n_features)
            )
            return
        with result_file(output, chosen) as file:
            write_explanations(
                explanations, file, output_format=chosen, n_features=n_features, locate=locate, screen=screen(output)
            )
