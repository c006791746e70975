"""What a model chose, and what left-out documents say of it, as part of its record."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.artifact import audit
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.confusion import MOST_PAIRS, Confused
from nbtext.bayes.quantiles import MOST_POINTS, Quantiles
from nbtext.bayes.smoothing import Choice, LeaveOneOutEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

Record = dict[str, Any]
CHOICE_KEYS = (
    "smoothing",
    "calibration",
    "expectation",
    "outlier_threshold",
    "likelihoods",
    "nonconformity",
    "prior_adjustment",
    "shift",
    "C",
    "approximate",
)


def choice_of(record: Record, n_classes: int) -> Choice:
    """The smoothing, calibration and expectation in the record, each of them possible."""
    audit.section(record, "choice", CHOICE_KEYS)
    calibration = threshold = None
    if audit.optional(record, "choice.calibration", dict) is not None:
        audit.section(record, "choice.calibration", ("a", "b", "noise"))
        calibration = Calibration(
            audit.number(record, "choice.calibration.a", least=1e-300, most=1e300),
            audit.number(record, "choice.calibration.b", least=-1e3, most=1e3),
            audit.number(record, "choice.calibration.noise", least=0, most=1 - 1e-9),
        )
    if audit.optional(record, "choice.outlier_threshold", float) is not None:
        threshold = audit.number(record, "choice.outlier_threshold")
    smoothing = audit.number(record, "choice.smoothing", least=0)
    likelihoods, nonconformity = _quantiles(record, "choice.likelihoods"), _quantiles(record, "choice.nonconformity")
    prior_adjustment, shift = (
        _shift(record, "choice.prior_adjustment", n_classes),
        _shift(record, "choice.shift", n_classes),
    )
    C = None
    if audit.optional(record, "choice.C", float) is not None:
        C = audit.number(record, "choice.C", least=0)
    approximate = tuple(audit.texts(record, "choice.approximate", distinct=True))
    expectation = _expectation(record, n_classes)
    return Choice(
        smoothing,
        calibration,
        expectation,
        threshold,
        likelihoods,
        nonconformity,
        prior_adjustment,
        shift,
        C,
        approximate,
    )


def _expectation(record: Record, n_classes: int) -> LeaveOneOutEstimate | None:
    if audit.optional(record, "choice.expectation", dict) is None:
        return None
    audit.section(record, "choice.expectation", ("documents", "accuracy", "log_loss", "confused"))
    documents = audit.whole_number(record, "choice.expectation.documents")
    pairs = audit.require(record, "choice.expectation.confused", tuple)
    confused = tuple(_confused(pair, n_classes) for pair in pairs)
    are_distinct = len({(pair.first, pair.second) for pair in confused}) == len(confused)
    if not are_distinct or len(confused) > MOST_PAIRS or sum(pair.together for pair in confused) > documents:
        raise audit.wrong("choice.expectation.confused", "should be a few pairs of labels, of the documents left out")
    return LeaveOneOutEstimate(
        documents,
        audit.number(record, "choice.expectation.accuracy", least=0, most=1),
        audit.number(record, "choice.expectation.log_loss", least=0),
        confused,
    )


def _confused(pair: Any, n_classes: int) -> Confused:
    record = {"confused": pair}
    audit.section(record, "confused", tuple(field.name for field in fields(Confused)))
    first = audit.whole_number(record, "confused.first", most=n_classes - 2)
    second = audit.whole_number(record, "confused.second", least=first + 1, most=n_classes - 1)
    ways = (audit.whole_number(record, f"confused.{way}") for way in ("first_as_second", "second_as_first"))
    return Confused(first, second, *ways)


def _shift(record: Record, key: str, n_classes: int) -> NDArray[np.float64] | None:
    return None if audit.optional(record, key, np.ndarray) is None else audit.real_numbers(record, key, n_classes)


def _quantiles(record: Record, key: str) -> Quantiles | None:
    if audit.optional(record, key, dict) is None:
        return None
    audit.section(record, key, ("points", "numbers"))
    points, numbers = audit.real_numbers(record, f"{key}.points"), audit.whole_number(record, f"{key}.numbers")
    if len(points) != min(numbers, MOST_POINTS) or numbers < 1 or (np.diff(points) < 0).any():
        raise audit.wrong(f"{key}.points", "should be ascending numbers, one for each or a thousand and one")
    return Quantiles(points, numbers)
