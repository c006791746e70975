"""`nbtext explain`: why each document got its label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import completion
from nbtext.cli.files import OUTPUT
from nbtext.cli.options import StagedCommand, collected, option
from nbtext.cli.running import form_or_default, is_watched, jobs_or_all, reading, result_file, screen
from nbtext.cli.shared_options import form_option, model_option, reading_options, run_options, sources
from nbtext.documents.settings import ReadingSettings
from nbtext.errors import SettingsError

if TYPE_CHECKING:
    from nbtext.features.settings import FeatureSettings
    from nbtext.model.explanation import Explanation


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext explain corpora/letters/test/trash -m letters.joblib --features 3\n\n"
    "Streams: memory holds the model and a few batches of documents.",
)
@sources
@model_option
@option(
    "--label",
    shell_complete=completion.labels,
    metavar="LABEL",
    help="Explain this label.  [default: the one that is predicted]",
)
@option(
    "--against",
    shell_complete=completion.labels,
    metavar="LABEL",
    help="Compare it with this label.  [default: the most probable other one]",
)
@option(
    "--features",
    "n_features",
    metavar="N",
    type=click.IntRange(min=0),
    help="Show the N strongest words only.  [default: 10 in a table, 25 on a page, else all]",
)
@option("-o", "--output", type=OUTPUT, help="The file to write; - is standard output.  [default: -]")
@option(
    "--html",
    type=OUTPUT,
    help="Write a page instead, of the first 200 documents: texts with colored words, and the sums; needs "
    "nbtext[report].",
)
@form_option
@reading_options
@run_options
def explain(sources: tuple[str, ...], model: str, html: str | None, **options: Any) -> None:
    """Show why each document got its label: what each word adds to its log-odds.

    The words' parts, the prior and what absent words say, divided by the temperature, are the log-odds of the label
    against the other one, to the last digit. On a terminal, and on a page, the words are colored in the text: blue
    speaks for the label, yellow or orange against it.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.source_prediction import explain_source

    output = _checked(html, options)
    trained = load_model(model)
    settings, jobs = collected(ReadingSettings, options), jobs_or_all(options["jobs"])
    no_progress = options["no_progress"] or (html is None and is_watched(output))
    unit = trained.fitted.input_unit
    with reading(sources, settings, quiet=options["quiet"], no_progress=no_progress, input_unit=unit) as (
        source,
        on_batch,
    ):
        explanations = explain_source(
            trained.fitted, source, label=options["label"], against=options["against"], jobs=jobs, on_batch=on_batch
        )
        if html is None:
            _print(explanations, trained.fitted.feature_settings, output, options)
        else:
            _write_page(
                explanations, trained.fitted.feature_settings, html, sources=sources, n_features=options["n_features"]
            )


def _checked(html: str | None, options: dict[str, Any]) -> str:
    """Where the result goes."""
    output: str | None = options["output"]
    if html is not None:
        from nbtext.report.page.rendering import check_page

        if output is not None or options["form"] is not None:
            raise SettingsError("it is written instead of the result", where="--html", hint="leave out -o and --to")
        check_page("--html", html)
    return output or "-"


def _print(
    explanations: Iterator[Explanation], features: FeatureSettings, output: str, options: dict[str, Any]
) -> None:
    """Each explanation as soon as it is there."""
    from nbtext.features.occurrences import Locator
    from nbtext.report.explanation import write_explanations

    form, shown = form_or_default(options["form"], output), options["n_features"]
    with result_file(output, form) as file:
        write_explanations(
            explanations, file, output_format=form, n_features=shown, locate=Locator(features), screen=screen(output)
        )


def _write_page(
    explanations: Iterator[Explanation],
    features: FeatureSettings,
    html: str,
    *,
    sources: tuple[str, ...],
    n_features: int | None,
) -> None:
    """The page of the first ones."""
    from nbtext.features.occurrences import Locator
    from nbtext.report.explanation_page import explanation_page
    from nbtext.report.page.rendering import write_page

    page = explanation_page(explanations, subject=", ".join(sources), locate=Locator(features), n_features=n_features)
    write_page(html, page)
