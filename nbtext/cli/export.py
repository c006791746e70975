"""`nbtext export`: a model for other programs."""

from __future__ import annotations

import click

from nbtext.cli.command import Option, command
from nbtext.cli.options import BINARY_OUTPUT, DEBUG, MODEL_PARTS
from nbtext.cli.running import binary_output, format_of
from nbtext.errors import SettingsError
from nbtext.export.formats import FORMATS


@command(
    *MODEL_PARTS,
    Option("--to", "output_format", type=click.Choice(list(FORMATS)), metavar="FORMAT",
           help="Format. The suffix of -o implies it: .c, .csv, .js, .mjs or .onnx."),
    BINARY_OUTPUT,
    DEBUG,
    common="-m --to -o",
    example="nbtext export letters.joblib -o letters.mjs",
    notes="c: a C99 file without dependencies. It is a filter of lines, and offers the function nbtext_classify.\n\n"
    "csv: a row for each feature with its weights for all labels.\n\n"
    "js: a JavaScript module without dependencies. classify(text) returns the label and the probabilities.\n\n"
    "onnx: a graph that takes features (words, or n-grams of words) as strings, and returns the label and the "
    "probabilities. The documentation in the graph describes the details. Needs nbtext[onnx].\n\n"
    "sklearn-json: the steps of a scikit-learn pipeline with their parameters and fitted attributes. To convert a "
    "pipeline to a model, use nbtext.export.from_sklearn in Python, since nbtext never loads a pickle.\n\n"
    "Memory holds the model and the weights of all features for all labels (js and c: only those that differ).",
)  # fmt: skip
def export(model: str, output_format: str | None, output: str | None) -> None:
    """Export a model for other programs: C, JavaScript, ONNX, scikit-learn, spreadsheets.

    They predict the same labels and calibrated probabilities. scikit-learn has no such calibration, so it needs one
    more step. Models of hashed, gaussian or categorical features cannot be exported.
    """
    from nbtext.artifact.model import load_model
    from nbtext.export import formats

    chosen = output_format or format_of(output or "-", tuple(FORMATS))
    if chosen is None:
        raise SettingsError("the format is not given", where="--to", hint=f"choose one of {', '.join(FORMATS)}")
    target = binary_output(output)
    formats.export(load_model(model).fitted, chosen, target)
