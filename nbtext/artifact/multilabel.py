"""The sections of a model of several labels in a record, with checks of every value."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from nbtext.artifact import audit
from nbtext.artifact.record import read_quantiles
from nbtext.bayes.binary_relevance import Smoothing
from nbtext.bayes.label_calibration import Combination
from nbtext.bayes.label_selection import MultilabelEstimate, MultilabelFit
from nbtext.bayes.label_shares import LabelPosteriors

Record = dict[str, Any]
KEYS = (
    "mu", "alpha", "weights", "exponent", "intercept", "prior_weight", "slope", "biases", "thresholds", "fallback",
    "estimate", "nonconformity", "posteriors",
)  # fmt: skip
ESTIMATE = ("documents", "micro_f1", "macro_f1", "precision_at_1", "log_loss", "label_f1")
MAX_DOCUMENTS = 2**53  # the largest whole number up to which float64 has all
SMALLEST, LARGEST = 1e-20, 1e20  # of smoothing and weights, so that products are finite


def write_multilabel(fit: MultilabelFit) -> Record:
    """Return the fit of a model of several labels as plain data."""
    estimate = fit.estimate
    return {
        "mu": fit.smoothing.mu,
        "alpha": fit.smoothing.alpha,
        "weights": np.array(fit.combination.weights),
        "exponent": fit.combination.exponent,
        "intercept": fit.combination.intercept,
        "prior_weight": fit.combination.prior_weight,
        "slope": fit.combination.slope,
        "biases": fit.combination.biases,
        "thresholds": fit.thresholds,
        "fallback": fit.fallback,
        "estimate": None if estimate is None else {name: getattr(estimate, name) for name in ESTIMATE},
        "nonconformity": None if fit.nonconformity is None else asdict(fit.nonconformity),
        "posteriors": None if fit.posteriors is None else asdict(fit.posteriors),
    }


def read_multilabel(record: Record, n_labels: int) -> MultilabelFit:
    """Return the fit of the record."""
    found = audit.read_section(record, "multilabel", KEYS)
    has_contrast = audit.read_optional(record, "multilabel.alpha", float) is not None
    limits = {"minimum": SMALLEST, "maximum": LARGEST}
    alpha = audit.read_number(record, "multilabel.alpha", **limits) if has_contrast else None
    weights = audit.read_floats(record, "multilabel.weights", 1 + has_contrast)
    audit.check_within("multilabel.weights", weights, SMALLEST, LARGEST)
    thresholds = audit.read_floats(record, "multilabel.thresholds", n_labels)
    audit.check_within("multilabel.thresholds", thresholds, 0, 1)
    fallback = audit.read_value(record, "multilabel.fallback", tuple)
    if not all(type(k) is int and 0 <= k < n_labels for k in fallback) or len(set(fallback)) < len(fallback):
        raise audit.invalid_value("multilabel.fallback", "should be numbers of labels, each once")
    nonconformity = read_quantiles(record, "multilabel.nonconformity")
    if nonconformity is not None:
        audit.check_within("multilabel.nonconformity.points", nonconformity.points, 0, 1)
    return MultilabelFit(
        Smoothing(audit.read_number(record, "multilabel.mu", **limits), alpha),
        Combination(
            tuple(weights.tolist()),
            audit.read_number(record, "multilabel.exponent", minimum=SMALLEST, maximum=10),
            audit.read_number(record, "multilabel.intercept"),
            audit.read_number(record, "multilabel.prior_weight"),
            audit.read_number(record, "multilabel.slope"),
            audit.read_floats(record, "multilabel.biases", n_labels),
        ),
        thresholds,
        fallback,
        None if found["estimate"] is None else _read_estimate(record, n_labels),
        nonconformity,
        None if found["posteriors"] is None else _read_posteriors(record, n_labels),
    )


def _read_posteriors(record: Record, n_labels: int) -> LabelPosteriors:
    names = ("documents", "means", "spreads")
    key = "multilabel.posteriors"
    audit.read_section(record, key, names)
    values = [audit.read_array(record, f"{key}.{name}", "float64", shape=(n_labels, 2)) for name in names]
    for name, value, maximum in zip(names, values, (MAX_DOCUMENTS, 1, 1), strict=True):
        audit.check_within(f"{key}.{name}", value, 0, maximum)
    return LabelPosteriors(*values)


def _read_estimate(record: Record, n_labels: int) -> MultilabelEstimate:
    key = "multilabel.estimate"
    audit.read_section(record, key, ESTIMATE)
    label_f1 = audit.read_floats(record, f"{key}.label_f1", n_labels)
    audit.check_within(f"{key}.label_f1", label_f1, 0, 1)
    micro, macro, precision = (
        audit.read_number(record, f"{key}.{name}", minimum=0, maximum=1) for name in ESTIMATE[1:4]
    )
    log_loss = audit.read_number(record, f"{key}.log_loss", minimum=0)
    n_documents = audit.read_integer(record, f"{key}.documents")
    return MultilabelEstimate(n_documents, micro, macro, precision, log_loss, label_f1)
