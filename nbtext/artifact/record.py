"""The sections of a model's record: conversion of a model to plain data and back, with checks of every value."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.artifact import audit
from nbtext.bayes.calibration import LARGEST, Calibration, TemperatureScaling
from nbtext.bayes.diagnostics import (
    MAX_PAIRS,
    METHODS,
    Confusion,
    Hyperparameters,
    LeaveOneOutEstimate,
    Proportion,
    Unlabeled,
)
from nbtext.bayes.prediction_sets import MAX_POINTS, Quantiles
from nbtext.bayes.prevalence import MeanPosteriors
from nbtext.documents.batch import MAX_LABEL_CHARACTERS
from nbtext.documents.formats import INPUT_UNITS
from nbtext.documents.settings import ModelInput

Record = dict[str, Any]
LATER_INPUT = ("label_separator", "label_fields", "matrix_columns")  # keys of the input, which only some models have
MIN_PRIOR = 1e-300  # of a class, so that its logarithm is finite
SUM_TOLERANCE = 1e-6  # of probabilities


def write_fields(found: Any, *later: str) -> Record | None:
    """Return the fields of a data class; None of None.

    later  fields that older files do not have: they are left out if they are their default, so that files stay the same
    """
    if found is None:
        return None
    defaults = {each.name: each.default for each in fields(found) if each.name in later}
    return {name: value for name, value in asdict(found).items() if name not in later or value != defaults[name]}


def read_hyperparameters(record: Record) -> Hyperparameters:
    """Return the hyperparameters of the record."""
    audit.read_fields(record, "hyperparameters", Hyperparameters)
    C = None
    if audit.read_optional(record, "hyperparameters.C", float) is not None:
        C = audit.read_number(record, "hyperparameters.C", minimum=0)
    is_converged = audit.read_value(record, "hyperparameters.is_converged", bool)
    return Hyperparameters(audit.read_number(record, "hyperparameters.smoothing", minimum=0), C, is_converged)


def write_input(known: ModelInput) -> Record:
    """Return the record of the input of the training documents, without keys of several labels that have no value."""
    return {name: value for name, value in asdict(known).items() if value or name not in LATER_INPUT}


def read_input(record: Record) -> ModelInput:
    """Return the input of the training documents."""
    audit.read_fields(record, "input", ModelInput)
    has_unit = audit.read_optional(record, "input.unit", str) is not None
    unit = audit.read_choice(record, "input.unit", INPUT_UNITS) if has_unit else None
    names = tuple(audit.read_texts(record, "input.text_field"))
    label = audit.read_value(record, "input.label_field", str)
    separator = audit.read_optional(record, "input.label_separator", str)
    labels = tuple(audit.read_texts(record, "input.label_fields", distinct=True))
    is_separate = audit.read_value(record, "input.separate_fields", bool)
    given = (*names, label, *labels, "," if separator is None else separator)
    if not names or not all(0 < len(name) <= MAX_LABEL_CHARACTERS for name in given):
        raise audit.invalid_value("input.text_field", "should be names of columns, keys or headers")
    has_columns = audit.read_optional(record, "input.matrix_columns", int) is not None
    n_columns = audit.read_integer(record, "input.matrix_columns") if has_columns else None
    return ModelInput(unit, names, label, is_separate, separator, labels, n_columns)


def read_calibration(record: Record, n_classes: int) -> Calibration:
    """Return the calibration of the record."""
    audit.read_fields(record, "calibration", Calibration, without=("mean_posteriors",))
    temperature = threshold = None
    if audit.read_optional(record, "calibration.temperature", dict) is not None:
        audit.read_section(record, "calibration.temperature", ("a", "b", "noise"))
        noise = audit.read_number(record, "calibration.temperature.noise", minimum=0, maximum=1 / (1 + exp(-LARGEST)))
        if 0 < noise < exp(-LARGEST) / 2:
            raise audit.invalid_value(
                "calibration.temperature.noise", f"should be 0 or at least {exp(-LARGEST) / 2:g}, and is {noise:g}"
            )
        temperature = TemperatureScaling(
            audit.read_number(
                record, "calibration.temperature.a", minimum=1e-100, maximum=1e100
            ),  # has the unit of the scores
            audit.read_number(record, "calibration.temperature.b", minimum=-LARGEST, maximum=LARGEST),
            noise,
        )
    if audit.read_optional(record, "calibration.outlier_threshold", float) is not None:
        threshold = audit.read_number(record, "calibration.outlier_threshold")
    return Calibration(
        temperature,
        _read_offsets(record, "calibration.prior_adjustment", n_classes),
        _read_offsets(record, "calibration.decision_offsets", n_classes),
        read_quantiles(record, "calibration.nonconformity"),
        read_quantiles(record, "calibration.likelihoods"),
        threshold,
        _read_mean_posteriors(record, n_classes),
    )


def write_calibration(calibration: Calibration) -> Record:
    """Return the calibration without the mean posteriors, which are a section of their own."""
    record = asdict(replace(calibration, mean_posteriors=None))
    del record["mean_posteriors"]
    return record


def write_mean_posteriors(known: MeanPosteriors | None) -> dict[str, Record]:
    """Return the section of the mean posteriors; models without them do not have it."""
    return {} if known is None else {"mean_posteriors": asdict(known)}


def _read_mean_posteriors(record: Record, n_classes: int) -> MeanPosteriors | None:
    key = "mean_posteriors"
    if key not in record:
        return None
    audit.read_fields(record, key, MeanPosteriors)
    means = audit.read_array(record, f"{key}.means", "float64", shape=(n_classes, n_classes))
    spreads = audit.read_floats(record, f"{key}.spreads", n_classes)
    prior = audit.read_floats(record, f"{key}.prior", n_classes)
    audit.check_within(f"{key}.means", means, 0, 1)
    audit.check_within(f"{key}.spreads", spreads, 0, 1)
    audit.check_within(f"{key}.prior", prior, MIN_PRIOR, 1)
    for name, sums in (("means", means.sum(axis=1)), ("prior", prior.sum())):
        if (np.abs(sums - 1) > SUM_TOLERANCE).any():
            raise audit.invalid_value(f"{key}.{name}", "should be probabilities that add up to 1")
    return MeanPosteriors(means, audit.read_integers(record, f"{key}.documents", n_classes), spreads, prior)


def read_estimate(record: Record, n_classes: int) -> LeaveOneOutEstimate | None:
    if audit.read_optional(record, "estimate", dict) is None:
        return None
    audit.read_fields(record, "estimate", LeaveOneOutEstimate)
    documents = audit.read_integer(record, "estimate.documents")
    pairs = audit.read_value(record, "estimate.confused", tuple)
    confused = tuple(_read_confusion(pair, n_classes) for pair in pairs)
    are_distinct = len({(pair.first, pair.second) for pair in confused}) == len(confused)
    if not are_distinct or len(confused) > MAX_PAIRS or sum(pair.together for pair in confused) > documents:
        raise audit.invalid_value("estimate.confused", f"should be at most {MAX_PAIRS} pairs of labels")
    return LeaveOneOutEstimate(
        documents,
        audit.read_number(record, "estimate.accuracy", minimum=0, maximum=1),
        audit.read_number(record, "estimate.log_loss", minimum=0),
        confused,
        audit.read_integer(record, "estimate.duplicates"),
        audit.read_integer(record, "estimate.unjudged"),
        audit.read_integer(record, "estimate.held_out", maximum=documents),
        _read_optimized(record),
        tuple(_read_proportion(each, documents) for each in audit.read_value(record, "estimate.targets", tuple)),
        audit.read_integer(record, "estimate.unanswered", maximum=documents),
        read_share(record, "estimate.other"),
    )


def read_share(record: Record, key: str) -> float | None:
    """Return the number from 0 to 1 at a key; None if there is none."""
    is_there = audit.read_optional(record, key, float) is not None
    return audit.read_number(record, key, minimum=0, maximum=1) if is_there else None


def _read_optimized(record: Record) -> tuple[float, float] | None:
    if audit.read_optional(record, "estimate.optimized", tuple) is None:
        return None
    found = record["estimate"]["optimized"]
    if len(found) != 2:
        raise audit.invalid_value("estimate.optimized", "should be the metric before and after")
    before, after = (audit.read_number({"optimized": each}, "optimized", minimum=0) for each in found)
    return before, after


def _read_proportion(found: Any, documents: int) -> Proportion:
    record = {"targets": found}
    audit.read_section(record, "targets", ("correct", "documents"))
    n = audit.read_integer(record, "targets.documents", maximum=documents)
    return Proportion(audit.read_integer(record, "targets.correct", maximum=n), n)


def _read_confusion(pair: Any, n_classes: int) -> Confusion:
    record = {"confused": pair}
    audit.read_fields(record, "confused", Confusion)
    first = audit.read_integer(record, "confused.first", maximum=n_classes - 2)
    second = audit.read_integer(record, "confused.second", minimum=first + 1, maximum=n_classes - 1)
    ways = (audit.read_integer(record, f"confused.{way}") for way in ("first_as_second", "second_as_first"))
    return Confusion(first, second, *ways)


def _read_offsets(record: Record, key: str, n_classes: int) -> NDArray[np.float64] | None:
    return None if audit.read_optional(record, key, np.ndarray) is None else audit.read_floats(record, key, n_classes)


def read_quantiles(record: Record, key: str) -> Quantiles | None:
    """Return the distribution at a key; None if there is none."""
    if audit.read_optional(record, key, dict) is None:
        return None
    audit.read_section(record, key, ("points", "numbers"))
    points, numbers = audit.read_floats(record, f"{key}.points"), audit.read_integer(record, f"{key}.numbers")
    if len(points) != min(numbers, MAX_POINTS) or numbers < 1 or (np.diff(points) < 0).any():
        raise audit.invalid_value(f"{key}.points", f"should be ascending numbers, at most {MAX_POINTS:,}")
    return Quantiles(points, numbers)


def narrow_integers(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return non-negative integers in the smallest dtype that holds them, and floats unchanged."""
    return numbers if numbers.dtype.kind == "f" else numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def write_unlabeled(how: Unlabeled | None) -> Record | None:
    """Return how the model was trained on unlabeled documents; only the scorer depends on their counts."""
    if how is None:
        return None
    return {
        "method": how.method,
        "documents": how.documents,
        "weight": how.weight,
        "log_prior": np.array(how.log_prior, dtype=np.float64),
        "log_likelihoods": np.array(how.log_likelihoods, dtype=np.float64),
    }


def read_unlabeled(record: Record, n_classes: int) -> Unlabeled | None:
    """Return how the model was trained on unlabeled documents; None if it was not."""
    if audit.read_optional(record, "unlabeled", dict) is None:
        return None
    audit.read_section(record, "unlabeled", ("method", "documents", "weight", "log_prior", "log_likelihoods"))
    log_prior = audit.read_floats(record, "unlabeled.log_prior", n_classes)
    audit.check_within("unlabeled.log_prior", log_prior, -audit.MAX_NUMBER, 0)
    if abs(np.exp(log_prior).sum() - 1) > SUM_TOLERANCE:
        raise audit.invalid_value("unlabeled.log_prior", "should be logarithms of probabilities that add up to 1")
    return Unlabeled(
        audit.read_choice(record, "unlabeled.method", METHODS),
        audit.read_integer(record, "unlabeled.documents", minimum=1),
        audit.read_number(record, "unlabeled.weight", minimum=0, maximum=1),
        tuple(log_prior.tolist()),
        tuple(audit.read_floats(record, "unlabeled.log_likelihoods", None).tolist()),
    )
