"""`nbtext sample`: documents that a model generates."""

from __future__ import annotations

import click

from nbtext.cli import completion
from nbtext.cli.command import Option, command
from nbtext.cli.options import DEBUG, MODEL_PARTS, result_options
from nbtext.cli.running import result_file, result_format
from nbtext.report.records import OUTPUT_FORMATS

MAX_DOCUMENTS = 2**62
MAX_WORDS = 10_000_000  # words of a document, which is kept in memory


@command(
    *MODEL_PARTS,
    Option("--label", shell_complete=completion.labels, metavar="LABEL", default_help="drawn from the prior",
           help="Label of all documents."),
    Option("-n", "--number", type=click.IntRange(1, MAX_DOCUMENTS), metavar="N", default=1, default_help="1",
           help="Number of documents."),
    Option("--length", type=click.IntRange(1, MAX_WORDS), metavar="N", default_help="the mean length of the label",
           help="Number of words of each document. Only with a multinomial model."),
    Option("--seed", type=click.IntRange(min=0), metavar="N", default=1, default_help="1",
           help="Random seed. The same seed generates the same documents."),
    *result_options(OUTPUT_FORMATS, "jsonl, which train reads"),
    DEBUG,
    common="-m --label -n --length --seed -o --to",
    example="nbtext sample letters.joblib --label trash -n 3 --length 20",
    notes="Memory holds the model, and the probabilities of the words in a few labels.",
)  # fmt: skip
def sample(
    model: str, label: str | None, number: int, length: int | None, seed: int, output: str, output_format: str | None
) -> None:
    """Generate documents from a model.

    A multinomial model draws each word from the word distribution of the label. A bernoulli model draws whether each
    word occurs, and a categorical model draws how often it occurs. Other models cannot generate documents.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.generation import generate_documents
    from nbtext.report.records import write_samples

    trained = load_model(model)
    documents = generate_documents(trained, number, label=label, length=length, seed=seed)
    chosen = result_format(output_format, output, OUTPUT_FORMATS, piped="jsonl")
    with result_file(output, chosen) as file:
        write_samples(documents, file, output_format=chosen, fields=trained.fitted.feature_settings.fields)
