"""`nbtext sample`: documents that a model generates."""

from __future__ import annotations

from nbtext.cli import options, running
from nbtext.cli.command import command
from nbtext.records import frozen
from nbtext.settings import setting

MAX_SAMPLED_DOCUMENTS = 2**62
MAX_WORDS = 10_000_000  # words of a document, which is kept in memory


@frozen(kw_only=True)
class Sample:
    """The settings of `nbtext sample`."""

    model: str = options.model_argument()
    label: str | None = setting(
        None,
        "Label of all documents.",
        metavar="LABEL",
        default_help="drawn from the prior",
    )
    number: int = setting(
        1,
        "Number of documents.",
        flags=("-n", "--number"),
        low=1,
        high=MAX_SAMPLED_DOCUMENTS,
        metavar="N",
    )
    length: int | None = setting(
        None,
        "Number of words of each document. Only with a multinomial model.",
        low=1,
        high=MAX_WORDS,
        metavar="N",
        default_help="the mean length of the label",
    )
    seed: int = setting(
        1, "Random seed. The same seed generates the same documents.", low=0, metavar="N"
    )
    result: options.ResultSettings = options.result(piped="jsonl, which train reads")
    run: options.RunSettings = options.verbose_only()


@command(
    Sample,
    common="-m --label -n --length --seed -o --to",
    example="nbtext sample letters.joblib --label trash -n 3 --length 20",
    notes="Memory holds the model, and the probabilities of the words in a few labels.",
)
def sample(given: Sample) -> None:
    """Generate documents from a model.

    A multinomial model draws each word from the word distribution of the label, and a bernoulli
    model draws whether each word occurs. Other models cannot generate documents.
    """
    from nbtext.applications.sample.generation import generate_documents
    from nbtext.applications.sample.result import sample_result
    from nbtext.artifact.model import load_model_file

    chosen = running.result_format(given.result, piped="jsonl")
    trained = load_model_file(given.model)
    documents = generate_documents(
        trained, given.number, label=given.label, length=given.length, seed=given.seed
    )
    running.write_result(
        sample_result(documents, trained.fitted.feature_settings.fields), given.result, chosen
    )
