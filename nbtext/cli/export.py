"""`nbtext export`: a model for other programs."""

from __future__ import annotations

import click

from nbtext.cli.command import Option, command
from nbtext.cli.options import BINARY_OUTPUT, DEBUG, MODEL_PARTS, SPREADSHEET_SAFE
from nbtext.cli.running import binary_output, is_spreadsheet_safe
from nbtext.errors import SettingsError
from nbtext.export.formats import EXPORTERS, format_of
from nbtext.output import escape_formulas

SUFFIXES = ", ".join(suffix for exporter in EXPORTERS.values() for suffix in exporter.suffixes)


@command(
    *MODEL_PARTS,
    Option("--to", "output_format", type=click.Choice(list(EXPORTERS)), metavar="FORMAT",
           help=f"Format. The suffix of -o implies it: {SUFFIXES}."),
    SPREADSHEET_SAFE,
    BINARY_OUTPUT,
    DEBUG,
    common="-m --to -o",
    example="nbtext export letters.joblib -o letters.mjs",
    notes="".join(f"{exporter.name}: {exporter.summary}\n\n" for exporter in EXPORTERS.values())
    + "Memory holds the model and the weights of all features for all labels (js and c: only weights that differ from "
    "the default weight of the label).",
)  # fmt: skip
def export(model: str, output_format: str | None, output: str | None) -> None:
    """Export a model for other programs: C, JavaScript, ONNX, scikit-learn, spreadsheets.

    The exported model predicts the same labels and calibrated probabilities. In scikit-learn, the calibration is a
    separate step. Models with --hash-bits, gaussian models and categorical models cannot be exported. Multi-label
    models can be exported as sklearn-json, and those of Naive Bayes also as c and js. Models with --stem or
    --separate-fields cannot be exported as c, js and sklearn-json; those with their own --token-pattern not as c
    and js.
    """
    from nbtext.artifact.model import load_model
    from nbtext.export import formats

    chosen = output_format or format_of(output or "-")
    if chosen is None:
        raise SettingsError(
            "is needed, because the suffix of -o does not name a format",
            where="--to",
            hint=f"choose one of {', '.join(EXPORTERS)}",
        )
    escape = escape_formulas if is_spreadsheet_safe(chosen) else None
    target = binary_output(output)
    formats.export(load_model(model).fitted, chosen, target, escape=escape)
