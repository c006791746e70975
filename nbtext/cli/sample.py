"""`nbtext sample`: documents that a model makes up."""

from __future__ import annotations

import click

from nbtext.cli import completion
from nbtext.cli.files import OUTPUT
from nbtext.cli.options import StagedCommand, option
from nbtext.cli.running import form_or_default, result_file
from nbtext.cli.shared_options import debug_option, form_option_or, model_option

MOST_DOCUMENTS = 2**62
MOST_WORDS = 10_000_000  # of a document, which is in memory as a whole


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext sample -m letters.joblib --label trash -n 3 --length 20\n\n"
    "Memory holds the model, and the probabilities of the words in a few labels.",
)
@model_option
@option(
    "--label",
    shell_complete=completion.labels,
    help="Draw documents of this label.  [default: each one's label is drawn from the prior]",
)
@option("-n", "--number", type=click.IntRange(1, MOST_DOCUMENTS), default=1, help="How many documents.  [default: 1]")
@option(
    "--length",
    type=click.IntRange(1, MOST_WORDS),
    metavar="N",
    help="Words of each document of a multinomial model.  [default: as many as the label's have on average]",
)
@option("--seed", type=click.IntRange(min=0), default=1, help="The same one draws the same documents.  [default: 1]")
@option("-o", "--output", default="-", type=OUTPUT, help="The file to write; - is standard output.  [default: -]")
@form_option_or("jsonl, which train reads")
@debug_option
def sample(
    model: str, label: str | None, number: int, length: int | None, seed: int, output: str, form: str | None
) -> None:
    """Draw documents from a model, by its own story of how they come about.

    A multinomial model draws words from the label's bag, with replacement; a bernoulli model tosses a coin for each
    word; a categorical one draws how often each occurs. Models without such a story are refused.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.generation import generate_documents
    from nbtext.report.samples import write_samples

    trained = load_model(model)
    documents = generate_documents(trained, number, label=label, length=length, seed=seed)
    form = form_or_default(form, output, piped="jsonl")
    with result_file(output, form) as file:
        write_samples(documents, file, output_format=form, fields=trained.fitted.feature_settings.fields)
