"""`nbtext vectorize`: documents as a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nbtext.cli.command import Option, command
from nbtext.cli.options import BINARY_OUTPUT, LABELED_INPUT_STAGE, RUN_PARTS, SOURCES, RunSettings
from nbtext.cli.running import binary_output, format_of, open_documents
from nbtext.cli.training_options import FEATURE_STAGE

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings
    from nbtext.features.settings import FeatureSettings

MATRIX_FORMATS = ("npz", "svmlight", "mtx")


@command(
    SOURCES,
    BINARY_OUTPUT,
    Option("--to", "output_format", type=click.Choice(MATRIX_FORMATS), metavar="FORMAT", default_help="npz",
           help="Output format. npz also holds feature names, document ids, labels and settings. svmlight and mtx "
           "(Matrix Market) hold numbers only. In svmlight, a label is its position in sorted order, from 0 on, and "
           "-1 if there is none; mtx has no labels. The suffix of -o implies the format."),
    LABELED_INPUT_STAGE,
    FEATURE_STAGE,
    *RUN_PARTS,
    common="-o --to --text-field --label-field --weighting --ngrams --stop-words --min-df --max-features",
    example="nbtext vectorize letters/train --weighting tfidf -o letters.npz",
    notes="Memory holds the matrix: about 12 bytes for each distinct word of each document.",
)  # fmt: skip
def vectorize(
    sources: tuple[str, ...],
    output: str | None,
    output_format: str | None,
    input_settings: InputSettings,
    features: FeatureSettings,
    run: RunSettings,
) -> None:
    """Convert documents to a sparse matrix, and save it.

    `nbtext train` and scipy.sparse.load_npz read the .npz file.
    """
    from nbtext.documents.matrix import write_matrix
    from nbtext.model.matrices import vectorize_source
    from nbtext.output import atomic_output

    target = binary_output(output)
    with open_documents(sources, input_settings, run) as (source, on_batch):
        matrix = vectorize_source(source, features, on_batch=on_batch)
    with atomic_output(target) as file:
        write_matrix(matrix, file, output_format=output_format or format_of(target, MATRIX_FORMATS) or "npz")
