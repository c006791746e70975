"""scikit-learn's conventions, without importing it."""

from __future__ import annotations

import inspect
import sys
import textwrap
import warnings
from dataclasses import fields, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import InputError, NbtextError, name_parameters, number_of
from nbtext.features.settings import FeatureSettings, convert_parameters
from nbtext.settings import list_settings

MISSING = ("nan", "<NA>", "NaT")  # missing values of tables


class NotFittedError(NbtextError, ValueError, AttributeError):
    """A method was called that needs a fitted model."""


def refuse_unfitted(estimator: object) -> NoReturn:
    """Raise NotFittedError; if scikit-learn is imported, the error is also an instance of scikit-learn's class."""
    sklearn_exceptions = sys.modules.get("sklearn.exceptions")
    kinds = (NotFittedError,) if sklearn_exceptions is None else (NotFittedError, sklearn_exceptions.NotFittedError)
    what = f"this {type(estimator).__name__} is not fitted yet"
    raise type("NotFittedError", kinds, {})(what, hint="call fit first")


def warn_of_column() -> None:
    """Warn that labels are a matrix of one column; if scikit-learn is imported, with its warning class."""
    sklearn_exceptions = sys.modules.get("sklearn.exceptions")
    category = UserWarning if sklearn_exceptions is None else sklearn_exceptions.DataConversionWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected", category, stacklevel=4)


def list_texts(X: Any, features: FeatureSettings) -> list[str]:
    """Return texts as a list.

    raises  InputError: X is a table or one text, an item is not a text, or the features are of several fields
    """
    if len(features.fields) > 1:
        names, hint = " and ".join(features.fields), "use fit_source, or nbtext predict, for documents with fields"
        raise InputError(f"the features are of the fields {names}, and a text has no fields", hint=hint)
    if isinstance(X, str | bytes):
        raise InputError("one text was given", hint="give a list of texts")
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns"):
        raise InputError("a table was given", hint="give its column of texts, as in table['text']")
    texts = list(X)
    for place, text in enumerate(texts):
        if is_missing(text):
            raise InputError(f"text {place} is missing", hint="leave out documents without a text")
        if not isinstance(text, str):
            hint = "decode it first" if isinstance(text, bytes) else ""
            raise InputError(f"text {place} is {type(text).__name__}, not str", hint=hint)
    return texts


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one."""
    return not isinstance(value, str) and (value is None or str(value) in MISSING)


def label_texts(y: Any) -> tuple[list[str], str]:
    """Return labels as texts, and the name of their type, one of LABEL_TYPES.

    raises  InputError: y is missing or a table; a label is missing or of an unsupported type; the types are mixed
    """
    if y is None or isinstance(y, str | bytes):
        what = "labels are missing" if y is None else "one label was given"
        raise InputError(what, hint="give a list of labels, one for each text")
    if getattr(y, "ndim", 1) != 1 or hasattr(y, "columns"):
        raise InputError("y is a table, not a list of labels", hint="give its column of labels, as in table['label']")
    labels = [label.item() if isinstance(label, np.generic) else label for label in y]
    for place, label in enumerate(labels):
        if is_missing(label):
            raise InputError(f"label {place} is missing", hint="leave out documents without a label")
        if not isinstance(label, str | int | float):
            raise InputError(f"label {place} is {type(label).__name__}, expected str, int, float or bool")
    types = {"str" if isinstance(label, str) else type(label).__name__ for label in labels} or {"str"}
    if types == {"int", "float"}:
        types, labels = {"float"}, list(map(float, labels))
    if len(types) > 1:
        raise InputError(
            f"labels are of several types: {', '.join(sorted(types))}", hint="convert all to str: map(str, labels)"
        )
    return list(map(str, labels)), types.pop()


def check_paired(n_texts: int, n_labels: int) -> None:
    """Raise InputError unless there are as many labels as texts."""
    if n_texts != n_labels:
        raise InputError(f"{number_of(n_texts, 'text')} and {number_of(n_labels, 'label')} differ in number")


def list_parameters(features: FeatureSettings, model_settings: ModelSettings) -> dict[str, Any]:
    """Return all settings by name."""
    return {field.name: getattr(each, field.name) for each in (features, model_settings) for field in fields(each)}


def change_parameters(
    parameters: dict[str, Any], features: FeatureSettings, model_settings: ModelSettings
) -> tuple[FeatureSettings, ModelSettings]:
    """Return the settings with other values of some parameters.

    raises  ValueError: there is no such parameter, or a value is invalid
    """
    known = list_parameters(features, model_settings)
    for name in parameters:
        if name not in known:
            raise ValueError(f"Invalid parameter {name!r} for estimator TextClassifier")
    names = {field.name for field in fields(FeatureSettings)}
    of_features = {name: value for name, value in parameters.items() if name in names}
    of_model = {name: value for name, value in parameters.items() if name not in names}
    return (
        replace(features, **convert_parameters(FeatureSettings, of_features)),
        replace(model_settings, **convert_parameters(ModelSettings, of_model)),
    )


def document_parameters(kind: type, *records: type) -> None:
    """Give a class the signature and the documentation of its parameters: the settings of these records.

    scikit-learn and help() read the signature from `__init__`. The section Parameters precedes the section Attributes.
    """
    parameters, lines = [], ["Parameters", "----------"]
    for record in records:
        for field, found in list_settings(record):
            parameters.append(inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default))
            lines += [f"{field.name} : {field.type}, default {field.default!r}"]
            text = name_parameters(found.in_python or found.help)
            lines += textwrap.wrap(text, 110, initial_indent="    ", subsequent_indent="    ")
            if found.choices:
                lines += textwrap.wrap(f"One of {', '.join(found.choices)}.", 110, initial_indent="    ")
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(kind)["__init__"].__signature__ = inspect.Signature([this, *parameters])
    before, title, after = inspect.cleandoc(kind.__doc__ or "").partition("Attributes\n")
    kind.__doc__ = "\n".join((before.rstrip(), "", *lines, "", title + after))


def spread_rows(values: NDArray[np.float64], rows: NDArray[np.int64], n_rows: int) -> NDArray[np.float64]:
    """Return an array of n_rows rows with these values in some of the rows, and NaN in the others."""
    spread = np.full((n_rows, values.shape[1]), np.nan)
    spread[rows] = values
    return spread


def text_batch(texts: list[str]) -> Batch:
    """Return a batch of texts, numbered from 1."""
    return Batch(list(map(str, range(1, len(texts) + 1))), (texts,), [None] * len(texts))


def classifier_tags() -> Any:
    """Return the tags of a classifier of texts. Only scikit-learn calls this, so it is imported."""
    utils = sys.modules["sklearn.utils"]
    return utils.Tags(
        estimator_type="classifier",
        target_tags=utils.TargetTags(required=True),
        classifier_tags=utils.ClassifierTags(multi_label=True),
        input_tags=utils.InputTags(one_d_array=True, two_d_array=False, string=True),
    )
