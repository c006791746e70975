"""`nbtext vectorize`: documents as a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli import options, running
from nbtext.cli.command import command
from nbtext.features.settings import FeatureSettings
from nbtext.records import dataclass
from nbtext.settings import part, setting

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings

MATRIX_FORMATS = ("npz", "svmlight", "mtx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectorize:
    """The settings of `nbtext vectorize`."""

    sources: tuple[str, ...] = options.sources()
    output: str | None = options.new_model("File to write.", file="output")
    to: str | None = setting(
        None, "Output format. npz also holds feature names, document ids, labels and settings. svmlight and mtx "
        "(Matrix Market) hold numbers only. In svmlight, a label is its position in sorted order, from 0 on, and -1 "
        "if there is none; mtx has no labels. The suffix of -o implies the format.",
        choices=MATRIX_FORMATS, metavar="FORMAT", default_help="npz",
    )  # fmt: skip
    input: InputSettings = options.labeled_input()
    features: FeatureSettings = part(FeatureSettings)
    run: options.RunSettings = options.run()


@command(
    Vectorize,
    common="-o --to --text-field --label-field --weighting --ngrams --stop-words --min-df --max-features",
    example="nbtext vectorize letters/train --weighting tfidf -o letters.npz",
    notes="Memory holds the matrix: about 12 bytes for each distinct word of each document.",
)
def vectorize(given: Vectorize) -> None:
    """Convert documents to a sparse matrix, and save it.

    `nbtext train` and scipy.sparse.load_npz read the .npz file.
    """
    from nbtext.documents.matrix import write_matrix
    from nbtext.model.matrices import vectorize_source
    from nbtext.output import atomic_output

    target = running.binary_output(given.output)
    chosen = given.to or running.format_of(target, MATRIX_FORMATS) or "npz"
    with running.open_documents(given.sources, given.input, given.run) as (source, on_batch):
        matrix = vectorize_source(source, given.features, on_batch=on_batch)
    with atomic_output(target) as file:
        write_matrix(matrix, file, output_format=chosen)
