"""`nbtext vectorize`: texts in, a sparse matrix out."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli.files import OUTPUT
from nbtext.cli.options import StagedCommand, collected, option
from nbtext.cli.running import output_or_pipe, reading
from nbtext.cli.shared_options import feature_options, reading_options, run_options, sources, written_option
from nbtext.documents.settings import ReadingSettings
from nbtext.features.settings import FeatureSettings


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext vectorize corpora/letters/train --weighting tfidf -o letters.npz\n\n"
    "Memory holds the matrix: some 12 bytes for each distinct word of each document.",
)
@sources
@written_option(OUTPUT)
@option(
    "--to",
    "form",
    type=click.Choice(["npz", "svmlight", "mtx"]),
    default="npz",
    help="npz holds names, ids, labels and settings as well; svmlight and mtx (Matrix Market) numbers only, "
    "a label being its place in sorted order.  [default: npz]",
)
@reading_options
@feature_options
@run_options
def vectorize(
    sources: tuple[str, ...],
    output: str | None,
    form: str,
    quiet: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Turn texts into a sparse matrix file.

    scipy.sparse.load_npz opens the result; nbtext train learns from it.
    """
    from nbtext.model.matrices import vectorize_source
    from nbtext.output import atomic_output
    from nbtext.report.matrices import write_matrix

    target = output_or_pipe(output)
    settings = collected(ReadingSettings, options)
    with reading(sources, settings, quiet=quiet, no_progress=no_progress) as (source, on_batch):
        matrix = vectorize_source(source, collected(FeatureSettings, options), on_batch=on_batch)
    with atomic_output(target) as file:
        write_matrix(matrix, file, output_format=form)
