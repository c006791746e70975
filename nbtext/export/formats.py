"""The formats that models are exported to, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from nbtext.model.fitted_model import FittedModel
from nbtext.output import atomic_output

# name: the file of this room and its function; each is imported when it is wanted
FORMATS = {
    "c": ("c_source", "c_source"),
    "csv": ("table", "table"),
    "js": ("javascript", "javascript"),
    "onnx": ("onnx_graph", "onnx_graph"),
    "sklearn-json": ("sklearn_json", "sklearn_json"),
}


def export(model: FittedModel, form: str, path: str) -> None:
    """Write a trained model in one of FORMATS to `path` ("-": standard output), whole or not at all.

    raises  ModelError: a model that the format cannot hold; OutputError: the file cannot be written
    """
    module, name = FORMATS[form]
    written: Callable[[FittedModel], Iterator[bytes]] = getattr(import_module(f"nbtext.export.{module}"), name)
    with atomic_output(path) as file:
        for part in written(model):
            file.write(part)
