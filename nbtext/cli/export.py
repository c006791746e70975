"""`nbtext export`: a model for programs that know nothing of nbtext."""

from __future__ import annotations

import click

from nbtext.cli.files import MODEL, OUTPUT
from nbtext.cli.options import StagedCommand, option
from nbtext.cli.running import output_or_pipe
from nbtext.cli.shared_options import debug_option, written_option
from nbtext.export.formats import FORMATS


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext export letters.joblib --to js -o letters.mjs\n\n"
    "c: a C99 file that depends on nothing: a filter of lines, or nbtext_classify in a program of yours.\n\n"
    "csv: a row for each feature with its weights for all labels.\n\n"
    "js: a JavaScript module without dependencies; classify(text) gives label and probabilities.\n\n"
    "onnx: a graph that takes features (words, or n-grams of them) as strings and gives label and probabilities; its "
    "documentation says the details. Needs nbtext[onnx].\n\n"
    "sklearn-json: the steps of a scikit-learn pipeline with their parameters and fitted attributes. `nbtext` loads "
    "no pickle, so that a pipeline becomes a model only in Python: nbtext.export.from_sklearn.\n\n"
    "Memory holds the model, and the weights of all features for all labels (js and c: only those that differ).",
)
@click.argument("model", metavar="MODEL", type=MODEL)
@option("--to", "form", type=click.Choice(list(FORMATS)), required=True, help="The format.")
@written_option(OUTPUT)
@debug_option
def export(model: str, form: str, output: str | None) -> None:
    """Write a model for other programs: C, JavaScript, ONNX, scikit-learn, spreadsheets.

    They give the same labels and calibrated probabilities (scikit-learn, which knows no such calibration, after one
    more step). Models of hashed, gaussian or categorical features cannot be exported.
    """
    from nbtext.artifact.model import load_model
    from nbtext.export import formats

    target = output_or_pipe(output)
    formats.export(load_model(model).fitted, form, target)
