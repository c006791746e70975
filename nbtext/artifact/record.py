"""The sections of a model's record: plain data made of a trained model, and read back with an audit of every value."""

from __future__ import annotations

from dataclasses import fields
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.artifact import audit
from nbtext.bayes.calibration import LARGEST, Calibration, TemperatureScaling
from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.bayes.confusion import MOST_PAIRS, Confused
from nbtext.bayes.prediction_sets import MOST_POINTS, Quantiles
from nbtext.bayes.smoothing import Hyperparameters, LeaveOneOutEstimate
from nbtext.bayes.unlabeled import METHODS, Unlabeled
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts
from nbtext.model.corpus_counts import ALL_HASHES, CorpusCounts

Record = dict[str, Any]


def hyperparameters_of(record: Record) -> Hyperparameters:
    """The hyperparameters in the record."""
    audit.section(record, "hyperparameters", tuple(field.name for field in fields(Hyperparameters)))
    C = None
    if audit.optional(record, "hyperparameters.C", float) is not None:
        C = audit.number(record, "hyperparameters.C", least=0)
    is_converged = audit.require(record, "hyperparameters.is_converged", bool)
    return Hyperparameters(audit.number(record, "hyperparameters.smoothing", least=0), C, is_converged)


def calibration_of(record: Record, n_classes: int) -> Calibration:
    """The calibration in the record, each part of it possible."""
    audit.section(record, "calibration", tuple(field.name for field in fields(Calibration)))
    temperature = threshold = None
    if audit.optional(record, "calibration.temperature", dict) is not None:
        audit.section(record, "calibration.temperature", ("a", "b", "noise"))
        temperature = TemperatureScaling(
            audit.number(record, "calibration.temperature.a", least=1e-100, most=1e100),  # has the unit of the scores
            audit.number(record, "calibration.temperature.b", least=-LARGEST, most=LARGEST),
            _noise(record),
        )
    if audit.optional(record, "calibration.outlier_threshold", float) is not None:
        threshold = audit.number(record, "calibration.outlier_threshold")
    return Calibration(
        temperature,
        _offsets(record, "calibration.prior_adjustment", n_classes),
        _offsets(record, "calibration.decision_offsets", n_classes),
        _quantiles(record, "calibration.nonconformity"),
        _quantiles(record, "calibration.likelihoods"),
        threshold,
    )


def _noise(record: Record) -> float:
    noise = audit.number(record, "calibration.temperature.noise", least=0, most=1 / (1 + exp(-LARGEST)))
    if 0 < noise < exp(-LARGEST) / 2:
        raise audit.wrong(
            "calibration.temperature.noise", f"should be 0 or at least {exp(-LARGEST) / 2:g}, and is {noise:g}"
        )
    return noise


def estimate_of(record: Record, n_classes: int) -> LeaveOneOutEstimate | None:
    if audit.optional(record, "estimate", dict) is None:
        return None
    keys = tuple(field.name for field in fields(LeaveOneOutEstimate))
    audit.section(record, "estimate", keys)
    documents = audit.whole_number(record, "estimate.documents")
    pairs = audit.require(record, "estimate.confused", tuple)
    confused = tuple(_confused(pair, n_classes) for pair in pairs)
    are_distinct = len({(pair.first, pair.second) for pair in confused}) == len(confused)
    if not are_distinct or len(confused) > MOST_PAIRS or sum(pair.together for pair in confused) > documents:
        raise audit.wrong("estimate.confused", "should be a few pairs of labels, of the documents left out")
    return LeaveOneOutEstimate(
        documents,
        audit.number(record, "estimate.accuracy", least=0, most=1),
        audit.number(record, "estimate.log_loss", least=0),
        confused,
        audit.whole_number(record, "estimate.duplicates"),
        audit.whole_number(record, "estimate.unjudged"),
        audit.whole_number(record, "estimate.held_out", most=documents),
    )


def _confused(pair: Any, n_classes: int) -> Confused:
    record = {"confused": pair}
    audit.section(record, "confused", tuple(field.name for field in fields(Confused)))
    first = audit.whole_number(record, "confused.first", most=n_classes - 2)
    second = audit.whole_number(record, "confused.second", least=first + 1, most=n_classes - 1)
    ways = (audit.whole_number(record, f"confused.{way}") for way in ("first_as_second", "second_as_first"))
    return Confused(first, second, *ways)


def _offsets(record: Record, key: str, n_classes: int) -> NDArray[np.float64] | None:
    return None if audit.optional(record, key, np.ndarray) is None else audit.real_numbers(record, key, n_classes)


def _quantiles(record: Record, key: str) -> Quantiles | None:
    if audit.optional(record, key, dict) is None:
        return None
    audit.section(record, key, ("points", "numbers"))
    points, numbers = audit.real_numbers(record, f"{key}.points"), audit.whole_number(record, f"{key}.numbers")
    if len(points) != min(numbers, MOST_POINTS) or numbers < 1 or (np.diff(points) < 0).any():
        raise audit.wrong(f"{key}.points", "should be ascending numbers, one for each or a thousand and one")
    return Quantiles(points, numbers)


def narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers, none of them negative, in the smallest type that holds them; others as they are."""
    return numbers if numbers.dtype.kind == "f" else numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def sample_record(tally: CorpusCounts, keep_sample: int | None) -> Record | None:
    """What is kept of a tally's sample: its documents' counts and classes, none of their texts."""
    if keep_sample is None:
        return None
    sample = tally.sample.smallest(keep_sample)
    return {
        "indptr": narrowed(sample.indptr),
        "indices": narrowed(sample.indices),
        "counts": narrowed(sample.counts),
        "classes": narrowed(sample.classes),
        "hashes": sample.hashes,
        "below": None if tally.below == ALL_HASHES else tally.below,
    }


def sample_of(record: Record, statistics: ClassStatistics) -> tuple[DocumentCounts, int]:
    """The sample in the record, and the bound of hashes below which it is complete.

    raises  ArtifactError: it is not of documents that the statistics count
    """
    audit.section(record, "sample", ("indptr", "indices", "counts", "classes", "hashes", "below"))
    hashes = audit.array(record, "sample.hashes", "uint64", shape=(None,))
    classes = audit.whole_numbers(record, "sample.classes", len(hashes))
    indptr = audit.whole_numbers(record, "sample.indptr", len(hashes) + 1)
    indices = audit.whole_numbers(record, "sample.indices")
    counts = audit.whole_numbers(record, "sample.counts", len(indices))
    audit.check_ascending("sample.hashes", hashes)
    audit.check_rows("sample.indices", indptr, indices, n_columns=statistics.n_features)
    audit.check_within("sample.classes", classes, 0, statistics.n_classes - 1)
    audit.check_within("sample.counts", counts, 1, 2**31 - 1)
    sample = DocumentCounts(indptr, indices.astype(np.int32), counts.astype(np.int32), classes.astype(np.int32), hashes)
    try:
        statistics - count_classes(sample, statistics.n_features, statistics.n_classes)
    except ModelError:
        raise audit.wrong("sample", "should hold documents that the statistics count") from None
    if record["sample"]["below"] is None:
        return sample, ALL_HASHES
    return sample, audit.whole_number(record, "sample.below", most=ALL_HASHES - 1)


def unlabeled_record(how: Unlabeled | None) -> Record | None:
    """What is said of it; the unlabeled documents' counts are in the scorer alone."""
    if how is None:
        return None
    return {
        "method": how.method,
        "documents": how.documents,
        "weight": how.weight,
        "log_prior": np.array(how.log_prior, dtype=np.float64),
        "log_likelihoods": np.array(how.log_likelihoods, dtype=np.float64),
    }


def unlabeled_of(record: Record, n_classes: int) -> Unlabeled | None:
    """What the record says of it."""
    if audit.optional(record, "unlabeled", dict) is None:
        return None
    audit.section(record, "unlabeled", ("method", "documents", "weight", "log_prior", "log_likelihoods"))
    log_prior = audit.real_numbers(record, "unlabeled.log_prior", n_classes)
    audit.check_within("unlabeled.log_prior", log_prior, -audit.MAX_NUMBER, 0)
    if abs(np.exp(log_prior).sum() - 1) > 1e-6:
        raise audit.wrong("unlabeled.log_prior", "should be logarithms of probabilities that add up to 1")
    return Unlabeled(
        audit.choice(record, "unlabeled.method", METHODS),
        audit.whole_number(record, "unlabeled.documents", least=1),
        audit.number(record, "unlabeled.weight", least=0, most=1),
        tuple(log_prior.tolist()),
        tuple(audit.real_numbers(record, "unlabeled.log_likelihoods", None).tolist()),
    )
