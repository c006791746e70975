"""scikit-learn's conventions, without importing it."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any, NamedTuple, NoReturn, TypeGuard

import numpy as np

from nbtext.arrays import Array, Floats
from nbtext.bayes.settings import AUTO, BEST, OF_CHOSEN_MODELS, ModelSettings
from nbtext.documents.batch import Batch, Block
from nbtext.documents.fields import (
    Label,
    SoftLabel,
    name_of,
    read_shares,
    read_weight,
    text_of,
)
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source
from nbtext.errors import InputError, NbtextError, SettingsError, number_of
from nbtext.features.matrix import Matrix, number_columns
from nbtext.features.settings import OF_WEIGHTING, FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import LABEL_TYPES, MAX_LABEL_COLUMNS, FittedModel
from nbtext.model.predictions import Labels
from nbtext.numerics import log_odds
from nbtext.settings import check_rules, convert_parameters, list_settings


class NotFittedError(NbtextError, ValueError, AttributeError):
    """A method was called that needs a fitted model."""


def refuse_unfitted(estimator: object) -> NoReturn:
    """Raise NotFittedError; if scikit-learn is imported, the error is also an instance of
    scikit-learn's class.
    """
    sklearn_exceptions = sys.modules.get("sklearn.exceptions")
    kinds = (
        (NotFittedError,)
        if sklearn_exceptions is None
        else (NotFittedError, sklearn_exceptions.NotFittedError)
    )
    raise type("NotFittedError", kinds, {})(
        f"this {type(estimator).__name__} is not fitted yet", hint="call fit first"
    )


def list_texts(X: Any, features: FeatureSettings) -> list[str]:
    """Return texts as a list.

    raises  InputError: X is a table or one text, an item is not a text, or the features are of
            several fields
    """
    if len(features.fields) > 1:
        names = " and ".join(features.fields)
        raise InputError(
            f"the features are of the fields {names}, and a text has no fields",
            hint="use fit_source, or nbtext predict, for documents with fields",
        )
    if isinstance(X, str | bytes):
        raise InputError("one text was given", hint="give a list of texts")
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns"):
        raise InputError("a table was given", hint="give its column of texts, as in table['text']")
    texts = list(X)
    for place, text in enumerate(texts):
        if text_of(text) is None:
            raise InputError(f"text {place} is missing", hint="leave out documents without a text")
        if not isinstance(text, str):
            hint = "decode it first" if isinstance(text, bytes) else ""
            raise InputError(f"text {place} is {type(text).__name__}, not str", hint=hint)
    return texts


# settings of features that apply to the columns of a matrix
OF_COLUMNS = ("min_df", "max_df", "max_features", "select")


def check_matrix_settings(
    features: FeatureSettings, settings: ModelSettings, counts: CorpusCounts
) -> None:
    """Raise InputError if a setting is given that has no effect on the counts of a matrix."""
    is_weighted = counts.weighting is not None
    because = "X is a matrix, whose columns are the features"
    if is_weighted:
        because = "X holds weights, not counts"
    names = OF_COLUMNS if is_weighted else (*OF_COLUMNS, *OF_WEIGHTING)
    refuse_features(features, because, {name: getattr(features, name) for name in names})
    if is_weighted and settings.keep_sample is not None:
        raise SettingsError(f"does not apply: {because}", where="keep_sample", hint="leave it out")


def refuse_features(features: FeatureSettings, because: str, known: Mapping[str, Any]) -> None:
    """Raise InputError if a setting of features is given that would have no effect.

    because  why it would have none
    known    settings of features that may be given, with their values
    """
    for field in fields(FeatureSettings):
        value = getattr(features, field.name)
        if value not in (field.default, known.get(field.name, field.default)):
            raise InputError(f"does not apply: {because}", where=field.name, hint="leave it out")


def label_texts(y: Any) -> tuple[list[str], str]:
    """Return labels as texts, and the name of their type, one of LABEL_TYPES.

    raises  InputError: y is missing or a table; a label is missing or of an unsupported type; the
            types are mixed
    """
    if y is None or isinstance(y, str | bytes):
        what = "labels are missing" if y is None else "one label was given"
        raise InputError(what, hint="give a list of labels, one for each text")
    if getattr(y, "ndim", 1) != 1 or hasattr(y, "columns"):
        raise InputError(
            "y is a table, not a list of labels",
            hint="give its column of labels, as in table['label']",
        )
    labels = [label.item() if isinstance(label, np.generic) else label for label in y]
    for place, label in enumerate(labels):
        if name_of(label) is None:
            raise InputError(
                f"label {place} is missing", hint="leave out documents without a label"
            )
        if not isinstance(label, str | int | float):
            raise InputError(
                f"label {place} is {type(label).__name__}, expected str, int, float or bool"
            )
    types = {"str" if isinstance(label, str) else type(label).__name__ for label in labels} or {
        "str"
    }
    if types == {"int", "float"}:
        types = {"float"}
        labels = list(map(float, labels))
    if len(types) > 1:
        raise InputError(
            f"labels are of several types: {', '.join(sorted(types))}",
            hint="convert all to str: map(str, labels)",
        )
    return [name_of(label) or "" for label in labels], types.pop()


def check_paired(n_texts: int, n_labels: int) -> None:
    """Raise InputError unless there are as many labels as texts."""
    if n_texts != n_labels:
        raise InputError(
            f"{number_of(n_texts, 'text')} and {number_of(n_labels, 'label')} differ in number"
        )


def list_parameters(features: FeatureSettings, model_settings: ModelSettings) -> dict[str, Any]:
    """Return all settings by name."""
    return {
        field.name: getattr(each, field.name)
        for each in (features, model_settings)
        for field in fields(each)
    }


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
    if parameters.get("model") == BEST:
        given = known | parameters
        default = ModelSettings()
        changed = {
            name: given[name] for name in OF_CHOSEN_MODELS if given[name] != getattr(default, name)
        }
        check_rules(ModelSettings.RULES, changed | {"model": BEST})
        parameters = parameters | {"model": AUTO}
    names = {field.name for field in fields(FeatureSettings)}
    of_features = {name: value for name, value in parameters.items() if name in names}
    of_model = {name: value for name, value in parameters.items() if name not in names}
    features = replace(features, **convert_parameters(FeatureSettings, of_features))
    return features, replace(model_settings, **convert_parameters(ModelSettings, of_model))


def document_parameters(kind: type, *records: type) -> None:
    """Give a class the signature and the documentation of its parameters: the settings of these
    records.

    scikit-learn and help() read the signature from `__init__`. The section Parameters precedes the
    section Attributes.
    """
    parameters = []
    lines = ["Parameters", "----------"]
    for record in records:
        for field, found in list_settings(record):
            parameters.append(
                inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
            )
            lines += [f"{field.name} : {field.type}, default {field.default!r}"]
            text = found.in_python or found.help
            if found.choices:
                text += f" One of {', '.join(found.choices)}."
            lines += textwrap.wrap(text, 110, initial_indent="    ", subsequent_indent="    ")
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(kind)["__init__"].__signature__ = inspect.Signature([this, *parameters])
    before, title, after = inspect.cleandoc(kind.__doc__ or "").partition("Attributes\n")
    kind.__doc__ = "\n".join((before.rstrip(), "", *lines, "", title + after))


def text_batch(texts: list[str]) -> Batch:
    """Return a batch of texts, numbered from 1."""
    return Batch(list(map(str, range(1, len(texts) + 1))), (texts,), [None] * len(texts))


def read_documents(
    X: Any, features: FeatureSettings, fitted: FittedModel | None = None
) -> Matrix | list[str]:
    """Return texts as a list, and rows of numbers as a matrix.

    fitted  a model for which they are meant
    raises  InputError: they are neither; ModelError: the model is of other documents
    """
    if not is_matrix(X):
        if fitted is not None:
            fitted.check_takes_texts()
        return list_texts(X, features)
    from scipy.sparse import csr_array

    if X.dtype.kind == "c":
        raise InputError("the matrix has complex numbers")
    rows = csr_array(X, dtype=np.float64, copy=True)
    matrix = number_columns(rows, [""] * rows.shape[0], [None] * rows.shape[0])
    if fitted is None:
        return matrix
    n_columns = fitted.input.matrix_columns
    if n_columns is None:
        raise InputError(
            "X is a matrix, and the model was trained on texts", hint="give a list of texts"
        )
    if matrix.n_features != n_columns:
        shown = number_of(matrix.n_features, "column")
        raise InputError(f"the matrix has {shown}, and that of the model had {n_columns:,}")
    return replace(matrix, input=fitted.input)


def classifier_tags() -> Any:
    """Return the tags of a classifier of texts. Only scikit-learn calls this, so it is imported."""
    utils = sys.modules["sklearn.utils"]
    return utils.Tags(
        estimator_type="classifier",
        target_tags=utils.TargetTags(required=True),
        classifier_tags=utils.ClassifierTags(multi_label=True),
        input_tags=utils.InputTags(one_d_array=True, two_d_array=False, string=True),
    )


LISTS = (list, tuple, set, frozenset, np.ndarray)
INDICATOR_MATRIX_HINT = (
    "an indicator matrix has a row for each text, a column for each label, and 0 or 1 in each cell"
)


def list_rows(y: Any) -> list[Any]:
    """Return the items of a sequence; lists in a column of Polars are lists."""
    return list(y.to_list() if hasattr(y, "to_list") else y)


def is_table(y: Any) -> bool:
    """Return whether labels are an array, a sparse matrix or a table of rows and columns."""
    return len(getattr(y, "shape", ())) == 2


def _dense(y: Any) -> Array:
    return np.asarray(y.toarray() if hasattr(y, "toarray") else y)


class GivenLabels(NamedTuple):
    """Labels of texts, as texts.

    labels     the label of each text, or a tuple of its labels
    type       the name of their type, one of LABEL_TYPES
    n_columns  of an indicator matrix, whose labels are the numbers of its columns; None: of others
    shares     the soft label of each text, by its number
    weights    how often each text counts, in units of 1 / WEIGHT_UNIT; None: each counts once
    """

    labels: Sequence[Label]
    type: str
    n_columns: int | None = None
    shares: Mapping[int, SoftLabel] = {}
    weights: Sequence[int] | None = None


def read_labels(y: Any, sample_weight: Any) -> GivenLabels:
    """Return a label of each text, a list of labels of each, an indicator matrix, or the shares of
    the labels of each, as texts.

    sample_weight  (n,), how often each text counts; None: once
    raises  InputError: labels are missing or of several types, a text has one label in place of a
            list, the matrix has other numbers than 0 and 1 or shares, or too many columns; or a
            weight is not a number within its bounds
    """
    rows = _list_shares(y)
    if rows is None:
        given = _read_hard_labels(y)
    else:
        names = list(dict.fromkeys(chain.from_iterable(rows)))
        texts, label_type = label_texts(names)
        text_of_name = dict(zip(names, texts, strict=True))
        shares: dict[int, SoftLabel] = {}
        for number, row in enumerate(rows):
            soft = read_shares({text_of_name[name]: share for name, share in row.items()}, "y")
            if soft is None:
                raise InputError(f"the label of text {number} is not an object of shares")
            shares[number] = soft
        given = GivenLabels([soft.label for soft in shares.values()], label_type, shares=shares)
    if sample_weight is None:
        return given
    weights = [read_weight(weight, "sample_weight") for weight in list_rows(sample_weight)]
    return given._replace(weights=weights)


def _list_shares(y: Any) -> list[dict[Any, float]] | None:
    """Return the share of each label for each text; None: of other labels."""
    if is_table(y):
        table = _dense(y)
        is_soft = table.dtype.kind == "f" and table.shape[1] > 1
        if not is_soft or ((table == 0) | (table == 1)).all():
            return None
        names = list(getattr(y, "columns", range(table.shape[1])))
        return [dict(zip(names, row.tolist(), strict=True)) for row in table]
    rows = [] if isinstance(y, str | bytes) or y is None else list_rows(y)
    return rows if rows and all(isinstance(row, dict) for row in rows) else None


def _read_hard_labels(y: Any) -> GivenLabels:
    """Return labels without shares; see `read_labels`."""
    is_missing = isinstance(y, str | bytes) or y is None
    rows = [] if is_missing or is_table(y) else list_rows(y)
    is_several = y.shape[1] != 1 if is_table(y) else any(isinstance(row, LISTS) for row in rows)
    if not is_several:
        return GivenLabels(*label_texts(y))
    # Lists are an indicator matrix if each has the same number of items, two at least, and all
    # items are 0 or 1, as in scikit-learn
    matrix = _dense(y) if is_table(y) else None
    if (
        rows
        and all(isinstance(row, LISTS) and len(row) == max(2, len(rows[0])) for row in rows)
        and isinstance(rows[0], list | tuple | np.ndarray)
        and all(
            isinstance(item, int | float | np.generic) and item in (0, 1)
            for row in rows
            for item in row
        )
    ):
        matrix = np.array([list(row) for row in rows])
    if matrix is not None:
        if matrix.shape[1] > MAX_LABEL_COLUMNS:
            raise InputError(
                f"an indicator matrix has at most {MAX_LABEL_COLUMNS:,} columns",
                hint="give a list of labels for each text",
            )
        if not ((matrix == 0) | (matrix == 1)).all():
            raise InputError(
                "the labels are a table of other numbers than 0 and 1", hint=INDICATOR_MATRIX_HINT
            )
        columns = [tuple(map(str, np.flatnonzero(row).tolist())) for row in matrix]
        return GivenLabels(columns, "int", int(matrix.shape[1]))
    lists = [list(labels) if isinstance(labels, LISTS) else labels for labels in rows]
    for place, labels in enumerate(lists):
        if not isinstance(labels, list):
            raise InputError(
                f"the labels of text {place} are {type(labels).__name__}, not a list",
                hint="give a list for each text, [] for no label",
            )
    lists = [[label for label in labels if name_of(label) is not None] for labels in lists]
    texts, label_type = label_texts([label for labels in lists for label in labels])
    names = iter(texts)
    return GivenLabels(
        [tuple(dict.fromkeys(next(names) for _ in labels)) for labels in lists], label_type
    )


class GivenDocuments(Source):
    """Texts, or rows of a matrix, in memory.

    given   their labels; None: they have none
    raises  InputError: there are not as many labels as texts
    """

    def __init__(self, documents: Matrix | list[str], given: GivenLabels | None) -> None:
        super().__init__([], Counter(), InputSettings())
        self._documents = documents
        self.batch = documents.batch() if isinstance(documents, Matrix) else text_batch(documents)
        self.n_documents = len(self.batch)
        if given is not None:
            check_paired(self.n_documents, len(given.labels))
            self.batch.labels = list(given.labels)
            self.batch.shares = dict(given.shares)
            self.batch.weights = given.weights
            if given.weights is not None:
                check_paired(self.n_documents, len(given.weights))

    def first_matrix(self) -> Any:
        """See Source."""
        return self._documents if isinstance(self._documents, Matrix) else None

    def measure(self, limit: int) -> int:
        """See Source; the number of characters."""
        return sum(sum(map(len, column)) for column in self.batch.columns)

    def blocks(self) -> Iterator[Block]:
        """See Source; there is one."""
        yield self.batch.block()


def label_values(model: FittedModel) -> Array:
    """Return the labels, sorted; of an indicator matrix the numbers of all its columns."""
    n_columns = model.label_columns
    return (
        np.sort(np.array(model.label_values), kind="stable")
        if n_columns is None
        else np.arange(n_columns)
    )


def arrange_columns(model: FittedModel, values: Floats, *, absent: float) -> Floats:
    """Return the values of the labels, (..., n_labels), in the order of `label_values`.

    absent  the value of a column of an indicator matrix that no training text has
    """
    labels = np.array(model.label_values)
    if model.label_columns is None:
        return values[..., np.argsort(labels, kind="stable")]
    arranged = np.full((*values.shape[:-1], model.label_columns), absent)
    arranged[..., labels.astype(np.int64)] = values
    return arranged


LEAST = float(log_odds(np.zeros(1))[0])  # of a label that a text cannot have


def convert_labels(model: FittedModel, labels: list[Labels]) -> Any:
    """Return the predicted labels of each text in their type: an array, with None where a target of
    precision withholds one; or, of several, a list of tuples or an indicator matrix.
    """
    if not model.kind.form.is_list:
        places = {label: k for k, label in enumerate(model.labels)}
        classes = np.array([places[own[0]] if own else -1 for own in labels], np.int64)
        found = np.array(model.label_values)[classes]
        if model.calibration.min_probabilities is not None:
            found = found.astype(object)
            found[classes < 0] = None
        return found
    if model.label_columns is None:
        convert = LABEL_TYPES[model.label_type]
        return [tuple(map(convert, own)) for own in labels]
    matrix = np.zeros((len(labels), model.label_columns), np.int64)
    for row, own in enumerate(labels):
        matrix[row, list(map(int, own))] = 1
    return matrix


def decision_values(model: FittedModel, log_probabilities: Floats) -> Floats:
    """Return the values that determine the labels; see TextClassifier.decision_function.

    log_probabilities  (n_texts, n_labels)
    """
    values = arrange_columns(model, model.task.margins(log_probabilities), absent=LEAST)
    is_difference = model.kind.compares and values.shape[1] == 2
    return values[:, 1] - values[:, 0] if is_difference else values


def accuracy(predicted: Any, y: Any) -> float:
    """Return the share of texts whose label is correct; with several labels, all of a text have to
    be.

    raises  InputError: there is no text, there are not as many labels as texts, or one is missing
    """
    check_paired(len(predicted), y.shape[0] if is_table(y) else len(y))
    if not len(predicted):
        raise InputError("there is no text to score")
    if not (isinstance(predicted, list) or is_table(y)):
        for number, label in enumerate(list_rows(y), 1):
            if name_of(label) is None:
                raise InputError("it has no label", where=f"text {number}", hint="leave it out")
    if isinstance(predicted, list):
        pairs = zip(predicted, map(_trim, list_rows(y)), strict=True)
        return float(np.mean([set(mine) == set(true) for mine, true in pairs]))
    if predicted.dtype.kind in "UO":
        y = _trim(list_rows(y))
    is_correct = predicted == _dense(y)
    return float((is_correct.all(axis=1) if is_correct.ndim == 2 else is_correct).mean())


def _trim(labels: Any) -> list[Any]:
    """Return labels as the model has them: texts without white space at their ends, and none that
    is missing.
    """
    return [
        name_of(label) if isinstance(label, str) else label
        for label in labels
        if name_of(label) is not None
    ]


def is_matrix(X: Any) -> TypeGuard[Any]:
    """Return whether documents are a sparse matrix, or an array of rows and columns of numbers."""
    return hasattr(X, "tocsr") or (
        isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biufc"
    )
