"""The registry of export formats."""

from __future__ import annotations

from collections.abc import Callable

from nbtext.errors import ModelError, in_python_terms
from nbtext.export.c_source import C_SOURCE
from nbtext.export.javascript import JAVASCRIPT
from nbtext.export.sklearn_json import SKLEARN_JSON
from nbtext.export.table import CSV
from nbtext.model.fitted_model import FittedModel
from nbtext.output import atomic_output

EXPORTERS = {exporter.name: exporter for exporter in (C_SOURCE, CSV, JAVASCRIPT, SKLEARN_JSON)}


def format_of(path: str) -> str | None:
    """Return the name of the format with the suffix of a path; None if no format has it."""
    return next((exporter.name for exporter in EXPORTERS.values() if path.lower().endswith(exporter.suffixes)), None)


@in_python_terms
def export(model: FittedModel, name: str, path: str, *, escape: Callable[[bytes], bytes] | None = None) -> None:
    """Write a trained model in the format of this name, completely or not at all.

    Parameters
    ----------
    name : str
        A key of EXPORTERS.
    path : str
        The path of the file; "-" is standard output.
    escape : Callable[[bytes], bytes], optional
        Applied to each part of the file.

    Raises
    ------
    ModelError
        The format cannot hold the model.
    OutputError
        The file cannot be written.
    """
    exporter = EXPORTERS[name]
    if not model.task.is_exclusive:
        is_linear = model.model_settings.is_linear
        able = [
            each for each in EXPORTERS.values() if (each.has_several_labels and not is_linear) or each.has_linear_labels
        ]
        if exporter not in able:
            what = f"a {'linear ' if is_linear else ''}multi-label model cannot be exported as {name}"
            raise ModelError(what, hint=f"export it as {', '.join(each.name for each in able)}")
    exporter.check(model)
    with atomic_output(path) as file:
        for part in exporter.write(model):
            file.write(escape(part) if escape is not None else part)
