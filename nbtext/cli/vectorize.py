"""`nbtext vectorize`: documents as a sparse matrix."""

from __future__ import annotations

from nbtext.cli import options, running
from nbtext.cli.command import command, refuse_settings
from nbtext.documents.settings import InputSettings
from nbtext.features.settings import FeatureSettings
from nbtext.records import Strings, frozen
from nbtext.settings import part, refuse, setting

MATRIX_FORMATS = ("npz", "svmlight", "mtx")


@frozen(kw_only=True)
class Vectorize:
    """The settings of `nbtext vectorize`."""

    sources: Strings = options.sources()
    output: str | None = options.new_model("File to write.", file="output")
    to: str | None = setting(
        None,
        "Output format. npz also holds feature names, document ids, labels and settings. svmlight and mtx "
        "(Matrix Market) hold numbers only. In svmlight, a label is its position in sorted order, from 0 on, and -1 "
        "if there is none; mtx has no labels. The suffix of -o implies the format.",
        choices=MATRIX_FORMATS,
        metavar="FORMAT",
        default_help="npz",
    )
    like: str | None = setting(
        None,
        "Model, or matrix file (.npz), whose columns and weights the matrix has: the same features in the same "
        "order, with the inverse document frequencies of its training documents. Other words are only counted. "
        "Labels have the numbers that they have there.",
        file="model",
    )
    input: InputSettings = part(InputSettings, without=options.NOT_WEIGHED)
    features: FeatureSettings = part(FeatureSettings)
    run: options.RunSettings = options.run()


@command(
    Vectorize,
    common="-o --like --to --text-field --label-field --weighting --ngrams --stop-words --min-df --max-features",
    example="nbtext vectorize letters/train --weighting tfidf -o letters.npz",
    notes="In pipes, for example: nbtext vectorize letters/test --like letters.joblib -o - | nbtext predict - "
    "-m letters.joblib\n\nMemory and an .npz file hold 8 bytes for each distinct "
    "word of each document, its counts, and 12 more (weights) or 8 more (counts) where the columns are weighted, "
    "selected, given or those of --like. Memory holds more while documents are read.",
)
def vectorize(given: Vectorize) -> None:
    """Convert documents to a sparse matrix, and save it.

    Commands that need no text read the file as SOURCE: `train`, `predict`, `evaluate` and others.
    With .npz, their results are those of the texts. scipy.sparse.load_npz reads .npz, too.
    """
    from nbtext.features.matrix import write_matrix
    from nbtext.model.matrices import vectorize_source
    from nbtext.output import atomic_output

    target = running.binary_output(given.output)
    chosen = given.to or running.format_of(target, MATRIX_FORMATS) or "npz"
    if chosen == "mtx" and given.features.select is None:
        for name in options.NOT_FOR_COUNTS:
            if getattr(given.input, name):
                raise refuse(name, "the format mtx has no labels")
    like = None  # the columns are those of the documents
    if given.like is not None:
        refuse_settings(FeatureSettings, because="the features are those of --like")
        from nbtext.artifact.model import load_model_file
        from nbtext.documents.streams import is_matrix_file
        from nbtext.features.matrix import load_matrix
        from nbtext.model.matrices import Like

        if is_matrix_file(given.like):
            like = Like.of_matrix(load_matrix(given.like))
        else:
            like = Like.of_model(load_model_file(given.like).fitted)
    run = given.run
    trained_on = None if like is None else like.input
    with running.open_documents(
        given.sources, given.input, run, trained_on=trained_on, output=target
    ) as (source, on_batch):
        matrix = vectorize_source(
            source, given.features, like=like, jobs=run.jobs, on_batch=on_batch
        )
        with atomic_output(target) as file:
            write_matrix(
                matrix, file, output_format=chosen, labels=None if like is None else like.labels
            )
