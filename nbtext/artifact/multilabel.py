"""The sections of a multi-label model in a record, with checks of every value."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from nbtext.artifact import audit
from nbtext.artifact.record import read_quantiles, read_share, write_fields
from nbtext.bayes.binary_relevance import Smoothing
from nbtext.bayes.label_calibration import Combination
from nbtext.bayes.label_scaling import ScoreScaling
from nbtext.bayes.label_selection import DEFAULT, MultilabelEstimate, MultilabelFit
from nbtext.bayes.label_shares import LabelPosteriors

Record = dict[str, Any]
KEYS = (
    "mu", "alpha", "weights", "exponent", "intercept", "prior_weight", "slope", "biases", "thresholds", "fallback",
    "estimate", "nonconformity", "posteriors",
)  # fmt: skip
LINEAR_KEYS = ("scale", "intercept", "biases", "thresholds", "fallback", "estimate", "nonconformity", "posteriors")
MAX_DOCUMENTS = 2**53  # the largest whole number up to which float64 has all
SMALLEST, LARGEST = 1e-20, 1e20  # of smoothing and weights, so that products are finite


def write_multilabel(fit: MultilabelFit) -> Record:
    """Return the fit of a multi-label model as plain data."""
    estimate, combination = fit.estimate, fit.combination
    if isinstance(combination, ScoreScaling):
        of_scores: Record = {"scale": combination.scale}
    else:
        smoothing = fit.smoothing or DEFAULT
        of_scores = {
            "mu": smoothing.mu,
            "alpha": smoothing.alpha,
            "weights": np.array(combination.weights),
            "exponent": combination.exponent,
            "prior_weight": combination.prior_weight,
            "slope": combination.slope,
        }
    return {
        **of_scores,
        "intercept": fit.combination.intercept,
        "biases": fit.combination.biases,
        "thresholds": fit.thresholds,
        "fallback": fit.fallback,
        "estimate": write_fields(estimate, "unanswered", "duplicates", "other"),
        "nonconformity": None if fit.nonconformity is None else asdict(fit.nonconformity),
        "posteriors": None if fit.posteriors is None else asdict(fit.posteriors),
    }


def read_multilabel(record: Record, n_labels: int, *, is_linear: bool) -> MultilabelFit:
    """Return the fit of the record.

    is_linear  whether it is of a linear model
    """
    audit.read_section(record, "multilabel", LINEAR_KEYS if is_linear else KEYS)
    smoothing, combination = (
        (None, _read_scaling(record, n_labels)) if is_linear else _read_combination(record, n_labels)
    )
    thresholds = audit.read_floats(record, "multilabel.thresholds", n_labels)
    audit.check_within("multilabel.thresholds", thresholds, 0, 1)
    fallback = audit.read_value(record, "multilabel.fallback", tuple)
    if not all(type(k) is int and 0 <= k < n_labels for k in fallback) or len(set(fallback)) < len(fallback):
        raise audit.invalid_value("multilabel.fallback", "should be numbers of labels, each once")
    nonconformity = read_quantiles(record, "multilabel.nonconformity")
    if nonconformity is not None:
        audit.check_within("multilabel.nonconformity.points", nonconformity.points, 0, 1)
    estimate = None if record["multilabel"]["estimate"] is None else _read_estimate(record, n_labels)
    posteriors = None if record["multilabel"]["posteriors"] is None else _read_posteriors(record, n_labels)
    return MultilabelFit(smoothing, combination, thresholds, fallback, estimate, nonconformity, posteriors)


def _read_scaling(record: Record, n_labels: int) -> ScoreScaling:
    return ScoreScaling(
        audit.read_number(record, "multilabel.scale", minimum=SMALLEST, maximum=LARGEST),
        audit.read_number(record, "multilabel.intercept"),
        audit.read_floats(record, "multilabel.biases", n_labels),
    )


def _read_combination(record: Record, n_labels: int) -> tuple[Smoothing, Combination]:
    has_contrast = audit.read_optional(record, "multilabel.alpha", float) is not None
    limits = {"minimum": SMALLEST, "maximum": LARGEST}
    alpha = audit.read_number(record, "multilabel.alpha", **limits) if has_contrast else None
    weights = audit.read_floats(record, "multilabel.weights", 1 + has_contrast)
    audit.check_within("multilabel.weights", weights, SMALLEST, LARGEST)
    combination = Combination(
        tuple(weights.tolist()),
        audit.read_number(record, "multilabel.exponent", minimum=SMALLEST, maximum=10),
        audit.read_number(record, "multilabel.intercept"),
        audit.read_number(record, "multilabel.prior_weight"),
        audit.read_number(record, "multilabel.slope"),
        audit.read_floats(record, "multilabel.biases", n_labels),
    )
    return Smoothing(audit.read_number(record, "multilabel.mu", **limits), alpha), combination


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
    audit.read_fields(record, key, MultilabelEstimate)
    label_f1 = audit.read_floats(record, f"{key}.label_f1", n_labels)
    audit.check_within(f"{key}.label_f1", label_f1, 0, 1)
    micro, macro, precision = (
        audit.read_number(record, f"{key}.{name}", minimum=0, maximum=1)
        for name in ("micro_f1", "macro_f1", "precision_at_1")
    )
    log_loss = audit.read_number(record, f"{key}.log_loss", minimum=0)
    n_documents = audit.read_integer(record, f"{key}.documents")
    unanswered = audit.read_integer(record, f"{key}.unanswered", maximum=n_documents)
    figures = unanswered, audit.read_integer(record, f"{key}.duplicates"), read_share(record, f"{key}.other")
    return MultilabelEstimate(n_documents, micro, macro, precision, log_loss, label_f1, *figures)
