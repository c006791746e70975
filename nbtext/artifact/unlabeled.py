"""How a model has learned from unlabeled documents, as part of its record."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbtext.artifact import audit
from nbtext.bayes.unlabeled import METHODS, Unlabeled

Record = dict[str, Any]


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
    return Unlabeled(
        audit.choice(record, "unlabeled.method", METHODS),
        audit.whole_number(record, "unlabeled.documents", least=1),
        audit.number(record, "unlabeled.weight", least=0, most=1),
        tuple(audit.real_numbers(record, "unlabeled.log_prior", n_classes).tolist()),
        tuple(audit.real_numbers(record, "unlabeled.log_likelihoods", None).tolist()),
    )
