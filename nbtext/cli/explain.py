"""`nbtext explain`: why each document got its label."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli import completion
from nbtext.cli.options import (
    StagedCommand,
    collected,
    form_option,
    model_option,
    option,
    reading_options,
    run_options,
    sources,
)
from nbtext.cli.running import form_or_default, is_watched, jobs_or_all, reading, screen
from nbtext.documents.settings import ReadingSettings


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
    help="Show the N strongest words only.  [default: 10 in a table, else all]",
)
@option("-o", "--output", default="-", metavar="FILE", help="The file to write; - is standard output.  [default: -]")
@form_option
@reading_options
@run_options
def explain(
    sources: tuple[str, ...],
    model: str,
    label: str | None,
    against: str | None,
    n_features: int | None,
    output: str,
    form: str | None,
    **options: Any,
) -> None:
    """Show why each document got its label: what each word adds to its log-odds.

    The words' parts, the prior and what absent words say, divided by the temperature, are the log-odds of the label
    against the other one, to the last digit. On a terminal the words are colored in the text: blue speaks for the
    label, yellow against it.
    """
    from nbtext.artifact.model import load_model
    from nbtext.classifier.explanation import Explainer, explain_source
    from nbtext.features.occurrences import Locator
    from nbtext.output import atomic_output
    from nbtext.report.explanation import ExplanationWriter

    classifier = load_model(model)
    explainer = Explainer(classifier, label=label, against=against)
    settings, jobs = collected(ReadingSettings, options), jobs_or_all(options["jobs"])
    form = form_or_default(form, output)
    writer = ExplanationWriter(form, n_features=n_features, locate=Locator(classifier.features), screen=screen(output))
    no_progress = options["no_progress"] or is_watched(output)
    with reading(sources, settings, quiet=options["quiet"], no_progress=no_progress) as (source, on_batch):
        explanations = explain_source(explainer.explain, classifier, source, jobs=jobs, on_batch=on_batch)
        with atomic_output(output) as file:
            writer.write(explanations, file)
