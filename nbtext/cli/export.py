"""`nbtext export`: a model for other programs."""

from __future__ import annotations

from nbtext.cli.command import command
from nbtext.cli.options import ResultSettings, RunSettings, debug_only, model_argument, new_model
from nbtext.cli.running import binary_output
from nbtext.errors import SettingsError
from nbtext.export.formats import EXPORTERS, format_of
from nbtext.output import escape_formulas
from nbtext.records import dataclass
from nbtext.settings import part, refuse, setting

SUFFIXES = ", ".join(suffix for exporter in EXPORTERS.values() for suffix in exporter.suffixes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The settings of `nbtext export`."""

    model: str = model_argument()
    to: str | None = setting(
        None, f"Format. The suffix of -o implies it: {SUFFIXES}.", choices=tuple(EXPORTERS), metavar="FORMAT"
    )
    result: ResultSettings = part(ResultSettings, without=("output", "to"))
    output: str | None = new_model("File to write.", file="output")
    run: RunSettings = debug_only()


@command(
    Export,
    common="-m --to -o",
    example="nbtext export letters.joblib -o letters.mjs",
    notes="".join(f"{exporter.name}: {exporter.summary}\n\n" for exporter in EXPORTERS.values())
    + "Memory holds the model and the weights of all features for all labels (js and c: only weights that differ from "
    "the default weight of the label).",
)
def export(given: Export) -> None:
    """Export a model for other programs: C, JavaScript, scikit-learn, spreadsheets.

    The exported model predicts the same labels and calibrated probabilities. In scikit-learn, the calibration is a
    separate step. Models with --hash-bits, gaussian models and categorical models cannot be exported. Multi-label
    models can be exported as sklearn-json, and those of Naive Bayes also as c and js. Models with --stem or
    --separate-fields cannot be exported as c, js and sklearn-json; those with their own --token-pattern not as c
    and js.
    """
    from nbtext.artifact.model import load_model
    from nbtext.export import formats

    chosen = given.to or format_of(given.output or "-")
    if chosen is None:
        what = "is needed, because the suffix of -o does not name a format"
        raise SettingsError(what, where="--to", hint=f"choose one of {', '.join(EXPORTERS)}")
    if given.result.spreadsheet_safe and chosen != "csv":
        raise refuse("spreadsheet_safe", f"the format is {chosen}, not csv")
    escape = escape_formulas if given.result.spreadsheet_safe else None
    target = binary_output(given.output)
    formats.export(load_model(given.model).fitted, chosen, target, escape=escape)
