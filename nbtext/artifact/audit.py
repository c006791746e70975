"""Checks of a model's numbers, made before anything is computed from them: they keep the reader
safe from reads out of bounds, NaN, crashes and endless loops. A figure that is only printed may
have any finite value.

The type of a field has the bounds of its numbers (`arrays.Limits`). `check` has, for some classes
of records, what their fields must have in common. All of them raise ArtifactError with the place of
the value, and `storage.name_errors` adds the name of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.arrays import (
    MAX_COUNT,
    MAX_INTEGER,
    MAX_STORED_NUMBER,
    N_LABELS,
    Array,
    Bytes,
    Integers,
    Limits,
)
from nbtext.artifact.storage import foreign_error
from nbtext.bayes.class_statistics import MAX_COUNTED, ClassStatistics, Totals
from nbtext.bayes.conformal import MAX_POINTS, Quantiles
from nbtext.bayes.diagnostics import (
    Corrections,
    Hyperparameters,
    LeaveOneOutEstimate,
    Part,
    Proportion,
    Unlabeled,
)
from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import SELECTABLE_MODELS, SMALLEST_FACTOR, VECTORS
from nbtext.documents.batch import MAX_LABEL_CHARACTERS
from nbtext.documents.formats import INPUT_UNITS
from nbtext.documents.names import are_offsets, are_utf8, find_row_error
from nbtext.documents.settings import ModelInput
from nbtext.errors import ArtifactError, format_number
from nbtext.features.formulas import NORMS, TERM_FREQUENCIES
from nbtext.features.weighting import Weighting
from nbtext.records import Strings, frozen_object

if TYPE_CHECKING:
    from nbtext.bayes.label_calibration import MultilabelFit

SUM_TOLERANCE = 1 + 1e-9  # tolerance for the rounding of sums of probabilities


def invalid_value(key: str, what: str) -> ArtifactError:
    """Return the error for a wrong value."""
    return foreign_error(f'holds a model that cannot be right: "{key}" {what}')


def require(key: str, is_right: bool | np.bool_, what: str) -> None:
    """Raise ArtifactError with what is wrong with a value unless it is right."""
    if not is_right:
        raise invalid_value(key, what)


def _bounds(limits: Limits, *, is_float: bool, most: int) -> tuple[float, float]:
    """Return the least and the largest number; `most` is the largest whole number of all."""
    low = -MAX_STORED_NUMBER if is_float else 0
    high = MAX_STORED_NUMBER if is_float else most
    return (
        low if limits.low is None else limits.low,
        high if limits.high is None else limits.high,
    )


def check_number(key: str, value: float, limits: Limits) -> None:
    """Raise ArtifactError unless a number is within its limits; NaN never is."""
    low, high = _bounds(limits, is_float=isinstance(value, float), most=MAX_INTEGER)
    if not low <= value <= high:
        least, largest, found = map(format_number, (low, high, value))
        raise invalid_value(key, f"should be from {least} to {largest}, and is {found}")


def check_array(
    key: str, array: Array, limits: Limits, n_labels: int, dtype: np.dtype[Any]
) -> None:
    """Raise ArtifactError unless an array has its shape, and its numbers are within their limits,
    and fit a dtype.
    """
    shape = tuple(n_labels if length == N_LABELS else length for length in limits.shape)
    is_right = len(shape) == array.ndim and all(
        each in (None, n) for each, n in zip(shape, array.shape, strict=True)
    )
    wanted, found = map(_format_shape, (shape, array.shape))
    require(key, is_right, f"should have the shape {wanted}, and has {found}")
    is_float = dtype.kind == "f"
    low, high = _bounds(limits, is_float=is_float, most=MAX_COUNT)
    check_within(key, array, low, high if is_float else min(int(high), np.iinfo(dtype).max))


def _format_shape(shape: tuple[int | None, ...]) -> str:
    lengths = ("any" if length is None else f"{length:,}" for length in shape)
    return " × ".join(lengths) or "of one number"


def check_within(key: str, numbers: Array, minimum: float, maximum: float) -> None:
    """Raise ArtifactError unless each number is from `minimum` to `maximum`."""
    if numbers.size:
        least = numbers.min().item()
        largest = numbers.max().item()
        require(
            key,
            minimum <= least and largest <= maximum,
            f"should be from {minimum:g} to {maximum:g}, and is from {least:g} to {largest:g}",
        )


def check_ascending(key: str, numbers: Array) -> None:
    """Raise ArtifactError unless each number is at least the one before it."""
    require(key, (numbers[1:] >= numbers[:-1]).all(), "should ascend")


def check_rows(key: str, indptr: Array, columns: Array, *, n_columns: int) -> None:
    """Raise ArtifactError unless columns[indptr[i]:indptr[i + 1]] ascend in each row i, from 0 to
    n_columns - 1.
    """
    wrong = find_row_error(indptr, columns, n_columns)
    require(key, wrong is None, f"is not valid: {wrong}")


@frozen_object
class Names:
    """Packed texts, of `pack_names`; lone surrogates are accepted, so that every Python string can
    be one.
    """

    blob: Bytes
    offsets: Integers


@frozen_object
class Lists:
    """Lists of texts, one after the other: list i is items[bounds[i]:bounds[i + 1]]."""

    bounds: Integers
    items: Strings


def _check_offsets(key: str, offsets: Integers, n: int, name: str) -> None:
    require(key, are_offsets(offsets, n), f"should ascend from 0 to {n:,} in its {name}")


def check_multilabel_fit(found: MultilabelFit, n_labels: int) -> None:
    """Raise ArtifactError unless the fields of a multi-label fit go together.

    `check` does not have it, because it needs the class: most models have one label for each
    document.
    """
    from nbtext.bayes.label_calibration import ScoreScaling

    is_right = len({*found.fallback} & {*range(n_labels)}) == len(found.fallback)
    require("task.fit.fallback", is_right, "should be numbers of labels, each once")
    has_contrast = found.smoothing is not None and found.smoothing.alpha is not None
    is_linear = isinstance(found.combination, ScoreScaling)
    is_right = is_linear == (found.smoothing is None)
    is_right &= len(found.combination.weights) == 1 + has_contrast
    require("task.fit.combination", is_right, "does not fit the smoothing")
    if found.nonconformity is not None:
        check_within("task.fit.nonconformity.points", found.nonconformity.points, 0, 1)


def _check_choice(key: str, value: str, choices: Strings) -> None:
    require(key, value in choices, f"should be one of {', '.join(choices)}, and is {value[:40]}")


def _check_counts(key: str, found: Array, n_expected: int) -> None:
    require(
        key, len(found) == n_expected, f"should be {n_expected:,} numbers, and is {len(found):,}"
    )
    require(
        key, found.sum(dtype=np.float64) <= MAX_COUNTED, f"should sum to at most {MAX_COUNTED:,}"
    )


def check(found: Any, key: str, n_labels: int) -> None:
    """Raise ArtifactError unless the fields of a record fit together."""
    is_right: Any
    match found:
        case Names():
            _check_offsets(key, found.offsets, len(found.blob), "offsets")
            require(key, are_utf8(found.blob, found.offsets), "should be UTF-8")
        case Lists():
            _check_offsets(key, found.bounds, len(found.items), "bounds")
        case Quantiles():
            require(
                f"{key}.points",
                len(found.points) == min(found.numbers, MAX_POINTS) > 0,
                f"should be ascending numbers, at most {MAX_POINTS:,}",
            )
            check_ascending(f"{key}.points", found.points)
        case LeaveOneOutEstimate():
            require(
                f"{key}.confused",
                all(each.first < each.second < n_labels for each in found.confused),
                f"should be pairs of labels, numbered from 0 to {n_labels - 1:,}",
            )
        case Proportion():
            check_number(f"{key}.correct", found.correct, Limits(0, found.documents))
        case Part():
            linear = (*LINEAR_MODELS, VECTORS)
            _check_choice(f"{key}.model", found.model, (*SELECTABLE_MODELS, *linear))
            is_linear = found.model in linear
            require(
                f"{key}.C", (found.C is None) != is_linear, f"does not fit {found.model} models"
            )
        case Hyperparameters():
            is_right = found.smoothing == 0 or found.smoothing >= SMALLEST_FACTOR
            require(f"{key}.smoothing", is_right, f"should be 0, or {SMALLEST_FACTOR:g} at least")
        case Corrections():
            is_right = len(found.weights) == len(found.features)
            require(f"{key}.weights", is_right, "should have a row for each feature")
        case Unlabeled():
            require(
                f"{key}.log_prior",
                len(found.log_prior) == n_labels,
                "should be one number for each label",
            )
        case ModelInput():
            if found.unit is not None:
                _check_choice(f"{key}.unit", found.unit, INPUT_UNITS)
            separator = "," if found.label_separator is None else found.label_separator
            level = found.label_level
            require(f"{key}.label_level", level is None or level > 1, "should be more than 1")
            names = (*found.text_field, found.label_field, *found.label_fields, separator)
            is_right = all(0 < len(name) <= MAX_LABEL_CHARACTERS for name in names)
            is_right &= bool(found.text_field)
            require(f"{key}.text_field", is_right, "should be names of columns, keys or headers")
            is_right = len(set(found.label_fields)) == len(found.label_fields)
            require(f"{key}.label_fields", is_right, "holds a text twice")
        case Weighting():
            _check_choice(f"{key}.tf", found.tf, tuple(TERM_FREQUENCIES))
            _check_choice(f"{key}.norm", found.norm, NORMS)
        case ClassStatistics():
            n_classes = n_labels or found.n_classes  # they are not known on another machine
            documents = found.documents
            occurrences = found.occurrences
            _check_counts(f"{key}.class_documents", found.class_documents, n_classes)
            _check_counts(f"{key}.documents", documents, len(found.classes))
            _check_counts(f"{key}.occurrences", occurrences, len(found.classes))
            check_rows(f"{key}.classes", found.indptr, found.classes, n_columns=found.n_classes)
            # all are 0 in models of scikit-learn's, which does not count them
            is_right = (documents > 0).all() or not documents.any()
            require(f"{key}.documents", is_right, "should be more than 0")
            is_right = (documents <= found.class_documents[found.classes] * SUM_TOLERANCE).all()
            require(f"{key}.documents", is_right, "should be at most the documents of the class")
            is_right = occurrences.dtype.kind == "f" or (occurrences >= documents).all()
            require(f"{key}.occurrences", is_right, "should be at least the documents")
            if found.totals is not None:
                _check_counts(f"{key}.totals.documents", found.totals.documents, found.n_features)
                require(
                    key,
                    found.is_within_totals,
                    "should have at most the counts of all documents for each label",
                )
        case Totals():
            documents = found.documents
            occurrences = found.occurrences
            _check_counts(f"{key}.documents", documents, len(documents))
            _check_counts(f"{key}.occurrences", occurrences, len(documents))
            is_right = (documents <= found.n_documents * SUM_TOLERANCE).all()
            require(f"{key}.documents", is_right, "should be at most the number of documents")
            least = documents if occurrences.dtype.kind == "i" else 0
            is_right = (occurrences >= least).all() & (occurrences[documents == 0] == 0).all()
            require(f"{key}.occurrences", is_right, "does not fit the documents")
